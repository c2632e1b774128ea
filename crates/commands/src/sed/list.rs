//! `l`: prints the pattern space unambiguously.

/// Appends the text, broken into lines of at most `columns` columns, including the final backslash; unbroken
/// for 0. It ends as lines do.
pub(super) fn list(text: &[u8], columns: u64, end: u8, out: &mut Vec<u8>) {
    let room = match columns {
        0 => usize::MAX,
        _ => usize::try_from(columns - 1).unwrap_or(usize::MAX),
    };
    let mut width = 0;
    let mut shown = Vec::with_capacity(4);
    for &byte in text {
        shown.clear();
        show(byte, &mut shown);
        if width + shown.len() > room {
            out.extend([b'\\', end]);
            width = 0;
        }
        out.extend_from_slice(&shown);
        width += shown.len();
    }
    out.extend([b'$', end]);
}

/// The default without `-l` or a number.
pub(super) const COLUMNS: u64 = 70;

fn show(byte: u8, shown: &mut Vec<u8>) {
    let letter = match byte {
        b'\\' => b'\\',
        0x07 => b'a',
        0x08 => b'b',
        0x0C => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x0B => b'v',
        b' '..=b'~' => return shown.push(byte),
        _ => {
            let digit = |shift: u8| b'0' + (byte >> shift & 7);
            return shown.extend([b'\\', digit(6), digit(3), digit(0)]);
        }
    };
    shown.extend([b'\\', letter]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str, columns: u64) -> String {
        let mut out = Vec::new();
        list(text.as_bytes(), columns, b'\n', &mut out);
        String::from_utf8(out).expect("plain letters")
    }

    #[test]
    fn nothing_is_hidden() {
        assert_eq!(listed("é\u{1}\\x\ttab\n~", 70), "\\303\\251\\001\\\\x\\ttab\\n~$\n");
    }

    #[test]
    fn lines_are_broken_between_what_is_shown() {
        assert_eq!(listed("abcdefghij", 5), "abcd\\\nefgh\\\nij$\n");
        assert_eq!(listed("abcd", 5), "abcd$\n");
        assert_eq!(listed("ab\ncd", 4), "ab\\\n\\nc\\\nd$\n");
        assert_eq!(listed(&"0".repeat(90), 0), format!("{}$\n", "0".repeat(90)));
        // A character wider than the line is alone, after a break.
        assert_eq!(listed("\t", 2), "\\\n\\t$\n");
        assert_eq!(listed("ab", 1), "\\\na\\\nb$\n");
    }
}
