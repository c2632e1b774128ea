//! Which part runs when: every part is done once, a failed one is tried again, a slow one gets a second copy.

use crate::job::{Job, PartResult};
use crate::work::Suffices;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a part is tried.
const ATTEMPTS_MAX: usize = 3;
/// A part that takes this many times the median gets a second copy.
const SLOW: f64 = 3.0;
/// Below this, no part is slow.
const SLOW_SECONDS_MIN: f64 = 2.0;
/// How often workers are looked at.
const TICK: Duration = Duration::from_millis(4);

/// Starts workers.
pub trait Launcher {
    /// Returns how many parts may run at a time, as far as known now.
    fn room(&mut self) -> usize;

    /// Starts a worker for a part.
    ///
    /// # Errors
    /// If it cannot be started.
    fn start(&mut self, part: usize) -> io::Result<Box<dyn Attempt>>;

    /// Returns why no worker can be started any more, if so.
    fn failure(&mut self) -> Option<String> {
        None
    }
}

/// A worker that runs a part. It ends with this value.
pub trait Attempt {
    /// Returns how it ended, if it has.
    fn ended(&mut self) -> Option<AttemptEnd>;
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// It ran: how that ended, in words.
    Ran(String),
    /// No worker took it.
    NotTaken,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A part is done.
    Done,
    /// A worker ended without a result.
    Failed {
        /// The part.
        part: usize,
        /// How, in words.
        how: String,
    },
    /// A part takes much longer than the others: it runs a second time.
    SecondCopy {
        /// The part.
        part: usize,
    },
}

/// How far the parts are.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Parts that are done.
    pub done: usize,
    /// All parts.
    pub all: usize,
    /// Workers that run.
    pub running: usize,
    /// Bytes of input of the parts that are done.
    pub bytes_done: u64,
    /// Bytes of input.
    pub bytes_all: u64,
}

/// How the parts ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// With these results, in order; fewer than there are parts if those suffice.
    Done(Vec<PartResult>),
    /// Why the whole text should run on one machine.
    Unsure(String),
    /// A part failed every time: how.
    Failed(String),
    /// It was asked to stop.
    Stopped,
}

struct Running {
    part: usize,
    attempt: Box<dyn Attempt>,
    since: Instant,
}

/// Runs all parts that are not done yet.
pub fn run_parts(
    job: &Job,
    work: &Path,
    launcher: &mut dyn Launcher,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(Event, Progress),
) -> Outcome {
    let mut parts = Parts::of(job, work);
    let mut running: Vec<Running> = Vec::new();
    loop {
        if stop() {
            return Outcome::Stopped;
        }
        if let Some(reason) = parts.unsure() {
            return Outcome::Unsure(reason);
        }
        if let Some(result) = parts.decisive() {
            return Outcome::Done(vec![result]);
        }
        let needed = parts.needed();
        if (0..needed).all(|part| parts.results[part].is_some()) {
            return Outcome::Done(parts.results.into_iter().take(needed).flatten().collect());
        }
        if let Some(how) = launcher.failure() {
            return Outcome::Failed(how);
        }
        running.retain(|one| one.part < needed && parts.results[one.part].is_none());
        while running.len() < launcher.room() {
            let Some((part, is_copy)) = parts.next(&running, needed) else { break };
            match launcher.start(part) {
                Ok(attempt) => running.push(Running { part, attempt, since: Instant::now() }),
                Err(error) => return Outcome::Failed(format!("cannot start a worker: {error}")),
            }
            parts.attempts[part] += 1;
            if is_copy {
                tell(Event::SecondCopy { part }, parts.progress(running.len()));
            }
        }
        std::thread::sleep(TICK);
        if let Some(how) = look(work, &mut parts, &mut running, tell) {
            return Outcome::Failed(how);
        }
    }
}

/// Takes the results of the workers that have ended. Returns how a part failed for good, if one did.
fn look(
    work: &Path,
    parts: &mut Parts,
    running: &mut Vec<Running>,
    tell: &mut dyn FnMut(Event, Progress),
) -> Option<String> {
    let mut at = 0;
    while at < running.len() {
        let Some(end) = running[at].attempt.ended() else {
            at += 1;
            continue;
        };
        let Running { part, since, .. } = running.swap_remove(at);
        let AttemptEnd::Ran(how) = end else {
            parts.attempts[part] -= 1;
            continue;
        };
        let left = parts.progress(running.len());
        if parts.has_result(work, part) {
            parts.seconds.push(since.elapsed().as_secs_f64());
            tell(Event::Done, left);
            continue;
        }
        let has_copy = running.iter().any(|one| one.part == part);
        if parts.attempts[part] >= ATTEMPTS_MAX && !has_copy {
            return Some(format!("part {part} failed {ATTEMPTS_MAX} times, the last time: {how}"));
        }
        tell(Event::Failed { part, how }, left);
    }
    None
}

struct Parts {
    /// The job's identity.
    identity: String,
    results: Vec<Option<PartResult>>,
    /// Bytes of input of each part.
    sizes: Vec<u64>,
    attempts: Vec<usize>,
    /// How long each part took.
    seconds: Vec<f64>,
    suffices: Suffices,
}

impl Parts {
    fn of(job: &Job, work: &Path) -> Self {
        let (count, identity) = (job.parts.len(), job.identity());
        Parts {
            results: (0..count).map(|part| PartResult::read(work, part, &identity)).collect(),
            sizes: job.part_sizes(),
            identity,
            attempts: vec![0; count],
            seconds: Vec::new(),
            suffices: job.division.suffices,
        }
    }

    /// Whether a part is done, by what lies in the work directory now.
    fn has_result(&mut self, work: &Path, part: usize) -> bool {
        let result = &mut self.results[part];
        *result = result.take().or_else(|| PartResult::read(work, part, &self.identity));
        result.is_some()
    }

    fn unsure(&self) -> Option<String> {
        self.results.iter().flatten().find_map(|result| result.unsure.clone())
    }

    /// Returns the result that decides alone.
    fn decisive(&self) -> Option<PartResult> {
        let decides = |result: &&PartResult| self.suffices == Suffices::Success && result.status == 0;
        self.results.iter().flatten().find(decides).cloned()
    }

    /// Returns how many parts are needed, from the first on.
    fn needed(&self) -> usize {
        let suffices = |result: &Option<PartResult>| result.as_ref().is_some_and(|result| result.ended_early);
        let first = self.results.iter().position(suffices).filter(|_| self.suffices == Suffices::EndedEarly);
        first.map_or(self.results.len(), |first| first + 1)
    }

    /// Returns the next part to start, and whether it is a second copy.
    fn next(&self, running: &[Running], needed: usize) -> Option<(usize, bool)> {
        let runs = |part: usize| running.iter().filter(|one| one.part == part).count();
        let waits = |part: &usize| self.results[*part].is_none() && runs(*part) == 0;
        if let Some(part) = (0..needed).find(waits) {
            return Some((part, false));
        }
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        let median = *seconds.get(seconds.len() / 2)?;
        let limit = (SLOW * median).max(SLOW_SECONDS_MIN);
        let is_slow = |one: &&Running| {
            runs(one.part) == 1
                && self.attempts[one.part] < ATTEMPTS_MAX
                && one.since.elapsed().as_secs_f64() > limit
        };
        running.iter().find(is_slow).map(|one| (one.part, true))
    }

    fn progress(&self, running: usize) -> Progress {
        let done = || self.results.iter().zip(&self.sizes).filter(|(result, _)| result.is_some());
        Progress {
            done: done().count(),
            all: self.results.len(),
            running,
            bytes_done: done().map(|(_, size)| size).sum(),
            bytes_all: self.sizes.iter().sum(),
        }
    }
}
