//! Sets of characters: bytes in the C locale, code points in UTF-8.
//!
//! The parser builds them from literals, brackets and classes; later stages see only sets. ASCII has 128
//! members and every set is small or a complement, so a sorted list of ranges suffices.

/// The last code point.
const LAST: u32 = 0x10_FFFF;
/// Code points that no valid UTF-8 encodes.
const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);

/// Code points that gnulib's matcher of 2020 does not know.
const LATE: [(u32, u32); 2] = [(0xD400, 0xD7FF), (0x10_8000, LAST)];

/// A set of characters as sorted, disjoint, inclusive ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CharSet {
    ranges: Vec<(u32, u32)>,
    /// What UTF-8 once encoded.
    former: Former,
}

/// Sequences of bytes that UTF-8 once had, and that glibc still decodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Former {
    /// Those of values beyond the last code point, of up to 6 bytes.
    pub(super) beyond: bool,
    /// Those of surrogates.
    pub(super) surrogates: bool,
}

impl CharSet {
    pub(super) fn none() -> Self {
        CharSet::default()
    }

    pub(super) fn one(c: u32) -> Self {
        CharSet { ranges: vec![(c, c)], ..CharSet::default() }
    }

    pub(super) fn of(chars: impl IntoIterator<Item = u32>) -> Self {
        let mut set = CharSet::none();
        chars.into_iter().for_each(|c| set.add(c, c));
        set
    }

    /// Returns every character of the charset: all bytes, or all that valid UTF-8 can encode.
    pub(super) fn all(utf8: bool) -> Self {
        let ranges =
            if utf8 { vec![(0, SURROGATES.0 - 1), (SURROGATES.1 + 1, LAST)] } else { vec![(0, 0xFF)] };
        CharSet { ranges, ..CharSet::default() }
    }

    /// Returns it with sequences that UTF-8 once had.
    pub(super) fn with_former(self, former: Former) -> Self {
        CharSet { former, ..self }
    }

    pub(super) fn former(&self) -> Former {
        self.former
    }

    /// Returns it without the characters that gnulib's matcher of 2020 does not know.
    pub(super) fn without_late(&self) -> Self {
        self.minus(&CharSet { ranges: LATE.to_vec(), ..CharSet::default() })
    }

    pub(super) fn add(&mut self, first: u32, last: u32) {
        self.ranges.push((first, last));
        self.normalise();
    }

    pub(super) fn join(&mut self, other: &CharSet) {
        self.ranges.extend(&other.ranges);
        self.former.beyond |= other.former.beyond;
        self.former.surrogates |= other.former.surrogates;
        self.normalise();
    }

    fn normalise(&mut self) {
        self.ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(self.ranges.len());
        for &(first, last) in &self.ranges {
            match merged.last_mut() {
                Some(open) if first <= open.1.saturating_add(1) => open.1 = open.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        self.ranges = merged;
    }

    pub(super) fn minus(&self, other: &CharSet) -> CharSet {
        let mut kept = Vec::new();
        for &(mut first, last) in &self.ranges {
            for &(low, high) in &other.ranges {
                if high < first || low > last {
                    continue;
                }
                if low > first {
                    kept.push((first, low - 1));
                }
                first = high + 1;
            }
            if first <= last {
                kept.push((first, last));
            }
        }
        CharSet {
            ranges: kept,
            former: Former {
                beyond: self.former.beyond && !other.former.beyond,
                surrogates: self.former.surrogates && !other.former.surrogates,
            },
        }
    }

    pub(super) fn complement(&self, utf8: bool) -> CharSet {
        CharSet::all(utf8).minus(self)
    }

    pub(super) fn contains(&self, c: u32) -> bool {
        self.ranges.iter().any(|&(first, last)| first <= c && c <= last)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.former == Former::default()
    }

    pub(super) fn is_ascii(&self) -> bool {
        self.former == Former::default() && self.ranges.last().is_none_or(|&(_, last)| last < 0x80)
    }

    /// Returns the number of members, without those that UTF-8 once encoded.
    pub(super) fn len(&self) -> usize {
        self.ranges.iter().map(|&(first, last)| (last - first + 1) as usize).sum()
    }

    pub(super) fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges.iter().flat_map(|&(first, last)| first..=last)
    }
}

/// Returns the bytes of a character.
pub(super) fn encode(c: u32, utf8: bool) -> Vec<u8> {
    match char::from_u32(c) {
        Some(c) if utf8 => c.to_string().into_bytes(),
        _ => vec![c as u8],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_and_are_taken_away() {
        let mut set = CharSet::of([b'c', b'a', b'b', b'x'].map(u32::from));
        assert_eq!(set.ranges(), [(97, 99), (120, 120)]);
        set.add(98, 110);
        assert_eq!(set.minus(&CharSet::of([100, 120])).ranges(), [(97, 99), (101, 110)]);
        assert_eq!(set.complement(false).ranges(), [(0, 96), (111, 119), (121, 255)]);
        assert_eq!(CharSet::none().complement(true).len(), 0x11_0000 - 0x800);
    }
}
