//! Counts every system call of a stage with ptrace. That slows the stage down, so it is opt-in.
//!
//! Cheaper means (eBPF, perf counters) need root; /proc/PID/io, which every run reads, counts only reads and
//! writes.

use pelton_record::syscalls::{Syscall, Syscalls};
use pelton_sys::shared::Counters;
use pelton_sys::trace::{Onward, Stop, Trace, Watcher};
use pelton_sys::{call_names, calls, clock};
use std::collections::HashMap;
use std::sync::Arc;

/// Calls with numbers from here on are counted together.
const NUMBERS: usize = 1024;
/// Counters per call: calls, errors, time, bytes.
const FIELDS: usize = 4;

/// A stage with counted calls.
pub struct SyscallProbe(Option<(Trace, Arc<Counters>)>);

impl SyscallProbe {
    /// Attaches to a child that waits at its gate, and counts from its next exec on. Counts nothing if that
    /// is not permitted.
    pub fn attach(pid: u32) -> Self {
        let attach = || {
            let counters = Arc::new(Counters::new(NUMBERS * FIELDS)?);
            let count = Count { begun: false, calls: HashMap::new(), counters: counters.clone() };
            Ok::<_, std::io::Error>((Trace::attach(pid, count)?, counters))
        };
        SyscallProbe(attach().ok())
    }

    /// Returns the tracer: a child of this process that belongs to no stage.
    pub fn tracer(&self) -> Option<u32> {
        self.0.as_ref().map(|(trace, _)| trace.tracer())
    }

    /// Returns the counts, once the stage has ended.
    pub fn finish(&self) -> Option<Syscalls> {
        let (_, counters) = self.0.as_ref()?;
        let mut rows: Vec<Syscall> = (0..NUMBERS).filter_map(|number| row(counters, number)).collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.time_ns, row.calls)));
        Some(Syscalls { means: "ptrace".into(), rows })
    }
}

/// Returns the row of a call, if it was made.
fn row(counters: &Counters, number: usize) -> Option<Syscall> {
    let [calls, errors, time_ns, bytes] = [0, 1, 2, 3].map(|field| counters.get(number * FIELDS + field));
    let number = number as i64;
    (calls > 0).then(|| Syscall {
        number,
        name: call_names::name(number).map_or_else(|| number.to_string(), str::to_owned),
        calls,
        errors,
        time_ns,
        bytes: calls::moves_bytes(number).then_some(bytes),
    })
}

/// The counter, in the tracer.
struct Count {
    /// Whether the program itself runs: earlier calls are pelton's.
    begun: bool,
    /// Pending calls: number and start time.
    calls: HashMap<u32, (i64, u64)>,
    counters: Arc<Counters>,
}

impl Watcher for Count {
    fn stops(&mut self, thread: u32, stop: Stop) {
        match stop {
            Stop::Begins { number, .. } => drop(self.calls.insert(thread, (number, clock::now_ns()))),
            Stop::Ends { value, failed } => {
                if let Some((number, start_ns)) = self.calls.remove(&thread).filter(|_| self.begun) {
                    self.count(number, start_ns, value, failed);
                }
            }
            Stop::Execs { .. } => self.begun = true,
            Stop::Other => {}
        }
    }

    fn goes_on(&mut self, thread: u32, onward: Onward) {
        if onward == Onward::Leaves {
            self.calls.remove(&thread);
        }
    }
}

impl Count {
    fn count(&self, number: i64, start_ns: u64, value: i64, failed: bool) {
        let first = (number.max(0) as usize).min(NUMBERS - 1) * FIELDS;
        self.counters.add(first, 1);
        self.counters.add(first + 1, u64::from(failed));
        self.counters.add(first + 2, clock::now_ns() - start_ns);
        if !failed && calls::moves_bytes(number) {
            self.counters.add(first + 3, u64::try_from(value).unwrap_or(0));
        }
    }
}
