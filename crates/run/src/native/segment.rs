//! A segment of a pipeline: neighbouring stages that one worker runs.

use super::meter::RowNote;
use super::native_stage::NativeStage;
use super::source::Source;
use pelton_commands::io_errors::Caller;
use pelton_stream::{InputKind, Joined, Kernel, Programs};
use pelton_sys::spawn::{Exec, Tie};
use std::ops::Range;
use std::sync::Arc;

/// A segment ready to be run once.
pub struct Native {
    /// The stages it stands for.
    pub stages: Range<usize>,
    /// Their files, redirections and names. Never empty.
    pub(super) members: Vec<NativeStage>,
    /// The stage and kernel that read several inputs in parallel, if the first stage does.
    pub(super) join: Option<(usize, Joined)>,
    pub(super) nodes: Vec<NativeNode>,
    /// Whether the last stage continues for its copies even if its output cannot be written.
    pub(super) last_copies: bool,
    /// Whether output is written when the real command would write it, and no sooner: its reader may end
    /// early, and the status shows it.
    pub(super) holds_back: bool,
    /// Whether what feeds it can tell how long it reads, after a reader has ended: it reads as long as the real commands.
    pub(super) outlives_readers: bool,
    /// Whether the last kernel's messages are written while its output is still buffered.
    pub(super) last_overtakes: bool,
    /// The most bytes that it reads from a pipe at a time, if one of its stages may stop early: a program that feeds it can
    /// tell how much was read by then.
    pub(super) reads_at_most: Option<usize>,
    /// The program that the last stage would start for its input and wait for.
    pub(super) last_runs: Option<String>,
    /// What the first stage itself starts and waits for.
    pub(super) starts: Option<Arc<dyn Programs>>,
    /// Whether the worker, and its replacement, end with this process.
    pub tie: Tie,
    /// A note per node, for the record.
    pub rows: Vec<RowNote>,
}

/// A kernel of a segment.
pub(super) struct NativeNode {
    pub(super) stages: Range<usize>,
    pub(super) kernel: Option<Box<dyn Kernel>>,
    /// The size of its command's output buffer in bytes: 0 if it writes at once.
    pub(super) buffer_bytes: u64,
    pub(super) resume: Vec<(usize, Exec)>,
    /// The real command, or the program it starts, if the kernel may need it.
    pub(super) itself: Option<Arc<dyn Programs>>,
}

impl Native {
    /// Whether it would fill a pipe before its reader looks for more: it reads files, and waits for no program.
    pub(super) fn fills_pipe(&self) -> bool {
        self.starts.is_none() && self.members[0].files.bytes().is_some()
    }

    /// Tells the first stage that it reads a pipe which is always full.
    pub(super) fn expect_full_pipe(&mut self) {
        for source in &mut self.members[0].files.sources {
            if source.kind == InputKind::Other {
                source.kind = InputKind::FullPipe;
            }
        }
    }

    /// Whether one of its commands keeps output until a buffer is full.
    pub(super) fn keeps_output(&self) -> bool {
        self.join.is_some() || self.nodes.iter().any(|node| node.buffer_bytes > 0)
    }

    /// Returns the stage that reads the segment's input, for messages.
    pub(super) fn first(&self) -> &Caller {
        &self.members[0].caller
    }

    /// Returns the stage that writes the segment's output, for messages.
    pub(super) fn last(&self) -> &Caller {
        &self.members[self.members.len() - 1].caller
    }

    /// Takes the segment's input.
    pub(super) fn take_sources(&mut self) -> Vec<Source> {
        std::mem::take(&mut self.members[0].files.sources)
    }

    /// Returns the real command of each kernel, by link.
    pub(super) fn itself(&self) -> Vec<Option<Arc<dyn Programs>>> {
        self.nodes.iter().map(|node| node.itself.clone()).collect()
    }
}
