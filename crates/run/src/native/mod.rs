//! Native segments of a pipeline, and the worker process that runs one.
//!
//! A worker replaces the stages of its segment: it reads what the first of them would read, writes where the
//! last one would write, and reports the status of each. If a kernel falls back, the real command takes its
//! place in the middle of the stream:
//!
//! ```text
//!   worker:  source ► k0 ► k1 ► k2 ► stdout                    k1 falls back:
//!   worker:  source ► k0 ──pipe──► real command 1 ──pipe──► copy of the worker: k2 ► stdout
//! ```
//!
//! The copy is a fork, so k2 continues with its state.

mod budget;
mod child_programs;
pub mod choose;
mod data_files;
pub(crate) mod elastic;
mod feed;
pub(crate) mod files;
mod from_end;
mod hand_over;
mod join;
mod meter;
mod not_native;
mod out;
mod prepare;
mod reader;
mod scale_up;
mod source;
mod spawned;
mod spill;
mod tee;
mod worker;

pub use budget::set_memory;
pub use choose::{Explained, explain, plan_pipeline};
pub use elastic::{Jobs, set_jobs, set_niceness};
pub use meter::{PassCounters, RowNote};
pub use not_native::{Stays, stays};

use crate::parts::Parts;
use crate::stage::Ends;
use pelton_commands::io_errors::Caller;
use pelton_record::Cost;
use pelton_stream::{InputKind, Joined, Kernel, Programs};
use pelton_sys::pipe;
use pelton_sys::spawn::{self, Action, Child, Exec, Gate, Tie};
use prepare::NativeStage;
use source::Source;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use worker::Worker;

/// A unit that is started as one process.
pub enum Unit {
    /// The real command of this stage.
    Process(usize),
    /// A worker.
    Native(Box<Native>),
    /// The real command of a stage, in several processes if that is faster.
    Parts(Box<Parts>),
}

/// A segment ready to be run once.
pub struct Native {
    /// The stages it stands for.
    pub stages: Range<usize>,
    /// Their files, redirections and names. Never empty.
    members: Vec<NativeStage>,
    /// The stage and kernel that read several inputs in parallel, if the first stage does.
    join: Option<(usize, Joined)>,
    nodes: Vec<NativeNode>,
    /// Whether the last stage continues for its copies even if its output cannot be written.
    last_copies: bool,
    /// Whether output is written when the real command would write it, and no sooner: its reader may end
    /// early, and the status shows it.
    holds_back: bool,
    /// The program that the last stage would start for its input and wait for.
    last_runs: Option<String>,
    /// What the first stage itself starts and waits for.
    starts: Option<Arc<dyn Programs>>,
    /// Whether the worker, and its replacement, end with this process.
    pub tie: Tie,
    /// A note per node, for the record.
    pub rows: Vec<RowNote>,
}

struct NativeNode {
    stages: Range<usize>,
    kernel: Option<Box<dyn Kernel>>,
    resume: Vec<(usize, Exec)>,
    /// The real command, or the program it starts, if the kernel may need it.
    itself: Option<Arc<dyn Programs>>,
}

impl Native {
    /// Whether it would fill a pipe before its reader looks for more: it reads files, and waits for no program.
    fn fills_pipe(&self) -> bool {
        self.starts.is_none() && self.members[0].files.bytes().is_some()
    }

    /// Tells the first stage that it reads a pipe which is always full.
    fn expect_full_pipe(&mut self) {
        for source in &mut self.members[0].files.sources {
            if source.kind == InputKind::Other {
                source.kind = InputKind::FullPipe;
            }
        }
    }

    /// Returns the stage that reads the segment's input, for messages.
    fn first(&self) -> &Caller {
        &self.members[0].caller
    }

    /// Returns the stage that writes the segment's output, for messages.
    fn last(&self) -> &Caller {
        &self.members[self.members.len() - 1].caller
    }

    /// Takes the segment's input.
    fn take_sources(&mut self) -> Vec<Source> {
        std::mem::take(&mut self.members[0].files.sources)
    }

    /// Returns the real command of each kernel, by link.
    fn itself(&self) -> Vec<Option<Arc<dyn Programs>>> {
        self.nodes.iter().map(|node| node.itself.clone()).collect()
    }

    /// Starts the worker, which reports to `statuses`.
    pub fn spawn(mut self, ends: Ends<'_>, statuses: BorrowedFd<'_>) -> std::io::Result<u32> {
        let child = self.child(ends);
        let tie = self.tie;
        let statuses = File::from(statuses.try_clone_to_owned()?);
        let mut worker = Worker::new(self, Some(statuses));
        spawn::spawn_worker(&child, tie, &mut || worker.run())
    }

    /// Returns its process, without the work.
    fn child<'e>(&mut self, Ends { stdin, stdout, not_mine }: Ends<'e>) -> Child<'e> {
        let members = self.members.iter_mut();
        let redirections = members.flat_map(|stage| std::mem::take(&mut stage.redirections)).collect();
        Child { action: Action::Exit(0), fallback: None, stdin, stdout, redirections, not_mine }
    }

    /// Runs the worker in this process, which ends with the status of its pipeline: it runs nothing else. A
    /// calling shell waits for it as for the last stage.
    ///
    /// # Errors
    /// If no pipe can be created.
    pub fn become_worker(mut self, pipefail: bool) -> std::io::Result<Infallible> {
        let (statuses, mut read) = match pipefail.then(pipe::pipe).transpose()? {
            Some(pipe) => (Some(File::from(pipe.write)), Some(pipe.read)),
            None => (None, None),
        };
        let child = self.child(Ends::default());
        let mut worker = Some(Worker::new(self, statuses));
        spawn::become_worker(&child, &mut || {
            let last = worker.take().map_or(127, |mut worker| worker.run());
            // All writers have ended: the worker has waited for its copies.
            read.take().map_or(last, |statuses| failed(&told(statuses)).unwrap_or(last))
        })
    }

    /// Starts a worker that waits at a gate, and counts its kernels' work in `meter`.
    pub fn spawn_metered(
        mut self,
        ends: Ends<'_>,
        statuses: BorrowedFd<'_>,
        meter: &PassCounters,
    ) -> std::io::Result<(u32, Gate)> {
        for node in &mut self.nodes {
            node.kernel = node.kernel.take().map(|kernel| meter.wrap(node.stages.start, kernel));
        }
        self.join = self.join.map(|(stage, join)| (stage, join.measured(meter.tell(stage))));
        let child = self.child(ends);
        let tie = self.tie;
        let statuses = File::from(statuses.try_clone_to_owned()?);
        let mut worker = Worker::new(self, Some(statuses));
        spawn::spawn_worker_gated(&child, tie, &mut || {
            meter.install();
            worker.run()
        })
    }
}

/// A stage and its status.
pub type Told = (usize, i32);

/// The size of one status report: two numbers.
const TOLD_BYTES: usize = 8;

/// Returns the statuses that a worker reported, by stage; later ones count.
pub fn told(statuses: OwnedFd) -> Vec<Told> {
    let mut bytes = Vec::new();
    // On a read error statuses are missing, and the caller has a default.
    let _ = File::from(statuses).read_to_end(&mut bytes);
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, i32::from_ne_bytes);
    bytes
        .chunks_exact(TOLD_BYTES)
        .map(|message| (number(&message[..4]) as usize, number(&message[4..])))
        .collect()
}

/// Returns the status for pipefail: that of the last stage that failed.
fn failed(told: &[Told]) -> Option<i32> {
    let by_stage: BTreeMap<usize, i32> = told.iter().copied().collect();
    by_stage.into_values().rev().find(|status| *status != 0)
}

/// Subtracts the status reports from the output of a worker.
pub fn forget_telling(told: &[Told], cost: &mut Cost) {
    let less =
        |count: &mut Option<u64>, by: usize| *count = count.map(|count| count.saturating_sub(by as u64));
    less(&mut cost.written_bytes, told.len() * TOLD_BYTES);
    less(&mut cost.write_calls, told.len());
}
