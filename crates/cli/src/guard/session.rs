//! A command under guard, from its start to its end.

use super::record::Record;
use super::{GuardArgs, KillWhen};
use crate::ending::Ending;
use crate::failure::Failure;
use crate::terminal::{self, Look, When};
use pelton_observe::doctor::{self, Scope};
use pelton_observe::guard::{self, Movement, Sample, State, Tree, Waker};
use pelton_record::diagnosis::{Diagnosis, Health};
use pelton_record::guard::{GUARD_VERSION, Guarded, Stall, StallKind};
use pelton_report::Style;
use pelton_sys::stand_in::{self, StandIn};
use pelton_sys::wait::{self, Ended};
use pelton_sys::{clock, signals};
use std::time::Duration;

const SECOND_NS: u64 = 1_000_000_000;
/// The usual time between two samples.
const INTERVAL_NS: u64 = SECOND_NS;
/// The shortest.
const SHORTEST_NS: u64 = 20_000_000;
/// An interval is so many times longer than a sample takes: sampling costs at most 0.25% of a core.
const COST_FACTOR: u64 = 400;
/// The most reports kept for --json and --html: the last ones.
const MOST_STALLS: usize = 100;
/// The status if guard ended the command, as that of timeout(1).
const ENDED: i32 = 124;

/// Says why --kill=dead spares what looks dead.
fn spared(waker: &Waker) -> String {
    let why = match waker {
        Waker::Fifo(path) => format!("another process could still open {path}"),
        Waker::Signal(pid) => format!("process {pid} handles a signal that could still wake it"),
    };
    format!("pelton: --kill=dead does not end it: {why}\n  try: --kill, which ends all that stands still\n")
}

/// A command under guard.
pub struct Session<'a> {
    args: &'a GuardArgs,
    color: When,
    pid: u32,
    start_ns: u64,
    tree: Tree,
    movement: Movement,
    interval_ns: u64,
    guarded: Guarded,
    /// Whether the last report still holds: nothing has moved since.
    is_reported: bool,
    /// How long nothing must have moved before another look.
    next_look_ns: u64,
    /// All that was reported, for --output.
    said: String,
    record: Option<Record>,
    /// How the command ended.
    ended: Option<Ended>,
}

impl<'a> Session<'a> {
    /// Starts watching `pid`, a child.
    pub fn new(args: &'a GuardArgs, color: When, pid: u32, mut record: Option<Record>) -> Self {
        let guarded = Guarded {
            guard_version: GUARD_VERSION,
            pelton_version: env!("CARGO_PKG_VERSION").into(),
            command: args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            pid,
            started_unix_ms: clock::unix_ms(),
            wall_ns: 0,
            stall_ns: args.stall,
            exit_status: None,
            ended_by: None,
            stalls: Vec::new(),
            own_cpu_ns: 0,
        };
        if let Some(record) = &mut record {
            record.start(&guarded);
        }
        Session {
            args,
            color,
            pid,
            start_ns: clock::now_ns(),
            tree: Tree::new(),
            movement: Movement::new(args.stall),
            interval_ns: INTERVAL_NS.min(args.stall / 5).max(SHORTEST_NS),
            guarded,
            is_reported: false,
            next_look_ns: args.stall,
            said: String::new(),
            record,
            ended: None,
        }
    }

    /// Watches until the command ends or is ended.
    pub fn run(mut self, stand_in: Option<&StandIn>) -> Result<Ending, Failure> {
        loop {
            let pause_ns = self.pause_ns();
            self.wait(stand_in, pause_ns);
            if let Some(ended) = self.ended {
                return Ok(self.finish(ended));
            }
            if stand_in::is_stopped_at_terminal(self.pid) {
                stand_in::stop();
                continue;
            }
            let sample = self.sample(pause_ns);
            self.note_movement(&sample);
            if let Some(kind) = self.due()
                && let Some(ending) = self.report(kind)
            {
                return Ok(ending);
            }
        }
    }

    /// Returns the time until the next sample: shorter just before a report is due.
    fn pause_ns(&self) -> u64 {
        let quiet_ns = self.movement.quiet_ns();
        let until_stall = self.next_look_ns.saturating_sub(quiet_ns);
        let until_stall = if until_stall == 0 { self.interval_ns } else { until_stall };
        let until_timeout =
            self.args.timeout.map_or(u64::MAX, |ns| (self.start_ns + ns).saturating_sub(clock::now_ns()));
        self.interval_ns.min(until_stall).min(until_timeout).max(SHORTEST_NS)
    }

    /// Waits so long, or until the command ends. Reaps children meanwhile.
    fn wait(&mut self, stand_in: Option<&StandIn>, pause_ns: u64) {
        let end_ns = clock::now_ns() + pause_ns;
        loop {
            self.reap();
            let left_ns = end_ns.saturating_sub(clock::now_ns());
            if self.ended.is_some() || left_ns == 0 {
                return;
            }
            match stand_in {
                Some(stand_in) => wait::wait_any(&[stand_in.pidfd()], Some(Duration::from_nanos(left_ns))),
                None => std::thread::sleep(Duration::from_nanos(left_ns.min(SHORTEST_NS))),
            }
        }
    }

    /// Waits for the children that have ended: the command, and orphans of it.
    fn reap(&mut self) {
        reap_each(|pid, ended| {
            if pid == self.pid {
                self.ended = Some(ended);
            }
        });
    }

    fn sample(&mut self, pause_ns: u64) -> Sample {
        let before_ns = clock::thread_cpu_ns();
        let sample = self.tree.sample(pause_ns.max(INTERVAL_NS));
        let cost_ns = clock::thread_cpu_ns().saturating_sub(before_ns);
        let usual_ns = INTERVAL_NS.min(self.args.stall / 5).max(SHORTEST_NS);
        let at_ms = (clock::now_ns() - self.start_ns) / 1_000_000;
        if let Some(record) = &mut self.record {
            record.sample(at_ms, &sample, &self.tree);
        }
        self.interval_ns = (cost_ns * COST_FACTOR).clamp(usual_ns, usual_ns.max(self.args.stall / 4));
        sample
    }

    /// Adds a sample, and says so if something moves again after a report.
    fn note_movement(&mut self, sample: &Sample) {
        let quiet_ns = self.movement.quiet_ns();
        self.movement.add(&sample.interval);
        if self.movement.state() != State::Moving {
            return;
        }
        self.next_look_ns = self.args.stall;
        let style = self.style();
        if !std::mem::take(&mut self.is_reported) {
            return;
        }
        if let Some(stall) = self.guarded.stalls.last_mut() {
            stall.moved_again_ns = Some(clock::now_ns() - self.start_ns);
            let text = pelton_report::guard::moves_again(stall, quiet_ns, &style);
            self.say(&text);
        }
    }

    /// Returns what is to be reported now.
    fn due(&self) -> Option<StallKind> {
        if self.args.timeout.is_some_and(|ns| clock::now_ns() - self.start_ns >= ns) {
            return Some(StallKind::Timeout);
        }
        if self.movement.quiet_ns() < self.next_look_ns {
            return None;
        }
        match self.movement.state() {
            State::Moving => None,
            State::Still => Some(StallKind::Still),
            State::Polling => Some(StallKind::Polling),
        }
    }

    /// Examines the processes, reports what is new, and ends the command if that is wanted.
    fn report(&mut self, kind: StallKind) -> Option<Ending> {
        let quiet_ns = self.movement.quiet_ns();
        self.next_look_ns = quiet_ns.saturating_mul(2).max(self.args.stall);
        let pids: Vec<u32> = self.tree.members().map(|member| member.pid).collect();
        let diagnosis = doctor::examine_beside(&Scope::These(pids.clone()), Some(self.pid));
        let dead = diagnosis.findings.iter().filter(|one| one.health == Health::Dead);
        let wakers: Vec<Option<Waker>> = dead.map(guard::waker).collect();
        let dead = wakers.contains(&None);
        let last = self.guarded.stalls.last().filter(|_| self.is_reported && kind != StallKind::Timeout);
        let is_known =
            last.is_some_and(|last| last.kind == kind && picture(&last.diagnosis) == picture(&diagnosis));
        if !is_known {
            self.keep(Stall {
                kind,
                at_ns: clock::now_ns() - self.start_ns,
                quiet_ns,
                processes: pids.len() as u32,
                repeated: if kind == StallKind::Polling { self.movement.repeated() } else { Vec::new() },
                diagnosis,
                moved_again_ns: None,
            });
        }
        let kills = match self.args.kill {
            Some(KillWhen::Any) => kind == StallKind::Still,
            Some(KillWhen::Dead) => kind == StallKind::Still && dead,
            None => false,
        };
        if self.args.kill == Some(KillWhen::Dead)
            && !kills
            && !is_known
            && let Some(waker) = wakers.iter().flatten().next()
        {
            self.say(&spared(waker));
        }
        (kills || kind == StallKind::Timeout).then(|| self.end(kind))
    }

    fn keep(&mut self, stall: Stall) {
        let text = pelton_report::guard::stall(&self.guarded, &stall, &self.style());
        if let Some(record) = &mut self.record {
            record.stall(&stall);
        }
        if self.guarded.stalls.len() == MOST_STALLS {
            self.guarded.stalls.remove(0);
        }
        self.guarded.stalls.push(stall);
        self.is_reported = true;
        self.say(&text);
        self.write_files();
    }

    /// Ends all processes of the command.
    fn end(&mut self, kind: StallKind) -> Ending {
        let signal = self.args.signal.unwrap_or(signals::TERM);
        let left = guard::end(&mut self.tree, signal, self.args.kill_after, &mut || reap_each(|_, _| ()));
        let left: Vec<String> = left.iter().map(|one| format!("{} ({})", one.name, one.pid)).collect();
        self.guarded.ended_by = Some(kind);
        self.guarded.exit_status = Some(ENDED);
        let text = pelton_report::guard::ended(&self.guarded, &left, &self.style());
        self.say(&text);
        self.write_files();
        Ending::Status(ENDED)
    }

    /// The command has ended by itself.
    fn finish(&mut self, ended: Ended) -> Ending {
        self.guarded.exit_status = Some(ended.status());
        self.write_files();
        ended.into()
    }

    fn style(&self) -> Style {
        match self.args.output {
            Some(_) => Look::of_file(self.color).style(false),
            None => Look::of_stderr(self.color).style(false),
        }
    }

    fn say(&mut self, text: &str) {
        match &self.args.output {
            None => terminal::say(text),
            Some(file) => {
                self.said.push_str(text);
                if let Err(failure) = super::write(file, &self.said) {
                    terminal::say(text);
                    super::complain(&failure);
                }
            }
        }
    }

    fn write_files(&mut self) {
        self.guarded.wall_ns = clock::now_ns() - self.start_ns;
        self.guarded.own_cpu_ns = clock::own_cpu_ns();
        let json = self.args.json.as_ref().map(|file| (file, pelton_report::pretty(&self.guarded)));
        let html = self.args.html.as_ref().map(|file| (file, pelton_report::guard::html(&self.guarded)));
        for (file, text) in json.into_iter().chain(html) {
            if let Err(failure) = super::write(file, &text) {
                super::complain(&failure);
            }
        }
        if let (Some(record), Some(status)) = (&mut self.record, self.guarded.exit_status) {
            record.end(self.guarded.wall_ns / 1_000_000, status);
        }
    }
}

/// Waits for every child that has ended, and passes on how.
fn reap_each(mut pass_on: impl FnMut(u32, Ended)) {
    while let Ok(Some(pid)) = wait::peek_ended(false) {
        let Ok((ended, _)) = wait::reap(pid) else { return };
        pass_on(pid, ended);
    }
}

/// Returns what makes one diagnosis the same as another, without figures that always change.
fn picture(diagnosis: &Diagnosis) -> Vec<(Health, String, Vec<u32>)> {
    let of = |finding: &pelton_record::diagnosis::Finding| {
        let mut pids: Vec<u32> = finding.waits.iter().map(|wait| wait.pid).collect();
        pids.sort_unstable();
        (finding.health, format!("{:?}", finding.kind), pids)
    };
    diagnosis.findings.iter().map(of).collect()
}
