//! The user's shell: which one it is, and how to call it.

use crate::c_string::c_string;
use crate::environ::Environment;
use crate::lookup;
use crate::script::zsh;
use pelton_commands::{Family, Implementation};
use pelton_syntax::Dialect;
use pelton_sys::spawn::Exec;
use std::cell::OnceCell;
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
    /// How it behaves where versions differ, once that was asked.
    behaviour: OnceCell<Behaviour>,
}

/// What shells and their versions do differently, apart from the dialect. Compared with bash 5.1, 5.2 and 5.3 of Debian
/// 11 to unstable: the cases run in their roots (docs/design/versions.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// Whether the program of a stage sees a `SHLVL` that counts the shell. bash before 5.2 undoes its count in each
    /// stage that it execs.
    pub counts_itself_in_stages: bool,
    /// Columns for the state of a killed process in messages.
    pub state_columns: usize,
    /// Whether the message about a process ended by SIGTERM shows its command.
    pub names_terminated: bool,
    /// Whether a small here-string is surely a pipe, which needs no place on a disk: in bash since 5.1.
    pub fills_pipes: bool,
}

impl Behaviour {
    /// The behaviour of this dialect, for bash in this version; of an unknown one, as the tested bash 5.2.
    fn of(dialect: Option<Dialect>, version: Option<(u32, u32)>) -> Self {
        let is_bash = dialect == Some(Dialect::Bash);
        let fills_pipes = is_bash && version.is_some_and(|version| version >= (5, 1));
        let version = version.unwrap_or((5, 2));
        Behaviour {
            counts_itself_in_stages: !is_bash || version >= (5, 2),
            state_columns: if version >= (5, 3) { 27 } else { 24 },
            names_terminated: version >= (5, 3),
            fills_pipes,
        }
    }
}

/// Returns the first two numbers of a bash's version.
fn bash_version(path: &Path, environment: &Environment) -> Option<(u32, u32)> {
    let Implementation::Known { family: Family::Bash, version } = environment.detector().identify(path)
    else {
        return None;
    };
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
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
        Ok(Shell { name: name.into(), path, dialect, behaviour: OnceCell::new() })
    }

    /// Returns how it behaves where shells and their versions differ. The first time, bash may be asked its version.
    pub(crate) fn behaviour(&self, environment: &Environment) -> Behaviour {
        *self.behaviour.get_or_init(|| {
            let is_bash = self.dialect == Some(Dialect::Bash);
            Behaviour::of(self.dialect, is_bash.then(|| bash_version(&self.path, environment)).flatten())
        })
    }

    /// See [`Behaviour::fills_pipes`].
    pub(crate) fn fills_pipes(&self, environment: &Environment) -> bool {
        self.behaviour(environment).fills_pipes
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

    /// Does the same for stages whose messages have the name and the lines of a script.
    pub(crate) fn call_stages(
        &self,
        flags: &[&str],
        text: &[u8],
        name: &OsStr,
        args: &[OsString],
        env: &[CString],
    ) -> Option<Exec> {
        if self.dialect != Some(Dialect::Zsh) {
            return self.call(flags, text, name, args, env);
        }
        // zsh names no script for a text, but the function that it is in.
        let flags: Vec<&str> = zsh::FLAGS.iter().chain(flags).copied().collect();
        let text = zsh::in_function(&name.to_string_lossy(), text);
        self.call(&flags, &text, name, args, env)
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
/// another. bash called as `sh` runs in POSIX mode, and zsh called so in a mode of its own: they are not modelled.
fn dialect(path: &Path) -> Option<Dialect> {
    let called = path.file_name()?.to_str()?;
    let real = path.canonicalize().ok()?;
    match (called, real.file_name()?.to_str()?) {
        ("bash", "bash") => Some(Dialect::Bash),
        ("sh" | "dash", "dash") => Some(Dialect::Posix),
        ("zsh", "zsh" | "zsh5") => Some(Dialect::Zsh),
        _ => None,
    }
}
