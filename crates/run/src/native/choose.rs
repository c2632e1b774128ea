//! Decides for each stage whether it can run natively, and plans its pipeline.

use super::files::{self, Files, Position};
use super::meter::RowNote;
use super::native_stage::NativeStage;
use super::segment::Native;
use super::source::Source;
use super::unit::Unit;
use super::{prepare, spawned};
use crate::alternatives;
use crate::builtin_output::ends_without_reading;
use crate::c_string::c_string;
use crate::environ::{self, Environment, locale_of};
use crate::parts::{self, Parts};
use crate::plan::{ListItem, PipelinePlan, Plan, Request, ShellOption};
use crate::stage::{Kind, StagePlan, Surroundings};
use pelton_commands::detect::Detector;
use pelton_commands::io_errors::{STDIO_BUFFER_BYTES, StandardOutput};
use pelton_commands::stateless::{NOT_KNOWN, Stateless};
use pelton_commands::{
    Accept, Accepted, Class, Context, Declined, Family, Implementation, Locale, Lookup, SystemLocales,
    TemporaryFiles, Tool, Unsuitable, lookup,
};
use pelton_plan::{Candidate, Planned, Segment, Switches};
use pelton_syntax::{Command as SyntaxCommand, Dialect, Redirect, RedirectKind};
use pelton_sys::spawn::{Action, Child, Exec};
use pelton_sys::{limits, machine, scratch, startup};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// How one pipeline of a text would be run.
#[derive(Debug)]
pub struct Explained {
    /// The text of the pipeline.
    pub text: String,
    /// The plan.
    pub planned: Planned,
}

/// Returns how each pipeline of a text would be run, for `explain`. `measure`: programs of awk and sed may be
/// run on a part of their input, to find the fastest implementation.
pub fn explain(
    plan: &Plan,
    request: &Request,
    environment: &Environment,
    switches: &Switches,
    measure: bool,
) -> Vec<Explained> {
    let text = request.text.to_str().unwrap_or_default();
    let mut explained = Vec::new();
    let around = request.surroundings(environment, &[]);
    each_pipeline(plan, request, environment, switches, &mut |pipeline, mut planned, _| {
        planned.advice.extend(alternatives::advice(&pipeline.stages, &around, measure));
        explained.push(Explained { text: pipeline.span.of(text).to_string(), planned });
    });
    explained
}

/// Plans each pipeline of a text, as far as possible before any of them has run.
pub fn each_pipeline(
    plan: &Plan,
    request: &Request,
    environment: &Environment,
    switches: &Switches,
    then: &mut dyn FnMut(&PipelinePlan, Planned, Vec<Unit>),
) {
    let Plan::Steps(steps) = plan else { return };
    let around = request.surroundings(environment, &[]);
    let mut pipefail = false;
    for step in steps {
        match step {
            ListItem::Set(options) => {
                let last = options.iter().rev().find(|(option, _)| *option == ShellOption::Pipefail);
                pipefail = last.map_or(pipefail, |(_, on)| *on);
            }
            ListItem::List(list) => {
                for (_, pipeline) in list {
                    let (planned, units) = plan_pipeline(
                        &pipeline.stages,
                        &around,
                        switches,
                        pipefail,
                        &mut environment.detector(),
                    );
                    then(pipeline, planned, units);
                }
            }
        }
    }
}

/// Returns the stages of a pipeline as the planner sees them.
pub(crate) fn candidates(
    stages: &[StagePlan],
    around: &Surroundings<'_>,
    detector: &mut Detector<'_>,
) -> Vec<Candidate> {
    let position = |at: usize| Position { first: at == 0, last: at + 1 == stages.len() };
    let understood = stages.iter().enumerate();
    understood.map(|(at, stage)| understand(stage, position(at), around, detector).0).collect()
}

/// Plans one pipeline for native running.
pub fn plan_pipeline(
    stages: &[StagePlan],
    around: &Surroundings<'_>,
    switches: &Switches,
    pipefail: bool,
    detector: &mut Detector<'_>,
) -> (Planned, Vec<Unit>) {
    let position = |at: usize| Position { first: at == 0, last: at + 1 == stages.len() };
    let (mut candidates, mut accepted): (Vec<Candidate>, Vec<Option<NativeStage>>) = stages
        .iter()
        .enumerate()
        .map(|(at, stage)| understand(stage, position(at), around, detector))
        .unzip();
    let ignores_sigpipe = startup::sigpipe_was_ignored();
    let shows_early_ends = pipefail || ignores_sigpipe;
    if shows_early_ends {
        let dialect = around.shell.dialect.unwrap_or(Dialect::Posix);
        for (candidate, stage) in candidates.iter_mut().zip(stages) {
            candidate.ends_without_reading = ends_without_reading(stage, dialect);
        }
    }
    let files: Vec<_> = accepted.iter().map(|stage| stage.as_ref().map(|stage| &stage.files)).collect();
    for stage in files::entangled(&files) {
        candidates[stage].command =
            Declined::because("a file that it reads or writes is written by the same pipeline");
    }
    for stage in scripts_at_risk(stages, &files, around) {
        candidates[stage].command = Declined::because(
            "a file in which its arguments go on may be written by another stage of the pipeline",
        );
    }
    let prints = candidates[0].facts().and_then(|facts| facts.output.bytes);
    let input_bytes = prints.or_else(|| files.first().and_then(|files| files.and_then(Files::bytes)));
    let last = accepted.last().and_then(Option::as_ref).filter(|_| ignores_sigpipe);
    let surroundings = pelton_plan::Surroundings {
        pipefail,
        ignores_sigpipe,
        prints_to_a_stranger: last
            .is_some_and(|last| files::prints_to_a_stranger(&last.redirections, position(stages.len() - 1))),
        reads_a_stranger: accepted[0].as_ref().is_some_and(|first| first.files.reads_a_stream())
            && !files::inherits_a_terminal(),
    };
    let mut planned = pelton_plan::plan(candidates, &surroundings, switches);
    planned.input_bytes = input_bytes;
    for (at, stage) in stages.iter().enumerate() {
        let refusal = |stateless| parts::refusal(stateless, stage, at == 0, input_bytes, around);
        if let Some(reason) = planned.parts[at].as_ref().and_then(refusal) {
            planned.decline_parts(at, &reason);
        }
    }
    let mut units = Vec::new();
    for segment in &planned.segments {
        match segment {
            Segment::Process(stage) => {
                let parts = planned.parts[*stage].as_ref();
                let parts =
                    parts.and_then(|stateless| Parts::new(*stage, &stages[*stage], stateless, around));
                units.push(parts.map_or(Unit::Process(*stage), |parts| Unit::Parts(Box::new(parts))));
            }
            Segment::Native { stages: range, nodes } => {
                match prepare::segment(range.clone(), nodes, &mut accepted) {
                    Some(native) => {
                        let rows = nodes.iter().map(|node| RowNote::of(node, &planned)).collect();
                        let into_pipe = range.end < stages.len() || files::inherits_a_pipe();
                        let outlives_readers = !shows_early_ends
                            && surroundings.is_fed_by_a_stranger(&planned.stages, range.start);
                        let ends_show =
                            shows_early_ends && native.last().standard_output == StandardOutput::Buffered;
                        let holds_back =
                            into_pipe && (ends_show || outlives_readers && native.keeps_output());
                        let reads_at_most = pelton_plan::may_have_enough(&planned.stages[range.clone()])
                            .then(|| native.members[0].pipe_read_bytes);
                        let mut native =
                            Native { rows, holds_back, reads_at_most, outlives_readers, ..native };
                        let before = range.start.checked_sub(1).map(|at| &planned.stages[at]);
                        let fills_pipe = match units.last() {
                            Some(Unit::Native(first)) if first.stages.start == 0 && prints.is_some() => true,
                            Some(Unit::Native(native)) => native.fills_pipe(),
                            _ => false,
                        };
                        if fills_pipe || before.is_some_and(|stage| stage.blocks_until_eof == Some(true)) {
                            native.expect_full_pipe();
                        }
                        units.push(Unit::Native(Box::new(native)));
                    }
                    None => units.extend(range.clone().map(Unit::Process)),
                }
            }
        }
    }
    (planned, units)
}

/// Returns the stages that read a script while a process in the pipeline may write it: one with an output
/// redirection, or with the script's name among its arguments.
fn scripts_at_risk(stages: &[StagePlan], files: &[Option<&Files>], around: &Surroundings<'_>) -> Vec<usize> {
    let at_risk = |at: &usize| {
        let Some(names) = files[*at].map(|files| &files.scripts).filter(|names| !names.is_empty()) else {
            return false;
        };
        stages.iter().zip(files).any(|(stage, files)| files.is_none() && may_write(stage, names, around))
    };
    (0..stages.len()).filter(at_risk).collect()
}

/// Whether a process stage may write one of these files.
fn may_write(stage: &StagePlan, names: &[Vec<u8>], around: &Surroundings<'_>) -> bool {
    let may_be_it = |redirect: &Redirect| match &redirect.kind {
        RedirectKind::Read(_) | RedirectKind::Duplicate(..) => false,
        RedirectKind::Write(file) | RedirectKind::Append(file) | RedirectKind::Clobber(file) => file
            .static_text()
            .is_none_or(|file| names.iter().any(|name| files::may_be_the_same(name, file.as_bytes()))),
        _ => true,
    };
    if stage.syntax.redirects.iter().any(may_be_it) {
        return true;
    }
    let Ok(prepared) = stage.program(around) else { return true };
    let Action::Exec(exec) = prepared.child.action else { return true };
    let holds = |arg: &CString, name: &[u8]| arg.as_bytes().windows(name.len()).any(|part| part == name);
    let mut last_parts = names.iter().map(|name| name.rsplit(|byte| *byte == b'/').next().unwrap_or(name));
    last_parts.any(|name| exec.argv.iter().skip(1).any(|arg| holds(arg, name)))
}

/// Returns a stage as the planner sees it, and what its kernel needs. `None` if it stays a process.
fn understand(
    stage: &StagePlan,
    position: Position,
    around: &Surroundings<'_>,
    detector: &mut Detector<'_>,
) -> (Candidate, Option<NativeStage>) {
    let reads_file = stage.syntax.redirects.iter().any(|r| matches!(r.kind, RedirectKind::Read(_)));
    let drops_messages = stage.syntax.redirects.iter().any(Redirect::drops_messages);
    let writes = |r: &Redirect| !matches!(r.kind, RedirectKind::Read(_)) && !r.drops_messages();
    let writes_file = stage.syntax.redirects.iter().any(writes);
    let mut candidate = Candidate {
        name: stage.name.clone(),
        args: Vec::new(),
        text: Some(stage.text.lines().map(str::trim).collect::<Vec<_>>().join(" ")),
        implementation: None,
        context: None,
        command: Err(Declined::new("")),
        stateless: Err(Declined::new(NOT_KNOWN)),
        shares_stdin: position.first && !reads_file && !around.owns_input,
        reads_a_stage_outside: position.first && !reads_file && around.owns_input,
        redirects_stdout: writes_file,
        redirects_stdin: reads_file,
        drops_messages,
        ends_without_reading: false,
    };
    let understood = command_of(stage, position, around, detector, &mut candidate);
    candidate.stateless = stateless_of(stage, around, detector);
    let (command, native) = match understood {
        Ok((accepted, native)) => (Ok(Arc::new(accepted)), Some(native)),
        Err(declined) => (Err(declined), None),
    };
    candidate.command = command;
    (candidate, native)
}

/// Returns how several processes could share the stage's input lines.
fn stateless_of(
    stage: &StagePlan,
    around: &Surroundings<'_>,
    detector: &mut Detector<'_>,
) -> Accept<Stateless> {
    if stage.kind != Kind::Program {
        return Declined::because(NOT_KNOWN);
    }
    let prepared = stage.program(around).map_err(Declined::new)?;
    let Action::Exec(exec) = prepared.child.action else { return Declined::because(NOT_KNOWN) };
    let path = Path::new(std::ffi::OsStr::from_bytes(exec.path.as_bytes()));
    let name = path.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
    if !parts::may_be(name) {
        return Declined::because(NOT_KNOWN);
    }
    if stage.syntax.redirects.iter().any(Redirect::drops_messages) {
        return Declined::because("a redirection of its messages");
    }
    check_redirects(stage)?;
    let args: Vec<Vec<u8>> = exec.argv.iter().skip(1).map(|arg| arg.as_bytes().to_vec()).collect();
    if let Some(declared) = parts::declared(name, &args) {
        return Ok(declared);
    }
    let locale = locale_in(stage, &exec.envp, around)?;
    let context = Context { locale, implementation: detector.identify(path) };
    pelton_commands::stateless::stateless(name, &args, &context)
}

/// Returns the locale of a stage with this environment; that of stages without assignments of their own is looked up once.
fn locale_in(stage: &StagePlan, environment: &[CString], around: &Surroundings<'_>) -> Accept<Locale> {
    match assigns(stage) {
        true => locale_of(environment),
        false => around.memo.locale.get_or_init(|| locale_of(environment)).clone(),
    }
}

/// Whether a stage has assignments of its own, which change its environment.
fn assigns(stage: &StagePlan) -> bool {
    matches!(&stage.syntax.command, SyntaxCommand::Simple(simple) if !simple.assignments.is_empty())
}

/// Looks up what the arguments of a child refer to that would have this environment.
struct ChildLookup<'a>(&'a [CString]);

impl Lookup for ChildLookup<'_> {
    fn script(&self, name: &[u8]) -> Accept<Vec<u8>> {
        files::script(name)
    }

    fn variable(&self, name: &[u8]) -> Accept<Option<Vec<u8>>> {
        let mut values = environ::values(self.0, name);
        let value = values.next();
        match values.next() {
            None => Ok(value),
            Some(_) => Declined::because("a variable that is twice in the environment"),
        }
    }
}

fn command_of(
    stage: &StagePlan,
    position: Position,
    around: &Surroundings<'_>,
    detector: &mut Detector<'_>,
    candidate: &mut Candidate,
) -> Accept<(Accepted, NativeStage)> {
    match &stage.kind {
        Kind::Program => {}
        Kind::Builtin(_) => return Declined::because("a builtin of the shell"),
        Kind::ShellBuiltin { name } => {
            return builtin_of(name, stage, position, around, detector, candidate);
        }
        Kind::Shell { reason } => {
            return Declined::because(format!("the shell runs it, because of {reason}"));
        }
    }
    let Child { action, redirections, .. } = stage.program(around).map_err(Declined::new)?.child;
    let Action::Exec(exec) = action else { return Declined::because("no program") };
    let path = Path::new(std::ffi::OsStr::from_bytes(exec.path.as_bytes()));
    let name = path.file_name().map(|name| name.as_bytes().to_vec()).unwrap_or_default();
    candidate.name = String::from_utf8_lossy(&name).into_owned();
    candidate.args = exec.argv.iter().skip(1).map(|arg| arg.as_bytes().to_vec()).collect();
    let Some(tool) = lookup(&name).filter(|tool| tool.has_kernel()) else {
        return Declined::because(format!("pelton has no native {}", String::from_utf8_lossy(&name)));
    };
    check_redirects(stage)?;
    let locale = locale_in(stage, &exec.envp, around)?;
    let implementation =
        if tool.family == Family::Pelton { this_program(path) } else { detector.identify(path) };
    let context = Context { locale: locale.clone(), implementation };
    candidate.implementation = Some(context.implementation.describe_equality());
    candidate.context = Some(context.clone());
    let command = pelton_commands::accept_with(&name, &candidate.args, &context, &ChildLookup(&exec.envp))?;
    let accepted = Accepted::new(command);
    let Accepted { command, facts } = &accepted;
    check_temporary(&facts.temporary_files, &exec.envp)?;
    let mut starts = None;
    let may_repeat = facts.input.depends_on_reads || facts.input.reads_again.is_some();
    let own_name = exec.argv.first().filter(|_| may_repeat);
    let mut itself = own_name.and_then(|called| alone(exec.path.as_bytes(), called.as_bytes(), &exec));
    if let Some(child) = &facts.child {
        let found = (!assigns(stage))
            .then(|| around.program_of(child.name.as_bytes()))
            .flatten()
            .map(|found| found.path);
        spawned::check(&accepted, found.as_deref(), &exec.envp, detector)?;
        // xargs cannot resume: where its kernel falls back, the real xargs continues.
        let goes_on = command.resume_args().is_none();
        itself = found.and_then(|path| alone(&path, child.name.as_bytes(), &exec));
        starts = itself.clone().filter(|_| goes_on);
    }
    check_environment(tool.as_installed(&context.implementation), &exec.envp)?;
    if let Some(program) = facts.input.reads_again.filter(|program| program.as_bytes() != name) {
        becomes(program, stage, around, detector, &context.implementation)?;
    }
    let prints_last = position.last && facts.diagnostics.overtake_output;
    if prints_last && tool.is_unsuitable_for(Unsuitable::MessagesBetweenOutput) {
        return Declined::because("its names go into no pipe");
    }
    let called = exec.argv.first().map_or(&b""[..], |called| called.as_bytes()).to_vec();
    let shows_name = tool.is_unsuitable_for(Unsuitable::OtherName) || facts.diagnostics.show_name;
    if called != name && (shows_name || command.join_kernel().is_ok() || facts.output.copies.is_some()) {
        return Declined::because("what it is called by stands in its messages");
    }
    let files = files::of_stage(&accepted, &redirections, position)?;
    if facts.input.reads_again.is_some() && !files.sources.iter().all(Source::is_regular) {
        return Declined::because("an input that is no regular file, and cannot be read again");
    }
    let mixes = || files::shares_output_with_errors(&redirections, position);
    if facts.diagnostics.overtake_output && mixes() {
        return Declined::because(
            "its output and its messages may go to the same place, in an order of its own",
        );
    }
    if facts.output.goes_to_files_too() && files::prints_to_a_stranger(&redirections, position) {
        return Declined::because(
            "what reads it may leave early, and how much its files hold then is a race",
        );
    }
    if facts.output.writes_files() && limits::has_file_limit_below(u64::MAX) {
        return Declined::because(
            "a limit on the size of files, at which it ends between two of its outputs",
        );
    }
    let tool = tool.as_installed(&context.implementation);
    if startup::sigpipe_was_ignored() {
        let has_more_ends =
            facts.child.is_some() || facts.output.goes_to_files_too() || matches!(facts.class, Class::Join);
        if has_more_ends || tool.is_unsuitable_for(Unsuitable::BrokenPipe) {
            return Declined::because(
                "SIGPIPE is ignored, and what it does if its reader leaves is not modelled",
            );
        }
    }
    // What a tool says of output that cannot be written depends on how much its buffers held.
    let at_any_limit = tool.is_unsuitable_for(Unsuitable::RefusedOutput);
    let limit_bytes = if at_any_limit { u64::MAX } else { files::SMALL_LIMIT_BYTES };
    if files::may_be_refused(&redirections, position, limit_bytes) {
        return Declined::because(
            "what it writes may be refused, of which only the real command tells exactly",
        );
    }
    if tool.is_unsuitable_for(Unsuitable::SocketInput) && position.first && files::inherits_a_socket() {
        return Declined::because(
            "a connection that may break off: it then prints less, and tells how far it had read",
        );
    }
    if tool.is_unsuitable_for(Unsuitable::OddReadSizes) && files.odd_reads {
        return Declined::because("a file that is read in blocks of another size");
    }
    if tool.is_unsuitable_for(Unsuitable::Holes) && files.may_have_holes {
        return Declined::because("a file with holes, which it takes for binary");
    }
    let called = String::from_utf8_lossy(&called).into_owned();
    let caller = tool.caller(called, locale.messages);
    let pipe_read_bytes = facts.input.pipe_read_bytes.unwrap_or(STDIO_BUFFER_BYTES);
    let native =
        NativeStage { caller, exec: Some(exec), starts, itself, redirections, pipe_read_bytes, files };
    Ok((accepted, native))
}

/// Accepts a builtin of the shell. Its output must go into a pipe: its error messages for anything else name
/// a line of the text.
fn builtin_of(
    name: &str,
    stage: &StagePlan,
    position: Position,
    around: &Surroundings<'_>,
    detector: &mut Detector<'_>,
    candidate: &mut Candidate,
) -> Accept<(Accepted, NativeStage)> {
    if lookup(name.as_bytes()).is_none_or(|entry| entry.family != Family::Bash) {
        return Declined::because(format!("the shell runs it, because of the builtin `{name}`"));
    }
    if around.shell.dialect != Some(Dialect::Bash) {
        return Declined::because(format!("the builtin `{name}` of a shell that is not bash"));
    }
    if !stage.syntax.redirects.is_empty() || stage.syntax.pipes_stderr {
        return Declined::because("a builtin with redirections");
    }
    if position.last {
        return Declined::because("a builtin that prints into no pipe");
    }
    let arguments = stage.builtin_arguments(around.environment).map_err(Declined::new)?;
    let args = arguments.get(1..).unwrap_or_default().to_vec();
    let variable = |name: &str| around.environment.get(name).map(|value| value.as_bytes().to_vec());
    let locales = SystemLocales::default();
    if !pelton_commands::locales_are_installed(variable, &locales) {
        return Declined::because("a locale that is not installed, of which the shell warns");
    }
    let locale = Locale::resolve(variable, &locales)?;
    let caller = pelton_commands::caller(name.to_owned(), locale.messages.clone());
    let context = Context { locale, implementation: detector.identify(&around.shell.path) };
    candidate.implementation = Some(context.implementation.describe_equality());
    let accepted = Accepted::new(pelton_commands::accept(name.as_bytes(), &args, &context)?);
    candidate.args = args;
    let files = files::of_stage(&accepted, &[], position)?;
    let redirections = Vec::new();
    let native = NativeStage {
        caller,
        exec: None,
        starts: None,
        itself: None,
        redirections,
        pipe_read_bytes: STDIO_BUFFER_BYTES,
        files,
    };
    Ok((accepted, native))
}

/// Returns the implementation of a `pelton` in the PATH: this one, or an unknown one.
fn this_program(path: &Path) -> Implementation {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    match identity(path) {
        Some(found) if identity(Path::new("/proc/self/exe")) == Some(found) => {
            Implementation::tested(Family::Pelton)
        }
        _ => Implementation::Unknown("another pelton than this one".to_owned()),
    }
}

/// Declines a directory for temporary files that the real command might fail to use: its messages name them.
fn check_temporary(files: &TemporaryFiles, environment: &[CString]) -> Accept<()> {
    // More than a pipe or a small file needs. A nearly full disk and a larger file are the user's
    // responsibility.
    const ROOM_BYTES: u64 = 256 << 20;
    if *files != TemporaryFiles::None && limits::has_file_limit_below(files::SMALL_LIMIT_BYTES) {
        return Declined::because("a limit on the size of files, which its temporary files may meet");
    }
    let own = environment.iter().find_map(|pair| pair.as_bytes().strip_prefix(b"TMPDIR="));
    let directory = match files {
        TemporaryFiles::None => return Ok(()),
        TemporaryFiles::In(directory) => directory,
        TemporaryFiles::Usual if own != std::env::var_os("TMPDIR").as_ref().map(|value| value.as_bytes()) => {
            return Declined::because("a TMPDIR of its own");
        }
        TemporaryFiles::Usual => own.unwrap_or(b"/tmp"),
    };
    let path = Path::new(std::ffi::OsStr::from_bytes(directory));
    let shown = directory.escape_ascii();
    if !path.is_dir() || !machine::may_write(path) {
        return Declined::because(format!("{shown}, where no temporary file can be made"));
    }
    if scratch::free_bytes(path).is_some_and(|free| free < ROOM_BYTES) {
        return Declined::because(format!("{shown}, where little room is left for temporary files"));
    }
    Ok(())
}

/// Makes the call of a command, or of a program that it starts, without arguments.
fn alone(path: &[u8], called: &[u8], by: &Exec) -> Option<Exec> {
    let argv = vec![c_string(called)?];
    Some(Exec { path: c_string(path)?, argv, envp: by.envp.clone() })
}

/// Declines a script that becomes another program than the one that it comes with.
fn becomes(
    program: &str,
    stage: &StagePlan,
    around: &Surroundings<'_>,
    detector: &mut Detector<'_>,
    implementation: &Implementation,
) -> Accept<()> {
    let sets_path = match &stage.syntax.command {
        SyntaxCommand::Simple(simple) => {
            simple.assignments.iter().any(|assignment| assignment.name == "PATH")
        }
        _ => true,
    };
    let found = (!sets_path).then(|| around.program_of(program.as_bytes())).flatten();
    let found = found.map(|found| detector.identify(Path::new(OsStr::from_bytes(&found.path))));
    if found.as_ref() == Some(implementation) {
        return Ok(());
    }
    Declined::because(format!("it becomes another {program} than the one that it comes with"))
}

/// Declines an environment that changes what the tool does.
fn check_environment(tool: &Tool, environment: &[CString]) -> Accept<()> {
    let is_set = |name: &str| {
        let value =
            |pair: &CString| pair.as_bytes().strip_prefix(name.as_bytes()).map(|rest| rest.starts_with(b"="));
        environment.iter().any(|pair| value(pair) == Some(true))
    };
    let variable = |circumstance: &Unsuitable| match circumstance {
        Unsuitable::Variable(name) => Some(*name),
        _ => None,
    };
    if let Some(name) = tool.unsuitable.iter().filter_map(variable).find(|name| is_set(name)) {
        return Declined::because(format!("{name} in the environment"));
    }
    let names_locale = |pair: &&CString| {
        let pair = String::from_utf8_lossy(pair.as_bytes());
        let (name, value) = pair.split_once('=').unwrap_or_default();
        let is_locale = name == "LANG" || name == "LANGUAGE" || name.starts_with("LC_");
        is_locale && !matches!(value, "" | "C" | "POSIX" | "C.UTF-8")
    };
    match environment.iter().find(names_locale).filter(|_| tool.is_unsuitable_for(Unsuitable::NamedLocale)) {
        Some(pair) => Declined::because(format!("{} in the environment", pair.to_string_lossy())),
        None => Ok(()),
    }
}

/// Accepts only plain file redirections of standard input and standard output, and messages that are dropped (`2>/dev/null`).
fn check_redirects(stage: &StagePlan) -> Result<(), Declined> {
    if stage.syntax.pipes_stderr {
        return Declined::because("its standard error goes into the pipe");
    }
    for redirect in &stage.syntax.redirects {
        let plain = match redirect.kind {
            RedirectKind::Read(_) => redirect.fd.is_none_or(|fd| fd == 0),
            RedirectKind::Write(_) | RedirectKind::Append(_) | RedirectKind::Clobber(_) => {
                redirect.fd.is_none_or(|fd| fd == 1) || redirect.drops_messages()
            }
            _ => false,
        };
        if !plain {
            return Declined::because("a redirection that only the real command can have");
        }
    }
    if stage.syntax.redirects.iter().filter(|redirect| !redirect.drops_messages()).count() > 2 {
        return Declined::because("several redirections");
    }
    Ok(())
}
