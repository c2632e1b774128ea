//! Clocks: the monotonic one, and the CPU clock of another process.

use std::time::Duration;

/// Nanoseconds of the monotonic clock.
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Nanoseconds since boot, sleep included: the clock of process start times.
pub fn since_boot_ns() -> u64 {
    read(libc::CLOCK_BOOTTIME).unwrap_or(0)
}

/// Milliseconds since the Unix epoch.
pub fn unix_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap_or(Duration::ZERO).as_millis() as u64
}

/// Returns today's date in UTC: `2026-12-01`.
pub fn today() -> String {
    let seconds = (unix_ms() / 1000) as libc::time_t;
    // SAFETY: all-zero bytes are a valid `tm`: numbers, and a null pointer.
    let mut date: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both are valid for the call, which keeps neither.
    unsafe { libc::gmtime_r(&seconds, &mut date) };
    format!("{:04}-{:02}-{:02}", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday)
}

/// CPU time of this process so far, all threads, nanoseconds.
pub fn own_cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0)
}

/// CPU time of this thread so far, nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// CPU time of process `pid` so far, all its threads but not its children, nanoseconds.
///
/// Costs one system call, needs no permission, and is exact; /proc/PID/stat counts ticks.
pub fn process_cpu_ns(pid: u32) -> Option<u64> {
    // The kernel documents this encoding and clock_getcpuclockid(3) computes it: the complement of the pid,
    // shifted, with the scheduler's clock (2) in the low bits.
    read((!(pid as libc::clockid_t) << 3) | 2)
}

/// Reads a clock in nanoseconds through the C library, which already knows the address of the vDSO.
fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a writable timespec; an invalid id is answered with an error.
    let answer = unsafe { libc::clock_gettime(clock, &mut time) };
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
