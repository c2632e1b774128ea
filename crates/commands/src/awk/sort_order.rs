//! gawk's orders of arrays: of `PROCINFO["sorted_in"]`, `asort` and `asorti`.
//!
//! Elements with equal values are ordered by their indices as strings. Of an index that is an integer gawk makes no string
//! there: these come first, in the order in which the array is kept, since glibc's `qsort` is stable.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::{Accept, Declined};

use super::code::{LValue, Table};
use super::compile::Compiler;
use super::machine::{Flow, Machine, Ran};
use super::tree::{Builtin, Expr, Statement};
use super::value::{Operand, Value};

/// An order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SortOrder {
    by: SortKey,
    descends: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SortKey {
    IndexAsText,
    IndexAsNumber,
    ValueAsText,
    ValueAsNumber,
    /// Numbers before strings.
    ValueAndType,
}

impl SortOrder {
    /// Returns the order with this name, or `None` if no order of gawk's own has it.
    pub(super) fn named(name: &[u8]) -> Option<SortOrder> {
        let (by, descends) = match (name.strip_suffix(b"_asc"), name.strip_suffix(b"_desc")) {
            (Some(by), _) => (by, false),
            (_, Some(by)) => (by, true),
            _ => return None,
        };
        let by = match by {
            b"@ind_str" => SortKey::IndexAsText,
            b"@ind_num" => SortKey::IndexAsNumber,
            b"@val_str" => SortKey::ValueAsText,
            b"@val_num" => SortKey::ValueAsNumber,
            b"@val_type" => SortKey::ValueAndType,
            _ => return None,
        };
        Some(SortOrder { by, descends })
    }

    /// Returns the order of a call of `asort` or `asorti`, if it is constant.
    pub(super) fn of_call(builtin: Builtin, args: &[Expr]) -> Option<SortOrder> {
        let name: &[u8] = match (args.get(2), builtin) {
            (Some(Expr::Text(name)), _) if !name.is_empty() => name,
            (Some(Expr::Text(_)) | None, Builtin::Asorti) => b"@ind_str_asc",
            (Some(Expr::Text(_)) | None, _) => b"@val_type_asc",
            _ => return None,
        };
        SortOrder::named(name)
    }

    /// Whether it orders indices, of which no two are equal.
    pub(super) fn is_by_index(self) -> bool {
        matches!(self.by, SortKey::IndexAsText | SortKey::IndexAsNumber)
    }

    /// Whether it shows whether a value is a number.
    pub(super) fn shows_types(self) -> bool {
        self.by == SortKey::ValueAndType
    }

    fn element(self, index: Value, value: Value, has_number_index: bool) -> Element {
        let number = match self.by {
            SortKey::IndexAsNumber => index.number(),
            SortKey::ValueAsNumber => value.number(),
            _ => 0.0,
        };
        Element { index, value, number, has_number_index }
    }

    /// Sorts elements, which come in the order in which gawk keeps them.
    fn sort(self, elements: &mut [Element]) {
        elements.sort_by(|one, other| {
            let order = self.compare(one, other);
            if self.descends { order.reverse() } else { order }
        });
    }

    fn compare(self, one: &Element, other: &Element) -> Ordering {
        let by_text = |one: &Value, other: &Value| one.as_text().cmp(&other.as_text());
        let by_number = || numbers(one.number, other.number);
        let by_index = || one.tie().cmp(&other.tie());
        match self.by {
            SortKey::IndexAsText => by_text(&one.index, &other.index),
            SortKey::IndexAsNumber => by_number().then_with(|| by_text(&one.index, &other.index)),
            SortKey::ValueAsText => by_text(&one.value, &other.value).then_with(by_index),
            SortKey::ValueAsNumber => {
                by_number().then_with(|| by_text(&one.value, &other.value)).then_with(by_index)
            }
            SortKey::ValueAndType => by_type(&one.value, &other.value).then_with(by_index),
        }
    }
}

/// An element of an array.
struct Element {
    index: Value,
    value: Value,
    /// The number that it is ordered by, if any.
    number: f64,
    /// Whether gawk keeps the index as a number.
    has_number_index: bool,
}

impl Element {
    /// Returns what decides between elements with equal values.
    fn tie(&self) -> Cow<'_, [u8]> {
        if self.has_number_index { Cow::from(b"".as_slice()) } else { self.index.as_text() }
    }
}

/// Orders numbers; NaN comes last, and equals NaN.
fn numbers(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}

fn by_type(one: &Value, other: &Value) -> Ordering {
    match (one.as_operand(), other.as_operand()) {
        (Operand::Text(one), Operand::Text(other)) => one.cmp(other),
        (Operand::Text(_), _) => Ordering::Greater,
        (_, Operand::Text(_)) => Ordering::Less,
        (Operand::Number(one) | Operand::Both(one, _), Operand::Number(other) | Operand::Both(other, _)) => {
            numbers(one, other)
        }
    }
}

/// A call of `asort` or `asorti`.
#[derive(Clone, Debug)]
pub(super) struct SortCall {
    from: Table,
    to: Table,
    order: SortOrder,
    /// Whether the indices are sorted, and not the values.
    takes_indices: bool,
}

/// Returns the statement for an assignment to `PROCINFO["sorted_in"]`; `None` for any other expression.
pub(super) fn assigned(expr: &Expr) -> Option<Statement> {
    let Expr::Assign(place, value) = expr else { return None };
    let (Expr::Element(name, index), Expr::Text(order)) = (&**place, &**value) else { return None };
    if !is_sorted_in(name, index) {
        return None;
    }
    match order.as_slice() {
        b"" | b"@unsorted" => Some(Statement::SortedIn(None)),
        order => SortOrder::named(order).map(|order| Statement::SortedIn(Some(order))),
    }
}

/// Whether it is `PROCINFO["sorted_in"]`.
pub(super) fn is_sorted_in(name: &str, index: &[Expr]) -> bool {
    name == "PROCINFO" && matches!(index, [Expr::Text(index)] if index == b"sorted_in")
}

/// Declines calls of `asort` and `asorti` whose order is not known, or whose arguments are no arrays.
pub(super) fn check(builtin: Builtin, args: &[Expr]) -> Accept<()> {
    if !args.iter().take(2).all(|arg| matches!(arg, Expr::Name(_))) {
        return Declined::because("asort or asorti of something that is no array");
    }
    if args.len() > 1 && args[0] == args[1] {
        return Declined::because("asort or asorti of an array into itself, of which gawk may warn");
    }
    match SortOrder::of_call(builtin, args) {
        Some(_) => Ok(()),
        None => Declined::because("asort or asorti in an order that is none of gawk's own"),
    }
}

impl Compiler<'_> {
    /// Compiles a call.
    pub(super) fn sort(&mut self, builtin: Builtin, args: &[Expr]) -> Accept<SortCall> {
        let (Some(Expr::Name(from)), Some(order)) = (args.first(), SortOrder::of_call(builtin, args)) else {
            return Declined::because("asort or asorti with unusual arguments");
        };
        let from = self.table(from);
        let to = match args.get(1) {
            Some(Expr::Name(to)) => self.table(to),
            _ => from,
        };
        if matches!(from, Table::Local(_)) || matches!(to, Table::Local(_)) {
            return Declined::because("asort or asorti of a parameter, which may be no array yet");
        }
        Ok(SortCall { from, to, order, takes_indices: builtin == Builtin::Asorti })
    }
}

impl Machine {
    /// Sorts an array into another one, or itself. Returns the number of its elements.
    pub(super) fn sort_array(&mut self, call: &SortCall) -> f64 {
        let sorted = self.sorted_elements(call.from, call.order);
        let count = sorted.len();
        if count > 0 || self.table_number(call.from) != self.table_number(call.to) {
            let taken = sorted.into_iter().map(|it| if call.takes_indices { it.index } else { it.value });
            self.table(call.to).be_list(taken);
        }
        count as f64
    }

    fn sorted_elements(&mut self, table: Table, order: SortOrder) -> Vec<Element> {
        let found = self.table(table).found_elements().into_iter();
        let element = |(index, value, is_number)| order.element(index, value, is_number);
        let mut elements: Vec<Element> = found.map(element).collect();
        order.sort(&mut elements);
        elements
    }

    /// Runs the body of a loop over an array in the order of `PROCINFO["sorted_in"]`.
    pub(super) fn each_sorted(
        &mut self,
        place: &LValue,
        table: Table,
        order: SortOrder,
        body: &[super::code::Do],
    ) -> Ran<Flow> {
        let keys = self.sorted_elements(table, order).into_iter().map(|element| element.index);
        self.each_of(place, keys, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(order: &str, elements: &[(&str, Value)]) -> String {
        let order = SortOrder::named(order.as_bytes()).expect("an order");
        let mut elements: Vec<Element> = elements
            .iter()
            .map(|(index, value)| {
                let is_number = matches!(*index, "1" | "2");
                order.element(Value::text(index.as_bytes()), value.clone(), is_number)
            })
            .collect();
        order.sort(&mut elements);
        let indices = elements.iter().map(|it| it.index.as_text().escape_ascii().to_string());
        indices.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn equal_values_are_ordered_by_the_index_unless_it_is_an_integer() {
        let x = || Value::text(b"x");
        let elements = [("2", x()), ("b", x()), ("1", x()), ("010", x()), ("a", Value::input(b"7"))];
        assert_eq!(sorted("@val_str_asc", &elements), "a 2 1 010 b");
        assert_eq!(sorted("@val_type_desc", &elements), "b 010 2 1 a");
        assert_eq!(sorted("@ind_num_asc", &elements), "a b 1 2 010");
        assert_eq!(sorted("@ind_str_desc", &elements), "b a 2 1 010");
    }

    #[test]
    fn numbers_come_before_strings_and_nan_behind_numbers() {
        let elements = [
            ("a", Value::text(b"1")),
            ("b", Value::Number(f64::NAN)),
            ("c", Value::Unset),
            ("d", Value::input(b"3")),
            ("e", Value::Number(-2.0)),
        ];
        assert_eq!(sorted("@val_type_asc", &elements), "e c d b a");
        assert_eq!(sorted("@val_num_desc", &elements), "b d a c e");
    }
}
