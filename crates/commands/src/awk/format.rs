//! `printf` and `sprintf`: constant formats, parsed once.

use std::ops::Range;

use crate::{Accept, Declined};

use super::characters;
use super::number::{self, Style, TWO_TO_63, TWO_TO_64};
use super::rules;
use super::text::append_part;
use super::value::Value;

/// A piece of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Literal text.
    Text(Vec<u8>),
    Conversion(Conversion),
}

impl Piece {
    /// Whether it is `%c`, which tells numbers from strings.
    pub(super) fn is_character(&self) -> bool {
        matches!(self, Piece::Conversion(conversion) if conversion.what == b'c')
    }
}

/// A conversion such as `%-5.2f`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    pub(super) alternative: bool,
    zero: bool,
    pub(super) width: Size,
    pub(super) precision: Size,
    pub(super) what: u8,
}

/// A width or precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Default,
    Fixed(usize),
    /// `*`: an argument.
    Argument,
}

/// Larger widths and precisions are declined: mawk's buffer is limited.
const SIZE_MAX: usize = 200;

/// Parses a format.
pub(super) fn parse(format: &[u8]) -> Accept<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut at = 0;
    while let Some(&byte) = format.get(at) {
        at += 1;
        if byte != b'%' {
            text.push(byte);
            continue;
        }
        if format.get(at) == Some(&b'%') {
            text.push(b'%');
            at += 1;
            continue;
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        let (conversion, end) = conversion(format, at)?;
        at = end;
        pieces.push(Piece::Conversion(conversion));
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// Returns the number of its arguments.
pub(super) fn arguments(pieces: &[Piece]) -> usize {
    let of = |piece: &Piece| match piece {
        Piece::Text(_) => 0,
        Piece::Conversion(conversion) => {
            1 + usize::from(conversion.width == Size::Argument)
                + usize::from(conversion.precision == Size::Argument)
        }
    };
    pieces.iter().map(of).sum()
}

/// Parses the conversion after a percent sign. Also returns its end.
fn conversion(format: &[u8], mut at: usize) -> Accept<(Conversion, usize)> {
    let mut conversion = Conversion {
        left: false,
        plus: false,
        space: false,
        alternative: false,
        zero: false,
        width: Size::Default,
        precision: Size::Default,
        what: 0,
    };
    while let Some(&flag) = format.get(at) {
        match flag {
            b'-' => conversion.left = true,
            b'+' => conversion.plus = true,
            b' ' => conversion.space = true,
            b'#' => conversion.alternative = true,
            b'0' => conversion.zero = true,
            _ => break,
        }
        at += 1;
    }
    (conversion.width, at) = size(format, at)?;
    if format.get(at) == Some(&b'.') {
        (conversion.precision, at) = size(format, at + 1)?;
        if conversion.precision == Size::Default {
            conversion.precision = Size::Fixed(0);
        }
    }
    conversion.what = match format.get(at) {
        Some(
            what @ (b'd' | b'i' | b'o' | b'x' | b'X' | b'u' | b'c' | b's' | b'e' | b'E' | b'f' | b'g' | b'G'),
        ) => *what,
        Some(other) => return Declined::because(format!("printf with %{}", other.escape_ascii())),
        None => return Declined::because("a format that ends in %"),
    };
    if conversion.what == b's' && format[..at].ends_with(b".") {
        return Declined::because(
            "printf %s with a precision without digits, which each awk reads in its own way",
        );
    }
    let unusual = conversion.zero || conversion.plus || conversion.space || conversion.alternative;
    if matches!(conversion.what, b's' | b'c') && unusual {
        return Declined::because("printf of a string with a flag for numbers");
    }
    if conversion.what == b'c' && conversion.precision != Size::Default {
        return Declined::because("printf %c with a precision");
    }
    Ok((conversion, at + 1))
}

fn size(format: &[u8], at: usize) -> Accept<(Size, usize)> {
    if format.get(at) == Some(&b'*') {
        return Ok((Size::Argument, at + 1));
    }
    let digits = format[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return Ok((Size::Default, at));
    }
    let value = std::str::from_utf8(&format[at..at + digits]).ok().and_then(|text| text.parse().ok());
    match value {
        Some(value) if value <= SIZE_MAX => Ok((Size::Fixed(value), at + digits)),
        _ => Declined::because("printf with a very large width"),
    }
}

impl Conversion {
    /// Sets the width from an argument: a negative width means left-aligned.
    pub(super) fn set_width(&mut self, width: i32) {
        self.left |= width < 0;
        self.width = Size::Fixed(width.unsigned_abs() as usize);
    }

    /// Sets the precision from an argument: a negative precision is ignored.
    pub(super) fn set_precision(&mut self, precision: i32) {
        self.precision = usize::try_from(precision).map_or(Size::Default, Size::Fixed);
    }

    /// Appends a string.
    pub(super) fn write_text(&self, text: &[u8], out: &mut Vec<u8>) {
        let text = match self.precision {
            Size::Fixed(most) => &text[..text.len().min(most)],
            _ => text,
        };
        self.pad(text, text.len(), out);
    }

    /// Appends what `%c` makes of a value.
    pub(super) fn write_character(&self, value: &Value, out: &mut Vec<u8>) {
        if rules::is_one_true() {
            return self.write_character_of_one_true(value, out);
        }
        if let Value::Number(number) = value
            && !number.is_finite()
            && rules::is_mawk_2025()
        {
            return number::write_large(*number, out);
        }
        if !rules::has_characters() {
            return self.write_text(&[character(value)], out);
        }
        match number_of(value) {
            // The width is one of bytes.
            Some(number) => {
                let made = characters::of_number(unsigned_like_c(number));
                self.pad(&made, made.len(), out);
            }
            None => self.pad(characters::first(value.bytes().unwrap_or_default()), 1, out),
        }
    }

    /// Appends what `%c` of the one true awk makes of a value: of 0 a NUL without a width, of an empty string what stands
    /// before the NUL.
    fn write_character_of_one_true(&self, value: &Value, out: &mut Vec<u8>) {
        let number = match value {
            Value::Unset => Some(0.0),
            value => number_of(value),
        };
        match (number.map(number::to_integer), character(value)) {
            (Some(0), _) => out.push(0),
            (_, 0) if self.left => {}
            (_, 0) => out.resize(out.len() + self.fill(1), b' '),
            (_, byte) => self.write_text(&[byte], out),
        }
    }

    /// Appends a text, and blanks as if it had this length.
    fn pad(&self, text: &[u8], length: usize, out: &mut Vec<u8>) {
        let fill = self.fill(length);
        if !self.left {
            out.resize(out.len() + fill, b' ');
        }
        out.extend_from_slice(text);
        if self.left {
            out.resize(out.len() + fill, b' ');
        }
    }

    fn fill(&self, length: usize) -> usize {
        match self.width {
            Size::Fixed(width) => width.saturating_sub(length),
            _ => 0,
        }
    }

    /// Whether it has neither width, precision nor the flag `-`.
    pub(super) fn is_plain(&self) -> bool {
        self.is_bare() && !self.left
    }

    /// Whether it appends strings unchanged.
    pub(super) fn is_bare(&self) -> bool {
        self.width == Size::Default && self.precision == Size::Default
    }

    /// Truncates and pads the text from `start` on.
    pub(super) fn finish_text(&self, start: usize, out: &mut Vec<u8>) {
        // It stops at a NUL.
        let is_plain = |byte: &u8| byte.is_ascii() && *byte != 0;
        if rules::has_characters() && !out[start..].iter().all(is_plain) {
            let text = out.split_off(start);
            let most = if let Size::Fixed(most) = self.precision { most } else { usize::MAX };
            let (length, bytes) = characters::formatted(&text, most);
            return self.pad(&text[..bytes], length, out);
        }
        if let Size::Fixed(most) = self.precision {
            out.truncate(start + most.min(out.len() - start));
        }
        self.fill_up(start, out);
    }

    fn fill_up(&self, start: usize, out: &mut Vec<u8>) {
        let length = out.len() - start;
        let fill = self.fill(length);
        out.resize(out.len() + fill, b' ');
        if !self.left && fill > 0 {
            out.copy_within(start..start + length, start + fill);
            out[start..start + fill].fill(b' ');
        }
    }

    /// Formats a number with default flags.
    fn write_plainly(&self, number: f64, out: &mut Vec<u8>) -> bool {
        if self.plus || self.space || self.alternative || self.zero {
            return false;
        }
        let start = out.len();
        match (self.what, self.precision) {
            (b'd' | b'i', Size::Default) => match number::to_integer(number) {
                _ if !rules::is_mawk_2020() && (number.is_nan() || number.abs() >= f64::from(i32::MAX)) => {
                    return false;
                }
                integer => number::write_integer(integer.into(), out),
            },
            _ if !number.is_finite() && !rules::is_mawk_2020() => return false,
            (b'f', Size::Default) => number::fixed(number, 6, &Style::default(), out),
            (b'f', Size::Fixed(precision)) => number::fixed(number, precision, &Style::default(), out),
            _ => return false,
        }
        self.fill_up(start, out);
        true
    }

    /// Appends a part of the input.
    pub(super) fn write_input(&self, text: &[u8], part: Range<usize>, out: &mut Vec<u8>) {
        let start = out.len();
        if self.what == b's' {
            append_part(text, part, out);
            return self.finish_text(start, out);
        }
        match self.as_written(&text[part.clone()]) {
            Some((length, zeros)) => {
                append_part(text, part.start..part.start + length, out);
                out.extend(zeros.iter().copied());
                self.fill_up(start, out);
            }
            None => match number::prefix(&text[part]) {
                number if !number.is_finite() && rules::is_mawk_2025() => {
                    self.write_infinite_text(number, out)
                }
                number => self.write_number(number, out),
            },
        }
    }

    /// Returns how much of a text is already in the format, and the suffix to add: with at most 15 digits,
    /// all of them are those of the number.
    fn as_written(&self, text: &[u8]) -> Option<(usize, &'static [u8])> {
        const ZEROS: &[u8] = b".00000000000000";
        if text.len() > 16 || self.plus || self.space || self.alternative || self.zero {
            return None;
        }
        let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = digits(text);
        let fraction = match text.get(whole) {
            Some(b'.') => digits(&text[whole + 1..]),
            _ => 0,
        };
        let ends = text.len() == whole + usize::from(fraction > 0) + fraction;
        if !ends || whole == 0 || whole > 1 && text[0] == b'0' || whole + fraction > 15 {
            return None;
        }
        match (self.what, self.precision) {
            (b'd' | b'i', Size::Default) => (whole < 10).then_some((whole, b"")),
            (b'f', Size::Default | Size::Fixed(1..)) if rules::point() == b'.' => {
                let precision = if let Size::Fixed(precision) = self.precision { precision } else { 6 };
                let fits = fraction <= precision && whole + precision <= 15;
                // The point comes with the zeros if it is missing.
                let zeros = if fraction == 0 { 0..precision + 1 } else { fraction + 1..precision + 1 };
                fits.then(|| (text.len(), &ZEROS[zeros]))
            }
            _ => None,
        }
    }

    /// Appends a number. mawk cuts integers to 32 bits; gawk cuts none, and until 5.2 pads only what is
    /// finite.
    pub(super) fn write_number(&self, number: f64, out: &mut Vec<u8>) {
        if self.write_plainly(number, out) {
            return;
        }
        if rules::is_mawk_2025() && self.write_as_mawk_2025(number, out) {
            return;
        }
        if rules::is_gawk() {
            if !number.is_finite() {
                let start = out.len();
                number::write_large(number, out);
                if matches!(self.what, b'X' | b'E' | b'G') {
                    out[start..].make_ascii_uppercase();
                }
                if rules::is_gawk_5_3() {
                    self.fill_up(start, out);
                }
                return;
            }
            if !self.is_signed() && unsigned_of(number).is_none() {
                return Conversion { what: b'g', ..self.clone() }.write_number(number, out);
            }
        }
        self.write_digits(number, out);
    }

    /// Appends a number with width and flags.
    fn write_digits(&self, number: f64, out: &mut Vec<u8>) {
        let style = Style { alternative: self.alternative, uppercase: self.what.is_ascii_uppercase() };
        let mut digits = Vec::with_capacity(24);
        let precision = match self.precision {
            Size::Fixed(precision) => Some(precision),
            _ => None,
        };
        let real = precision.unwrap_or(6);
        let mut zero = self.zero && !self.left;
        match self.what {
            b'f' => number::fixed(number, real, &style, &mut digits),
            b'e' | b'E' => number::scientific(number, real, &style, &mut digits),
            b'g' | b'G' => number::general(number, real, &style, &mut digits),
            _ => {
                zero &= precision.is_none();
                self.whole(number, precision, &mut digits);
            }
        }
        // gawk before 5.3 makes nothing at all of a zero without digits.
        let is_nothing = digits.is_empty() && rules::is_gawk() && !rules::is_gawk_5_3();
        if self.is_signed() && digits.first() != Some(&b'-') && !is_nothing {
            if self.plus {
                digits.insert(0, b'+');
            } else if self.space {
                digits.insert(0, b' ');
            }
        }
        let is_finite = number.is_finite() || matches!(self.what, b'd' | b'i' | b'o' | b'x' | b'X' | b'u');
        self.place(&digits, zero && is_finite, out);
    }

    /// Appends numbers that mawk from 2025 on writes in a way of its own, without width or flags. Returns whether this is one.
    fn write_as_mawk_2025(&self, number: f64, out: &mut Vec<u8>) -> bool {
        match self.what {
            _ if !number.is_finite() => number::write_large(number, out),
            b'd' | b'i' if number.abs() == TWO_TO_63 || number.abs() == TWO_TO_64 => {
                number::write_large(number, out)
            }
            b'd' | b'i' if number.abs() > TWO_TO_64 => number::general(number, 6, &Style::default(), out),
            b'u' if number == TWO_TO_63 || number == TWO_TO_64 => number::write_large(number, out),
            b'd' if number > TWO_TO_63 => Conversion { what: b'u', ..self.clone() }.write_number(number, out),
            _ => return false,
        }
        true
    }

    /// Appends what mawk from 2025 on makes of a string with an infinite number.
    pub(super) fn write_infinite_text(&self, number: f64, out: &mut Vec<u8>) {
        match self.what {
            b'd' | b'i' => number::general(number, 6, &Style::default(), out),
            _ => self.write_digits(number, out),
        }
    }

    /// Whether it shows the sign of integers.
    fn is_signed(&self) -> bool {
        !matches!(self.what, b'o' | b'x' | b'X' | b'u')
    }

    fn whole(&self, number: f64, precision: Option<usize>, digits: &mut Vec<u8>) {
        let (magnitude, negative, unsigned) = if rules::is_gawk() {
            let whole = number.trunc();
            (format!("{:.0}", whole.abs()), whole < 0.0, unsigned_of(number).unwrap_or(0))
        } else if rules::is_one_true() {
            let (signed, unsigned) = integers_like_c(number);
            (signed.unsigned_abs().to_string(), signed < 0, unsigned)
        } else if rules::is_mawk_2025() {
            let (signed, unsigned) = integers_of_mawk_2025(number);
            (signed.unsigned_abs().to_string(), signed < 0, unsigned)
        } else {
            let integer = number::to_integer(number);
            let unsigned = if number >= 4_294_967_295.0 { u32::MAX } else { number.max(0.0) as u32 };
            (integer.unsigned_abs().to_string(), integer < 0, u64::from(unsigned))
        };
        let (mut figures, mut prefix) = match self.what {
            b'd' | b'i' => (magnitude, if negative { "-" } else { "" }),
            b'o' => (format!("{unsigned:o}"), ""),
            b'x' => (format!("{unsigned:x}"), if self.alternative && unsigned != 0 { "0x" } else { "" }),
            b'X' => (format!("{unsigned:X}"), if self.alternative && unsigned != 0 { "0X" } else { "" }),
            _ => (unsigned.to_string(), ""),
        };
        let truncates = !rules::is_gawk() || self.is_signed() && !rules::is_gawk_5_3();
        if precision == Some(0) && figures == "0" && (truncates || number == 0.0) {
            figures.clear();
        }
        if self.what == b'o' && self.alternative && !figures.starts_with('0') {
            prefix = "0";
        }
        let octal = usize::from(prefix == "0");
        digits.extend_from_slice(prefix.as_bytes());
        digits.resize(digits.len() + precision.unwrap_or(0).saturating_sub(figures.len() + octal), b'0');
        digits.extend_from_slice(figures.as_bytes());
    }

    /// Pads with zeros after the sign and the prefix, or with blanks.
    fn place(&self, digits: &[u8], zero: bool, out: &mut Vec<u8>) {
        let fill = self.fill(digits.len());
        if zero {
            let mut head = usize::from(matches!(digits.first(), Some(b'-' | b'+' | b' ')));
            if self.alternative && matches!(digits.get(head + 1), Some(b'x' | b'X')) {
                head += 2;
            }
            out.extend_from_slice(&digits[..head]);
            out.resize(out.len() + fill, b'0');
            out.extend_from_slice(&digits[head..]);
        } else if self.left {
            out.extend_from_slice(digits);
            out.resize(out.len() + fill, b' ');
        } else {
            out.resize(out.len() + fill, b' ');
            out.extend_from_slice(digits);
        }
    }
}

/// Returns the integers that `%i` and `%x` of mawk from 2025 on format.
fn integers_of_mawk_2025(number: f64) -> (i64, u64) {
    let unsigned = match number {
        number if number >= TWO_TO_64 => u64::MAX,
        number if number >= 0.0 => number as u64,
        number if number <= -TWO_TO_64 => 1,
        number => number as i64 as u64,
    };
    let signed = if number >= TWO_TO_63 { unsigned as i64 } else { (number as i64).max(-i64::MAX) };
    (signed, unsigned)
}

/// Returns the byte that `%c` prints where strings are of bytes: of an empty string, a NUL.
fn character(value: &Value) -> u8 {
    match number_of(value) {
        Some(number) if rules::is_gawk() => unsigned_like_c(number) as u8,
        Some(number) => number::to_integer(number) as u8,
        None => value.bytes().and_then(|text| text.first()).copied().unwrap_or(0),
    }
}

/// Returns the number that a value is, or looks like.
fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Input(text) => number::looks_like(text.bytes()),
        Value::Unset | Value::Text(_) => None,
    }
}

/// Returns the integers that `%d` and `%x` of the one true awk format: as C converts on this machine.
fn integers_like_c(number: f64) -> (i64, u64) {
    let fits = number.abs() < TWO_TO_63;
    if fits || cfg!(target_arch = "aarch64") {
        return (number as i64, unsigned_like_c(number));
    }
    (i64::MIN, if number.is_nan() { TWO_TO_63 as u64 } else { unsigned_like_c(number) })
}

/// Converts as C does on this machine. On x86-64: modulo 2^64, and 0 beyond. On ARM: to the nearest number that there is.
fn unsigned_like_c(number: f64) -> u64 {
    match number {
        number if cfg!(target_arch = "aarch64") => number as u64,
        number if number < 0.0 => number as i64 as u64,
        number if number >= TWO_TO_64 => 0,
        number => number as u64,
    }
}

/// Returns the integer that gawk prints without a sign: 64 bits, negative ones as their complement; `None` if it has
/// more.
fn unsigned_of(number: f64) -> Option<u64> {
    let whole = number.trunc();
    if whole < 0.0 {
        let made = whole as i64;
        (made as f64 == whole).then_some(made as u64)
    } else {
        let made = whole as u64;
        (made as f64 == whole && made != u64::MAX).then_some(made)
    }
}

#[cfg(test)]
mod tests {
    use pelton_testkit::Random;

    use super::*;

    /// Numbers copied as text equal formatted numbers.
    #[test]
    fn numbers_of_the_input_are_written_like_all_numbers() {
        const CONVERSIONS: [&[u8]; 15] = [
            b"%d", b"%i", b"%5d", b"%-5d", b"%f", b"%.0f", b"%.1f", b"%.2f", b"%8.2f", b"%-9.3f", b"%.9f",
            b"%.14f", b"%+d", b"%05d", b"%x",
        ];
        let conversions: Vec<Conversion> = CONVERSIONS
            .iter()
            .flat_map(|text| parse(text).expect("a format"))
            .filter_map(
                |piece| if let Piece::Conversion(conversion) = piece { Some(conversion) } else { None },
            )
            .collect();
        assert_eq!(conversions.len(), CONVERSIONS.len());
        let mut random = Random::new(7);
        for _ in 0..100_000 {
            let text: Vec<u8> = (0..random.below(19)).map(|_| random.pick(b"00123456789999.-e")).collect();
            let lying = [b"ab", text.as_slice(), b" and what comes behind"].concat();
            let conversion = random.of(&conversions);
            let (mut found, mut expected) = (b"before".to_vec(), b"before".to_vec());
            conversion.write_input(&lying, 2..2 + text.len(), &mut found);
            conversion.write_number(number::prefix(&text), &mut expected);
            assert_eq!(found, expected, "{conversion:?} of {}", text.escape_ascii());
        }
    }
}
