//! The gain from a second core: passes, counts and sorts with one thread and with two, beside GNU's own
//! threads.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::contest::{Contender, Samples, contest_with, peak_bytes};
use super::results::{Claim, Results, Unit, table};
use super::shell_and_run::Place;
use super::{Bench, stats};
use workbench::Outcome;
use workbench::cargo_workspace::on_path;
use workbench::inputs::{LINES, PROSE, PURCHASES, Recipe};

/// Work for several threads.
struct Case {
    name: &'static str,
    /// The text that pelton runs.
    text: &'static str,
    /// The texts that other programs need, to use two cores.
    others: &'static [(&'static str, &'static str)],
    /// Options for pelton.
    options: &'static [&'static str],
    /// Whether the command itself runs, in several processes.
    is_external: bool,
    /// Required speed-up on two cores over the first of the others, if any.
    asked: Option<f64>,
}

const SUBSTITUTIONS: &str =
    "sed 's/a/A/g' < lines | sed 's/b/B/g' | sed 's/c/C/g' | sed 's/d/D/g' | sed 's/[0-9]//g' > out";
/// Has no kernel: its back-reference looks at each line many times.
const HEAVY: &str = r"sed -E 's/([a-z])([0-9])(.*)\1/<\2>\3/' < few > out";
const WORDS: &str = "tr -cs A-Za-z '\\n' < prose | tr A-Z a-z | sort | uniq -c | sort -rn | head > out";
/// The numbers to sort are in the fourth column.
const NUMBERS: &str = "sort -t, -k4,4n csv > out";

const CASES: &[Case] = &[
    Case {
        name: "five seds",
        text: SUBSTITUTIONS,
        others: &[
            (
                "parallel --pipe -k",
                "parallel -j2 --pipe -k --block 10M \"sed s/a/A/g | sed s/b/B/g | sed s/c/C/g | sed s/d/D/g | sed 's/[0-9]//g'\" < lines > out",
            ),
            (
                "pash -w 2",
                "pash -w 2 -c \"cat lines | sed s/a/A/g | sed s/b/B/g | sed s/c/C/g | sed s/d/D/g | sed 's/[0-9]//g'\" > out",
            ),
            ("bash", SUBSTITUTIONS),
        ],
        options: &[],
        is_external: false,
        asked: None,
    },
    Case {
        name: "a heavy command",
        text: HEAVY,
        others: &[
            (
                "parallel --pipe -k",
                r#"parallel -j2 --pipe -k --block 1M "sed -E 's/([a-z])([0-9])(.*)\\1/<\\2>\\3/'" < few > out"#,
            ),
            ("pash -w 2", r#"pash -w 2 -c "cat few | sed -E 's/([a-z])([0-9])(.*)\\1/<\\2>\\3/'" > out"#),
            ("bash", HEAVY),
        ],
        options: &[],
        is_external: true,
        asked: None,
    },
    Case {
        name: "word frequency",
        text: WORDS,
        others: &[
            (
                "pash -w 2",
                "pash -w 2 -c \"cat prose | tr -cs A-Za-z '\\\\n' | tr A-Z a-z | sort | uniq -c | sort -rn | head\" > out",
            ),
            ("bash", WORDS),
        ],
        options: &[],
        is_external: false,
        asked: None,
    },
    Case {
        name: "counting words",
        text: "wc < prose > out",
        others: &[],
        options: &[],
        is_external: false,
        asked: None,
    },
    Case {
        name: "sort, text",
        text: "sort base64 > out",
        others: &[("sort --parallel=2", "sort --parallel=2 base64 > out")],
        options: &[],
        is_external: false,
        asked: Some(2.0),
    },
    Case {
        name: "sort, text, in 256 MB",
        text: "sort base64 > out",
        others: &[("sort --parallel=2 -S 256M", "sort --parallel=2 -S 256M base64 > out")],
        options: &["--memory=256M"],
        is_external: false,
        asked: None,
    },
    Case {
        name: "sort, numbers",
        text: NUMBERS,
        others: &[("sort --parallel=2", "sort --parallel=2 -t, -k4,4n csv > out")],
        options: &[],
        is_external: false,
        asked: Some(2.0),
    },
];

/// Others that split a stream among processes. PaSh's server is not waited for, so its CPU is not counted.
const SPLITTERS: [&str; 2] = ["parallel --pipe -k", "pash -w 2"];
/// The number of pelton's contenders. The last but one chooses its own sharing; the last is two peltons.
const OWN: usize = 6;
const AUTO: usize = OWN - 2;
const HALVES: usize = OWN - 1;
/// Allowed time of two threads, relative to two independent processes.
const BESIDE_HALVES: f64 = 1.1;
/// Allowed time of two threads, relative to one.
const SHARE: f64 = 1.0 / 1.8;
/// Name, recipe, and megabytes unless `--size` is given.
const INPUTS: [(&str, Recipe, u64); 5] = [
    ("base64", LINES, 1000),
    ("lines", LINES, 1000),
    ("few", LINES, 40),
    ("prose", PROSE, 400),
    ("csv", PURCHASES, 500),
];

/// Short cases get further rounds of pelton alone: about this many seconds, and a limited number of rounds.
const MORE_SECONDS: f64 = 15.0;
const MORE_ROUNDS: usize = 20;

fn more_rounds(own: &[Samples]) -> usize {
    let round: f64 = own.iter().map(|one| stats::median(&one.real)).sum();
    ((MORE_SECONDS / round) as usize).min(MORE_ROUNDS)
}

/// Runs all cases.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let runs = bench.runs(3);
    let mut files = Vec::new();
    for (name, recipe, megabytes) in INPUTS {
        let file = recipe.file(&bench.data, bench.size_mb(megabytes))?;
        for (number, half) in halves(&file)?.into_iter().enumerate() {
            files.push((half_of(name, number), half));
        }
        files.push((name.to_owned(), file));
    }
    let files: Vec<(&str, &Path)> =
        files.iter().map(|(name, path)| (name.as_str(), path.as_path())).collect();
    let place = Place::with(&files)?;
    let (mut body, mut claims, mut data) = (String::new(), Vec::new(), Vec::new());
    for case in CASES {
        eprintln!("    {}", case.name);
        let contenders = case.contenders(bench);
        // Keeps one run from having to free what another run printed.
        let out = place.dir.join("out");
        let fresh = || if out.exists() { Ok(std::fs::remove_file(&out)?) } else { Ok(()) };
        let mut samples = contest_with(&contenders, &place.dir, runs, 1, fresh)?;
        let more = contest_with(&contenders[..OWN], &place.dir, more_rounds(&samples[..OWN]), 0, fresh)?;
        samples.iter_mut().zip(&more).for_each(|(one, more)| one.push(more));
        let peaks: Vec<u64> =
            contenders.iter().map(|one| peak_bytes(bench, one, &place.dir)).collect::<Outcome<_>>()?;
        let _ = writeln!(
            body,
            "{}: `{}` {}\n\n{}",
            case.name,
            case.text,
            case.options.join(" "),
            table(&samples, Unit::Seconds)
        );
        let peak =
            contenders.iter().zip(&peaks).map(|(one, peak)| format!("{} {} MB", one.name, peak / 1_000_000));
        let _ = writeln!(body, "Peak memory: {}.\n", peak.collect::<Vec<_>>().join(", "));
        claims.extend(case.claims(&samples));
        data.push(json!({
            "name": case.name,
            "runs": samples.iter().map(Samples::json).collect::<Vec<Value>>(),
            "peak_bytes": peaks,
        }));
    }
    let about = format!(
        "`pelton run --jobs 1` and `--jobs 2`, {runs} rounds of all and up to {MORE_ROUNDS} of pelton's where \
         they are short, order alternating, LC_ALL=C, output to a new file in memory, and to /dev/null \
         by each of them: the kernel writes one file by one thread at a time. Two processes with a half of the input each have nothing to do with each \
         other: what they take is what this machine gives to two at once (of a sort, without the merge of the two)."
    );
    Ok(Results { name: "cores", about, body, claims, data: data.into() })
}

/// Returns the file name of half of an input.
fn half_of(name: &str, number: usize) -> String {
    format!("{name}.{}", number + 1)
}

/// Writes both halves of a file of lines beside it.
fn halves(file: &Path) -> Outcome<[PathBuf; 2]> {
    let halves = [0, 1].map(|number| PathBuf::from(half_of(&file.to_string_lossy(), number)));
    if !halves.iter().all(|half| half.exists()) {
        let text = std::fs::read(file)?;
        let middle = text.len() / 2;
        let end =
            text[middle..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| middle + at + 1);
        std::fs::write(&halves[0], &text[..end])?;
        std::fs::write(&halves[1], &text[end..])?;
    }
    Ok(halves)
}

/// Runs two at once, each with half of the input: this is what the machine gives to two, which is not always
/// twice what it gives to one.
fn two_halves(pelton: Vec<OsString>, text: &str) -> Contender {
    let input = INPUTS.iter().map(|(name, ..)| *name).find(|name| text.contains(&format!(" {name} ")));
    let half = |number: usize| {
        input.map_or_else(|| text.to_owned(), |name| text.replacen(name, &half_of(name, number), 1))
    };
    let mut argv: Vec<OsString> = vec!["env".into()];
    argv.extend([0, 1].map(|number| format!("HALF_{}={}", number + 1, half(number)).into()));
    argv.extend(["sh", "-c", "\"$@\" \"$HALF_1\" & \"$@\" \"$HALF_2\" & wait", "sh"].map(Into::into));
    argv.extend(pelton);
    Contender::new("two times pelton --jobs 1 > /dev/null, a half each", argv)
}

impl Case {
    fn contenders(&self, bench: &Bench) -> Vec<Contender> {
        // Without the text.
        let pelton = |jobs: &str| {
            let mut argv =
                vec![bench.pelton.clone().into_os_string(), "run".into(), format!("--jobs={jobs}").into()];
            argv.extend(self.options.iter().map(Into::into));
            argv.push("--".into());
            argv
        };
        let running = |name: &str, jobs: &str, text: &str| {
            Contender::new(name, pelton(jobs).into_iter().chain([text.into()]))
        };
        let written = |jobs: &str| running(&format!("pelton --jobs {jobs}"), jobs, self.text);
        let text = self.text.replace("> out", "> /dev/null");
        let dropped = |jobs: &str| running(&format!("pelton --jobs {jobs} > /dev/null"), jobs, &text);
        let halves = two_halves(pelton("1"), &text);
        let mut all = vec![written("1"), written("2"), dropped("1"), dropped("2"), written("auto"), halves];
        // Without GNU parallel, the rest is compared.
        let there =
            self.others.iter().filter(|(_, text)| on_path(text.split(' ').next().unwrap_or_default()));
        all.extend(there.map(|(name, text)| Contender::new(name, ["bash", "-c", text])));
        all
    }

    fn claims(&self, samples: &[Samples]) -> Vec<Claim> {
        let ratio = |of: usize, by: usize| stats::median_ratio(&samples[of].real, &samples[by].real);
        let what = format!("{}: time with two threads, of one", self.name);
        let dropped = format!("{what}, output dropped");
        let mut claims = vec![
            Claim::at_most(&what, ratio(1, 0), SHARE, ""),
            Claim::at_most(&dropped, ratio(3, 2), SHARE, ""),
        ];
        if !self.text.starts_with("sort") {
            let what = format!(
                "{}: time with two threads, output dropped, of two processes with a half each",
                self.name
            );
            claims.push(Claim::at_most(&what, ratio(3, HALVES), BESIDE_HALVES, ""));
        }
        if let (Some(asked), Some(other)) = (self.asked, samples.get(OWN)) {
            let what = format!("{}: time with two threads, of `{}`", self.name, other.name);
            claims.push(Claim::at_most(&what, ratio(1, OWN), 1.0 / asked, ""));
        }
        if let Some(shell) = samples.iter().position(|one| one.name == "bash") {
            let what = format!("{}: time as it is, of the shell's", self.name);
            claims.push(Claim::at_most(&what, ratio(AUTO, shell), 1.0, ""));
        }
        for (at, other) in
            samples.iter().enumerate().filter(|(_, one)| SPLITTERS.contains(&one.name.as_str()))
        {
            let (cpu, beyond) = match samples.iter().find(|one| self.is_external && one.name == "bash") {
                // Both run the command: its own cost is subtracted.
                Some(shell) => {
                    let beyond = |at: usize| stats::median(&samples[at].cpu) - stats::median(&shell.cpu);
                    (beyond(1) / beyond(at), " beyond the command's own")
                }
                None => (stats::median_ratio(&samples[1].cpu, &samples[at].cpu), ""),
            };
            let what = format!("{}: CPU with two threads{beyond}, of `{}`", self.name, other.name);
            claims.push(Claim::at_most(&what, cpu, 1.0 / 3.0, ""));
        }
        claims
    }
}
