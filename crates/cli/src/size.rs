//! Sizes as users write them.

/// Reads `4096`, `64K`, `10MB`: powers of 1024 by one letter, of 1000 with a `B`, as GNU coreutils reads them.
pub fn parse_size(text: &str) -> Result<u64, String> {
    const LETTERS: &str = "KMGTPE";
    let wrong = || "a size is wanted, such as 4096, 64K, 10M or 2G (10MB for ten million)".to_owned();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let (letter, base) = match &text[digits.len()..] {
        "" => return Ok(number),
        "B" => return Ok(number),
        unit => match unit.strip_suffix("iB").map(|letter| (letter, 1024)) {
            Some(pair) => pair,
            None => unit.strip_suffix('B').map_or((unit, 1024), |letter| (letter, 1000)),
        },
    };
    let letter = letter.to_ascii_uppercase();
    let power = LETTERS.find(&letter).filter(|_| letter.len() == 1).ok_or_else(wrong)?;
    let unit = u64::pow(base, power as u32 + 1);
    number.checked_mul(unit).ok_or_else(|| "that is more than can be counted".to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes() {
        let good = [
            ("0", 0),
            ("4096", 4096),
            ("64k", 65536),
            ("1M", 1 << 20),
            ("2GiB", 2 << 30),
            ("3MB", 3_000_000),
        ];
        for (text, bytes) in good {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "1X", "1MM", "1.5G", "99999999999E", "KB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
