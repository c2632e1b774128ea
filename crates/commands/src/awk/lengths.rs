//! Programs that print the lines of some lengths and do nothing else: `length > 80`. What they print is copied from where lines end to
//! where lines end; no record is made of any.

use super::code::{Code, Do, Get, ORS, Place, When};
use super::eval::numbers;
use super::fields::each_record;
use super::tree::Order;
use super::value::Value;

/// Which lines are printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    order: Order,
    bound: f64,
}

impl Lengths {
    /// `None` if the program is none.
    pub(super) fn of(code: &Code) -> Option<Lengths> {
        let plain = code.record_end == b'\n' && code.begin.is_empty() && code.end.is_empty();
        let ends_lines =
            matches!(&code.globals[ORS], Value::Text(end) | Value::Input(end) if end.bytes() == b"\n");
        let [rule] = code.rules.as_slice() else { return None };
        match (&rule.when, rule.action.as_slice()) {
            (When::If(Get::CompareNumber(order, length, bound)), [Do::PrintRecord])
                if plain
                    && ends_lines
                    && matches!(&**length, Get::Length(of) if matches!(**of, Get::Of(Place::Record))) =>
            {
                Some(Lengths { order: *order, bound: *bound })
            }
            _ => None,
        }
    }

    /// Over whole lines, the last of which may lack its end. Neighbours are copied together.
    pub(super) fn run(self, block: &[u8], ends: &mut Vec<u64>, out: &mut Vec<u8>) {
        let mut chosen = 0..0;
        let done: Result<(), ()> = each_record(block, b'\n', ends, |line| {
            if !numbers(self.order, line.len() as f64, self.bound) {
                return Ok(());
            }
            if chosen.end != line.start {
                out.extend_from_slice(&block[chosen.clone()]);
                chosen.start = line.start;
            }
            chosen.end = line.end + 1;
            Ok(())
        });
        debug_assert!(done.is_ok());
        let lacks_end = chosen.end > block.len();
        out.extend_from_slice(&block[chosen.start..chosen.end.min(block.len())]);
        if lacks_end {
            out.push(b'\n');
        }
    }
}
