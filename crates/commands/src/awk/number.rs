//! Converts numbers from and to strings, as C's strtod and printf, with the decimal point of the [`rules`].

use super::rules;
use super::text::append;
use std::borrow::Cow;

/// mawk's largest integer: it prints larger ones as `%.6g`.
const INTEGER_MAX: f64 = 2_147_483_647.0;

/// Returns the number at the start of a string, 0 if none.
#[inline]
pub(super) fn prefix(text: &[u8]) -> f64 {
    if let Some(number) = plain(text) {
        return number;
    }
    // The usual case: a few digits.
    let mut value = 0u64;
    let mut at = 0;
    while at < text.len() && at < 15 {
        let digit = text[at].wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value * 10 + u64::from(digit);
        at += 1;
    }
    let goes_on = text.get(at).is_some_and(|byte| {
        matches!(byte, b'0'..=b'9' | b'e' | b'E' | b'x' | b'X') || *byte == rules::point()
    });
    if at > 0 && !goes_on {
        return value.cast_signed() as f64;
    }
    if rules::is_gawk() {
        scan_as_gawk(text).0
    } else if rules::is_one_true() {
        scan_as_one_true(text).0
    } else {
        scan(text).0
    }
}

/// Parses the usual case: digits, possibly with a point. Both operands of the division are exact, so there is
/// one rounding.
#[inline]
fn plain(text: &[u8]) -> Option<f64> {
    if text.len() > 16 {
        return None;
    }
    let (mut value, mut point) = (0u64, None);
    for (at, byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value * 10 + u64::from(digit);
        } else if point.is_none() && *byte == rules::point() {
            point = Some(at);
        } else {
            return None;
        }
    }
    let digits = text.len() - usize::from(point.is_some());
    match point {
        _ if !(1..=15).contains(&digits) => None,
        None => Some(value.cast_signed() as f64),
        // Where it is a comma, `5,` and `,5` are no numbers to all that reads them.
        Some(at) if (at == 0 || at == digits) && rules::point() != b'.' => None,
        Some(at) => Some(value.cast_signed() as f64 / TENS[text.len() - 1 - at]),
    }
}

/// Returns the number that a string from the input looks like: only the number and blanks around it. It must be neither
/// too large nor too small, and for mawk begin like a number and end with a digit or a point.
#[inline]
pub(super) fn looks_like(text: &[u8]) -> Option<f64> {
    if let Some(number) = plain(text) {
        return Some(number);
    }
    if rules::is_gawk() {
        let (number, looks_like_one) = scan_as_gawk(text);
        return looks_like_one.then_some(number);
    }
    if rules::is_one_true() {
        let (number, looks_like_one) = scan_as_one_true(text);
        return looks_like_one.then_some(number);
    }
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n');
    let start = text.iter().position(|byte| !is_blank(byte))?;
    let end = text.iter().rposition(|byte| !is_blank(byte))? + 1;
    let text = &text[start..end];
    let begins = matches!(text[0], b'0'..=b'9' | b'+' | b'-' | b'.');
    if !begins || !matches!(text[text.len() - 1], b'0'..=b'9' | b'.') {
        return None;
    }
    // To compare, mawk from 2025 on reads hexadecimal numbers after all, with the library, if they have a sign.
    let (number, length, out_of_range) = match text {
        [b'0', b'x' | b'X', ..] if rules::is_mawk_2025() => return None,
        [b'+' | b'-', b'0', b'x' | b'X', ..] => scan_as_library(text),
        _ => scan(text),
    };
    (length == text.len() && !out_of_range).then_some(number)
}

/// Parses as gawk does. Returns the number that the text begins with, and whether there are only blanks around it.
///
/// `+nan`, `-inf` and the like are numbers if nothing stands behind them; other names, and hexadecimal digits, never are.
fn scan_as_gawk(text: &[u8]) -> (f64, bool) {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let Some(start) = text.iter().position(|byte| !is_space(byte)) else { return (0.0, false) };
    let end = text.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    let text = &text[start..end];
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let signed = |number: f64| if negative { -number } else { number };
    match digits {
        [first, ..] if digits.len() == text.len() && first.is_ascii_alphabetic() => return (0.0, false),
        [b'0', b'x' | b'X', ..] => return (0.0, false),
        [a, b, c, rest @ ..] => {
            let number = match [a, b, c].map(u8::to_ascii_lowercase) {
                [b'i', b'n', b'f'] => Some(f64::INFINITY),
                [b'n', b'a', b'n'] => Some(f64::NAN),
                _ => None,
            };
            if let Some(number) = number {
                return if rest.is_empty() { (signed(number), true) } else { (0.0, false) };
            }
        }
        _ => {}
    }
    // Numbers beyond its range are numbers too.
    let (number, length, _) = decimal(digits);
    if length == 0 {
        return (0.0, false);
    }
    (signed(number), length == digits.len())
}

/// Parses as the one true awk does. Returns the number that the text begins with, and whether there are only blanks around
/// it.
///
/// `+nan`, `-inf` and the like are numbers if a blank or nothing stands behind them; hexadecimal digits are some behind a
/// sign. What is beyond the range of doubles is no number, not even at the beginning of a text.
fn scan_as_one_true(text: &[u8]) -> (f64, bool) {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let Some(start) = text.iter().position(|byte| !is_space(byte)) else { return (0.0, false) };
    let text = &text[start..];
    let (sign, digits) = match text {
        [sign @ (b'+' | b'-'), rest @ ..] => (Some(*sign), rest),
        rest => (None, rest),
    };
    let signed = |number: f64| if sign == Some(b'-') { -number } else { number };
    let is_hexadecimal = matches!(digits, [b'0', b'x' | b'X', ..]);
    let (number, length, out_of_range) = match digits {
        _ if is_hexadecimal && sign.is_none() => return (0.0, false),
        [b'0', _, after @ ..] if is_hexadecimal => match hexadecimal(after) {
            Some((number, length, out_of_range)) => (number, length + 2, out_of_range),
            None => (0.0, 1, false),
        },
        [b'0'..=b'9' | b'.', ..] => decimal(digits),
        _ if sign.is_some() && digits.get(3).is_none_or(is_space) => named(digits),
        _ => return (0.0, false),
    };
    if length == 0 || out_of_range {
        return (0.0, false);
    }
    (signed(number), digits[length..].iter().all(is_space))
}

/// Parses as mawk does. Returns the number, its length in bytes, and whether it is out of range.
fn scan(text: &[u8]) -> (f64, usize, bool) {
    if rules::is_mawk_2025() { scan_as_mawk_2025(text) } else { scan_as_library(text) }
}

/// Parses like strtod.
fn scan_as_library(text: &[u8]) -> (f64, usize, bool) {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let start = text.iter().position(|byte| !is_space(byte)).unwrap_or(text.len());
    let (is_negative, at) = sign(text, start);
    signed(is_negative, at, unsigned(&text[at..]))
}

/// Parses by mawk's own rules, from 2025 on: behind blanks, tabs and line ends, what begins with a digit or a point, as strtod
/// does; but 0 without its sign where `0x` is followed by a digit or by nothing.
fn scan_as_mawk_2025(text: &[u8]) -> (f64, usize, bool) {
    let start = text.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n')).unwrap_or(text.len());
    let (is_negative, at) = sign(text, start);
    match &text[at..] {
        [b'0'] => (0.0, at + 1, false),
        [b'0', b'x' | b'X', rest @ ..] if rest.first().is_none_or(u8::is_ascii_hexdigit) => {
            (0.0, at + 1, false)
        }
        rest @ [b'0'..=b'9' | b'.', ..] => signed(is_negative, at, unsigned(rest)),
        _ => (0.0, 0, false),
    }
}

/// Parses like strtod, without a sign.
fn unsigned(text: &[u8]) -> (f64, usize, bool) {
    match text {
        [b'0', b'x' | b'X', after @ ..] => match hexadecimal(after) {
            Some((number, length, out_of_range)) => (number, length + 2, out_of_range),
            None => (0.0, 1, false),
        },
        [b'i' | b'I' | b'n' | b'N', ..] => named(text),
        _ => decimal(text),
    }
}

/// Gives a number behind a sign that ends at `at` that sign, and the length with what is before it.
fn signed(is_negative: bool, at: usize, read: (f64, usize, bool)) -> (f64, usize, bool) {
    match read {
        (_, 0, _) => (0.0, 0, false),
        (number, length, out_of_range) => {
            (if is_negative { -number } else { number }, at + length, out_of_range)
        }
    }
}

/// Returns whether the byte at `at` is a minus sign, and the index behind a sign that is there.
fn sign(text: &[u8], at: usize) -> (bool, usize) {
    let sign = text.get(at).filter(|byte| matches!(byte, b'+' | b'-'));
    (sign == Some(&b'-'), at + usize::from(sign.is_some()))
}

fn named(text: &[u8]) -> (f64, usize, bool) {
    let begins = |name: &[u8]| text.len() >= name.len() && text[..name.len()].eq_ignore_ascii_case(name);
    if begins(b"infinity") {
        (f64::INFINITY, 8, false)
    } else if begins(b"inf") {
        (f64::INFINITY, 3, false)
    } else if begins(b"nan") {
        (f64::NAN, 3, false)
    } else {
        (0.0, 0, false)
    }
}

/// Exact powers of ten.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

fn decimal(text: &[u8]) -> (f64, usize, bool) {
    let (mut mantissa, mut digits, mut fraction) = (0u64, 0, 0usize);
    let mut at = 0;
    let mut seen = false;
    let mut point = false;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'0'..=b'9' => {
                seen = true;
                if digits > 0 || byte != b'0' {
                    digits += 1;
                }
                if digits <= 15 {
                    mantissa = mantissa * 10 + u64::from(byte - b'0');
                }
                fraction += usize::from(point);
            }
            _ if !point && byte == rules::point() => point = true,
            _ => break,
        }
        at += 1;
    }
    if !seen {
        return (0.0, 0, false);
    }
    let mut exponent = 0i32;
    if let Some(b'e' | b'E') = text.get(at) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let figures = text[at + 1 + sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if figures > 0 {
            let read =
                |value: i32, digit: &u8| value.saturating_mul(10).saturating_add(i32::from(digit - b'0'));
            exponent = text[at + 1 + sign..][..figures].iter().fold(0, read);
            if text[at + 1] == b'-' {
                exponent = -exponent;
            }
            at += 1 + sign + figures;
        }
    }
    let scale = i64::from(exponent) - fraction as i64;
    let number = if digits <= 15 && (-22..=22).contains(&scale) {
        // Both are exact, so there is one rounding.
        if scale < 0 {
            mantissa as f64 / TENS[-scale as usize]
        } else {
            mantissa as f64 * TENS[scale as usize]
        }
    } else {
        let text =
            text[..at].iter().map(|byte| char::from(if *byte == rules::point() { b'.' } else { *byte }));
        text.collect::<String>().parse().unwrap_or(0.0)
    };
    let tiny = digits > 0 && number < f64::MIN_POSITIVE;
    (number, at, number.is_infinite() || tiny)
}

/// Parses after `0x`: digits, a point, a binary exponent.
fn hexadecimal(text: &[u8]) -> Option<(f64, usize, bool)> {
    let (mut mantissa, mut exponent) = (0u64, 0i64);
    let (mut at, mut seen, mut point) = (0, false, false);
    while let Some(&byte) = text.get(at) {
        match char::from(byte).to_digit(16) {
            Some(digit) => {
                seen = true;
                if mantissa >> 60 == 0 {
                    mantissa = mantissa << 4 | u64::from(digit);
                    exponent -= if point { 4 } else { 0 };
                } else {
                    // A truncated digit still decides a tie.
                    mantissa |= u64::from(digit != 0);
                    exponent += if point { 0 } else { 4 };
                }
            }
            None if !point && byte == rules::point() => point = true,
            None => break,
        }
        at += 1;
    }
    if !seen {
        return None;
    }
    if let Some(b'p' | b'P') = text.get(at) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let figures = text[at + 1 + sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if figures > 0 {
            let read = |value: i64, digit: &u8| (value * 10 + i64::from(digit - b'0')).min(1 << 40);
            let value = text[at + 1 + sign..][..figures].iter().fold(0, read);
            exponent += if text[at + 1] == b'-' { -value } else { value };
            at += 1 + sign + figures;
        }
    }
    let exponent = exponent.clamp(-3000, 3000) as i32;
    // Two steps, so that neither power is out of range.
    let number = mantissa as f64 * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
    let tiny = mantissa > 0 && number < f64::MIN_POSITIVE;
    Some((number, at, number.is_infinite() || tiny))
}

/// Converts to an integer as mawk does: clamped to its range, or, from 2025 on, to the lower half of one of 64 bits. The one
/// true awk leaves it to the processor.
#[inline]
pub(super) fn to_integer(number: f64) -> i32 {
    if number.abs() < INTEGER_MAX { number as i32 } else { large_to_integer(number) }
}

#[cold]
fn large_to_integer(number: f64) -> i32 {
    if rules::is_one_true() {
        integer_like_c(number)
    } else if rules::is_mawk_2025() {
        (number as i64).max(-i64::MAX) as i32
    } else if number >= INTEGER_MAX {
        i32::MAX
    } else {
        -i32::MAX
    }
}

/// Converts as C does on this machine. On x86-64: to the least integer, if there is none. On ARM: to the nearest one.
fn integer_like_c(number: f64) -> i32 {
    let whole = number.trunc();
    let fits = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&whole);
    if fits || cfg!(target_arch = "aarch64") { number as i32 } else { i32::MIN }
}

/// Converts to a status: in gawk the lower half of an integer of 64 bits, 0 beyond them.
pub(super) fn to_status(number: f64) -> i32 {
    match () {
        () if !rules::is_gawk() => to_integer(number),
        () if number.abs() < TWO_TO_63 => number as i64 as i32,
        () => 0,
    }
}

/// Converts to the position of a character. In gawk the first number beyond 64 bits is the first position.
pub(super) fn to_position(number: f64) -> i32 {
    if number == TWO_TO_64 && rules::is_gawk() { 1 } else { to_integer(number) }
}

/// Appends a number as `print` does.
#[inline]
pub(super) fn write(number: f64, out: &mut Vec<u8>) {
    let integer = to_integer(number);
    if f64::from(integer) == number {
        write_integer(integer.into(), out);
    } else if is_written_large(number) {
        write_large(number, out);
    } else if rules::is_one_true() && number.trunc() == number {
        general(number, 30, &Style::default(), out);
    } else if rules::is_mawk_2025() && number.trunc() == number && is_whole_in_mawk(number) {
        out.extend_from_slice(format!("{number:.0}").as_bytes());
    } else {
        general(number, 6, &Style::default(), out);
    }
}

/// Whether it is written by [`write_large`] outside of formats: by gawk an integer, by the one true awk none, but what is no
/// finite number.
fn is_written_large(number: f64) -> bool {
    match () {
        () if rules::is_gawk() => number.trunc() == number || number.is_nan(),
        () => rules::is_one_true() && !number.is_finite(),
    }
}

/// 2^63, the first number beyond signed integers.
pub(super) const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
/// 2^64, the first number beyond unsigned integers.
pub(super) const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

/// Whether mawk from 2025 on converts an integer to a string with all its digits: up to 2^63, and 2^64.
fn is_whole_in_mawk(number: f64) -> bool {
    number.abs() <= TWO_TO_63 || number.abs() == TWO_TO_64
}

/// Appends a number as mawk from 2025 on prints it where it is no string yet: integers between 2^63 and 2^64 with all
/// their digits, and infinity and NaN with a sign.
pub(super) fn write_printed(number: f64, out: &mut Vec<u8>) {
    if number.is_finite() && !(number > TWO_TO_63 && number < TWO_TO_64) {
        write(number, out);
    } else {
        write_large(number, out);
    }
}

/// Appends an integer of any size with all its digits, and what is no finite number with its sign, as gawk does.
pub(super) fn write_large(number: f64, out: &mut Vec<u8>) {
    if !number.is_finite() && number.is_sign_positive() {
        out.push(b'+');
    }
    if !special(number, &Style::default(), out) {
        out.extend_from_slice(format!("{number:.0}").as_bytes());
    }
}

/// Returns a number as `print` writes it.
pub(super) fn written(number: f64) -> Vec<u8> {
    let mut text = Vec::new();
    write(number, &mut text);
    text
}

/// Returns a number as it is compared with strings: gawk compares the empty string in the place of what is no finite number.
pub(super) fn written_to_compare(number: f64) -> Vec<u8> {
    if rules::is_gawk() && !number.is_finite() { Vec::new() } else { written(number) }
}

/// The strings 00 to 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
};

/// Appends an integer.
#[inline]
pub(super) fn write_integer(number: i64, out: &mut Vec<u8>) {
    if let 0..10 = number {
        return out.push(b'0' + number as u8);
    }
    write_digits(number, out);
}

/// Appends two digits at a time.
fn write_digits(number: i64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    while rest >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    if rest > 0 || number == 0 {
        at -= 1;
        digits[at] = b'0' + rest as u8;
    }
    if number < 0 {
        out.push(b'-');
    }
    append(&digits[at..], out);
}

/// The format of a number, without its width.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Style {
    /// `#`.
    pub(super) alternative: bool,
    pub(super) uppercase: bool,
}

/// Formats infinity and NaN.
fn special(number: f64, style: &Style, out: &mut Vec<u8>) -> bool {
    if number.is_finite() {
        return false;
    }
    if number.is_sign_negative() {
        out.push(b'-');
    }
    out.extend_from_slice(match (number.is_nan(), style.uppercase) {
        (true, false) => b"nan",
        (true, true) => b"NAN",
        (false, false) => b"inf",
        (false, true) => b"INF",
    });
    true
}

/// No number has more digits that are not 0 behind its point.
const FRACTION_DIGITS_MAX: usize = 1100;

/// Formats `%f`.
pub(super) fn fixed(number: f64, precision: usize, style: &Style, out: &mut Vec<u8>) {
    if special(number, style, out) {
        return;
    }
    let start = out.len();
    if !fixed_by_integers(number, precision, out) {
        let digits = precision.min(FRACTION_DIGITS_MAX);
        out.extend_from_slice(format!("{number:.digits$}").as_bytes());
        out.resize(out.len() + precision - digits, b'0');
    }
    if precision == 0 && style.alternative {
        out.push(b'.');
    }
    set_point(start, out);
}

/// Puts the decimal point of the rules in the place of the one behind `start`.
fn set_point(start: usize, out: &mut [u8]) {
    let point = rules::point();
    if point != b'.'
        && let Some(written) = out[start..].iter_mut().find(|byte| **byte == b'.')
    {
        *written = point;
    }
}

/// Formats `%f` for numbers that are not too large, exactly: as an integer with `precision` fractional
/// digits, rounded to nearest, ties to even.
fn fixed_by_integers(number: f64, precision: usize, out: &mut Vec<u8>) -> bool {
    if precision > SHORT || number.abs() >= 1e9 {
        return false;
    }
    let (mantissa, shift) = mantissa_and_shift(number);
    let figures = match shift {
        ..=100 => Scaled::new(mantissa, shift, precision as i32).rounded(),
        // Less than a quarter.
        _ => 0,
    };
    if number.is_sign_negative() {
        out.push(b'-');
    }
    let ten = POWERS[precision];
    write_integer((figures / ten) as i64, out);
    if precision > 0 {
        out.push(b'.');
        let start = out.len();
        out.resize(start + precision, b'0');
        fill(&mut out[start..], figures % ten);
    }
    true
}

/// Returns the parts of the absolute value of a number, which is `mantissa / 2^shift`.
fn mantissa_and_shift(number: f64) -> (u64, i32) {
    let bits = number.abs().to_bits();
    let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    if exponent == 0 { (fraction, 1074) } else { (fraction | 1 << 52, 1075 - exponent) }
}

/// Writes a number over all of these bytes, with zeros before it.
fn fill(digits: &mut [u8], mut number: u64) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Up to so many digits are rounded by integers.
const SHORT: usize = 9;

/// Rounds the absolute value of a finite number to so many significant digits, exactly, ties to even. Returns them as
/// figures, and the exponent of the first one.
fn significant_digits(number: f64, count: usize, space: &mut [u8; SHORT]) -> (Cow<'_, [u8]>, i32) {
    if let Some((figures, exponent)) = rounded_by_integers(number, count) {
        fill(&mut space[..count], figures);
        return (Cow::Borrowed(&space[..count]), exponent);
    }
    let digits = count.min(FRACTION_DIGITS_MAX) - 1;
    let text = format!("{:.digits$e}", number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut figures: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    figures.resize(count, b'0');
    (Cow::Owned(figures), exponent.parse().unwrap_or(0))
}

/// Does [`significant_digits`] for few digits of a number from 1e-13 to 1e15 and for 0: as an integer of `count` figures.
fn rounded_by_integers(number: f64, count: usize) -> Option<(u64, i32)> {
    let number = number.abs();
    if number == 0.0 && count <= SHORT {
        return Some((0, 0));
    }
    if count > SHORT || !(1e-13..1e15).contains(&number) {
        return None;
    }
    let (mantissa, shift) = mantissa_and_shift(number);
    // The exponent of ten is that of the power of two below it, or one more: 1233 / 4096 is log10(2), nearly.
    let mut exponent = ((52 - shift) * 1233) >> 12;
    let limit = POWERS[count];
    loop {
        let scaled = Scaled::new(mantissa, shift, count as i32 - 1 - exponent);
        if scaled.whole >= limit {
            exponent += 1;
            continue;
        }
        let rounded = scaled.rounded();
        return Some(if rounded == limit { (limit / 10, exponent + 1) } else { (rounded, exponent) });
    }
}

const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// `mantissa / 2^shift * 10^tens`.
struct Scaled {
    whole: u64,
    /// The remainder, as a multiple of `1 / (2 * half)`.
    rest: u128,
    half: u128,
}

impl Scaled {
    /// Takes a shift from 3 to 100, and tens up to 22, or such that the number is 10 or more if they are negative.
    fn new(mantissa: u64, shift: i32, tens: i32) -> Self {
        if tens < 0 {
            let by = POWERS[-tens as usize];
            let (whole, below) = (mantissa >> shift, mantissa & ((1 << shift) - 1));
            // Twice the rest, and one more for what is below it: only its order relative to the half counts.
            let rest = u128::from(whole % by * 2 + u64::from(below > 0));
            return Scaled { whole: whole / by, rest, half: u128::from(by) };
        }
        // Less than 2^53 * 10^22, which is less than 2^127.
        let product = match POWERS.get(tens as usize) {
            Some(power) => u128::from(mantissa) * u128::from(*power),
            None => u128::from(mantissa) * 10u128.pow(tens as u32),
        };
        Scaled {
            whole: (product >> shift) as u64,
            rest: product & ((1 << shift) - 1),
            half: 1 << (shift - 1),
        }
    }

    /// Rounds to nearest, ties to even.
    fn rounded(&self) -> u64 {
        let is_up = self.rest > self.half || self.rest == self.half && self.whole % 2 == 1;
        self.whole + u64::from(is_up)
    }
}

/// Formats `%e`.
pub(super) fn scientific(number: f64, precision: usize, style: &Style, out: &mut Vec<u8>) {
    if special(number, style, out) {
        return;
    }
    let mut space = [0; SHORT];
    let (figures, exponent) = significant_digits(number, precision + 1, &mut space);
    let start = out.len();
    write_mantissa(number, &figures, style, out);
    set_point(start, out);
    write_exponent(exponent, style, out);
}

/// Writes one digit, and the others behind a point.
fn write_mantissa(number: f64, figures: &[u8], style: &Style, out: &mut Vec<u8>) {
    if number.is_sign_negative() {
        out.push(b'-');
    }
    out.push(figures[0]);
    if figures.len() > 1 || style.alternative {
        out.push(b'.');
    }
    out.extend_from_slice(&figures[1..]);
}

fn write_exponent(exponent: i32, style: &Style, out: &mut Vec<u8>) {
    out.push(if style.uppercase { b'E' } else { b'e' });
    out.push(if exponent < 0 { b'-' } else { b'+' });
    if exponent.abs() < 10 {
        out.push(b'0');
    }
    write_integer(exponent.abs().into(), out);
}

/// Formats `%g`.
pub(super) fn general(number: f64, precision: usize, style: &Style, out: &mut Vec<u8>) {
    if special(number, style, out) {
        return;
    }
    let precision = precision.max(1);
    let mut space = [0; SHORT];
    let (figures, exponent) = significant_digits(number, precision, &mut space);
    // A fraction ends without zeros, unless they are requested.
    let ending_zeros =
        figures[1..].iter().rev().take_while(|figure| **figure == b'0' && !style.alternative).count();
    let figures = &figures[..precision - ending_zeros];
    let start = out.len();
    if exponent < -4 || exponent >= precision as i32 {
        write_mantissa(number, figures, style, out);
        set_point(start, out);
        return write_exponent(exponent, style, out);
    }
    if number.is_sign_negative() {
        out.push(b'-');
    }
    if exponent < 0 {
        out.extend_from_slice(&b"0.000"[..(1 - exponent) as usize]);
        out.extend_from_slice(figures);
    } else {
        let (whole, fraction) = figures.split_at(figures.len().min(exponent as usize + 1));
        out.extend_from_slice(whole);
        out.resize(out.len() + exponent as usize + 1 - whole.len(), b'0');
        if !fraction.is_empty() || style.alternative {
            out.push(b'.');
        }
        out.extend_from_slice(fraction);
    }
    set_point(start, out);
}

#[cfg(test)]
mod tests {
    use pelton_testkit::Random;

    use super::*;

    fn shown(number: f64) -> String {
        let mut out = Vec::new();
        write(number, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_printed_as_whole_ones_or_with_six_digits() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (2_147_483_647.0, "2147483647"),
            (2_147_483_648.0, "2.14748e+09"),
            (1.0 / 3.0, "0.333333"),
            (100.5, "100.5"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (1234567.5, "1.23457e+06"),
            (999999.5, "1e+06"),
            (f64::INFINITY, "inf"),
            (-f64::NAN, "-nan"),
        ] {
            assert_eq!(shown(number), text);
        }
    }

    #[test]
    fn whole_numbers_are_written_as_the_library_has_them() {
        let mut numbers: Vec<i64> = (-1100..1100).chain([i64::MIN, i64::MAX]).collect();
        numbers.extend((0..63).flat_map(|bit| [1 << bit, -(1 << bit), (1 << bit) - 1]));
        numbers.extend((1..19).flat_map(|tens| [10i64.pow(tens), 10i64.pow(tens) - 1, 9 - 10i64.pow(tens)]));
        for number in numbers {
            let mut out = Vec::new();
            write_integer(number, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), number.to_string());
        }
    }

    #[test]
    fn fixed_digits_by_integers_are_those_of_the_library() {
        let mut random = Random::new(1);
        for round in 0..200_000u64 {
            let state = random.next();
            let number = match round % 4 {
                // Many of these are ties.
                0 => (state >> 40) as f64 / 16.0 - 1000.0,
                1 => (state >> 34) as f64 / 100.0,
                2 => f64::from_bits(state),
                _ => -((state >> 50) as f64) * 1e-5,
            };
            for precision in [0, 1, 2, 3, 9] {
                let mut out = Vec::new();
                if number.is_finite() && fixed_by_integers(number, precision, &mut out) {
                    assert_eq!(String::from_utf8_lossy(&out), format!("{number:.precision$}"));
                }
            }
        }
    }

    /// The library's own rounding by way of its decimal text is the oracle.
    #[test]
    fn significant_digits_by_integers_are_those_of_the_library() {
        let mut random = Random::new(2);
        let mut served = 0;
        for round in 0..400_000u64 {
            let state = random.next();
            let number = match round % 8 {
                // Many of these are ties, or just beside a power of ten.
                0 => (state >> 40) as f64 / 16.0,
                1 => 10f64.powi((state % 31) as i32 - 15),
                2 => f64::from_bits(10f64.powi((state % 31) as i32 - 15).to_bits() - 1 + state % 3),
                3 => (state >> 34) as f64 / 100.0,
                4 => f64::from_bits(state),
                5 => (state >> 44) as f64 * 5.0 * 10f64.powi((state % 9) as i32),
                6 => -((state >> 50) as f64) * 1e-5,
                _ => (state >> 11) as f64 * 2f64.powi((state % 110) as i32 - 100),
            };
            if !number.is_finite() {
                continue;
            }
            for count in [1, 2, 6, 9] {
                let digits = count - 1;
                let Some((figures, exponent)) = rounded_by_integers(number, count) else { continue };
                served += 1;
                let text = format!("{figures:0count$}e{exponent}");
                assert_eq!(text, format!("{:.digits$e}", number.abs()).replace('.', ""), "{number:e}");
            }
        }
        assert!(served > 1_000_000, "{served}");
    }

    #[test]
    fn strings_begin_with_numbers() {
        for (text, number) in [
            (&b"12"[..], 12.0),
            (b" \t+12.5e1x", 125.0),
            (b"0x1A", 26.0),
            (b"0x1.8p1", 3.0),
            (b"0x", 0.0),
            (b".5", 0.5),
            (b".", 0.0),
            (b"-", 0.0),
            (b"1e", 1.0),
            (b"infinite", f64::INFINITY),
            (b"123456789012345678", 123_456_789_012_345_680.0),
            (b"0.1", 0.1),
            (b"179769313486231570000e288", f64::MAX),
            (b"", 0.0),
        ] {
            assert_eq!(prefix(text), number, "{}", text.escape_ascii());
        }
        assert!(prefix(b"nano").is_nan());
    }

    #[test]
    fn numbers_have_the_decimal_comma_of_the_rules() {
        for (variant, comma_first) in [(rules::Variant::Mawk, 0.5), (rules::Variant::Mawk2025, 0.0)] {
            rules::follow(rules::Rules { point: b',', ..rules::Rules::in_c(variant) });
            for (text, number) in [
                (&b"1,5"[..], 1.5),
                (b"1.5", 1.0),
                (b"5,", 5.0),
                (b"1234567890,12345678", 1_234_567_890.123_456_8),
                (b"1,5e-1,5", 0.15),
                (b",5", comma_first),
                (b"+,5", comma_first),
            ] {
                assert_eq!(prefix(text), number, "{}", text.escape_ascii());
            }
            assert_eq!(looks_like(b"0x,8").is_some(), variant == rules::Variant::Mawk);
            assert_eq!(looks_like(b"+0x,8"), Some(0.5));
            assert_eq!(
                [&b"1,5"[..], b"1,5e1", b"1.5", b",5", b"5,"].map(looks_like).map(|n| n.is_some()),
                [true, true, false, false, false]
            );
            assert_eq!([1.5, 1e-7, -0.25, 12345.678].map(shown), ["1,5", "1e-07", "-0,25", "12345,7"]);
            let mut out = b"1.".to_vec();
            scientific(2.5, 3, &Style::default(), &mut out);
            fixed(1e10 / 3.0, 2, &Style::default(), &mut out);
            assert_eq!(out, b"1.2,500e+003333333333,33");
        }
        rules::follow(rules::Rules::in_c(rules::Variant::Mawk));
    }

    #[test]
    fn what_looks_like_a_number_is_one_to_its_end() {
        for text in [&b"1"[..], b" 1 ", b"+1.", b"-.5", b"1e3", b"0x10"] {
            assert!(looks_like(text).is_some(), "{}", text.escape_ascii());
        }
        for text in
            [&b""[..], b" ", b"1x", b"x1", b"+", b".", b"nan", b"inf", b"0x1A", b"1e999", b"1 2", b"1e-999"]
        {
            assert!(looks_like(text).is_none(), "{}", text.escape_ascii());
        }
    }
}
