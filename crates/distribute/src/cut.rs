//! Cuts input files into parts of whole lines.

use pelton_commands::ByteSet;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A range of bytes of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The index of the file among the job's inputs.
    pub file: usize,
    /// The first byte.
    pub from: u64,
    /// The byte behind the last.
    pub to: u64,
}

impl Piece {
    /// Returns its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.to - self.from
    }
}

/// Bytes that are searched at once.
const BLOCK_BYTES: usize = 64 * 1024;

/// Where parts may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// Between a byte of the first set and a byte of the second.
    Between(ByteSet, ByteSet),
    /// Between files.
    Files,
}

impl Cuts {
    /// Makes those between lines.
    pub fn lines() -> Self {
        Cuts::Between(ByteSet::where_(|byte| byte == b'\n'), ByteSet::where_(|_| true))
    }

    fn may_be(&self, before: u8, behind: u8) -> bool {
        match self {
            Cuts::Between(ends, begins) => ends.contains(before) && begins.contains(behind),
            Cuts::Files => false,
        }
    }
}

/// Cuts files, as one stream, into parts of about `part_bytes`. A file that does not end where a cut may be shares a part with
/// the next one.
///
/// # Errors
/// If a file cannot be read.
pub fn parts(files: &[PathBuf], part_bytes: u64, cuts: &Cuts) -> io::Result<Vec<Vec<Piece>>> {
    if *cuts == Cuts::Files {
        return whole_files(files, part_bytes);
    }
    let mut parts = Vec::new();
    let mut part: Vec<Piece> = Vec::new();
    for (number, path) in files.iter().enumerate() {
        let file = open(path)?;
        let size = file.metadata()?.len();
        if size > 0 && may_end(files, &part, &file, cuts)? {
            parts.push(std::mem::take(&mut part));
        }
        let mut from = 0;
        while from < size {
            let wanted = from.saturating_add(part_bytes.max(1)).min(size);
            let to = next_cut(&file, wanted - 1, cuts)?.unwrap_or(size);
            part.push(Piece { file: number, from, to });
            if to < size {
                parts.push(std::mem::take(&mut part));
            }
            from = to;
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    Ok(parts)
}

/// Puts whole files into parts of at least `part_bytes`.
///
/// # Errors
/// If a file cannot be read.
fn whole_files(files: &[PathBuf], part_bytes: u64) -> io::Result<Vec<Vec<Piece>>> {
    let mut parts = Vec::new();
    let mut part: Vec<Piece> = Vec::new();
    for (number, path) in files.iter().enumerate() {
        part.push(Piece { file: number, from: 0, to: open(path)?.metadata()?.len() });
        if part.iter().map(Piece::bytes).sum::<u64>() >= part_bytes {
            parts.push(std::mem::take(&mut part));
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    Ok(parts)
}

fn open(path: &Path) -> io::Result<File> {
    File::open(path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Returns the first position behind `at` where a part may begin.
fn next_cut(file: &File, mut at: u64, cuts: &Cuts) -> io::Result<Option<u64>> {
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        let read = file.read_at(&mut block, at)?;
        let may_be = |pair: &[u8]| cuts.may_be(pair[0], pair[1]);
        if let Some(found) = block[..read].windows(2).position(may_be) {
            return Ok(Some(at + found as u64 + 1));
        }
        if read < 2 {
            return Ok(None);
        }
        at += read as u64 - 1;
    }
}

/// Whether the part that was begun may end before this file.
fn may_end(files: &[PathBuf], part: &[Piece], next: &File, cuts: &Cuts) -> io::Result<bool> {
    let Some(last) = part.last() else { return Ok(false) };
    let (mut before, mut behind) = ([0], [0]);
    let read = open(&files[last.file])?.read_at(&mut before, last.to - 1)? + next.read_at(&mut behind, 0)?;
    Ok(read == 2 && cuts.may_be(before[0], behind[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_lines_and_hold_every_byte_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let contents: [&[u8]; 5] = [b"one\ntwo\nthree\n", b"", b"four", b"\nfive\n\n\nsix", b"seven\neight"];
        let files: Vec<PathBuf> = (0..contents.len()).map(|n| folder.path().join(n.to_string())).collect();
        for (file, content) in files.iter().zip(contents) {
            std::fs::write(file, content).expect("written");
        }
        let whole = contents.concat();
        for part_bytes in 1..whole.len() as u64 + 2 {
            let parts = parts(&files, part_bytes, &Cuts::lines()).expect("parts");
            let bytes: Vec<Vec<u8>> = parts
                .iter()
                .map(|part| {
                    let pieces = part
                        .iter()
                        .map(|piece| &contents[piece.file][piece.from as usize..piece.to as usize]);
                    pieces.collect::<Vec<_>>().concat()
                })
                .collect();
            assert_eq!(bytes.concat(), whole, "{part_bytes}");
            let (_, before) = bytes.split_last().expect("a part");
            assert!(before.iter().all(|part| part.ends_with(b"\n")), "{part_bytes}");
        }
    }
}
