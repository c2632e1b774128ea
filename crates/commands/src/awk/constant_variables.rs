//! Variables of the command line that never change, where a constant is found faster: `awk -v column=4 '{print $column}'`,
//! `-v from=10:00 '$2 >= from'`, `-v limit=100 'length($0) > limit'`.
//!
//! Such a value is a number if it looks like one, and a string otherwise. As a constant it behaves the same as an operand of
//! a comparison or a calculation and as the number of a field. Elsewhere the two may differ (`printf "%c"`, `typeof`), and
//! nothing would be gained. Left out as well: divisions and `%`, as a constant 0 is judged when a program is read, and `^`.

use std::collections::BTreeMap;

use super::arguments::{self, Line};
use super::names::is_special;
use super::number;
use super::tree::{Arith, Expr, Program};

/// A number of more digits may be printed in another way than it was given.
const DIGITS_MAX: usize = 9;
/// Every awk has fields of so many digits; some have none beyond 32,767.
const FIELD_DIGITS_MAX: usize = 3;

/// Puts the values of variables that never change where the program compares them, calculates with them, or takes them for
/// the number of a field.
pub(super) fn put_in_place(program: &mut Program, line: &Line) {
    if line.variables.is_empty() {
        return;
    }
    let mut values: BTreeMap<String, Vec<u8>> =
        arguments::unchanged(line, &arguments::changes(program)).collect();
    values.retain(|name, _| !is_special(name) && !program.has_parameter(name));
    let mut open = program.expressions_mut();
    while let Some(expr) = open.pop() {
        match expr {
            // `$0` is the record, to which other rules apply than to a field that happens to be it.
            Expr::Field(index) => put(index, &values, |value| {
                whole(value).filter(|_| value.len() <= FIELD_DIGITS_MAX && value != b"0").map(Expr::Number)
            }),
            Expr::Compare(_, left, right) => {
                put(left, &values, constant);
                put(right, &values, constant);
            }
            Expr::Arith(Arith::Add | Arith::Subtract | Arith::Multiply, left, right) => {
                put(left, &values, number);
                put(right, &values, number);
            }
            Expr::Update(Arith::Add | Arith::Subtract | Arith::Multiply, _, value) => {
                put(value, &values, number);
            }
            _ => {}
        }
        open.extend(expr.parts_mut());
    }
}

/// Exchanges a variable for its value.
fn put(expr: &mut Expr, values: &BTreeMap<String, Vec<u8>>, constant: impl Fn(&[u8]) -> Option<Expr>) {
    let Expr::Name(name) = expr.bare() else { return };
    if let Some(constant) = values.get(name).and_then(|value| constant(value)) {
        *expr = constant;
    }
}

fn constant(value: &[u8]) -> Option<Expr> {
    let is_text = !value.is_empty() && number::looks_like(value).is_none();
    if is_text { Some(Expr::Text(value.to_vec())) } else { number(value) }
}

fn number(value: &[u8]) -> Option<Expr> {
    whole(value).map(Expr::Number)
}

/// Returns the number that is written with exactly these digits.
fn whole(value: &[u8]) -> Option<f64> {
    let is_plain = value.iter().all(u8::is_ascii_digit)
        && (1..=DIGITS_MAX).contains(&value.len())
        && (value[0] != b'0' || value.len() == 1);
    is_plain.then(|| value.iter().fold(0.0, |sum, digit| sum * 10.0 + f64::from(digit - b'0')))
}
