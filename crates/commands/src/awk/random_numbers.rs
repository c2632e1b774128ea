//! `rand` and `srand` of mawk and gawk: additive feedback generators, as the C library has them for a state of any size.
//!
//! - mawk takes the C library's `random`. Its own seed is made of the time; where no seed is given, any numbers are as right
//!   as those.
//! - The one true awk takes that too, and its seed is 1.
//! - gawk brings a generator of 63 words, whose numbers it shuffles after Bays and Durham (ACM Transactions on Mathematical
//!   Software 2, 1976), and makes two of them into one fraction. Its own seed is 1.
//!
//! A seed must be a constant of at most 31 bits: versions of mawk read others in their own ways.

use std::time::{SystemTime, UNIX_EPOCH};

use super::rules;

/// A generator.
#[derive(Clone, Debug)]
pub(super) enum Generator {
    Mawk(Feedback),
    Gawk(Shuffled),
}

impl Generator {
    /// Makes a generator that begins as the awk's does with this seed.
    pub(super) fn new(seed: u32) -> Generator {
        match rules::is_gawk() {
            true => Generator::Gawk(Shuffled::new(seed)),
            false => Generator::Mawk(Feedback::of_c_library(seed)),
        }
    }

    /// Makes a generator for a program that gives no seed.
    pub(super) fn unseeded() -> Generator {
        if rules::is_mawk() { Generator::of_the_time() } else { Generator::new(1) }
    }

    /// Makes a generator that begins differently at each time.
    pub(super) fn of_the_time() -> Generator {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Generator::new(now.subsec_nanos() ^ now.as_secs() as u32)
    }

    /// Returns the next number between 0 and 1: in mawk both included, in the others without 1.
    pub(super) fn fraction(&mut self) -> f64 {
        match self {
            Generator::Mawk(feedback) if rules::is_one_true() => f64::from(feedback.next()) / 2_147_483_648.0,
            Generator::Mawk(feedback) => f64::from(feedback.next()) / f64::from(i32::MAX),
            Generator::Gawk(shuffled) => shuffled.fraction(),
        }
    }
}

/// An additive feedback generator: each number is the sum of two words of its state, a fixed distance apart.
#[derive(Clone, Debug)]
pub(super) struct Feedback {
    words: Box<[u32]>,
    distance: usize,
    at: usize,
}

impl Feedback {
    /// Makes the C library's generator, which drops the first numbers.
    fn of_c_library(seed: u32) -> Feedback {
        let mut feedback = Feedback::filled(if seed == 0 { 1 } else { seed as i32 }, 31, 3);
        (0..310).for_each(|_| _ = feedback.next());
        feedback
    }

    fn filled(seed: i32, count: usize, distance: usize) -> Feedback {
        let following = |word: &i32| {
            // 16807 times as much, modulo 2^31 - 1, without more than 32 bits. gawk takes this for 0.
            let word = if *word == 0 { 123_459_876 } else { *word };
            let next = 16807i32.wrapping_mul(word % 127_773).wrapping_sub(2836 * (word / 127_773));
            Some(if next < 0 { next.wrapping_add(i32::MAX) } else { next })
        };
        let words =
            std::iter::successors(Some(seed), following).take(count).map(i32::cast_unsigned).collect();
        Feedback { words, distance, at: 0 }
    }

    /// Returns the next number of 31 bits.
    fn next(&mut self) -> u32 {
        let count = self.words.len();
        let front = (self.at + self.distance) % count;
        self.words[front] = self.words[front].wrapping_add(self.words[self.at]);
        self.at = (self.at + 1) % count;
        self.words[front] >> 1
    }
}

/// A table of numbers from which the last one chooses the next.
#[derive(Clone, Debug)]
pub(super) struct Shuffled {
    feedback: Feedback,
    table: Box<[u32]>,
    last: u32,
}

impl Shuffled {
    /// How many numbers the table has.
    const SIZE: usize = 512;
    /// How many numbers gawk drops at first: ten for each word.
    const DROPPED: usize = 630;

    fn new(seed: u32) -> Shuffled {
        let mut feedback = Feedback::filled(seed.cast_signed(), 63, 1);
        let table = (0..Self::SIZE).map(|_| feedback.next()).collect();
        let last = feedback.next();
        let mut shuffled = Shuffled { feedback, table, last };
        (0..Self::DROPPED).for_each(|_| _ = shuffled.next());
        shuffled
    }

    fn next(&mut self) -> u32 {
        let place = self.last as usize % Self::SIZE;
        self.last = std::mem::replace(&mut self.table[place], self.feedback.next());
        self.last
    }

    /// Returns two numbers as one fraction below 1, without bits below 2^-53.
    fn fraction(&mut self) -> f64 {
        const RANGE: f64 = 2_147_483_648.0;
        loop {
            let (low, high) = (f64::from(self.next()), f64::from(self.next()));
            let fraction = 0.5 + (low / RANGE + high) / RANGE - 0.5;
            if fraction != 1.0 {
                return fraction;
            }
        }
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
        let mut feedback = Feedback::of_c_library(1);
        let first: Vec<u32> = (0..3).map(|_| feedback.next()).collect();
        assert_eq!(first, [1_804_289_383, 846_930_886, 1_681_692_777]);
    }

    #[test]
    fn numbers_are_those_of_gawk() {
        // As gawk 5.1.0, 5.2.1 and 5.3.2 print them with `%.17g`.
        for (seed, first) in [
            (1, [0.924_045_815_399_124_7, 0.593_908_619_295_878_2]),
            (7, [0.112_895_162_937_341_14, 0.426_237_279_287_007_7]),
        ] {
            let mut shuffled = Shuffled::new(seed);
            assert_eq!([shuffled.fraction(), shuffled.fraction()], first);
        }
    }

    #[test]
    fn seeds_are_constants_of_31_bits() {
        assert_eq!(seed_of(3.7), Some(3));
        assert_eq!(seed_of(-5.0), Some(-5i32 as u32));
        assert_eq!(seed_of(1e10), None);
        assert_eq!(seed_of(f64::NAN), None);
    }
}
