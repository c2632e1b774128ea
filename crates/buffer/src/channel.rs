//! One stream: a writer, a queue, a reader.
//!
//! While nothing is held, bytes are spliced from pipe to pipe: that costs no copy, and a reader that keeps up gets them as
//! if there were no buffer. When the reader makes the writer wait, for [`STALL_NS_MAX`] at once or more than a
//! share of the time, bytes are taken into the queue, until it is empty again.

use crate::Error;
use crate::queue::{Queue, Taken};
use crate::sink::Sink;
use crate::store::Store;
use crate::tally::{StreamProgress, Tally};
use pelton_sys::flow::{self, For, Kind, Readiness};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// So long may a reader keep a writer waiting before its bytes are taken. Where cores are scarce, a reader that only waits
/// for one looks slow for a few milliseconds, and copying would take even more from it.
const STALL_NS_MAX: u64 = 10_000_000;
/// The same for many short waits: time waited, less a part of the time in between.
const DEBT_NS_MAX: u64 = 20_000_000;
/// That part: one in so many.
const DEBT_PAID_BY: u64 = 2;
/// How much is spliced at once.
const SPLICE_BYTES: usize = 1 << 20;
/// Pipes at both ends are made this large if the system allows it: fewer turns, fewer waits.
const PIPE_BYTES: usize = 256 * 1024;

/// How a stream ended early.
#[derive(Debug)]
pub enum Fault {
    /// Nobody reads it any more.
    ReaderLeft,
    /// Reading or writing failed.
    Failed(Error),
}

/// How bytes go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Spliced; the time since which there was no room.
    Passing { stalled_since_ns: Option<u64> },
    /// Taken and delivered.
    Holding,
}

/// One stream.
#[derive(Debug)]
pub struct Channel {
    name: &'static str,
    /// `None` once it has ended.
    input: Option<OwnedFd>,
    input_kind: Kind,
    /// `None` once it is closed.
    sink: Option<Sink>,
    queue: Queue,
    mode: Mode,
    can_pass: bool,
    debt_ns: u64,
    passed_at_ns: u64,
    sink_is_full: bool,
    fault: Option<Fault>,
    tally: Tally,
}

impl Channel {
    /// From `input` to `output`, both of which are closed when it is over.
    ///
    /// # Errors
    /// If a descriptor cannot be asked what it is, or there is no pipe or thread to be had.
    pub fn new(name: &'static str, input: OwnedFd, output: OwnedFd) -> io::Result<Self> {
        let input_kind = flow::kind(input.as_fd())?;
        flow::enlarge_pipe(input.as_fd(), PIPE_BYTES);
        flow::enlarge_pipe(output.as_fd(), PIPE_BYTES);
        let sink = Sink::new(output)?;
        let can_pass = input_kind == Kind::Pipe && sink.is_pipe();
        Ok(Channel {
            name,
            input: Some(input),
            input_kind,
            sink: Some(sink),
            queue: Queue::default(),
            mode: if can_pass { Mode::Passing { stalled_since_ns: None } } else { Mode::Holding },
            can_pass,
            debt_ns: 0,
            passed_at_ns: 0,
            sink_is_full: false,
            fault: None,
            tally: Tally::default(),
        })
    }

    /// Whether everything that came has gone.
    pub fn is_done(&self) -> bool {
        self.sink.is_none()
    }

    /// Whether a thread writes for it.
    pub fn has_thread(&self) -> bool {
        self.sink.as_ref().is_some_and(Sink::has_thread)
    }

    /// Takes nothing more.
    pub fn close_input(&mut self) {
        self.input = None;
        self.mode = Mode::Holding;
    }

    /// What went wrong, once.
    pub fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    /// How it stands.
    pub fn progress(&self, now_ns: u64) -> StreamProgress {
        let reader_left = matches!(self.fault, Some(Fault::ReaderLeft));
        let counts = self.tally.stream(self.name, reader_left, now_ns);
        StreamProgress { held_bytes: self.queue.held(), counts }
    }

    /// What it waits for at the writer's end and at the reader's.
    pub fn wants(&mut self, store: &mut Store, now_ns: u64) -> [Option<(BorrowedFd<'_>, For)>; 2] {
        let stalled = matches!(self.mode, Mode::Passing { stalled_since_ns: Some(_) });
        let has_room = self.input.is_some() && self.queue.has_room(store);
        self.tally.full.set(self.input.is_some() && !has_room, now_ns);
        // A file lets nobody wait: what is in it need not be held.
        let enough = self.input_kind == Kind::File && !self.queue.is_empty();
        let takes = has_room && !stalled && !enough;
        let delivers = stalled || !self.queue.is_empty();
        self.tally.input_waits.set(takes && !delivers, now_ns);
        let input = self.input.as_ref().filter(|_| takes).map(|fd| (fd.as_fd(), For::Input));
        let what = match &self.sink {
            Some(sink) if sink.is_closing() => For::Input,
            _ if delivers => For::Room,
            _ => For::Loss,
        };
        [input, self.sink.as_ref().map(|sink| (sink.as_fd(), what))]
    }

    /// When it wants to be asked again in any case.
    pub fn deadline_ns(&self) -> Option<u64> {
        let Mode::Passing { stalled_since_ns: Some(since) } = self.mode else { return None };
        Some(since + STALL_NS_MAX.min(DEBT_NS_MAX.saturating_sub(self.debt_ns)))
    }

    /// Does what can be done without waiting.
    pub fn react(&mut self, input: Readiness, room: Readiness, store: &mut Store, now_ns: u64) {
        if room.lost {
            self.lose_reader(store);
        }
        match &self.sink {
            None => return,
            Some(sink) if sink.is_closing() => {
                return if room.ready {
                    self.finish()
                };
            }
            Some(_) => {}
        }
        if input.ready {
            self.tally.input_waits.set(false, now_ns);
        }
        if room.ready {
            self.sink_is_full = false;
            self.tally.reader_waits.set(false, now_ns);
        }
        let done = match self.mode {
            Mode::Passing { stalled_since_ns: Some(since) } => {
                self.end_stall(since, room.ready, now_ns);
                Ok(())
            }
            Mode::Passing { .. } if input.ready => self.pass(now_ns),
            Mode::Passing { .. } => Ok(()),
            Mode::Holding => self.hold(input.ready, store, now_ns),
        };
        match done {
            Err(Error::Write(_, error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.lose_reader(store)
            }
            Err(error) => self.fail(error, store),
            Ok(()) if self.input.is_none() && self.queue.is_empty() => self.close(),
            Ok(()) => {}
        }
    }

    fn pass(&mut self, now_ns: u64) -> Result<(), Error> {
        let (Some(input), Some(sink)) = (&self.input, &self.sink) else { return Ok(()) };
        match flow::splice_now(input.as_fd(), sink.as_fd(), SPLICE_BYTES) {
            Ok(Some(0)) => self.close_input(),
            Ok(Some(bytes)) => {
                self.tally.in_bytes += bytes as u64;
                self.tally.out_bytes += bytes as u64;
                self.tally.passed_bytes += bytes as u64;
                let paid = now_ns.saturating_sub(self.passed_at_ns) / DEBT_PAID_BY;
                self.debt_ns = self.debt_ns.saturating_sub(paid);
                self.passed_at_ns = now_ns;
            }
            Ok(None) => {
                self.mode = Mode::Passing { stalled_since_ns: Some(now_ns) };
                self.tally.reader_waits.set(true, now_ns);
            }
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Err(Error::Write(self.name, error));
            }
            // Reading and writing will tell what is wrong, if anything is.
            Err(_) => {
                self.can_pass = false;
                self.mode = Mode::Holding;
            }
        }
        Ok(())
    }

    /// There is room again, or it has taken too long.
    fn end_stall(&mut self, since_ns: u64, has_room: bool, now_ns: u64) {
        if !has_room && self.deadline_ns().is_some_and(|deadline| now_ns < deadline) {
            return;
        }
        let filling = self.input.as_ref().is_some_and(|input| {
            let full = flow::pipe_bytes(input.as_fd()).unwrap_or(0) as u64;
            flow::readable_bytes(input.as_fd()) * 2 >= full
        });
        if filling {
            self.debt_ns += now_ns.saturating_sub(since_ns);
        }
        self.passed_at_ns = now_ns;
        if has_room && self.debt_ns < DEBT_NS_MAX {
            self.mode = Mode::Passing { stalled_since_ns: None };
        } else {
            self.mode = Mode::Holding;
            self.sink_is_full = !has_room;
        }
    }

    fn hold(&mut self, readable: bool, store: &mut Store, now_ns: u64) -> Result<(), Error> {
        if readable {
            self.take(store)?;
        }
        if !self.queue.is_empty() && !self.sink_is_full {
            self.deliver(store, now_ns)?;
        }
        Ok(())
    }

    fn take(&mut self, store: &mut Store) -> Result<(), Error> {
        let Some(input) = &self.input else { return Ok(()) };
        let mut read = |into: &mut [u8]| loop {
            match pelton_sys::read::into(input.as_fd(), into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        };
        match self.queue.take(store, self.name, &mut read) {
            Ok(Taken::End) => self.close_input(),
            Ok(Taken::Memory(bytes)) => self.tally.in_bytes += bytes as u64,
            Ok(Taken::Disk(bytes)) => {
                self.tally.in_bytes += bytes as u64;
                self.tally.disk_bytes += bytes as u64;
            }
            // What was taken before is delivered all the same.
            Err(error @ Error::Read(..)) => {
                self.close_input();
                self.fault = Some(Fault::Failed(error));
            }
            Err(error) => return Err(error),
        }
        self.tally.held_peak_bytes = self.tally.held_peak_bytes.max(self.queue.held());
        Ok(())
    }

    fn deliver(&mut self, store: &mut Store, now_ns: u64) -> Result<(), Error> {
        let Some(sink) = &self.sink else { return Ok(()) };
        let mut all = true;
        let delivered = self.queue.deliver(store, self.name, &mut |bytes| {
            let written = sink.write_now(bytes)?;
            all = written == Some(bytes.len());
            Ok(written)
        })?;
        self.tally.out_bytes += delivered.unwrap_or(0) as u64;
        self.sink_is_full = !all;
        self.tally.reader_waits.set(!all, now_ns);
        if self.queue.is_empty() && self.can_pass && self.input.is_some() {
            self.debt_ns = 0;
            self.passed_at_ns = now_ns;
            self.mode = Mode::Passing { stalled_since_ns: None };
        }
        Ok(())
    }

    /// Everything has gone, as far as this thread can tell.
    fn close(&mut self) {
        if !self.sink.as_mut().is_some_and(Sink::close) {
            self.finish();
        }
    }

    /// Everything has gone.
    fn finish(&mut self) {
        let written = self.sink.take().map_or(Ok(()), Sink::finish);
        if let Err(error) = written {
            self.note_lost(error);
        }
    }

    /// The reader has left, or what writes to it has failed: only finishing tells.
    fn lose_reader(&mut self, store: &mut Store) {
        let threaded = self.has_thread();
        let told = self.sink.take().map_or(Ok(()), Sink::finish);
        match told {
            Err(error) if threaded => self.note_lost(error),
            _ => self.fault = Some(Fault::ReaderLeft),
        }
        self.end(store);
    }

    fn note_lost(&mut self, error: io::Error) {
        let left = error.kind() == io::ErrorKind::BrokenPipe;
        self.fault =
            Some(if left { Fault::ReaderLeft } else { Fault::Failed(Error::Write(self.name, error)) });
    }

    fn fail(&mut self, error: Error, store: &mut Store) {
        self.sink = None;
        self.fault = Some(Fault::Failed(error));
        self.end(store);
    }

    fn end(&mut self, store: &mut Store) {
        self.close_input();
        self.queue.clear(store);
    }
}
