//! What records must match to have an effect, searched in many lines at once: `/404/ {print $7}`, `!/^#/`.

use super::code::{Code, RecordTest};
use super::pattern::Pattern;
use crate::regex::{LineMarks, Regex};

/// The test of a program, over whole lines.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    lines: Regex,
    negated: bool,
    marks: LineMarks,
}

impl Gate {
    /// `None` if the program has no such test, or records that are not lines.
    pub(super) fn of(code: &Code, patterns: &[Pattern]) -> Option<Gate> {
        let RecordTest { pattern, negated } = code.gate.filter(|_| code.has_lines())?;
        Some(Gate { lines: patterns[pattern].over_lines()?, negated, marks: LineMarks::default() })
    }

    /// Appends the lines that pass, of a block of whole lines.
    pub(super) fn keep(&mut self, block: &[u8], out: &mut Vec<u8>) {
        self.lines.keep_lines(block, self.negated, out);
    }

    /// Calls `found` for each line that passes, with the start of the lines that were passed over before it. `false` if each
    /// line has to be tested by itself, as it may where matching lines are rare and the others pass: nothing was called.
    pub(super) fn each<E>(
        &mut self,
        block: &[u8],
        mut found: impl FnMut(std::ops::Range<usize>, usize) -> Result<(), E>,
    ) -> Result<bool, E> {
        let marked = self.lines.mark_lines(block, &mut self.marks);
        if self.negated {
            if !marked {
                return Ok(false);
            }
            self.marks.invert();
        }
        let mut at = 0;
        loop {
            let next = if marked { self.marks.next_line(at) } else { self.lines.next_line(block, at) };
            let Some(line) = next else { return Ok(true) };
            let end = line.end;
            found(line, at)?;
            at = end + 1;
        }
    }
}
