//! Accounts for a traced stage's time, from stop to stop.
//!
//! Between two stops a thread is in one state: in its program, in one system call, or held by the tracer. The
//! scheduler's statistics, read at both ends, say how long it ran, how long it was runnable, and how often it
//! was scheduled. If that was once, it never slept: the rest of the time is the tracer's delay. Otherwise it
//! slept for the rest, for the reason that the call gives.
//!
//! For a stage of one thread that is enough. Of several threads, one represents the stage at any time: a
//! running one if there is one, otherwise the one with the most informative wait, and of equals the latest to
//! enter it: a shell may read its commands' output. A thread's activity is weighted by the share of the time
//! for which it represented the stage.

use super::track::{STATES, State};
use pelton_sys::procfs::SchedStat;
use std::cmp::Reverse;
use std::collections::HashMap;

/// The clock, and a thread's scheduler statistics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// The time.
    pub now_ns: u64,
    /// The statistics.
    pub account: SchedStat,
}

/// Totals of a stage's time by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Time on a CPU.
    pub running_ns: u64,
    /// Time runnable without one.
    pub ready_ns: u64,
    /// Time blocked, by reason.
    pub blocked_ns: [u64; STATES],
    /// Whether there were several threads.
    pub several: bool,
}

/// A thread's state between two stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadState {
    Program,
    Call(State),
    Held,
    Stopped,
}

impl ThreadState {
    /// Among several threads, one with the lowest rank represents the stage.
    fn rank(self) -> u8 {
        match self {
            ThreadState::Program => 0,
            ThreadState::Held => 1,
            ThreadState::Call(State::Backpressured) => 2,
            ThreadState::Call(State::Starved) => 3,
            // It may be running in there: that is known only at its end.
            ThreadState::Call(State::Io | State::Asleep | State::Other | State::Held)
            | ThreadState::Stopped => 4,
            ThreadState::Call(State::Lock) => 5,
            ThreadState::Call(State::Child) => 6,
        }
    }

    /// Returns what a thread that slept there waited for: in its program, a page of a file.
    fn wait(self) -> State {
        match self {
            ThreadState::Program => State::Io,
            ThreadState::Call(state) => state,
            ThreadState::Held => State::Held,
            ThreadState::Stopped => State::Other,
        }
    }
}

struct Thread {
    place: ThreadState,
    /// Its current call, even while it is held.
    call: Option<State>,
    since: Reading,
    /// How long it has represented the stage since then.
    spoke_ns: u64,
}

/// The account of a traced stage.
#[derive(Default)]
pub struct Ledger {
    threads: HashMap<u32, Thread>,
    last_ns: u64,
    balance: Balance,
}

impl Ledger {
    /// Records that a thread has stopped, which ends its previous state. The tracer noticed `late_ns` later,
    /// for lack of a CPU.
    pub fn stops(&mut self, thread: u32, reading: Reading, late_ns: u64) {
        self.pass(reading.now_ns);
        self.close(thread, reading, late_ns);
        let call = self.threads.get(&thread).and_then(|thread| thread.call);
        self.threads.insert(thread, Thread { place: ThreadState::Held, call, since: reading, spoke_ns: 0 });
        self.balance.several |= self.threads.len() > 1;
    }

    /// Records that a stopped thread begins a call, in which it would wait for `call`; or that its call has
    /// ended.
    pub fn calls(&mut self, thread: u32, call: Option<State>) {
        if let Some(thread) = self.threads.get_mut(&thread) {
            thread.call = call;
        }
    }

    /// Records that a stopped thread continues: it runs, or stays stopped by a signal.
    pub fn goes_on(&mut self, thread: u32, now_ns: u64, stopped: bool) {
        self.pass(now_ns);
        let Some(account) = self.threads.get(&thread).map(|thread| thread.since.account) else { return };
        self.close(thread, Reading { now_ns, account }, 0);
        if let Some(thread) = self.threads.get_mut(&thread) {
            thread.place = match thread.call {
                _ if stopped => ThreadState::Stopped,
                Some(state) => ThreadState::Call(state),
                None => ThreadState::Program,
            };
        }
    }

    /// Records that a thread has ended.
    pub fn leaves(&mut self, thread: u32, reading: Reading) {
        self.pass(reading.now_ns);
        self.close(thread, reading, 0);
        self.threads.remove(&thread);
    }

    /// Counts the current state of all threads up to now.
    pub fn settle(&mut self, read: impl Fn(u32) -> Reading) {
        let threads: Vec<u32> = self.threads.keys().copied().collect();
        for thread in threads {
            let reading = read(thread);
            self.pass(reading.now_ns);
            self.close(thread, reading, 0);
        }
    }

    /// Discards the totals so far.
    pub fn forget(&mut self) {
        self.balance = Balance::default();
    }

    /// Returns the totals so far.
    pub fn balance(&self) -> &Balance {
        &self.balance
    }

    /// Advances the time to `now_ns`.
    fn pass(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.last_ns);
        self.last_ns = self.last_ns.max(now_ns);
        let rank = |thread: &Thread| (thread.place.rank(), Reverse(thread.since.now_ns));
        let speaker = self.threads.iter_mut().min_by_key(|(id, thread)| (rank(thread), **id));
        if let Some((_, thread)) = speaker {
            thread.spoke_ns += passed_ns;
        }
    }

    /// Counts the time of a thread in its state.
    fn close(&mut self, thread: u32, reading: Reading, late_ns: u64) {
        let Some(thread) = self.threads.get_mut(&thread) else { return };
        let before = std::mem::replace(&mut thread.since, reading);
        let spoke_ns = std::mem::take(&mut thread.spoke_ns);
        let length_ns = reading.now_ns.saturating_sub(before.now_ns);
        if length_ns == 0 {
            return;
        }
        let did = |now: u64, before: u64, most: u64| now.saturating_sub(before).min(most);
        let running_ns = did(reading.account.running_ns, before.account.running_ns, length_ns);
        let ready_ns = did(reading.account.ready_ns, before.account.ready_ns, length_ns - running_ns);
        let left_ns = length_ns - running_ns - ready_ns;
        // It was scheduled when it continued, and once more after each sleep.
        let ran_through = reading.account.turns == before.account.turns + 1;
        let held_ns = if ran_through { left_ns } else { late_ns.min(left_ns) };
        let spoken = |ns: u64| (u128::from(ns) * u128::from(spoke_ns) / u128::from(length_ns)) as u64;
        let Balance { running_ns: running, ready_ns: ready, blocked_ns: blocked, .. } = &mut self.balance;
        *running += spoken(running_ns);
        *ready += spoken(ready_ns);
        blocked[State::Held as usize] += spoken(held_ns);
        blocked[thread.place.wait() as usize] += spoken(left_ns - held_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading: the time, time on a CPU, time runnable, number of times scheduled.
    fn at(now_ns: u64, running_ns: u64, ready_ns: u64, turns: u64) -> Reading {
        Reading { now_ns, account: SchedStat { running_ns, ready_ns, turns } }
    }

    fn blocked(ledger: &Ledger, state: State) -> u64 {
        ledger.balance().blocked_ns[state as usize]
    }

    /// Thread 1 begins at 100, and continues at 110 in this call.
    fn begun(call: Option<State>) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.stops(1, at(100, 50, 0, 3), 0);
        ledger.calls(1, call);
        ledger.goes_on(1, 110, false);
        ledger
    }

    #[test]
    fn a_call_that_slept_waited_and_one_that_did_not_was_held() {
        let mut ledger = begun(Some(State::Starved));
        ledger.stops(1, at(210, 60, 5, 5), 0);
        assert_eq!((ledger.balance().running_ns, ledger.balance().ready_ns), (10, 5));
        assert_eq!((blocked(&ledger, State::Starved), blocked(&ledger, State::Held)), (85, 10));
        let mut ledger = begun(Some(State::Starved));
        ledger.stops(1, at(210, 60, 5, 4), 0);
        assert_eq!((blocked(&ledger, State::Starved), blocked(&ledger, State::Held)), (0, 95));
    }

    #[test]
    fn the_delay_of_the_tracer_is_no_wait() {
        let mut ledger = begun(Some(State::Starved));
        ledger.stops(1, at(210, 60, 5, 5), 30);
        assert_eq!((blocked(&ledger, State::Starved), blocked(&ledger, State::Held)), (55, 40));
    }

    #[test]
    fn a_call_goes_on_after_a_stop_within_it() {
        let mut ledger = begun(Some(State::Child));
        ledger.stops(1, at(120, 60, 0, 4), 0);
        ledger.goes_on(1, 120, false);
        ledger.stops(1, at(220, 60, 0, 6), 0);
        assert_eq!(blocked(&ledger, State::Child), 100);
        ledger.calls(1, None);
        ledger.goes_on(1, 220, false);
        ledger.stops(1, at(320, 100, 0, 8), 0);
        assert_eq!(blocked(&ledger, State::Io), 60, "a page of a file, in its program");
        ledger.goes_on(1, 320, true);
        ledger.stops(1, at(420, 100, 0, 8), 0);
        assert_eq!(blocked(&ledger, State::Other), 100, "stopped by a signal");
    }

    #[test]
    fn a_child_speaks_for_a_shell_that_waits_for_it() {
        let mut ledger = begun(Some(State::Child));
        ledger.stops(2, at(160, 0, 0, 1), 0);
        ledger.calls(2, Some(State::Starved));
        ledger.goes_on(2, 160, false);
        ledger.stops(2, at(460, 0, 0, 3), 0);
        ledger.goes_on(2, 460, false);
        ledger.leaves(2, at(480, 0, 0, 3));
        ledger.stops(1, at(500, 50, 0, 5), 0);
        assert_eq!((blocked(&ledger, State::Starved), blocked(&ledger, State::Child)), (320, 70));
        assert!(ledger.balance().several);
        let whole: u64 = ledger.balance().blocked_ns.iter().sum();
        assert_eq!(whole, 400, "no time counts twice");
    }

    #[test]
    fn a_shell_that_reads_what_its_command_prints_does_what_that_does() {
        let mut ledger = begun(Some(State::Io));
        ledger.stops(2, at(160, 0, 0, 1), 0);
        ledger.calls(2, Some(State::Asleep));
        ledger.goes_on(2, 160, false);
        ledger.leaves(2, at(460, 0, 0, 3));
        ledger.stops(1, at(500, 50, 0, 5), 0);
        assert_eq!((blocked(&ledger, State::Asleep), blocked(&ledger, State::Io)), (300, 90));
    }

    #[test]
    fn threads_that_run_at_once_count_once() {
        let mut ledger = Ledger::default();
        for thread in [1, 2] {
            ledger.stops(thread, at(0, 0, 0, 1), 0);
            ledger.goes_on(thread, 0, false);
        }
        ledger.stops(1, at(100, 100, 0, 2), 0);
        ledger.stops(2, at(100, 100, 0, 2), 0);
        assert_eq!(ledger.balance().running_ns, 100);
    }

    #[test]
    fn what_is_still_going_on_counts_once_it_is_settled() {
        let mut ledger = begun(Some(State::Asleep));
        ledger.settle(|_| at(210, 50, 0, 3));
        assert_eq!(blocked(&ledger, State::Asleep), 100);
        ledger.settle(|_| at(310, 50, 0, 3));
        assert_eq!(blocked(&ledger, State::Asleep), 200);
    }
}
