//! Sets of bytes, and maps from bytes to bytes.

use std::fmt;

/// A set of byte values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// Returns the empty set.
    pub const fn none() -> Self {
        ByteSet([0; 4])
    }

    /// Returns the set of all bytes.
    pub const fn all() -> Self {
        ByteSet([u64::MAX; 4])
    }

    /// Returns the bytes for which `member` is true.
    pub fn where_(member: impl Fn(u8) -> bool) -> Self {
        (0..=255).filter(|&byte| member(byte)).collect()
    }

    /// Adds a byte.
    pub fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    /// Whether it holds `byte`.
    pub fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    /// Returns the union.
    pub fn union(mut self, other: &ByteSet) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine |= theirs);
        self
    }

    /// Whether both sets share a byte.
    pub fn intersects(&self, other: &ByteSet) -> bool {
        self.0.iter().zip(other.0).any(|(mine, theirs)| mine & theirs != 0)
    }

    /// Returns the complement.
    pub fn complement(mut self) -> Self {
        self.0.iter_mut().for_each(|word| *word = !*word);
        self
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// Returns the set as a bitmap.
    pub(crate) fn words(&self) -> [u64; 4] {
        self.0
    }

    /// Iterates in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=255).filter(|&byte| self.contains(byte))
    }
}

impl FromIterator<u8> for ByteSet {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> Self {
        let mut set = ByteSet::none();
        bytes.into_iter().for_each(|byte| set.insert(byte));
        set
    }
}

impl fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<u8> = self.iter().collect();
        write!(f, "ByteSet({:?})", String::from_utf8_lossy(&shown))
    }
}

/// A map of each byte to another byte or to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteMap {
    /// The result for each byte that is not deleted.
    pub to: [u8; 256],
    /// The bytes that are deleted.
    pub deleted: ByteSet,
}

impl ByteMap {
    /// Returns the identity map.
    pub fn identity() -> Self {
        ByteMap { to: std::array::from_fn(|byte| byte as u8), deleted: ByteSet::none() }
    }

    /// Composes this map with `next`, which is applied second.
    pub fn then(&self, next: &ByteMap) -> ByteMap {
        ByteMap {
            to: self.to.map(|byte| next.to[usize::from(byte)]),
            deleted: ByteSet::where_(|byte| {
                self.deleted.contains(byte) || next.deleted.contains(self.to[usize::from(byte)])
            }),
        }
    }

    /// Returns the bytes that can appear where they were not.
    pub fn creates(&self) -> ByteSet {
        (0..=255u8)
            .filter(|&byte| !self.deleted.contains(byte))
            .map(|byte| (byte, self.to[usize::from(byte)]))
            .filter(|(from, to)| from != to)
            .map(|(_, to)| to)
            .collect()
    }

    /// Returns the bytes that can disappear from where they were.
    pub fn removes(&self) -> ByteSet {
        ByteSet::where_(|byte| self.deleted.contains(byte) || self.to[usize::from(byte)] != byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composing_is_running_one_after_the_other() {
        let mut first = ByteMap::identity();
        first.to[usize::from(b'a')] = b'b';
        let mut second = ByteMap::identity();
        second.deleted.insert(b'b');
        second.to[usize::from(b'c')] = b'd';
        let both = first.then(&second);
        assert!(both.deleted.contains(b'a') && both.deleted.contains(b'b') && !both.deleted.contains(b'c'));
        assert_eq!(both.to[usize::from(b'c')], b'd');
        assert_eq!(both.creates().iter().collect::<Vec<_>>(), b"d");
        assert_eq!(both.removes().iter().collect::<Vec<_>>(), b"abc");
    }
}
