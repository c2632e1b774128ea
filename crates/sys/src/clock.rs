//! Clocks: the monotonic one, and the CPU clock of another process.

use std::time::Duration;

/// Nanoseconds of the monotonic clock.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds since the machine started, sleep included: the clock of processes' start times.
pub fn since_boot_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Milliseconds since the Unix epoch.
pub fn unix_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap_or(Duration::ZERO).as_millis() as u64
}

/// CPU time used so far by this process, all threads, nanoseconds.
pub fn own_cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// CPU time used so far by this thread, nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// CPU time used so far by process `pid`, all its threads but not its children, nanoseconds.
///
/// Costs one system call, needs no permission, and is exact where /proc/PID/stat counts ticks.
pub fn process_cpu_ns(pid: u32) -> Option<u64> {
    // A process's CPU clock id is the complement of its pid, shifted, with the low bits naming the scheduler's
    // clock (2): the kernel's documented encoding, and what clock_getcpuclockid(3) computes.
    let id = (!(pid as libc::clockid_t) << 3) | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a writable timespec; an invalid id is answered with an error.
    let answer = unsafe { libc::clock_gettime(id, &mut time) };
    (answer == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_clock_is_its_own() {
        let by_pid = process_cpu_ns(std::process::id()).expect("own clock");
        let own = own_cpu_ns();
        assert!(own >= by_pid, "{own} before {by_pid}");
        assert!(process_cpu_ns(0x0fff_ffff).is_none(), "a pid that cannot exist");
    }
}
