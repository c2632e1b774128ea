//! Decides when one thread becomes several, and feeds a reader's input to a team.

use super::elastic::{self, Elastic};
use super::meter;
use super::out::Out;
use memchr::{memchr, memrchr};
use pelton_parallel::Policy;
use pelton_stream::team::{self, FileRange, Intake, Left, Shared, Taken, Why};
use pelton_stream::{BLOCK_BYTES, Chain, PlainFile, Resources, block_bytes};
use pelton_sys::spare_capacity::Room;
use pelton_sys::{clock, pipe, spare_capacity};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// Decides when to scale up.
pub struct Growth {
    elastic: Arc<Elastic>,
    /// The current busy period: since it began, input was always available.
    busy: Option<Busy>,
    warm_up_ns: u64,
    /// Whether a team's work was discarded and redone: this is not tried again.
    redone: bool,
}

/// A period in which input was always available.
#[derive(Clone, Copy)]
struct Busy {
    since_ns: u64,
    /// Bytes read by then.
    bytes_before: u64,
    /// Time spent since then in reads, as far as it was measured.
    read_ns: u64,
}

/// Work that lasted this long will probably last: a thread costs about a tenth of that. Tiny inputs never
/// start one.
const WARM_UP_NS: u64 = 3_000_000;
/// If the length of a file predicts at least this much work, a sixth of the warm-up is enough.
const LONG_NS: u64 = 20_000_000;
/// A pass that reads this many bytes per ns is limited by memory, and more threads only add cost: `wc -l` of 100 MB took
/// 25 ms with one thread and with two, which used 1.5 times the CPU (`bench sweep`, `vm`).
const MEMORY_PACE: u64 = 3;
/// Of an input that one thread at a time must read (a pipe), a block goes to another thread at a cost of 20 to 50 us,
/// and a team reads no faster than its first thread did. It gains only if kernels take at least this long for a block,
/// and this many times as long as the reads, waits for the writer included. `dd bs=64k |`, one
/// thread and two: `grep -c nosuch` (30 us a block) 0.08 s and 0.16, `awk '{print $2}'` (140 us) 0.12 and 0.11,
/// `awk '{c[$1]++}'` (220 us) 0.21 and 0.20, `grep -Ec 'GET .*(js|css)'` (300 us) 0.25 and 0.21, `sed -E` (2.6 ms) 2.2
/// and 1.1 (100 MB, `vm`).
const WORTH_HANDING_OVER_NS: u64 = 200_000;
const PASS_SETS_THE_PACE: u64 = 4;
/// The least rest of a file worth a team.
const WORTH_BYTES: u64 = 1 << 20;

impl Growth {
    pub fn new() -> Self {
        Growth { elastic: Arc::new(Elastic::new()), busy: None, warm_up_ns: WARM_UP_NS, redone: false }
    }

    /// Returns the resources for kernels.
    pub fn resources(&self) -> Resources {
        elastic::resources(&self.elastic)
    }

    /// Ends the busy period: nothing came for a while.
    pub fn pause(&mut self) {
        self.busy = None;
    }

    /// Counts a read of an input that can make it wait.
    pub fn waited(&mut self, ns: u64) {
        if let Some(busy) = &mut self.busy {
            busy.read_ns += ns;
        }
    }

    /// Doubles the warm-up after a team met an unsupported block: it may happen again, and a team that keeps
    /// stopping costs more than it gains.
    pub fn be_wary(&mut self) {
        self.busy = None;
        self.warm_up_ns = self.warm_up_ns.saturating_mul(2);
    }

    /// Returns what can be shared from now on, if it is time to. `bytes` were read, and `left_bytes` remain,
    /// if known.
    pub fn due(&mut self, chain: &mut Chain, bytes: u64, left_bytes: Option<u64>) -> Option<Shared> {
        if !self.is_due(bytes, left_bytes) {
            return None;
        }
        // Input that may be repeated must be a file, and is repeated only once.
        let may_redo = left_bytes.is_some() && !self.redone;
        let shared =
            chain.shared().and_then(|it| if it.redo && !may_redo { it.without_fold() } else { Some(it) });
        if shared.is_none() {
            // Only for a while: pending work of a kernel at the start of an input gets done.
            self.be_wary();
        }
        shared
    }

    fn is_due(&mut self, bytes: u64, left_bytes: Option<u64>) -> bool {
        if !self.elastic.may_grow() {
            return false;
        }
        // Tiny blocks are for tests, and so is everything that follows.
        if block_bytes() < BLOCK_BYTES {
            return self.elastic.wanted(1) > 1;
        }
        let now_ns = clock::now_ns();
        let busy = *self.busy.get_or_insert(Busy { since_ns: now_ns, bytes_before: bytes, read_ns: 0 });
        let busy_ns = now_ns - busy.since_ns;
        let bytes = bytes.saturating_sub(busy.bytes_before);
        let is_long_enough = match left_bytes {
            Some(left) => lasts(busy_ns, bytes, left, self.warm_up_ns),
            None => busy_ns >= self.warm_up_ns,
        };
        if !is_long_enough {
            return false;
        }
        if left_bytes.is_none() && !sets_the_pace(busy_ns, busy.read_ns, bytes) {
            // The writer may be faster later.
            self.busy = None;
            return false;
        }
        self.elastic.wanted(1) > 1
    }

    /// Runs a team as long as it works.
    pub fn work(
        &mut self,
        chain: &mut Chain,
        shared: Shared,
        stream: &mut Stream<'_>,
        out: &mut Out,
    ) -> Left {
        let left = team::drive(chain, shared, stream, out, &*self.elastic);
        stream.go_on_after(&left);
        self.redone |= left.redo;
        left
    }
}

/// Whether a file of which this many bytes took that long, and with `left` more, is worth a team.
fn lasts(busy_ns: u64, bytes: u64, left: u64, warm_up_ns: u64) -> bool {
    if bytes == 0 {
        return busy_ns >= warm_up_ns && left >= WORTH_BYTES;
    }
    if bytes >= busy_ns.saturating_mul(MEMORY_PACE) {
        return false;
    }
    let is_long = busy_ns.saturating_mul(left) / bytes >= LONG_NS;
    busy_ns >= if is_long { warm_up_ns / 6 } else { warm_up_ns } && left >= WORTH_BYTES
}

/// Whether it is the kernels that set the pace of a pass, not its reads or the writer of its input, and a block
/// takes them much longer than a thread needs to hand it over.
fn sets_the_pace(busy_ns: u64, read_ns: u64, bytes: u64) -> bool {
    let kernels_ns = busy_ns.saturating_sub(read_ns);
    kernels_ns.saturating_mul(BLOCK_BYTES as u64) >= bytes.saturating_mul(WORTH_HANDING_OVER_NS)
        && kernels_ns >= read_ns.saturating_mul(PASS_SETS_THE_PACE)
}

/// A regular file whose ranges are handed out, and read by the worker that takes them: for cheap kernels,
/// copying from the page cache is most of the work.
struct Plain {
    file: Arc<Shelf>,
    /// The start of the next range.
    at: u64,
    /// The length of the file.
    end: u64,
}

/// A file whose reads are measured.
struct Shelf(File);

impl PlainFile for Shelf {
    fn fill<'a>(&self, room: Room<'a>, at: u64) -> Option<&'a [u8]> {
        meter::reading(|| self.0.fill(room, at))
    }

    fn peek(&self, bytes: &mut [u8], at: u64) -> usize {
        meter::reading(|| self.0.peek(bytes, at))
    }
}

impl Plain {
    /// Takes the file from its offset on, `ahead_bytes` less.
    fn behind(mut file: &File, ahead_bytes: usize) -> Option<Plain> {
        let at = file.stream_position().ok()?.checked_sub(ahead_bytes as u64)?;
        Some(Plain { at, end: file.metadata().ok()?.len(), file: Arc::new(Shelf(file.try_clone().ok()?)) })
    }

    /// Returns the end of the next blocks, at most this many, and their last byte. `None` near the end of the
    /// file, at a long record, or on an error: these cases are read block by block.
    fn cut(&self, end: Option<u8>, blocks: usize) -> Option<(u64, u8)> {
        // Near the end ranges are small, so that no worker is left with a large one.
        let left = self.end.saturating_sub(self.at) / block_bytes() as u64;
        let blocks = (left / 16).clamp(1, blocks.max(1) as u64);
        let mut at = self.at + blocks * block_bytes() as u64 - 1;
        let limit = self.end.min(at + LONG_BYTES as u64);
        let mut window = [0; 512];
        while at < limit {
            let bytes = self.file.peek(&mut window, at);
            let seen = &window[..bytes];
            let Some(end) = end else { return Some((at + 1, *seen.first()?)) };
            if let Some(more) = memchr(end, seen) {
                return Some((at + more as u64 + 1, end));
            }
            if seen.is_empty() {
                break;
            }
            at += seen.len() as u64;
        }
        None
    }
}

/// An input as a team reads it.
pub struct Stream<'a> {
    file: &'a File,
    /// Whether reading it never blocks.
    regular: bool,
    shared: Shared,
    /// The file, while ranges are handed out.
    plain: Option<Plain>,
    /// The offset in a regular file where the team began.
    begin: Option<u64>,
    /// Bytes read before the team began and not handed out, from `ahead_at` on.
    ahead: Vec<u8>,
    ahead_at: usize,
    /// Bytes read and not handed out: an incomplete record.
    carry: Vec<u8>,
    /// Bytes read after that, including one that peers must never see.
    raw: Vec<u8>,
    /// The byte before the next block.
    last: u8,
    /// Bytes read.
    pub bytes: u64,
    /// How the input ended: a terminal reports its end only once, and so does a socket that was reset.
    pub over: Option<std::io::Result<()>>,
}

impl<'a> Stream<'a> {
    /// Starts after a block that ended with `last`; `ahead` was read after it and is not handed out yet.
    pub fn new(file: &'a File, regular: bool, shared: Shared, ahead: Vec<u8>, last: u8) -> Self {
        let (carry, raw) = (Vec::new(), Vec::new());
        let plain = regular.then(|| Plain::behind(file, ahead.len())).flatten();
        let begin = plain.as_ref().map(|plain| plain.at);
        let plain = plain.filter(|_| shared.never.is_none());
        // The bytes read ahead are read again.
        let ahead = if plain.is_some() { Vec::new() } else { ahead };
        Stream {
            file,
            regular,
            shared,
            plain,
            begin,
            ahead,
            ahead_at: 0,
            carry,
            raw,
            last,
            bytes: 0,
            over: None,
        }
    }

    /// Returns the next range of a regular file, at most `blocks` blocks, as long as there are any.
    fn next_part(&mut self, blocks: usize) -> Option<FileRange> {
        let plain = self.plain.as_mut()?;
        let Some((until, last)) = plain.cut(self.shared.cut, blocks) else {
            self.leave_parts(None);
            return None;
        };
        let range = plain.at..until;
        plain.at = until;
        self.last = last;
        self.bytes += until - range.start;
        Some(FileRange { file: Arc::clone(&plain.file) as _, range })
    }

    /// Continues after what a team left.
    fn go_on_after(&mut self, left: &Left) {
        self.leave_parts(if left.redo { self.begin } else { left.again });
    }

    /// Continues block by block, from the end of the ranges, or from an earlier offset.
    fn leave_parts(&mut self, again: Option<u64>) {
        let next = self.plain.take().map(|plain| plain.at);
        let Some(at) = again.or(next) else { return };
        if again.is_some() {
            self.carry.clear();
            self.raw.clear();
            self.ahead.clear();
            self.ahead_at = 0;
        }
        // All bytes read are after the beginning.
        self.bytes = self.begin.map_or(self.bytes, |begin| at - begin);
        let mut file = self.file;
        self.over = file.seek(SeekFrom::Start(at)).err().map(Err);
    }

    /// Returns the bytes that were read and not handed out, piece by piece.
    pub fn unseen(mut self) -> impl Iterator<Item = Vec<u8>> {
        self.ahead.drain(..self.ahead_at);
        [self.carry, self.ahead, self.raw].into_iter().filter(|piece| !piece.is_empty())
    }

    /// Appends more input to `block`.
    fn more(&mut self, block: &mut Vec<u8>) -> Result<(), Why> {
        if self.ahead_at < self.ahead.len() {
            let end = self.ahead.len().min(self.ahead_at + self.piece());
            block.extend_from_slice(&self.ahead[self.ahead_at..end]);
            self.ahead_at = end;
            return Ok(());
        }
        if self.over.is_some() {
            return Err(Why::Ended);
        }
        let start = block.len();
        let appended = loop {
            match meter::reading(|| spare_capacity::append(self.file, block, self.piece())) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                appended => break appended,
            }
        };
        match appended {
            Ok(0) => self.over = Some(Ok(())),
            Ok(bytes) => self.bytes += bytes as u64,
            Err(error) => self.over = Some(Err(error)),
        }
        if self.over.is_some() {
            return Err(Why::Ended);
        }
        if self.shared.never.is_some_and(|byte| memchr(byte, &block[start..]).is_some()) {
            self.raw = block.split_off(start);
            return Err(Why::Paused);
        }
        Ok(())
    }

    /// Returns how much to read at once: a read must stay whole if peers must not see some bytes.
    fn piece(&self) -> usize {
        if self.shared.never.is_some() { BLOCK_BYTES } else { block_bytes() }
    }

    fn comes_within(&self, patience: Duration) -> bool {
        self.regular
            || self.over.is_some()
            || self.ahead_at < self.ahead.len()
            || meter::reading(|| pipe::is_readable_within(self.file.as_fd(), patience))
    }
}

/// Longer records go to the first kernel alone: a block in flight may be as long as its longest record, and
/// memory must be bounded.
const LONG_BYTES: usize = 16 * BLOCK_BYTES;
/// How long to wait for the writer of a pipe: stopping a team for less costs more.
const PATIENCE: Duration = Duration::from_millis(2);

impl Intake for Stream<'_> {
    fn next(&mut self, block: &mut Vec<u8>, blocks: usize) -> Taken {
        if let Some(part) = self.next_part(blocks) {
            return Taken::FileRange(part);
        }
        block.append(&mut self.carry);
        // No record ends before this offset.
        let mut seen = block.len();
        let mut whole = 0;
        let stopped = loop {
            let patience = if whole > 0 { Duration::ZERO } else { PATIENCE };
            if !self.comes_within(patience) {
                break Some(Why::Paused);
            }
            let more = self.more(block);
            whole = match self.shared.cut {
                None => block.len(),
                Some(end) => memrchr(end, &block[seen..]).map_or(whole, |at| seen + at + 1),
            };
            seen = block.len();
            if let Err(why) = more {
                break Some(why);
            }
            if whole == 0 && block.len() >= LONG_BYTES {
                break Some(Why::Paused);
            }
            if whole > 0 && block.len() >= block_bytes() {
                break None;
            }
        };
        self.carry.extend_from_slice(&block[whole..]);
        block.truncate(whole);
        if !self.raw.is_empty() || whole == 0 {
            // Bytes before a raw piece also go to the first kernel, to keep the order.
            self.carry.splice(..0, block.drain(..));
            return Taken::Nothing(stopped.unwrap_or(Why::Paused));
        }
        self.last = block.last().copied().unwrap_or(self.last);
        // The reason to stop will be found again.
        Taken::Block
    }

    fn last(&self) -> Option<u8> {
        Some(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_stream::{Flow, Framing, HandOver, Kernel, Outcome, Parallel, Peer, Sink};
    use std::io::{Read, Write};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Copies lines. A peer falls back at one that begins with `!`.
    struct Same {
        is_peer: bool,
    }

    impl Kernel for Same {
        fn framing(&self) -> Framing {
            Framing::Records(b'\n')
        }

        fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
            let mut at = 0;
            for line in block.split_inclusive(|byte| *byte == b'\n') {
                if self.is_peer && line[0] == b'!' {
                    return Err(HandOver::at(at, "a mark"));
                }
                at += line.len();
                out.extend_from_slice(line);
            }
            Ok(Flow::More)
        }

        fn parallel(&mut self) -> Option<&mut dyn Parallel> {
            Some(self)
        }
    }

    impl Parallel for Same {
        fn fork(&mut self) -> Option<Peer> {
            Some(Peer::of_blocks(Same { is_peer: true }))
        }
    }

    /// Copies lines, alone, and falls back after `left` bytes; or adds lines up to one number, whose peers
    /// refuse lines that begin with `#`: after such a line, order matters, unless `left` is 0.
    struct Behind {
        left: usize,
        sum: Option<u64>,
        mixes: bool,
        is_peer: bool,
    }

    impl Behind {
        fn after(left: usize, sum: Option<u64>) -> Self {
            Behind { left, sum, mixes: false, is_peer: false }
        }
    }

    impl Kernel for Behind {
        fn framing(&self) -> Framing {
            Framing::Records(b'\n')
        }

        fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
            if let Some(sum) = &mut self.sum {
                if self.is_peer && block.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"#")) {
                    return Err(HandOver::at(0, "a number sign"));
                }
                for line in block.split_inclusive(|byte| *byte == b'\n') {
                    self.mixes |= self.left > 0 && line[0] == b'#';
                    let turn = |sum: u64| if self.mixes { sum.rotate_left(7) } else { sum };
                    *sum = line.iter().fold(*sum, |sum, byte| turn(sum).wrapping_add(u64::from(*byte)));
                }
                return Ok(Flow::More);
            }
            let consumed = block.len().min(self.left);
            out.extend_from_slice(&block[..consumed]);
            self.left -= consumed;
            if consumed < block.len() { Err(HandOver::at(consumed, "enough")) } else { Ok(Flow::More) }
        }

        fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
            out.extend_from_slice(&self.sum.unwrap_or(0).to_le_bytes());
            Ok(Flow::Done)
        }

        fn parallel(&mut self) -> Option<&mut dyn Parallel> {
            Some(self)
        }
    }

    impl Parallel for Behind {
        fn fork(&mut self) -> Option<Peer> {
            let peer = Behind { is_peer: true, ..Behind::after(0, Some(0)) };
            let adds = self.sum.is_some() && !self.mixes;
            adds.then(|| if self.left == 0 { Peer::of_fold(peer) } else { Peer::of_sums(peer) })
        }

        fn merge(&mut self, peer: Box<dyn Kernel>) {
            let known = pelton_stream::known::<Behind>(peer).and_then(|peer| peer.sum);
            self.sum = self.sum.map(|sum| sum + known.unwrap_or(0));
        }
    }

    #[derive(Default)]
    struct Kept(Vec<u8>);

    impl Sink for Kept {
        fn take(&mut self, bytes: &[u8]) -> Flow {
            self.0.extend_from_slice(bytes);
            Flow::More
        }

        fn complain(&mut self, _text: &[u8]) {}
    }

    /// Truncates its file after a number of calls.
    struct Two(File, AtomicU64, u64);

    impl Two {
        /// Whether the file has its final length.
        fn is_settled(&self) -> bool {
            self.2 == 0 || self.1.load(Ordering::Acquire) > 3
        }
    }

    impl Policy for Two {
        fn wanted(&self, _at_work: usize) -> usize {
            if self.1.load(Ordering::Relaxed) == 3 && self.2 > 0 {
                self.0.set_len(self.2).expect("shorter");
            }
            self.1.fetch_add(1, Ordering::Release);
            2
        }

        /// Otherwise the other worker could read the whole file before it shrinks.
        fn hired(&self) {
            while !self.is_settled() {
                std::thread::yield_now();
            }
        }
    }

    fn lines(bytes: usize) -> Vec<u8> {
        let mut lines = Vec::new();
        let mut number = 0usize;
        while lines.len() < bytes {
            let line = format!("{number}{}\n", "x".repeat(number * 7 % 900));
            lines.extend_from_slice(line.as_bytes());
            number += 1;
        }
        lines.extend_from_slice(b"the last one has no end");
        lines
    }

    fn run(bytes: &[u8], cut_to: u64) -> Vec<u8> {
        run_before(bytes, cut_to, None)
    }

    /// Returns what a team printed, what it left, and the rest of the file.
    fn run_before(bytes: &[u8], cut_to: u64, behind: Option<Behind>) -> Vec<u8> {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let name = format!("pelton-growth-{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(&path).expect("removed");
        file.write_all(bytes).expect("written");
        file.seek(SeekFrom::Start(0)).expect("at its start");
        let folds = behind.as_ref().is_some_and(|behind| behind.sum.is_some());
        let same: Box<dyn Kernel> = Box::new(Same { is_peer: false });
        let behind = behind.map(|behind| Box::new(behind) as Box<dyn Kernel>);
        let mut chain = Chain::new(std::iter::once(same).chain(behind).collect());
        let shared = chain.shared().expect("it can be shared");
        let mut kept = Kept::default();
        let policy = Two(file.try_clone().expect("once more"), 0.into(), cut_to);
        let mut stream = Stream::new(&file, true, shared, Vec::new(), b'\n');
        let left = team::drive(&mut chain, shared, &mut stream, &mut kept, &policy);
        stream.go_on_after(&left);
        if let Err(interruptions) = &left.fed {
            interruptions.iter().for_each(|stop| kept.0.extend_from_slice(&stop.rest));
            // The real command gets the rest.
            chain.split_off(1);
        }
        let links = chain.len();
        for (link, block) in left.blocks {
            chain.push_from(link.min(links), &block, &mut kept).expect("taken");
        }
        let mut rest: Vec<u8> = stream.unseen().flatten().collect();
        (&file).read_to_end(&mut rest).expect("read");
        if !folds {
            kept.0.extend_from_slice(&rest);
            return kept.0;
        }
        chain.push(&rest, &mut kept).expect("taken");
        chain.end_input(&mut kept).expect("ended");
        chain.finish(&mut kept).expect("finished");
        kept.0
    }

    #[test]
    fn a_pass_sets_the_pace_if_its_kernels_take_longer_than_reads_and_hand_overs() {
        let blocks = 100 * BLOCK_BYTES as u64;
        let pass = |kernels_us: u64, read_us: u64| {
            sets_the_pace(100_000 * (kernels_us + read_us), 100_000 * read_us, blocks)
        };
        assert!(pass(2600, 40) && pass(300, 40));
        assert!(!pass(30, 40), "a fast kernel");
        assert!(!pass(150, 10), "a hand-over for each block costs as much as it gains");
        assert!(!pass(300, 200), "the writer is as slow");
        assert!(sets_the_pace(3_000_000, 0, 0), "one long block");
    }

    #[test]
    fn parts_and_blocks_are_all_of_a_file() {
        for size in [10, 200_000, 3_000_000] {
            let bytes = lines(size);
            assert!(run(&bytes, 0) == bytes, "{size}");
        }
    }

    #[test]
    fn a_file_that_became_shorter_ends_there() {
        let bytes = lines(8_000_000);
        let printed = run(&bytes, 4_000_000);
        assert!(printed == bytes[..4_000_000], "{} bytes", printed.len());
    }

    /// The mark may be inside a range of several blocks, some of which were printed in vain.
    #[test]
    fn what_a_peer_does_not_judge_is_read_again() {
        for marked in [0, 2_345_678, 2_999_999] {
            let mut bytes = lines(3_000_000);
            let start = memrchr(b'\n', &bytes[..=marked]).map_or(0, |end| end + 1);
            bytes[start] = b'!';
            assert!(run(&bytes, 0) == bytes, "{marked}");
        }
    }

    #[test]
    fn what_comes_behind_a_hand_over_further_on_is_not_lost() {
        let bytes = lines(3_000_000);
        for left in [0, 100_000, 1_234_567, 2_900_000] {
            for _ in 0..5 {
                let behind = Behind::after(left, None);
                assert!(run_before(&bytes, 0, Some(behind)) == bytes, "{left}");
            }
        }
    }

    /// `left`: whether order matters.
    #[test]
    fn what_a_fold_refuses_is_added_once() {
        for (marked, left) in [(0, 0), (1_234_567, 0), (2_900_000, 0), (1_234_567, 1), (2_900_000, 1)] {
            let mut bytes = lines(3_000_000);
            let start = memrchr(b'\n', &bytes[..=marked]).map_or(0, |end| end + 1);
            bytes[start] = b'#';
            let (mut alone, mut expected) = (Behind::after(left, Some(0)), Vec::new());
            alone.push(&bytes, &mut expected).expect("added");
            alone.finish(&mut expected).expect("printed");
            for _ in 0..5 {
                let behind = Behind::after(left, Some(0));
                assert_eq!(run_before(&bytes, 0, Some(behind)), expected, "{marked} {left}");
            }
        }
    }
}
