//! Observes running programs without interfering: their pipelines, the activity of each stage, and the
//! bottleneck.
//!
//! Searches for processes every second, takes samples as `pelton time` does, and sums up in each snapshot
//! those since the previous one. Nothing is stopped or traced.

mod judged;
mod stage;

use crate::doctor::Scope;
use crate::probes::waits::Edges;
use crate::wiring::{self, Wired};
use judged::verdict;
use pelton_record::live::{LivePipeline, LiveStage, Snapshot};
use pelton_sys::procfs::{self, ProcFile};
use pelton_sys::{clock, machine, processes};
use stage::Watched;
pub(crate) use stage::called;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Time between two searches for processes.
const SEARCH_NS: u64 = 1_000_000_000;
/// Maximum number of stages watched at a time.
const STAGES: usize = 200;

/// Watches the processes in its scope.
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

/// A process that was found.
struct Found {
    pid: u32,
    parent: u32,
    pipes: [Option<u64>; 2],
}

impl Live {
    /// Watches the processes in `scope`, and those that join later.
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

    /// Samples all stages.
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

    /// Finds the current pipelines in scope.
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

    /// Returns all readable processes, in the order of their start.
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
            let pipes = [0, 1].map(|fd| procfs::pipe_behind(pid, fd));
            found.insert((stat.start_ticks, pid), Found { pid, parent: stat.parent, pipes });
        }
        found.into_values().collect()
    }

    /// Returns the observations since the last snapshot.
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
        // Processes requested by name keep their order: only a list of all is sorted.
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

/// Returns the pipelines in scope, and requested processes that are in none.
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
        // A process that leads to a pipeline or is part of one has its row there.
        let leads = || shown.iter().any(|stage| places.get(stage).is_some_and(|&i| is_below(i, &[*pid])));
        let within = |i: usize| is_below(i, &shown.iter().copied().collect::<Vec<_>>());
        if let Some(&i) = places.get(pid).filter(|&&i| !leads() && !within(i)) {
            wanted.push(vec![i]);
        }
    }
    wanted.truncate(STAGES);
    wanted
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
}
