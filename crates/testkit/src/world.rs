//! The directory that a case runs in, recreated at the same path for each run.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{CWD, FileType, Mode as FileMode, mknodat};

use crate::{Case, EnvValue, Result};

/// A temporary folder that contains the working directory `case`, and files that the case must not see.
pub struct World {
    root: tempfile::TempDir,
}

impl World {
    /// Makes an empty world.
    pub fn new() -> Result<Self> {
        Ok(World { root: tempfile::Builder::new().prefix("pelton-case-").tempdir()? })
    }

    /// Makes an empty world in memory, if the machine supports that.
    pub fn in_memory() -> Result<Self> {
        let memory = Path::new("/dev/shm");
        let root = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
        Ok(World { root: tempfile::Builder::new().prefix("pelton-case-").tempdir_in(root)? })
    }

    /// Returns the working directory.
    pub fn dir(&self) -> PathBuf {
        self.root.path().join("case")
    }

    /// Returns a path outside the working directory.
    pub fn aside(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Recreates the working directory, empty.
    pub fn empty(&self) -> Result<()> {
        remove_tree(&self.dir())?;
        Ok(DirBuilder::new().mode(0o755).create(self.dir())?)
    }

    /// Recreates the working directory with exactly the files of the case.
    pub fn prepare(&self, case: &Case) -> Result<()> {
        self.empty()?;
        let dir = self.dir();
        for name in &case.dirs {
            fs::create_dir_all(dir.join(name))?;
        }
        for (name, recipe) in &case.files {
            write_file(&dir.join(name), &recipe.make(), recipe.mode)?;
        }
        for (name, target) in &case.links {
            symlink(target, dir.join(name))?;
        }
        for name in &case.fifos {
            make_fifo(&dir.join(name))?;
        }
        if let Some(name) = &case.script {
            write_file(&dir.join(name), case.text.as_bytes(), None)?;
        }
        Ok(())
    }
}

impl Drop for World {
    /// Also removes directories whose permissions the case has changed.
    fn drop(&mut self) {
        let _ = remove_tree(&self.dir());
    }
}

/// Makes a named pipe.
pub fn make_fifo(path: &Path) -> Result<()> {
    Ok(mknodat(CWD, path, FileType::Fifo, FileMode::from_raw_mode(0o644), 0)?)
}

fn write_file(path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    if mode.is_some_and(|mode| mode & 0o111 != 0) {
        write_by_child(path, bytes)?;
    } else {
        fs::write(path, bytes)?;
    }
    mode.map_or(Ok(()), |mode| fs::set_permissions(path, Permissions::from_mode(mode)))
}

/// Writes a file without opening it here: a child that another test is just starting would have it open for writing too,
/// and meanwhile it cannot be executed ("Text file busy").
fn write_by_child(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut writer = Command::new("sh");
    writer.args(["-c", "cat > \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut writer = writer.spawn()?;
    if let Some(mut input) = writer.stdin.take() {
        input.write_all(bytes)?;
    }
    match writer.wait()?.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{} could not be written", path.display()))),
    }
}

fn remove_tree(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(dir)?;
            fs::remove_dir_all(dir)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn open_up(dir: &Path) -> io::Result<()> {
    fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

/// Returns the path of the pelton under test: `PELTON_BIN`, or the one built with the tests.
fn tested_pelton() -> PathBuf {
    let named = std::env::var_os("PELTON_BIN").and_then(|path| fs::canonicalize(path).ok());
    // Tests are in `deps`, programs in its parent.
    let built = || Some(std::env::current_exe().ok()?.parent()?.with_file_name("pelton"));
    let program = named.or_else(built).unwrap_or_default();
    program.parent().map(Path::to_owned).unwrap_or_default()
}

/// Returns the environment of every run: nothing from the caller, the standard path and that of the tested
/// pelton, and a fixed locale.
pub fn base_environment(home: &Path) -> Vec<(OsString, OsString)> {
    let standard = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let path = format!("{standard}:{}", tested_pelton().display());
    let fixed = [("PATH", path.as_str()), ("LC_ALL", "C.UTF-8"), ("TERM", "dumb")];
    let mut env: Vec<_> = fixed.iter().map(|(name, value)| (name.into(), value.into())).collect();
    env.push(("HOME".into(), home.into()));
    // Outside the case's directory, so that pelton's cache is not among the compared files.
    env.push(("XDG_CACHE_HOME".into(), home.with_file_name("cache").into()));
    env
}

impl Case {
    /// Returns the environment of this case, in this directory.
    pub fn environment(&self, dir: &Path) -> Vec<(OsString, OsString)> {
        let mut env = base_environment(dir);
        for (name, value) in &self.env {
            env.retain(|(other, _)| other != name.as_str());
            if let EnvValue::Set(value) = value {
                env.push((name.into(), value.into()));
            }
        }
        env
    }
}
