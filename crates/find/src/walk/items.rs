//! Remaining work in a directory, packed: names to search and, where order matters, the output between them.

use pelton_sys::directories::Kind;
use std::ffi::CStr;
use std::ops::Range;

/// An item; ranges refer to the packed bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// Text for standard output.
    Text(Range<usize>),
    /// Text for standard error; it affects the exit status.
    Error(Range<usize>),
    /// A directory to search: its name with a NUL.
    Directory(Range<usize>),
    /// A name that is not yet evaluated.
    Entry(Range<usize>, Kind),
    /// The end of the search.
    Quit,
}

const TEXT: u8 = 0;
const ERROR: u8 = 1;
const DIRECTORY: u8 = 2;
const QUIT: u8 = 3;
const ENTRY: u8 = 4;
const KINDS: [Kind; 8] = [
    Kind::File,
    Kind::Directory,
    Kind::Link,
    Kind::Fifo,
    Kind::Socket,
    Kind::Block,
    Kind::Character,
    Kind::Unknown,
];

fn put(into: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    into.push(tag);
    // A batch of entries prints less than 4 GB: at most 100,000 paths of 4 KB, or one of any length.
    into.extend((bytes.len() as u32).to_le_bytes());
    into.extend(bytes);
}

pub(super) fn put_text(into: &mut Vec<u8>, text: &[u8]) {
    put(into, TEXT, text);
}

pub(super) fn put_error(into: &mut Vec<u8>, text: &[u8]) {
    put(into, ERROR, text);
}

pub(super) fn put_directory(into: &mut Vec<u8>, name: &CStr) {
    put(into, DIRECTORY, name.to_bytes_with_nul());
}

pub(super) fn put_entry(into: &mut Vec<u8>, name: &CStr, kind: Kind) {
    let kind = KINDS.iter().position(|one| *one == kind).unwrap_or(KINDS.len() - 1);
    put(into, ENTRY + kind as u8, name.to_bytes_with_nul());
}

pub(super) fn put_quit(into: &mut Vec<u8>) {
    put(into, QUIT, b"");
}

/// Returns the item at `at`, and the offset of the next one.
pub(super) fn get(items: &[u8], at: usize) -> (Item, usize) {
    let header = &items[at..at + 5];
    let bytes = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
    let range = at + 5..at + 5 + bytes;
    let next = range.end;
    let item = match header[0] {
        TEXT => Item::Text(range),
        ERROR => Item::Error(range),
        DIRECTORY => Item::Directory(range),
        QUIT => Item::Quit,
        tag => Item::Entry(range, KINDS[usize::from(tag - ENTRY)]),
    };
    (item, next)
}

/// Whether an item is work, and not only output.
pub(super) fn is_work(item: &Item) -> bool {
    matches!(item, Item::Directory(_) | Item::Entry(..) | Item::Quit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_got() {
        let mut items = Vec::new();
        put_text(&mut items, b"abc");
        put_directory(&mut items, c"d");
        put_entry(&mut items, c"e", Kind::Fifo);
        put_error(&mut items, b"");
        put_quit(&mut items);
        let (mut at, mut seen) = (0, Vec::new());
        while at < items.len() {
            let (item, next) = get(&items, at);
            seen.push(item);
            at = next;
        }
        assert_eq!(
            seen,
            [
                Item::Text(5..8),
                Item::Directory(13..15),
                Item::Entry(20..22, Kind::Fifo),
                Item::Error(27..27),
                Item::Quit
            ]
        );
    }
}
