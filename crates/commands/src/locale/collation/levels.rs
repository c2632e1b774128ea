//! Converts elements to weights, level by level, in the order in which `strcoll` compares them.
//!
//! A level compares forward, or for some elements backward: accents are compared from the end of each run of
//! such elements. One level may compare the positions of weights before the weights. glibc walks backward
//! through a run before other elements in a peculiar way (it omits the last element but one, and may start
//! counting too early). This is reproduced exactly, since it is the order that sort prints.

use pelton_sys::collate::Tables;

use super::sequences::Element;

const BACKWARD: u8 = 2;
const POSITION: u8 = 4;

/// Ends a level, and the weights of an element where positions count: lower than any weight.
const END: u8 = 1;
/// The position of an element directly after its predecessor. Larger distances are higher.
const NEXT: u8 = 2;
/// The largest position with a byte of its own; others use this byte and eight more.
const FAR: u8 = 0xff;

/// The weights of a locale.
pub(super) struct Levels {
    count: usize,
    rulesets: &'static [u8],
    weights: &'static [u8],
}

/// An element, and the offset of its weights in the current level.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    rule: usize,
    at: usize,
}

impl Levels {
    /// `None` unless the levels have the usual form: forward in the first and the last, and the same use of
    /// positions for all elements.
    pub(super) fn new(tables: &Tables) -> Option<Self> {
        let levels = Levels { count: tables.levels, rulesets: tables.rulesets, weights: tables.weights };
        let rules = || levels.rulesets.chunks_exact(levels.count);
        // The padding of the table to four bytes is no rule.
        let real = || rules().filter(|rule| rule.iter().any(|flags| *flags != 0));
        let first = real().next()?;
        let alike = real().all(|rule| {
            let ends = [rule[0], rule[levels.count - 1]];
            ends.iter().all(|flags| flags & BACKWARD == 0)
                && rule.iter().zip(first).all(|(one, other)| (one ^ other) & POSITION == 0)
        });
        (alike && first[0] & POSITION == 0).then_some(levels)
    }

    fn flags(&self, rule: usize, level: usize) -> u8 {
        self.rulesets.get(rule * self.count + level).copied().unwrap_or(0)
    }

    /// Returns the weights of the first level.
    #[inline]
    pub(super) fn first_weights(&self, element: Element) -> &'static [u8] {
        self.weights_at(place(element))
    }

    /// Returns the weights of the last level.
    pub(super) fn last_weights(&self, element: Element) -> &'static [u8] {
        let mut at = place(element);
        for _ in 1..self.count {
            at += 1 + self.weights_at(at).len();
        }
        self.weights_at(at)
    }

    /// Reads a length, and as many bytes.
    #[inline]
    fn weights_at(&self, at: usize) -> &'static [u8] {
        let len = self.weights.get(at).map_or(0, |len| usize::from(*len));
        self.weights.get(at + 1..at + 1 + len).unwrap_or_default()
    }

    /// Appends all levels of these elements.
    pub(super) fn append(&self, elements: impl Iterator<Item = Element>, out: &mut Vec<u8>) {
        let cursor = |element: Element| Cursor { rule: (element >> 24) as usize, at: place(element) };
        let mut cursors: Vec<Cursor> = elements.map(cursor).collect();
        for level in 0..self.count {
            if level > 0 {
                out.push(END);
            }
            let mut line = Line { out: &mut *out, counted: self.flags(0, level) & POSITION != 0, skipped: 0 };
            self.walk(&cursors, level, |weights| line.take(weights));
            cursors.iter_mut().for_each(|cursor| cursor.at += 1 + self.weights_at(cursor.at).len());
        }
    }

    /// Calls `take` with the weights of one level in the order of `strcoll`; it returns whether there were
    /// any.
    fn walk(&self, cursors: &[Cursor], level: usize, mut take: impl FnMut(&[u8]) -> bool) {
        let mut take =
            |index: usize| cursors.get(index).is_some_and(|cursor| take(self.weights_at(cursor.at)));
        let is_backward = |cursor: &Cursor| self.flags(cursor.rule, level) & BACKWARD != 0;
        let mut at = 0;
        // The end of the last step that found weights: backward runs are counted from here.
        let mut resumed = 0;
        while at < cursors.len() {
            let run = cursors[at..].iter().take_while(|cursor| is_backward(cursor)).count();
            if run == 0 {
                let found = take(at);
                at += 1;
                if found {
                    resumed = at;
                }
                continue;
            }
            let followed = at + run < cursors.len();
            take(at + run - 1);
            let others = if followed { run.saturating_sub(2) } else { run - 1 };
            (0..others).rev().for_each(|index| _ = take(resumed + index));
            if followed {
                take(at + run);
            }
            at += run + usize::from(followed);
            resumed = at;
        }
    }
}

#[inline]
fn place(element: Element) -> usize {
    (element & 0x00ff_ffff) as usize
}

/// The weights of one level on their way into a key.
struct Line<'a> {
    out: &'a mut Vec<u8>,
    /// Whether positions count.
    counted: bool,
    /// Elements without weights since the last one with weights.
    skipped: u64,
}

impl Line<'_> {
    fn take(&mut self, weights: &[u8]) -> bool {
        if weights.is_empty() {
            self.skipped += 1;
            return false;
        }
        if self.counted {
            let skipped = std::mem::take(&mut self.skipped);
            match u8::try_from(skipped)
                .ok()
                .and_then(|near| near.checked_add(NEXT))
                .filter(|near| *near < FAR)
            {
                Some(near) => self.out.push(near),
                None => {
                    self.out.push(FAR);
                    self.out.extend_from_slice(&skipped.to_be_bytes());
                }
            }
        }
        self.out.extend_from_slice(weights);
        if self.counted {
            self.out.push(END);
        }
        true
    }
}
