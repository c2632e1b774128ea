//! Parses numbers in arguments: sizes, times, permissions.

use super::{Read, unmodelled};
use crate::query::{Age, Compare, Match, Number, Test};
use crate::stamp::Stamp;
use pelton_sys::directories::Time;

/// Parses `n`, `-n` or `+n`.
pub(super) fn number(text: &[u8]) -> Read<Number> {
    let (compare, digits) = match text {
        [b'+', rest @ ..] => (Compare::More, rest),
        [b'-', rest @ ..] => (Compare::Less, rest),
        all => (Compare::Equal, all),
    };
    Ok(Number { compare, value: plain(digits)? })
}

/// Parses digits only. A number so long that find may reject it is left to the real find.
pub(super) fn plain(digits: &[u8]) -> Read<u64> {
    if digits.is_empty() || digits.len() > 15 || !digits.iter().all(u8::is_ascii_digit) {
        return unmodelled(format!("`{}` for a number", digits.escape_ascii()));
    }
    Ok(digits.iter().fold(0, |value, byte| value * 10 + u64::from(byte - b'0')))
}

/// Parses the argument of -size.
pub(super) fn size(text: &[u8]) -> Read<Test> {
    let (unit, rest) = match text {
        [rest @ .., b'b'] => (512, rest),
        [rest @ .., b'c'] => (1, rest),
        [rest @ .., b'w'] => (2, rest),
        [rest @ .., b'k'] => (1 << 10, rest),
        [rest @ .., b'M'] => (1 << 20, rest),
        [rest @ .., b'G'] => (1 << 30, rest),
        all => (512, all),
    };
    Ok(Test::Size { unit, number: number(rest)? })
}

const DAY: i64 = 86_400;

/// Parses the argument of -mtime and similar tests, in days. Ages count in whole days, so `+1` means two or
/// more.
pub(super) fn days(text: &[u8], which: Stamp, now: Time) -> Read<Test> {
    let number = number(text)?;
    let back = match number.compare {
        Compare::Less => 1,
        _ => DAY,
    };
    Ok(age(number, which, now, DAY, back))
}

/// Parses the argument of -mmin and similar tests.
pub(super) fn minutes(text: &[u8], which: Stamp, now: Time) -> Read<Test> {
    Ok(age(number(text)?, which, now, 60, 0))
}

fn age(number: Number, which: Stamp, now: Time, unit: i64, back: i64) -> Test {
    let seconds = now.seconds.saturating_sub(back).saturating_sub((number.value as i64).saturating_mul(unit));
    Test::Age(Age { which, compare: number.compare, moment: Time { seconds, ..now }, window: unit })
}

/// Parses the argument of -perm, in octal.
pub(super) fn permissions(text: &[u8]) -> Read<Test> {
    let (all, digits) = match text {
        [b'-', rest @ ..] => (Match::All, rest),
        [b'/', rest @ ..] => (Match::Any, rest),
        rest => (Match::Exactly, rest),
    };
    let octal =
        !digits.is_empty() && digits.len() < 6 && digits.iter().all(|byte| (b'0'..=b'7').contains(byte));
    let bits = digits.iter().fold(0, |value, byte| value * 8 + u32::from(byte.wrapping_sub(b'0')));
    if !octal || bits > 0o7777 || (bits == 0 && all == Match::Any) {
        return unmodelled(format!("-perm {}", text.escape_ascii()));
    }
    Ok(Test::Permissions { bits, all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_moments() {
        let now = Time { seconds: 1_000_000, nanoseconds: 5 };
        let moment = |test: Read<Test>| match test {
            Ok(Test::Age(age)) => age.moment.seconds,
            other => panic!("{other:?}"),
        };
        assert_eq!(moment(days(b"2", Stamp::Modified, now)), 1_000_000 - 3 * DAY);
        assert_eq!(moment(days(b"-2", Stamp::Modified, now)), 1_000_000 - 2 * DAY - 1);
        assert_eq!(moment(minutes(b"+3", Stamp::Modified, now)), 1_000_000 - 180);
    }

    #[test]
    fn permissions_are_octal() {
        assert!(matches!(permissions(b"-022"), Ok(Test::Permissions { bits: 0o22, all: Match::All })));
        for odd in ["", "-", "8", "u=x", "/000", "10000"] {
            assert!(permissions(odd.as_bytes()).is_err(), "{odd}");
        }
    }
}
