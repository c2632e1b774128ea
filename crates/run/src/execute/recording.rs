//! Converts ended stages to rows of the record.

use super::execution::Execution;
use super::runner::{Ending, Runner, Start};
use crate::rows::{Described, EndedProcess, Rows};
use pelton_observe::Finished;
use pelton_observe::surroundings::Counters;
use pelton_record::{Observer, Pipeline, Span};
use pelton_sys::clock;
use pelton_sys::procfs;
use pelton_sys::wait::{self, Ended};
use std::io;

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
            let found = family.finish(self.start_ns);
            self.execution.launches = None;
            if let Some(found) = found {
                (only.inside, only.tree) = (Some(found.inside), found.tree);
                self.execution.launches = self.lines.is_some().then_some(found.launches);
            }
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
            self.execution.surroundings = self.counters.as_ref().map(Counters::until_now);
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
