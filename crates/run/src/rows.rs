//! Converts ended processes to the rows of the record.

use crate::native::{PassCounters, RowNote};
use crate::script;
use pelton_observe::probes::pipes::PipeProbe;
use pelton_observe::{Finished, divide};
use pelton_record::{Cost, End, How, Pass, PipeUse, Span, Stage, Waits};
use pelton_sys::signals;
use pelton_sys::wait::Ended;
use std::ops::Range;

/// The text of a stage.
pub struct Described {
    /// Source text.
    pub text: String,
    /// Short name for tables.
    pub name: String,
    /// Its position.
    pub span: Span,
}

/// A process that ended, and the stages it ran.
pub struct EndedProcess {
    /// The stages of the pipeline.
    pub stages: Range<usize>,
    /// Its process id.
    pub pid: u32,
    /// How it was run.
    pub how: How,
    /// Path of the program.
    pub program: Option<String>,
    /// The counters of a worker.
    pub account: Option<Account>,
    /// Its resource usage and samples.
    pub finished: Finished,
}

/// The counters of a worker's kernels.
pub struct Account {
    /// The counters.
    pub meter: PassCounters,
    /// A note on each kernel.
    pub rows: Vec<RowNote>,
}

/// Collects the rows of one pipeline.
pub struct Rows<'a> {
    described: &'a [Described],
    ends: &'a [Ended],
    start_ns: u64,
    stages: Vec<Stage>,
    passes: Vec<Pass>,
    /// The rows of each process.
    parts: Vec<Range<usize>>,
}

impl<'a> Rows<'a> {
    /// Starts with the stages in `described`, which ended with `ends`, in a run that started at `start_ns`.
    pub fn new(described: &'a [Described], ends: &'a [Ended], start_ns: u64) -> Self {
        Rows { described, ends, start_ns, stages: Vec::new(), passes: Vec::new(), parts: Vec::new() }
    }

    /// Adds the rows of the next process.
    pub fn add(&mut self, part: EndedProcess) {
        let first = self.stages.len();
        self.add_rows(&part);
        self.parts.push(first..self.stages.len());
    }

    /// Returns the samples of the pipe after process `i`, counted from the left.
    pub fn pipe(&self, i: usize, probe: &PipeProbe) -> Option<PipeUse> {
        let (writer, reader) = (self.parts.get(i)?.end.checked_sub(1)?, self.parts.get(i + 1)?.start);
        probe.finish(writer, reader, self.start_ns)
    }

    fn add_rows(&mut self, part: &EndedProcess) {
        match &part.account {
            Some(account) => self.add_pass(part, account),
            None => {
                let cost = part.finished.cost.clone();
                let waits = part.finished.waits.clone();
                self.push(&part.stages, part, part.how.clone(), cost, waits);
            }
        }
    }

    /// Returns the rows and the passes.
    pub fn finish(mut self) -> (Vec<Stage>, Vec<Pass>) {
        if let Some(last) = self.stages.last_mut() {
            last.feeds_next = false;
        }
        (self.stages, self.passes)
    }

    fn add_pass(&mut self, part: &EndedProcess, account: &Account) {
        let finished = &part.finished;
        let tallies: Vec<_> =
            account.rows.iter().map(|row| account.meter.tally(&row.stages, finished.start_ns)).collect();
        let around = pelton_observe::Around {
            cpu_wait_ns: finished.cpu_wait_ns,
            reads_pipe: part.stages.start > 0,
            writes_pipe: part.stages.end < self.described.len(),
            ..account.meter.around()
        };
        let (waits, rows) = divide(&finished.cost, &tallies, &around);
        let first = self.stages.len();
        self.passes.push(Pass {
            first,
            last: first + rows.len().saturating_sub(1),
            pid: part.pid,
            cost: finished.cost.clone(),
            waits: Some(waits),
        });
        for (note, (cost, waits)) in account.rows.iter().zip(rows) {
            let how = How::Native {
                pass: self.passes.len() - 1,
                rules: note.rules.clone(),
                label: note.label.clone(),
                handed_over: account.meter.handed_over(&note.stages),
            };
            self.push(&note.stages, part, how, cost, Some(waits));
        }
    }

    fn push(
        &mut self,
        stages: &Range<usize>,
        part: &EndedProcess,
        how: How,
        cost: Cost,
        waits: Option<Waits>,
    ) {
        let words = &self.described[stages.clone()];
        let join = |word: fn(&Described) -> &str| words.iter().map(word).collect::<Vec<_>>().join(" | ");
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
        self.stages.push(Stage {
            text: join(|words| &words.text),
            name: join(|words| &words.name),
            span: Span::new(first.span.start, last.span.end),
            program: part.program.clone(),
            how,
            pid: part.pid,
            start_ns: part.finished.start_ns.saturating_sub(self.start_ns),
            end: self.ends.get(stages.end - 1).map_or(End::Exited(0), |ended| end(*ended)),
            cost,
            waits,
            threads: part.finished.threads.clone(),
            profile: part.finished.profile.clone(),
            syscalls: part.finished.syscalls.clone(),
            inside: None,
            tree: part.finished.tree.clone(),
            timeline: part.finished.timeline.clone().map(|timeline| timeline.finish(self.start_ns)),
            temporary_bytes: None,
            reads_previous: stages.start > 0,
            feeds_next: true,
            stands_for: stages.len() as u32,
            starts_processes: script::is_loop_of_processes(&join(|words| &words.text)),
        });
    }
}

fn end(ended: Ended) -> End {
    match ended {
        Ended::Exited(code) => End::Exited(code),
        Ended::Signalled(signal, core) => End::Killed { signal, name: signals::name(signal), core },
    }
}
