//! What a stage waits for: sampled from its CPU clock and /proc/PID/syscall, fitted to the kernel's exact sums.
//!
//! A sample alone under-counts running, because the sampler itself wakes when a CPU is free. So time on a CPU and
//! time without one come from the scheduler's accounting, and samples only split what is left, the blocked time,
//! into starved, back-pressured and other.

use pelton_record::Waits;
use pelton_sys::clock;
use pelton_sys::procfs::{self, ProcFile, Role, Syscall};

/// Fewer samples than this give no split.
const ENOUGH_SAMPLES: u32 = 20;
/// A stage is running at a sample if it used this share of the time since the last one.
const RUNNING_SHARE: f64 = 0.5;
/// Descendants looked at in one sample, at most.
const DESCENDANTS: usize = 64;

/// The pipes to a stage's neighbours, by inode.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edges {
    /// The pipe from the stage before it.
    pub upstream: Option<u64>,
    /// The pipe to the stage after it.
    pub downstream: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Starved,
    Backpressured,
    Other,
}

/// Kept sources and counts of one stage.
pub struct WaitProbe {
    pid: u32,
    edges: Edges,
    syscall: Option<ProcFile>,
    schedstat: Option<ProcFile>,
    last_cpu_ns: u64,
    last_sample_ns: u64,
    running: u32,
    starved: u32,
    backpressured: u32,
    other: u32,
    had_descendants: bool,
}

impl WaitProbe {
    /// Opens the sources of a child that waits at its gate.
    pub fn attach(pid: u32, edges: Edges, now_ns: u64) -> Self {
        WaitProbe {
            pid,
            edges,
            syscall: ProcFile::open(pid, "syscall"),
            schedstat: ProcFile::open(pid, "schedstat"),
            last_cpu_ns: 0,
            last_sample_ns: now_ns,
            running: 0,
            starved: 0,
            backpressured: 0,
            other: 0,
            had_descendants: false,
        }
    }

    /// Takes one sample.
    pub fn sample(&mut self, now_ns: u64) {
        let Some(cpu_ns) = clock::process_cpu_ns(self.pid) else { return };
        let used = cpu_ns.saturating_sub(self.last_cpu_ns) as f64;
        let passed = now_ns.saturating_sub(self.last_sample_ns).max(1) as f64;
        self.last_cpu_ns = cpu_ns;
        self.last_sample_ns = now_ns;
        let state = if used >= RUNNING_SHARE * passed { Some(State::Running) } else { self.look() };
        match state {
            Some(State::Running) => self.running += 1,
            Some(State::Starved) => self.starved += 1,
            Some(State::Backpressured) => self.backpressured += 1,
            Some(State::Other) => self.other += 1,
            None => {}
        }
    }

    fn look(&mut self) -> Option<State> {
        let mut buffer = [0; 256];
        let text = self.syscall.as_ref()?.read(&mut buffer)?;
        match procfs::parse_syscall(text)? {
            Syscall::Running => Some(State::Running),
            Syscall::Outside => Some(State::Other),
            Syscall::Blocked { number, arguments } => Some(match procfs::role(number) {
                Role::WaitsForChild => self.look_at_descendants(),
                role => state_of(self.pid, role, arguments, self.edges),
            }),
        }
    }

    /// A shell that waits for its children does what they do: running if any of them runs, else whatever one of them
    /// waits for at the stage's own pipes.
    fn look_at_descendants(&mut self) -> State {
        self.had_descendants = true;
        let mut todo = procfs::children(self.pid);
        let mut found = State::Other;
        let mut seen = 0;
        while let Some(pid) = todo.pop() {
            seen += 1;
            if seen > DESCENDANTS {
                break;
            }
            match state_of_process(pid, self.edges) {
                Some(State::Running) => return State::Running,
                Some(State::Other) | None => {}
                Some(state) => found = state,
            }
            todo.extend(procfs::children(pid));
        }
        found
    }

    /// Fits the samples to the exact figures: `cpu_ns` of the stage with its descendants over `wall_ns` of life.
    /// To be called before the stage is reaped.
    pub fn finish(&self, wall_ns: u64) -> Option<Fit> {
        let mut buffer = [0; 128];
        let (_, cpu_wait_ns) = procfs::parse_schedstat(self.schedstat.as_ref()?.read(&mut buffer)?)?;
        Some(Fit { cpu_wait_ns: cpu_wait_ns.min(wall_ns), wall_ns })
    }

    /// The waits, once the exact CPU time is known.
    pub fn waits(&self, fit: &Fit, cpu_ns: u64) -> Option<Waits> {
        let samples = self.running + self.starved + self.backpressured + self.other;
        if samples < ENOUGH_SAMPLES {
            return None;
        }
        // One thread of one process: exact. Several: they overlap in time, so only the samples can tell.
        let exact = !self.had_descendants && cpu_ns <= fit.wall_ns;
        let share = |count: u32| (fit.wall_ns as f64 * f64::from(count) / f64::from(samples)) as u64;
        let running_ns = if exact { cpu_ns } else { share(self.running) };
        let cpu_wait_ns = fit.cpu_wait_ns.min(fit.wall_ns - running_ns);
        let blocked_ns = fit.wall_ns - running_ns - cpu_wait_ns;
        let blocked_samples = self.starved + self.backpressured + self.other;
        let part =
            |count: u32| (blocked_ns as f64 * f64::from(count) / f64::from(blocked_samples.max(1))) as u64;
        let (starved_ns, backpressured_ns) = (part(self.starved), part(self.backpressured));
        Some(Waits {
            running_ns,
            cpu_wait_ns,
            starved_ns,
            backpressured_ns,
            other_ns: blocked_ns.saturating_sub(starved_ns + backpressured_ns),
            samples,
        })
    }
}

/// What is only readable until the stage is reaped.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    cpu_wait_ns: u64,
    wall_ns: u64,
}

impl Fit {
    /// How long the stage was ready without a CPU.
    pub fn cpu_wait_ns(&self) -> u64 {
        self.cpu_wait_ns
    }
}

fn state_of_process(pid: u32, edges: Edges) -> Option<State> {
    let mut buffer = [0; 256];
    let file = ProcFile::open(pid, "syscall")?;
    match procfs::parse_syscall(file.read(&mut buffer)?)? {
        Syscall::Running => Some(State::Running),
        Syscall::Outside => Some(State::Other),
        Syscall::Blocked { number, arguments } => Some(state_of(pid, procfs::role(number), arguments, edges)),
    }
}

fn state_of(pid: u32, role: Role, arguments: [u64; 6], edges: Edges) -> State {
    let is = |argument: usize, edge: Option<u64>| {
        edge.is_some() && procfs::pipe_inode(pid, arguments[argument]) == edge
    };
    match role {
        Role::Reads(fd) if is(fd, edges.upstream) => State::Starved,
        Role::Writes(fd) if is(fd, edges.downstream) => State::Backpressured,
        Role::Moves(from, to) => match (is(from, edges.upstream), is(to, edges.downstream)) {
            (true, false) => State::Starved,
            (false, true) => State::Backpressured,
            // Only the kernel function it sleeps in tells which end holds a splice up.
            (true, true) => match procfs::wchan(pid) {
                Some(name) if name.contains("write") || name.contains("writable") => State::Backpressured,
                Some(_) => State::Starved,
                None => State::Other,
            },
            (false, false) => State::Other,
        },
        _ => State::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(running: u32, starved: u32, backpressured: u32, other: u32) -> WaitProbe {
        let counts = WaitProbe::attach(0, Edges::default(), 0);
        WaitProbe { running, starved, backpressured, other, ..counts }
    }

    #[test]
    fn exact_running_and_a_sampled_split_add_up() {
        let fit = Fit { cpu_wait_ns: 100, wall_ns: 1_000 };
        let waits = probe(1, 30, 10, 0).waits(&fit, 500).expect("enough samples");
        assert_eq!((waits.running_ns, waits.cpu_wait_ns), (500, 100));
        assert_eq!((waits.starved_ns, waits.backpressured_ns, waits.other_ns), (300, 100, 0));
    }

    #[test]
    fn parallel_stages_are_sampled_whole() {
        let fit = Fit { cpu_wait_ns: 0, wall_ns: 1_000 };
        let waits = probe(30, 10, 0, 0).waits(&fit, 1_900).expect("enough samples");
        assert_eq!((waits.running_ns, waits.starved_ns), (750, 250));
    }

    #[test]
    fn few_samples_give_no_answer() {
        assert!(probe(5, 5, 5, 4).waits(&Fit { cpu_wait_ns: 0, wall_ns: 1_000 }, 10).is_none());
    }
}
