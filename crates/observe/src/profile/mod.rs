//! Where the CPU time of a stage goes: samples of the stacks of its running threads.
//!
//! A thread that runs is stopped by ptrace(2) for the time in which its interpreter's frames are read (Python, Ruby), or its
//! registers and stack are copied, to be unwound later. So each sample is of one moment, and nobody's permission is needed:
//! perf_event_open(2) is closed to ordinary users on Debian and Ubuntu, and in containers. A thread that does not run
//! is left alone. A sample is as likely at any moment of CPU time: intervals differ, and what is seen is the state at that
//! moment, not what led to it.
//!
//! Unless the sampler waits for a CPU. Kernels with lazy preemption give it one when a program calls the kernel or at the next tick, so
//! late samples see more of the lines that do. They count only if there are hardly any others.

mod fold;
mod process;

use crate::stack::Modules;
use fold::{Around, Folded};
use pelton_record::profile::Profile;
use pelton_sys::{clock, procfs};
use process::Process;
use std::collections::BTreeMap;

/// How often the processes are listed again.
const RELIST_NS: u64 = 30_000_000;
/// The most processes sampled.
const MOST_PROCESSES: usize = 64;
/// Looks take at most this part of the time of one CPU, without what is read once: programs, libraries, names.
const COST: u64 = 40;
const LONGEST_PAUSE_NS: u64 = 50_000_000;
/// The pause follows the average cost of so many looks. If it followed each, the expensive ones, of deep stacks, would be
/// followed by longer pauses, and what a program does then be seen less.
const AVERAGED: u64 = 32;
/// A look that comes so long after its time is late. Timers may be 50 µs late.
const LATE_NS: u64 = 250_000;
/// With fewer samples in time, the late ones count too.
const ENOUGH_IN_TIME: u32 = 30;

/// Samples a process and its descendants.
pub struct Profiler {
    pid: u32,
    processes: BTreeMap<u32, Process>,
    modules: Modules,
    in_time: Folded,
    late: Folded,
    listed_ns: u64,
    looks: u64,
    first_ns: u64,
    last_ns: u64,
    average_cost_ns: u64,
    /// Not before this time: looks are expensive.
    not_before_ns: u64,
    stopped_ns: u64,
    /// The CPU time that samples stand for.
    seen_cpu_ns: u64,
    /// Threads that ran and could not be stopped.
    refused: u32,
}

impl Profiler {
    /// Begins with a child of this process.
    pub fn attach(pid: u32) -> Self {
        let now_ns = clock::now_ns();
        Profiler {
            pid,
            processes: BTreeMap::new(),
            modules: Modules::default(),
            in_time: Folded::default(),
            late: Folded::default(),
            listed_ns: 0,
            looks: 0,
            first_ns: now_ns,
            last_ns: now_ns,
            average_cost_ns: 0,
            not_before_ns: 0,
            stopped_ns: 0,
            seen_cpu_ns: 0,
            refused: 0,
        }
    }

    /// Takes a sample of every thread that runs, in a round that began so late.
    pub fn sample(&mut self, now_ns: u64, late_ns: u64) {
        if now_ns < self.not_before_ns {
            return;
        }
        if now_ns - self.listed_ns > RELIST_NS {
            self.list();
            self.listed_ns = now_ns;
        }
        let mut cost_ns = 0;
        self.looks += 1;
        self.last_ns = now_ns;
        for process in self.processes.values_mut() {
            let folded = if late_ns > LATE_NS { &mut self.late } else { &mut self.in_time };
            let sampled = process.sample(&mut self.modules);
            self.stopped_ns += sampled.stopped_ns;
            self.seen_cpu_ns += sampled.seen_cpu_ns;
            self.refused += sampled.refused;
            cost_ns += sampled.cpu_ns;
            sampled.stacks.into_iter().for_each(|frames| folded.add(process, frames));
        }
        self.average_cost_ns = (self.average_cost_ns * (AVERAGED - 1) + cost_ns) / AVERAGED;
        self.not_before_ns = clock::now_ns() + (COST * self.average_cost_ns).min(LONGEST_PAUSE_NS);
    }

    /// Finds what the stage has started meanwhile.
    fn list(&mut self) {
        let mut present = vec![self.pid];
        let mut at = 0;
        while at < present.len() && present.len() < MOST_PROCESSES {
            present.extend(procfs::children_of_all_threads(present[at]));
            at += 1;
        }
        self.processes.retain(|pid, _| present.contains(pid));
        for pid in present {
            self.processes.entry(pid).or_insert_with(|| Process::new(pid, pid == self.pid));
        }
    }

    /// Returns the profile, given the stage's CPU time.
    pub fn finish(self, cpu_ns: u64) -> Profile {
        let interval_ns = (self.last_ns - self.first_ns) / self.looks.max(1);
        let (late, in_time) = (self.late.samples(), self.in_time.samples());
        let is_enough = in_time >= ENOUGH_IN_TIME;
        let folded = if is_enough { self.in_time } else { self.in_time.with(self.late) };
        let Profiler { seen_cpu_ns, stopped_ns, refused, .. } = self;
        let seen_cpu_ns = seen_cpu_ns.min(cpu_ns);
        let around = Around { cpu_ns, seen_cpu_ns, interval_ns, stopped_ns, refused };
        let mut profile = folded.profile(&around);
        if late > profile.samples / 4 {
            profile.notes.push(late_note(late, is_enough));
        }
        profile
    }
}

fn late_note(late: u32, are_left_out: bool) -> String {
    match are_left_out {
        true => format!("{late} more samples came late, because the cores were busy, and are left out"),
        false => format!(
            "{late} of the samples came late, because the cores were busy: such samples see more of what calls the kernel"
        ),
    }
}
