//! Exact waits of a stage: traces the entry and exit of every system call (ptrace), and reads the time slept
//! in it from the scheduler. Tracing slows the stage down, so it is opt-in.
//!
//! The reason for a wait is found as for a sample, but at the call's entry, while the thread is stopped:
//! other threads' changes to a descriptor cannot mislead.

use super::ledger::{Balance, Ledger, Reading};
use super::track::{Edges, STATES, State, state_of};
use super::waits::{Fit, Sums};
use pelton_record::{Exact, Waits};
use pelton_sys::procfs::{self, ProcFile, SchedStat};
use pelton_sys::shared::Counters;
use pelton_sys::trace::{Onward, Stop, Trace, Watcher};
use pelton_sys::{calls, clock, other_process};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Counters after those of the states.
const RUNNING: usize = STATES;
const READY: usize = STATES + 1;
const SEVERAL: usize = STATES + 2;
const CALLS: usize = STATES + 3;
const COUNTERS: usize = STATES + 4;

/// A stage with traced waits.
pub struct ExactProbe(Option<(Trace, Arc<Counters>)>);

impl ExactProbe {
    /// Attaches to a child that waits at its gate. Without permission, its waits stay unknown.
    pub fn attach(pid: u32, edges: Edges) -> Self {
        let attach = || {
            let counters = Arc::new(Counters::new(COUNTERS)?);
            let watch = Watch {
                leader: pid,
                edges,
                opened: false,
                accounts: HashMap::new(),
                own: None,
                own_ready_ns: 0,
                ledger: Ledger::default(),
                counters: counters.clone(),
            };
            Ok::<_, io::Error>((Trace::attach(pid, watch)?, counters))
        };
        ExactProbe(attach().ok())
    }

    /// Returns the tracer: a child of this process that belongs to no stage.
    pub fn tracer(&self) -> Option<u32> {
        self.0.as_ref().map(|(trace, _)| trace.tracer())
    }

    /// Returns the waits, once the stage has ended and its CPU time is known.
    pub fn waits(&self, fit: &Fit, cpu_ns: u64) -> Option<Waits> {
        let (_, counters) = self.0.as_ref()?;
        let mut blocked_ns = [0; STATES];
        blocked_ns.iter_mut().enumerate().for_each(|(state, ns)| *ns = counters.get(state));
        let balance = Balance {
            running_ns: counters.get(RUNNING),
            ready_ns: counters.get(READY),
            blocked_ns,
            several: counters.get(SEVERAL) > 0,
        };
        let exact = Exact { means: "ptrace".into(), calls: counters.get(CALLS) };
        Some(Waits { exact: Some(exact), ..Sums::exact_waits(&balance, fit, cpu_ns) })
    }
}

/// The watcher, in the tracer.
struct Watch {
    leader: u32,
    edges: Edges,
    /// Whether the gate has been opened: waiting there is not part of the stage's life.
    opened: bool,
    /// The scheduler statistics of each thread.
    accounts: HashMap<u32, Option<ProcFile>>,
    own: Option<ProcFile>,
    own_ready_ns: u64,
    ledger: Ledger,
    counters: Arc<Counters>,
}

impl Watcher for Watch {
    fn stops(&mut self, thread: u32, stop: Stop) {
        let late_ns = self.late();
        self.accounts.entry(thread).or_insert_with(|| ProcFile::open(thread, "schedstat"));
        self.ledger.stops(thread, read(&self.accounts, thread), late_ns);
        match stop {
            Stop::Begins { number, arguments } => {
                let state = state_of(thread, calls::call(number, arguments), self.edges, between_pipes);
                self.ledger.calls(thread, Some(state));
            }
            Stop::Ends { .. } => {
                self.ledger.calls(thread, None);
                self.counters.add(CALLS, 1);
                if !std::mem::replace(&mut self.opened, true) {
                    self.ledger.forget();
                }
            }
            Stop::Execs { former } if former != thread => self.leaves(former),
            Stop::Execs { .. } | Stop::Other => {}
        }
        self.publish();
    }

    fn goes_on(&mut self, thread: u32, onward: Onward) {
        match onward {
            Onward::Leaves => {
                self.leaves(thread);
                if thread == self.leader {
                    let accounts = &self.accounts;
                    self.ledger.settle(|thread| read(accounts, thread));
                }
                self.publish();
            }
            Onward::Runs | Onward::Stays => {
                self.ledger.goes_on(thread, clock::now_ns(), onward == Onward::Stays);
            }
        }
    }
}

impl Watch {
    fn leaves(&mut self, thread: u32) {
        self.ledger.leaves(thread, read(&self.accounts, thread));
        self.accounts.remove(&thread);
    }

    /// Returns how long this process has waited for a CPU since the last call: its observations are late by
    /// that.
    fn late(&mut self) -> u64 {
        if self.own.is_none() {
            self.own = ProcFile::open(std::process::id(), "schedstat");
        }
        let ready_ns = account(self.own.as_ref()).map_or(0, |own| own.ready_ns);
        let before_ns = std::mem::replace(&mut self.own_ready_ns, ready_ns);
        ready_ns.saturating_sub(before_ns)
    }

    /// Publishes what is known, so that it survives this process, however it ends.
    fn publish(&self) {
        let balance = self.ledger.balance();
        for (state, ns) in balance.blocked_ns.iter().enumerate() {
            self.counters.set(state, *ns);
        }
        self.counters.set(RUNNING, balance.running_ns);
        self.counters.set(READY, balance.ready_ns);
        self.counters.set(SEVERAL, u64::from(balance.several));
    }
}

fn read(accounts: &HashMap<u32, Option<ProcFile>>, thread: u32) -> Reading {
    let account = accounts.get(&thread).and_then(|file| account(file.as_ref()));
    Reading { now_ns: clock::now_ns(), account: account.unwrap_or_default() }
}

fn account(file: Option<&ProcFile>) -> Option<SchedStat> {
    procfs::parse_schedstat(file?.read(&mut [0; 128])?)
}

/// For a thread about to move bytes from pipe to pipe: it waits for input first.
fn between_pipes(pid: u32, from: u32) -> State {
    match other_process::is_readable(pid, from) {
        Some(true) => State::Backpressured,
        Some(false) => State::Starved,
        None => State::Other,
    }
}
