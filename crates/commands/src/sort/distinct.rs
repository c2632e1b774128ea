//! `sort -u | wc -l` and `sort | uniq … | wc -l`: counts the lines that would be printed.
//!
//! While identical lines are counted as they arrive, the table has the answer and nothing is ordered. Data
//! with few identical lines is sorted, as that takes less memory than a table of all of it, but not printed.

use pelton_stream::{Flow, Framing, HandOver, Kernel, Notice, Outcome, Parallel};

use super::kernel::SortKernel;
use super::options::{Mode, SortOptions};
use crate::bytes::scan;
use crate::{Accept, Declined, UniqOptions, sort_uniq};

/// Prints how many lines sort, or sort and uniq, would print.
#[derive(Debug)]
pub struct DistinctCount {
    kernel: SortKernel,
}

impl DistinctCount {
    /// Counts for `sort -u` with these options before `wc -l`.
    pub fn of_sort(sort: &SortOptions) -> Accept<DistinctCount> {
        if sort.mode != Mode::Sort || !sort.unique {
            return Declined::because("sort is not asked to sort and to drop what is equal");
        }
        if sort.order().may_meet_nan() {
            return Declined::because("-g may meet two NaNs");
        }
        DistinctCount::by_newlines(sort.terminator, SortKernel::new(sort))
    }

    /// Counts for `sort | uniq` with these options before `wc -l`.
    pub fn of_uniq(sort: &SortOptions, uniq: &UniqOptions) -> Accept<DistinctCount> {
        DistinctCount::by_newlines(sort.terminator, sort_uniq(sort, uniq)?)
    }

    fn by_newlines(terminator: u8, kernel: SortKernel) -> Accept<DistinctCount> {
        if terminator != b'\n' {
            return Declined::because("wc counts newlines, which do not end these lines");
        }
        Ok(DistinctCount { kernel })
    }

    fn sort_and_count(&mut self) -> Result<u64, HandOver> {
        let (mut lines, mut printed) = (0, Vec::new());
        loop {
            let flow = self.kernel.finish(&mut printed)?;
            lines += scan::count(&printed, b'\n') as u64;
            printed.clear();
            if flow == Flow::Done {
                return Ok(lines);
            }
        }
    }
}

impl Kernel for DistinctCount {
    fn framing(&self) -> Framing {
        self.kernel.framing()
    }

    fn notice(&mut self, notice: Notice<'_>) {
        self.kernel.notice(notice);
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        self.kernel.push(block, out)
    }

    fn messages(&mut self) -> Vec<u8> {
        self.kernel.messages()
    }

    fn status(&self) -> i32 {
        self.kernel.status()
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        let lines = match self.kernel.lines_to_print() {
            Some(lines) => lines,
            None => self.sort_and_count()?,
        };
        out.extend_from_slice(format!("{lines}\n").as_bytes());
        Ok(Flow::Done)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        self.kernel.parallel()
    }
}
