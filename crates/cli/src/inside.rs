//! Measures what starting a program costs here, for runs that start many.

use pelton_observe::inside::MANY_PROCESSES;
use pelton_record::Run;
use pelton_run::{Environment, Options};
use std::ffi::OsString;

/// Starts no-op programs, one after the other.
const LOOP: &str = "i=0; while [ $i -lt 50 ]; do /bin/true; i=$((i + 1)); done";
const STARTS: u64 = 50;

/// Adds the cost of a start to the stages that started many programs.
pub fn add_start_cost(run: &mut Run, environment: &Environment) {
    let stages = run.pipelines.iter_mut().flat_map(|pipeline| &mut pipeline.stages);
    let many =
        stages.filter_map(|stage| stage.inside.as_mut()).filter(|inside| inside.processes >= MANY_PROCESSES);
    for inside in many {
        inside.start_ns = start_cost(environment);
    }
}

/// CPU time of one fork, exec and exit, the shell's part included.
fn start_cost(environment: &Environment) -> Option<u64> {
    let words = ["/bin/sh", "-c", LOOP].map(OsString::from);
    let run = pelton_run::execute_command(&words, environment, &Options::FAITHFULLY).ok()?;
    let stage = run.pipelines.first()?.stages.first()?;
    (run.status == 0).then(|| stage.cost.cpu_ns() / STARTS)
}
