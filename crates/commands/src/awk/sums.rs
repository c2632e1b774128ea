//! Runs a program: sums, alone or as one of several threads.

use super::arithmetic::calculate;
use super::code::{Get, LValue};
use super::fold::{self, SUM_MAX};
use super::machine::{Machine, Ran, Stop};
use super::tree::Arith;
use super::value::Value;

impl Machine {
    /// Adds to a sum.
    #[inline]
    pub(super) fn add(&mut self, place: &LValue, value: &Get, sign: f64) -> Ran<()> {
        if self.exactly {
            return self.add_exactly(place, value, sign);
        }
        let by = self.number(value)?;
        let arith = if sign < 0.0 { Arith::Subtract } else { Arith::Add };
        let sum = match self.number_at(place) {
            Some(number) => {
                *number = calculate(arith, *number, by);
                *number
            }
            None => self.change(place, |number| calculate(arith, number, by))?,
        };
        // A sum of integers is an integer.
        self.inexact = self.inexact || !is_small(by) || sum.abs() >= SUM_MAX;
        Ok(())
    }

    /// Adds to a sum, as long as the order does not matter.
    fn add_exactly(&mut self, place: &LValue, value: &Get, sign: f64) -> Ran<()> {
        let by = self.number(value)? * sign;
        match place {
            LValue::Global(place) => add_small(&mut self.globals[*place], by),
            LValue::Element(table, index) => {
                self.at_key(*table, index, |array, key| add_small(array.entry(key), by))?
            }
            _ => Err(Stop::Inexact),
        }
    }

    /// Checks that the initial values are integers too.
    pub(super) fn check_sums(&mut self) {
        let (variables, arrays) = &self.code.sums;
        // Additions to -0 may leave -0, which a sum from 0 never reaches.
        let fits = |sum: f64| is_small(sum) && !(sum == 0.0 && sum.is_sign_negative());
        let mut small = variables.iter().all(|place| fits(self.globals[*place].number()));
        for number in arrays {
            self.tables[*number].each(|_, value| small &= fits(value.number()));
        }
        self.inexact |= !small;
    }

    /// Makes a helper that starts after `behind` records, and refuses order-dependent sums.
    pub(super) fn helper(&self, behind: u64) -> Machine {
        let mut helper = self.clone();
        (helper.records, helper.file_records) = (behind, behind);
        let (variables, arrays) = &self.code.sums;
        variables.iter().for_each(|place| helper.globals[*place] = Value::Unset);
        arrays.iter().for_each(|number| helper.tables[*number].clear());
        helper.exactly = true;
        helper
    }

    /// Adds the sums of a helper that started after `behind` records.
    pub(super) fn join(&mut self, helper: &Machine, behind: u64) {
        self.records += helper.records - behind;
        self.file_records += helper.file_records - behind;
        let code = std::sync::Arc::clone(&self.code);
        let (variables, arrays) = &code.sums;
        // A later addition need not check each.
        let mut small = true;
        for place in variables {
            small &= is_small(fold::join(&mut self.globals[*place], &helper.globals[*place]));
        }
        for number in arrays {
            let tell = |sum| small &= is_small(sum);
            fold::join_arrays(&mut self.tables[*number], &helper.tables[*number], tell);
        }
        self.inexact |= !small;
    }
}

/// Whether sums of such numbers are independent of their order.
#[inline(always)]
fn is_small(number: f64) -> bool {
    number.abs() < SUM_MAX && number as i64 as f64 == number
}

/// Adds to a small or unset sum.
#[inline(always)]
fn add_small(sum: &mut Value, by: f64) -> Ran<()> {
    let added = sum.number() + by;
    // A sum of integers is an integer.
    if !is_small(by) || added.abs() >= SUM_MAX {
        return Err(Stop::Inexact);
    }
    *sum = Value::Number(added);
    Ok(())
}
