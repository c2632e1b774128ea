//! Programs that do something for the first record of each kind only, as `!seen[$3]++`: which records those are is found out without
//! the machine, which then is given no others.
//!
//! Several threads can share that: each leaves out of its blocks what it has seen itself, since that came before, and what is left is
//! sieved once more in order (as a shuffle after a combiner, of what map-reduce calls a distinct count).

use std::ops::Range;

use pelton_stream::{Flow, Framing, HandOver, Kernel, Outcome, Peer};

use crate::tool::stateless::names_in;

use super::fields::{self, Separator, copy_lines};
use super::string_set::Seen;
use super::tree::{Expr, Order, Pattern, Program, Statement};

/// What the key of a record consists of.
#[derive(Clone, Debug, PartialEq)]
enum KeyPart {
    /// 0 is the record.
    Field(usize),
    Text(Vec<u8>),
    /// What stands between the indices of an element.
    Between,
}

/// Which records are the first of their kind.
#[derive(Clone, Debug)]
pub(super) struct FirstOfEachKey {
    key: Vec<KeyPart>,
    between: Vec<u8>,
    separator: Separator,
    /// The program prints them and does nothing else.
    prints: bool,
    seen: Seen,
    words: Vec<u64>,
    ends: Vec<u64>,
    /// Of several parts.
    joined: Vec<u8>,
    /// How many records there were lately, and how many of them were first.
    lately: (u64, u64),
    /// Nearly all are: to sieve in several threads costs more than it saves.
    pub(super) in_vain: bool,
}

/// So many records show whether sieving pays.
const LATELY: u64 = 50_000;
/// It does not where one of so many records is left.
const LEFT_MAX: u64 = 4;

impl FirstOfEachKey {
    /// `None` if the program is none. `text` is how it is written.
    pub(super) fn of(program: &Program, text: &[u8], separator: &Separator) -> Option<FirstOfEachKey> {
        let [rule] = program.rules.as_slice() else { return None };
        let test = match (&rule.pattern, rule.action.as_deref()) {
            (Pattern::When(test), _) => test,
            (Pattern::Always, Some([Statement::If(test, _, None)])) => test,
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
            prints: rule.action.is_none() && program.end.is_empty(),
            seen: Seen::new(),
            words: Vec::new(),
            ends: Vec::new(),
            joined: Vec::new(),
            lately: (0, 0),
            in_vain: false,
        })
    }

    /// BEGIN is over: this stands between the indices of an element, and this behind what is printed.
    pub(super) fn begin(&mut self, between: &[u8], behind: Option<&[u8]>) {
        self.between = between.to_vec();
        self.prints &= behind == Some(b"\n");
    }

    /// What it gives is what the program prints.
    pub(super) fn is_all(&self) -> bool {
        self.prints
    }

    /// Those records of whole lines, each with its end.
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

    /// One that shares the records of the input from here on.
    pub(super) fn another(&self) -> Option<Peer> {
        (!self.in_vain).then(|| Peer::of_sieve(FirstOfEachKey { lately: (0, 0), ..self.clone() }))
    }
}

/// The array that is asked whether it has an element, which is made by that, and the indices.
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

/// Adds what an index is put together from: fields and constants. Numbers are not, as they would have to be written.
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
                return Err(HandOver { consumed: 0, reason: "nearly every record is the first of its kind" });
            }
            self.lately = (0, 0);
        }
        Ok(Flow::More)
    }
}
