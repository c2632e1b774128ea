//! Waits for started stages, samples them, and shows live progress.

use super::options::Observing;
use super::runner::{Ending, Runner, Start, Started};
use pelton_observe::doctor::Scope;
use pelton_observe::inside::Family;
use pelton_observe::probes::accounting;
use pelton_observe::{Live, Watched};
use pelton_record::Cost;
use pelton_sys::clock;
use pelton_sys::cpu_waits;
use pelton_sys::procfs::{self, ProcFile};
use pelton_sys::signals::Interrupts;
use pelton_sys::wait::{self, Ended};
use std::collections::HashMap;
use std::io;

pub(super) const SIGINT: i32 = 2;
/// The interval between two live displays.
const SHOW_NS: u64 = 500_000_000;

impl Runner {
    /// Waits until all stages have ended.
    pub(super) fn wait_for(&mut self, started: Vec<Started>) -> io::Result<(Vec<Start>, Vec<Ending>)> {
        let mut starts = Vec::with_capacity(started.len());
        let mut watched = Vec::with_capacity(started.len());
        for stage in started {
            starts.push(Start {
                stages: stage.stages,
                pid: stage.pid,
                how: stage.how,
                program: stage.program,
                account: stage.account,
            });
            watched.push(stage.watched);
        }
        let places: HashMap<u32, usize> =
            starts.iter().enumerate().map(|(i, start)| (start.pid, i)).collect();
        let mut endings: Vec<Option<Ending>> = starts.iter().map(|_| None).collect();
        let pids = || starts.iter().map(|start| start.pid).collect();
        self.live = self.show_live.map(|_| Live::attach(Scope::These(pids())));
        let interrupts = Interrupts::watch();
        let mut outlived_interrupt = false;
        while endings.iter().any(Option::is_none) {
            let Some(pid) = self.next_ended(&mut watched)? else { continue };
            let Some(&i) = places.get(&pid) else {
                self.reap_stranger(pid)?;
                continue;
            };
            let ending = end(pid, watched[i].take())?;
            if let Some(watch) = &mut self.watch {
                watch.ended(pid);
            }
            outlived_interrupt |= interrupts.came() && !matches!(ending.ended, Ended::Signalled(SIGINT, _));
            endings[i] = Some(ending);
        }
        if let (Some(show), Some(_)) = (self.show_live, self.live.take()) {
            show(None);
        }
        // bash dies of an interrupt too, unless one of its children handled it.
        self.execution.interrupted = interrupts.came() && !outlived_interrupt;
        self.forwarded = None;
        Ok((starts, endings.into_iter().flatten().collect()))
    }

    /// Returns a child that has ended; `None` after a round of samples, or after a signal.
    pub(super) fn next_ended(&mut self, watched: &mut [Option<Watched>]) -> io::Result<Option<u32>> {
        if self.observing == Observing::No && self.watch.is_none() {
            return wait::peek_ended(true);
        }
        if let Some(pid) = wait::peek_ended(false)? {
            return Ok(Some(pid));
        }
        if let Some(watch) = &mut self.watch {
            watch.wait();
            return Ok(None);
        }
        let mut waited: Vec<_> = watched.iter().flatten().filter_map(Watched::pidfd).collect();
        waited.extend(self.family.as_ref().and_then(Family::readable));
        wait::wait_any(&waited, Some(self.pace.until_next()));
        if let Some(family) = &mut self.family {
            family.notice();
        }
        if self.pace.is_due() {
            self.sample(watched);
            self.show_what_goes_on();
            self.pace.tick();
        }
        Ok(None)
    }

    pub(super) fn show_what_goes_on(&mut self) {
        let (Some(show), Some(live)) = (self.show_live, &mut self.live) else { return };
        live.sample();
        let now_ns = clock::now_ns();
        if now_ns - self.shown_ns >= SHOW_NS {
            self.shown_ns = now_ns;
            show(Some(&live.snapshot()));
        }
    }

    /// Takes one round of samples.
    pub(super) fn sample(&mut self, watched: &mut [Option<Watched>]) {
        let before_ns = clock::own_cpu_ns();
        let late_ns = self.pace.late_ns();
        watched.iter_mut().flatten().for_each(|watched| watched.sample(late_ns));
        let now_ns = clock::now_ns();
        let process = |i: usize| watched.get(i)?.as_ref()?.pidfd();
        for (i, pipe) in self.pipes.iter_mut().enumerate() {
            pipe.sample(now_ns, process(i), process(i + 1));
        }
        if let Some(family) = &mut self.family {
            family.sample(now_ns);
        }
        self.sampling_ns += clock::own_cpu_ns() - before_ns;
    }

    /// Reaps an orphan of some stage, or a child that this process had before it became pelton.
    pub(super) fn reap_stranger(&mut self, pid: u32) -> io::Result<()> {
        let mut buffer = [0; 512];
        let io = ProcFile::open(pid, "io").and_then(|file| procfs::parse_io(file.read(&mut buffer)?));
        let (_, usage) = wait::reap(pid)?;
        if self.observing.measures() && !self.had_before.contains(&pid) {
            let left = &mut self.execution.left_behind;
            if left.ended == 0 {
                left.cost = Cost::zero();
            }
            left.cost.add(&accounting::cost_of(io, &usage, 0));
            left.ended += 1;
        }
        Ok(())
    }

    /// Returns the average number of idle cores since the start.
    pub(super) fn idle_cores(&self) -> Option<f64> {
        let idle_ns = cpu_waits::idle_ns()?.checked_sub(self.idle_at_start_ns?)?;
        let passed_ns = clock::now_ns().checked_sub(self.start_ns).filter(|ns| *ns > 0)?;
        Some(idle_ns as f64 / passed_ns as f64)
    }
}

/// Reaps a process that has ended.
fn end(pid: u32, watched: Option<Watched>) -> io::Result<Ending> {
    match watched {
        Some(watched) => {
            let finished = watched.finish()?;
            Ok(Ending { ended: finished.ended, finished: Some(finished) })
        }
        None => Ok(Ending { ended: wait::reap(pid)?.0, finished: None }),
    }
}
