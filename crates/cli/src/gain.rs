//! What `pelton run` would save, for the reader of a report of `pelton time`.

use crate::source::Source;
use pelton_record::Run;
use pelton_report::units;
use pelton_run::{Environment, Switches};

/// Shorter runs are not worth advice.
const SHORTEST_NS: u64 = 200_000_000;
/// The share of its time for which a pipeline must compute: else it waits for a disk or a network, as `run` would.
const LEAST_BUSY: f64 = 0.7;
/// Of the time that `run` takes at most, as a share of the measured one.
const LARGEST_SHARE: f64 = 0.7;

/// Advises to use `pelton run`, and says how long it would take, if that is sure: all stages run natively, in one pass,
/// at known costs. Those of kernels were measured on a slow machine, so the run takes less as a rule (`bench pipelines`).
pub fn advise(run: &mut Run, source: &Source, environment: &Environment) {
    let Source::Text(request, plan) = source else { return };
    let [pipeline] = run.pipelines.as_slice() else { return };
    if run.wall_ns < SHORTEST_NS {
        return;
    }
    let explained = pelton_run::explain(plan, request, environment, &Switches::default(), false);
    let [one] = explained.as_slice() else { return };
    let Some(estimate) = one.planned.estimate() else { return };
    if !one.planned.is_one_pass() || !estimate.not_counted.is_empty() {
        return;
    }
    let cpu_ns: u64 = pipeline.stages.iter().map(|stage| stage.cost.user_ns + stage.cost.sys_ns).sum();
    let would_ns = cpu_ns as f64 / estimate.ratio();
    let wall_ns = run.wall_ns as f64;
    if (cpu_ns as f64) < LEAST_BUSY * wall_ns || would_ns > LARGEST_SHARE * wall_ns {
        return;
    }
    run.verdict.advice = Some(format!(
        "`pelton run` with the same text: about {} or less instead of {}, with the same output",
        rough(would_ns as u64),
        rough(run.wall_ns)
    ));
}

/// Formats a time as it is told: `0.25 s`, `3.1 s`, `4m5.012s`.
fn rough(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds {
        0.0..1.0 => format!("{seconds:.2} s"),
        1.0..60.0 => format!("{seconds:.1} s"),
        _ => units::minutes(ns),
    }
}

#[cfg(test)]
mod tests {
    use super::rough;

    #[test]
    fn times_are_rough() {
        assert_eq!([140_512_345, 999_000_000, 3_149_000_000].map(rough), ["0.14 s", "1.00 s", "3.1 s"]);
    }
}
