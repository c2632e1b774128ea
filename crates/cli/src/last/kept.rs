//! The lines that are kept: one file for all shells, with the last lines of each.

use crate::failure::{Failure, plain};
use pelton_observe::foreground::Shell;
use pelton_record::Run;
use pelton_sys::private::PrivateFolder;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Number of lines that are kept.
const LINES: usize = 20;
const FILE: &str = "last.json";
/// Is locked while the file is replaced, as other shells may do the same.
const LOCK: &str = "last.lock";
const BYTES_MAX: u64 = 64 << 20;

/// The file's content.
#[derive(Default, Serialize, Deserialize)]
pub struct Kept {
    /// The last one is the newest.
    pub lines: Vec<Line>,
}

/// A line with its figures.
#[derive(Serialize, Deserialize)]
pub struct Line {
    /// The shell in which it was typed.
    pub shell: ShellId,
    /// Its figures.
    pub run: Run,
}

/// Identifies a shell until the machine is started anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellId {
    pid: u32,
    start_ticks: u64,
}

impl ShellId {
    /// Returns the identity of a running shell.
    pub fn of(shell: &Shell) -> Self {
        ShellId { pid: shell.pid(), start_ticks: shell.start_ticks() }
    }
}

/// Returns the identity of the process that started this one.
pub fn calling_shell() -> ShellId {
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get() as u32);
    Shell::open(parent).map_or(ShellId { pid: parent, start_ticks: 0 }, |shell| ShellId::of(&shell))
}

/// Returns `$XDG_STATE_HOME/pelton`, or `~/.local/state/pelton`.
pub fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("pelton"))
}

fn some_folder() -> Result<PathBuf, Failure> {
    folder().ok_or_else(|| {
        Failure::new("there is no place to keep lines: neither XDG_STATE_HOME nor HOME is an absolute path")
    })
}

impl Kept {
    /// Reads all lines; none if there is no file.
    ///
    /// # Errors
    /// If it cannot be read or is no such file.
    pub fn read() -> Result<Self, Failure> {
        let folder = some_folder()?;
        let path = folder.join(FILE);
        let cannot = |why: &str| {
            Failure::new(format!("cannot read the kept lines in `{}`: {why}", path.display()))
                .with_help("pelton last --forget")
        };
        let text = match PrivateFolder::open(&folder).and_then(|folder| folder.read(FILE, BYTES_MAX)) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Kept::default()),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(cannot("it, or its directory, is not yours alone"));
            }
            Err(error) => return Err(cannot(&plain(&error))),
        };
        serde_json::from_str(&text).map_err(|error| cannot(&error.to_string()))
    }
}

/// Adds a line, and drops the oldest one if there are too many. A file that is not readable is replaced.
///
/// # Errors
/// Those of the file system.
pub fn add(line: Line) -> io::Result<()> {
    let path = folder().ok_or(ErrorKind::NotFound)?;
    let folder = PrivateFolder::make(&path)?;
    folder.locked(LOCK, || {
        let mut kept: Kept = folder
            .read(FILE, BYTES_MAX)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        kept.lines.push(line);
        let surplus = kept.lines.len().saturating_sub(LINES);
        kept.lines.drain(..surplus);
        folder.write(FILE, &serde_json::to_string(&kept)?)
    })?
}

/// Deletes all lines.
///
/// # Errors
/// If the file cannot be deleted.
pub fn forget() -> Result<(), Failure> {
    let path = some_folder()?;
    let deleted = match PrivateFolder::open(&path) {
        Ok(folder) => folder.locked(LOCK, || folder.remove(FILE)).and_then(|removed| removed),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    deleted.map_err(|error| Failure::io(format!("cannot delete `{}`", path.join(FILE).display()), &error))
}
