//! Every system call of a stage, counted by ptrace. It slows down what it counts, and so it is asked for by name.
//!
//! Cheaper means exist (eBPF, perf counters), for the superuser; /proc/PID/io, which every run reads, counts only reads and
//! writes.

use pelton_record::syscalls::{Syscall, Syscalls};
use pelton_sys::call_names;
use pelton_sys::trace::Trace;

/// A stage whose calls are counted.
pub struct SyscallProbe(Option<Trace>);

impl SyscallProbe {
    /// Attaches to a child that waits at its gate. Where that is not permitted, nothing will be known.
    pub fn attach(pid: u32) -> Self {
        SyscallProbe(Trace::attach(pid).ok())
    }

    /// The process that counts: a child of this one that is no stage's.
    pub fn tracer(&self) -> Option<u32> {
        self.0.as_ref().map(Trace::tracer)
    }

    /// What was counted, once the stage has ended.
    pub fn finish(&self) -> Option<Syscalls> {
        let counts = self.0.as_ref()?.counts();
        let row = |(number, count): (i64, pelton_sys::trace::Count)| Syscall {
            number,
            name: call_names::name(number).map_or_else(|| number.to_string(), str::to_owned),
            calls: count.calls,
            errors: count.errors,
            time_ns: count.time_ns,
            bytes: count.bytes,
        };
        let mut rows: Vec<Syscall> = counts.into_iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.time_ns, row.calls)));
        Some(Syscalls { means: "ptrace".into(), rows })
    }
}
