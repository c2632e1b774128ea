//! What the kernel has counted of a process so far: for processes that another program will reap.

use crate::procfs::{self, Io, ProcFile};
use crate::{clock, processes};

/// The kernel's counters of a process and of the descendants that it has waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// CPU time in user mode, nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, nanoseconds.
    pub sys_ns: u64,
    /// The part of both that waited-for descendants used, in whole ticks.
    pub reaped_ns: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Bytes and calls; `None` if the kernel denies it.
    pub io: Option<Io>,
    /// Bytes read from and written to block devices, with the same condition.
    pub device_bytes: Option<[u64; 2]>,
    /// Peak resident set of the process itself; `None` if it has ended.
    pub peak_rss_bytes: Option<u64>,
    /// Voluntary and involuntary switches of its leading thread.
    pub switches: [u64; 2],
}

/// CPU time of waited-for children, from /proc/PID/stat, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChildrenCpu {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel.
    pub sys_ns: u64,
}

/// Open files with the accounts of a process.
pub struct AccountFiles {
    pid: u32,
    stat: ProcFile,
    status: Option<ProcFile>,
    io: Option<ProcFile>,
}

impl AccountFiles {
    /// Opens them; `None` if the process is gone.
    pub fn open(pid: u32) -> Option<Self> {
        let stat = ProcFile::open(pid, "stat")?;
        Some(AccountFiles { pid, stat, status: ProcFile::open(pid, "status"), io: ProcFile::open(pid, "io") })
    }

    /// Reads all counters; `None` if it has been reaped.
    pub fn read(&self) -> Option<Accounts> {
        let mut buffer = [0; 4096];
        let exact_ns = clock::process_cpu_ns(self.pid);
        let mut accounts = parse_stat(self.stat.read(&mut buffer)?, exact_ns)?;
        if let Some(text) = self.status.as_ref().and_then(|file| file.read(&mut buffer)) {
            accounts.peak_rss_bytes = status_field(text, "VmHWM:").map(|kib| kib << 10);
            accounts.switches = ["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"]
                .map(|name| status_field(text, name).unwrap_or(0));
        }
        if let Some(text) = self.io.as_ref().and_then(|file| file.read(&mut buffer)) {
            accounts.io = procfs::parse_io(text);
            accounts.device_bytes = status_field(text, "\nread_bytes:")
                .zip(status_field(text, "\nwrite_bytes:"))
                .map(|(read, written)| [read, written]);
        }
        Some(accounts)
    }

    /// Reads bytes and calls alone.
    pub fn io(&self) -> Option<Io> {
        procfs::parse_io(self.io.as_ref()?.read(&mut [0; 512])?)
    }
}

/// Parses the CPU time of waited-for children out of /proc/PID/stat.
pub fn children_cpu(stat: &str) -> Option<ChildrenCpu> {
    let fields = Fields::of(stat)?;
    Some(ChildrenCpu { user_ns: fields.ticks(16)?, sys_ns: fields.ticks(17)? })
}

/// Fields of /proc/PID/stat behind the name, numbered as in proc(5).
struct Fields<'t>(Vec<&'t str>);

impl<'t> Fields<'t> {
    fn of(stat: &'t str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(')')?;
        Some(Fields(rest.split_ascii_whitespace().collect()))
    }

    fn number(&self, field: usize) -> Option<u64> {
        self.0.get(field - 3)?.parse().ok()
    }

    /// Returns a time in nanoseconds.
    fn ticks(&self, field: usize) -> Option<u64> {
        Some(self.number(field)? * (1_000_000_000 / processes::ticks_per_second().max(1)))
    }
}

/// `exact_ns`: the CPU time of the process itself, which the file has in ticks.
fn parse_stat(text: &str, exact_ns: Option<u64>) -> Option<Accounts> {
    let fields = Fields::of(text)?;
    let (user, sys) = (fields.ticks(14)?, fields.ticks(15)?);
    let reaped = children_cpu(text)?;
    let own_ns = exact_ns.unwrap_or(user + sys);
    let own_user_ns = match user + sys {
        0 => own_ns,
        ticks => (own_ns as f64 * user as f64 / ticks as f64) as u64,
    };
    Some(Accounts {
        user_ns: own_user_ns + reaped.user_ns,
        sys_ns: own_ns - own_user_ns.min(own_ns) + reaped.sys_ns,
        reaped_ns: reaped.user_ns + reaped.sys_ns,
        minor_faults: fields.number(10)? + fields.number(11)?,
        major_faults: fields.number(12)? + fields.number(13)?,
        ..Accounts::default()
    })
}

/// Returns the number behind `name`.
fn status_field(text: &str, name: &str) -> Option<u64> {
    let (_, rest) = text.split_once(name)?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_say_the_same_as_the_clocks() {
        let files = AccountFiles::open(std::process::id()).expect("own files");
        let before = files.read().expect("read");
        let mut sum = 0u64;
        while clock::own_cpu_ns() < before.user_ns + before.sys_ns + 30_000_000 {
            sum = sum.wrapping_mul(3).wrapping_add(1);
        }
        let after = files.read().expect("read");
        assert!(
            after.user_ns + after.sys_ns >= before.user_ns + before.sys_ns + 30_000_000,
            "{sum} {after:?}"
        );
        assert!(after.peak_rss_bytes.is_some_and(|bytes| bytes > 100_000), "{after:?}");
        assert!(after.io.is_some() && after.device_bytes.is_some(), "{after:?}");
        assert!(AccountFiles::open(0x0fff_ffff).is_none());
    }

    #[test]
    fn reaped_children_are_part_of_both_times() {
        let text = "7 (a) b) S 1 7 7 0 -1 0 10 20 3 4 5 15 100 200 20 0 1 0 50 0 0";
        let tick = 1_000_000_000 / processes::ticks_per_second();
        let accounts = parse_stat(text, Some(40 * tick)).expect("parses");
        assert_eq!((accounts.user_ns, accounts.sys_ns), (110 * tick, 230 * tick));
        assert_eq!((accounts.reaped_ns, accounts.minor_faults, accounts.major_faults), (300 * tick, 30, 7));
        assert_eq!(children_cpu(text), Some(ChildrenCpu { user_ns: 100 * tick, sys_ns: 200 * tick }));
    }
}
