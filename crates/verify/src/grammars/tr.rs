use super::{flags, on_stdin};
use crate::Case;
use crate::Rng;

const PIECES: &[&str] = &[
    "a",
    "b",
    "A",
    "z",
    "0",
    "9",
    " ",
    "\\n",
    "\\t",
    "-",
    "[",
    "]",
    "*",
    ":",
    "=",
    "\\\\",
    "\\-",
    "\\[",
    "\\012",
    "\\0",
    "\\377",
    "\\1012",
    "a-z",
    "A-Z",
    "0-9",
    "a-f",
    "\\0-\\37",
    " -~",
    "[:upper:]",
    "[:lower:]",
    "[:alpha:]",
    "[:digit:]",
    "[:space:]",
    "[:alnum:]",
    "[:punct:]",
    "[:print:]",
    "[:cntrl:]",
    "[:blank:]",
    "[:graph:]",
    "[:xdigit:]",
    "[=a=]",
    "[=-=]",
    "[x*]",
    "[x*3]",
    "[y*012]",
    "[\\n*]",
    "[a-]",
    "[:*]",
    "[=*2]",
    "a-a",
    "é",
    "ß",
    "[:*:]",
    ",",
    "[b*0]",
    "\\q",
    "[:upper:]",
    "[:lower:]",
];

fn set(rng: &mut Rng) -> Vec<u8> {
    let count = if rng.chance(4) { 0 } else { 1 + rng.below(3) };
    (0..count).flat_map(|_| rng.pick(PIECES).bytes()).collect()
}

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = flags(rng, &["-c", "-d", "-s", "-t", "--complement"], 22);
    if args.is_empty() && rng.chance(30) {
        args.push(rng.pick(&["-cs", "-ds", "-dc", "-cd", "-C", "--squeeze", "--del"]).as_bytes().to_vec());
    }
    if rng.chance(20) {
        args.push(b"--".to_vec());
    }
    let (first, second) = match rng.below(4) {
        0 => (b"[:lower:]".to_vec(), b"[:upper:]".to_vec()),
        _ => (set(rng), set(rng)),
    };
    args.push(first);
    if !args.iter().any(|arg| arg.starts_with(b"-d") || arg.starts_with(b"--del")) || rng.chance(15) {
        args.push(second);
    }
    on_stdin(rng, command, args)
}
