//! The machine's processes and their threads, from /proc.

use crate::signals::{self, CONT, KILL, STOP, TERM};
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// Bytes read at once.
const PAGE: usize = 4096;

/// The fields of /proc/PID/stat that are needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Name of its program, at most 15 bytes.
    pub name: String,
    /// `R`unning, `S`leeping, `D` (uninterruptible), s`T`opped, `t`raced, `Z`ombie …
    pub state: char,
    /// Its parent.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Its session.
    pub session: u32,
    /// The foreground process group of its terminal, if it has one.
    pub foreground: Option<u32>,
    /// Whether it is a thread of the kernel.
    pub is_kernel: bool,
    /// Whether it has waited for children that have ended.
    pub has_had_children: bool,
    /// CPU time so far, in clock ticks.
    pub cpu_ticks: u64,
    /// Number of threads.
    pub threads: u32,
    /// Start time, in clock ticks since boot.
    pub start_ticks: u64,
    /// Caught signals from 1 to 31: bit n - 1.
    pub caught: u64,
    /// The CPU it ran on last.
    pub cpu: u32,
}

/// Returns all process ids, including those of PID namespaces below this one.
pub fn all() -> Vec<u32> {
    numbers("/proc")
}

/// Returns the threads of `pid`; none if it is gone.
pub fn tasks(pid: u32) -> Vec<u32> {
    numbers(&format!("/proc/{pid}/task"))
}

fn numbers(directory: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns file `name` of `pid`; `None` if the process is gone or access is denied.
pub fn file(pid: u32, name: &str) -> Option<String> {
    let bytes = whole(&format!("/proc/{pid}/{name}")).ok()?;
    Some(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// Reads a whole /proc file. Most fit into a page, so a page is requested at once. `std::fs::read` queries
/// the size first, which is always 0, and then starts with 32 bytes: 8 system calls instead of 4.
fn whole(path: &str) -> std::io::Result<Vec<u8>> {
    let file = std::fs::File::open(path)?;
    let mut bytes = Vec::with_capacity(PAGE);
    let mut more = || -> std::io::Result<bool> {
        bytes.reserve(PAGE / 2);
        let room = rustix::buffer::spare_capacity(&mut bytes);
        Ok(rustix::io::read(&file, room)? > 0)
    };
    while more()? {}
    Ok(bytes)
}

/// Returns the process that a thread belongs to; a process belongs to itself.
pub fn of_thread(thread: u32) -> Option<u32> {
    let text = file(thread, "status")?;
    text.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Returns the user that owns the process.
pub fn owner(pid: u32) -> Option<u32> {
    Some(std::fs::metadata(format!("/proc/{pid}")).ok()?.uid())
}

/// Returns this process's effective user.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns its command-line arguments; empty for a zombie.
pub fn command_line(pid: u32) -> Vec<String> {
    let text = file(pid, "cmdline").unwrap_or_default();
    text.trim_end_matches('\0').split('\0').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns the clock ticks per second.
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

const KERNEL_THREAD: u64 = 0x0020_0000;

/// Parses /proc/PID/stat. The name may hold blanks and parentheses.
pub fn parse_stat(text: &str) -> Option<Stat> {
    let (start, end) = (text.find('(')?, text.rfind(')')?);
    let fields: Vec<&str> = text.get(end + 1..)?.split_ascii_whitespace().collect();
    // Field numbers as in proc(5); the first one after the name is 3.
    let field = |number: usize| fields.get(number - 3).copied();
    let number = |at: usize| field(at)?.parse::<u64>().ok();
    Some(Stat {
        name: text.get(start + 1..end)?.to_owned(),
        state: field(3)?.chars().next()?,
        parent: number(4)? as u32,
        group: number(5)? as u32,
        session: number(6)? as u32,
        foreground: field(8)?.parse().ok(),
        is_kernel: number(9)? & KERNEL_THREAD != 0,
        // Their page faults: no program runs without.
        has_had_children: number(11)? > 0,
        cpu_ticks: number(14)? + number(15)?,
        threads: number(20)? as u32,
        start_ticks: number(22)?,
        caught: number(34)?,
        cpu: number(39)? as u32,
    })
}

/// Returns the processes below `root`, those near it first.
pub fn descendants(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in all() {
        if let Some(stat) = file(pid, "stat").and_then(|text| parse_stat(&text)) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = children.remove(&root).unwrap_or_default();
    let mut at = 0;
    while let Some(pid) = found.get(at) {
        found.extend(children.remove(pid).unwrap_or_default());
        at += 1;
    }
    found
}

/// How long processes may take to end that were asked to.
const GRACE: Duration = Duration::from_millis(500);

/// Ends a child that has not been reaped, and all processes below it, before any of them can react to another's end. Each may
/// first remove its temporary files; whatever still lives then is killed.
pub fn end_with_descendants(child: u32) {
    signals::send(child, STOP);
    let mut stopped = Vec::new();
    loop {
        // A process that has stopped starts no more of them.
        let new: Vec<u32> = descendants(child).into_iter().filter(|pid| !stopped.contains(pid)).collect();
        if new.is_empty() {
            break;
        }
        new.iter().for_each(|pid| signals::send(*pid, STOP));
        stopped.extend(new);
    }
    let began = |pid: u32| Some(parse_stat(&file(pid, "stat")?)?.start_ticks);
    let all: Vec<(u32, Option<u64>)> =
        stopped.iter().chain([&child]).map(|pid| (*pid, began(*pid))).collect();
    for signal in [TERM, CONT] {
        all.iter().for_each(|(pid, _)| signals::send(*pid, signal));
    }
    let lives = |(pid, start): &&(u32, Option<u64>)| {
        let stat = file(*pid, "stat").and_then(|text| parse_stat(&text));
        stat.is_some_and(|stat| stat.state != 'Z' && Some(stat.start_ticks) == *start)
    };
    let start = Instant::now();
    while all.iter().any(|one| lives(&one)) && start.elapsed() < GRACE {
        std::thread::sleep(Duration::from_millis(5));
    }
    all.iter().filter(lives).for_each(|(pid, _)| signals::send(*pid, KILL));
}

/// Whether a process waits for something other than a CPU or a disk, has ended, or is not shown.
pub fn is_asleep(pid: u32) -> bool {
    let stat = file(pid, "stat").and_then(|text| parse_stat(&text));
    stat.is_none_or(|stat| !matches!(stat.state, 'R' | 'D'))
}

/// Returns when a thread last ran: `se.exec_start` of /proc/PID/sched, in nanoseconds of its CPU's clock.
/// That clock omits time taken by a hypervisor or interrupts, and differs between CPUs: compare with
/// [`scheduler_now_ns`] only.
pub fn last_ran_ns(pid: u32, thread: u32) -> Option<u64> {
    parse_last_ran(&file(pid, &format!("task/{thread}/sched"))?)
}

fn parse_last_ran(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("se.exec_start"))?;
    let (ms, fraction) = line.rsplit(':').next()?.trim().split_once('.')?;
    let fraction_ns = format!("{fraction:0<6}").get(..6)?.parse::<u64>().ok()?;
    Some(ms.parse::<u64>().ok()? * 1_000_000 + fraction_ns)
}

/// Returns the current time of CPU `cpu`'s clock: moves this thread there briefly, and reads when it last
/// ran.
pub fn scheduler_now_ns(cpu: u32) -> Option<u64> {
    let before = rustix::thread::sched_getaffinity(None).ok()?;
    let mut there = rustix::thread::CpuSet::new();
    there.set(cpu as usize);
    rustix::thread::sched_setaffinity(None, &there).ok()?;
    let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let now = last_ran_ns(std::process::id(), thread);
    // The mask was allowed before, so it is now; otherwise this thread stays on one CPU, which is harmless.
    let _ = rustix::thread::sched_setaffinity(None, &before);
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_stat() {
        let text = "28648 (a) (b c) T 28265 28262 2384 34816 28262 4194304 74 0 1 0 7 5 0 0 20 0 3 0 158300 6041600 \
                    388 18446744073709551615 1 1 1 0 0 0 0 0 65536 0 0 0 17 1 0 0";
        let stat = parse_stat(text).expect("parses");
        assert_eq!((stat.name.as_str(), stat.state, stat.parent), ("a) (b c", 'T', 28265));
        assert_eq!((stat.group, stat.session, stat.foreground), (28262, 2384, Some(28262)));
        assert_eq!((stat.cpu_ticks, stat.threads, stat.start_ticks), (12, 3, 158_300));
        assert_eq!((stat.caught, stat.cpu, stat.is_kernel), (65_536, 1, false));
        assert!(!stat.has_had_children);
        assert_eq!(parse_stat("12 (x) S 1"), None);
    }

    #[test]
    fn finds_this_process_and_its_threads() {
        let own = std::process::id();
        assert!(all().contains(&own));
        assert!(tasks(own).contains(&own));
        assert_eq!(owner(own), Some(own_user()));
        assert!(parse_stat(&file(own, "stat").expect("own stat")).is_some());
        assert!(!command_line(own).is_empty());
    }

    #[test]
    fn a_child_is_ended_with_all_below_it() {
        let mut shell = std::process::Command::new("sh");
        let script = "sh -c 'sleep 600; echo inner' | cat; echo outer";
        let output = std::process::Stdio::piped();
        let child = shell.args(["-c", script]).stdout(output).spawn().expect("sh starts");
        let found = loop {
            let found = descendants(child.id());
            // The second shell, its sleep, and cat.
            if found.len() == 3 {
                break found;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        end_with_descendants(child.id());
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended.status), Some(TERM));
        assert_eq!(ended.stdout, b"");
        assert!(found.iter().all(|pid| is_asleep(*pid)));
    }

    #[test]
    fn parses_when_a_thread_ran() {
        let text = "sleep (1, #threads: 1)\n---\nse.exec_start                 :   1551151.039135\n";
        assert_eq!(parse_last_ran(text), Some(1_551_151_039_135));
        assert_eq!(parse_last_ran("nothing"), None);
    }
}
