//! Pipelines whose CPU goes into expressions, groups, keys and passes: how far is pelton ahead of the shell
//! with one thread and with two?

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::contest::{Contender, Samples, contest, run_once};
use super::results::{Claim, Results, earlier};
use super::shell_and_run::{Place, digest};
use super::{Bench, stats};
use workbench::Outcome;
use workbench::inputs::{ACCESS_LOG, PROSE, PURCHASES, RELEASES, Recipe, SERVICE_LOG, SHORT, WORDS};

/// What takes the time in a pipeline, and the pipelines. Each writes to `out`.
type Kind = (&'static str, &'static [&'static str]);

const KINDS: &[Kind] = &[
    (
        "lines",
        &[
            r"grep -v '^\s*$' short > out",
            r"grep -i '^[^aeiou]*[aeiou][^aeiou]*$' short > out",
            "grep '[A-Z]' short > out",
            "grep -c '^-' short > out",
            "grep -w the short > out",
            "grep -x '[a-z]*' short > out",
            "grep -vE '^(#|-|$)' short > out",
            "grep -c '[0-9]$' short > out",
            "grep -E '^[a-z]+-[0-9]$' short > out",
            r#"grep -E '"(GET|POST) [^ ]+ HTTP/1\.[01]" (4|5)[0-9]{2}' log > out"#,
            "grep -ivE 'bot|crawl|spider' log | grep -c ' 200 ' > out",
            r"sed -E '/^(-|\s*$)/d' short > out",
            "awk '/^[0-9]+$/' short > out",
        ],
    ),
    (
        "groups",
        &[
            r#"sed -E 's/^([0-9.]+) .*\[([^]]+)\].*" ([0-9]{3}) ([0-9]+).*/\1 \2 \3 \4/' log > out"#,
            r"sed -E 's/^([^,]*),([^,]*),(.*)$/\2,\1,\3/' csv > out",
            r"sed -E 's/([a-z]+)=([^ ]+)/\2=\1/g' service > out",
            r"sed 's/\([A-Za-z]*\) \([A-Za-z]*\)/\2 \1/' prose > out",
        ],
    ),
    (
        "back-references",
        &[
            r"grep -E '^(.).*\1$' short > out",
            r"grep -E '([a-z])\1' words > out",
            r"grep '\([a-z][a-z]\)\1' prose > out",
        ],
    ),
    (
        "sorts",
        &[
            "sort -n short > out",
            "sort short > out",
            "sort -u short > out",
            "sort -g releases > out",
            r"sort -t '	' -k2,2h releases > out",
            r"sort -t '	' -k3,3V releases > out",
            r"sort -t '	' -k4,4M -k1,1n releases > out",
            r"sort -f -t '	' -k5 releases > out",
            "sort -t, -k4,4n -k2,2 csv > out",
            "sort -s -t, -k3,3 csv > out",
            "sort -d words > out",
            "sort -k2,2 -k1,1r log > out",
        ],
    ),
    (
        "passes",
        &[
            "tr -cs A-Za-z '\\n' < prose | grep -v '^$' | sort | uniq -c | sort -rn | head > out",
            "cut -d' ' -f1 log | sort | uniq -c | sort -rn | head -n 20 > out",
            "awk '{print $7}' log | sort | uniq -c | sort -rn > out",
            "grep -o 'HTTP/[0-9.]*' log | sort | uniq -c > out",
            r#"grep -oE '"[A-Z]+ [^ ]+' log | cut -d' ' -f2 | sort | uniq -c > out"#,
            "sort -n short | head -n 100 > out",
            "sort words | tail -n 5 > out",
            "sort csv | sed -n '3{p;q}' > out",
        ],
    ),
];

const INPUTS: [(&str, Recipe); 7] = [
    ("short", SHORT),
    ("log", ACCESS_LOG),
    ("csv", PURCHASES),
    ("service", SERVICE_LOG),
    ("prose", PROSE),
    ("words", WORDS),
    ("releases", RELEASES),
];

const LOCALES: [&str; 2] = ["C", "en_US.UTF-8"];

/// The required geometric means: CPU with one thread, time with two.
const MEANS: [f64; 2] = [8.0, 10.0];
/// The least ratio of any pipeline.
const LEAST: f64 = 0.97;

/// The shell and pelton with one and two threads.
struct Row {
    kind: &'static str,
    text: &'static str,
    locale: &'static str,
    same: bool,
    samples: Vec<Samples>,
}

/// The figures of a row that is kept between runs.
struct Figures {
    kind: String,
    cpu: f64,
    real: [f64; 2],
    same: bool,
}

/// Runs all pipelines, or those of one kind (`--only`). The results of other kinds and sizes are kept.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let (runs, megabytes) = (bench.runs(3), bench.size_mb(20));
    let place = place(bench, megabytes)?;
    let mut data = match earlier(bench, "limit") {
        Value::Object(sizes) => sizes,
        _ => serde_json::Map::new(),
    };
    let size = format!("{megabytes} MB");
    let mut rows = data.get(&size).and_then(Value::as_object).cloned().unwrap_or_default();
    for (kind, texts) in
        KINDS.iter().filter(|(kind, _)| bench.only.as_deref().is_none_or(|only| only == *kind))
    {
        for text in *texts {
            for locale in LOCALES {
                let row = Row::measure(bench, &place, kind, text, locale, runs)?;
                eprintln!("    {}", row.line());
                rows.insert(format!("{text} [{locale}]"), row.json());
            }
        }
    }
    let known =
        |key: &String| KINDS.iter().flat_map(|kind| kind.1).any(|text| key.starts_with(&format!("{text} [")));
    rows.retain(|key, _| known(key));
    data.insert(size, Value::Object(rows));
    Ok(results(data))
}

/// Returns all pipelines, each with its kind.
pub fn pipelines() -> impl Iterator<Item = (&'static str, &'static str)> {
    KINDS.iter().flat_map(|(kind, texts)| texts.iter().map(move |text| (*kind, *text)))
}

/// Returns the names of the inputs.
pub fn names() -> impl Iterator<Item = &'static str> {
    INPUTS.iter().map(|(name, _)| *name)
}

/// Makes the inputs.
pub fn place(bench: &Bench, megabytes: u64) -> Outcome<Place> {
    Place::with_inputs(bench, &INPUTS, megabytes)
}

impl Row {
    fn measure(
        bench: &Bench,
        place: &Place,
        kind: &'static str,
        text: &'static str,
        locale: &'static str,
        runs: usize,
    ) -> Outcome<Row> {
        let pelton = |jobs: &str| {
            let argv =
                [bench.pelton.as_os_str(), "run".as_ref(), jobs.as_ref(), "--".as_ref(), text.as_ref()];
            Contender::new(jobs, argv).in_locale(locale)
        };
        let all = [
            Contender::new("shell", ["bash", "-c", text]).in_locale(locale),
            pelton("--jobs=1"),
            pelton("--jobs=2"),
        ];
        let mut outputs = Vec::new();
        for contender in &all {
            run_once(contender, &place.dir)?;
            outputs.push(digest(&place.dir.join("out"))?);
        }
        let same = outputs.iter().all(|output| *output == outputs[0]);
        Ok(Row { kind, text, locale, same, samples: contest(&all, &place.dir, runs, 0)? })
    }

    /// Returns the shell's CPU time by pelton's with one thread.
    fn cpu(&self) -> f64 {
        stats::median_ratio(&self.samples[0].cpu, &self.samples[1].cpu)
    }

    /// Returns the shell's time by pelton's with these many threads.
    fn real(&self, threads: usize) -> f64 {
        stats::median_ratio(&self.samples[0].real, &self.samples[threads].real)
    }

    fn line(&self) -> String {
        let [shell, one] = [0, 1].map(|who| stats::median(&self.samples[who].cpu));
        let (text, locale) = (self.text.replace('|', "\\|"), self.locale);
        let (cpu, real, two) = (self.cpu(), self.real(1), self.real(2));
        let different = if self.same { "" } else { " **other bytes**" };
        format!(
            "| `{text}`{different} | {locale} | {shell:.3} s | {one:.3} s | {cpu:.2} | {real:.2} | {two:.2} |"
        )
    }

    fn json(&self) -> Value {
        json!({
            "kind": self.kind,
            "line": self.line(),
            "cpu": self.cpu(),
            "real": [self.real(1), self.real(2)],
            "same": self.same,
            "samples": self.samples.iter().map(Samples::json).collect::<Vec<_>>(),
        })
    }
}

impl Figures {
    fn of(row: &Value) -> Option<Figures> {
        Some(Figures {
            kind: row["kind"].as_str()?.to_owned(),
            cpu: row["cpu"].as_f64()?,
            real: [row["real"][0].as_f64()?, row["real"][1].as_f64()?],
            same: row["same"].as_bool()?,
        })
    }
}

fn results(data: serde_json::Map<String, Value>) -> Results {
    let (mut body, mut claims) = (String::new(), Vec::new());
    for (size, rows) in &data {
        let rows: Vec<&Value> = rows.as_object().into_iter().flatten().map(|(_, row)| row).collect();
        let figures: Vec<Figures> = rows.iter().filter_map(|row| Figures::of(row)).collect();
        let rounds =
            rows.iter().filter_map(|row| row["samples"][0]["raw"]["real"].as_array()).map(Vec::len).min();
        let _ = writeln!(body, "## {size}, {} rounds\n\n{}", rounds.unwrap_or(0), by_kind(&figures));
        body.push_str(HEAD);
        for row in &rows {
            let _ = writeln!(body, "{}", row["line"].as_str().unwrap_or_default());
        }
        body.push('\n');
        claims.extend(self::claims(size, &figures));
    }
    let about = "Pipelines under bash and under `pelton run --jobs 1` and `--jobs 2`, order alternating. Ratios are the shell's \
                 figure by pelton's: user+sys with one thread, time with one and with two.";
    Results { name: "limit", about: about.into(), body, claims, data: Value::Object(data) }
}

const HEAD: &str = "| pipeline | locale | shell, user+sys | pelton, user+sys | user+sys | time | time, two threads |\n\
    | --- | --- | ---: | ---: | ---: | ---: | ---: |\n";

/// Returns a table of geometric means, the last row of all.
fn by_kind(figures: &[Figures]) -> String {
    let mut table = String::from(
        "| geometric mean | rows | user+sys | least | time | time, two threads |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let mut kinds: BTreeMap<&str, Vec<&Figures>> = BTreeMap::new();
    figures.iter().for_each(|row| kinds.entry(&row.kind).or_default().push(row));
    for (kind, rows) in kinds.into_iter().chain([("all", figures.iter().collect())]) {
        let mean = |of: &dyn Fn(&Figures) -> f64| stats::geometric_mean(rows.iter().map(|row| of(row)));
        let (cpu, one, two) = (mean(&|row| row.cpu), mean(&|row| row.real[0]), mean(&|row| row.real[1]));
        let least = rows.iter().map(|row| row.cpu).fold(f64::INFINITY, f64::min);
        let _ = writeln!(table, "| {kind} | {} | {cpu:.2} | {least:.2} | {one:.2} | {two:.2} |", rows.len());
    }
    table
}

fn claims(size: &str, figures: &[Figures]) -> Vec<Claim> {
    let cpu = stats::geometric_mean(figures.iter().map(|row| row.cpu));
    let real = stats::geometric_mean(figures.iter().map(|row| row.real[1]));
    let least = figures.iter().flat_map(|row| [row.cpu, row.real[1]]).fold(f64::INFINITY, f64::min);
    let different = figures.iter().filter(|row| !row.same).count();
    let at_least = |what: &str, figure: f64, bound: f64| Claim {
        text: format!("{size}: {what}: {figure:.2} (at least {bound})"),
        held: figure >= bound,
    };
    vec![
        at_least("user+sys, geometric mean", cpu, MEANS[0]),
        at_least("time with two threads, geometric mean", real, MEANS[1]),
        at_least("least ratio", least, LEAST),
        Claim::at_most(&format!("{size}: rows with other bytes"), different as f64, 0.0, ""),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_forty_pipelines() {
        let texts: Vec<_> = KINDS.iter().flat_map(|kind| kind.1).collect();
        assert_eq!(texts.len(), 40);
        assert!(texts.iter().all(|text| text.ends_with("> out")));
    }
}
