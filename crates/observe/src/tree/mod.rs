//! The processes that a stage started, and the channels between them by any descriptor, sampled while they run.
//!
//! A stage without children costs one read of a file per round, which stays open. Otherwise `doctor` reads what
//! each thread waits for and which processes hold the other end, for the stage's own processes only. `activity`
//! sums up the time of each process by what it did, and `flows` does so for each channel. `stillness` finds
//! deadlocks. `build` makes the record's tree from these sums; `findings` reads only that tree.

mod activity;
mod build;
pub(crate) mod findings;
mod flows;
mod stillness;

use crate::doctor::holders::Holders;
use crate::doctor::look::look_with_holders;
use crate::doctor::resolve::TimedPolls;
use crate::doctor::world::World;
use activity::{Doing, Tally, Waiting, doing, full_channels};
use flows::Flows;
use pelton_record::process_tree::{Activity, Deadlock, ProcessTree};
use pelton_record::typed_command_line;
use pelton_sys::procfs::{self, ProcFile};
use pelton_sys::{clock, processes};
use std::collections::{BTreeMap, HashMap};
use stillness::Stillness;

/// The shortest time between two samples.
const INTERVAL_NS: u64 = 15_000_000;
/// A sample is followed by this many times its own CPU time without one: the cost stays below 1% of a core.
const REST: u64 = 100;
/// A process that has no children is asked for them less and less often, at last after this time.
const INTERVAL_ALONE_NS: u64 = 120_000_000;
/// How long observations count as recent.
const RECENT_NS: u64 = 5_000_000_000;
/// Maximum number of processes sampled.
const PROCESSES: usize = 256;

/// Samples the process tree below one process.
pub struct Sampler {
    root: u32,
    /// The root's children, as far as its first thread started them.
    children: Option<ProcFile>,
    due_ns: u64,
    /// Time between the last sample and the next.
    pause_ns: u64,
    last_ns: u64,
    /// Time of the last sample of several processes.
    looked_ns: u64,
    /// When these observations began.
    since_ns: u64,
    sampled: Sampled,
    places: HashMap<u32, usize>,
    stillness: Stillness,
}

/// The observations.
#[derive(Default)]
pub(crate) struct Sampled {
    pub processes: Vec<SampledProcess>,
    pub flows: Flows,
    pub samples: u32,
    pub deadlock: Option<Deadlock>,
}

/// What is known of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampledProcess {
    pub pid: u32,
    pub start_ticks: u64,
    /// Its parent, by index.
    pub parent: Option<usize>,
    pub name: String,
    pub text: String,
    /// Time of its first sample.
    pub first_ns: u64,
    pub last_ns: u64,
    pub cpu_ns: u64,
    pub activity: Activity,
}

/// What a process did since the last sample.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub place: usize,
    pub length_ns: u64,
    pub running_ns: u64,
    pub doing: Doing,
    /// The channels that it waits on.
    pub waiting: Vec<Waiting>,
}

impl Step {
    /// Returns the part of it in which it did not run.
    pub fn blocked_ns(&self) -> u64 {
        self.length_ns - self.running_ns
    }
}

impl Sampler {
    /// Starts with a process that has no children yet.
    pub fn attach(root: u32, now_ns: u64) -> Self {
        Sampler {
            root,
            children: ProcFile::open(root, &format!("task/{root}/children")),
            due_ns: now_ns,
            pause_ns: INTERVAL_NS,
            last_ns: now_ns,
            looked_ns: 0,
            since_ns: now_ns,
            sampled: Sampled::default(),
            places: HashMap::new(),
            stillness: Stillness::default(),
        }
    }

    /// Samples the tree if that is due. `known` are its processes, if someone follows them.
    pub fn sample(&mut self, now_ns: u64, known: Option<&[u32]>) {
        if now_ns < self.due_ns {
            return;
        }
        let before_ns = clock::own_cpu_ns();
        let pids = match known {
            Some(pids) => pids.to_vec(),
            None => self.find(),
        };
        if pids.len() > 1 {
            self.look(&pids, now_ns);
            self.pause_ns = (REST * (clock::own_cpu_ns() - before_ns)).max(INTERVAL_NS);
        } else {
            let is_asked = known.is_none();
            self.pause_ns = if is_asked { (2 * self.pause_ns).min(INTERVAL_ALONE_NS) } else { INTERVAL_NS };
        }
        self.last_ns = now_ns;
        self.due_ns = now_ns + self.pause_ns;
    }

    /// Returns the root and its descendants.
    fn find(&self) -> Vec<u32> {
        let mut found = vec![self.root];
        if !self.has_children() {
            return found;
        }
        let mut next = 0;
        while let Some(&pid) = found.get(next).filter(|_| found.len() < PROCESSES) {
            found.extend(procfs::children_of_all_threads(pid));
            next += 1;
        }
        found
    }

    /// Whether the root may have children: only its first thread can be asked cheaply.
    fn has_children(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let mut buffer = [0; 16];
        let listed = self.children.as_ref().and_then(|file| file.read_bytes(&mut buffer));
        // A directory of directories has two more links than entries.
        let several =
            || std::fs::metadata(format!("/proc/{}/task", self.root)).is_ok_and(|task| task.nlink() > 3);
        listed.is_some_and(|n| n > 0) || several()
    }

    fn look(&mut self, pids: &[u32], now_ns: u64) {
        let pids = &pids[..pids.len().min(PROCESSES)];
        let (world, holders) = look_with_holders(pids, TimedPolls::AsAny);
        if world.processes.values().filter(|process| !process.has_ended()).count() < 2 {
            return;
        }
        self.sampled.samples += 1;
        let steps = self.step(&world, &holders, now_ns);
        for step in steps.values() {
            let process = &mut self.sampled.processes[step.place];
            process.activity.count(step);
        }
        self.sampled.flows.add(&world, &holders, &steps, now_ns);
        self.stillness.look(&world, now_ns);
        self.looked_ns = now_ns;
    }

    /// Returns what each live process did since the last sample.
    fn step(&mut self, world: &World, holders: &Holders, now_ns: u64) -> BTreeMap<u32, Step> {
        let mut steps = BTreeMap::new();
        let full = full_channels(world, holders);
        // Parents are known before their children, whatever their ids are.
        let mut order: Vec<(u64, u32)> =
            world.processes.iter().map(|(&pid, process)| (process.stat.start_ticks, pid)).collect();
        order.sort_by_key(|&(start, pid)| (pid != self.root, start, pid));
        for (_, pid) in order {
            let Some(process) = world.processes.get(&pid).filter(|process| !process.has_ended()) else {
                continue;
            };
            let place = self.place(pid, &process.stat, now_ns);
            let known = &mut self.sampled.processes[place];
            let age_ns = clock::since_boot_ns().saturating_sub(process.stat.start_ticks * tick_ns());
            let since_ns = known.last_ns.max(self.last_ns);
            let length_ns = now_ns.saturating_sub(since_ns).min(age_ns + tick_ns());
            let cpu_ns = clock::process_cpu_ns(pid).unwrap_or(known.cpu_ns);
            // Of one that was there before this watch began, earlier CPU time does not count.
            let is_old = known.last_ns == 0 && age_ns > length_ns + tick_ns();
            let running_ns = if is_old { 0 } else { cpu_ns.saturating_sub(known.cpu_ns).min(length_ns) };
            (known.cpu_ns, known.last_ns) = (cpu_ns, now_ns);
            if !process.stat.name.is_empty() && known.name != process.stat.name {
                // It has executed another program.
                (known.name, known.text) = (process.stat.name.clone(), command(pid));
            }
            let (doing, waiting) = doing(pid, process, holders, &full);
            steps.insert(pid, Step { place, length_ns, running_ns, doing, waiting });
        }
        steps
    }

    /// Returns the place of a process, which may be new.
    fn place(&mut self, pid: u32, stat: &processes::Stat, now_ns: u64) -> usize {
        let known = self.places.get(&pid).copied();
        let all = &mut self.sampled.processes;
        if let Some(place) = known.filter(|&place| all[place].start_ticks == stat.start_ticks) {
            return place;
        }
        // A reparented orphan hangs on the root.
        let parent = match pid == self.root {
            true => None,
            false => Some(self.places.get(&stat.parent).copied().unwrap_or(0)),
        };
        all.push(SampledProcess {
            pid,
            start_ticks: stat.start_ticks,
            parent,
            name: stat.name.clone(),
            text: command(pid),
            first_ns: now_ns,
            ..SampledProcess::default()
        });
        self.places.insert(pid, all.len() - 1);
        all.len() - 1
    }

    /// Returns the tree in the last seconds; `None` if there were no two processes.
    pub fn recent(&mut self, now_ns: u64) -> Option<ProcessTree> {
        let lasted_ns = self.stillness.lasted();
        let deadlock = self.stillness.current();
        self.sampled.deadlock = deadlock.map(|finding| Deadlock { lasted_ns, finding: finding.clone() });
        let tree = (self.sampled.samples > 0).then(|| self.sampled.tree());
        if now_ns - self.since_ns >= RECENT_NS {
            self.begin_anew(now_ns);
        }
        tree
    }

    /// Forgets what the processes did so far, and those that have ended.
    fn begin_anew(&mut self, now_ns: u64) {
        let mut fresh = Sampled::default();
        let mut moved: HashMap<usize, usize> = HashMap::new();
        let before = &self.sampled.processes;
        for (place, process) in before.iter().enumerate().filter(|(_, one)| one.last_ns == self.looked_ns) {
            moved.insert(place, fresh.processes.len());
            let parent = process.parent.map(|parent| moved.get(&parent).copied().unwrap_or(0));
            let activity = Activity::default();
            fresh.processes.push(SampledProcess { parent, activity, ..process.clone() });
        }
        self.places = fresh.processes.iter().enumerate().map(|(place, one)| (one.pid, place)).collect();
        (self.sampled, self.since_ns) = (fresh, now_ns);
    }

    /// Returns the observations; `None` if there never were two processes.
    pub(crate) fn finish(mut self) -> Option<Sampled> {
        let lasted_ns = self.stillness.lasted();
        let deadlock = self.stillness.last();
        self.sampled.deadlock = deadlock.map(|finding| Deadlock { lasted_ns, finding: finding.clone() });
        (self.sampled.samples > 0).then_some(self.sampled)
    }
}

fn command(pid: u32) -> String {
    typed_command_line(&processes::command_line(pid))
}

fn tick_ns() -> u64 {
    1_000_000_000 / processes::ticks_per_second().max(1)
}
