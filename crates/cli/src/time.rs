//! `pelton time`: runs a text unchanged, and shows what each stage cost.

use crate::args::TimeArgs;
use crate::arrivals::Stamps;
use crate::ending::{self, Ending};
use crate::failure::Failure;
use crate::gain;
use crate::history;
use crate::inside;
use crate::lines::Scripted;
use crate::misunderstood;
use crate::offer;
use crate::output::{self, OutputTarget};
use crate::shared_options::ReportArgs;
use crate::source::{self, Source};
use crate::syscalls;
use crate::terminal::When;
use crate::terminal::{self, Look};
use crate::watch;
use crate::what_if;
use pelton_record::inside::Inner;
use pelton_record::{Run, Verdict};
use pelton_report::Format;
use pelton_run::{Environment, Execution, Launches, Observing, Options, Profiled};
use pelton_sys::{clock, signals, stdio};
use std::os::fd::AsFd;

/// Runs `pelton time`.
pub fn time(args: &TimeArgs, color: When) -> Result<Ending, Failure> {
    if args.schema {
        output::print(&format!("{:#}\n", pelton_report::schema()), "the schema")?;
        return Ok(Ending::Status(0));
    }
    if let Some(name) = &args.history
        && args.source.words.is_empty()
        && args.source.file.is_none()
    {
        return history::show(name, args, color);
    }
    history::check(args)?;
    let environment = Environment::inherit();
    let source = Source::resolve(&args.source, &environment)?;
    if args.exact {
        syscalls::check_exact()?;
    }
    if let Some(Profiled::Stage(stage)) = args.inside {
        check_stage(stage, &source)?;
    }
    let (mut source, stamps) = if args.arrivals { stamped(source, &environment)? } else { (source, None) };
    let place = OutputTarget::prepare(args.report.output.as_deref())?;
    let pages = [(&args.html, Format::Html), (&args.trace, Format::Trace)]
        .into_iter()
        .filter_map(|(path, format)| Some((path.as_deref()?, format)))
        .map(|(path, format)| Ok((OutputTarget::prepare(Some(path))?, format)))
        .collect::<Result<Vec<_>, Failure>>()?;
    // With -o, standard error belongs to the pipeline.
    let may_speak = args.report.output.is_none() || terminal::stderr_is_terminal();
    if let Source::Text(request, plan) = &source
        && may_speak
    {
        source::warn_of_missing(request, plan, &environment, Look::of_stderr(color));
    }
    let (mut gains, mut beside): (bool, Option<misunderstood::Beside>) = (false, None);
    let mut measured = if args.runs == 1 && args.warmup == 0 {
        let observing = match () {
            () if args.threads => Observing::Threads,
            () if args.syscalls => Observing::Syscalls,
            () if args.exact => Observing::Exact,
            () if args.html.is_some() || args.trace.is_some() || args.timeline => Observing::Timeline,
            () if args.what_if.is_some() => Observing::Timeline,
            () if args.outside => Observing::Yes,
            () => Observing::Inside,
        };
        let live = args.live.then_some(watch::beside as pelton_run::ShowLive);
        let scripted =
            observing.follows().then(|| Scripted::of(&mut source, args.source.file.is_some(), &environment));
        let scripted = scripted.flatten();
        let lines = scripted.as_ref().and_then(|scripted| scripted.place);
        let options = Options { observing, live, lines, profiled: args.inside, ..Options::FAITHFULLY };
        let mut measured = measure(&source, &environment, options)?;
        if let Some(scripted) = scripted {
            scripted.add_to(&mut measured.run, measured.launches.as_ref());
        }
        if args.syscalls || args.exact {
            let note = syscalls::slow_down(&measured.run, &environment, observing);
            measured.run.notes.push(note);
        }
        inside::add_start_cost(&mut measured.run, &environment);
        gains = gain::advise(&mut measured.run, &source, &environment);
        if let Some(how) = args.what_if {
            what_if::add(&mut measured.run, &source, &environment, how)?;
        }
        if let Source::Words(words) = &source {
            beside = misunderstood::readers_beside(words);
        }
        if let Some(beside) = &beside {
            // What it waited for are those that were not timed.
            measured.run.verdict = Verdict {
                headline: beside.headline.clone(),
                bottleneck: None,
                neighbours: vec![],
                advice: None,
                ..measured.run.verdict
            };
            gains = false;
        }

        measured.run.notes.extend(misunderstood::hidden_failures(&measured.run));
        if let Some(note) = early_end(&measured.run, &source) {
            measured.run.notes.insert(0, note);
        }
        if let Some(stamps) = stamps {
            stamps.add_to(&mut measured.run);
        }
        measured
    } else {
        measure_several(args, &source, &environment)?
    };
    // If it cannot be kept, the report is shown all the same.
    let is_whole = !measured.interrupted && !measured.is_cut_short;
    let kept = if is_whole { history::add(&mut measured.run, args) } else { Ok(()) };
    let to_stderr = matches!(place, OutputTarget::Stderr);
    let on_screen = to_stderr && args.report.format() == Format::Table;
    let mut cure = beside.and_then(|beside| beside.cure);
    if !on_screen && cure.take().is_some() {
        measured.run.notes.push("to time all of it, give pelton the whole line in quotes".to_owned());
    }
    // JSON has it, and is not to be followed by anything.
    let has_budgets = on_screen || to_stderr && args.report.format() == Format::Json;
    show(place, &args.report, color, &measured.run)?;
    let style = Look::of_file(When::Never).style(args.report.all);
    for (page, format) in pages {
        page.write(&pelton_report::render(&measured.run, format, &style))?;
    }
    // It is to be typed: a table would break its lines.
    if let Some(said) = cure {
        terminal::say(&format!("pelton: {said}\n"));
    }
    if let Some(said) = history::over_budget(&measured.run).filter(|_| !has_budgets) {
        terminal::say(&said);
    }
    match kept {
        Err(failure) if measured.run.exit_status == 0 && measured.died_by.is_none() => return Err(failure),
        // The pipeline's own status says more.
        Err(failure) => terminal::say(&failure.render(Look::of_stderr(color))),
        Ok(()) => {}
    }
    if gains && on_screen && !measured.interrupted {
        let ending = offer::run_natively(&source, &environment, &args.report, color)?;
        return Ok(ending.unwrap_or_else(|| measured.ending()));
    }
    Ok(measured.ending())
}

/// Returns a note on a script or program that failed: under `set -e` it did only a part of its work, and the shell says nothing.
fn early_end(run: &Run, source: &Source) -> Option<String> {
    let runs_others = source.words().is_some() || source.is_script();
    (runs_others && run.exit_status != 0).then(|| {
        let status = ending::status_in_words(run.exit_status);
        match ended_it(run) {
            Some(stage) => format!(
                "it ended with {status}, as {stage} did in the last pipeline that it ran: what it was to do then has no figures here"
            ),
            None => format!("it ended with {status}: if that was early, what it was to do then has no figures here"),
        }
    })
}

/// Returns the stage of the last pipeline of a program that a signal ended, if that is the program's status too: `stage 4 (sort) of
/// pipeline 3, line 12`.
fn ended_it(run: &Run) -> Option<String> {
    if run.exit_status <= 128 {
        return None;
    }
    let inside =
        run.pipelines.iter().flat_map(|pipeline| &pipeline.stages).find_map(|stage| stage.inside.as_ref())?;
    let end_ns = |inner: &Inner| inner.pipeline.start_ns + inner.pipeline.wall_ns;
    let (index, last) = inside.outermost().max_by_key(|(_, inner)| end_ns(inner))?;
    let stages = last.pipeline.stages.iter();
    let at = stages.rev().find(|stage| stage.end.status() == run.exit_status)?;
    let stage = last.pipeline.stages.iter().position(|stage| std::ptr::eq(stage, at))?;
    let line = last.line.map_or(String::new(), |line| format!(", line {line}"));
    (last.times == 1).then(|| format!("stage {} ({}) of pipeline {}{line}", stage + 1, at.name, index + 1))
}

/// Checks that there is a stage at this place, from 0.
fn check_stage(stage: usize, source: &Source) -> Result<(), Failure> {
    let count = match source {
        Source::Text(_, plan) => plan.most_stages(),
        Source::Words(_) => 1,
    };
    if stage < count {
        return Ok(());
    }
    let has = if count == 1 { "it has one stage".to_owned() } else { format!("it has {count} stages") };
    let failure = Failure::new(format!("cannot look inside stage {}: {has}", stage + 1));
    Err(failure.with_help("pelton time --inside all shows each stage"))
}

/// Inserts the stages that record when lines pass.
fn stamped(source: Source, environment: &Environment) -> Result<(Source, Option<Stamps>), Failure> {
    let Source::Text(request, plan) = source else {
        let failure =
            Failure::new("--arrivals notes the lines of one pipeline: this is a command given as words");
        return Err(failure.with_help("pelton time --arrivals 'producer | sort | head'"));
    };
    let (stamps, request) = Stamps::insert(&request, &plan)?;
    let plan = Stamps::plan(&request, environment)?;
    Ok((Source::Text(Box::new(request), plan), Some(stamps)))
}

/// A measured run.
pub struct Measured {
    /// The run's record.
    pub run: Run,
    /// Interrupted by the user, or asked to end.
    pub interrupted: bool,
    /// Of several runs, the user has interrupted some.
    pub is_cut_short: bool,
    died_by: Option<i32>,
    /// For how long all stages but one were stopped.
    pub held_ns: u64,
    /// What each line of a script started, if requested.
    launches: Option<Launches>,
}

impl Measured {
    /// Returns how pelton ends: as the pipeline, unless it succeeded and exceeded a budget.
    pub fn ending(&self) -> Ending {
        let is_exceeded = self.run.budgets.iter().any(|budget| budget.is_exceeded);
        match self.died_by {
            Some(signal) => Ending::Signal(signal),
            None if is_exceeded && self.run.exit_status == 0 => Ending::Status(history::OVER_BUDGET),
            None => Ending::Status(self.run.exit_status),
        }
    }
}

/// Runs and measures the source once.
pub fn measure(source: &Source, environment: &Environment, options: Options) -> Result<Measured, Failure> {
    let started_unix_ms = clock::unix_ms();
    let execution = match source {
        Source::Words(words) => pelton_run::execute_command(words, environment, &options)
            .map_err(|error| source::no_such_command(words, &error))?,
        Source::Text(request, plan) => {
            pelton_run::execute(plan, request, environment, &options, &mut terminal::say)
                .map_err(|error| Failure::io("cannot run the pipeline", &error))?
        }
    };
    let mut run = assemble(source, &execution, started_unix_ms, environment);
    if options.observing != Observing::Timeline {
        // Only the verdict needed it.
        run.pipelines
            .iter_mut()
            .flat_map(|pipeline| &mut pipeline.stages)
            .for_each(|stage| stage.timeline = None);
    }
    let Execution { died_by, launches, held_ns, .. } = execution;
    // Whatever became of the child that got the signal: this process is not to start another.
    let interrupted = execution.interrupted || signals::asked_to_end().is_some();
    Ok(Measured { run, interrupted, is_cut_short: false, died_by, held_ns, launches })
}

fn assemble(source: &Source, execution: &Execution, started_unix_ms: u64, environment: &Environment) -> Run {
    let (text, shell) = match source {
        Source::Text(request, _) => {
            (pelton_run::shown_text(request), request.shell.name.to_string_lossy().into_owned())
        }
        Source::Words(words) => {
            let text = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
            (text, "none".into())
        }
    };
    pelton_run::assemble(execution, &text, &shell, started_unix_ms, environment)
}

/// Measures several runs on the same input, and summarises them.
fn measure_several(args: &TimeArgs, source: &Source, environment: &Environment) -> Result<Measured, Failure> {
    let input = Input::hold()?;
    let drain = if args.show_output { None } else { Some(Drain::start()?) };
    let total = args.warmup + args.runs;
    let progress = progress_bar(u64::from(total), args.show_output);
    let mut runs = Vec::with_capacity(args.runs as usize);
    let mut died_by = None;
    let mut interrupted = false;
    for i in 0..total {
        input.rewind()?;
        let measured = measure(source, environment, Options::FAITHFULLY)?;
        progress.inc(1);
        died_by = measured.died_by;
        if measured.interrupted {
            interrupted = true;
            // A run that was cut short is not comparable with whole ones.
            if runs.is_empty() {
                runs.push(measured.run);
            }
            break;
        }
        if i >= args.warmup {
            runs.push(measured.run);
        }
    }
    progress.finish_and_clear();
    drop(drain);
    let measured = runs.len();
    let run = pelton_run::summarise(runs, args.warmup.min(total));
    let mut run = run.ok_or_else(|| Failure::new("nothing was measured"))?;
    run.notes.extend(input.note());
    if source.words().is_some() || source.is_script() {
        run.notes.push("what a command or script starts is shown of a single run: without --runs".to_owned());
    }
    if interrupted {
        run.notes
            .push(format!("interrupted: {measured} of {} runs were measured, or part of one", args.runs));
    }
    Ok(Measured { run, interrupted: false, is_cut_short: interrupted, died_by, held_ns: 0, launches: None })
}

/// Hidden if the output is on the same screen.
fn progress_bar(total: u64, output_shows: bool) -> indicatif::ProgressBar {
    if output_shows { indicatif::ProgressBar::hidden() } else { terminal::progress(total, "run") }
}

/// Standard input that every run can reread.
pub enum Input {
    /// A file, from this position.
    File(u64),
    /// A terminal, as it is.
    Terminal,
    /// Nothing: a pipe can be read only once, and may never end or belong to another program.
    Nothing,
}

impl Input {
    /// Prepares standard input; replaces it if it cannot be read repeatedly.
    ///
    /// # Errors
    /// If it cannot be replaced.
    pub fn hold() -> Result<Self, Failure> {
        use std::io::IsTerminal;
        let cannot =
            |error: std::io::Error| Failure::io("cannot keep standard input for several runs", &error);
        if let Some(position) = stdio::stdin_position() {
            return Ok(Input::File(position));
        }
        if std::io::stdin().is_terminal() {
            return Ok(Input::Terminal);
        }
        let nothing = std::fs::File::open("/dev/null").map_err(cannot)?;
        stdio::set_stdin(nothing.as_fd()).map_err(cannot)?;
        Ok(Input::Nothing)
    }

    /// Rewinds for a run.
    ///
    /// # Errors
    /// If a file cannot be rewound.
    pub fn rewind(&self) -> Result<(), Failure> {
        match self {
            Input::File(position) => stdio::rewind_stdin(*position)
                .map_err(|error| Failure::io("cannot rewind standard input", &error)),
            Input::Terminal | Input::Nothing => Ok(()),
        }
    }

    /// Returns a note for the reader of the report.
    pub fn note(&self) -> Option<String> {
        let text = "standard input was a pipe, which cannot be read for every run: all found it empty; a file (< FILE) can";
        matches!(self, Input::Nothing).then(|| text.to_string())
    }
}

/// Reads and drops what the runs print. Not /dev/null: some programs do less work then (`grep`).
pub struct Drain {
    before: std::os::fd::OwnedFd,
}

impl Drain {
    /// Redirects output until dropped.
    pub fn start() -> Result<Self, Failure> {
        let cannot = |error: std::io::Error| Failure::io("cannot redirect standard output", &error);
        let pipe = pelton_sys::pipe::pipe().map_err(cannot)?;
        let before = stdio::set_stdout(pipe.write.as_fd()).map_err(cannot)?;
        // Not joined: a process that the pipeline left running may keep the other end open.
        std::thread::spawn(move || stdio::drain(pipe.read.as_fd()));
        Ok(Drain { before })
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        // Fails only if the descriptor is gone, and then there is no output to restore.
        let _ = stdio::set_stdout(self.before.as_fd());
    }
}

/// Writes the record to `place` in the format of `args`.
pub fn show(place: OutputTarget, args: &ReportArgs, color: When, run: &Run) -> Result<(), Failure> {
    let look = match place {
        OutputTarget::Stderr => Look::of_stderr(color),
        OutputTarget::File(_) | OutputTarget::Device(_) | OutputTarget::Stdout => Look::of_file(color),
    };
    let text = pelton_report::render(run, args.format(), &look.style(args.all));
    place.write(&text).inspect_err(|_| {
        let style = Look::of_stderr(color).style(args.all);
        terminal::say(&pelton_report::render(run, Format::Table, &style));
    })
}
