//! What can be asked for.

use crate::{Backup, Way};
use std::io;
use std::path::Path;

/// What becomes of holes.
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

/// Whether blocks may be shared with the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reflink {
    /// Where that can be done.
    #[default]
    Auto,
    /// Or not at all.
    Always,
    /// No.
    Never,
}

/// What becomes of files that are there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overwrite {
    /// They get the new contents.
    #[default]
    Yes,
    /// They stay.
    Never,
    /// The user is asked.
    Ask,
}

/// What a copy has of its source besides bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preserve {
    /// All 12 bits of its permissions, and access control lists.
    pub mode: bool,
    /// Its owner and group, as far as allowed.
    pub owner: bool,
    /// When it was read and written.
    pub times: bool,
    /// Hard links between what is copied.
    pub links: bool,
    /// Extended attributes, as far as possible.
    pub attributes: bool,
}

/// Whether names are made instead of copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// Copies.
    #[default]
    None,
    /// Another name for the same file.
    Hard,
    /// A symbolic link to it.
    Symbolic,
}

/// How to copy.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Directories too, with all that is in them.
    pub recursive: bool,
    /// Follow symbolic links; if not, copy them.
    pub follow: bool,
    /// Follow those that are operands.
    pub follow_operands: bool,
    /// What is kept.
    pub preserve: Preserve,
    /// Copies have the permissions of any new file, not those of their sources (`--no-preserve=mode`).
    pub new_mode: bool,
    /// Only what is newer than what is there.
    pub update: bool,
    /// What is there already.
    pub overwrite: Overwrite,
    /// What is there and cannot be opened is removed first.
    pub force: bool,
    /// What is there is removed first, whether it can be opened or not.
    pub remove_first: bool,
    /// What is there is kept under another name.
    pub backup: Option<Backup>,
    /// What is copied into a directory has the directories above it there as well.
    pub parents: bool,
    /// Names instead of copies.
    pub link: Link,
    /// Directories of other file systems are made, and nothing in them is copied.
    pub one_file_system: bool,
    /// Holes.
    pub sparse: Sparse,
    /// Sharing.
    pub reflink: Reflink,
    /// How bytes are moved; `None` to choose for each file.
    pub via: Option<Way>,
    /// A file appears whole or not at all.
    pub atomic: bool,
}

/// Who is asked and told.
pub trait Talk {
    /// May this be overwritten?
    fn may_overwrite(&mut self, path: &Path) -> bool;
    /// This was made; `how` says which way its bytes were moved, and why, if it has any.
    fn made(&mut self, from: &Path, to: &Path, how: Option<&str>);
    /// What was there has another name now.
    fn kept(&mut self, path: &Path, aside: &Path);
    /// So many bytes more were copied.
    fn copied(&mut self, bytes: u64);
    /// This went wrong.
    fn failed(&mut self, doing: &str, path: &Path, reason: Option<&io::Error>);
}
