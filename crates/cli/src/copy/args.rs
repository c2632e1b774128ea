//! The arguments of `pelton copy`.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use pelton_copy::{Backup, Link, Naming, Options, Overwrite, Preserve, Reflink, Sparse, Way};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Copy files and trees as cp does, choosing among the ways that Linux has of moving bytes; or compare those ways.
///
/// Options, results and exit status are those of GNU cp 9.1; but simple backups lie beside what they are of, as from
/// cp 9.2 on.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton copy -a src backup     a tree, with everything that belongs to it
  pelton copy -v big.img /mnt/  and say which way its bytes are moved, and why
  pelton copy --via io_uring big.img copy.img
                                this way
  pelton copy --atomic new.conf /etc/app.conf
                                whoever reads it meanwhile sees the old one or
                                the new one
  pelton copy --report big.img /mnt/
                                every way side by side, on that file system

Ways: characters (a loop as with getc and putc), read-write, mapped-bytes,
mapped (memcpy between mappings), copy_file_range, sendfile, splice, io_uring,
reflink (shared blocks). By default blocks are shared where the file system can;
else small files, and those whose size the kernel does not know, are read and
written, and the kernel copies all others by itself: those of 1 to 128 MiB by
splice, if they lie on this machine.

Exit status: 0; 1 if anything could not be copied: the rest is copied all the
same; 2 if an argument makes no sense.")]
pub struct CopyArgs {
    /// Copy directories with all that is in them
    #[arg(short, long, short_alias = 'R')]
    pub recursive: bool,

    /// Keep permissions, owner and times
    #[arg(short)]
    pub preserve: bool,

    /// Keep these: mode, ownership, timestamps, links, xattr, all; without a list as -p
    #[arg(long = "preserve", value_name = "LIST", value_delimiter = ',', num_args = 0..=1, require_equals = true,
          default_missing_value = "mode,ownership,timestamps")]
    pub keep: Vec<Kept>,

    /// Do not keep these
    #[arg(long = "no-preserve", value_name = "LIST", value_delimiter = ',', require_equals = true)]
    pub drop: Vec<Kept>,

    /// Make hard links instead of copies
    #[arg(short, long, conflicts_with = "symbolic_link")]
    pub link: bool,

    /// Make symbolic links instead of copies
    #[arg(short, long)]
    pub symbolic_link: bool,

    /// Stay on the file system of each source
    #[arg(short = 'x', long)]
    pub one_file_system: bool,

    /// Remove what is there first, even if it can be opened
    #[arg(long)]
    pub remove_destination: bool,

    /// Keep what is there under another name, as --backup does without a word
    #[arg(short)]
    pub backup_existing: bool,

    /// Keep what is there under another name: name~ (simple), name.~1~ and so on (numbered), numbers only where there
    /// are some (existing), or not at all (none). VERSION_CONTROL says which without a word
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "",
          overrides_with = "backup")]
    pub backup: Option<String>,

    /// Put this behind the name, not ~ or what SIMPLE_BACKUP_SUFFIX says
    #[arg(short = 'S', long, value_name = "SUFFIX", overrides_with = "suffix")]
    pub suffix: Option<OsString>,

    /// Make the directories that stand in the name of a source, in the target directory
    #[arg(long, conflicts_with = "no_target_directory")]
    pub parents: bool,

    /// Keep everything: as -d -r, with permissions, owner, times, hard links and extended attributes
    #[arg(short, long)]
    pub archive: bool,

    /// Copy symbolic links as links, and keep hard links
    #[arg(short = 'd')]
    pub links: bool,

    /// Copy symbolic links as links
    #[arg(short = 'P', long, overrides_with = "dereference")]
    pub no_dereference: bool,

    /// Follow symbolic links
    #[arg(short = 'L', long, overrides_with = "no_dereference")]
    pub dereference: bool,

    /// Follow symbolic links that are arguments
    #[arg(short = 'H')]
    pub dereference_arguments: bool,

    /// Only what is newer than what is there, or not there
    #[arg(short, long)]
    pub update: bool,

    /// Overwrite nothing
    #[arg(short, long, overrides_with = "interactive")]
    pub no_clobber: bool,

    /// Ask before overwriting
    #[arg(short, long, overrides_with = "no_clobber")]
    pub interactive: bool,

    /// Remove what is there and cannot be opened
    #[arg(short, long)]
    pub force: bool,

    /// Say what is copied, and which way
    #[arg(short, long)]
    pub verbose: bool,

    /// Show on standard error how much has been copied
    #[arg(long)]
    pub progress: bool,

    /// Copy into DIRECTORY
    #[arg(short, long, value_name = "DIRECTORY", conflicts_with = "no_target_directory")]
    pub target_directory: Option<PathBuf>,

    /// Take the last argument for what the copy is called, even if it is a directory
    #[arg(short = 'T', long)]
    pub no_target_directory: bool,

    /// Holes: kept, made of zeros, or filled
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub sparse: When,

    /// Share blocks with the source: where possible, or not at all
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true,
          default_value = "auto", default_missing_value = "always")]
    pub reflink: When,

    /// Move bytes this way
    #[arg(long, value_name = "WAY", value_parser = parse_way)]
    pub via: Option<Way>,

    /// A file appears under its name when it is complete and on the disk, or not at all. What it replaces keeps its
    /// permissions, but other hard links to it keep the old contents
    #[arg(long)]
    pub atomic: bool,

    /// Copy one file in every way, and by cp, and show what each costs; the copies are removed
    #[arg(long, conflicts_with_all = ["via", "recursive", "archive"])]
    pub report: bool,

    /// With --report: how many times, of which the median is shown
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,

    /// With --report: as JSON
    #[arg(long, requires = "report")]
    pub json: bool,

    /// Sources, and where to copy them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<OsString>,
}

/// An attribute that `--preserve` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kept {
    /// Permissions and access control lists
    Mode,
    /// Owner and group
    Ownership,
    /// When it was read and written
    Timestamps,
    /// Hard links between what is copied
    Links,
    /// Extended attributes
    Xattr,
    /// All of these
    All,
}

impl Kept {
    fn set(self, preserve: &mut Preserve, to: bool) {
        let is = |one: Kept| self == one || self == Kept::All;
        let Preserve { mode, owner, times, links, attributes } = preserve;
        for (one, place) in [
            (Kept::Mode, mode),
            (Kept::Ownership, owner),
            (Kept::Timestamps, times),
            (Kept::Links, links),
            (Kept::Xattr, attributes),
        ] {
            *place = if is(one) { to } else { *place };
        }
    }
}

/// When to create holes or share blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// As the source is, or as is possible
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

fn parse_way(name: &str) -> Result<Way, String> {
    let names = || Way::ALL.map(Way::name).join(", ");
    Way::named(name).ok_or_else(|| format!("the ways are {}", names()))
}

impl CopyArgs {
    /// Returns the selected options.
    ///
    /// # Errors
    /// If they contradict each other.
    pub fn options(&self) -> Result<Options, Failure> {
        let recursive = self.recursive || self.archive;
        let links_as_links = self.no_dereference || self.links || self.archive;
        let tree = recursive && !self.link;
        let follow = self.dereference || !links_as_links && !self.dereference_arguments && !tree;
        let basic = self.preserve || self.archive;
        let mut preserve = Preserve {
            mode: basic,
            owner: basic,
            times: basic,
            links: self.links || self.archive,
            attributes: self.archive,
        };
        self.keep.iter().for_each(|kept| kept.set(&mut preserve, true));
        self.drop.iter().for_each(|kept| kept.set(&mut preserve, false));
        let backup = self.backups()?;
        if backup.is_some() && self.no_clobber {
            return Err(Failure::new("what is never overwritten needs no backup: -n or -b").with_status(1));
        }
        Ok(Options {
            recursive,
            follow,
            follow_operands: self.dereference_arguments,
            preserve,
            new_mode: !preserve.mode && self.drop.iter().any(|kept| matches!(kept, Kept::Mode | Kept::All)),
            update: self.update,
            overwrite: match (self.no_clobber, self.interactive) {
                (true, _) => Overwrite::Never,
                (_, true) => Overwrite::Ask,
                _ => Overwrite::Yes,
            },
            force: self.force,
            remove_first: self.remove_destination,
            link: match (self.link, self.symbolic_link) {
                (true, _) => Link::Hard,
                (_, true) => Link::Symbolic,
                _ => Link::None,
            },
            one_file_system: self.one_file_system,
            sparse: match self.sparse {
                When::Auto => Sparse::Auto,
                When::Always => Sparse::Always,
                When::Never => Sparse::Never,
            },
            reflink: match self.reflink {
                When::Auto => Reflink::Auto,
                When::Always => Reflink::Always,
                When::Never => Reflink::Never,
            },
            via: self.via,
            atomic: self.atomic,
            backup,
            parents: self.parents,
        })
    }

    fn backups(&self) -> Result<Option<Backup>, Failure> {
        if !self.backup_existing && self.backup.is_none() && self.suffix.is_none() {
            return Ok(None);
        }
        let said = self.backup.clone().filter(|word| !word.is_empty());
        let word = said.or_else(|| std::env::var("VERSION_CONTROL").ok()).filter(|word| !word.is_empty());
        let naming = match &word {
            None => Some(Naming::Existing),
            Some(word) => naming(word).ok_or_else(|| {
                Failure::new(format!("`{word}` says nothing about backups"))
                    .with_help("none, simple, numbered or existing")
                    .with_status(1)
            })?,
        };
        let set = self.suffix.clone().or_else(|| std::env::var_os("SIMPLE_BACKUP_SUFFIX"));
        let suffix = set.filter(|suffix| !suffix.is_empty() && !suffix.as_bytes().contains(&b'/'));
        Ok(naming.map(|naming| Backup { naming, suffix: suffix.unwrap_or_else(|| "~".into()) }))
    }
}

/// Parses a backup keyword or its prefix: `Some(None)` for no backups.
fn naming(word: &str) -> Option<Option<Naming>> {
    const WORDS: [(&str, Option<Naming>); 8] = [
        ("none", None),
        ("off", None),
        ("simple", Some(Naming::Simple)),
        ("never", Some(Naming::Simple)),
        ("existing", Some(Naming::Existing)),
        ("nil", Some(Naming::Existing)),
        ("numbered", Some(Naming::Numbered)),
        ("t", Some(Naming::Numbered)),
    ];
    if let Some((_, naming)) = WORDS.iter().find(|(name, _)| *name == word) {
        return Some(*naming);
    }
    let mut meant = WORDS.iter().filter(|(name, _)| name.starts_with(word)).map(|(_, naming)| *naming);
    let first = meant.next()?;
    meant.all(|other| other == first).then_some(first)
}
