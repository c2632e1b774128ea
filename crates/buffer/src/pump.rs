//! Moves all bytes of all streams, until everything is delivered.

use crate::Error;
use crate::channel::{Channel, Fault};
use crate::disk::RETRY_NS;
use crate::store::Store;
use crate::tally::Progress;
use pelton_record::BufferedStream;
use pelton_sys::flow::{self, For, Readiness};
use pelton_sys::signals::Requests;
use pelton_sys::wait::{self, Ended};
use pelton_sys::{clock, pidfd, spawn, stdio};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The second interrupt drops all held data.
const INTERRUPT: i32 = 2;

/// Descriptors of a writer and a reader, owned by this process.
#[derive(Debug)]
pub struct Ends {
    /// `stdin`, `stdout` or `stderr`.
    pub name: &'static str,
    /// Descriptor to read from.
    pub input: OwnedFd,
    /// Descriptor to write to.
    pub output: OwnedFd,
}

/// A command whose output is buffered.
#[derive(Debug)]
pub struct Child {
    /// Its process id.
    pub pid: u32,
    /// Whether to end with the command, and leave held data to a background process.
    pub detach: bool,
}

/// Receives progress reports.
pub trait Watch {
    /// Returns the interval in nanoseconds between calls of [`progress`](Watch::progress); `None` for never.
    fn every_ns(&self) -> Option<u64>;
    /// Reports progress.
    fn progress(&mut self, progress: &Progress);
    /// Reports that the disk is full, and why. The writer then waits for the reader.
    fn disk_is_full(&mut self, reason: &io::Error);
}

/// Settings of a pump.
pub struct Setting<'a> {
    /// The memory and the disk.
    pub store: Store,
    /// The command, if one is run.
    pub child: Option<Child>,
    /// Signals that ask this process to end.
    pub requests: &'a Requests,
    /// Receives progress reports.
    pub watch: &'a mut dyn Watch,
}

/// The result of a pump.
#[derive(Debug, Default)]
pub struct Finish {
    /// The counts of each stream, in the order of the ends.
    pub streams: Vec<BufferedStream>,
    /// All errors.
    pub errors: Vec<Error>,
    /// The signal that requested the end. No data read before was lost, except by a second interrupt.
    pub request: Option<i32>,
    /// How the command ended.
    pub child: Option<Ended>,
    /// Whether a background process delivers the rest, and this one must exit at once.
    pub detached: bool,
    /// Duration of the run.
    pub wall_ns: u64,
    /// Peak of memory used.
    pub memory_peak_bytes: u64,
    /// Peak of disk space used.
    pub disk_peak_bytes: u64,
    /// How often the disk was full.
    pub disk_full: u64,
}

/// Moves bytes from every writer to its reader, until all writers have ended and everything is delivered.
///
/// # Errors
/// If the buffer cannot be set up. Later errors are in [`Finish::errors`].
pub fn pump(ends: Vec<Ends>, setting: Setting<'_>) -> Result<Finish, Error> {
    let channel = |ends: Ends| Channel::new(ends.name, ends.input, ends.output).map_err(Error::Resources);
    let channels = ends.into_iter().map(channel).collect::<Result<_, _>>()?;
    let started_ns = clock::now_ns();
    let child = setting.child.map(|child| Running { pidfd: pidfd::open(child.pid), child });
    let next_tick_ns = setting.watch.every_ns().map(|every| started_ns + every);
    let (store, requests, watch) = (setting.store, setting.requests, setting.watch);
    let mut pump = Pump {
        channels,
        store,
        child,
        requests,
        watch,
        started_ns,
        next_tick_ns,
        given_up: false,
        leaving: false,
        finish: Finish::default(),
    };
    while !pump.is_done() {
        pump.turn().map_err(Error::Resources)?;
    }
    pump.end().map_err(Error::Resources)
}

/// Indices of the events for a writer's end and a reader's end, if they are waited for.
type Places = [Option<usize>; 2];

struct Running {
    child: Child,
    pidfd: Option<OwnedFd>,
}

struct Pump<'a> {
    channels: Vec<Channel>,
    store: Store,
    child: Option<Running>,
    requests: &'a Requests,
    watch: &'a mut dyn Watch,
    started_ns: u64,
    next_tick_ns: Option<u64>,
    /// Whether it was interrupted twice.
    given_up: bool,
    /// Whether to detach as soon as possible.
    leaving: bool,
    finish: Finish,
}

impl Pump<'_> {
    fn is_done(&self) -> bool {
        // A child without a pidfd is reaped at the end.
        let child_runs = self.child.as_ref().is_some_and(|child| child.pidfd.is_some());
        self.given_up || self.finish.detached || (!child_runs && self.channels.iter().all(Channel::is_done))
    }

    /// Waits for events, and handles them.
    fn turn(&mut self) -> io::Result<()> {
        let now = clock::now_ns();
        self.tick(now);
        let timeout = self.timeout_ns(now);
        let (ready, pairs) = self.wait(timeout, now)?;
        if ready[0].ready {
            self.take_requests();
        }
        let now = clock::now_ns();
        for (channel, pair) in self.channels.iter_mut().zip(&pairs) {
            let [input, room] = pair.map(|at| at.map_or(Readiness::default(), |at| ready[at]));
            channel.react(input, room, &mut self.store, now);
        }
        if let Some(reason) = self.store.disk.take_reason() {
            self.watch.disk_is_full(&reason);
        }
        if self.child.is_some() && ready.get(1).is_some_and(|child| child.ready) {
            self.end_child()?;
        }
        if self.leaving {
            self.leave()?;
        }
        Ok(())
    }

    /// Waits for requests, the child, and the channels. Returns the events, and the index pairs of the
    /// channels.
    fn wait(&mut self, timeout: Option<u64>, now: u64) -> io::Result<(Vec<Readiness>, Vec<Places>)> {
        let mut wanted: Vec<(BorrowedFd<'_>, For)> = vec![(self.requests.as_fd(), For::Input)];
        let pidfd = self.child.as_ref().and_then(|child| child.pidfd.as_ref());
        // Without a child, an event that never occurs takes its place.
        wanted.push(pidfd.map_or((self.requests.as_fd(), For::Loss), |fd| (fd.as_fd(), For::Input)));
        let mut pairs = Vec::with_capacity(self.channels.len());
        for channel in &mut self.channels {
            pairs.push(channel.wants(&mut self.store, now).map(|want| {
                want.map(|want| {
                    wanted.push(want);
                    wanted.len() - 1
                })
            }));
        }
        Ok((flow::wait(&wanted, timeout)?, pairs))
    }

    fn timeout_ns(&mut self, now: u64) -> Option<u64> {
        let deadlines = self.channels.iter().filter_map(Channel::deadline_ns).chain(self.next_tick_ns);
        let soonest = deadlines.min().map(|at| at.saturating_sub(now));
        let retry = self.store.disk.is_full().then_some(RETRY_NS);
        soonest.into_iter().chain(retry).min()
    }

    fn tick(&mut self, now: u64) {
        let (Some(due), Some(every)) = (self.next_tick_ns, self.watch.every_ns()) else { return };
        if now >= due {
            self.next_tick_ns = Some(due.max(now.saturating_sub(every)) + every);
            let progress = self.progress(now);
            self.watch.progress(&progress);
        }
    }

    fn progress(&mut self, now: u64) -> Progress {
        Progress {
            elapsed_ns: now.saturating_sub(self.started_ns),
            memory_bytes: self.store.memory_used(),
            disk_bytes: self.store.disk.used_bytes(),
            disk_is_full: self.store.disk.is_full(),
            streams: self.channels.iter().map(|channel| channel.progress(now)).collect(),
        }
    }

    /// Handles signals. A stage stops reading and delivers what it holds. A command gets the signal, and its
    /// remaining output is delivered.
    fn take_requests(&mut self) {
        for signal in self.requests.taken() {
            self.given_up |= signal == INTERRUPT && self.finish.request == Some(INTERRUPT);
            self.finish.request = Some(signal);
            match &self.child {
                // A terminal sends it to the command too.
                Some(_) if signal == INTERRUPT => {}
                Some(running) => pelton_sys::signals::send(running.child.pid, signal),
                None => self.channels.iter_mut().for_each(Channel::close_input),
            }
        }
    }

    fn end_child(&mut self) -> io::Result<()> {
        let Some(running) = self.child.take() else { return Ok(()) };
        let (ended, _) = wait::reap(running.child.pid)?;
        self.finish.child = Some(ended);
        self.leaving = running.child.detach;
        Ok(())
    }

    /// After the command's end: forks a copy of this process that delivers the rest, so that the caller need
    /// not wait. A copy has no threads, so writing threads (standard error into a file, say) must have ended
    /// first.
    fn leave(&mut self) -> io::Result<()> {
        let left = self.channels.iter().any(|channel| !channel.is_done());
        if !left || self.channels.iter().any(Channel::has_thread) {
            return Ok(());
        }
        self.leaving = false;
        match spawn::fork_copy() {
            Ok(None) => stdio::set_stdin(flow::null()?.as_fd())?,
            Ok(Some(_)) => self.finish.detached = true,
            // If the fork fails, this process stays.
            Err(_) => {}
        }
        Ok(())
    }

    fn end(mut self) -> io::Result<Finish> {
        if let Some(running) = self.child.take()
            && !self.given_up
        {
            self.finish.child = Some(wait::reap(running.child.pid)?.0);
        }
        let now = clock::now_ns();
        let progress = self.progress(now);
        self.finish.streams = progress.streams.into_iter().map(|stream| stream.counts).collect();
        let faults = self.channels.iter_mut().filter_map(Channel::take_fault);
        self.finish.errors = faults
            .filter_map(|fault| match fault {
                Fault::Failed(error) => Some(error),
                Fault::ReaderLeft => None,
            })
            .collect();
        self.finish.wall_ns = progress.elapsed_ns;
        self.finish.memory_peak_bytes = self.store.memory_peak();
        self.finish.disk_peak_bytes = self.store.disk.used_max_bytes();
        self.finish.disk_full = self.store.disk.full_count();
        Ok(self.finish)
    }
}
