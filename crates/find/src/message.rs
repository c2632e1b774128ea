//! Error messages, in GNU find's wording and quotes.

use pelton_sys::errors::words;
use pelton_sys::libc_patterns::{Shown, characters};
use std::io;

/// How names are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NameStyle {
    /// Whether characters are encoded in UTF-8; otherwise in ASCII.
    pub utf8: bool,
    /// Whether output goes to a terminal, which must not receive control characters.
    pub terminal: bool,
}

/// Appends `find: ‘PATH’: REASON`.
pub(crate) fn failed(path: &[u8], error: &io::Error, manner: NameStyle, into: &mut Vec<u8>) {
    into.extend(b"find: ");
    quoted(path, manner, into);
    into.extend(b": ");
    into.extend(words(error).as_bytes());
    into.push(b'\n');
}

/// Appends the same for a failed action.
pub(crate) fn cannot(doing: &str, path: &[u8], error: &io::Error, manner: NameStyle, into: &mut Vec<u8>) {
    into.extend(format!("find: cannot {doing} ").as_bytes());
    quoted(path, manner, into);
    into.extend(format!(": {}\n", words(error)).as_bytes());
}

/// Reports a directory that is one of its own ancestors.
pub(crate) fn is_loop(path: &[u8], ancestor: &[u8], manner: NameStyle, into: &mut Vec<u8>) {
    into.extend(b"find: File system loop detected; ");
    quoted(path, manner, into);
    into.extend(b" is part of the same file system loop as ");
    quoted(ancestor, manner, into);
    into.extend(b".\n");
}

/// Reports a command that a signal ended.
pub(crate) fn killed(command: &[u8], signal: i32, manner: NameStyle, into: &mut Vec<u8>) {
    into.extend(b"find: ");
    quoted(command, manner, into);
    into.extend(format!(" terminated by signal {signal}\n").as_bytes());
}

/// Reports output that could not be written.
pub(crate) fn unwritten(error: &io::Error, manner: NameStyle, into: &mut Vec<u8>) {
    failed(b"standard output", error, manner, into);
    into.extend(b"find: write error\n");
}

/// Appends the text in the quotes of the character set, with C escapes for unprintable characters.
pub(crate) fn quoted(text: &[u8], manner: NameStyle, into: &mut Vec<u8>) {
    let (open, close) = if manner.utf8 { ("‘", "’") } else { ("'", "'") };
    into.extend(open.as_bytes());
    characters(text, |bytes, shown| match (shown, bytes) {
        (_, b"\\") => into.extend(b"\\\\"),
        (_, b"'") if !manner.utf8 => into.extend(b"\\'"),
        (Shown::Yes, bytes) if bytes == close.as_bytes() => {
            into.push(b'\\');
            into.extend(bytes);
        }
        (Shown::Yes, bytes) => into.extend(bytes),
        (_, bytes) => bytes.iter().for_each(|byte| escaped(*byte, into)),
    });
    into.extend(close.as_bytes());
}

fn escaped(byte: u8, into: &mut Vec<u8>) {
    let letter = match byte {
        0x07 => b'a',
        0x08 => b'b',
        0x0c => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x0b => b'v',
        other => return into.extend(format!("\\{other:03o}").as_bytes()),
    };
    into.extend([b'\\', letter]);
}

/// Appends a text for a terminal: a question mark for each unprintable character.
pub(crate) fn for_terminal(text: &[u8], into: &mut Vec<u8>) {
    characters(text, |bytes, shown| match shown {
        Shown::Yes => into.extend(bytes),
        _ => into.push(b'?'),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_those_of_the_character_set() {
        let quote = |text: &[u8], utf8| {
            let mut into = Vec::new();
            quoted(text, NameStyle { utf8, terminal: false }, &mut into);
            String::from_utf8(into).expect("UTF-8")
        };
        assert_eq!(quote(b"a\nb'\\\x01", true), "‘a\\nb'\\\\\\001’");
        assert_eq!(quote(b"a'b", false), "'a\\'b'");
    }
}
