//! `pelton compare`: runs two texts alternately, and judges the change.

mod baseline;
mod hidden_output;
mod records;
mod scale;

use crate::args::CompareArgs;
use crate::check::{Comparer, same_messages};
use crate::ending::{self, Ending};
use crate::failure::Failure;
use crate::files_left::{FilesLeft, Left};
use crate::output::{self, OutputTarget};
use crate::shared_options::SourceArgs;
use crate::source::{self, Source};
use crate::terminal::When;
use crate::terminal::{self, Look};
use crate::time::{Input, Measured, measure};
use hidden_output::{Kept, with_hidden_output};
use pelton_record::{Comparison, JudgementKind, Outputs, Run};
use pelton_run::{Compared, Environment, Observing, Options};
use pelton_sys::{signals, stdio};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{io, iter};

/// Bytes of kept output read at a time.
const CHUNK: usize = 128 * 1024;

/// Compares two texts.
pub fn compare(args: &CompareArgs, color: When) -> Result<Ending, Failure> {
    let environment = Environment::inherit();
    if let Some(wrong) = args.threshold.filter(|threshold| !(0.0..100.0).contains(threshold)) {
        return Err(Failure::new(format!("--threshold {wrong} is not a share in per cent"))
            .with_help("a number from 0 to 99, such as --threshold 5"));
    }
    if let Some(file) = &args.baseline {
        return baseline::run(args, file, &environment, color);
    }
    if args.input_scale {
        return scale::run(args, &environment, color);
    }
    let before = match &args.file {
        Some(script) => source::script_by_its_shell(script, args.shell.as_deref())?,
        None if args.before.as_deref() == Some(OsStr::new("-")) && args.after.is_none() => text_of_stdin()?,
        None => args.before.clone().unwrap_or_default(),
    };
    if records::are_records(&before, args.after.as_deref())? {
        return records::run(args, [&before, args.after.as_deref().unwrap_or_default()], color);
    }
    let after = match (&args.after, &args.file) {
        (Some(after), _) => after.clone(),
        (None, None) => by_pelton(&["run".into(), before.clone()], &environment),
        (None, Some(script)) => {
            let shell = args.shell.iter().flat_map(|shell| [OsString::from("--shell"), shell.clone()]);
            let options = iter::once("run".into()).chain(shell).chain(["-f".into()]);
            by_pelton(&options.chain(script.iter().cloned()).collect::<Vec<_>>(), &environment)
        }
    };
    let texts = [resolve(&before, args, &environment, color)?, resolve(&after, args, &environment, color)?];
    let input = Input::hold()?;
    let session = Session { given: [before, after], texts, environment: &environment, input };
    let Some(comparison) = session.run(args)? else { return Ok(interrupted()) };
    if let Some(file) = &args.html {
        let Some([before, after]) = session.drawn()? else { return Ok(interrupted()) };
        page(file, &comparison, &before, &after)?;
    }
    let ending = end(&comparison, args, color)?;
    Ok(signals::asked_to_end().map_or(ending, |_| interrupted()))
}

/// How it ends after a signal that asked it to: as other programs do.
fn interrupted() -> Ending {
    match signals::asked_to_end() {
        Some(signal) if signal != signals::INTERRUPT => Ending::Signal(signal),
        _ => Ending::Status(INTERRUPTED),
    }
}

/// Reads the text from standard input, which then is empty for the runs.
fn text_of_stdin() -> Result<OsString, Failure> {
    let text = source::stdin_text()?;
    let emptied = File::open("/dev/null").and_then(|nothing| stdio::set_stdin(nothing.as_fd()));
    emptied.map_err(|error| Failure::io("cannot empty standard input", &error))?;
    Ok(text)
}

/// Returns the text that calls pelton with these arguments.
fn by_pelton(arguments: &[OsString], environment: &Environment) -> OsString {
    let program = match pelton_run::find_program(b"pelton", environment) {
        Some(_) => "pelton".into(),
        None => std::env::current_exe().map_or_else(|_| "pelton".into(), std::path::PathBuf::into_os_string),
    };
    source::typed(iter::once(&program).chain(arguments)).into()
}

/// Writes the page of a comparison, with a run of each.
fn page(file: &Path, comparison: &Comparison, before: &Run, after: &Run) -> Result<(), Failure> {
    let page = pelton_report::comparison_page(comparison, before, after);
    OutputTarget::prepare(Some(file))?.write(&page)
}

/// Shows a comparison; its judgement is the status.
fn end(comparison: &Comparison, args: &CompareArgs, color: When) -> Result<Ending, Failure> {
    show(comparison, args, color)?;
    Ok(Ending::Status(match comparison.judgement.kind {
        JudgementKind::Helped | JudgementKind::NoDifference => 0,
        JudgementKind::Worse => 1,
        JudgementKind::NotTheSame => 3,
    }))
}

/// The status that a shell reports for SIGINT.
const INTERRUPTED: i32 = 130;

/// Reads and plans one text.
fn resolve(
    text: &OsStr,
    args: &CompareArgs,
    environment: &Environment,
    color: When,
) -> Result<Source, Failure> {
    let problem = match &*text.to_string_lossy() {
        "-" => Some("standard input cannot be both a text and its input"),
        text if text.trim().is_empty() => Some("a text is empty: there is nothing to run"),
        _ => None,
    };
    if let Some(problem) = problem {
        return Err(Failure::new(problem)
            .with_help("the texts as arguments: pelton compare 'sort f | uniq' 'sort -u f'"));
    }
    if let (Some(before), Some(after)) = (&args.before, &args.after)
        && source::is_shell(Path::new(before).file_name().unwrap_or_default().as_bytes())
        && Path::new(after).is_file()
    {
        let script = source::typed([after]);
        return Err(Failure::new(format!(
            "`{}` and `{}` are two texts to compare",
            before.display(),
            after.display()
        ))
        .with_help(format!(
            "pelton compare -f {script}, or another text behind it: pelton compare '{} {script}' '…'",
            before.display()
        )));
    }
    let source =
        SourceArgs { shell: args.shell.clone(), words: vec![text.to_owned()], ..SourceArgs::default() };
    let source = Source::resolve(&source, environment)?;
    if let Source::Text(request, plan) = &source {
        source::warn_of_missing(request, plan, environment, Look::of_stderr(color));
    }
    Ok(source)
}

/// Runs of each, unless the user names a number.
const RUNS: u32 = 10;
/// After so many runs of each, a comparison that takes longer than this ends.
const ENOUGH: usize = 5;
const LONG: Duration = Duration::from_secs(20);
/// A longer one is announced.
const ANNOUNCED: Duration = Duration::from_secs(15);

struct Session<'a> {
    /// BEFORE and AFTER.
    given: [OsString; 2],
    texts: [Source; 2],
    environment: &'a Environment,
    input: Input,
}

impl Session<'_> {
    /// Compares the outputs, unmeasured; then measures runs alternately. `None` if nothing was measured.
    fn run(&self, args: &CompareArgs) -> Result<Option<Comparison>, Failure> {
        let pairs = args.runs.unwrap_or(RUNS) as usize;
        let bar = terminal::progress(2 * pairs as u64, "comparing what they print");
        let begun = Instant::now();
        let Some(outputs) = self.outputs(args)? else { return Ok(None) };
        self.announce(begun.elapsed(), pairs, args);
        bar.set_message("run");
        let (mut runs, mut interrupted) = ([vec![], vec![]], false);
        let since = Instant::now();
        'pairs: for pair in 0..pairs {
            if args.runs.is_none() && pair >= ENOUGH && since.elapsed() > LONG {
                break;
            }
            // The order alternates, so that warm caches favour neither.
            for side in if pair % 2 == 0 { [0, 1] } else { [1, 0] } {
                let measured = with_hidden_output(|| self.measure(side))?;
                bar.inc(1);
                if measured.interrupted {
                    interrupted = true;
                    break 'pairs;
                }
                runs[side].push(measured.run);
            }
        }
        bar.finish_and_clear();
        // Whoever ends it waits for no report, and who interrupts it may want to see what it has.
        if signals::asked_to_end().is_some_and(|signal| signal != signals::INTERRUPT) {
            return Ok(None);
        }
        let [mut before, mut after] = runs;
        let pairs = before.len().min(after.len());
        before.truncate(pairs);
        after.truncate(pairs);
        let notes = self.notes(&before, &after, interrupted);
        let threshold = args.threshold.unwrap_or(1.0) / 100.0;
        Ok(pelton_run::compare(Compared { before, after, warmup: 1, outputs, notes, threshold }))
    }

    /// Where no bar is drawn, says how long a long comparison will take; `warm` is what a run of each took, at least.
    fn announce(&self, warm: Duration, pairs: usize, args: &CompareArgs) {
        let whole = warm.mul_f64(pairs as f64);
        let cut = LONG.max(warm.mul_f64(ENOUGH as f64));
        let expected = if args.runs.is_none() { whole.min(cut) } else { whole };
        if expected > ANNOUNCED && !terminal::stderr_is_terminal() {
            terminal::say(&format!("pelton: comparing takes about {} s more\n", expected.as_secs()));
        }
    }

    fn measure(&self, side: usize) -> Result<Measured, Failure> {
        self.input.rewind()?;
        measure(&self.texts[side], self.environment, Options::FAITHFULLY)
    }

    /// Runs each once more, with what it does in the course of time; `None` if interrupted.
    fn drawn(&self) -> Result<Option<[Run; 2]>, Failure> {
        let draw = |side: usize| {
            self.input.rewind()?;
            let options = Options { observing: Observing::Timeline, ..Options::FAITHFULLY };
            with_hidden_output(|| measure(&self.texts[side], self.environment, options))
        };
        let [before, after] = [draw(0)?, draw(1)?];
        Ok((!before.interrupted && !after.interrupted).then_some([before.run, after.run]))
    }

    /// Compares the outputs; `None` if interrupted.
    fn outputs(&self, args: &CompareArgs) -> Result<Option<Outputs>, Failure> {
        if args.any_output {
            for side in [0, 1] {
                if with_hidden_output(|| self.measure(side))?.interrupted {
                    return Ok(None);
                }
            }
            return Ok(Some(Outputs::NotCompared));
        }
        let mut files = FilesLeft::begin();
        let mut kept = |side: usize| -> Result<Option<(Kept, Option<Left>)>, Failure> {
            Ok(Kept::of(|| self.measure(side))?.map(|kept| (kept, files.since())))
        };
        let Some((before, left_before)) = kept(0)? else { return Ok(None) };
        let Some((after, left_after)) = kept(1)? else { return Ok(None) };
        let cannot = |error: io::Error| Failure::io("cannot compare what they print", &error);
        terminal::say_bytes(&before.messages);
        could_start(&before, "BEFORE", &self.given[0])?;
        could_start(&after, "AFTER", &self.given[1])?;
        let printed = difference(&before, &after).map_err(cannot)?;
        let same = |files, unsteady_files| Outputs::Same { bytes: before.length, files, unsteady_files };
        let lefts = left_before.zip(left_after);
        if printed.is_none() && lefts.as_ref().is_none_or(|(before, after)| before == after) {
            return Ok(Some(same(lefts.map(|(left, _)| left.files().len() as u64), Vec::new())));
        }
        let Some((again, left_again)) = kept(0)? else { return Ok(None) };
        if let Some(how) = printed {
            return Ok(Some(match difference(&before, &again).map_err(cannot)? {
                Some(_) => Outputs::Unsteady,
                None => Outputs::Different { how },
            }));
        }
        // A file that another program wrote, or that only the first run had to make, tells nothing.
        let Some((_, after_again)) = kept(1)? else { return Ok(None) };
        let (Some((before, after)), Some((again, after_again))) = (lefts, left_again.zip(after_again)) else {
            return Ok(Some(same(None, vec![])));
        };
        let mut unsteady = before.differing(&again);
        unsteady.extend(after.differing(&after_again));
        unsteady.sort_unstable();
        unsteady.dedup();
        let (before, after) = (before.without(&unsteady), after.without(&unsteady));
        Ok(Some(match before.differing(&after).first() {
            Some(path) => Outputs::Different { how: before.difference(&after, path, "BEFORE", "AFTER") },
            None => same(
                Some(before.files().len() as u64),
                unsteady.iter().map(|path| path.display().to_string()).collect(),
            ),
        }))
    }

    fn notes(&self, before: &[Run], after: &[Run], interrupted: bool) -> Vec<String> {
        let mut notes: Vec<String> = self.input.note().into_iter().collect();
        if interrupted {
            let runs = if before.len() == 1 {
                "one run of each was"
            } else {
                &format!("{} runs of each were", before.len())
            };
            notes.push(format!("interrupted: {runs} measured"));
        }
        notes.extend(few_runs(before.len()));
        let failed = before.iter().chain(after).find(|run| run.exit_status != 0);
        notes
            .extend(failed.map(|run| {
                format!("`{}` ended with {}", run.text, ending::status_in_words(run.exit_status))
            }));
        notes
    }
}

/// Refuses to measure a text of which nothing could be started.
fn could_start(kept: &Kept, name: &str, text: &OsStr) -> Result<(), Failure> {
    if kept.length > 0 || !matches!(kept.status, 126 | 127) {
        return Ok(());
    }
    terminal::say_bytes(&kept.messages);
    let text = text.to_string_lossy();
    let help = match text.contains(['"', '\'', '\\']) {
        true => "a text with both kinds of quotes is best kept in a file: pelton compare -f FILE",
        false if Path::new(&*text).is_file() => "pelton compare -f FILE reads the pipeline from a file",
        false => "another spelling, or the program with its directory, if that is not in PATH",
    };
    Err(Failure::new(format!("{name} could not be run (status {}): {text}", kept.status)).with_help(help))
}

/// Returns a note where so many runs of each tell nothing.
fn few_runs(runs: usize) -> Option<String> {
    (runs < 5).then(|| "fewer than five runs of each tell only large changes from chance: --runs 10".into())
}

/// Describes how two runs differ; `None` if they do not.
fn difference(one: &Kept, other: &Kept) -> io::Result<Option<String>> {
    let mut comparer = Comparer::new(&one.printed, one.length, false);
    let mut buffer = vec![0; CHUNK];
    let mut at = 0;
    while at < other.length {
        let wanted = (other.length - at).min(CHUNK as u64) as usize;
        std::os::unix::fs::FileExt::read_exact_at(&other.printed, &mut buffer[..wanted], at)?;
        comparer.take(&buffer[..wanted])?;
        at += wanted as u64;
    }
    let (found, _) = comparer.finish()?;
    if let Some(found) = found {
        let shown = |bytes: &[u8]| match bytes {
            [] => "ends".to_owned(),
            _ => format!("`{}`", bytes.escape_ascii()),
        };
        let (line, before, after) = (found.line, shown(&found.kept), shown(&found.other));
        return Ok(Some(format!("they differ in line {line}, where BEFORE has {before} and AFTER {after}")));
    }
    if !same_messages(&one.messages, &other.messages) {
        return Ok(Some("what they say on standard error differs".into()));
    }
    let differ = one.status != other.status;
    Ok(differ.then(|| format!("BEFORE ends with status {} and AFTER with {}", one.status, other.status)))
}

fn show(comparison: &Comparison, args: &CompareArgs, color: When) -> Result<(), Failure> {
    let text = match args.json {
        true => pelton_report::pretty(comparison),
        false => pelton_report::comparison(comparison, &Look::of_stdout(color).style(false)),
    };
    output::print(&text, "the comparison")
}
