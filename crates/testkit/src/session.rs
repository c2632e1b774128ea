//! Who is still there: the processes of a session, read from /proc.
//!
//! Every run gets a session of its own, so that whatever it starts can be found again, whichever process groups and
//! parents it ends up with (a daemon that makes its own session escapes; no case does that).

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// A live process of a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionProcess {
    /// Its program's name, as the kernel keeps it (15 bytes).
    pub name: String,
    /// Its state letter: `R`, `S`, `T`, `Z` …
    pub state: char,
    /// Its process id.
    pub pid: i32,
}

/// The processes of a session, zombies included, sorted by name.
pub fn members(session: Pid) -> Vec<SessionProcess> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut found: Vec<SessionProcess> = pids.filter_map(|pid| member(pid, session)).collect();
    found.sort();
    found
}

fn member(pid: i32, session: Pid) -> Option<SessionProcess> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_string();
    // After the name: state, parent, process group, session.
    let mut fields = tail.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let its_session: i32 = fields.nth(2)?.parse().ok()?;
    (its_session == session.as_raw_nonzero().get()).then_some(SessionProcess { name, state, pid })
}

/// Whether a process has a file open that lies in `directory`, whose path has no links in it, or lay there and has lost its name.
pub fn has_file_in(pid: u32, directory: &Path) -> bool {
    let fds = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    fds.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|file| file.starts_with(directory))
}

/// The names of those that have not ended.
pub(crate) fn alive(session: Pid) -> Vec<String> {
    members(session).into_iter().filter(|member| !matches!(member.state, 'Z' | 'X')).map(|m| m.name).collect()
}

/// Kills all of the session, until a look finds none alive (a process may start another between look and kill).
///
/// The caller keeps the session's leader unreaped, so that its number cannot belong to anyone else.
pub(crate) fn kill_all(session: Pid) {
    for _ in 0..1000 {
        let alive = members(session).into_iter().filter(|member| !matches!(member.state, 'Z' | 'X'));
        let pids: Vec<Pid> = alive.filter_map(|member| Pid::from_raw(member.pid)).collect();
        if pids.is_empty() {
            return;
        }
        for pid in pids {
            // It may have ended since: nothing to do then.
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::yield_now();
    }
}
