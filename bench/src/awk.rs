//! Awk programs: pelton with one and two threads beside mawk and gawk, CPU and time, after checking that all
//! print the same; and the two-stage JSON parser.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::contest::{Contender, Samples, contest, run_once};
use super::results::{Claim, Results};
use super::shell_and_run::{Place, digest};
use super::{Bench, stats};
use workbench::Outcome;
use workbench::cargo_workspace::{on_path, root};
use workbench::inputs::{ACCESS_LOG, JSON_MENU, LINES, PURCHASES, Recipe};

/// Each program, as shell words after the name of an awk, and whether two threads can share the work.
const CASES: &[(&str, &str, bool)] = &[
    ("'{print $2}'", "log", true),
    ("'{print $1, $7}'", "log", true),
    ("-F, '{print $2}'", "csv", true),
    ("'$9 ~ /^5/'", "log", true),
    ("'/POST/ {print $7}'", "log", true),
    ("'$9 == 404 {print $7}'", "log", true),
    ("-F, 'NR>1 && $4>100 {s+=$6} END {print s}'", "csv", true),
    ("'{s+=$10} END {print s / NR}'", "log", true),
    ("'{c[$1]++} END {for (k in c) print k, c[k]}'", "log", true),
    ("-F, '{c[$3] += $6} END {for (k in c) print k, c[k]}'", "csv", true),
    ("-F, '!seen[$3]++'", "csv", false),
    ("-F, '!seen[$2]++'", "csv", false),
    ("'{gsub(/a/,\"b\")} 1'", "base64", true),
    ("'{gsub(/[0-9]+/,\"#\"); print}'", "log", true),
    ("'length > 80'", "base64", true),
    ("'length > 180'", "log", true),
    ("'{ $2 = \"\"; print }'", "log", true),
    ("-F, '{printf \"%s %d\\n\", $2, $6}'", "csv", true),
    ("-F, '{printf \"%-12s|%8.2f|\\n\", $2, $4}'", "csv", true),
    ("-F, '{print NR \": \" $2}'", "csv", false),
    ("'{print substr($7, 2, 10), toupper($6)}'", "log", true),
    ("-F, '{n = split($5, d, \"-\"); print d[1] d[2], n}'", "csv", true),
    ("'{for (i = 1; i <= NF; i++) n += length($i)} END {print n}'", "log", true),
    ("'END {print NR}'", "log", true),
    ("'{w += NF} END {print w}'", "log", true),
];

const INPUTS: [(&str, Recipe); 3] = [("log", ACCESS_LOG), ("base64", LINES), ("csv", PURCHASES)];

/// Whether the output is sorted before comparing: each awk has its own order of array elements.
fn is_sorted(program: &str) -> bool {
    program.contains(" in ")
}

/// Measures all programs, then the two-stage parser.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let (runs, megabytes) = (bench.runs(3), bench.size_mb(100));
    let mut files = Vec::new();
    for (name, recipe) in INPUTS {
        files.push((name, recipe.file(&bench.data, megabytes)?));
    }
    files.push(("menus", JSON_MENU.file(&bench.data, 24)?));
    let files: Vec<_> = files.iter().map(|(name, path)| (*name, path.as_path())).collect();
    let place = Place::with(&files)?;
    let mut found = Vec::new();
    for (program, input, shared) in CASES {
        let sort = if is_sorted(program) { " | sort" } else { "" };
        let text = |awk: &str, out: &str| format!("{awk} {program} < {input}{sort} > {out}");
        let shown = format!("`{}{}` on {input}", program.replace('|', "\\|"), sort.replace('|', "\\|"));
        found.push(Found { shown, shared: *shared, ..Found::of(bench, &place, &text, runs)? });
        eprintln!("    {}", found[found.len() - 1].row());
    }
    let scripts = root().join("bench/awk");
    let scripts = scripts.display();
    let text = |awk: &str, out: &str| {
        format!("{awk} -f {scripts}/tokenize.awk < menus | {awk} -f {scripts}/parse.awk > {out}")
    };
    let stages = Found::of(bench, &place, &text, runs)?;
    found.push(Found { shown: "JSON in two stages (24 MB)".to_owned(), ..stages });
    let data = found.iter().map(Found::json).collect::<Vec<_>>().into();
    let body = HEAD.to_owned() + &found.iter().map(|one| one.row() + "\n").collect::<String>();
    Ok(Results {
        name: "awk",
        about: format!(
            "Programs of awk, `pelton run 'mawk PROGRAM < FILE > OUT'` beside mawk and gawk under bash, in the C locale, files and OUT \
             in memory or the page cache; {megabytes} MB, {runs} rounds, order alternating. CPU is user+sys of all \
             processes in seconds, of pelton with `--jobs 1`. Where `(k in a)` asks for it, sort stands behind all of them. Two threads: time of \
             `--jobs 1` by that of `--jobs 2`, where the output goes to OUT, and where it is dropped (/dev/null, but for what sort \
             reads): writes to one file in memory, as OUT is, the kernel does one after another, and of a program that prints \
             whatever it reads they are more than half of all time."
        ),
        body,
        claims: claims(&found),
        data,
    })
}

const HEAD: &str = "| program | mawk CPU s | gawk CPU s | pelton CPU s | mawk's CPU by pelton's | two threads: time | CPU | output dropped: time |\n\
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";

/// Samples of one program: mawk, pelton with one thread and with two, both again with output dropped, and
/// gawk if installed.
#[derive(Default)]
struct Found {
    shown: String,
    shared: bool,
    samples: Vec<Samples>,
}

impl Found {
    fn of(bench: &Bench, place: &Place, text: &dyn Fn(&str, &str) -> String, runs: usize) -> Outcome<Found> {
        let shell = |awk: &str| Contender::new(awk, ["bash", "-c", &text(awk, "out")]);
        let pelton = |jobs: &str, out: &str| {
            let binary = bench.pelton.as_os_str();
            let words = [binary, "run".as_ref(), "--jobs".as_ref(), jobs.as_ref(), "--".as_ref()];
            let text = text("mawk", out);
            Contender::new(&format!("pelton --jobs {jobs} > {out}"), words.into_iter().chain([text.as_ref()]))
        };
        let mut all = vec![shell("mawk"), pelton("1", "out"), pelton("2", "out")];
        all.extend(["1", "2"].map(|jobs| pelton(jobs, "/dev/null")));
        all.extend(on_path("gawk").then(|| shell("gawk")));
        let mut expected = None;
        for contender in all[..3].iter() {
            run_once(contender, &place.dir)?;
            let printed = digest(&place.dir.join("out"))?;
            if *expected.get_or_insert(printed) != printed {
                return Err(format!(
                    "{}: prints something else than mawk: {}",
                    contender.name,
                    text("mawk", "out")
                )
                .into());
            }
        }
        Ok(Found { samples: contest(&all, &place.dir, runs, 0)?, ..Found::default() })
    }

    fn cpu(&self) -> f64 {
        stats::median_ratio(&self.samples[0].cpu, &self.samples[1].cpu)
    }

    fn two(&self) -> f64 {
        stats::median_ratio(&self.samples[1].real, &self.samples[2].real)
    }

    /// Returns the same gain with output dropped.
    fn two_dropping(&self) -> f64 {
        stats::median_ratio(&self.samples[3].real, &self.samples[4].real)
    }

    fn row(&self) -> String {
        let cpu = |who: usize| self.samples.get(who).map_or(f64::NAN, |one| stats::median(&one.cpu));
        let mut row = format!("| {} |", self.shown);
        for who in [0, 5, 1] {
            let _ = write!(row, " {:.3} |", cpu(who));
        }
        let more = stats::median_ratio(&self.samples[2].cpu, &self.samples[1].cpu);
        let _ =
            write!(row, " {:.1} | {:.2} | {more:.2} | {:.2} |", self.cpu(), self.two(), self.two_dropping());
        row
    }

    fn json(&self) -> Value {
        let samples: Vec<Value> = self.samples.iter().map(Samples::json).collect();
        json!({"program": self.shown, "samples": samples})
    }
}

fn claims(found: &[Found]) -> Vec<Claim> {
    let list = |wanted: &dyn Fn(&Found) -> Option<f64>, least: f64| {
        let below = found.iter().filter_map(|one| Some((one, wanted(one).filter(|figure| *figure < least)?)));
        below.map(|(one, figure)| format!("{} ({figure:.2})", one.shown)).collect::<Vec<_>>()
    };
    let claim = |what: &str, below: Vec<String>| {
        let names = if below.is_empty() { "none".to_owned() } else { below.join(", ") };
        Claim { text: format!("{what}: {names}"), held: below.is_empty() }
    };
    let shared =
        |one: &Found| (one.shared && stats::median(&one.samples[3].real) > 0.05).then(|| one.two_dropping());
    vec![
        claim("less than 3 times less CPU than mawk", list(&|one| Some(one.cpu()), 3.0)),
        claim(
            "two threads less than 1.7 times as fast, where they share and the output is dropped",
            list(&shared, 1.7),
        ),
    ]
}
