//! Where a report goes: standard error, or a file that appears whole or not at all.

use crate::failure::{Failure, plain};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A place for a report, made before anything runs, so that a bad one is noticed while nothing is lost.
pub enum Place {
    /// Standard error.
    Stderr,
    /// A new file, which takes the place of `path` once it is complete.
    File {
        /// The final name.
        path: PathBuf,
        /// The file as it grows, in the same directory.
        file: tempfile::NamedTempFile,
    },
    /// A device or FIFO, written to as it is.
    Device(PathBuf),
}

impl Place {
    /// Makes ready to write to `path`, or to standard error.
    pub fn prepare(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Place::Stderr) };
        let cannot = |error: &std::io::Error| {
            Failure::io(format!("cannot write the report to `{}`", path.display()), error)
        };
        // What a link leads to is replaced, not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                let message = format!("cannot write the report to `{}`: it is a directory", path.display());
                return Err(Failure::new(message).with_help(format!("-o {}/report.json", path.display())));
            }
            Ok(meta) if !meta.is_file() => return Ok(Place::Device(path)),
            Ok(meta) if meta.permissions().readonly() => {
                return Err(cannot(&std::io::ErrorKind::PermissionDenied.into()));
            }
            _ => {}
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = parent.unwrap_or(Path::new("."));
        let file = tempfile::Builder::new()
            .prefix(".pelton-")
            .permissions(permissions(&path))
            .tempfile_in(directory)
            .map_err(|error| cannot(&error))?;
        Ok(Place::File { path, file })
    }

    /// Writes the report. On an error the text is not lost: it comes back with the failure, to be shown elsewhere.
    pub fn write(self, text: &str) -> Result<(), Failure> {
        match self {
            Place::Stderr => {
                crate::terminal::say(text);
                Ok(())
            }
            Place::Device(path) => {
                let written = std::fs::OpenOptions::new().write(true).open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
                written.map_err(|error| lost(&path, &error))
            }
            Place::File { path, mut file } => {
                let complete = file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_data());
                complete.map_err(|error| lost(&path, &error))?;
                file.persist(&path).map(drop).map_err(|error| lost(&path, &error.error))
            }
        }
    }
}

/// The permissions of the file that is replaced, or those the umask leaves to a new one.
fn permissions(path: &Path) -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    match std::fs::metadata(path) {
        Ok(meta) => meta.permissions(),
        Err(_) => std::fs::Permissions::from_mode(0o666),
    }
}

fn lost(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot write the report to `{}`: {}", path.display(), plain(error));
    Failure::new(message).with_help("another place with -o; the report follows here")
}
