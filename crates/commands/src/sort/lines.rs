//! Lines on their way into a run: an arena of text, an index, and the original order until sorting.
//!
//! Offsets in a run are 32 bits wide, which keeps the index at 16 bytes per line (24 with keys). One thread
//! indexes lines as they come, while they are in cache. With helpers, lines are only stored, and all threads
//! index them together, one wave at a time:
//!
//! ```text
//!   arena  |···························|·········|·········|·········|   not indexed
//!   index  [ list ][ list ][ list ] …     worker 1  worker 2  worker 1   each makes a list, and keys
//! ```

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pelton_parallel::Helpers;
use pelton_stream::PlainFile;
use pelton_sys::spare_capacity::append_parts;

use super::engine::Engine;
use super::item::{Item, Keyed, Plain};
use super::memory_budget::make_room;
use super::order::{KeyPlace, LineOrder};
use super::parts::sort_lists;
use super::run::{Index, SortedRun};
use super::text::{LineLength, WINDOW_BYTES, each_line, window};

/// Bytes of text that are indexed together; their keys must fit into 32-bit offsets.
const WAVE_BYTES: usize = 32 << 20;
/// With memory for many more, waves are larger.
const WAVES: usize = 16;
const WAVE_BYTES_MAX: usize = 256 << 20;
/// Bytes that a worker indexes at a time.
const SEGMENT_BYTES: usize = 1 << 20;
/// Less text is indexed and printed by one thread: starting others, and joining keys, costs more.
pub(super) const TOGETHER_BYTES_MIN: usize = 16 << 20;

/// Bytes that a worker reads before it indexes them: they must still be in cache.
const PART_BYTES: usize = 256 << 10;
/// Parts per job: several huge pages, as two workers in one page would both clear it.
const JOB_PARTS: usize = 16;

/// The assumed length of lines before any is known.
const LINE_BYTES_GUESSED: usize = 16;

/// Lines to sort, in their original order.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Each line with its terminator.
    arena: Vec<u8>,
    /// Computed keys that do not fit in a window.
    keys: Vec<u8>,
    index: Unsorted,
    /// How much of the arena has been indexed.
    indexed: usize,
    /// How many lines have NaN among their numbers.
    nans: usize,
    terminator: u8,
    helpers: Helpers,
}

#[derive(Debug)]
enum Unsorted {
    Plain(Vec<Vec<Plain>>),
    Keyed(Vec<Vec<Keyed>>),
}

impl Default for Unsorted {
    fn default() -> Self {
        Unsorted::Plain(Vec::new())
    }
}

/// An index entry for a line.
trait Indexed: Item {
    /// Makes the entry of the line at `offset`, computing its key.
    fn of_line(arena: &[u8], keys: &mut Vec<u8>, offset: usize, len: usize, order: &LineOrder) -> Self;
    /// Shifts the positions of the line and its key.
    fn moved(self, lines: usize, keys: usize) -> Self;
}

impl Indexed for Plain {
    #[inline]
    fn of_line(arena: &[u8], _: &mut Vec<u8>, offset: usize, len: usize, order: &LineOrder) -> Self {
        Plain { window: window(arena, offset, len) ^ order.flip(), offset: offset as u32, len: len as u32 }
    }

    fn moved(self, lines: usize, _: usize) -> Self {
        Plain { offset: self.offset + lines as u32, ..self }
    }
}

impl Indexed for Keyed {
    #[inline]
    fn of_line(arena: &[u8], keys: &mut Vec<u8>, offset: usize, len: usize, order: &LineOrder) -> Self {
        keyed_item(arena, keys, offset, len, order)
    }

    fn moved(self, lines: usize, keys: usize) -> Self {
        let Keyed { line_offset, key_offset, .. } = self;
        Keyed { line_offset: line_offset + lines as u32, key_offset: key_offset + keys as u32, ..self }
    }
}

impl Lines {
    /// Starts without lines; threads of `helpers` may help.
    pub(crate) fn new(order: &LineOrder, terminator: u8, helpers: &Helpers) -> Self {
        let index =
            if order.is_by_line() { Unsorted::Plain(Vec::new()) } else { Unsorted::Keyed(Vec::new()) };
        Lines { index, terminator, helpers: helpers.clone(), ..Lines::default() }
    }

    /// Grants helper threads.
    pub(crate) fn attach(&mut self, helpers: &Helpers) {
        self.helpers = helpers.clone();
    }

    /// Reserves memory for about this many bytes: growing would copy, and touch more memory than all of it
    /// takes.
    pub(crate) fn expect(&mut self, bytes: usize) {
        if self.arena.capacity() < bytes {
            let more = bytes - self.arena.len();
            make_room(&mut self.arena, more);
        }
    }

    /// Returns the size of the larger arena.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.len().max(self.keys.len())
    }

    /// Returns the bytes that it holds, and those that sorting will take in addition: another index. Text
    /// that is not indexed yet counts as lines like the others.
    pub(crate) fn memory_bytes(&self) -> usize {
        let (items, size) = match &self.index {
            Unsorted::Plain(lists) => (lists.iter().map(Vec::len).sum::<usize>(), size_of::<Plain>()),
            Unsorted::Keyed(lists) => (lists.iter().map(Vec::len).sum::<usize>(), size_of::<Keyed>()),
        };
        let mean = self.indexed.checked_div(items).map_or(LINE_BYTES_GUESSED, |mean| mean.max(1));
        let all = items + (self.arena.len() - self.indexed) / mean;
        // Gathering copies the index; and the allocator keeps memory per thread.
        let copies = if self.helpers.may_help() { 3 } else { 2 };
        self.arena.len() + self.keys.len() + copies * all * size
    }

    pub(crate) fn nans(&self) -> usize {
        self.nans
    }

    /// Returns all lines in their original order.
    pub(crate) fn text(&self) -> &[u8] {
        &self.arena
    }

    /// Adds lines; `text` ends with a terminator.
    pub(crate) fn push(&mut self, text: &[u8], order: &LineOrder, length: &mut LineLength) {
        make_room(&mut self.arena, text.len());
        self.arena.extend_from_slice(text);
        if order.may_meet_nan() {
            let mean = length.mean(text, self.terminator);
            each_line(text, self.terminator, mean, |start, end| self.nans += order.nans(&text[start..end]));
        }
        if !self.helpers.may_help() {
            self.index_alone(order, length);
        } else if self.arena.len() - self.indexed >= self.helpers.worth(WAVE_BYTES) {
            self.index_together(order, length);
        }
    }

    /// Adds lines of this many bytes, which `read` writes directly into the arena.
    pub(crate) fn push_read<E>(
        &mut self,
        bytes: usize,
        read: impl FnOnce(&mut [u8]) -> Result<(), E>,
        order: &LineOrder,
        length: &mut LineLength,
    ) -> Result<(), E> {
        let start = self.arena.len();
        make_room(&mut self.arena, bytes);
        self.arena.resize(start + bytes, 0);
        read(&mut self.arena[start..])?;
        self.index_alone(order, length);
        Ok(())
    }

    /// Reads lines from the start of this range of a file, each worker a part, which it indexes while it is
    /// in cache. Returns the number of bytes. Text after the last part that ends with a line is not read.
    pub(crate) fn read(
        &mut self,
        file: &dyn PlainFile,
        range: Range<u64>,
        wave_bytes: usize,
        order: &LineOrder,
        length: &mut LineLength,
    ) -> u64 {
        self.index_together(order, length);
        let parts = cut(file, range, wave_bytes, self.terminator, &self.helpers);
        let sizes: Vec<usize> = parts.iter().map(|part| (part.end - part.start) as usize).collect();
        let Lines { arena, keys, index, indexed, terminator, helpers, .. } = self;
        let base = arena.len();
        make_room(arena, sizes.iter().sum());
        let mean = length.mean(&[], *terminator);
        let work = Parts { file, parts: &parts, terminator: *terminator, mean, order, helpers };
        let count = match index {
            Unsorted::Plain(lists) => work.read(arena, &sizes, lists, keys),
            Unsorted::Keyed(lists) => work.read(arena, &sizes, lists, keys),
        };
        *indexed = arena.len();
        length.saw(arena.len() - base, count);
        (arena.len() - base) as u64
    }

    /// Indexes the new text.
    fn index_alone(&mut self, order: &LineOrder, length: &mut LineLength) {
        let Lines { arena, keys, index, indexed, terminator, .. } = self;
        let from = std::mem::replace(indexed, arena.len());
        let shape = Shape { terminator: *terminator, mean: length.mean(&arena[from..], *terminator) };
        let text = from..arena.len();
        let count = match index {
            Unsorted::Plain(lists) => index_text(arena, keys, text, shape, order, last(lists), |item| item),
            Unsorted::Keyed(lists) => index_text(arena, keys, text, shape, order, last(lists), |item| item),
        };
        length.saw(arena.len() - from, count);
    }

    /// Indexes the new text, with helpers if it is much.
    fn index_together(&mut self, order: &LineOrder, length: &mut LineLength) {
        if self.arena.len() - self.indexed < self.helpers.worth(TOGETHER_BYTES_MIN) {
            return self.index_alone(order, length);
        }
        let Lines { arena, keys, index, indexed, terminator, helpers, .. } = self;
        let from = std::mem::replace(indexed, arena.len());
        let work = Wave { arena, from, terminator: *terminator, order, helpers };
        let mean = length.mean(&arena[from..], *terminator);
        let count = match index {
            Unsorted::Plain(lists) => work.index(mean, lists, keys),
            Unsorted::Keyed(lists) => work.index(mean, lists, keys),
        };
        length.saw(arena.len() - from, count);
    }

    /// Appends the lines of another list.
    pub(crate) fn append(&mut self, other: &mut Lines, order: &LineOrder) {
        self.index_together(order, &mut LineLength::new());
        other.index_together(order, &mut LineLength::new());
        let base = self.arena.len();
        // Keys lie with the other computed ones, or in their lines.
        let key_base = if order.is_computed() { self.keys.len() } else { base };
        make_room(&mut self.arena, other.arena.len());
        self.arena.append(&mut other.arena);
        self.keys.append(&mut other.keys);
        self.indexed = self.arena.len();
        self.nans += other.nans;
        match (&mut self.index, &mut other.index) {
            (Unsorted::Plain(own), Unsorted::Plain(lists)) => take_over(own, lists, base, key_base),
            (Unsorted::Keyed(own), Unsorted::Keyed(lists)) => take_over(own, lists, base, key_base),
            // Both were made for the same order.
            _ => debug_assert!(false, "two kinds of index"),
        }
    }

    /// Adds the same line many times, for orders that keep identical lines together. Only before `push`.
    pub(crate) fn push_repeated(&mut self, line: &[u8], count: u64, order: &LineOrder) {
        debug_assert_eq!(self.indexed, self.arena.len());
        let (offset, len, count) = (self.arena.len(), line.len() - 1, count as usize);
        make_room(&mut self.arena, line.len());
        self.arena.extend_from_slice(line);
        self.indexed = self.arena.len();
        let Lines { arena, keys, index, .. } = self;
        match index {
            Unsorted::Plain(lists) => {
                let item = Plain::of_line(arena, keys, offset, len, order);
                last(lists).extend(std::iter::repeat_n(item, count));
            }
            Unsorted::Keyed(lists) => {
                let item = Keyed::of_line(arena, keys, offset, len, order);
                last(lists).extend(std::iter::repeat_n(item, count));
            }
        }
    }

    /// Adds a line that stands for many; [`sort_counted`](Lines::sort_counted) must follow. The count follows
    /// the line in the arena.
    pub(crate) fn push_counted(&mut self, line: &[u8], count: u64, order: &LineOrder) {
        self.push_repeated(line, 1, order);
        self.arena.extend_from_slice(&count.to_le_bytes());
        self.indexed = self.arena.len();
    }

    /// Sorts lines that were added with their counts.
    pub(crate) fn sort_counted(self, order: &LineOrder, unique: bool) -> SortedRun {
        let SortedRun { arena, pieces, flip } = self.sort(order, unique);
        let counted = |index| match index {
            Index::Keyed(items) => Index::KeyedCounted(items),
            other => other,
        };
        SortedRun { arena, pieces: pieces.into_iter().map(counted).collect(), flip }
    }

    /// Sorts the lines; with `unique`, only the first of equal lines stays.
    pub(crate) fn sort(mut self, order: &LineOrder, unique: bool) -> SortedRun {
        self.index_together(order, &mut LineLength::new());
        let Lines { arena, keys, index, helpers, .. } = self;
        let keys = if order.is_computed() { &keys } else { &arena };
        let engine = Engine { keys, lines: &arena, descending: order.descending(), tie: order.tie(), order };
        let pieces = match index {
            Unsorted::Plain(lists) => {
                sort_lists(&engine, lists, unique, &helpers).into_iter().map(Index::Plain).collect()
            }
            Unsorted::Keyed(lists) => {
                sort_lists(&engine, lists, unique, &helpers).into_iter().map(Index::Keyed).collect()
            }
        };
        SortedRun { arena, pieces, flip: order.flip() }
    }
}

/// Returns the list that grows.
fn last<I>(lists: &mut Vec<Vec<I>>) -> &mut Vec<I> {
    if lists.is_empty() {
        lists.push(Vec::new());
    }
    let at = lists.len() - 1;
    &mut lists[at]
}

fn take_over<I: Indexed>(own: &mut Vec<Vec<I>>, lists: &mut Vec<Vec<I>>, lines: usize, keys: usize) {
    for list in lists.iter_mut() {
        list.iter_mut().for_each(|item| *item = item.moved(lines, keys));
    }
    own.append(lists);
}

/// The terminator of lines, and their mean length.
#[derive(Clone, Copy)]
struct Shape {
    terminator: u8,
    mean: usize,
}

/// Indexes the lines in this part of the arena, which may be part of another one: `place` adapts their
/// positions. Returns their number.
fn index_text<I: Indexed>(
    arena: &[u8],
    keys: &mut Vec<u8>,
    text: Range<usize>,
    shape: Shape,
    order: &LineOrder,
    items: &mut Vec<I>,
    place: impl Fn(I) -> I,
) -> usize {
    let (base, before, computed) = (text.start, items.len(), order.is_computed());
    each_line(&arena[text], shape.terminator, shape.mean, |start, end| {
        make_room(items, 1);
        if computed {
            // Most keys are about as long as their lines, or fit in a window.
            make_room(keys, end - start);
        }
        items.push(place(I::of_line(arena, keys, base + start, end - start, order)));
    });
    items.len() - before
}

/// Text that several threads index.
struct Wave<'a> {
    arena: &'a [u8],
    from: usize,
    terminator: u8,
    order: &'a LineOrder,
    helpers: &'a Helpers,
}

/// The result of one segment.
struct Segment<I> {
    text: Range<usize>,
    items: Vec<I>,
    keys: Vec<u8>,
}

impl Wave<'_> {
    fn index<I: Indexed>(&self, mean: usize, lists: &mut Vec<Vec<I>>, keys: &mut Vec<u8>) -> usize {
        let mut segments = self.segments();
        self.helpers.each(&mut segments, |(): &mut (), segment: &mut Segment<I>| {
            let Segment { text, items, keys } = segment;
            make_room(items, text.len() / (mean + 1));
            let shape = Shape { terminator: self.terminator, mean };
            index_text(self.arena, keys, text.clone(), shape, self.order, items, |item| item);
        });
        let computed: usize = segments.iter().map(|segment| segment.keys.len()).sum();
        make_room(keys, computed);
        let mut count = 0;
        for Segment { mut items, keys: made, .. } in segments {
            count += items.len();
            if self.order.is_computed() && !keys.is_empty() {
                items.iter_mut().for_each(|item| *item = item.moved(0, keys.len()));
            }
            keys.extend_from_slice(&made);
            lists.push(items);
        }
        count
    }

    /// Splits the text into segments of whole lines.
    fn segments<I>(&self) -> Vec<Segment<I>> {
        let (mut segments, mut at) = (Vec::new(), self.from);
        while at < self.arena.len() {
            let wanted = (at + self.helpers.worth(SEGMENT_BYTES)).min(self.arena.len());
            let end = memchr::memchr(self.terminator, &self.arena[wanted - 1..]);
            let end = end.map_or(self.arena.len(), |behind| wanted + behind);
            segments.push(Segment { text: at..end, items: Vec::new(), keys: Vec::new() });
            at = end;
        }
        segments
    }
}

/// Returns how much is read together, one part per job, before memory is checked again, given enough memory:
/// all wait for the last part.
pub(super) fn wave_bytes(helpers: &Helpers, memory_bytes: Option<usize>) -> usize {
    helpers.worth((memory_bytes.unwrap_or(0) / WAVES).clamp(WAVE_BYTES, WAVE_BYTES_MAX))
}

/// Returns one wave of parts that end with a line, from the start of this range on. A line whose end is not
/// found soon is not cut, and ends the last part before it.
fn cut(
    file: &dyn PlainFile,
    range: Range<u64>,
    wave_bytes: usize,
    terminator: u8,
    helpers: &Helpers,
) -> Vec<Range<u64>> {
    const SOON_BYTES: usize = 4096;
    let mut ahead = [0; SOON_BYTES];
    let (wave, bytes) = (wave_bytes as u64, helpers.worth(PART_BYTES) as u64);
    let (mut parts, mut from) = (Vec::new(), range.start);
    while from - range.start < wave && range.end.saturating_sub(from) >= bytes {
        let last = from + bytes - 1;
        let near = SOON_BYTES.min((range.end - last) as usize);
        let read = file.peek(&mut ahead[..near], last);
        let Some(behind) = memchr::memchr(terminator, &ahead[..read]) else { break };
        let end = last + behind as u64 + 1;
        parts.push(from..end);
        from = end;
    }
    parts
}

/// Parts of a file that several threads read and index.
struct Parts<'a> {
    file: &'a dyn PlainFile,
    parts: &'a [Range<u64>],
    terminator: u8,
    mean: usize,
    order: &'a LineOrder,
    helpers: &'a Helpers,
}

/// The result of a part.
struct Made {
    /// Its lines: the list, and the range in it.
    list: usize,
    items: Range<usize>,
    /// Computed keys that do not fit in a window.
    keys: Vec<u8>,
}

impl Parts<'_> {
    /// Reads the parts to the end of the arena. Returns the number of lines.
    fn read<I: Indexed>(
        &self,
        arena: &mut Vec<u8>,
        sizes: &[usize],
        lists: &mut Vec<Vec<I>>,
        keys: &mut Vec<u8>,
    ) -> usize {
        let base = arena.len();
        let before: usize = lists.iter().map(Vec::len).sum();
        let shelf = Shelf::of(std::mem::take(lists));
        let mut made: Vec<Option<Made>> = sizes.iter().map(|_| None).collect();
        append_parts(arena, sizes, |rooms| {
            let starts = sizes.iter().scan(base, |at, size| Some(std::mem::replace(at, *at + size)));
            let mut parts = rooms.into_iter().zip(self.parts).zip(starts).zip(&mut made);
            let job =
                || Some(parts.by_ref().take(JOB_PARTS).collect()).filter(|job: &Vec<_>| !job.is_empty());
            self.helpers.each(std::iter::from_fn(job), |(): &mut (), job| {
                for (((room, part), start), made) in job {
                    // A file may change while it is read: the rest then comes block by block.
                    let text = self.file.fill(room, part.start).unwrap_or_default();
                    *made = (text.last() == Some(&self.terminator)).then(|| self.index(text, start, &shelf));
                }
            });
        });
        *lists = shelf.into_lists();
        let whole = made.iter().take_while(|made| made.is_some()).count();
        let end = base + sizes[..whole].iter().sum::<usize>();
        for Made { list, items, keys: computed } in made.into_iter().map_while(|made| made) {
            if self.order.is_computed() && !(keys.is_empty() || computed.is_empty()) {
                lists[list][items].iter_mut().for_each(|item| *item = item.moved(0, keys.len()));
            }
            make_room(keys, computed.len());
            keys.extend_from_slice(&computed);
        }
        if whole < sizes.len() {
            lists.iter_mut().for_each(|list| list.retain(|item| item.line().0 < end));
            arena.truncate(end);
        }
        lists.iter().map(Vec::len).sum::<usize>() - before
    }

    /// Indexes the lines of a part, which begins at `start` in the arena, and their keys, as if those were
    /// the first.
    fn index<I: Indexed>(&self, text: &[u8], start: usize, shelf: &Shelf<I>) -> Made {
        let (list, mut items) = shelf.take();
        let (from, mut keys) = (items.len(), Vec::new());
        let guessed = text.len() / self.mean.max(1);
        make_room(&mut items, guessed + guessed / 16);
        // Keys lie in their lines, unless they are computed.
        let key_start = if self.order.is_computed() { 0 } else { start };
        let shape = Shape { terminator: self.terminator, mean: self.mean };
        let place = |item: I| item.moved(start, key_start);
        index_text(text, &mut keys, 0..text.len(), shape, self.order, &mut items, place);
        let made = Made { list, items: from..items.len(), keys };
        shelf.put(list, items);
        made
    }
}

/// Growing lists, each identified by its index: a worker appends to a list that no other worker uses. So
/// there are few, large lists, which lie in huge pages.
struct Shelf<I> {
    lists: Mutex<ShelfLists<I>>,
}

#[derive(Default)]
struct ShelfLists<I> {
    free: Vec<(usize, Vec<I>)>,
    /// Including those in use.
    count: usize,
}

impl<I> Shelf<I> {
    fn of(lists: Vec<Vec<I>>) -> Self {
        let count = lists.len();
        Shelf { lists: Mutex::new(ShelfLists { free: lists.into_iter().enumerate().collect(), count }) }
    }

    fn lock(&self) -> MutexGuard<'_, ShelfLists<I>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> (usize, Vec<I>) {
        let mut lists = self.lock();
        lists.free.pop().unwrap_or_else(|| {
            lists.count += 1;
            (lists.count - 1, Vec::new())
        })
    }

    fn put(&self, place: usize, list: Vec<I>) {
        self.lock().free.push((place, list));
    }

    fn into_lists(self) -> Vec<Vec<I>> {
        let mut lists = self.lists.into_inner().unwrap_or_else(PoisonError::into_inner).free;
        lists.sort_unstable_by_key(|(place, _)| *place);
        lists.into_iter().map(|(_, list)| list).collect()
    }
}

/// Makes the index entry of a line, computing its key.
#[inline]
pub(crate) fn keyed_item(
    arena: &[u8],
    keys: &mut Vec<u8>,
    offset: usize,
    len: usize,
    order: &LineOrder,
) -> Keyed {
    let free = keys.len();
    let (key_offset, key_len, shown) = match order.key(&arena[offset..offset + len], keys) {
        KeyPlace::InLine(from, to) => (offset + from, to - from, window(arena, offset + from, to - from)),
        KeyPlace::Appended => {
            let key_len = keys.len() - free;
            let shown = window(keys, free, key_len);
            if key_len <= WINDOW_BYTES {
                keys.truncate(free);
            }
            (free, key_len, shown)
        }
    };
    Keyed {
        window: shown ^ order.flip(),
        line_offset: offset as u32,
        line_len: len as u32,
        key_offset: key_offset as u32,
        key_len: key_len as u32,
    }
}
