//! The counts of `head` and `tail`: digits with an optional multiplier.

use crate::{Accept, Declined};

/// Parses `12`, `3K`, `1MB`. The caller handles signs.
pub(crate) fn parse(text: &[u8]) -> Accept<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, suffix) = text.split_at(digits);
    let value: Option<u64> = std::str::from_utf8(number).ok().and_then(|digits| digits.parse().ok());
    let factor: u64 = match suffix {
        b"" => 1,
        b"b" => 512,
        b"k" | b"K" | b"KiB" => 1 << 10,
        b"m" | b"M" | b"MiB" => 1 << 20,
        b"G" | b"GiB" => 1 << 30,
        b"kB" | b"KB" => 1_000,
        b"MB" => 1_000_000,
        b"GB" => 1_000_000_000,
        _ => return Declined::because("a count with a suffix that is not known here"),
    };
    match value.and_then(|value| value.checked_mul(factor)) {
        Some(count) if count < 1 << 62 => Ok(count),
        _ => Declined::because("a count that is no number or too large"),
    }
}
