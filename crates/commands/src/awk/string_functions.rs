//! Runs a program: functions that cut, search and change strings.

use std::ops::Range;

use super::char_index::{append_stored, measure_stored};
use super::characters::{self, Case, Measured, length_of_valid, measure};
use super::code::replacement;
use super::code::{Get, LValue, OFS, RLENGTH, RSTART, Replacement, ReplacementPart, Table, is_still};
use super::fields::split;
use super::machine::{Machine, Ran};
use super::number::{self, written};
use super::rules;
use super::substitute::replace;
use super::text::append_long;
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
        // Otherwise the text is made first: it may warn, and the numbers may fail.
        let is_known = matches!(text, Get::Of(_)) && is_still(start);
        if is_known && length.is_none_or(is_still) {
            let field = self.field_of(text)?;
            let first = number::to_position(self.number(start)?);
            let count = length.map_or(Ok(i32::MAX), |length| self.number(length).map(number::to_integer))?;
            let known = match (field, text) {
                (Some(field), _) => self.found(field).bytes(),
                (None, Get::Of(LValue::Global(place))) => self.globals[*place].bytes(),
                (None, Get::Of(LValue::Local(place))) => self.locals[self.base + *place].bytes(),
                _ => None,
            };
            if let Some(text) = known {
                let count = if length.is_none() { text.len() as i32 } else { count };
                let warns = cut(text, first, count, true, out);
                self.warn_if(warns);
                return Ok(());
            }
        }
        let text = self.text(text)?;
        let first = number::to_position(self.number(start)?);
        let count = match length {
            None => text.len() as i32,
            Some(length) => number::to_integer(self.number(length)?),
        };
        let warns = cut(&text, first, count, false, out);
        self.give_back(text);
        self.warn_if(warns);
        Ok(())
    }

    pub(super) fn index(&mut self, text: &Get, wanted: &Get) -> Ran<f64> {
        let (found, warns) = if let Get::Text(wanted) = wanted {
            self.with_text(text, |text| position(text, wanted.bytes()))?
        } else {
            let text = self.text(text)?;
            let wanted = self.text(wanted)?;
            let found = position(&text, &wanted);
            self.give_back(text);
            self.give_back(wanted);
            found
        };
        self.warn_if(warns);
        Ok(found as f64)
    }

    pub(super) fn find(&mut self, text: &Get, pattern: usize) -> Ran<f64> {
        let text = self.text(text)?;
        let mut found = self.patterns[pattern].find(&text, 0..text.len());
        // gawk counts bytes before a match of nothing.
        if rules::has_characters()
            && let Some((start, end)) = &mut found
            && start < end
        {
            let whole = measure(&text);
            self.warn_if(whole.warns);
            let length = |text| if whole.is_valid { length_of_valid(text) } else { measure(text).length };
            let before = length(&text[..*start]);
            (*start, *end) = (before, before + length(&text[*start..*end]));
        }
        self.give_back(text);
        let (start, length) =
            found.map_or((0.0, -1.0), |(start, end)| ((start + 1) as f64, (end - start) as f64));
        self.globals[RSTART] = Value::Number(start);
        self.globals[RLENGTH] = Value::Number(length);
        Ok(start)
    }

    /// Changes the case of all from `start` on.
    pub(super) fn change_case(&mut self, out: &mut Vec<u8>, start: usize, case: Case) -> Ran<()> {
        if rules::decodes_case() && !characters::is_decoded(&out[start..]) {
            let said = [b"illegal byte sequence ", &out[start..]].concat();
            return Err(self.fatal_in_one_true(&said));
        }
        let warns = characters::change_case(out, start, case);
        self.warn_if(warns);
        Ok(())
    }

    /// Returns the length of a string in characters.
    pub(super) fn length_in_characters(&mut self, expr: &Get) -> Ran<usize> {
        let is_stored = matches!(
            expr,
            Get::Of(
                LValue::Global(_) | LValue::Local(_) | LValue::Record | LValue::Field(_) | LValue::FieldAt(_)
            )
        );
        let measured = self.with_text(expr, if is_stored { measure_stored } else { measure })?;
        self.warn_if(measured.warns);
        Ok(measured.length)
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
                    self.globals[place].take_text(&mut out);
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

/// Returns the position of the first occurrence, from 1, or 0; and whether gawk warns of the strings.
fn position(text: &[u8], wanted: &[u8]) -> (usize, bool) {
    if text.is_empty() && rules::is_one_true() {
        return (0, false);
    }
    if !rules::has_characters() || wanted.is_empty() {
        return (memchr::memmem::find(text, wanted).map_or(0, |at| at + 1), false);
    }
    let measured = [measure(text), measure(wanted)];
    let are_valid = measured.iter().all(|text| text.is_valid);
    (characters::position(text, wanted, are_valid), measured.iter().any(|text| text.warns))
}

/// Appends a piece as mawk cuts it, or as gawk does, in which positions before the beginning do not count. Returns whether
/// gawk warns of it.
fn cut(text: &[u8], start: i32, count: i32, is_stored: bool, out: &mut Vec<u8>) -> bool {
    if !rules::has_characters() || count < 1 || text.is_empty() {
        append_long(&text[window(text.len(), start, count)], out);
        return false;
    }
    let measured = if is_stored { measure_stored(text) } else { measure(text) };
    let Measured { length, is_valid, warns } = measured;
    let piece = window(length, start, count);
    // gawk takes bytes if there are as many of them as characters.
    if length == text.len() {
        append_long(&text[piece], out);
    } else if is_stored {
        append_stored(text, piece, is_valid, out);
    } else {
        characters::append(text, piece, is_valid, out);
    }
    warns
}

/// Returns the range of a piece of a string of this length.
fn window(length: usize, start: i32, mut count: i32) -> Range<usize> {
    let size = length as i32;
    if rules::is_one_true() {
        let at = start.clamp(1, size + 1) - 1;
        return at as usize..(at + count.clamp(0, size - at)) as usize;
    }
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
    if count > 0 { at as usize..(at + count) as usize } else { 0..0 }
}
