//! Sums over parts of an input, for workers on several machines: one kernel writes what a part adds up, another reads that of
//! all parts and runs END.
//!
//! What is written is a sequence of items: a byte for the kind, then numbers in little-endian order, then a key.

use super::fold;
use super::kernel::AwkKernel;
use super::machine::Machine;
use super::value::Value;
use pelton_stream::{Flow, Framing, HandOver, Kernel, Outcome};
use std::sync::Arc;

/// Limit for the sums of a part: those of 1,024 parts stay below 2^53, up to which integers are exact.
const PART_SUM_MAX: f64 = (1u64 << 43) as f64;
const REFUSED: &str = "its sums depend on the order of its records";

/// Adds up a part of the input, and writes its sums.
pub(super) struct PartKernel(pub(super) AwkKernel);

impl Kernel for PartKernel {
    fn framing(&self) -> Framing {
        self.0.framing()
    }

    fn begin_input(&mut self, name: Option<&[u8]>, out: &mut Vec<u8>) {
        self.0.begin_input(name, out);
        self.0.sum_only();
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        self.0.push(block, out)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        match self.0.machine().is_some_and(|machine| machine.write_sums(out)) {
            true => Ok(Flow::Done),
            false => Err(HandOver::at(0, REFUSED)),
        }
    }

    fn messages(&mut self) -> Vec<u8> {
        self.0.messages()
    }

    fn status(&self) -> i32 {
        self.0.status()
    }
}

/// Reads the sums of all parts, and runs END.
pub(super) struct PartsKernel {
    kernel: AwkKernel,
    /// The start of an item.
    open: Vec<u8>,
}

impl PartsKernel {
    pub(super) fn new(kernel: AwkKernel) -> Self {
        PartsKernel { kernel, open: Vec::new() }
    }
}

impl Kernel for PartsKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn begin_input(&mut self, name: Option<&[u8]>, out: &mut Vec<u8>) {
        self.kernel.begin_input(name, out);
        self.kernel.expect_characters();
    }

    fn push(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        self.open.extend_from_slice(block);
        let machine = self.kernel.machine().ok_or_else(|| HandOver::at(0, REFUSED))?;
        let mut at = 0;
        while let Some(taken) = machine.read_sum(&self.open[at..]) {
            at += taken;
        }
        self.open.drain(..at);
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        if !self.open.is_empty() {
            return Err(HandOver::at(0, "the sums of a part are incomplete"));
        }
        self.kernel.finish(out)
    }

    fn messages(&mut self) -> Vec<u8> {
        self.kernel.messages()
    }

    fn status(&self) -> i32 {
        self.kernel.status()
    }
}

impl Machine {
    /// Writes the sums. Returns whether they are the same in any order.
    fn write_sums(&self, out: &mut Vec<u8>) -> bool {
        let code = Arc::clone(&self.code);
        let (variables, arrays) = &code.sums;
        let mut small = true;
        let mut number = |value: &Value| {
            // An element may have been made and not added to.
            let Value::Number(number) = value else { return f64::NAN };
            small &= number.abs() < PART_SUM_MAX;
            *number
        };
        out.push(b'r');
        out.extend_from_slice(&self.records.to_le_bytes());
        for place in variables {
            out.push(b'v');
            out.extend_from_slice(&(*place as u64).to_le_bytes());
            out.extend_from_slice(&number(&self.globals[*place]).to_le_bytes());
        }
        for table in arrays {
            self.tables[*table].each(|key, value| {
                let key = key.text();
                out.push(b'e');
                out.extend_from_slice(&(*table as u64).to_le_bytes());
                out.extend_from_slice(&number(value).to_le_bytes());
                out.extend_from_slice(&(key.bytes().len() as u64).to_le_bytes());
                out.extend_from_slice(key.bytes());
            });
        }
        small
    }

    /// Adds what one item says. Returns its length, or `None` if it is not complete.
    fn read_sum(&mut self, text: &[u8]) -> Option<usize> {
        let (kind, rest) = text.split_first()?;
        let word = |at: usize| Some(u64::from_le_bytes(rest.get(8 * at..8 * at + 8)?.try_into().ok()?));
        let number = |at: usize| {
            let number = f64::from_bits(word(at)?);
            Some(if number.is_nan() { Value::Unset } else { Value::Number(number) })
        };
        match kind {
            b'r' => {
                self.records += word(0)?;
                Some(9)
            }
            b'v' => {
                let (place, by) = (word(0)? as usize, number(1)?);
                fold::join(self.globals.get_mut(place)?, &by);
                Some(17)
            }
            b'e' => {
                let (table, by, length) = (word(0)? as usize, number(1)?, word(2)? as usize);
                let key = rest.get(24..24 + length)?;
                fold::join(self.tables.get_mut(table)?.entry_of(key), &by);
                Some(25 + length)
            }
            _ => None,
        }
    }
}
