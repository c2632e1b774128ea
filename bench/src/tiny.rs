//! Whether starting pelton pays for a pipeline over very little data.

use super::contest::{Contender, Samples, contest};
use super::results::{Claim, Results, Unit, table};
use super::{Bench, stats};
use workbench::Outcome;

/// Six stages that all run natively.
const TEXT: &str = "cat tiny | tr a b | cut -c1-5 | sort | uniq -c | head -3";

/// Measures `pelton run` of six native stages over 1 KB beside the shells.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let runs = bench.runs(500);
    let line = |number: usize| format!("{:x} tiny data\n", number.wrapping_mul(2_654_435_761) & 0xff_ffff);
    let data: String = (0..).map(line).take(60).collect();
    std::fs::write(bench.data.join("tiny"), &data.as_bytes()[..1000])?;
    let pelton = bench.pelton.as_os_str();
    let contenders = [
        Contender::new("bash -c", ["bash", "-c", TEXT]),
        Contender::new("sh -c", ["sh", "-c", TEXT]),
        Contender::new("pelton run", [pelton, "run".as_ref(), TEXT.as_ref()]),
        Contender::new(
            "pelton run --faithful",
            [pelton, "run".as_ref(), "--faithful".as_ref(), TEXT.as_ref()],
        ),
    ];
    let samples = contest(&contenders, &bench.data, runs, 10)?;
    let ratio = |values: fn(&Samples) -> &Vec<f64>, shell: usize| {
        stats::median_ratio(values(&samples[2]), values(&samples[shell]))
    };
    let mut claims = Vec::new();
    for (shell, name) in [(0, "bash"), (1, "sh")] {
        claims.push(Claim::at_most(
            &format!("wall time, of {name}'s"),
            ratio(|one| &one.real, shell),
            1.0,
            "",
        ));
        claims.push(Claim::at_most(&format!("user+sys, of {name}'s"), ratio(|one| &one.cpu, shell), 1.0, ""));
    }
    Ok(Results {
        name: "tiny",
        about: format!("`{TEXT}` over 1,000 bytes, {runs} rounds, order alternating."),
        body: table(&samples, Unit::Milliseconds),
        claims,
        data: samples.iter().map(Samples::json).collect::<Vec<_>>().into(),
    })
}
