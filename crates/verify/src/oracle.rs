//! The real tool, run as a process.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pelton_sys::watchdog::Watchdog;

use crate::Case;

/// What a process printed and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its messages.
    pub stderr: Vec<u8>,
    /// Its exit status; [`ENDLESS`] if it was ended at the timeout, -1 if a signal ended it.
    pub status: i32,
}

/// The real tool.
pub struct Oracle {
    /// Working directory: in memory if possible, removed at the end.
    folder: PathBuf,
    program: PathBuf,
    /// The builtin that the program, a shell, is to run.
    builtin: Option<String>,
    /// Directory with the locales of the tool's system, if not this one's.
    locales: Option<PathBuf>,
    watchdog: Watchdog,
}

/// Status of a process that took longer than a second and was ended: shrunk cases may never end.
pub const ENDLESS: i32 = 124;
const PATIENCE: Duration = Duration::from_secs(1);

/// A pipe holds at least so many bytes on Linux.
const PIPE_BYTES: usize = 4096;

impl Oracle {
    /// Makes one for a program.
    ///
    /// # Errors
    /// If its working directory cannot be made.
    pub fn new(program: PathBuf) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let shared = PathBuf::from("/dev/shm");
        let root = if shared.is_dir() { shared } else { std::env::temp_dir() };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = root.join(format!("pelton-verify-{}-{number}", std::process::id()));
        // Fails if it exists: another user may have made it.
        fs::create_dir(&folder)?;
        Ok(Oracle { folder, program, builtin: None, locales: None, watchdog: Watchdog::new(PATIENCE) })
    }

    /// Makes the program a shell that runs this builtin.
    #[must_use]
    pub fn of_builtin(mut self, name: &str) -> Self {
        self.builtin = Some(name.to_owned());
        self
    }

    /// Gives the program the locales of this directory.
    #[must_use]
    pub fn with_locales(mut self, folder: PathBuf) -> Self {
        self.locales = Some(folder);
        self
    }

    /// Runs the case's command line with its files in place.
    ///
    /// # Errors
    /// If a file cannot be written, or the program cannot be started.
    pub fn run(&self, case: &Case, locale: &str) -> io::Result<Answer> {
        for (name, content) in &case.files {
            fs::write(self.folder.join(name), content)?;
        }
        self.answer(&case.args, &case.stdin, case.piped, locale)
    }

    /// Runs the tool over `stdin` only.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn answer(&self, args: &[Vec<u8>], stdin: &[u8], piped: bool, locale: &str) -> io::Result<Answer> {
        let mut command = self.command(args, locale);
        let mut feed = None;
        if piped {
            let (read, write) = io::pipe()?;
            command.stdin(read);
            feed = Some(write);
        } else {
            let path = self.folder.join(".stdin");
            fs::write(&path, stdin)?;
            command.stdin(File::open(path)?);
        }
        let child = command.spawn()?;
        drop(command);
        let guard = self.watchdog.over(child.id());
        let output = feed_and_wait(child, feed, stdin)?;
        let status = if guard.has_timed_out() { ENDLESS } else { output.status.code().unwrap_or(-1) };
        Ok(Answer { stdout: output.stdout, stderr: output.stderr, status })
    }

    fn command(&self, args: &[Vec<u8>], locale: &str) -> Command {
        let mut command = Command::new(&self.program);
        // Messages start with the name as the shell would pass it.
        command.arg0(self.program.file_name().unwrap_or(self.program.as_os_str()));
        command
            .args(self.builtin.iter().flat_map(|name| ["-c".into(), format!("{name} \"$@\""), "bash".into()]))
            .args(args.iter().map(|arg| OsStr::from_bytes(arg)))
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LC_ALL", locale)
            .envs(self.locales.iter().map(|folder| ("LOCPATH", folder)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

fn feed_and_wait(child: Child, feed: Option<io::PipeWriter>, stdin: &[u8]) -> io::Result<Output> {
    std::thread::scope(|scope| {
        match feed {
            Some(mut pipe) if stdin.len() <= PIPE_BYTES => drop(pipe.write_all(stdin)),
            Some(mut pipe) => drop(scope.spawn(move || pipe.write_all(stdin))),
            None => {}
        }
        child.wait_with_output()
    })
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
