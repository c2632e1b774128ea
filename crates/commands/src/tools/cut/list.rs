//! The LIST of `cut`: `1,3-5,7-`.

use crate::{Accept, Declined};

/// Sorted ranges, overlaps merged. Adjacent ranges stay separate (an output delimiter goes between them).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct List(pub(super) Vec<(u64, u64)>);

impl List {
    /// Parses the list. Declines what cut rejects (0, a decreasing range, garbage).
    pub(super) fn parse(text: &[u8]) -> Accept<List> {
        let separators = |byte: &u8| matches!(byte, b',' | b' ' | b'\t');
        let mut ranges = text.split(separators).map(range).collect::<Accept<Vec<_>>>()?;
        ranges.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            match merged.last_mut() {
                Some((_, end)) if low <= *end => *end = high.max(*end),
                _ => merged.push((low, high)),
            }
        }
        Ok(List(merged))
    }

    /// Returns the gaps between and around the ranges.
    pub(super) fn complement(&self) -> List {
        let mut gaps = Vec::new();
        let mut next = 1;
        for &(low, high) in &self.0 {
            if low > next {
                gaps.push((next, low - 1));
            }
            next = high.saturating_add(1);
        }
        if next < u64::MAX {
            gaps.push((next, u64::MAX));
        }
        List(gaps)
    }
}

fn range(text: &[u8]) -> Accept<(u64, u64)> {
    let found = match memchr::memchr(b'-', text) {
        None => number(text).map(|place| (place, place)),
        Some(0) => number(&text[1..]).map(|high| (1, high)),
        Some(at) if at + 1 == text.len() => number(&text[..at]).map(|low| (low, u64::MAX)),
        Some(at) => number(&text[..at]).zip(number(&text[at + 1..])),
    };
    match found {
        Some((low, high)) if low >= 1 && low <= high => Ok((low, high)),
        _ => Declined::because("a list that cut rejects"),
    }
}

/// Parses digits. Declines very large numbers, which cut rejects at its own limit.
fn number(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.len() <= 18 && text.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_merged_but_neighbours_stay() {
        let read = |text: &str| List::parse(text.as_bytes()).map(|list| list.0);
        assert_eq!(read("3,1").unwrap(), [(1, 1), (3, 3)]);
        assert_eq!(read("1-3,2-5 7-").unwrap(), [(1, 5), (7, u64::MAX)]);
        assert_eq!(read("1-2,3-4").unwrap(), [(1, 2), (3, 4)]);
        assert_eq!(read("-3").unwrap(), [(1, 3)]);
        for wrong in ["", "0", "-", "2-1", "1,,2", "a", "1-2-3", "-0", "1,"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn complements_are_the_gaps() {
        let gaps = |text: &str| List::parse(text.as_bytes()).unwrap().complement().0;
        assert_eq!(gaps("2,5-6"), [(1, 1), (3, 4), (7, u64::MAX)]);
        assert_eq!(gaps("1-2,3"), [(4, u64::MAX)]);
        assert_eq!(gaps("1-"), []);
    }
}
