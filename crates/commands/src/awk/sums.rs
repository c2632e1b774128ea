//! Runs a program: what is added up, alone or as one of several.

use super::code::{Get, Place};
use super::eval::calculate;
use super::fold::{self, Ledger, SUM_MAX};
use super::machine::{Machine, Ran, Stop};
use super::tree::Arith;
use super::value::Value;

impl Machine {
    /// Adds to a sum.
    #[inline]
    pub(super) fn add(&mut self, place: &Place, value: &Get, sign: f64) -> Ran<()> {
        if self.ledger.is_some() {
            return self.add_on_ledger(place, value, sign);
        }
        let arith = if sign < 0.0 { Arith::Subtract } else { Arith::Add };
        let by = self.number(value)?;
        self.inexact |= !is_small(by);
        let sum = match self.variable(place) {
            Some(Value::Number(number)) => {
                *number = calculate(arith, *number, by);
                *number
            }
            _ => self.update(arith, place, &Get::Number(by))?,
        };
        self.inexact |= !is_small(sum);
        Ok(())
    }

    fn add_on_ledger(&mut self, place: &Place, value: &Get, sign: f64) -> Ran<()> {
        let mut by = self.number(value)? * sign;
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        // It is made before it is known whether it can be added: who takes back what was added looks for both.
        match &mut ledger.left {
            None => ledger.added += 1,
            Some(0) => return Err(Stop::Inexact),
            Some(left) => {
                *left -= 1;
                by = -by;
            }
        }
        let outcome = match place {
            Place::Global(place) => Ok((None, add_small(&mut self.globals[*place], by))),
            Place::Element(table, index) => {
                let number = self.table_number(*table);
                self.at_key(*table, index, |array, key| {
                    let entry = array.entry(key);
                    let made = matches!(entry, Value::Unset).then(|| (number, key.text(&mut Vec::new())));
                    (made, add_small(entry, by))
                })
            }
            _ => Err(Stop::Inexact),
        };
        let (made, added) = outcome.unwrap_or_else(|stop| (None, Err(stop)));
        if (made.is_some() || added.is_err())
            && let Some(ledger) = self.ledger.as_mut().filter(|ledger| ledger.left.is_none())
        {
            ledger.made.extend(made);
            ledger.added -= u64::from(added.is_err());
        }
        added
    }

    /// What they begin with must be whole as well.
    pub(super) fn check_sums(&mut self) {
        let (variables, arrays) = &self.code.sums;
        let mut small = variables.iter().all(|place| is_small(self.globals[*place].number()));
        for number in arrays {
            self.tables[*number].each(|_, value| small &= is_small(value.number()));
        }
        self.inexact |= !small;
    }

    /// Like this one, but it knows of no record yet but so many, and adds up on a ledger.
    pub(super) fn helper(&self, behind: u64) -> Machine {
        let mut helper = self.clone();
        (helper.records, helper.file_records) = (behind, behind);
        let (variables, arrays) = &self.code.sums;
        variables.iter().for_each(|place| helper.globals[*place] = Value::Unset);
        arrays.iter().for_each(|number| helper.tables[*number].clear());
        helper.ledger = Some(Ledger::default());
        helper
    }

    /// Adds what a helper has that began behind so many records.
    pub(super) fn join(&mut self, helper: &Machine, behind: u64) {
        self.records += helper.records - behind;
        self.file_records += helper.file_records - behind;
        let code = std::sync::Arc::clone(&self.code);
        let (variables, arrays) = &code.sums;
        for place in variables {
            fold::join(&mut self.globals[*place], &helper.globals[*place]);
        }
        for number in arrays {
            fold::join_arrays(&mut self.tables[*number], &helper.tables[*number]);
        }
    }
}

/// Added in whatever order, such numbers come to the same.
#[inline(always)]
fn is_small(number: f64) -> bool {
    number.abs() < SUM_MAX && number as i64 as f64 == number
}

/// To a sum that is small itself, or nothing yet.
#[inline(always)]
fn add_small(sum: &mut Value, by: f64) -> Ran<()> {
    let added = sum.number() + by;
    // A sum of whole numbers is whole.
    if !is_small(by) || added.abs() >= SUM_MAX {
        return Err(Stop::Inexact);
    }
    *sum = Value::Number(added);
    Ok(())
}
