//! Executes a plan: starts stages, waits for them, and keeps a shell's state.

mod lists;
mod recording;
mod spawning;
mod supervision;

use lists::ShellState;
use supervision::Runner;

use crate::environ::Environment;
use crate::plan::{ListItem, PipelinePlan, Plan, Request};
use crate::progress::{self, ShowProgress};
use crate::stage::{Kind, Memo, Surroundings};
use crate::{c_string, lookup, parts};
use pelton_observe::inside::Launches;
use pelton_plan::Switches;
use pelton_record::live::Snapshot;
use pelton_record::{How, LeftBehind, Observer, Pipeline};
use pelton_syntax::Dialect;
use pelton_sys::follow::LinePlace;
use pelton_sys::pipe;
use pelton_sys::spawn::{self, Action, Child, Exec, OpenMode, Redirection};
use pelton_sys::wait;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

const SIGINT: i32 = 2;
/// The interval between two live displays.
const SHOW_NS: u64 = 500_000_000;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observing {
    /// Only run.
    No,
    /// Accounts for every stage, and samples what it waits for.
    Yes,
    /// As `Yes`, and follows all processes started by a single stage.
    Inside,
    /// As `Inside`, and records each stage's activity over time.
    Timeline,
    /// As `Yes`, and watches the threads of each stage.
    Threads,
    /// As `Yes`, and counts the system calls of each stage, which slows it down.
    Syscalls,
    /// As `Yes`, but traces what each stage waits for, which slows it down.
    Exact,
}

impl Observing {
    /// Whether the only stage of a text is followed.
    pub fn follows(self) -> bool {
        matches!(self, Observing::Inside | Observing::Timeline)
    }

    /// Whether anything is measured.
    pub fn measures(self) -> bool {
        self != Observing::No
    }
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to measure.
    pub observing: Observing,
    /// The enabled rules and kernels; `None` if every command runs unchanged.
    pub native: Option<Switches>,
    /// The callback for progress, if not measured.
    pub progress: Option<ShowProgress>,
    /// The callback for the live display, if measured.
    pub live: Option<ShowLive>,
    /// Whether this process may become the worker of a text that is one native pass: for calls from a shell,
    /// where signals are not sent to this process alone. It saves a fork.
    pub in_place: bool,
    /// Where the shell that runs the whole text keeps its line number, if processes are reported by line.
    pub lines: Option<LinePlace>,
}

impl Options {
    /// Runs every command unchanged, measured.
    pub const FAITHFULLY: Options = Options {
        observing: Observing::Yes,
        native: None,
        progress: None,
        live: None,
        in_place: false,
        lines: None,
    };
}

/// Shows a snapshot; `None` once a pipeline has ended.
pub type ShowLive = fn(Option<&Snapshot>);

/// The result of a run.
#[derive(Debug, Default)]
pub struct Execution {
    /// The status that the shell would return.
    pub status: i32,
    /// The signal by which the shell would have died, if any: it execs the last plain command of a text, and
    /// it dies of an interrupt that killed its child.
    pub died_by: Option<i32>,
    /// Whether SIGINT ended it.
    pub interrupted: bool,
    /// The pipelines that ran. Empty unless observed.
    pub pipelines: Vec<Pipeline>,
    /// Time from the first start to the last end. Zero unless observed.
    pub wall_ns: u64,
    /// Descendants that outlived their stages.
    pub left_behind: LeftBehind,
    /// The cost of measuring.
    pub observer: Observer,
    /// What the shell that ran the whole text started from which line, if requested.
    pub launches: Option<Launches>,
}

/// Returns the program that this process should exec instead of running the plan: the shell, for a text it
/// must run whole, or the program of a text that is one plain command. Not for observed runs.
pub fn replacement(
    plan: &Plan,
    request: &Request,
    environment: &Environment,
    options: &Options,
) -> Option<Exec> {
    match plan {
        Plan::Whole { .. } => whole(request, environment),
        Plan::Steps(steps) => {
            let [ListItem::List(list)] = steps.as_slice() else { return None };
            let [(None, pipeline)] = list.as_slice() else { return None };
            let [stage] = pipeline.stages.as_slice() else { return None };
            if stage.kind.shell_reason().is_some() {
                // The text is a single stage that the shell runs: it gets the text unchanged.
                return whole(request, environment);
            }
            let name = stage.name.as_bytes();
            let has_kernel = options.native.is_some()
                && (pelton_commands::lookup(name).is_some_and(|tool| tool.has_kernel())
                    || parts::may_be(name));
            if !shell_becomes(pipeline, request) || stage.kind != Kind::Program || has_kernel {
                return None;
            }
            let around = Surroundings { execed: true, ..surroundings(request, environment, &[]) };
            match stage.program(&around).ok()?.child.action {
                Action::Exec(exec) => Some(exec),
                Action::Exit(_) => None,
            }
        }
    }
}

/// Whether the shell would exec the program of this last pipeline of a text instead of starting it: bash does
/// so for a plain command without redirections, but not in a script file.
fn shell_becomes(pipeline: &PipelinePlan, request: &Request) -> bool {
    let bash = request.shell.dialect == Some(Dialect::Bash) && request.script.is_none();
    // It must have nothing left to read after the command's line.
    let behind = request.text.to_str().and_then(|text| text.get(pipeline.span.end..)).unwrap_or_default();
    let ends_there = behind.split_once('\n').is_none_or(|(_, more)| more.is_empty());
    bash && ends_there
        && !pipeline.negated
        && matches!(pipeline.stages.as_slice(), [stage] if stage.is_execed_by_a_shell())
}

/// Returns the shell that runs the whole text itself; `None` if the text holds a NUL byte.
pub fn shell_call(request: &Request, environment: &Environment) -> Option<Exec> {
    whole(request, environment)
}

fn whole(request: &Request, environment: &Environment) -> Option<Exec> {
    let env = environment.as_inherited();
    match &request.script {
        Some(file) => request.shell.call_script(file, &request.shell_flags, &request.args, &env),
        None => request.shell.call(&[], request.text.as_bytes(), &request.name, &request.args, &env),
    }
}

pub(crate) fn surroundings<'a>(
    request: &'a Request,
    environment: &'a Environment,
    flags: &'a [&'a str],
) -> Surroundings<'a> {
    Surroundings {
        shell: &request.shell,
        name: &request.name,
        args: &request.args,
        environment,
        flags,
        execed: false,
        memo: Memo::default(),
    }
}

/// Runs the plan. `say` gets what a shell would print to standard error about its children. If nothing is
/// observed, this process may become the last program of the text, as the shell would.
///
/// # Errors
/// If pelton itself lacks descriptors, processes or memory.
pub fn execute(
    plan: &Plan,
    request: &Request,
    environment: &Environment,
    options: &Options,
    say: &mut dyn FnMut(&str),
) -> io::Result<Execution> {
    let mut runner = Runner::new(options.observing)?;
    runner.show_live = options.live;
    runner.lines = options.lines;
    runner.show = options.progress.filter(|_| options.observing == Observing::No);
    if runner.show.is_some() {
        progress::prepare();
    }
    match plan {
        Plan::Steps(steps) => {
            let switches = options.native.as_ref();
            let detector = environment.detector();
            let in_place = options.in_place && runner.show.is_none() && !options.observing.measures();
            let mut shell = ShellState {
                request,
                environment,
                say,
                errexit: false,
                pipefail: false,
                switches,
                detector,
                in_place,
            };
            runner.only_one = matches!(steps.as_slice(), [ListItem::List(list)] if list.len() == 1);
            shell.run(steps, &mut runner)?;
        }
        Plan::Whole { reason } => {
            let exec = whole(request, environment).ok_or_else(nul)?;
            let text = request.text.to_string_lossy().into_owned();
            let how = How::Shell { reason: reason.clone() };
            runner.run_one(exec, &text, request.shell.name.to_string_lossy().into_owned(), how, None)?;
        }
    }
    runner.finish()
}

/// Resolves a command given as words to its program, without a shell.
///
/// # Errors
/// With `NotFound` if there is no such program.
pub fn command(words: &[OsString], environment: &Environment) -> io::Result<Exec> {
    let name = words.first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let path =
        lookup::find(name.as_bytes(), environment).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let mut argv: Vec<_> =
        words.iter().map(|word| c_string(word.as_bytes())).collect::<Option<_>>().ok_or_else(nul)?;
    let mut path = c_string(&path).ok_or_else(nul)?;
    if !lookup::kernel_can_start(path.as_bytes()) {
        // As execvp(3) does with a file that the kernel does not recognise: it is a script for sh.
        argv.splice(..1, [c"sh".to_owned(), path]);
        path = c"/bin/sh".to_owned();
    }
    Ok(Exec { path, argv, envp: environment.as_inherited() })
}

/// Runs a command given as words, without a shell.
///
/// # Errors
/// As [`command`] and [`execute()`].
pub fn execute_command(
    words: &[OsString],
    environment: &Environment,
    options: &Options,
) -> io::Result<Execution> {
    let exec = command(words, environment)?;
    let program = exec.path.to_string_lossy().into_owned();
    let text = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let name = words[0].to_string_lossy();
    let name = name.rsplit('/').next().unwrap_or(&name).to_string();
    let mut runner = Runner::new(options.observing)?;
    runner.show_live = options.live;
    runner.lines = options.lines;
    runner.run_one(exec, &text, name, How::Process, Some(program))?;
    runner.finish()
}

/// Returns a program's standard output. For queries to the shell: standard error is dropped.
pub(crate) fn output_of(exec: Exec) -> io::Result<String> {
    let pipe = pipe::pipe()?;
    let null = |fd| Redirection::Open {
        fd,
        path: c"/dev/null".into(),
        flags: spawn::open_flags(OpenMode::ReadWrite),
    };
    let child = Child {
        action: Action::Exec(exec),
        fallback: None,
        stdin: None,
        stdout: Some(pipe.write.as_fd()),
        redirections: vec![null(0), null(2)],
        not_mine: Some(pipe.read.as_fd()),
    };
    let pid = spawn::spawn(&child)?;
    drop(child);
    drop(pipe.write);
    let mut text = String::new();
    let read = std::fs::File::from(pipe.read).read_to_string(&mut text);
    wait::reap(pid)?;
    read.map(|_| text)
}

fn nul() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a NUL byte in the text")
}
