//! `pelton run --check`: runs the text, then lets the shell run it too, and compares.
//!
//! ```text
//!   pelton run TEXT ──► the user, and a copy in a temporary file
//!   bash -c TEXT    ──► compared with the copy as it comes
//! ```
//!
//! The first run is a separate process, so that it does exactly what it does without `--check`. Temporary
//! files have no name: nothing is left however this process ends. The files that the text leaves in the working directory are
//! compared too.

mod child;
mod compare;
mod input;

use crate::args::RunArgs;
use crate::ending::{self, Ending};
use crate::failure::Failure;
use crate::files_left::{self, FilesLeft, Left};
use crate::scripts;
use crate::source::Source;
use crate::terminal;
pub use compare::{Comparer, same_messages};
use compare::{Difference, Digest};
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use input::Input;
use pelton_run::{Environment, Plan, Request, Stays};
use pelton_sys::spawn::Exec;
use pelton_sys::wait::Ended;
use std::collections::HashSet;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

/// The exit status if what pelton printed is not what the shell printed.
const DIFFERENT: i32 = 3;
/// Said of a text whose output changes from run to run.
pub const CHANGES_BY_ITSELF: &str = "does not agree with itself either";
/// What its verdict begins with.
pub const DIFFERS: &str = "pelton: this is not what";
pub const AGREES: &str = "pelton: checked:";
/// Standard error is compared up to this size.
const MESSAGES: usize = 16 << 20;

/// What compares the recipes of make.
const MAKE_COMPARED: &str = "the two lines that `pelton explain make` shows, in a copy of the Makefile; then pelton compare 'make -B' \
                             'make -B -f COPY', which compares the files too";

/// Runs and checks the text.
pub fn run(args: &RunArgs, source: &Source, environment: &Environment) -> Result<Ending, Failure> {
    let called = source.called_script(environment);
    let Source::Text(request, plan) = called.as_ref().unwrap_or(source) else {
        return Err(Failure::new("a command given as words runs as it is: there is nothing to check")
            .with_help(if source.calls_make() {
                MAKE_COMPARED
            } else {
                "the pipeline in one word: pelton run --check 'sort FILE | uniq -c'"
            }));
    };
    refuse(args, request, plan, environment)?;
    let cannot = |error: io::Error| Failure::io("cannot check the pipeline", &error);
    let input = Input::hold().map_err(cannot)?;
    let shell =
        pelton_run::shell_call(request, environment).ok_or_else(|| Failure::new("a NUL byte in the text"))?;
    let words = match source {
        Source::Words(words) => words.clone(),
        Source::Text(..) => vec!["--".into(), request.text.clone()],
    };
    let mut check = Check { args, request, words, environment, input, files: FilesLeft::begin(), shell };
    let ours = check.first_run().map_err(cannot)?;
    check.judge(plan, &ours).map_err(cannot)
}

/// Fails for a text that is unsafe to run twice.
fn refuse(args: &RunArgs, request: &Request, plan: &Plan, environment: &Environment) -> Result<(), Failure> {
    if let Plan::Whole { reason } = plan
        && scripts::native_pipelines(request, plan, environment).native == 0
    {
        let message =
            format!("the shell runs all of this text, because of {reason}: there is nothing to check");
        return Err(Failure::new(message).with_help("the same without --check"));
    }
    if args.source.file.is_some() && request.script.is_none() {
        return Err(Failure::new("--check runs the script twice, and this one can be read only once")
            .with_help("a regular file: pelton run --check -f FILE"));
    }
    if args.run_twice {
        return Ok(());
    }
    let again = match args.source.file.iter().flatten().skip(1).any(|word| word == "--run-twice") {
        true => "--run-twice before the name of the script: options behind the name belong to the script",
        false => AGAIN,
    };
    if matches!(plan, Plan::Whole { .. }) {
        return Err(Failure::new("--check runs the text twice, and this script may do more than print")
            .with_help(again));
    }
    let hazards = pelton_run::rerun_hazards(plan, request, environment);
    let refusal = |message: &str, stages: &[Stays]| {
        let spans = stages.iter().map(|stage| (stage.span, stage.reason.clone())).collect();
        let origin = request.script.as_ref().map(|file| file.display().to_string());
        Failure::new(message).at_each(&request.text.to_string_lossy(), spans, origin)
    };
    if !hazards.writes.is_empty() {
        return Err(refusal("--check runs the text twice, and this one writes files", &hazards.writes)
            .with_help(again));
    }
    if !hazards.unknown.is_empty() {
        return Err(refusal(
            "--check runs the text twice, and this may do more than print",
            &hazards.unknown,
        )
        .with_help(again));
    }
    Ok(())
}

const AGAIN: &str = "--run-twice as well, if doing it twice does no harm; the files that it writes in this folder are compared too";

/// The outcome of pelton's run.
struct PeltonRun {
    printed: File,
    length: u64,
    /// The reader closed the output early.
    cut_off: bool,
    messages: Vec<u8>,
    left: Option<Left>,
    ended: Ended,
    took: Duration,
}

/// The outcome of another run, compared.
struct ShellRun {
    difference: Option<Difference>,
    digest: Digest,
    /// Its output was closed before its end, because it is far longer than pelton's: its status says nothing then.
    was_closed: bool,
    messages: Vec<u8>,
    left: Option<Left>,
    ended: Ended,
    took: Duration,
}

struct Check<'a> {
    args: &'a RunArgs,
    request: &'a Request,
    /// What names the text to pelton, unless it is `--file`.
    words: Vec<OsString>,
    environment: &'a Environment,
    input: Input,
    files: FilesLeft,
    shell: Exec,
}

impl Check<'_> {
    /// Runs pelton as without `--check`; passes its output on, and keeps a copy.
    fn first_run(&mut self) -> io::Result<PeltonRun> {
        let exec = self.pelton(&[])?;
        let mut printed = tempfile::tempfile()?;
        let (mut length, mut cut_off, mut messages) = (0, false, Vec::new());
        let mut stdout = io::stdout().lock();
        let mut out = |bytes: &[u8]| {
            printed.write_all(bytes)?;
            length += bytes.len() as u64;
            cut_off = stdout.write_all(bytes).and_then(|()| stdout.flush()).is_err();
            Ok(!cut_off)
        };
        let mut err = |bytes: &[u8]| {
            keep(&mut messages, bytes);
            terminal::say_bytes(bytes);
            Ok(true)
        };
        let begun = Instant::now();
        let ended = child::run(exec, &mut self.input, &mut out, &mut err)?;
        let took = begun.elapsed();
        Ok(PeltonRun { printed, length, cut_off, messages, left: self.files.since(), ended, took })
    }

    /// Runs `exec`, compares its outcome.
    fn beside(&mut self, exec: Exec, ours: &PeltonRun, progress: &mut Progress) -> io::Result<ShellRun> {
        let mut comparer = Comparer::new(&ours.printed, ours.length, ours.cut_off);
        let (mut was_closed, mut messages) = (false, Vec::new());
        let mut out = |bytes: &[u8]| {
            progress.add(bytes.len() as u64);
            let goes_on = comparer.take(bytes)?;
            was_closed |= !goes_on && !ours.cut_off;
            Ok(goes_on)
        };
        let mut err = |bytes: &[u8]| {
            keep(&mut messages, bytes);
            Ok(true)
        };
        let begun = Instant::now();
        let ended = child::run(exec, &mut self.input, &mut out, &mut err)?;
        let took = begun.elapsed();
        let (difference, digest) = comparer.finish()?;
        Ok(ShellRun { difference, digest, was_closed, messages, left: self.files.since(), ended, took })
    }

    fn shell_name(&self) -> String {
        self.request.shell.name.to_string_lossy().into_owned()
    }

    /// Runs the shell, and reports how it compares.
    fn judge(&mut self, plan: &Plan, ours: &PeltonRun) -> io::Result<Ending> {
        let shell = self.shell_name();
        let mut progress = Progress::new(ours.length);
        progress.start(format!("{shell} runs it too"));
        let theirs = self.beside(self.shell.clone(), ours, &mut progress)?;
        progress.stop();
        if same_result(ours, &theirs) {
            let times = times(ours.took, theirs.took, &shell);
            terminal::say(&format!("{AGREES} {}{times}\n", sameness(ours, &shell)));
            return Ok(ours.ended.into());
        }
        terminal::say(&differences(ours, &theirs, &shell));
        let why = self.explain(plan, ours, &theirs, &mut progress)?;
        progress.stop();
        terminal::say(&why);
        Ok(Ending::Status(DIFFERENT))
    }

    /// Finds the cause: the text, if two runs of the shell differ; else the rule or kernel without which the
    /// outcomes agree.
    fn explain(
        &mut self,
        plan: &Plan,
        ours: &PeltonRun,
        theirs: &ShellRun,
        progress: &mut Progress,
    ) -> io::Result<String> {
        let shell = self.shell_name();
        progress.start(format!("{shell} runs it once more"));
        let again = self.beside(self.shell.clone(), ours, progress)?;
        if !same_shell_result(&again, theirs) {
            let files = again.left.zip(theirs.left.as_ref()).map(|(again, theirs)| again.differing(theirs));
            let what = match files.filter(|files| !files.is_empty()) {
                Some(files) => format!("writes into {}", files_left::named(&files)),
                None => "prints".to_owned(),
            };
            return Ok(format!(
                "  {shell} {CHANGES_BY_ITSELF}: what this text {what} changes from run to run,\n  \
                 so it cannot be checked by comparing two runs\n"
            ));
        }
        progress.start("pelton runs it once more".to_owned());
        let exec = self.pelton(&[])?;
        if same_shell_result(&self.beside(exec, ours, progress)?, theirs) {
            return Ok(format!(
                "  run by pelton once more, it is the same as from {shell}: the first run found something else (files, say), or \
                 what pelton does is not steady; check it again\n"
            ));
        }
        if self.args.faithful {
            return Ok(format!("  nothing ran natively, so no rule or kernel is the cause; {REPORT}\n"));
        }
        let switches = self.args.switches.resolve().unwrap_or_default();
        let planned = pelton_run::explain(plan, self.request, self.environment, &switches, false);
        let mut names: Vec<String> = planned.iter().flat_map(|explained| explained.planned.fired()).collect();
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        for name in names {
            progress.start(format!("looking for the cause: without {name}"));
            let exec = self.pelton(&["--without".into(), name.clone().into()])?;
            if same_shell_result(&self.beside(exec, ours, progress)?, theirs) {
                return Ok(format!(
                    "  with --without {name} it is the same as from {shell}: use that, and {REPORT}\n"
                ));
            }
        }
        if self.args.switches.any() {
            return Ok(format!("  no single rule or kernel is the cause; {REPORT}\n"));
        }
        progress.start("looking for the cause: nothing native".to_owned());
        let exec = self.pelton(&["--faithful".into()])?;
        Ok(match same_shell_result(&self.beside(exec, ours, progress)?, theirs) {
            true => format!("  with --faithful it is the same as from {shell}: use that, and {REPORT}\n"),
            false => format!("  it differs with --faithful too; {REPORT}\n"),
        })
    }

    /// Returns a call of pelton for the same text, with `more` options.
    fn pelton(&self, more: &[OsString]) -> io::Result<Exec> {
        let path = std::env::current_exe()?;
        let mut words: Vec<OsString> = vec!["pelton".into(), "run".into()];
        words.extend(self.args.faithful.then(|| "--faithful".into()));
        for (option, names) in
            [("--without", &self.args.switches.without), ("--only", &self.args.switches.only)]
        {
            words.extend(names.iter().flat_map(|name| [option.into(), name.into()]));
        }
        words.extend(more.iter().cloned());
        words.extend(self.args.source.shell.iter().flat_map(|shell| ["--shell".into(), shell.clone()]));
        match &self.args.source.file {
            Some(script) => words.extend(std::iter::once("--file".into()).chain(script.iter().cloned())),
            None => words.extend(self.words.iter().cloned()),
        }
        let c = |bytes: &[u8]| CString::new(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
        let argv = words.iter().map(|word| c(word.as_bytes())).collect::<io::Result<_>>()?;
        // The environment given to this process, which the shell gets too.
        Ok(Exec { path: c(path.as_os_str().as_bytes())?, argv, ..self.shell.clone() })
    }
}

const REPORT: &str = "please report it with the lines above and `pelton explain`'s output";

fn keep(messages: &mut Vec<u8>, bytes: &[u8]) {
    let room = MESSAGES.saturating_sub(messages.len()).min(bytes.len());
    messages.extend_from_slice(&bytes[..room]);
}

/// Whether the other run agrees with pelton's.
fn same_result(ours: &PeltonRun, theirs: &ShellRun) -> bool {
    theirs.difference.is_none()
        && same_messages(&ours.messages, &theirs.messages)
        && ours.ended.status() == theirs.ended.status()
        && same_files(ours.left.as_ref(), theirs.left.as_ref())
}

/// Whether two runs left the same files, as far as that can be told.
fn same_files(a: Option<&Left>, b: Option<&Left>) -> bool {
    a.zip(b).is_none_or(|(a, b)| a == b)
}

/// Whether two other runs agree.
fn same_shell_result(a: &ShellRun, b: &ShellRun) -> bool {
    a.digest == b.digest
        && a.ended.status() == b.ended.status()
        && same_messages(&a.messages, &b.messages)
        && same_files(a.left.as_ref(), b.left.as_ref())
}

fn sameness(ours: &PeltonRun, shell: &str) -> String {
    let bytes = match ours.length {
        0 => "nothing".to_owned(),
        1 => "the same byte".to_owned(),
        length => format!("the same {length} bytes"),
    };
    let said = if ours.messages.is_empty() { "" } else { ", says the same on standard error" };
    let files = match ours.left.as_ref().map(Left::files) {
        None => "; there are too many files here to compare those that it writes".to_owned(),
        Some(files) if files.is_empty() => String::new(),
        Some(files) if files.len() == 1 => {
            format!("; it writes the same file, {}", files_left::named(&files))
        }
        Some(files) => format!("; it writes the same {} files, {}", files.len(), files_left::named(&files)),
    };
    match ours.cut_off {
        true => format!("{shell} prints {bytes}, after which nobody read on"),
        false => format!(
            "{shell} prints {bytes}{said} and ends with the same {}{files}",
            ending::status_in_words(ours.ended.status())
        ),
    }
}

/// Shorter runs are mostly the start of programs.
const LONG: Duration = Duration::from_millis(500);

/// Returns what each run took, if one of them was long.
fn times(ours: Duration, theirs: Duration, shell: &str) -> String {
    if ours.max(theirs) < LONG {
        return String::new();
    }
    let seconds = |took: Duration| pelton_report::units::seconds(took.as_nanos() as u64);
    format!("; pelton took {}, {shell} {}, once each", seconds(ours), seconds(theirs))
}

/// So many files that differ are told.
const FILES: usize = 10;

/// Describes what differs.
fn differences(ours: &PeltonRun, theirs: &ShellRun, shell: &str) -> String {
    let mut text = format!("{DIFFERS} {shell} prints\n");
    if let Some(found) = &theirs.difference {
        text +=
            &format!("  standard output differs first at byte {}, in line {}:\n", found.at + 1, found.line);
        text += &found.lines("pelton", shell);
    }
    if !same_messages(&ours.messages, &theirs.messages) {
        let said = String::from_utf8_lossy(&theirs.messages);
        text += &format!("  standard error differs; {shell} says:\n");
        text += if said.is_empty() { "    (nothing)\n" } else { "" };
        text.extend(said.lines().take(10).map(|line| format!("    {}\n", line.escape_debug())));
    }
    if let (Some(ours), Some(theirs)) = (&ours.left, &theirs.left) {
        let paths = ours.differing(theirs);
        for path in paths.iter().take(FILES) {
            text += &format!("  a file differs: {}\n", ours.difference(theirs, path, "pelton", shell));
        }
    }
    if theirs.was_closed {
        let bytes = theirs.digest.length;
        text += &format!("  {shell} prints far more: only its first {bytes} bytes were compared\n");
    } else if ours.ended.status() != theirs.ended.status() {
        let (ours, theirs) = (ours.ended.status(), theirs.ended.status());
        text += &format!("  the exit status differs: {ours} from pelton, {theirs} from {shell}\n");
    }
    text
}

/// A progress line on the terminal, for other runs that take long.
struct Progress {
    bar: Option<ProgressBar>,
    what: String,
    of: u64,
    bytes: u64,
    since: Instant,
}

/// A shorter run shows no progress.
const PATIENCE: Duration = Duration::from_secs(1);

impl Progress {
    fn new(of: u64) -> Self {
        Progress { bar: None, what: String::new(), of, bytes: 0, since: Instant::now() }
    }

    /// Announces a run. A thread redraws the line: a pipeline may be silent for long.
    fn start(&mut self, what: String) {
        self.stop();
        (self.what, self.bytes, self.since) = (what, 0, Instant::now());
        if !terminal::stderr_is_terminal() {
            return;
        }
        let Ok(style) = ProgressStyle::with_template("pelton: checking: {msg} ({elapsed})") else { return };
        let bar = ProgressBar::no_length().with_style(style).with_message(self.what.clone());
        let shown = bar.clone();
        std::thread::spawn(move || {
            std::thread::sleep(PATIENCE);
            if !shown.is_finished() {
                shown.enable_steady_tick(PATIENCE);
            }
        });
        self.bar = Some(bar);
    }

    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        if let Some(bar) = self.bar.as_ref().filter(|_| self.since.elapsed() > PATIENCE) {
            let (done, of) = (HumanBytes(self.bytes), HumanBytes(self.of));
            bar.set_message(format!("{}, {done} of {of} so far", self.what));
        }
    }

    fn stop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
