//! The open descriptors of a process: what each refers to, and in which direction it is open.

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};
use rustix::io::Errno;
use std::path::PathBuf;

/// One open descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Its number.
    pub fd: u32,
    /// What it refers to.
    pub target: Target,
    /// Whether it is open for reading.
    pub reads: bool,
    /// Whether it is open for writing.
    pub writes: bool,
}

/// What a descriptor refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An anonymous pipe, by its inode.
    Pipe(u64),
    /// A FIFO.
    Fifo(Fifo),
    /// A socket, by its inode.
    Socket(u64),
    /// What the kernel names in brackets: `[eventfd]`, `[eventpoll]`, `[timerfd]`, `[pidfd]` …
    Anonymous(String),
    /// A terminal.
    Terminal(String),
    /// Another file, by its path.
    File(String),
}

/// A FIFO: its file, and the path by which it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fifo {
    /// Device of its file system.
    pub device: u64,
    /// Inode.
    pub inode: u64,
    /// Its path.
    pub path: String,
}

/// Returns the descriptors of `pid`; `None` if they are not readable. A process may let others list its
/// descriptors but not read where they lead; that also gives `None`.
pub fn all(pid: u32) -> Option<Vec<Descriptor>> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let mut all = Vec::new();
    for fd in entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        match read(pid, fd) {
            Ok(one) => all.push(one),
            Err(Errno::ACCESS | Errno::PERM) => return None,
            // Closed meanwhile.
            Err(_) => {}
        }
    }
    Some(all)
}

/// Returns descriptor `fd` of `pid`; `None` if it is closed or not readable.
pub fn one(pid: u32, fd: u32) -> Option<Descriptor> {
    read(pid, fd).ok()
}

fn read(pid: u32, fd: u32) -> Result<Descriptor, Errno> {
    let path = format!("/proc/{pid}/fd/{fd}");
    let link = rustix::fs::readlink(&path, Vec::new())?.to_string_lossy().into_owned();
    let target = target(&path, link);
    // The owner's permissions on the link say which end of a pipe it is. Files are not queried: no process
    // blocks on them.
    let (reads, writes) = match target {
        Target::Pipe(_) | Target::Fifo(_) => {
            let mode = rustix::fs::lstat(&path)?.st_mode;
            (mode & 0o400 != 0, mode & 0o200 != 0)
        }
        _ => (true, true),
    };
    Ok(Descriptor { fd, target, reads, writes })
}

fn target(path: &str, link: String) -> Target {
    let number = |kind: &str| link.strip_prefix(kind)?.strip_prefix(":[")?.strip_suffix(']')?.parse().ok();
    if let Some(inode) = number("pipe") {
        return Target::Pipe(inode);
    }
    if let Some(inode) = number("socket") {
        return Target::Socket(inode);
    }
    if let Some(name) = link.strip_prefix("anon_inode:") {
        return Target::Anonymous(name.to_owned());
    }
    if link.starts_with("/dev/pts/") || link.starts_with("/dev/tty") || link == "/dev/console" {
        return Target::Terminal(link);
    }
    match fifo(path, &link) {
        Some(fifo) => Target::Fifo(fifo),
        None => Target::File(link),
    }
}

/// Returns the FIFO at `path`, if it is one. Does not query a remote file system: it might not answer.
pub fn fifo(path: &str, shown: &str) -> Option<Fifo> {
    let asked = StatxFlags::TYPE | StatxFlags::INO;
    let found = rustix::fs::statx(CWD, path, AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT, asked).ok()?;
    let is_fifo = FileType::from_raw_mode(u32::from(found.stx_mode)) == FileType::Fifo;
    let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
    is_fifo.then(|| Fifo { device, inode: found.stx_ino, path: shown.to_owned() })
}

/// Returns the working directory of `pid`, where its relative paths start.
pub fn working_directory(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Returns the descriptors registered with epoll descriptor `fd` of `pid`; `None` if not readable.
pub fn registered(pid: u32, fd: u32) -> Option<Vec<(u32, bool, bool)>> {
    Some(parse_registered(&info(pid, fd)?))
}

/// Returns /proc/PID/fdinfo/FD.
pub fn info(pid: u32, fd: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).ok()
}

/// Parses lines such as `tfd:        5 events:       19 data: …`, with events in hexadecimal.
fn parse_registered(text: &str) -> Vec<(u32, bool, bool)> {
    let line = |line: &str| {
        let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
        let fd = words.next()?.parse().ok()?;
        let events = u32::from_str_radix(words.nth(1)?, 16).ok()?;
        Some((fd, events & libc::EPOLLIN as u32 != 0, events & libc::EPOLLOUT as u32 != 0))
    };
    text.lines().filter_map(line).collect()
}

/// Whether a file is locked through descriptor `fd` of `pid`.
pub fn is_locked(pid: u32, fd: u32) -> bool {
    info(pid, fd).is_some_and(|text| text.lines().any(|line| line.starts_with("lock:")))
}

/// Returns the id of an eventfd's event: the same for all descriptors of that event, in all processes.
pub fn event(pid: u32, fd: u32) -> Option<u64> {
    info(pid, fd)?.lines().find_map(|line| line.strip_prefix("eventfd-id:"))?.trim().parse().ok()
}

/// Returns the process of a pidfd.
pub fn behind_pidfd(pid: u32, fd: u32) -> Option<u32> {
    info(pid, fd)?.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::pipe;
    use std::os::fd::AsRawFd;

    #[test]
    fn tells_the_ends_of_a_pipe_apart() {
        let pipe = pipe().expect("pipe");
        let own = std::process::id();
        let read = one(own, pipe.read.as_raw_fd() as u32).expect("open");
        let write = one(own, pipe.write.as_raw_fd() as u32).expect("open");
        assert_eq!((read.reads, read.writes, &read.target), (true, false, &Target::Pipe(pipe.inode)));
        assert_eq!((write.reads, write.writes, &write.target), (false, true, &Target::Pipe(pipe.inode)));
        assert!(all(own).expect("own descriptors").contains(&read));
    }

    #[test]
    fn parses_what_an_epoll_waits_for() {
        let text = "pos:\t0\nflags:\t02\ntfd:        5 events:       19 data:                5  pos:0 ino:1 sdev:8\n\
                    tfd:        6 events: 80000004 data: 6\n";
        assert_eq!(parse_registered(text), [(5, true, false), (6, false, true)]);
    }
}
