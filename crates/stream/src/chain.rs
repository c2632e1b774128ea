//! Kernels one behind another, in one thread: each block goes through all of them while it is in cache.
//!
//! ```text
//!   driver ── push(block) ──► kernel 0 ── out ──► frame ──► kernel 1 ── out ──► … ──► Sink
//! ```
//!
//! Between two kernels the bytes are framed anew, as the second one wants them. A kernel that wants no more ends
//! everything before it; one that hands over is reported with the bytes that the real command must get.
//!
//! A hand-over leaves the middle of a call: kernels before the one that handed over have bytes that they were not given
//! yet, inputs that they were not told the end of. Each link keeps what it has still to be told, so that whoever drives
//! just calls again what was interrupted.

use crate::{Flow, Framing, InputKind, Kernel, Outcome, PlainFile, Programs, Resources};
use memchr::{memchr, memrchr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where the last kernel's output goes.
pub trait Sink {
    /// Takes bytes; [`Flow::Done`] if nobody wants any more.
    fn take(&mut self, bytes: &[u8]) -> Flow;

    /// Takes what a kernel says on standard error. One that does not care drops it.
    fn complain(&mut self, _text: &[u8]) {}

    /// Passes on what it has taken and kept; [`Flow::Done`] if nobody wants that.
    fn flush(&mut self) -> Flow {
        Flow::More
    }

    /// Where a kernel may put what it would [`take`](Sink::take), behind what is there: it always wants more then.
    fn room(&mut self) -> Option<&mut Vec<u8>> {
        None
    }
}

impl Sink for Vec<u8> {
    fn take(&mut self, bytes: &[u8]) -> Flow {
        self.extend_from_slice(bytes);
        Flow::More
    }
}

/// A kernel handed over (see [`crate::HandOver`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// Which kernel.
    pub link: usize,
    /// What the real command must get first, before whatever the kernels before it still give.
    pub rest: Vec<u8>,
    /// Why.
    pub reason: &'static str,
}

/// `Err`: one or several kernels handed over, the last of the chain first.
pub type Fed = Result<Flow, Vec<Interruption>>;

/// Kernels one behind another.
pub struct Chain {
    pub(crate) links: Vec<Link>,
}

pub(crate) struct Link {
    index: usize,
    pub(crate) kernel: Box<dyn Kernel>,
    /// The beginning of a record that is not complete yet.
    pending: Vec<u8>,
    /// Reused for what the kernel prints.
    out: Vec<u8>,
    /// It knows what its inputs are.
    begun: bool,
    input: Input,
    /// It wants, or gets, no more.
    ended: bool,
    /// What reads from it has left, and it goes on all the same.
    unread: bool,
    /// It is given so much at once, if it dawdles.
    piece_bytes: usize,
}

/// What one that dawdles is given at first, and at least: as much as a C library collects before it writes.
const PIECE_BYTES: usize = 4096;
/// It is given more if it takes less than this, and less if it takes more.
const PIECE_TIME: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(8)];

/// How far a kernel is with its current input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Open,
    /// It wants no more of it, but has not been told its end.
    Enough,
    /// It has been told its end.
    Ended,
}

impl Chain {
    /// Joins kernels, left to right. The first one's inputs are told by [`begin`](Chain::begin).
    pub fn new(kernels: Vec<Box<dyn Kernel>>) -> Self {
        Chain { links: kernels.into_iter().enumerate().map(Link::new).collect() }
    }

    /// Tells the first kernel what its inputs are, and starts the others, which read one pipe each; those that do not
    /// know it yet.
    pub fn begin(&mut self, kinds: &[InputKind], sink: &mut dyn Sink) -> Fed {
        for i in (0..self.links.len()).rev() {
            let (link, rest) = self.links[i..].split_first_mut().expect("i is a link");
            if std::mem::replace(&mut link.begun, true) {
                continue;
            }
            if i == 0 {
                link.kernel.set_inputs(kinds);
            } else {
                link.kernel.set_inputs(&[InputKind::Other]);
                link.say(|kernel, out| kernel.begin_input(None, out), rest, sink)?;
            }
        }
        Ok(Flow::More)
    }

    /// Tells the first kernel what its next input is, if [`begin`](Chain::begin) did not.
    pub fn set_input(&mut self, kind: InputKind) {
        if let Some(first) = self.links.first_mut() {
            first.kernel.set_input(kind);
        }
    }

    /// All kernels may use this of the machine from now on, and each what starts its own command, if that is there ([`Resources::itself`]).
    pub fn attach(&mut self, means: &Resources, itself: &[Option<Arc<dyn Programs>>]) {
        for (at, link) in self.links.iter_mut().enumerate() {
            let itself = itself.get(at).cloned().flatten();
            link.kernel.attach(&Resources { itself, ..means.clone() });
        }
    }

    /// This process is about to be copied: no kernel may keep a thread.
    pub fn detach(&mut self) {
        self.links.iter_mut().for_each(|link| link.kernel.detach());
    }

    /// An input of the first kernel starts.
    pub fn begin_input(&mut self, name: Option<&[u8]>, sink: &mut dyn Sink) -> Fed {
        match self.links.split_first_mut() {
            Some((link, rest)) => {
                link.input = Input::Open;
                link.say(|kernel, out| kernel.begin_input(name, out), rest, sink)
            }
            None => Ok(Flow::More),
        }
    }

    /// Whether the first kernel wants the input that was begun from its end (see [`Kernel::reads_backwards`]): it is then
    /// given so.
    pub fn reads_backwards(&mut self) -> bool {
        self.links.first_mut().is_some_and(|link| !link.ended && link.kernel.reads_backwards())
    }

    /// Gives the first kernel a block that came at once, cut anywhere.
    pub fn push(&mut self, block: &[u8], sink: &mut dyn Sink) -> Fed {
        push(&mut self.links, block, sink)
    }

    /// The first kernel is about to be given this, which came at once, by [`feed`](Chain::feed).
    pub fn arrives(&mut self, block: &[u8]) {
        if let Some(link) = self.links.first_mut() {
            link.arrives(block);
        }
    }

    /// Gives the first kernel a piece of what came at once.
    pub fn feed(&mut self, piece: &[u8], sink: &mut dyn Sink) -> Fed {
        feed(&mut self.links, piece, sink)
    }

    /// Lets the first kernel read some of a plain file itself, which it has been given up to `at` and which ends at `end`: up to
    /// where it has it then. `None`: it wants a block.
    pub fn read_range(
        &mut self,
        file: &dyn PlainFile,
        at: u64,
        end: u64,
        sink: &mut dyn Sink,
    ) -> (Option<u64>, Fed) {
        let Some((link, rest)) = self.links.split_first_mut() else { return (None, Ok(Flow::More)) };
        // A record that was begun is read again.
        let Some(from) = at.checked_sub(link.pending.len() as u64).filter(|_| link.reads_on()) else {
            return (None, Ok(Flow::More));
        };
        let mut taken = 0;
        let call = |kernel: &mut dyn Kernel, _: &mut Vec<u8>| {
            let flow;
            (taken, flow) = kernel.read_range(file, from..end);
            Ok(flow)
        };
        let fed = link.step(call, &[], rest, sink);
        if taken > 0 {
            link.pending.clear();
        }
        ((taken > 0).then_some(from + taken), fed)
    }

    /// Whether the first kernel would rather read than be given blocks (see [`Kernel::prefers_reading_itself`]).
    pub fn prefers_reading_itself(&self, bytes: u64) -> bool {
        self.links.first().is_some_and(|link| link.reads_on() && link.kernel.prefers_reading_itself(bytes))
    }

    /// Gives a block to the kernel of this index, as if the one before it had printed it. Behind the last one is the
    /// sink.
    pub fn push_from(&mut self, link: usize, block: &[u8], sink: &mut dyn Sink) -> Fed {
        push(&mut self.links[link..], block, sink)
    }

    /// The first kernel's current input ended. After a hand-over it is called again.
    pub fn end_input(&mut self, sink: &mut dyn Sink) -> Fed {
        let Some((link, rest)) = self.links.split_first_mut() else { return Ok(Flow::More) };
        if link.ended {
            return Ok(Flow::Done);
        }
        link.end_input(rest, sink)
    }

    /// All inputs of the first kernel ended, or it wants no more: everything is brought to its end. After a hand-over
    /// it is called again, on what is left of the chain.
    pub fn finish(&mut self, sink: &mut dyn Sink) -> Fed {
        let Some((link, rest)) = self.links.split_first_mut() else { return Ok(Flow::Done) };
        link.finish(rest, sink)
    }

    /// The first kernel dies where it is: it prints nothing more, and those behind it see the end of their input.
    pub fn break_off(&mut self) {
        if let Some(link) = self.links.first_mut() {
            link.pending.clear();
            link.ended = true;
        }
    }

    /// Takes the kernels from `link` on out of the chain, to be driven elsewhere: what fed them now feeds the sink.
    pub fn split_off(&mut self, link: usize) -> Chain {
        let mut links = self.links.split_off(link);
        for (index, link) in links.iter_mut().enumerate() {
            link.index = index;
        }
        Chain { links }
    }

    /// Standard output is `/dev/null`.
    pub fn output_is_discarded(&mut self) {
        if let Some(last) = self.links.last_mut() {
            last.kernel.output_is_discarded();
        }
    }

    /// What the status of the first kernel's command is after a hand-over, given that of the real one.
    pub fn status_after(&self, real: i32) -> i32 {
        self.links.first().map_or(real, |link| link.kernel.status_after(real))
    }

    /// How many kernels there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether there are none: blocks then pass unchanged.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The exit status of each kernel, once all is over.
    pub fn statuses(&self) -> Vec<i32> {
        self.links.iter().map(|link| link.kernel.status()).collect()
    }
}

/// Gives `block`, which comes at once, to the first of `links`.
fn push(links: &mut [Link], block: &[u8], sink: &mut dyn Sink) -> Fed {
    if let Some(link) = links.first_mut() {
        link.arrives(block);
    }
    feed(links, block, sink)
}

/// Gives `block` to the first of `links`, framed as it wants it.
fn feed(links: &mut [Link], block: &[u8], sink: &mut dyn Sink) -> Fed {
    let Some((link, rest)) = links.split_first_mut() else { return Ok(sink.take(block)) };
    if link.ended {
        return Ok(Flow::Done);
    }
    if link.input != Input::Open {
        // It said so before a hand-over further on.
        return if link.index > 0 { link.close(rest, sink) } else { Ok(Flow::NextInput) };
    }
    match link.kernel.framing() {
        Framing::Bytes => push_bytes(link, block, rest, sink),
        Framing::Records(end) => push_records(link, end, block, rest, sink),
    }
}

/// What it owes comes first: a hand-over further on may have come between.
fn push_bytes(link: &mut Link, block: &[u8], rest: &mut [Link], sink: &mut dyn Sink) -> Fed {
    if link.kernel.has_pending_output() {
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
        // Only the record that was begun is put together; the rest of the block is used where it lies.
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
        let begun = link.kernel.is_slow_per_record().then(Instant::now);
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
    fn new((index, kernel): (usize, Box<dyn Kernel>)) -> Self {
        let (pending, out) = (Vec::new(), Vec::new());
        Link {
            index,
            kernel,
            pending,
            out,
            begun: false,
            input: Input::Open,
            ended: false,
            unread: false,
            piece_bytes: PIECE_BYTES,
        }
    }

    /// How much of these records it is given at once: at least one of them.
    fn piece_of(&self, records: &[u8], end: u8) -> usize {
        if records.len() <= self.piece_bytes || !self.kernel.is_slow_per_record() {
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
            self.kernel.arrives(block);
        }
    }

    /// It takes blocks.
    pub(crate) fn reads_on(&self) -> bool {
        !self.ended && self.input == Input::Open
    }

    /// A kernel further on handed over, and this one goes on: what it was not given yet must not be lost.
    fn is_interrupted(&self, fed: &Fed) -> bool {
        fed.is_err() && self.reads_on()
    }

    /// Lets the kernel print something that needs no answer.
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

    /// One call of the kernel, and what it printed passed on. `given` is what the call was given, and what lies
    /// behind it: what is left of that after a hand-over is the real command's.
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
        let passed = match self.unread {
            true if self.kernel.ignores_epipe() => Ok(Flow::More),
            true => Ok(Flow::Done),
            false if out.is_empty() => Ok(Flow::More),
            false => push(rest, &out, sink),
        };
        let passed = self.after_call(passed, out, sink);
        if let Err(hand_over) = outcome {
            let mut left = self.kernel.held();
            left.extend_from_slice(&given.concat()[hand_over.consumed..]);
            self.ended = true;
            let mut all = passed.err().unwrap_or_default();
            all.push(Interruption { link: self.index, rest: left, reason: hand_over.reason });
            return Err(all);
        }
        // Noted before a hand-over further on is reported: whoever drives on must not ask this kernel again.
        match outcome {
            Ok(Flow::Done) => self.ended = true,
            Ok(Flow::NextInput) if self.input == Input::Open => self.input = Input::Enough,
            _ => {}
        }
        if passed? == Flow::Done && !self.goes_on_unread() {
            return Ok(Flow::Done);
        }
        match outcome {
            Ok(Flow::Done) => {
                end(rest, sink)?;
                Ok(Flow::Done)
            }
            Ok(Flow::NextInput) if self.index > 0 => self.close(rest, sink),
            Ok(flow) => Ok(flow),
            Err(_) => Ok(Flow::More),
        }
    }

    /// Passes on a piece of `block`, where the kernel prints just that of it. `None`: it has not been called.
    fn pass_on(&mut self, block: &[u8], rest: &mut [Link], sink: &mut dyn Sink) -> Option<Fed> {
        if self.unread {
            return None;
        }
        let mut out = std::mem::take(&mut self.out);
        let Some(piece) = self.kernel.pass_on(block, &mut out) else {
            self.out = out;
            return None;
        };
        let mut piece = &block[piece];
        if !out.is_empty() && !rest.is_empty() {
            // A kernel further on may hand over: it is given all at once, as nothing would keep the piece meanwhile.
            out.extend_from_slice(std::mem::take(&mut piece));
        }
        let mut passed = if out.is_empty() { Ok(Flow::More) } else { push(rest, &out, sink) };
        if passed == Ok(Flow::More) && !piece.is_empty() {
            passed = push(rest, piece, sink);
        }
        Some(match self.after_call(passed, out, sink) {
            Ok(Flow::Done) if self.goes_on_unread() => Ok(Flow::More),
            passed => passed,
        })
    }

    /// What follows on each call of the kernel, once what it printed was passed on. `out` is used again.
    fn after_call(&mut self, passed: Fed, mut out: Vec<u8>, sink: &mut dyn Sink) -> Fed {
        let passed = match passed {
            Ok(Flow::More) if !self.unread && self.kernel.requires_flush() => Ok(sink.flush()),
            passed => passed,
        };
        out.clear();
        self.out = out;
        let said = self.kernel.complaints();
        if !said.is_empty() {
            sink.complain(&said);
        }
        passed
    }

    /// Whoever reads from this kernel has ended: whether it goes on all the same. Otherwise it has ended as well, as by a
    /// broken pipe.
    fn goes_on_unread(&mut self) -> bool {
        let goes_on = !self.ended && self.kernel.ignores_epipe();
        self.unread |= goes_on;
        self.ended |= !goes_on;
        goes_on
    }

    /// Lets the kernel do what it owes.
    fn pay(&mut self, rest: &mut [Link], sink: &mut dyn Sink) -> Fed {
        while self.kernel.has_pending_output() && !self.ended {
            let pending = std::mem::take(&mut self.pending);
            let fed = self.step(|kernel, out| kernel.go_on(out), &[&pending], rest, sink);
            self.pending = pending;
            let flow = fed?;
            if flow != Flow::More {
                return Ok(flow);
            }
        }
        Ok(Flow::More)
    }

    /// Gives the kernel a last record that lacks its end.
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

    /// Tells the kernel that its current input ended, once.
    fn end_input(&mut self, rest: &mut [Link], sink: &mut dyn Sink) -> Fed {
        if self.flush(rest, sink)? == Flow::Done {
            return Ok(Flow::Done);
        }
        if std::mem::replace(&mut self.input, Input::Ended) == Input::Ended {
            return Ok(Flow::More);
        }
        // A pointer: the type of a closure would contain itself.
        let end: fn(&mut dyn Kernel, &mut Vec<u8>) -> Outcome = |kernel, out| kernel.end_input(out);
        self.step(end, &[], rest, sink)
    }

    /// Its only input ended, or it wants no more of it.
    fn close(&mut self, rest: &mut [Link], sink: &mut dyn Sink) -> Fed {
        if self.end_input(rest, sink)? == Flow::Done {
            return Ok(Flow::Done);
        }
        self.finish(rest, sink)
    }

    /// Lets the kernel print what it held back, and ends all that follow it.
    fn finish(&mut self, rest: &mut [Link], sink: &mut dyn Sink) -> Fed {
        while !self.ended {
            self.step(|kernel, out| kernel.finish(out), &[], rest, sink)?;
        }
        // Done already, unless a hand-over came between.
        end(rest, sink)
    }
}

/// The input of the first of `links` ended.
fn end(links: &mut [Link], sink: &mut dyn Sink) -> Fed {
    let Some((link, rest)) = links.split_first_mut() else { return Ok(Flow::Done) };
    if link.ended {
        // They have ended as well, unless a hand-over came between.
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
    use crate::HandOver;
    use std::ops::Range;

    /// Upper-cases lines; hands over at a line that begins with `!`, wants no more after one that begins with `.`.
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
                    b'!' => return Err(HandOver { consumed: at, reason: "a mark" }),
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
            // The first one's count joins the last line, which had no end: the second counts three lines.
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

    /// Passes lines on with a mark, and says when it is told of an input, of its end, and of the end of all.
    struct Teller {
        lines: usize,
        /// Wants the next input after so many lines.
        enough: usize,
    }

    impl Kernel for Teller {
        fn framing(&self) -> Framing {
            Framing::Records(b'\n')
        }

        fn is_slow_per_record(&self) -> bool {
            self.enough % 2 == 1
        }

        fn set_inputs(&mut self, _kinds: &[InputKind]) {
            self.lines = 0;
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
    }

    /// Passes so many bytes on, and then hands over.
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
            if consumed < block.len() { Err(HandOver { consumed, reason: "enough" }) } else { Ok(Flow::More) }
        }
    }

    /// What comes out if the place of the last kernel is taken by one that copies, as soon as it hands over.
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
            // Neither is called again: what was given is given, and the beginning is told.
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
