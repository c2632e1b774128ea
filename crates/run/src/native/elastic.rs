//! How many threads a worker process uses: one, until there is enough work and a core is idle; fewer again
//! when others need the cores.
//!
//! The number of running threads shows at once whether a core is idle, and the idle time of all cores shows
//! it over time. How long our own threads were runnable shows whether others need cores. Windows and
//! thresholds are those that measured best: windows of 50 ms. After two in which our threads together waited
//! for more than half a core, as many threads stop as cores they waited for. One more starts after two
//! windows with 0.7 idle cores and less than a tenth of waiting, or after one if that core was given back
//! before: most competitors need a core for moments (kernel threads that clean up memory take 0.1 s here and
//! there). A competitor that returns within 0.8 s gets twice as long each time, up to 0.4 s. All threads but
//! the first also have low priority ([`POLITE`], `SCHED_BATCH`), so that others lose little before the number
//! shrinks.

use super::data_files::Named;
use super::spill::Memory;
use pelton_parallel::{Helpers, Policy};
use pelton_stream::{BLOCK_BYTES, Resources, block_bytes};
use pelton_sys::cpu_waits::{self, ThreadFile};
use pelton_sys::{clock, machine};
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The requested number of threads, for everything that this process starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jobs {
    /// As many as there are idle cores.
    Auto,
    /// This many, at least 1.
    Fixed(usize),
}

/// 0: auto.
static JOBS: AtomicUsize = AtomicUsize::new(0);

/// Sets the number of threads, before anything is started.
pub fn set_jobs(jobs: Jobs) {
    let number = match jobs {
        Jobs::Auto => 0,
        Jobs::Fixed(jobs) => jobs.max(1),
    };
    JOBS.store(number, Ordering::Relaxed);
}

static NICENESS: AtomicI32 = AtomicI32::new(0);

/// Sets the niceness of workers, 0 to 19, before anything is started.
pub fn set_niceness(niceness: i32) {
    NICENESS.store(niceness, Ordering::Relaxed);
}

/// Applies the niceness in a worker.
pub fn give_way_as_asked() {
    let niceness = NICENESS.load(Ordering::Relaxed);
    if niceness > 0 {
        cpu_waits::be_nice(niceness);
    }
}

fn jobs() -> Jobs {
    match JOBS.load(Ordering::Relaxed) {
        0 => Jobs::Auto,
        jobs => Jobs::Fixed(jobs),
    }
}

/// The additional niceness of a thread or process that works beside the first: with one competitor it gets a
/// tenth of a core.
///
/// With the maximum, 19, the competitor is disturbed as little, but a current block takes very long: the
/// scheduler lets such a thread run for 3 ms in 200, and ordered output waits for that block, as does
/// stopping the thread. A core was then given back after 100 to 370 ms, compared with 90 to 140 ms at 5, 7 or
/// 10. (The priority cannot be raised again for the rest of a block: that takes a privilege. Smaller blocks
/// would not help, since one slice is several blocks already; giving the block to another thread would
/// require undoing its kernel's counts.)
pub const POLITE: i32 = 10;

/// The thread policy of one worker process.
pub struct Elastic {
    jobs: Jobs,
    /// The maximum.
    limit: OnceLock<usize>,
    next_ns: AtomicU64,
    watch: Mutex<Watch>,
    /// Whether the caller is one of the workers.
    works: bool,
}

/// The observations so far.
#[derive(Default)]
struct Watch {
    wanted: usize,
    threads: Vec<Worker>,
    idle: Option<(u64, u64)>,
    windows: Windows,
}

/// A working thread or process.
struct Worker {
    file: ThreadFile,
    /// Its accounts at the last look, or at the start.
    before: (u64, u64),
    /// The time of that look.
    then_ns: u64,
}

impl Worker {
    /// Ignores everything before now.
    fn new(file: ThreadFile) -> Worker {
        Worker { before: file.read().unwrap_or_default(), then_ns: clock::now_ns(), file }
    }
}

/// The observations of a window.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The share of our threads' runnable time in which they waited for a CPU.
    waited: f64,
    /// How many cores they waited for: one competitor takes one, however many threads there are.
    missing: f64,
    /// The number of idle cores.
    idle: f64,
}

/// The rule for growing and shrinking.
#[derive(Debug, Default)]
struct Windows {
    crowded: u32,
    roomy: u32,
    /// Windows until growth is allowed.
    rest: u32,
    /// Length of the last rest.
    rested: u32,
    /// Windows since cores were given back.
    since: u32,
    /// Cores given back and not taken again.
    lost: usize,
}

/// A change of the number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Fewer(usize),
    Same,
    More,
}

const WINDOW_NS: u64 = 50_000_000;

/// A competitor that returns within this many windows gets more time.
const SOON: u32 = 16;
const REST_MAX: u32 = 8;

impl Windows {
    /// Decides on a change, with this many threads at work.
    fn judge(&mut self, seen: Seen, at_work: usize) -> Change {
        self.crowded = if seen.missing > 0.5 { self.crowded + 1 } else { 0 };
        self.roomy = if seen.waited < 0.1 && seen.idle >= 0.7 { self.roomy + 1 } else { 0 };
        self.rest = self.rest.saturating_sub(1);
        self.since = self.since.saturating_add(1);
        if self.crowded >= 2 && at_work > 1 {
            return self.fewer((seen.missing.round() as usize).min(at_work - 1));
        }
        // A core that was ours a moment ago needs less evidence.
        let enough = if self.lost > 0 { 1 } else { 2 };
        if self.roomy >= enough && self.rest == 0 {
            self.roomy = 0;
            self.lost = self.lost.saturating_sub(1);
            return Change::More;
        }
        Change::Same
    }

    fn fewer(&mut self, cores: usize) -> Change {
        let again = self.rested > 0 && self.since <= SOON + self.rested;
        let rest = if again { (2 * self.rested).min(REST_MAX) } else { 1 };
        *self = Windows { rest, rested: rest, lost: self.lost + cores, ..Windows::default() };
        Change::Fewer(cores)
    }
}

impl Elastic {
    /// Makes the policy for the requested jobs. Nothing is measured before the first call.
    pub fn new() -> Self {
        Elastic {
            jobs: jobs(),
            limit: OnceLock::new(),
            next_ns: AtomicU64::new(0),
            watch: Mutex::default(),
            works: true,
        }
    }

    /// Makes the policy for a dispatcher: it runs while it asks, and takes no core from the workers.
    pub fn of_dealer() -> Self {
        Elastic { works: false, ..Elastic::new() }
    }

    /// Adds a process that works for the same stage: its waiting for a core counts too.
    pub fn joined(&self, pid: u32) {
        if let Some(file) = (self.jobs == Jobs::Auto).then(|| ThreadFile::of_process(pid)).flatten() {
            self.watch.lock().unwrap_or_else(PoisonError::into_inner).threads.push(Worker::new(file));
        }
    }

    /// Whether all workers but the first get low priority.
    pub fn is_polite(&self) -> bool {
        self.jobs == Jobs::Auto
    }

    /// Whether more than one thread is ever allowed.
    pub fn may_grow(&self) -> bool {
        match self.jobs {
            Jobs::Auto => machine::allowed_cores() > 1,
            Jobs::Fixed(jobs) => jobs > 1,
        }
    }

    /// Whether all cores are taken and others wait for them. Always `false` for a fixed number.
    pub fn is_crowded(&self) -> bool {
        self.jobs == Jobs::Auto && cpu_waits::running().is_some_and(|running| running > self.limit())
    }

    /// Returns the maximum. The limits of a control group are in files, which short work has no time to read.
    fn limit(&self) -> usize {
        *self.limit.get_or_init(|| match self.jobs {
            Jobs::Auto => machine::cores() as usize,
            Jobs::Fixed(jobs) => jobs,
        })
    }

    /// Returns how many cores are idle now.
    fn idle_now(&self, cores: usize) -> usize {
        let taken = |running: usize| running.saturating_sub(usize::from(!self.works)).max(1);
        cpu_waits::running().map_or(0, |running| cores.saturating_sub(taken(running)))
    }

    fn ask(&self, now_ns: u64, at_work: usize) -> usize {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        self.next_ns.store(now_ns + WINDOW_NS, Ordering::Relaxed);
        if watch.wanted == 0 {
            watch.begin(now_ns);
            let limit = self.limit();
            watch.wanted = at_work + self.idle_now(limit).min(limit - at_work.min(limit));
            return watch.wanted;
        }
        let Some(seen) = watch.look(now_ns) else { return watch.wanted };
        let at_work = watch.wanted;
        watch.wanted = match watch.windows.judge(seen, at_work) {
            Change::Fewer(cores) => watch.wanted - cores,
            Change::Same => watch.wanted,
            Change::More => (watch.wanted + 1).min(self.limit()),
        };
        watch.wanted
    }
}

/// Returns the resources of kernels under this policy.
pub fn resources(elastic: &Arc<Elastic>) -> Resources {
    let policy = Arc::clone(elastic);
    let helpers = match elastic.may_grow() {
        // Tiny blocks are for tests, and so is sharing tiny work.
        true if block_bytes() < BLOCK_BYTES => Helpers::new(policy).eager(),
        true => Helpers::new(policy),
        false => Helpers::default(),
    };
    let (storage, files) = (Some(Arc::new(Memory) as _), Some(Arc::new(Named::new()) as _));
    Resources { helpers, storage, files, ..Resources::default() }
}

impl Watch {
    fn begin(&mut self, now_ns: u64) {
        self.threads.extend(ThreadFile::own().map(Worker::new));
        self.look(now_ns);
    }

    /// Returns the observations since the last look; `None` if not available.
    fn look(&mut self, now_ns: u64) -> Option<Seen> {
        let span_ns = self.idle.map_or(0, |(then_ns, _)| now_ns.saturating_sub(then_ns));
        let idle_ns = cpu_waits::idle_ns()?;
        let before = self.idle.replace((now_ns, idle_ns));
        let idle_ns = before.map_or(0, |(_, then_ns)| idle_ns.saturating_sub(then_ns));
        // While a core is idle, no thread waits long, though the accounts of a lone thread may be late.
        let busy = idle_ns < span_ns / 4;
        let (mut ran, mut waited) = (0, 0);
        self.threads.retain_mut(|Worker { file, before, then_ns }| {
            let Some(now) = file.read() else { return false };
            let own = (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
            ran += own.0;
            // A worker that started within the window did not wait before that.
            waited += waited_ns(own, now_ns.saturating_sub(*then_ns), || busy && file.is_ready());
            (*before, *then_ns) = (now, now_ns);
            true
        });
        before?;
        let in_cores = |ns: u64| ns as f64 / span_ns.max(1) as f64;
        Some(Seen {
            waited: waited as f64 / (ran + waited).max(1) as f64,
            missing: in_cores(waited),
            idle: in_cores(idle_ns),
        })
    }
}

/// Returns how long a thread waited for a CPU in this span, given its accounts of running and waiting. They
/// include a wait only once it is over: a wait in progress is the missing time, and one that began before the
/// span counts only as far as it lies in it. A low-priority thread may wait for as long as a competitor
/// computes.
fn waited_ns((ran, waited): (u64, u64), span_ns: u64, is_ready: impl Fn() -> bool) -> u64 {
    let rest = span_ns.saturating_sub(ran);
    // A look in the middle of a slice misses a little.
    let missing = rest.saturating_sub(waited);
    if missing > span_ns / 4 && is_ready() { rest } else { waited.min(rest) }
}

impl Policy for Elastic {
    fn wanted(&self, at_work: usize) -> usize {
        if let Jobs::Fixed(jobs) = self.jobs {
            return jobs;
        }
        let now_ns = clock::now_ns();
        if now_ns < self.next_ns.load(Ordering::Relaxed) {
            return self.watch.lock().unwrap_or_else(PoisonError::into_inner).wanted;
        }
        self.ask(now_ns, at_work)
    }

    fn hired(&self) {
        if self.jobs != Jobs::Auto {
            return;
        }
        cpu_waits::give_way(POLITE);
        if let Some(file) = ThreadFile::own() {
            self.watch.lock().unwrap_or_else(PoisonError::into_inner).threads.push(Worker::new(file));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges windows of two runnable threads: how many cores they waited for, and how many were idle.
    fn judge(seen: &[(f64, f64)]) -> Vec<Change> {
        let mut windows = Windows::default();
        let mut at_work = 2;
        let mut judge = |&(missing, idle): &(f64, f64)| {
            let change = windows.judge(Seen { waited: missing / 2.0, missing, idle }, at_work);
            match change {
                Change::Fewer(cores) => at_work -= cores,
                Change::More => at_work += 1,
                Change::Same => {}
            }
            change
        };
        seen.iter().map(&mut judge).collect()
    }

    #[test]
    fn two_windows_decide() {
        use Change::{Fewer, More, Same};
        assert_eq!(judge(&[(0.0, 1.0); 5]), [Same, More, Same, More, Same]);
        assert_eq!(judge(&[(0.0, 1.0), (0.0, 0.5), (0.0, 1.0)]), [Same, Same, Same]);
        // The last thread stays.
        assert_eq!(judge(&[(0.6, 0.0); 5]), [Same, Fewer(1), Same, Same, Same]);
        assert_eq!(judge(&[(0.6, 0.0), (0.4, 0.0), (0.6, 0.0)]), [Same, Same, Same]);
    }

    /// One competitor among many threads, and many at once.
    #[test]
    fn as_many_leave_as_cores_are_wanted() {
        let judge = |missing: f64| {
            let mut windows = Windows::default();
            let seen = Seen { waited: missing / 64.0, missing, idle: 0.0 };
            [windows.judge(seen, 17), windows.judge(seen, 17)]
        };
        assert_eq!(judge(0.9), [Change::Same, Change::Fewer(1)]);
        assert_eq!(judge(15.8), [Change::Same, Change::Fewer(16)]);
        assert_eq!(judge(40.2), [Change::Same, Change::Fewer(16)]);
    }

    #[test]
    fn a_wait_counts_while_it_lasts_and_where_it_was() {
        let ms = |n: u64| n * 1_000_000;
        let of = |ran, waited, ready| waited_ns((ms(ran), ms(waited)), ms(50), || ready);
        assert_eq!(of(49, 0, true), 0);
        assert_eq!(of(10, 0, true), ms(40));
        assert_eq!(of(10, 0, false), 0);
        assert_eq!(of(10, 15, false), ms(15));
        assert_eq!(of(45, 300, true), ms(5));
    }

    const CROWD: [(f64, f64); 2] = [(0.6, 0.0); 2];

    #[test]
    fn what_was_given_back_is_taken_again_at_once() {
        use Change::{Fewer, More, Same};
        let seen = [CROWD.as_slice(), &[(0.0, 2.0); 4]].concat();
        assert_eq!(judge(&seen), [Same, Fewer(1), More, Same, More, Same]);
    }

    #[test]
    fn who_comes_back_soon_is_given_more_time() {
        let rests = |between: usize| -> Vec<usize> {
            let calm = vec![(0.0, 0.0); between];
            let once = [CROWD.as_slice(), &[(0.0, 1.0); 9], &calm].concat();
            let seen = once.repeat(6);
            let changes = judge(&seen);
            changes
                .chunks(once.len())
                .map(|turn| turn[2..].iter().take_while(|change| **change == Change::Same).count())
                .collect()
        };
        assert_eq!(rests(0), [0, 1, 3, 7, 7, 7]);
        assert_eq!(rests(40), [0; 6]);
    }
}
