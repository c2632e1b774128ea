//! Tracing system calls (`time --syscalls`, `--exact`): whether it is permitted, and what it costs, measured
//! on this machine with a program that only makes system calls.

use crate::failure::Failure;
use pelton_record::{Run, Stage};
use pelton_run::{Environment, Observing, Options};
use std::ffi::OsString;

/// Copies single bytes: two calls for each, and almost nothing else.
const PROBE: [&str; 6] = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=2000", "status=none"];

/// Fails before anything runs if tracing is not permitted.
pub fn check_exact() -> Result<(), Failure> {
    pelton_sys::trace::try_out().map_err(|_| {
        let failure =
            Failure::new("--exact traces system calls, and the system permits no tracing here (ptrace)");
        failure.with_help(match yama() {
            Some(scope) if scope > 0 => "without --exact, waits are sampled; or sysctl kernel.yama.ptrace_scope=0, as root",
            _ => {
                "without --exact, waits are sampled; a container wants --cap-add=SYS_PTRACE, and what strace or a debugger \
                 traces already cannot be traced again"
            }
        })
    })
}

/// Yama's ptrace scope: 0 permits all of the user's processes.
fn yama() -> Option<u32> {
    std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?.trim().parse().ok()
}

/// Describes what tracing cost per call, and in total.
pub fn slow_down(run: &Run, environment: &Environment, observing: Observing) -> String {
    let (done, doing) = match observing {
        Observing::Exact => ("traced", "tracing"),
        _ => ("counted", "counting"),
    };
    let stages = || run.pipelines.iter().flat_map(|pipeline| &pipeline.stages);
    let calls: u64 = stages().filter_map(calls_of).sum();
    if stages().all(|stage| calls_of(stage).is_none()) {
        return format!(
            "the system permits no tracing of these processes (ptrace), so no system calls were {done}"
        );
    }
    let Some(ns) = cost_ns(environment, observing) else {
        return format!(
            "{calls} system calls were {done} by ptrace, which slowed them down; by how much could not be measured"
        );
    };
    format!(
        "{calls} system calls were {done} by ptrace, at about {:.0} µs each here (measured on dd, with and without): about \
         {:.2} s of this run is the {doing} itself, and all its figures are of a run slowed down",
        ns / 1e3,
        ns * calls as f64 / 1e9
    )
}

/// Returns how many calls of a stage were traced, if any.
fn calls_of(stage: &Stage) -> Option<u64> {
    let counted = stage.syscalls.as_ref().map(|counted| counted.calls());
    counted.or_else(|| Some(stage.waits.as_ref()?.exact.as_ref()?.calls))
}

/// Measures the cost of tracing one call, in ns.
fn cost_ns(environment: &Environment, observing: Observing) -> Option<f64> {
    let words = PROBE.map(OsString::from);
    let run = |observing| {
        let options = Options { observing, ..Options::FAITHFULLY };
        pelton_run::execute_command(&words, environment, &options).ok().filter(|run| run.status == 0)
    };
    let (plain, traced) = (run(Observing::Yes)?, run(observing)?);
    let calls = calls_of(traced.pipelines.first()?.stages.first()?)?;
    Some(traced.wall_ns.saturating_sub(plain.wall_ns) as f64 / calls.max(1) as f64)
}
