//! The time stamps of files.

use pelton_sys::directories::{Status, Time};

/// A time stamp of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    Accessed,
    Changed,
    Modified,
}

impl Stamp {
    /// Returns this time stamp.
    pub fn of(self, status: &Status) -> Time {
        match self {
            Stamp::Accessed => status.accessed,
            Stamp::Changed => status.changed,
            Stamp::Modified => status.modified,
        }
    }
}
