//! Finds where pelton is slower than the real tool: every command with its popular options, over three shapes
//! of data, in three locales, with three ways of reading and writing.
//!
//! ```text
//! one round each ──▶ same bytes? ──▶ at least 0.97 of the real tool's speed? ──▶ done
//!                                        └─ no ──▶ more rounds, medians ──▶ below the bound, or noise
//! ```

mod lines;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::contest::{Contender, Samples, run_to_status};
use super::ratios::{Place, digest};
use super::results::{Claim, Results};
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
        let reads_nothing = !line.contains('@') && ["seq", "find"].iter().any(|name| line.starts_with(name));
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

/// The result for one text in one locale.
struct Cell {
    tool: &'static str,
    text: String,
    locale: &'static str,
    way: Way,
    samples: [Samples; 2],
    same: bool,
}

impl Cell {
    /// Returns the real tool's time divided by pelton's.
    fn speed(&self, of: fn(&Samples) -> &Vec<f64>) -> f64 {
        stats::median_ratio(of(&self.samples[0]), of(&self.samples[1]))
    }

    fn cpu(&self) -> f64 {
        self.speed(|samples| &samples.cpu)
    }

    fn real(&self) -> f64 {
        self.speed(|samples| &samples.real)
    }

    fn worst(&self) -> f64 {
        self.cpu().min(self.real())
    }
}

/// Runs the whole sweep, or the tool that `--only` names.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let place = place(bench)?;
    let mut cells = Vec::new();
    let wanted = |tool: &str| bench.only.as_deref().is_none_or(|only| only.split(',').any(|one| one == tool));
    for lines in lines::ALL.iter().filter(|lines| wanted(lines.tool)) {
        let before = cells.len();
        for text in lines.texts {
            for locale in LOCALES {
                sweep(bench, &place, (lines.tool, text, locale), &mut cells)?;
            }
        }
        progress(lines.tool, &cells[before..]);
    }
    Ok(results(bench, &cells))
}

/// Runs one command line in one locale, over all shapes, in all ways.
fn sweep(
    bench: &Bench,
    place: &Place,
    (tool, line, locale): (&'static str, &str, &'static str),
    cells: &mut Vec<Cell>,
) -> Outcome {
    for (shape, _) in SHAPES {
        for way in Way::ALL {
            for file in [shape.to_owned(), format!("{shape}-large")] {
                let Some(text) = way.text(line, &file) else { continue };
                let Some(samples) = measure(bench, place, &text, locale)? else { continue };
                let (samples, same) = samples;
                cells.push(Cell { tool, text, locale, way, samples, same });
                break;
            }
        }
        if !line.contains('@') && (line.starts_with("seq") || line.starts_with("find")) {
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
    text: &str,
    locale: &'static str,
) -> Outcome<Option<([Samples; 2], bool)>> {
    let pelton = bench.pelton.as_os_str();
    let both = [
        Contender::new("shell", ["bash", "-c", text]).in_locale(locale),
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
    let mut samples = [shell, ours];
    let slow = |[shell, ours]: &[Samples; 2]| {
        let bound = |of: fn(&Samples) -> &Vec<f64>| stats::median_ratio(of(shell), of(ours)) < BOUND;
        bound(|samples| &samples.real) || bound(|samples| &samples.cpu)
    };
    if slow(&samples) {
        // The first round is not counted any more: it was selected for being slow.
        samples = [Samples::default(), Samples::default()];
        for round in 0..bench.runs(ROUNDS) {
            for at in [round % 2, 1 - round % 2] {
                samples[at].push(&run_to_status(&both[at], &place.dir)?.0);
            }
        }
    }
    Ok(Some((samples, same)))
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
    let below = cells.iter().filter(|cell| cell.worst() < BOUND).count();
    let different = cells.iter().filter(|cell| !cell.same).count();
    eprintln!(
        "    {tool}: {} measured, {below} below {BOUND}, {different} with other bytes or another status",
        cells.len()
    );
}

fn geometric(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value: f64| (sum + value.ln(), count + 1));
    (sum / f64::from(count.max(1))).exp()
}

fn results(bench: &Bench, cells: &[Cell]) -> Results {
    let mut below: Vec<&Cell> = cells.iter().filter(|cell| cell.worst() < BOUND).collect();
    below.sort_by(|one, other| one.worst().total_cmp(&other.worst()));
    let different = cells.iter().filter(|cell| !cell.same).count();
    let mut body = by_tool(cells) + &by_place(cells);
    if !below.is_empty() {
        body += "\nBelow the bound:\n\n| text | locale | speed, user+sys | speed, real | real tool |\n| --- | --- | ---: | ---: | ---: |\n";
    }
    for cell in &below {
        let shell = stats::median(&cell.samples[0].real) * 1e3;
        let text = cell.text.replace('|', "\\|");
        let (cpu, real) = (cell.cpu(), cell.real());
        let _ = writeln!(body, "| `{text}` | {} | {cpu:.2} | {real:.2} | {shell:.0} ms |", cell.locale);
    }
    let texts: usize = lines::ALL.iter().map(|lines| lines.texts.len()).sum();
    Results {
        name: "sweep",
        about: format!(
            "{texts} command lines over prose, a log and CSV ({} MB, or {LARGER} times that where the real tool took \
             less than {:.0} ms), in {}, from a file to a file, from a pipe, and to /dev/null. One round each; where \
             pelton was below {BOUND} of the real tool's speed, medians of {} more rounds in turns.",
            bench.size_mb(10),
            SHORTEST_SECONDS * 1e3,
            LOCALES.join(", "),
            bench.runs(ROUNDS),
        ),
        body,
        claims: vec![
            Claim::at_most("below the bound, of all that was measured", below.len() as f64, 0.0, ""),
            Claim::at_most("texts with other bytes or another status", different as f64, 0.0, ""),
        ],
        data: cells.iter().map(json).collect::<Vec<_>>().into(),
    }
}

/// Returns a row per tool: the number of cells, and their speeds.
fn by_tool(cells: &[Cell]) -> String {
    let mut tools: BTreeMap<&str, Vec<&Cell>> = BTreeMap::new();
    cells.iter().for_each(|cell| tools.entry(cell.tool).or_default().push(cell));
    let mut table = String::from(
        "Speed: the real tool's time by pelton's; geometric means.\n\n| tool | measured | user+sys | real | slowest | below |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for (tool, cells) in tools {
        let cpu = geometric(cells.iter().map(|cell| cell.cpu()));
        let real = geometric(cells.iter().map(|cell| cell.real()));
        let slowest = cells.iter().map(|cell| cell.worst()).fold(f64::INFINITY, f64::min);
        let below = cells.iter().filter(|cell| cell.worst() < BOUND).count();
        let _ =
            writeln!(table, "| {tool} | {} | {cpu:.2} | {real:.2} | {slowest:.2} | {below} |", cells.len());
    }
    table
}

/// Returns a row per locale and way.
fn by_place(cells: &[Cell]) -> String {
    let mut table =
        String::from("\n| locale | way | measured | user+sys | real |\n| --- | --- | ---: | ---: | ---: |\n");
    for locale in LOCALES {
        for way in Way::ALL {
            let here: Vec<&Cell> =
                cells.iter().filter(|cell| cell.locale == locale && cell.way.name() == way.name()).collect();
            let cpu = geometric(here.iter().map(|cell| cell.cpu()));
            let real = geometric(here.iter().map(|cell| cell.real()));
            let _ = writeln!(table, "| {locale} | {} | {} | {cpu:.2} | {real:.2} |", way.name(), here.len());
        }
    }
    table
}

/// Returns only medians, the real tool's first: there are thousands of cells.
fn json(cell: &Cell) -> Value {
    let round = |seconds: f64| (seconds * 1e4).round() / 1e4;
    let both = |of: fn(&Samples) -> &Vec<f64>| {
        cell.samples.iter().map(|samples| round(stats::median(of(samples)))).collect::<Vec<_>>()
    };
    json!({
        "text": cell.text,
        "locale": cell.locale,
        "same": cell.same,
        "cpu": cell.cpu(),
        "real": cell.real(),
        "seconds": {"real": both(|samples| &samples.real), "cpu": both(|samples| &samples.cpu)},
    })
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
