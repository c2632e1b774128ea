//! Which threads run, and whether they take turns: from the scheduler's statistics and the futex that each
//! waits on.
//!
//! Threads that share one lock use one core together, however many there are. Using one core is not enough as
//! evidence (a program may have little to do): several threads must be active, none dominating, and wait on a
//! futex word on which others wait too. A wait for an interpreter's global lock has a time-out, after which
//! the waiting thread asks the running one to release it. Demand (running plus runnable time) is not used:
//! threads that wake each other seem runnable most of the time.
//!
//! Each of Ruby's threads waits for the global lock on its own word, and the thread that releases it wakes
//! the next. The evidence there is that hardly ever two threads are not waiting: threads that are merely idle
//! at times would overlap by chance.

use pelton_record::threads::{Thread, Threads, Turns};
use pelton_sys::calls::{self, Call};
use pelton_sys::processes;
use pelton_sys::procfs::{self, ProcFile, SchedStat, Syscall};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Samples closer together than this give no new information.
const APART_NS: u64 = 15_000_000;
/// Length of a window; windows are judged separately, since a program has phases.
const WINDOW_NS: u64 = 2_000_000_000;
/// Fewer samples give no verdict.
const ENOUGH_SAMPLES: u32 = 20;
/// A thread with this share of all CPU time is active.
const ACTIVE: f64 = 0.10;
/// Cores used together by threads that take turns.
const ONE_CORE: std::ops::RangeInclusive<f64> = 0.60..=1.15;
/// A thread with more than this share of the CPU time dominates.
const ALONE: f64 = 0.80;
/// Minimum share of active threads' samples that are waits for a shared lock.
const LOCKED: f64 = 0.25;
/// A thread takes turns if waits for a shared lock are at least this share of its samples.
const WAITS_TOO: f64 = 0.10;
/// Threads that take turns use at least this share of all CPU time together. Threads of a pool without work (a
/// virtual machine's compilers) wait on one word too, while others compute.
const TOGETHER: f64 = 0.80;
/// Maximum share of samples with two threads running or runnable although they take turns: during a handover.
const TWO_AT_ONCE: f64 = 0.2;
/// If this share of the waits has a time-out, they are for an interpreter's lock.
const TIMED: f64 = 0.80;
/// Maximum number of threads and processes examined.
const THREADS: usize = 256;
const PROCESSES: usize = 64;

/// A futex word: process and address.
type Word = (u32, u64);

/// Watches the threads of a process and of its descendants.
pub struct ThreadProbe {
    pid: u32,
    tracks: BTreeMap<(u32, u32), Track>,
    start_ns: u64,
    last_ns: u64,
    window_start_ns: u64,
    samples: u32,
    window_samples: u32,
    /// Samples of this window with two or more threads running or runnable.
    window_crowded: u32,
    findings: Vec<(u64, Option<Turns>)>,
}

/// State kept for one thread.
struct Track {
    name: String,
    schedstat: ProcFile,
    syscall: Option<ProcFile>,
    run_ns: u64,
    wait_ns: u64,
    base_run_ns: u64,
    base_wait_ns: u64,
    switches: Option<(u64, u64)>,
    samples: u32,
    locked: u32,
    window: Window,
}

/// A thread's activity in the current window.
#[derive(Clone, Debug, Default)]
struct Window {
    run_ns: u64,
    samples: u32,
    words: HashMap<Word, Waits>,
}

impl Window {
    /// Returns the waits on the words that count.
    fn waits(&self, counts: impl Fn(&Word) -> bool) -> Waits {
        let counted = self.words.iter().filter(|(word, _)| counts(word)).map(|(_, waits)| waits);
        counted.fold(Waits::default(), |sum, waits| Waits {
            all: sum.all + waits.all,
            timed: sum.timed + waits.timed,
        })
    }
}

/// Samples of waits on a word.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    all: u32,
    timed: u32,
}

impl ThreadProbe {
    /// Watches `pid` from `now_ns` on.
    pub fn attach(pid: u32, now_ns: u64) -> Self {
        ThreadProbe {
            pid,
            tracks: BTreeMap::new(),
            start_ns: now_ns,
            last_ns: now_ns,
            window_start_ns: now_ns,
            samples: 0,
            window_samples: 0,
            window_crowded: 0,
            findings: Vec::new(),
        }
    }

    /// Takes one sample, unless the last one was too recent.
    pub fn sample(&mut self, now_ns: u64) {
        if self.samples > 0 && now_ns.saturating_sub(self.last_ns) < APART_NS {
            return;
        }
        self.last_ns = now_ns;
        self.samples += 1;
        self.window_samples += 1;
        let first = self.samples == 1;
        let mut ready = 0;
        for key in self.present() {
            if !self.tracks.contains_key(&key)
                && self.tracks.len() < THREADS
                && let Some(track) = Track::open(key, first)
            {
                self.tracks.insert(key, track);
            }
            if let Some(track) = self.tracks.get_mut(&key) {
                ready += u32::from(track.sample(key));
            }
        }
        self.window_crowded += u32::from(ready > 1);
        if now_ns.saturating_sub(self.window_start_ns) >= WINDOW_NS {
            self.close_window(now_ns);
        }
    }

    /// Returns all threads of the process and its descendants.
    fn present(&self) -> Vec<(u32, u32)> {
        let mut todo = vec![self.pid];
        let mut found = Vec::new();
        let mut seen = 0;
        while let Some(pid) = todo.pop() {
            seen += 1;
            if seen > PROCESSES {
                break;
            }
            found.extend(processes::tasks(pid).into_iter().map(|thread| (pid, thread)));
            todo.extend(procfs::children(pid));
        }
        found
    }

    fn close_window(&mut self, now_ns: u64) {
        let windows: Vec<Window> =
            self.tracks.values_mut().map(|track| std::mem::take(&mut track.window)).collect();
        let wall_ns = now_ns.saturating_sub(self.window_start_ns);
        let run_ns = windows.iter().map(|window| window.run_ns).sum();
        let enough = self.window_samples >= ENOUGH_SAMPLES;
        let crowded = f64::from(self.window_crowded) / f64::from(self.window_samples.max(1));
        self.findings.push((run_ns, if enough { judge(&windows, wall_ns, crowded) } else { None }));
        self.window_start_ns = now_ns;
        (self.window_samples, self.window_crowded) = (0, 0);
    }

    /// Returns the observations until `now_ns`.
    pub fn finish(mut self, now_ns: u64, cores: u32) -> Threads {
        if self.window_samples >= ENOUGH_SAMPLES {
            self.close_window(now_ns);
        }
        let wall_ns = now_ns.saturating_sub(self.start_ns).max(1);
        let mut rows: Vec<Thread> = self.tracks.iter().map(|(key, track)| track.row(*key)).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.cpu_ns));
        let cores_used = rows.iter().map(|row| row.cpu_ns).sum::<u64>() as f64 / wall_ns as f64;
        let turns = settle(&self.findings);
        let verdict = words(turns.as_ref(), &rows, cores_used, cores, self.samples);
        Threads { rows, cores_used, samples: self.samples, turns, verdict }
    }
}

impl Track {
    /// Opens a thread. One that existed before counts from now on; a later one from its start.
    fn open((pid, thread): (u32, u32), was_there: bool) -> Option<Self> {
        let schedstat = ProcFile::open(pid, &format!("task/{thread}/schedstat"))?;
        let SchedStat { running_ns: run_ns, ready_ns: wait_ns, .. } =
            procfs::parse_schedstat(schedstat.read(&mut [0; 128])?)?;
        let (base_run_ns, base_wait_ns) = if was_there { (run_ns, wait_ns) } else { (0, 0) };
        Some(Track {
            name: name(pid, thread).unwrap_or_default(),
            schedstat,
            syscall: ProcFile::open(pid, &format!("task/{thread}/syscall")),
            run_ns: base_run_ns,
            wait_ns: base_wait_ns,
            base_run_ns,
            base_wait_ns,
            switches: None,
            samples: 0,
            locked: 0,
            window: Window::default(),
        })
    }

    /// Reads its counters; returns whether it was running or runnable.
    fn sample(&mut self, (pid, thread): (u32, u32)) -> bool {
        /// The kernel counts switches; reading them is expensive, and only the last value is needed.
        const SWITCHES_EVERY: u32 = 8;
        let mut buffer = [0; 256];
        let Some(SchedStat { running_ns: run_ns, ready_ns: wait_ns, .. }) =
            self.schedstat.read(&mut buffer).and_then(procfs::parse_schedstat)
        else {
            return false;
        };
        self.window.run_ns += run_ns.saturating_sub(self.run_ns);
        (self.run_ns, self.wait_ns) = (run_ns, wait_ns);
        if self.samples.is_multiple_of(SWITCHES_EVERY) {
            self.switches = switches(pid, thread).or(self.switches);
            self.name = name(pid, thread).unwrap_or_else(|| std::mem::take(&mut self.name));
        }
        self.samples += 1;
        self.window.samples += 1;
        let syscall = self.syscall.as_ref().and_then(|file| procfs::parse_syscall(file.read(&mut buffer)?));
        let Some(Syscall::Blocked { number, arguments }) = syscall else {
            return matches!(syscall, Some(Syscall::Running));
        };
        if let Call::Futex { address, timed, .. } = calls::call(number, arguments) {
            self.locked += 1;
            let waits = self.window.words.entry((pid, address)).or_default();
            waits.all += 1;
            waits.timed += u32::from(timed);
        }
        false
    }

    fn row(&self, (pid, thread): (u32, u32)) -> Thread {
        let (voluntary, involuntary) = self.switches.unzip();
        Thread {
            pid,
            thread,
            name: self.name.clone(),
            cpu_ns: self.run_ns - self.base_run_ns,
            cpu_wait_ns: self.wait_ns - self.base_wait_ns,
            voluntary_switches: voluntary,
            involuntary_switches: involuntary,
            lock_share: f64::from(self.locked) / f64::from(self.samples.max(1)),
            samples: self.samples,
        }
    }
}

/// Returns a thread's name, which changes on exec.
fn name(pid: u32, thread: u32) -> Option<String> {
    Some(processes::file(pid, &format!("task/{thread}/comm"))?.trim_end().to_owned())
}

fn switches(pid: u32, thread: u32) -> Option<(u64, u64)> {
    let text = processes::file(pid, &format!("task/{thread}/status"))?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok();
    Some((field("voluntary_ctxt_switches:")?, field("nonvoluntary_ctxt_switches:")?))
}

/// Judges one window: whether its threads take turns. `crowded` is the share of its samples with two or more
/// threads running or runnable.
fn judge(windows: &[Window], wall_ns: u64, crowded: f64) -> Option<Turns> {
    let total: u64 = windows.iter().map(|window| window.run_ns).sum();
    let share = |window: &Window| window.run_ns as f64 / total.max(1) as f64;
    let active: Vec<&Window> = windows.iter().filter(|window| share(window) > ACTIVE).collect();
    let cores_used = total as f64 / wall_ns.max(1) as f64;
    let top = active.iter().map(|window| share(window)).fold(0.0, f64::max);
    if active.len() < 2 || !ONE_CORE.contains(&cores_used) || top > ALONE {
        return None;
    }
    let mut once: HashSet<Word> = HashSet::new();
    let words = active.iter().flat_map(|window| window.words.keys());
    let shared: HashSet<Word> = words.filter(|word| !once.insert(**word)).copied().collect();
    let counts = |word: &Word| shared.contains(word) || crowded <= TWO_AT_ONCE;
    let waiting: Vec<(&Window, Waits)> = active
        .into_iter()
        .map(|window| (window, window.waits(counts)))
        .filter(|(window, waits)| f64::from(waits.all) >= WAITS_TOO * f64::from(window.samples))
        .collect();
    let of_waiting: f64 = waiting.iter().map(|(window, _)| share(window)).sum();
    let all: u32 = waiting.iter().map(|(_, waits)| waits.all).sum();
    let timed: u32 = waiting.iter().map(|(_, waits)| waits.timed).sum();
    let samples: u32 = waiting.iter().map(|(window, _)| window.samples).sum();
    let lock_share = f64::from(all) / f64::from(samples.max(1));
    (waiting.len() >= 2 && of_waiting >= TOGETHER && lock_share >= LOCKED).then(|| Turns {
        threads: waiting.len() as u32,
        cores_used,
        lock_share,
        is_interpreter_lock: f64::from(timed) > TIMED * f64::from(all),
    })
}

/// Combines all windows: what holds for most of the CPU time.
fn settle(findings: &[(u64, Option<Turns>)]) -> Option<Turns> {
    let all: u64 = findings.iter().map(|(run_ns, _)| run_ns).sum();
    let found = findings.iter().filter_map(|(run_ns, turns)| Some((*run_ns, turns.as_ref()?)));
    let in_turns: u64 = found.clone().map(|(run_ns, _)| run_ns).sum();
    let longest = found.max_by_key(|(run_ns, _)| *run_ns).map(|(_, turns)| turns.clone());
    longest.filter(|_| in_turns * 2 > all)
}

fn words(turns: Option<&Turns>, rows: &[Thread], cores_used: f64, cores: u32, samples: u32) -> String {
    let s = if cores == 1 { "" } else { "s" };
    if let Some(turns) = turns {
        let lock = if turns.is_interpreter_lock {
            "an interpreter's global lock"
        } else {
            "one lock, or for one another,"
        };
        return format!(
            "these {} threads take turns: {:.1} of {cores} core{s} used; they wait for {lock} in {:.0}% of the samples. More \
             threads will not make it faster, several processes may",
            turns.threads,
            turns.cores_used,
            turns.lock_share * 100.0
        );
    }
    let of_total: u64 = rows.iter().map(|row| row.cpu_ns).sum();
    let active = rows.iter().filter(|row| row.cpu_ns as f64 > ACTIVE * of_total as f64).count();
    let used = format!("{cores_used:.1} of {cores} core{s} used");
    match active {
        _ if samples < ENOUGH_SAMPLES => {
            format!("too few samples ({samples}) to say how the threads share the time: {used}")
        }
        _ if cores_used < 0.2 => format!("mostly idle: {used}"),
        0 | 1 => format!("one thread does nearly all the work: {used}"),
        n if cores > 1 && ONE_CORE.contains(&cores_used) => format!(
            "{n} threads share the work, but only {used}; what holds them back is not to be seen: a lock that they hand over \
             without waiting for long, or other programs that take the CPUs"
        ),
        n => format!("{n} threads share the work: {used}; no sign that they take turns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: u64 = 2_000_000_000;

    /// A thread that ran for `ms` milliseconds of 2 s, and waited on a word in `waits` of 100 samples.
    fn thread(ms: u64, word: u64, waits: u32, timed: u32) -> Window {
        let words = HashMap::from([((1, word), Waits { all: waits, timed })]);
        Window { run_ns: ms * 1_000_000, samples: 100, words }
    }

    #[test]
    fn threads_that_share_a_lock_take_turns() {
        let four: Vec<Window> = (0..4).map(|_| thread(500, 7, 75, 75)).collect();
        let turns = judge(&four, WALL, 0.3).expect("turns");
        assert_eq!((turns.threads, turns.is_interpreter_lock), (4, true));
        let two = [thread(1_000, 7, 50, 0), thread(900, 7, 45, 0), thread(1, 9, 100, 100)];
        assert_eq!(
            judge(&two, WALL, 0.3).map(|turns| (turns.threads, turns.is_interpreter_lock)),
            Some((2, false))
        );
    }

    #[test]
    fn others_do_not() {
        let of = |windows: &[Window]| judge(windows, WALL, 0.3);
        let parallel: Vec<Window> = (0..2).map(|_| thread(1_900, 7, 5, 0)).collect();
        assert_eq!(of(&parallel), None, "two cores");
        let idle: Vec<Window> = (0..4).map(|_| thread(50, 7, 90, 0)).collect();
        assert_eq!(of(&idle), None, "little to do");
        assert_eq!(of(&[thread(1_900, 7, 5, 0), thread(100, 7, 95, 0)]), None, "one works");
        let compilers = [thread(250, 7, 90, 90), thread(250, 7, 90, 90)];
        let computing = (0..3).map(|i| thread(400, 20 + i, 0, 0));
        let machine: Vec<Window> = compilers.into_iter().chain(computing).collect();
        assert_eq!(of(&machine), None, "those that compute do not wait");
        let apart: Vec<Window> = (0..4).map(|i| thread(500, i, 75, 0)).collect();
        assert_eq!(
            of(&apart),
            None,
            "each waits for something of its own, and two at once are found running"
        );
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn threads_that_wake_one_another_take_turns() {
        let apart: Vec<Window> = (0..4).map(|i| thread(500, i, 75, 20)).collect();
        let turns = judge(&apart, WALL, 0.05).expect("turns");
        assert_eq!((turns.threads, turns.lock_share, turns.is_interpreter_lock), (4, 0.75, false));
    }

    #[test]
    fn most_of_the_time_decides() {
        let turns = Some(Turns { threads: 2, ..Turns::default() });
        assert_eq!(settle(&[(10, turns.clone()), (30, None)]), None);
        assert_eq!(settle(&[(30, turns.clone()), (10, None)]), turns);
        assert_eq!(settle(&[]), None);
    }

    #[test]
    fn own_threads_are_seen() {
        let mut probe = ThreadProbe::attach(std::process::id(), 0);
        probe.sample(0);
        probe.sample(1_000_000_000);
        let threads = probe.finish(1_000_000_000, 2);
        assert!(!threads.rows.is_empty());
        assert_eq!(threads.samples, 2);
        assert!(threads.verdict.starts_with("too few samples (2)"), "{}", threads.verdict);
    }
}
