//! Counters of a worker in shared memory, so that the parent can read them afterwards, however the worker
//! ends.
//!
//! A worker is a process, so it has one meter, which [`install`](PassCounters::install) publishes to the code
//! that reads and writes. Without one nothing is measured, at no cost.

use pelton_observe::{Around, Tally};
use pelton_plan::{Node, Planned};
use pelton_stream::{Call, Kernel, Metered, Tell};
use pelton_sys::clock;
use pelton_sys::shared::Counters;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// What the record says of a node, besides its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowNote {
    /// The stages it stands for.
    pub stages: Range<usize>,
    /// The rules that made it.
    pub rules: Vec<String>,
    /// The description of a rewritten node.
    pub label: Option<String>,
}

impl RowNote {
    /// Makes the note on a node of this plan.
    pub fn of(node: &Node, planned: &Planned) -> Self {
        let label = node.is_rewritten().then(|| planned.label(node).to_owned());
        RowNote { stages: node.stages.clone(), rules: planned.rules_of(node), label }
    }
}

/// Counters of the whole pass.
const READ_NS: usize = 0;
const WRITE_NS: usize = 1;
const OF_PASS: usize = 2;
/// Counters of each stage, which follow.
const CALLS_NS: usize = 0;
const UNTIL_NS: usize = 1;
const GIVEN: usize = 2;
const PRINTED: usize = 3;
const REAL_NS: usize = 4;
const HANDED_OVER: usize = 5;
const OF_STAGE: usize = 6;

/// The counters of one pass, shared with its worker.
#[derive(Clone, Debug)]
pub struct PassCounters {
    counters: Arc<Counters>,
    stages: Range<usize>,
}

/// The worker's meter.
static METER: OnceLock<PassCounters> = OnceLock::new();

impl PassCounters {
    /// Makes counters for a pass over these stages.
    ///
    /// # Errors
    /// If there is no memory for the counters.
    pub fn new(stages: Range<usize>) -> std::io::Result<Self> {
        let counters = Arc::new(Counters::new(OF_PASS + stages.len() * OF_STAGE)?);
        Ok(PassCounters { counters, stages })
    }

    /// Wraps a kernel so that it counts. The node stands for `stage` and later ones.
    pub fn wrap(&self, stage: usize, kernel: Box<dyn Kernel>) -> Box<dyn Kernel> {
        Box::new(Metered::new(kernel, self.tell(stage)))
    }

    /// Returns the callback that counts calls of the kernel for `stage`.
    pub fn tell(&self, stage: usize) -> Tell {
        let meter = self.clone();
        Arc::new(move |call: Call| {
            meter.add(stage, CALLS_NS, call.ns);
            meter.add(stage, GIVEN, call.given as u64);
            meter.add(stage, PRINTED, call.printed as u64);
            meter.set(stage, UNTIL_NS, clock::now_ns());
            if call.handed_over {
                meter.set(stage, HANDED_OVER, 1);
            }
        })
    }

    /// Makes this the worker's meter.
    pub fn install(&self) {
        // A worker runs once, and a copy of it has the same meter.
        let _ = METER.set(self.clone());
    }

    /// Returns the counts of the node for `stages`, in a pass that started at `start_ns`.
    pub fn tally(&self, stages: &Range<usize>, start_ns: u64) -> Tally {
        let first = stages.start;
        Tally {
            ns: self.get(first, CALLS_NS),
            until_ns: self.get(first, UNTIL_NS).saturating_sub(start_ns),
            given: self.get(first, GIVEN),
            printed: self.get(first, PRINTED),
            real_ns: stages.clone().map(|stage| self.get(stage, REAL_NS)).sum(),
        }
    }

    /// Whether the node for `stages` fell back to the real commands.
    pub fn handed_over(&self, stages: &Range<usize>) -> bool {
        self.get(stages.start, HANDED_OVER) > 0
    }

    /// Returns the counts of the whole pass.
    pub fn around(&self) -> Around {
        let (read_ns, write_ns) = (self.counters.get(READ_NS), self.counters.get(WRITE_NS));
        Around { read_ns, write_ns, ..Around::default() }
    }

    fn place(&self, stage: usize, counter: usize) -> usize {
        OF_PASS + stage.saturating_sub(self.stages.start) * OF_STAGE + counter
    }

    fn get(&self, stage: usize, counter: usize) -> u64 {
        self.counters.get(self.place(stage, counter))
    }

    fn add(&self, stage: usize, counter: usize, n: u64) {
        self.counters.add(self.place(stage, counter), n);
    }

    fn set(&self, stage: usize, counter: usize, n: u64) {
        self.counters.set(self.place(stage, counter), n);
    }
}

/// Measures a read, or a wait for input.
pub fn reading<T>(read: impl FnOnce() -> T) -> T {
    measured(READ_NS, read)
}

/// Measures a write.
pub fn writing<T>(write: impl FnOnce() -> T) -> T {
    measured(WRITE_NS, write)
}

/// Records the CPU time of a real command after a fallback.
pub fn took_over(stage: usize, cpu_ns: u64) {
    if let Some(meter) = METER.get() {
        meter.add(stage, REAL_NS, cpu_ns);
    }
}

fn measured<T>(counter: usize, work: impl FnOnce() -> T) -> T {
    let Some(meter) = METER.get() else { return work() };
    let start_ns = clock::now_ns();
    let result = work();
    meter.counters.add(counter, clock::now_ns() - start_ns);
    result
}
