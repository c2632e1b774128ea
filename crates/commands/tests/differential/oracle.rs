//! The real tool, run as a process.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use pelton_testkit::Watchdog;

use crate::case::Case;

/// What a process printed and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub status: i32,
}

/// The tools of another system, if `PELTON_ORACLE` names their folder (`cargo xtask oracles` makes some).
pub fn foreign() -> Option<&'static Path> {
    static FOREIGN: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOREIGN.get_or_init(|| std::env::var_os("PELTON_ORACLE").map(PathBuf::from)).as_deref()
}

/// The locales of that system.
fn foreign_locales() -> Option<PathBuf> {
    Some(foreign()?.parent()?.join("usr/lib/locale"))
}

/// A working directory in memory if possible, removed at the end.
pub struct Oracle {
    folder: PathBuf,
    program: PathBuf,
    /// The builtin that the program, a shell, is to run.
    builtin: Option<String>,
    watchdog: Watchdog,
}

/// The status of what took longer than a second, and was ended: of what is made smaller, some may never end.
pub const ENDLESS: i32 = 124;
const PATIENCE: Duration = Duration::from_secs(1);

impl Oracle {
    pub fn new(program: PathBuf) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let shared = PathBuf::from("/dev/shm");
        let root = if shared.is_dir() { shared } else { std::env::temp_dir() };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = root.join(format!("pelton-differential-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the files of a case");
        Oracle { folder, program, builtin: None, watchdog: Watchdog::new(PATIENCE) }
    }

    /// For a builtin of this shell.
    pub fn of_builtin(shell: PathBuf, name: &str) -> Self {
        let mut oracle = Oracle::new(shell);
        oracle.builtin = Some(name.to_owned());
        oracle
    }

    /// Runs the case's command line with its files in place.
    pub fn run(&self, case: &Case, locale: &str) -> Answer {
        for (name, content) in &case.files {
            fs::write(self.folder.join(name), content).expect("a file of a case");
        }
        self.answer(&case.args, &case.stdin, case.piped, locale)
    }

    /// Runs the tool over `stdin` only.
    pub fn answer(&self, args: &[Vec<u8>], stdin: &[u8], piped: bool, locale: &str) -> Answer {
        use std::os::unix::ffi::OsStrExt as _;
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(&self.program);
        // Messages start with the name as the shell would pass it.
        command.arg0(self.program.file_name().expect("a name"));
        command
            .args(self.builtin.iter().flat_map(|name| ["-c".into(), format!("{name} \"$@\""), "bash".into()]))
            .args(args.iter().map(|arg| std::ffi::OsStr::from_bytes(arg)))
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LC_ALL", locale)
            .envs(foreign_locales().map(|folder| ("LOCPATH", folder)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut feed = None;
        if piped {
            let (read, write) = std::io::pipe().expect("a pipe");
            command.stdin(read);
            feed = Some(write);
        } else {
            let path = self.folder.join(".stdin");
            fs::write(&path, stdin).expect("standard input");
            command.stdin(File::open(path).expect("standard input"));
        }
        let child = command.spawn().expect("the real tool");
        drop(command);
        let guard = self.watchdog.over(child.id());
        let output = std::thread::scope(|scope| {
            match feed {
                // A pipe takes this much without a reader.
                Some(mut pipe) if stdin.len() <= PIPE_BYTES => drop(pipe.write_all(stdin)),
                Some(mut pipe) => drop(scope.spawn(move || pipe.write_all(stdin))),
                None => {}
            }
            child.wait_with_output().expect("its output")
        });
        let status = if guard.has_timed_out() { ENDLESS } else { output.status.code().unwrap_or(-1) };
        Answer { stdout: output.stdout, stderr: output.stderr, status }
    }
}

/// A pipe holds at least so much on Linux.
const PIPE_BYTES: usize = 4096;

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
