//! What pelton adds to a pipeline that does nothing.

use serde_json::json;

use super::contest::{Contender, Samples, contest};
use super::results::{Claim, Results, Unit, table};
use super::{Bench, stats};
use workbench::Outcome;

const BUILTINS: &str = "true | true";
const PROGRAMS: &str = "/bin/true | /bin/true";

/// Measures `true | true`, as builtins and as programs.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let runs = bench.runs(1000);
    let mut results = Results {
        name: "overhead",
        about: format!("Start-up costs of a pipeline that does nothing, {runs} rounds, order alternating."),
        body: String::new(),
        data: json!({}),
        claims: Vec::new(),
    };
    for pipeline in [BUILTINS, PROGRAMS] {
        let samples = contest(&contenders(bench, pipeline), &bench.data, runs, 10)?;
        results.body += &format!("`{pipeline}`\n\n{}\n", table(&samples, Unit::Milliseconds));
        results.data[pipeline] = samples.iter().map(Samples::json).collect::<Vec<_>>().into();
        let shell = &samples[0].real;
        for one in &samples[2..] {
            let more = stats::median_difference(&one.real, shell) * 1e3;
            results.claims.push(Claim::at_most(
                &format!("`{pipeline}`: {} over bash -c", one.name),
                more,
                2.0,
                "ms",
            ));
        }
    }
    Ok(results)
}

fn contenders(bench: &Bench, pipeline: &str) -> [Contender; 4] {
    let pelton = bench.pelton.as_os_str();
    [
        Contender::new("bash -c", ["bash", "-c", pipeline]),
        Contender::new("dash -c", ["dash", "-c", pipeline]),
        Contender::new("pelton time", [pelton, "time".as_ref(), "--".as_ref(), pipeline.as_ref()]),
        Contender::new("pelton run", [pelton, "run".as_ref(), pipeline.as_ref()]),
    ]
}
