//! Helpers that several tests share.
#![allow(dead_code)]

use pelton_json::formats::{Gron, Lines, Tokens, Values};
use pelton_json::select::{Paths, parse};
use pelton_json::{Failure, Fault, Out, Rules, Selected, SyntaxError, Visitor};
pub use pelton_testkit::Random;
use std::io::Read;

/// A reader that returns a few bytes at a time.
pub struct Trickle<'a>(pub &'a [u8], pub usize);

impl Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.0.len().min(self.1).min(into.len());
        let (now, later) = self.0.split_at(bytes);
        into[..bytes].copy_from_slice(now);
        self.0 = later;
        Ok(bytes)
    }
}

/// The output, and the error.
pub type Printed = (Vec<u8>, Option<SyntaxError>);

/// Reads `text`.
pub fn printed(
    text: &[u8],
    rules: Rules,
    window: usize,
    read: usize,
    visitor: &mut impl Visitor,
) -> Option<SyntaxError> {
    match pelton_json::read(&mut Trickle(text, read), rules, window, visitor) {
        Ok(()) => None,
        Err(Failure::Syntax(error)) => Some(*error),
        Err(other) => panic!("{other:?}"),
    }
}

/// The lines of `text`.
pub fn lines(text: &[u8], rules: Rules, window: usize, read: usize) -> Printed {
    let mut bytes = Vec::new();
    let error = printed(text, rules, window, read, &mut Lines::new(Out::new(&mut bytes)));
    (bytes, error)
}

/// Reads `text` with a path that selects nothing.
pub fn skipped(text: &[u8], rules: Rules, window: usize, read: usize) -> Option<SyntaxError> {
    let paths = Paths::new(&[parse(".nowhere").expect("a path")]).expect("one path");
    let mut bytes = Vec::new();
    let values = Values::new(Out::new(&mut bytes), false, false);
    let error = printed(text, rules, window, read, &mut Selected::new(paths, values));
    assert!(bytes.is_empty(), "{}", text.escape_ascii());
    error
}

/// The tokens of `text`.
pub fn tokens(text: &[u8], rules: Rules, window: usize, read: usize) -> Printed {
    let mut bytes = Vec::new();
    let error = printed(text, rules, window, read, &mut Tokens::new(Out::new(&mut bytes)));
    (bytes, error)
}

/// gron's lines of `text`.
pub fn gron(text: &[u8]) -> String {
    let mut bytes = Vec::new();
    let error = printed(text, Rules::default(), 1 << 16, 1 << 16, &mut Gron::new(Out::new(&mut bytes)));
    assert_eq!(error, None);
    String::from_utf8(bytes).expect("UTF-8")
}

/// Whether `text` is exactly one document.
pub fn judge(text: &[u8]) -> Result<(), Fault> {
    let rules = Rules { single: true, ..Rules::default() };
    lines(text, rules, 1 << 16, 1 << 16).1.map_or(Ok(()), |error| Err(error.fault))
}

const SCALARS: &[&str] = &[
    "0",
    "-1",
    "12.5",
    "1e5",
    "-0.0E-7",
    "123456789012345678901234567890",
    "true",
    "false",
    "null",
    "\"\"",
    "\"a\"",
    "\"a b\"",
    "\"\\\"\"",
    "\"\\\\\"",
    "\"\\\\\\\"x\"",
    "\"é日😀\"",
    "\"\\u00e9\\ud83d\\ude00\"",
    "\"\\ud800\"",
    "\"{[,:]}\"",
    "\"\\n\\t\\/\"",
    "\"just some longer text, to cross a border of sixty-four bytes\"",
];
const NAMES: &[&str] =
    &["\"a\"", "\"b\"", "\"\"", "\"a b\"", "\"\\\"\"", "\"é\"", "\"\\u0061\"", "\"list\"", "\"id\""];
const BLANKS: &[&str] = &["", "", "", "", " ", "\n", "  ", "\t", "\r\n"];

/// Appends a random document.
pub fn document(random: &mut Random, depth: usize, to: &mut String) {
    let blank = |random: &mut Random, to: &mut String| to.push_str(random.pick(BLANKS));
    blank(random, to);
    match random.below(if depth == 0 { 1 } else { 3 }) {
        0 => to.push_str(random.pick(SCALARS)),
        kind => {
            let (open, close) = if kind == 1 { ('{', '}') } else { ('[', ']') };
            to.push(open);
            blank(random, to);
            for number in 0..random.below(5) {
                if number > 0 {
                    to.push(',');
                    blank(random, to);
                }
                if kind == 1 {
                    to.push_str(random.pick(NAMES));
                    blank(random, to);
                    to.push(':');
                }
                document(random, depth - 1, to);
            }
            to.push(close);
        }
    }
    blank(random, to);
}

/// Changes a few bytes of a text.
pub fn mutate(random: &mut Random, text: &mut Vec<u8>) {
    const TELLING: &[u8] = b"{}[]:,\"\\ \n\t0123456789-+.eEtrufalsn/b\x00\x1f\x7f\xc3\xa9\xff";
    for _ in 0..1 + random.below(3) {
        let at = random.below(text.len() + 1);
        match random.below(4) {
            0 if at < text.len() => drop(text.remove(at)),
            1 if at < text.len() => text[at] = random.pick(TELLING),
            2 => text.truncate(at),
            _ => text.insert(at, random.pick(TELLING)),
        }
    }
}
