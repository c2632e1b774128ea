//! The header of a member of a gzip file (RFC 1952).

/// What precedes a member's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// It has so many bytes.
    Complete(usize),
    /// It goes on behind these bytes.
    Incomplete,
    /// The real gzip has to judge it.
    Odd,
}

const MAGIC: &[u8] = &[0x1f, 0x8b, 8];
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;
const TEXT: u8 = 1;

impl Header {
    /// Parses a header at the start of `bytes`.
    pub(super) fn parse(bytes: &[u8]) -> Header {
        let known = bytes.len().min(MAGIC.len());
        if bytes[..known] != MAGIC[..known] {
            return Header::Odd;
        }
        let Some(flags) = bytes.get(MAGIC.len()) else { return Header::Incomplete };
        // A checksum of the header, encryption and what is reserved.
        if flags & !(TEXT | EXTRA | NAME | COMMENT) != 0 {
            return Header::Odd;
        }
        match Header::length(bytes, *flags) {
            Some(length) if length <= bytes.len() => Header::Complete(length),
            _ => Header::Incomplete,
        }
    }

    /// Returns the length of a header with these flags; `None` if `bytes` do not show it.
    fn length(bytes: &[u8], flags: u8) -> Option<usize> {
        let mut at = 10;
        if flags & EXTRA != 0 {
            let [low, high] = *bytes.get(at..at + 2)? else { return None };
            at += 2 + usize::from(u16::from_le_bytes([low, high]));
        }
        for field in [NAME, COMMENT] {
            if flags & field != 0 {
                at += memchr::memchr(0, bytes.get(at..)?)? + 1;
            }
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_fields_follow_ten_bytes() {
        let plain = b"\x1f\x8b\x08\0\0\0\0\0\0\x03";
        assert_eq!(Header::parse(plain), Header::Complete(10));
        assert_eq!(Header::parse(&plain[..9]), Header::Incomplete);
        assert_eq!(Header::parse(b""), Header::Incomplete);
        assert_eq!(Header::parse(b"\x1f"), Header::Incomplete);
        assert_eq!(Header::parse(b"\x1f\x9d"), Header::Odd);
        assert_eq!(Header::parse(b"PK"), Header::Odd);
        assert_eq!(Header::parse(b"\x1f\x8b\x08\x02\0\0\0\0\0\x03"), Header::Odd);
        let named = b"\x1f\x8b\x08\x08\0\0\0\0\0\x03name\0rest";
        assert_eq!(Header::parse(named), Header::Complete(15));
        assert_eq!(Header::parse(&named[..14]), Header::Incomplete);
        let all = b"\x1f\x8b\x08\x1d\0\0\0\0\0\x03\x02\0exname\0comment\0";
        assert_eq!(Header::parse(all), Header::Complete(all.len()));
        assert_eq!(Header::parse(&all[..13]), Header::Incomplete);
    }
}
