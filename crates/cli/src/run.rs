//! `pelton run`: runs a text as the shell would.

use crate::args::{RunArgs, ShArgs};
use crate::ending::Ending;
use crate::failure::{Failure, plain};
use crate::output::OutputTarget;
use crate::shared_options::{PassArgs, ReportArgs, SwitchArgs};
use crate::source::{self, Source};
use crate::terminal::When;
use crate::terminal::{self, Look};
use crate::workers::OnArgs;
use crate::{check, misunderstood, progress, scripts, stateless, strict, time, workers};
use pelton_run::script::{self, may_hold_pipelines};
use pelton_run::{Environment, Execution, Observing, Options, Plan, Request};
use std::ffi::OsString;

/// Runs `pelton run`.
pub fn run(args: &RunArgs, color: When) -> Result<Ending, Failure> {
    if let Some(bytes) = args.block_bytes {
        pelton_run::set_block_bytes(bytes as usize);
    }
    if let Some(bytes) = args.part_bytes {
        pelton_run::set_part_bytes(bytes as usize);
    }
    args.passes.apply()?;
    let environment = Environment::inherit();
    if !args.faithful {
        stateless::declare(&args.switches.stateless)?;
    }
    let source = Source::resolve(&args.source, &environment)?;
    run_source(args, source, environment, color)
}

/// Runs what the arguments name.
fn run_source(
    args: &RunArgs,
    source: Source,
    environment: Environment,
    color: When,
) -> Result<Ending, Failure> {
    if let (false, Some(option)) = (args.stats, args.report.given()) {
        let message = format!("`{option}` says how figures are shown, and only --stats has any");
        return Err(Failure::new(message).with_help(format!("pelton run --stats {option} …")));
    }
    if let (Some(_), Some(option)) = (&args.on.on, args.report.given()) {
        return Err(Failure::new(format!("`{option}` has no meaning for the table of workers"))
            .with_help("--stats without it, or without --on"));
    }
    if let Some(target) = &args.on.on
        && let Some(ending) = workers::run(target, &args.on, args.stats, &source, &environment)?
    {
        return Ok(ending);
    }
    if args.strict {
        strict::check(&source, &args.switches.resolve()?, &environment)?;
    }
    if args.check {
        return check::run(args, &source, &environment);
    }
    let called = (!args.faithful).then(|| source.called_script(&environment)).flatten();
    let source = match called {
        Some(Source::Text(request, plan)) if !may_hold_pipelines(&plan) => Source::Text(request, plan),
        // Its shell runs it with calls of pelton; without any, it is called as it is.
        Some(Source::Text(request, plan)) if !args.stats && !args.progress => {
            match rewritten_by_its_shell(&request, &plan, &environment, args, color) {
                Some(failure) => return Err(failure),
                None => source,
            }
        }
        _ => source,
    };
    if args.stats {
        return stats(args, &source, &environment, color);
    }
    match source {
        Source::Words(words) => {
            if terminal::stderr_is_terminal() {
                let of_make = words
                    .first()
                    .is_some_and(|name| pelton_run::is_make(name))
                    .then_some(misunderstood::ON_MAKE);
                let notes = misunderstood::rest_beside(&words).into_iter().chain(of_make.map(str::to_owned));
                notes.for_each(|note| terminal::say(&format!("pelton: {note}\n")));
            }
            Err(replaced_by(&words, &environment))
        }
        Source::Text(request, plan) => {
            if !args.faithful
                && !args.progress
                && let Some(failure) = rewritten_by_its_shell(&request, &plan, &environment, args, color)
            {
                return Err(failure);
            }
            warn_of_missing(&request, &plan, &environment, color);
            let progress: Option<pelton_run::ShowProgress> = args.progress.then_some(progress::show);
            let options =
                Options { observing: Observing::No, native: native(args)?, progress, ..Options::FAITHFULLY };
            let execution = executed(&request, &plan, &environment, &options)?;
            match execution.stage_signal.filter(|_| args.die_with_stages) {
                Some(signal) => Ok(Ending::Signal(signal)),
                None => Ok(ending(&execution)),
            }
        }
    }
}

/// Replaces this process by a command. Returns only on failure.
fn replaced_by(words: &[OsString], environment: &Environment) -> Failure {
    let error = match pelton_run::command(words, environment) {
        Ok(exec) => pelton_sys::spawn::replace(&exec),
        Err(error) => error,
    };
    source::no_such_command(words, &error)
}

/// Replaces this process by the shell that runs the text with calls of pelton, if it has any. Returns only on failure, or
/// without calls.
fn rewritten_by_its_shell(
    request: &Request,
    plan: &Plan,
    environment: &Environment,
    args: &RunArgs,
    color: When,
) -> Option<Failure> {
    let rewritten = scripts::rewritten(request, plan, environment, &args.switches, &args.passes)?.ok()?;
    if !rewritten.has_calls() {
        return None;
    }
    warn_of_missing(request, plan, environment, color);
    script::start(&rewritten, request, environment).map(|error| cannot_start(request, &error))
}

/// Warns on a terminal of commands that there are not.
fn warn_of_missing(request: &Request, plan: &Plan, environment: &Environment, color: When) {
    if terminal::stderr_is_terminal() {
        source::warn_of_missing(request, plan, environment, Look::of_stderr(color));
    }
}

/// Runs a script, or a text, as a shell that is called with these words does. What only the shell understands, and what is
/// wrong with its syntax, is left to it.
pub fn shell(args: ShArgs, color: When) -> Result<Ending, Failure> {
    PassArgs::default().apply()?;
    let environment = Environment::inherit();
    let source = source::of_shell_call(args.shell.clone(), &args.words);
    let resolved = source.as_ref().and_then(|source| Source::resolve(source, &environment).ok());
    let (Some(source), Some(resolved)) = (source, resolved) else {
        let shell = args.shell.unwrap_or_else(|| "bash".into());
        let words: Vec<OsString> = [shell].into_iter().chain(args.words).collect();
        return Err(replaced_by(&words, &environment));
    };
    let args = RunArgs {
        source,
        faithful: false,
        stats: false,
        progress: false,
        strict: false,
        check: false,
        run_twice: false,
        switches: SwitchArgs::default(),
        passes: PassArgs::default(),
        block_bytes: None,
        die_with_stages: false,
        part_bytes: None,
        on: OnArgs::default(),
        report: ReportArgs::default(),
    };
    run_source(&args, resolved, environment, color)
}

/// Runs a planned text.
pub fn text(
    request: &Request,
    plan: &Plan,
    environment: &Environment,
    options: &Options,
) -> Result<Ending, Failure> {
    Ok(ending(&executed(request, plan, environment, options)?))
}

fn executed(
    request: &Request,
    plan: &Plan,
    environment: &Environment,
    options: &Options,
) -> Result<Execution, Failure> {
    if options.progress.is_none()
        && let Some(exec) = pelton_run::replacement(plan, request, environment, options)
    {
        let error = pelton_sys::spawn::replace(&exec);
        // A script without a `#!` line, say: the code below hands it to the shell.
        if matches!(plan, Plan::Whole { .. }) {
            return Err(cannot_start(request, &error));
        }
    }
    pelton_run::execute(plan, request, environment, options, &mut terminal::say)
        .map_err(|error| Failure::io("cannot run the pipeline", &error))
}

fn cannot_start(request: &Request, error: &std::io::Error) -> Failure {
    let shell = request.shell.path.display();
    Failure::new(format!("cannot start `{shell}`: {}", plain(error))).with_status(126)
}

/// Measures a text, and shows its cost.
fn stats(args: &RunArgs, source: &Source, environment: &Environment, color: When) -> Result<Ending, Failure> {
    let native = native(args)?;
    let place = OutputTarget::prepare(args.report.output.as_deref())?;
    if let Source::Text(request, plan) = source {
        warn_of_missing(request, plan, environment, color);
    }
    let mut measured = time::measure(source, environment, Options { native, ..Options::FAITHFULLY })?;
    let called = source.called_script(environment);
    if let Source::Text(request, plan) = called.as_ref().unwrap_or(source)
        && !args.faithful
        && (called.is_some() || matches!(plan, Plan::Whole { .. }))
        && let Some(Ok(rewritten)) =
            scripts::rewritten(request, plan, environment, &args.switches, &args.passes)
        && rewritten.has_calls()
    {
        measured.run.notes.push(
            "--stats shows it as the shell runs it; without it, the pipelines that `pelton explain` lists run natively"
                .to_owned(),
        );
    }
    time::show(place, &args.report, color, &measured.run)?;
    Ok(measured.ending())
}

fn ending(execution: &Execution) -> Ending {
    match execution.died_by {
        Some(signal) => Ending::Signal(signal),
        None => Ending::Status(execution.status),
    }
}

/// The rules and kernels that are on.
fn native(args: &RunArgs) -> Result<Option<pelton_run::Switches>, Failure> {
    if args.faithful {
        return Ok(None);
    }
    args.switches.resolve().map(Some)
}
