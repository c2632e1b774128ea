//! Kernels in a row, in one thread: each block goes through all of them while it is in cache.
//!
//! ```text
//!   driver ── push(block) ──► kernel 0 ── out ──► frame ──► kernel 1 ── out ──► … ──► Sink
//! ```
//!
//! Between two kernels the bytes are framed again, as the second kernel requires. A kernel that is done ends
//! everything before it. A fallback is reported with the bytes that the real command must get.
//!
//! A fallback interrupts a call: upstream kernels may have bytes not yet pushed and inputs not yet ended.
//! Each link keeps what is still to be delivered, so that the driver just repeats the interrupted call.

use crate::{
    Flow, Framing, HandOver, InputKind, IoControl, Kernel, Notice, Outcome, Parallel, PlainFile, Programs,
    Resources, StatusAfter,
};
use memchr::{memchr, memrchr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The destination of the last kernel's output.
pub trait Sink {
    /// Takes bytes. Returns [`Flow::Done`] if the reader has gone.
    fn take(&mut self, bytes: &[u8]) -> Flow;

    /// Takes diagnostics for standard error. The default drops them.
    fn complain(&mut self, _text: &[u8]) {}

    /// Writes what is buffered. Returns [`Flow::Done`] if the reader has gone.
    fn flush(&mut self) -> Flow {
        Flow::More
    }

    /// Returns a buffer to which a kernel may append directly instead of [`take`](Sink::take). The sink then
    /// always takes more.
    fn room(&mut self) -> Option<&mut Vec<u8>> {
        None
    }

    /// Ends the output, although kernels before the last one go on ([`Chain::outlive_readers`]).
    fn close(&mut self) {}
}

impl Sink for Vec<u8> {
    fn take(&mut self, bytes: &[u8]) -> Flow {
        self.extend_from_slice(bytes);
        Flow::More
    }
}

/// A kernel fell back (see [`crate::HandOver`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// The index of the kernel.
    pub link: usize,
    /// What the real command must get first, before further output of the kernels before it.
    pub rest: Vec<u8>,
    /// The reason.
    pub reason: &'static str,
    /// The exit status that the real command's becomes.
    pub status: StatusAfter,
}

/// `Err`: one or several kernels fell back, the last of the chain first.
pub type Fed = Result<Flow, Vec<Interruption>>;

/// A row of kernels.
pub struct Chain {
    pub(crate) links: Vec<Link>,
}

pub(crate) struct Link {
    index: usize,
    pub(crate) kernel: Box<dyn Kernel>,
    /// Whether the kernel has an [`IoControl`]: most have none, and are asked nothing after each call.
    controls_io: bool,
    /// The incomplete last record.
    pending: Vec<u8>,
    /// The output buffer, reused.
    out: Vec<u8>,
    /// Whether [`Notice::Inputs`] was sent.
    begun: bool,
    input: Input,
    /// Whether it takes no more input.
    ended: bool,
    /// Whether its last push left output pending ([`Flow::Pending`]).
    has_pending_output: bool,
    /// Whether its reader has gone and it continues all the same (`ignores_epipe`).
    unread: bool,
    /// How far it outlives its reader, if it does ([`Chain::outlive_readers`]).
    survival: Option<Survival>,
    /// The batch size in bytes, if it is slow per record.
    piece_bytes: usize,
}

/// The first and smallest batch for a slow kernel: the usual stdio buffer of a C library.
const PIECE_BYTES: usize = 4096;
/// The batch grows if it takes less than the first time, and shrinks above the second.
const PIECE_TIME: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(8)];

/// How far a command goes on after its reader has ended: until it writes to the pipe once more.
#[derive(Clone, Copy, Debug)]
pub struct Survival {
    /// The size of its output buffer, in bytes: 0 if it writes at once.
    buffer: u64,
    /// Bytes printed so far, read or not.
    printed: u64,
    /// How many of them the reader took, once it has ended.
    taken: Option<u64>,
    /// How many were written when the reader had them. The next write fails.
    delivered: Option<u64>,
}

impl Survival {
    /// Makes that of a command which writes when a buffer of this many bytes is full.
    pub fn new(buffer: u64) -> Self {
        Survival { buffer, printed: 0, taken: None, delivered: None }
    }

    /// Counts printed bytes.
    pub fn prints(&mut self, bytes: usize) {
        self.printed += bytes as u64;
        self.deliver();
    }

    /// Notes that the reader ends with what was printed so far.
    pub fn loses_reader(&mut self) {
        self.taken.get_or_insert(self.printed);
        self.deliver();
    }

    /// Whether the command has not written since its reader ended.
    pub fn lasts(&self) -> bool {
        self.delivered.is_none_or(|delivered| self.written() <= delivered)
    }

    fn deliver(&mut self) {
        if self.taken.is_some_and(|taken| self.written() >= taken) {
            self.delivered.get_or_insert(self.written());
        }
    }

    /// A full buffer is written when more comes.
    fn written(&self) -> u64 {
        match self.buffer {
            0 => self.printed,
            buffer => self.printed.saturating_sub(1) / buffer * buffer,
        }
    }
}

/// The state of a kernel's current input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Open,
    /// The kernel needs no more of it, but `end_input` was not called.
    Enough,
    /// `end_input` was called.
    Ended,
}

impl Chain {
    /// Connects kernels, left to right. [`begin`](Chain::begin) sets the inputs of the first one.
    pub fn new(kernels: Vec<Box<dyn Kernel>>) -> Self {
        Chain { links: kernels.into_iter().enumerate().map(Link::new).collect() }
    }

    /// Sets the inputs of the first kernel and starts the others, which read one pipe each. Skips kernels
    /// that have begun.
    pub fn begin(&mut self, kinds: &[InputKind], sink: &mut dyn Sink) -> Fed {
        for i in (0..self.links.len()).rev() {
            let (link, rest) = self.links[i..].split_first_mut().expect("i is a link");
            if std::mem::replace(&mut link.begun, true) {
                continue;
            }
            if i == 0 {
                link.kernel.notice(Notice::Inputs(kinds));
            } else {
                link.kernel.notice(Notice::Inputs(&[InputKind::Other]));
                link.say(|kernel, out| kernel.begin_input(None, out), rest, sink)?;
            }
        }
        Ok(Flow::More)
    }

    /// Sets the kind of the first kernel's next input, if [`begin`](Chain::begin) did not.
    pub fn set_input(&mut self, kind: InputKind) {
        if let Some(first) = self.links.first_mut() {
            first.kernel.notice(Notice::NextInput(kind));
        }
    }

    /// Tells the first kernel that its input could not be read to its end, before [`end_input`](Chain::end_input).
    pub fn input_is_unreadable(&mut self) {
        if let Some(first) = self.links.first_mut() {
            first.kernel.notice(Notice::UnreadableInput);
        }
    }

    /// Grants these resources to all kernels. `itself` has the real command of each kernel
    /// ([`Resources::itself`]).
    pub fn attach(&mut self, resources: &Resources, itself: &[Option<Arc<dyn Programs>>]) {
        for (at, link) in self.links.iter_mut().enumerate() {
            let itself = itself.get(at).cloned().flatten();
            link.kernel.notice(Notice::Resources(&Resources { itself, ..resources.clone() }));
        }
    }

    /// Ends all threads of the kernels before a fork.
    pub fn detach(&mut self) {
        self.links.iter_mut().for_each(|link| link.kernel.notice(Notice::ProcessFork));
    }

    /// Starts an input of the first kernel.
    pub fn begin_input(&mut self, name: Option<&[u8]>, sink: &mut dyn Sink) -> Fed {
        match self.links.split_first_mut() {
            Some((link, rest)) => {
                link.input = Input::Open;
                link.say(|kernel, out| kernel.begin_input(name, out), rest, sink)
            }
            None => Ok(Flow::More),
        }
    }

    /// Whether the first kernel takes the current input from its end (see [`IoControl::reads_backwards`]).
    pub fn reads_backwards(&mut self) -> bool {
        let first = self.links.first_mut().filter(|link| !link.ended);
        first.and_then(Link::io_control).is_some_and(|io| io.reads_backwards())
    }

    /// Pushes the bytes of one read, cut anywhere, to the first kernel.
    pub fn push(&mut self, block: &[u8], sink: &mut dyn Sink) -> Fed {
        push(&mut self.links, block, sink)
    }

    /// Announces the bytes of one read to the first kernel, before [`feed`](Chain::feed) pushes them.
    pub fn arrives(&mut self, block: &[u8]) {
        if let Some(link) = self.links.first_mut() {
            link.arrives(block);
        }
    }

    /// Pushes a piece of an announced read to the first kernel.
    pub fn feed(&mut self, piece: &[u8], sink: &mut dyn Sink) -> Fed {
        feed(&mut self.links, piece, sink)
    }

    /// Lets the first kernel read part of a regular file itself, from `at`, where its input stands, to at
    /// most `end`. Returns the new position, or `None` if it requests a block.
    pub fn read_range(
        &mut self,
        file: &dyn PlainFile,
        at: u64,
        end: u64,
        sink: &mut dyn Sink,
    ) -> (Option<u64>, Fed) {
        let Some((link, rest)) = self.links.split_first_mut() else { return (None, Ok(Flow::More)) };
        // An incomplete record is read again.
        let Some(from) = at.checked_sub(link.pending.len() as u64).filter(|_| link.reads_on()) else {
            return (None, Ok(Flow::More));
        };
        let mut taken = 0;
        let call = |kernel: &mut dyn Kernel, _: &mut Vec<u8>| {
            let flow;
            let io = kernel.io_control();
            (taken, flow) = io.map_or((0, Flow::More), |io| io.read_range(file, from..end));
            Ok(flow)
        };
        let fed = link.step(call, &[], rest, sink);
        if taken > 0 {
            link.pending.clear();
        }
        ((taken > 0).then_some(from + taken), fed)
    }

    /// Whether the first kernel prefers to read by itself (see [`IoControl::prefers_reading_itself`]).
    pub fn prefers_reading_itself(&mut self, bytes: u64) -> bool {
        let first = self.links.first_mut().filter(|link| link.reads_on());
        first.and_then(Link::io_control).is_some_and(|io| io.prefers_reading_itself(bytes))
    }

    /// Pushes a block to the kernel with this index, as if the kernel before it had printed it. The index
    /// after the last kernel is the sink.
    pub fn push_from(&mut self, link: usize, block: &[u8], sink: &mut dyn Sink) -> Fed {
        push(&mut self.links[link..], block, sink)
    }

    /// Ends the first kernel's current input. Call it again after a fallback.
    pub fn end_input(&mut self, sink: &mut dyn Sink) -> Fed {
        let Some((link, rest)) = self.links.split_first_mut() else { return Ok(Flow::More) };
        if link.ended {
            return Ok(Flow::Done);
        }
        link.end_input(rest, sink)
    }

    /// Ends all inputs of the first kernel and finishes the chain. After a fallback, call it again on the
    /// rest of the chain.
    pub fn finish(&mut self, sink: &mut dyn Sink) -> Fed {
        let Some((link, rest)) = self.links.split_first_mut() else { return Ok(Flow::Done) };
        link.finish(rest, sink)
    }

    /// Kills the first kernel: it prints nothing more, and the kernels after it see the end of their input.
    pub fn break_off(&mut self) {
        if let Some(link) = self.links.first_mut() {
            link.pending.clear();
            link.ended = true;
        }
    }

    /// Splits the kernels from `link` on off the chain, to be driven elsewhere. What fed them now feeds the
    /// sink.
    pub fn split_off(&mut self, link: usize) -> Chain {
        let mut links = self.links.split_off(link);
        for (index, link) in links.iter_mut().enumerate() {
            link.index = index;
        }
        Chain { links }
    }

    /// Lets kernels go on after the one behind them has ended, as far as their commands would: a program that feeds the
    /// chain can tell. `buffers` has the size of each command's output buffer in bytes, 0 for one that writes at once.
    pub fn outlive_readers(&mut self, buffers: &[u64]) {
        let all = self.links.len().saturating_sub(1);
        for (link, buffer) in self.links[..all].iter_mut().zip(buffers) {
            link.survival = Some(Survival::new(*buffer));
        }
    }

    /// Returns how many kernels went on although their readers had ended.
    pub fn unread(&self) -> usize {
        self.links.iter().filter(|link| link.unread).count()
    }

    /// Ends kernels with their readers from now on: so much comes at once that how far the commands would go on depends on
    /// the moment.
    pub fn end_with_readers(&mut self) {
        self.links.iter_mut().for_each(|link| link.survival = None);
    }

    /// Announces to the last kernel that standard output is `/dev/null`.
    pub fn output_is_discarded(&mut self) {
        if let Some(last) = self.links.last_mut() {
            last.kernel.notice(Notice::DiscardedOutput);
        }
    }

    /// Tells the kernels which files the pass reads and prints to.
    pub fn uses_files(&mut self, files: &[(u64, u64)]) {
        for link in &mut self.links {
            link.kernel.notice(Notice::FilesInUse(files));
        }
    }

    /// Returns the number of kernels.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether the chain has no kernels: blocks then pass unchanged.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Returns the exit status of each kernel, once the run is over.
    pub fn statuses(&self) -> Vec<i32> {
        self.links.iter().map(|link| link.kernel.status()).collect()
    }
}

/// Pushes the bytes of one read to the first of `links`.
fn push(links: &mut [Link], block: &[u8], sink: &mut dyn Sink) -> Fed {
    if let Some(link) = links.first_mut() {
        link.arrives(block);
    }
    feed(links, block, sink)
}

/// Pushes `block` to the first of `links`, framed as its kernel requires.
fn feed(links: &mut [Link], block: &[u8], sink: &mut dyn Sink) -> Fed {
    let Some((link, rest)) = links.split_first_mut() else { return Ok(sink.take(block)) };
    if link.ended {
        return Ok(Flow::Done);
    }
    if link.input != Input::Open {
        // It returned this before a downstream fallback.
        return if link.index > 0 { link.close(rest, sink) } else { Ok(Flow::NextInput) };
    }
    match link.kernel.framing() {
        Framing::Bytes => push_bytes(link, block, rest, sink),
        Framing::Records(end) => push_records(link, end, block, rest, sink),
    }
}

/// Drains pending output first: a downstream fallback may have interrupted it.
fn push_bytes(link: &mut Link, block: &[u8], rest: &mut [Link], sink: &mut dyn Sink) -> Fed {
    if link.has_pending_output {
        link.pending.extend_from_slice(block);
        let flow = link.pay(rest, sink)?;
        let block = std::mem::take(&mut link.pending);
        return if flow == Flow::More { push_bytes(link, &block, rest, sink) } else { Ok(flow) };
    }
    let flow = match link.pass_on(block, rest, sink) {
        Some(passed) => passed?,
        None => link.step(|kernel, out| kernel.push(block, out), &[block], rest, sink)?,
    };
    if flow == Flow::More { link.pay(rest, sink) } else { Ok(flow) }
}

fn push_records(link: &mut Link, end: u8, block: &[u8], rest: &mut [Link], sink: &mut dyn Sink) -> Fed {
    let Some(last) = memrchr(end, block) else {
        link.pending.extend_from_slice(block);
        return Ok(Flow::More);
    };
    let (mut whole, tail) = block.split_at(last + 1);
    if !link.pending.is_empty() {
        // Only the incomplete record is copied; the rest of the block is used in place.
        let first = memchr(end, whole).map_or(whole.len(), |i| i + 1);
        let mut record = std::mem::take(&mut link.pending);
        record.extend_from_slice(&whole[..first]);
        whole = &whole[first..];
        let flow = link.step(|kernel, out| kernel.push(&record, out), &[&record, whole, tail], rest, sink);
        record.clear();
        link.pending = record;
        if link.is_interrupted(&flow) {
            link.pending.extend([whole, tail].concat());
        }
        let flow = flow?;
        if flow != Flow::More {
            return Ok(flow);
        }
    }
    while !whole.is_empty() {
        let (piece, later) = whole.split_at(link.piece_of(whole, end));
        let begun = link.is_slow_per_record().then(Instant::now);
        let flow = link.step(|kernel, out| kernel.push(piece, out), &[piece, later, tail], rest, sink);
        if link.is_interrupted(&flow) {
            link.pending.extend([later, tail].concat());
        }
        let flow = flow?;
        if flow != Flow::More {
            return Ok(flow);
        }
        begun.into_iter().for_each(|begun| link.measure(begun.elapsed()));
        whole = later;
    }
    link.pending.extend_from_slice(tail);
    Ok(Flow::More)
}

impl Link {
    fn new((index, mut kernel): (usize, Box<dyn Kernel>)) -> Self {
        let (pending, out) = (Vec::new(), Vec::new());
        Link {
            index,
            controls_io: kernel.io_control().is_some(),
            kernel,
            pending,
            out,
            begun: false,
            input: Input::Open,
            ended: false,
            has_pending_output: false,
            unread: false,
            survival: None,
            piece_bytes: PIECE_BYTES,
        }
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        if self.controls_io { self.kernel.io_control() } else { None }
    }

    pub(crate) fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        self.kernel.parallel()
    }

    fn is_slow_per_record(&mut self) -> bool {
        self.io_control().is_some_and(|io| io.is_slow_per_record())
    }

    fn requires_flush(&mut self) -> bool {
        self.io_control().is_some_and(|io| io.requires_flush())
    }

    fn ignores_epipe(&mut self) -> bool {
        self.survival.is_some_and(|survival| survival.lasts())
            || self.io_control().is_some_and(|io| io.ignores_epipe())
    }

    fn prints(&mut self, bytes: usize) {
        if let Some(survival) = &mut self.survival {
            survival.prints(bytes);
        }
    }

    /// Returns the length of the next batch of these records: at least one record.
    fn piece_of(&mut self, records: &[u8], end: u8) -> usize {
        if records.len() <= self.piece_bytes || !self.is_slow_per_record() {
            return records.len();
        }
        let last = memrchr(end, &records[..self.piece_bytes]).or_else(|| memchr(end, records));
        last.map_or(records.len(), |last| last + 1)
    }

    fn measure(&mut self, took: Duration) {
        if took < PIECE_TIME[0] {
            self.piece_bytes = self.piece_bytes.saturating_mul(2);
        } else if took > PIECE_TIME[1] {
            self.piece_bytes = (self.piece_bytes / 2).max(PIECE_BYTES);
        }
    }

    fn arrives(&mut self, block: &[u8]) {
        if self.reads_on() && matches!(self.kernel.framing(), Framing::Records(_)) {
            self.kernel.notice(Notice::Arrival(block));
        }
    }

    /// Whether it takes blocks.
    pub(crate) fn reads_on(&self) -> bool {
        !self.ended && self.input == Input::Open
    }

    /// Whether a downstream kernel fell back and this one continues: its unpushed input must be kept.
    fn is_interrupted(&self, fed: &Fed) -> bool {
        fed.is_err() && self.reads_on()
    }

    /// Calls the kernel where only its output matters.
    fn say(
        &mut self,
        call: impl FnOnce(&mut dyn Kernel, &mut Vec<u8>),
        rest: &mut [Link],
        sink: &mut dyn Sink,
    ) -> Fed {
        self.step(
            |kernel, out| {
                call(kernel, out);
                Ok(Flow::More)
            },
            &[],
            rest,
            sink,
        )
    }

    /// Calls the kernel once and passes its output on. `given` is the input of the call and what follows it:
    /// on fallback, the unconsumed rest goes to the real command.
    fn step(
        &mut self,
        call: impl FnOnce(&mut dyn Kernel, &mut Vec<u8>) -> Outcome,
        given: &[&[u8]],
        rest: &mut [Link],
        sink: &mut dyn Sink,
    ) -> Fed {
        let mut out = std::mem::take(&mut self.out);
        let room = if rest.is_empty() && !self.unread { sink.room() } else { None };
        let outcome = call(self.kernel.as_mut(), room.unwrap_or(&mut out));
        self.prints(out.len());
        let passed = match self.unread {
            true => Ok(if self.ignores_epipe() { Flow::More } else { Flow::Done }),
            false if out.is_empty() => Ok(Flow::More),
            false => push(rest, &out, sink),
        };
        let passed = self.after_call(passed, out, sink);
        let flow = match outcome {
            Ok(flow) => flow,
            Err(hand_over) => return Err(self.interrupt(hand_over, given, passed)),
        };
        // Recorded before a downstream fallback is reported: the driver must not call this kernel again.
        self.has_pending_output = flow == Flow::Pending;
        match flow {
            Flow::Done => self.ended = true,
            Flow::NextInput if self.input == Input::Open => self.input = Input::Enough,
            _ => {}
        }
        if passed? == Flow::Done && !self.goes_on_unread(rest.is_empty(), sink) {
            return Ok(Flow::Done);
        }
        match flow {
            Flow::Done => {
                end(rest, sink)?;
                Ok(Flow::Done)
            }
            Flow::NextInput if self.index > 0 => self.close(rest, sink),
            Flow::Pending => Ok(Flow::More),
            flow => Ok(flow),
        }
    }

    /// Ends the kernel, which fell back. Returns all interruptions of the call.
    fn interrupt(&mut self, hand_over: HandOver, given: &[&[u8]], passed: Fed) -> Vec<Interruption> {
        let HandOver { consumed, unconsumed: mut rest, reason, status } = hand_over;
        rest.extend_from_slice(&given.concat()[consumed..]);
        self.ended = true;
        let mut all = passed.err().unwrap_or_default();
        all.push(Interruption { link: self.index, rest, reason, status });
        all
    }

    /// Passes on a piece of `block` that the kernel prints unchanged. `None`: the kernel did nothing.
    fn pass_on(&mut self, block: &[u8], rest: &mut [Link], sink: &mut dyn Sink) -> Option<Fed> {
        if self.unread {
            return None;
        }
        let mut out = std::mem::take(&mut self.out);
        let Some(piece) = self.io_control().and_then(|io| io.pass_on(block, &mut out)) else {
            self.out = out;
            return None;
        };
        let mut piece = &block[piece];
        if !out.is_empty() && !rest.is_empty() {
            // A downstream kernel may fall back. It gets everything at once, as nothing would keep the piece
            // meanwhile.
            out.extend_from_slice(std::mem::take(&mut piece));
        }
        self.prints(out.len() + piece.len());
        let mut passed = if out.is_empty() { Ok(Flow::More) } else { push(rest, &out, sink) };
        if passed == Ok(Flow::More) && !piece.is_empty() {
            passed = push(rest, piece, sink);
        }
        Some(match self.after_call(passed, out, sink) {
            Ok(Flow::Done) if self.goes_on_unread(rest.is_empty(), sink) => Ok(Flow::More),
            passed => passed,
        })
    }

    /// Flushes and reports diagnostics after a call whose output was passed on. Keeps `out` for reuse.
    fn after_call(&mut self, passed: Fed, mut out: Vec<u8>, sink: &mut dyn Sink) -> Fed {
        let passed = match passed {
            Ok(Flow::More) if !self.unread && self.requires_flush() => Ok(sink.flush()),
            passed => passed,
        };
        out.clear();
        self.out = out;
        let said = self.kernel.messages();
        if !said.is_empty() {
            sink.complain(&said);
        }
        passed
    }

    /// Whether this kernel continues although its reader has gone. If not, it ends, as with EPIPE. The chain then prints no
    /// more.
    fn goes_on_unread(&mut self, is_last: bool, sink: &mut dyn Sink) -> bool {
        if let Some(survival) = &mut self.survival {
            survival.loses_reader();
        }
        let goes_on = !self.ended && self.ignores_epipe();
        if goes_on && !self.unread && !is_last {
            sink.close();
        }
        self.unread |= goes_on;
        self.ended |= !goes_on;
        goes_on
    }

    /// Drains the kernel's pending output.
    fn pay(&mut self, rest: &mut [Link], sink: &mut dyn Sink) -> Fed {
        while self.has_pending_output && !self.ended {
            let pending = std::mem::take(&mut self.pending);
            let fed = self.step(|kernel, out| kernel.push(&[], out), &[&pending], rest, sink);
            self.pending = pending;
            let flow = fed?;
            if flow != Flow::More {
                return Ok(flow);
            }
        }
        Ok(Flow::More)
    }

    /// Pushes a last record that lacks its terminator.
    fn flush(&mut self, rest: &mut [Link], sink: &mut dyn Sink) -> Fed {
        if self.pay(rest, sink)? == Flow::Done {
            return Ok(Flow::Done);
        }
        if self.pending.is_empty() {
            return Ok(Flow::More);
        }
        let record = std::mem::take(&mut self.pending);
        self.step(|kernel, out| kernel.push(&record, out), &[&record], rest, sink)
    }

    /// Calls the kernel's `end_input`, once per input.
    fn end_input(&mut self, rest: &mut [Link], sink: &mut dyn Sink) -> Fed {
        if self.flush(rest, sink)? == Flow::Done {
            return Ok(Flow::Done);
        }
        if std::mem::replace(&mut self.input, Input::Ended) == Input::Ended {
            return Ok(Flow::More);
        }
        // A function pointer: a closure's type would contain itself.
        let end: fn(&mut dyn Kernel, &mut Vec<u8>) -> Outcome = |kernel, out| kernel.end_input(out);
        self.step(end, &[], rest, sink)
    }

    /// Ends its only input, or the rest that it does not need, and finishes it.
    fn close(&mut self, rest: &mut [Link], sink: &mut dyn Sink) -> Fed {
        if self.end_input(rest, sink)? == Flow::Done {
            return Ok(Flow::Done);
        }
        self.finish(rest, sink)
    }

    /// Finishes the kernel, and ends all that follow it.
    fn finish(&mut self, rest: &mut [Link], sink: &mut dyn Sink) -> Fed {
        while !self.ended {
            self.step(|kernel, out| kernel.finish(out), &[], rest, sink)?;
        }
        // Already ended, unless a fallback interrupted it.
        end(rest, sink)
    }
}

/// Ends the input of the first of `links`.
fn end(links: &mut [Link], sink: &mut dyn Sink) -> Fed {
    let Some((link, rest)) = links.split_first_mut() else { return Ok(Flow::Done) };
    if link.ended {
        // The later links have ended too, unless a fallback interrupted that.
        return end(rest, sink);
    }
    if link.end_input(rest, sink)? == Flow::Done {
        return Ok(Flow::Done);
    }
    link.finish(rest, sink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;

    /// Upper-cases lines; falls back at a line that begins with `!`, is done after one that begins with `.`.
    struct Upper {
        lines: usize,
    }

    impl Kernel for Upper {
        fn framing(&self) -> Framing {
            Framing::Records(b'\n')
        }

        fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
            let mut at = 0;
            for line in block.split_inclusive(|b| *b == b'\n') {
                match line[0] {
                    b'!' => return Err(HandOver::at(at, "a mark")),
                    b'.' => return Ok(Flow::Done),
                    _ => {}
                }
                self.lines += 1;
                out.extend(line.iter().map(u8::to_ascii_uppercase));
                at += line.len();
            }
            Ok(Flow::More)
        }

        fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
            out.extend_from_slice(format!("={}\n", self.lines).as_bytes());
            Ok(Flow::Done)
        }

        fn status(&self) -> i32 {
            self.lines as i32
        }
    }

    fn chain(n: usize) -> Chain {
        Chain::new((0..n).map(|_| Box::new(Upper { lines: 0 }) as Box<dyn Kernel>).collect())
    }

    fn run(n: usize, input: &[u8], block: usize) -> (Vec<u8>, Vec<i32>, Option<Vec<Interruption>>) {
        let mut chain = chain(n);
        let mut sink = Vec::new();
        let result = (|| {
            chain.begin(&[InputKind::Other], &mut sink)?;
            chain.begin_input(None, &mut sink)?;
            for block in input.chunks(block) {
                if chain.push(block, &mut sink)? == Flow::Done {
                    return Ok(());
                }
            }
            chain.end_input(&mut sink)?;
            chain.finish(&mut sink)?;
            Ok(())
        })();
        (sink, chain.statuses(), result.err())
    }

    #[test]
    fn frames_between_kernels_whatever_the_blocks() {
        for block in [1, 2, 3, 7, 100] {
            let (out, statuses, interrupted) = run(2, b"ab\ncd\nlast", block);
            // The first kernel's count joins the last line, which had no terminator: the second counts three
            // lines.
            assert_eq!(out, b"AB\nCD\nLAST=3\n=3\n", "blocks of {block}");
            assert_eq!((statuses, interrupted), (vec![3, 3], None));
        }
    }

    #[test]
    fn one_that_wants_no_more_ends_all() {
        for block in [1, 4, 100] {
            let (out, statuses, _) = run(2, b"ab\n.\ncd\n", block);
            assert_eq!(out, b"AB\n=1\n", "blocks of {block}");
            assert_eq!(statuses, [1, 1]);
        }
    }

    #[test]
    fn commands_outlive_their_readers_until_they_write_again() {
        // Each line is 3 bytes, and the last kernel ends after the second one.
        for (buffers, lines) in [([0, 0], 4), ([4, 0], 6), ([0, 4], 6), ([4, 4], 7), ([16, 0], 11)] {
            let mut chain = chain(3);
            let mut sink = Vec::new();
            chain.outlive_readers(&buffers);
            chain.begin(&[InputKind::Other], &mut sink).unwrap();
            chain.begin_input(None, &mut sink).unwrap();
            assert_eq!(chain.push(b"ab\n", &mut sink), Ok(Flow::More));
            chain.links[2].ended = true;
            let taken = (2..100).find(|_| chain.push(b"ab\n", &mut sink) == Ok(Flow::Done));
            assert_eq!(taken, Some(lines), "{buffers:?}");
        }
    }

    #[test]
    fn a_hand_over_tells_what_is_left() {
        for block in [1, 4, 100] {
            let (out, _, interrupted) = run(1, b"ab\n!x\ncd\nef", block);
            let interruption = &interrupted.expect("interrupted")[0];
            assert_eq!(out, b"AB\n");
            assert_eq!(interruption.link, 0);
            let given = b"ab\n!x\ncd\nef".chunks(block).collect::<Vec<_>>();
            let seen: usize = given
                .iter()
                .map(|b| b.len())
                .scan(0, |sum, n| {
                    *sum += n;
                    Some(*sum)
                })
                .find(|sum| *sum >= 6)
                .unwrap_or(0);
            assert_eq!(interruption.rest, b"!x\ncd\nef"[..seen - 3]);
        }
    }

    /// Passes lines on with a mark, and prints when an input begins, when it ends, and when all end.
    struct Teller {
        lines: usize,
        /// Requests the next input after this many lines.
        enough: usize,
    }

    impl Kernel for Teller {
        fn framing(&self) -> Framing {
            Framing::Records(b'\n')
        }

        fn notice(&mut self, notice: Notice<'_>) {
            if let Notice::Inputs(_) = notice {
                self.lines = 0;
            }
        }

        fn begin_input(&mut self, _name: Option<&[u8]>, out: &mut Vec<u8>) {
            self.lines = 0;
            out.extend_from_slice(b"<");
        }

        fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
            for line in block.split_inclusive(|b| *b == b'\n') {
                if self.lines == self.enough {
                    return Ok(Flow::NextInput);
                }
                self.lines += 1;
                out.push(b'.');
                out.extend(line);
            }
            Ok(Flow::More)
        }

        fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
            out.extend_from_slice(b">\n");
            Ok(Flow::More)
        }

        fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
            out.extend_from_slice(b"end\n");
            Ok(Flow::Done)
        }

        fn io_control(&mut self) -> Option<&mut dyn IoControl> {
            Some(self)
        }
    }

    impl IoControl for Teller {
        fn is_slow_per_record(&mut self) -> bool {
            self.enough % 2 == 1
        }
    }

    /// Passes this many bytes on, and then falls back.
    struct Refuses {
        after: usize,
    }

    impl Kernel for Refuses {
        fn framing(&self) -> Framing {
            Framing::Bytes
        }

        fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
            let consumed = block.len().min(self.after);
            out.extend_from_slice(&block[..consumed]);
            self.after -= consumed;
            if consumed < block.len() { Err(HandOver::at(consumed, "enough")) } else { Ok(Flow::More) }
        }
    }

    /// Returns the output if a copying command replaces the last kernel as soon as it falls back.
    fn driven(mut chain: Chain, inputs: &[&[u8]], block: usize) -> Vec<u8> {
        let mut sink = Vec::new();
        let mut again = |chain: &mut Chain, call: &dyn Fn(&mut Chain, &mut Vec<u8>) -> Fed| loop {
            match call(chain, &mut sink) {
                Ok(flow) => return flow,
                Err(interruptions) => {
                    for stop in interruptions {
                        chain.split_off(stop.link);
                        sink.extend_from_slice(&stop.rest);
                    }
                }
            }
        };
        again(&mut chain, &|chain, sink| chain.begin(&[InputKind::Other], sink));
        for input in inputs {
            // Neither call is repeated: its input was delivered.
            let once = std::cell::Cell::new(false);
            let told =
                |chain: &mut Chain, sink: &mut Vec<u8>, call: &dyn Fn(&mut Chain, &mut Vec<u8>) -> Fed| {
                    if once.replace(true) { Ok(Flow::More) } else { call(chain, sink) }
                };
            again(&mut chain, &|chain, sink| told(chain, sink, &|chain, sink| chain.begin_input(None, sink)));
            for piece in input.chunks(block) {
                once.set(false);
                let flow = again(&mut chain, &|chain, sink| {
                    told(chain, sink, &|chain, sink| chain.push(piece, sink))
                });
                if flow != Flow::More {
                    break;
                }
            }
            again(&mut chain, &|chain, sink| chain.end_input(sink));
        }
        again(&mut chain, &|chain, sink| chain.finish(sink));
        sink
    }

    #[test]
    fn nothing_is_lost_or_told_twice_where_a_kernel_further_on_hands_over() {
        let inputs: &[&[u8]] = &[b"ab\n\ncd\nlast", b"x\ny\n", b"", b"no end"];
        for (tellers, enough) in [(1, 9), (2, 9), (3, 9), (1, 1), (2, 3), (3, 3), (2, 0)] {
            for block in [1, 3, 6, 100] {
                let with = |after: usize| {
                    let teller = |_| Box::new(Teller { lines: 0, enough }) as Box<dyn Kernel>;
                    let refuses = Box::new(Refuses { after }) as Box<dyn Kernel>;
                    driven(Chain::new((0..tellers).map(teller).chain([refuses]).collect()), inputs, block)
                };
                let whole = with(usize::MAX);
                for after in 0..whole.len() {
                    let (got, whole) =
                        (with(after).escape_ascii().to_string(), whole.escape_ascii().to_string());
                    assert_eq!(
                        got, whole,
                        "{tellers} kernels that want {enough}, blocks of {block}, {after} bytes"
                    );
                }
            }
        }
    }

    #[test]
    fn an_empty_chain_passes_bytes() {
        assert_eq!(run(0, b"ab\ncd", 2).0, b"ab\ncd");
    }

    /// Prints `<` and all but the last byte of each block, which it passes on or copies.
    struct AllButLast {
        passes: bool,
    }

    impl Kernel for AllButLast {
        fn framing(&self) -> Framing {
            Framing::Bytes
        }

        fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
            out.push(b'<');
            out.extend_from_slice(&block[..block.len() - 1]);
            Ok(Flow::More)
        }

        fn io_control(&mut self) -> Option<&mut dyn IoControl> {
            Some(self)
        }
    }

    impl IoControl for AllButLast {
        fn pass_on(&mut self, block: &[u8], out: &mut Vec<u8>) -> Option<Range<usize>> {
            self.passes.then(|| {
                out.push(b'<');
                0..block.len() - 1
            })
        }
    }

    #[test]
    fn a_piece_is_passed_on_as_if_it_were_printed() {
        for input in [&b"a\nbc\nd"[..], b"ab\n!c\nd\ne\n", b"a\n.b\nc\n", b"\n\n\n\n!\n\n"] {
            for block in 1..=input.len() {
                for behind in [0, 1] {
                    let of = |passes| {
                        let mut kernels: Vec<Box<dyn Kernel>> = vec![Box::new(AllButLast { passes })];
                        kernels.extend((0..behind).map(|_| Box::new(Upper { lines: 0 }) as Box<dyn Kernel>));
                        let mut chain = Chain::new(kernels);
                        let mut sink = Vec::new();
                        let mut fed = chain.begin(&[InputKind::Other], &mut sink);
                        let mut blocks = input.chunks(block);
                        while let (Ok(Flow::More), Some(block)) = (&fed, blocks.next()) {
                            fed = chain.push(block, &mut sink);
                        }
                        (sink, fed)
                    };
                    assert_eq!(of(true), of(false), "{input:?} {block} {behind}");
                }
            }
        }
    }
}
