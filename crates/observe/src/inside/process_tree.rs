//! Follows the processes of a program, and collects data about each.

use super::launches::{self, Launches};
use super::process::FamilyProcess;
use super::relations::Relations;
use super::{commands, find_pipelines};
use crate::probes::pipes::PipeProbe;
use crate::tree::Sampler;
use pelton_record::inside::Inside;
use pelton_record::process_tree::ProcessTree;
use pelton_sys::clock;
use pelton_sys::follow::{Event, Follow, LinePlace};
use pelton_sys::{processes, wait};
use std::collections::HashMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// How long to wait for the events of an end that was already detected.
const PATIENCE: Duration = Duration::from_millis(500);
/// Maximum number of processes sampled at a time.
const SAMPLED: usize = 64;

/// A process and its descendants.
pub struct Family {
    follow: Follow,
    members: Vec<FamilyProcess>,
    live: HashMap<u32, usize>,
    pipes: HashMap<u64, PipeProbe>,
    tree: Sampler,
    /// Whether timelines are kept.
    course: bool,
    /// Number of processes that gained privilege and were detached.
    left: u64,
}

/// The results of following a program.
pub struct Followed {
    /// Its pipelines and commands.
    pub inside: Inside,
    /// What the shell started in which line.
    pub launches: Launches,
    /// Its processes and the channels between them, if it had several at a time.
    pub tree: Option<ProcessTree>,
}

impl Family {
    /// Follows `pid`, which waits at its gate, and its descendants; with `course`, keeps timelines; with
    /// `place`, the line place of the shell that it becomes, records the line where that shell starts each
    /// process.
    ///
    /// # Errors
    /// If the system does not permit it.
    pub fn follow(pid: u32, course: bool, place: Option<LinePlace>) -> io::Result<Self> {
        let follow = Follow::attach(pid, place)?;
        let members = vec![FamilyProcess::new(pid, None, clock::now_ns())];
        let (live, pipes) = (HashMap::from([(pid, 0)]), HashMap::new());
        let tree = Sampler::attach(pid, clock::now_ns());
        Ok(Family { follow, members, live, pipes, tree, course, left: 0 })
    }

    /// Returns the tracer: a child of this process that belongs to no stage.
    pub fn tracer(&self) -> u32 {
        self.follow.tracer()
    }

    /// Returns a descriptor that is readable when [`notice`](Self::notice) has events.
    pub fn readable(&self) -> Option<BorrowedFd<'_>> {
        self.follow.readable()
    }

    /// Processes new events.
    pub fn notice(&mut self) {
        for event in self.follow.read() {
            self.take(event);
        }
    }

    /// Processes events until the first process's end is among them. Call it when that process has ended.
    /// Gives up after 500 ms without an event, and does not wait for descendants.
    fn hear_out(&mut self) {
        let root = self.members[0].pid;
        self.notice();
        while self.live.get(&root) == Some(&0) {
            let Some(readable) = self.readable() else { break };
            let before_ns = clock::now_ns();
            wait::wait_any(&[readable], Some(PATIENCE));
            if clock::now_ns() - before_ns >= PATIENCE.as_nanos() as u64 {
                break;
            }
            self.notice();
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Forked { at_ns, pid, child, line } => {
                // A thread may fork: that is its process's child.
                let pid = match self.live.contains_key(&pid) {
                    true => pid,
                    false => processes::of_thread(pid).unwrap_or(pid),
                };
                let parent = self.member(pid, at_ns);
                let index = self.member(child, at_ns);
                let pipes = self.members[parent].pipes;
                let member = &mut self.members[index];
                (member.parent, member.pipes, member.line) = (Some(parent), pipes, line);
            }
            Event::Execed { at_ns, pid, cpu_ns, pipes, named, words, line } => {
                let index = self.member(pid, at_ns);
                let member = &mut self.members[index];
                member.before_exec_ns.get_or_insert(cpu_ns);
                (member.pipes, member.named) = (pipes, named);
                member.line = line.or(member.line);
                member.words = words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
                if member.called.is_empty() {
                    member.called.clone_from(&member.words);
                }
            }
            Event::Left { pid } => {
                self.live.remove(&pid);
                self.left += 1;
            }
            Event::Exiting { pid, pipes, io, peak_rss_bytes } => {
                let index = self.member(pid, clock::now_ns());
                let member = &mut self.members[index];
                member.pipes = [pipes[0].or(member.pipes[0]), pipes[1].or(member.pipes[1])];
                (member.io, member.peak_rss_bytes) = (io, peak_rss_bytes);
            }
            Event::Ended { at_ns, pid, ended, cpu_ns, usage } => {
                let index = self.member(pid, at_ns);
                self.live.remove(&pid);
                self.members[index].end(at_ns, ended, cpu_ns, &usage);
            }
        }
    }

    /// Returns the process that has the id `pid` now.
    fn member(&mut self, pid: u32, now_ns: u64) -> usize {
        *self.live.entry(pid).or_insert_with(|| {
            self.members.push(FamilyProcess::new(pid, None, now_ns));
            self.members.len() - 1
        })
    }

    /// Samples all live processes.
    pub fn sample(&mut self, now_ns: u64) {
        let mut live: Vec<usize> = self.live.values().copied().collect();
        live.sort_unstable();
        live.truncate(SAMPLED);
        for &index in &live {
            self.members[index].sample(now_ns, self.course);
        }
        for &index in &live {
            let member = &self.members[index];
            let Some(inode) = member.pipes[1] else { continue };
            let probe = self.pipes.entry(inode).or_insert_with(|| PipeProbe::new(inode, now_ns));
            if probe.is_due(now_ns) {
                probe.sample(now_ns, member.pidfd(), None);
            }
        }
        let pids: Vec<u32> = live.iter().map(|&index| self.members[index].pid).collect();
        self.tree.sample(now_ns, Some(&pids));
    }

    /// Returns the results for a run that started at `run_start_ns`; `None` if it started nothing.
    pub fn finish(mut self, run_start_ns: u64) -> Option<Followed> {
        self.hear_out();
        let still_running = self.live.len() as u64;
        if self.members.len() < 2 && self.left == 0 {
            return None;
        }
        let family = Relations::of(&self.members);
        let (pipelines, places) = find_pipelines::pipelines(&family, &self.pipes, run_start_ns);
        let launches = launches::launches(&family, &places);
        let inside = Inside {
            processes: self.members.len() as u64,
            still_running,
            left: self.left,
            pipelines,
            commands: commands::commands(&family),
            start_ns: None,
            verdict: Default::default(),
        };
        let tree = self.tree.finish().map(|sampled| sampled.tree_of(&family));
        Some(Followed { inside, launches, tree })
    }
}
