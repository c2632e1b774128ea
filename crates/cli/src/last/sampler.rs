//! The sampler of one interactive shell: a process that sleeps until a line has run for long.
//!
//! The shell opens one file when a line begins (`PID.begin`) and closes another after writing when it has ended
//! (`PID.end`, with the line's text if it was long). Files never make a shell wait, even if the sampler has been
//! killed or stopped, and leave no descriptor in the shell. inotify reports both.

use super::kept::{self, Line, ShellId};
use super::typed_text;
use crate::ending::Ending;
use crate::failure::Failure;
use crate::manual::Completing;
use crate::output;
use crate::shared_options::parse_interval;
use pelton_observe::foreground::{Foreground, Programs, Shell};
use pelton_record::{Observer, Run};
use pelton_run::Environment;
use pelton_sys::accounts::ChildrenCpu;
use pelton_sys::file_events::{FileEvent, FileEvents, WatchedFile};
use pelton_sys::private::PrivateFolder;
use pelton_sys::{clock, cpu_waits, pidfd, pipe, processes, wait};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A line is long from here on, unless `$PELTON_LAST` says otherwise.
const LONG_NS: u64 = 2_000_000_000;
/// Longer messages of the shell are cut.
const MESSAGE_BYTES: u64 = 256 << 10;
/// What it says once it watches the files.
const READY: &str = "ready";
/// What the shell writes to end it.
const OFF: &[u8] = b"off";
const NICENESS: i32 = 10;

/// Returns the time from which on a line is long.
fn threshold_ns() -> Result<u64, Failure> {
    let set = std::env::var("PELTON_LAST").unwrap_or_default();
    match set.trim() {
        "" | "0" => Ok(LONG_NS),
        text => parse_interval(text).map_err(|wanted| {
            Failure::new(format!("PELTON_LAST is `{text}`: {wanted}")).with_help("PELTON_LAST=2")
        }),
    }
}

/// Returns the directory of the two files: in memory, if the system has one that is the user's.
fn folder() -> Result<PathBuf, Failure> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    // After su(1) it may be another user's.
    let is_own =
        |path: &PathBuf| std::fs::metadata(path).is_ok_and(|about| about.uid() == processes::own_user());
    let runtime = runtime.filter(|path| path.is_absolute() && is_own(path)).map(|path| path.join("pelton"));
    runtime.or_else(kept::folder).ok_or_else(|| {
        Failure::new(
            "there is no place for the sampler's files: neither XDG_RUNTIME_DIR nor HOME is a directory",
        )
    })
}

/// Makes the directory of something, which a variable may place elsewhere.
fn made(folder: &Path, what: &str, variable: &str) -> Result<PrivateFolder, Failure> {
    PrivateFolder::make(folder).map_err(|error| {
        Failure::io(format!("cannot keep {what} in `{}`", folder.display()), &error)
            .with_help(format!("a directory that is yours alone: export {variable}=DIRECTORY"))
    })
}

/// Starts the sampler of a shell. Prints the line length in microseconds, the sampler's process id, and the path of its
/// files without their endings.
pub fn start(pid: u32, shell: Completing) -> Result<Ending, Failure> {
    let cannot = |error: &io::Error| Failure::io("cannot start the sampler", error);
    let long_us = threshold_ns()? / 1000;
    let folder = folder()?;
    let files = made(&folder, "the sampler's files", "XDG_RUNTIME_DIR")?;
    if let Some(kept) = kept::folder() {
        made(&kept, "lines", "XDG_STATE_HOME")?;
    }
    for ending in ["begin", "end"] {
        let name = format!("{pid}.{ending}");
        files.remove(&name).and_then(|()| files.write(&name, "")).map_err(|error| cannot(&error))?;
    }
    let mut command = Command::new(std::env::current_exe().map_err(|error| cannot(&error))?);
    let shell = match shell {
        Completing::Bash => "bash",
        Completing::Zsh => "zsh",
        Completing::Fish => "fish",
    };
    command.args(["last", "--stay", "--shell", shell, "--sampler", &pid.to_string()]).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| cannot(&error))?;
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut said).map_err(|error| cannot(&error))?;
    }
    if said.trim_end() != READY {
        let output = child.wait_with_output().map_err(|error| cannot(&error))?;
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Failure::new(message.trim().trim_start_matches("pelton: ").to_owned()));
    }
    let path = folder.join(pid.to_string());
    output::print(&format!("{long_us} {} {}\n", child.id(), path.display()), "the sampler's place")?;
    Ok(Ending::Status(0))
}

/// Is the sampler, until the shell ends.
pub fn stay(pid: u32, shell: Completing) -> Result<Ending, Failure> {
    // No signal of the terminal reaches it. It fails only for the leader of a process group, which is none here.
    let _ = rustix::process::setsid();
    cpu_waits::be_nice(NICENESS);
    let mut sampler = Sampler::open(pid, shell)?;
    let said = writeln!(io::stdout(), "{READY}").and_then(|()| io::stdout().flush());
    said.map_err(|error| Failure::io("cannot answer the shell", &error))?;
    let _ = close_output();
    sampler.run();
    Ok(Ending::Status(0))
}

/// Gives back standard output and error: a shell may wait for their end.
fn close_output() -> io::Result<()> {
    let nothing = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nothing)?;
    Ok(rustix::stdio::dup2_stderr(&nothing)?)
}

/// Samples the lines of one shell.
struct Sampler {
    shell: Shell,
    shell_end: OwnedFd,
    name: &'static str,
    long_ns: u64,
    folder: PathBuf,
    events: FileEvents,
    begin: WatchedFile,
    end: WatchedFile,
    end_file: File,
    environment: Environment,
    state: State,
}

/// What the shell does.
enum State {
    AtPrompt,
    /// A line has begun.
    Running(Begin),
    /// The line is long.
    Sampled(Begin, Foreground, u64),
}

/// What is known when a line begins.
#[derive(Clone, Copy)]
struct Begin {
    at_ns: u64,
    reaped: ChildrenCpu,
    own_cpu_ns: u64,
}

impl Sampler {
    fn open(pid: u32, shell: Completing) -> Result<Self, Failure> {
        let cannot = |error: &io::Error| Failure::io("cannot watch the shell's lines", error);
        let gone = || Failure::new(format!("there is no process {pid}, or its children are not listed"));
        let folder = folder()?;
        let path = |ending: &str| folder.join(format!("{pid}.{ending}"));
        let events = FileEvents::new().map_err(|error| cannot(&error))?;
        let begin = events.watch_opening(&path("begin")).map_err(|error| cannot(&error))?;
        let end = events.watch_writing(&path("end")).map_err(|error| cannot(&error))?;
        let mut options = File::options();
        options.read(true).write(true).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
        Ok(Sampler {
            shell: Shell::open(pid).ok_or_else(gone)?,
            shell_end: pidfd::open(pid).ok_or_else(gone)?,
            name: match shell {
                Completing::Bash => "bash",
                Completing::Zsh => "zsh",
                Completing::Fish => "fish",
            },
            long_ns: threshold_ns()?,
            end_file: options.open(path("end")).map_err(|error| cannot(&error))?,
            folder,
            events,
            begin,
            end,
            environment: Environment::inherit(),
            state: State::AtPrompt,
        })
    }

    fn run(&mut self) {
        loop {
            self.wait();
            if pipe::is_readable_within(self.shell_end.as_fd(), Duration::ZERO) {
                return self.remove_files();
            }
            for event in self.events.take() {
                let Some(event) = event else {
                    self.state = State::AtPrompt;
                    continue;
                };
                if self.handle(event) {
                    return;
                }
            }
            self.sample();
        }
    }

    /// Waits for the next event, or until the next sample is due. At a prompt, nothing but the shell wakes it.
    fn wait(&self) {
        let now_ns = clock::now_ns();
        let until = |due_ns: u64| Some(Duration::from_nanos(due_ns.saturating_sub(now_ns)));
        let mut awaited = vec![self.events.as_fd(), self.shell_end.as_fd()];
        let timeout = match &self.state {
            State::AtPrompt => None,
            State::Running(begin) => until(begin.at_ns + self.long_ns),
            State::Sampled(_, line, due_ns) => {
                awaited.extend(line.ends());
                until(*due_ns)
            }
        };
        wait::wait_any(&awaited, timeout);
    }

    /// Handles what the shell did; returns whether the sampler is to end.
    fn handle(&mut self, event: FileEvent) -> bool {
        if event.is_attribute {
            // Another sampler of this shell has replaced the files, or somebody has cleaned up.
            return self.end_file.metadata().map_or(true, |about| about.nlink() == 0);
        }
        if event.file == self.begin {
            let (at_ns, own_cpu_ns) = (clock::now_ns(), clock::own_cpu_ns());
            self.state = State::Running(Begin { at_ns, reaped: self.shell.reaped(), own_cpu_ns });
        } else if event.file == self.end {
            let mut said =
                vec![0; self.end_file.metadata().map_or(0, |about| about.len()).min(MESSAGE_BYTES) as usize];
            let read = self.end_file.read_at(&mut said, 0).unwrap_or(0);
            said.truncate(read);
            let state = std::mem::replace(&mut self.state, State::AtPrompt);
            if said == OFF {
                self.remove_files();
                return true;
            }
            if !said.is_empty() {
                // Nothing of a line stays there.
                let _ = self.end_file.set_len(0);
                self.keep(state, &said);
            }
        }
        false
    }

    /// Takes a sample if one is due.
    fn sample(&mut self) {
        let now_ns = clock::now_ns();
        match &mut self.state {
            State::Running(begin) if now_ns >= begin.at_ns + self.long_ns => {
                let line = Foreground::join(&self.shell, begin.at_ns);
                let due_ns = clock::now_ns() + line.pause().as_nanos() as u64;
                self.state = State::Sampled(*begin, line, due_ns);
            }
            State::Sampled(_, line, due_ns) if now_ns >= *due_ns => {
                line.sample(&self.shell);
                *due_ns = clock::now_ns() + line.pause().as_nanos() as u64;
            }
            State::Sampled(_, line, _) => line.notice_ends(),
            State::AtPrompt | State::Running(_) => {}
        }
    }

    /// Keeps a line, unless it begins with a space. A line that cannot be kept is lost: nobody is there to be told.
    fn keep(&self, state: State, said: &[u8]) {
        let (begin, line) = match state {
            State::AtPrompt => return,
            State::Running(begin) => (begin, None),
            State::Sampled(begin, line, _) => (begin, Some(line)),
        };
        let Some(typed) = Typed::read(said, self.name) else { return };
        let programs = line.map(|line| line.finish(&typed.statuses));
        let run = self.record(&typed, &begin, programs);
        let _ = kept::add(Line { shell: ShellId::of(&self.shell), run });
    }

    fn record(&self, typed: &Typed, begin: &Begin, programs: Option<Programs>) -> Run {
        let mut run = Run {
            text: typed.text.clone(),
            shell: self.name.into(),
            started_unix_ms: clock::unix_ms().saturating_sub(typed.wall_ns / 1_000_000),
            machine: pelton_run::this_machine(&self.environment),
            wall_ns: typed.wall_ns,
            exit_status: typed.statuses.last().copied().unwrap_or(0),
            observer: Observer { cpu_ns: clock::own_cpu_ns() - begin.own_cpu_ns, ..Observer::default() },
            sampled_from_ns: programs.as_ref().map(|programs| programs.joined_after_ns),
            ..Run::default()
        };
        let mut notes = Vec::new();
        if let Some(programs) = programs {
            run.observer.rounds = programs.rounds;
            run.observer.sampling_ns = programs.sampling_ns;
            notes = notes_on(&programs);
            run.pipelines = programs.pipelines;
        }
        let unseen = typed_text::find_texts(&mut run, &typed.statuses);
        pelton_run::correct_bytes(&mut run);
        pelton_run::conclude(&mut run, false);
        notes.extend(note_on_unseen(&run, &unseen));
        notes.extend(add_reaped(&mut run, begin.reaped, self.shell.reaped()));
        run.notes.extend(notes);
        run
    }

    fn remove_files(&self) {
        let Ok(folder) = PrivateFolder::open(&self.folder) else { return };
        for ending in ["begin", "end"] {
            // It is empty, or the next sampler of this process id replaces it.
            let _ = folder.remove(&format!("{}.{ending}", self.shell.pid()));
        }
    }
}

/// What the shell says of a long line.
struct Typed {
    text: String,
    wall_ns: u64,
    /// Of the stages of its last pipeline.
    statuses: Vec<i32>,
}

impl Typed {
    /// Reads the line's duration in microseconds, its statuses and its text, each but the last with a NUL behind it.
    /// `None` if the text is missing or begins with a space.
    fn read(said: &[u8], shell: &str) -> Option<Self> {
        let said = String::from_utf8_lossy(said);
        let mut fields = said.splitn(3, '\0');
        let wall_us: u64 = fields.next()?.trim().parse().ok()?;
        let statuses =
            fields.next()?.split_whitespace().map(|status| status.parse().ok()).collect::<Option<_>>()?;
        let text = fields.next()?;
        let text = if shell == "bash" { of_history(text)? } else { text };
        let text = text.trim_end_matches(['\n', '\0']);
        let keeps = !text.is_empty() && !text.starts_with(char::is_whitespace);
        keeps.then(|| Typed { text: text.to_owned(), wall_ns: wall_us * 1000, statuses })
    }
}

/// Returns the line of an entry as bash's `history` prints it: a number, a mark, a blank, the line.
fn of_history(entry: &str) -> Option<&str> {
    let rest = entry.trim_start_matches(' ').trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix("  ").or_else(|| rest.strip_prefix("* "))
}

/// Tells what the rows do not say.
fn notes_on(programs: &Programs) -> Vec<String> {
    let mut notes = vec![format!(
        "first sampled {:.1} s after the line began: what the stages waited for before that is taken to be as after it; \
         times, bytes and memory are the kernel's accounts of their whole lives, as of the last sample",
        programs.joined_after_ns as f64 / 1e9
    )];
    let named =
        |names: &[String], what: &str| (!names.is_empty()).then(|| format!("{}: {what}", names.join(", ")));
    notes.extend(named(
        &programs.older,
        "older than the line, which continued it; its figures cover its whole life",
    ));
    notes.extend(named(
        &programs.still_there,
        "had not ended when the line had (stopped, or in the background)",
    ));
    if programs.unobserved > 0 {
        notes.push(format!(
            "{} more programs were started, of which no figures are kept",
            programs.unobserved
        ));
    }
    notes
}

fn note_on_unseen(run: &Run, unseen: &[String]) -> Option<String> {
    let why = "ended before the first sample or between two, did not run, or ran in the shell itself";
    if run.pipelines.is_empty() {
        return Some(format!("no program of the line was seen: what there was {why}"));
    }
    let quoted: Vec<String> = unseen.iter().map(|text| format!("`{text}`")).collect();
    (!quoted.is_empty()).then(|| format!("not seen: {}: {why}", quoted.join(", ")))
}

/// Sets the line's CPU time to that of all programs that the shell has reaped meanwhile, which is exact but for ticks
/// of 10 ms, if the rows have less; and says so.
fn add_reaped(run: &mut Run, before: ChildrenCpu, after: ChildrenCpu) -> Option<String> {
    const TICKS_NS: u64 = 30_000_000;
    let user_ns = after.user_ns.saturating_sub(before.user_ns);
    let sys_ns = after.sys_ns.saturating_sub(before.sys_ns);
    let missing_ns = (user_ns + sys_ns).saturating_sub(run.total.cpu_ns());
    if missing_ns < TICKS_NS {
        return None;
    }
    (run.total.user_ns, run.total.sys_ns) = (user_ns, sys_ns);
    run.verdict.cores_used = run.total.cpu_share().unwrap_or(0.0);
    Some(format!(
        "ALL has {:.2} s of CPU more than the rows: programs that were not seen, and what was used after the last sample",
        missing_ns as f64 / 1e9
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_shell_says_is_read_and_lines_with_a_space_are_not() {
        let read = |said: &str, shell| Typed::read(said.as_bytes(), shell).map(|typed| typed.text);
        assert_eq!(read("2000000\x000 0 \0sort f | wc\n", "zsh"), Some("sort f | wc".into()));
        assert_eq!(read("2000000\x000\0  501  sort f\nwc\n", "bash"), Some("sort f\nwc".into()));
        assert_eq!(read("2000000\x000\0 1501* sort f\n", "bash"), Some("sort f".into()));
        assert_eq!(read("2000000\x000\0  501   sort f\n", "bash"), None);
        assert_eq!(read("2000000\x000\0 sort f\n", "fish"), None);
        assert_eq!(read("2000000\x000\0", "bash"), None);
        assert_eq!(read("x\x000\0a", "zsh"), None);
        assert_eq!(read("", "zsh"), None);
    }
}
