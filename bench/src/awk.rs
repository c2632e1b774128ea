//! Awk programs: pelton with one and two threads beside mawk and gawk, in C and in en_US.UTF-8, CPU and time, after
//! checking that it prints what they print; and the two-stage JSON parser.

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

/// The awks and the locales in which each program runs.
const SIDES: [(&str, &str); 4] =
    [("mawk", "C"), ("mawk", "en_US.UTF-8"), ("gawk", "C"), ("gawk", "en_US.UTF-8")];

/// Measures all programs, then the two-stage parser.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let (runs, megabytes) = (bench.runs(3), bench.size_mb(100));
    let place = Place::with_inputs(bench, &INPUTS, megabytes)?;
    place.add("menus", &JSON_MENU.file(&bench.data, 24)?)?;
    let sides: Vec<_> = SIDES.into_iter().filter(|(awk, _)| on_path(awk)).collect();
    let mut found = Vec::new();
    for (program, input, shared) in CASES {
        let text = |awk: &str, out: &str| format!("{awk} {program} < {input} > {out}");
        let shown = format!("`{}` on {input}", program.replace('|', "\\|"));
        let measured = sides.iter().map(|side| Side::of(bench, &place, *side, &text, runs));
        found.push(Found { shown, shared: *shared, sides: measured.collect::<Outcome<_>>()? });
        eprintln!("    {}", found[found.len() - 1].row());
    }
    let scripts = root().join("bench/awk");
    let scripts = scripts.display();
    let text = |awk: &str, out: &str| {
        format!("{awk} -f {scripts}/tokenize.awk < menus | {awk} -f {scripts}/parse.awk > {out}")
    };
    let measured = sides.iter().map(|side| Side::of(bench, &place, *side, &text, runs));
    let shown = "JSON in two stages (24 MB)".to_owned();
    found.push(Found { shown, shared: false, sides: measured.collect::<Outcome<_>>()? });
    let data = found.iter().map(Found::json).collect::<Vec<_>>().into();
    let body = HEAD.to_owned() + &found.iter().map(|one| one.row() + "\n").collect::<String>();
    Ok(Results {
        name: "awk",
        about: format!(
            "Programs of awk, `pelton run 'AWK PROGRAM < FILE > OUT'` beside that awk under bash, files and OUT in memory or the page cache; \
             {megabytes} MB, {runs} rounds, order alternating. CPU is user+sys of all processes in seconds: of the awk / of pelton with \
             `--jobs 1` = how many times less. What pelton prints is compared first. Then, with gawk: pelton's CPU in en_US.UTF-8 by that \
             in C; and the time of `--jobs 1` by that of `--jobs 2`, in C, output dropped (/dev/null): writes to one file in memory \
             the kernel does one after another."
        ),
        body,
        claims: claims(&found),
        data,
    })
}

const HEAD: &str = "| program | mawk, C | mawk, en_US.UTF-8 | gawk, C | gawk, en_US.UTF-8 | en_US.UTF-8 by C | two threads |\n\
    | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";

/// One program in one awk and locale.
struct Side {
    awk: &'static str,
    locale: &'static str,
    /// The awk, and pelton with one thread; then pelton with one thread and two, output dropped.
    samples: Vec<Samples>,
}

impl Side {
    fn of(
        bench: &Bench,
        place: &Place,
        (awk, locale): (&'static str, &'static str),
        text: &dyn Fn(&str, &str) -> String,
        runs: usize,
    ) -> Outcome<Side> {
        let shell = Contender::new(awk, ["bash", "-c", &text(awk, "out")]).in_locale(locale);
        let pelton = |jobs: &str, out: &str| {
            let binary = bench.pelton.as_os_str();
            let words = [binary, "run".as_ref(), "--jobs".as_ref(), jobs.as_ref(), "--".as_ref()];
            let text = text(awk, out);
            let argv = words.into_iter().chain([text.as_ref()]);
            Contender::new(&format!("pelton --jobs {jobs} > {out}"), argv).in_locale(locale)
        };
        let all = [shell, pelton("1", "out"), pelton("1", "/dev/null"), pelton("2", "/dev/null")];
        let mut printed = Vec::new();
        for contender in &all[..2] {
            run_once(contender, &place.dir)?;
            printed.push(digest(&place.dir.join("out"))?);
        }
        if printed[0] != printed[1] {
            return Err(format!("pelton prints something else in {locale}: {}", text(awk, "out")).into());
        }
        Ok(Side { awk, locale, samples: contest(&all, &place.dir, runs, 0)? })
    }

    fn cpu(&self) -> f64 {
        stats::median_ratio(&self.samples[0].cpu, &self.samples[1].cpu)
    }

    fn two(&self) -> f64 {
        stats::median_ratio(&self.samples[2].real, &self.samples[3].real)
    }

    fn cell(&self) -> String {
        let cpu = |who: usize| stats::median(&self.samples[who].cpu);
        format!("{:.3} / {:.3} = {:.1}", cpu(0), cpu(1), self.cpu())
    }

    fn json(&self) -> Value {
        let samples: Vec<Value> = self.samples.iter().map(Samples::json).collect();
        json!({"awk": self.awk, "locale": self.locale, "samples": samples})
    }
}

/// One program.
struct Found {
    shown: String,
    shared: bool,
    sides: Vec<Side>,
}

impl Found {
    fn side(&self, (awk, locale): (&str, &str)) -> Option<&Side> {
        self.sides.iter().find(|side| side.awk == awk && side.locale == locale)
    }

    /// Returns pelton's CPU time in en_US.UTF-8 by that in C.
    fn english(&self, awk: &str) -> Option<f64> {
        let (english, plain) = (self.side((awk, "en_US.UTF-8"))?, self.side((awk, "C"))?);
        Some(stats::median(&english.samples[1].cpu) / stats::median(&plain.samples[1].cpu))
    }

    fn row(&self) -> String {
        let mut row = format!("| {} |", self.shown);
        let dash = || "-".to_owned();
        for side in SIDES {
            let _ = write!(row, " {} |", self.side(side).map_or_else(dash, Side::cell));
        }
        let figure = |number: Option<f64>| number.map_or_else(dash, |number| format!("{number:.2}"));
        let two = self.side(("gawk", "C")).map(Side::two);
        let _ = write!(row, " {} | {} |", figure(self.english("gawk")), figure(two));
        row
    }

    fn json(&self) -> Value {
        let sides: Vec<Value> = self.sides.iter().map(Side::json).collect();
        json!({"program": self.shown, "sides": sides})
    }
}

fn claims(found: &[Found]) -> Vec<Claim> {
    let claim = |what: &str, figure: &dyn Fn(&Found) -> Option<f64>, is_bad: &dyn Fn(f64) -> bool| {
        let bad = found.iter().filter_map(|one| Some((one, figure(one).filter(|figure| is_bad(*figure))?)));
        let bad: Vec<String> = bad.map(|(one, figure)| format!("{} ({figure:.2})", one.shown)).collect();
        let names = if bad.is_empty() { "none".to_owned() } else { bad.join(", ") };
        Claim { text: format!("{what}: {names}"), held: bad.is_empty() }
    };
    let mut claims: Vec<Claim> = [("mawk", 3.0, 3.0), ("gawk", 4.0, 6.0)]
        .into_iter()
        .flat_map(|(awk, plain, english)| [(awk, "C", plain), (awk, "en_US.UTF-8", english)])
        .map(|(awk, locale, least)| {
            let what = format!("less than {least} times less CPU than {awk} in {locale}");
            claim(&what, &|one| one.side((awk, locale)).map(Side::cpu), &|figure| figure < least)
        })
        .collect();
    for awk in ["mawk", "gawk"] {
        let what = format!("more than 15% more CPU in en_US.UTF-8 than in C, as {awk}");
        claims.push(claim(&what, &|one| one.english(awk), &|figure| figure > 1.15));
    }
    let shared = |one: &Found| {
        let side = one.side(("gawk", "C"))?;
        (one.shared && stats::median(&side.samples[2].real) > 0.05).then(|| side.two())
    };
    let what = "two threads less than 1.7 times as fast, where they share and the output is dropped";
    claims.push(claim(what, &shared, &|figure| figure < 1.7));
    claims
}
