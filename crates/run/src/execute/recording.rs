//! Converts ended stages to rows of the record.

use super::Execution;
use super::spawning::Start;
use super::supervision::Runner;
use crate::native;
use crate::rows::{Described, EndedProcess, Rows};
use pelton_observe::{Finished, Watched};
use pelton_record::{Observer, Pipeline, Span};
use pelton_sys::clock;
use pelton_sys::procfs;
use pelton_sys::wait::{self, Ended};
use std::io;
use std::ops::Range;

/// A stage that has ended, measured or not.
pub(super) struct Ending {
    pub(super) ended: Ended,
    pub(super) finished: Option<Finished>,
}

impl Runner {
    /// Adds an ended pipeline to the record.
    pub(super) fn record(
        &mut self,
        span: Span,
        described: &[Described],
        starts: Vec<Start>,
        endings: Vec<Ending>,
        ends: &[Ended],
    ) {
        let finished: Vec<Finished> = endings.into_iter().filter_map(|ending| ending.finished).collect();
        let first_ns = finished.iter().map(|f| f.start_ns).min().unwrap_or(0);
        let last_ns = finished.iter().map(|f| f.end_ns).max().unwrap_or(0);
        if self.execution.pipelines.is_empty() {
            self.start_ns = first_ns;
        }
        self.execution.wall_ns = last_ns - self.start_ns;
        let mut rows = Rows::new(described, ends, self.start_ns);
        for (start, finished) in starts.into_iter().zip(finished) {
            let Start { stages, pid, how, program, account } = start;
            rows.add(EndedProcess { stages, pid, how, program, account, finished });
        }
        let pipes = self.pipes.drain(..).enumerate();
        let pipes = pipes.filter_map(|(i, pipe)| rows.pipe(i, &pipe)).collect();
        let (mut stages, passes) = rows.finish();
        if let (Some(family), [only]) = (self.family.take(), stages.as_mut_slice()) {
            let (inside, launches) = family.finish(self.start_ns).unzip();
            only.inside = inside;
            self.execution.launches = launches.filter(|_| self.lines.is_some());
        }
        self.execution.pipelines.push(Pipeline {
            text: String::new(),
            span,
            start_ns: first_ns - self.start_ns,
            wall_ns: last_ns - first_ns,
            exit_status: 0,
            stages,
            passes,
            pipes,
        });
    }

    pub(super) fn finish(mut self) -> io::Result<Execution> {
        if self.observing.measures() {
            // Orphans that have ended by now still count; running ones are only counted.
            while let Ok(Some(pid)) = wait::peek_ended(false) {
                self.reap_stranger(pid)?;
            }
            let running = procfs::children(std::process::id());
            self.execution.left_behind.running =
                running.iter().filter(|pid| !self.had_before.contains(pid)).count() as u32;
            self.execution.observer = Observer {
                cpu_ns: clock::own_cpu_ns() - self.own_cpu_at_start_ns,
                rounds: self.pace.rounds(),
                sampling_ns: self.sampling_ns,
                idle_cores: self.idle_cores(),
            };
        }
        Ok(self.execution)
    }
}

/// Returns how each stage of a unit ended. A worker reports statuses. For an unreported status, the last
/// stage ends as the worker did, and an earlier one counts as success: only pipefail would show it, and then
/// no stage runs natively whose status the end of another could cut short.
pub(super) fn stage_ends(
    pid: u32,
    ended: Ended,
    stages: Range<usize>,
    told: Option<Vec<native::Told>>,
) -> Vec<(u32, Ended)> {
    let Some(told) = told else { return vec![(pid, ended)] };
    let mut ends: Vec<Ended> = stages.clone().map(|_| Ended::Exited(0)).collect();
    for (stage, status) in told {
        if let Some(end) = stage.checked_sub(stages.start).and_then(|i| ends.get_mut(i)) {
            *end = Ended::Exited(status);
        }
    }
    if let (Some(last), Ended::Signalled(..)) = (ends.last_mut(), ended) {
        *last = ended;
    }
    ends.into_iter().map(|end| (pid, end)).collect()
}

pub(super) fn end(pid: u32, watched: Option<Watched>) -> io::Result<Ending> {
    match watched {
        Some(watched) => {
            let finished = watched.finish()?;
            Ok(Ending { ended: finished.ended, finished: Some(finished) })
        }
        None => Ok(Ending { ended: wait::reap(pid)?.0, finished: None }),
    }
}
