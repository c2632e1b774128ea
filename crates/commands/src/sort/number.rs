//! `-n` and `-h`: encodes decimal numbers of any length as byte strings in numeric order.
//!
//! ```text
//!   123.450   sign and exponent 3, then pairs of digits 12 34 50, then the end:  b5 0d 23 33 00
//!   -x        every byte of x complemented; zero lies between
//! ```
//! Numbers of up to twelve digits fit in one window of the engine and are never parsed twice. The encoding is
//! prefix-free, so that further keys can follow.

/// Zero, and every invalid number.
const ZERO: u8 = 0x80;
/// Smaller than any exponent with its own byte; the exponent follows.
const TINY: u8 = 0x81;
/// The byte of exponent [`EXPONENT_MIN`].
const FIRST: u8 = 0x82;
/// Exponents with their own byte.
const EXPONENT_MIN: i64 = -30;
const EXPONENT_MAX: i64 = 80;
/// Greater than these; the exponent follows.
const HUGE: u8 = 0xf5;

/// Two zeros; the other pairs of digits follow.
const PAIR_MIN: u8 = 1;
/// Behind the last pair.
const END: u8 = 0;
/// The most digits of a short number. With one more zero, they are pairs.
const SHORT_DIGITS: usize = 21;

/// sort's thousands separator where the locale has none: a byte beyond `signed char`, which it compares with
/// unsigned ones. `1\x802` is twelve.
pub(crate) const STRAY_SEPARATOR: u8 = 0x80;

/// The signs in a number besides digits and minus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signs {
    /// The decimal point.
    pub point: u8,
    /// The optional separator between the digits of a number.
    pub thousands: u8,
    /// Whether carriage returns and form feeds may precede a number, as in uutils' sort.
    pub after_returns: bool,
    /// Whether numbers are read as `strtod` reads them, as in busybox' sort. Its kernel orders the
    /// [plain](is_plain) ones only.
    pub as_strtod: bool,
}

impl Signs {
    /// The signs of C, POSIX and C.UTF-8.
    pub const C: Signs =
        Signs { point: b'.', thousands: STRAY_SEPARATOR, after_returns: false, as_strtod: false };
}

/// Whether `strtod` and sort read the same number at the beginning of a text: one of a few digits, or none.
pub(crate) fn is_plain(text: &[u8]) -> bool {
    const DIGITS_MAX: usize = 15;
    let blanks = text.iter().take_while(|byte| is_blank(**byte)).count();
    let text = &text[blanks..];
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let digits = unsigned.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let (number, rest) = unsigned.split_at(digits);
    let begins_another = match rest.first() {
        // White space of C, a second sign.
        Some(b'+' | b'-' | b'\t'..=b'\r' | b' ') => number.is_empty(),
        // An infinity, or none.
        Some(b'i' | b'I' | b'n' | b'N') => {
            number.is_empty()
                && rest.first_chunk::<3>().is_some_and(|name| {
                    name.eq_ignore_ascii_case(b"inf") || name.eq_ignore_ascii_case(b"nan")
                })
        }
        // A hexadecimal number, an exponent.
        Some(b'x' | b'X' | b'e' | b'E' | b'p' | b'P' | &STRAY_SEPARATOR) => true,
        _ => false,
    };
    let points = number.iter().filter(|byte| **byte == b'.').count();
    digits <= DIGITS_MAX && points < 2 && !begins_another
}

/// Whether sort skips the byte before a number, and treats it as white space between fields.
#[inline]
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

/// Returns `text` without leading blanks.
#[inline]
pub(crate) fn skip_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| is_blank(**byte)).count();
    &text[blanks..]
}

/// Returns `text` without what may precede a number.
#[inline]
fn number_in(text: &[u8], signs: Signs) -> &[u8] {
    match signs.after_returns {
        true => text.trim_ascii_start(),
        false => skip_blanks(text),
    }
}

/// Appends the encoding of `text` for `-n`, as a number that these signs may be part of.
pub(crate) fn encode_numeric(text: &[u8], signs: Signs, out: &mut Vec<u8>) {
    encode_number(number_in(text, signs), signs, out);
}

/// Appends the encoding of `text` for `-h`: the unit is compared before the number.
pub(crate) fn encode_human(text: &[u8], signs: Signs, out: &mut Vec<u8>) {
    let text = number_in(text, signs);
    let (negative, magnitude) = sign(text);
    let order = unit_order(magnitude, signs);
    out.push(if negative { ZERO - order } else { ZERO + order });
    encode_number(text, signs, out);
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    }
}

/// Returns the power of 1000 of a suffix; 0 if the number is zero or absent. Skips a separator before a
/// digit, but not the stray one.
fn unit_order(magnitude: &[u8], Signs { point, thousands, .. }: Signs) -> u8 {
    let mut nonzero = false;
    let mut at = 0;
    let mut digits = |at: &mut usize| {
        while let Some(digit @ b'0'..=b'9') = magnitude.get(*at) {
            nonzero |= *digit != b'0';
            *at += 1;
        }
    };
    digits(&mut at);
    let separated = |at: usize| {
        thousands != STRAY_SEPARATOR
            && at > 0
            && magnitude.get(at) == Some(&thousands)
            && magnitude.get(at + 1).is_some_and(u8::is_ascii_digit)
    };
    while separated(at) {
        at += 1;
        digits(&mut at);
    }
    if magnitude.get(at) == Some(&point) {
        at += 1;
        digits(&mut at);
    }
    let unit = magnitude.get(at).filter(|_| nonzero);
    match unit {
        Some(b'K' | b'k') => 1,
        Some(b'M') => 2,
        Some(b'G') => 3,
        Some(b'T') => 4,
        Some(b'P') => 5,
        Some(b'E') => 6,
        Some(b'Z') => 7,
        Some(b'Y') => 8,
        _ => 0,
    }
}

/// Appends the encoding of the number at the start of `text`.
fn encode_number(text: &[u8], signs: Signs, out: &mut Vec<u8>) {
    let (negative, magnitude) = sign(text);
    let start = out.len();
    encode_magnitude(magnitude, signs, out);
    if negative && out[start] != ZERO {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

fn encode_magnitude(text: &[u8], signs: Signs, out: &mut Vec<u8>) {
    if !encode_short(text, signs, out) {
        encode_any(text, signs, out);
    }
}

/// Appends the encoding of a number from 1 on, of few digits and without separators, as nearly all are. Returns whether it
/// is one.
fn encode_short(text: &[u8], Signs { point, thousands, .. }: Signs, out: &mut Vec<u8>) -> bool {
    let zeros = text.iter().take_while(|byte| **byte == b'0').count();
    // Digits in pairs, so that one more zero may follow the last.
    let mut digits = [0; SHORT_DIGITS + 1];
    let (mut count, mut whole) = (0, None);
    for byte in &text[zeros..] {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            if count == SHORT_DIGITS {
                return false;
            }
            digits[count] = digit;
            count += 1;
        } else if *byte == thousands {
            return false;
        } else if *byte == point && whole.is_none() {
            whole = Some(count);
        } else {
            break;
        }
    }
    let whole = whole.unwrap_or(count);
    if whole == 0 {
        // A fraction, whose leading zeros count, or zero.
        return false;
    }
    let mut encoded = [0; SHORT_DIGITS.div_ceil(2) + 2];
    encoded[0] = FIRST + (whole as i64 - EXPONENT_MIN) as u8;
    let pairs = count.div_ceil(2);
    for (pair, byte) in digits.as_chunks::<2>().0.iter().zip(&mut encoded[1..]).take(pairs) {
        *byte = PAIR_MIN + 10 * pair[0] + pair[1];
    }
    let kept = encoded[1..=pairs].iter().rposition(|pair| *pair != PAIR_MIN).map_or(0, |last| last + 1);
    encoded[kept + 1] = END;
    out.extend_from_slice(&encoded[..kept + 2]);
    true
}

fn encode_any(text: &[u8], Signs { point, thousands, .. }: Signs, out: &mut Vec<u8>) {
    let leading = text.iter().take_while(|byte| **byte == b'0' || **byte == thousands).count();
    let text = &text[leading..];
    // A separator is part of the number only after a digit, or among leading zeros.
    let mut len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut separators = 0;
    if len > 0 && text.get(len) == Some(&thousands) {
        let more = text[len..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == thousands).count();
        separators = text[len..len + more].iter().filter(|byte| **byte == thousands).count();
        len += more;
    }
    let integer = &text[..len];
    let fraction = match &text[len..] {
        [byte, rest @ ..] if *byte == point => {
            &rest[..rest.iter().take_while(|byte| byte.is_ascii_digit()).count()]
        }
        _ => &[],
    };
    let digits = integer.iter().filter(|byte| **byte != thousands);
    if len > separators {
        push_exponent((len - separators) as i64, out);
        push_digits(digits.chain(fraction), out);
        return;
    }
    let zeros = fraction.iter().take_while(|digit| **digit == b'0').count();
    if zeros == fraction.len() {
        out.push(ZERO);
        return;
    }
    push_exponent(-(zeros as i64), out);
    push_digits(fraction[zeros..].iter(), out);
}

fn push_exponent(exponent: i64, out: &mut Vec<u8>) {
    match exponent {
        EXPONENT_MIN..=EXPONENT_MAX => out.push(FIRST + (exponent - EXPONENT_MIN) as u8),
        _ => {
            out.push(if exponent < 0 { TINY } else { HUGE });
            out.extend_from_slice(&(exponent ^ i64::MIN).to_be_bytes());
        }
    }
}

/// Appends two digits per byte, without trailing zeros, then the end, which is less than any pair.
fn push_digits<'a>(mut digits: impl Iterator<Item = &'a u8>, out: &mut Vec<u8>) {
    while let Some(tens) = digits.next() {
        let ones = digits.next().unwrap_or(&b'0');
        out.push(PAIR_MIN + 10 * (tens - b'0') + (ones - b'0'));
    }
    while out.last() == Some(&PAIR_MIN) {
        out.pop();
    }
    out.push(END);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_are_the_same_to_strtod() {
        for text in ["", "12", " \t-3.5 x", "007", "abc", "5 e3", ".5", "12,000", "-", "next", "in"] {
            assert!(is_plain(text.as_bytes()), "{text}");
        }
        for text in ["1e3", "+5", "0x10", "inf", "-NaN", "\r5", "- 5", "1.2.3", "1234567890123456"] {
            assert!(!is_plain(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn short_numbers_are_encoded_like_any() {
        let mut random = pelton_testkit::Random::new(5);
        let mut short = 0;
        for _ in 0..20_000 {
            let length = random.below(26);
            let letters: &[u8] = if random.below(2) == 0 { b"0012345.67890" } else { b"012.,0900\x80a- " };
            let text: Vec<u8> = (0..length).map(|_| letters[random.below(letters.len())]).collect();
            let signs = if random.below(3) == 0 { Signs { thousands: b',', ..Signs::C } } else { Signs::C };
            let (mut quick, mut any) = (Vec::new(), Vec::new());
            if encode_short(&text, signs, &mut quick) {
                short += 1;
                encode_any(&text, signs, &mut any);
                assert_eq!(quick, any, "{}", text.escape_ascii());
            } else {
                assert!(quick.is_empty());
            }
        }
        assert!(short > 5_000);
    }

    fn numeric(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        encode_numeric(text.as_bytes(), Signs::C, &mut out);
        out
    }

    fn human(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        encode_human(text.as_bytes(), Signs::C, &mut out);
        out
    }

    #[test]
    fn what_precedes_a_number_depends_on_the_implementation() {
        let of = |text: &str, after_returns| {
            let mut out = Vec::new();
            encode_numeric(text.as_bytes(), Signs { after_returns, ..Signs::C }, &mut out);
            out
        };
        for before in [" ", "\t", "\r", "\x0c", " \r "] {
            assert_eq!(of(&format!("{before}-3"), true), numeric("-3"), "{before:?}");
        }
        assert_eq!(of("\x0b-3", true), numeric("x"));
        assert_eq!(of("\r-3", false), numeric("x"));
    }

    #[test]
    fn numbers_ascend() {
        let huge = format!("1{}", "0".repeat(100));
        let tiny = format!(".{}1", "0".repeat(100));
        let ascending = [
            "-12",
            "-2.5",
            "-2",
            "-.5",
            "0",
            &tiny,
            ".05",
            ".5",
            "1",
            "1.05",
            "2",
            "9.99",
            "10",
            "123456789",
            &huge,
        ];
        for pair in ascending.windows(2) {
            assert!(numeric(pair[0]) < numeric(pair[1]), "{} < {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn equal_numbers_are_equal() {
        for (a, b) in [("0", "-0"), ("x", ""), (" \t1.50x", "001.5"), ("1.", "1"), ("-", "."), ("1e5", "1")] {
            assert_eq!(numeric(a), numeric(b), "{a} = {b}");
        }
        assert_eq!(numeric("+1"), numeric("0"));
    }

    #[test]
    fn units_come_first() {
        let ascending = ["-1G", "-1K", "-5000", "0M", "5000", "1K", "1.5k", "2Ki", "1M", "1Y"];
        for pair in ascending.windows(2) {
            assert!(human(pair[0]) < human(pair[1]), "{} < {}", pair[0], pair[1]);
        }
        assert_eq!(human("1R"), human("1"));
    }
}
