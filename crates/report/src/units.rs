//! The formats of figures for people. One rule each, everywhere:
//!
//! - **Times**: seconds with three digits below 100 s (`4.773s`), then `1m40.0s`, from an hour on `1h02m03s`, from
//!   a hundred hours on `123h04m`. Rounded once, half up, to the last digit shown; so `60.000s` follows `59.999s`
//!   and nothing ever reads `1m60.0s`.
//! - **Bytes**: decimal units, three significant digits (`999 B`, `1.23 kB`, `45.6 MB`). A value that is only an
//!   upper bound has one digit less and is rounded up (`≤3.9 MB`), or it might not be a bound.
//! - **Counts**: exact up to 99,999, then `123k`, `4.56M`.
//! - **CPU and shares**: percent without decimals.

const MS: u64 = 1_000_000;
const BYTE_UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];

/// `value / unit`, rounded half up.
fn rounded(value: u64, unit: u64) -> u64 {
    value / unit + u64::from(value % unit >= unit.div_ceil(2))
}

/// Formats a time for a table.
pub fn seconds(ns: u64) -> String {
    let (ms, tenths, s, min) =
        (rounded(ns, MS), rounded(ns, 100 * MS), rounded(ns, 1000 * MS), rounded(ns, 60_000 * MS));
    if ms < 100_000 {
        format!("{}.{:03}s", ms / 1000, ms % 1000)
    } else if tenths < 36_000 {
        format!("{}m{:02}.{}s", tenths / 600, tenths / 10 % 60, tenths % 10)
    } else if s < 360_000 {
        format!("{}h{:02}m{:02}s", s / 3600, s / 60 % 60, s % 60)
    } else {
        format!("{}h{:02}m", min / 60, min % 60)
    }
}

/// Formats a time for a sentence, where milliseconds may be too coarse: `0.3 ms`, `1.234s`.
pub fn short_time(ns: u64) -> String {
    let tenths = rounded(ns, MS / 10);
    if tenths < 10_000 { format!("{}.{} ms", tenths / 10, tenths % 10) } else { seconds(ns) }
}

/// Formats seconds with two digits (`time -p`).
pub fn centiseconds(ns: u64) -> String {
    let cs = rounded(ns, 10 * MS);
    format!("{}.{:02}", cs / 100, cs % 100)
}

/// Formats minutes and seconds as shells do: `0m4.773s`.
pub fn minutes(ns: u64) -> String {
    let ms = rounded(ns, MS);
    format!("{}m{}.{:03}s", ms / 60_000, ms / 1000 % 60, ms % 1000)
}

/// Formats a share as percent without decimals.
pub fn percent(share: f64) -> String {
    // The cast saturates and maps NaN to 0, neither of which a record holds; it cannot give -0.
    format!("{}%", (share * 100.0).round() as u64)
}

/// Formats a size in bytes.
pub fn bytes(n: u64) -> String {
    if n < 1000 { format!("{n} B") } else { scaled(n, BYTE_UNITS, " ") }
}

/// Formats a count of calls, faults and the like.
pub fn count(n: u64) -> String {
    if n < 100_000 { n.to_string() } else { scaled(n, ["k", "M", "G", "T", "P", "E"], "") }
}

/// Three significant digits of `n`, which is at least 1000, and its unit.
fn scaled(n: u64, units: [&str; 6], blank: &str) -> String {
    let (one, unit) = unit_for(n, units, rounded);
    let decimals = [2, 1].into_iter().find(|d| rounded(n, one / 10_u64.pow(*d)) < 1000).unwrap_or(0);
    let digits = rounded(n, one / 10_u64.pow(decimals));
    format!("{}{blank}{unit}", point(digits, decimals))
}

/// Formats an upper bound in bytes: rounded up, two significant digits below 100 of a unit.
pub fn bytes_bound(n: u64) -> String {
    if n < 1000 {
        return format!("{n} B");
    }
    let (one, unit) = unit_for(n, BYTE_UNITS, u64::div_ceil);
    let tenths = n.div_ceil(one / 10);
    let digits = if tenths < 100 { point(tenths, 1) } else { n.div_ceil(one).to_string() };
    format!("{digits} {unit}")
}

/// Returns the smallest unit, and its name, for which `divide` gives less than a thousand.
fn unit_for(n: u64, units: [&str; 6], divide: fn(u64, u64) -> u64) -> (u64, &str) {
    let [mut unit, larger @ ..] = units;
    let mut one = 1000;
    for next in larger {
        if divide(n, one) < 1000 {
            break;
        }
        (one, unit) = (one * 1000, next);
    }
    (one, unit)
}

/// `digits` with a point before the last `decimals` of them.
fn point(digits: u64, decimals: u32) -> String {
    let one = 10_u64.pow(decimals);
    match decimals {
        0 => digits.to_string(),
        _ => format!("{}.{:0width$}", digits / one, digits % one, width = decimals as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_change_their_form_and_never_show_sixty() {
        for (ns, text) in [
            (0, "0.000s"),
            (499_999, "0.000s"),
            (500_000, "0.001s"),
            (4_773_000_000, "4.773s"),
            (59_999_600_000, "60.000s"),
            (99_999_499_999, "99.999s"),
            (99_999_500_000, "1m40.0s"),
            (119_950_000_000, "2m00.0s"),
            (3_599_949_999_999, "59m59.9s"),
            (3_599_950_000_000, "1h00m00s"),
            (3_723_000_000_000, "1h02m03s"),
            (360_000_000_000_000, "100h00m"),
            (u64::MAX, "5124095h35m"),
        ] {
            assert_eq!(seconds(ns), text, "{ns}");
        }
    }

    #[test]
    fn shell_and_posix_times_round_half_up() {
        assert_eq!(minutes(59_999_600_000), "1m0.000s");
        assert_eq!(minutes(4_773_000_000), "0m4.773s");
        assert_eq!(centiseconds(1_995_000_000), "2.00");
        assert_eq!(centiseconds(1_994_999_999), "1.99");
        assert_eq!(short_time(349_999), "0.3 ms");
        assert_eq!(short_time(1_234_000_000), "1.234s");
    }

    #[test]
    fn bytes_have_three_significant_digits() {
        for (n, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (9_994, "9.99 kB"),
            (9_995, "10.0 kB"),
            (99_950, "100 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (65_536, "65.5 kB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(bytes(n), text, "{n}");
        }
    }

    #[test]
    fn a_bound_is_never_below_its_value() {
        for (n, text) in [
            (999, "999 B"),
            (3_801_088, "3.9 MB"),
            (9_900_001, "10 MB"),
            (100_000_001, "101 MB"),
            (999_000_001, "1.0 GB"),
            (u64::MAX, "19 EB"),
        ] {
            assert_eq!(bytes_bound(n), text, "{n}");
        }
    }

    #[test]
    fn counts_are_exact_while_they_are_short() {
        for (n, text) in [(0, "0"), (99_999, "99999"), (100_000, "100k"), (1_234_567, "1.23M")] {
            assert_eq!(count(n), text);
        }
    }

    #[test]
    fn percent_is_whole_and_has_no_sign() {
        for (share, text) in [(0.0, "0%"), (-0.0, "0%"), (0.995, "100%"), (2.31, "231%"), (f64::NAN, "0%")] {
            assert_eq!(percent(share), text);
        }
    }
}
