//! The processes below this one, read cheaply and often.
//!
//! A process whose CPU time has not changed since the last sample has not run: it has read, written and
//! started nothing. So a process that sleeps costs one system call per sample, and only those that ran are
//! read in full.

use super::movement::Interval;
use pelton_sys::{clock, processes, procfs};
use std::collections::BTreeMap;

/// The most processes read in full in one sample. Of a larger tree the others are read in the next ones.
const MOST_READ: usize = 200;

/// A process of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub pid: u32,
    /// Its parent.
    pub parent: u32,
    /// Name of its program.
    pub name: String,
    /// Start time, in clock ticks since boot: with the id it names one process for good.
    pub start_ticks: u64,
    /// CPU time so far.
    pub cpu_ns: u64,
    /// Bytes read by system calls; 0 if not readable.
    pub read_bytes: u64,
    /// Bytes written by system calls; 0 if not readable.
    pub written_bytes: u64,
}

/// What a sample shows.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// What happened since the previous one.
    pub interval: Interval,
    /// The processes that ran since then, or that are new.
    pub changed: Vec<Member>,
    /// Those that ended.
    pub gone: Vec<u32>,
}

/// All descendants of this process.
#[derive(Debug)]
pub struct Tree {
    members: BTreeMap<u32, Member>,
    sampled_ns: u64,
    /// Whether the kernel lists the children of a thread.
    lists_children: bool,
}

impl Tree {
    /// Starts with the children that this process has.
    pub fn new() -> Self {
        let own = std::process::id();
        let lists_children = std::path::Path::new(&format!("/proc/{own}/task/{own}/children")).exists();
        let mut tree = Tree { members: BTreeMap::new(), sampled_ns: clock::now_ns(), lists_children };
        tree.sample(0);
        tree
    }

    /// Returns the processes, by id.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// Reads the tree again. `intended_ns` is the intended time since the last sample.
    pub fn sample(&mut self, intended_ns: u64) -> Sample {
        let now_ns = clock::now_ns();
        let mut sample = Sample::default();
        sample.interval.ns = now_ns - self.sampled_ns;
        sample.interval.intended_ns = intended_ns;
        self.sampled_ns = now_ns;
        let ran = self.those_that_ran(&mut sample);
        let mut found: Vec<u32> = if self.lists_children {
            procfs::children_of_all_threads(std::process::id())
        } else {
            all_descendants()
        };
        for pid in ran.into_iter().take(MOST_READ) {
            self.update(pid, &mut sample);
            if self.lists_children {
                found.extend(procfs::children_of_all_threads(pid));
            }
        }
        self.add(found, &mut sample);
        sample
    }

    /// Removes those that ended, and returns those whose CPU time has changed.
    fn those_that_ran(&mut self, sample: &mut Sample) -> Vec<u32> {
        let mut ran = Vec::new();
        for (&pid, member) in &self.members {
            match clock::process_cpu_ns(pid) {
                None => sample.gone.push(pid),
                Some(cpu_ns) if cpu_ns != member.cpu_ns => ran.push(pid),
                Some(_) => {}
            }
        }
        for pid in &sample.gone {
            self.members.remove(pid);
        }
        sample.interval.ended += sample.gone.len() as u32;
        ran
    }

    /// Reads a process again, and adds what it did to the interval.
    fn update(&mut self, pid: u32, sample: &mut Sample) {
        let (Some(before), Some(now)) = (self.members.get(&pid), read(pid)) else { return };
        let interval = &mut sample.interval;
        interval.cpu_ns += now.cpu_ns.saturating_sub(before.cpu_ns);
        interval.bytes += now.read_bytes.saturating_sub(before.read_bytes)
            + now.written_bytes.saturating_sub(before.written_bytes);
        // Another program, or another process with the same id.
        if now.name != before.name || now.start_ticks != before.start_ticks {
            interval.started.push((now.parent, now.name.clone()));
        }
        sample.changed.push(now.clone());
        self.members.insert(pid, now);
    }

    /// Adds processes that are not known, with their descendants.
    fn add(&mut self, mut found: Vec<u32>, sample: &mut Sample) {
        while let Some(pid) = found.pop() {
            if self.members.contains_key(&pid) {
                continue;
            }
            let Some(member) = read(pid) else { continue };
            sample.interval.started.push((member.parent, member.name.clone()));
            sample.interval.cpu_ns += member.cpu_ns;
            sample.interval.bytes += member.read_bytes + member.written_bytes;
            sample.changed.push(member.clone());
            self.members.insert(pid, member);
            if self.lists_children {
                found.extend(procfs::children_of_all_threads(pid));
            }
        }
    }
}

impl Default for Tree {
    fn default() -> Self {
        Tree::new()
    }
}

fn read(pid: u32) -> Option<Member> {
    let stat = processes::parse_stat(&processes::file(pid, "stat")?)?;
    let io = processes::file(pid, "io").and_then(|text| procfs::parse_io(&text)).unwrap_or_default();
    Some(Member {
        pid,
        parent: stat.parent,
        name: stat.name,
        start_ticks: stat.start_ticks,
        cpu_ns: clock::process_cpu_ns(pid)?,
        read_bytes: io.read_bytes,
        written_bytes: io.written_bytes,
    })
}

/// Returns all descendants of this process, from the parents of all processes.
fn all_descendants() -> Vec<u32> {
    let parent = |pid: u32| Some((pid, processes::parse_stat(&processes::file(pid, "stat")?)?.parent));
    let parents: Vec<(u32, u32)> = processes::all().into_iter().filter_map(parent).collect();
    let mut found: Vec<u32> = Vec::new();
    let mut todo = vec![std::process::id()];
    while let Some(one) = todo.pop() {
        let children = parents.iter().filter(|(_, parent)| *parent == one).map(|(pid, _)| *pid);
        for child in children {
            found.push(child);
            todo.push(child);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn it_sees_descendants_come_and_go() {
        let mut tree = Tree::new();
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 1000 & wait"]);
        let mut shell = shell.stdout(std::process::Stdio::null()).spawn().expect("sh");
        let child =
            |tree: &Tree| tree.members().find(|one| one.parent == shell.id() && one.name == "sleep").cloned();
        let sleep = loop {
            tree.sample(0);
            if let Some(sleep) = child(&tree) {
                break sleep;
            }
        };
        assert!(pelton_sys::stand_in::send(sleep.pid, sleep.start_ticks, pelton_sys::signals::KILL));
        while tree.members().any(|one| one.pid == sleep.pid) {
            tree.sample(0);
        }
        shell.wait().expect("ended");
    }

    #[test]
    fn without_lists_of_children_all_processes_are_searched() {
        let mut child = Command::new("sleep").arg("1000").spawn().expect("sleep");
        assert!(all_descendants().contains(&child.id()));
        child.kill().expect("it runs");
        child.wait().expect("ended");
    }
}
