//! Finds matching lines without finding the matches: from [`windows`](super::windows) of byte sets, including
//! line ends, or from the length of the line.
//!
//! Counts, and lines that do not match among many that do, look at no other line: a match is a carry that runs
//! through the line to its end, so that one addition decides for 64 bytes which of the lines that end there
//! match.

use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memrchr};
use pelton_simd::byte_masks;
use pelton_simd::sequences::{STEP, Sequences};

use crate::ByteSet;

use super::chars::CharSet;
use super::engine::Engine;
use super::node::{Look, Node};
use super::windows::{Window, Windows};

/// How to find matching lines.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    how: How,
    /// Whether a match starts at the start of its line.
    anchored: bool,
    /// Close candidates that did not match, minus those that did.
    distrust: u32,
}

#[derive(Clone, Debug)]
enum How {
    /// Lines with one of these windows are candidates.
    Windows(Arc<Held>),
    /// A line has a certain number of characters out of a set.
    Length(Length),
}

#[derive(Debug)]
struct Held {
    windows: Sequences,
    /// Whether candidates match.
    suffice: bool,
    /// Whether a window may begin with the end of the previous line.
    begins_before: bool,
    /// For one-byte windows of which only these ASCII bytes suffice: others belong to multibyte characters.
    ascii: Option<Sequences>,
}

/// Which characters of the line are counted.
#[derive(Clone, Copy, Debug)]
enum Part {
    All,
    /// Some at its start suffice.
    First,
    /// Some at its end.
    Last,
}

/// A number of characters out of a set.
#[derive(Clone, Debug)]
struct Length {
    min: usize,
    max: usize,
    /// Whether only ASCII is decided here.
    utf8: bool,
    part: Part,
    /// Bytes outside the set. `None`: there are none besides newlines.
    others: Option<Arc<Sequences>>,
}

/// After this many close candidates without a match, they are no longer searched.
const DISTRUST_MAX: u32 = 64;
/// Bytes that a candidate must skip to pay.
const SKIPPED_MIN: usize = 64;
/// Length of the longest character.
const CHAR_BYTES_MAX: usize = 6;
/// Words of bits held at once.
const WORDS: usize = 128;
/// Lines in the sample for the density of matches.
const SAMPLE: usize = 8;
/// Bytes between matches that count as dense.
const DENSE_BYTES: usize = 256;
/// Minimum number of wanted lines for counting by block.
const COUNTED_MIN: u64 = 64;

impl Lines {
    /// `None` if matching lines cannot be found like this. Lines end at newlines.
    pub(super) fn new(node: &Node, utf8: bool) -> Option<Lines> {
        let held = |windows: &Windows| Some(How::Windows(Arc::new(Held::new(windows)?)));
        let of_char = Held::of_char(node, utf8).map(|held| How::Windows(Arc::new(held)));
        let how = match (of_char, Length::new(node, utf8), Windows::new(node, utf8)) {
            (Some(of_char), ..) => of_char,
            // If only the length decides, a window would match everywhere.
            (_, Some(length), _) if length.others.is_none() => How::Length(length),
            (_, _, Some(windows)) if windows.suffice => held(&windows)?,
            (_, Some(length), _) => How::Length(length),
            (.., windows) => held(&windows?)?,
        };
        Some(Lines { how, anchored: node.is_line_anchored(), distrust: 0 })
    }

    /// Whether every candidate matches, unless it has characters beyond ASCII.
    pub(super) fn suffice(&self) -> bool {
        match &self.how {
            How::Windows(held) => held.suffice,
            How::Length(_) => true,
        }
    }

    /// Whether searching candidates does not pay.
    pub(super) fn fail(&self) -> bool {
        self.distrust >= DISTRUST_MAX
    }

    /// Returns the first matching line at or after `at`. `Err`: candidates [fail](Self::fail), and no line
    /// before this offset matches.
    #[inline]
    pub(super) fn next(
        &mut self,
        engine: &mut Engine,
        block: &[u8],
        mut at: usize,
    ) -> Result<Option<Range<usize>>, usize> {
        while at < block.len() {
            let (line, verdict) = match &self.how {
                How::Length(length) => {
                    let end = memchr(b'\n', &block[at..]).map_or(block.len(), |end| at + end);
                    (at..end, length.judge(&block[at..end]))
                }
                How::Windows(held) => match held.next(block, at) {
                    None => return Ok(None),
                    Some(found) => found,
                },
            };
            let matches = verdict.unwrap_or_else(|| match self.anchored {
                true => engine.matches_at(block, line.clone()),
                false => engine.first_end(block, line.clone()).is_some(),
            });
            if let (None, How::Windows(held)) = (verdict, &self.how)
                && held.ascii.is_none()
            {
                let pays = line.start - at >= SKIPPED_MIN;
                self.distrust = if pays { self.distrust.saturating_sub(1) } else { self.distrust + 1 };
            }
            if matches {
                return Ok(Some(line));
            }
            at = line.end + 1;
            if self.fail() {
                return Err(at.min(block.len()));
            }
        }
        Ok(None)
    }

    /// Returns the number of matching lines, if known without finding all of them.
    pub(super) fn count(&mut self, engine: &mut Engine, block: &[u8], wanted: u64) -> Option<u64> {
        if wanted < COUNTED_MIN {
            return None;
        }
        match self.how.clone() {
            How::Length(length) => Some(length.count(block, |line| engine.first_end(block, line).is_some())),
            How::Windows(held) if held.counts() => Some(self.count_held(&held, engine, block)),
            How::Windows(_) => None,
        }
    }

    /// Calls `found` for each line that does not match, in order, if matches are so dense that marking them all
    /// is faster than finding one after another. Otherwise returns `false` and calls nothing.
    pub(super) fn each_unmatched(
        &mut self,
        engine: &mut Engine,
        block: &[u8],
        mut found: impl FnMut(Range<usize>),
    ) -> bool {
        if !self.marks() || !self.are_dense(engine, block) {
            return false;
        }
        let whole = memrchr(b'\n', block).map_or(0, |newline| newline + 1);
        let marked = &block[..whole];
        let matches = |engine: &mut Engine, line| engine.first_end(marked, line).is_some();
        match &self.how {
            How::Length(length) => length.each(marked, |line, known| {
                if !known.unwrap_or_else(|| matches(engine, line.clone())) {
                    found(line);
                }
            }),
            How::Windows(held) => held.each_unmatched(marked, |line| matches(engine, line), &mut found),
        }
        if whole < block.len() && !matches!(self.next(engine, &block[whole..], 0), Ok(Some(_))) {
            found(whole..block.len());
        }
        true
    }

    /// Whether matching lines can be marked in a block without finding them one after another.
    fn marks(&self) -> bool {
        match &self.how {
            How::Length(_) => true,
            How::Windows(held) => held.counts(),
        }
    }

    /// Whether the first matching lines are close to each other.
    fn are_dense(&mut self, engine: &mut Engine, block: &[u8]) -> bool {
        let (found, end) = self.sample(engine, block, 0);
        found == SAMPLE && end < SAMPLE * DENSE_BYTES
    }

    /// Finds a sample of matching lines from `at` on. Returns their number, which is smaller only if there are
    /// no more, and where the last one ends.
    fn sample(&mut self, engine: &mut Engine, block: &[u8], mut at: usize) -> (usize, usize) {
        for found in 0..SAMPLE {
            let Ok(Some(line)) = self.next(engine, block, at) else { return (found, at) };
            at = (line.end + 1).min(block.len());
        }
        (SAMPLE, at)
    }

    fn count_held(&mut self, held: &Held, engine: &mut Engine, block: &[u8]) -> u64 {
        let (mut count, mut at) = (0, 0);
        loop {
            let (found, end) = self.sample(engine, block, at);
            count += found as u64;
            if found < SAMPLE {
                return count;
            }
            let from = std::mem::replace(&mut at, end);
            if at - from < SAMPLE * DENSE_BYTES {
                break;
            }
        }
        let whole = memrchr(b'\n', &block[at..]).map_or(at, |newline| at + newline + 1);
        if let Ok(Some(_)) = self.next(engine, &block[whole..], 0) {
            count += 1;
        }
        let block = &block[at..whole];
        count + held.count(block, |line| engine.first_end(block, line).is_some())
    }
}

impl Held {
    fn new(found: &Windows) -> Option<Held> {
        let begins_before = found.windows.iter().any(|window| window[0].contains(b'\n'));
        let windows = sequences(&found.windows)?;
        Some(Held { windows, suffice: found.suffice, begins_before, ascii: None })
    }

    /// Handles one or more characters of a set with many multibyte members.
    fn of_char(node: &Node, utf8: bool) -> Option<Held> {
        let set = match node {
            Node::Group(_, body) | Node::Repeat { body, min: 1, .. } => return Held::of_char(body, utf8),
            Node::Set(set) if utf8 && !set.is_ascii() => set,
            _ => return None,
        };
        let ascii = ascii(set);
        let wide = ByteSet::where_(|byte| !byte.is_ascii());
        if ascii.is_empty() {
            return None;
        }
        let one = |set: ByteSet| sequences(&[vec![set]]);
        Some(Held {
            windows: one(ascii.union(&wide))?,
            suffice: true,
            begins_before: false,
            ascii: Some(one(ascii)?),
        })
    }

    /// Returns the next line that may match, from the start of a line on, and whether it does, if known.
    #[inline]
    fn next(&self, block: &[u8], at: usize) -> Option<(Range<usize>, Option<bool>)> {
        let (start, from) = match self.find(block, at)? {
            None => (at, at),
            Some(found) if block[found] == b'\n' => (found + 1, found + 1),
            Some(found) => {
                let before = memrchr(b'\n', &block[at..found]);
                (before.map_or(at, |newline| at + newline + 1), found)
            }
        };
        let end = memchr(b'\n', &block[from..]).map_or(block.len(), |newline| from + newline);
        let sure = self.suffice && (self.ascii.is_none() || block[from].is_ascii());
        Some((start..end, sure.then_some(true)))
    }

    /// Returns the offset of the next window; `Some(None)`: at the start of the line, with the newline
    /// before.
    #[inline]
    fn find(&self, block: &[u8], at: usize) -> Option<Option<usize>> {
        if self.begins_before && self.begins_with_line(&block[at..]) {
            return Some(None);
        }
        if let Some((found, _)) = self.windows.find(&block[at..]) {
            return Some(Some(at + found));
        }
        if block.ends_with(b"\n") {
            return None;
        }
        // The last line has no newline, but an end.
        let near = at.max(block.len().saturating_sub(self.windows.longest()));
        let mut ends = (near..block.len())
            .filter(|from| self.windows.length(block[*from..].iter().copied().chain([b'\n'])).is_some());
        ends.next().map(Some)
    }

    /// Whether the line that starts here has a window that includes the newline before.
    #[inline]
    fn begins_with_line(&self, block: &[u8]) -> bool {
        let near = &block[..block.len().min(self.windows.longest())];
        let is_last = near.len() == block.len() && !block.ends_with(b"\n");
        let behind = is_last.then_some(b'\n');
        self.windows.length([b'\n'].into_iter().chain(near.iter().copied()).chain(behind)).is_some()
    }

    /// Whether matching lines can be counted without finding them.
    fn counts(&self) -> bool {
        self.suffice && self.sure().is_exact()
    }

    /// Returns the windows that suffice.
    fn sure(&self) -> &Sequences {
        self.ascii.as_ref().unwrap_or(&self.windows)
    }

    /// Counts matching lines among whole ones. `maybe` decides unknown cases.
    fn count(&self, block: &[u8], mut maybe: impl FnMut(Range<usize>) -> bool) -> u64 {
        let mut count = 0;
        self.mark(block, |at, matching, others| {
            count += u64::from(matching.count_ones());
            if self.ascii.is_some() {
                each_line(block, at, others, |line| {
                    count += u64::from(!block[line.clone()].is_ascii() && maybe(line));
                });
            }
        });
        count
    }

    /// Calls `found` for those of whole lines that do not match. `maybe` decides unknown cases.
    fn each_unmatched(
        &self,
        block: &[u8],
        mut maybe: impl FnMut(Range<usize>) -> bool,
        mut found: impl FnMut(Range<usize>),
    ) {
        self.mark(block, |at, _, others| {
            each_line(block, at, others, |line| {
                let unknown = self.ascii.is_some() && !block[line.clone()].is_ascii();
                if !(unknown && maybe(line.clone())) {
                    found(line);
                }
            });
        });
    }

    /// Calls `each` for every 64 bytes of whole lines, with their offset, the ends of lines with windows that
    /// suffice, and the other ends.
    #[inline]
    fn mark(&self, block: &[u8], mut each: impl FnMut(usize, u64, u64)) {
        let (mut carry, mut at) = (Carry::default(), 0);
        let mut from_before = u64::from(self.begins_before && self.begins_with_line(block));
        while at < block.len() {
            let (mut hits, mut ends) = ([0; WORDS], [0; WORDS]);
            let part = &block[at..block.len().min(at + WORDS * STEP)];
            let words = part.len().div_ceil(STEP);
            let reach = &block[at..block.len().min(at + part.len() + self.windows.longest() - 1)];
            self.sure().mark(reach, &mut hits[..words]);
            byte_masks::equal(part, b'\n', &mut ends[..words]);
            for (word, (hits, ends)) in hits.iter().zip(&ends).take(words).enumerate() {
                // A window that begins with a line end is in the next line.
                let before = hits & ends;
                let hits = hits & !ends | before << 1 | from_before;
                from_before = before >> 63;
                let matching = carry.ends(hits, *ends);
                each(at + word * STEP, matching, ends & !matching);
            }
            at += part.len();
        }
    }
}

/// Calls `found` for the lines of `block` that end at these bits of the 64 bytes from `at` on.
#[inline]
fn each_line(block: &[u8], at: usize, mut ends: u64, mut found: impl FnMut(Range<usize>)) {
    while ends != 0 {
        let end = at + ends.trailing_zeros() as usize;
        let start = memrchr(b'\n', &block[..end]).map_or(0, |newline| newline + 1);
        found(start..end);
        ends &= ends - 1;
    }
}

/// Whether there was a hit in the unfinished line.
#[derive(Default)]
struct Carry(bool);

impl Carry {
    /// Returns which of these ends belong to lines with hits: all bytes but ends pass a carry on.
    #[inline]
    fn ends(&mut self, hits: u64, ends: u64) -> u64 {
        let (sum, first) = hits.overflowing_add(!ends);
        let (sum, second) = sum.overflowing_add(u64::from(self.0));
        self.0 = first | second;
        sum & ends
    }
}

impl Length {
    fn new(node: &Node, utf8: bool) -> Option<Length> {
        let mut parts = match node {
            Node::Group(_, body) => return Length::new(body, utf8),
            Node::Concat(parts) => parts.as_slice(),
            other => std::slice::from_ref(other),
        };
        let (mut starts, mut ends) = (false, false);
        while let [Node::Look(Look::LineStart), rest @ ..] = parts {
            (parts, starts) = (rest, true);
        }
        while let [rest @ .., Node::Look(Look::LineEnd)] = parts {
            (parts, ends) = (rest, true);
        }
        let mut run = Run { set: None, min: 0, max: Some(0) };
        parts.iter().try_for_each(|part| run.add(part))?;
        let Run { set: Some(set), min, mut max } = run else { return None };
        let is_all = |range: Range<u32>| range.filter(|c| *c != u32::from(b'\n')).all(|c| set.contains(c));
        let all = is_all(0..if utf8 { 0x80 } else { 0x100 });
        if !(starts && ends) {
            // Part of a line suffices, of any line that is long enough.
            if !all || min == 0 {
                return None;
            }
            max = None;
        }
        let part = match (starts, ends) {
            (true, true) => Part::All,
            (_, false) => Part::First,
            (false, true) => Part::Last,
        };
        let others = ByteSet::where_(|byte| (!utf8 || byte.is_ascii()) && !set.contains(u32::from(byte)));
        let others = if all { None } else { Some(Arc::new(sequences(&[vec![others]])?)) };
        Some(Length { min, max: max.unwrap_or(usize::MAX), utf8, part, others })
    }

    /// Returns whether the line matches, if known.
    #[inline]
    fn judge(&self, line: &[u8]) -> Option<bool> {
        let most = if self.utf8 { self.max.saturating_mul(CHAR_BYTES_MAX) } else { self.max };
        if line.len() < self.min || line.len() > most {
            return Some(false);
        }
        let part = match self.part {
            Part::All => line,
            Part::First => &line[..self.min],
            Part::Last => &line[line.len() - self.min..],
        };
        if self.utf8 && !is_ascii(part) {
            return None;
        }
        Some(line.len() <= self.max && self.others.as_ref().is_none_or(|others| others.find(line).is_none()))
    }

    /// Counts matching lines. `maybe` decides unknown cases.
    fn count(&self, block: &[u8], mut maybe: impl FnMut(Range<usize>) -> bool) -> u64 {
        let mut count = 0;
        self.each(block, |line, known| count += u64::from(known.unwrap_or_else(|| maybe(line))));
        count
    }

    /// Calls `found` for each line, with whether it matches, if known.
    #[inline]
    fn each(&self, block: &[u8], mut found: impl FnMut(Range<usize>, Option<bool>)) {
        let mut start = 0;
        let mut line = |end: usize| {
            found(start..end, self.judge(&block[start..end]));
            start = end + 1;
        };
        for (index, part) in block.chunks(WORDS * STEP).enumerate() {
            let mut ends = [0; WORDS];
            byte_masks::equal(part, b'\n', &mut ends[..part.len().div_ceil(STEP)]);
            for (word, ends) in ends.iter_mut().enumerate() {
                while *ends != 0 {
                    line((index * WORDS + word) * STEP + ends.trailing_zeros() as usize);
                    *ends &= *ends - 1;
                }
            }
        }
        if !block.is_empty() && !block.ends_with(b"\n") {
            line(block.len());
        }
    }
}

/// Checks short texts.
#[inline]
fn is_ascii(text: &[u8]) -> bool {
    let (eights, rest) = text.as_chunks::<8>();
    let all = eights.iter().fold(0, |all, eight| all | u64::from_ne_bytes(*eight));
    let last = rest.iter().fold(0, |all, byte| all | byte);
    all & 0x8080_8080_8080_8080 == 0 && last.is_ascii()
}

/// Parts that all have one set.
struct Run<'n> {
    set: Option<&'n CharSet>,
    min: usize,
    max: Option<usize>,
}

impl<'n> Run<'n> {
    fn add(&mut self, part: &'n Node) -> Option<()> {
        let (body, min, max) = match part {
            Node::Group(_, body) => return self.add(body),
            Node::Concat(parts) => return parts.iter().try_for_each(|part| self.add(part)),
            Node::Repeat { body, min, max } => (&**body, *min as usize, max.map(|max| max as usize)),
            other => (other, 1, Some(1)),
        };
        let set = match body {
            Node::Set(set) => set,
            Node::Group(_, body) => match &**body {
                Node::Set(set) => set,
                _ => return None,
            },
            _ => return None,
        };
        if self.set.get_or_insert(set) != &set {
            return None;
        }
        self.min += min;
        self.max = self.max.zip(max).map(|(one, other)| one + other);
        Some(())
    }
}

/// Returns its ASCII members without the newline.
fn ascii(set: &CharSet) -> ByteSet {
    ByteSet::where_(|byte| byte.is_ascii() && byte != b'\n' && set.contains(u32::from(byte)))
}

fn sequences(windows: &[Window]) -> Option<Sequences> {
    let sets: Vec<Vec<_>> =
        windows.iter().map(|window| window.iter().map(ByteSet::words).collect()).collect();
    Sequences::new(&sets)
}
