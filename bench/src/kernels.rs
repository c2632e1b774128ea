//! Each kernel alone beside its real tool: megabytes per second of CPU time, and the ratio.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::results::{Claim, Results};
use super::shell_and_run::{LOCALES, Place, Ratio};
use super::{Bench, stats};
use workbench::Outcome;
use workbench::inputs::{ACCESS_LOG, LINES, PROSE, PURCHASES, Recipe, WORDS};

/// A command, its input, and whether it is a simple command that must exceed 1 GB/s.
type Case = (&'static str, &'static str, bool);

/// `seq` reads nothing: it prints about as much as the others read.
const CASES: &[Case] = &[
    ("cat", "log", true),
    ("cat -n", "log", false),
    ("tac", "log", false),
    ("rev", "log", false),
    ("nl", "log", false),
    ("head -n 1000000", "log", true),
    ("head -n -5", "log", true),
    ("tail -n 1000000", "log", true),
    ("tail -n +3", "log", true),
    ("tr a-z A-Z", "prose", true),
    ("tr -d 0-9", "base64", true),
    ("tr -s ' '", "prose", true),
    ("tr -cs A-Za-z '\\n'", "prose", true),
    ("cut -d, -f2,5", "csv", true),
    ("cut -d, -f1", "csv", true),
    ("cut -c1-20", "log", true),
    ("wc -l", "log", true),
    ("wc -w", "prose", true),
    ("wc -c", "log", true),
    ("wc -m", "prose", true),
    ("uniq", "sorted", true),
    ("uniq -c", "words", true),
    ("paste - -", "csv", false),
    ("paste -s -d,", "csv", false),
    ("expand", "csv", false),
    ("fold -w 20", "log", false),
    ("comm sorted fewer", "", false),
    ("join sorted fewer", "", false),
    ("seq 14000000", "", false),
    ("sort", "csv", false),
    ("sort -u", "words", false),
    ("sort -t, -k2,2", "csv", false),
    ("sort -t, -k4,4n", "csv", false),
    ("sort -rn", "csv", false),
    ("grep 404", "log", true),
    ("grep -c GET", "log", true),
    ("grep -v Firefox", "log", true),
    ("grep -o 'HTTP/[0-9.]*'", "log", false),
    ("grep -E '^[0-9.]+ .*(png|html)'", "log", false),
    ("sed 's/a/A/g'", "base64", false),
    ("sed -n '/404/p'", "log", false),
    ("sed 's/[0-9]//g'", "base64", false),
];

const INPUTS: [(&str, Recipe); 5] =
    [("log", ACCESS_LOG), ("prose", PROSE), ("base64", LINES), ("csv", PURCHASES), ("words", WORDS)];

/// Runs all cases.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let (runs, megabytes) = (bench.runs(3), bench.size_mb(100));
    let place = place(bench, megabytes)?;
    let mut table = HEAD.to_owned();
    let (mut data, mut ratios, mut slow) = (Vec::new(), Vec::new(), Vec::new());
    for (command, input, simple) in CASES {
        let text =
            if input.is_empty() { format!("{command} > out") } else { format!("{command} < {input} > out") };
        let measured = LOCALES.map(|locale| Ratio::of(bench, &place, &text, locale, runs));
        let [plain, wide] = measured;
        let measured = [plain?, wide?];
        let bytes = bytes(&place.dir, input)?;
        let speeds = measured.each_ref().map(|ratio| speed(bytes, &ratio.samples[1].cpu));
        slow.extend((*simple && speeds[0] < 1000.0).then(|| format!("`{command}` {:.0} MB/s", speeds[0])));
        let row = row(command, input, bytes, &measured);
        eprintln!("    {row}");
        let _ = writeln!(table, "{row}");
        ratios.extend(measured.iter().map(|ratio| (format!("`{command}` in {}", ratio.locale), ratio.cpu())));
        data.push(json!({"command": command, "input": input, "bytes": bytes, "runs": measured.each_ref().map(Ratio::json)}));
    }
    Ok(Results {
        name: "kernels",
        about: format!(
            "Each kernel alone, `pelton run --jobs 1 'CMD < FILE > OUT'` beside the tool under bash, both files in memory or the page \
             cache, and OUT made anew each time; {megabytes} MB, {runs} rounds, order alternating. MB/s are of what is \
             read, by user+sys of all processes, start-up, reading and writing included."
        ),
        body: table,
        claims: claims(&ratios, &slow),
        data: Value::Array(data),
    })
}

const HEAD: &str = "| command | data | C: tool MB/s | pelton MB/s | CPU ratio | C.UTF-8: tool MB/s | pelton MB/s | CPU ratio |\n\
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";

fn row(command: &str, input: &str, bytes: f64, measured: &[Ratio; 2]) -> String {
    let mut row = format!("| `{}` | {input} |", command.replace('|', "\\|"));
    for ratio in measured {
        let [tool, pelton] = [0, 1].map(|who| speed(bytes, &ratio.samples[who].cpu));
        let _ = write!(row, " {tool:.0} | {pelton:.0} | {:.1} |", ratio.cpu());
    }
    row
}

fn speed(bytes: f64, cpu: &[f64]) -> f64 {
    bytes / 1e6 / stats::median(cpu)
}

fn claims(ratios: &[(String, f64)], slow: &[String]) -> Vec<Claim> {
    let slower: Vec<String> = ratios
        .iter()
        .filter(|(_, ratio)| *ratio < 1.0)
        .map(|(name, ratio)| format!("{name} ({ratio:.2})"))
        .collect();
    let median = stats::median(&ratios.iter().map(|(_, ratio)| *ratio).collect::<Vec<_>>());
    let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    vec![
        Claim { text: format!("slower than the tool: {}", list(&slower)), held: slower.is_empty() },
        Claim { text: format!("median CPU ratio {median:.1} (at least 3)"), held: median >= 3.0 },
        Claim { text: format!("simple kernels below 1 GB/s: {}", list(slow)), held: slow.is_empty() },
    ]
}

/// Returns the bytes that a case reads or, without an input, prints.
fn bytes(dir: &Path, input: &str) -> Outcome<f64> {
    let name = if input.is_empty() { "out" } else { input };
    Ok(dir.join(name).metadata()?.len() as f64)
}

/// Makes the inputs, two of them sorted for comm and join, where the second lacks every third line.
fn place(bench: &Bench, megabytes: u64) -> Outcome<Place> {
    let mut files = Vec::new();
    for (name, recipe) in INPUTS {
        files.push((name, recipe.file(&bench.data, megabytes)?));
    }
    for (name, program, argument, source) in
        [("sorted", "sort", "-u", "base64"), ("fewer", "sed", "0~3d", "sorted")]
    {
        let path = bench.data.join(format!("{name}-{megabytes}mb.txt"));
        let source = files.iter().find(|(known, _)| *known == source).map(|(_, path)| path.clone());
        if !path.exists() {
            let out = std::fs::File::create(&path)?;
            let input = std::fs::File::open(source.ok_or("made before")?)?;
            let status =
                Command::new(program).arg(argument).env("LC_ALL", "C").stdin(input).stdout(out).status()?;
            if !status.success() {
                return Err(format!("{program} cannot make {}", path.display()).into());
            }
        }
        files.push((name, path));
    }
    let files: Vec<(&str, &Path)> = files.iter().map(|(name, path)| (*name, path.as_path())).collect();
    Place::with(&files)
}
