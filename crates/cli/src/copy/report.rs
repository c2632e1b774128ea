//! `--report`: compares all ways to copy one file, each in a separate process whose resource use the kernel
//! counts.

use super::args::CopyArgs;
use crate::ending::Ending;
use crate::failure::{Failure, plain};
use crate::output;
use pelton_copy::Way;
use pelton_report::units;
use pelton_run::Environment;
use pelton_sys::shared::Counters;
use pelton_sys::spawn::{self, Action, Child, Tie};
use pelton_sys::wait::{self, Ended, Usage};
use pelton_sys::{clock, copying};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// What one way cost, or its `errno`.
struct Row {
    name: &'static str,
    outcome: Result<Cost, i32>,
}

struct Cost {
    wall_ns: u64,
    usage: Usage,
    /// Unknown for cp.
    calls: Option<u64>,
}

/// Copies the source in every way, and with cp, several times each, and prints what each way cost.
pub fn report(args: &CopyArgs) -> Result<Ending, Failure> {
    let (source, place) = operands(args)?;
    let bytes = std::fs::metadata(&source).map_err(|error| cannot_read(&source, &error))?.len();
    File::open(&source).map_err(|error| cannot_read(&source, &error))?;
    let mut rows: Vec<Row> =
        Way::ALL.map(|way| row(way.name(), args.runs, &|| by_way(way, &source, &place))).into();
    rows.push(row("cp", args.runs, &|| by_cp(&source, &place)));
    let text = if args.json { json(&source, bytes, &rows) } else { table(&source, bytes, args.runs, &rows) };
    output::print(&text, "the report")?;
    Ok(Ending::Status(0))
}

fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    Failure::io(format!("cannot read `{}`", path.display()), error).with_status(1)
}

/// Returns the file, and an unused name in the directory for copies.
fn operands(args: &CopyArgs) -> Result<(PathBuf, PathBuf), Failure> {
    let [source, directory @ ..] = &args.paths[..] else {
        return Err(Failure::new("there is nothing to copy"));
    };
    let source = PathBuf::from(source);
    let directory = match directory {
        [] => {
            source.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf()
        }
        [directory] => PathBuf::from(directory),
        _ => return Err(Failure::new("--report takes one file, and the directory to copy it into")),
    };
    if !directory.is_dir() || !source.is_file() {
        return Err(Failure::new("--report takes a plain file, and the directory to copy it into")
            .with_help("pelton copy --report FILE DIRECTORY"));
    }
    Ok((source, directory.join(format!(".pelton-report-{}", std::process::id()))))
}

/// Returns the run of median time.
fn row(name: &'static str, runs: u32, run: &dyn Fn() -> io::Result<Cost>) -> Row {
    let mut costs = Vec::new();
    for _ in 0..runs {
        match run() {
            Ok(cost) => costs.push(cost),
            Err(error) => return Row { name, outcome: Err(error.raw_os_error().unwrap_or(0)) },
        }
    }
    costs.sort_by_key(|cost| cost.wall_ns);
    let middle = costs.len() / 2;
    Row { name, outcome: Ok(costs.swap_remove(middle)) }
}

/// Copies in a child process; removes the copy.
fn by_way(way: Way, source: &Path, target: &Path) -> io::Result<Cost> {
    // The calls, and the `errno`.
    let told = Counters::new(2)?;
    let mut work = || {
        let copied = (|| {
            let from = File::open(source)?;
            let bytes = from.metadata()?.len();
            let to = copying::open_for_writing(target, true, 0o600)?;
            way.copy(&from, &to, target, 0, bytes)
        })();
        match copied {
            // Two opens, one `stat`, two closes.
            Ok(moved) => told.set(0, moved.calls + 5),
            Err(error) => told.set(1, error.raw_os_error().unwrap_or(5) as u64),
        }
        0
    };
    let child = child(Action::Exit(0));
    let started = clock::now_ns();
    let pid = spawn::spawn_worker(&child, Tie::ToParent, &mut work)?;
    let (_, usage) = wait::reap(pid)?;
    let wall_ns = clock::now_ns() - started;
    let _ = std::fs::remove_file(target);
    match told.get(1) {
        0 => Ok(Cost { wall_ns, usage, calls: Some(told.get(0)) }),
        error => Err(io::Error::from_raw_os_error(error as i32)),
    }
}

fn by_cp(source: &Path, target: &Path) -> io::Result<Cost> {
    let words: [OsString; 4] = ["cp".into(), "--".into(), source.into(), target.into()];
    let exec = pelton_run::command(&words, &Environment::inherit())?;
    let started = clock::now_ns();
    let (ended, usage) = wait::reap(spawn::spawn(&child(Action::Exec(exec)))?)?;
    let wall_ns = clock::now_ns() - started;
    let _ = std::fs::remove_file(target);
    match ended {
        Ended::Exited(0) => Ok(Cost { wall_ns, usage, calls: None }),
        _ => Err(io::Error::from_raw_os_error(5)),
    }
}

fn child(action: Action) -> Child<'static> {
    Child { action, fallback: None, stdin: None, stdout: None, redirections: Vec::new(), not_mine: None }
}

const COLUMNS: [&str; 11] = [
    "way",
    "real",
    "user",
    "sys",
    "peak mem",
    "faults",
    "reclaims",
    "blocks in/out",
    "waits",
    "preempted",
    "calls",
];

fn table(source: &Path, bytes: u64, runs: u32, rows: &[Row]) -> String {
    let mut lines: Vec<Vec<String>> = vec![COLUMNS.map(str::to_owned).into()];
    lines.extend(rows.iter().map(cells));
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    // The reason for a failure may be wider than its column: it is the last cell of its line.
    let widths: Vec<usize> =
        (0..COLUMNS.len()).map(|column| if column == 1 { 8 } else { width(column) }).collect();
    let mut text = format!(
        "`{}`, {}, copied in every way; the median of {runs}\n",
        source.display(),
        units::bytes(bytes)
    );
    for line in &lines {
        let cells: Vec<String> = line
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(at, (cell, width))| {
                    if at == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn cells(row: &Row) -> Vec<String> {
    let cost = match &row.outcome {
        Ok(cost) => cost,
        Err(number) => {
            let reason = plain(&io::Error::from_raw_os_error(*number));
            return vec![row.name.to_owned(), format!("not here: {reason}")];
        }
    };
    let usage = &cost.usage;
    vec![
        row.name.to_owned(),
        units::seconds(cost.wall_ns),
        units::seconds(usage.user_ns),
        units::seconds(usage.sys_ns),
        units::bytes(usage.peak_rss_bytes),
        units::count(usage.major_faults),
        units::count(usage.minor_faults),
        format!("{}/{}", units::count(usage.block_inputs), units::count(usage.block_outputs)),
        units::count(usage.voluntary_switches),
        units::count(usage.involuntary_switches),
        cost.calls.map_or_else(|| "unknown".to_owned(), units::count),
    ]
}

fn json(source: &Path, bytes: u64, rows: &[Row]) -> String {
    let ways: Vec<_> = rows
        .iter()
        .map(|row| match &row.outcome {
            Err(number) => {
                let reason = plain(&io::Error::from_raw_os_error(*number));
                serde_json::json!({ "way": row.name, "error": reason })
            }
            Ok(cost) => serde_json::json!({
                "way": row.name,
                "wall_ns": cost.wall_ns,
                "user_ns": cost.usage.user_ns,
                "sys_ns": cost.usage.sys_ns,
                "peak_rss_bytes": cost.usage.peak_rss_bytes,
                "major_faults": cost.usage.major_faults,
                "minor_faults": cost.usage.minor_faults,
                "block_inputs": cost.usage.block_inputs,
                "block_outputs": cost.usage.block_outputs,
                "voluntary_switches": cost.usage.voluntary_switches,
                "involuntary_switches": cost.usage.involuntary_switches,
                "calls": cost.calls,
            }),
        })
        .collect();
    let all = serde_json::json!({ "file": source.to_string_lossy(), "bytes": bytes, "ways": ways });
    format!("{all}\n")
}
