//! `ls`: GNU coreutils, as a source of names: one a line, sorted by name, time or size.
//!
//! Where it prints into a pipe, ls writes names as they are. All is read before anything is printed, so that
//! whatever fails, or cannot be judged, is left to the real ls.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use pelton_stream::{BLOCK_BYTES, Flow, Framing, HandOver, Kernel, Outcome};

use crate::locale::collation::{self, Collation};
use crate::tool::argv::{Opt, Order, Takes, parse, short};
use crate::tool::cost;
use crate::tool::detect::Probe;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, Unsuitable, always};
use crate::{Accept, Command, Content, Context, Facts, Family, Input, OutputFacts};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    OneColumn,
    All,
    AlmostAll,
    Directory,
    Reverse,
    Time,
    Size,
}

/// No long options: those that are left out would make other abbreviations unique.
const OPTIONS: &[Opt<Id>] = &[
    short(Id::OneColumn, b'1', Takes::Nothing),
    short(Id::All, b'a', Takes::Nothing),
    short(Id::AlmostAll, b'A', Takes::Nothing),
    short(Id::Directory, b'd', Takes::Nothing),
    short(Id::Reverse, b'r', Takes::Nothing),
    short(Id::Time, b't', Takes::Nothing),
    short(Id::Size, b'S', Takes::Nothing),
];

/// The tool row of `ls`.
pub(crate) static TOOL: Tool = Tool {
    name: "ls",
    family: Family::GnuCoreutils,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints: always,
    io_errors: IoErrors::COREUTILS,
    standard_output: StandardOutput::Buffered,
    // On a terminal it prints columns.
    unsuitable: &[Unsuitable::Variable("QUOTING_STYLE"), Unsuitable::MessagesBetweenOutput],
    probes: &[Probe::prints(&["-rd", "--", ".", ".."], "", b"..\n.\n")],
    cost: cost::unknown,
    other_versions: &[],
    verifiable: false,
    grammar: Grammar {
        role: Role::Source,
        needs: &[],
        options: &["-1", "-a", "-A", "-r", "-S", "-d", "-1r"],
        operands: &["", "@f", "@f nosuch", ". @f", "-- @f @f"],
    },
};

/// Whether names that begin with a dot are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hidden {
    No,
    /// All but `.` and `..`.
    Almost,
    Yes,
}

/// What entries are sorted by; names decide between equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Name,
    /// The last change, the latest first.
    Time,
    /// The largest first.
    Size,
}

#[derive(Clone, Debug)]
struct Ls {
    args: Vec<Vec<u8>>,
    operands: Vec<Vec<u8>>,
    hidden: Hidden,
    by: By,
    reverse: bool,
    /// Directories are entries like all others.
    directory: bool,
    collation: Option<&'static Collation>,
}

/// Reads the arguments.
fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    let mut ls = Ls {
        args: parsed.resume_args(),
        operands: parsed.operands().into_iter().map(<[u8]>::to_vec).collect(),
        hidden: Hidden::No,
        by: By::Name,
        reverse: parsed.has(Id::Reverse),
        directory: parsed.has(Id::Directory),
        collation: context.locale.collation()?,
    };
    // Of those that exclude one another, the last one counts.
    for (id, _) in parsed.options() {
        match id {
            Id::All => ls.hidden = Hidden::Yes,
            Id::AlmostAll => ls.hidden = Hidden::Almost,
            Id::Time => ls.by = By::Time,
            Id::Size => ls.by = By::Size,
            Id::OneColumn | Id::Directory | Id::Reverse => {}
        }
    }
    Ok(Box::new(ls))
}

impl Command for Ls {
    fn facts(&self) -> Facts {
        // File names have no NUL.
        let output = OutputFacts { content: Content::NoNul, ..OutputFacts::default() };
        Facts { output, ..Facts::default() }
    }

    fn inputs(&self) -> &[Input] {
        &[]
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(LsKernel { ls: self.clone(), printed: 0, text: None }))
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        let operands = self.operands.iter().cloned();
        Some(self.args.iter().cloned().chain([b"--".to_vec()]).chain(operands).collect())
    }
}

/// Why a list could not be made.
enum Failed {
    /// Files of the process that lists them.
    OwnProcess,
    /// Something that ls would report, or that vanished.
    System,
    /// Names whose order is not known.
    Order,
}

impl Failed {
    fn reason(&self) -> &'static str {
        match self {
            Failed::OwnProcess => "a directory of a process",
            Failed::System => "a file or directory that cannot be looked at",
            Failed::Order => "names whose order is not known",
        }
    }
}

impl From<io::Error> for Failed {
    fn from(_: io::Error) -> Self {
        Failed::System
    }
}

/// A name, and what it is sorted by: unused figures are 0.
struct Entry {
    name: Vec<u8>,
    time: (i64, i64),
    size: u64,
    is_directory: bool,
}

impl Ls {
    /// Returns all that is printed.
    fn list(&self) -> Result<Vec<u8>, Failed> {
        let mut text = Vec::new();
        if self.operands.is_empty() && !self.directory {
            self.list_directory(b".", &mut text)?;
            return Ok(text);
        }
        let here = [b".".to_vec()];
        let operands = if self.operands.is_empty() { &here } else { self.operands.as_slice() };
        let here_is_own = is_of_a_process(Path::new("."));
        let leads_away = |name: &[u8]| leads_to_own_process(name) || here_is_own && !name.starts_with(b"/");
        if operands.iter().any(|name| leads_away(name)) {
            return Err(Failed::OwnProcess);
        }
        let entries: Result<Vec<Entry>, Failed> = operands.iter().map(|name| self.operand(name)).collect();
        let entries = self.sorted(entries?)?;
        let (directories, others): (Vec<Entry>, Vec<Entry>) =
            entries.into_iter().partition(|entry| entry.is_directory && !self.directory);
        print(&others, &mut text);
        for (at, directory) in directories.iter().enumerate() {
            if at > 0 || !others.is_empty() {
                text.push(b'\n');
            }
            if operands.len() > 1 {
                text.extend_from_slice(&directory.name);
                text.extend_from_slice(b":\n");
            }
            self.list_directory(&directory.name, &mut text)?;
        }
        Ok(text)
    }

    /// Looks at an operand: a link to a directory is one, other links are links.
    fn operand(&self, name: &[u8]) -> Result<Entry, Failed> {
        let path = Path::new(OsStr::from_bytes(name));
        let followed = if self.directory { None } else { Some(fs::metadata(path)) };
        let found = match followed {
            Some(Ok(found)) if found.is_dir() => found,
            // Of a link that leads nowhere the name is listed; ls reports all other errors.
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => fs::symlink_metadata(path)?,
        };
        let is_directory = found.is_dir();
        Ok(Entry { is_directory, ..Entry::new(name.to_vec(), &found) })
    }

    /// Appends the names in a directory.
    fn list_directory(&self, name: &[u8], text: &mut Vec<u8>) -> Result<(), Failed> {
        let path = Path::new(OsStr::from_bytes(name));
        if is_of_a_process(path) {
            return Err(Failed::OwnProcess);
        }
        let mut entries = Vec::new();
        if self.hidden == Hidden::Yes {
            for name in [".", ".."] {
                entries.push(self.entry(name.into(), || fs::symlink_metadata(path.join(name)))?);
            }
        }
        for found in fs::read_dir(path)? {
            let found = found?;
            let name = found.file_name().into_vec();
            if self.hidden != Hidden::No || name[0] != b'.' {
                entries.push(self.entry(name, || found.metadata())?);
            }
        }
        print(&self.sorted(entries)?, text);
        Ok(())
    }

    fn entry(&self, name: Vec<u8>, look: impl FnOnce() -> io::Result<Metadata>) -> Result<Entry, Failed> {
        match self.by {
            By::Name => Ok(Entry { name, time: (0, 0), size: 0, is_directory: false }),
            By::Time | By::Size => Ok(Entry::new(name, &look()?)),
        }
    }

    fn sorted(&self, mut entries: Vec<Entry>) -> Result<Vec<Entry>, Failed> {
        if self.collation.is_some() && entries.iter().any(|entry| std::str::from_utf8(&entry.name).is_err()) {
            return Err(Failed::Order);
        }
        entries.sort_by(|a, b| self.compare(a, b));
        let ties = |pair: &[Entry]| self.compare(&pair[0], &pair[1]).is_eq() && pair[0].name != pair[1].name;
        match entries.windows(2).any(ties) {
            true => Err(Failed::Order),
            false => Ok(entries),
        }
    }

    fn compare(&self, a: &Entry, b: &Entry) -> Ordering {
        let figures = match self.by {
            By::Name => Ordering::Equal,
            By::Time => b.time.cmp(&a.time),
            By::Size => b.size.cmp(&a.size),
        };
        let order = figures.then_with(|| collation::compare(self.collation, &a.name, &b.name));
        if self.reverse { order.reverse() } else { order }
    }
}

impl Entry {
    fn new(name: Vec<u8>, found: &Metadata) -> Self {
        let time = (found.mtime(), found.mtime_nsec());
        Entry { name, time, size: found.size(), is_directory: false }
    }
}

/// Whether a directory belongs to `/proc`.
fn is_of_a_process(path: &Path) -> bool {
    let device = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
    device(Path::new("/proc")).is_some_and(|proc| device(path) == Some(proc))
}

/// Whether a name may lead to the descriptors of this process, which are not those of ls.
fn leads_to_own_process(name: &[u8]) -> bool {
    let parts: [&[u8]; 4] = [b"proc/", b"dev/fd", b"dev/std", b"dev//"];
    parts.iter().any(|part| memchr::memmem::find(name, part).is_some())
}

fn print(entries: &[Entry], text: &mut Vec<u8>) {
    for entry in entries {
        text.extend_from_slice(&entry.name);
        text.push(b'\n');
    }
}

struct LsKernel {
    ls: Ls,
    /// All that is printed, once it is known, and how much of it is.
    text: Option<Vec<u8>>,
    printed: usize,
}

impl Kernel for LsKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, _block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        let text = match &self.text {
            Some(text) => text,
            None => {
                let text = self.ls.list().map_err(|failed| HandOver::at(0, failed.reason()))?;
                self.text.insert(text)
            }
        };
        let end = text.len().min(self.printed + BLOCK_BYTES);
        out.extend_from_slice(&text[self.printed..end]);
        self.printed = end;
        Ok(if end == text.len() { Flow::Done } else { Flow::More })
    }
}
