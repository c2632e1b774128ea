//! Directories that are being read, and how many are open.

use pelton_sys::directories::{self, End};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A descriptor that is counted while it is open.
pub(super) struct Held {
    pub fd: OwnedFd,
    /// How the end of the listing is recognized, if known.
    pub end: Option<End>,
    count: Arc<AtomicUsize>,
}

impl Held {
    pub fn new(fd: OwnedFd, end: Option<End>, count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Held { fd, end, count: Arc::clone(count) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The directory of the names in a listing.
#[derive(Clone)]
pub(super) enum ListedDirectory {
    /// The working directory, for starting points.
    Here,
    Open(Arc<Held>),
    /// Closed because too many are open. It is reopened by path, if that still leads to the same directory.
    Closed(Option<(u64, u64)>),
}

/// Returns the device and inode of a directory.
pub(super) fn identity(fd: BorrowedFd<'_>) -> Option<(u64, u64)> {
    directories::own_status(fd).ok().map(|status| (status.device, status.inode))
}
