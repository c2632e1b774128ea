//! Copies the contents of one file.

use crate::ways::copy_rest;
use crate::{Moved, Options, Reflink, Sparse, Way};
use pelton_sys::copying::{self, FileSystem};
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Below this size, the other ways save at most two calls.
const SMALL: u64 = 64 * 1024;
/// From this size on, making a one-megabyte pipe pays.
const LARGE: u64 = 1 << 20;
/// Up to this size. At 100 MB, splice takes a fifth less time than copy_file_range on ext4; at 2 GB it took
/// several times as long.
const HUGE: u64 = 128 << 20;
/// Error for two different file systems.
const EXDEV: i32 = 18;
/// A block of zeros of this size becomes a hole with `--sparse=always`.
const HOLE: usize = 4096;

/// Copies everything from `from` into `to`, which is empty. Returns the way and the reason in words.
pub fn contents(
    from: &File,
    meta: &Metadata,
    to: &File,
    to_path: &Path,
    options: &Options,
    learned: &mut Learned,
) -> io::Result<(Moved, String)> {
    let (size, to_meta) = (meta.len(), to.metadata()?);
    if !meta.is_file() || !to_meta.is_file() {
        return Ok((stream(from, to)?, "read and written as a stream".to_owned()));
    }
    if options.sparse == Sparse::Always {
        let moved = making_holes(from, to)?;
        return Ok((moved, "read and written, zeros as holes".to_owned()));
    }
    let devices = (meta.dev(), to_meta.dev());
    if learned.no_sharing != Some(devices) && shares(from, to, options, devices, learned)? {
        return Ok((Moved { bytes: size, calls: 1 }, "shared blocks (reflink)".to_owned()));
    }
    let may_have_holes = meta.blocks() * 512 < size && options.sparse == Sparse::Auto;
    // Files under /sys report a page and no blocks, and end where their text does.
    let has_holes = may_have_holes && from.read_at(&mut [0], size - 1)? > 0;
    if has_holes && let Some(moved) = between_holes(from, to, to_path, size, options)? {
        return Ok((moved, "data copied, holes kept".to_owned()));
    }
    let (way, why) = choose(from, meta, options);
    let moved = with(way, from, to, to_path, 0..size, options)?;
    let rest = copy_rest(from, to, moved.bytes)?;
    let both = Moved { bytes: moved.bytes + rest.bytes, calls: moved.calls + rest.calls };
    Ok((both, format!("{}: {why}", way.name())))
}

/// Chooses the way for a file, and the reason. Reading and writing never loses by much. The ways within the
/// kernel save the copy through this process's memory, and the cache it would evict. Mapping is never chosen:
/// it is as fast, for a hundred times the memory, and raises a signal where the others return an error.
fn choose(from: &File, meta: &Metadata, options: &Options) -> (Way, &'static str) {
    match options.via {
        Some(way) => (way, "as asked"),
        None if meta.len() == 0 => (Way::ReadWrite, "its size is not known"),
        // The file system is not queried: that would be one more call for each of many small files.
        None if meta.len() < SMALL => (Way::ReadWrite, "it is small"),
        None => match copying::file_system(from) {
            FileSystem::MadeUp => (Way::ReadWrite, "its size is not known"),
            // Works as copy_file_range does within the kernel, but with a pipe sixteen times as large.
            FileSystem::Local if (LARGE..=HUGE).contains(&meta.len()) => {
                (Way::Splice, "the kernel moves it, a megabyte at once")
            }
            // A server may copy on its side without sending data.
            _ => (Way::CopyFileRange, "the kernel copies it without using pelton's memory"),
        },
    }
}

/// Copies in this way. If a way that was not requested is impossible, reads and writes instead.
fn with(
    way: Way,
    from: &File,
    to: &File,
    to_path: &Path,
    range: std::ops::Range<u64>,
    options: &Options,
) -> io::Result<Moved> {
    let bytes = range.end - range.start;
    match way.copy(from, to, to_path, range.start, bytes) {
        Err(error) if options.via.is_none() && cannot_be_done(&error) => {
            Way::ReadWrite.copy(from, to, to_path, range.start, bytes)
        }
        other => other,
    }
}

/// Whether the way is impossible. Other errors, such as a full disk, would also stop reading and writing.
fn cannot_be_done(error: &io::Error) -> bool {
    const EBADF: i32 = 9;
    const EPERM: i32 = 1;
    const ETXTBSY: i32 = 26;
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
        || [EXDEV, EBADF, EPERM, ETXTBSY].map(Some).contains(&error.raw_os_error())
}

/// Facts from one file that hold for the next ones.
#[derive(Debug, Default)]
pub struct Learned {
    /// Two devices that cannot share blocks, unless sharing is required.
    no_sharing: Option<(u64, u64)>,
}

/// Shares blocks, if that is allowed and possible.
fn shares(
    from: &File,
    to: &File,
    options: &Options,
    devices: (u64, u64),
    learned: &mut Learned,
) -> io::Result<bool> {
    let forced = options.reflink == Reflink::Always || options.via == Some(Way::Reflink);
    if !forced && (options.reflink == Reflink::Never || options.via.is_some()) {
        return Ok(false);
    }
    match copying::clone_blocks(from, to) {
        Ok(()) => Ok(true),
        Err(error) if forced => Err(error),
        Err(error) => {
            let for_all = error.kind() == io::ErrorKind::Unsupported || error.raw_os_error() == Some(EXDEV);
            learned.no_sharing = for_all.then_some(devices).or(learned.no_sharing);
            Ok(false)
        }
    }
}

/// Copies the data between holes; `None` if the file system does not report holes.
fn between_holes(
    from: &File,
    to: &File,
    to_path: &Path,
    size: u64,
    options: &Options,
) -> io::Result<Option<Moved>> {
    let way = options.via.unwrap_or(Way::CopyFileRange);
    let (mut at, mut total) = (0, Moved::default());
    loop {
        let data = match copying::next_data(from, at) {
            Ok(data) => data,
            Err(_) if at == 0 => return Ok(None),
            Err(error) => return Err(error),
        };
        total.calls += 2;
        let Some((start, end)) = data else { break };
        let moved = with(way, from, to, to_path, start..end.min(size.max(start)), options)?;
        total = Moved { bytes: total.bytes + moved.bytes, calls: total.calls + moved.calls };
        at = end;
        if at >= size {
            break;
        }
    }
    to.set_len(size)?;
    total.calls += 1;
    Ok(Some(total))
}

/// Copies from or to a file without positions: a FIFO, a device.
fn stream(mut from: &File, mut to: &File) -> io::Result<Moved> {
    let (mut buffer, mut moved) = (vec![0; 128 * 1024], Moved::default());
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(moved),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(&buffer[..read])?;
        moved = Moved { bytes: moved.bytes + read as u64, calls: moved.calls + 2 };
    }
}

fn making_holes(from: &File, to: &File) -> io::Result<Moved> {
    let (mut at, mut moved) = (0, Moved::default());
    let mut buffer = vec![0; 128 * 1024];
    loop {
        let read = match from.read_at(&mut buffer, at) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        moved.calls += 1;
        for piece in buffer[..read].chunks(HOLE) {
            if piece.iter().any(|byte| *byte != 0) {
                to.write_all_at(piece, at)?;
                moved.calls += 1;
                moved.bytes += piece.len() as u64;
            }
            at += piece.len() as u64;
        }
    }
    to.set_len(at)?;
    Ok(moved)
}
