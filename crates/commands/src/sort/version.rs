//! `-V`: version order as byte strings.
//!
//! Names are first compared without their file suffixes (`.tar.gz`), then with them. In both cases they are
//! parsed as alternating text and numbers: text by a special order of characters, numbers by value.
//!
//! ```text
//!   a1.2~rc   →   'a' MARK 1 '1'   '.' MARK 1 '2'   '~' 'r' 'c' MARK 0   MARK
//! ```
//! MARK ends a text. It sorts only after `~`, so that `1.0~rc1` is older than `1.0`. A missing number is zero,
//! so `a`, `a0` and `a00` are equal. The encoding is prefix-free.

const TILDE: u8 = 1;
const MARK: u8 = 2;
const LETTERS: u8 = 3;
const OTHERS: u8 = LETTERS + 52;
/// Digit counts from this on are written in full.
const LONG_NUMBER: usize = 250;

/// Appends the encoding of `text` for `-V`.
pub(crate) fn encode_version(text: &[u8], out: &mut Vec<u8>) {
    let special = match text {
        b"" => 0,
        b"." => 1,
        b".." => 2,
        [b'.', ..] => 3,
        _ => 4,
    };
    out.push(special);
    if special >= 3 {
        encode_parts(&text[..prefix_len(text)], out);
        encode_parts(text, out);
    }
}

/// Returns the length without file suffixes: the longest match of `(\.[A-Za-z~][A-Za-z0-9~]*)*` at the end.
/// It is 0 if all of the text matches.
fn prefix_len(text: &[u8]) -> usize {
    let mut start = text.len();
    let mut at = text.len();
    // Backwards: a suffix part is a run of these bytes after a dot, and its first is no digit.
    while at > 0 {
        let run =
            text[..at].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'~').count();
        let first = at - run;
        if run == 0 || text[first].is_ascii_digit() || first == 0 || text[first - 1] != b'.' {
            break;
        }
        at = first - 1;
        start = at;
    }
    start
}

fn encode_parts(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    loop {
        let letters = rest.iter().take_while(|byte| !byte.is_ascii_digit()).count();
        out.extend(rest[..letters].iter().map(|byte| rank(*byte)));
        out.push(MARK);
        let digits = rest[letters..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        push_number(&rest[letters..letters + digits], out);
        rest = &rest[letters + digits..];
        if rest.is_empty() {
            out.push(MARK);
            return;
        }
    }
}

fn push_number(digits: &[u8], out: &mut Vec<u8>) {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let digits = &digits[zeros..];
    if digits.len() < LONG_NUMBER {
        out.push(digits.len() as u8);
    } else {
        out.push(LONG_NUMBER as u8);
        out.extend_from_slice(&digits.len().to_be_bytes());
    }
    out.extend_from_slice(digits);
}

/// Ranks letters before everything else, `~` before the end.
fn rank(byte: u8) -> u8 {
    match byte {
        b'~' => TILDE,
        b'A'..=b'Z' => LETTERS + (byte - b'A'),
        b'a'..=b'z' => LETTERS + 26 + (byte - b'a'),
        0..b'0' => OTHERS + byte,
        b':'..b'A' => OTHERS + byte - 10,
        b'['..b'a' => OTHERS + byte - 10 - 26,
        b'{'..b'~' => OTHERS + byte - 10 - 52,
        0x7f.. => OTHERS + (byte - 10 - 52 - 1),
        b'0'..=b'9' => MARK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        encode_version(text.as_bytes(), &mut out);
        out
    }

    #[test]
    fn versions_ascend() {
        let ascending =
            ["", ".", "..", ".a", "a~", "a", "a1", "a1.0~rc1", "a1.0", "a1.2", "a1.10", "ab", "a-b", "b"];
        for pair in ascending.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{} < {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn missing_numbers_are_zero() {
        assert_eq!(version("a"), version("a0"));
        assert_eq!(version("a01"), version("a1"));
        assert_ne!(version("a0b"), version("ab"));
    }

    #[test]
    fn suffixes_count_last() {
        assert_eq!(prefix_len(b"a-1.02~rc1.tar.gz"), 10);
        assert_eq!(prefix_len(b".tar"), 0);
        assert_eq!(prefix_len(b"a.1b"), 4);
        assert_eq!(prefix_len(b"a.b.1"), 5);
        assert_eq!(prefix_len(b"a.~"), 1);
        assert!(version("a-1.tar.gz") < version("a-1.1.tar.gz"));
    }
}
