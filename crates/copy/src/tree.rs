//! Decides what is copied where, and what happens to existing targets, as GNU cp does.

use crate::{Backup, Link, Naming, Options, Overwrite, Talk, attributes, file};
use pelton_sys::copying;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, DirEntryExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Device and inode: the identity of a file, whatever its name.
type Identity = (u64, u64);

pub(crate) fn identity(meta: &Metadata) -> Identity {
    (meta.dev(), meta.ino())
}

/// Error for too many levels of symbolic links.
const ELOOP: i32 = 40;

/// Returns the last component, without trailing slashes. Unlike [`Path::file_name`], it keeps `.` and `..`.
fn last_name(path: &Path) -> &[u8] {
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    let start = bytes[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    &bytes[start..end]
}

/// Returns an unused hidden name in the same directory.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let short: String = name.chars().take(40).collect();
    path.with_file_name(format!(".{short}.{}-{:x}", std::process::id(), pelton_sys::clock::now_ns()))
}

fn is_plain_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file())
}

/// Returns the directory that contains the path.
pub(crate) fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn folder_of(path: &Path) -> Option<Identity> {
    fs::metadata(parent_of(path)).ok().map(|meta| identity(&meta))
}

/// Whether both paths name the same directory entry.
fn is_same_entry(one: &Path, other: &Path) -> bool {
    one.file_name() == other.file_name() && folder_of(one) == folder_of(other)
}

/// Makes `to` a hard link to `from`, replacing an existing file.
///
/// # Errors
/// Errors of link(2) and rename(2); an existing file then stays.
fn hard_link_over(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        done => return done,
    }
    let beside = beside(to);
    fs::hard_link(from, &beside)?;
    let renamed = fs::rename(&beside, to);
    // The link still exists if the rename failed, or if both names were the same file.
    let _ = fs::remove_file(&beside);
    renamed
}

/// Copies operands one after another.
pub struct Copier<'a> {
    pub(crate) options: &'a Options,
    pub(crate) talk: &'a mut dyn Talk,
    /// As in the options; `None` while the copy itself is a backup.
    backup: Option<&'a Backup>,
    umask: u32,
    /// The first copy of each file that may have several links.
    links: HashMap<Identity, PathBuf>,
    /// Directories made by this run: they must not be copied into themselves.
    pub(crate) made: HashSet<Identity>,
    /// Directory operands, and their targets.
    operands: HashMap<Identity, PathBuf>,
    /// Files made by this run: another source of the same name must not overwrite them.
    files: HashSet<PathBuf>,
    /// File operands: identity, parent directory and name.
    sources: HashSet<(Identity, Option<Identity>, OsString)>,
    /// The file system of the current operand.
    device: u64,
    /// The backup of the current target.
    aside: Option<PathBuf>,
    /// Whether the current operand reached a directory that was made for it, which ends its copy.
    into_itself: bool,
    /// Whether the current copy exists, even if attributes could not be preserved.
    arrived: bool,
    learned: file::Learned,
}

/// A file or directory to be copied.
pub(crate) struct Item<'p> {
    pub(crate) from: &'p Path,
    pub(crate) to: &'p Path,
    pub(crate) meta: Metadata,
    pub(crate) operand: bool,
    /// Whether its target directory was made by this run, so that the target cannot exist.
    pub(crate) fresh: bool,
    /// The directories above it, to detect cycles of symbolic links.
    pub(crate) above: &'p [Identity],
}

/// The position of an item in the copied tree.
#[derive(Clone, Copy)]
struct Position {
    /// Whether it is an operand.
    operand: bool,
    /// See [`Item::fresh`].
    fresh: bool,
}

/// The state of the target.
enum There {
    Nothing,
    Something(Metadata),
    /// It is kept, and that is no error.
    Stays,
    /// It is kept, and the error was reported.
    InTheWay,
}

impl<'a> Copier<'a> {
    /// Makes a copier.
    pub fn new(options: &'a Options, talk: &'a mut dyn Talk) -> Self {
        Copier {
            options,
            talk,
            backup: options.backup.as_ref(),
            umask: copying::umask(),
            links: HashMap::new(),
            made: HashSet::new(),
            operands: HashMap::new(),
            files: HashSet::new(),
            sources: HashSet::new(),
            device: 0,
            aside: None,
            into_itself: false,
            arrived: false,
            learned: file::Learned::default(),
        }
    }

    /// Copies each source into `directory`, under its last name. Returns false after any error.
    pub fn into_directory(&mut self, sources: &[PathBuf], directory: &Path) -> bool {
        let mut good = true;
        for from in sources {
            if self.options.parents {
                good &= self.with_parents(from, directory);
                continue;
            }
            let to = match last_name(from) {
                b"" | b"." | b".." => directory.to_path_buf(),
                name => directory.join(OsStr::from_bytes(name)),
            };
            good &= self.operand(from, &to);
        }
        good
    }

    /// Copies `from` to `to`, which is not a directory to copy into. Returns false after any error.
    pub fn onto(&mut self, from: &Path, to: &Path) -> bool {
        let itself = self.backup.filter(|_| self.options.force && from == to && is_plain_file(to));
        let Some(backup) = itself else { return self.operand(from, to) };
        // Copies the file onto itself with force: only the backup is made.
        match backup.name(to) {
            Ok(aside) => {
                self.backup = None;
                let good = self.operand(from, &aside);
                self.backup = Some(backup);
                good
            }
            Err(error) => self.fail("cannot keep what is there:", to, &error),
        }
    }

    pub(crate) fn operand(&mut self, from: &Path, to: &Path) -> bool {
        self.into_itself = false;
        self.copy(from, to, Position { operand: true, fresh: false }, &[])
    }

    pub(crate) fn fail(&mut self, doing: &str, path: &Path, reason: &io::Error) -> bool {
        self.talk.failed(doing, path, Some(reason));
        false
    }

    pub(crate) fn refuse(&mut self, doing: &str, path: &Path) -> bool {
        self.talk.failed(doing, path, None);
        false
    }

    fn copy(&mut self, from: &Path, to: &Path, position: Position, above: &[Identity]) -> bool {
        let Position { operand, fresh } = position;
        let follow = self.options.follow || operand && self.options.follow_operands;
        let meta = match if follow { fs::metadata(from) } else { fs::symlink_metadata(from) } {
            Ok(meta) => meta,
            Err(error) => return self.fail("cannot stat", from, &error),
        };
        if meta.is_dir() && !self.options.recursive {
            return self.refuse("-r not given; omitting the directory", from);
        }
        if operand {
            self.device = meta.dev();
        }
        if operand && !meta.is_dir() && self.backup.is_none() && !self.is_new(from, &meta) {
            self.refuse("warning: given more than once", from);
            return true;
        }
        let item = Item { from, to, meta, operand, fresh, above };
        self.aside = None;
        self.arrived = false;
        let there = match self.there(&item) {
            There::Stays => return true,
            There::InTheWay => return false,
            There::Nothing => None,
            There::Something(meta) => Some(meta),
        };
        if item.meta.is_dir() {
            return self.directory(&item, there);
        }
        if operand {
            self.files.insert(to.to_path_buf());
        }
        let good = match self.as_a_link(&item) {
            Some(good) => good,
            None => {
                let good = self.leaf(&item, there);
                if !good {
                    // The next link to the file must become a copy.
                    self.links.remove(&identity(&item.meta));
                }
                good
            }
        };
        if let Some(aside) = self.aside.take().filter(|_| !good && !self.arrived)
            && let Err(error) = fs::rename(&aside, to)
        {
            self.fail("cannot give its name back to", &aside, &error);
        }
        good
    }

    /// Whether the operand occurs for the first time with this name and directory.
    fn is_new(&mut self, from: &Path, meta: &Metadata) -> bool {
        let name = from.file_name().unwrap_or_default().to_owned();
        self.sources.insert((identity(meta), folder_of(from), name))
    }

    /// Examines the target, and removes it where cp does.
    fn there(&mut self, item: &Item<'_>) -> There {
        if item.fresh {
            return There::Nothing;
        }
        let kind = item.meta.file_type();
        let as_file = kind.is_file() || !self.options.recursive && !kind.is_dir() && !kind.is_symlink();
        let as_file = as_file && self.backup.is_none();
        let found = if as_file { fs::metadata(item.to) } else { fs::symlink_metadata(item.to) };
        let found = match found {
            Ok(found) => found,
            Err(error)
                if error.raw_os_error() == Some(ELOOP)
                    && (self.options.force || self.options.remove_first) =>
            {
                return self.removed(item);
            }
            Err(_) if self.options.remove_first && fs::symlink_metadata(item.to).is_ok() => {
                return self.removed(item);
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.fail("cannot stat", item.to, &error);
                return There::InTheWay;
            }
            Err(_) if as_file && fs::symlink_metadata(item.to).is_ok() => {
                self.refuse("not writing through a dangling symbolic link", item.to);
                return There::InTheWay;
            }
            Err(_) => return There::Nothing,
        };
        let itself =
            || fs::symlink_metadata(item.to).is_ok_and(|there| identity(&there) == identity(&item.meta));
        if self.options.link == Link::Hard && !kind.is_dir() && itself() {
            return There::Stays;
        }
        if self.options.overwrite != Overwrite::Never && self.is_same(item, &found) {
            self.refuse(&format!("`{}` is the same file as", item.from.display()), item.to);
            return There::InTheWay;
        }
        if !kind.is_dir() && self.is_up_to_date(item, &found) {
            return self.linked_to_an_earlier(item);
        }
        if !kind.is_dir() && self.stays(item) {
            return There::Stays;
        }
        match (kind.is_dir(), found.is_dir()) {
            (true, false) => {
                self.refuse("cannot overwrite a non-directory with a directory", item.to);
                There::InTheWay
            }
            (false, true) => {
                self.refuse("cannot overwrite a directory with a non-directory", item.to);
                There::InTheWay
            }
            (true, true) => There::Something(found),
            (false, false)
                if item.operand
                    && self.files.contains(item.to)
                    && self.backup.is_none_or(|backup| backup.naming != Naming::Numbered) =>
            {
                self.refuse(&format!("just made, not overwritten with `{}`", item.from.display()), item.to);
                There::InTheWay
            }
            (false, false) => self.cleared(item, found),
        }
    }

    /// Removes a target that must not be overwritten in place: one with hard links, or one for a special
    /// file.
    fn cleared(&mut self, item: &Item<'_>, found: Metadata) -> There {
        if let Some(backup) = self.backup
            && !matches!(last_name(item.from), b"." | b"..")
        {
            return self.set_aside(item, backup);
        }
        let shared = self.options.preserve.links && found.nlink() > 1;
        let special = !self.options.follow && !item.meta.is_file();
        let replaced = self.options.link != Link::None && self.options.force;
        if !shared && !special && !replaced && !self.options.remove_first {
            return There::Something(found);
        }
        self.removed(item)
    }

    /// Renames the target to its backup name.
    fn set_aside(&mut self, item: &Item<'_>, backup: &Backup) -> There {
        let itself = || {
            fs::symlink_metadata(backup.simple(item.to))
                .is_ok_and(|there| identity(&there) == identity(&item.meta))
        };
        let same_name = backup.simple(item.to).file_name() == item.from.file_name();
        if backup.naming != Naming::Numbered && same_name && itself() {
            self.refuse(
                &format!("not copied: `{}` would be lost, as the backup of", item.from.display()),
                item.to,
            );
            return There::InTheWay;
        }
        match backup.set_aside(item.to) {
            Ok(aside) => {
                if let Some(aside) = &aside {
                    self.talk.kept(item.to, aside);
                }
                self.aside = aside;
                There::Nothing
            }
            Err(error) => {
                self.fail("cannot keep what is there:", item.to, &error);
                There::InTheWay
            }
        }
    }

    fn removed(&mut self, item: &Item<'_>) -> There {
        match fs::remove_file(item.to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.fail("cannot remove", item.to, &error);
                There::InTheWay
            }
            _ => There::Nothing,
        }
    }

    fn is_same(&self, item: &Item<'_>, found: &Metadata) -> bool {
        let to_a_link = || fs::symlink_metadata(item.to).is_ok_and(|meta| meta.file_type().is_symlink());
        if self.options.remove_first && !item.meta.file_type().is_symlink() && to_a_link() {
            return false;
        }
        if self.options.link == Link::Hard {
            return false;
        }
        let (from_link, to_link) = (item.meta.file_type().is_symlink(), found.file_type().is_symlink());
        if from_link && to_link {
            return is_same_entry(item.from, item.to);
        }
        if self.backup.is_some() && !item.meta.is_dir() {
            return self.is_moved_with_it(item, found);
        }
        let behind = |link: bool, path: &Path, meta: &Metadata| {
            if link { fs::metadata(path).ok().map(|meta| identity(&meta)) } else { Some(identity(meta)) }
        };
        match (behind(from_link, item.from, &item.meta), behind(to_link, item.to, found)) {
            (Some(from), Some(to)) => from == to && !item.meta.is_dir(),
            _ => false,
        }
    }

    /// Whether a backup of the target would lose the source. With a backup, source and target may be hard
    /// links of one file, but not the same directory entry; nor may the source be a symbolic link to the
    /// target, which would then dangle.
    fn is_moved_with_it(&self, item: &Item<'_>, found: &Metadata) -> bool {
        let Ok(source) = fs::symlink_metadata(item.from) else { return false };
        if identity(&source) != identity(found) {
            let leads_here = identity(&item.meta) == identity(found);
            return leads_here && source.file_type().is_symlink() && !found.file_type().is_symlink();
        }
        is_same_entry(item.from, item.to)
    }

    fn is_up_to_date(&self, item: &Item<'_>, found: &Metadata) -> bool {
        let time = |meta: &Metadata| (meta.mtime(), meta.mtime_nsec());
        self.options.update && self.options.overwrite != Overwrite::Never && time(found) >= time(&item.meta)
    }

    /// Handles an up-to-date target with `--update`: it is kept. If another link to the source was copied or
    /// kept, the target becomes a hard link to that one, as with cp.
    fn linked_to_an_earlier(&mut self, item: &Item<'_>) -> There {
        let earlier = match self.links.entry(identity(&item.meta)) {
            Entry::Occupied(earlier) => earlier.get().clone(),
            Entry::Vacant(place) => {
                place.insert(item.to.to_path_buf());
                return There::Stays;
            }
        };
        match hard_link_over(&earlier, item.to) {
            Ok(()) => There::Stays,
            Err(error) => {
                self.fail("cannot make the hard link", item.to, &error);
                There::InTheWay
            }
        }
    }

    /// Whether the target is to be kept.
    fn stays(&mut self, item: &Item<'_>) -> bool {
        match self.options.overwrite {
            Overwrite::Yes => false,
            Overwrite::Never => true,
            Overwrite::Ask => !self.talk.may_overwrite(item.to),
        }
    }

    /// Makes a hard link if another link to the file was copied before; otherwise returns `None`.
    fn as_a_link(&mut self, item: &Item<'_>) -> Option<bool> {
        if !self.options.preserve.links || item.meta.nlink() < 2 && !self.options.follow {
            return None;
        }
        let Some(first) = self.links.get(&identity(&item.meta)).cloned() else {
            self.links.insert(identity(&item.meta), item.to.to_path_buf());
            return None;
        };
        Some(match hard_link_over(&first, item.to) {
            Ok(()) => {
                self.talk.made(item.from, item.to, None);
                true
            }
            Err(error) => self.fail("cannot make the hard link", item.to, &error),
        })
    }

    /// Makes a hard or symbolic link instead of a copy, as the options ask. Returns whether it was made.
    fn linked(&mut self, item: &Item<'_>) -> bool {
        let made = match self.options.link {
            Link::Symbolic => {
                let here = fs::metadata(".").ok().map(|meta| identity(&meta));
                if !item.from.is_absolute() && folder_of(item.to) != here {
                    return self
                        .refuse("can make relative symbolic links only in the current directory", item.to);
                }
                std::os::unix::fs::symlink(item.from, item.to)
            }
            // Links the symbolic link itself, unless links are followed.
            _ if item.meta.file_type().is_symlink() => fs::hard_link(item.from, item.to),
            _ => fs::canonicalize(item.from).and_then(|from| fs::hard_link(from, item.to)),
        };
        match made {
            Ok(()) => {
                self.talk.made(item.from, item.to, None);
                true
            }
            Err(error) => self.fail("cannot make the link", item.to, &error),
        }
    }

    fn leaf(&mut self, item: &Item<'_>, there: Option<Metadata>) -> bool {
        if self.options.link != Link::None {
            return self.linked(item);
        }
        let kind = item.meta.file_type();
        if kind.is_symlink() {
            let made =
                fs::read_link(item.from).and_then(|target| std::os::unix::fs::symlink(target, item.to));
            return self.finish(item, made.map(|()| None), "cannot make the symbolic link");
        }
        let special = kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device();
        if special && self.options.recursive {
            let made = copying::make_special(item.to, &item.meta, item.meta.mode());
            return self.finish(item, made.map(|()| None), "cannot make the special file");
        }
        let source = match File::open(item.from) {
            Ok(source) => source,
            Err(error) => return self.fail("cannot open for reading", item.from, &error),
        };
        let done = if self.options.atomic && there.as_ref().is_none_or(Metadata::is_file) {
            self.whole(item, &source, there.as_ref())
        } else {
            self.in_place(item, &source, there.is_some())
        };
        match done {
            Ok((how, finished)) => {
                if finished {
                    self.talk.made(item.from, item.to, Some(&how));
                    return true;
                }
                self.finish(item, Ok(Some(how)), "")
            }
            Err(Some((doing, error))) => self.fail(doing, item.to, &error),
            Err(None) => false,
        }
    }

    /// Reports the copy, and preserves its attributes.
    fn finish(&mut self, item: &Item<'_>, made: io::Result<Option<String>>, doing: &str) -> bool {
        match made {
            Ok(how) => {
                self.arrived = true;
                self.talk.made(item.from, item.to, how.as_deref());
                attributes::keep(item.from, &item.meta, item.to, self.options.preserve, self.talk)
            }
            Err(error) => self.fail(doing, item.to, &error),
        }
    }

    /// Writes into the target itself, as cp does: other programs may see a partial file.
    fn in_place(&mut self, item: &Item<'_>, source: &File, is_there: bool) -> Written {
        let mode = self.first_mode(&item.meta);
        let mut opened = copying::open_for_writing(item.to, !is_there, mode);
        if opened.is_err() && is_there && self.options.force {
            let _ = fs::remove_file(item.to);
            opened = copying::open_for_writing(item.to, true, mode);
        }
        let target = opened.map_err(|error| Some(("cannot write", error)))?;
        let how = self.contents(item, source, &target, item.to)?;
        Ok((how, false))
    }

    /// Writes a temporary file, which replaces the target when it is complete and on disk.
    fn whole(&mut self, item: &Item<'_>, source: &File, there: Option<&Metadata>) -> Written {
        let place = match there {
            Some(_) => fs::canonicalize(item.to).map_err(|error| Some(("cannot resolve", error)))?,
            None => item.to.to_path_buf(),
        };
        let aside = beside(&place);
        let mode = there.map_or(self.first_mode(&item.meta), |there| there.mode() & 0o700);
        let made = self.write_aside(item, source, there, &aside, mode);
        let moved = made.and_then(|how| match fs::rename(&aside, &place) {
            Ok(()) => Ok((how, true)),
            Err(error) => Err(Some(("cannot rename into place", error))),
        });
        if moved.is_err() {
            let _ = fs::remove_file(&aside);
        }
        moved
    }

    fn write_aside(
        &mut self,
        item: &Item<'_>,
        source: &File,
        there: Option<&Metadata>,
        aside: &Path,
        mode: u32,
    ) -> Result<String, Option<(&'static str, io::Error)>> {
        let target = copying::open_for_writing(aside, true, mode)
            .map_err(|error| Some(("cannot make a file beside", error)))?;
        let how = self.contents(item, source, &target, aside)?;
        if let Some(there) = there {
            // An overwritten file keeps its permissions and, if allowed, its owner.
            let _ = copying::set_owner(aside, there);
            copying::set_mode(aside, there.mode())
                .map_err(|error| Some(("cannot set the mode of", error)))?;
        }
        attributes::keep(item.from, &item.meta, aside, self.options.preserve, self.talk);
        target.sync_all().map_err(|error| Some(("cannot write to disk", error)))?;
        Ok(how)
    }

    fn contents(
        &mut self,
        item: &Item<'_>,
        source: &File,
        target: &File,
        path: &Path,
    ) -> Result<String, Option<(&'static str, io::Error)>> {
        // The opened file may be another one than the file examined.
        let meta = source.metadata().map_err(|error| Some(("cannot stat the source of", error)))?;
        if identity(&meta) != identity(&item.meta) {
            self.refuse("skipped: it was replaced while it was copied:", item.from);
            return Err(None);
        }
        let (moved, how) = file::contents(source, &meta, target, path, self.options, &mut self.learned)
            .map_err(|error| Some(("cannot copy to", error)))?;
        self.talk.copied(moved.bytes);
        Ok(how)
    }

    /// Returns the initial permissions: none for others until the owner is set.
    fn first_mode(&self, meta: &Metadata) -> u32 {
        let mode = if self.options.new_mode { 0o666 } else { meta.mode() };
        if self.options.preserve.owner { mode & 0o700 } else { mode & 0o777 }
    }

    fn directory(&mut self, item: &Item<'_>, there: Option<Metadata>) -> bool {
        let own = identity(&item.meta);
        if self.made.contains(&own) {
            self.into_itself = true;
            return self.refuse(&format!("cannot copy `{}` into itself, as", item.from.display()), item.to);
        }
        if item.above.contains(&own) {
            return self.refuse("cannot copy: a symbolic link leads round to", item.from);
        }
        if item.operand
            && let Some(before) = self.operands.insert(own, item.to.to_path_buf())
            && before == item.to
        {
            self.refuse("given more than once", item.from);
            return true;
        }
        let restored = match there {
            Some(_) => None,
            None => match self.make_directory(item) {
                Ok(mode) => Some(mode),
                Err(error) => return self.fail("cannot make the directory", item.to, &error),
            },
        };
        let elsewhere = self.options.one_file_system && item.meta.dev() != self.device;
        let good = elsewhere || self.entries(item, own, restored.is_some());
        self.finish_directory((item.from, &item.meta), item.to, restored) && good
    }

    /// Sets the attributes of a directory. `made`: its final mode and its current mode, if this run made it.
    pub(crate) fn finish_directory(
        &mut self,
        (from, meta): (&Path, &Metadata),
        to: &Path,
        made: Option<(u32, u32)>,
    ) -> bool {
        let kept = attributes::keep(from, meta, to, self.options.preserve, self.talk);
        if let (Some((mode, now)), false) = (made, self.options.preserve.mode)
            && mode != now
            && let Err(error) = copying::set_mode(to, mode)
        {
            return self.fail("cannot set the mode of", to, &error);
        }
        kept
    }

    /// Makes a directory that this process can fill. Returns its final mode and its current mode.
    pub(crate) fn make_directory(&mut self, item: &Item<'_>) -> io::Result<(u32, u32)> {
        let hidden = if self.options.preserve.owner { 0o077 } else { 0o022 };
        let wanted = if self.options.new_mode { 0o777 } else { item.meta.mode() & 0o7777 };
        fs::DirBuilder::new().mode(wanted & !hidden).create(item.to)?;
        let made = fs::symlink_metadata(item.to)?;
        self.made.insert(identity(&made));
        self.talk.made(item.from, item.to, None);
        let has = made.mode() & 0o7777;
        let now = has | 0o700;
        if now != has {
            copying::set_mode(item.to, now)?;
        }
        Ok((has | wanted & hidden & !self.umask, now))
    }

    /// Copies the entries of a directory. `fresh`: this run made the target directory.
    fn entries(&mut self, item: &Item<'_>, own: Identity, fresh: bool) -> bool {
        let entries = match fs::read_dir(item.from) {
            Ok(entries) => entries,
            Err(error) => return self.fail("cannot read the directory", item.from, &error),
        };
        let above: Vec<Identity> = item.above.iter().copied().chain([own]).collect();
        // Reads all names first: that needs one descriptor at a time, and never finds files made by this run.
        let mut names = Vec::new();
        let mut good = true;
        for entry in entries {
            match entry {
                Ok(entry) => names.push((entry.ino(), entry.file_name())),
                Err(error) => good = self.fail("cannot read the directory", item.from, &error),
            }
        }
        // In inode order, the likely order on disk, as cp does.
        names.sort_unstable();
        let position = Position { operand: false, fresh };
        for (_, name) in names {
            good &= self.copy(&item.from.join(&name), &item.to.join(&name), position, &above);
            if self.into_itself {
                break;
            }
        }
        good
    }
}

/// How a file was written, and whether it is finished; or the error, `None` if it was already reported.
type Written = Result<(String, bool), Option<(&'static str, io::Error)>>;
