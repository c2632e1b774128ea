//! How long pelton takes to start and do nothing.

use super::contest::{Contender, Samples, contest};
use super::results::{Claim, Results, Unit, table};
use super::{Bench, stats};
use workbench::Outcome;

/// Measures `pelton --version` and `pelton run true` beside the shells.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let runs = bench.runs(1000);
    let pelton = bench.pelton.as_os_str();
    let contenders = [
        Contender::new("sh -c true", ["sh", "-c", "true"]),
        Contender::new("bash -c true", ["bash", "-c", "true"]),
        Contender::new("/bin/true", ["/bin/true"]),
        Contender::new("pelton --version", [pelton, "--version".as_ref()]),
        Contender::new("pelton run true", [pelton, "run".as_ref(), "true".as_ref()]),
        Contender::new("pelton run /bin/true", [pelton, "run".as_ref(), "/bin/true".as_ref()]),
    ];
    let samples = contest(&contenders, &bench.data, runs, 10)?;
    let over_sh = |index: usize| stats::median_difference(&samples[index].real, &samples[0].real) * 1e3;
    let claims = (3..5)
        .map(|i| Claim::at_most(&format!("{} over sh -c true", samples[i].name), over_sh(i), 2.0, "ms"));
    Ok(Results {
        name: "startup",
        about: format!(
            "Start-up, {runs} rounds, order alternating. /bin/true is the least that any program costs."
        ),
        body: table(&samples, Unit::Milliseconds),
        claims: claims.collect(),
        data: samples.iter().map(Samples::json).collect::<Vec<_>>().into(),
    })
}
