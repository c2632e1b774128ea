//! One input of a worker, and how it is read.

use super::meter;
use super::out::Out;
use pelton_commands::io_errors::STDIO_BUFFER_BYTES;
use pelton_stream::InputKind;
use pelton_sys::pipe;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// One input of the first kernel.
pub struct Source {
    pub name: Option<Vec<u8>>,
    /// `None`: standard input.
    pub file: Option<File>,
    pub kind: InputKind,
    /// For reading from the end: the length before what was read.
    pub before: Option<u64>,
}

impl Source {
    /// Returns the open file. Standard input is set up in the worker, so it is opened only there.
    pub fn opened(&mut self) -> std::io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => File::from(std::io::stdin().as_fd().try_clone_to_owned()?),
        };
        Ok(self.file.insert(file))
    }

    /// Whether reading it never blocks.
    pub fn is_regular(&self) -> bool {
        matches!(self.kind, InputKind::Regular { .. })
    }

    /// Returns the length of a regular file that was opened for this segment and of which nothing was
    /// skipped. An inherited one shares its offset with others.
    pub fn whole_length(&mut self) -> Option<u64> {
        let regular = self.is_regular();
        let file = self.file.as_mut().filter(|_| regular)?;
        (file.stream_position().ok()? == 0).then_some(())?;
        Some(file.metadata().ok()?.len())
    }
}

/// Reads the block that ends `before` bytes after the beginning of a file; 0 bytes if there is none. Blocks
/// begin at multiples of their size, as the pages of a file do.
pub fn read_before(file: &File, before: &mut u64, block: &mut [u8]) -> std::io::Result<usize> {
    let size = block.len() as u64;
    while *before > 0 {
        let from = (*before - 1) / size * size;
        let n = read_at(file, from, &mut block[..(*before - from) as usize])?;
        *before = from;
        // Nothing is there if the file has shrunk.
        if n > 0 {
            return Ok(n);
        }
    }
    Ok(0)
}

/// Reads as much as there is.
fn read_at(file: &File, from: u64, block: &mut [u8]) -> std::io::Result<usize> {
    let mut n = 0;
    while n < block.len() {
        match meter::reading(|| file.read_at(&mut block[n..], from + n as u64)) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n)
}

/// Returns the number of bytes read; 0 at the end.
pub fn read_range(file: &mut File, block: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match meter::reading(|| file.read(block)) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Whether more can be read without blocking, or comes within [`Out::patience`].
///
/// Lets out what the real commands would have written by now: the writer of the input may wait for it.
pub fn comes_soon(fd: BorrowedFd<'_>, out: &mut Out) -> bool {
    if meter::reading(|| pipe::is_readable_within(fd, Duration::ZERO)) {
        return true;
    }
    if out.held() >= STDIO_BUFFER_BYTES {
        out.let_out();
    }
    let patience = out.patience();
    !patience.is_zero() && meter::reading(|| pipe::is_readable_within(fd, patience))
}
