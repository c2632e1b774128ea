//! The worker process: it drives the kernels of a segment to their end.

use super::Native;
use super::out::{self, Out};
use super::reader::{Drive, Reader, drive};
use pelton_stream::{Chain, InputKind};
use pelton_sys::wait;
use std::fs::File;
use std::io::Write;

/// In the worker process.
pub struct Worker {
    pub(super) native: Native,
    statuses: File,
    /// Real commands and copies that took over: process, and the stage whose status its exit is, if any.
    pub(super) children: Vec<(u32, Option<usize>)>,
}

impl Worker {
    /// Ready to run; `statuses` is where it tells them.
    pub fn new(native: Native, statuses: File) -> Self {
        Worker { native, statuses, children: Vec::new() }
    }

    /// The exit status of the last stage.
    pub fn run(&mut self) -> i32 {
        let kernels = self.native.nodes.iter_mut().filter_map(|node| node.kernel.take()).collect();
        let mut chain = Chain::new(kernels);
        let mut out = match Out::stdout() {
            Ok(out) => out,
            Err(_) => return 127,
        };
        let kinds: Vec<InputKind> = self.native.sources.iter().map(|source| source.kind).collect();
        let mut reader = Reader { sources: std::mem::take(&mut self.native.sources), at: 0, open: false };
        let begun = chain.begin(&kinds, &mut out);
        let mut state = match begun {
            Ok(_) => drive(&mut chain, &mut reader, &mut out),
            Err(interruptions) => Drive::Interrupted(interruptions),
        };
        while let Drive::Interrupted(interruptions) = state {
            for interruption in interruptions {
                match self.hand_over(&mut chain, interruption, &mut out) {
                    Ok(()) => {}
                    Err(_) => return 127,
                }
            }
            state = drive(&mut chain, &mut reader, &mut out);
        }
        self.end(&chain, out)
    }

    pub(super) fn end(&mut self, chain: &Chain, mut out: Out) -> i32 {
        out.flush();
        let failed = out.error.take();
        drop(out);
        let mut last = 0;
        for (i, status) in chain.statuses().into_iter().enumerate() {
            let stage = self.native.nodes[i].stages.end - 1;
            last = status;
            self.tell(stage, status);
        }
        // A broken pipe is no error but an end, as SIGPIPE would have made it.
        if let Some(error) = failed.filter(|error| error.kind() != std::io::ErrorKind::BrokenPipe) {
            let (message, status) = out::write_failure(&self.native.last_name, &error);
            let _ = std::io::stderr().write_all(message.as_bytes());
            last = status;
            self.tell(self.native.stages.end - 1, last);
        }
        for (pid, stage) in std::mem::take(&mut self.children) {
            let status = wait::reap(pid).map_or(127, |(ended, _)| ended.status());
            if let Some(stage) = stage {
                self.tell(stage, status);
            }
            last = status;
        }
        last
    }

    fn tell(&mut self, stage: usize, status: i32) {
        let mut message = (stage as u32).to_ne_bytes().to_vec();
        message.extend_from_slice(&status.to_ne_bytes());
        // A parent that is gone asks nothing.
        let _ = self.statuses.write_all(&message);
    }
}
