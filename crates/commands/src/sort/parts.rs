//! The sort shared by several: entries are dealt into parts that follow each other, and each part is sorted by one.
//!
//! ```text
//!   lists (one per worker and wave) ── windows skip what all share ──▶ the digit that tells most
//!     each list dealt by that digit, where it stands ──▶ groups of parts, gathered from all lists ──▶ engine
//! ```
//! A sample sort would cut more evenly; dealing costs no search per entry, and what turns out too large is dealt again by
//! its next bits. Merging sorted lists instead would cost several times as much per line.

use std::ops::Range;

use pelton_stream::team::Crew;

use super::engine::{Engine, Item};
use super::radix::{Digit, deal_from_aside};
use super::room::make_room;

/// Fewer entries than this are sorted by one.
const TOGETHER_MIN: usize = 1 << 16;
/// A list is dealt in pieces of so many entries: more of them, and what is copied aside leaves the caches.
const PIECE_ITEMS: usize = 1 << 17;
/// The digit has so many bits, as far as so many differ: a piece must have several entries in a part, or gathering them
/// costs more than dealing did.
const BITS_MIN: u32 = 6;
const BITS_MAX: u32 = 12;
/// So many groups are made, unless a part is larger; fewer, down to so many, where they would be smaller than a few huge pages.
const GROUPS: usize = 64;
const GROUPS_MIN: usize = 16;
const GROUP_BYTES: usize = 8 << 20;
/// What is larger than this share of all, one worker would take too long for.
const LARGE_SHARE: usize = 8;

/// Sorts the entries of all these lists; of those with equal keys only the first stays, if `unique`. What comes back
/// is in order, list by list, and equal keys are in one list. The entries must be as [`Engine::sort`] wants them.
pub(super) fn sort_lists<I: Item>(
    engine: &Engine<'_>,
    lists: Vec<Vec<I>>,
    unique: bool,
    crew: &Crew,
) -> Vec<Vec<I>> {
    let mut sorted = Vec::new();
    let total: usize = lists.iter().map(Vec::len).sum();
    if crew.may_help() && total >= crew.worth(TOGETHER_MIN).max(2) {
        Sharing { engine, unique, crew }.sort(lists, 0, &mut sorted);
    } else {
        let mut items = joined(lists);
        engine.sort(&mut items);
        drop_equal(engine, &mut items, unique);
        sorted.push(items);
    }
    sorted
}

fn joined<I: Item>(mut lists: Vec<Vec<I>>) -> Vec<I> {
    if lists.len() <= 1 {
        return lists.pop().unwrap_or_default();
    }
    let mut items = Vec::new();
    make_room(&mut items, lists.iter().map(Vec::len).sum());
    lists.into_iter().for_each(|list| items.extend_from_slice(&list));
    items
}

fn drop_equal<I: Item>(engine: &Engine<'_>, items: &mut Vec<I>, unique: bool) {
    if unique {
        items.dedup_by(|a, b| engine.is_same_key(a, b));
    }
}

struct Sharing<'a> {
    engine: &'a Engine<'a>,
    unique: bool,
    crew: &'a Crew,
}

/// Entries of which some parts, as they were dealt, are gathered and sorted by one worker.
struct Group<I> {
    parts: Range<usize>,
    len: usize,
    items: Vec<I>,
}

impl Sharing<'_> {
    /// Sorts entries whose windows show their keys from `depth` on.
    fn sort<I: Item>(&self, mut lists: Vec<Vec<I>>, depth: usize, sorted: &mut Vec<Vec<I>>) {
        let total: usize = lists.iter().map(Vec::len).sum();
        let mut pieces: Vec<&mut [I]> =
            lists.iter_mut().flat_map(|list| list.chunks_mut(self.crew.worth(PIECE_ITEMS).max(64))).collect();
        let (depth, differing) = self.engine.skip_shared_together(&mut pieces, depth, self.crew);
        if differing == 0 {
            let mut items = joined(lists);
            self.engine.sort_from(&mut items, depth);
            drop_equal(self.engine, &mut items, self.unique);
            return sorted.push(items);
        }
        let bits = (total / pieces.len()).max(1).ilog2().saturating_sub(2).clamp(BITS_MIN, BITS_MAX);
        let digit = Digit::of(differing, bits);
        let ends = self.deal(&mut pieces, &digit);
        let mut groups = self.groups(&ends, total);
        let large = |len: usize| len > self.crew.worth(TOGETHER_MIN) && len > total / LARGE_SHARE;
        let mut jobs: Vec<&mut Group<I>> = groups.iter_mut().collect();
        // The largest first, so that nobody is left with one at the end.
        jobs.sort_unstable_by_key(|group| std::cmp::Reverse(group.len));
        self.crew.each(jobs, |(): &mut (), group| {
            let ranges = gather(group, &pieces, &ends);
            if !(large(group.len) && ranges.len() == 1) {
                self.engine.sort_ranges(&mut group.items, &ranges, depth);
                drop_equal(self.engine, &mut group.items, self.unique);
            }
        });
        drop(lists);
        for Group { parts, len, items } in groups {
            if large(len) && parts.len() == 1 {
                self.sort(vec![items], depth, sorted);
            } else {
                sorted.push(items);
            }
        }
    }

    /// Deals each piece by itself; for each, where its parts end.
    fn deal<I: Item>(&self, pieces: &mut [&mut [I]], digit: &Digit) -> Vec<Vec<usize>> {
        let mut ends = vec![vec![0; digit.count()]; pieces.len()];
        let jobs = pieces.iter_mut().zip(&mut ends);
        self.crew.each(jobs, |aside: &mut Vec<I>, (piece, ends)| deal_from_aside(piece, aside, ends, digit));
        ends
    }

    /// Neighbouring parts together, those that are large alone.
    fn groups<I>(&self, ends: &[Vec<usize>], total: usize) -> Vec<Group<I>> {
        let parts = ends.first().map_or(0, Vec::len);
        let wanted = (GROUP_BYTES / size_of::<I>()).clamp(total / GROUPS, total / GROUPS_MIN) + 1;
        let mut groups: Vec<Group<I>> = Vec::new();
        for part in 0..parts {
            let len = ends.iter().map(|ends| place(ends, part).len()).sum();
            match groups.last_mut() {
                _ if len == 0 => {}
                Some(group) if group.len + len <= wanted => {
                    group.parts.end = part + 1;
                    group.len += len;
                }
                _ => groups.push(Group { parts: part..part + 1, len, items: Vec::new() }),
            }
        }
        groups
    }
}

/// Where a part lies in a piece.
fn place(ends: &[usize], part: usize) -> Range<usize> {
    part.checked_sub(1).map_or(0, |before| ends[before])..ends[part]
}

/// Puts a group's entries together, part by part; says where each of them lies.
fn gather<I: Item>(group: &mut Group<I>, pieces: &[&mut [I]], ends: &[Vec<usize>]) -> Vec<Range<usize>> {
    make_room(&mut group.items, group.len);
    let mut ranges = Vec::new();
    for part in group.parts.clone() {
        let start = group.items.len();
        for (piece, ends) in pieces.iter().zip(ends) {
            group.items.extend_from_slice(&piece[place(ends, part)]);
        }
        if group.items.len() > start {
            ranges.push(start..group.items.len());
        }
    }
    ranges
}
