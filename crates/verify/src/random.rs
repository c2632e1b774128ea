//! Pseudo-random numbers that are the same everywhere.

/// SplitMix64 (Steele, Lea and Flood, 2014): small, and good enough for test data. It is implemented here so
/// that no dependency update can change the data.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Makes a generator from this seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Returns the next number.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`; 0 if `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// Returns true with this probability in percent.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Returns true with probability 1/`limit`.
    pub fn one_in(&mut self, limit: usize) -> bool {
        self.below(limit) == 0
    }

    /// Returns a random element.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Returns a random element by reference.
    pub fn of<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}
