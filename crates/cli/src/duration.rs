//! Durations as users write them.

/// Reads `30`, `30s`, `500ms`, `1.5m` or `2h`, in nanoseconds: seconds if there is no unit, as timeout(1) reads them.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    let wrong = || "a duration is wanted, such as 30s, 500ms, 5m or 2h".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    let seconds = match &text[digits.len()..] {
        "" | "s" => number,
        "ms" => number / 1e3,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        "d" => number * 86_400.0,
        _ => return Err(wrong()),
    };
    if !(0.01..=1e8).contains(&seconds) {
        return Err("a duration from 10ms to 1000d is wanted".to_owned());
    }
    Ok((seconds * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::parse_duration;

    #[test]
    fn durations() {
        let good =
            [("30", 30.0), ("30s", 30.0), ("500ms", 0.5), ("1.5m", 90.0), ("2h", 7200.0), ("1d", 86_400.0)];
        for (text, seconds) in good {
            assert_eq!(parse_duration(text), Ok((seconds * 1e9) as u64), "{text}");
        }
        for text in ["", "s", "-1", "0", "1x", "1 s", "inf", "nan", "1e99"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
