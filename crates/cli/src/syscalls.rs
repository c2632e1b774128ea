//! What `time --syscalls` cost: measured here and now, on a program that does nothing but system calls.

use pelton_record::Run;
use pelton_run::{Environment, Observing, Options};
use std::ffi::OsString;

/// Moves single bytes: two calls for each of them, and next to nothing else.
const PROBE: [&str; 6] = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=2000", "status=none"];

/// In words: what counting cost for each call, and so for all of them.
pub fn slow_down(run: &Run, environment: &Environment) -> String {
    let stages = || run.pipelines.iter().flat_map(|pipeline| &pipeline.stages);
    let calls: u64 =
        stages().filter_map(|stage| stage.syscalls.as_ref()).map(|counted| counted.calls()).sum();
    if stages().all(|stage| stage.syscalls.is_none()) {
        return "the system permits no tracing of these processes (ptrace), so no system calls were counted"
            .into();
    }
    let Some(ns) = cost_ns(environment) else {
        return format!(
            "{calls} system calls were counted by ptrace, which slowed them down; by how much could not be measured"
        );
    };
    format!(
        "{calls} system calls were counted by ptrace, at about {:.0} µs each here (measured on dd, with and without): about \
         {:.2} s of this run is the counting itself, and all its figures are of a run slowed down",
        ns / 1e3,
        ns * calls as f64 / 1e9
    )
}

/// What counting adds to one call, in nanoseconds.
fn cost_ns(environment: &Environment) -> Option<f64> {
    let words = PROBE.map(OsString::from);
    let run = |observing| {
        let options = Options { observing, ..Options::FAITHFULLY };
        pelton_run::execute_command(&words, environment, &options).ok().filter(|run| run.status == 0)
    };
    let (plain, traced) = (run(Observing::Yes)?, run(Observing::Syscalls)?);
    let calls = traced.pipelines.first()?.stages.first()?.syscalls.as_ref()?.calls();
    Some(traced.wall_ns.saturating_sub(plain.wall_ns) as f64 / calls.max(1) as f64)
}
