//! Decides from figures alone whether a process tree makes progress.
//!
//! An interval between two samples counts as movement if one of these is true:
//!
//! - a process started or ended,
//! - more than 16 bytes a second were read or written (timers and events of event loops are 8 bytes each),
//! - the tree used 1% of a core or more (timers of idle runtimes, such as Go's, Java's and Ruby's, use less).
//!
//! A tree *stands still* while no interval counts as movement. It *polls* while all it does is to repeat small commands: it
//! uses less than 5% of a core, reads and writes less than 64 KiB a second beside 1 MiB for each command, and every process that
//! starts has the name of one that the same parent has started before (`until curl …; do sleep 1; done`).

use std::collections::{BTreeSet, HashSet};

/// The least share of a core that counts as movement.
const MOVING_CPU: f64 = 0.01;
/// The most bytes a second that do not count as movement.
const HEARTBEAT_BYTES: f64 = 16.0;
/// A polling tree uses a smaller share of a core.
const POLLING_CPU: f64 = 0.05;
/// A polling tree reads and writes fewer bytes a second.
const POLLING_BYTES: f64 = 65_536.0;
/// And so many for each command, which loads its libraries.
const COMMAND_BYTES: f64 = 1_048_576.0;
/// How much longer than a standstill a tree must poll before it is reported.
const POLLING_FACTOR: u64 = 3;
/// An interval this many times longer than intended means that this process was stopped or got no CPU.
const GAP_FACTOR: u64 = 5;
/// Names remembered of started commands.
const MOST_NAMES: usize = 4096;

/// What the tree did between two samples.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// Its length.
    pub ns: u64,
    /// The intended length.
    pub intended_ns: u64,
    /// CPU time of all processes.
    pub cpu_ns: u64,
    /// Bytes read and written by system calls.
    pub bytes: u64,
    /// The parent and the name of each process that started.
    pub started: Vec<(u32, String)>,
    /// Number of processes that ended.
    pub ended: u32,
}

/// The state of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It moves, or has not stood still for long enough.
    Moving,
    /// It stands still.
    Still,
    /// It repeats small commands.
    Polling,
}

/// How long the tree has stood still, and how long it has polled.
#[derive(Debug)]
pub struct Movement {
    stall_ns: u64,
    still_ns: u64,
    polling_ns: u64,
    names: HashSet<(u32, String)>,
    /// Names of what started since the tree polls.
    repeated: BTreeSet<String>,
}

impl Movement {
    /// A tree is reported if it stands still for `stall_ns`.
    pub fn new(stall_ns: u64) -> Self {
        Movement { stall_ns, still_ns: 0, polling_ns: 0, names: HashSet::new(), repeated: BTreeSet::new() }
    }

    /// Adds an interval, and returns whether it counts as movement.
    pub fn add(&mut self, interval: &Interval) -> bool {
        let seconds = (interval.ns as f64 / 1e9).max(1e-9);
        let cpu = interval.cpu_ns as f64 / interval.ns.max(1) as f64;
        let bytes_per_second = interval.bytes as f64 / seconds;
        let gap = interval.ns > interval.intended_ns.saturating_mul(GAP_FACTOR);
        let is_new = self.remember(&interval.started);
        let moved = gap
            || !interval.started.is_empty()
            || interval.ended > 0
            || cpu >= MOVING_CPU
            || bytes_per_second > HEARTBEAT_BYTES;
        let polling_bytes = POLLING_BYTES * seconds + COMMAND_BYTES * interval.started.len() as f64;
        let polls = !gap && !is_new && cpu < POLLING_CPU && (interval.bytes as f64) < polling_bytes;
        self.still_ns = if moved { 0 } else { self.still_ns + interval.ns };
        self.polling_ns = if polls { self.polling_ns + interval.ns } else { 0 };
        if !polls {
            self.repeated.clear();
        }
        self.repeated.extend(interval.started.iter().filter(|_| polls).map(|(_, name)| name.clone()));
        moved
    }

    /// Remembers what started; returns whether any of it is new.
    fn remember(&mut self, started: &[(u32, String)]) -> bool {
        if self.names.len() > MOST_NAMES {
            self.names.clear();
        }
        let mut is_new = false;
        for one in started {
            is_new |= self.names.insert(one.clone());
        }
        is_new
    }

    /// Returns the current state.
    pub fn state(&self) -> State {
        match () {
            () if self.still_ns >= self.stall_ns => State::Still,
            () if self.repeated.is_empty() => State::Moving,
            () if self.polling_ns >= self.stall_ns.saturating_mul(POLLING_FACTOR) => State::Polling,
            () => State::Moving,
        }
    }

    /// Returns the names of the commands that started while the tree has polled; a few of many.
    pub fn repeated(&self) -> Vec<String> {
        const MOST: usize = 8;
        self.repeated.iter().take(MOST).cloned().collect()
    }

    /// How long the tree has been in its state: without movement, or without anything new.
    pub fn quiet_ns(&self) -> u64 {
        if self.state() == State::Polling { self.polling_ns } else { self.still_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn second() -> Interval {
        Interval { ns: SECOND, intended_ns: SECOND, ..Interval::default() }
    }

    /// Returns the state after `seconds` such intervals, of a tree that stalls after 10 s.
    fn after(seconds: u32, interval: &Interval) -> State {
        let mut movement = Movement::new(10 * SECOND);
        for _ in 0..seconds {
            movement.add(interval);
        }
        movement.state()
    }

    #[test]
    fn nothing_at_all_is_a_standstill_when_the_time_is_up() {
        assert_eq!(after(9, &second()), State::Moving);
        assert_eq!(after(10, &second()), State::Still);
    }

    #[test]
    fn heartbeats_of_a_runtime_are_no_movement() {
        let heartbeat = Interval { cpu_ns: 3_000_000, bytes: 8, ..second() };
        assert_eq!(after(10, &heartbeat), State::Still);
    }

    #[test]
    fn work_input_output_and_processes_are_movement() {
        let busy = Interval { cpu_ns: SECOND / 20, ..second() };
        let copies = Interval { bytes: 100, cpu_ns: 10_000, ..second() };
        assert_eq!((after(60, &busy), after(29, &copies)), (State::Moving, State::Moving));
        let mut movement = Movement::new(10 * SECOND);
        for i in 0..100 {
            movement.add(&Interval { started: vec![(1, format!("test{i}"))], ended: 1, ..second() });
        }
        assert_eq!(movement.state(), State::Moving);
    }

    #[test]
    fn the_same_commands_again_and_again_are_polling() {
        let poll = Interval {
            started: vec![(1, "curl".into()), (1, "sleep".into())],
            ended: 2,
            bytes: 9000,
            ..second()
        };
        assert_eq!(after(30, &poll), State::Moving, "the first of them was new");
        assert_eq!(after(31, &poll), State::Polling);
        let slow_copy = Interval { bytes: 40_000, cpu_ns: 1_000_000, ..second() };
        assert_eq!(after(100, &slow_copy), State::Moving, "it starts nothing");
        let compiles = Interval { cpu_ns: SECOND / 2, ..poll };
        assert_eq!(after(100, &compiles), State::Moving);
    }

    #[test]
    fn a_gap_says_nothing() {
        let mut movement = Movement::new(10 * SECOND);
        movement.add(&Interval { ns: 600 * SECOND, ..second() });
        assert_eq!((movement.state(), movement.quiet_ns()), (State::Moving, 0));
    }
}
