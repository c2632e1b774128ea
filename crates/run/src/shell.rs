//! The user's shell: which one it is, and how to call it.

use crate::c_string::c_string;
use crate::environ::Environment;
use crate::lookup;
use pelton_syntax::Dialect;
use pelton_sys::spawn::Exec;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A shell that can run text.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The name that the user gave; becomes its `argv[0]`, and so the name in its messages.
    pub name: OsString,
    /// Its path.
    pub path: PathBuf,
    /// The dialect to parse its text by; `None` if this shell is not modelled.
    pub dialect: Option<Dialect>,
}

/// The shell was not found.
#[derive(Clone, Debug)]
pub struct UnknownShell(pub OsString);

impl std::fmt::Display for UnknownShell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the shell `{}` was not found or cannot be executed", self.0.display())
    }
}

impl std::error::Error for UnknownShell {}

impl Shell {
    /// Finds the shell called `name` (a name in PATH, or a path).
    pub fn find(name: &OsStr, environment: &Environment) -> Result<Self, UnknownShell> {
        let found =
            lookup::find_shell(name.as_bytes(), environment).ok_or_else(|| UnknownShell(name.into()))?;
        let path = PathBuf::from(OsStr::from_bytes(&found));
        let dialect = dialect(&path);
        Ok(Shell { name: name.into(), path, dialect })
    }

    /// Returns the call that runs `text` with these flags, `$0` and arguments.
    pub(crate) fn call(
        &self,
        flags: &[&str],
        text: &[u8],
        name: &OsStr,
        args: &[OsString],
        env: &[CString],
    ) -> Option<Exec> {
        let mut argv = vec![c_string(self.name.as_bytes())?];
        for flag in flags.iter().copied().chain(["-c"]) {
            argv.push(c_string(flag.as_bytes())?);
        }
        if text.starts_with(b"-") || text.starts_with(b"+") {
            // Otherwise it would be parsed as options.
            argv.push(c_string(b"--")?);
        }
        argv.push(c_string(text)?);
        argv.push(c_string(name.as_bytes())?);
        for arg in args {
            argv.push(c_string(arg.as_bytes())?);
        }
        Some(Exec { path: c_string(self.path.as_os_str().as_bytes())?, argv, envp: env.to_vec() })
    }

    /// Returns the call that runs the script `file` with arguments; `flags` are the shell's own.
    pub(crate) fn call_script(
        &self,
        file: &Path,
        flags: &[OsString],
        args: &[OsString],
        env: &[CString],
    ) -> Option<Exec> {
        let file = file.as_os_str();
        // Otherwise its name would be parsed as options.
        let dashes = file.as_bytes().starts_with(b"-").then_some(OsStr::new("--"));
        let words = flags.iter().map(|flag| flag.as_os_str()).chain(dashes).chain([file]);
        let words = words.chain(args.iter().map(|arg| arg.as_os_str()));
        let argv = std::iter::once(self.name.as_os_str()).chain(words).map(|word| c_string(word.as_bytes()));
        let argv = argv.collect::<Option<_>>()?;
        Some(Exec { path: c_string(self.path.as_os_str().as_bytes())?, argv, envp: env.to_vec() })
    }
}

/// Decides by the file that the path leads to, not by its name: `sh` is dash on one system and bash on
/// another. bash called as `sh` runs in POSIX mode, which is not modelled.
fn dialect(path: &Path) -> Option<Dialect> {
    let called = path.file_name()?.to_str()?;
    let real = path.canonicalize().ok()?;
    match (called, real.file_name()?.to_str()?) {
        ("bash", "bash") => Some(Dialect::Bash),
        ("sh" | "dash", "dash") => Some(Dialect::Posix),
        _ => None,
    }
}
