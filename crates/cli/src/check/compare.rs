//! Compares the output of another run, as it arrives, with the kept output of the first.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::os::unix::fs::FileExt;

/// The first place at which two outputs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Byte, from 0.
    pub at: u64,
    /// Line, from 1.
    pub line: u64,
    /// The end of the common prefix, as context.
    pub before: Vec<u8>,
    /// The kept output from there on, cut short; empty if it ended there.
    pub kept: Vec<u8>,
    /// The other output.
    pub other: Vec<u8>,
}

/// Bytes shown on either side of a difference.
const CONTEXT: usize = 24;
/// Bytes read at a time.
const CHUNK: usize = 128 * 1024;

/// Identifies an output without keeping it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    hash: u64,
    /// In bytes.
    pub length: u64,
}

/// Compares an output with a kept one while it arrives.
pub struct Comparer<'a> {
    kept: &'a File,
    length: u64,
    /// The reader closed the kept output early: a longer output is then no difference.
    cut_off: bool,
    at: u64,
    line: u64,
    before: Vec<u8>,
    found: Option<Difference>,
    hasher: DefaultHasher,
    buffer: Vec<u8>,
}

impl<'a> Comparer<'a> {
    /// Compares with `length` bytes of `kept`.
    pub fn new(kept: &'a File, length: u64, cut_off: bool) -> Self {
        Comparer {
            kept,
            length,
            cut_off,
            at: 0,
            line: 1,
            before: Vec::new(),
            found: None,
            hasher: DefaultHasher::new(),
            buffer: vec![0; CHUNK],
        }
    }

    /// Takes bytes; returns whether more can matter.
    pub fn take(&mut self, bytes: &[u8]) -> io::Result<bool> {
        // Enough to tell two runs of the same text apart; bounds an output without end.
        let enough = if self.cut_off { self.length } else { self.length.saturating_mul(2) + (1 << 20) };
        // An output that is closed early ends at the same byte each time, in whatever pieces it comes.
        let counts = (bytes.len() as u64).min(enough.saturating_sub(self.at)) as usize;
        for chunk in bytes[..counts].chunks(CHUNK) {
            self.hasher.write(chunk);
            match &mut self.found {
                Some(found) if found.other.len() < CONTEXT => {
                    let more = chunk.len().min(CONTEXT - found.other.len());
                    found.other.extend_from_slice(&chunk[..more]);
                }
                Some(_) => {}
                None => self.compare(chunk)?,
            }
            self.at += chunk.len() as u64;
        }
        Ok(self.at < enough)
    }

    fn compare(&mut self, chunk: &[u8]) -> io::Result<()> {
        let left = self.length.saturating_sub(self.at).min(chunk.len() as u64) as usize;
        let kept = &mut self.buffer[..left];
        self.kept.read_exact_at(kept, self.at)?;
        let same = kept.iter().zip(chunk).take_while(|(a, b)| a == b).count();
        self.line += chunk[..same].iter().filter(|byte| **byte == b'\n').count() as u64;
        let seen = &chunk[same.saturating_sub(CONTEXT)..same];
        self.before.extend_from_slice(seen);
        self.before.drain(..self.before.len().saturating_sub(CONTEXT));
        if same == chunk.len() || (same == left && self.cut_off) {
            return Ok(());
        }
        let at = self.at + same as u64;
        let other = chunk[same..].iter().take(CONTEXT).copied().collect();
        self.found = Some(self.difference(at, other)?);
        Ok(())
    }

    fn difference(&self, at: u64, other: Vec<u8>) -> io::Result<Difference> {
        let mut kept = vec![0; (self.length.saturating_sub(at) as usize).min(CONTEXT)];
        self.kept.read_exact_at(&mut kept, at)?;
        Ok(Difference { at, line: self.line, before: self.before.clone(), kept, other })
    }

    /// Returns the first difference, and the digest of the new output.
    pub fn finish(mut self) -> io::Result<(Option<Difference>, Digest)> {
        if self.found.is_none() && self.at < self.length {
            self.found = Some(self.difference(self.at, Vec::new())?);
        }
        Ok((self.found, Digest { hash: self.hasher.finish(), length: self.at }))
    }
}

impl Difference {
    /// Returns three lines: the kept output, the other one, and a mark under the first byte that differs.
    /// Both names are padded to the same width.
    pub fn lines(&self, kept: &str, other: &str) -> String {
        let width = kept.len().max(other.len());
        let dots = if self.at > self.before.len() as u64 { "…" } else { "" };
        let before = format!("{dots}{}", self.before.escape_ascii());
        let shown = |bytes: &[u8]| match bytes {
            [] => "(ends here)".to_owned(),
            _ => bytes.escape_ascii().to_string(),
        };
        let mark = " ".repeat(before.chars().count());
        format!(
            "    {kept:width$}  {before}{}\n    {other:width$}  {before}{}\n    {:width$}  {mark}^\n",
            shown(&self.kept),
            shown(&self.other),
            ""
        )
    }
}

/// Whether two standard errors have the same lines, in any order: several processes write there at once.
pub fn same_messages(a: &[u8], b: &[u8]) -> bool {
    let sorted = |text: &[u8]| {
        let mut lines: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.sort_unstable();
        lines
    };
    a == b || sorted(a) == sorted(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn compare(kept: &[u8], other: &[u8], piece: usize, cut_off: bool) -> (Option<Difference>, Digest) {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(kept).expect("written");
        let mut comparer = Comparer::new(&file, kept.len() as u64, cut_off);
        for piece in other.chunks(piece) {
            comparer.take(piece).expect("readable");
        }
        comparer.finish().expect("readable")
    }

    #[test]
    fn the_first_difference_is_found_however_the_bytes_come() {
        let kept = b"one\ntwo\nthree\nfour\n";
        for piece in [1, 2, 3, 7, 100] {
            assert_eq!(compare(kept, kept, piece, false).0, None);
            let found = compare(kept, b"one\ntwo\nthrXe\nfour\n", piece, false).0.expect("differs");
            assert_eq!(
                (found.at, found.line, found.before.as_slice()),
                (11, 3, &b"one\ntwo\nthr"[..]),
                "{piece}"
            );
            assert_eq!(
                (found.kept.as_slice(), found.other.as_slice()),
                (&b"ee\nfour\n"[..], &b"Xe\nfour\n"[..])
            );
        }
    }

    #[test]
    fn one_that_ends_early_differs_at_its_end() {
        for piece in [1, 3, 100] {
            let shorter = compare(b"abc\n", b"ab", piece, false).0.expect("differs");
            assert_eq!((shorter.at, shorter.kept.as_slice(), shorter.other.len()), (2, &b"c\n"[..], 0));
            let longer = compare(b"abc\n", b"abc\nd", piece, false).0.expect("differs");
            assert_eq!(
                (longer.at, longer.line, longer.kept.len(), longer.other.as_slice()),
                (4, 2, 0, &b"d"[..])
            );
        }
        assert_eq!(compare(b"", b"", 1, false).0, None);
    }

    #[test]
    fn what_a_reader_cut_off_is_no_difference() {
        assert_eq!(compare(b"y\ny\n", b"y\ny\ny\ny\n", 3, true).0, None);
        assert_eq!(compare(b"y\ny\n", b"y\nn\ny\ny\n", 3, true).0.map(|found| found.at), Some(2));
        assert_eq!(compare(b"y\ny\n", b"y\n", 3, true).0.map(|found| found.at), Some(2));
    }

    #[test]
    fn a_digest_is_of_the_bytes_and_not_of_the_pieces() {
        let of = |bytes: &[u8], piece| compare(b"other", bytes, piece, false).1;
        assert_eq!(of(b"abcdef", 1), of(b"abcdef", 4));
        assert_ne!(of(b"abcdef", 1), of(b"abcdeg", 1));
    }

    #[test]
    fn an_output_without_end_is_left() {
        let file = tempfile::tempfile().expect("a temporary file");
        let mut comparer = Comparer::new(&file, 0, false);
        let endless = vec![b'y'; 64 * 1024];
        let taken = (0..1000).take_while(|_| comparer.take(&endless).expect("readable")).count();
        assert!(taken < 20, "{taken}");
        let whole = vec![b'y'; 3 << 20];
        assert_eq!(compare(b"x", &whole, 1 << 20, false).1, compare(b"x", &whole, 77_777, false).1);
    }

    #[test]
    fn the_mark_stands_under_the_difference() {
        let found = compare(b"a\tb1\n", b"a\tb2\n", 9, false).0.expect("differs");
        let text = found.lines("pelton", "sh");
        assert_eq!(text, "    pelton  a\\tb1\\n\n    sh      a\\tb2\\n\n                ^\n");
    }

    #[test]
    fn messages_may_change_places() {
        assert!(same_messages(b"a: x\nb: y\n", b"b: y\na: x\n"));
        assert!(!same_messages(b"a: x\n", b"a: x\na: x\n"));
    }
}
