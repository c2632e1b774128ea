//! What a process does that stands between a command and its caller, so that neither notices: it forwards
//! signals to the command, keeps no descriptor of it open, and becomes the parent of its orphans.

use crate::{signals, startup};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Signals that a caller sends to this process and means for the command.
const FORWARDED: [i32; 7] =
    [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

/// Pidfd of the command; -1 for none.
static COMMAND: AtomicI32 = AtomicI32::new(-1);
/// Signals that arrived before there was a command: bit n for signal n.
static EARLY: AtomicU32 = AtomicU32::new(0);

/// SIGINT and SIGQUIT of the terminal reach the command too: only those that a process sent are forwarded.
extern "C" fn forward(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo_t.
    let code = unsafe { (*info).si_code };
    let by_kernel = code == libc::SI_KERNEL;
    if by_kernel && matches!(signal, libc::SIGINT | libc::SIGQUIT) {
        return;
    }
    match COMMAND.load(Ordering::SeqCst) {
        command if command >= 0 => signals::send_through(command, signal),
        _ => drop(EARLY.fetch_or(1 << signal, Ordering::SeqCst)),
    }
}

/// While it lives, signals that this process receives go to the command, whose reaction decides.
pub struct StandIn {
    command: OwnedFd,
}

/// Takes the signals for a command that is about to start. Signals that this process ignored from the start stay ignored.
pub fn prepare() {
    for signal in FORWARDED.into_iter().filter(|&signal| !is_ignored(signal)) {
        handle(signal);
    }
}

impl StandIn {
    /// Forwards the signals to `command`, a child, from those on that have arrived since [`prepare`]. `None` if the kernel has
    /// no pidfds: the signals then end this process, as usual.
    pub fn for_command(command: u32) -> Option<Self> {
        let Some(command) = crate::pidfd::open(command) else {
            FORWARDED.into_iter().filter(|&signal| !is_ignored(signal)).for_each(signals::set_default);
            return None;
        };
        COMMAND.store(command.as_raw_fd(), Ordering::SeqCst);
        let early = EARLY.swap(0, Ordering::SeqCst);
        FORWARDED
            .into_iter()
            .filter(|signal| early & (1 << signal) != 0)
            .for_each(|signal| signals::send_through(command.as_raw_fd(), signal));
        Some(StandIn { command })
    }

    /// Returns a descriptor that is readable when the command has ended.
    pub fn pidfd(&self) -> std::os::fd::BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.command)
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        // Before the pidfd is closed. The handlers stay: this process is about to end as its command did.
        COMMAND.store(-1, Ordering::SeqCst);
    }
}

fn is_ignored(signal: i32) -> bool {
    if matches!(signal, libc::SIGTERM | libc::SIGHUP | libc::SIGINT | libc::SIGQUIT) {
        return startup::was_ignored(signal);
    }
    // SAFETY: an all-zero sigaction is a valid value for sigaction to fill.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null `act` only queries; `action` is writable.
    unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    action.sa_sigaction == libc::SIG_IGN
}

fn handle(signal: i32) {
    let handler =
        forward as extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) as libc::sighandler_t;
    let mut action = signals::action(handler);
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: `action` is valid, and its handler is async-signal-safe.
    unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
}

/// Closes every descriptor that this process inherited, except standard error: a copy here of a pipe's end would hold back
/// the end of file, or the broken pipe, of those the command shares it with. Standard input and output become /dev/null.
/// Descriptors that this process opened itself are close-on-exec, and stay.
///
/// # Errors
/// If /dev/null or /proc/self/fd cannot be read.
pub fn release_inherited_descriptors() -> io::Result<()> {
    use std::os::fd::AsFd;
    let null = crate::flow::null()?;
    crate::stdio::set_stdin(null.as_fd())?;
    drop(crate::stdio::set_stdout(null.as_fd())?);
    let fds: Vec<i32> = std::fs::read_dir("/proc/self/fd")?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&fd| fd > 2)
        .collect();
    for fd in fds {
        // SAFETY: F_GETFD takes no pointer and changes nothing; a closed descriptor is answered with -1.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
        if flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
            // SAFETY: it is open and inherited, so nothing in this process owns it.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
        }
    }
    Ok(())
}

/// Whether the command has stopped itself, as an editor does on Ctrl-Z, while this process's group has the terminal: the shell must
/// see its job stop.
pub fn is_stopped_at_terminal(command: u32) -> bool {
    let stat = |pid| crate::processes::parse_stat(&crate::processes::file(pid, "stat")?);
    let Some(command) = stat(command).filter(|command| command.state == 'T') else { return false };
    stat(std::process::id())
        .is_some_and(|own| own.foreground == Some(own.group) && command.group == own.group)
}

/// Stops this process until it is continued.
pub fn stop() {
    // SAFETY: raise has no memory preconditions.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Sends `signal` to process `pid` if it still is the one that started at `start_ticks`: an id may be reused. Returns whether
/// it was sent.
pub fn send(pid: u32, start_ticks: u64, signal: i32) -> bool {
    let Some(id) = rustix::process::Pid::from_raw(pid as i32) else { return false };
    let Ok(process) = pidfd_open(id, PidfdFlags::empty()) else { return false };
    let stat = crate::processes::file(pid, "stat").and_then(|text| crate::processes::parse_stat(&text));
    let Some(signal) = Signal::from_named_raw(signal) else { return false };
    stat.is_some_and(|stat| stat.start_ticks == start_ticks) && pidfd_send_signal(process, signal).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_process_that_was_meant_gets_the_signal() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().expect("sleep");
        let text = crate::processes::file(child.id(), "stat").expect("stat");
        let start = crate::processes::parse_stat(&text).expect("parses").start_ticks;
        assert!(!send(child.id(), start + 1, libc::SIGKILL));
        assert!(send(child.id(), start, libc::SIGKILL));
        child.wait().expect("ended");
    }
}
