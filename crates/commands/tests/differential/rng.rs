//! The generator of random cases: the same seed gives the same campaign everywhere.

use pelton_testkit::Random;

pub struct Rng(Random);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng(Random::new(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// From 0 to `end` - 1.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// True `percent` times of a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        self.0.pick(choices)
    }
}
