//! Reads a regular file from its end, for `tail -n 5`, whose kernel needs nothing before that.

use super::source::Source;
use pelton_commands::Ending;
use pelton_stream::{BLOCK_BYTES, InputKind};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;

/// Seeks to the start of the ending, or leaves the source unchanged if that cannot be found. Only for a file
/// that was opened for this segment: an inherited one shares its offset with others.
pub fn skip_to(source: &mut Source, ending: &Ending) {
    let InputKind::Regular { bytes } = source.kind else { return };
    let Some(file) = &mut source.file else { return };
    if let Some(start) = start_of(file, bytes, ending) {
        // On failure, the whole file is read, which is correct too.
        let _ = file.seek(SeekFrom::Start(start));
    }
}

/// Returns the offset where the ending of a file of `bytes` bytes begins.
fn start_of(file: &File, bytes: u64, ending: &Ending) -> Option<u64> {
    let (count, end) = match *ending {
        Ending::Bytes(count) => return Some(bytes.saturating_sub(count)),
        Ending::Records { count, end } => (count, end),
    };
    let mut block = vec![0; BLOCK_BYTES];
    let mut left = count;
    let mut at = bytes;
    while at > 0 {
        let from = at.saturating_sub(block.len() as u64);
        let piece = &mut block[..(at - from) as usize];
        // Fails if the file has shrunk, or if its size is not that of its content (/proc).
        file.read_exact_at(piece, from).ok()?;
        for (index, _) in piece.iter().enumerate().rev().filter(|(_, byte)| **byte == end) {
            let after = from + index as u64 + 1;
            // The terminator of the last record begins no other record.
            if after == bytes {
                continue;
            }
            left -= 1;
            if left == 0 {
                return Some(after);
            }
        }
        at = from;
    }
    Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn ending(text: &[u8], ending: Ending) -> Vec<u8> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(text).expect("written");
        let start = start_of(&file, text.len() as u64, &ending).expect("a place");
        text[start as usize..].to_vec()
    }

    #[test]
    fn records_and_bytes() {
        let lines = |count| Ending::Records { count, end: b'\n' };
        for (text, count, expected) in [
            ("a\nb\nc\n", 2, "b\nc\n"),
            ("a\nb\nc", 2, "b\nc"),
            ("a\nb\nc", 1, "c"),
            ("a\n\n\n", 2, "\n\n"),
            ("\n", 1, "\n"),
            ("a", 1, "a"),
            ("a\nb\n", 9, "a\nb\n"),
            ("", 3, ""),
        ] {
            assert_eq!(ending(text.as_bytes(), lines(count)), expected.as_bytes(), "{text:?}");
        }
        assert_eq!(ending(b"abc", Ending::Bytes(2)), b"bc");
        assert_eq!(ending(b"abc", Ending::Bytes(9)), b"abc");
    }

    #[test]
    fn over_several_blocks() {
        let text = b"0123456789\n".repeat(40_000);
        let last = ending(&text, Ending::Records { count: 30_000, end: b'\n' });
        assert_eq!(last.len(), 30_000 * 11);
    }

    #[test]
    fn a_file_that_is_shorter_than_it_was_is_read_whole() {
        let file = tempfile::tempfile().expect("a file");
        assert_eq!(start_of(&file, 10, &Ending::Records { count: 1, end: b'\n' }), None);
    }
}
