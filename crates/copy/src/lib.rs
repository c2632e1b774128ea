//! Copies files and trees as GNU cp does, in any of the ways that Linux has.
//!
//! [`Copier`] walks the tree, decides what is copied where, and preserves attributes; a [`Way`] moves the
//! bytes of one file. An error names its file and does not stop the rest. The crate prints nothing: it
//! reports through [`Talk`].

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
