//! Collects data about each process of a program.

use super::launches::{self, Launches};
use super::{commands, shape};
use crate::probes::pipes::PipeProbe;
use crate::probes::timeline::Timeline;
use crate::probes::waits::{Edges, Sums, WaitProbe};
use pelton_record::Cost;
use pelton_record::inside::Inside;
use pelton_sys::follow::{Event, Follow, LinePlace};
use pelton_sys::procfs::{self, Io, ProcFile};
use pelton_sys::wait::{self, Ended, Usage};
use pelton_sys::{clock, pidfd};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
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
    /// Whether timelines are kept.
    course: bool,
    /// Number of processes that gained privilege and were detached.
    left: u64,
}

/// One process.
pub struct FamilyProcess {
    pub pid: u32,
    pub parent: Option<usize>,
    pub start_ns: u64,
    /// When it ended; 0 while it runs.
    pub end_ns: u64,
    /// Arguments of its last exec; none if it never exec'd.
    pub words: Vec<String>,
    /// The line of the followed shell's script where it stands, if that shell or a fork of it made it.
    pub line: Option<u32>,
    /// CPU time before its first exec.
    pub before_exec_ns: Option<u64>,
    /// The pipes behind its standard input and output.
    pub pipes: [Option<u64>; 2],
    /// Which of them it had at another descriptor, passed to it as a file name.
    pub named: [bool; 2],
    pub ended: Ended,
    /// Its cost, with the descendants that it waited for.
    pub inclusive: Cost,
    /// Its own CPU time and peak resident set.
    pub cpu_ns: u64,
    pub peak_rss_bytes: u64,
    pub sums: Sums,
    /// Its timeline, if kept.
    pub timeline: Option<Timeline>,
    io: Option<Io>,
    watched: Option<Watch>,
}

/// State kept while a process lives.
struct Watch {
    probe: WaitProbe,
    timeline: Option<(Timeline, Option<ProcFile>)>,
    pidfd: Option<OwnedFd>,
}

impl FamilyProcess {
    fn new(pid: u32, parent: Option<usize>, start_ns: u64) -> Self {
        FamilyProcess {
            pid,
            parent,
            start_ns,
            end_ns: 0,
            words: Vec::new(),
            line: None,
            before_exec_ns: None,
            pipes: [None; 2],
            named: [false; 2],
            ended: Ended::Exited(0),
            inclusive: Cost::zero(),
            cpu_ns: 0,
            peak_rss_bytes: 0,
            sums: Sums::default(),
            timeline: None,
            io: None,
            watched: None,
        }
    }

    fn edges(&self) -> Edges {
        let [upstream, downstream] = self.pipes;
        Edges { upstream, downstream }
    }

    fn sample(&mut self, now_ns: u64, course: bool) {
        if self.before_exec_ns.is_none() {
            // A shell that forked for a function or a group sets up its pipes itself.
            let pipes = [0, 1].map(|fd| procfs::pipe_behind(self.pid, fd));
            self.pipes = [pipes[0].or(self.pipes[0]), pipes[1].or(self.pipes[1])];
        }
        let (pid, start_ns, edges) = (self.pid, self.start_ns, self.edges());
        let watch = self.watched.get_or_insert_with(|| Watch {
            probe: WaitProbe::attach(pid, edges, start_ns).alone(),
            timeline: course.then(|| (Timeline::begin(start_ns), ProcFile::open(pid, "io"))),
            pidfd: pidfd::open(pid),
        });
        watch.probe.rewire(edges);
        let window = watch.probe.sample(now_ns);
        if let (Some(window), Some((timeline, io))) = (window, &mut watch.timeline) {
            let mut buffer = [0; 512];
            timeline.add(
                now_ns,
                window,
                io.as_ref().and_then(|file| procfs::parse_io(file.read(&mut buffer)?)),
            );
        }
    }

    fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.watched.as_ref()?.pidfd.as_ref()?.as_fd())
    }
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
        Ok(Family { follow, members, live, pipes, course, left: 0 })
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

    /// Waits for the remaining events after the first process has ended, but not for processes that still
    /// run.
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
    }

    /// Returns the results for a run that started at `run_start_ns`, and what the shell started in which
    /// line; `None` if it started nothing.
    pub fn finish(mut self, run_start_ns: u64) -> Option<(Inside, Launches)> {
        self.hear_out();
        let still_running = self.live.len() as u64;
        if self.members.len() < 2 && self.left == 0 {
            return None;
        }
        let family = Relations::of(&self.members);
        let (pipelines, places) = shape::pipelines(&family, &self.pipes, run_start_ns);
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
        Some((inside, launches))
    }
}

impl FamilyProcess {
    fn end(&mut self, at_ns: u64, ended: Ended, cpu_ns: u64, usage: &Usage) {
        self.end_ns = at_ns;
        self.ended = ended;
        self.cpu_ns = cpu_ns;
        self.inclusive =
            crate::probes::accounting::cost_of(self.io, usage, at_ns.saturating_sub(self.start_ns));
        if let Some(watch) = self.watched.take() {
            self.sums = watch.probe.sums();
            self.timeline = watch.timeline.map(|(timeline, _)| timeline);
        }
    }
}

/// The processes that have ended, and their parents.
pub struct Relations<'a> {
    pub members: &'a [FamilyProcess],
    pub children: Vec<Vec<usize>>,
}

impl<'a> Relations<'a> {
    pub fn of(members: &'a [FamilyProcess]) -> Self {
        let mut children = vec![Vec::new(); members.len()];
        for (index, member) in members.iter().enumerate() {
            if let Some(parent) = member.parent {
                children[parent].push(index);
            }
        }
        Relations { members, children }
    }

    /// Returns the cost of `index` alone: its own CPU time; for the rest, its cost with its children, less
    /// that of the children that it waited for.
    pub fn own(&self, index: usize) -> Cost {
        let member = &self.members[index];
        let mut cost = member.inclusive.clone();
        let before = |child: &&usize| {
            let end_ns = self.members[**child].end_ns;
            end_ns > 0 && end_ns <= member.end_ns
        };
        for &child in self.children[index].iter().filter(before) {
            let theirs = &self.members[child].inclusive;
            // Not waited for: a process that ignores the ends of its children is not charged for them.
            if theirs.cpu_ns() <= cost.cpu_ns() {
                subtract(&mut cost, theirs);
            }
        }
        let split = if cost.cpu_ns() > 0 { cost.user_ns as f64 / cost.cpu_ns() as f64 } else { 0.5 };
        cost.user_ns = (member.cpu_ns as f64 * split) as u64;
        cost.sys_ns = member.cpu_ns - cost.user_ns;
        cost.peak_rss_bytes =
            if member.peak_rss_bytes > 0 { member.peak_rss_bytes } else { cost.peak_rss_bytes };
        cost
    }

    /// Returns `index` and its descendants.
    pub fn descendants(&self, index: usize) -> Vec<usize> {
        let mut found = vec![index];
        let mut at = 0;
        while let Some(&next) = found.get(at) {
            found.extend(&self.children[next]);
            at += 1;
        }
        found
    }

    /// Returns the name of the program of this member. A fork that executed none has the name of its nearest ancestor that
    /// did, with ` (fork)`; `?` if none is known.
    pub fn name(&self, index: usize) -> String {
        let mut now = index;
        while self.members[now].words.is_empty() {
            match self.members[now].parent {
                Some(parent) => now = parent,
                None => return "?".to_owned(),
            }
        }
        let word = &self.members[now].words[0];
        let name = word.rsplit('/').next().unwrap_or(word).to_owned();
        if now == index { name } else { format!("{name} (fork)") }
    }
}

fn subtract(cost: &mut Cost, theirs: &Cost) {
    let less = |own: Option<u64>, theirs: Option<u64>| Some(own?.saturating_sub(theirs?));
    cost.user_ns = cost.user_ns.saturating_sub(theirs.user_ns);
    cost.sys_ns = cost.sys_ns.saturating_sub(theirs.sys_ns);
    cost.read_bytes = less(cost.read_bytes, theirs.read_bytes);
    cost.written_bytes = less(cost.written_bytes, theirs.written_bytes);
    cost.read_calls = less(cost.read_calls, theirs.read_calls);
    cost.write_calls = less(cost.write_calls, theirs.write_calls);
    cost.minor_faults = cost.minor_faults.saturating_sub(theirs.minor_faults);
    cost.major_faults = cost.major_faults.saturating_sub(theirs.major_faults);
    cost.block_inputs = cost.block_inputs.saturating_sub(theirs.block_inputs);
    cost.block_outputs = cost.block_outputs.saturating_sub(theirs.block_outputs);
    cost.voluntary_switches = cost.voluntary_switches.saturating_sub(theirs.voluntary_switches);
    cost.involuntary_switches = cost.involuntary_switches.saturating_sub(theirs.involuntary_switches);
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A process for tests: its parent, its command line, its pipes, and its own CPU time in milliseconds.
    pub fn member(parent: Option<usize>, line: &str, pipes: [u64; 2], cpu_ms: u64) -> FamilyProcess {
        let inode = |number: u64| (number > 0).then_some(number);
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        FamilyProcess {
            before_exec_ns: (!words.is_empty()).then_some(500_000),
            words,
            pipes: pipes.map(inode),
            end_ns: 100,
            cpu_ns: cpu_ms * 1_000_000,
            inclusive: Cost { user_ns: cpu_ms * 1_000_000, wall_ns: 100, ..Cost::zero() },
            ..FamilyProcess::new(7, parent, 0)
        }
    }

    #[test]
    fn what_children_cost_is_not_their_parents() {
        let mut shell = member(None, "sh -c x", [0, 0], 10);
        shell.inclusive = Cost { user_ns: 40_000_000, read_bytes: Some(700), ..Cost::zero() };
        let mut child = member(Some(0), "awk x", [0, 0], 30);
        child.inclusive.read_bytes = Some(500);
        let members = [shell, child];
        let family = Relations::of(&members);
        assert_eq!((family.own(0).cpu_ns(), family.own(0).read_bytes), (10_000_000, Some(200)));
        assert_eq!(family.own(1).cpu_ns(), 30_000_000);
        assert_eq!(family.descendants(0), [0, 1]);
    }

    #[test]
    fn a_fork_without_a_program_has_its_parents_name() {
        let members = [member(None, "/bin/bash x.sh", [0, 0], 1), member(Some(0), "", [0, 3], 1)];
        let family = Relations::of(&members);
        assert_eq!((family.name(0).as_str(), family.name(1).as_str()), ("bash", "bash (fork)"));
    }
}
