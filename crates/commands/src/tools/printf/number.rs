//! Integers, as C's printf formats them.

use super::{Spec, pad};
use crate::{Accept, Declined};

/// Parses plain decimal or hexadecimal digits with an optional sign, few enough to be exact.
pub(super) fn parse(text: &[u8]) -> Accept<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let number = |digits: &[u8], base| {
        let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_alphanumeric);
        let digits = std::str::from_utf8(digits).ok().filter(|digits| plain && digits.len() <= 15)?;
        i64::from_str_radix(digits, base).ok()
    };
    let found = match digits {
        [b'0', b'x' | b'X', digits @ ..] => number(digits, 16),
        // A leading zero means octal.
        [b'0', _, ..] => None,
        digits => number(digits, 10),
    };
    match found {
        Some(number) => Ok(if negative { -number } else { number }),
        None => Declined::because("a number that is not plain"),
    }
}

/// Formats the number by the conversion letter.
pub(super) fn put(number: i64, letter: u8, spec: Spec, out: &mut Vec<u8>) {
    let signed = matches!(letter, b'd' | b'i');
    let mut digits = match letter {
        b'd' | b'i' => number.unsigned_abs().to_string(),
        b'x' => format!("{number:x}"),
        b'X' => format!("{number:X}"),
        b'o' => format!("{number:o}"),
        _ => (number as u64).to_string(),
    };
    if number == 0 && spec.precision == Some(0) {
        digits.clear();
    }
    let zeros = spec.precision.unwrap_or(0).saturating_sub(digits.len());
    digits.insert_str(0, &"0".repeat(zeros));
    if spec.alternate && letter == b'o' && !digits.starts_with('0') {
        digits.insert(0, '0');
    }
    let prefix = match letter {
        b'x' if spec.alternate && number != 0 => "0x",
        b'X' if spec.alternate && number != 0 => "0X",
        _ if signed && number < 0 => "-",
        _ if signed && spec.plus => "+",
        _ if signed && spec.space => " ",
        _ => "",
    };
    if spec.zeros && !spec.left && spec.precision.is_none() {
        let zeros = spec.width.saturating_sub(prefix.len() + digits.len());
        digits.insert_str(0, &"0".repeat(zeros));
    }
    pad(format!("{prefix}{digits}").as_bytes(), spec, out);
}
