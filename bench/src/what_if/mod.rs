//! Whether `pelton time --what-if` predicts what a pipeline takes once one of its stages is really faster.
//!
//! By what factor the stage itself became faster is read from both records: its time on a CPU and in waits outside the
//! pipeline. The prediction for the whole comes from the record before the change alone.

mod cases;
mod runnable;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use pelton_observe::what_if::{Change, Predictor};
use pelton_record::{Prediction, Run, Stage};
use serde_json::{Value, json};

use super::Bench;
use super::results::{Claim, Results};
use super::shell_and_run::Place;
use super::stats::median;
use cases::{CASES, Case};
use runnable::Runnable;
use workbench::steps::timed;
use workbench::{Failure, Outcome};

/// The largest allowed difference between prediction and truth, in percent.
const ALLOWED: f64 = 10.0;

/// Rounds for each one that is wanted, if the load of other programs changes within rounds.
const MOST_ROUNDS: usize = 6;
/// The threads of other programs by which the loads of the two runs of a round may differ: this many, or this share.
const SAME_LOAD: (f64, f64) = (0.3, 0.1);

/// What one case gave: medians of its runs.
struct Answer {
    before_s: f64,
    /// The stage's own time afterwards, as a share of that before.
    factor: f64,
    predicted_s: f64,
    low_s: f64,
    high_s: f64,
    real_s: f64,
    /// The prediction without other programs, and the model of the real runs afterwards without them.
    alone_s: (f64, f64),
    /// Rounds made; those in which the load changed do not count.
    rounds: usize,
    /// Threads of other programs that were runnable, on average.
    load: f64,
    /// Runs whose model did not reproduce what was measured, with the reason.
    refused: Vec<String>,
}

impl Answer {
    fn off_percent(&self) -> f64 {
        (self.predicted_s / self.real_s - 1.0) * 100.0
    }

    fn off_alone_percent(&self) -> f64 {
        (self.alone_s.0 / self.alone_s.1 - 1.0) * 100.0
    }
}

/// Runs every case `--runs` times (5 by default), before and after in turns.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let place = Place::named("pelton-what-if")?;
    make_data(&place.dir)?;
    let (mut body, mut data, mut within, mut in_range, mut worst) = (HEAD.to_owned(), vec![], 0, 0, 0.0_f64);
    let mut within_alone = 0;
    for case in CASES {
        let answer = timed(case.name, || ask(bench, case, &place.dir))?;
        let off = answer.off_percent();
        within += usize::from(off.abs() <= ALLOWED);
        in_range += usize::from((answer.low_s..=answer.high_s).contains(&answer.real_s));
        within_alone += usize::from(answer.off_alone_percent().abs() <= ALLOWED);
        worst = worst.max(off.abs());
        let _ = writeln!(body, "{}", row(case, &answer));
        data.push(json(case, &answer));
    }
    let _ = write!(body, "\nThe cases (own stages: microseconds for each megabyte):\n\n");
    for case in CASES {
        let texts = |case: &Case| case.before.join(" | ").replace('\n', "; ");
        let faster = case.faster.replace('\n', "; ");
        let _ = writeln!(
            body,
            "- **{}**: `{}`; stage {} becomes `{faster}`",
            case.name,
            texts(case),
            case.stage + 1
        );
    }
    let runs = bench.runs(5);
    Ok(Results {
        name: "what-if",
        about: format!(
            "Medians of {runs} runs before and {runs} after one stage was really made faster, in turns. The prediction is made \
             from each record before; of the rounds, those count in which other programs had the same number of runnable \
             threads in both runs. From the record after comes only by how much the stage itself became faster. 'Without other \
             programs' is the prediction without the waits that other programs caused, for the model of the record after \
             without them: a check of the model where the machine is never quiet."
        ),
        body,
        claims: vec![
            Claim::at_most("the largest difference between prediction and truth", worst, ALLOWED, "%"),
            Claim {
                text: format!("within {ALLOWED:.0} %: {within} of {}", CASES.len()),
                held: within == CASES.len(),
            },
            Claim {
                text: format!(
                    "without other programs within {ALLOWED:.0} %: {within_alone} of {}",
                    CASES.len()
                ),
                held: within_alone == CASES.len(),
            },
            Claim {
                text: format!("within the range told: {in_range} of {}", CASES.len()),
                held: in_range == CASES.len(),
            },
        ],
        data: data.into(),
    })
}

/// Writes the inputs: random base64 in lines, and numbers.
fn make_data(dir: &Path) -> Outcome {
    let sh = |text: &str| -> Outcome {
        let status = Command::new("sh").arg("-c").arg(text).current_dir(dir).status()?;
        if status.success() { Ok(()) } else { Err(Failure::from(format!("`{text}` failed"))) }
    };
    sh("head -c 45000000 /dev/urandom | base64 > lines")?;
    sh("seq 1500000 > numbers")
}

fn ask(bench: &Bench, case: &Case, dir: &Path) -> Outcome<Answer> {
    let Rounds { before, after, loads, made } = rounds(bench, case, dir)?;
    let own = |runs: &[Run]| {
        let times =
            runs.iter().filter_map(|run| Some(own_seconds(run.pipelines.first()?.stages.get(case.stage)?)));
        median(&times.collect::<Vec<_>>())
    };
    let factor = own(&after) / own(&before);
    let (mut predictions, mut refused) = (Vec::new(), Vec::new());
    for run in &before {
        match predict(run, case.stage, factor) {
            Ok(prediction) => predictions.push(prediction),
            Err(reason) => refused.push(reason),
        }
    }
    let of = |part: fn(&Prediction) -> u64| {
        median(&predictions.iter().map(|prediction| part(prediction) as f64 / 1e9).collect::<Vec<_>>())
    };
    let total = |runs: &[Run]| median(&runs.iter().map(|run| run.wall_ns as f64 / 1e9).collect::<Vec<_>>());
    Ok(Answer {
        before_s: total(&before),
        factor,
        predicted_s: of(|prediction| prediction.total_ns),
        low_s: of(|prediction| prediction.low_ns),
        high_s: of(|prediction| prediction.high_ns),
        real_s: total(&after),
        alone_s: alone(&before, &after, case.stage, factor),
        rounds: made,
        load: median(&loads),
        refused,
    })
}

fn predict(run: &Run, stage: usize, factor: f64) -> Result<Prediction, String> {
    let pipeline = run.pipelines.first().ok_or("nothing was run")?;
    let predictor = Predictor::fit(run, pipeline)?;
    predictor.predict(stage, Change::Work(factor)).ok_or_else(|| "the changed model comes to no end".into())
}

/// Returns the prediction without other programs, and what the records afterwards take without them.
fn alone(before: &[Run], after: &[Run], stage: usize, factor: f64) -> (f64, f64) {
    let predicted = |run: &Run| {
        let fitted = Predictor::fit(run, run.pipelines.first()?).ok()?.without_other_programs()?;
        Some(fitted.predict(stage, Change::Work(factor))?.total_ns as f64 / 1e9)
    };
    let real = |run: &Run| {
        Some(Predictor::fit(run, run.pipelines.first()?).ok()?.without_other_programs()?.modelled_seconds())
    };
    let middle = |seconds: Vec<f64>| median(&seconds);
    (middle(before.iter().filter_map(predicted).collect()), middle(after.iter().filter_map(real).collect()))
}

/// Returns the time that a stage needs for itself: on a CPU and in waits outside the pipeline.
fn own_seconds(stage: &Stage) -> f64 {
    let ns = stage.waits.as_ref().map_or(stage.cost.cpu_ns(), |waits| waits.running_ns + waits.other_ns);
    ns as f64 / 1e9
}

/// Returns the pipeline's text, with one stage replaced.
fn text(case: &Case, faster: Option<&str>, dir: &Path) -> Outcome<String> {
    let own = std::env::current_exe()?;
    let stages = case.before.iter().enumerate().map(|(i, before)| {
        let text = faster.filter(|_| i == case.stage).unwrap_or(before);
        match text.strip_prefix("stage ") {
            Some(options) => {
                format!("'{}' stage {options} --diary '{}/diary-{i}'", own.display(), dir.display())
            }
            None => text.to_owned(),
        }
    });
    Ok(stages.collect::<Vec<_>>().join(" | "))
}

/// Runs before and after a change, in pairs with the same load of other programs.
#[derive(Default)]
struct Rounds {
    before: Vec<Run>,
    after: Vec<Run>,
    loads: Vec<f64>,
    made: usize,
}

/// Runs before and after in turns until there are enough pairs with the same load. If there are none after many rounds,
/// the last ones count.
fn rounds(bench: &Bench, case: &Case, dir: &Path) -> Outcome<Rounds> {
    let wanted = bench.runs(5);
    let texts = [text(case, None, dir)?, text(case, Some(case.faster), dir)?];
    let mut rounds = Rounds::default();
    while rounds.before.len() < wanted {
        let (before, load_before) = record(bench, &texts[0], dir)?;
        let (after, load_after) = record(bench, &texts[1], dir)?;
        rounds.made += 1;
        let tolerance = SAME_LOAD.0.max(SAME_LOAD.1 * load_before.max(load_after));
        let is_last_chance = rounds.made + wanted > MOST_ROUNDS * wanted && rounds.before.is_empty();
        if (load_before - load_after).abs() <= tolerance || is_last_chance {
            rounds.before.push(before);
            rounds.after.push(after);
            rounds.loads.push(f64::midpoint(load_before, load_after));
        } else if rounds.made >= MOST_ROUNDS * wanted {
            break;
        }
    }
    Ok(rounds)
}

/// Runs a text, and returns its record with timelines and the load of other programs meanwhile.
fn record(bench: &Bench, text: &str, dir: &Path) -> Outcome<(Run, f64)> {
    let path = dir.join("record.json");
    let mut time = Command::new(&bench.pelton);
    time.args(["time", "--timeline", "--json", "--output"]).arg(&path).arg("--").arg(text);
    time.current_dir(dir).env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null());
    let runnable = Runnable::watch();
    let out = time.stderr(Stdio::piped()).output()?;
    let runnable = runnable.mean();
    let said = || String::from_utf8_lossy(&out.stderr).into_owned();
    let record = fs::read_to_string(&path)
        .map_err(|error| -> Failure { format!("pelton time left no record ({error}): {}", said()).into() })?;
    let run: Run = serde_json::from_str(&record)?;
    let wants = |stage: &Stage| stage.waits.as_ref().map_or(0, |waits| waits.running_ns + waits.cpu_wait_ns);
    let own_ns: u64 = run.pipelines.iter().flat_map(|pipeline| &pipeline.stages).map(wants).sum();
    let own = own_ns as f64 / run.wall_ns.max(1) as f64;
    Ok((run, (runnable - own).max(0.0)))
}

const HEAD: &str = "\
| case | stage | own time | before | predicted | range | real | off by | without other programs | rounds | load | refused |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
";

fn row(case: &Case, answer: &Answer) -> String {
    let (predicted, modelled) = answer.alone_s;
    let alone = match answer.off_alone_percent() {
        off if off.is_nan() => "not modelled".to_owned(),
        off => format!("{predicted:.2} s for {modelled:.2} s, {off:+.1} %"),
    };
    format!(
        "| {} | {} | × {:.2} | {:.2} s | {:.2} s | {:.2} to {:.2} s | {:.2} s | {:+.1} % | {} | {} | {:.1} | {} |",
        case.name,
        case.stage + 1,
        answer.factor,
        answer.before_s,
        answer.predicted_s,
        answer.low_s,
        answer.high_s,
        answer.real_s,
        answer.off_percent(),
        alone,
        answer.rounds,
        answer.load,
        answer.refused.len()
    )
}

fn json(case: &Case, answer: &Answer) -> Value {
    json!({
        "case": case.name, "stage": case.stage, "before": case.before, "faster": case.faster,
        "factor": answer.factor, "before_s": answer.before_s, "predicted_s": answer.predicted_s,
        "low_s": answer.low_s, "high_s": answer.high_s, "real_s": answer.real_s, "refused": answer.refused,
        "predicted_alone_s": answer.alone_s.0, "modelled_alone_s": answer.alone_s.1,
        "rounds": answer.rounds, "other_runnable_threads": answer.load,
    })
}
