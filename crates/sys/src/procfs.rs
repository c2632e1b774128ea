//! Files of /proc/PID, opened early and kept open: reading is 3 to 8 times cheaper than reopening, and still
//! works when the process is a zombie whose files an ordinary user may no longer open.

use crate::descriptors;
use std::os::fd::OwnedFd;

/// An open file of /proc/PID.
pub struct ProcFile(OwnedFd);

impl ProcFile {
    /// Opens `/proc/PID/name`; `None` if the kernel has no such file or denies it.
    pub fn open(pid: u32, name: &str) -> Option<Self> {
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
        rustix::fs::open(format!("/proc/{pid}/{name}"), flags, rustix::fs::Mode::empty()).ok().map(ProcFile)
    }

    /// Reads it again from its start, up to the size of `buffer`; `None` if the process is gone or access is
    /// denied.
    pub fn read<'b>(&self, buffer: &'b mut [u8]) -> Option<&'b str> {
        let n = self.read_bytes(buffer)?;
        std::str::from_utf8(&buffer[..n]).ok()
    }

    /// Does the same for bytes that may not be text; returns how many were read.
    pub fn read_bytes(&self, buffer: &mut [u8]) -> Option<usize> {
        rustix::io::pread(&self.0, buffer, 0).ok()
    }
}

/// /proc/PID/io: I/O through the read(2) and write(2) families.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// `rchar`
    pub read_bytes: u64,
    /// `wchar`
    pub written_bytes: u64,
    /// `syscr`
    pub read_calls: u64,
    /// `syscw`
    pub write_calls: u64,
}

/// Parses /proc/PID/io.
pub fn parse_io(text: &str) -> Option<Io> {
    let field = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.trim_start_matches(':').trim().parse().ok()
    };
    Some(Io {
        read_bytes: field("rchar")?,
        written_bytes: field("wchar")?,
        read_calls: field("syscr")?,
        write_calls: field("syscw")?,
    })
}

/// /proc/PID/schedstat of a thread; of the leading thread if PID is a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedStat {
    /// Nanoseconds on a CPU. While it runs, the time since it was scheduled is not included.
    pub running_ns: u64,
    /// Nanoseconds runnable but waiting for a CPU.
    pub ready_ns: u64,
    /// How often it was scheduled.
    pub turns: u64,
}

/// Parses /proc/PID/schedstat.
pub fn parse_schedstat(text: &str) -> Option<SchedStat> {
    let mut fields = text.split_ascii_whitespace().map(|field| field.parse().ok());
    Some(SchedStat { running_ns: fields.next()??, ready_ns: fields.next()??, turns: fields.next()?? })
}

/// /proc/PID/syscall of the leading thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syscall {
    /// Running or runnable.
    Running,
    /// Blocked, but not in a system call (a page fault, a stop).
    Outside,
    /// Blocked in this system call, with its six arguments.
    Blocked {
        /// Number of the call.
        number: i64,
        /// The arguments.
        arguments: [u64; 6],
    },
}

/// Parses /proc/PID/syscall.
pub fn parse_syscall(text: &str) -> Option<Syscall> {
    let mut fields = text.split_ascii_whitespace();
    let first = fields.next()?;
    if first == "running" {
        return Some(Syscall::Running);
    }
    let number: i64 = first.parse().ok()?;
    if number < 0 {
        return Some(Syscall::Outside);
    }
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok()?;
    }
    Some(Syscall::Blocked { number, arguments })
}

/// Returns the pipe behind descriptor `fd` of `pid`, if any: the inode of an anonymous pipe, or the
/// [`fifo_key`] of a FIFO.
pub fn pipe_behind(pid: u32, fd: u64) -> Option<u64> {
    let path = format!("/proc/{pid}/fd/{fd}");
    let target = rustix::fs::readlink(&path, Vec::new()).ok()?;
    let text = target.to_str().ok()?;
    if let Some(inode) = text.strip_prefix("pipe:[") {
        return inode.strip_suffix(']')?.parse().ok();
    }
    let is_path = text.starts_with('/') && !text.starts_with("/dev/");
    let fifo = is_path.then(|| descriptors::fifo(&path, text))??;
    fifo_key(fifo.device, fifo.inode)
}

/// Whether a result of [`pipe_behind`] is a FIFO.
pub fn is_fifo(pipe: u64) -> bool {
    pipe >> 63 == 1
}

/// Returns a number for a FIFO, distinct from anonymous pipes, which are below 2³². `None` if device and
/// inode do not fit.
fn fifo_key(device: u64, inode: u64) -> Option<u64> {
    let (major, minor) = (device >> 32, device & 0xffff_ffff);
    let fits = major < 1 << 12 && minor < 1 << 19 && inode < 1 << 32;
    fits.then_some(1 << 63 | major << 51 | minor << 32 | inode)
}

/// Returns the current resident set of `pid`, in bytes.
pub fn resident_bytes(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Returns the children of `pid`'s leading thread, if the kernel lists them.
pub fn children(pid: u32) -> Vec<u32> {
    children_of_thread(pid, pid)
}

/// Returns the children that all threads of `pid` started, if the kernel lists them.
pub fn children_of_all_threads(pid: u32) -> Vec<u32> {
    let threads = crate::processes::tasks(pid);
    threads.into_iter().flat_map(|thread| children_of_thread(pid, thread)).collect()
}

/// Returns the children that a thread of `pid` started, if the kernel lists them.
fn children_of_thread(pid: u32, thread: u32) -> Vec<u32> {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")) else {
        return Vec::new();
    };
    text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Returns /proc/PID/wchan: the kernel function where a thread sleeps. Names differ between kernels.
pub fn wchan(pid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/wchan")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_io() {
        let text = "rchar: 6976\nwchar: 12\nsyscr: 10\nsyscw: 1\nread_bytes: 0\nwrite_bytes: 0\n";
        let io = Io { read_bytes: 6976, written_bytes: 12, read_calls: 10, write_calls: 1 };
        assert_eq!(parse_io(text), Some(io));
        assert_eq!(parse_io("rchar: x\n"), None);
    }

    #[test]
    fn parses_syscall() {
        assert_eq!(parse_syscall("running\n"), Some(Syscall::Running));
        assert_eq!(parse_syscall("-1 0x7ffc 0x7f\n"), Some(Syscall::Outside));
        let blocked = Syscall::Blocked { number: 0, arguments: [3, 0x7f00, 0x20000, 0, 0, 0] };
        assert_eq!(parse_syscall("0 0x3 0x7f00 0x20000 0x0 0x0 0x0 0x7ffd 0x7f10\n"), Some(blocked));
        assert_eq!(parse_syscall(""), None);
    }

    #[test]
    fn fifos_have_numbers_of_their_own() {
        assert_eq!(fifo_key(0, 5), Some(1 << 63 | 5));
        assert_ne!(fifo_key(1, 5), fifo_key(1 << 32, 5));
        assert_eq!(fifo_key(0, 1 << 32), None);
    }

    #[test]
    fn parses_schedstat() {
        assert_eq!(
            parse_schedstat("123 45 6\n"),
            Some(SchedStat { running_ns: 123, ready_ns: 45, turns: 6 })
        );
        assert_eq!(parse_schedstat("123 45\n"), None);
    }

    #[test]
    fn kept_files_read_anew() {
        let file = ProcFile::open(std::process::id(), "io").expect("own io");
        let mut buffer = [0; 512];
        let first = parse_io(file.read(&mut buffer).expect("readable")).expect("parses");
        std::fs::read("/proc/self/cmdline").expect("readable");
        let second = parse_io(file.read(&mut buffer).expect("readable")).expect("parses");
        assert!(second.read_calls > first.read_calls);
    }
}
