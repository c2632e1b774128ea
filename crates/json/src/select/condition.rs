//! Evaluates conditions on values: `[?price < 10]`.

use std::cmp::Ordering;

use pelton_simd::json_tokens::Found;

use super::compile::{Comparison, Condition, Paths, States};
use crate::collect::Collector;
use crate::decode::decode;
use crate::machine::{Machine, Rules};
use crate::visit::{Interest, Kind, StringPosition, Visitor};
use pelton_simd::padded::Raw;

/// Returns the states that a member or element gets from the conditions of its parent's `states`. `padded` is
/// its text, with padding.
pub(crate) fn judged(paths: &Paths, states: States, padded: &[u8]) -> States {
    let conditions = paths.conditions(states);
    conditions
        .fold(0, |reached, (condition, next)| if holds(condition, padded) { reached | next } else { reached })
}

/// Whether the condition holds for the value `padded`.
fn holds(condition: &Condition, padded: &[u8]) -> bool {
    let Condition { tests, paths, .. } = condition;
    let mut found = vec![false; tests.len()];
    let mut finder = Finder { collector: Collector::new(paths.clone()), tests, found: &mut found };
    let mut machine = Machine::new(Rules { max_depth: usize::MAX, ..Rules::default() });
    let sound = crate::feed::read_text(padded, &mut machine, &mut Found::default(), &mut finder).is_ok();
    sound && found.iter().all(|found| *found)
}

/// Evaluates the tests on the values that their paths select.
struct Finder<'a> {
    collector: Collector,
    tests: &'a [Option<(Comparison, Vec<u8>)>],
    found: &'a mut [bool],
}

impl Finder<'_> {
    fn judge(&mut self) {
        let (tests, found) = (self.tests, &mut *self.found);
        self.collector.take(|path, value| {
            let holds =
                tests[path].as_ref().is_none_or(|(comparison, literal)| compare(value, *comparison, literal));
            found[path] |= holds;
        });
    }
}

impl Visitor for Finder<'_> {
    fn document(&mut self) -> Interest {
        self.collector.begin()
    }
    fn key(&mut self, raw: Raw<'_>) -> Interest {
        self.collector.key(raw)
    }
    fn element(&mut self) -> Interest {
        self.collector.element()
    }
    fn open(&mut self, kind: Kind) -> Interest {
        self.collector.open(kind)
    }
    fn close(&mut self, kind: Kind) {
        self.collector.close(kind);
        self.judge();
    }
    fn scalar(&mut self, raw: Raw<'_>) {
        self.collector.scalar(raw);
        self.judge();
    }
    fn piece(&mut self, raw: &[u8], place: StringPosition) {
        self.collector.piece(raw, place);
        self.judge();
    }
    fn path(&self) -> Vec<u8> {
        Vec::new()
    }
    fn pause(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn compare(value: &[u8], comparison: Comparison, literal: &[u8]) -> bool {
    let order = order(value, literal);
    match comparison {
        Comparison::Equal => order == Some(Ordering::Equal),
        Comparison::Unequal => order != Some(Ordering::Equal),
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::AtLeast => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

fn order(value: &[u8], literal: &[u8]) -> Option<Ordering> {
    let is_number = |text: &[u8]| matches!(text.first(), Some(b'-' | b'0'..=b'9'));
    match (value.first()?, literal.first()?) {
        (b'"', b'"') => {
            let mut text = Vec::new();
            decode(value, &mut text);
            Some(text.as_slice().cmp(&literal[1..]))
        }
        _ if is_number(value) && is_number(literal) => {
            let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<f64>().ok();
            if value == literal {
                Some(Ordering::Equal)
            } else {
                number(value)?.partial_cmp(&number(literal)?)
            }
        }
        _ => (value == literal).then_some(Ordering::Equal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_by_kind() {
        assert_eq!(order(b"10", b"9.5"), Some(Ordering::Greater));
        assert_eq!(order(b"1e1", b"10"), Some(Ordering::Equal));
        assert_eq!(order(b"\"\\u0061\"", b"\"a"), Some(Ordering::Equal));
        assert_eq!(order(b"\"b\"", b"\"a"), Some(Ordering::Greater));
        assert_eq!(order(b"true", b"true"), Some(Ordering::Equal));
        assert_eq!(order(b"true", b"\"true"), None);
        assert_eq!(order(b"1", b"\"1"), None);
        assert!(compare(b"null", Comparison::Unequal, b"1"));
    }
}
