//! Directories: opening and listing them with as few calls as the kernel allows, and what an entry in one is.
//!
//! Names are relative to an open directory, so that a path is looked up once, and its length does not matter.

mod end;

pub use end::{End, open_in};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::LazyLock;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A plain file.
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
    /// The file system does not say: ask for the entry's status.
    Unknown,
}

impl Kind {
    /// What a directory says of an entry.
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
    /// Nanoseconds beyond them.
    pub nanoseconds: i64,
}

/// The time now.
pub fn now() -> Time {
    use std::time::{SystemTime, UNIX_EPOCH};
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => Time { seconds: since.as_secs() as i64, nanoseconds: i64::from(since.subsec_nanos()) },
        // A clock that is set to before it.
        Err(_) => Time::default(),
    }
}

/// What stat(2) tells.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// The file system.
    pub device: u64,
    /// The number there.
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
    /// Blocks of 512 bytes that it takes.
    pub blocks: u64,
    /// When it was read.
    pub accessed: Time,
    /// When its contents changed.
    pub modified: Time,
    /// When anything of it changed.
    pub changed: Time,
}

impl Status {
    /// What it is.
    pub fn kind(&self) -> Kind {
        rustix::fs::FileType::from_raw_mode(self.mode).into()
    }
}

/// Where relative names start if no directory is given: the working directory.
pub fn here() -> BorrowedFd<'static> {
    CWD
}

/// Asks for the status of `name`, and of what a link there leads to if `follow`.
///
/// # Errors
/// Those of fstatat(2).
pub fn status(at: BorrowedFd<'_>, name: &CStr, follow: bool) -> io::Result<Status> {
    let flags = if follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    // automatic mounts stay unmounted
    Ok(convert(&rustix::fs::statat(at, name, flags | AtFlags::NO_AUTOMOUNT)?))
}

/// The status of an open file.
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

/// Opens a directory to list it. A link is followed only if `follow`.
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

/// The number of the file system's type.
fn file_system(fd: BorrowedFd<'_>) -> Option<u64> {
    // Where the type of this field is signed, it has 64 bits.
    #[allow(clippy::unnecessary_cast)]
    rustix::fs::fstatfs(fd).ok().map(|system| system.f_type as u64)
}

/// Whether what is in a directory may be reached. Root always may, and is not made to ask; who cannot be told, may.
pub fn may_search(directory: BorrowedFd<'_>) -> bool {
    static ROOT: LazyLock<bool> = LazyLock::new(|| rustix::process::geteuid().is_root());
    *ROOT || rustix::fs::accessat(directory, c".", Access::EXISTS, AtFlags::EACCESS) != Err(Errno::ACCESS)
}

/// The same for a path from the working directory that may be longer than the kernel takes at once.
///
/// # Errors
/// Those of openat(2).
pub fn open_long(path: &[u8], follow: bool) -> io::Result<OwnedFd> {
    /// PATH_MAX, less what ends it.
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
    /// What it is.
    pub kind: Kind,
    /// Its number on the file system.
    pub inode: u64,
    /// Where the directory stands behind it.
    next: u64,
}

/// Whether there is more to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// Go on.
    Yes,
    /// Stop, and let the next listing of the same descriptor begin behind this entry.
    Later,
}

/// Gives each name of a directory but `.` and `..` to `each`, from where the descriptor stands. True if it was listed to
/// its end, which is asked for if it is not known as such. `buffer` is what one call may fill; its contents do not matter.
/// Who lists a million names notices each instruction: so the entries are taken apart here.
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

/// One getdents64: how many bytes of entries it gave.
fn fill(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes into `buffer`, as much as its length at most.
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

/// The first of the entries that getdents64 gave, and those behind it. Each is a number, the place of the next one, the
/// length of all this, a type, and a name that ends in a NUL.
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

/// Whether there is no name in a directory.
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

/// What a link says.
///
/// # Errors
/// Those of readlinkat(2).
pub fn read_link(at: BorrowedFd<'_>, name: &CStr) -> io::Result<CString> {
    Ok(rustix::fs::readlinkat(at, name, Vec::new())?)
}

/// Removes a name, which is an empty directory's or another file's.
///
/// # Errors
/// Those of unlinkat(2).
pub fn remove(at: BorrowedFd<'_>, name: &CStr, directory: bool) -> io::Result<()> {
    let flags = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    Ok(rustix::fs::unlinkat(at, name, flags)?)
}

/// Whether names are best taken in the order of their numbers, which saves seeks of a disk: not where there is none.
/// The same file systems count as such as for fts(3) of the GNU portability library.
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
