//! Doing what was planned: starting stages, waiting for them, and keeping a shell's account of statuses.

use crate::environ::Environment;
use crate::native::{self, Native, PassCounters, Unit};
use crate::plan::{ListItem, PipelinePlan, Plan, Request, ShellOption};
use crate::progress::{self, ShowProgress};
use crate::rows::{Account, Described, EndedProcess, Rows};
use crate::stage::{Ends, Kind, Memo, StagePlan, Surroundings};
use crate::{c_string, jobs, lookup, parts};
use pelton_commands::detect::Detector;
use pelton_observe::doctor::Scope;
use pelton_observe::inside::{Family, Launches};
use pelton_observe::probes::accounting;
use pelton_observe::probes::pipes::PipeProbe;
use pelton_observe::{Edges, Finished, Live, Pace, Watched};
use pelton_plan::Switches;
use pelton_record::live::Snapshot;
use pelton_record::{Cost, How, LeftBehind, Observer, Pipeline, Span};
use pelton_syntax::{Connector, Dialect};
use pelton_sys::clock;
use pelton_sys::follow::LinePlace;
use pelton_sys::pipe;
use pelton_sys::procfs::{self, ProcFile};
use pelton_sys::sched;
use pelton_sys::signals::{self, Forwarded, Interrupts};
use pelton_sys::spawn::{self, Action, Child, Exec, OpenMode, Redirection, Tie};
use pelton_sys::wait::{self, Ended};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

const SIGINT: i32 = 2;
/// Between two pictures of what goes on.
const SHOW_NS: u64 = 500_000_000;

/// Whether to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observing {
    /// Only run.
    No,
    /// Account for every stage, and sample what it waits for.
    Yes,
    /// The same, and follow all that is started, if there is one stage only.
    Inside,
    /// The same, and keep what each stage does in the course of time.
    Timeline,
    /// The same as `Yes`, and watch the threads of each stage.
    Threads,
    /// The same as `Yes`, and count the system calls of each stage, which slows it down.
    Syscalls,
    /// The same as `Yes`, but trace what each stage waits for, which slows it down.
    Exact,
}

impl Observing {
    /// Whether the only stage of a text is looked into.
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
    /// Whether to measure.
    pub observing: Observing,
    /// The rules and kernels that are on; `None` if every command runs as it is.
    pub native: Option<Switches>,
    /// Who wants to see how far it is, where it is not measured.
    pub progress: Option<ShowProgress>,
    /// Who wants to see what goes on, where it is measured.
    pub live: Option<ShowLive>,
    /// Whether this process may become the worker of a text that is one native pass: for calls, where a shell stands
    /// behind and nobody sends signals to this process alone. It saves a fork.
    pub in_place: bool,
    /// Where the shell that runs all of the text keeps its line, if what it starts is to be told by line.
    pub lines: Option<LinePlace>,
}

impl Options {
    /// As every command is, measured.
    pub const FAITHFULLY: Options = Options {
        observing: Observing::Yes,
        native: None,
        progress: None,
        live: None,
        in_place: false,
        lines: None,
    };
}

/// Shows what goes on; nothing, once a pipeline has ended.
pub type ShowLive = fn(Option<&Snapshot>);

/// What came of it.
#[derive(Debug, Default)]
pub struct Execution {
    /// The status that the shell would return.
    pub status: i32,
    /// The signal by which the shell would have died, if it would: it execs the last plain command of a text, and it
    /// dies of an interrupt that its child died of.
    pub died_by: Option<i32>,
    /// Whether SIGINT ended it.
    pub interrupted: bool,
    /// The pipelines that ran. Empty unless observed.
    pub pipelines: Vec<Pipeline>,
    /// From the first start to the last end. Zero unless observed.
    pub wall_ns: u64,
    /// Descendants that outlived their stages.
    pub left_behind: LeftBehind,
    /// What measuring cost.
    pub observer: Observer,
    /// What the shell that ran all of it started in which line, if that was asked for.
    pub launches: Option<Launches>,
}

/// What this process should become instead of running the plan itself: the shell, for a text it must run whole, or
/// the program, for a text that is one plain command. Not for observed runs.
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
                // One stage that the shell runs is all of the text: let it have it as it is.
                return whole(request, environment);
            }
            let name = stage.name.as_bytes();
            let has_kernel = options.native.is_some()
                && (pelton_commands::lookup(name).is_some_and(|entry| entry.native) || parts::may_be(name));
            if !shell_becomes(pipeline, request) || stage.kind != Kind::Program || has_kernel {
                return None;
            }
            let around = Surroundings { execed: true, ..surroundings(request, environment, &[]) };
            match stage.program(&around).ok()?.action {
                Action::Exec(exec) => Some(exec),
                Action::Exit(_) => None,
            }
        }
    }
}

/// Whether the shell would exec the program of this last pipeline of a text, instead of starting it: bash does so
/// for a plain command without redirections, but not in a script file.
fn shell_becomes(pipeline: &PipelinePlan, request: &Request) -> bool {
    let bash = request.shell.dialect == Some(Dialect::Bash) && request.script.is_none();
    // It must have nothing left to read behind the command's line.
    let behind = request.text.to_str().and_then(|text| text.get(pipeline.span.end..)).unwrap_or_default();
    let ends_there = behind.split_once('\n').is_none_or(|(_, more)| more.is_empty());
    bash && ends_there
        && !pipeline.negated
        && matches!(pipeline.stages.as_slice(), [stage] if stage.is_execed_by_a_shell())
}

/// The shell that runs all of the text itself; `None` if the text holds a NUL byte.
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

/// Runs the plan. `say` gets what a shell would print to standard error about its children. If nothing is observed, this
/// process may become the last program of the text, as the shell would.
///
/// # Errors
/// If pelton itself lacks something: descriptors, processes, memory.
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

/// The program that a command given as words means, without a shell.
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
        // As execvp(3) does with a file that the kernel does not know: it is a script for sh.
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

/// What a program prints. For questions to the shell: its standard error is dropped.
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

/// What a shell keeps account of between pipelines.
struct ShellState<'a> {
    request: &'a Request,
    environment: &'a Environment,
    say: &'a mut dyn FnMut(&str),
    errexit: bool,
    pipefail: bool,
    switches: Option<&'a Switches>,
    detector: Detector<'static>,
    /// This process may become the worker of the last pipeline.
    in_place: bool,
}

impl ShellState<'_> {
    fn run(&mut self, steps: &[ListItem], runner: &mut Runner) -> io::Result<()> {
        for (i, step) in steps.iter().enumerate() {
            match step {
                ListItem::Set(options) => {
                    self.set(options);
                    runner.execution.status = 0;
                }
                ListItem::List(list) => {
                    let decided = self.run_list(list, i + 1 == steps.len(), runner)?;
                    let failed = runner.execution.status != 0 && decided;
                    if runner.execution.interrupted || (self.errexit && failed) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, options: &[(ShellOption, bool)]) {
        for (option, on) in options {
            match option {
                ShellOption::Errexit => self.errexit = *on,
                ShellOption::Pipefail => self.pipefail = *on,
                // Texts with unset variables went to the shell when they were planned.
                ShellOption::Nounset => {}
            }
        }
    }

    /// Runs pipelines joined by `&&` and `||`. True if the last one of them ran and was not negated: only then does
    /// `set -e` heed a failure.
    fn run_list(
        &mut self,
        list: &[(Option<Connector>, PipelinePlan)],
        last_step: bool,
        runner: &mut Runner,
    ) -> io::Result<bool> {
        let mut decided = false;
        for (i, (connector, pipeline)) in list.iter().enumerate() {
            let wanted = match connector {
                None => true,
                Some(Connector::And) => runner.execution.status == 0,
                Some(Connector::Or) => runner.execution.status != 0,
            };
            if !wanted {
                continue;
            }
            let last = i + 1 == list.len();
            decided = last && !pipeline.negated;
            self.run_pipeline(pipeline, last && last_step, runner)?;
            if runner.execution.interrupted {
                break;
            }
        }
        Ok(decided)
    }

    fn run_pipeline(&mut self, pipeline: &PipelinePlan, last: bool, runner: &mut Runner) -> io::Result<()> {
        let flags: &[&str] = if self.pipefail { &["-o", "pipefail"] } else { &[] };
        let execed = last && shell_becomes(pipeline, self.request);
        let around = Surroundings { execed, ..surroundings(self.request, self.environment, flags) };
        let units = match self.switches {
            Some(switches) => {
                let (planned, units) = native::plan_pipeline(
                    &pipeline.stages,
                    &around,
                    switches,
                    self.pipefail,
                    &mut self.detector,
                );
                if runner.show.is_some() {
                    runner.total_bytes = progress::total_bytes(&planned, &pipeline.stages[0], &around);
                }
                units
            }
            None => (0..pipeline.stages.len()).map(Unit::Process).collect(),
        };
        if execed
            && runner.observing == Observing::No
            && runner.show.is_none()
            && matches!(units.as_slice(), [Unit::Process(_)])
        {
            become_program(&pipeline.stages, &around);
        }
        let units = if self.in_place && last && !pipeline.negated {
            become_worker(units, self.pipefail)?
        } else {
            units
        };
        let ends = runner.run_pipeline(pipeline, units, &around)?;
        let dialect = self.request.shell.dialect.unwrap_or(Dialect::Posix);
        let status = |(_, ended): &(u32, Ended)| ended.status();
        let failed = ends.iter().rev().map(status).find(|status| self.pipefail && *status != 0);
        let raw = failed.or(ends.last().map(status)).unwrap_or(0);
        runner.execution.status = if pipeline.negated { i32::from(raw == 0) } else { raw };
        if let Some(record) = runner.execution.pipelines.last_mut().filter(|_| runner.observing.measures()) {
            record.exit_status = runner.execution.status;
            record.text = pipeline.span.of(self.request.text.to_str().unwrap_or_default()).to_string();
        }
        if runner.execution.interrupted {
            runner.execution.died_by = Some(SIGINT);
            return Ok(());
        }
        let last_end = ends.last().map(|(_, ended)| *ended);
        match last_end {
            Some(Ended::Signalled(signal, _)) if execed => runner.execution.died_by = Some(signal),
            _ => {
                let spell = |stage: &StagePlan| stage.spelled(&around);
                let name = &self.request.name;
                if let Some(text) = jobs::message(dialect, name, pipeline, &ends, self.pipefail, &spell) {
                    (self.say)(&text);
                }
            }
        }
        Ok(())
    }
}

/// Becomes the program of a text's last command, as the shell would. Returns if that cannot be: the general way then
/// says what is wrong.
fn become_program(stages: &[StagePlan], around: &Surroundings<'_>) {
    let [stage] = stages else { return };
    if let (Kind::Program, Ok(native)) = (&stage.kind, stage.program(around))
        && let (Action::Exec(exec), []) = (native.action, native.redirections.as_slice())
    {
        let _ = spawn::replace(&exec);
        signals::behave_as_a_shell();
    }
}

/// Becomes the worker, if that is all there is.
fn become_worker(mut units: Vec<Unit>, pipefail: bool) -> io::Result<Vec<Unit>> {
    match (units.pop(), units.len()) {
        (Some(Unit::Native(native)), 0) => match native.become_worker(pipefail)? {},
        (unit, _) => {
            units.extend(unit);
            Ok(units)
        }
    }
}

/// Who ends with this process. A command alone takes the place of the shell that was to run it, so what ends the shell ends it; and
/// no worker is anybody's but this process's. But real commands in a pipeline outlive the shell, and what feeds one must not
/// end before it has given it everything.
fn ties(units: &[Unit]) -> Vec<Tie> {
    let feeds = units.iter().rposition(|unit| !matches!(unit, Unit::Native(_))).filter(|_| units.len() > 1);
    let tie = |at| if feeds.is_some_and(|last| at <= last) { Tie::None } else { Tie::ToParent };
    (0..units.len()).map(tie).collect()
}

/// Starts processes and waits for them.
struct Runner {
    observing: Observing,
    /// There is one pipeline in all.
    only_one: bool,
    /// What asks this process to end goes to the command that is all there is to do.
    forwarded: Option<Forwarded>,
    execution: Execution,
    pace: Pace,
    start_ns: u64,
    own_cpu_at_start_ns: u64,
    /// Of the whole machine.
    idle_at_start_ns: Option<u64>,
    /// Who wants to see how far it is.
    show: Option<ShowProgress>,
    /// How many pipelines have begun.
    begun: usize,
    /// What the pipeline at hand has to read, if that is known and somebody wants to see it.
    total_bytes: Option<u64>,
    watch: Option<progress::Watch>,
    /// The pipes of the pipeline at hand, left to right.
    pipes: Vec<PipeProbe>,
    sampling_ns: u64,
    /// The only stage of the pipeline at hand and all that it starts, if that is followed.
    family: Option<Family>,
    /// Who wants to see what goes on, what it is, and when it was shown.
    show_live: Option<ShowLive>,
    live: Option<Live>,
    shown_ns: u64,
    lines: Option<LinePlace>,
    /// Children that are none of the text's: those that this process had before it became pelton (`cmd & exec pelton …`),
    /// and those that count system calls.
    had_before: Vec<u32>,
}

/// A started stage, or several in one worker.
struct Started {
    stages: Range<usize>,
    /// Where a worker tells the statuses of its stages.
    statuses: Option<OwnedFd>,
    pid: u32,
    watched: Option<Watched>,
    how: How,
    program: Option<String>,
    /// What a measured worker counts.
    account: Option<Account>,
}

impl Started {
    /// Nothing but a process.
    fn unmeasured(pid: u32) -> Self {
        let (how, program) = (How::Process, None);
        Started { stages: 0..1, statuses: None, pid, watched: None, how, program, account: None }
    }
}

/// A stage that has ended, measured or not.
struct Ending {
    ended: Ended,
    finished: Option<Finished>,
}

impl Runner {
    fn new(observing: Observing) -> io::Result<Self> {
        signals::behave_as_a_shell();
        if observing.measures() {
            // Without it, only what a stage leaves behind is missed: not worth failing for.
            let _ = wait::become_subreaper();
            // A sampler that has to wait for a CPU sees too little of who has it.
            pelton_sys::sched::wake_soon();
            pelton_sys::limits::raise_descriptors();
        }
        let had_before = if observing.measures() { procfs::children(std::process::id()) } else { Vec::new() };
        let execution = Execution::default();
        Ok(Runner {
            observing,
            only_one: false,
            forwarded: None,
            execution,
            pace: Pace::begin(),
            start_ns: clock::now_ns(),
            own_cpu_at_start_ns: clock::own_cpu_ns(),
            idle_at_start_ns: observing.measures().then(sched::idle_ns).flatten(),
            show: None,
            begun: 0,
            total_bytes: None,
            watch: None,
            pipes: Vec::new(),
            sampling_ns: 0,
            family: None,
            show_live: None,
            live: None,
            shown_ns: 0,
            lines: None,
            had_before,
        })
    }

    fn run_one(
        &mut self,
        exec: Exec,
        text: &str,
        name: String,
        how: How,
        program: Option<String>,
    ) -> io::Result<()> {
        let child = Child {
            action: Action::Exec(exec),
            fallback: None,
            stdin: None,
            stdout: None,
            redirections: vec![],
            not_mine: None,
        };
        self.only_one = true;
        let started = self.start(&child, how, program, Edges::default(), true)?;
        let (starts, endings) = self.wait_for(vec![started])?;
        let ended = endings[0].ended;
        self.execution.status = ended.status();
        if let Ended::Signalled(signal, _) = ended {
            self.execution.died_by = Some(signal);
        }
        if self.observing.measures() {
            let span = Span::new(0, text.len());
            let described = Described { text: text.to_string(), name, span };
            self.record(span, &[described], starts, endings, &[ended]);
            if let Some(pipeline) = self.execution.pipelines.last_mut() {
                pipeline.text = text.to_string();
                pipeline.exit_status = self.execution.status;
            }
        }
        Ok(())
    }

    /// Runs one pipeline to its end; gives its stages' processes and how they ended, left to right.
    fn run_pipeline(
        &mut self,
        pipeline: &PipelinePlan,
        units: Vec<Unit>,
        around: &Surroundings<'_>,
    ) -> io::Result<Vec<(u32, Ended)>> {
        let mut started = Vec::with_capacity(units.len());
        if let Err(error) = self.start_pipeline(pipeline, units, around, &mut started) {
            // Its pipes are closed by now, so those that were started come to their end. Nothing is left behind.
            let _ = self.wait_for(started);
            return Err(error);
        }
        let told: Vec<_> =
            started.iter_mut().map(|unit| (unit.stages.clone(), unit.statuses.take())).collect();
        let pids: Vec<u32> = started.iter().map(|unit| unit.pid).collect();
        let total_bytes = self.total_bytes.take();
        self.watch = self.show.map(|show| progress::Watch::new(show, self.begun, total_bytes, &pids));
        self.begun += 1;
        let (starts, mut endings) = self.wait_for(started)?;
        let mut ends: Vec<(u32, Ended)> = Vec::with_capacity(pipeline.stages.len());
        for ((pid, (stages, statuses)), ending) in pids.into_iter().zip(told).zip(&mut endings) {
            let told = statuses.map(native::told);
            if let (Some(told), Some(finished)) = (&told, &mut ending.finished) {
                native::forget_telling(told, &mut finished.cost);
            }
            ends.extend(stage_ends(pid, ending.ended, stages, told));
        }
        if self.observing.measures() {
            let describe =
                |s: &StagePlan| Described { text: s.text.clone(), name: s.name.clone(), span: s.span };
            let described: Vec<_> = pipeline.stages.iter().map(describe).collect();
            let ended: Vec<_> = ends.iter().map(|(_, ended)| *ended).collect();
            self.record(pipeline.span, &described, starts, endings, &ended);
        }
        Ok(ends)
    }

    /// Starts the stages left to right. Each child holds its own pipe ends and no others, also while it is still
    /// opening its redirections, so a reader sees its writer's end as soon as it comes.
    fn start_pipeline(
        &mut self,
        pipeline: &PipelinePlan,
        units: Vec<Unit>,
        around: &Surroundings<'_>,
        started: &mut Vec<Started>,
    ) -> io::Result<()> {
        let count = units.len();
        let mut previous: Option<(OwnedFd, u64)> = None;
        self.pipes.clear();
        let ties = ties(&units);
        for (i, (unit, tie)) in units.into_iter().zip(ties).enumerate() {
            let unit = match unit {
                // What is measured is the command as it is.
                Unit::Parts(parts) if self.observing.measures() => Unit::Process(parts.stage),
                unit => unit,
            };
            let next = if i + 1 < count { Some(pipe::pipe()?) } else { None };
            let (read_end, upstream) = previous.take().unzip();
            if self.observing.measures() {
                self.pipes.extend(next.as_ref().map(|pipe| PipeProbe::new(pipe.inode, clock::now_ns())));
            }
            let edges = Edges { upstream, downstream: next.as_ref().map(|pipe| pipe.inode) };
            let ends = Ends {
                stdin: read_end.as_ref().map(|fd| fd.as_fd()),
                stdout: next.as_ref().map(|pipe| pipe.write.as_fd()),
                not_mine: next.as_ref().map(|pipe| pipe.read.as_fd()),
            };
            started.push(match unit {
                Unit::Parts(parts) => {
                    let stages = parts.stage..parts.stage + 1;
                    Started { stages, ..Started::unmeasured(parts.spawn(ends, tie)?) }
                }
                Unit::Process(stage) => {
                    let prepared = pipeline.stages[stage].prepare(around, ends);
                    let begun =
                        self.start(&prepared.child, prepared.how, prepared.program, edges, count == 1)?;
                    Started { stages: stage..stage + 1, ..begun }
                }
                Unit::Native(mut native) => {
                    native.tie = tie;
                    match self.observing {
                        Observing::No => start_native(*native, ends)?,
                        _ => start_metered(*native, ends, edges)?,
                    }
                }
            });
            // The parent keeps neither this stage's input nor the write end of its output.
            previous = next.map(|pipe| (pipe.read, pipe.inode));
        }
        Ok(())
    }

    fn start(
        &mut self,
        child: &Child<'_>,
        how: How,
        program: Option<String>,
        edges: Edges,
        alone: bool,
    ) -> io::Result<Started> {
        // What the shell would run itself ends as the shell would, and what is all there is to do takes its place.
        let by_shell = matches!(how, How::Shell { .. });
        let tie = if alone && (by_shell || self.only_one) { Tie::ToParent } else { Tie::None };
        let (pid, watched) = match self.observing {
            Observing::No if tie == Tie::ToParent => (spawn::spawn_tied(child)?, None),
            Observing::No => (spawn::spawn(child)?, None),
            observing => {
                let (pid, gate) = spawn::spawn_gated(child, tie)?;
                if alone && observing.follows() {
                    // Where that is not permitted, it is a row like any other.
                    let course = observing == Observing::Timeline;
                    self.family = Family::follow(pid, course, self.lines).ok();
                    self.had_before.extend(self.family.as_ref().map(Family::tracer));
                }
                let watched = match observing {
                    Observing::Syscalls => Watched::start_traced(pid, gate, edges),
                    Observing::Exact => Watched::start_exact(pid, gate, edges),
                    Observing::Threads => Watched::start(pid, gate, edges).with_threads(),
                    Observing::Timeline => Watched::start(pid, gate, edges).with_timeline(),
                    Observing::Yes | Observing::Inside | Observing::No => Watched::start(pid, gate, edges),
                };
                self.had_before.extend(watched.tracer());
                (pid, Some(watched))
            }
        };
        if alone && self.only_one {
            self.forwarded = Forwarded::to(pid);
        }
        Ok(Started { stages: 0..1, statuses: None, pid, watched, how, program, account: None })
    }

    /// Waits until all stages have ended.
    fn wait_for(&mut self, started: Vec<Started>) -> io::Result<(Vec<Start>, Vec<Ending>)> {
        let mut starts = Vec::with_capacity(started.len());
        let mut watched = Vec::with_capacity(started.len());
        for stage in started {
            starts.push(Start {
                stages: stage.stages,
                pid: stage.pid,
                how: stage.how,
                program: stage.program,
                account: stage.account,
            });
            watched.push(stage.watched);
        }
        let places: HashMap<u32, usize> =
            starts.iter().enumerate().map(|(i, start)| (start.pid, i)).collect();
        let mut endings: Vec<Option<Ending>> = starts.iter().map(|_| None).collect();
        let pids = || starts.iter().map(|start| start.pid).collect();
        self.live = self.show_live.map(|_| Live::attach(Scope::These(pids())));
        let interrupts = Interrupts::watch();
        let mut outlived_interrupt = false;
        while endings.iter().any(Option::is_none) {
            let Some(pid) = self.next_ended(&mut watched)? else { continue };
            let Some(&i) = places.get(&pid) else {
                self.reap_stranger(pid)?;
                continue;
            };
            let ending = end(pid, watched[i].take())?;
            if let Some(watch) = &mut self.watch {
                watch.ended(pid);
            }
            outlived_interrupt |= interrupts.came() && !matches!(ending.ended, Ended::Signalled(SIGINT, _));
            endings[i] = Some(ending);
        }
        if let (Some(show), Some(_)) = (self.show_live, self.live.take()) {
            show(None);
        }
        // bash dies of an interrupt too, unless one of its children made something else of it.
        self.execution.interrupted = interrupts.came() && !outlived_interrupt;
        self.forwarded = None;
        Ok((starts, endings.into_iter().flatten().collect()))
    }

    /// A child that has ended; `None` after a round of samples, or if a signal came.
    fn next_ended(&mut self, watched: &mut [Option<Watched>]) -> io::Result<Option<u32>> {
        if self.observing == Observing::No && self.watch.is_none() {
            return wait::peek_ended(true);
        }
        if let Some(pid) = wait::peek_ended(false)? {
            return Ok(Some(pid));
        }
        if let Some(watch) = &mut self.watch {
            watch.wait();
            return Ok(None);
        }
        let mut waited: Vec<_> = watched.iter().flatten().filter_map(Watched::pidfd).collect();
        waited.extend(self.family.as_ref().and_then(Family::readable));
        wait::wait_any(&waited, Some(self.pace.until_next()));
        if let Some(family) = &mut self.family {
            family.notice();
        }
        if self.pace.is_due() {
            self.sample(watched);
            self.show_what_goes_on();
            self.pace.tick();
        }
        Ok(None)
    }

    fn show_what_goes_on(&mut self) {
        let (Some(show), Some(live)) = (self.show_live, &mut self.live) else { return };
        live.sample();
        let now_ns = clock::now_ns();
        if now_ns - self.shown_ns >= SHOW_NS {
            self.shown_ns = now_ns;
            show(Some(&live.snapshot()));
        }
    }

    /// One round of samples.
    fn sample(&mut self, watched: &mut [Option<Watched>]) {
        let before_ns = clock::own_cpu_ns();
        watched.iter_mut().flatten().for_each(Watched::sample);
        let now_ns = clock::now_ns();
        let process = |i: usize| watched.get(i)?.as_ref()?.pidfd();
        for (i, pipe) in self.pipes.iter_mut().enumerate() {
            pipe.sample(now_ns, process(i), process(i + 1));
        }
        if let Some(family) = &mut self.family {
            family.sample(now_ns);
        }
        self.sampling_ns += clock::own_cpu_ns() - before_ns;
    }

    /// An orphan of some stage, or a child that this process had before it became pelton.
    fn reap_stranger(&mut self, pid: u32) -> io::Result<()> {
        let mut buffer = [0; 512];
        let io = ProcFile::open(pid, "io").and_then(|file| procfs::parse_io(file.read(&mut buffer)?));
        let (_, usage) = wait::reap(pid)?;
        if self.observing.measures() && !self.had_before.contains(&pid) {
            let left = &mut self.execution.left_behind;
            if left.ended == 0 {
                left.cost = Cost::zero();
            }
            left.cost.add(&accounting::cost_of(io, &usage, 0));
            left.ended += 1;
        }
        Ok(())
    }

    /// Adds a pipeline that has ended to the record.
    fn record(
        &mut self,
        span: Span,
        described: &[Described],
        starts: Vec<Start>,
        endings: Vec<Ending>,
        ends: &[Ended],
    ) {
        let finished: Vec<Finished> = endings.into_iter().filter_map(|ending| ending.finished).collect();
        let first_ns = finished.iter().map(|f| f.start_ns).min().unwrap_or(0);
        let last_ns = finished.iter().map(|f| f.end_ns).max().unwrap_or(0);
        if self.execution.pipelines.is_empty() {
            self.start_ns = first_ns;
        }
        self.execution.wall_ns = last_ns - self.start_ns;
        let mut rows = Rows::new(described, ends, self.start_ns);
        for (start, finished) in starts.into_iter().zip(finished) {
            let Start { stages, pid, how, program, account } = start;
            rows.add(EndedProcess { stages, pid, how, program, account, finished });
        }
        let pipes = self.pipes.drain(..).enumerate();
        let pipes = pipes.filter_map(|(i, pipe)| rows.pipe(i, &pipe)).collect();
        let (mut stages, passes) = rows.finish();
        if let (Some(family), [only]) = (self.family.take(), stages.as_mut_slice()) {
            let (inside, launches) = family.finish(self.start_ns).unzip();
            only.inside = inside;
            self.execution.launches = launches.filter(|_| self.lines.is_some());
        }
        self.execution.pipelines.push(Pipeline {
            text: String::new(),
            span,
            start_ns: first_ns - self.start_ns,
            wall_ns: last_ns - first_ns,
            exit_status: 0,
            stages,
            passes,
            pipes,
        });
    }

    /// Since the start.
    fn idle_cores(&self) -> Option<f64> {
        let idle_ns = sched::idle_ns()?.checked_sub(self.idle_at_start_ns?)?;
        let passed_ns = clock::now_ns().checked_sub(self.start_ns).filter(|ns| *ns > 0)?;
        Some(idle_ns as f64 / passed_ns as f64)
    }

    fn finish(mut self) -> io::Result<Execution> {
        if self.observing.measures() {
            // What was left behind and has ended by now still counts; what still runs is only counted as such.
            while let Ok(Some(pid)) = wait::peek_ended(false) {
                self.reap_stranger(pid)?;
            }
            let running = procfs::children(std::process::id());
            self.execution.left_behind.running =
                running.iter().filter(|pid| !self.had_before.contains(pid)).count() as u32;
            self.execution.observer = Observer {
                cpu_ns: clock::own_cpu_ns() - self.own_cpu_at_start_ns,
                rounds: self.pace.rounds(),
                sampling_ns: self.sampling_ns,
                idle_cores: self.idle_cores(),
            };
        }
        Ok(self.execution)
    }
}

/// How a stage was started, or several in one worker, for the record.
struct Start {
    stages: Range<usize>,
    pid: u32,
    how: How,
    program: Option<String>,
    account: Option<Account>,
}

fn start_native(native: Native, ends: Ends<'_>) -> io::Result<Started> {
    let statuses = pipe::pipe()?;
    let stages = native.stages.clone();
    let pid = native.spawn(ends, statuses.write.as_fd())?;
    Ok(Started { stages, statuses: Some(statuses.read), ..Started::unmeasured(pid) })
}

/// The same, measured: the worker waits at its gate until it is watched.
fn start_metered(mut native: Native, ends: Ends<'_>, edges: Edges) -> io::Result<Started> {
    let statuses = pipe::pipe()?;
    let stages = native.stages.clone();
    let account =
        Account { meter: PassCounters::new(stages.clone())?, rows: std::mem::take(&mut native.rows) };
    let (pid, gate) = native.spawn_metered(ends, statuses.write.as_fd(), &account.meter)?;
    Ok(Started {
        stages,
        statuses: Some(statuses.read),
        pid,
        watched: Some(Watched::start(pid, gate, edges)),
        how: How::Process,
        program: None,
        account: Some(account),
    })
}

/// How each stage of a unit ended. A worker tells; what it could not tell is as it ended itself, for the last stage,
/// and unknown, which counts as success, for those before it: only pipefail would show it, and then nothing runs
/// natively whose status the end of another could cut short.
fn stage_ends(
    pid: u32,
    ended: Ended,
    stages: Range<usize>,
    told: Option<Vec<native::Told>>,
) -> Vec<(u32, Ended)> {
    let Some(told) = told else { return vec![(pid, ended)] };
    let mut ends: Vec<Ended> = stages.clone().map(|_| Ended::Exited(0)).collect();
    for (stage, status) in told {
        if let Some(end) = stage.checked_sub(stages.start).and_then(|i| ends.get_mut(i)) {
            *end = Ended::Exited(status);
        }
    }
    if let (Some(last), Ended::Signalled(..)) = (ends.last_mut(), ended) {
        *last = ended;
    }
    ends.into_iter().map(|end| (pid, end)).collect()
}

fn end(pid: u32, watched: Option<Watched>) -> io::Result<Ending> {
    match watched {
        Some(watched) => {
            let finished = watched.finish()?;
            Ok(Ending { ended: finished.ended, finished: Some(finished) })
        }
        None => Ok(Ending { ended: wait::reap(pid)?.0, finished: None }),
    }
}
