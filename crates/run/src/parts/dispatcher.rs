//! Distributes lines to processes, and merges their outputs in order.
//!
//! One loop does everything, and blocks only in poll(2) and in writing to standard output, where the command
//! itself would block: input for one process never waits for another's output, so there is no deadlock.
//! Memory is bounded by the length of a part, the limit for its buffered output, and the number of parts.

use super::cost_probe::is_fit;
use super::part_commands::Parts;
use super::part_process::PartProcess;
use super::part_size::{Gauge, PartSize};
use super::pending::Pending;
use super::source::Source;
use super::status::{End, Tally};
use crate::native::elastic::{self, Elastic};
use crate::progress;
use pelton_commands::Input;
use pelton_commands::io_errors::{self, Caller, WriteFailure};
use pelton_commands::stateless::{Data, Errors};
use pelton_parallel::Policy;
use pelton_sys::signals::{self, Interrupts};
use pelton_sys::spawn::Exec;
use pelton_sys::{cpu_waits, pipe};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::time::Duration;

/// The processes of one stage.
pub struct Dispatcher<'a> {
    exec: &'a Exec,
    /// The command as it was called, on its own file. `None`: it reads standard input.
    whole: Option<&'a Exec>,
    data: Data,
    errors: Errors,
    /// Lines in finished parts.
    lines: u64,
    /// Bytes printed of the current part.
    printed_of_part: u64,
    /// Bytes of the next output that were printed already.
    skip: u64,
    /// Whether the open process got input in which parts are not independent: it then restarts everything
    /// when its turn comes.
    odd: bool,
    source: Source,
    pending: Pending,
    grain: PartSize,
    gauge: Option<Gauge>,
    elastic: Elastic,
    /// In the order of their lines. Only the last may be open.
    members: VecDeque<PartProcess>,
    /// Whether the open process has an incomplete line.
    within_line: bool,
    /// Whether lines are no longer independent: one process gets the rest.
    alone: bool,
    tally: Tally,
    caller: Caller,
    /// The message and status for an input that cannot be read, used at the end.
    unreadable: Option<(String, i32)>,
    /// Whether it is the first stage of its pipeline.
    first: bool,
    /// Bytes printed.
    printed: u64,
    interrupted: Interrupted,
    /// Standard output.
    out: File,
    rest: Duration,
}

/// The state of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interrupted {
    No,
    /// The processes may have got it too, from the terminal.
    Came,
    PassedOn,
}

/// A longer line is passed in pieces; also the most input queued for one process.
const LONG_BYTES: usize = 8 << 20;
/// Read-ahead for shorter parts.
const AHEAD_BYTES: usize = 256 * 1024;
/// A process with less input queued keeps up: it needs no help.
const BUSY_BYTES: usize = 64 * 1024;
/// Pause between rounds. A process that wakes for every page of I/O does little else, and takes the core from
/// working ones: for 16 MB of a heavy sed, 700 pauses of 1 ms took 5% of all CPU time where twenty processes
/// shared two cores.
const REST: Duration = Duration::from_millis(1);
/// If pipes are still half full after a pause, the next one is twice as long, up to this: a command that is
/// worth splitting does not empty a pipe within that time.
const REST_MAX: Duration = Duration::from_millis(4);
/// The policy's window.
const WINDOW: Duration = Duration::from_millis(50);
const SIGINT: i32 = 2;
const SIGPIPE: i32 = 13;

impl<'a> Dispatcher<'a> {
    /// Makes the dispatcher, with the first part if it is done already.
    pub fn new(
        Parts { part, real, stateless, .. }: &'a Parts,
        source: Source,
        grain: PartSize,
        first: Option<Box<PartProcess>>,
        caller: Caller,
        out: File,
    ) -> Self {
        source.settle();
        Dispatcher {
            exec: part,
            whole: matches!(stateless.input, Input::File(_)).then_some(real),
            data: stateless.data,
            errors: stateless.errors,
            lines: 0,
            printed_of_part: 0,
            skip: 0,
            odd: false,
            source,
            pending: Pending::default(),
            grain,
            gauge: None,
            elastic: Elastic::of_dealer(),
            members: first.into_iter().map(|member| *member).collect(),
            within_line: false,
            alone: false,
            tally: Tally::new(stateless.statuses),
            caller,
            unreadable: None,
            first: false,
            printed: 0,
            interrupted: Interrupted::No,
            out,
            rest: REST,
        }
    }

    /// Counts its input for the progress display: it is the input of its pipeline.
    pub fn count_for_progress(&mut self) {
        self.first = true;
        progress::dealt(self.members.iter().map(|member| member.given).sum());
    }

    /// Runs to the end of the input, or until a process ends early. No process is left.
    pub fn run(mut self) -> End {
        let interrupts = Interrupts::watch();
        // Its latency delays every process.
        cpu_waits::wake_soon();
        if !self.pending.bytes.is_empty() || self.members.is_empty() {
            // Even an empty input needs one process.
            if let Some(end) = self.start() {
                return end;
            }
        }
        loop {
            if let Some(end) = self.deal() {
                return end;
            }
            let mut any = false;
            for member in &mut self.members {
                any |= member.push();
                any |= member.pull();
            }
            self.measure();
            if let Some(end) = self.collect() {
                return end;
            }
            if self.members.is_empty() && self.is_over() {
                return self.end();
            }
            any |= self.wants_more() && self.read();
            if !any {
                self.rest(&interrupts);
            }
        }
    }

    /// Reads what is available. Returns whether anything happened.
    fn read(&mut self) -> bool {
        let before = self.pending.len();
        let any = self.read_range();
        if self.first {
            progress::dealt((self.pending.len() - before) as u64);
        }
        any
    }

    fn read_range(&mut self) -> bool {
        self.source.read(&mut self.pending.bytes).unwrap_or_else(|error| {
            // For the processes, the input ends here; the command's message comes at the end.
            let unreadable = self.caller.read_error(None, &error);
            self.unreadable = Some((unreadable.message, unreadable.status));
            true
        })
    }

    fn end(&self) -> End {
        let Some((message, status)) = &self.unreadable else { return self.tally.end() };
        let _ = std::io::stderr().write_all(message.as_bytes());
        End::Status(*status)
    }

    fn is_over(&self) -> bool {
        self.source.has_ended() && self.pending.len() == 0
    }

    /// Returns how many processes should work.
    fn wanted(&self) -> usize {
        match self.grain {
            PartSize::Bytes(_) | PartSize::Forced(_) if !self.alone => {
                self.elastic.wanted(self.at_work().max(1)).max(1)
            }
            _ => 1,
        }
    }

    fn at_work(&self) -> usize {
        self.members.iter().filter(|member| !member.is_done()).count()
    }

    /// Returns how much is read, and queued for a process, in advance. A single process can get more at any
    /// time; the next of several begins where the whole part of this one ends.
    fn ahead_bytes(&self) -> usize {
        if self.wanted() > 1 { self.part_bytes().max(AHEAD_BYTES) } else { AHEAD_BYTES }
    }

    fn part_bytes(&self) -> usize {
        match self.grain {
            PartSize::Bytes(bytes) | PartSize::Forced(bytes) if !self.alone => bytes,
            _ => AHEAD_BYTES,
        }
    }

    fn wants_more(&self) -> bool {
        !self.source.has_ended()
            && (self.pending.len() < self.ahead_bytes()
                || self.pending.lines(0).is_none() && self.pending.len() < LONG_BYTES)
    }

    fn open(&mut self) -> Option<&mut PartProcess> {
        self.members.back_mut().filter(|member| member.is_open())
    }

    /// Queues input for the next process. `Some` if no process can be started at all.
    fn deal(&mut self) -> Option<End> {
        loop {
            if self.odd {
                return if self.members.len() == 1 { self.start_over() } else { None };
            }
            let part = self.part_bytes();
            if let Some(open) = self.open() {
                let given = open.given as usize;
                let mut room = part.saturating_sub(given);
                if room == 0 {
                    if self.may_close() {
                        self.open()?.close();
                        continue;
                    }
                    // It keeps up, or works alone: a longer part is fine.
                    room = part;
                }
                let ready = self.open().map_or(0, |open| open.load());
                let Some(n) = self.due(room).filter(|_| ready < self.ahead_bytes()) else { break };
                self.give(n);
                continue;
            }
            if self.due(1).is_none() || !self.may_start() {
                break;
            }
            if let Some(end) = self.start() {
                return Some(end);
            }
            if self.open().is_none() {
                break;
            }
        }
        if self.is_over()
            && let Some(open) = self.open()
        {
            open.close();
        }
        None
    }

    /// Returns how much can be queued now: whole lines, or the available part of a line that is too long or
    /// the last.
    fn due(&self, room: usize) -> Option<usize> {
        let room = if matches!(self.grain, PartSize::Bytes(_) | PartSize::Forced(_)) && !self.alone {
            room
        } else {
            self.pending.len()
        };
        let rest = self.source.has_ended() || self.pending.len() >= LONG_BYTES;
        self.pending.lines(room).or(Some(self.pending.len()).filter(|bytes| rest && *bytes > 0))
    }

    fn give(&mut self, n: usize) {
        let Dispatcher { pending, members, .. } = self;
        let Some(open) = members.back_mut() else { return };
        let bytes = &pending.bytes[..n];
        self.within_line = bytes.last() != Some(&b'\n');
        let last = self.source.has_ended() && n == pending.len();
        let by_line = self.errors.name_the_line();
        let odd =
            self.data != Data::Bytes && (self.within_line && !(by_line && last) || !is_fit(bytes, self.data));
        open.give(bytes);
        open.push();
        drop(pending.take(n));
        if by_line {
            self.odd |= odd && !self.alone;
        } else {
            self.alone |= odd;
        }
    }

    /// Restarts with one process, which gets the input of the first and all later ones, and the rest. Error
    /// messages show positions in the input, so it must see what the command would see: a named file from its
    /// beginning, or as many empty lines as there were lines before. Output that was printed already is
    /// dropped.
    fn start_over(&mut self) -> Option<End> {
        let mut one = match PartProcess::start(self.whole.unwrap_or(self.exec)) {
            Ok(one) => one,
            Err(error) => return Some(self.cannot_start(&error)),
        };
        let all = std::mem::take(&mut self.members);
        if self.whole.is_some() {
            self.skip = self.printed;
            self.source.leave();
            self.pending.bytes.clear();
        } else {
            let blank = if let Errors::ByLine { blank } = self.errors { blank } else { 0 };
            self.skip = self.printed_of_part + blank * self.lines;
            one.give(&vec![b'\n'; usize::try_from(self.lines).unwrap_or_default()]);
            all.iter().for_each(|member| one.give(member.kept()));
        }
        self.odd = false;
        self.alone = true;
        drop(all);
        self.members.push_back(one);
        None
    }

    /// Whether the open process may get EOF: more input comes, and it does not keep up.
    fn may_close(&mut self) -> bool {
        if self.within_line || self.alone || self.pending.len() == 0 {
            return false;
        }
        match self.grain {
            PartSize::Forced(_) => true,
            PartSize::Bytes(_) => {
                self.open().is_some_and(|open| open.load() >= BUSY_BYTES) && self.wanted() > 1
            }
            _ => false,
        }
    }

    fn may_start(&self) -> bool {
        let wanted = self.wanted();
        // Some may be done and wait for their turn.
        self.at_work() < wanted && self.members.len() < wanted + 2
    }

    /// Starts the next process. If that fails, the running ones continue; if none runs, the stage ends.
    fn start(&mut self) -> Option<End> {
        match PartProcess::start(self.exec) {
            Ok(mut member) => {
                if self.errors.name_the_line() && !self.alone {
                    member.keep();
                }
                if self.elastic.is_polite() && self.at_work() > 0 {
                    cpu_waits::let_give_way(member.pid(), elastic::POLITE);
                }
                self.elastic.joined(member.pid());
                if self.grain == PartSize::Unknown {
                    self.gauge = Gauge::new(member.pid());
                }
                self.members.push_back(member);
                None
            }
            Err(_) if self.at_work() > 0 => None,
            Err(error) => Some(self.cannot_start(&error)),
        }
    }

    fn cannot_start(&self, error: &std::io::Error) -> End {
        let called = &self.caller.called;
        let _ = writeln!(std::io::stderr(), "pelton: cannot start {called} for a part: {error}");
        End::Status(126)
    }

    /// Measures the only process, if the cost is not known yet.
    fn measure(&mut self) {
        if let (Some(gauge), Some(member)) = (&mut self.gauge, self.members.back())
            && let Some(cost) = gauge.look(member.taken())
        {
            // Its input is distributed already: giving up now would save nothing.
            self.grain = PartSize::of(&cost, false);
            self.gauge = None;
        }
    }

    /// Prints the output whose turn it is. `Some` if the command would have ended by now.
    fn collect(&mut self) -> Option<End> {
        while let Some(head) = self.members.front_mut() {
            if self.errors.name_the_line() && !self.alone && head.has_failed() {
                if let Some(end) = self.start_over() {
                    return Some(end);
                }
                continue;
            }
            let head = self.members.front_mut()?;
            let (out, err) = (std::mem::take(&mut head.out.bytes), std::mem::take(&mut head.err.bytes));
            if let Some(end) = self.print(&out) {
                return Some(end);
            }
            // If standard error is closed, the messages are lost.
            let _ = std::io::stderr().write_all(&err);
            let head = self.members.front_mut()?;
            let Some((ended, _)) = head.ended else {
                // Reuses the buffers.
                (head.out.bytes, head.err.bytes) = (cleared(out), cleared(err));
                return None;
            };
            let end = self.tally.add(ended, head.left_early());
            self.lines += lines_in(head.kept());
            self.printed_of_part = 0;
            self.members.pop_front();
            if end.is_some() {
                return end;
            }
        }
        None
    }

    /// Prints output. `Some` if its reader has gone.
    fn print(&mut self, bytes: &[u8]) -> Option<End> {
        let known = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
        self.skip -= known as u64;
        let bytes = &bytes[known..];
        if bytes.is_empty() {
            return None;
        }
        let printed = self.printed + bytes.len() as u64;
        self.printed = printed;
        self.printed_of_part += bytes.len() as u64;
        let error = write_all(&mut self.out, bytes).err()?;
        self.members.clear();
        if error.kind() == ErrorKind::BrokenPipe {
            return Some(End::Signal(SIGPIPE));
        }
        let failure = WriteFailure { error, printed, item: io_errors::item(bytes) };
        let (message, status) = self.caller.write_error(&failure);
        let _ = std::io::stderr().write_all(message.as_bytes());
        Some(End::Status(status))
    }

    /// Waits until something can continue.
    fn rest(&mut self, interrupts: &Interrupts) {
        self.pass_on(interrupts);
        std::thread::sleep(self.rest);
        let comfortable = self.members.iter().all(PartProcess::is_comfortable);
        self.rest = if comfortable { (self.rest * 2).min(REST_MAX) } else { REST };
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for member in &self.members {
            member.waits_for(&mut reads, &mut writes);
        }
        if self.wants_more() {
            reads.push(self.source.fd());
        }
        let ending = self.members.iter().any(PartProcess::is_ending);
        pipe::wait_ready_within(&reads, &writes, if ending { REST } else { WINDOW });
    }

    /// Handles an interrupt. One from the terminal reaches the processes too, and their reaction decides. One
    /// sent to this process alone is passed on.
    fn pass_on(&mut self, interrupts: &Interrupts) {
        if !interrupts.came() {
            return;
        }
        match self.interrupted {
            Interrupted::No => {
                std::thread::sleep(WINDOW);
                self.interrupted = Interrupted::Came;
            }
            Interrupted::Came => {
                for member in self.members.iter().filter(|member| !member.is_done()) {
                    signals::send(member.pid(), SIGINT);
                }
                self.interrupted = Interrupted::PassedOn;
            }
            Interrupted::PassedOn => {}
        }
    }
}

fn lines_in(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn cleared(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.clear();
    bytes
}

/// Writes all bytes to standard output, which another process may have made non-blocking.
fn write_all(stdout: &mut File, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match stdout.write(bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                pipe::wait_ready_within(&[], &[stdout.as_fd()], WINDOW);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
