//! Runs a program: expressions. An expression is evaluated for the form that is needed: a number, a string, a
//! truth value, or its value if the form is unknown. So a printed field is never converted to a number, and a
//! summed one never to a string.

use super::arithmetic::{calculate, divides_by_zero, from_count, in_order, numbers};
use super::characters::Case;
use super::code::{Argument, Function, Get, LValue, OFS, is_number, is_still, is_text};
use super::machine::{Machine, Ran, RuntimeError};
use super::number::{self, written, written_to_compare};
use super::random_numbers::Generator;
use super::rules;
use super::text::same;
use super::tree::Order;
use super::value::{Operand, Value, number_is_true};

/// Limit below the size of mawk's `sprintf` buffer.
const SPRINTF_MAX: usize = 8191;

impl Machine {
    /// Returns a number that is immediately available, and really is a number: no string that looks like one.
    #[inline(always)]
    pub(super) fn quick(&mut self, expr: &Get) -> Option<f64> {
        match expr {
            Get::Number(number) => Some(*number),
            Get::Of(LValue::Global(place)) => number_in(&self.globals[*place]),
            // The most frequent array index.
            Get::Of(LValue::Field(_)) => None,
            Get::Of(LValue::FieldCount) => Some(from_count(self.record.count())),
            _ => self.quick_made(expr),
        }
    }

    #[inline]
    fn quick_made(&mut self, expr: &Get) -> Option<f64> {
        match expr {
            Get::Of(LValue::Local(place)) => number_in(&self.locals[self.base + *place]),
            Get::RecordNumber => Some(from_count(self.records as usize)),
            Get::Length(of) if matches!(**of, Get::Of(LValue::Record)) && !rules::has_characters() => {
                self.record.whole(&self.globals[OFS]).bytes().map(|text| from_count(text.len()))
            }
            _ => None,
        }
    }

    /// Whether it is a number now, not a string to be compared as one.
    #[inline]
    fn is_number_now(&self, expr: &Get) -> bool {
        match expr {
            Get::Of(LValue::Global(place)) => matches!(self.globals[*place], Value::Number(_)),
            Get::Of(LValue::Local(place)) => matches!(self.locals[self.base + *place], Value::Number(_)),
            expr => is_number(expr),
        }
    }

    /// Evaluates an expression as a number. Frequent cases are inlined.
    #[inline(always)]
    pub(super) fn number(&mut self, expr: &Get) -> Ran<f64> {
        match expr {
            Get::Number(number) => Ok(*number),
            Get::Of(LValue::Field(field)) => Ok(self.record.field(*field).number()),
            Get::Of(LValue::Global(place)) => Ok(self.globals[*place].number()),
            Get::Length(inner) => self.length(inner).map(from_count),
            _ => self.number_made(expr),
        }
    }

    fn number_made(&mut self, expr: &Get) -> Ran<f64> {
        Ok(match expr {
            Get::Number(number) => *number,
            Get::Of(LValue::Field(field)) => self.record.field(*field).number(),
            Get::Of(LValue::Global(place)) => self.globals[*place].number(),
            Get::Of(LValue::Local(place)) => self.locals[self.base + *place].number(),
            Get::Of(LValue::FieldCount) => from_count(self.record.count()),
            Get::Of(LValue::Element(table, index)) => self.element(*table, index, |value| value.number())?,
            Get::Of(LValue::FieldAt(index)) => {
                let field = self.field_number(index)?;
                self.found(field).number()
            }
            Get::RecordNumber => from_count(self.records as usize),
            Get::FileRecordNumber => from_count(self.file_records as usize),
            Get::Arith(arith, left, right) => {
                let left = self.number(left)?;
                let right = self.number(right)?;
                if divides_by_zero(*arith, right) {
                    return Err(self.fatal(&RuntimeError::DivisionByZero(*arith, false)));
                }
                calculate(*arith, left, right)
            }
            Get::Negate(inner) => -self.number(inner)?,
            Get::Plus(inner) => self.number(inner)?,
            Get::Partial(function, inner) => {
                let number = self.number(inner)?;
                let (value, warns) = function.of(number);
                if warns {
                    self.warn_of_number(*function, number);
                }
                value
            }
            Get::Math(function, inner) => function(self.number(inner)?),
            Get::Length(inner) => from_count(self.length(inner)?),
            Get::Not(_)
            | Get::And(..)
            | Get::Or(..)
            | Get::Compare(..)
            | Get::CompareText(..)
            | Get::CompareNumber(..)
            | Get::OneOf(..)
            | Get::Match { .. }
            | Get::In(..) => f64::from(u8::from(self.is_true(expr)?)),
            Get::Step { place, by, before } => {
                let number = self.step(place, *by)?;
                if *before { number + by } else { number }
            }
            Get::Update(arith, place, value) => self.update(*arith, place, value)?,
            Get::If(test, yes, no) => {
                let branch = if self.is_true(test)? { yes } else { no };
                return self.number(branch);
            }
            Get::Call(function, args) => self.number_of_call(function, args)?,
            Get::Recurse(function, args) => {
                self.recurse(function, |machine, function| machine.number_of_call(function, args))?
            }
            Get::Size(table) => self.table(*table).len() as f64,
            Get::Index(text, wanted) => self.index(text, wanted)?,
            Get::Split(text, table, separator) => self.split(text, *table, *separator)?,
            Get::Substitute { all, pattern, by, place } => self.substitute(*all, *pattern, by, place)?,
            Get::Find(text, pattern) => self.find(text, *pattern)?,
            Get::Made(made) => self.search(made)?,
            Get::Rand => self.random.get_or_insert_with(|| Box::new(Generator::unseeded())).fraction(),
            Get::Sort(call) => self.sort_array(call),
            Get::NextRecord(place) => self.next_record(place)?,
            Get::ReadLine(file, place) => self.read_line(*file, place)?,
            expr => self.value(expr)?.number(),
        })
    }

    #[inline]
    fn number_of_call(&mut self, function: &Function, args: &[Argument]) -> Ran<f64> {
        match function.result() {
            Some(result) => self.inside(function, args, |machine| machine.number(result)),
            None => self.call_for(function, args, Value::number),
        }
    }

    /// Whether an expression is true.
    #[inline(always)]
    pub(super) fn is_true(&mut self, expr: &Get) -> Ran<bool> {
        match expr {
            Get::Compare(order, left, right) => {
                if let Some(left) = self.quick(left)
                    && let Some(right) = self.quick(right)
                {
                    return Ok(numbers(*order, left, right));
                }
                self.compare(*order, left, right)
            }
            Get::CompareNumber(order, left, right) => {
                if let Some(left) = self.quick(left) {
                    return Ok(numbers(*order, left, *right));
                }
                self.compare_number(*order, left, *right)
            }
            Get::CompareText(order, left, right) => self.compare_text(*order, left, right.bytes()),
            Get::OneOf(of, texts) => self.with_text_of(of, written_to_compare, |text| texts.contains(text)),
            Get::Of(LValue::Global(place)) => Ok(self.globals[*place].is_true()),
            _ => self.is_true_made(expr),
        }
    }

    fn is_true_made(&mut self, expr: &Get) -> Ran<bool> {
        Ok(match expr {
            Get::Compare(order, left, right) => self.compare(*order, left, right)?,
            Get::CompareNumber(order, left, right) => self.compare_number(*order, left, *right)?,
            Get::CompareText(order, left, right) => self.compare_text(*order, left, right.bytes())?,
            Get::OneOf(of, texts) => {
                self.with_text_of(of, written_to_compare, |text| texts.contains(text))?
            }
            Get::Match { negated, text, pattern } => self.matches(text, *pattern)? != *negated,
            Get::Not(inner) => !self.is_true(inner)?,
            Get::And(left, right) => self.is_true(left)? && self.is_true(right)?,
            Get::Or(left, right) => self.is_true(left)? || self.is_true(right)?,
            Get::In(table, index) => self.at_key(*table, index, |array, key| array.contains(key))?,
            Get::Of(LValue::Field(field)) => self.record.field(*field).is_true(),
            Get::Of(LValue::Record) => self.record.whole(&self.globals[OFS]).is_true(),
            Get::Of(LValue::Global(place)) => self.globals[*place].is_true(),
            Get::Of(LValue::Local(place)) => self.locals[self.base + *place].is_true(),
            Get::Of(LValue::Element(table, index)) => self.element(*table, index, |value| value.is_true())?,
            Get::Number(_)
            | Get::Arith(..)
            | Get::RecordNumber
            | Get::FileRecordNumber
            | Get::Of(LValue::FieldCount)
            | Get::Length(_)
            | Get::Step { .. }
            | Get::Update(..)
            | Get::Made(_)
            | Get::Negate(_) => number_is_true(self.number(expr)?),
            Get::Call(function, args) if let Some(result) = function.result() => {
                return self.inside(function, args, |machine| machine.is_true(result));
            }
            Get::Call(function, args) => self.call_for(function, args, Value::is_true)?,
            expr => self.value(expr)?.is_true(),
        })
    }

    pub(super) fn matches(&mut self, text: &Get, pattern: usize) -> Ran<bool> {
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

    /// Evaluates an expression as a string, in a buffer to be given back.
    #[inline]
    pub(super) fn text(&mut self, expr: &Get) -> Ran<Vec<u8>> {
        let mut text = self.buffer();
        self.write(expr, &mut text)?;
        Ok(text)
    }

    fn length(&mut self, expr: &Get) -> Ran<usize> {
        if rules::has_characters() {
            return self.length_in_characters(expr);
        }
        if let Get::Of(LValue::FieldAt(index)) = expr
            && let Some(number) = self.quick(index)
            && number >= 1.0
            && let Some(length) = self.record.known_length(number as i32 as usize)
        {
            return Ok(length);
        }
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
        if let Get::Of(LValue::Global(place)) = expr
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
        if let (Some(left), Some(right)) = (self.quick(left), self.quick(right)) {
            return Ok(numbers(order, left, right));
        }
        // The first evaluation might change the type of the other.
        if self.is_number_now(left) && (is_number(right) || is_still(left) && self.is_number_now(right)) {
            let left = self.number(left)?;
            return Ok(numbers(order, left, self.number(right)?));
        }
        let variables = Variables { globals: &self.globals, locals: &self.locals[self.base..] };
        if let Some(right) = variables.operand(right) {
            if let Some(left) = variables.operand(left) {
                return Ok(compare(order, left, right));
            }
            if let Get::Of(LValue::Field(field)) = left {
                return Ok(compare(order, self.record.field(*field).operand(), right));
            }
        }
        let (left, right) = (self.value(left)?, self.value(right)?);
        Ok(compare(order, left.as_operand(), right.as_operand()))
    }

    /// Compares with a number.
    fn compare_number(&mut self, order: Order, left: &Get, right: f64) -> Ran<bool> {
        if self.is_number_now(left) {
            return Ok(numbers(order, self.number(left)?, right));
        }
        let right = Operand::Number(right);
        match left {
            Get::Of(LValue::Field(field)) => Ok(compare(order, self.record.field(*field).operand(), right)),
            Get::Of(place @ (LValue::Global(_) | LValue::Local(_) | LValue::Element(..))) => {
                self.with(place, |left| compare(order, left.as_operand(), right))
            }
            left => Ok(compare(order, self.value(left)?.as_operand(), right)),
        }
    }

    /// Compares with a string, for which nothing is a number.
    #[inline]
    fn compare_text(&mut self, order: Order, left: &Get, right: &[u8]) -> Ran<bool> {
        if let Get::Of(place) = left
            && let Some(value) = self.at_once(place)
            && let Some(left) = value.bytes()
        {
            return Ok(texts(order, left, right));
        }
        self.with_text_of(left, written_to_compare, |left| texts(order, left, right))
    }

    /// Passes an expression as a string to `with`, without a copy if possible.
    #[inline]
    pub(super) fn with_text<T>(&mut self, expr: &Get, with: impl FnOnce(&[u8]) -> T) -> Ran<T> {
        self.with_text_of(expr, written, with)
    }

    /// Passes an expression to `with` as a string; `of_number` converts numbers.
    #[inline]
    fn with_text_of<T>(
        &mut self,
        expr: &Get,
        of_number: fn(f64) -> Vec<u8>,
        with: impl FnOnce(&[u8]) -> T,
    ) -> Ran<T> {
        if let Some(field) = self.field_of(expr)? {
            let found = self.found(field);
            return Ok(match found.bytes() {
                Some(text) => with(text),
                None => with(&of_number(found.number())),
            });
        }
        let of_value = |value: &Value| match value.bytes() {
            Some(text) => with(text),
            None => with(&of_number(value.number())),
        };
        match expr {
            Get::Of(place @ (LValue::Global(_) | LValue::Local(_) | LValue::Element(..))) => {
                self.with(place, of_value)
            }
            expr => Ok(of_value(&self.value(expr)?)),
        }
    }

    /// Passes the content of a variable or an element to `with`, without a copy.
    #[inline]
    pub(super) fn with<T>(&mut self, place: &LValue, with: impl FnOnce(&Value) -> T) -> Ran<T> {
        Ok(match place {
            LValue::Global(place) => with(&self.globals[*place]),
            LValue::Local(place) => with(&self.locals[self.base + *place]),
            LValue::Element(table, index) => self.element(*table, index, |value| with(value))?,
            place => with(&self.get(place)?),
        })
    }

    /// Appends an expression as a string.
    #[inline(always)]
    pub(super) fn write(&mut self, expr: &Get, out: &mut Vec<u8>) -> Ran<()> {
        match expr {
            Get::Of(LValue::Field(field)) => self.record.field(*field).write(out),
            Get::Text(text) => text.write(out),
            Get::Of(place) if let Some(value) = self.at_once(place) => value.write(out),
            _ => return self.write_made(expr, out),
        }
        Ok(())
    }

    fn write_made(&mut self, expr: &Get, out: &mut Vec<u8>) -> Ran<()> {
        match expr {
            Get::Of(LValue::Record) => self.record.whole(&self.globals[OFS]).write(out),
            Get::Of(LValue::FieldAt(index)) => {
                let field = self.field_number(index)?;
                self.found(field).write(out);
            }
            Get::Of(LValue::Element(table, index)) => {
                self.element(*table, index, |value| value.write(out))?
            }
            Get::Concat(parts) => parts.iter().try_for_each(|part| self.write(part, out))?,
            Get::If(test, yes, no) => {
                let branch = if self.is_true(test)? { yes } else { no };
                self.write(branch, out)?;
            }
            Get::Substr(text, start, length) => self.substr(text, start, length.as_deref(), out)?,
            Get::ToLower(inner) | Get::ToUpper(inner) => {
                let start = out.len();
                self.write(inner, out)?;
                let case = if matches!(expr, Get::ToLower(_)) { Case::Lower } else { Case::Upper };
                self.change_case(out, start, case)?;
            }
            Get::Gensub(call) => self.gensub(call, out)?,
            Get::Sprintf(pieces, args) => {
                let start = out.len();
                self.printf(pieces, args, out)?;
                end_formatted(out, start);
            }
            Get::MadeFormat(made) => {
                let start = out.len();
                self.format_made(made, out)?;
                end_formatted(out, start);
                if out.len() - start >= SPRINTF_MAX && rules::is_mawk() {
                    return Err(self.fatal(&RuntimeError::LongText));
                }
            }
            Get::FileName => out.extend_from_slice(&self.file_name),
            Get::Call(function, args) if let Some(result) = function.result() => {
                self.inside(function, args, |machine| machine.write(result, out))?;
            }
            Get::Call(function, args) => self.call_for(function, args, |value| value.write(out))?,
            expr if is_number(expr) => {
                let number = self.number(expr)?;
                number::write(number, out);
            }
            expr => self.value(expr)?.write(out),
        }
        Ok(())
    }

    /// Evaluates an expression to its value. Frequent cases are inlined.
    #[inline(always)]
    pub(super) fn value(&mut self, expr: &Get) -> Ran<Value> {
        match expr {
            Get::Number(number) => Ok(Value::Number(*number)),
            Get::Of(LValue::Global(place)) => Ok(self.globals[*place].clone()),
            Get::Of(LValue::Local(place)) => Ok(self.locals[self.base + *place].clone()),
            Get::Arith(..) | Get::RecordNumber => Ok(Value::Number(self.number_made(expr)?)),
            _ => self.value_made(expr),
        }
    }

    fn value_made(&mut self, expr: &Get) -> Ran<Value> {
        Ok(match expr {
            Get::Text(text) => Value::Text(text.clone()),
            Get::Of(place) => self.get(place)?,
            Get::FileName if rules::is_one_true() => Value::text(&self.file_name),
            Get::FileName => Value::input(&self.file_name),
            Get::Assign(place, value) => self.assigned(place, value)?,
            Get::If(test, yes, no) => {
                let branch = if self.is_true(test)? { yes } else { no };
                return self.value(branch);
            }
            expr if is_text(expr) => {
                let text = self.text(expr)?;
                let value = Value::text(&text);
                self.give_back(text);
                value
            }
            Get::Call(function, args) => self.call(function, args)?,
            Get::Recurse(function, args) => {
                self.recurse(function, |machine, function| machine.call(function, args))?
            }
            expr => Value::Number(self.number(expr)?),
        })
    }
}

/// Ends the result of `sprintf` from `start` on where the awk ends it.
fn end_formatted(out: &mut Vec<u8>, start: usize) {
    if rules::is_one_true() {
        cut_at_nul(out, start);
    }
}

/// Ends the text from `start` on at its first NUL.
fn cut_at_nul(out: &mut Vec<u8>, start: usize) {
    if let Some(length) = memchr::memchr(0, &out[start..]) {
        out.truncate(start + length);
    }
}

/// The variables, for comparisons without a copy.
struct Variables<'a> {
    globals: &'a [Value],
    locals: &'a [Value],
}

impl<'a> Variables<'a> {
    #[inline]
    fn operand(&self, expr: &Get) -> Option<Operand<'a>> {
        match expr {
            Get::Of(LValue::Global(place)) => Some(self.globals[*place].as_operand()),
            Get::Of(LValue::Local(place)) => Some(self.locals[*place].as_operand()),
            _ => None,
        }
    }
}

/// Whether a value equals a constant.
pub(super) fn equals(value: &Value, constant: Operand) -> bool {
    compare(Order::Equal, value.as_operand(), constant)
}

fn compare(order: Order, left: Operand, right: Operand) -> bool {
    let texts = match (left, right) {
        (Operand::Number(one) | Operand::Both(one, _), Operand::Number(other) | Operand::Both(other, _)) => {
            let is_in_order = (one.is_nan() || other.is_nan()) && orders_nan(left, right);
            return if is_in_order { in_order(order, one, other) } else { numbers(order, one, other) };
        }
        (Operand::Text(left) | Operand::Both(_, left), Operand::Text(right) | Operand::Both(_, right)) => {
            left.cmp(right)
        }
        (Operand::Number(number), Operand::Text(text)) => written_to_compare(number).as_slice().cmp(text),
        (Operand::Text(text), Operand::Number(number)) => text.cmp(&written_to_compare(number)),
    };
    order.holds(texts)
}

/// Whether gawk gives NaN a place among the numbers: where an operand comes from the input, up to 5.2 (if it has not been
/// used as a number before), and from 5.3 on if the other one was never set.
#[cold]
fn orders_nan(left: Operand, right: Operand) -> bool {
    let is_input = |operand| matches!(operand, Operand::Both(_, text) if !text.is_empty());
    let is_unset = |operand| matches!(operand, Operand::Both(_, b""));
    match rules::is_gawk_5_3() {
        true => is_input(left) && is_unset(right) || is_unset(left) && is_input(right),
        false => rules::is_gawk() && (is_input(left) || is_input(right)),
    }
}

/// Compares strings; equality needs no ordering.
#[inline]
fn texts(order: Order, left: &[u8], right: &[u8]) -> bool {
    match order {
        Order::Equal => same(left, right),
        Order::NotEqual => !same(left, right),
        order => order.holds(left.cmp(right)),
    }
}

#[inline]
pub(super) fn number_in(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        _ => None,
    }
}
