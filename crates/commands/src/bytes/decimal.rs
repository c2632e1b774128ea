//! A decimal counter kept as text and incremented in place: most steps change one digit.

use crate::bytes::short_copy::Gather;

/// The end of the digits.
const END: usize = 24;

/// A counter with fixed text before and after its digits.
#[derive(Clone, Debug)]
pub(crate) struct Decimal {
    /// Right-aligned digits and the text after them. Longer than needed, so that [`Gather`] may copy whole
    /// vectors.
    text: [u8; END + 72],
    start: usize,
    end: usize,
}

impl Decimal {
    /// Maximum length of the text.
    pub(crate) const MOST: usize = END + Decimal::BEHIND;
    /// Maximum length of the text after the digits.
    pub(crate) const BEHIND: usize = 8;
    /// Maximum width of a number in columns.
    pub(crate) const WIDTH: usize = 20;

    /// Formats `number` in at least `width` columns, padded left with `fill` (a blank or a zero), followed by
    /// `behind`.
    pub(crate) fn new(number: u64, width: usize, fill: u8, behind: &[u8]) -> Self {
        let (width, behind) = (width.min(Decimal::WIDTH), &behind[..behind.len().min(Decimal::BEHIND)]);
        let mut text = [fill; END + 72];
        let digits = number.to_string();
        text[END - digits.len()..END].copy_from_slice(digits.as_bytes());
        let end = END + behind.len();
        text[END..end].copy_from_slice(behind);
        Decimal { text, start: END - digits.len().max(width), end }
    }

    /// Adds `step`.
    #[inline(always)]
    pub(crate) fn add(&mut self, step: u32) {
        let (mut carry, mut at) = (step, END);
        while carry > 0 {
            at -= 1;
            // A blank counts as zero: the low four bits of both are zero.
            let sum = u32::from(self.text[at] & 0xf) + carry;
            self.text[at] = b'0' + (sum % 10) as u8;
            carry = sum / 10;
        }
        self.start = self.start.min(at);
    }

    /// Returns the number with the text around it.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text[self.start..self.end]
    }

    /// Writes [`text`](Decimal::text). `out` must have the capacity.
    #[inline(always)]
    pub(crate) fn put(&self, out: &mut Gather<'_>) {
        out.slice(&self.text, self.start, self.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_as_formatting_does_and_grows_beyond_its_width() {
        for (first, step) in [(0, 1), (1, 1), (7, 9), (95, 10), (99_990, 1), (0, 999), (123, 4)] {
            let (mut blanks, mut zeros, mut plain) = (
                Decimal::new(first, 6, b' ', b"\t"),
                Decimal::new(first, 6, b'0', b": "),
                Decimal::new(first, 0, b'0', b"\n"),
            );
            for number in (0..3000).map(|index| first + index * u64::from(step)) {
                assert_eq!(blanks.text(), format!("{number:>6}\t").as_bytes());
                assert_eq!(zeros.text(), format!("{number:06}: ").as_bytes());
                assert_eq!(plain.text(), format!("{number}\n").as_bytes());
                [&mut blanks, &mut zeros, &mut plain].into_iter().for_each(|decimal| decimal.add(step));
            }
        }
    }
}
