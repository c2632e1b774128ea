//! The parallel sort: entries are dealt into consecutive parts, and one worker sorts each part.
//!
//! ```text
//!   lists (a few per worker) ── windows skip the common prefix ──▶ the most selective digit
//!     each list dealt by that digit, in place ──▶ groups of parts, gathered from all lists ──▶ engine
//! ```
//! A sample sort would cut more evenly; dealing needs no search per entry, and a part that is too large is
//! dealt again by its next bits. Merging sorted lists instead would cost several times as much per line.

use std::ops::Range;

use pelton_parallel::Helpers;
use pelton_sys::spare_capacity::append_parts;

use super::engine::Engine;
use super::item::Item;
use super::memory_budget::make_room;
use super::radix::{Digit, deal_from_aside};

/// Fewer entries are sorted by one thread.
const TOGETHER_MIN: usize = 1 << 16;
/// Entries per piece of a list: with more, the auxiliary copy leaves the caches.
const PIECE_ITEMS: usize = 1 << 17;
/// Fewest bits of the digit by which entries are dealt; it has fewer only where the keys differ in fewer. It has more in
/// long lists, as long as each list still has several entries per part: else gathering costs more than dealing.
const BITS_MIN: u32 = 6;
const BITS_MAX: u32 = 12;
/// The number of groups, unless a part is larger.
const GROUPS: usize = 64;
/// A part above this share of the total would take one worker too long.
const LARGE_SHARE: usize = 8;

/// Sorts the entries of all lists; with `unique`, only the first of equal keys stays. The results are in
/// order, list by list, and equal keys are in one list. The entries must be as for [`Engine::sort`].
pub(super) fn sort_lists<I: Item>(
    engine: &Engine<'_>,
    lists: Vec<Vec<I>>,
    unique: bool,
    helpers: &Helpers,
) -> Vec<Vec<I>> {
    let mut sorted = Vec::new();
    let total: usize = lists.iter().map(Vec::len).sum();
    if helpers.may_help() && total >= helpers.worth(TOGETHER_MIN).max(2) {
        let mut lists = lists;
        let piece_items = helpers.worth(PIECE_ITEMS).max(64);
        let mut pieces: Vec<&mut [I]> =
            lists.iter_mut().flat_map(|list| list.chunks_mut(piece_items)).collect();
        Sharing { engine, unique, helpers }.sort(&mut pieces, 0, &mut sorted);
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
    helpers: &'a Helpers,
}

/// Dealt parts that one worker gathers and sorts.
struct Group {
    parts: Range<usize>,
    len: usize,
}

/// Consecutive output.
enum Stretch {
    /// Groups, each sorted by one worker.
    Groups(Vec<Group>),
    /// A part that is dealt again.
    Large(usize),
}

impl Sharing<'_> {
    /// Sorts entries whose windows hold their keys from `depth` on.
    fn sort<I: Item>(&self, pieces: &mut [&mut [I]], depth: usize, sorted: &mut Vec<Vec<I>>) {
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        let (depth, differing) = self.engine.skip_shared_together(pieces, depth, self.helpers);
        if differing == 0 {
            let mut items = Vec::new();
            make_room(&mut items, total);
            pieces.iter().for_each(|piece| items.extend_from_slice(piece));
            self.engine.sort_from(&mut items, depth);
            drop_equal(self.engine, &mut items, self.unique);
            return sorted.push(items);
        }
        let bits = (total / pieces.len()).max(1).ilog2().saturating_sub(2).clamp(BITS_MIN, BITS_MAX);
        let digit = Digit::of(differing, bits);
        let ends = self.deal(pieces, &digit);
        for stretch in self.stretches(&ends, total) {
            match stretch {
                Stretch::Groups(groups) => sorted.push(self.sort_groups(&groups, pieces, &ends, depth)),
                Stretch::Large(part) => {
                    let parts =
                        pieces.iter_mut().zip(&ends).map(|(piece, ends)| &mut piece[place(ends, part)]);
                    let mut parts: Vec<&mut [I]> = parts.filter(|part| !part.is_empty()).collect();
                    self.sort(&mut parts, depth, sorted);
                }
            }
        }
    }

    /// Deals each piece separately. Returns the ends of its parts.
    fn deal<I: Item>(&self, pieces: &mut [&mut [I]], digit: &Digit) -> Vec<Vec<usize>> {
        let mut ends = vec![vec![0; digit.count()]; pieces.len()];
        let jobs = pieces.iter_mut().zip(&mut ends);
        self.helpers
            .each(jobs, |aside: &mut Vec<I>, (piece, ends)| deal_from_aside(piece, aside, ends, digit));
        ends
    }

    /// Groups adjacent parts; large ones stay alone.
    fn stretches(&self, ends: &[Vec<usize>], total: usize) -> Vec<Stretch> {
        let parts = ends.first().map_or(0, Vec::len);
        let wanted = total / GROUPS + 1;
        let mut stretches = Vec::new();
        for part in 0..parts {
            let len = ends.iter().map(|ends| place(ends, part).len()).sum();
            if len == 0 {
                continue;
            }
            if len > self.helpers.worth(TOGETHER_MIN) && len > total / LARGE_SHARE {
                stretches.push(Stretch::Large(part));
                continue;
            }
            let alone = Group { parts: part..part + 1, len };
            match stretches.last_mut() {
                Some(Stretch::Groups(groups)) => match groups.last_mut() {
                    Some(group) if group.len + len <= wanted => {
                        *group = Group { parts: group.parts.start..part + 1, len: group.len + len };
                    }
                    _ => groups.push(alone),
                },
                _ => stretches.push(Stretch::Groups(vec![alone])),
            }
        }
        stretches
    }

    /// Gathers groups, one after another, and sorts each.
    fn sort_groups<I: Item>(
        &self,
        groups: &[Group],
        pieces: &[&mut [I]],
        ends: &[Vec<usize>],
        depth: usize,
    ) -> Vec<I> {
        let sizes: Vec<usize> = groups.iter().map(|group| group.len).collect();
        let (mut kept, mut items) = (sizes.clone(), Vec::new());
        make_room(&mut items, sizes.iter().sum());
        append_parts(&mut items, &sizes, |rooms| {
            let mut jobs: Vec<_> = groups.iter().zip(rooms).zip(&mut kept).collect();
            // The largest first, so that no worker gets one at the end.
            jobs.sort_unstable_by_key(|((group, _), _)| std::cmp::Reverse(group.len));
            self.helpers.each(jobs, |(): &mut (), ((group, room), kept)| {
                let Some(items) = room.copy(group.slices(pieces, ends)) else { return };
                self.engine.sort_ranges(items, &group.ranges(ends), depth);
                if self.unique {
                    *kept = keep_first(self.engine, items);
                }
            });
        });
        if self.unique {
            close_up(&mut items, &sizes, &kept);
        }
        items
    }
}

impl Group {
    /// Returns its entries, part by part.
    fn slices<'a, I>(
        &self,
        pieces: &'a [&mut [I]],
        ends: &'a [Vec<usize>],
    ) -> impl Iterator<Item = &'a [I]> + use<'a, I> {
        let of_part = move |part| pieces.iter().zip(ends).map(move |(piece, ends)| &piece[place(ends, part)]);
        self.parts.clone().flat_map(of_part)
    }

    /// Returns the range of each part after gathering.
    fn ranges(&self, ends: &[Vec<usize>]) -> Vec<Range<usize>> {
        let lens = self.parts.clone().map(|part| ends.iter().map(|ends| place(ends, part).len()).sum());
        let range = |start: &mut usize, len: usize| {
            *start += len;
            Some(*start - len..*start)
        };
        lens.scan(0, range).filter(|range| !range.is_empty()).collect()
    }
}

/// Returns the range of a part in a piece.
fn place(ends: &[usize], part: usize) -> Range<usize> {
    part.checked_sub(1).map_or(0, |before| ends[before])..ends[part]
}

/// Moves the first of equal entries to the front. Returns their number.
fn keep_first<I: Item>(engine: &Engine<'_>, items: &mut [I]) -> usize {
    let mut kept = 0;
    for at in 0..items.len() {
        if kept == 0 || !engine.is_same_key(&items[at], &items[kept - 1]) {
            items[kept] = items[at];
            kept += 1;
        }
    }
    kept
}

/// Closes the gaps between the kept entries of stretches of these sizes.
fn close_up<I: Item>(items: &mut Vec<I>, sizes: &[usize], kept: &[usize]) {
    let (mut from, mut to) = (0, 0);
    for (size, kept) in sizes.iter().zip(kept) {
        items.copy_within(from..from + kept, to);
        from += size;
        to += kept;
    }
    items.truncate(to);
}
