//! `-M`: the names of months, three letters in any case after blanks.

use super::number::skip_blanks;

const NAMES: [&[u8; 3]; 12] =
    [b"JAN", b"FEB", b"MAR", b"APR", b"MAY", b"JUN", b"JUL", b"AUG", b"SEP", b"OCT", b"NOV", b"DEC"];

/// Returns 1 to 12, or 0 for no month.
pub(crate) fn month(text: &[u8]) -> u8 {
    let Some(start) = skip_blanks(text).first_chunk::<3>() else { return 0 };
    let found = NAMES.iter().position(|name| start.eq_ignore_ascii_case(*name));
    found.map_or(0, |index| index as u8 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_letters_decide() {
        assert_eq!(month(b"  Jan"), 1);
        assert_eq!(month(b"DECEMBER"), 12);
        assert_eq!(month(b"ja"), 0);
        assert_eq!(month(b"xJan"), 0);
    }
}
