//! One stream: a writer, a queue, a reader.
//!
//! While nothing is held, bytes are spliced from pipe to pipe: that needs no copy, and a fast reader gets
//! them as if there were no buffer. Once the reader blocks the writer for [`STALL_NS_MAX`] at once, or for
//! more than a share of the time, bytes go through the queue until it is empty again.

use crate::Error;
use crate::queue::{Queue, Taken};
use crate::sink::Sink;
use crate::store::Store;
use crate::tally::{StreamProgress, Tally};
use pelton_sys::flow::{self, For, Kind, Readiness};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How long the reader may block the writer before bytes go through the queue. Where cores are scarce, a
/// reader that is only runnable looks slow for a few milliseconds, and copying would slow it further.
const STALL_NS_MAX: u64 = 10_000_000;
/// The same limit for the sum of many short stalls, less a part of the time between them.
const DEBT_NS_MAX: u64 = 20_000_000;
/// The divisor that gives that part.
const DEBT_PAID_BY: u64 = 2;
/// Maximum bytes per splice.
const SPLICE_BYTES: usize = 1 << 20;
/// Requested capacity of the pipes at both ends: larger pipes need fewer system calls and block less often.
const PIPE_BYTES: usize = 256 * 1024;

/// Why a stream ended early.
#[derive(Debug)]
pub enum Fault {
    /// The reader closed its end.
    ReaderLeft,
    /// Reading or writing failed.
    Failed(Error),
}

/// How bytes pass through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Spliced. `stalled_since_ns`: when the reader's pipe became full.
    Passing { stalled_since_ns: Option<u64> },
    /// Read into the queue and written from it.
    Holding,
}

/// One stream.
#[derive(Debug)]
pub struct Channel {
    name: &'static str,
    /// `None` after its end.
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
    /// Connects `input` to `output`. Both are closed at the end.
    ///
    /// # Errors
    /// If the type of a descriptor cannot be determined, or no pipe or thread can be made.
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

    /// Whether all input was delivered.
    pub fn is_done(&self) -> bool {
        self.sink.is_none()
    }

    /// Whether a separate thread writes the output.
    pub fn has_thread(&self) -> bool {
        self.sink.as_ref().is_some_and(Sink::has_thread)
    }

    /// Stops reading.
    pub fn close_input(&mut self) {
        self.input = None;
        self.mode = Mode::Holding;
    }

    /// Takes the error, if there is one.
    pub fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    /// Returns the current counts.
    pub fn progress(&self, now_ns: u64) -> StreamProgress {
        let reader_left = matches!(self.fault, Some(Fault::ReaderLeft));
        let counts = self.tally.stream(self.name, reader_left, now_ns);
        StreamProgress { held_bytes: self.queue.held(), counts }
    }

    /// Returns the events to wait for at the writer's end and at the reader's end.
    pub fn wants(&mut self, store: &mut Store, now_ns: u64) -> [Option<(BorrowedFd<'_>, For)>; 2] {
        let stalled = matches!(self.mode, Mode::Passing { stalled_since_ns: Some(_) });
        let has_room = self.input.is_some() && self.queue.has_room(store);
        self.tally.full.set(self.input.is_some() && !has_room, now_ns);
        // Reading a file never blocks, so there is no need to hold more of it.
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

    /// Returns the time at which [`react`](Self::react) is due even without an event.
    pub fn deadline_ns(&self) -> Option<u64> {
        let Mode::Passing { stalled_since_ns: Some(since) } = self.mode else { return None };
        Some(since + STALL_NS_MAX.min(DEBT_NS_MAX.saturating_sub(self.debt_ns)))
    }

    /// Does everything possible without blocking.
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
            // If there is an error, reading or writing will report it.
            Err(_) => {
                self.can_pass = false;
                self.mode = Mode::Holding;
            }
        }
        Ok(())
    }

    /// Ends a stall if there is room again or the deadline has passed.
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
            match pelton_sys::spare_capacity::into(input.as_fd(), into) {
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
            // Data read before the error is still delivered.
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

    /// Closes the sink after the last byte. A writing thread may still be busy.
    fn close(&mut self) {
        if !self.sink.as_mut().is_some_and(Sink::close) {
            self.finish();
        }
    }

    /// Finishes the sink after everything was delivered.
    fn finish(&mut self) {
        let written = self.sink.take().map_or(Ok(()), Sink::finish);
        if let Err(error) = written {
            self.note_lost(error);
        }
    }

    /// Handles a reader that closed, or a writing thread that failed: only finishing the sink tells which.
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
