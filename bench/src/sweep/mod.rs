//! Finds where pelton is slower than the real tool: every command with its popular options, over three shapes
//! of data, in three locales, with three ways of reading and writing.
//!
//! ```text
//! one round each ──▶ same bytes? ──▶ at least 0.97 of the real tool's speed? ──▶ done
//!                                        └─ no ──▶ more rounds, medians ──▶ still below? ──▶ as many again,
//!                                                  twice at most; medians over all but the first round,
//!                                                  and their intervals
//! ```
//!
//! The cells of each tool are kept as soon as they are measured; `--only` measures some tools again.

mod lines;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::contest::{Contender, Samples, run_to_status};
use super::results::{Claim, Results, earlier};
use super::shell_and_run::{Place, digest};
use super::{Bench, stats};
use workbench::Outcome;
use workbench::inputs::{ACCESS_LOG, PROSE, PURCHASES, Recipe};

const SHAPES: [(&str, Recipe); 3] = [("prose", PROSE), ("log", ACCESS_LOG), ("csv", PURCHASES)];
const LOCALES: [&str; 3] = ["C", "C.UTF-8", "en_US.UTF-8"];
/// The lowest accepted speed, relative to the real tool's.
const BOUND: f64 = 0.97;
/// If the real tool takes less, the cell is not judged.
const SHORTEST_SECONDS: f64 = 0.02;
/// The factor of more data for a command that takes less.
const LARGER: u64 = 10;
/// Rounds for a cell that seems slow at first, unless `--runs` is given.
const ROUNDS: usize = 7;
/// The most times that the rounds are run for a cell that stays slow.
const BATCHES: usize = 3;
/// The number of lines of the file `few`: enough for join.
const FEW_LINES: usize = 1000;

/// How a command reads and writes.
#[derive(Clone, Copy)]
enum Way {
    /// From a file, to a file.
    File,
    /// From a pipe that a process without a kernel fills, to a file.
    Pipe,
    /// From a file, to nothing: some commands then stop at once.
    Null,
}

impl Way {
    const ALL: [Way; 3] = [Way::File, Way::Pipe, Way::Null];

    fn name(self) -> &'static str {
        match self {
            Way::File => "file",
            Way::Pipe => "pipe",
            Way::Null => "/dev/null",
        }
    }

    /// Returns a line of the sweep as shell text. `None` if this way does not apply to it.
    fn text(self, line: &str, file: &str) -> Option<String> {
        let last = |text: String, out: &str| format!("{text} > {out}");
        let reads_nothing = reads_nothing(line);
        let operand = |line: &str| {
            if line.contains('@') || reads_nothing {
                line.replace('@', file)
            } else {
                format!("< {file} {line}")
            }
        };
        match self {
            Way::File => Some(last(operand(line), "out")),
            Way::Null => Some(last(operand(line), "/dev/null")),
            Way::Pipe if reads_nothing || line.matches('@').count() > 1 || line.contains("missing") => None,
            Way::Pipe => {
                Some(last(format!("dd if={file} bs=64k status=none | {}", line.replace('@', "-")), "out"))
            }
        }
    }
}

/// Whether a line of the sweep reads none of the data: one shape is then enough.
fn reads_nothing(line: &str) -> bool {
    !line.contains('@') && ["seq", "find"].iter().any(|name| line.starts_with(name))
}

/// The result for one text in one locale: medians only, since there are thousands.
#[derive(Serialize, Deserialize)]
struct Cell {
    text: String,
    locale: String,
    way: String,
    /// Whether the output and the status were the real tool's.
    same: bool,
    /// The real tool's time divided by pelton's: the median of the paired ratios, in CPU and in wall time.
    cpu: f64,
    real: f64,
    /// The highest medians of these two that the rounds do not speak against; `None` for a few rounds.
    #[serde(default)]
    highest: Option<[f64; 2]>,
    /// The median wall time of the real tool and of pelton.
    seconds: [f64; 2],
    rounds: usize,
}

impl Cell {
    fn worst(&self) -> f64 {
        self.cpu.min(self.real)
    }

    /// Whether it is slower than accepted, and not only by the noise of the machine.
    fn is_below(&self) -> bool {
        self.worst() < BOUND && self.highest.is_none_or(|[cpu, real]| cpu.min(real) < BOUND)
    }
}

/// The samples of the real tool and of pelton, taken in turns.
struct Pair([Samples; 2]);

impl Pair {
    fn speed(&self, of: fn(&Samples) -> &Vec<f64>) -> f64 {
        stats::median_ratio(of(&self.0[0]), of(&self.0[1]))
    }

    fn cpu(&self) -> f64 {
        self.speed(|samples| &samples.cpu)
    }

    fn real(&self) -> f64 {
        self.speed(|samples| &samples.real)
    }

    fn is_slow(&self) -> bool {
        self.cpu().min(self.real()) < BOUND
    }

    /// Returns the highest medians, in CPU and in wall time, that the rounds do not speak against.
    fn highest(&self) -> Option<[f64; 2]> {
        let [shell, ours] = &self.0;
        let cpu = stats::highest_median(&stats::ratios(&shell.cpu, &ours.cpu))?;
        Some([cpu, stats::highest_median(&stats::ratios(&shell.real, &ours.real))?])
    }
}

/// The cells by tool: `{"cells": […], "commit": "…"}` each, as stored.
type Tools = Map<String, Value>;

/// Runs the whole sweep, or for the tools that `--only` names.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let place = place(bench)?;
    let mut tools = match earlier(bench, "sweep") {
        Value::Object(tools) if bench.only.is_some() => tools,
        _ => Tools::new(),
    };
    let wanted = |tool: &str| bench.only.as_deref().is_none_or(|only| only.split(',').any(|one| one == tool));
    for lines in lines::ALL.iter().filter(|lines| wanted(lines.tool)) {
        let mut cells = Vec::new();
        for text in lines.texts {
            for locale in LOCALES {
                sweep(bench, &place, text, locale, &mut cells)?;
            }
        }
        progress(lines.tool, &cells);
        tools.insert(lines.tool.to_owned(), json!({"cells": cells, "commit": bench.machine["commit"]}));
        results(bench, &tools)?.write(&bench.machine, &bench.results)?;
    }
    results(bench, &tools)
}

/// Runs one command line in one locale, over all shapes, in all ways.
fn sweep(bench: &Bench, place: &Place, line: &str, locale: &'static str, cells: &mut Vec<Cell>) -> Outcome {
    for (shape, _) in SHAPES {
        for way in Way::ALL {
            for file in [shape.to_owned(), format!("{shape}-large")] {
                let Some(text) = way.text(line, &file) else { continue };
                let Some(cell) = measure(bench, place, text, locale, way)? else { continue };
                cells.push(cell);
                break;
            }
        }
        if reads_nothing(line) {
            break;
        }
    }
    Ok(())
}

/// Runs the real tool and pelton in turns, and compares their output; `None` if the real tool takes too
/// little time.
fn measure(
    bench: &Bench,
    place: &Place,
    text: String,
    locale: &'static str,
    way: Way,
) -> Outcome<Option<Cell>> {
    let pelton = bench.pelton.as_os_str();
    let both = [
        Contender::new("shell", ["bash", "-c", &text]).in_locale(locale),
        Contender::new("pelton", [pelton, "run".as_ref(), "--".as_ref(), text.as_ref()]).in_locale(locale),
    ];
    let (shell, status) = run_to_status(&both[0], &place.dir)?;
    if shell.real[0] < SHORTEST_SECONDS {
        return Ok(None);
    }
    let printed = || digest(&place.dir.join("out")).ok();
    let expected = (status, printed());
    let (ours, status) = run_to_status(&both[1], &place.dir)?;
    let same = expected == (status, printed());
    let mut pair = Pair([shell, ours]);
    if pair.is_slow() {
        // The first round is not counted any more: it was selected for being slow.
        pair = Pair([Samples::default(), Samples::default()]);
        for _ in 0..BATCHES {
            for round in 0..bench.runs(ROUNDS) {
                for at in [round % 2, 1 - round % 2] {
                    pair.0[at].push(&run_to_status(&both[at], &place.dir)?.0);
                }
            }
            if !pair.is_slow() {
                break;
            }
        }
    }
    let rounds = pair.0[0].real.len();
    let [shell, ours] = &pair.0;
    let seconds = [stats::median(&shell.real), stats::median(&ours.real)];
    if seconds[0] < SHORTEST_SECONDS {
        // Only the first round took longer.
        return Ok(None);
    }
    let (locale, way) = (locale.to_owned(), way.name().to_owned());
    let (cpu, real, highest) = (pair.cpu(), pair.real(), pair.highest());
    Ok(Some(Cell { text, locale, way, same, cpu, real, highest, seconds, rounds }))
}

/// Places the data under short names, in memory.
fn place(bench: &Bench) -> Outcome<Place> {
    let megabytes = bench.size_mb(10);
    let mut files = Vec::new();
    for (name, recipe) in SHAPES {
        files.push((name.to_owned(), recipe.file(&bench.data, megabytes)?));
        files.push((format!("{name}-large"), recipe.file(&bench.data, megabytes * LARGER)?));
    }
    let files: Vec<_> = files.iter().map(|(name, path)| (name.as_str(), path.as_path())).collect();
    let place = Place::with(&files)?;
    let prose = std::fs::read_to_string(place.dir.join("prose"))?;
    let few: Vec<&str> = prose.lines().take(FEW_LINES).collect();
    std::fs::write(place.dir.join("few"), few.join("\n") + "\n")?;
    let packed = std::process::Command::new("gzip").arg("-c").arg(place.dir.join("prose")).output()?;
    std::fs::write(place.dir.join("packed.gz"), packed.stdout)?;
    for folder in 0..40 {
        let folder = place.dir.join(format!("tree/{folder}"));
        std::fs::create_dir_all(&folder)?;
        for file in 0..100 {
            std::fs::write(folder.join(file.to_string()), "some words\n".repeat(file))?;
        }
    }
    Ok(place)
}

fn progress(tool: &str, cells: &[Cell]) {
    let below = cells.iter().filter(|cell| cell.is_below()).count();
    let different = cells.iter().filter(|cell| !cell.same).count();
    eprintln!(
        "    {tool}: {} measured, {below} below {BOUND}, {different} with other bytes or another status",
        cells.len()
    );
}

fn results(bench: &Bench, tools: &Tools) -> Outcome<Results> {
    let mut by_name: BTreeMap<&str, Vec<Cell>> = BTreeMap::new();
    for (tool, stored) in tools {
        by_name.insert(tool, serde_json::from_value(stored["cells"].clone())?);
    }
    let all: Vec<&Cell> = by_name.values().flatten().collect();
    let mut below: Vec<&Cell> = all.iter().copied().filter(|cell| cell.is_below()).collect();
    below.sort_by(|one, other| one.worst().total_cmp(&other.worst()));
    let different = all.iter().filter(|cell| !cell.same).count();
    let mut body = by_tool(&by_name, tools) + &by_place(&all);
    if !below.is_empty() {
        body += "\nBelow the bound:\n\n| text | locale | speed, user+sys | speed, real | real tool |\n| --- | --- | ---: | ---: | ---: |\n";
    }
    for cell in &below {
        let text = cell.text.replace('|', "\\|");
        let (locale, cpu, real, shell) = (&cell.locale, cell.cpu, cell.real, cell.seconds[0] * 1e3);
        let _ = writeln!(body, "| `{text}` | {locale} | {cpu:.2} | {real:.2} | {shell:.0} ms |");
    }
    let texts: usize = lines::ALL.iter().map(|lines| lines.texts.len()).sum();
    let rounds = bench.runs(ROUNDS);
    Ok(Results {
        name: "sweep",
        about: format!(
            "{texts} command lines over prose, a log and CSV ({} MB, or {LARGER} times that where the real tool took \
             less than {:.0} ms), in {}, from a file to a file, from a pipe, and to /dev/null. One round each; where \
             pelton was below {BOUND} of the real tool's speed, medians of {rounds} more rounds in turns, and while \
             it stays below, of up to {} in all. Below the bound is a cell if the 95% interval of its median is.",
            bench.size_mb(10),
            SHORTEST_SECONDS * 1e3,
            LOCALES.join(", "),
            rounds * BATCHES,
        ),
        body,
        claims: vec![
            Claim::at_most("below the bound, of all that was measured", below.len() as f64, 0.0, ""),
            Claim::at_most("texts with other bytes or another status", different as f64, 0.0, ""),
        ],
        data: Value::Object(tools.clone()),
    })
}

/// Returns a row per tool: the number of cells, and their speeds.
fn by_tool(cells: &BTreeMap<&str, Vec<Cell>>, tools: &Tools) -> String {
    let mut table = String::from(
        "Speed: the real tool's time by pelton's; geometric means.\n\n| tool | measured | user+sys | real | slowest | below | commit |\n| --- | ---: | ---: | ---: | ---: | ---: | --- |\n",
    );
    for (tool, cells) in cells {
        let cpu = stats::geometric_mean(cells.iter().map(|cell| cell.cpu));
        let real = stats::geometric_mean(cells.iter().map(|cell| cell.real));
        let slowest = cells.iter().map(Cell::worst).fold(f64::INFINITY, f64::min);
        let below = cells.iter().filter(|cell| cell.is_below()).count();
        let (measured, commit) = (cells.len(), tools[*tool]["commit"].as_str().unwrap_or_default());
        let _ = writeln!(
            table,
            "| {tool} | {measured} | {cpu:.2} | {real:.2} | {slowest:.2} | {below} | {commit} |"
        );
    }
    table
}

/// Returns a row per locale and way.
fn by_place(cells: &[&Cell]) -> String {
    let mut table =
        String::from("\n| locale | way | measured | user+sys | real |\n| --- | --- | ---: | ---: | ---: |\n");
    for locale in LOCALES {
        for way in Way::ALL {
            let here = || cells.iter().filter(|cell| cell.locale == locale && cell.way == way.name());
            let (cpu, real) = (
                stats::geometric_mean(here().map(|cell| cell.cpu)),
                stats::geometric_mean(here().map(|cell| cell.real)),
            );
            let measured = here().count();
            let _ = writeln!(table, "| {locale} | {} | {measured} | {cpu:.2} | {real:.2} |", way.name());
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_texts() {
        assert_eq!(Way::File.text("wc -l @", "a").as_deref(), Some("wc -l a > out"));
        assert_eq!(Way::Null.text("tr a b", "a").as_deref(), Some("< a tr a b > /dev/null"));
        assert_eq!(
            Way::Pipe.text("grep x @", "a").as_deref(),
            Some("dd if=a bs=64k status=none | grep x - > out")
        );
        assert_eq!(Way::Pipe.text("seq 5", "a"), None);
        assert_eq!(Way::File.text("seq 5", "a").as_deref(), Some("seq 5 > out"));
    }

    #[test]
    fn enough_lines_and_none_twice() {
        let texts: Vec<_> = lines::ALL.iter().flat_map(|lines| lines.texts).collect();
        assert!(texts.len() >= 150, "{}", texts.len());
        let distinct: std::collections::BTreeSet<_> = texts.iter().collect();
        assert_eq!(distinct.len(), texts.len());
    }
}
