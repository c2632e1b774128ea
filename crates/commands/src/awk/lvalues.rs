//! Runs a program: reads and assigns variables, fields and elements.

use super::arithmetic::{calculate, divides_by_zero, from_count};
use super::array::{Array, Key};
use super::code::{Get, LValue, OFS, Table, is_number, is_same_variable, is_still, is_text};
use super::machine::{Machine, Ran, RuntimeError};
use super::number::{self, written};
use super::record::Found;
use super::rules;
use super::text::Text;
use super::tree::Arith;
use super::value::Value;

/// The key of an index that was evaluated before its element is looked up.
struct EvaluatedKey {
    text: Vec<u8>,
    /// The index, if it is a number that is not whole.
    fraction: Option<f64>,
}

impl Machine {
    /// Returns the number of a field expression, 0 for the record. `None` for other expressions.
    ///
    /// A field with a constant number is found at once, so that [`found`](Self::found) finds no more than that.
    #[inline]
    pub(super) fn field_of(&mut self, expr: &Get) -> Ran<Option<usize>> {
        Ok(match expr {
            Get::Of(LValue::Field(field)) => {
                self.record.find_up_to(*field);
                Some(*field)
            }
            Get::Of(LValue::Record) => Some(0),
            Get::Of(LValue::FieldAt(index)) => Some(self.field_number(index)?),
            _ => None,
        })
    }

    #[inline]
    pub(super) fn found(&mut self, field: usize) -> Found<'_> {
        match field {
            0 => self.record.whole(&self.globals[OFS]),
            field => self.record.any_field(field),
        }
    }

    /// Returns the content of a variable, or of a list element, if available without evaluation.
    #[inline(always)]
    pub(super) fn at_once(&mut self, place: &LValue) -> Option<&mut Value> {
        match place {
            LValue::Global(place) => Some(&mut self.globals[*place]),
            LValue::Local(place) => Some(&mut self.locals[self.base + *place]),
            LValue::Element(table, index) => self.listed(*table, index),
            _ => None,
        }
    }

    /// Returns an element in the list of its array, by an immediately available number.
    #[inline(always)]
    fn listed(&mut self, table: Table, index: &[Get]) -> Option<&mut Value> {
        let [one] = index else { return None };
        let number = self.quick(one)?;
        self.table(table).listed(number)
    }

    /// Passes an element to `with`, created if missing.
    #[inline]
    pub(super) fn element<T>(
        &mut self,
        table: Table,
        index: &[Get],
        with: impl FnOnce(&mut Value) -> T,
    ) -> Ran<T> {
        // The most frequent indices.
        let number = self.table_number(table);
        match index {
            [Get::Of(LValue::Field(field))] => {
                if let Some(key) = self.record.field(*field).bytes() {
                    return Ok(with(self.tables[number].entry_of(key)));
                }
            }
            [Get::Of(LValue::FieldAt(field))] => {
                if let Some(field) =
                    self.quick(field).filter(|field| (1.0..f64::from(i32::MAX)).contains(field))
                    && let Some(key) = self.record.any_field(field as usize).bytes()
                {
                    return Ok(with(self.tables[number].entry_of(key)));
                }
            }
            _ => {}
        }
        if let Some(value) = self.listed(table, index) {
            return Ok(with(value));
        }
        self.at_key(table, index, |array, key| with(array.entry(key)))
    }

    /// Passes an array, and the key of the index, to `with`. Numbers, and bytes in place, are not copied.
    #[inline]
    pub(super) fn at_key<T>(
        &mut self,
        table: Table,
        index: &[Get],
        with: impl FnOnce(&mut Array, Key) -> T,
    ) -> Ran<T> {
        let number = self.table_number(table);
        if self.tables[number].has_fractions() {
            let key = self.evaluated(table, index)?;
            return Ok(self.at_evaluated(table, key, with));
        }
        if let [one] = index {
            if let Some(key) = self.number_key(one)? {
                return Ok(with(&mut self.tables[number], key));
            }
            let known = match one {
                Get::Of(LValue::Field(field)) => self.record.field(*field).bytes(),
                Get::Of(LValue::Record) => self.record.whole(&self.globals[OFS]).bytes(),
                Get::Of(LValue::Global(place)) => self.globals[*place].bytes(),
                Get::Of(LValue::Local(place)) => self.locals[self.base + *place].bytes(),
                Get::Of(LValue::FieldAt(field)) => {
                    let field = self.field_number(field)?;
                    // The field number may change with each iteration.
                    let found = match field {
                        0 => self.record.whole(&self.globals[OFS]),
                        field => self.record.any_field(field),
                    };
                    match found.bytes() {
                        Some(key) => Some(key),
                        None => {
                            let key = written(found.number());
                            let table = &mut self.tables[number];
                            let key = table.key(&key);
                            return Ok(with(table, key));
                        }
                    }
                }
                Get::Text(text) => Some(text.bytes()),
                _ => None,
            };
            if let Some(key) = known {
                let table = &mut self.tables[number];
                let key = table.key(key);
                return Ok(with(table, key));
            }
        }
        let key = self.key(index)?;
        let table = &mut self.tables[number];
        let found = table.key(&key);
        let made = with(table, found);
        self.give_back(key);
        Ok(made)
    }

    /// Returns the key of an index for later, before what else the statement evaluates.
    fn evaluated(&mut self, table: Table, index: &[Get]) -> Ran<EvaluatedKey> {
        let (true, [one]) = (self.table(table).has_fractions(), index) else {
            return Ok(EvaluatedKey { text: self.key(index)?, fraction: None });
        };
        let value = self.value(one)?;
        let mut text = self.buffer();
        value.write(&mut text);
        let fraction = match value {
            Value::Number(number) if number.fract() != 0.0 || Key::is_minus_zero(number) => Some(number),
            _ => None,
        };
        Ok(EvaluatedKey { text, fraction })
    }

    /// Passes an array, and a key, to `with`.
    fn at_evaluated<T>(
        &mut self,
        table: Table,
        key: EvaluatedKey,
        with: impl FnOnce(&mut Array, Key) -> T,
    ) -> T {
        let table = self.table(table);
        let made = match key.fraction {
            Some(number) => with(table, Key::Fraction(&key.text, number)),
            _ => {
                let found = table.key(&key.text);
                with(table, found)
            }
        };
        self.give_back(key.text);
        made
    }

    /// Returns the integer key of an index, if it is known to be a number without evaluation.
    #[inline]
    fn number_key(&mut self, index: &Get) -> Ran<Option<Key<'static>>> {
        let number = match self.quick(index) {
            Some(number) => number,
            // Evaluated twice if it is no integer.
            None if matches!(index, Get::Arith(..)) && is_still(index) => self.number(index)?,
            None => return Ok(None),
        };
        Ok(Key::of_number(number))
    }

    #[inline]
    pub(super) fn table_number(&self, table: Table) -> usize {
        match table {
            Table::Global(number) => number,
            Table::Local(place) => self.local_tables[self.table_base + place],
        }
    }

    pub(super) fn get(&mut self, place: &LValue) -> Ran<Value> {
        Ok(match place {
            LValue::Global(place) => self.globals[*place].clone(),
            LValue::Local(place) => self.locals[self.base + place].clone(),
            LValue::Record => self.record.whole(&self.globals[OFS]).value(),
            LValue::Field(field) => self.record.field(*field).value(),
            LValue::FieldAt(index) => match self.field_number(index)? {
                0 => self.record.whole(&self.globals[OFS]).value(),
                field => self.record.field(field).value(),
            },
            LValue::FieldCount => Value::Number(from_count(self.record.count())),
            LValue::Element(table, index) => self.element(*table, index, |value| value.clone())?,
        })
    }

    #[inline]
    pub(super) fn field_number(&mut self, index: &Get) -> Ran<usize> {
        if let Some(number) = self.quick(index)
            && (0.0..=f64::from(i32::MAX)).contains(&number)
        {
            return Ok(number as i32 as usize);
        }
        self.field_number_made(index)
    }

    fn field_number_made(&mut self, index: &Get) -> Ran<usize> {
        if rules::is_one_true() && !rules::is_second_edition() && !is_number(index) {
            return self.field_number_of_value(index);
        }
        let number = self.number(index)?;
        if rules::is_one_true() && number > f64::from(i32::MAX) {
            return self.field_out_of_range(index);
        }
        self.field_of_number(number)
    }

    /// Returns the number of a field. The one true awk stops at a text that does not look like a number.
    fn field_number_of_value(&mut self, index: &Get) -> Ran<usize> {
        let value = self.value(index)?;
        let number = value.number();
        let text = value.bytes().filter(|text| number::looks_like(text).is_none());
        match text {
            Some(text) if number.trunc() == 0.0 => {
                let name = self.name_in_one_true(index)?;
                let said = [b"illegal field $(", text, b"), name \"", &name, b"\""].concat();
                Err(self.fatal_in_one_true(&said))
            }
            _ if number > f64::from(i32::MAX) => self.field_out_of_range(index),
            _ => self.field_of_number(number),
        }
    }

    /// Stops at the number of a field that is no integer of C.
    #[cold]
    fn field_out_of_range(&mut self, index: &Get) -> Ran<usize> {
        let said =
            [b"trying to access out of range field ", self.name_in_one_true(index)?.as_slice()].concat();
        Err(self.fatal_in_one_true(&said))
    }

    /// Returns what the one true awk calls a variable, an element or a field.
    fn name_in_one_true(&mut self, expr: &Get) -> Ran<Vec<u8>> {
        Ok(match expr {
            Get::Of(LValue::Global(place)) => {
                self.code.names.get(*place).map(|name| name.as_bytes().to_vec()).unwrap_or_default()
            }
            Get::Of(LValue::Element(_, index)) => self.key(index)?,
            Get::Of(LValue::Record) => b"0".to_vec(),
            Get::Of(LValue::Field(field)) => field.to_string().into_bytes(),
            Get::Of(LValue::FieldAt(index)) => self.field_number(index)?.to_string().into_bytes(),
            Get::Of(LValue::FieldCount) => b"NF".to_vec(),
            Get::Assign(place, _) | Get::Update(_, place, _) | Get::Step { place, before: true, .. } => {
                return self.name_in_one_true(&Get::Of((**place).clone()));
            }
            _ => b"(null)".to_vec(),
        })
    }

    fn field_of_number(&mut self, number: f64) -> Ran<usize> {
        // What is beyond gawk's integers is the least of them.
        if rules::is_gawk() && (number.is_nan() || number >= number::TWO_TO_63) {
            return Err(self.fatal(&RuntimeError::NegativeField(f64::NEG_INFINITY)));
        }
        if number >= f64::from(i32::MAX) {
            // Here mawk 20250131 crashes, or takes the lower half of the number.
            return Ok(i32::MAX as usize);
        }
        if number >= 0.0 || rules::is_one_true() && number > -1.0 {
            return Ok(number as usize);
        }
        Err(self.fatal(&RuntimeError::NegativeField(number)))
    }

    pub(super) fn assign(&mut self, place: &LValue, value: &Get) -> Ran<()> {
        if let Get::Number(number) = value
            && let Some(to) = self.at_once(place)
        {
            to.be_number(*number);
            return Ok(());
        }
        // Numbers are stored without an intermediate value.
        if is_number(value)
            && (matches!(place, LValue::Global(_) | LValue::Local(_)) || is_still_element(place))
        {
            let number = self.number(value)?;
            return self.set_number(place, number);
        }
        if self.put(place, value)? {
            return Ok(());
        }
        // Either branch may append: `s = (s == "" ? x : s "," x)`.
        if let (LValue::Global(_) | LValue::Local(_), Get::If(test, yes, no)) = (place, value) {
            let branch = if self.is_true(test)? { yes } else { no };
            return self.assign(place, branch);
        }
        match place {
            LValue::Global(place) => {
                let value = self.value(value)?;
                self.globals[*place] = value;
            }
            LValue::Local(place) => {
                let value = self.value(value)?;
                self.locals[self.base + *place] = value;
            }
            LValue::Element(table, index) => {
                // An index without side effects can be evaluated after the value.
                if index.iter().all(is_still) {
                    let value = self.value(value)?;
                    return self.element(*table, index, |entry| *entry = value);
                }
                let key = self.evaluated(*table, index)?;
                let value = self.value(value)?;
                self.at_evaluated(*table, key, |array, key| *array.entry(key) = value);
            }
            LValue::FieldAt(index) => {
                self.assign_field(index, value)?;
            }
            place => {
                let value = self.value(value)?;
                self.set(place, value)?;
            }
        }
        Ok(())
    }

    /// Assigns to the field with this number, and returns the number.
    fn assign_field(&mut self, index: &Get, value: &Get) -> Ran<usize> {
        let field = self.field_number(index)?;
        let value = self.value(value)?;
        self.set_field(field, value);
        Ok(field)
    }

    /// Sets the field with this number, 0 for the record.
    fn set_field(&mut self, field: usize, value: Value) {
        match field {
            0 => self.record.set_value(value),
            field => self.record.assign(field, value),
        }
    }

    /// Assigns a value, and returns what is there then. The index is evaluated once: the assignment may change it
    /// (`x = a[length(a)] = 1`), and so may its evaluation (`x = a[i++] = 1`).
    pub(super) fn assigned(&mut self, place: &LValue, value: &Get) -> Ran<Value> {
        match place {
            LValue::Element(table, index) if index.iter().all(is_still) => {
                let value = self.value(value)?;
                self.element(*table, index, |entry| *entry = value.clone())?;
                Ok(value)
            }
            LValue::Element(table, index) => {
                let key = self.evaluated(*table, index)?;
                let value = self.value(value)?;
                self.at_evaluated(*table, key, |array, key| *array.entry(key) = value.clone());
                Ok(value)
            }
            LValue::FieldAt(index) => {
                let field = self.assign_field(index, value)?;
                Ok(self.found(field).value())
            }
            place => {
                self.assign(place, value)?;
                self.get(place)
            }
        }
    }

    /// Assigns existing bytes or a new string without an intermediate value; returns `false` if it is not
    /// that simple.
    #[inline]
    fn put(&mut self, place: &LValue, value: &Get) -> Ran<bool> {
        if !matches!(value, Get::Of(_) | Get::Text(_)) {
            return if is_text(value) { self.put_text(place, value) } else { Ok(false) };
        }
        let listed = match place {
            LValue::Element(table, index) => match index.as_slice() {
                [one] => self.quick(one).map(|number| (self.table_number(*table), number)),
                _ => None,
            },
            _ => None,
        };
        let Machine { record, globals, locals, tables, base, .. } = self;
        let to = match (place, listed) {
            (LValue::Local(place), _) => &mut locals[*base + *place],
            (_, Some((table, number))) => match tables[table].listed(number) {
                Some(entry) => entry,
                None => return Ok(false),
            },
            (LValue::Global(place), _) => {
                match value {
                    Get::Text(text) => globals[*place].be_text(text.bytes()),
                    Get::Of(LValue::Field(field)) => record.field(*field).put(&mut globals[*place]),
                    Get::Of(LValue::Record) => record.whole(&globals[OFS]).put(&mut globals[*place]),
                    Get::Of(LValue::Local(from)) => globals[*place].be_like(&locals[*base + *from]),
                    _ => return Ok(false),
                }
                return Ok(true);
            }
            _ => return Ok(false),
        };
        match value {
            Get::Text(text) => to.be_text(text.bytes()),
            Get::Of(LValue::Field(field)) => record.field(*field).put(to),
            Get::Of(LValue::Record) => record.whole(&globals[OFS]).put(to),
            Get::Of(LValue::Global(from)) => to.be_like(&globals[*from]),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Assigns a computed string.
    fn put_text(&mut self, place: &LValue, value: &Get) -> Ran<bool> {
        match place {
            LValue::Global(_) | LValue::Local(_) => {}
            LValue::Element(_, index) if index.iter().all(is_still) => {}
            LValue::Record => {
                let mut text = self.text(value)?;
                self.record.set_text(&mut text);
                self.give_back(text);
                return Ok(true);
            }
            _ => return Ok(false),
        }
        // `s = s x`: what is appended may not change the place, as programs where the order matters are declined.
        if let Get::Concat(parts) = value
            && let Some((first, more)) = parts.split_first()
            && is_of(first, place)
        {
            let mut text = self.buffer();
            more.iter().try_for_each(|part| self.write(part, &mut text))?;
            match place {
                LValue::Element(table, index) => self.element(*table, index, |entry| entry.append(&text))?,
                place => self.variable(place).into_iter().for_each(|variable| variable.append(&text)),
            }
            self.give_back(text);
            return Ok(true);
        }
        let mut text = self.text(value)?;
        match place {
            LValue::Element(table, index) => {
                self.element(*table, index, |entry| entry.take_text(&mut text))?
            }
            place => self.variable(place).into_iter().for_each(|variable| variable.take_text(&mut text)),
        }
        self.give_back(text);
        Ok(true)
    }

    fn set_number(&mut self, place: &LValue, number: f64) -> Ran<()> {
        match place {
            LValue::Element(table, index) => self.element(*table, index, |entry| entry.be_number(number)),
            place => {
                if let Some(variable) = self.variable(place) {
                    variable.be_number(number);
                }
                Ok(())
            }
        }
    }

    pub(super) fn set(&mut self, place: &LValue, value: Value) -> Ran<()> {
        match place {
            LValue::Global(place) => self.globals[*place] = value,
            LValue::Local(place) => self.locals[self.base + place] = value,
            LValue::Record => self.record.set_value(value),
            LValue::Field(field) => self.record.assign(*field, value),
            LValue::FieldAt(index) => {
                let field = self.field_number(index)?;
                self.set_field(field, value);
            }
            LValue::FieldCount => {
                let count = number::to_integer(value.number());
                let Ok(count) = usize::try_from(count) else {
                    return Err(self.fatal(&RuntimeError::NegativeCount));
                };
                self.record.resize(count);
            }
            LValue::Element(table, index) => self.element(*table, index, |entry| *entry = value)?,
        }
        Ok(())
    }

    /// Returns a variable or a parameter.
    #[inline]
    pub(super) fn variable(&mut self, place: &LValue) -> Option<&mut Value> {
        match place {
            LValue::Global(place) => Some(&mut self.globals[*place]),
            LValue::Local(place) => Some(&mut self.locals[self.base + *place]),
            _ => None,
        }
    }

    /// Returns the number in a variable, if it holds one.
    #[inline]
    pub(super) fn number_at(&mut self, place: &LValue) -> Option<&mut f64> {
        match self.variable(place) {
            Some(Value::Number(number)) => Some(number),
            _ => None,
        }
    }

    /// Adds to a place; returns the value before: small numbers cannot be recovered from a sum.
    pub(super) fn step(&mut self, place: &LValue, by: f64) -> Ran<f64> {
        if let Some(Value::Number(number)) = self.variable(place) {
            let before = *number;
            *number += by;
            return Ok(before);
        }
        let mut before = 0.0;
        self.change(place, |number| {
            before = number;
            number + by
        })?;
        Ok(before)
    }

    pub(super) fn update(&mut self, arith: Arith, place: &LValue, value: &Get) -> Ran<f64> {
        if matches!(arith, Arith::Divide | Arith::Remainder) && !rules::is_mawk() {
            return self.divide(arith, place, value);
        }
        if let LValue::Element(table, index) = place {
            // Operands without side effects can be evaluated in any order.
            if is_still(value) || index.iter().all(is_still) {
                let by = self.number(value)?;
                return self.element(*table, index, |entry| {
                    let number = calculate(arith, entry.number(), by);
                    entry.be_number(number);
                    number
                });
            }
            let key = self.evaluated(*table, index)?;
            let by = self.number(value)?;
            return Ok(self.at_evaluated(*table, key, |array, key| {
                let entry = array.entry(key);
                let number = calculate(arith, entry.number(), by);
                *entry = Value::Number(number);
                number
            }));
        }
        let by = self.number(value)?;
        if let Some(Value::Number(number)) = self.variable(place) {
            *number = calculate(arith, *number, by);
            return Ok(*number);
        }
        self.change(place, |number| calculate(arith, number, by))
    }

    /// Divides what a place holds, unless by zero.
    fn divide(&mut self, arith: Arith, place: &LValue, value: &Get) -> Ran<f64> {
        let by = self.number(value)?;
        if divides_by_zero(arith, by) {
            return Err(self.fatal(&RuntimeError::DivisionByZero(arith, true)));
        }
        self.change(place, |number| calculate(arith, number, by))
    }

    #[inline]
    pub(super) fn change(&mut self, place: &LValue, to: impl FnOnce(f64) -> f64) -> Ran<f64> {
        match place {
            LValue::Global(_) | LValue::Local(_) => {
                let Some(variable) = self.variable(place) else { return Ok(0.0) };
                let number = to(variable.number());
                variable.be_number(number);
                Ok(number)
            }
            LValue::Element(table, index) => self.element(*table, index, |entry| {
                let number = to(entry.number());
                entry.be_number(number);
                number
            }),
            LValue::FieldAt(index) => {
                let field = self.field_number(index)?;
                let number = to(self.found(field).number());
                self.set_field(field, Value::Number(number));
                Ok(number)
            }
            place => {
                let number = to(self.get(place)?.number());
                self.set(place, Value::Number(number))?;
                Ok(number)
            }
        }
    }

    /// Returns the place with its index evaluated; `None` for the record.
    pub(super) fn place_of(&mut self, place: &LValue) -> Ran<Option<LValue>> {
        Ok(match place {
            LValue::Record => None,
            LValue::FieldAt(index) => match self.field_number(index)? {
                0 => None,
                field => Some(LValue::Field(field)),
            },
            LValue::Element(table, index) => {
                let key = self.evaluated(*table, index)?;
                let index = key.fraction.map_or_else(|| Get::Text(Text::new(&key.text)), Get::Number);
                self.give_back(key.text);
                Some(LValue::Element(*table, vec![index]))
            }
            place => Some(place.clone()),
        })
    }
}

/// Whether an expression is the content of this variable, or of an element by a variable, a field or a constant.
fn is_of(expr: &Get, place: &LValue) -> bool {
    match (expr, place) {
        (Get::Of(LValue::Element(table, index)), LValue::Element(other, other_index)) => {
            table == other
                && match (index.as_slice(), other_index.as_slice()) {
                    ([Get::Text(one)], [Get::Text(other)]) => one.bytes() == other.bytes(),
                    ([one], [other]) => is_same_variable(one, other),
                    _ => false,
                }
        }
        (Get::Of(LValue::Global(one)), LValue::Global(other))
        | (Get::Of(LValue::Local(one)), LValue::Local(other)) => one == other,
        _ => false,
    }
}

/// Whether it is an array element whose index has no side effects. Such an index may be evaluated after the
/// value: programs where the order matters are declined before.
fn is_still_element(place: &LValue) -> bool {
    matches!(place, LValue::Element(_, index) if index.iter().all(is_still))
}
