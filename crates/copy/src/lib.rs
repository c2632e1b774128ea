//! Copying files and trees as GNU cp does, in any of the ways that Linux has.
//!
//! [`Copier`] walks, decides what is copied where, and keeps what cp keeps; a [`Way`] moves the bytes of one file.
//! Errors name the file and do not stop the rest. It prints nothing: whoever [`Talk`]s does.

mod attributes;
mod backup;
mod file;
mod options;
mod parents;
mod tree;
mod ways;

pub use backup::{Backup, Naming};
pub use options::{Link, Options, Overwrite, Preserve, Reflink, Sparse, Talk};
pub use tree::Copier;
pub use ways::{Moved, Way};
