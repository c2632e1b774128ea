//! Random command lines: one file per command.

mod awk;
mod awk_characters;
mod awk_run_time;
mod awk_syntax;
mod awk_wide;
mod base64;
mod basename;
mod cat;
mod comm;
mod cut;
mod dirname;
mod echo;
mod expand;
mod fold;
mod gawk_functions;
mod grep;
mod gzip;
mod head;
mod join;
mod nl;
mod paste;
mod printf;
mod rev;
mod sed;
mod sed_state;
mod sed_wide;
mod seq;
mod sha256sum;
pub mod sort;
mod tac;
mod tail;
mod tee;
mod template;
mod tr;
mod unexpand;
pub mod uniq;
mod wc;
mod xargs;

use crate::Case;
use crate::Rng;
use crate::data;

/// Writes random command lines for a command.
pub struct Grammar {
    /// The tool's name.
    pub command: &'static str,
    /// Makes a case for the tool of this name.
    pub case: fn(&mut Rng, &str) -> Case,
}

/// All grammars: one line per command.
pub const ALL: &[Grammar] = &[
    Grammar { command: "awk", case: awk::either },
    Grammar { command: "base64", case: base64::case },
    Grammar { command: "basename", case: basename::case },
    Grammar { command: "cat", case: cat::case },
    Grammar { command: "comm", case: comm::case },
    Grammar { command: "cut", case: cut::case },
    Grammar { command: "dirname", case: dirname::case },
    Grammar { command: "echo", case: echo::case },
    Grammar { command: "expand", case: expand::case },
    Grammar { command: "fold", case: fold::case },
    Grammar { command: "gawk", case: awk::case },
    Grammar { command: "gawk", case: awk::plain },
    Grammar { command: "gawk", case: awk_wide::case },
    Grammar { command: "gawk", case: awk_run_time::case },
    Grammar { command: "gawk", case: awk_characters::case },
    Grammar { command: "gawk", case: gawk_functions::gensub },
    Grammar { command: "gawk", case: gawk_functions::switch },
    Grammar { command: "gawk", case: gawk_functions::sorted },
    Grammar { command: "grep", case: grep::case },
    Grammar { command: "gzip", case: gzip::case },
    Grammar { command: "head", case: head::case },
    Grammar { command: "join", case: join::case },
    Grammar { command: "mawk", case: awk::case },
    Grammar { command: "mawk", case: awk_wide::case },
    Grammar { command: "mawk", case: awk_run_time::case },
    Grammar { command: "nl", case: nl::case },
    Grammar { command: "original-awk", case: awk_syntax::case },
    Grammar { command: "original-awk", case: awk::case },
    Grammar { command: "original-awk", case: awk::plain },
    Grammar { command: "original-awk", case: awk_wide::case },
    Grammar { command: "original-awk", case: awk_run_time::case },
    Grammar { command: "original-awk", case: awk_characters::case },
    Grammar { command: "paste", case: paste::case },
    Grammar { command: "printf", case: printf::case },
    Grammar { command: "rev", case: rev::case },
    Grammar { command: "sed", case: sed::case },
    Grammar { command: "sed", case: sed_state::case },
    Grammar { command: "sed", case: sed_wide::case },
    Grammar { command: "seq", case: seq::case },
    Grammar { command: "sha1sum", case: sha256sum::case },
    Grammar { command: "sha224sum", case: sha256sum::case },
    Grammar { command: "sha256sum", case: sha256sum::case },
    Grammar { command: "sort", case: sort::case },
    Grammar { command: "tac", case: tac::case },
    Grammar { command: "tail", case: tail::case },
    Grammar { command: "tee", case: tee::case },
    Grammar { command: "tr", case: tr::case },
    Grammar { command: "unexpand", case: unexpand::case },
    Grammar { command: "uniq", case: uniq::case },
    Grammar { command: "wc", case: wc::case },
    Grammar { command: "xargs", case: xargs::case },
];

/// Leaves out NULs that tolower and toupper would meet: mawk copies up to the first one, and prints what lay in memory behind it.
pub fn without_chance(mut case: Case) -> Case {
    let maps = |arg: &Vec<u8>| arg.windows(5).any(|word| word == b"upper" || word == b"lower");
    if case.args.iter().chain(case.files.iter().map(|(_, content)| content)).any(maps) {
        let plain =
            |bytes: &mut Vec<u8>| bytes.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b'0');
        plain(&mut case.stdin);
        case.files.iter_mut().for_each(|(_, content)| plain(content));
    }
    case
}

/// A case with these arguments, some data on standard input, in some locale.
pub fn on_stdin(rng: &mut Rng, command: &str, args: Vec<Vec<u8>>) -> Case {
    Case {
        command: command.to_owned(),
        args,
        stdin: data::any(rng),
        files: Vec::new(),
        piped: rng.chance(10),
        utf8: rng.chance(50),
    }
}

/// The same, often with file operands appended.
pub fn on_files(rng: &mut Rng, command: &str, args: Vec<Vec<u8>>) -> Case {
    let mut case = on_stdin(rng, command, args);
    for name in ["one", "two", "three"] {
        if !rng.chance(40) {
            break;
        }
        if rng.chance(15) {
            case.args.push(b"-".to_vec());
        }
        case.args.push(name.into());
        let content = data::any(rng);
        case.files.push((name.to_owned(), content));
    }
    case
}

/// The same, often over plain text.
pub fn on_plain_files(rng: &mut Rng, command: &str, args: Vec<Vec<u8>>) -> Case {
    let mut case = on_files(rng, command, args);
    if rng.chance(30) {
        case.stdin = data::mostly_plain(rng);
    }
    for (_, content) in &mut case.files {
        if rng.chance(30) {
            *content = data::mostly_plain(rng);
        }
    }
    case
}

/// Some of these flags.
pub fn flags(rng: &mut Rng, flags: &[&str], percent: u64) -> Vec<Vec<u8>> {
    flags.iter().filter(|_| rng.chance(percent)).map(|flag| flag.as_bytes().to_vec()).collect()
}

/// An option with its argument, attached or apart.
pub fn valued(rng: &mut Rng, args: &mut Vec<Vec<u8>>, short: &str, long: &str, value: &[u8]) {
    let joined = |parts: &[&[u8]]| parts.concat();
    match rng.below(4) {
        0 => args.extend([short.into(), value.to_vec()]),
        1 if !long.is_empty() => args.push(joined(&[long.as_bytes(), b"=", value])),
        2 if !long.is_empty() => args.extend([long.into(), value.to_vec()]),
        _ if value.is_empty() => args.extend([short.into(), value.to_vec()]),
        _ => args.push(joined(&[short.as_bytes(), value])),
    }
}
