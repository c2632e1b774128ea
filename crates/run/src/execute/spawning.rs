//! Starts the stages of a pipeline: processes, native workers, and what the shell runs.

use super::hold_others::{Holding, PIPE_BYTES};
use super::options::Observing;
use super::runner::{Runner, Started};
use crate::builtin_output::prints_without_programs;
use crate::jobs::SIGPIPE;
use crate::native::{self, MakeShell, Native, PassCounters, Unit};
use crate::plan::PipelinePlan;
use crate::progress;
use crate::rows::{Account, Described};
use crate::stage::{Ends, StagePlan, Surroundings};
use pelton_observe::inside::Family;
use pelton_observe::probes::pipes::PipeProbe;
use pelton_observe::{Edges, Watched};
use pelton_record::{How, Span};
use pelton_syntax::Dialect;
use pelton_sys::clock;
use pelton_sys::pipe;
use pelton_sys::processes;
use pelton_sys::procfs;
use pelton_sys::signals::Forwarded;
use pelton_sys::spawn::{self, Action, Child, Exec, Tie};
use pelton_sys::startup;
use pelton_sys::wait::Ended;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Where a stage stands among those of its pipeline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    stage: usize,
    of: usize,
}

impl Runner {
    pub(super) fn run_one(
        &mut self,
        exec: Exec,
        text: &str,
        name: String,
        how: How,
        program: Option<String>,
    ) -> io::Result<()> {
        let child = Child {
            action: Action::Exec(exec),
            fallback: None,
            stdin: None,
            stdout: None,
            redirections: vec![],
            not_mine: None,
        };
        self.only_one = true;
        let started = self.start(&child, how, program, Edges::default(), Position { stage: 0, of: 1 })?;
        let (starts, endings) = self.wait_for(vec![started])?;
        let ended = endings[0].ended;
        self.execution.status = ended.status();
        if let Ended::Signalled(signal, _) = ended {
            self.execution.died_by = Some(signal);
        }
        if self.observing.measures() {
            let span = Span::new(0, text.len());
            let described = Described { text: text.to_string(), name, span };
            self.record(span, &[described], starts, endings, &[ended]);
            if let Some(pipeline) = self.execution.pipelines.last_mut() {
                pipeline.text = text.to_string();
                pipeline.exit_status = self.execution.status;
            }
        }
        Ok(())
    }

    /// Runs one pipeline to its end. Returns its stages' processes and how they ended, left to right.
    pub(super) fn run_pipeline(
        &mut self,
        pipeline: &PipelinePlan,
        units: Vec<Unit>,
        around: &Surroundings<'_>,
    ) -> io::Result<Vec<(u32, Ended)>> {
        let mut started = Vec::with_capacity(units.len());
        if let Err(error) = self.start_pipeline(pipeline, units, around, &mut started) {
            // Its pipes are closed by now, so the started processes end. Nothing is left running.
            let _ = self.wait_for(started);
            return Err(error);
        }
        let told: Vec<_> =
            started.iter_mut().map(|unit| (unit.stages.clone(), unit.statuses.take())).collect();
        let pids: Vec<u32> = started.iter().map(|unit| unit.pid).collect();
        let total_bytes = self.total_bytes.take();
        self.watch = self.show.map(|show| progress::Watch::new(show, self.begun, total_bytes, &pids));
        self.begun += 1;
        let holding = self.hold_others.and_then(|hold| Holding::start(hold, &pids));
        let waited = self.wait_for(started);
        self.execution.held_ns += holding.map_or(0, Holding::finish);
        let (starts, mut endings) = waited?;
        let mut ends: Vec<(u32, Ended)> = Vec::with_capacity(pipeline.stages.len());
        for ((pid, (stages, statuses)), ending) in pids.into_iter().zip(told).zip(&mut endings) {
            let told = statuses.map(native::told);
            if let (Some(told), Some(finished)) = (&told, &mut ending.finished) {
                native::forget_telling(told, &mut finished.cost);
            }
            ends.extend(stage_ends(pid, ending.ended, stages, told));
        }
        if self.observing.measures() {
            let describe =
                |s: &StagePlan| Described { text: s.text.clone(), name: s.name.clone(), span: s.span };
            let described: Vec<_> = pipeline.stages.iter().map(describe).collect();
            let ended: Vec<_> = ends.iter().map(|(_, ended)| *ended).collect();
            self.record(pipeline.span, &described, starts, endings, &ended);
        }
        Ok(ends)
    }

    /// Starts the stages left to right. Each child holds its own pipe ends and no others, even while it opens
    /// its redirections, so a reader sees EOF as soon as its writer ends.
    pub(super) fn start_pipeline(
        &mut self,
        pipeline: &PipelinePlan,
        units: Vec<Unit>,
        around: &Surroundings<'_>,
        started: &mut Vec<Started>,
    ) -> io::Result<()> {
        let count = units.len();
        let mut previous: Option<(OwnedFd, u64)> = None;
        self.pipes.clear();
        let ties = ties(&units);
        for (i, (unit, tie)) in units.into_iter().zip(ties).enumerate() {
            let unit = match unit {
                // Measurements are of the unchanged command.
                Unit::Parts(parts) if self.observing.measures() => Unit::Process(parts.stage),
                unit => unit,
            };
            let next = if i + 1 < count { Some(pipe::pipe()?) } else { None };
            if let Some(pipe) = next.as_ref().filter(|_| self.hold_others.is_some()) {
                pipe::enlarge(pipe.write.as_fd(), PIPE_BYTES);
            }
            // Whether a stage has printed before its reader ends shows under pipefail, and where SIGPIPE is ignored.
            let prints_first = next.is_some()
                && (around.has_pipefail() || startup::sigpipe_was_ignored())
                && only_stage(&unit, pipeline).is_some_and(|stage| {
                    prints_without_programs(stage, around.shell.dialect.unwrap_or(Dialect::Posix), i == 0)
                });
            let (read_end, upstream) = previous.take().unzip();
            if self.observing.measures() {
                self.pipes.extend(next.as_ref().map(|pipe| PipeProbe::new(pipe.inode, clock::now_ns())));
            }
            let edges = Edges { upstream, downstream: next.as_ref().map(|pipe| pipe.inode) };
            let ends = Ends {
                stdin: read_end.as_ref().map(|fd| fd.as_fd()),
                stdout: next.as_ref().map(|pipe| pipe.write.as_fd()),
                not_mine: next.as_ref().map(|pipe| pipe.read.as_fd()),
            };
            started.push(match unit {
                Unit::Parts(parts) => {
                    let stages = parts.stage..parts.stage + 1;
                    Started { stages, ..Started::unmeasured(parts.spawn(ends, tie)?) }
                }
                Unit::Process(stage) => {
                    let prepared = pipeline.stages[stage].prepare(around, ends);
                    let position = Position { stage, of: count };
                    let begun =
                        self.start(&prepared.child, prepared.how, prepared.program, edges, position)?;
                    Started { stages: stage..stage + 1, ..begun }
                }
                Unit::Native(mut native) => {
                    native.tie = tie;
                    let stages = native.stages.clone();
                    let shell = || StagePlan::shell_exec_of(&pipeline.stages[stages.clone()], around);
                    match self.observing {
                        Observing::No => start_native(*native, ends, &shell)?,
                        _ => start_metered(*native, ends, &shell, edges)?,
                    }
                }
            });
            // The parent keeps neither this stage's input nor the write end of its output.
            previous = next.map(|pipe| (pipe.read, pipe.inode));
            if let Some((output, _)) = previous.as_ref().filter(|_| prints_first) {
                give_lead(started[i].pid, output.as_fd());
            }
        }
        Ok(())
    }

    pub(super) fn start(
        &mut self,
        child: &Child<'_>,
        how: How,
        program: Option<String>,
        edges: Edges,
        position: Position,
    ) -> io::Result<Started> {
        let alone = position.of == 1;
        let profiled = self.profiled.is_some_and(|profiled| profiled.includes(position.stage));
        // A command of the shell ends with the shell, and a single command replaces it.
        let by_shell = matches!(how, How::Shell { .. });
        let tie = if alone && (by_shell || self.only_one) { Tie::ToParent } else { Tie::None };
        let (pid, watched) = match self.observing {
            Observing::No if tie == Tie::ToParent => (spawn::spawn_tied(child)?, None),
            Observing::No => (spawn::spawn(child)?, None),
            observing => {
                let (pid, gate) = spawn::spawn_gated(child, tie)?;
                if alone && observing.follows() && !profiled {
                    // Without permission to follow, it is a normal row.
                    let course = observing == Observing::Timeline;
                    self.family = Family::follow(pid, course, self.lines).ok();
                    self.had_before.extend(self.family.as_ref().map(Family::tracer));
                }
                let watched = match observing {
                    Observing::Syscalls => Watched::start_traced(pid, gate, edges),
                    Observing::Exact => Watched::start_exact(pid, gate, edges),
                    Observing::Threads => Watched::start(pid, gate, edges).with_threads(),
                    // Several stages need it for their verdict.
                    Observing::Inside if !alone => Watched::start(pid, gate, edges).with_timeline(),
                    Observing::Timeline => Watched::start(pid, gate, edges).with_timeline(),
                    Observing::Yes | Observing::Inside | Observing::No => Watched::start(pid, gate, edges),
                };
                let watched = if alone && self.family.is_some() { watched.without_tree() } else { watched };
                let watched = if profiled { watched.with_profile() } else { watched };
                self.had_before.extend(watched.tracer());
                (pid, Some(watched))
            }
        };
        if alone && self.only_one {
            self.forwarded = Forwarded::to(pid);
        }
        Ok(Started { stages: 0..1, statuses: None, pid, watched, how, program, account: None })
    }
}

/// CPU time in which a shell starts: 1 ms on an idle machine of 2023.
const SHELL_START_NS: u64 = 10_000_000;
/// CPU time for which a child of the shell runs before the program behind it has started.
const LEAD_NS: u64 = 1_000_000;
/// The interval between two looks at it.
const LOOK: Duration = Duration::from_micros(200);
/// The longest wait for a shell that gets no CPU.
const LOOKS: usize = 1000;

/// Waits as long as a stage that consists of builtins runs before the next stage would in the shell, where it starts
/// no program. CPU time counts, which is the same on a busy machine.
fn give_lead(pid: u32, output: BorrowedFd<'_>) {
    let mut printed_ns = None;
    let mut asleep = false;
    for _ in 0..LOOKS {
        if pipe::loses_its_writers_within(output, LOOK) {
            return;
        }
        let (used_ns, all_asleep) = activity(pid);
        if printed_ns.is_none() && pipe::unread(output).is_ok_and(|bytes| bytes > 0) {
            printed_ns = Some(used_ns);
        }
        let most_ns = printed_ns.map_or(SHELL_START_NS, |printed_ns| printed_ns + LEAD_NS);
        // Asleep at two looks, it waits for input or for room in the pipe.
        let slept = std::mem::replace(&mut asleep, all_asleep);
        if used_ns > most_ns || slept && asleep {
            return;
        }
    }
}

/// Returns the CPU time of a process and its children (a subshell is a child of the shell), and whether all are asleep.
fn activity(pid: u32) -> (u64, bool) {
    let own = (clock::process_cpu_ns(pid).unwrap_or(0), processes::is_asleep(pid));
    let with = |(used_ns, asleep), (ns, sleeps)| (used_ns + ns, asleep && sleeps);
    procfs::children(pid).into_iter().map(activity).fold(own, with)
}

/// Returns the unit's stage if it is alone in it and a process of its own.
fn only_stage<'p>(unit: &Unit, pipeline: &'p PipelinePlan) -> Option<&'p StagePlan> {
    match unit {
        Unit::Process(stage) => pipeline.stages.get(*stage),
        Unit::Native(native) if native.stages.len() == 1 => pipeline.stages.get(native.stages.start),
        Unit::Native(_) | Unit::Parts(_) => None,
    }
}

pub(super) fn start_native(native: Native, ends: Ends<'_>, shell: MakeShell<'_>) -> io::Result<Started> {
    let statuses = pipe::pipe()?;
    let stages = native.stages.clone();
    let pid = native.spawn(ends, shell, statuses.write.as_fd())?;
    Ok(Started { stages, statuses: Some(statuses.read), ..Started::unmeasured(pid) })
}

/// Starts a measured worker, which waits at its gate until it is watched.
pub(super) fn start_metered(
    mut native: Native,
    ends: Ends<'_>,
    shell: MakeShell<'_>,
    edges: Edges,
) -> io::Result<Started> {
    let statuses = pipe::pipe()?;
    let stages = native.stages.clone();
    let account =
        Account { meter: PassCounters::new(stages.clone())?, rows: std::mem::take(&mut native.rows) };
    let (pid, gate) = native.spawn_metered(ends, shell, statuses.write.as_fd(), &account.meter)?;
    Ok(Started {
        stages,
        statuses: Some(statuses.read),
        pid,
        watched: Some(Watched::start(pid, gate, edges)),
        how: How::Process,
        program: None,
        account: Some(account),
    })
}

/// Returns which units end with this process. A single command replaces the shell that was to run it, so a
/// signal that ends the shell ends it; and a worker belongs to this process only. But real commands in a
/// pipeline outlive the shell, and their feeder must not end before it has delivered everything.
fn ties(units: &[Unit]) -> Vec<Tie> {
    let feeds = units.iter().rposition(|unit| !matches!(unit, Unit::Native(_))).filter(|_| units.len() > 1);
    let tie = |at| if feeds.is_some_and(|last| at <= last) { Tie::None } else { Tie::ToParent };
    (0..units.len()).map(tie).collect()
}

/// Returns how each stage of a unit ended. A worker reports statuses. For an unreported status, the last
/// stage ends as the worker did, and so does an earlier one at a signal, which the terminal sends to all of them. Otherwise
/// an earlier one counts as success: only pipefail would show it, and then no stage runs natively whose status the end
/// of another could cut short.
fn stage_ends(
    pid: u32,
    ended: Ended,
    stages: Range<usize>,
    told: Option<Vec<native::Told>>,
) -> Vec<(u32, Ended)> {
    let Some(told) = told else { return vec![(pid, ended)] };
    let unreported = match ended {
        Ended::Signalled(signal, _) if signal != SIGPIPE => ended,
        _ => Ended::Exited(0),
    };
    let mut ends: Vec<Ended> = stages.clone().map(|_| unreported).collect();
    if let Some(last) = ends.last_mut() {
        *last = ended;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(signal: i32, told: &[native::Told]) -> Vec<Ended> {
        let ends = stage_ends(7, Ended::Signalled(signal, false), 2..5, Some(told.to_vec()));
        ends.into_iter().map(|(_, ended)| ended).collect()
    }

    #[test]
    fn a_signal_ends_all_stages_of_a_worker_that_have_not_ended() {
        let quit = Ended::Signalled(3, false);
        assert_eq!(ends(3, &[]), [quit, quit, quit]);
        assert_eq!(ends(3, &[(2, 0), (3, 1)]), [Ended::Exited(0), Ended::Exited(1), quit]);
    }

    #[test]
    fn a_reader_that_leaves_ends_the_last_stage_only() {
        let done = Ended::Exited(0);
        assert_eq!(ends(SIGPIPE, &[]), [done, done, Ended::Signalled(SIGPIPE, false)]);
    }
}
