//! `sort | uniq …` as one: identical lines are counted on the way in, and only the distinct ones are sorted.
//!
//! It holds wherever sort keeps identical lines together, that is unless `-s` (or `-u`) leaves lines with equal keys
//! as they came, and wherever uniq compares whole lines by their bytes.

use pelton_stream::{Framing, InputKind, Kernel, Means, Outcome, Peer};

use crate::sort::{GroupStyle, Mode, SortKernel, SortOptions};
use crate::uniq::UniqOptions;
use crate::{Accept, Declined};

/// `sort … | uniq …`.
#[derive(Debug)]
pub struct SortUniq {
    kernel: SortKernel,
}

impl SortUniq {
    /// For these options of both.
    pub fn new(sort: &SortOptions, uniq: &UniqOptions) -> Accept<SortUniq> {
        if sort.mode != Mode::Sort {
            return Declined::because("sort is not asked to sort");
        }
        if sort.unique || !sort.order().is_total_if_alone() {
            return Declined::because("sort may not keep identical lines together, or drops some");
        }
        if sort.order().may_meet_nan() {
            return Declined::because("-g may meet two NaNs");
        }
        if sort.terminator != uniq.terminator {
            return Declined::because("sort and uniq end lines differently");
        }
        let kernel = SortKernel::new(sort).with_groups(uniq.group_style()?);
        Ok(SortUniq { kernel })
    }

    pub(crate) fn into_kernel(self) -> SortKernel {
        self.kernel
    }
}

impl Kernel for SortUniq {
    fn framing(&self) -> Framing {
        self.kernel.framing()
    }

    fn inputs_are(&mut self, kinds: &[InputKind]) {
        self.kernel.inputs_are(kinds);
    }

    fn lend(&mut self, means: &Means) {
        self.kernel.lend(means);
    }

    fn call_back(&mut self) {
        self.kernel.call_back();
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        self.kernel.push(block, out)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.kernel.finish(out)
    }

    fn complaints(&mut self) -> Vec<u8> {
        self.kernel.complaints()
    }

    fn status(&self) -> i32 {
        self.kernel.status()
    }

    fn another(&self) -> Option<Peer> {
        self.kernel.another()
    }

    fn absorb(&mut self, peer: Box<dyn Kernel>) {
        self.kernel.absorb(peer);
    }
}

impl UniqOptions {
    /// What it prints of a group of identical lines.
    fn group_style(&self) -> Accept<GroupStyle> {
        if !self.compares_whole_lines() {
            return Declined::because("uniq does not compare whole lines");
        }
        if self.delimit.is_some() {
            return Declined::because("uniq separates groups");
        }
        Ok(GroupStyle {
            single: self.single,
            one_of_many: self.one_of_many,
            others_of_many: self.others_of_many,
            counted: self.counted,
        })
    }
}
