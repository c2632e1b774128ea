//! Options of a copy.

use crate::{Backup, Way};
use std::io;
use std::path::Path;

/// Treatment of holes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sparse {
    /// Holes stay holes.
    #[default]
    Auto,
    /// Zeros become holes.
    Always,
    /// Holes become zeros.
    Never,
}

/// Whether blocks may be shared with the source (reflink).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reflink {
    /// If possible.
    #[default]
    Auto,
    /// Required: otherwise the copy fails.
    Always,
    /// Never.
    Never,
}

/// Treatment of existing targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overwrite {
    /// Overwritten.
    #[default]
    Yes,
    /// Kept.
    Never,
    /// Asks the user.
    Ask,
}

/// Attributes of the source that the copy gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preserve {
    /// All 12 permission bits, and access control lists.
    pub mode: bool,
    /// Owner and group, as far as allowed.
    pub owner: bool,
    /// Access and modification times.
    pub times: bool,
    /// Hard links among the copied files.
    pub links: bool,
    /// Extended attributes, as far as possible.
    pub attributes: bool,
}

/// Whether to make links instead of copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// Copies.
    #[default]
    None,
    /// Hard links.
    Hard,
    /// Symbolic links.
    Symbolic,
}

/// Options of a copy.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether to copy directories with their contents.
    pub recursive: bool,
    /// Whether to follow symbolic links; if not, they are copied.
    pub follow: bool,
    /// Whether to follow symbolic links that are operands.
    pub follow_operands: bool,
    /// Attributes to preserve.
    pub preserve: Preserve,
    /// Whether copies get the permissions of new files instead of their sources' (`--no-preserve=mode`).
    pub new_mode: bool,
    /// Whether to copy only files newer than their targets.
    pub update: bool,
    /// Treatment of existing targets.
    pub overwrite: Overwrite,
    /// Whether to remove a target that cannot be opened.
    pub force: bool,
    /// Whether to remove every existing target first.
    pub remove_first: bool,
    /// Backup of existing targets, if any.
    pub backup: Option<Backup>,
    /// Whether to recreate a source's parent directories within the target directory.
    pub parents: bool,
    /// Links instead of copies.
    pub link: Link,
    /// Whether to leave directories of other file systems empty.
    pub one_file_system: bool,
    /// Treatment of holes.
    pub sparse: Sparse,
    /// Sharing of blocks.
    pub reflink: Reflink,
    /// How bytes are moved; `None` chooses for each file.
    pub via: Option<Way>,
    /// Whether a copy appears only once it is complete.
    pub atomic: bool,
}

/// Asks and informs the user.
pub trait Talk {
    /// Asks whether this file may be overwritten.
    fn may_overwrite(&mut self, path: &Path) -> bool;
    /// Reports a new file. `how`: the way its bytes were moved, and why, if it has contents.
    fn made(&mut self, from: &Path, to: &Path, how: Option<&str>);
    /// Reports a backup.
    fn kept(&mut self, path: &Path, aside: &Path);
    /// Reports that this many more bytes were copied.
    fn copied(&mut self, bytes: u64);
    /// Reports an error.
    fn failed(&mut self, doing: &str, path: &Path, reason: Option<&io::Error>);
}
