//! Threads and the scheduler: how long this thread waited for a CPU, how busy the machine is, and lower
//! priority.

use crate::procfs::{self, ProcFile};

/// The scheduling statistics of one thread.
pub struct ThreadFile {
    accounts: ProcFile,
    /// The file with its state.
    stat: ProcFile,
}

impl ThreadFile {
    /// Opens those of the calling thread; `None` if the kernel keeps none.
    pub fn own() -> Option<Self> {
        let thread = rustix::thread::gettid().as_raw_nonzero();
        Self::open(std::process::id(), &format!("task/{thread}/"))
    }

    /// Opens those of the leading thread of another process; `None` if the kernel keeps none, or it is gone.
    pub fn of_process(pid: u32) -> Option<Self> {
        Self::open(pid, "")
    }

    fn open(pid: u32, directory: &str) -> Option<Self> {
        let file = |name: &str| ProcFile::open(pid, &format!("{directory}{name}"));
        Some(ThreadFile { accounts: file("schedstat")?, stat: file("stat")? })
    }

    /// Returns nanoseconds on a CPU, and nanoseconds runnable without one; `None` if the thread is gone.
    pub fn read(&self) -> Option<(u64, u64)> {
        let accounts = procfs::parse_schedstat(self.accounts.read(&mut [0; 128])?)?;
        Some((accounts.running_ns, accounts.ready_ns))
    }

    /// Whether it is running or runnable. The statistics include a wait only once it is over. False for the
    /// calling thread, which is not waiting.
    pub fn is_ready(&self) -> bool {
        // The name before the state is arbitrary but short.
        let mut buffer = [0; 128];
        let text = self.stat.read_bytes(&mut buffer).map(|read| &buffer[..read]).unwrap_or_default();
        let asks = rustix::thread::gettid().to_string();
        let is_other = text.split(|byte| *byte == b' ').next() != Some(asks.as_bytes());
        is_other
            && text
                .windows(3)
                .rfind(|window| window.starts_with(b") "))
                .is_some_and(|window| window[2] == b'R')
    }
}

/// Returns the number of runnable threads on the machine, this one included; `None` if the kernel does not
/// say.
pub fn running() -> Option<usize> {
    parse_loadavg(&std::fs::read_to_string("/proc/loadavg").ok()?)
}

fn parse_loadavg(text: &str) -> Option<usize> {
    text.split_ascii_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

/// Returns the idle time of all cores since boot, in nanoseconds; `None` if the kernel does not say. Its
/// resolution is 10 ms.
pub fn idle_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks = parse_idle(&text)?;
    Some(ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)))
}

/// Sums idle and I/O wait.
fn parse_idle(text: &str) -> Option<u64> {
    let mut fields = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace().skip(3);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// The maximum niceness.
const MOST_NICE: i32 = 19;

/// Lowers the calling thread's priority: raises its niceness by `more`, up to the maximum, and makes it a
/// batch thread.
pub fn give_way(more: i32) {
    let own = rustix::process::getpriority_process(Some(rustix::thread::gettid())).unwrap_or(0);
    be_nice((own + more).min(MOST_NICE));
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: it reads one struct, which lives until it returns; 0 is the calling thread. A failure changes
    // nothing.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) };
}

/// Makes the calling thread, which seldom runs, get a CPU soon after it wakes, ahead of compute-bound
/// threads: it requests slices of 0.1 ms, which the scheduler serves before long ones (EEVDF, since Linux
/// 6.12). Its children do not inherit that. Needs no privilege; does nothing on older kernels.
pub fn wake_soon() {
    const SLICE_NS: u64 = 100_000;
    const RESET_ON_FORK: u64 = 1;
    const SIZE: usize = 48;
    // The first version of struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period.
    let mut attributes = [0_u64; SIZE / 8];
    attributes[0] = SIZE as u64;
    attributes[1] = RESET_ON_FORK;
    let thread = rustix::thread::gettid();
    let niceness = rustix::process::getpriority_process(Some(thread)).unwrap_or(0);
    // The lower half is the niceness, the upper half the priority of other policies.
    attributes[2] = u64::from(niceness as u32);
    attributes[3] = SLICE_NS;
    if cfg!(target_endian = "little") {
        // SAFETY: it reads `SIZE` bytes at the address, which live until it returns; 0 is the calling thread.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, attributes.as_ptr(), 0) };
    }
}

/// Lowers a child's priority in the same way.
pub fn let_give_way(pid: u32, more: i32) {
    let Some(pid) = rustix::process::Pid::from_raw(pid as i32) else { return };
    let own = rustix::process::getpriority_process(Some(pid)).unwrap_or(0);
    // A process that is gone or may not be changed stays as it is.
    let _ = rustix::process::setpriority_process(Some(pid), (own + more).min(MOST_NICE));
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: it reads one struct, which lives until it returns.
    unsafe { libc::sched_setscheduler(pid.as_raw_nonzero().get(), libc::SCHED_BATCH, &raw const parameters) };
}

/// Sets the niceness (0 to 19) of the calling thread, and of threads that it starts, unless it is already as
/// high.
pub fn be_nice(niceness: i32) {
    let thread = rustix::thread::gettid();
    // On Linux the priority is per thread. A refusal is harmless.
    let own = rustix::process::getpriority_process(Some(thread)).unwrap_or(0);
    if niceness > own {
        let _ = rustix::process::setpriority_process(Some(thread), niceness);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says() {
        assert_eq!(parse_loadavg("0.20 0.18 0.12 3/80 11206\n"), Some(3));
        assert_eq!(parse_loadavg("junk"), None);
        assert_eq!(parse_idle("cpu  10 20 30 400 50 6 7 8 9 10\ncpu0 1 2 3 4\n"), Some(450));
        assert_eq!(parse_idle("intr 1 2 3"), None);
    }

    #[test]
    fn a_thread_knows_its_own_accounts() {
        let file = ThreadFile::own().expect("schedstat");
        let before = file.read().expect("numbers").0;
        while file.read().expect("numbers").0 == before {
            std::hint::spin_loop();
        }
        assert!(!file.is_ready(), "it has a CPU, or it could not ask");
        assert!(std::thread::scope(|scope| {
            let (send, stop) = std::sync::mpsc::channel::<()>();
            let asked = scope.spawn(move || {
                let ready = (0..1000).any(|_| file.is_ready());
                drop(send);
                ready
            });
            while stop.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {}
            asked.join().expect("asked")
        }));
        assert!(running().is_some_and(|running| running >= 1));
        assert!(idle_ns().is_some());
    }

    #[test]
    fn waking_soon_changes_nothing_else() {
        let after = std::thread::spawn(|| {
            wake_soon();
            let own = rustix::thread::gettid();
            let text = std::fs::read_to_string(format!("/proc/self/task/{}/sched", own.as_raw_nonzero()));
            (rustix::process::getpriority_process(Some(own)), text.unwrap_or_default())
        });
        let before = rustix::process::getpriority_process(None);
        let (niceness, text) = after.join().expect("joined");
        assert_eq!(niceness, before);
        let policy =
            text.lines().find(|line| line.starts_with("policy")).and_then(|line| line.rsplit(' ').next());
        assert!(policy.is_none_or(|policy| policy == "0"), "{text}");
    }

    #[test]
    fn who_gives_way_is_nice() {
        let niceness = std::thread::spawn(|| {
            give_way(19);
            rustix::process::getpriority_process(Some(rustix::thread::gettid()))
        });
        assert_eq!(niceness.join().expect("joined"), Ok(19));
    }
}
