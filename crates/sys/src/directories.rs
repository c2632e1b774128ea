//! Directories: opening and listing them with as few system calls as the kernel allows, and the types of
//! their entries.
//!
//! Names are relative to an open directory, so a path is resolved only once and its length does not matter.

mod end;

pub use end::{End, open_in};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::LazyLock;

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A block device.
    Block,
    /// A character device.
    Character,
    /// The file system does not say: query the entry's status.
    Unknown,
}

impl Kind {
    /// Converts the type in a directory entry.
    fn listed(kind: u8) -> Self {
        match kind {
            libc::DT_REG => Kind::File,
            libc::DT_DIR => Kind::Directory,
            libc::DT_LNK => Kind::Link,
            libc::DT_FIFO => Kind::Fifo,
            libc::DT_SOCK => Kind::Socket,
            libc::DT_BLK => Kind::Block,
            libc::DT_CHR => Kind::Character,
            _ => Kind::Unknown,
        }
    }
}

impl From<rustix::fs::FileType> for Kind {
    fn from(kind: rustix::fs::FileType) -> Self {
        use rustix::fs::FileType;
        match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            FileType::Fifo => Kind::Fifo,
            FileType::Socket => Kind::Socket,
            FileType::BlockDevice => Kind::Block,
            FileType::CharacterDevice => Kind::Character,
            FileType::Unknown => Kind::Unknown,
        }
    }
}

/// A time since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Seconds.
    pub seconds: i64,
    /// Nanoseconds beyond the seconds.
    pub nanoseconds: i64,
}

/// The time now.
pub fn now() -> Time {
    use std::time::{SystemTime, UNIX_EPOCH};
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => Time { seconds: since.as_secs() as i64, nanoseconds: i64::from(since.subsec_nanos()) },
        // The clock is set to before the epoch.
        Err(_) => Time::default(),
    }
}

/// The result of stat(2).
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Device of the file system.
    pub device: u64,
    /// Inode.
    pub inode: u64,
    /// Type and permissions.
    pub mode: u32,
    /// Hard links.
    pub links: u64,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Bytes.
    pub size: u64,
    /// Allocated blocks of 512 bytes.
    pub blocks: u64,
    /// Last access.
    pub accessed: Time,
    /// Last change of its contents.
    pub modified: Time,
    /// Last change of contents or metadata.
    pub changed: Time,
}

impl Status {
    /// Returns its type.
    pub fn kind(&self) -> Kind {
        rustix::fs::FileType::from_raw_mode(self.mode).into()
    }
}

/// Returns the working directory, where relative names start if no directory is given.
pub fn here() -> BorrowedFd<'static> {
    CWD
}

/// Returns the status of `name`; of a link's target if `follow`.
///
/// # Errors
/// Those of fstatat(2).
pub fn status(at: BorrowedFd<'_>, name: &CStr, follow: bool) -> io::Result<Status> {
    let flags = if follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    // automatic mounts stay unmounted
    Ok(convert(&rustix::fs::statat(at, name, flags | AtFlags::NO_AUTOMOUNT)?))
}

/// Returns the status of an open file.
///
/// # Errors
/// Those of fstat(2).
pub fn own_status(fd: BorrowedFd<'_>) -> io::Result<Status> {
    Ok(convert(&rustix::fs::fstat(fd)?))
}

// The widths of these fields differ between architectures.
#[allow(clippy::unnecessary_cast)]
fn convert(stat: &rustix::fs::Stat) -> Status {
    let time = |seconds, nanoseconds| Time { seconds, nanoseconds };
    Status {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        mode: stat.st_mode as u32,
        links: stat.st_nlink as u64,
        user: stat.st_uid,
        group: stat.st_gid,
        size: stat.st_size as u64,
        blocks: stat.st_blocks as u64,
        accessed: time(stat.st_atime as i64, stat.st_atime_nsec as i64),
        modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    }
}

/// Opens a directory to list it. Follows a link only if `follow`.
///
/// # Errors
/// Those of openat(2).
pub fn open(at: BorrowedFd<'_>, name: &CStr, follow: bool) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(at, name, listing_flags(follow), Mode::empty())?)
}

fn listing_flags(follow: bool) -> OFlags {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    if follow { flags } else { flags | OFlags::NOFOLLOW }
}

const TMPFS: u64 = 0x0102_1994;

/// Returns the magic number of the file system's type.
fn file_system(fd: BorrowedFd<'_>) -> Option<u64> {
    // Where the type of this field is signed, it has 64 bits.
    #[allow(clippy::unnecessary_cast)]
    rustix::fs::fstatfs(fd).ok().map(|system| system.f_type as u64)
}

/// Whether the directory may be searched. Root always may, so no call is made; `true` if it cannot be
/// determined.
pub fn may_search(directory: BorrowedFd<'_>) -> bool {
    static ROOT: LazyLock<bool> = LazyLock::new(|| rustix::process::geteuid().is_root());
    *ROOT || rustix::fs::accessat(directory, c".", Access::EXISTS, AtFlags::EACCESS) != Err(Errno::ACCESS)
}

/// Opens a path from the working directory that may be longer than the kernel accepts at once.
///
/// # Errors
/// Those of openat(2).
pub fn open_long(path: &[u8], follow: bool) -> io::Result<OwnedFd> {
    /// PATH_MAX, less the final NUL.
    const LONGEST: usize = 4095;
    let mut at: Option<OwnedFd> = None;
    let mut rest = path;
    while rest.len() > LONGEST {
        let cut = rest[..LONGEST].iter().rposition(|byte| *byte == b'/');
        let cut = cut.filter(|cut| *cut > 0).ok_or(rustix::io::Errno::NAMETOOLONG)?;
        let part = CString::new(&rest[..cut])?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let from = at.as_ref().map_or(CWD, AsFd::as_fd);
        at = Some(rustix::fs::openat(from, &part, flags, Mode::empty())?);
        rest = &rest[cut + 1..];
    }
    open(at.as_ref().map_or(CWD, AsFd::as_fd), &CString::new(rest)?, follow)
}

/// One name in a directory.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The name.
    pub name: &'a CStr,
    /// Its type.
    pub kind: Kind,
    /// Its inode.
    pub inode: u64,
    /// The directory's offset after it.
    next: u64,
}

/// Whether to list more entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// Continue.
    Yes,
    /// Stop; the next listing of the same descriptor begins after this entry.
    Later,
}

/// Passes each name of a directory except `.` and `..` to `each`, from the descriptor's position. Returns
/// true if it reached the end; if `end` is unknown, an extra call checks that. `buffer` is what one call may
/// fill; its contents do not matter. Parses the entries itself, since a listing of a million names notices
/// each instruction.
///
/// # Errors
/// Those of getdents64(2), and of lseek(2) where `each` stopped.
pub fn list(
    fd: BorrowedFd<'_>,
    end: Option<End>,
    buffer: &mut [u8],
    mut each: impl FnMut(Entry<'_>) -> More,
) -> io::Result<bool> {
    loop {
        let filled = fill(fd, buffer)?;
        if filled == 0 {
            return Ok(true);
        }
        let (mut rest, mut next) = (&buffer[..filled], 0);
        while let Some((entry, behind)) = take(rest) {
            (rest, next) = (behind, entry.next);
            if !matches!(entry.name.to_bytes(), b"." | b"..") && each(entry) == More::Later {
                rustix::fs::seek(fd, SeekFrom::Start(next))?;
                return Ok(false);
            }
        }
        if end.is_some_and(|end| end.is_at(next)) {
            return Ok(true);
        }
    }
}

/// Calls getdents64 once; returns how many bytes of entries it read.
fn fill(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes into `buffer`, at most its length.
    let filled =
        unsafe { libc::syscall(libc::SYS_getdents64, fd.as_raw_fd(), buffer.as_mut_ptr(), buffer.len()) };
    match usize::try_from(filled) {
        Ok(filled) => Ok(filled),
        Err(_) => match io::Error::last_os_error() {
            // A directory that was removed while it was open is empty.
            gone if gone.kind() == io::ErrorKind::NotFound => Ok(0),
            error => Err(error),
        },
    }
}

/// Splits off the first entry of getdents64's result. Each entry is an inode, the offset of the next one, its
/// own length, a type, and a name that ends in a NUL.
#[inline]
fn take(entries: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let (inode, rest) = entries.split_first_chunk()?;
    let (next, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (kind, name) = rest.split_first()?;
    let behind = entries.get(usize::from(u16::from_ne_bytes(*length))..)?;
    // SAFETY: the kernel ends a name with a NUL, within the entry.
    let name = unsafe { CStr::from_ptr(name.as_ptr().cast()) };
    let (inode, next) = (u64::from_ne_bytes(*inode), u64::from_ne_bytes(*next));
    Some((Entry { name, kind: Kind::listed(*kind), inode, next }, behind))
}

/// Whether a directory is empty.
///
/// # Errors
/// Those of openat(2) and getdents64(2).
pub fn is_empty(at: BorrowedFd<'_>, name: &CStr) -> io::Result<bool> {
    let fd = open(at, name, true)?;
    let mut buffer = [0; 4096];
    let mut empty = true;
    list(fd.as_fd(), None, &mut buffer, |_| {
        empty = false;
        More::Later
    })?;
    Ok(empty)
}

/// Returns a link's target.
///
/// # Errors
/// Those of readlinkat(2).
pub fn read_link(at: BorrowedFd<'_>, name: &CStr) -> io::Result<CString> {
    Ok(rustix::fs::readlinkat(at, name, Vec::new())?)
}

/// Removes an empty directory or another file by name.
///
/// # Errors
/// Those of unlinkat(2).
pub fn remove(at: BorrowedFd<'_>, name: &CStr, directory: bool) -> io::Result<()> {
    let flags = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    Ok(rustix::fs::unlinkat(at, name, flags)?)
}

/// Whether names are best processed in inode order, which saves disk seeks. False on file systems without a
/// disk; the list is that of fts(3) in gnulib.
pub fn is_on_disk(fd: BorrowedFd<'_>) -> bool {
    const CIFS: u64 = 0xff53_4d42;
    const LUSTRE: u64 = 0x0bd0_0bd0;
    const NFS: u64 = 0x6969;
    file_system(fd).is_some_and(|system| ![CIFS, LUSTRE, NFS, TMPFS].contains(&system))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(fd: &OwnedFd, at_once: usize) -> (Vec<String>, bool) {
        let mut buffer = [0; 512];
        let mut found = Vec::new();
        let ended = list(fd.as_fd(), End::of(fd.as_fd()), &mut buffer, |entry| {
            found.push(entry.name.to_string_lossy().into_owned());
            if found.len() == at_once { More::Later } else { More::Yes }
        });
        (found, ended.expect("listed"))
    }

    #[test]
    fn a_listing_goes_on_where_it_stopped() {
        let dir = std::env::temp_dir().join(format!("pelton-directories-{}", std::process::id()));
        std::fs::create_dir(&dir).expect("made");
        for number in 0..100 {
            std::fs::write(dir.join(format!("f{number}")), "").expect("made");
        }
        let path = CString::new(dir.as_os_str().as_encoded_bytes()).expect("no NUL");
        let fd = open(here(), &path, false).expect("open");
        let (mut first, ended) = names(&fd, 30);
        assert!(first.len() == 30 && !ended);
        let (rest, ended) = names(&fd, 1000);
        assert!(rest.len() == 70 && ended);
        first.extend(rest);
        first.sort();
        first.dedup();
        assert_eq!(first.len(), 100, "each once");
        assert!(!is_empty(here(), &path).expect("listed"));
        for name in first {
            let name = CString::new(name).expect("no NUL");
            assert_eq!(status(fd.as_fd(), &name, false).expect("there").kind(), Kind::File);
            remove(fd.as_fd(), &name, false).expect("removed");
        }
        assert!(is_empty(here(), &path).expect("listed"));
        remove(here(), &path, true).expect("removed");
    }
}
