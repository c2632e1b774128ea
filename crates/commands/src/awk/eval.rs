//! Runs a program: expressions. An expression is asked for what is wanted of it: a number, a string, whether it is
//! true, or its value if that is not known beforehand. So a field that is printed is never made a number, and one that
//! is added up never a string.

use std::cmp::Ordering;

use super::array::place_of_number;
use super::code::{Get, OFS, Part, Place, RLENGTH, RSTART, Replacement, is_still};
use super::fields::split;
use super::machine::{Machine, Ran, parts_of};
use super::number;
use super::record::Found;
use super::substitute::replace;
use super::tree::{Arith, Order};
use super::value::{Operand, Text, Value};

/// mawk's buffer for `sprintf` holds less.
const SPRINTF_MAX: usize = 8191;

impl Machine {
    /// The number of the field that a place is, 0 for the record. `None` if it is none.
    #[inline]
    fn field_of(&mut self, expr: &Get) -> Ran<Option<usize>> {
        Ok(match expr {
            Get::Of(Place::Field(field)) => Some(*field),
            Get::Of(Place::Record) => Some(0),
            Get::Of(Place::FieldAt(index)) => Some(self.field_number(index)?),
            _ => None,
        })
    }

    #[inline]
    fn found(&mut self, field: usize) -> Found<'_> {
        match field {
            0 => self.record.whole(&self.globals[OFS]),
            field => self.record.any_field(field),
        }
    }

    /// An element, made if it is not there.
    #[inline]
    fn element<T>(
        &mut self,
        table: super::code::Table,
        index: &[Get],
        with: impl FnOnce(&mut Value) -> T,
    ) -> Ran<T> {
        let number = self.table_number(table);
        if let Some(place) = self.listed(index) {
            return Ok(with(self.tables[number].entry_at(place)));
        }
        if let [one] = index
            && let Some(field) = self.field_of(one)?
        {
            let found = match field {
                0 => self.record.whole(&self.globals[OFS]),
                field => self.record.any_field(field),
            };
            if let Some(key) = found.bytes() {
                return Ok(with(self.tables[number].entry(key)));
            }
            let mut key = Vec::new();
            found.write(&mut key);
            return Ok(with(self.tables[number].entry(&key)));
        }
        let key = self.key(index)?;
        let made = with(self.tables[number].entry(&key));
        self.give_back(key);
        Ok(made)
    }

    /// A number from 1 as the only index, if it can be had at once.
    #[inline]
    fn listed(&mut self, index: &[Get]) -> Option<usize> {
        let [one] = index else { return None };
        place_of_number(self.quick(one)?)
    }

    /// A number that can be had at once, and is none but by itself: no string that looks like one.
    #[inline]
    fn quick(&mut self, expr: &Get) -> Option<f64> {
        match expr {
            Get::Number(number) => Some(*number),
            Get::Of(Place::Global(place)) => number_in(&self.globals[*place]),
            Get::Of(Place::Local(place)) => number_in(&self.locals[self.base + *place]),
            Get::Of(Place::FieldCount) => Some(self.record.count() as f64),
            Get::RecordNumber => Some(self.records as f64),
            Get::Length(of) if matches!(**of, Get::Of(Place::Record)) => {
                self.record.whole(&self.globals[OFS]).bytes().map(|text| text.len() as f64)
            }
            _ => None,
        }
    }

    /// It is a number now, whatever it was: no string to be compared as one.
    #[inline]
    fn is_number_now(&self, expr: &Get) -> bool {
        match expr {
            Get::Of(Place::Global(place)) => matches!(self.globals[*place], Value::Number(_)),
            Get::Of(Place::Local(place)) => matches!(self.locals[self.base + *place], Value::Number(_)),
            expr => is_number(expr),
        }
    }

    /// An expression as a number. What is frequent is not called for.
    #[inline(always)]
    pub(super) fn number(&mut self, expr: &Get) -> Ran<f64> {
        match expr {
            Get::Number(number) => Ok(*number),
            Get::Of(Place::Field(field)) => Ok(self.record.field(*field).number()),
            Get::Of(Place::Global(place)) => Ok(self.globals[*place].number()),
            _ => self.number_made(expr),
        }
    }

    fn number_made(&mut self, expr: &Get) -> Ran<f64> {
        Ok(match expr {
            Get::Number(number) => *number,
            Get::Of(Place::Field(field)) => self.record.field(*field).number(),
            Get::Of(Place::Global(place)) => self.globals[*place].number(),
            Get::Of(Place::Local(place)) => self.locals[self.base + *place].number(),
            Get::Of(Place::FieldCount) => self.record.count() as f64,
            Get::Of(Place::Element(table, index)) => self.element(*table, index, |value| value.number())?,
            Get::Of(Place::FieldAt(index)) => {
                let field = self.field_number(index)?;
                self.found(field).number()
            }
            Get::RecordNumber => self.records as f64,
            Get::FileRecordNumber => self.file_records as f64,
            Get::Arith(arith, left, right) => {
                let left = self.number(left)?;
                calculate(*arith, left, self.number(right)?)
            }
            Get::Negate(inner) => -self.number(inner)?,
            Get::Plus(inner) => self.number(inner)?,
            Get::Math(function, inner) => function(self.number(inner)?),
            Get::Length(inner) => self.length(inner)? as f64,
            Get::Not(_) | Get::And(..) | Get::Or(..) | Get::Compare(..) | Get::Match { .. } | Get::In(..) => {
                f64::from(u8::from(self.is_true(expr)?))
            }
            Get::Step { place, by, before } => {
                let after = self.step(place, *by)?;
                if *before { after } else { after - by }
            }
            Get::Update(arith, place, value) => self.update(*arith, place, value)?,
            Get::If(test, yes, no) => {
                let branch = if self.is_true(test)? { yes } else { no };
                return self.number(branch);
            }
            expr => self.value(expr)?.number(),
        })
    }

    /// Whether an expression is true.
    #[inline(always)]
    pub(super) fn is_true(&mut self, expr: &Get) -> Ran<bool> {
        match expr {
            Get::Compare(order, left, right) => {
                if let Some(left) = self.quick(left)
                    && let Some(right) = self.quick(right)
                {
                    return Ok(holds(*order, compare_numbers(left, right)));
                }
                self.compare(*order, left, right)
            }
            _ => self.is_true_made(expr),
        }
    }

    fn is_true_made(&mut self, expr: &Get) -> Ran<bool> {
        Ok(match expr {
            Get::Compare(order, left, right) => self.compare(*order, left, right)?,
            Get::Match { negated, text, pattern } => self.matches(text, *pattern)? != *negated,
            Get::Not(inner) => !self.is_true(inner)?,
            Get::And(left, right) => self.is_true(left)? && self.is_true(right)?,
            Get::Or(left, right) => self.is_true(left)? || self.is_true(right)?,
            Get::In(table, index) => {
                let key = self.key(index)?;
                let found = self.table(*table).contains(&key);
                self.give_back(key);
                found
            }
            Get::Of(Place::Field(field)) => self.record.field(*field).is_true(),
            Get::Of(Place::Record) => self.record.whole(&self.globals[OFS]).is_true(),
            Get::Of(Place::Global(place)) => self.globals[*place].is_true(),
            Get::Of(Place::Element(table, index)) => self.element(*table, index, |value| value.is_true())?,
            Get::Number(_)
            | Get::Arith(..)
            | Get::RecordNumber
            | Get::FileRecordNumber
            | Get::Of(Place::FieldCount)
            | Get::Length(_)
            | Get::Step { .. }
            | Get::Update(..)
            | Get::Negate(_) => self.number(expr)? != 0.0,
            expr => self.value(expr)?.is_true(),
        })
    }

    fn matches(&mut self, text: &Get, pattern: usize) -> Ran<bool> {
        let Some(field) = self.field_of(text)? else { return self.matches_made(text, pattern) };
        let found = match field {
            0 => self.record.whole(&self.globals[OFS]),
            field => self.record.field(field),
        };
        if let Some(text) = found.bytes() {
            return Ok(self.patterns[pattern].is_match(text));
        }
        let mut text = Vec::new();
        found.write(&mut text);
        Ok(self.patterns[pattern].is_match(&text))
    }

    fn matches_made(&mut self, text: &Get, pattern: usize) -> Ran<bool> {
        let text = self.text(text)?;
        let found = self.patterns[pattern].is_match(&text);
        self.give_back(text);
        Ok(found)
    }

    /// An expression as a string; to be given back.
    #[inline]
    pub(super) fn text(&mut self, expr: &Get) -> Ran<Vec<u8>> {
        let mut text = self.buffer();
        self.write(expr, &mut text)?;
        Ok(text)
    }

    fn length(&mut self, expr: &Get) -> Ran<usize> {
        if let Some(field) = self.field_of(expr)? {
            let found = self.found(field);
            return Ok(found.bytes().map_or_else(
                || {
                    let mut text = Vec::new();
                    found.write(&mut text);
                    text.len()
                },
                <[u8]>::len,
            ));
        }
        if let Get::Of(Place::Global(place)) = expr
            && let Some(text) = self.globals[*place].bytes()
        {
            return Ok(text.len());
        }
        let text = self.text(expr)?;
        let length = text.len();
        self.give_back(text);
        Ok(length)
    }

    fn compare(&mut self, order: Order, left: &Get, right: &Get) -> Ran<bool> {
        // What is evaluated first might change what the other is.
        if self.is_number_now(left) && (is_number(right) || is_still(left) && self.is_number_now(right)) {
            let left = self.number(left)?;
            return Ok(holds(order, compare_numbers(left, self.number(right)?)));
        }
        if let (Get::Of(Place::Field(field)), Get::Number(number)) = (left, right) {
            let found = self.record.field(*field).operand();
            return Ok(holds(order, compare(found, Operand::Number(*number))));
        }
        if let (Get::Of(Place::Field(field)), Get::Text(text)) = (left, right)
            && let Found::Input(found) | Found::Text(found) = self.record.field(*field)
        {
            return Ok(holds(order, found.cmp(text.bytes())));
        }
        if let Get::Text(text) = right
            && let Some(field) = self.field_of(left)?
        {
            let found = self.found(field);
            return Ok(holds(order, compare(found.operand(), Operand::Text(text.bytes()))));
        }
        let (left, right) = (self.value(left)?, self.value(right)?);
        Ok(holds(order, compare(left.as_operand(), right.as_operand())))
    }

    /// Appends an expression as a string.
    #[inline(always)]
    pub(super) fn write(&mut self, expr: &Get, out: &mut Vec<u8>) -> Ran<()> {
        match expr {
            Get::Of(Place::Field(field)) => self.record.field(*field).write(out),
            Get::Text(text) => out.extend_from_slice(text.bytes()),
            _ => return self.write_made(expr, out),
        }
        Ok(())
    }

    fn write_made(&mut self, expr: &Get, out: &mut Vec<u8>) -> Ran<()> {
        match expr {
            Get::Of(Place::Field(field)) => self.record.field(*field).write(out),
            Get::Of(Place::Record) => self.record.whole(&self.globals[OFS]).write(out),
            Get::Of(Place::Global(place)) => self.globals[*place].write(out),
            Get::Of(Place::Local(place)) => self.locals[self.base + *place].write(out),
            Get::Of(Place::FieldAt(index)) => {
                let field = self.field_number(index)?;
                self.found(field).write(out);
            }
            Get::Of(Place::Element(table, index)) => self.element(*table, index, |value| value.write(out))?,
            Get::Text(text) => out.extend_from_slice(text.bytes()),
            Get::Concat(parts) => parts.iter().try_for_each(|part| self.write(part, out))?,
            Get::If(test, yes, no) => {
                let branch = if self.is_true(test)? { yes } else { no };
                self.write(branch, out)?;
            }
            Get::Substr(text, start, length) => self.substr(text, start, length.as_deref(), out)?,
            Get::ToLower(inner) | Get::ToUpper(inner) => {
                let start = out.len();
                self.write(inner, out)?;
                let made = &mut out[start..];
                if matches!(expr, Get::ToLower(_)) {
                    made.make_ascii_lowercase()
                } else {
                    made.make_ascii_uppercase()
                }
            }
            Get::Sprintf(pieces, args) => {
                let start = out.len();
                self.printf(pieces, args, out)?;
                if out.len() - start >= SPRINTF_MAX {
                    return Err(self.fatal("program limit exceeded: sprintf buffer size=8192"));
                }
            }
            Get::FileName => out.extend_from_slice(&self.file_name),
            expr if is_number(expr) => {
                let number = self.number(expr)?;
                number::write(number, out);
            }
            expr => self.value(expr)?.write(out),
        }
        Ok(())
    }

    pub(super) fn value(&mut self, expr: &Get) -> Ran<Value> {
        Ok(match expr {
            Get::Number(number) => Value::Number(*number),
            Get::Text(text) => Value::Text(text.clone()),
            Get::Of(place) => self.get(place)?,
            Get::FileName => Value::input(&self.file_name),
            Get::Assign(place, value) => {
                self.assign(place, value)?;
                self.get(place)?
            }
            Get::If(test, yes, no) => {
                let branch = if self.is_true(test)? { yes } else { no };
                return self.value(branch);
            }
            Get::Concat(_) | Get::Substr(..) | Get::ToLower(_) | Get::ToUpper(_) | Get::Sprintf(..) => {
                let text = self.text(expr)?;
                let value = Value::text(&text);
                self.give_back(text);
                value
            }
            Get::Size(table) => Value::Number(self.table(*table).len() as f64),
            Get::Index(text, wanted) => Value::Number(self.index(text, wanted)?),
            Get::Split(text, table, separator) => {
                let text = self.text(text)?;
                let pieces = self.split(&text, *table, *separator);
                self.give_back(text);
                Value::Number(pieces)
            }
            Get::Substitute { all, pattern, by, place } => {
                Value::Number(self.substitute(*all, *pattern, by, place)?)
            }
            Get::Find(text, pattern) => Value::Number(self.find(text, *pattern)?),
            Get::Call(function, args) => self.call(*function, args)?,
            expr => Value::Number(self.number(expr)?),
        })
    }

    fn split(&mut self, text: &[u8], table: super::code::Table, separator: usize) -> f64 {
        let number = self.table_number(table);
        let array = &mut self.tables[number];
        array.clear();
        let mut pieces = 0;
        split(text, &mut self.separators[separator], |piece| {
            pieces += 1;
            *array.entry_at(pieces) = Value::input(piece);
        });
        pieces as f64
    }

    pub(super) fn table_number(&self, table: super::code::Table) -> usize {
        match table {
            super::code::Table::Global(number) => number,
            super::code::Table::Local(place) => self.local_tables[self.base + place],
        }
    }

    fn get(&mut self, place: &Place) -> Ran<Value> {
        Ok(match place {
            Place::Global(place) => self.globals[*place].clone(),
            Place::Local(place) => self.locals[self.base + place].clone(),
            Place::Record => self.record.whole(&self.globals[OFS]).value(),
            Place::Field(field) => self.record.field(*field).value(),
            Place::FieldAt(index) => match self.field_number(index)? {
                0 => self.record.whole(&self.globals[OFS]).value(),
                field => self.record.field(field).value(),
            },
            Place::FieldCount => Value::Number(self.record.count() as f64),
            Place::Element(table, index) => self.element(*table, index, |value| value.clone())?,
        })
    }

    fn field_number(&mut self, index: &Get) -> Ran<usize> {
        let number = number::to_integer(self.number(index)?);
        usize::try_from(number)
            .map_err(|_| self.fatal(&format!("run time error: negative field index ${number}")))
    }

    pub(super) fn assign(&mut self, place: &Place, value: &Get) -> Ran<()> {
        match place {
            Place::Global(place) => {
                let value = self.value(value)?;
                self.globals[*place] = value;
            }
            Place::Element(table, index) => {
                if let Some(place) = self.listed(index) {
                    let value = self.value(value)?;
                    *self.table(*table).entry_at(place) = value;
                    return Ok(());
                }
                let key = self.key(index)?;
                let value = self.value(value)?;
                self.table(*table).set(&key, value);
                self.give_back(key);
            }
            Place::FieldAt(index) => {
                let field = self.field_number(index)?;
                let value = self.value(value)?;
                match field {
                    0 => self.record.set_value(value),
                    field => self.record.assign(field, value),
                }
            }
            place => {
                let value = self.value(value)?;
                self.set(place, value)?;
            }
        }
        Ok(())
    }

    pub(super) fn set(&mut self, place: &Place, value: Value) -> Ran<()> {
        match place {
            Place::Global(place) => self.globals[*place] = value,
            Place::Local(place) => self.locals[self.base + place] = value,
            Place::Record => self.record.set_value(value),
            Place::Field(field) => self.record.assign(*field, value),
            Place::FieldAt(index) => match self.field_number(index)? {
                0 => self.record.set_value(value),
                field => self.record.assign(field, value),
            },
            Place::FieldCount => {
                let count = number::to_integer(value.number());
                let Ok(count) = usize::try_from(count) else {
                    return Err(self.fatal("run time error: negative value assigned to NF"));
                };
                self.record.resize(count);
            }
            Place::Element(table, index) => {
                let key = self.key(index)?;
                self.table(*table).set(&key, value);
                self.give_back(key);
            }
        }
        Ok(())
    }

    /// Adds to what is somewhere; gives what is there then.
    pub(super) fn step(&mut self, place: &Place, by: f64) -> Ran<f64> {
        if let Place::Global(place) = place
            && let Value::Number(number) = &mut self.globals[*place]
        {
            *number += by;
            return Ok(*number);
        }
        self.change(place, |number| number + by)
    }

    pub(super) fn update(&mut self, arith: Arith, place: &Place, value: &Get) -> Ran<f64> {
        if let Place::Element(table, index) = place {
            // What is still can as well be evaluated before the index.
            if is_still(value) {
                let by = self.number(value)?;
                return self.element(*table, index, |entry| {
                    let number = calculate(arith, entry.number(), by);
                    *entry = Value::Number(number);
                    number
                });
            }
            let key = self.key(index)?;
            let by = self.number(value)?;
            let entry = self.table(*table).entry(&key);
            let number = calculate(arith, entry.number(), by);
            *entry = Value::Number(number);
            self.give_back(key);
            return Ok(number);
        }
        let by = self.number(value)?;
        if let Place::Global(place) = place
            && let Value::Number(number) = &mut self.globals[*place]
        {
            *number = calculate(arith, *number, by);
            return Ok(*number);
        }
        self.change(place, |number| calculate(arith, number, by))
    }

    #[inline]
    fn change(&mut self, place: &Place, to: impl Fn(f64) -> f64) -> Ran<f64> {
        match place {
            Place::Global(place) => {
                let number = to(self.globals[*place].number());
                self.globals[*place] = Value::Number(number);
                Ok(number)
            }
            Place::Element(table, index) => self.element(*table, index, |entry| {
                let number = to(entry.number());
                *entry = Value::Number(number);
                number
            }),
            Place::FieldAt(index) => {
                let place = match self.field_number(index)? {
                    0 => Place::Record,
                    field => Place::Field(field),
                };
                self.change(&place, to)
            }
            place => {
                let number = to(self.get(place)?.number());
                self.set(place, Value::Number(number))?;
                Ok(number)
            }
        }
    }

    /// As mawk cuts: start and length lose their fractions first, and what lies before the beginning is not counted
    /// quite as POSIX has it.
    fn substr(&mut self, text: &Get, start: &Get, length: Option<&Get>, out: &mut Vec<u8>) -> Ran<()> {
        if is_still(start) && length.is_none_or(is_still) {
            let first = number::to_integer(self.number(start)?);
            let count = length.map_or(Ok(i32::MAX), |length| self.number(length).map(number::to_integer))?;
            let known = match (self.field_of(text)?, text) {
                (Some(field), _) => self.found(field).bytes(),
                (None, Get::Of(Place::Global(place))) => self.globals[*place].bytes(),
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

    fn index(&mut self, text: &Get, wanted: &Get) -> Ran<f64> {
        let text = self.text(text)?;
        let wanted = self.text(wanted)?;
        let found = memchr::memmem::find(&text, &wanted).map_or(0, |at| at + 1);
        self.give_back(text);
        self.give_back(wanted);
        Ok(found as f64)
    }

    fn find(&mut self, text: &Get, pattern: usize) -> Ran<f64> {
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
        place: &Place,
    ) -> Ran<f64> {
        let made;
        let parts: &[Part] = match by {
            Replacement::Fixed(parts) => parts,
            Replacement::Made(expr) => {
                let text = self.text(expr)?;
                made = parts_of(&text);
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
            Some(place) => {
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

    /// The place with what its index is now; nothing if it is the record.
    fn place_of(&mut self, place: &Place) -> Ran<Option<Place>> {
        Ok(match place {
            Place::Record => None,
            Place::FieldAt(index) => match self.field_number(index)? {
                0 => None,
                field => Some(Place::Field(field)),
            },
            Place::Element(table, index) => {
                let key = self.key(index)?;
                let place = Place::Element(*table, vec![Get::Text(Text::new(&key))]);
                self.give_back(key);
                Some(place)
            }
            place => Some(place.clone()),
        })
    }
}

/// As mawk cuts: what lies before the beginning is not counted quite as POSIX has it.
fn cut(text: &[u8], start: i32, mut count: i32) -> &[u8] {
    let size = text.len() as i32;
    let mut at = start.wrapping_sub(1);
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

/// Is it a number whatever happens?
fn is_number(expr: &Get) -> bool {
    matches!(
        expr,
        Get::Number(_)
            | Get::RecordNumber
            | Get::FileRecordNumber
            | Get::Negate(_)
            | Get::Plus(_)
            | Get::Not(_)
            | Get::Arith(..)
            | Get::Compare(..)
            | Get::Match { .. }
            | Get::And(..)
            | Get::Or(..)
            | Get::In(..)
            | Get::Length(_)
            | Get::Size(_)
            | Get::Math(..)
            | Get::Step { .. }
            | Get::Update(..)
            | Get::Of(Place::FieldCount)
    )
}

#[inline]
fn calculate(arith: Arith, left: f64, right: f64) -> f64 {
    match arith {
        Arith::Add => left + right,
        Arith::Subtract => left - right,
        Arith::Multiply => left * right,
        Arith::Divide => left / right,
        Arith::Remainder => left % right,
        Arith::Power => left.powf(right),
    }
}

/// What is no number is equal to all of them, as mawk has it.
fn compare_numbers(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

fn compare(left: Operand, right: Operand) -> Ordering {
    match (left, right) {
        (
            Operand::Number(left) | Operand::Both(left, _),
            Operand::Number(right) | Operand::Both(right, _),
        ) => compare_numbers(left, right),
        (Operand::Text(left) | Operand::Both(_, left), Operand::Text(right) | Operand::Both(_, right)) => {
            left.cmp(right)
        }
        (Operand::Number(number), Operand::Text(text)) => written(number).as_slice().cmp(text),
        (Operand::Text(text), Operand::Number(number)) => text.cmp(&written(number)),
    }
}

#[inline]
fn number_in(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

fn written(number: f64) -> Vec<u8> {
    let mut text = Vec::new();
    number::write(number, &mut text);
    text
}

#[inline]
fn holds(order: Order, found: Ordering) -> bool {
    match order {
        Order::Less => found.is_lt(),
        Order::LessOrEqual => found.is_le(),
        Order::Equal => found.is_eq(),
        Order::NotEqual => found.is_ne(),
        Order::Greater => found.is_gt(),
        Order::GreaterOrEqual => found.is_ge(),
    }
}
