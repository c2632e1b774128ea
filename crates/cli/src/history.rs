//! `pelton time --history NAME`: keeps the figures of a named pipeline, and `--budget`: limits that fail.

use crate::args::TimeArgs;
use crate::ending::Ending;
use crate::failure::{Failure, plain};
use crate::last::kept;
use crate::output;
use crate::size::parse_size;
use crate::terminal::{Look, When};
use pelton_record::Run;
use pelton_record::history::{BudgetFigure, History, KeptRun};
use pelton_run::history::{Limit, budget, verdict};
use pelton_sys::clock;
use pelton_sys::private::PrivateFolder;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Runs kept under a name.
const MOST_RUNS: usize = 1000;
const BYTES_MAX: u64 = 64 << 20;
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
    let wrong = || "a limit is wanted, such as real=2s, cpu=1.5m, mem=500M or real=+20%".to_owned();
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
    let is_name =
        !text.is_empty() && text.len() <= 100 && !text.starts_with('.') && text.chars().all(is_plain);
    is_name.then(|| text.to_owned()).ok_or_else(|| "letters, digits, '-', '_' and '.' are wanted".to_owned())
}

/// Checks what can be checked before anything is run.
pub fn check(args: &TimeArgs) -> Result<(), Failure> {
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
    let earlier = match &args.history {
        Some(name) => keep(name, &this)?,
        None => Vec::new(),
    };
    let compared = args.budget.iter().map(|arg| budget(arg.figure, arg.limit, &earlier, &this));
    run.budgets = compared.collect();
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
    let history = History { name: name.to_owned(), runs, verdict: String::new() };
    let text = match args.report.json {
        true => pelton_report::pretty(&history.runs),
        false => {
            pelton_report::history(&history, clock::unix_ms(), &Look::of_stdout(color).style(args.report.all))
        }
    };
    output::print(&text, "the history")?;
    Ok(Ending::Status(0))
}

fn unknown(name: &str, folder: &std::path::Path) -> Failure {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names =
        entries.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".json")?.to_owned()));
    let mut names: Vec<String> = names.collect();
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
            let earlier = match read(&folder, name) {
                Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                other => other?,
            };
            let mut runs = earlier.clone();
            runs.push(this.clone());
            let surplus = runs.len().saturating_sub(MOST_RUNS);
            runs.drain(..surplus);
            folder.write(&file(name), &serde_json::to_string(&Kept { runs })?)?;
            Ok(earlier)
        })?
    };
    keep().map_err(|error| cannot("keep a run in", name, &error))
}

fn read(folder: &PrivateFolder, name: &str) -> io::Result<Vec<KeptRun>> {
    let text = folder.read(&file(name), BYTES_MAX)?;
    let kept: Kept = serde_json::from_str(&text)?;
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
        ErrorKind::PermissionDenied => "it, or its directory, is not yours alone".to_owned(),
        ErrorKind::InvalidData => "it is no such file, or too large".to_owned(),
        _ => plain(error),
    };
    Failure::new(format!("cannot {what} the history `{path}`: {why}"))
        .with_help("another name, or the file removed")
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
        for wrong in ["", ".", "..", ".x", "a/b", "a b", "a\nb", "*"] {
            assert!(parse_name(wrong).is_err(), "{wrong}");
        }
    }
}
