//! Tab stops, as `expand` and `unexpand` take them.

use crate::{Accept, Declined};

/// The tab stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stops {
    /// At every multiple of this number, which is not 0.
    Every(u64),
    /// At these columns, in ascending order, and none after the last.
    At(Vec<u64>),
}

impl Stops {
    /// The default distance of two stops.
    pub(crate) const USUAL: Stops = Stops::Every(8);

    /// Parses the argument of -t: plain numbers only, no `/8` or `+8`.
    pub(crate) fn parse(list: &[u8]) -> Accept<Stops> {
        let number = |text: &[u8]| {
            let digits = text.len() <= 6 && text.iter().all(u8::is_ascii_digit);
            std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok().filter(|&stop| stop > 0)
        };
        let separator = |byte: &u8| matches!(byte, b',' | b' ' | b'\t');
        let found: Option<Vec<u64>> = list.split(separator).map(number).collect();
        match found.as_deref() {
            Some([every]) => Ok(Stops::Every(*every)),
            Some(stops) if stops.windows(2).all(|pair| pair[0] < pair[1]) => Ok(Stops::At(stops.to_vec())),
            _ => Declined::because("a tab list that is not plain"),
        }
    }

    /// Returns the first stop to the right of this column, if any.
    pub(crate) fn after(&self, column: u64) -> Option<u64> {
        match self {
            Stops::Every(size) => Some(column + size - column % size),
            Stops::At(stops) => stops.iter().copied().find(|&stop| stop > column),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lists_are_read_and_others_declined() {
        assert_eq!(Stops::parse(b"4").unwrap(), Stops::Every(4));
        assert_eq!(Stops::parse(b"3,7 9").unwrap(), Stops::At(vec![3, 7, 9]));
        for list in [&b""[..], b"0", b"7,3", b"4,4", b"/4", b"2,+3", b"4,", b"x"] {
            assert_eq!(Stops::parse(list).unwrap_err().reason, "a tab list that is not plain");
        }
    }

    #[test]
    fn the_next_stop_lies_to_the_right() {
        assert_eq!(Stops::USUAL.after(8), Some(16));
        let list = Stops::At(vec![3, 7]);
        assert_eq!([2, 3, 7].map(|column| list.after(column)), [Some(3), Some(7), None]);
    }
}
