//! Gives a part to its stages: its bytes, judged on the way.

use crate::cut::Piece;
use crate::job::Job;
use crate::work::{Check, Suffices};
use crate::worker::{first_line, in_group, listen};
use memchr::{memchr, memchr_iter};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Stdio;

/// Bytes that are read and written at once.
const BLOCK_BYTES: usize = 1 << 20;

/// What stages were given.
#[derive(Debug, Default)]
pub struct Given {
    /// How that ended.
    pub end: End,
    /// Bytes.
    pub bytes: u64,
    /// Newlines among them.
    pub lines: u64,
    /// The last byte.
    last: Option<u8>,
}

/// How giving ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Everything was taken.
    #[default]
    All,
    /// The stages ended before.
    Early,
    /// Bytes that are no text.
    NotText,
    /// What makes a file readable said this, or failed.
    NotDecoded(String),
}

impl Given {
    /// Returns why the part may not do what the whole would.
    pub fn unsure(&self, job: &Job, part: usize) -> Option<String> {
        let division = &job.division;
        match &self.end {
            End::NotText => return Some("the input holds bytes that are no text".to_owned()),
            End::NotDecoded(how) => return Some(how.clone()),
            End::Early if division.suffices == Suffices::Never => {
                return Some("a part ended before its input".to_owned());
            }
            End::Early => return None,
            End::All => {}
        }
        let is_last = part + 1 == job.parts.len();
        if !is_last && division.decoder.is_some() && self.last.is_some_and(|last| last != b'\n') {
            return Some("a file that does not end with a newline, between others".to_owned());
        }
        (part == 0 && self.lines < division.first_lines)
            .then(|| format!("a first part of less than {} lines", division.first_lines))
    }
}

/// Writes the bytes of a part to its stages.
pub fn feed(job: &Job, part: usize, pelton: &Path, to: impl Write) -> io::Result<Given> {
    let mut feeder = Feeder { to, check: job.division.check, block: vec![0; BLOCK_BYTES], open: 0 };
    let mut given = Given::default();
    for piece in &job.parts[part] {
        let path = job.directory.join(&job.inputs[piece.file].path);
        let mut file = File::open(path)?;
        given.end = match &job.division.decoder {
            None => {
                file.seek(SeekFrom::Start(piece.from))?;
                feeder.copy_range(file, piece, &mut given)?
            }
            Some(decoder) => decoded(job, pelton, decoder, file, &mut feeder, &mut given)?,
        };
        if given.end != End::All {
            break;
        }
    }
    Ok(given)
}

/// Whether a file is UTF-8 without NULs.
pub fn is_text(path: &Path) -> io::Result<bool> {
    let mut judge = Feeder { to: io::sink(), check: Check::Utf8, block: vec![0; BLOCK_BYTES], open: 0 };
    Ok(judge.copy(File::open(path)?, &mut Given::default())? == End::All)
}

/// Gives what a decoder makes of a file.
fn decoded(
    job: &Job,
    pelton: &Path,
    decoder: &str,
    file: File,
    feeder: &mut Feeder<impl Write>,
    given: &mut Given,
) -> io::Result<End> {
    let mut child = in_group(job, pelton, decoder, file.into(), Stdio::piped())?;
    let listener = listen(child.stderr.take());
    // If not everything is wanted, the end of the pipe ends it.
    let end = child.stdout.take().map_or(Ok(End::All), |stdout| feeder.copy(stdout, given));
    let status = child.wait()?;
    let said = listener.join().unwrap_or_default();
    let end = end?;
    if end != End::All {
        return Ok(end);
    }
    Ok(match first_line(&said) {
        Some(said) => End::NotDecoded(format!("`{decoder}` said: {said}")),
        None if !status.success() => End::NotDecoded(format!("`{decoder}` ended with {status}")),
        None => End::All,
    })
}

struct Feeder<W> {
    to: W,
    check: Check,
    block: Vec<u8>,
    /// Bytes at the start of the block that were given but not judged: the start of a character.
    open: usize,
}

impl<W: Write> Feeder<W> {
    /// Gives a range of a file that is positioned at its start.
    fn copy_range(&mut self, file: File, piece: &Piece, given: &mut Given) -> io::Result<End> {
        let (wanted, before) = (piece.bytes(), given.bytes);
        let end = self.copy(file.take(wanted), given)?;
        match end == End::All && given.bytes - before < wanted {
            true => Err(io::Error::other("the file has become shorter")),
            false => Ok(end),
        }
    }

    /// Gives all of a reader.
    fn copy(&mut self, mut from: impl Read, given: &mut Given) -> io::Result<End> {
        loop {
            let read = match from.read(&mut self.block[self.open..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            let filled = self.open + read;
            let Some(behind) = judged(self.check, &self.block[..filled], read == 0) else {
                return Ok(End::NotText);
            };
            if read == 0 {
                self.open = 0;
                return Ok(End::All);
            }
            let new = &self.block[self.open..filled];
            match self.to.write_all(new) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(End::Early),
                written => written?,
            }
            given.bytes += read as u64;
            given.lines += memchr_iter(b'\n', new).count() as u64;
            given.last = new.last().copied();
            self.block.copy_within(behind..filled, 0);
            self.open = filled - behind;
        }
    }
}

/// Returns how much of a block was judged; the rest is the start of a character. `None` if it is no text.
fn judged(check: Check, block: &[u8], is_last: bool) -> Option<usize> {
    if check >= Check::NoNul && memchr(0, block).is_some() {
        return None;
    }
    if check < Check::Utf8 {
        return Some(block.len());
    }
    match str::from_utf8(block) {
        Ok(_) => Some(block.len()),
        Err(error) if error.error_len().is_none() && !is_last => Some(error.valid_up_to()),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_judged_in_pieces_as_in_one() {
        assert_eq!(judged(Check::Bytes, b"a\0\xff", true), Some(3));
        assert_eq!(judged(Check::NoNul, b"a\xff", true), Some(2));
        assert_eq!(judged(Check::NoNul, b"a\0", false), None);
        assert_eq!(judged(Check::Utf8, "aé".as_bytes(), true), Some(3));
        assert_eq!(judged(Check::Utf8, b"a\xc3", false), Some(1));
        assert_eq!(judged(Check::Utf8, b"a\xc3", true), None);
        assert_eq!(judged(Check::Utf8, b"a\xc3b", false), None);
    }
}
