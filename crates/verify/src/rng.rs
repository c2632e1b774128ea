//! Random choices for cases: the same seed gives the same cases everywhere.

use crate::Random;

/// A source of random choices.
pub struct Rng(Random);

impl Rng {
    /// Makes a source from this seed.
    pub fn new(seed: u64) -> Self {
        Rng(Random::new(seed))
    }

    /// Returns the next number.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// Returns a number from 0 to `end` - 1.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Returns true with this probability in percent.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns a random element.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        self.0.pick(choices)
    }
}
