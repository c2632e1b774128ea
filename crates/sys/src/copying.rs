//! Linux's ways to move bytes between files, and the copying of file metadata.
//!
//! Offsets are explicit, so neither file's position matters, except where noted.

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, SeekFrom, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;
use std::ffi::CString;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Shares the blocks of `from` with `to`, copy-on-write.
///
/// # Errors
/// If the file system cannot, or the files are on different ones.
pub fn clone_blocks(from: &File, to: &File) -> io::Result<()> {
    Ok(rustix::fs::ioctl_ficlone(to, from)?)
}

/// Makes the kernel copy up to `bytes` from and to offset `at`; returns how many it copied, 0 at the end.
///
/// # Errors
/// Those of copy_file_range(2): `EXDEV`, `EINVAL` or `EOPNOTSUPP` where it is not possible.
pub fn copy_range(from: &File, to: &File, at: u64, bytes: usize) -> io::Result<usize> {
    let (mut source, mut target) = (at, at);
    Ok(rustix::fs::copy_file_range(from, Some(&mut source), to, Some(&mut target), bytes)?)
}

/// Does the same with sendfile(2), to the current position of `to`.
///
/// # Errors
/// Those of sendfile(2).
pub fn send(from: &File, to: &File, at: u64, bytes: usize) -> io::Result<usize> {
    let mut source = at;
    Ok(rustix::fs::sendfile(to, from, Some(&mut source), bytes)?)
}

/// Splices up to `bytes` at `at` into a pipe.
///
/// # Errors
/// Those of splice(2).
pub fn splice_in(from: &File, at: u64, pipe: &impl AsFd, bytes: usize) -> io::Result<usize> {
    let mut source = at;
    let flags = rustix::pipe::SpliceFlags::MOVE;
    Ok(rustix::pipe::splice(from, Some(&mut source), pipe, None, bytes, flags)?)
}

/// Splices up to `bytes` from a pipe to `at`.
///
/// # Errors
/// Those of splice(2).
pub fn splice_out(pipe: &impl AsFd, to: &File, at: u64, bytes: usize) -> io::Result<usize> {
    let mut target = at;
    let flags = rustix::pipe::SpliceFlags::MOVE;
    Ok(rustix::pipe::splice(pipe, None, to, Some(&mut target), bytes, flags)?)
}

/// Copies `at..at + bytes` between mappings of both files: byte by byte, or at once. `to` already has this
/// length and its blocks allocated: a page without disk space would kill this process. So would a source that
/// another process truncates meanwhile.
///
/// # Errors
/// If they cannot be mapped.
pub fn copy_mapped(from: &File, to: &File, at: u64, bytes: usize, one_by_one: bool) -> io::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let page = rustix::param::page_size() as u64;
    let before = (at % page) as usize;
    let source = Mapping::new(from, at - before as u64, bytes + before, libc::PROT_READ)?;
    let target = Mapping::new(to, at - before as u64, bytes + before, libc::PROT_READ | libc::PROT_WRITE)?;
    // SAFETY: `before` is within the mapping, which is `bytes` longer.
    let source = unsafe { source.first.cast::<u8>().add(before) };
    // SAFETY: as above.
    let target_at = unsafe { target.first.cast::<u8>().add(before) };
    if !one_by_one {
        // SAFETY: the mappings live until this function ends; they are of two files, so they do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(source, target_at, bytes) };
        return Ok(());
    }
    for offset in 0..bytes {
        // SAFETY: within the mapping.
        let from = unsafe { source.add(offset) };
        // SAFETY: within the mapping.
        let to = unsafe { target_at.add(offset) };
        // SAFETY: mapped and readable; volatile, since another process may write to the file.
        let byte = unsafe { from.read_volatile() };
        // SAFETY: mapped and writable.
        unsafe { to.write_volatile(byte) };
    }
    Ok(())
}

/// A mapped range of a file.
struct Mapping {
    first: *mut libc::c_void,
    bytes: usize,
}

impl Mapping {
    fn new(file: &File, at: u64, bytes: usize, protection: i32) -> io::Result<Self> {
        use std::os::fd::AsRawFd;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches nothing of ours.
        let first = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                at as libc::off_t,
            )
        };
        if first == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Mapping { first, bytes }) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `new` made, and nothing refers to it any more.
        unsafe { libc::munmap(self.first, self.bytes) };
    }
}

/// Allocates disk space for `bytes` at `at` now.
///
/// # Errors
/// If there is not enough, or the file system cannot allocate ahead.
pub fn reserve(file: &File, at: u64, bytes: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), at, bytes)?)
}

/// Returns the start and end of the first data at or after `at`; `None` if only a hole follows.
///
/// # Errors
/// If the file system does not support it.
pub fn next_data(file: &File, at: u64) -> io::Result<Option<(u64, u64)>> {
    let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(Some((start, rustix::fs::seek(file, SeekFrom::Hole(start))?)))
}

/// Advises the kernel that a file will be read sequentially.
pub fn will_read_in_order(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Sequential);
}

/// Renames, unless the new name exists.
///
/// # Errors
/// `AlreadyExists` if it does; and those of rename(2).
pub fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, rustix::fs::RenameFlags::NOREPLACE) {
        // The file system does not support flags.
        Err(Errno::INVAL | Errno::NOSYS) if std::fs::symlink_metadata(to).is_ok() => {
            Err(io::ErrorKind::AlreadyExists.into())
        }
        Err(Errno::INVAL | Errno::NOSYS) => std::fs::rename(from, to),
        done => Ok(done?),
    }
}

/// Sets both times of the file at `path`; of the link itself if `like` is a link, otherwise of its target,
/// which was written.
///
/// # Errors
/// Those of utimensat(2).
pub fn set_times(path: &Path, like: &Metadata) -> io::Result<()> {
    let time = |tv_sec, nanoseconds: i64| Timespec { tv_sec, tv_nsec: nanoseconds as _ };
    let times = Timestamps {
        last_access: time(like.atime(), like.atime_nsec()),
        last_modification: time(like.mtime(), like.mtime_nsec()),
    };
    Ok(rustix::fs::utimensat(CWD, path, &times, following_unless_link(like))?)
}

/// Sets owner and group of the file at `path` to those of `like`; of the link itself if `like` is a link,
/// otherwise of its target.
///
/// # Errors
/// Those of chown(2).
pub fn set_owner(path: &Path, like: &Metadata) -> io::Result<()> {
    let (owner, group) = (Uid::from_raw(like.uid()), Gid::from_raw(like.gid()));
    Ok(rustix::fs::chownat(CWD, path, Some(owner), Some(group), following_unless_link(like))?)
}

fn following_unless_link(like: &Metadata) -> AtFlags {
    if like.file_type().is_symlink() { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() }
}

/// Sets the permissions of the file at `path`, all 12 bits.
///
/// # Errors
/// Those of chmod(2).
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::chmod(path, Mode::from_raw_mode(mode & 0o7777))?)
}

/// Makes a FIFO, a socket file or a device like this one.
///
/// # Errors
/// Those of mknod(2).
pub fn make_special(path: &Path, like: &Metadata, mode: u32) -> io::Result<()> {
    let kind = rustix::fs::FileType::from_raw_mode(like.mode());
    Ok(rustix::fs::mknodat(CWD, path, kind, Mode::from_raw_mode(mode & 0o7777), like.rdev())?)
}

/// Returns the process's umask.
pub fn umask() -> u32 {
    umask_told().unwrap_or_else(|| {
        // umask(2) reads it only by setting it: files that another thread creates meanwhile get none.
        let mask = rustix::process::umask(Mode::empty());
        rustix::process::umask(mask);
        mask.as_raw_mode()
    })
}

/// Reads it from /proc.
fn umask_told() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(mask.trim(), 8).ok()
}

/// Opens a file for writing: a new one, with these permissions less the umask, or an existing one.
///
/// # Errors
/// Those of open(2).
pub fn open_for_writing(path: &Path, new: bool, mode: u32) -> io::Result<File> {
    let how = if new { OFlags::CREATE | OFlags::EXCL } else { OFlags::TRUNC };
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | how;
    Ok(rustix::fs::open(path, flags, Mode::from_raw_mode(mode))?.into())
}

/// Opens the file again for reading and writing, as mapping requires.
///
/// # Errors
/// Those of open(2).
pub fn open_again(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path)
}

/// Returns the names of extended attributes, including access control lists; none if not supported.
pub fn attribute_names(path: &Path) -> Vec<CString> {
    let Ok(bytes) = rustix::fs::llistxattr(path, &mut [0_u8; 0]) else { return Vec::new() };
    let mut names = vec![0; bytes];
    let Ok(bytes) = rustix::fs::llistxattr(path, &mut names) else { return Vec::new() };
    let parts = names[..bytes].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    parts.filter_map(|name| CString::new(name).ok()).collect()
}

/// Copies an extended attribute of `from` to `to`.
///
/// # Errors
/// If it cannot be read or set.
pub fn copy_attribute(from: &Path, to: &Path, name: &CString) -> io::Result<()> {
    let bytes = rustix::fs::lgetxattr(from, name, &mut [0_u8; 0])?;
    let mut value = vec![0; bytes];
    let bytes = rustix::fs::lgetxattr(from, name, &mut value)?;
    Ok(rustix::fs::lsetxattr(to, name, &value[..bytes], XattrFlags::empty())?)
}

/// What a file system's type says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    /// Generates file contents on reading.
    MadeUp,
    /// Stores its files on this machine and uses the page cache: no server could copy them instead.
    Local,
    /// Any other.
    Other,
}

/// Returns the class of a file's file system.
pub fn file_system(file: &File) -> FileSystem {
    const PROC: u64 = 0x9fa0;
    const SYSFS: u64 = 0x6265_6572;
    const DEBUGFS: u64 = 0x6462_6720;
    const TRACEFS: u64 = 0x7472_6163;
    const CGROUP2: u64 = 0x6367_7270;
    const EXT: u64 = 0xef53;
    const TMPFS: u64 = 0x0102_1994;
    const XFS: u64 = 0x5846_5342;
    const BTRFS: u64 = 0x9123_683e;
    const F2FS: u64 = 0xf2f5_2010;
    // Layers of local file systems, in containers.
    const OVERLAY: u64 = 0x794c_7630;
    match rustix::fs::fstatfs(file).map(|about| about.f_type as u64) {
        Ok(PROC | SYSFS | DEBUGFS | TRACEFS | CGROUP2) => FileSystem::MadeUp,
        Ok(EXT | TMPFS | XFS | BTRFS | F2FS | OVERLAY) => FileSystem::Local,
        _ => FileSystem::Other,
    }
}
