//! What a stage waits for: sampled, and fitted to the kernel's exact sums.
//!
//! Time on a CPU and time runnable without one come from the scheduler's accounting, between any two samples
//! and in total. Only the rest, the blocked time, needs attribution: the samples that find the stage blocked
//! split it, each weighted by the time since the previous one. Plain sampling would undercount running,
//! because the sampler itself wakes when a CPU is free; and counting samples instead of weighting them would
//! favour the beginning, where they are closer.

use super::ledger::Balance;
use super::track::{STATES, State, StateChange, Track};
use pelton_record::{Elsewhere, Waits};
use pelton_sys::procfs;
use std::collections::HashMap;

pub use super::track::Edges;

/// Fewer samples give no split.
const ENOUGH_SAMPLES: u32 = 30;
/// Maximum number of descendants examined per sample.
const DESCENDANTS: usize = 64;

/// Open files and sums of one stage: a process, and the descendants that it waits for.
pub struct WaitProbe {
    pid: u32,
    edges: Edges,
    leader: Track,
    descendants: HashMap<u32, Track>,
    alone: bool,
    /// Whether it had lived for a while when it was first sampled.
    joined: bool,
    last_sample_ns: u64,
    sums: Sums,
}

/// The observations so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    samples: u32,
    /// Samples that found it blocked.
    blocked_samples: u32,
    had_descendants: bool,
    had_threads: bool,
    /// Time from the first to the last sample.
    seen_ns: u64,
    /// CPU time in it, and the part of it in which anything ran.
    cpu_ns: u64,
    running_ns: u64,
    ready_ns: u64,
    /// Blocked time, by reason.
    blocked_ns: [u64; STATES],
}

/// The interval between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Its length.
    pub length_ns: u64,
    /// The part of it in which anything ran.
    pub running_ns: u64,
    /// The part of it in which something was runnable, but nothing ran.
    pub ready_ns: u64,
    /// Why it was blocked at its end.
    pub state: Option<State>,
}

impl Window {
    /// Returns the part of it in which nothing was running or runnable.
    pub fn blocked_ns(&self) -> u64 {
        self.length_ns - self.running_ns - self.ready_ns
    }
}

impl WaitProbe {
    /// Opens the files of a child that waits at its gate.
    pub fn attach(pid: u32, edges: Edges, now_ns: u64) -> Self {
        WaitProbe::of(pid, Track::open(pid), edges, now_ns)
    }

    /// Opens the files of a process that has lived for a while.
    pub fn join(pid: u32, edges: Edges, now_ns: u64) -> Self {
        WaitProbe { joined: true, ..WaitProbe::of(pid, Track::join(pid), edges, now_ns) }
    }

    fn of(pid: u32, leader: Track, edges: Edges, now_ns: u64) -> Self {
        let descendants = HashMap::new();
        WaitProbe {
            pid,
            edges,
            leader,
            descendants,
            alone: false,
            joined: false,
            last_sample_ns: now_ns,
            sums: Sums::default(),
        }
    }

    /// Excludes its descendants, which are sampled separately.
    pub fn alone(self) -> Self {
        WaitProbe { alone: true, ..self }
    }

    /// Sets its pipes from now on.
    pub fn rewire(&mut self, edges: Edges) {
        self.edges = edges;
    }

    /// Returns the observations so far.
    pub fn sums(&self) -> Sums {
        self.sums
    }

    /// Takes one sample; `None` if the stage has ended.
    pub fn sample(&mut self, now_ns: u64) -> Option<Window> {
        let length_ns = now_ns.saturating_sub(self.last_sample_ns).max(1);
        let mut step = self.leader.step(length_ns, self.edges)?;
        self.last_sample_ns = now_ns;
        // A shell that waits for its children does what they do.
        if !self.alone && (step.state == Some(State::Child) || !self.descendants.is_empty()) {
            self.find_descendants();
            let edges = self.edges;
            self.descendants.retain(|_, track| match track.step(length_ns, edges) {
                Some(other) => {
                    step = together(step, other);
                    true
                }
                None => false,
            });
        }
        self.sums.had_threads |= self.leader.is_several();
        Some(self.sums.add(length_ns, step))
    }

    fn find_descendants(&mut self) {
        // Those that are found first may be as old.
        let open = if self.joined && self.sums.samples == 0 { Track::join } else { Track::open };
        let mut todo = procfs::children(self.pid);
        while let Some(pid) = todo.pop() {
            if self.descendants.len() >= DESCENDANTS {
                break;
            }
            self.sums.had_descendants = true;
            self.descendants.entry(pid).or_insert_with(|| open(pid));
            todo.extend(procfs::children(pid));
        }
    }

    /// Reads the exact sums that the samples are fitted to, for a stage that lived for `wall_ns`. Call it
    /// before the stage is reaped.
    pub fn finish(&self, wall_ns: u64) -> Option<Fit> {
        let ready_ns = self.leader.ready()?;
        Some(Fit { ready_ns: ready_ns.min(wall_ns), wall_ns })
    }

    /// Returns the waits, once the exact CPU time is known. `None` if there were too few samples, or its
    /// waits are unreadable.
    pub fn waits(&self, fit: &Fit, cpu_ns: u64) -> Option<Waits> {
        self.leader.sees_waits().then(|| self.sums.waits(fit, cpu_ns))?
    }

    /// Does the same for a stage that somebody else may have reaped already. The reasons for blocking are those of the
    /// time in which it was sampled, also for the time before.
    pub fn late_waits(&self, wall_ns: u64, cpu_ns: u64) -> Option<Waits> {
        self.waits(&Fit { ready_ns: self.leader.last_ready().min(wall_ns), wall_ns }, cpu_ns)
    }

    /// Whether its waits are readable at all.
    pub fn sees_waits(&self) -> bool {
        self.leader.sees_waits()
    }

    /// Returns its descendants that are sampled.
    pub fn descendants(&self) -> Vec<u32> {
        self.descendants.keys().copied().collect()
    }

    /// For a running stage: returns its CPU time and waits since the last call.
    pub fn take(&mut self) -> (u64, Waits) {
        let sums = std::mem::take(&mut self.sums);
        let fit = Fit { ready_ns: sums.ready_ns, wall_ns: sums.seen_ns };
        (sums.cpu_ns, sums.split(&fit, sums.running_ns, sums.ready_ns))
    }
}

/// Merges two processes of one stage, preferring the more informative state. A process that waits for a child
/// does what the child does.
fn together(one: StateChange, other: StateChange) -> StateChange {
    let telling = |state: Option<State>| state.unwrap_or(State::Other);
    let state = match (one.state, other.state) {
        (Some(State::Child), state) | (state, Some(State::Child)) => state,
        (None, state) | (state, None) if telling(state) > State::Starved => None,
        (one, other) => telling(one).min(telling(other)).into(),
    };
    StateChange {
        running_ns: one.running_ns + other.running_ns,
        ready_ns: one.ready_ns + other.ready_ns,
        state,
    }
}

impl Sums {
    /// Merges a process and its descendants into one stage, which lived for `wall_ns` and used `cpu_ns`. The
    /// first one's waits for children count as the children's observed activity, and where they were not
    /// observed, as other.
    pub fn stage(leader: &Sums, others: &[Sums], wall_ns: u64, cpu_ns: u64) -> Option<Waits> {
        let mut all = Sums { had_descendants: !others.is_empty(), ..*leader };
        let waited_ns = std::mem::take(&mut all.blocked_ns[State::Child as usize]);
        let mut seen_ns = 0;
        for other in others {
            all.cpu_ns += other.cpu_ns;
            all.running_ns += other.running_ns;
            all.ready_ns += other.ready_ns;
            seen_ns += other.seen_ns - other.blocked_ns[State::Child as usize];
            for state in 0..STATES {
                let is_child = state == State::Child as usize;
                let blocked_ns = if is_child { 0 } else { other.blocked_ns[state] };
                all.blocked_ns[state] += blocked_ns;
            }
        }
        all.blocked_ns[State::Other as usize] += waited_ns.saturating_sub(seen_ns);
        all.waits(&Fit { ready_ns: all.ready_ns, wall_ns }, cpu_ns)
    }

    /// Returns the waits of a traced stage, fitted like samples: of its blocked time, only the first and last
    /// moments are missing.
    pub(super) fn exact_waits(balance: &Balance, fit: &Fit, cpu_ns: u64) -> Waits {
        let sums = Sums { blocked_ns: balance.blocked_ns, ..Sums::default() };
        let (running_ns, ready_ns) = match balance.several {
            false => (cpu_ns, fit.ready_ns),
            true => (balance.running_ns, balance.ready_ns),
        };
        Waits { margin_ns: None, ..sums.split(fit, running_ns.min(fit.wall_ns), ready_ns) }
    }

    fn add(&mut self, length_ns: u64, step: StateChange) -> Window {
        let running_ns = step.running_ns.min(length_ns);
        let ready_ns = step.ready_ns.min(length_ns - running_ns);
        let window = Window { length_ns, running_ns, ready_ns, state: step.state };
        self.samples += 1;
        self.seen_ns += length_ns;
        self.cpu_ns += step.running_ns;
        self.running_ns += running_ns;
        self.ready_ns += ready_ns;
        if let Some(state) = step.state {
            self.blocked_samples += 1;
            // Not only the blocked part of the window: that would be lost where the sample finds the stage
            // running, which happens in windows with short waits.
            self.blocked_ns[state as usize] += length_ns;
        }
        window
    }

    fn waits(&self, fit: &Fit, cpu_ns: u64) -> Option<Waits> {
        if self.samples < ENOUGH_SAMPLES {
            return None;
        }
        // For one thread of one process: exact. Several threads overlap in time, as much as in the samples.
        let several = self.had_descendants || self.had_threads;
        let alone = !several && cpu_ns <= fit.wall_ns;
        let overlap = if self.cpu_ns > 0 { self.running_ns as f64 / self.cpu_ns as f64 } else { 1.0 };
        let running_ns = if alone { cpu_ns } else { (cpu_ns as f64 * overlap) as u64 };
        let running_ns = running_ns.min(fit.wall_ns);
        let ready_ns = match several {
            false => fit.ready_ns,
            true => (self.ready_ns as f64 * fit.wall_ns as f64 / self.seen_ns.max(1) as f64) as u64,
        };
        Some(self.split(fit, running_ns, ready_ns))
    }

    /// Distributes the time neither running nor runnable by the observed states.
    fn split(&self, fit: &Fit, running_ns: u64, ready_ns: u64) -> Waits {
        let cpu_wait_ns = ready_ns.min(fit.wall_ns - running_ns);
        let blocked_ns = fit.wall_ns - running_ns - cpu_wait_ns;
        let seen_ns: u64 = self.blocked_ns.iter().sum();
        let share = |state: State| self.blocked_ns[state as usize] as f64 / seen_ns.max(1) as f64;
        let part = |state: State| (blocked_ns as f64 * share(state)) as u64;
        let (starved_ns, backpressured_ns) = (part(State::Starved), part(State::Backpressured));
        let off = |state: State| blocked_ns as f64 * margin(share(state), self.blocked_samples);
        let margin_ns = off(State::Starved).max(off(State::Backpressured)) as u64;
        Waits {
            running_ns,
            cpu_wait_ns,
            starved_ns,
            backpressured_ns,
            other_ns: blocked_ns.saturating_sub(starved_ns + backpressured_ns),
            samples: self.samples,
            elsewhere: Elsewhere {
                io_ns: part(State::Io),
                lock_ns: part(State::Lock),
                asleep_ns: part(State::Asleep),
                held_ns: part(State::Held),
            },
            margin_ns: Some(margin_ns),
            exact: None,
        }
    }
}

/// Returns half the width of the 95% confidence interval of a share, if `samples` give `share` (Agresti and
/// Coull: as if four more samples had been taken, two of each kind).
fn margin(share: f64, samples: u32) -> f64 {
    let n = f64::from(samples) + 4.0;
    let share = (share * f64::from(samples) + 2.0) / n;
    1.96 * (share * (1.0 - share) / n).sqrt()
}

/// Values readable only until the stage is reaped.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    ready_ns: u64,
    wall_ns: u64,
}

impl Fit {
    /// Returns how long the stage was runnable without a CPU.
    pub fn cpu_wait_ns(&self) -> u64 {
        self.ready_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A stage sampled like this: the length of a window, time running and runnable in it, state at its end.
    fn sampled(windows: impl IntoIterator<Item = (u64, u64, u64, Option<State>)>) -> Sums {
        let mut sums = Sums::default();
        for (length, running, ready, state) in windows {
            sums.add(length * MS, StateChange { running_ns: running * MS, ready_ns: ready * MS, state });
        }
        sums
    }

    fn percent(waits: &Waits) -> [u64; 5] {
        [waits.running_ns, waits.cpu_wait_ns, waits.starved_ns, waits.backpressured_ns, waits.other_ns]
            .map(|ns| (ns as f64 * 100.0 / waits.whole_ns() as f64).round() as u64)
    }

    #[test]
    fn exact_running_and_a_sampled_split_add_up() {
        let states =
            (0..40).map(|i| (10, 5, 1, Some(if i % 4 == 0 { State::Backpressured } else { State::Starved })));
        let fit = Fit { ready_ns: 100 * MS, wall_ns: 1_000 * MS };
        let waits = sampled(states).waits(&fit, 500 * MS).expect("enough samples");
        assert_eq!(percent(&waits), [50, 10, 30, 10, 0]);
        assert_eq!(waits.whole_ns(), fit.wall_ns);
        assert!(waits.margin_ns.is_some_and(|ns| ns > 30 * MS && ns < 70 * MS), "{waits:?}");
    }

    #[test]
    fn windows_count_by_their_length() {
        // 0.5 s starved in windows of 5 ms, then 1.5 s asleep in windows of 20 ms.
        let quick = std::iter::repeat_n((5, 0, 0, Some(State::Starved)), 100);
        let calm = std::iter::repeat_n((20, 0, 0, Some(State::Asleep)), 75);
        let fit = Fit { ready_ns: 0, wall_ns: 2_000 * MS };
        let waits = sampled(quick.chain(calm)).waits(&fit, 0).expect("enough samples");
        assert_eq!(percent(&waits), [0, 0, 25, 0, 75]);
        assert_eq!(waits.elsewhere.asleep_ns, 1_500 * MS);
    }

    #[test]
    fn what_runs_most_of_the_time_is_still_seen_waiting() {
        // In bursts shorter than a window: three of four samples find it running, and say nothing of the
        // rest.
        let states = (0..400).map(|i| (20, 15, 0, (i % 4 == 0).then_some(State::Starved)));
        let fit = Fit { ready_ns: 0, wall_ns: 8_000 * MS };
        let waits = sampled(states).waits(&fit, 6_000 * MS).expect("enough samples");
        assert_eq!(percent(&waits), [75, 0, 25, 0, 0]);
    }

    #[test]
    fn short_turns_count_as_much_as_long_waits() {
        // Half of the time blocked on write throughout; then short sleeps between bursts, a quarter of the
        // time, which every fourth sample finds.
        let long = std::iter::repeat_n((20, 0, 0, Some(State::Backpressured)), 100);
        let turns = (0..100).map(|i| (20, 15, 0, (i % 4 == 0).then_some(State::Asleep)));
        let fit = Fit { ready_ns: 0, wall_ns: 4_000 * MS };
        let waits = sampled(long.chain(turns)).waits(&fit, 1_500 * MS).expect("enough samples");
        assert_eq!(percent(&waits), [38, 0, 0, 50, 13]);
    }

    #[test]
    fn parallel_parts_overlap_as_they_were_seen_to() {
        // Two CPUs for three quarters of the time.
        let busy = std::iter::repeat_n((20, 40, 0, None), 30);
        let idle = std::iter::repeat_n((20, 0, 0, Some(State::Starved)), 10);
        let fit = Fit { ready_ns: 0, wall_ns: 800 * MS };
        let waits = sampled(busy.chain(idle)).waits(&fit, 1_200 * MS).expect("enough samples");
        assert_eq!(percent(&waits), [75, 0, 25, 0, 0]);
    }

    #[test]
    fn few_samples_give_no_answer() {
        let sums = sampled(std::iter::repeat_n((5, 0, 0, Some(State::Starved)), 29));
        assert!(sums.waits(&Fit { ready_ns: 0, wall_ns: 1_000 }, 10).is_none());
    }

    #[test]
    fn a_function_does_what_its_command_does() {
        let shell = sampled(std::iter::repeat_n((20, 0, 0, Some(State::Child)), 50));
        let awk = sampled((0..50).map(|_| (20, 12, 0, Some(State::Starved))));
        let waits = Sums::stage(&shell, &[awk], 1_000 * MS, 600 * MS).expect("enough samples");
        assert_eq!(percent(&waits), [60, 0, 40, 0, 0]);
        // Commands too short to be sampled: their CPU time is known, their waits are not.
        let waits = Sums::stage(&shell, &[], 1_000 * MS, 300 * MS).expect("enough samples");
        assert_eq!(percent(&waits), [30, 0, 0, 0, 70]);
    }

    #[test]
    fn a_shell_does_what_its_children_do() {
        let step = |running_ns, state| StateChange { running_ns, ready_ns: 0, state };
        let shell = step(1, Some(State::Child));
        assert_eq!(together(shell, step(5, Some(State::Starved))), step(6, Some(State::Starved)));
        assert_eq!(together(shell, step(5, None)), step(6, None));
        let asleep = step(0, Some(State::Asleep));
        assert_eq!(together(asleep, step(0, Some(State::Starved))).state, Some(State::Starved));
        assert_eq!(together(step(5, None), asleep).state, None);
    }
}
