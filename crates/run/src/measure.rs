//! Converts an execution to the record.

use crate::environ::Environment;
use crate::execute::Execution;
use crate::plan::Request;
use pelton_record::{Cost, How, Machine, Pipeline, Run};
use pelton_sys::machine;

/// Makes the record of an observed execution, with its verdict.
///
/// `text` and `shell` are as the user gave them; `started_unix_ms` is when it began.
pub fn assemble(
    execution: &Execution,
    text: &str,
    shell: &str,
    started_unix_ms: u64,
    environment: &Environment,
) -> Run {
    let mut run = Run {
        text: text.into(),
        shell: shell.into(),
        started_unix_ms,
        machine: this_machine(environment),
        pipelines: execution.pipelines.clone(),
        wall_ns: execution.wall_ns,
        exit_status: execution.status,
        left_behind: execution.left_behind.clone(),
        surroundings: execution.surroundings.clone(),
        observer: execution.observer.clone(),
        ..Run::default()
    };
    correct_bytes(&mut run);
    conclude(&mut run, execution.launches.is_some());
    run
}

/// Corrects the byte counts of the rows as the kernel gave them.
pub fn correct_bytes(run: &mut Run) {
    for pipeline in &mut run.pipelines {
        correct_bytes_of(pipeline);
        let inside = pipeline.stages.iter_mut().filter_map(|stage| stage.inside.as_mut());
        inside
            .flat_map(|inside| &mut inside.pipelines)
            .for_each(|inner| exclude_temporary_files(&mut inner.pipeline));
    }
}

fn correct_bytes_of(pipeline: &mut Pipeline) {
    forget_what_was_spliced(pipeline);
    exclude_start_up_reads(pipeline);
    exclude_temporary_files(pipeline);
}

/// Excludes from the input and output of a sort behind another stage what it keeps in temporary files: it writes that, and reads
/// it again, beyond what it is given.
fn exclude_temporary_files(pipeline: &mut Pipeline) {
    for row in 1..pipeline.stages.len() {
        let [before, sort] = &mut pipeline.stages[row - 1..=row] else { continue };
        let is_sort = sort.text.split_whitespace().next() == Some("sort");
        let cost = &mut sort.cost;
        let (Some(given), Some(read), Some(written)) =
            (before.cost.written_bytes, cost.read_bytes, cost.written_bytes)
        else {
            continue;
        };
        let kept = read.saturating_sub(given);
        if is_sort && kept <= written && kept >= LEAST_KEPT_BYTES && kept >= given / 4 {
            (cost.read_bytes, cost.written_bytes) = (Some(read - kept), Some(written - kept));
            sort.temporary_bytes = Some(kept);
        }
    }
}

/// Clears unreliable counts. The kernel does not count bytes that a stage moves by splice and related calls.
/// If the pipe after a stage held more than the stage has written, or its reader read much although it wrote
/// nothing, the written count is unknown; so is the read count if it is less than the previous stage wrote.
fn forget_what_was_spliced(pipeline: &mut Pipeline) {
    const MUCH: u64 = 64 << 10;
    for row in 0..pipeline.stages.len().saturating_sub(1) {
        let Some(written) = pipeline.stages[row].cost.written_bytes else { continue };
        let pipe = pipeline.pipes.iter().find(|pipe| pipe.writer == row && pipe.samples > 0);
        let more_in_pipe = pipe.is_some_and(|pipe| pipe.mean_bytes > written);
        let always_empty = pipe.is_some_and(|pipe| pipe.mean_bytes == 0);
        let next_read = pipeline.stages[row + 1].cost.read_bytes.unwrap_or(0);
        let silent = written == 0 && next_read > MUCH && !always_empty;
        if !(pipeline.stages[row].feeds_next && (more_in_pipe || silent)) {
            continue;
        }
        let before = row.checked_sub(1).and_then(|row| pipeline.stages[row].cost.written_bytes);
        let cost = &mut pipeline.stages[row].cost;
        cost.written_bytes = None;
        cost.read_bytes = cost.read_bytes.filter(|read| before.is_some_and(|before| *read >= before));
    }
}

/// Limits the input of a stage that reads a pipe to the output of the previous stage. The kernel also counts
/// reads by a program's loader and the C library (some 7 kB). An excess of more than 64 KiB comes from files
/// that the command itself reads (`join - FILE`), and stays.
fn exclude_start_up_reads(pipeline: &mut Pipeline) {
    const START_UP_BYTES: u64 = 64 << 10;
    for row in 1..pipeline.stages.len() {
        let [before, stage] = &mut pipeline.stages[row - 1..=row] else { continue };
        let Some(written) = before.cost.written_bytes.filter(|_| stage.reads_previous) else { continue };
        let read = &mut stage.cost.read_bytes;
        *read =
            read.map(
                |read| if read.saturating_sub(written) <= START_UP_BYTES { read.min(written) } else { read },
            );
    }
}

/// Computes the notes, the total and the verdict from the rows of a record. `by_line`: whether each line of
/// the text has its own rows.
pub fn conclude(run: &mut Run, by_line: bool) {
    run.notes = notes(run, by_line);
    let mut total = Cost::zero();
    for cost in run.pipelines.iter().flat_map(Pipeline::costs) {
        total.add(cost);
    }
    if run.left_behind.ended > 0 {
        total.add(&run.left_behind.cost);
    }
    total.wall_ns = run.wall_ns;
    run.total = total;
    run.verdict = pelton_observe::judge(run);
    judge_inside(run);
}

/// Sets the verdict on the pipelines found inside the only row.
pub(crate) fn judge_inside(run: &mut Run) {
    if let Some(verdict) = pelton_observe::judge_inside(run) {
        let stages = run.pipelines.iter_mut().flat_map(|pipeline| &mut pipeline.stages);
        stages.filter_map(|stage| stage.inside.as_mut()).for_each(|inside| inside.verdict = verdict.clone());
    }
}

/// Returns the text of a request, lossily.
pub fn shown_text(request: &Request) -> String {
    request.text.to_string_lossy().into_owned()
}

/// Describes this machine.
pub fn this_machine(environment: &Environment) -> Machine {
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

/// Returns which stages the shell ran, and why.
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
    let own = run.pipelines.iter().map(|pipeline| (pipeline, String::new()));
    let stages = run.pipelines.iter().flat_map(|pipeline| &pipeline.stages);
    let inside = stages.filter_map(|stage| stage.inside.as_ref()).flat_map(|inside| {
        let numbered = inside.pipelines.iter().enumerate();
        numbered.map(|(at, inner)| (&inner.pipeline, format!(" of pipeline {}", at + 1)))
    });
    let kept = own.chain(inside).flat_map(|(pipeline, place)| {
        let rows = 0..pipeline.stages.len();
        rows.filter_map(move |row| temporary_files(pipeline, row, &place)).collect::<Vec<_>>()
    });
    // Of several sorts the one that wrote most is told of.
    notes.extend(kept.max_by_key(|(bytes, _)| *bytes).map(|(_, note)| note));
    notes
}

/// Less is not told from what a program reads at its start.
const LEAST_KEPT_BYTES: u64 = 1_000_000;
/// Fewer are written and read in a moment.
const SLOW_KEPT_BYTES: u64 = 200_000_000;

/// Tells of what a sort kept in temporary files; and how many bytes. `place` follows its name.
fn temporary_files(pipeline: &Pipeline, row: usize, place: &str) -> Option<(u64, String)> {
    let kept = pipeline.stages[row].temporary_bytes?;
    let number = pipeline.numbers(row).start().to_owned();
    let megabytes = kept as f64 / 1e6;
    let decimals = usize::from(megabytes < 10.0);
    let cure = if kept >= SLOW_KEPT_BYTES { "; `sort -S 1G` keeps up to 1 GB in memory" } else { "" };
    let note = format!(
        "stage {number} (sort){place} also wrote {megabytes:.decimals$} MB to temporary files and read them again{cure}"
    );
    Some((kept, note))
}
