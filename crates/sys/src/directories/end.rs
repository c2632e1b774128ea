//! Detects the end of a directory without a system call.
//!
//! Normally only one more getdents64 call, which returns nothing, shows that a directory was listed to its
//! end: the one before may have been cut short by a signal. But the last entry has the offset of the next
//! call, and some file systems use one offset for the end and nothing else. A directory's file system need
//! not be queried each time: what openat2 opens without crossing a mount point is on its parent's file
//! system.

use super::{TMPFS, file_system, listing_flags, open};
use rustix::fs::{Mode, ResolveFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

const EXT4: u64 = 0xef53;

/// The offset of a directory's end, on a file system where no entry can have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End(u64);

impl End {
    /// Returns that of the directory's file system, if known.
    pub fn of(directory: BorrowedFd<'_>) -> Option<End> {
        if NO_OPENAT2.load(Ordering::Relaxed) {
            return None;
        }
        match file_system(directory)? {
            // No name hashes to this value (ext4fs_dirhash). ext2 counts bytes and never reaches it.
            EXT4 => Some(End(i64::MAX as u64)),
            // No entry gets this number (DIR_OFFSET_MAX). Older kernels kept counting and had no such offset.
            TMPFS if *SINCE_6_14 => Some(End(i32::MAX as u64)),
            _ => None,
        }
    }

    /// Whether an entry with this next offset is the last one.
    pub(super) fn is_at(self, next: u64) -> bool {
        self.0 == next
    }
}

/// This kernel has no openat2: it is not tried again.
static NO_OPENAT2: AtomicBool = AtomicBool::new(false);

static SINCE_6_14: LazyLock<bool> = LazyLock::new(|| {
    let system = rustix::system::uname();
    system.release().to_str().is_ok_and(|release| is_since(release, (6, 14)))
});

/// Whether a kernel release such as `6.14.0-rc1` is this version or later.
fn is_since(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= version)
}

/// Does the same as [`open`], in a directory whose end may be known; also returns the end of the opened one,
/// if known.
///
/// # Errors
/// Those of openat(2).
pub fn open_in(
    at: BorrowedFd<'_>,
    end: Option<End>,
    name: &CStr,
    follow: bool,
) -> io::Result<(OwnedFd, Option<End>)> {
    if end.is_none() {
        return Ok((open(at, name, follow)?, None));
    }
    match rustix::fs::openat2(at, name, listing_flags(follow), Mode::empty(), ResolveFlags::NO_XDEV) {
        Ok(fd) => Ok((fd, end)),
        Err(Errno::XDEV) => {
            let fd = open(at, name, follow)?;
            let end = End::of(fd.as_fd());
            Ok((fd, end))
        }
        // A seccomp filter may refuse a call that it does not know.
        Err(refused @ (Errno::NOSYS | Errno::PERM)) => {
            NO_OPENAT2.fetch_or(refused == Errno::NOSYS, Ordering::Relaxed);
            Ok((open(at, name, follow)?, None))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{More, here, list};
    use super::*;
    use std::ffi::CString;

    #[test]
    fn releases_are_compared_by_numbers() {
        for (release, since) in [
            ("6.14.0", true),
            ("6.14-rc1", true),
            ("6.9.12", false),
            ("10.0", true),
            ("5.15", false),
            ("", false),
        ] {
            assert_eq!(is_since(release, (6, 14)), since, "{release}");
        }
    }

    /// Checks temporary directories on disk and in memory: the end is never detected before the last name.
    #[test]
    fn with_a_known_end_the_same_is_listed() {
        for place in [std::env::temp_dir(), "/dev/shm".into()] {
            let dir = place.join(format!("pelton-end-{}", std::process::id()));
            if std::fs::create_dir(&dir).is_err() {
                continue;
            }
            let path = CString::new(dir.as_os_str().as_encoded_bytes()).expect("no NUL");
            let outer = open(here(), &path, false).expect("open");
            let end = End::of(outer.as_fd());
            for entries in [0, 1, 2, 3, 300] {
                let name = CString::new(format!("d{entries}")).expect("no NUL");
                let inner = dir.join(format!("d{entries}"));
                std::fs::create_dir(&inner).expect("made");
                for number in 0..entries {
                    std::fs::write(inner.join(format!("f{number}")), "").expect("made");
                }
                for known in [None, end] {
                    let (fd, known) = open_in(outer.as_fd(), known, &name, false).expect("open");
                    let (mut count, mut buffer) = (0, [0; 512]);
                    let ended = list(fd.as_fd(), known, &mut buffer, |_| {
                        count += 1;
                        More::Yes
                    });
                    assert!(ended.expect("listed") && count == entries, "{count} of {entries}, {known:?}");
                }
            }
            std::fs::remove_dir_all(&dir).expect("removed");
        }
    }

    /// A mounted file system has another end than its parent.
    #[test]
    fn another_file_system_has_its_own_end() {
        let root = open(here(), c"/", false).expect("open");
        let (proc, end) = open_in(root.as_fd(), Some(End(0)), c"proc", false).expect("open");
        assert_eq!(end, None, "{:?}", file_system(proc.as_fd()));
        let error = open_in(root.as_fd(), Some(End(0)), c"nosuch", false).map(drop);
        assert_eq!(error.map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
    }
}
