//! Programs that act only on the first record of each key, such as `!seen[$3]++`: finds these records without
//! the machine, which then gets no others.
//!
//! Several threads can share that: each drops from its blocks what it has seen itself, since that came
//! before, and the rest is sieved again in order (like a shuffle after a combiner, for a distinct count in
//! map-reduce terms).

use std::ops::Range;

use pelton_stream::{Flow, Framing, HandOver, Kernel, Outcome, Peer};

use crate::tool::stateless::names_in;

use super::fields::{self, Separator, copy_lines};
use super::string_set::Seen;
use super::tree::{Expr, Order, Pattern, Program, Statement};

/// A part of a record's key.
#[derive(Clone, Debug, PartialEq)]
enum KeyPart {
    /// 0 is the record.
    Field(usize),
    Text(Vec<u8>),
    /// The separator between the indices of an element.
    Between,
}

/// Finds the first record of each key.
#[derive(Clone, Debug)]
pub(super) struct FirstOfEachKey {
    key: Vec<KeyPart>,
    between: Vec<u8>,
    separator: Separator,
    /// Whether the program only prints them.
    prints: bool,
    seen: Seen,
    words: Vec<u64>,
    ends: Vec<u64>,
    /// A key of several parts.
    joined: Vec<u8>,
    /// The recent number of records, and how many of them were first.
    lately: (u64, u64),
    /// Whether nearly all records are first: parallel sieving then costs more than it saves.
    pub(super) in_vain: bool,
}

/// Number of records that show whether sieving pays.
const LATELY: u64 = 50_000;
/// It does not pay if more than one in this many records remains.
const LEFT_MAX: u64 = 4;

impl FirstOfEachKey {
    /// `None` if the program is of another kind. `text` is its source.
    pub(super) fn of(program: &Program, text: &[u8], separator: &Separator) -> Option<FirstOfEachKey> {
        let [rule] = program.rules.as_slice() else { return None };
        let (test, prints) = match (&rule.pattern, rule.action.as_slice()) {
            (Pattern::When(test), [Statement::Print(args, None)]) => (test, args.is_empty()),
            (Pattern::When(test), _) => (test, false),
            (Pattern::Always, [Statement::If(test, _, None)]) => (test, false),
            _ => return None,
        };
        let (name, indices) = asked(test)?;
        let mentioned = |name: &str| names_in(text).filter(|word| *word == name).count();
        if mentioned(name) != 1 || mentioned("SUBSEP") > 0 || matches!(separator, Separator::Pattern(_)) {
            return None;
        }
        let mut key = Vec::new();
        for (at, index) in indices.iter().enumerate() {
            if at > 0 {
                key.push(KeyPart::Between);
            }
            parts(index, &mut key)?;
        }
        Some(FirstOfEachKey {
            key,
            between: Vec::new(),
            separator: separator.clone(),
            prints: prints && program.end.is_empty(),
            seen: Seen::new(),
            words: Vec::new(),
            ends: Vec::new(),
            joined: Vec::new(),
            lately: (0, 0),
            in_vain: false,
        })
    }

    /// Starts after BEGIN, with the separator of indices and the output record separator.
    pub(super) fn begin(&mut self, between: &[u8], behind: Option<&[u8]>) {
        self.between = between.to_vec();
        self.prints &= behind == Some(b"\n");
    }

    /// Whether its output is the program's whole output.
    pub(super) fn is_all(&self) -> bool {
        self.prints
    }

    /// Appends the first records of whole lines, each with its end.
    pub(super) fn run(&mut self, block: &[u8], out: &mut Vec<u8>) {
        fields::mark(block, &self.separator, b'\n', &mut self.words);
        let FirstOfEachKey { key, between, separator, seen, words, ends, joined, lately, .. } = self;
        let of_words = matches!(separator, Separator::Blanks);
        let find = |line: &Range<usize>, number: usize| match number {
            0 => line.clone(),
            number => fields::field(words, line, of_words, number).unwrap_or(line.end..line.end),
        };
        copy_lines(block, ends, out, |line| {
            lately.0 += 1;
            let is_first = match key.as_slice() {
                [KeyPart::Field(number)] => {
                    let found = find(line, *number);
                    seen.add(block, found.start, found.end)
                }
                parts => {
                    joined.clear();
                    for part in parts {
                        joined.extend_from_slice(match part {
                            KeyPart::Field(number) => &block[find(line, *number)],
                            KeyPart::Text(text) => text,
                            KeyPart::Between => between,
                        });
                    }
                    seen.add(joined, 0, joined.len())
                }
            };
            lately.1 += u64::from(is_first);
            is_first
        });
    }

    /// Forks a peer for the records of the input from here on.
    pub(super) fn fork(&self) -> Option<Peer> {
        (!self.in_vain).then(|| Peer::of_sieve(FirstOfEachKey { lately: (0, 0), ..self.clone() }))
    }
}

/// Returns the array whose element is tested and thereby created, and the indices.
fn asked(test: &Expr) -> Option<(&str, &[Expr])> {
    let step = match bare(test) {
        Expr::Not(step) => step,
        Expr::Compare(Order::Equal, step, zero) if *bare(zero) == Expr::Number(0.0) => step,
        _ => return None,
    };
    match bare(step) {
        Expr::Step { place, by, before: false } if *by == 1.0 => match &**place {
            Expr::Element(name, indices) => Some((name, indices)),
            _ => None,
        },
        _ => None,
    }
}

fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(inner) if inner.len() == 1 => bare(&inner[0]),
        expr => expr,
    }
}

/// Adds the parts of an index: fields and constants. Declines numbers, as they would have to be formatted.
fn parts(index: &Expr, key: &mut Vec<KeyPart>) -> Option<()> {
    match bare(index) {
        Expr::Field(number) => match bare(number) {
            Expr::Number(number) if number.fract() == 0.0 && (0.0..1e4).contains(number) => {
                key.push(KeyPart::Field(*number as usize));
            }
            _ => return None,
        },
        Expr::Text(text) => key.push(KeyPart::Text(text.clone())),
        Expr::Concat(left, right) => {
            parts(left, key)?;
            parts(right, key)?;
        }
        _ => return None,
    }
    Some(())
}

impl Kernel for FirstOfEachKey {
    fn framing(&self) -> Framing {
        Framing::Records(b'\n')
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        self.run(block, out);
        if self.lately.0 >= LATELY {
            if self.lately.1 * LEFT_MAX > self.lately.0 {
                self.in_vain = true;
                return Err(HandOver::at(0, "nearly every record is the first of its kind"));
            }
            self.lately = (0, 0);
        }
        Ok(Flow::More)
    }
}
