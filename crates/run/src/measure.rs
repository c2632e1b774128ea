//! From an execution to the record that leaves the program.

use crate::environ::Environment;
use crate::execute::Execution;
use crate::plan::Request;
use pelton_record::{Cost, How, Machine, Pipeline, RECORD_VERSION, Run, Verdict};
use pelton_sys::machine;

/// The record of an observed execution, judged.
///
/// `text` and `shell` are as the user gave them; `started_unix_ms` is when it began.
pub fn assemble(
    execution: &Execution,
    text: &str,
    shell: &str,
    started_unix_ms: u64,
    environment: &Environment,
) -> Run {
    let mut total = Cost::zero();
    for cost in execution.pipelines.iter().flat_map(Pipeline::costs) {
        total.add(cost);
    }
    if execution.left_behind.ended > 0 {
        total.add(&execution.left_behind.cost);
    }
    total.wall_ns = execution.wall_ns;
    let mut run = Run {
        record_version: RECORD_VERSION,
        pelton_version: env!("CARGO_PKG_VERSION").into(),
        text: text.into(),
        shell: shell.into(),
        started_unix_ms,
        machine: this_machine(environment),
        pipelines: execution.pipelines.clone(),
        wall_ns: execution.wall_ns,
        total,
        exit_status: execution.status,
        left_behind: execution.left_behind.clone(),
        observer: execution.observer.clone(),
        verdict: Verdict::default(),
        notes: Vec::new(),
        repeats: None,
        arrivals: None,
        lines: None,
    };
    run.notes = notes(&run, execution.launches.is_some());
    run.verdict = pelton_observe::judge(&run);
    judge_inside(&mut run);
    run
}

/// The answer for the pipelines that its only row was found to have inside.
pub(crate) fn judge_inside(run: &mut Run) {
    if let Some(verdict) = run.looked_into().map(|inner| pelton_observe::judge(&inner)) {
        let stages = run.pipelines.iter_mut().flat_map(|pipeline| &mut pipeline.stages);
        stages.filter_map(|stage| stage.inside.as_mut()).for_each(|inside| inside.verdict = verdict.clone());
    }
}

/// The text of a request, as far as it can be shown.
pub fn shown_text(request: &Request) -> String {
    request.text.to_string_lossy().into_owned()
}

fn this_machine(environment: &Environment) -> Machine {
    let (host, kernel, arch) = machine::names();
    Machine {
        host,
        kernel,
        arch,
        cpu: machine::cpu_model(),
        cores: machine::cores(),
        collation: environment.collation(),
    }
}

/// Which stages the shell ran, and why.
fn notes(run: &Run, by_line: bool) -> Vec<String> {
    let mut notes = Vec::new();
    for pipeline in &run.pipelines {
        for (row, stage) in pipeline.stages.iter().enumerate() {
            let was_seen =
                by_line || stage.inside.as_ref().is_some_and(|inside| !inside.pipelines.is_empty());
            if let (How::Shell { reason }, false) = (&stage.how, was_seen) {
                let number = *pipeline.numbers(row).start();
                let who = if pipeline.count() == 1 { "it".to_string() } else { format!("stage {number}") };
                notes.push(format!("{who} ran inside {} as one row, because of {reason}", run.shell));
            }
        }
    }
    notes
}
