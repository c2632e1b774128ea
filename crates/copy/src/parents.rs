//! Recreates the parent directories of a source above its copy (`--parents`).

use crate::tree::{Copier, Item, identity};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

/// A parent directory of the source, and its counterpart above the copy.
struct Parent {
    from: PathBuf,
    to: PathBuf,
    meta: Metadata,
    /// If it was created: its final mode, and its current mode.
    made: Option<(u32, u32)>,
}

impl Copier<'_> {
    /// Copies `from` to its full path within `directory`.
    pub(crate) fn with_parents(&mut self, from: &Path, directory: &Path) -> bool {
        let inside: PathBuf = from.components().filter(|part| *part != Component::RootDir).collect();
        let mut parents = Vec::new();
        let above = inside.parent().unwrap_or(Path::new(""));
        let good = self.make_parents(from.has_root(), above, directory, &mut parents)
            && self.operand(from, &directory.join(&inside));
        // Also above a failed copy.
        parents.iter().fold(good, |good, Parent { from, to, meta, made }| {
            self.finish_directory((from, meta), to, *made) && good
        })
    }

    fn make_parents(&mut self, root: bool, above: &Path, directory: &Path, made: &mut Vec<Parent>) -> bool {
        let mut inside = PathBuf::new();
        for part in above.components() {
            inside.push(part);
            let from = if root { Path::new("/").join(&inside) } else { inside.clone() };
            match self.make_parent(from, directory.join(&inside)) {
                Ok(parent) => made.extend(parent),
                Err(()) => return false,
            }
        }
        true
    }

    /// Makes one parent. `Ok(None)` if it exists and no attributes are to be set. Errors are already
    /// reported.
    fn make_parent(&mut self, from: PathBuf, to: PathBuf) -> Result<Option<Parent>, ()> {
        let keeps = self.options.preserve;
        let there = fs::metadata(&to);
        if there.is_ok() && !(keeps.owner || keeps.mode || keeps.times) {
            return self.is_directory(&to, there).map(|()| None);
        }
        let meta = match fs::metadata(&from) {
            Ok(meta) if meta.is_dir() => meta,
            Ok(_) => {
                self.refuse("not a directory:", &from);
                return Err(());
            }
            Err(error) => {
                self.fail("cannot stat", &from, &error);
                return Err(());
            }
        };
        if there.is_ok() {
            self.is_directory(&to, there)?;
            return Ok(Some(Parent { from, to, meta, made: None }));
        }
        let item =
            Item { from: &from, to: &to, meta: meta.clone(), operand: false, fresh: false, above: &[] };
        match self.make_directory(&item) {
            Ok(made) => {
                // A source may lie in it, as with cp.
                if let Ok(made) = fs::metadata(&to) {
                    self.made.remove(&identity(&made));
                }
                Ok(Some(Parent { from, to, meta, made: Some(made) }))
            }
            Err(error) => {
                self.fail("cannot make the directory", &to, &error);
                Err(())
            }
        }
    }

    fn is_directory(&mut self, path: &Path, there: io::Result<Metadata>) -> Result<(), ()> {
        if there.is_ok_and(|meta| meta.is_dir()) {
            return Ok(());
        }
        self.refuse("it is there, and is no directory:", path);
        Err(())
    }
}
