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
        let by = self.number(value)? * sign;
        // What is frequent is not called for.
        if let (Place::Global(place), Some(ledger)) = (place, &mut self.ledger)
            && ledger.left.is_none()
        {
            ledger.added += 1;
            return add_small(&mut self.globals[*place], by).inspect_err(|_| ledger.added -= 1);
        }
        let Some(mut ledger) = self.ledger.take() else { return Ok(()) };
        let added = self.add_exactly(place, by, &mut ledger);
        self.ledger = Some(ledger);
        added
    }

    fn add_exactly(&mut self, place: &Place, by: f64, ledger: &mut Ledger) -> Ran<()> {
        let taking_back = match &mut ledger.left {
            Some(0) => return Err(Stop::Inexact),
            Some(left) => {
                *left -= 1;
                true
            }
            None => false,
        };
        let by = if taking_back { -by } else { by };
        match place {
            Place::Element(table, index) => {
                let number = self.table_number(*table);
                self.at_key(*table, index, |array, key| {
                    let entry = array.entry(key);
                    if !taking_back && matches!(entry, Value::Unset) {
                        ledger.made.push((number, key.text(&mut Vec::new())));
                    }
                    add_small(entry, by)
                })??;
            }
            Place::Global(place) => add_small(&mut self.globals[*place], by)?,
            _ => return Err(Stop::Inexact),
        }
        ledger.added += u64::from(!taking_back);
        Ok(())
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
#[inline]
fn is_small(number: f64) -> bool {
    number.abs() < SUM_MAX && number as i64 as f64 == number
}

#[inline]
fn add_small(sum: &mut Value, by: f64) -> Ran<()> {
    let added = sum.number() + by;
    if !is_small(by) || !is_small(added) {
        return Err(Stop::Inexact);
    }
    *sum = Value::Number(added);
    Ok(())
}
