//! Computes with numbers and compares them.

use super::gawk_messages::{GawkMessages, Text};
use super::number::to_integer;
use super::rules;
use super::tree::{Arith, Expr, Order};

/// Applies an operator.
#[inline(always)]
pub(super) fn calculate(arith: Arith, left: f64, right: f64) -> f64 {
    let made = match arith {
        Arith::Add => left + right,
        Arith::Subtract => left - right,
        Arith::Multiply => left * right,
        Arith::Divide => left / right,
        Arith::Remainder => remainder(left, right),
        Arith::Power => return raised(left, right),
    };
    if made.is_nan() { not_a_number(made, left, right) } else { made }
}

/// Converts a number of bytes, fields or records. The processor has an instruction for numbers with a sign only.
#[inline(always)]
pub(super) fn from_count(count: usize) -> f64 {
    count.cast_signed() as f64
}

fn raised(base: f64, exponent: f64) -> f64 {
    if rules::is_gawk() {
        power(base, exponent)
    } else if rules::is_one_true() {
        power_by_halves(base, exponent)
    } else {
        // The library's result, with its sign.
        base.powf(exponent)
    }
}

/// Whether it is a number in the program, or made of such, and neither 0 nor out of range.
pub(super) fn is_sure_divisor(expr: &Expr) -> bool {
    fn constant(expr: &Expr) -> Option<f64> {
        match expr.bare() {
            Expr::Number(number) => Some(*number),
            Expr::Negate(inner) => constant(inner).map(|number| -number),
            Expr::Plus(inner) => constant(inner),
            Expr::Arith(Arith::Divide | Arith::Remainder, _, by) if !is_sure_divisor(by) => None,
            Expr::Arith(arith, left, right) => Some(calculate(*arith, constant(left)?, constant(right)?)),
            _ => None,
        }
    }
    constant(expr).is_some_and(|number| number != 0.0 && number.is_finite())
}

/// A function of numbers of which gawk and the one true awk warn outside its domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Partial {
    Sqrt,
    Exp,
    Log,
}

impl Partial {
    /// Returns the value, and whether the awk warns of the argument.
    pub(super) fn of(self, number: f64) -> (f64, bool) {
        if rules::is_one_true() {
            return match self.error_of(number) {
                None => (self.of_library(number), false),
                Some(_) => (1.0, true),
            };
        }
        match self {
            Partial::Sqrt => (number.sqrt(), number < 0.0),
            Partial::Log => (number.ln(), number < 0.0),
            Partial::Exp => {
                let power = number.exp();
                (power, number.is_finite() && (power == 0.0 || power.is_infinite()))
            }
        }
    }

    fn of_library(self, number: f64) -> f64 {
        match self {
            Partial::Sqrt => number.sqrt(),
            Partial::Log => number.ln(),
            Partial::Exp => number.exp(),
        }
    }

    /// Returns what the one true awk says of an argument, if the C library reports an error.
    fn error_of(self, number: f64) -> Option<&'static str> {
        match self {
            Partial::Sqrt => (number < 0.0).then_some("sqrt argument out of domain"),
            Partial::Log if number == 0.0 => Some("log result out of range"),
            Partial::Log => (number < 0.0).then_some("log argument out of domain"),
            Partial::Exp => {
                let power = number.exp();
                let is_out_of_range = number.is_finite() && (power == 0.0 || power.is_infinite());
                is_out_of_range.then_some("exp result out of range")
            }
        }
    }

    /// Returns the warning of the one true awk of an argument.
    pub(super) fn warning_in_one_true(self, number: f64) -> &'static str {
        self.error_of(number).unwrap_or_default()
    }

    /// Returns what gawk says of an argument, which is shown.
    pub(super) fn warning(self, messages: &GawkMessages, shown: &[u8]) -> Vec<u8> {
        match self {
            Partial::Sqrt => messages.say(Text::Domain, &[b"sqrt", shown]),
            Partial::Log => messages.say(Text::Domain, &[b"log", shown]),
            Partial::Exp => messages.say(Text::ExpRange, &[shown]),
        }
    }
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

/// Computes the library's fmod, or what the one true awk takes for it, with a fast path.
fn remainder(left: f64, right: f64) -> f64 {
    let (whole, by) = (left as u32, right as u32);
    let simple = by > 0 && f64::from(whole) == left && f64::from(by) == right && left.is_sign_positive();
    match () {
        () if simple => f64::from(whole % by),
        () if rules::is_one_true() => left - right * (left / right).trunc(),
        () => left % right,
    }
}

/// Raises to a power as gawk does: by squares, where the exponent is an integer.
fn power(base: f64, exponent: f64) -> f64 {
    let times = exponent as i64;
    if times as f64 != exponent {
        return base.powf(exponent);
    }
    let (mut square, mut product) = (base, 1.0);
    let mut rest = times.unsigned_abs();
    if rest == 0 {
        return 1.0;
    }
    while rest > 1 {
        if rest % 2 == 1 {
            product *= square;
        }
        square *= square;
        rest /= 2;
    }
    product *= square;
    if times < 0 { 1.0 / product } else { product }
}

/// Raises to a power as the one true awk does where the exponent is an integer that is not negative: by that of half the
/// exponent.
fn power_by_halves(base: f64, exponent: f64) -> f64 {
    fn of(base: f64, times: i32) -> f64 {
        if times <= 0 {
            return 1.0;
        }
        let half = of(base, times / 2);
        if times % 2 == 0 { half * half } else { base * half * half }
    }
    if exponent >= 0.0 && exponent.trunc() == exponent {
        of(base, to_integer(exponent))
    } else {
        base.powf(exponent)
    }
}

/// Compares two numbers, one of which is NaN, as gawk orders them: NaN is the largest, and equals itself.
#[cold]
pub(super) fn in_order(order: Order, left: f64, right: f64) -> bool {
    order.holds(left.is_nan().cmp(&right.is_nan()))
}

/// Whether the operator cannot be applied, in gawk and the one true awk.
pub(super) fn divides_by_zero(arith: Arith, right: f64) -> bool {
    right == 0.0 && matches!(arith, Arith::Divide | Arith::Remainder) && !rules::is_mawk()
}

/// Compares two numbers by an operator. In mawk NaN equals every number, in gawk from 5.2 on none; in the second edition of
/// the one true awk it only differs from itself.
#[inline]
pub(super) fn numbers(order: Order, left: f64, right: f64) -> bool {
    let (less, more) = (left < right, left > right);
    if !less && !more && left != right && rules::is_gawk() {
        return if rules::is_gawk_5_1() { in_order(order, left, right) } else { order == Order::NotEqual };
    }
    if !less && !more && left != right && rules::is_second_edition() {
        return order == Order::NotEqual && left.is_nan() && right.is_nan();
    }
    match order {
        Order::Less => less,
        Order::Greater => more,
        Order::LessOrEqual => !more,
        Order::GreaterOrEqual => !less,
        Order::Equal => !less && !more,
        Order::NotEqual => less || more,
    }
}
