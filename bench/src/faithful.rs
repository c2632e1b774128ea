//! Whether `pelton time` disturbs what it measures, and whether its figures are those of the kernel.

use serde_json::{Value, json};

use super::contest::{Contender, contest};
use super::results::{Claim, Results, Unit, table};
use super::{Bench, stats};
use workbench::Outcome;
use workbench::inputs::LINES;
use workbench::steps::timed;

/// Runs the same pipeline under bash, under pelton, and under bash again: the last shows the noise.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let (runs, megabytes) = (bench.runs(15), bench.size_mb(100));
    let file = LINES.file(&bench.data, megabytes)?;
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    let pipeline = format!("cat {file} | tr a-z A-Z | sed 's/[0-9]/#/g' | grep AB | sort | uniq -c");
    let pelton = bench.pelton.as_os_str();
    let record = bench.data.join(format!("faithful-{}.json", std::process::id()));
    let contenders = [
        Contender::new("bash -c", ["bash", "-c", &pipeline]),
        Contender::new("pelton time", [pelton, "time".as_ref(), "--".as_ref(), pipeline.as_ref()]),
        Contender::new(
            "pelton run --faithful",
            [pelton, "run".as_ref(), "--faithful".as_ref(), "--".as_ref(), pipeline.as_ref()],
        ),
        Contender::new("bash -c, again", ["bash", "-c", &pipeline]),
    ];
    let samples = timed(&format!("{runs} rounds of {} runs", contenders.len()), || {
        contest(&contenders, &bench.data, runs, 1)
    })?;
    let (bash, time, again) = (&samples[0], &samples[1], &samples[3]);

    let recorded = recorded(bench, &pipeline, &record);
    // Leaves no file, whether the run worked or not.
    let _ = std::fs::remove_file(&record);
    let recorded_cpu = cpu(&recorded?);

    // Compares runs that are adjacent in time: the machine's speed changes from minute to minute.
    let percent = |a: &[f64], b: &[f64]| (stats::median_ratio(a, b) - 1.0) * 100.0;
    let noise = (percent(&again.cpu, &bash.cpu), percent(&again.real, &bash.real));
    let body = format!(
        "`{pipeline}`, {megabytes} MB, {runs} rounds after one of warming up, LC_ALL=C, order alternating.\n\n{}\n\
         The second bash is the noise: user+sys {:+.2} %, real {:+.2} %. \
         pelton's own record of one run says user+sys {recorded_cpu:.3} s.\n",
        table(&samples, Unit::Seconds),
        noise.0,
        noise.1,
    );
    Ok(Results {
        name: "faithful",
        about:
            "`pelton time` and `pelton run --faithful` beside bash: the cost of being measured. Each figure includes \
                everything that the contender started, and itself."
                .into(),
        body,
        claims: vec![
            Claim::at_most(
                "pelton time, user+sys over bash's",
                percent(&time.cpu, &bash.cpu),
                1.0,
                "%",
            ),
            Claim::at_most("pelton time, real over bash's", percent(&time.real, &bash.real), 2.0, "%"),
        ],
        data: json!({
            "pipeline": pipeline, "megabytes": megabytes, "recorded_cpu": recorded_cpu,
            "samples": samples.iter().map(super::contest::Samples::json).collect::<Vec<_>>(),
        }),
    })
}

/// Returns pelton's record of one run.
fn recorded(bench: &Bench, pipeline: &str, path: &std::path::Path) -> Outcome<Value> {
    super::verdict::record(&bench.pelton, pipeline, &bench.data, path)
}

fn cpu(record: &Value) -> f64 {
    let ns = |field: &str| record["total"][field].as_f64().unwrap_or(f64::NAN);
    (ns("user_ns") + ns("sys_ns")) / 1e9
}
