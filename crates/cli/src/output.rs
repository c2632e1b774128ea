//! Where texts and reports go: standard output, standard error, or a file that is replaced atomically.

use crate::failure::{Failure, plain};
use pelton_sys::machine;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Prints the whole output of this process. `what` names the text in error messages.
pub fn print(text: &str, what: &str) -> Result<(), Failure> {
    pelton_sys::signals::default_sigpipe();
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::io(format!("cannot print {what}"), &error))
}

/// Where to write a report. It is checked before anything runs, so that a bad place loses nothing. No file is
/// created until the pipeline has ended, which may list, count or copy the directory.
pub enum OutputTarget {
    /// Standard error.
    Stderr,
    /// Standard output, after what the pipeline printed.
    Stdout,
    /// A file, replaced atomically.
    File(PathBuf),
    /// A device, a FIFO, or a descriptor of this process: written to directly.
    Device(PathBuf),
}

impl OutputTarget {
    /// Checks that `path` is writable; `None` is standard error.
    pub fn prepare(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(OutputTarget::Stderr) };
        match path.to_str() {
            Some("/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") => return Ok(OutputTarget::Stdout),
            Some("/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2") => return Ok(OutputTarget::Stderr),
            _ => {}
        }
        let path = behind_links(path);
        let cannot =
            |why: &str| Failure::new(format!("cannot write the report to `{}`: {why}", path.display()));
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                Err(cannot("it is a directory").with_help(format!("-o {}", path.join("report").display())))
            }
            Ok(meta) if meta.file_type().is_socket() => Err(cannot("it is a socket")),
            Ok(meta) if !meta.is_file() || is_descriptor(&path) => Ok(OutputTarget::Device(path)),
            Err(_) if is_descriptor(&path) => Err(cannot("no such descriptor is open")),
            _ if path.as_os_str().as_encoded_bytes().ends_with(b"/") => {
                Err(cannot("there is no such directory"))
            }
            _ if !directory_of(&path).is_dir() => Err(cannot("there is no such directory")),
            Ok(_) if !machine::may_write(&path) => Err(cannot("permission denied")),
            _ if !machine::may_write(directory_of(&path)) => {
                Err(cannot("its directory may not be written to"))
            }
            _ => Ok(OutputTarget::File(path)),
        }
    }

    /// Writes the report.
    pub fn write(self, text: &str) -> Result<(), Failure> {
        match self {
            OutputTarget::Stderr => {
                crate::terminal::say(text);
                Ok(())
            }
            OutputTarget::Stdout => {
                let mut stdout = std::io::stdout().lock();
                let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
                written.map_err(|error| lost(Path::new("/dev/stdout"), &error))
            }
            OutputTarget::Device(path) => {
                let device = std::fs::OpenOptions::new().append(true).open(&path);
                let written = device.and_then(|mut file| file.write_all(text.as_bytes()));
                written.map_err(|error| lost(&path, &error))
            }
            OutputTarget::File(path) => replace(&path, text).map_err(|error| lost(&path, &error)),
        }
    }
}

/// Writes a new file next to `path`, and renames it once it is complete.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let existing = std::fs::metadata(path).ok();
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pelton-").permissions(std::fs::Permissions::from_mode(0o666));
    let mut file = builder.tempfile_in(directory_of(path))?;
    if let Some(existing) = existing {
        file.as_file().set_permissions(existing.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.as_file().sync_data()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether `path` is a descriptor, such as `/dev/fd/3`. Its link names a pipe or a file without a name by a text
/// that is no path, and whoever holds the descriptor of a file would not see another file in its place.
fn is_descriptor(path: &Path) -> bool {
    let directory = std::fs::canonicalize(directory_of(path));
    directory.is_ok_and(|directory| directory.starts_with("/proc") && directory.ends_with("fd"))
}

/// Resolves links, even to a missing file, so that the target is replaced and not the link. A descriptor stays.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..40 {
        if is_descriptor(&path) {
            break;
        }
        match std::fs::read_link(&path) {
            Ok(target) => path = directory_of(&path).join(target),
            Err(_) => break,
        }
    }
    path
}

fn lost(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot write the report to `{}`: {}", path.display(), plain(error));
    Failure::new(message).with_help("another place with -o; the report is shown above")
}
