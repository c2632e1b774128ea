//! Units that processes share: one process at a time holds a unit, and its end, however it comes, frees it.
//!
//! A unit is a lock on a byte of /dev/null, at an offset that is hard to guess: any process that knows it can
//! join, unrelated programs inherit nothing, and no file can be left behind.

use std::fs::File;
use std::io;

/// Number of units at a place.
pub const COUNT: u32 = 64;
/// Number of places that fit in a file's offsets.
const PLACES: u64 = 1 << 56;

/// Units as seen by one process and its forks: a fork holds what its parent holds.
#[derive(Debug)]
pub struct Units {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no such locks"))]
    file: File,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no such locks"))]
    first: u64,
}

impl Units {
    /// Opens the units of `place`; none is held yet.
    ///
    /// # Errors
    /// If there is no /dev/null, or this kind of lock is unsupported.
    pub fn open(place: u64) -> io::Result<Self> {
        if cfg!(not(target_os = "linux")) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let file = File::options().read(true).write(true).open("/dev/null")?;
        Ok(Units { file, first: place % PLACES * u64::from(COUNT) })
    }

    /// Acquires a unit; false if another process holds it.
    pub fn take(&self, unit: u32) -> bool {
        self.lock(unit, true)
    }

    /// Releases a unit.
    pub fn give_back(&self, unit: u32) {
        self.lock(unit, false);
    }

    #[cfg(target_os = "linux")]
    fn lock(&self, unit: u32, take: bool) -> bool {
        use std::os::fd::AsRawFd;
        // SAFETY: an all-zero flock is a valid value.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = if take { libc::F_WRLCK } else { libc::F_UNLCK } as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = (self.first + u64::from(unit % COUNT)) as libc::off_t;
        lock.l_len = 1;
        // SAFETY: the descriptor is open, and `lock` is a valid lock that is only read.
        unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLK, &lock) == 0 }
    }

    #[cfg(not(target_os = "linux"))]
    fn lock(&self, _unit: u32, _take: bool) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn one_holds_a_unit_until_it_ends() {
        let place = u64::from(std::process::id()) << 40 | 7;
        let (one, other) = (Units::open(place).expect("opened"), Units::open(place).expect("opened"));
        assert!(one.take(3) && one.take(3) && !other.take(3) && other.take(4));
        one.give_back(4);
        assert!(!one.take(4));
        one.give_back(3);
        assert!(other.take(3));
        drop(other);
        assert!(one.take(3) && one.take(4));
        assert!(Units::open(place + 1).expect("opened").take(3));
    }
}
