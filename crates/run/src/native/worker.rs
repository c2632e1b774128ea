//! The worker process, which drives the kernels of a segment to their end.

use super::elastic;
use super::feed::Feed;
use super::files::Files;
use super::join::JoinReader;
use super::meter;
use super::out::Out;
use super::reader::Reader;
use super::segment::Native;
use pelton_commands::io_errors::WriteFailure;
use pelton_stream::{Chain, Fed, Sink, StatusAfter};
use pelton_sys::{signals, startup, wait};
use std::fs::File;
use std::io::Write;

/// xargs's statuses for a command that failed, and for one killed by a signal.
const COMMAND_FAILED: i32 = 123;
const COMMAND_KILLED: i32 = 125;

/// The state of the worker process.
pub struct Worker {
    pub(super) native: Native,
    /// The pipe for status reports, if the parent reads them.
    statuses: Option<File>,
    /// Real commands and copies that took over.
    pub(super) children: Vec<Successor>,
    /// The stage that reads several inputs in parallel, if there is one.
    join_stage: Option<usize>,
}

/// A process that took over.
pub(super) struct Successor {
    pub(super) pid: u32,
    /// The stage whose status its exit is, if any.
    pub(super) stage: Option<usize>,
    /// The stage's exit status, given that of the process.
    pub(super) status: StatusAfter,
}

impl Worker {
    /// Makes a worker that reports to `statuses`, if given.
    pub fn new(native: Native, statuses: Option<File>) -> Self {
        Worker { native, statuses, children: Vec::new(), join_stage: None }
    }

    /// Runs the segment. Returns the exit status of the last stage.
    pub fn run(&mut self) -> i32 {
        elastic::give_way_as_asked();
        let kernels = self.native.nodes.iter_mut().filter_map(|node| node.kernel.take()).collect();
        let mut chain = Chain::new(kernels);
        if self.native.last_runs.is_some() {
            // EPIPE ends the program it runs, and xargs then reports that.
            signals::ignore_sigpipe();
        }
        let Ok(mut out) = Out::stdout() else { return 127 };
        out.ignores_epipe = self.native.last_copies;
        out.holds_back = self.native.holds_back;
        out.is_unbuffered = !self.native.keeps_output();
        out.is_overtaken = self.native.last_overtakes;
        if self.native.outlives_readers {
            let buffers: Vec<_> = self.native.nodes.iter().map(|node| node.buffer_bytes).collect();
            chain.outlive_readers(&buffers);
        }
        let files = || self.native.members.iter().map(|stage| &stage.files);
        if files().any(|files| files.kernel_writes) {
            let in_use: Vec<_> = files().flat_map(Files::identities_read).chain(out.identity()).collect();
            chain.uses_files(&in_use);
        }
        if out.is_null() {
            chain.output_is_discarded();
        }
        let sources = self.native.take_sources();
        let mut feed = match self.native.join.take() {
            Some((stage, join)) => {
                self.join_stage = Some(stage);
                let reader = JoinReader::new(join, sources, self.native.first().clone());
                let outlives = self.native.outlives_readers;
                Feed::SideBySide(reader.outliving_its_reader(outlives).asking(self.native.itself()))
            }
            None => {
                let reader = Reader::new(sources, self.native.first().clone());
                Feed::InTurn(
                    reader
                        .reading_at_most(self.native.reads_at_most)
                        .starting(self.native.starts.clone())
                        .asking(self.native.itself()),
                )
            }
        };
        let driven = feed.drive(&mut chain, &mut out);
        self.finish(driven, &mut feed, chain, out)
    }

    /// Starts real commands where kernels fall back, until all input is read.
    pub(super) fn finish(&mut self, driven: Fed, feed: &mut Feed, mut chain: Chain, mut out: Out) -> i32 {
        let mut driven = driven;
        while let Err(interruptions) = driven {
            for interruption in interruptions {
                if self.hand_over(&mut chain, interruption, &mut out).is_err() {
                    return 127;
                }
            }
            driven = feed.drive(&mut chain, &mut out);
        }
        self.end(feed, &chain, out)
    }

    fn end(&mut self, feed: &mut Feed, chain: &Chain, mut out: Out) -> i32 {
        out.flush();
        let failed = out.failure.take();
        if self.native.outlives_readers {
            out.close();
            feed.take_what_pipes_would_hold(chain.unread());
        }
        drop(out);
        let mut last = 0;
        if let (Some(stage), Feed::SideBySide(join)) = (self.join_stage, &*feed) {
            last = join.status();
            self.tell(stage, last);
        }
        for (i, status) in chain.statuses().into_iter().enumerate() {
            let stage = self.native.nodes[i].stages.end - 1;
            last = status;
            self.tell(stage, status);
        }
        if let Some(status) = feed.failed() {
            // A single stage is the last one too.
            last = if self.native.stages.len() == 1 { status } else { last };
            self.tell(self.native.stages.start, status);
        }
        if let Some((message, status)) = failed.and_then(|failure| self.unwritten(&failure)) {
            let _ = std::io::stderr().write_all(message.as_bytes());
            last = status;
            self.tell(self.native.stages.end - 1, last);
        }
        for Successor { pid, stage, status } in std::mem::take(&mut self.children) {
            let reaped = wait::reap(pid);
            let real = reaped.as_ref().map_or(127, |(ended, _)| ended.status());
            let status = status.given(real);
            if let Some(stage) = stage {
                meter::took_over(stage, reaped.map_or(0, |(_, usage)| usage.user_ns + usage.sys_ns));
                self.tell(stage, status);
            }
            last = status;
        }
        last
    }

    /// Returns the message and status for output that cannot be written. EPIPE is an error if SIGPIPE is ignored.
    /// Otherwise, the stage ends as by SIGPIPE, unless it would start the program that EPIPE ends.
    fn unwritten(&self, failure: &WriteFailure) -> Option<(String, i32)> {
        let broken =
            failure.error.kind() == std::io::ErrorKind::BrokenPipe && !startup::sigpipe_was_ignored();
        if self.native.stages.len() == 1 && self.native.starts.is_some() {
            // The program itself has met the error.
            return None;
        }
        let Some(program) = &self.native.last_runs else {
            return (!broken).then(|| self.native.last().write_error(failure));
        };
        if broken {
            let called = &self.native.last().called;
            return Some((format!("{called}: {program}: terminated by signal 13\n"), COMMAND_KILLED));
        }
        let caller = pelton_commands::caller(program.clone(), self.native.last().messages.clone());
        let (message, _) = caller.write_error(failure);
        Some((message, COMMAND_FAILED))
    }

    fn tell(&mut self, stage: usize, status: i32) {
        let Some(statuses) = &mut self.statuses else { return };
        let mut message = (stage as u32).to_ne_bytes().to_vec();
        message.extend_from_slice(&status.to_ne_bytes());
        // A parent that has exited needs no status.
        let _ = statuses.write_all(&message);
    }
}
