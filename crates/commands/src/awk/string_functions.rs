//! Runs a program: functions that cut, search and change strings.

use super::code::replacement;
use super::code::{Get, LValue, OFS, RLENGTH, RSTART, Replacement, ReplacementPart, Table, is_still};
use super::fields::split;
use super::machine::{Machine, Ran};
use super::number::{self, written};
use super::rules;
use super::substitute::replace;
use super::value::Value;

impl Machine {
    pub(super) fn split(&mut self, text: &Get, table: Table, separator: usize) -> Ran<f64> {
        let number = self.table_number(table);
        if let Some(field) = self.field_of(text)? {
            let Machine { record, globals, tables, separators, .. } = self;
            let found = match field {
                0 => record.whole(&globals[OFS]),
                field => record.any_field(field),
            };
            if let Some(text) = found.bytes() {
                let pieces = tables[number].be_split(|piece| split(text, &mut separators[separator], piece));
                return Ok(pieces as f64);
            }
        }
        let text = self.text(text)?;
        let Machine { tables, separators, .. } = self;
        let pieces = tables[number].be_split(|piece| split(&text, &mut separators[separator], piece));
        self.give_back(text);
        Ok(pieces as f64)
    }

    /// Cuts a string: start and length lose their fractions first, and positions before the beginning are
    /// not counted quite as in POSIX.
    pub(super) fn substr(
        &mut self,
        text: &Get,
        start: &Get,
        length: Option<&Get>,
        out: &mut Vec<u8>,
    ) -> Ran<()> {
        if is_still(start) && length.is_none_or(is_still) {
            let first = number::to_integer(self.number(start)?);
            let count = length.map_or(Ok(i32::MAX), |length| self.number(length).map(number::to_integer))?;
            let known = match (self.field_of(text)?, text) {
                (Some(field), _) => self.found(field).bytes(),
                (None, Get::Of(LValue::Global(place))) => self.globals[*place].bytes(),
                _ => None,
            };
            if let Some(text) = known {
                let count = if length.is_none() { text.len() as i32 } else { count };
                out.extend_from_slice(cut(text, first, count));
                return Ok(());
            }
        }
        let text = self.text(text)?;
        let first = number::to_integer(self.number(start)?);
        let count = match length {
            None => text.len() as i32,
            Some(length) => number::to_integer(self.number(length)?),
        };
        out.extend_from_slice(cut(&text, first, count));
        self.give_back(text);
        Ok(())
    }

    pub(super) fn index(&mut self, text: &Get, wanted: &Get) -> Ran<f64> {
        let text = self.text(text)?;
        let wanted = self.text(wanted)?;
        let found = memchr::memmem::find(&text, &wanted).map_or(0, |at| at + 1);
        self.give_back(text);
        self.give_back(wanted);
        Ok(found as f64)
    }

    pub(super) fn find(&mut self, text: &Get, pattern: usize) -> Ran<f64> {
        let text = self.text(text)?;
        let found = self.patterns[pattern].find(&text, 0..text.len());
        self.give_back(text);
        let (start, length) =
            found.map_or((0.0, -1.0), |(start, end)| ((start + 1) as f64, (end - start) as f64));
        self.globals[RSTART] = Value::Number(start);
        self.globals[RLENGTH] = Value::Number(length);
        Ok(start)
    }

    pub(super) fn substitute(
        &mut self,
        all: bool,
        pattern: usize,
        by: &Replacement,
        place: &LValue,
    ) -> Ran<f64> {
        let made;
        let parts: &[ReplacementPart] = match by {
            Replacement::Fixed(parts) => parts,
            Replacement::Made(expr) => {
                let text = self.text(expr)?;
                made = replacement(&text);
                self.give_back(text);
                &made
            }
        };
        let mut out = self.buffer();
        let count = match self.place_of(place)? {
            None => {
                let pattern = &mut self.patterns[pattern];
                let found = self.record.whole(&self.globals[OFS]);
                let count = match found.bytes() {
                    Some(text) => replace(pattern, all, parts, text, &mut out),
                    None => replace(pattern, all, parts, &written(found.number()), &mut out),
                };
                if count > 0 {
                    self.record.set_text(&mut out);
                }
                count
            }
            Some(LValue::Global(place)) => {
                let pattern = &mut self.patterns[pattern];
                let count = match self.globals[place].bytes() {
                    Some(text) => replace(pattern, all, parts, text, &mut out),
                    None => replace(pattern, all, parts, &written(self.globals[place].number()), &mut out),
                };
                if count > 0 {
                    self.globals[place] = Value::text(&out);
                }
                count
            }
            Some(place) => {
                if let LValue::Field(field) = place
                    && rules::is_gawk()
                {
                    self.record.reach(field);
                }
                let mut text = self.buffer();
                self.get(&place)?.write(&mut text);
                let count = replace(&mut self.patterns[pattern], all, parts, &text, &mut out);
                self.give_back(text);
                if count > 0 {
                    self.set(&place, Value::text(&out))?;
                }
                count
            }
        };
        self.give_back(out);
        Ok(count as f64)
    }
}

/// Cuts as mawk does, or as gawk does, in which positions before the beginning do not count.
fn cut(text: &[u8], start: i32, mut count: i32) -> &[u8] {
    let size = text.len() as i32;
    let mut at = start.wrapping_sub(1);
    if rules::is_gawk() {
        at = start.max(1) - 1;
    }
    if at > size {
        count = 0;
    }
    if at < 0 {
        count = count.wrapping_sub(at.wrapping_add(1));
        at = 0;
    }
    count = count.min(size.wrapping_sub(at));
    if count > 0 { &text[at as usize..(at + count) as usize] } else { b"" }
}
