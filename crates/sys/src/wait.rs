//! Waits for children: first detects that one ended, then, after its last counters were read, reaps it.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// Resource usage of a process and of the descendants it waited for, from wait4(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode, nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, nanoseconds.
    pub sys_ns: u64,
    /// Peak resident set, bytes.
    pub peak_rss_bytes: u64,
    /// `ru_minflt`
    pub minor_faults: u64,
    /// `ru_majflt`
    pub major_faults: u64,
    /// `ru_inblock`
    pub block_inputs: u64,
    /// `ru_oublock`
    pub block_outputs: u64,
    /// `ru_nvcsw`
    pub voluntary_switches: u64,
    /// `ru_nivcsw`
    pub involuntary_switches: u64,
    /// `ru_ixrss`, `ru_idrss`, `ru_isrss`, `ru_nswap`, `ru_msgsnd`, `ru_msgrcv`, `ru_nsignals`, in that
    /// order.
    pub unmaintained: [u64; 7],
}

/// Number of fields of a [`Usage`].
const FIGURES: usize = 16;

impl Usage {
    /// Returns its fields in order.
    pub fn as_array(&self) -> [u64; FIGURES] {
        let [a, b, c, d, e, f, g] = self.unmaintained;
        [
            self.user_ns,
            self.sys_ns,
            self.peak_rss_bytes,
            self.minor_faults,
            self.major_faults,
            self.block_inputs,
            self.block_outputs,
            self.voluntary_switches,
            self.involuntary_switches,
            a,
            b,
            c,
            d,
            e,
            f,
            g,
        ]
    }

    /// Builds it from fields in that order.
    pub fn from_array(figures: [u64; FIGURES]) -> Self {
        let [user_ns, sys_ns, peak_rss_bytes, minor_faults, major_faults, block_inputs, block_outputs, ..] =
            figures;
        let [.., voluntary_switches, involuntary_switches, a, b, c, d, e, f, g] = figures;
        Usage {
            user_ns,
            sys_ns,
            peak_rss_bytes,
            minor_faults,
            major_faults,
            block_inputs,
            block_outputs,
            voluntary_switches,
            involuntary_switches,
            unmaintained: [a, b, c, d, e, f, g],
        }
    }
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this exit code.
    Exited(i32),
    /// By this signal; true if it dumped core.
    Signalled(i32, bool),
}

impl Ended {
    /// Returns the status that a shell reports: the exit code, or 128 plus the signal's number.
    pub fn status(self) -> i32 {
        match self {
            Ended::Exited(code) => code,
            Ended::Signalled(signal, _) => 128 + signal,
        }
    }

    /// Returns the signal that ended it, if one did.
    pub fn signal(self) -> Option<i32> {
        match self {
            Ended::Exited(_) => None,
            Ended::Signalled(signal, _) => Some(signal),
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Exited(code),
            (None, signal) => Ended::Signalled(signal.unwrap_or(0), status.core_dumped()),
        }
    }
}

/// Returns a child that has ended but is not reaped: its /proc files are still readable. `None`: no child has
/// ended yet, or, if `block`, a signal interrupted the wait. `Err` with `ECHILD` if there are no children.
pub fn peek_ended(block: bool) -> io::Result<Option<u32>> {
    // SAFETY: an all-zero siginfo_t is a valid value for waitid to fill.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOWAIT | if block { 0 } else { libc::WNOHANG };
    // SAFETY: `info` is writable.
    let answer = unsafe { libc::waitid(libc::P_ALL, 0, &mut info, flags) };
    if answer != 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(None) } else { Err(error) };
    }
    // SAFETY: waitid succeeded; with WNOHANG and nobody ended, the pid is the zero it was initialised with.
    let pid = unsafe { info.si_pid() };
    Ok((pid > 0).then_some(pid as u32))
}

/// Reaps `pid`, which must be a child that has ended, and returns how it ended and what it used.
pub fn reap(pid: u32) -> io::Result<(Ended, Usage)> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value for wait4 to fill.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are writable and live across the call.
        let answer = unsafe { libc::wait4(pid as libc::pid_t, &mut status, 0, &mut usage) };
        if answer == pid as libc::pid_t {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let ended = if libc::WIFSIGNALED(status) {
        Ended::Signalled(libc::WTERMSIG(status), libc::WCOREDUMP(status))
    } else {
        Ended::Exited(libc::WEXITSTATUS(status))
    };
    Ok((ended, convert(&usage)))
}

/// Does the same if it has ended; `None` if it still runs.
pub fn try_reap(pid: u32) -> io::Result<Option<(Ended, Usage)>> {
    // SAFETY: an all-zero siginfo_t is a valid value for waitid to fill.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
    // SAFETY: `info` is writable.
    let answer = unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, flags) };
    if answer != 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(None) } else { Err(error) };
    }
    // SAFETY: waitid succeeded; if it has not ended, the pid is the zero it was initialised with.
    let ended = unsafe { info.si_pid() } != 0;
    if ended { reap(pid).map(Some) } else { Ok(None) }
}

fn convert(usage: &libc::rusage) -> Usage {
    let time = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    Usage {
        user_ns: time(usage.ru_utime),
        sys_ns: time(usage.ru_stime),
        peak_rss_bytes: usage.ru_maxrss as u64 * 1024,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        block_inputs: usage.ru_inblock as u64,
        block_outputs: usage.ru_oublock as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        unmaintained: [
            usage.ru_ixrss as u64,
            usage.ru_idrss as u64,
            usage.ru_isrss as u64,
            usage.ru_nswap as u64,
            usage.ru_msgsnd as u64,
            usage.ru_msgrcv as u64,
            usage.ru_nsignals as u64,
        ],
    }
}

fn usage_of(who: libc::c_int) -> Usage {
    // SAFETY: an all-zero rusage is a valid value for getrusage to fill.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `who` is one of the constants below and `usage` is writable; the call then cannot fail.
    unsafe { libc::getrusage(who, &mut usage) };
    convert(&usage)
}

/// Returns the usage of all children reaped so far, as summed by the kernel.
pub fn children_usage() -> Usage {
    usage_of(libc::RUSAGE_CHILDREN)
}

/// Returns this process's usage so far.
pub fn own_usage() -> Usage {
    usage_of(libc::RUSAGE_SELF)
}

/// Makes orphaned descendants children of this process, so that their usage is counted.
pub fn become_subreaper() -> io::Result<()> {
    // SAFETY: PR_SET_CHILD_SUBREAPER takes one integer.
    let answer = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits until a child has ended, and leaves it to be waited for. Returns at once if that cannot be known.
pub fn until_ended(child: u32) {
    if let Some(child) = crate::pidfd::open(child) {
        wait_any(&[std::os::fd::AsFd::as_fd(&child)], None);
    }
}

/// Waits until one of `pidfds` has ended, a signal arrives, or `timeout` passes.
pub fn wait_any(pidfds: &[std::os::fd::BorrowedFd<'_>], timeout: Option<Duration>) {
    use rustix::event::{PollFd, PollFlags, Timespec};
    let mut polled: Vec<PollFd<'_>> =
        pidfds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let timeout =
        timeout.map(|d| Timespec { tv_sec: d.as_secs() as i64, tv_nsec: i64::from(d.subsec_nanos()) });
    // Interrupted, timed out or ready: in every case the caller checks again.
    let _ = rustix::event::poll(&mut polled, timeout.as_ref());
}
