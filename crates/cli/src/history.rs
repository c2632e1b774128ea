//! `pelton time --history NAME`: keeps the figures of a named pipeline, and `--budget`: limits that fail.

use crate::args::TimeArgs;
use crate::ending::Ending;
use crate::failure::{Failure, plain};
use crate::last::kept;
use crate::output::{self, OutputTarget};
use crate::size::parse_size;
use crate::terminal::{Look, When};
use pelton_record::Run;
use pelton_record::history::{BudgetFigure, History, KeptRun};
use pelton_report::Format;
use pelton_run::history::{Limit, budget, verdict};
use pelton_sys::clock;
use pelton_sys::private::PrivateFolder;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Runs kept under a name.
const MOST_RUNS: usize = 1000;
const BYTES_MAX: u64 = 64 << 20;
/// A file that grows larger loses its oldest runs.
const MOST_BYTES: usize = 4 << 20;
/// Is locked while a file is replaced.
const LOCK: &str = "lock";
/// The status of a run that succeeded and exceeded a budget.
pub const OVER_BUDGET: i32 = 3;

/// The content of a file.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    runs: Vec<KeptRun>,
}

/// A limit that the user set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetArg {
    figure: BudgetFigure,
    limit: Limit,
}

/// Reads `real=2s`, `cpu=1.5m`, `mem=500M` or `real=+20%`.
pub fn parse_budget(text: &str) -> Result<BudgetArg, String> {
    let wrong =
        || "a limit is expected, such as real=2s, cpu=1.5m, mem=500M or real=+20%, without spaces".to_owned();
    let (name, limit) = text.split_once('=').ok_or_else(wrong)?;
    let figure = match name {
        "real" => BudgetFigure::Real,
        "cpu" | "user+sys" => BudgetFigure::Cpu,
        "mem" => BudgetFigure::Mem,
        _ => return Err(format!("`{name}` is no figure with a limit: real, cpu and mem are")),
    };
    let limit = match limit.strip_prefix('+') {
        Some(share) => {
            let share: f64 =
                share.strip_suffix('%').and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
            let is_sensible = (0.0..=10_000.0).contains(&share);
            Limit::OverMedian(is_sensible.then_some(share / 100.0).ok_or_else(wrong)?)
        }
        None if figure == BudgetFigure::Mem => Limit::Fixed(parse_size(limit)?),
        None => Limit::Fixed(crate::duration::parse_duration(limit)?),
    };
    Ok(BudgetArg { figure, limit })
}

/// Reads the name of a history: it becomes the name of a file.
pub fn parse_name(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '_' | '-');
    let is_name = !text.is_empty() && text.len() <= 100 && text.chars().all(is_plain);
    let is_name = is_name && !text.starts_with(['.', '-']);
    let expected = || "a name of letters, digits, '-', '_' and '.' is expected".to_owned();
    is_name.then(|| text.to_owned()).ok_or_else(expected)
}

/// Checks what can be checked before anything is run: it may take hours.
pub fn check(args: &TimeArgs) -> Result<(), Failure> {
    if let Some(name) = &args.history {
        let path = folder()?;
        let opened = PrivateFolder::make(&path).map_err(|error| cannot_open(&path, &error))?;
        known(&opened, name).map_err(|error| cannot("read", name, &error))?;
    }
    let relative = args.budget.iter().any(|budget| matches!(budget.limit, Limit::OverMedian(_)));
    if relative && args.history.is_none() {
        return Err(Failure::new("a budget of +N% is relative to earlier runs, which --history keeps")
            .with_help("pelton time --history nightly --budget real=+20% 'a | b'"));
    }
    Ok(())
}

/// Adds to a record what is known of earlier runs, and keeps it for later ones.
pub fn add(run: &mut Run, args: &TimeArgs) -> Result<(), Failure> {
    let this = KeptRun::of(run);
    let kept = args.history.as_ref().map_or(Ok(Vec::new()), |name| keep(name, &this));
    let earlier = kept.as_deref().unwrap_or_default();
    let compared = args.budget.iter().map(|arg| budget(arg.figure, arg.limit, earlier, &this));
    run.budgets = compared.collect();
    let earlier = kept?;
    if let Some(name) = &args.history {
        let verdict = verdict(&earlier, &this);
        let runs = earlier.into_iter().chain([this]).collect();
        run.history = Some(History { name: name.clone(), runs, verdict });
    }
    Ok(())
}

/// Shows the runs of a name.
pub fn show(name: &str, args: &TimeArgs, color: When) -> Result<Ending, Failure> {
    let folder = folder()?;
    let runs = match PrivateFolder::open(&folder).and_then(|folder| read(&folder, name)) {
        Ok(runs) if !runs.is_empty() => runs,
        Ok(_) => return Err(unknown(name, &folder)),
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(unknown(name, &folder)),
        Err(error) => return Err(cannot("read", name, &error)),
    };
    let format = args.report.format();
    let text = match format {
        Format::Json => pelton_report::pretty(&runs),
        Format::Table => {
            pelton_report::history(&runs, clock::unix_ms(), &Look::of_stdout(color).style(args.report.all))
        }
        _ => {
            let failure = Failure::new(format!("a history has no form for --format {}", format.name()));
            return Err(failure.with_help("the table, or --json"));
        }
    };
    match &args.report.output {
        Some(path) => OutputTarget::prepare(Some(path))?.write(&text)?,
        None => output::print(&text, "the history")?,
    }
    Ok(Ending::Status(0))
}

fn unknown(name: &str, folder: &std::path::Path) -> Failure {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names =
        entries.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".json")?.to_owned()));
    let mut names: Vec<String> = names.filter(|name| parse_name(name).is_ok()).collect();
    names.sort();
    let help = match names.as_slice() {
        [] => format!("pelton time --history {name} 'a | b' keeps the first one"),
        _ => format!("one of these: {}", names.join(", ")),
    };
    Failure::new(format!("no run is kept under the name `{name}`")).with_help(help)
}

/// Keeps a run; returns those before it.
fn keep(name: &str, this: &KeptRun) -> Result<Vec<KeptRun>, Failure> {
    let path = folder()?;
    let keep = || -> io::Result<Vec<KeptRun>> {
        let folder = PrivateFolder::make(&path)?;
        folder.locked(LOCK, || {
            let earlier = known(&folder, name)?;
            let mut runs = earlier.clone();
            runs.push(this.clone());
            let surplus = runs.len().saturating_sub(MOST_RUNS);
            runs.drain(..surplus);
            let mut kept = Kept { runs };
            let mut text = serde_json::to_string(&kept)?;
            // Long texts: fewer runs.
            while text.len() > MOST_BYTES && kept.runs.len() > 1 {
                let half = kept.runs.len() / 2;
                kept.runs.drain(..half);
                text = serde_json::to_string(&kept)?;
            }
            folder.write(&file(name), &text)?;
            Ok(earlier)
        })?
    };
    keep().map_err(|error| cannot("keep a run in", name, &error))
}

/// Returns the runs of a name; none if there is no file.
fn known(folder: &PrivateFolder, name: &str) -> io::Result<Vec<KeptRun>> {
    match read(folder, name) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => other,
    }
}

fn read(folder: &PrivateFolder, name: &str) -> io::Result<Vec<KeptRun>> {
    let text = folder.read(&file(name), BYTES_MAX)?;
    let damaged = |error: serde_json::Error| io::Error::other(format!("it is damaged ({error})"));
    let kept: Kept = serde_json::from_str(&text).map_err(damaged)?;
    Ok(kept.runs)
}

fn file(name: &str) -> String {
    format!("{name}.json")
}

fn folder() -> Result<PathBuf, Failure> {
    let state = kept::folder().ok_or_else(|| {
        Failure::new("there is no place for histories: neither XDG_STATE_HOME nor HOME is an absolute path")
    })?;
    Ok(state.join("history"))
}

fn cannot(what: &str, name: &str, error: &io::Error) -> Failure {
    let path =
        folder().map_or_else(|_| name.to_owned(), |folder| folder.join(file(name)).display().to_string());
    let why = match error.kind() {
        ErrorKind::PermissionDenied => "it, or its directory, is not yours alone, or not readable".to_owned(),
        ErrorKind::InvalidData => "it is no regular file, or too large".to_owned(),
        ErrorKind::Other => error.to_string(),
        _ => plain(error),
    };
    Failure::new(format!("cannot {what} the history `{path}`: {why}"))
        .with_help(format!("rm '{path}' forgets its runs; another name leaves them"))
}

fn cannot_open(path: &std::path::Path, error: &io::Error) -> Failure {
    let why = match error.kind() {
        ErrorKind::PermissionDenied => "it is not yours alone, or may not be written".to_owned(),
        _ => plain(error),
    };
    Failure::new(format!("cannot keep histories in `{}`: {why}", path.display()))
        .with_help("XDG_STATE_HOME names another directory")
}

/// Returns which budgets a run has exceeded, for standard error where no table says it.
pub fn over_budget(run: &Run) -> Option<String> {
    run.budgets.iter().any(|budget| budget.is_exceeded).then(|| pelton_report::budgets(&run.budgets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets() {
        let fixed = |figure, limit| Ok(BudgetArg { figure, limit: Limit::Fixed(limit) });
        assert_eq!(parse_budget("real=2s"), fixed(BudgetFigure::Real, 2_000_000_000));
        assert_eq!(parse_budget("cpu=1.5m"), fixed(BudgetFigure::Cpu, 90_000_000_000));
        assert_eq!(parse_budget("mem=500MB"), fixed(BudgetFigure::Mem, 500_000_000));
        let relative = BudgetArg { figure: BudgetFigure::Real, limit: Limit::OverMedian(0.2) };
        assert_eq!(parse_budget("real=+20%"), Ok(relative));
        for wrong in [
            "",
            "real",
            "real=",
            "real=x",
            "real=+",
            "real=+20",
            "real=+-5%",
            "real=+nan%",
            "disk=2",
            "mem=2s",
        ] {
            assert!(parse_budget(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names() {
        for right in ["nightly", "a-b_c.2", "größe"] {
            assert!(parse_name(right).is_ok(), "{right}");
        }
        for wrong in ["", ".", "..", ".x", "-x", "a/b", "a b", "a\nb", "*"] {
            assert!(parse_name(wrong).is_err(), "{wrong}");
        }
    }
}
