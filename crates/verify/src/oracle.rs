//! The real tool, run as a process.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pelton_stream::{Programs, Started};
use pelton_sys::scratch;
use pelton_sys::wait::Ended;
use pelton_sys::watchdog::Watchdog;

use crate::Case;

/// What a process printed and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its messages.
    pub stderr: Vec<u8>,
    /// Its exit status; -1 if a signal ended it.
    pub status: i32,
}

/// The real tool.
pub struct Oracle {
    call: Call,
    watchdog: Watchdog,
}

/// How the tool is called.
#[derive(Clone)]
struct Call {
    /// Working directory: in memory if possible, removed at the end.
    folder: PathBuf,
    program: PathBuf,
    /// The builtin that the program, a shell, is to run.
    builtin: Option<String>,
    /// Directory with the locales of the tool's system, if not this one's.
    locales: Option<PathBuf>,
}

/// Time limit of a call: shrunk cases may never end. An xargs that starts a hundred programs takes a second on a busy
/// machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Limit of each output: nothing that is compared prints more.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;

/// Memory that files in the working directory may take.
const ROOM_BYTES: u64 = 64 << 20;

/// A pipe holds at least so many bytes on Linux.
const PIPE_BYTES: usize = 4096;

/// Where files are in memory.
const SHARED: &str = "/dev/shm";
/// Variables of the tool's environment that programs may read.
pub(crate) const ENVIRONMENT: [(&str, &str); 7] = [
    ("E_WORD", "abc"),
    ("E_NUMBER", "12"),
    ("E_HEXADECIMAL", " 0x1A "),
    ("E_FRACTION", "+.50"),
    ("E_ESCAPES", "a\\tb\\n&"),
    ("E_EMPTY", ""),
    ("E_NAN", "+nan"),
];
/// A variable that is not in it.
pub(crate) const NOT_SET: &[u8] = b"E_UNSET";

/// The standard input of a call, if that is a file.
const STDIN: &str = ".stdin";

/// What names of working directories begin with; the process id follows.
const FOLDER: &str = "pelton-verify-";

/// Removes the working directories of processes that were killed.
pub fn remove_leftovers() {
    for root in [PathBuf::from(SHARED), std::env::temp_dir()] {
        for entry in fs::read_dir(root).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let rest = name.to_str().and_then(|name| name.strip_prefix(FOLDER));
            let pid = rest.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
            if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl Oracle {
    /// Makes one for a program.
    ///
    /// # Errors
    /// If its working directory cannot be made.
    pub fn new(program: PathBuf) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{FOLDER}{}-{number}", std::process::id());
        let (shared, disk) = (PathBuf::from(SHARED), std::env::temp_dir());
        let has_room = scratch::free_bytes(&shared).is_some_and(|bytes| bytes >= ROOM_BYTES);
        // Fails if it exists: another user may have made it.
        let made = |root: &Path| fs::create_dir(root.join(&name)).map(|()| root.join(&name));
        let folder = if has_room { made(&shared).or_else(|_| made(&disk))? } else { made(&disk)? };
        let call = Call { folder, program, builtin: None, locales: None };
        Ok(Oracle { call, watchdog: Watchdog::new(PATIENCE) })
    }

    /// Makes the program a shell that runs this builtin.
    #[must_use]
    pub fn of_builtin(mut self, name: &str) -> Self {
        self.call.builtin = Some(name.to_owned());
        self
    }

    /// Gives the program the locales of this directory.
    #[must_use]
    pub fn with_locales(mut self, folder: PathBuf) -> Self {
        self.call.locales = Some(folder);
        self
    }

    /// Runs the case's command line with its files in place. `None` if it was ended, after a second or because it
    /// printed too much.
    ///
    /// # Errors
    /// If a file cannot be written, or the program cannot be started.
    pub fn run(&self, case: &Case, locale: &str) -> io::Result<Option<Answer>> {
        for (name, content) in &case.files {
            fs::write(self.call.folder.join(name), content)?;
        }
        self.answer(&case.args, &case.stdin, case.piped, locale)
    }

    /// Runs the tool over `stdin` only.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn answer(
        &self,
        args: &[Vec<u8>],
        stdin: &[u8],
        piped: bool,
        locale: &str,
    ) -> io::Result<Option<Answer>> {
        let mut command = self.call.command(args, locale);
        let mut feed = None;
        if piped {
            let (read, write) = io::pipe()?;
            command.stdin(read);
            feed = Some(write);
        } else {
            let path = self.call.folder.join(STDIN);
            fs::write(&path, stdin)?;
            command.stdin(File::open(path)?);
        }
        let mut child = command.spawn()?;
        drop(command);
        let guard = self.watchdog.over(child.id());
        let printed = exchange(&mut child, feed, stdin);
        let has_timed_out = guard.until_ended();
        let status = child.wait()?.code().unwrap_or(-1);
        let (stdout, stderr) = printed?;
        let too_much = [&stdout, &stderr].iter().any(|text| text.len() as u64 > OUTPUT_BYTES_MAX);
        Ok((!has_timed_out && !too_much).then_some(Answer { stdout, stderr, status }))
    }

    /// Returns what starts the tool again, for kernels that leave data to it.
    pub fn again(&self, locale: &str) -> Arc<dyn Programs> {
        Arc::new(Again { call: self.call.clone(), locale: locale.to_owned() })
    }
}

impl Call {
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
            .envs(ENVIRONMENT)
            .envs(self.locales.iter().map(|folder| ("LOCPATH", folder)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ended with all that it starts.
            .process_group(0);
        command
    }
}

/// The tool over the files of the case, in one locale.
struct Again {
    call: Call,
    locale: String,
}

impl Programs for Again {
    fn start(&self, words: Vec<Vec<u8>>) -> io::Result<Box<dyn Started>> {
        self.start_again(words, None)
    }

    fn start_again(&self, words: Vec<Vec<u8>>, back: Option<u64>) -> io::Result<Box<dyn Started>> {
        let stdin = match back {
            Some(_) => File::open(self.call.folder.join(STDIN))?.into(),
            None => Stdio::null(),
        };
        let output = self.call.command(&words, &self.locale).stdin(stdin).output()?;
        let code = output.status.code().unwrap_or(-1);
        Ok(Box::new(Answered { stdout: io::Cursor::new(output.stdout), stderr: output.stderr, code }))
    }
}

/// What a tool printed that has ended.
struct Answered {
    stdout: io::Cursor<Vec<u8>>,
    stderr: Vec<u8>,
    code: i32,
}

impl Read for Answered {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        self.stdout.read(block)
    }
}

impl Started for Answered {
    fn said(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.stderr)
    }

    fn end(self: Box<Self>) -> io::Result<Ended> {
        Ok(Ended::Exited(self.code))
    }
}

/// Feeds a child and reads what it prints, up to the limit and one byte more.
fn exchange(child: &mut Child, feed: Option<io::PipeWriter>, stdin: &[u8]) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        match feed {
            Some(mut pipe) if stdin.len() <= PIPE_BYTES => drop(pipe.write_all(stdin)),
            Some(mut pipe) => drop(scope.spawn(move || pipe.write_all(stdin))),
            None => {}
        }
        let messages = scope.spawn(|| read_all(stderr));
        let text = read_all(stdout);
        let messages = messages.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        Ok((text?, messages?))
    })
}

fn read_all(from: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if let Some(from) = from {
        from.take(OUTPUT_BYTES_MAX + 1).read_to_end(&mut text)?;
    }
    Ok(text)
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.call.folder);
    }
}
