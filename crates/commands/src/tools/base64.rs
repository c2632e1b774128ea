//! `base64`: GNU coreutils.
//!
//! Decoding goes to the real base64 where data is not plain: it continues from a boundary between groups of four
//! characters, where its state equals its initial state, and complains itself.

use base64_simd::{STANDARD, STANDARD_NO_PAD};
use pelton_stream::{Flow, Framing, HandOver, Kernel, Outcome};

use crate::tool::argv::{Opt, Order, Takes, opt, parse};
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{
    Caller, IoErrors, StandardOutput, Unreadable, read_error_message, write_error_twice_if_early,
};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::uutils;
use crate::tool::versions::{self, COREUTILS_8_32_TO_9_10, OtherVersions};
use crate::{
    Accept, Command, Content, Context, Declined, EarlyStop, Facts, Family, Input, InputFacts, Lines,
    OutputFacts,
};

/// The tool row of `base64`.
pub(crate) static TOOL: Tool = Tool {
    name: "base64",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints: always,
    io_errors: IoErrors { write: write_error_twice_if_early, read: unreadable, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["-w", "5"], "base64", b"YmFzZ\nTY0\n")],
    cost: |_| Rate::both(1.9, 0.35, 1.35),
    other_versions: &[OtherVersions::alike(COREUTILS_8_32_TO_9_10)],
    verifiable: true,
    grammar: Grammar {
        operands: &["", "", "@f", "-", "-- @f", "/dev/stdin"],
        ..Grammar::reader(&["", "", "-w @n", "-w 0", "-d", "-di", "--wrap=@p", "-iw 76"], &[])
    },
};

/// The row of uutils' `base64`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

/// It decodes all before it prints.
fn uutils_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    versions::may_have(args, b"dD").then_some("decoding")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Decode,
    IgnoreGarbage,
    Wrap,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Decode, b'd', "decode", Takes::Nothing),
    opt(Id::IgnoreGarbage, b'i', "ignore-garbage", Takes::Nothing),
    opt(Id::Wrap, b'w', "wrap", Takes::Value),
];

/// Parses the arguments.
fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    let mut wrap = 76;
    for (_, value) in parsed.options().filter(|(id, _)| *id == Id::Wrap) {
        wrap = width(value)?;
    }
    let inputs = Input::from_operands(&parsed.operands());
    if inputs.len() > 1 {
        return Declined::because("a second operand");
    }
    let work = match parsed.has(Id::Decode) {
        true => Work::Decode { ignores_garbage: parsed.has(Id::IgnoreGarbage) },
        false => Work::Encode { wrap },
    };
    Ok(Box::new(Base64 { work, inputs, resume_args: parsed.resume_args() }))
}

/// Parses a width of plain digits.
fn width(text: &[u8]) -> Accept<usize> {
    let plain = (1..=9).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    match std::str::from_utf8(text).ok().filter(|_| plain).and_then(|text| text.parse().ok()) {
        Some(width) => Ok(width),
        None => Declined::because("a width that is not plain"),
    }
}

fn unreadable(caller: &Caller, _input: Option<&[u8]>, error: &std::io::Error) -> Unreadable {
    Unreadable::dies(read_error_message(caller, error), 1)
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Encode {
        /// Characters in a line; 0 for one line without an end.
        wrap: usize,
    },
    Decode {
        ignores_garbage: bool,
    },
}

#[derive(Debug)]
struct Base64 {
    work: Work,
    inputs: Vec<Input>,
    resume_args: Vec<Vec<u8>>,
}

impl Command for Base64 {
    fn facts(&self) -> Facts {
        let (content, stops_early) = match self.work {
            Work::Encode { .. } => (Content::Text, None),
            Work::Decode { .. } => (Content::Bytes, Some(EarlyStop::Problem)),
        };
        Facts {
            lines: Lines::Changed,
            input: InputFacts { stops_early, ..InputFacts::default() },
            output: OutputFacts { content, ..OutputFacts::default() },
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(match self.work {
            Work::Encode { wrap } => {
                Box::new(Encoder { wrap, column: 0, rest: Vec::new(), text: Vec::new() })
            }
            Work::Decode { ignores_garbage } => Box::new(Decoder { ignores_garbage, group: Vec::new() }),
        })
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        matches!(self.work, Work::Decode { .. }).then(|| self.resume_args.clone())
    }
}

struct Encoder {
    wrap: usize,
    /// Characters of the current line.
    column: usize,
    /// Up to two bytes that are not encoded yet.
    rest: Vec<u8>,
    /// Characters before they are cut into lines.
    text: Vec<u8>,
}

impl Encoder {
    fn encode(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.wrap == 0 {
            STANDARD.encode_append(bytes, out);
            return;
        }
        self.text.clear();
        STANDARD.encode_append(bytes, &mut self.text);
        let lines = self.text.len() / self.wrap + 1;
        out.reserve(self.text.len() + lines);
        let mut text = &self.text[..];
        while !text.is_empty() {
            let (line, behind) = text.split_at(text.len().min(self.wrap - self.column));
            out.extend_from_slice(line);
            self.column += line.len();
            if self.column == self.wrap {
                out.push(b'\n');
                self.column = 0;
            }
            text = behind;
        }
    }
}

impl Kernel for Encoder {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let missing = (3 - self.rest.len()) % 3;
        let (head, block) = block.split_at(missing.min(block.len()));
        self.rest.extend_from_slice(head);
        if self.rest.len() == 3 {
            let rest = std::mem::take(&mut self.rest);
            self.encode(&rest, out);
        }
        let (whole, rest) = block.split_at(block.len() / 3 * 3);
        self.encode(whole, out);
        self.rest.extend_from_slice(rest);
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        let rest = std::mem::take(&mut self.rest);
        self.encode(&rest, out);
        if self.column > 0 {
            out.push(b'\n');
        }
        Ok(Flow::Done)
    }
}

struct Decoder {
    ignores_garbage: bool,
    /// The first characters of a group of four, without what is skipped between them.
    group: Vec<u8>,
}

/// What comes of a character.
enum Step {
    Taken,
    /// The real base64 has to judge it.
    Odd(&'static str),
}

impl Decoder {
    /// Takes one character. Once a group is complete, prints what it holds.
    fn step(&mut self, byte: u8, out: &mut Vec<u8>) -> Step {
        let is_padded = self.group.last() == Some(&b'=');
        match byte {
            b'=' if self.group.len() >= 2 => self.group.push(byte),
            _ if is_padded => return Step::Odd("padding that is not complete"),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => self.group.push(byte),
            b'=' => return Step::Odd("padding at the start of a group"),
            b'\n' => return Step::Taken,
            _ if self.ignores_garbage => return Step::Taken,
            _ => return Step::Odd("a byte that is no character of base64"),
        }
        if self.group.len() == 4 {
            if STANDARD.decode_append(&self.group, out).is_err() {
                // The last character came in with this call.
                self.group.pop();
                return Step::Odd("bits behind the end");
            }
            self.group.clear();
        }
        Step::Taken
    }

    fn hand_over(&mut self, consumed: usize, reason: &'static str) -> HandOver {
        HandOver::at(consumed, reason).with_unconsumed(std::mem::take(&mut self.group))
    }
}

impl Kernel for Decoder {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let mut at = 0;
        while at < block.len() {
            let end = memchr::memchr(b'\n', &block[at..]).map_or(block.len(), |length| at + length);
            let groups = &block[at..at + (end - at) / 4 * 4];
            if self.group.is_empty() && STANDARD_NO_PAD.decode_append(groups, out).is_ok() {
                at += groups.len();
            }
            let line = (end + 1).min(block.len());
            while at < line {
                if let Step::Odd(reason) = self.step(block[at], out) {
                    return Err(self.hand_over(at, reason));
                }
                at += 1;
            }
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, _out: &mut Vec<u8>) -> Outcome {
        if self.group.is_empty() {
            Ok(Flow::Done)
        } else {
            Err(self.hand_over(0, "a group that is not complete"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a kernel prints of pieces, or with which bytes it hands over.
    fn run(mut kernel: impl Kernel, pieces: &[&str]) -> (String, Option<String>) {
        let mut out = Vec::new();
        let mut outcome = Ok(Flow::More);
        let mut rest = "";
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            outcome = outcome.and_then(|_| kernel.push(piece.as_bytes(), &mut out));
            rest = piece;
            if outcome.is_err() {
                break;
            }
        }
        let given =
            outcome.and_then(|_| kernel.finish(&mut out).inspect_err(|_| rest = "")).err().map(|hand_over| {
                String::from_utf8_lossy(&hand_over.unconsumed).into_owned() + &rest[hand_over.consumed..]
            });
        (String::from_utf8_lossy(&out).into_owned(), given)
    }

    #[test]
    fn lines_wrap_anywhere() {
        let encode = |wrap, pieces: &[&str]| {
            run(Encoder { wrap, column: 0, rest: Vec::new(), text: Vec::new() }, pieces).0
        };
        assert_eq!(encode(76, &["abcde"]), "YWJjZGU=\n");
        assert_eq!(encode(3, &["a", "bc", "de"]), "YWJ\njZG\nU=\n");
        assert_eq!(encode(4, &["abc"]), "YWJj\n");
        assert_eq!(encode(0, &["abc", "de"]), "YWJjZGU=");
        assert_eq!(encode(76, &[]), "");
    }

    #[test]
    fn plain_groups_are_decoded_and_others_handed_over() {
        let decode = |pieces: &[&str]| run(Decoder { ignores_garbage: false, group: Vec::new() }, pieces);
        assert_eq!(decode(&["YWJj\nZGU", "=\n"]), ("abcde".to_owned(), None));
        assert_eq!(decode(&["YW", "\nJjZA==YWJj"]), ("abcdabc".to_owned(), None));
        assert_eq!(decode(&["YWJjZ!GU="]), ("abc".to_owned(), Some("Z!GU=".to_owned())));
        assert_eq!(decode(&["YWJjZ", "A=\n="]), ("abc".to_owned(), Some("ZA=\n=".to_owned())));
        assert_eq!(decode(&["YWJjYR=="]), ("abc".to_owned(), Some("YR==".to_owned())));
        assert_eq!(decode(&["YWJjZGU"]), ("abc".to_owned(), Some("ZGU".to_owned())));
        let ignoring = Decoder { ignores_garbage: true, group: Vec::new() };
        assert_eq!(run(ignoring, &["Y W-J", "j"]), ("abc".to_owned(), None));
    }
}
