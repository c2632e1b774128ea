//! Computes with numbers and compares them, as mawk does.

use std::cmp::Ordering;

use super::tree::{Arith, Order};

/// Applies an operator.
#[inline]
pub(super) fn calculate(arith: Arith, left: f64, right: f64) -> f64 {
    let made = match arith {
        Arith::Add => left + right,
        Arith::Subtract => left - right,
        Arith::Multiply => left * right,
        Arith::Divide => left / right,
        Arith::Remainder => remainder(left, right),
        // The library's result, with its sign.
        Arith::Power => return left.powf(right),
    };
    if made.is_nan() { not_a_number(made, left, right) } else { made }
}

/// Returns the NaN whose sign is printed: that of the first NaN operand; a compiler may swap operands.
#[cold]
fn not_a_number(made: f64, left: f64, right: f64) -> f64 {
    match (left.is_nan(), right.is_nan()) {
        (true, _) => left,
        (_, true) => right,
        _ => made,
    }
}

/// Computes the library's fmod, with a fast path.
#[inline]
fn remainder(left: f64, right: f64) -> f64 {
    let (whole, by) = (left as u32, right as u32);
    let simple = by > 0 && f64::from(whole) == left && f64::from(by) == right && left.is_sign_positive();
    if simple { f64::from(whole % by) } else { left % right }
}

/// Compares numbers; NaN equals every number, as in mawk.
#[inline]
pub(super) fn compare_numbers(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// Compares two numbers by an operator; NaN equals every number, as in mawk.
#[inline]
pub(super) fn numbers(order: Order, left: f64, right: f64) -> bool {
    let (less, more) = (left < right, left > right);
    match order {
        Order::Less => less,
        Order::Greater => more,
        Order::LessOrEqual => !more,
        Order::GreaterOrEqual => !less,
        Order::Equal => !less && !more,
        Order::NotEqual => less || more,
    }
}
