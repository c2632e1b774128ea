//! Native segments of a pipeline: what they are made of, and the worker process that runs one.
//!
//! A worker stands where the stages of its segment would stand: it reads what the first of them would read, writes
//! where the last one would write, and tells the status of each. If a kernel hands over, the real command takes its
//! place in the middle of the stream:
//!
//! ```text
//!   worker:  source ► k0 ► k1 ► k2 ► stdout                    k1 hands over:
//!   worker:  source ► k0 ──pipe──► real command 1 ──pipe──► copy of the worker: k2 ► stdout
//! ```
//!
//! The copy is a fork, so k2 goes on with the state that it had.

mod budget;
mod child_programs;
pub mod choose;
mod data_files;
pub(crate) mod elastic;
pub(crate) mod files;
mod from_end;
mod hand_over;
mod join;
mod meter;
mod out;
mod prepare;
mod reader;
mod scale_up;
mod spawned;
mod spill;
mod strict;
mod tee;
mod worker;

pub use budget::set_memory;
pub use choose::{Explained, explain, plan_pipeline};
pub use elastic::{Jobs, set_jobs, set_niceness};
pub use meter::{PassCounters, RowNote};
pub use strict::{Stays, stays};

use crate::parts::Parts;
use crate::stage::Ends;
use pelton_commands::io_errors::Caller;
use pelton_record::Cost;
use pelton_stream::{Joined, Kernel, Programs};
use pelton_sys::pipe;
use pelton_sys::spawn::{self, Action, Child, Exec, Gate, Redirection, Tie};
use reader::Source;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use worker::Worker;

/// What is started as one process.
pub enum Unit {
    /// The real command of this stage.
    Process(usize),
    /// A worker.
    Native(Box<Native>),
    /// The real command of a stage, several of it if that pays.
    Parts(Box<Parts>),
}

/// A segment ready to be run once.
pub struct Native {
    /// The stages it stands for.
    pub stages: Range<usize>,
    /// What the worker's descriptors become first.
    pub redirections: Vec<Redirection>,
    /// If the first stage reads several inputs side by side: which stage, and how.
    join: Option<(usize, Joined)>,
    nodes: Vec<NativeNode>,
    sources: Vec<Source>,
    /// The stage that reads what the segment reads, for its messages.
    first: Caller,
    /// The stage that writes what the segment writes, for its messages.
    last: Caller,
    /// The last stage goes on for the sake of its copies, even if its output cannot be written.
    last_copies: bool,
    /// What is printed goes on when the real command would let it go, and no sooner: its reader may leave, and the status shows.
    holds_back: bool,
    /// The program that the last stage would start, and see end, for what it reads.
    last_runs: Option<String>,
    /// What the first stage starts by itself, and sees end.
    starts: Option<Arc<dyn Programs>>,
    /// The worker, and what takes its place, end with this process.
    pub tie: Tie,
    /// A note per node, for the record.
    pub rows: Vec<RowNote>,
}

struct NativeNode {
    stages: Range<usize>,
    kernel: Option<Box<dyn Kernel>>,
    resume: Vec<(usize, Exec)>,
    /// Its command, or what that starts, if its kernel may have to ask that.
    itself: Option<Arc<dyn Programs>>,
}

impl Native {
    /// What kernels may have to ask, by link.
    fn itself(&self) -> Vec<Option<Arc<dyn Programs>>> {
        self.nodes.iter().map(|node| node.itself.clone()).collect()
    }

    /// Starts the worker; `statuses` is where it tells them.
    pub fn spawn(mut self, ends: Ends<'_>, statuses: BorrowedFd<'_>) -> std::io::Result<u32> {
        let child = self.child(ends);
        let tie = self.tie;
        let statuses = File::from(statuses.try_clone_to_owned()?);
        let mut worker = Worker::new(self, Some(statuses));
        spawn::spawn_worker(&child, tie, &mut || worker.run())
    }

    /// Its process, but for the work.
    fn child<'e>(&mut self, Ends { stdin, stdout, not_mine }: Ends<'e>) -> Child<'e> {
        let redirections = std::mem::take(&mut self.redirections);
        Child { action: Action::Exit(0), fallback: None, stdin, stdout, redirections, not_mine }
    }

    /// The same in this process, which ends with the status of its pipeline: there is nothing else in it. A shell that
    /// called waits for it as for the last stage.
    ///
    /// # Errors
    /// If there is no pipe to be had.
    pub fn become_worker(mut self, pipefail: bool) -> std::io::Result<Infallible> {
        let (statuses, mut read) = match pipefail.then(pipe::pipe).transpose()? {
            Some(pipe) => (Some(File::from(pipe.write)), Some(pipe.read)),
            None => (None, None),
        };
        let child = self.child(Ends::default());
        let mut worker = Some(Worker::new(self, statuses));
        spawn::become_worker(&child, &mut || {
            let last = worker.take().map_or(127, |mut worker| worker.run());
            // Whoever might tell something has ended: the worker has waited for its copies.
            read.take().map_or(last, |statuses| failed(&told(statuses)).unwrap_or(last))
        })
    }

    /// The same, but the worker waits at a gate, and counts into `meter` what its kernels do.
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

/// What a worker writes to tell one: two numbers.
const TOLD_BYTES: usize = 8;

/// The statuses that a worker told, by stage; later ones count.
pub fn told(statuses: OwnedFd) -> Vec<Told> {
    let mut bytes = Vec::new();
    // What cannot be read is missing, and the caller has a status for that.
    let _ = File::from(statuses).read_to_end(&mut bytes);
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, i32::from_ne_bytes);
    bytes
        .chunks_exact(TOLD_BYTES)
        .map(|message| (number(&message[..4]) as usize, number(&message[4..])))
        .collect()
}

/// The status that pipefail is about: that of the last stage that failed.
fn failed(told: &[Told]) -> Option<i32> {
    let by_stage: BTreeMap<usize, i32> = told.iter().copied().collect();
    by_stage.into_values().rev().find(|status| *status != 0)
}

/// What a worker wrote to tell is none of what its stages printed.
pub fn forget_telling(told: &[Told], cost: &mut Cost) {
    let less =
        |count: &mut Option<u64>, by: usize| *count = count.map(|count| count.saturating_sub(by as u64));
    less(&mut cost.written_bytes, told.len() * TOLD_BYTES);
    less(&mut cost.write_calls, told.len());
}
