//! `rand` and `srand` of mawk: the C library's `random`, an additive feedback generator over 31 words.
//!
//! mawk's own seed is made of the time; where no seed is given, any numbers are as right as those. The seed must be a constant
//! of at most 31 bits: versions of mawk read others in their own ways. gawk's numbers are not reproduced.

use std::time::{SystemTime, UNIX_EPOCH};

/// The words of the state.
const WORDS: usize = 31;
/// How far behind the word that is added lies.
const DISTANCE: usize = 3;
/// Numbers that are dropped at first.
const DROPPED: usize = 310;

/// A generator.
#[derive(Clone, Debug)]
pub(super) struct Generator {
    words: [u32; WORDS],
    at: usize,
}

impl Generator {
    /// Makes a generator that begins like the C library's.
    pub(super) fn new(seed: u32) -> Generator {
        let mut words = [0; WORDS];
        let mut word = if seed == 0 { 1 } else { seed as i32 };
        for place in &mut words {
            *place = word as u32;
            // 16807 times as much, modulo 2^31 - 1, without more than 32 bits.
            word = 16807i32.wrapping_mul(word % 127_773).wrapping_sub(2836 * (word / 127_773));
            if word < 0 {
                word = word.wrapping_add(i32::MAX);
            }
        }
        let mut generator = Generator { words, at: 0 };
        (0..DROPPED).for_each(|_| _ = generator.next());
        generator
    }

    /// Makes a generator that begins differently at each time.
    pub(super) fn of_the_time() -> Generator {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Generator::new(now.subsec_nanos() ^ now.as_secs() as u32)
    }

    /// Returns the next number of 31 bits.
    fn next(&mut self) -> u32 {
        let front = (self.at + DISTANCE) % WORDS;
        self.words[front] = self.words[front].wrapping_add(self.words[self.at]);
        self.at = (self.at + 1) % WORDS;
        self.words[front] >> 1
    }

    /// Returns the next number between 0 and 1, both included.
    pub(super) fn fraction(&mut self) -> f64 {
        f64::from(self.next()) / f64::from(i32::MAX)
    }
}

/// Returns a constant as a seed, if all versions take it for that.
pub(super) fn seed_of(number: f64) -> Option<u32> {
    (number.abs() < f64::from(i32::MAX)).then_some(number as i32 as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_c_library() {
        // The first numbers of `random` for the seed 1, as its manual's implementations agree.
        let mut generator = Generator::new(1);
        let first: Vec<u32> = (0..3).map(|_| generator.next()).collect();
        assert_eq!(first, [1_804_289_383, 846_930_886, 1_681_692_777]);
    }

    #[test]
    fn seeds_are_constants_of_31_bits() {
        assert_eq!(seed_of(3.7), Some(3));
        assert_eq!(seed_of(-5.0), Some(-5i32 as u32));
        assert_eq!(seed_of(1e10), None);
        assert_eq!(seed_of(f64::NAN), None);
    }
}
