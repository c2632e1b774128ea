//! Minimal arithmetic on large integers, to round decimal fractions exactly.

/// A large unsigned integer; the lowest word comes first, the highest is not zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct Big {
    words: Vec<u64>,
}

impl From<u64> for Big {
    fn from(value: u64) -> Self {
        let mut big = Big::default();
        big.multiply_add(1, value);
        big
    }
}

impl Big {
    /// Sets `self` to `self * factor + addend`.
    pub(crate) fn multiply_add(&mut self, factor: u64, addend: u64) {
        let mut carry = addend;
        for word in &mut self.words {
            let wide = u128::from(*word) * u128::from(factor) + u128::from(carry);
            *word = wide as u64;
            carry = (wide >> u64::BITS) as u64;
        }
        if carry != 0 {
            self.words.push(carry);
        }
    }

    /// Sets `self` to `self * 5^count`.
    pub(crate) fn multiply_by_power_of_five(&mut self, count: u64) {
        const STEP: u32 = 27;
        for _ in 0..count / u64::from(STEP) {
            self.multiply_add(5u64.pow(STEP), 0);
        }
        self.multiply_add(5u64.pow((count % u64::from(STEP)) as u32), 0);
    }

    /// Returns the highest bits (all, or at least 65), the number of lower bits, and whether any of those is
    /// set.
    pub(crate) fn top(&self) -> (u128, u64, bool) {
        let Some((first, rest)) = self.words.split_last() else { return (0, 0, false) };
        let Some((second, below)) = rest.split_last() else { return (u128::from(*first), 0, false) };
        let top = u128::from(*first) << u64::BITS | u128::from(*second);
        (top, below.len() as u64 * 64, below.iter().any(|word| *word != 0))
    }

    /// Divides. Returns 66 or 67 bits of the quotient, their power of two, and whether there is a remainder.
    pub(crate) fn divide(mut self, mut divisor: Big) -> (u128, i64, bool) {
        const QUOTIENT_BITS: i64 = 67;
        // Aligned to the same bit length, so that each step of the division yields one bit.
        let shift = divisor.bits() as i64 - self.bits() as i64;
        if shift >= 0 {
            self.shift_left(shift as u64)
        } else {
            divisor.shift_left(shift.unsigned_abs())
        }
        let mut quotient = 0;
        for _ in 0..QUOTIENT_BITS {
            quotient <<= 1;
            if self.at_least(&divisor) {
                self.subtract(&divisor);
                quotient |= 1;
            }
            self.shift_left(1);
        }
        (quotient, 1 - QUOTIENT_BITS - shift, !self.words.is_empty())
    }

    fn bits(&self) -> u64 {
        self.words.last().map_or(0, |top| self.words.len() as u64 * 64 - u64::from(top.leading_zeros()))
    }

    fn shift_left(&mut self, bits: u64) {
        let (words, bits) = ((bits / 64) as usize, bits % 64);
        self.multiply_add(1 << bits, 0);
        if words > 0 && !self.words.is_empty() {
            self.words.splice(0..0, std::iter::repeat_n(0, words));
        }
    }

    fn at_least(&self, other: &Big) -> bool {
        let len = self.words.len().cmp(&other.words.len());
        len.then_with(|| self.words.iter().rev().cmp(other.words.iter().rev())).is_ge()
    }

    /// Sets `self` to `self - other`, which must not be negative.
    fn subtract(&mut self, other: &Big) {
        let mut borrow = false;
        for (index, word) in self.words.iter_mut().enumerate() {
            let theirs = other.words.get(index).copied().unwrap_or(0);
            let (less, first) = word.overflowing_sub(theirs);
            let (less, second) = less.overflowing_sub(u64::from(borrow));
            *word = less;
            borrow = first || second;
        }
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_yields_bits_and_a_rest() {
        // 10 / 3 = 3.33…
        let (quotient, exponent, rest) = Big::from(10).divide(Big::from(3));
        assert!(rest);
        assert_eq!((quotient as f64) * 2f64.powi(exponent as i32), 10.0 / 3.0);
        let (quotient, exponent, rest) = Big::from(12).divide(Big::from(3));
        assert!(!rest);
        assert_eq!((quotient as f64) * 2f64.powi(exponent as i32), 4.0);
    }

    #[test]
    fn the_top_of_a_large_number() {
        let mut big = Big::from(1);
        big.shift_left(200);
        big.multiply_add(1, 1);
        let (top, below, sticky) = big.top();
        assert_eq!((top >> (200 - below), sticky), (1, true));
        let (top, below, sticky) = Big::from(7).top();
        assert_eq!((top, below, sticky), (7, 0, false));
    }
}
