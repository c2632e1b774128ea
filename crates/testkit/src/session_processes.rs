//! Lists the processes of a session, from /proc.
//!
//! Every run gets a new session, so that all its processes can be found, whatever their process groups and
//! parents (a daemon that creates a new session escapes; no case does that).

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// A live process of a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionProcess {
    /// The program's name, as the kernel stores it (15 bytes).
    pub name: String,
    /// The state letter: `R`, `S`, `T`, `Z` …
    pub state: char,
    /// The process id.
    pub pid: i32,
}

/// Returns the processes of a session, including zombies, sorted by name.
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

/// Whether a process has a file open in `directory`, a path without links. A deleted file counts too.
pub fn has_file_in(pid: u32, directory: &Path) -> bool {
    let fds = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    fds.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|file| file.starts_with(directory))
}

/// Returns the names of the processes that have not ended.
pub(crate) fn alive(session: Pid) -> Vec<String> {
    members(session).into_iter().filter(|member| !matches!(member.state, 'Z' | 'X')).map(|m| m.name).collect()
}

/// Kills the whole session, until no process is alive (one may start another between listing and kill).
///
/// The caller keeps the session's leader unreaped, so that the session's id cannot be reused.
pub(crate) fn kill_all(session: Pid) {
    for _ in 0..1000 {
        let alive = members(session).into_iter().filter(|member| !matches!(member.state, 'Z' | 'X'));
        let pids: Vec<Pid> = alive.filter_map(|member| Pid::from_raw(member.pid)).collect();
        if pids.is_empty() {
            return;
        }
        for pid in pids {
            // The process may have ended since: nothing to do then.
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::yield_now();
    }
}

/// A program in a session of its own, without input and output. When this is dropped, all processes of the session are
/// killed.
pub struct SessionLeader(Child);

impl SessionLeader {
    /// Starts `words` in `directory`.
    ///
    /// # Errors
    /// If setsid(1) cannot be started.
    pub fn start<W: AsRef<OsStr>>(words: &[W], directory: &Path) -> std::io::Result<Self> {
        // Not yet a process group leader, so setsid(1) becomes the program: its pid is the session id.
        let mut command = Command::new("setsid");
        command.args(words).current_dir(directory).stdin(Stdio::null());
        Ok(SessionLeader(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?))
    }

    /// Returns the id of the program, which is that of the session.
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for SessionLeader {
    fn drop(&mut self) {
        if let Some(session) = Pid::from_raw(self.0.id() as i32) {
            kill_all(session);
        }
        let _ = self.0.wait();
    }
}
