//! Moving everything, until all has gone.

use crate::Error;
use crate::channel::{Channel, Fault};
use crate::disk::RETRY_NS;
use crate::store::Store;
use crate::tally::Progress;
use pelton_record::BufferedStream;
use pelton_sys::flow::{self, For, Readiness};
use pelton_sys::signals::Requests;
use pelton_sys::wait::{self, Ended};
use pelton_sys::{clock, spawn, stdio};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Interrupted twice, it gives up what it holds.
const INTERRUPT: i32 = 2;

/// A writer's end and a reader's, both of this process alone.
#[derive(Debug)]
pub struct Ends {
    /// `stdin`, `stdout` or `stderr`.
    pub name: &'static str,
    /// Where bytes come from.
    pub input: OwnedFd,
    /// Where they go.
    pub output: OwnedFd,
}

/// A command whose output is held.
#[derive(Debug)]
pub struct Child {
    /// Its process id.
    pub pid: u32,
    /// Whether to end when it ends, and to leave what is held to a process in the background.
    pub detach: bool,
}

/// Who is told how it goes.
pub trait Watch {
    /// How often [`progress`](Watch::progress) wants to be called, in nanoseconds; `None` for never.
    fn every_ns(&self) -> Option<u64>;
    /// How things stand.
    fn progress(&mut self, progress: &Progress);
    /// The disk has no room, for this reason; the writer waits for the reader now.
    fn disk_is_full(&mut self, reason: &io::Error);
}

/// What is to be pumped, and who is watched and told.
pub struct Setting<'a> {
    /// The room there is.
    pub store: Store,
    /// A command, if one is run.
    pub child: Option<Child>,
    /// Signals that ask this process to end.
    pub requests: &'a Requests,
    /// Told how it goes.
    pub watch: &'a mut dyn Watch,
}

/// How it ended.
#[derive(Debug, Default)]
pub struct Finish {
    /// What went through, in the order of the ends.
    pub streams: Vec<BufferedStream>,
    /// What went wrong.
    pub errors: Vec<Error>,
    /// The signal that asked for the end. Nothing that was taken before was lost, unless it was interrupted twice.
    pub request: Option<i32>,
    /// How the command ended.
    pub child: Option<Ended>,
    /// A process in the background delivers the rest; this one is to end at once.
    pub detached: bool,
    /// From the start to the end.
    pub wall_ns: u64,
    /// The most memory taken.
    pub memory_peak_bytes: u64,
    /// The most disk taken.
    pub disk_peak_bytes: u64,
    /// How often the disk had no room.
    pub disk_full: u64,
}

/// Moves bytes from every writer to its reader, until all writers have ended and everything has arrived.
///
/// # Errors
/// If the buffer cannot be set up. What goes wrong later is in [`Finish::errors`].
pub fn pump(ends: Vec<Ends>, setting: Setting<'_>) -> Result<Finish, Error> {
    let channel = |ends: Ends| Channel::new(ends.name, ends.input, ends.output).map_err(Error::Resources);
    let channels = ends.into_iter().map(channel).collect::<Result<_, _>>()?;
    let started_ns = clock::now_ns();
    let child = setting.child.map(|child| Running { pidfd: spawn::pidfd(child.pid), child });
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

/// Where the answers for a writer's end and for a reader's end are, if they were asked for.
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
    /// Interrupted twice.
    given_up: bool,
    /// To be detached as soon as it can be.
    leaving: bool,
    finish: Finish,
}

impl Pump<'_> {
    fn is_done(&self) -> bool {
        // A child without a pidfd is waited for at the end.
        let child_runs = self.child.as_ref().is_some_and(|child| child.pidfd.is_some());
        self.given_up || self.finish.detached || (!child_runs && self.channels.iter().all(Channel::is_done))
    }

    /// Waits for anything, and does what can be done.
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

    /// Waits for requests, the child, and then each channel; says where each channel's two answers are.
    fn wait(&mut self, timeout: Option<u64>, now: u64) -> io::Result<(Vec<Readiness>, Vec<Places>)> {
        let mut wanted: Vec<(BorrowedFd<'_>, For)> = vec![(self.requests.as_fd(), For::Input)];
        let pidfd = self.child.as_ref().and_then(|child| child.pidfd.as_ref());
        // Something that is never ready keeps the place of a child that is not there.
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

    /// A stage takes nothing more, and delivers what it has. A command is told, and what it still says is delivered.
    fn take_requests(&mut self) {
        for signal in self.requests.taken() {
            self.given_up |= signal == INTERRUPT && self.finish.request == Some(INTERRUPT);
            self.finish.request = Some(signal);
            match &self.child {
                // From a terminal it has come to the command as well.
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

    /// The command has ended: a copy of this process delivers what is left, so that whoever waits need not. No copy has
    /// threads, so those that write (standard error into a file, say) must have ended first.
    fn leave(&mut self) -> io::Result<()> {
        let left = self.channels.iter().any(|channel| !channel.is_done());
        if !left || self.channels.iter().any(Channel::has_thread) {
            return Ok(());
        }
        self.leaving = false;
        match spawn::fork_copy() {
            Ok(None) => stdio::set_stdin(flow::null()?.as_fd())?,
            Ok(Some(_)) => self.finish.detached = true,
            // Where no process can be had, this one stays.
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
