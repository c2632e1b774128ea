//! Programs that only print lines of certain lengths: `length > 80`. Lines are copied from line end to line
//! end, without records.

use super::code::{Code, Do, Get, LValue, ORS, When};
use super::fields::copy_lines;
use super::tree::Order;
use super::value::Value;

/// The lengths of printed lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    /// The range of printed lengths, or with `others`, of the lengths not printed.
    from: usize,
    many: usize,
    others: bool,
}

impl Lengths {
    /// `None` if the program is of another kind.
    pub(super) fn of(code: &Code) -> Option<Lengths> {
        let plain = code.has_lines() && code.begin.is_empty() && code.end.is_empty();
        let ends_lines =
            matches!(&code.globals[ORS], Value::Text(end) | Value::Input(end) if end.bytes() == b"\n");
        let [rule] = code.rules.as_slice() else { return None };
        match (&rule.when, rule.action.as_slice()) {
            (When::If(Get::CompareNumber(order, length, bound)), [Do::PrintRecord])
                if plain
                    && ends_lines
                    && matches!(&**length, Get::Length(of) if matches!(**of, Get::Of(LValue::Record))) =>
            {
                Lengths::within(*order, *bound)
            }
            _ => None,
        }
    }

    /// Returns the lengths that satisfy the comparison: one integer comparison per line.
    fn within(order: Order, bound: f64) -> Option<Lengths> {
        const MAX: f64 = (1u64 << 50) as f64;
        if !(0.0..MAX).contains(&bound) {
            return None;
        }
        let (below, above) = (bound.ceil() as usize, bound.floor() as usize + 1);
        // Nothing equals a fraction.
        let equal = above.saturating_sub(below);
        let (from, many, others) = match order {
            Order::Less => (0, below, false),
            Order::LessOrEqual => (0, above, false),
            Order::Equal => (below, equal, false),
            Order::NotEqual => (below, equal, true),
            Order::Greater => (0, above, true),
            Order::GreaterOrEqual => (0, below, true),
        };
        Some(Lengths { from, many, others })
    }

    #[inline]
    fn has(self, length: usize) -> bool {
        (length.wrapping_sub(self.from) < self.many) != self.others
    }

    /// Processes whole lines, the last of which may lack its end.
    pub(super) fn run(self, block: &[u8], ends: &mut Vec<u64>, out: &mut Vec<u8>) {
        copy_lines(block, ends, out, |line| self.has(line.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::arithmetic::numbers;
    use super::*;

    #[test]
    fn they_are_those_that_compare_so() {
        use Order::*;
        for order in [Less, LessOrEqual, Equal, NotEqual, Greater, GreaterOrEqual] {
            for bound in [0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 80.0, 1e9] {
                let lengths = Lengths::within(order, bound).expect("a length");
                for length in [0, 1, 2, 3, 4, 79, 80, 81, 999_999_999, 1_000_000_000, 1_000_000_001] {
                    let expected = numbers(order, length as f64, bound);
                    assert_eq!(lengths.has(length), expected, "{length} {order:?} {bound}");
                }
            }
            assert!(
                [-1.0, f64::NAN, f64::INFINITY].iter().all(|bound| Lengths::within(order, *bound).is_none())
            );
        }
    }
}
