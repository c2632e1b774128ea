//! Compares a team with the same chain alone, over inputs and blocks of all sizes.

use super::memory::WorkerOutput;
use super::*;
use crate::{Framing, HandOver, Kernel, Outcome, Parallel, Peer, Sharing, known};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Upper-cases lines, and records whether one has an x; falls back at one that begins with `!`, complains of
/// one that begins with `?`.
#[derive(Default)]
struct Upper {
    shouts: bool,
    said: Vec<u8>,
}

impl Kernel for Upper {
    fn framing(&self) -> Framing {
        Framing::Records(b'\n')
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let mut at = 0;
        for line in block.split_inclusive(|byte| *byte == b'\n') {
            match line[0] {
                b'!' => return Err(HandOver::at(at, "a mark")),
                b'?' => self.said.extend_from_slice(b"what?\n"),
                _ => {}
            }
            self.shouts |= line.contains(&b'x');
            out.extend(line.iter().map(u8::to_ascii_uppercase));
            at += line.len();
        }
        Ok(Flow::More)
    }

    fn messages(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.said)
    }

    fn status(&self) -> i32 {
        i32::from(self.shouts)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl Parallel for Upper {
    fn fork(&mut self) -> Option<Peer> {
        Some(Peer::of_blocks(Upper::default()))
    }

    fn merge(&mut self, peer: Box<dyn Kernel>) {
        self.shouts |= known::<Upper>(peer).expect("its own kind").shouts;
    }
}

/// Drops a byte that equals the previous one.
#[derive(Default)]
struct Squeeze(Option<u8>);

impl Kernel for Squeeze {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        out.extend(block.iter().filter(|byte| self.0.replace(**byte) != Some(**byte)));
        Ok(Flow::More)
    }

    fn notice(&mut self, notice: Notice<'_>) {
        if let Notice::PrecedingByte(last) = notice {
            self.0 = Some(last);
        }
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl Parallel for Squeeze {
    fn fork(&mut self) -> Option<Peer> {
        Some(Peer {
            kernel: Box::new(Squeeze(None)),
            share: Sharing::After,
            whole: None,
            never: None,
            lookahead_bytes: 0,
        })
    }

    fn keeps_records_whole(&mut self, _end: u8) -> bool {
        true
    }
}

/// Prints the sum of all bytes at the end; falls back at a line that begins with `#`.
#[derive(Default)]
struct Sum(u64);

impl Kernel for Sum {
    fn framing(&self) -> Framing {
        Framing::Records(b'\n')
    }

    fn push(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        if block.split(|byte| *byte == b'\n').any(|line| line.first() == Some(&b'#')) {
            return Err(HandOver::at(0, "a number sign"));
        }
        self.0 += block.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        out.extend_from_slice(format!("={}\n", self.0).as_bytes());
        Ok(Flow::Done)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl Parallel for Sum {
    fn fork(&mut self) -> Option<Peer> {
        Some(Peer::of_fold(Sum::default()))
    }

    fn merge(&mut self, peer: Box<dyn Kernel>) {
        self.0 += known::<Sum>(peer).expect("its own kind").0;
    }
}

/// Prints lines not seen before; a peer falls back at one that begins with `!`.
#[derive(Clone, Default)]
struct Distinct {
    seen: BTreeSet<Vec<u8>>,
    is_peer: bool,
}

impl Kernel for Distinct {
    fn framing(&self) -> Framing {
        Framing::Records(b'\n')
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        for line in block.split_inclusive(|byte| *byte == b'\n') {
            if self.is_peer && line[0] == b'!' {
                return Err(HandOver::at(0, "a mark"));
            }
            if self.seen.insert(line.to_vec()) {
                out.extend_from_slice(line);
            }
        }
        Ok(Flow::More)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl Parallel for Distinct {
    fn fork(&mut self) -> Option<Peer> {
        Some(Peer::of_sieve(Distinct { is_peer: true, ..self.clone() }))
    }
}

/// Prints lines, but not those that end less than [`LOOKAHEAD`] bytes before one that begins with `!`.
#[derive(Default)]
struct Hesitant {
    is_peer: bool,
    offset: u64,
    kept: Vec<(u64, Vec<u8>)>,
    printed: u64,
    /// What peers have printed, as they say.
    printed_by_peers: u64,
}

const LOOKAHEAD: u64 = 64;

impl Hesitant {
    fn print_until(&mut self, end: u64, out: &mut Vec<u8>) {
        let certain = self.kept.iter().take_while(|(at, _)| *at <= end).count();
        for (_, line) in self.kept.drain(..certain) {
            self.printed += line.len() as u64;
            out.extend(line);
        }
    }
}

impl Kernel for Hesitant {
    fn framing(&self) -> Framing {
        Framing::Records(b'\n')
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if self.is_peer {
            if block.split(|byte| *byte == b'\n').any(|line| line.first() == Some(&b'!')) {
                return Err(HandOver::at(0, "a mark"));
            }
            self.printed += block.len() as u64;
            out.extend_from_slice(block);
            return Ok(Flow::More);
        }
        for line in block.split_inclusive(|byte| *byte == b'\n') {
            if line[0] == b'!' {
                self.print_until(self.offset.saturating_sub(LOOKAHEAD), out);
                self.kept.clear();
            }
            self.offset += line.len() as u64;
            self.kept.push((self.offset, line.to_vec()));
        }
        self.print_until(self.offset.saturating_sub(LOOKAHEAD), out);
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.print_until(u64::MAX, out);
        out.extend_from_slice(
            format!("{} of {}\n", self.printed + self.printed_by_peers, self.offset).as_bytes(),
        );
        Ok(Flow::Done)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl Parallel for Hesitant {
    fn fork(&mut self) -> Option<Peer> {
        Some(Peer::of_blocks(Hesitant { is_peer: true, ..Hesitant::default() }).with_lookahead(LOOKAHEAD))
    }

    fn take_printed_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.printed)
    }

    fn pass(&mut self, read: u64, printed: u64, out: &mut Vec<u8>) {
        self.print_until(u64::MAX, out);
        self.offset += read;
        self.printed_by_peers += printed;
    }
}

/// Numbers lines; is done after this many. It cannot share.
struct Number(usize, usize);

impl Kernel for Number {
    fn framing(&self) -> Framing {
        Framing::Records(b'\n')
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        for line in block.split_inclusive(|byte| *byte == b'\n') {
            self.0 += 1;
            out.extend_from_slice(format!("{} ", self.0).as_bytes());
            out.extend_from_slice(line);
            if self.0 == self.1 {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }
}

/// Gives blocks of `size` bytes, cut into whole lines if `cut` is set.
struct Memory<'a> {
    bytes: &'a [u8],
    at: usize,
    size: usize,
    cut: Option<u8>,
}

impl Intake for Memory<'_> {
    fn next(&mut self, block: &mut Vec<u8>, _blocks: usize) -> Taken {
        let rest = &self.bytes[self.at..];
        let end = match self.cut {
            None => self.size.min(rest.len()),
            Some(end) => {
                let from = self.size.min(rest.len());
                let more = rest[from..].iter().position(|byte| *byte == end);
                let back = rest[..from].iter().rposition(|byte| *byte == end);
                back.or(more.map(|at| from + at)).map_or(0, |at| at + 1)
            }
        };
        if end == 0 {
            return Taken::Nothing(Why::Ended);
        }
        block.extend_from_slice(&rest[..end]);
        self.at += end;
        Taken::Block
    }

    fn last(&self) -> Option<u8> {
        self.at.checked_sub(1).map(|at| self.bytes[at])
    }
}

/// Wants this many workers; now and then one less.
struct Fixed(usize, AtomicUsize);

impl Policy for Fixed {
    fn wanted(&self, _at_work: usize) -> usize {
        let turn = self.1.fetch_add(1, Ordering::Relaxed);
        if turn % 7 == 6 { self.0.max(3) - 1 } else { self.0 }
    }
}

/// The output, the diagnostics, the statuses, and the rest after a fallback.
type Ending = (Vec<u8>, Vec<u8>, Vec<i32>, Option<(usize, Vec<u8>)>);

fn alone(mut chain: Chain, bytes: &[u8]) -> Ending {
    let mut sink = WorkerOutput::default();
    let fed = chain.push(bytes, &mut sink);
    conclude(chain, fed, &[], sink)
}

fn conclude(mut chain: Chain, fed: Fed, rest: &[u8], mut sink: WorkerOutput) -> Ending {
    let fed = match fed {
        Ok(Flow::Done) => Ok(Flow::Done),
        fed => fed.and_then(|_| chain.end_input(&mut sink)).and_then(|_| chain.finish(&mut sink)),
    };
    let left = fed.err().map(|mut all| {
        let stop = all.pop().expect("one");
        (stop.link, [&stop.rest[..], rest].concat())
    });
    // A kernel that falls back ends as the real command does. Its status already includes later blocks that
    // fast peers processed.
    let statuses = if left.is_some() { vec![] } else { chain.statuses() };
    (sink.0, sink.1, statuses, left)
}

fn together(mut chain: Chain, bytes: &[u8], size: usize, workers: usize) -> Ending {
    let shared = chain.shared().expect("can be shared");
    let mut sink = WorkerOutput::default();
    let mut intake = Memory { bytes, at: 0, size, cut: shared.cut };
    let policy = Fixed(workers, AtomicUsize::new(0));
    let Left { mut fed, mut blocks, .. } = drive(&mut chain, shared, &mut intake, &mut sink, &policy);
    let mut rest = bytes[intake.at..].to_vec();
    while fed == Ok(Flow::More)
        && let Some((link, block)) = blocks.pop_front()
    {
        fed = chain.push_from(link, &block, &mut sink);
    }
    if fed == Ok(Flow::More) {
        fed = chain.push(&std::mem::take(&mut rest), &mut sink);
    }
    let unseen: Vec<u8> = blocks.into_iter().flat_map(|(_, block)| block).chain(rest).collect();
    conclude(chain, fed, &unseen, sink)
}

/// Returns lines of a few letters, some of which are marks.
fn text(seed: u64, lines: usize, marks: &[u8]) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    };
    let mut text = Vec::new();
    for _ in 0..lines {
        if random(60) == 0 && !marks.is_empty() {
            text.push(marks[random(marks.len() as u64) as usize]);
        }
        text.extend((0..random(9)).map(|_| b"aabxy "[random(6) as usize]));
        text.push(b'\n');
    }
    text.extend_from_slice(b"last");
    text
}

fn same(make: &dyn Fn() -> Chain, marks: &[u8]) {
    for seed in 1..40 {
        let bytes = text(seed, 200, marks);
        let expected = alone(make(), &bytes);
        for (size, workers) in [(1, 2), (7, 2), (50, 3), (300, 8), (5000, 4)] {
            let found = together(make(), &bytes, size, workers);
            assert_eq!(String::from_utf8_lossy(&found.0), String::from_utf8_lossy(&expected.0));
            assert_eq!(found, expected, "seed {seed}, blocks of {size}, {workers} workers");
        }
    }
}

#[test]
fn blocks_leave_in_order() {
    same(&|| Chain::new(vec![Box::new(Upper::default()), Box::new(Number(0, usize::MAX))]), b"");
}

#[test]
fn what_a_peer_does_not_judge_is_the_first_ones() {
    same(&|| Chain::new(vec![Box::new(Upper::default()), Box::new(Number(0, usize::MAX))]), b"?");
    same(&|| Chain::new(vec![Box::new(Upper::default())]), b"??!");
    same(&|| Chain::new(vec![Box::new(Squeeze::default()), Box::new(Upper::default())]), b"?");
}

#[test]
fn what_is_not_certain_yet_is_left_to_the_first() {
    let hesitant = || Box::new(Hesitant::default());
    for marks in [&b""[..], b"!"] {
        same(&|| Chain::new(vec![hesitant()]), marks);
        same(&|| Chain::new(vec![hesitant(), Box::new(Number(0, usize::MAX))]), marks);
        same(&|| Chain::new(vec![hesitant(), Box::new(Sum::default())]), marks);
        same(&|| Chain::new(vec![hesitant(), Box::new(Distinct::default()), Box::new(Number(0, 77))]), marks);
    }
    same(&|| Chain::new(vec![hesitant(), Box::new(Upper::default())]), b"?");
}

#[test]
fn one_that_wants_no_more_ends_it() {
    same(&|| Chain::new(vec![Box::new(Upper::default()), Box::new(Number(0, 77))]), b"");
}

#[test]
fn folds_are_merged() {
    same(&|| Chain::new(vec![Box::new(Sum::default())]), b"");
    same(&|| Chain::new(vec![Box::new(Upper::default()), Box::new(Sum::default())]), b"?");
    same(&|| Chain::new(vec![Box::new(Squeeze::default()), Box::new(Sum::default())]), b"");
}

#[test]
fn what_is_left_by_sieves_is_sieved_in_order() {
    let distinct = || Box::new(Distinct::default());
    for marks in [&b""[..], b"!"] {
        same(&|| Chain::new(vec![distinct()]), marks);
        same(&|| Chain::new(vec![Box::new(Squeeze::default()), distinct(), distinct()]), marks);
        same(&|| Chain::new(vec![distinct(), Box::new(Number(0, usize::MAX))]), marks);
    }
    same(&|| Chain::new(vec![Box::new(Upper::default()), distinct(), Box::new(Number(0, 77))]), b"");
}

/// The real command gets the lines that the fold has not taken in. Which ones depends on timing, but together
/// they are complete.
#[test]
fn a_fold_that_hands_over_loses_nothing() {
    for seed in 1..40 {
        let bytes = text(seed, 200, b"#");
        let make = || Chain::new(vec![Box::new(Sum::default()) as Box<dyn Kernel>]);
        let mut chain = make();
        let shared = chain.shared().expect("can be shared");
        let mut intake = Memory { bytes: &bytes, at: 0, size: 40, cut: shared.cut };
        let left = drive(
            &mut chain,
            shared,
            &mut intake,
            &mut WorkerOutput::default(),
            &Fixed(4, AtomicUsize::new(0)),
        );
        let mut printed = Vec::new();
        chain.links[0].kernel.finish(&mut printed).expect("finishes");
        let known: u64 = String::from_utf8_lossy(&printed[1..]).trim().parse().expect("a number");
        let unseen = left.blocks.iter().flat_map(|(_, block)| block).chain(&bytes[intake.at..]);
        let unseen: u64 = unseen.map(|byte| u64::from(*byte)).sum();
        assert_eq!(known + unseen, bytes.iter().map(|byte| u64::from(*byte)).sum(), "seed {seed}");
    }
}

#[test]
fn what_can_be_shared() {
    let shared = |kernels: Vec<Box<dyn Kernel>>| Chain::new(kernels).shared();
    let number = || Box::new(Number(0, 1));
    assert_eq!(shared(vec![number(), Box::new(Upper::default())]), None);
    let front = Shared {
        front: 1,
        fold: false,
        redo: false,
        sieve: false,
        cut: Some(b'\n'),
        never: None,
        lookahead_bytes: 0,
    };
    assert_eq!(shared(vec![Box::new(Upper::default()), number()]), Some(front));
    // Squeezing depends on the previous byte, which only the first kernel can know.
    assert_eq!(shared(vec![Box::new(Upper::default()), Box::new(Squeeze::default())]), Some(front));
    assert_eq!(shared(vec![Box::new(Squeeze::default())]), Some(Shared { cut: None, ..front }));
    let fold = Some(Shared { fold: true, ..front });
    assert_eq!(shared(vec![Box::new(Upper::default()), Box::new(Sum::default()), number()]), fold);
}

/// Gives ranges of a file that is shorter than claimed.
struct Dealt(Arc<std::fs::File>, u64);

impl Intake for Dealt {
    fn next(&mut self, _block: &mut Vec<u8>, _blocks: usize) -> Taken {
        let start = self.1;
        self.1 += 4;
        Taken::FileRange(FileRange { file: Arc::clone(&self.0) as _, range: start..self.1 })
    }

    fn last(&self) -> Option<u8> {
        (self.1 > 0).then_some(b'\n')
    }
}

#[test]
fn what_cannot_be_read_is_left_to_be_read_again() {
    let path = std::env::temp_dir().join(format!("pelton-team-{}", std::process::id()));
    std::fs::write(&path, b"one\ntwo\nsix\nten\nfi").expect("written");
    let file = Arc::new(std::fs::File::open(&path).expect("opened"));
    std::fs::remove_file(&path).expect("removed");
    for workers in [1, 2, 8] {
        let mut chain = Chain::new(vec![Box::new(Upper::default())]);
        let shared = chain.shared().expect("can be shared");
        let mut sink = WorkerOutput::default();
        let mut intake = Dealt(Arc::clone(&file), 0);
        let policy = Fixed(workers + 1, AtomicUsize::new(0));
        let left = drive(&mut chain, shared, &mut intake, &mut sink, &policy);
        assert_eq!((sink.0.as_slice(), left.again), (&b"ONE\nTWO\nSIX\nTEN\n"[..], Some(16)));
        assert!(left.blocks.is_empty() && matches!(left.why, Why::Odd));
    }
}
