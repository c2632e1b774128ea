//! `-g`: encodes what `strtold` parses as byte strings in sort's order.
//!
//! sort compares the machine's `long double`: 64 bits of mantissa on x86-64. Two numbers that round to the
//! same value are equal and the lines' bytes break the tie, so rounding must be exact, for any number of
//! digits. The order: invalid numbers; NaN; then numbers, with both zeros equal.
//!
//! Two NaNs are different: sort compares their memory, including padding that was never written, so that its
//! output can differ from one run to the next. Only the same program can equal that: see [`is_nan`].

use super::big_integer::Big;

/// Binary digits of the mantissa.
const MANTISSA_BITS: i64 = 64;
/// The weight of the last mantissa bit of the smallest exponent.
const LOWEST_BIT: i64 = -16445;
/// The exponent field of infinity.
const INFINITE: i64 = 0x7fff;
/// Decimal exponents (of the digit before the first) beyond which the result is infinite or zero, with a
/// margin.
const DECIMAL_MAX: i64 = 4_950;
const DECIMAL_MIN: i64 = -4_970;
/// The limit for counting exponents: beyond the length of any line.
const EXPONENT_LIMIT: i64 = 1 << 56;

/// The result of `strtold`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    /// The conversion failed.
    No,
    Nan,
    Number {
        negative: bool,
        /// At least 1: a subnormal has the exponent 1 and no leading bit in the mantissa.
        exponent: u16,
        mantissa: u64,
    },
}

/// Appends the encoding of `text` for `-g`.
pub(crate) fn encode_general(text: &[u8], point: u8, out: &mut Vec<u8>) {
    match read(text, point) {
        Value::No => out.extend_from_slice(&[0, 0]),
        Value::Nan => out.extend_from_slice(&[0, 1]),
        Value::Number { mantissa: 0, .. } => push_number(0x8001, 0, out),
        Value::Number { negative: false, exponent, mantissa } => {
            push_number(0x8000 + exponent, mantissa, out)
        }
        Value::Number { negative: true, exponent, mantissa } => {
            push_number(0x8001 - exponent, !mantissa, out)
        }
    }
}

fn push_number(head: u16, mantissa: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&head.to_be_bytes());
    out.extend_from_slice(&mantissa.to_be_bytes());
}

/// Whether `strtold` parses this as NaN, with any sign and payload.
pub(crate) fn is_nan(text: &[u8]) -> bool {
    // The sign and the name are all that decides.
    read(text, b'.') == Value::Nan
}

fn read(text: &[u8], point: u8) -> Value {
    let spaces = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t'..=b'\r')).count();
    let (negative, text) = match &text[spaces..] {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    match text.first_chunk::<3>() {
        Some(name) if name.eq_ignore_ascii_case(b"nan") => return Value::Nan,
        Some(name) if name.eq_ignore_ascii_case(b"inf") => {
            return Value::Number { negative, exponent: INFINITE as u16, mantissa: 1 << 63 };
        }
        _ => {}
    }
    let finite = match text {
        [b'0', b'x' | b'X', rest @ ..] => Some(read_hexadecimal(rest, point)),
        _ => read_decimal(text, point),
    };
    finite.map_or(Value::No, |(exponent, mantissa)| Value::Number { negative, exponent, mantissa })
}

/// Digits around a decimal point.
struct Digits<'a> {
    integer: &'a [u8],
    fraction: &'a [u8],
    /// The remaining text.
    rest: &'a [u8],
}

fn split_digits(text: &[u8], point: u8, is_digit: impl Fn(&u8) -> bool) -> Digits<'_> {
    let (integer, rest) = text.split_at(text.iter().take_while(|byte| is_digit(byte)).count());
    match rest {
        [byte, after @ ..] if *byte == point => {
            let (fraction, rest) = after.split_at(after.iter().take_while(|byte| is_digit(byte)).count());
            Digits { integer, fraction, rest }
        }
        _ => Digits { integer, fraction: &[], rest },
    }
}

/// Parses the exponent after the mantissa, 0 if there is none or it has no digits.
fn read_exponent(rest: &[u8], letter: u8) -> i64 {
    let (negative, digits) = match rest {
        [mark, b'-', digits @ ..] if mark.eq_ignore_ascii_case(&letter) => (true, digits),
        [mark, b'+', digits @ ..] | [mark, digits @ ..] if mark.eq_ignore_ascii_case(&letter) => {
            (false, digits)
        }
        _ => return 0,
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let size = digits.fold(0i64, |size, digit| (size * 10 + i64::from(digit - b'0')).min(EXPONENT_LIMIT));
    if negative { -size } else { size }
}

fn read_hexadecimal(text: &[u8], point: u8) -> (u16, u64) {
    let digits = split_digits(text, point, u8::is_ascii_hexdigit);
    if digits.integer.is_empty() && digits.fraction.is_empty() {
        return ZERO;
    }
    let (mut mantissa, mut sticky, mut dropped) = (0u128, false, 0i64);
    for byte in digits.integer.iter().chain(digits.fraction) {
        let digit = (*byte as char).to_digit(16).unwrap_or(0);
        if mantissa >> 124 == 0 {
            mantissa = mantissa << 4 | u128::from(digit);
        } else {
            sticky |= digit != 0;
            dropped += 1;
        }
    }
    let shift = 4 * (dropped - digits.fraction.len() as i64);
    assemble(mantissa, shift + read_exponent(digits.rest, b'p'), sticky)
}

fn read_decimal(text: &[u8], point: u8) -> Option<(u16, u64)> {
    let digits = split_digits(text, point, u8::is_ascii_digit);
    if digits.integer.is_empty() && digits.fraction.is_empty() {
        return None;
    }
    let mut exponent = read_exponent(digits.rest, b'e') - digits.fraction.len() as i64;
    let all = || digits.integer.iter().chain(digits.fraction).skip_while(|digit| **digit == b'0');
    let mut count = all().count();
    if count > 19 {
        // Trailing zeros do not matter; a plain integer padded with them may be short.
        let zeros = digits.fraction.iter().rev().chain(digits.integer.iter().rev());
        let zeros = zeros.take_while(|digit| **digit == b'0').count().min(count);
        count -= zeros;
        exponent += zeros as i64;
    }
    if count == 0 {
        return Some(ZERO);
    }
    let magnitude = exponent + count as i64;
    if magnitude > DECIMAL_MAX {
        return Some(INFINITY);
    }
    if magnitude < DECIMAL_MIN {
        return Some(ZERO);
    }
    let digits = all().take(count);
    if count <= 19 {
        let value = digits.fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
        if let Some(result) = from_short(value, exponent) {
            return Some(result);
        }
        return Some(from_long(std::iter::once((value, 1)), exponent));
    }
    let digits: Vec<u8> = digits.copied().collect();
    let chunks = digits.chunks(18).map(|chunk| {
        let value = chunk.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
        (value, 10u64.pow(chunk.len() as u32))
    });
    Some(from_long(chunks, exponent))
}

const ZERO: (u16, u64) = (1, 0);
const INFINITY: (u16, u64) = (INFINITE as u16, 1 << 63);
/// The greatest power of five below 2^63.
const FIVES: i64 = 27;

/// Multiplies `value` by a small power of ten, in 128 bits.
fn from_short(value: u64, exponent: i64) -> Option<(u16, u64)> {
    let five = |count: i64| 5u128.pow(count as u32);
    match exponent {
        0..=FIVES => Some(assemble(u128::from(value) * five(exponent), exponent, false)),
        _ if (-FIVES..0).contains(&exponent) => {
            // With the top bit of the dividend set, the quotient has at least 65 bits: one more than is kept.
            let shift = u128::from(value).leading_zeros();
            let (dividend, divisor) = (u128::from(value) << shift, five(-exponent));
            let sticky = dividend % divisor != 0;
            Some(assemble(dividend / divisor, exponent - i64::from(shift), sticky))
        }
        _ => None,
    }
}

/// Combines any number of digits, in chunks with the power of ten that shifts for each, times a power of ten.
fn from_long(chunks: impl Iterator<Item = (u64, u64)>, exponent: i64) -> (u16, u64) {
    let mut value = Big::default();
    for (chunk, room) in chunks {
        value.multiply_add(room, chunk);
    }
    if exponent >= 0 {
        value.multiply_by_power_of_five(exponent as u64);
        let (top, below, sticky) = value.top();
        return assemble(top, below as i64 + exponent, sticky);
    }
    let mut divisor = Big::from(1);
    divisor.multiply_by_power_of_five(exponent.unsigned_abs());
    let (quotient, shift, sticky) = value.divide(divisor);
    assemble(quotient, exponent + shift, sticky)
}

/// Rounds `value`·2^`exponent`, and a little more if `sticky` (then `value` has at least 65 bits), to the
/// nearest, ties to even. Returns the exponent field and the mantissa.
fn assemble(value: u128, exponent: i64, sticky: bool) -> (u16, u64) {
    if value == 0 {
        return ZERO;
    }
    let bits = i64::from(u128::BITS - value.leading_zeros());
    let last = (bits + exponent - MANTISSA_BITS).max(LOWEST_BIT);
    let field = last - LOWEST_BIT + 1;
    if field >= INFINITE {
        return INFINITY;
    }
    let drop = last - exponent;
    if drop <= 0 {
        return (field as u16, (value << -drop) as u64);
    }
    if drop > bits {
        return ZERO;
    }
    let kept = value.checked_shr(drop as u32).unwrap_or(0);
    let half = 1u128 << (drop - 1);
    let rest = value & (half | (half - 1));
    let up = rest > half || (rest == half && (sticky || kept & 1 == 1));
    match kept + u128::from(up) {
        0 => ZERO,
        rounded if rounded >> MANTISSA_BITS == 0 => (field as u16, rounded as u64),
        _ if field + 1 >= INFINITE => INFINITY,
        rounded => (field as u16 + 1, (rounded >> 1) as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn general(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        encode_general(text.as_bytes(), b'.', &mut out);
        out
    }

    #[test]
    fn numbers_ascend() {
        let ascending = [
            "x",
            "nan",
            "-inf",
            "-1e4932",
            "-1",
            "-1e-4950",
            "0",
            "3.6e-4951",
            "1e-4940",
            "0x.8",
            "1e0",
            "1.0000000000000000001",
            "1.0000000000000000002",
            "2",
            "0x1p100",
            "1.18973149535723176502e4932",
            "inf",
        ];
        for pair in ascending.windows(2) {
            assert!(general(pair[0]) < general(pair[1]), "{} < {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn equal_numbers_are_equal() {
        for (a, b) in [
            ("0", "-0"),
            ("1e1", "10"),
            ("0x10", "16"),
            ("1e", "1"),
            ("1e+", "+1"),
            ("0x", "0"),
            ("0xp1", "0"),
            (" \t\x0b1.5z", "1.50"),
            ("1e99999999999999999999", "inf"),
            ("infinity", "INF"),
            ("-nan(1)", "nan"),
            ("0.1", "0.1000000000000000000000000000000000001"),
            ("100000000000000000000000000000", "1e29"),
            ("1e-4970", "0"),
        ] {
            assert_eq!(general(a), general(b), "{a} = {b}");
        }
    }
}
