//! What already runs, looked at without touching it: its pipelines, what their stages do now, and who sets the pace.
//!
//! Processes are found anew every second, samples are taken as for `pelton time`, and each snapshot sums up those since the one
//! before it. Nothing is stopped or traced.

use crate::doctor::Scope;
use crate::probes::pipes::PipeProbe;
use crate::probes::waits::{Edges, WaitProbe};
use crate::verdict::judge;
use crate::wiring::{self, Wired};
use pelton_record::live::{LivePipe, LivePipeline, LiveStage, Snapshot};
use pelton_record::{Cost, Elsewhere, End, How, Machine, Pipeline, Run, Span, Stage, Verdict, Waits};
use pelton_sys::procfs::{self, Io, ProcFile};
use pelton_sys::{clock, machine, processes, spawn};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};

/// Between two searches for processes.
const SEARCH_NS: u64 = 1_000_000_000;
/// What counts as lately.
const LATELY_NS: u64 = 5_000_000_000;
/// Stages that are watched at a time, at most.
const STAGES: usize = 200;

/// Watches what is in its scope.
pub struct Live {
    scope: Scope,
    start_ns: u64,
    searched_ns: u64,
    shown_ns: u64,
    chains: Vec<Vec<u32>>,
    stages: HashMap<u32, Watched>,
    ended: u32,
    hidden: u32,
    cpu_at_start_ns: u64,
}

/// A stage that is watched.
struct Watched {
    text: String,
    name: String,
    edges: Edges,
    waits: WaitProbe,
    pidfd: Option<OwnedFd>,
    pipe: Option<PipeProbe>,
    io: Bytes,
    lately: VecDeque<(u64, Waits)>,
    gone: bool,
}

/// What a stage and all that it started read and wrote since it was first seen.
#[derive(Default)]
struct Bytes {
    files: HashMap<u32, (Option<ProcFile>, Io)>,
    known: bool,
    read: u64,
    written: u64,
    /// At the last snapshot.
    shown: (u64, u64),
}

impl Bytes {
    /// Reads the counters of the leader and of its descendants. A shell gets the bytes of a child that it waited for at once: so
    /// as long as it has any, its own are left out.
    fn read(&mut self, leader: u32, descendants: &[u32]) {
        let first = self.files.is_empty();
        for &pid in descendants.iter().chain([&leader]) {
            let mut buffer = [0; 512];
            let new = !self.files.contains_key(&pid);
            let (file, last) =
                self.files.entry(pid).or_insert_with(|| (ProcFile::open(pid, "io"), Io::default()));
            let Some(io) = file.as_ref().and_then(|file| procfs::parse_io(file.read(&mut buffer)?)) else {
                continue;
            };
            self.known = true;
            let counts = !(new && first) && (pid != leader || descendants.is_empty());
            if counts {
                self.read += io.read_bytes.saturating_sub(last.read_bytes);
                self.written += io.written_bytes.saturating_sub(last.written_bytes);
            }
            *last = io;
        }
        self.files.retain(|pid, _| *pid == leader || descendants.contains(pid));
    }

    /// Bytes since the last time that it was asked.
    fn since(&mut self) -> Option<(u64, u64)> {
        let (read, written) = (self.read - self.shown.0, self.written - self.shown.1);
        self.shown = (self.read, self.written);
        self.known.then_some((read, written))
    }
}

impl Watched {
    fn new(pid: u32, edges: Edges, now_ns: u64) -> Self {
        let words = processes::command_line(pid);
        let stat = processes::file(pid, "stat").and_then(|text| processes::parse_stat(&text));
        let name = stat.map_or_else(|| "?".to_owned(), |stat| stat.name);
        Watched {
            text: if words.is_empty() { name.clone() } else { words.join(" ") },
            name,
            edges,
            waits: WaitProbe::join(pid, edges, now_ns),
            pidfd: spawn::pidfd(pid),
            pipe: edges.downstream.map(|inode| PipeProbe::new(inode, now_ns)),
            io: Bytes::default(),
            lately: VecDeque::new(),
            gone: false,
        }
    }

    fn sample(&mut self, pid: u32, now_ns: u64) {
        self.gone = self.waits.sample(now_ns).is_none() || self.gone;
        self.io.read(pid, &self.waits.descendants());
        if let (Some(pipe), Some(pidfd)) = (&mut self.pipe, &self.pidfd) {
            pipe.sample(now_ns, Some(pidfd.as_fd()), None);
        }
    }

    /// What it did since the last time that it was asked.
    fn snapshot(&mut self, pid: u32, window_ns: u64) -> LiveStage {
        let seen = self.waits.sees_waits();
        let (cpu_ns, now) = self.waits.take();
        self.lately.push_back((window_ns, now.clone()));
        while self.lately.iter().skip(1).map(|(ns, _)| ns).sum::<u64>() >= LATELY_NS {
            self.lately.pop_front();
        }
        let lately = self.lately.iter().fold(Waits::default(), |sum, (_, waits)| together(&sum, waits));
        let moved = self.io.since();
        let rate = |bytes: u64| (bytes as f64 * 1e9 / window_ns.max(1) as f64) as u64;
        LiveStage {
            pid,
            name: self.name.clone(),
            text: self.text.clone(),
            cpu_ns,
            now: seen.then_some(now),
            lately: seen.then_some(lately),
            read_rate: moved.map(|(read, _)| rate(read)),
            write_rate: moved.map(|(_, written)| rate(written)),
            written_bytes: self.io.known.then_some(self.io.written),
            pipe: self.pipe.as_mut().and_then(live_pipe),
        }
    }
}

fn live_pipe(probe: &mut PipeProbe) -> Option<LivePipe> {
    let seen = probe.take()?;
    Some(LivePipe {
        bytes: seen.mean_bytes,
        capacity_bytes: seen.capacity_bytes,
        full_share: seen.full_share,
        empty_share: seen.empty_share,
    })
}

fn together(one: &Waits, other: &Waits) -> Waits {
    Waits {
        running_ns: one.running_ns + other.running_ns,
        cpu_wait_ns: one.cpu_wait_ns + other.cpu_wait_ns,
        starved_ns: one.starved_ns + other.starved_ns,
        backpressured_ns: one.backpressured_ns + other.backpressured_ns,
        other_ns: one.other_ns + other.other_ns,
        samples: one.samples + other.samples,
        elsewhere: Elsewhere {
            io_ns: one.elsewhere.io_ns + other.elsewhere.io_ns,
            lock_ns: one.elsewhere.lock_ns + other.elsewhere.lock_ns,
            asleep_ns: one.elsewhere.asleep_ns + other.elsewhere.asleep_ns,
        },
        margin_ns: None,
    }
}

/// A process that was found.
struct Found {
    pid: u32,
    parent: u32,
    pipes: [Option<u64>; 2],
}

impl Live {
    /// Watches what is in `scope`, and whatever joins it.
    pub fn attach(scope: Scope) -> Self {
        let now_ns = clock::now_ns();
        let mut live = Live {
            scope,
            start_ns: now_ns,
            searched_ns: now_ns,
            shown_ns: now_ns,
            chains: Vec::new(),
            stages: HashMap::new(),
            ended: 0,
            hidden: 0,
            cpu_at_start_ns: clock::own_cpu_ns(),
        };
        live.search(now_ns);
        live
    }

    /// Takes one sample of everything.
    pub fn sample(&mut self) {
        let now_ns = clock::now_ns();
        for (&pid, stage) in &mut self.stages {
            stage.sample(pid, now_ns);
        }
        if self.stages.values().any(|stage| stage.gone) || now_ns - self.searched_ns >= SEARCH_NS {
            self.search(now_ns);
        }
    }

    /// Whether nothing is left to watch.
    pub fn is_over(&self) -> bool {
        self.stages.is_empty()
    }

    /// Finds the pipelines in scope as they are now.
    fn search(&mut self, now_ns: u64) {
        self.searched_ns = now_ns;
        let before = self.stages.len();
        self.stages.retain(|_, stage| !stage.gone);
        self.ended += (before - self.stages.len()) as u32;
        let found = self.find();
        let places: HashMap<u32, usize> = found.iter().enumerate().map(|(i, one)| (one.pid, i)).collect();
        let wired: Vec<Wired> = found
            .iter()
            .map(|one| Wired { parent: places.get(&one.parent).copied(), pipes: one.pipes })
            .collect();
        let chains: Vec<Vec<usize>> = wiring::chains(&wired);
        let wanted = wanted(&self.scope, &found, &places, &chains);
        self.chains = wanted.iter().map(|chain| chain.iter().map(|&i| found[i].pid).collect()).collect();
        for chain in &wanted {
            for (place, &i) in chain.iter().enumerate() {
                let [stdin, stdout] = found[i].pipes;
                let edges = Edges {
                    upstream: stdin.filter(|_| place > 0),
                    downstream: stdout.filter(|_| place + 1 < chain.len()),
                };
                let pid = found[i].pid;
                let stage = self.stages.entry(pid).or_insert_with(|| Watched::new(pid, edges, now_ns));
                if stage.edges != edges {
                    *stage = Watched::new(pid, edges, now_ns);
                }
            }
        }
        let shown: BTreeSet<u32> = self.chains.iter().flatten().copied().collect();
        self.stages.retain(|pid, _| shown.contains(pid));
    }

    /// All processes that may be looked into, in the order in which they started.
    fn find(&mut self) -> Vec<Found> {
        let own = std::process::id();
        let mut found: BTreeMap<(u64, u32), Found> = BTreeMap::new();
        self.hidden = 0;
        for pid in processes::all() {
            let stat = processes::file(pid, "stat").and_then(|text| processes::parse_stat(&text));
            let Some(stat) = stat.filter(|stat| !stat.is_kernel && stat.state != 'Z' && pid != own) else {
                continue;
            };
            if matches!(self.scope, Scope::Own) && processes::owner(pid) != Some(processes::own_user()) {
                continue;
            }
            if ProcFile::open(pid, "syscall").is_none() {
                self.hidden += 1;
            }
            let pipes = [0, 1].map(|fd| procfs::pipe_inode(pid, fd));
            found.insert((stat.start_ticks, pid), Found { pid, parent: stat.parent, pipes });
        }
        found.into_values().collect()
    }

    /// What was seen since the last one.
    pub fn snapshot(&mut self) -> Snapshot {
        let now_ns = clock::now_ns();
        let window_ns = now_ns - self.shown_ns;
        self.shown_ns = now_ns;
        let cores = machine::cores();
        let mut pipelines: Vec<LivePipeline> = Vec::new();
        for chain in &self.chains {
            let stages = chain.iter();
            let stages: Vec<LiveStage> =
                stages.filter_map(|pid| Some(self.stages.get_mut(pid)?.snapshot(*pid, window_ns))).collect();
            let verdict = verdict(&stages, cores);
            pipelines.push(LivePipeline { stages, verdict });
        }
        let cpu = |pipeline: &LivePipeline| pipeline.stages.iter().map(|stage| stage.cpu_ns).sum::<u64>();
        // What was asked for by name stays where it is: only a list of all is sorted.
        if !matches!(self.scope, Scope::These(_)) {
            pipelines.sort_by_key(|pipeline| std::cmp::Reverse(cpu(pipeline) / 50_000_000));
        }
        let cpu_ns: u64 = pipelines.iter().map(cpu).sum();
        let looked_ns = clock::own_cpu_ns() - self.cpu_at_start_ns;
        Snapshot {
            elapsed_ns: now_ns - self.start_ns,
            window_ns,
            ended: self.ended,
            hidden: self.hidden,
            cores,
            cores_used: cpu_ns as f64 / window_ns.max(1) as f64,
            looking: looked_ns as f64 / (now_ns - self.start_ns).max(1) as f64,
            pipelines,
        }
    }
}

/// The pipelines in scope, and processes asked for that are in none.
fn wanted(
    scope: &Scope,
    found: &[Found],
    places: &HashMap<u32, usize>,
    chains: &[Vec<usize>],
) -> Vec<Vec<usize>> {
    let Scope::These(pids) = scope else {
        let mut all = chains.to_vec();
        all.truncate(STAGES);
        return all;
    };
    let is_below = |mut i: usize, roots: &[u32]| loop {
        if roots.contains(&found[i].pid) {
            return true;
        }
        match places.get(&found[i].parent) {
            Some(&parent) if parent != i => i = parent,
            _ => return false,
        }
    };
    let mut wanted: Vec<Vec<usize>> =
        chains.iter().filter(|chain| chain.iter().any(|&i| is_below(i, pids))).cloned().collect();
    let shown: BTreeSet<u32> = wanted.iter().flatten().map(|&i| found[i].pid).collect();
    for pid in pids {
        // One that leads to a pipeline, or is part of one, has its row there.
        let leads = || shown.iter().any(|stage| places.get(stage).is_some_and(|&i| is_below(i, &[*pid])));
        let within = |i: usize| is_below(i, &shown.iter().copied().collect::<Vec<_>>());
        if let Some(&i) = places.get(pid).filter(|&&i| !leads() && !within(i)) {
            wanted.push(vec![i]);
        }
    }
    wanted.truncate(STAGES);
    wanted
}

/// Judges what was seen lately as if it were a run.
fn verdict(stages: &[LiveStage], cores: u32) -> Verdict {
    let wall_ns =
        stages.iter().filter_map(|stage| Some(stage.lately.as_ref()?.whole_ns())).max().unwrap_or(0);
    let rows: Vec<Stage> = stages
        .iter()
        .enumerate()
        .map(|(i, stage)| {
            let waits = stage.lately.clone();
            let lived_ns = waits.as_ref().map_or(0, Waits::whole_ns);
            let user_ns = waits.as_ref().map_or(0, |waits| waits.running_ns);
            Stage {
                text: stage.text.clone(),
                name: stage.name.clone(),
                span: Span::default(),
                program: None,
                how: How::Process,
                pid: stage.pid,
                start_ns: 0,
                end: End::Exited(0),
                cost: Cost { wall_ns: lived_ns, user_ns, ..Cost::zero() },
                waits,
                threads: None,
                syscalls: None,
                inside: None,
                timeline: None,
                reads_previous: i > 0,
                feeds_next: i + 1 < stages.len(),
                stands_for: 1,
            }
        })
        .collect();
    let mut total = Cost::zero();
    rows.iter().for_each(|row| total.add(&row.cost));
    total.wall_ns = wall_ns;
    let pipeline = Pipeline {
        text: String::new(),
        span: Span::default(),
        start_ns: 0,
        wall_ns,
        exit_status: 0,
        stages: rows,
        passes: Vec::new(),
        pipes: Vec::new(),
    };
    judge(&Run {
        record_version: pelton_record::RECORD_VERSION,
        pelton_version: String::new(),
        text: String::new(),
        shell: String::new(),
        started_unix_ms: 0,
        machine: Machine { cores, ..Machine::default() },
        pipelines: vec![pipeline],
        wall_ns,
        total,
        exit_status: 0,
        left_behind: Default::default(),
        observer: Default::default(),
        verdict: Verdict::default(),
        notes: Vec::new(),
        repeats: None,
        arrivals: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(processes: &[(u32, u32, [u64; 2])]) -> (Vec<Found>, HashMap<u32, usize>, Vec<Vec<usize>>) {
        let inode = |number: u64| (number > 0).then_some(number);
        let found: Vec<Found> = processes
            .iter()
            .map(|&(pid, parent, pipes)| Found { pid, parent, pipes: pipes.map(inode) })
            .collect();
        let places: HashMap<u32, usize> = found.iter().enumerate().map(|(i, one)| (one.pid, i)).collect();
        let wired: Vec<Wired> = found
            .iter()
            .map(|one| Wired { parent: places.get(&one.parent).copied(), pipes: one.pipes })
            .collect();
        let chains = wiring::chains(&wired);
        (found, places, chains)
    }

    #[test]
    fn what_is_asked_for_comes_with_its_pipeline() {
        let processes = [
            (10, 1, [0, 0]),
            (11, 10, [0, 5]),
            (12, 10, [5, 0]),
            (20, 1, [0, 7]),
            (21, 1, [7, 0]),
            (30, 1, [0, 0]),
        ];
        let (found, places, chains) = found(&processes);
        let pids = |scope: Scope| -> Vec<Vec<u32>> {
            let wanted = wanted(&scope, &found, &places, &chains);
            wanted.iter().map(|chain| chain.iter().map(|&i| found[i].pid).collect()).collect()
        };
        // A stage, the shell above it, and a process alone.
        assert_eq!(pids(Scope::These(vec![12])), [[11, 12]]);
        assert_eq!(pids(Scope::These(vec![10])), [[11, 12]]);
        assert_eq!(pids(Scope::These(vec![30])), [[30]]);
        assert_eq!(pids(Scope::All), [[11, 12], [20, 21]]);
    }

    #[test]
    fn the_last_seconds_are_judged() {
        let stage = |name: &str, ms: [u64; 3]| {
            let [running_ns, starved_ns, backpressured_ns] = ms.map(|ms| ms * 1_000_000);
            let waits = Waits { running_ns, starved_ns, backpressured_ns, samples: 100, ..Waits::default() };
            LiveStage { name: name.into(), lately: Some(waits), ..LiveStage::default() }
        };
        let stages = [stage("cat", [50, 0, 950]), stage("gzip", [990, 10, 0]), stage("wc", [10, 990, 0])];
        let said = verdict(&stages, 2);
        assert_eq!(said.bottleneck.map(|bottleneck| bottleneck.stage), Some(1));
        assert!(said.neighbours[0].starts_with("stage 1 (cat) waited 95%"), "{:?}", said.neighbours);
    }
}
