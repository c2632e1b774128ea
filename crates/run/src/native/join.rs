//! Parallel inputs: drives a join kernel and passes its output through the kernels after it.

use super::elastic::{self, Elastic};
use super::out::Out;
use super::source::{self, Source};
use pelton_commands::io_errors::{Caller, STDIO_BUFFER_BYTES};
use pelton_stream::{
    Chain, Complaint, Fed, Flow, InputKind, Interruption, Joined, Programs, Sink, Survival, block_bytes,
};
use std::collections::VecDeque;
use std::io::Write;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;

/// A join kernel, its inputs, and its output that is not passed on yet.
pub struct JoinReader {
    caller: Caller,
    /// The status after an input that could not be read to its end.
    failed: Option<i32>,
    join: Joined,
    sources: Vec<Source>,
    printed: Vec<u8>,
    /// How much of `printed` has been passed on.
    passed: usize,
    complaints: VecDeque<Complaint>,
    /// Whether the next kernel's input has begun.
    open: bool,
    /// Whether the next kernel needs no more.
    ended: bool,
    /// How far it outlives its reader, if it does.
    survival: Option<Survival>,
    /// Whether it goes on although its reader has ended.
    unread: bool,
    elastic: Arc<Elastic>,
    /// The real command of each kernel, by link.
    itself: Vec<Option<Arc<dyn Programs>>>,
}

impl JoinReader {
    /// Makes the reader. Nothing has been read yet.
    pub fn new(join: Joined, sources: Vec<Source>, caller: Caller) -> Self {
        let (printed, complaints) = (Vec::new(), VecDeque::new());
        let (open, ended) = (false, false);
        let elastic = Arc::new(Elastic::new());
        JoinReader {
            caller,
            failed: None,
            join,
            sources,
            printed,
            passed: 0,
            complaints,
            open,
            ended,
            survival: None,
            unread: false,
            elastic,
            itself: Vec::new(),
        }
    }

    /// Sets the real command of each kernel.
    pub fn asking(self, itself: Vec<Option<Arc<dyn Programs>>>) -> Self {
        JoinReader { itself, ..self }
    }

    /// Lets it go on after its reader has ended, as far as the real command would.
    pub fn outliving_its_reader(self, outlives: bool) -> Self {
        JoinReader { survival: outlives.then(|| Survival::new(STDIO_BUFFER_BYTES as u64)), ..self }
    }

    /// Returns the exit status, once the run is over.
    pub fn status(&self) -> i32 {
        self.join.status()
    }

    /// Returns the status after an input that could not be read to its end.
    pub fn failed(&self) -> Option<i32> {
        self.failed
    }

    /// Reads until everything has ended or a later kernel falls back.
    pub fn drive(&mut self, chain: &mut Chain, out: &mut Out) -> Fed {
        chain.attach(&elastic::resources(&self.elastic), &self.itself);
        chain.begin(&[InputKind::Other], out)?;
        if !std::mem::replace(&mut self.open, true) {
            chain.begin_input(None, out)?;
        }
        let mut block = vec![0; block_bytes()];
        // After an interruption, output may be left.
        self.pass_on(chain, out)?;
        while let Some(input) = self.join.wants().filter(|_| !self.ended) {
            match self.read(input, &mut block, out) {
                Ok(0) => self.join.end_input(input, &mut self.printed),
                Ok(n) => self.join.push(input, &block[..n], &mut self.printed),
                Err(error) => {
                    let name = self.sources[input].name.as_deref();
                    let unreadable = self.caller.read_error(name, &error);
                    (self.failed, self.ended) = (Some(unreadable.status), true);
                    let _ = std::io::stderr().write_all(unreadable.message.as_bytes());
                    break;
                }
            }
            self.complaints.extend(self.join.messages());
            self.pass_on(chain, out)?;
        }
        chain.end_input(out)?;
        chain.finish(out)
    }

    /// Reads from this input. Writes pending output before blocking on a slow input.
    fn read(&mut self, input: usize, block: &mut [u8], out: &mut Out) -> std::io::Result<usize> {
        let source = &mut self.sources[input];
        let regular = source.is_regular();
        let file = source.opened()?;
        if !regular && out.holds_any() && !source::comes_soon(file.as_fd(), out) {
            out.let_out();
        }
        source::read_range(file, block)
    }

    /// Passes output to the next kernel, and every diagnostic to standard error at its position.
    fn pass_on(&mut self, chain: &mut Chain, out: &mut Out) -> Fed {
        while !self.ended {
            let end = self.complaints.front().map_or(self.printed.len(), |complaint| complaint.at);
            if self.passed < end {
                let piece = std::mem::replace(&mut self.passed, end)..end;
                self.ended = !self.print(piece, chain, out)?;
                continue;
            }
            let Some(complaint) = self.complaints.pop_front() else { break };
            if chain.is_empty() {
                // As error(3) does.
                out.flush();
            }
            let _ = std::io::stderr().write_all(&complaint.text);
        }
        self.printed.clear();
        self.passed = 0;
        Ok(Flow::More)
    }
    /// Passes a piece of its output on, if anyone reads it. Returns whether it goes on.
    fn print(
        &mut self,
        piece: Range<usize>,
        chain: &mut Chain,
        out: &mut Out,
    ) -> Result<bool, Vec<Interruption>> {
        if let Some(survival) = &mut self.survival {
            survival.prints(piece.len());
        }
        // The next kernel reads one pipe: requesting another input means it is done.
        if !self.unread && chain.push(&self.printed[piece], out)? == Flow::More {
            return Ok(true);
        }
        let survival = self.survival.as_mut().filter(|_| !chain.is_empty());
        let goes_on = survival.is_some_and(|survival| {
            survival.loses_reader();
            survival.lasts()
        });
        if goes_on && !std::mem::replace(&mut self.unread, true) {
            out.close();
        }
        Ok(goes_on)
    }
}
