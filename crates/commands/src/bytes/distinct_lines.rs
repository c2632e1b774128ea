//! Fused `sort | uniq …`: counts identical lines on input and sorts only the distinct ones.
//!
//! Valid wherever sort keeps identical lines together (not with `-s` or `-u`, which leave lines with equal
//! keys in input order) and uniq compares whole lines by their bytes.

use crate::sort::{GroupStyle, Mode, SortKernel, SortOptions};
use crate::tools::uniq::UniqOptions;
use crate::{Accept, Declined};

/// Returns the fused kernel for these options.
pub fn sort_uniq(sort: &SortOptions, uniq: &UniqOptions) -> Accept<SortKernel> {
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
    Ok(SortKernel::new(sort).with_groups(uniq.group_style()?))
}

impl UniqOptions {
    /// Returns what to print for a group of identical lines.
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
