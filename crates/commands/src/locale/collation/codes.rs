//! The first level in few bytes: a code for each weight that ASCII has, and an escape for all others.
//!
//! ```text
//!   Straße-7   weights  c589 c598 c5ac 51 c589 c589 7e 4e      codes  S T R A S S E 7
//!   þ          weight   c5a1, behind T and before U            codes  T ff c5 a1
//! ```
//! A weight is a number in the form of UTF-8, so none begins with another one. Codes are in the order of the weights. A
//! weight without a code follows that of the last lower code, and a byte above all codes: behind what else begins with
//! that code, and before the next one.

use pelton_simd::compact::{self, Run};

use super::levels::Levels;
use super::sequences::Sequences;

/// Precedes a weight without a code, behind a code.
const ESCAPE: u8 = 0xff;
/// Stands before the escape of a weight below all codes.
const BELOW_ALL: u8 = 1;
/// The first code where the characters themselves are no codes.
const FIRST: u8 = 2;
/// More ranges of bytes take longer than a look into the table for each byte.
const RANGES_MAX: usize = 10;
/// Shorter texts are looked up byte by byte.
const VECTOR_MIN: usize = 12;
/// So many bytes are looked up at once: each of them may be followed by others than ASCII, and then was in vain.
const NEAR: usize = 1024;

/// The codes of a locale.
pub(super) struct Codes {
    /// The code of each ASCII character.
    ascii: Box<[AsciiCode; 128]>,
    /// The weights that have codes, in order.
    weights: Vec<(&'static [u8], u8)>,
    /// The codes as ranges of bytes, if they are few.
    ranges: Option<Ranges>,
}

/// The code of an ASCII character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct AsciiCode {
    /// Its code, or [`Codes::IGNORED`].
    code: u8,
    /// Valid only before ASCII or the end.
    before_ascii: bool,
    /// Never valid: NUL, what may begin an element of several ASCII characters, and what has several weights.
    unknown: bool,
}

/// Which bytes become others, and which are dropped.
#[derive(Debug)]
struct Ranges {
    moved: Vec<Run>,
    dropped: Vec<Run>,
}

impl Codes {
    /// Instead of the code of a character without weights in the first level.
    pub(super) const IGNORED: u8 = 0;

    pub(super) fn new(sequences: &Sequences, levels: &Levels) -> Codes {
        let weights_of = |byte: u8| levels.first_weights(sequences.first_of(&[byte]).0);
        let is_unknown = |byte: u8| {
            let weights = weights_of(byte);
            byte == 0 || sequences.may_go_on_in_ascii(byte) || first_weight(weights).len() < weights.len()
        };
        let mut known: Vec<(&'static [u8], u8)> = (0..128)
            .filter(|byte| !is_unknown(*byte))
            .map(|byte| (weights_of(byte), byte))
            .filter(|(weights, _)| !weights.is_empty())
            .collect();
        known.sort_unstable();
        known.dedup_by_key(|(weights, _)| *weights);
        // The first character of each weight is its code, if these are in order.
        let is_ordered = known.is_sorted_by(|(_, before), (_, byte)| before < byte);
        let weights: Vec<(&'static [u8], u8)> =
            match is_ordered && known.iter().all(|(_, byte)| *byte >= FIRST) {
                true => known,
                false => (FIRST..).zip(&known).map(|(code, (weights, _))| (*weights, code)).collect(),
            };
        let mut ascii = Box::new([AsciiCode::default(); 128]);
        for (byte, one) in (0..128).zip(ascii.iter_mut()) {
            one.unknown = is_unknown(byte);
            one.before_ascii = sequences.may_go_on(byte);
            if let Ok(at) = weights.binary_search_by_key(&weights_of(byte), |(weights, _)| *weights) {
                one.code = weights[at].1;
            }
        }
        let ranges = Ranges::of(&ascii);
        Codes { ascii, weights, ranges }
    }

    /// Returns the code of the character at this offset, if it is ASCII and an element by itself here.
    #[inline]
    pub(super) fn at(&self, text: &[u8], at: usize) -> Option<u8> {
        let one = self.ascii.get(usize::from(*text.get(at)?))?;
        let stands_alone = !one.before_ascii || text.get(at + 1).is_none_or(u8::is_ascii);
        (!one.unknown && stands_alone).then_some(one.code)
    }

    /// Returns the length of the common prefix of characters that are elements by themselves in both texts.
    pub(super) fn common_prefix(&self, a: &[u8], b: &[u8]) -> usize {
        let goes_on = |at: usize, byte: u8| {
            let ends = |text: &[u8]| text.get(at + 1).is_none_or(u8::is_ascii);
            let one = self.ascii.get(usize::from(byte)).filter(|one| !one.unknown);
            one.is_some_and(|one| !one.before_ascii || ends(a) && ends(b))
        };
        let pairs = a.iter().zip(b).enumerate();
        pairs.take_while(|(at, (one, other))| one == other && goes_on(*at, **one)).count()
    }

    pub(super) fn are_alike_in_any_case(&self) -> bool {
        (b'a'..=b'z').all(|byte| {
            let [lower, upper] = [byte, byte.to_ascii_uppercase()].map(|byte| self.ascii[usize::from(byte)]);
            lower == upper && !lower.unknown
        })
    }

    /// Appends the codes of ASCII characters at the beginning of `text`: of no more than there are before one that has
    /// none. Returns how many characters that were.
    #[inline]
    pub(super) fn append_ascii(&self, text: &[u8], out: &mut Vec<u8>) -> usize {
        let start = out.len();
        let ends_at = |length: usize| match text.get(length).is_none_or(u8::is_ascii) {
            true => length,
            false => length - 1,
        };
        let near = &text[..if text.len() <= NEAR { text.len() } else { ends_at(NEAR) }];
        if let Some(ranges) = &self.ranges
            && near.len() >= VECTOR_MIN
            && near.is_ascii()
            && memchr::memchr(0, near).is_none()
        {
            out.resize(start + near.len() + compact::ROOM, 0);
            let length = compact::move_and_drop(near, &ranges.moved, &ranges.dropped, &mut out[start..]);
            out.truncate(start + length.unwrap_or(0));
            if length.is_some() {
                return near.len();
            }
        }
        out.resize(start + near.len() + 1, 0);
        let room = &mut out[start..];
        let (mut at, mut end) = (0, 0);
        while let Some(code) = self.at(text, at).filter(|_| at < near.len()) {
            room[end] = code;
            end += usize::from(code != Codes::IGNORED);
            at += 1;
        }
        out.truncate(start + end);
        at
    }

    /// Returns the first eight codes, the first one in the highest bits, zeros behind the last one.
    #[inline]
    pub(super) fn window(&self, text: &[u8]) -> Option<u64> {
        let (mut window, mut free) = (0, u64::BITS);
        for at in 0..text.len() {
            let code = self.at(text, at)?;
            if code != Codes::IGNORED {
                free -= u8::BITS;
                window |= u64::from(code) << free;
                if free == 0 {
                    break;
                }
            }
        }
        Some(window)
    }

    /// Appends the codes of an element's weights.
    pub(super) fn append(&self, mut weights: &'static [u8], out: &mut Vec<u8>) {
        while !weights.is_empty() {
            let (weight, others) = weights.split_at(first_weight(weights).len());
            weights = others;
            match self.weights.binary_search_by_key(&weight, |(weight, _)| *weight) {
                Ok(at) => out.push(self.weights[at].1),
                Err(behind) => {
                    let below = behind.checked_sub(1).map_or(BELOW_ALL, |at| self.weights[at].1);
                    out.extend_from_slice(&[below, ESCAPE]);
                    out.extend_from_slice(weight);
                }
            }
        }
    }
}

impl Ranges {
    /// `None` if they would be many, or if there are characters of which the table has to be asked.
    fn of(ascii: &[AsciiCode; 128]) -> Option<Ranges> {
        let mut ranges = Ranges { moved: Vec::new(), dropped: Vec::new() };
        for (byte, one) in (1..128).zip(&ascii[1..]) {
            if one.unknown {
                return None;
            }
            let shift = one.code.wrapping_sub(byte);
            match (one.code, shift) {
                (Codes::IGNORED, _) => extend(&mut ranges.dropped, byte, 0),
                (_, 0) => {}
                _ => extend(&mut ranges.moved, byte, shift),
            }
        }
        (ranges.moved.len() + ranges.dropped.len() <= RANGES_MAX).then_some(ranges)
    }
}

/// Adds a byte to the last range, or to a new one.
fn extend(runs: &mut Vec<Run>, byte: u8, shift: u8) {
    match runs.last_mut() {
        Some(run) if run.low + run.span + 1 == byte && run.shift == shift => run.span += 1,
        _ => runs.push(Run { low: byte, span: 0, shift }),
    }
}

/// Returns the first of several weights.
fn first_weight(weights: &[u8]) -> &[u8] {
    let length = match weights.first() {
        None => 0,
        Some(first) => (first.leading_ones() as usize).max(1),
    };
    &weights[..length.min(weights.len())]
}
