//! Exact cost at exit: wait4(2)'s rusage and /proc/PID/io, read while the process is a zombie.
//!
//! rusage covers all threads and every descendant that was waited for; so does io. An ordinary user cannot
//! open a zombie's io file, so it is opened while the child waits at its gate, and kept open.

use pelton_record::{Cost, Unmaintained};
use pelton_sys::procfs::{self, ProcFile};
use pelton_sys::wait::Usage;

/// Open files of one child.
pub struct Accounting {
    io: Option<ProcFile>,
    /// Memory that the child inherited from its parent before exec; a smaller peak is not measurable.
    inherited_rss_bytes: u64,
}

impl Accounting {
    /// Opens the files of a child that waits at its gate.
    pub fn attach(pid: u32) -> Self {
        Accounting {
            io: ProcFile::open(pid, "io"),
            inherited_rss_bytes: procfs::resident_bytes(pid).unwrap_or(0),
        }
    }

    /// Reads the counters before the child is reaped: bytes and calls, without the one byte and one call that
    /// the child spent at its gate.
    pub fn last_io(&self) -> Option<procfs::Io> {
        let mut buffer = [0; 512];
        let io = procfs::parse_io(self.io.as_ref()?.read(&mut buffer)?)?;
        Some(procfs::Io {
            read_bytes: io.read_bytes.saturating_sub(1),
            read_calls: io.read_calls.saturating_sub(1),
            ..io
        })
    }

    /// Returns the cost, from the last io counters, the usage returned by reaping, and the wall time.
    pub fn cost(&self, io: Option<procfs::Io>, usage: &Usage, wall_ns: u64) -> Cost {
        // A few pages are touched between gate and exec.
        const SLACK_BYTES: u64 = 256 * 1024;
        Cost {
            peak_rss_is_bound: usage.peak_rss_bytes <= self.inherited_rss_bytes + SLACK_BYTES,
            ..cost_of(io, usage, wall_ns)
        }
    }
}

/// Returns the cost of a process whose files were not kept open.
pub fn cost_of(io: Option<procfs::Io>, usage: &Usage, wall_ns: u64) -> Cost {
    let [shared_text, unshared_data, unshared_stack, swaps, messages_sent, messages_received, signals] =
        usage.unmaintained;
    Cost {
        wall_ns,
        user_ns: usage.user_ns,
        sys_ns: usage.sys_ns,
        peak_rss_bytes: usage.peak_rss_bytes,
        peak_rss_is_bound: false,
        read_bytes: io.map(|io| io.read_bytes),
        written_bytes: io.map(|io| io.written_bytes),
        read_calls: io.map(|io| io.read_calls),
        write_calls: io.map(|io| io.write_calls),
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        block_inputs: usage.block_inputs,
        block_outputs: usage.block_outputs,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        unmaintained: Unmaintained {
            shared_text,
            unshared_data,
            unshared_stack,
            swaps,
            messages_sent,
            messages_received,
            signals,
        },
        figures: Default::default(),
    }
}
