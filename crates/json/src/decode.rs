//! Decodes strings: removes quotes and escapes.

/// Appends the decoded string `raw`, which is as written, with its quotes. Half of a surrogate pair becomes
/// U+FFFD.
pub(crate) fn decode(raw: &[u8], to: &mut Vec<u8>) {
    let mut decoder = Decoder::default();
    decoder.add(raw, to);
    decoder.end(to);
}

/// Decodes a string that comes in pieces. No escape is split between pieces.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The first half of a surrogate pair whose second half may follow.
    high: Option<u32>,
}

const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

impl Decoder {
    /// Appends a decoded piece. Unescaped quotes are those around the string, and are dropped.
    pub(crate) fn add(&mut self, mut raw: &[u8], to: &mut Vec<u8>) {
        while !raw.is_empty() {
            let plain = memchr::memchr2(b'\\', b'"', raw).unwrap_or(raw.len());
            if plain > 0 {
                self.end(to);
                to.extend_from_slice(&raw[..plain]);
            }
            raw = match raw.get(plain..) {
                Some([b'\\', b'u', rest @ ..]) => {
                    let (digits, rest) = rest.split_at(rest.len().min(4));
                    self.unit(unit(digits), to);
                    rest
                }
                Some([b'\\', escaped, rest @ ..]) => {
                    self.end(to);
                    to.push(meaning(*escaped));
                    rest
                }
                Some([_, rest @ ..]) => rest,
                _ => &[],
            };
        }
    }

    /// Ends the string.
    pub(crate) fn end(&mut self, to: &mut Vec<u8>) {
        if self.high.take().is_some() {
            to.extend_from_slice(REPLACEMENT);
        }
    }

    /// Appends a UTF-16 code unit.
    fn unit(&mut self, unit: u32, to: &mut Vec<u8>) {
        if let (0xdc00..0xe000, Some(high)) = (unit, self.high.take_if(|_| (0xdc00..0xe000).contains(&unit)))
        {
            push(0x1_0000 + ((high - 0xd800) << 10) + (unit - 0xdc00), to);
            return;
        }
        self.end(to);
        match unit {
            0xd800..0xdc00 => self.high = Some(unit),
            _ => push(unit, to),
        }
    }
}

fn push(code: u32, to: &mut Vec<u8>) {
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    to.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

fn unit(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |sum, digit| sum << 4 | char::from(*digit).to_digit(16).unwrap_or(0))
}

fn meaning(escaped: u8) -> u8 {
    match escaped {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(raw: &str) -> String {
        let mut text = Vec::new();
        decode(raw.as_bytes(), &mut text);
        String::from_utf8(text).expect("UTF-8")
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(meant(r#""""#), "");
        assert_eq!(meant(r#""a\"\\\/\b\f\n\r\tz""#), "a\"\\/\u{8}\u{c}\n\r\tz");
        assert_eq!(meant(r#""\u0041é\u00e9\ud83d\uDE00!""#), "Aéé😀!");
    }

    #[test]
    fn half_pairs_are_replaced() {
        assert_eq!(meant(r#""\ud83d""#), "\u{fffd}");
        assert_eq!(meant(r#""\ud83dx\ude00""#), "\u{fffd}x\u{fffd}");
        assert_eq!(meant(r#""\ud83d\ud83d\ude00\n""#), "\u{fffd}😀\n");
        assert_eq!(meant(r#""\ud83d\n""#), "\u{fffd}\n");
    }

    #[test]
    fn a_pair_may_come_in_two_pieces() {
        let (mut decoder, mut text) = (Decoder::default(), Vec::new());
        decoder.add(b"\"a\\ud83d", &mut text);
        decoder.add(b"\\ude00\"", &mut text);
        decoder.end(&mut text);
        assert_eq!(text, "a😀".as_bytes());
    }
}
