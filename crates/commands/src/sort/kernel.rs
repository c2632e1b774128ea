//! sort's inner loops: sorting, merging, checking.

use std::cmp::Ordering;
use std::ops::Range;

use pelton_parallel::Helpers;
use pelton_stream::{
    BLOCK_BYTES, Flow, Framing, HandOver, InputKind, IoControl, Kernel, Notice, Outcome, Parallel, Peer,
    PlainFile, Resources, known,
};

use super::collect::Collector;
use super::options::{Mode, SortOptions};
use super::order::LineOrder;
use super::output::Output;
use super::print::{GroupStyle, Style};
use super::spill_directory::SpillDirectory;

/// sort's status after a failure.
pub(super) const FAILURE: i32 = 2;

/// Sorts; with a following `uniq`, also groups.
#[derive(Debug)]
pub struct SortKernel {
    terminator: u8,
    unique: bool,
    style: Style,
    limit: u64,
    helpers: Helpers,
    /// `-S`, in bytes, and `-T`.
    memory: (Option<usize>, Option<Vec<u8>>),
    /// sort's message on failure.
    complaint: Vec<u8>,
    failed: bool,
    /// Whether it takes part of another kernel's lines.
    is_peer: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    Reading(Box<Collector>),
    Printing(Box<Output>),
    Ended,
}

impl SortKernel {
    pub(crate) fn new(options: &SortOptions) -> Self {
        let style = if options.unique { Style::Once } else { Style::Every };
        let collector = Collector::new(options.order(), options.terminator, options.unique);
        SortKernel {
            terminator: options.terminator,
            unique: options.unique,
            style,
            limit: u64::MAX,
            helpers: Helpers::default(),
            memory: (options.size_bytes, options.directory.clone()),
            complaint: Vec::new(),
            failed: false,
            is_peer: false,
            state: State::Reading(Box::new(collector)),
        }
    }

    /// Prints groups of identical lines in this style.
    pub(crate) fn with_groups(self, style: GroupStyle) -> Self {
        SortKernel { style: Style::Groups(style), ..self }
    }

    /// Limits the number of lines printed.
    pub(crate) fn with_limit(self, limit: u64) -> Self {
        SortKernel { limit, ..self }
    }

    /// Returns how many lines it will print, if known without sorting.
    pub(crate) fn lines_to_print(&self) -> Option<u64> {
        let State::Reading(collector) = &self.state else { return None };
        let table = collector.counts()?;
        match self.style {
            Style::Once => collector.is_by_line().then_some(table.len() as u64),
            Style::Groups(style) => Some(table.counts().map(|count| style.times(count)).sum()),
            Style::Every | Style::Stored => None,
        }
    }

    /// Returns all lines so far, unless they are counted or some are no longer in memory.
    pub(crate) fn text_unless_counted(&self) -> Option<&[u8]> {
        match &self.state {
            State::Reading(collector) => collector.text_unless_counted(),
            _ => None,
        }
    }

    fn start_printing(&mut self) {
        if let State::Reading(collector) = std::mem::replace(&mut self.state, State::Ended) {
            match collector.into_output(self.style) {
                Ok(output) => {
                    let output = output.with_limit(self.limit).with_crew(&self.helpers);
                    self.state = State::Printing(Box::new(output));
                }
                Err(complaint) => self.give_up(complaint),
            }
        }
    }

    fn give_up(&mut self, complaint: Vec<u8>) {
        (self.complaint, self.failed) = (complaint, true);
        self.state = State::Ended;
    }

    /// Falls back: the real sort gets all lines. The state of a peer is merged instead.
    fn hand_over(&mut self, consumed: usize, reason: &'static str) -> HandOver {
        let hand_over = HandOver::at(consumed, reason);
        if self.is_peer {
            return hand_over;
        }
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Reading(collector) => hand_over.with_unconsumed(collector.into_text()),
            _ => hand_over,
        }
    }

    /// Makes room for inputs of these kinds, if their sizes are known.
    fn expect(&mut self, kinds: &[InputKind]) {
        let bytes = |kind: &InputKind| match kind {
            InputKind::Regular { bytes } => Some(*bytes),
            InputKind::FullPipe | InputKind::Other => None,
        };
        if let (Some(bytes), State::Reading(collector)) =
            (kinds.iter().map(bytes).sum::<Option<u64>>(), &mut self.state)
        {
            collector.expect(bytes);
        }
    }

    /// Uses these threads, memory and spill files from now on.
    fn attach(&mut self, resources: &Resources) {
        self.helpers = resources.helpers.clone();
        if let State::Reading(collector) = &mut self.state {
            collector.attach(&self.helpers);
            collector.spill_to(SpillDirectory::of(resources, &self.memory));
        }
    }

    /// Ends all threads.
    fn detach(&mut self) {
        self.helpers = Helpers::default();
        match &mut self.state {
            State::Reading(collector) => collector.attach(&self.helpers),
            State::Printing(output) => output.detach(),
            State::Ended => {}
        }
    }
}

impl Kernel for SortKernel {
    fn framing(&self) -> Framing {
        Framing::Records(self.terminator)
    }

    fn notice(&mut self, notice: Notice<'_>) {
        match notice {
            Notice::Inputs(kinds) => self.expect(kinds),
            Notice::Resources(resources) => self.attach(resources),
            Notice::ProcessFork => self.detach(),
            _ => {}
        }
    }

    fn push(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        let State::Reading(collector) = &mut self.state else { return Ok(Flow::More) };
        if self.is_peer && collector.wants_no_more() {
            return Err(HandOver::at(0, "a peer has no more memory, or nothing to count"));
        }
        collector.push(block);
        if collector.must_hand_over() {
            let reason = "more than memory holds, where NaNs may be: sort compares what is not defined";
            return Err(self.hand_over(block.len(), reason));
        }
        if let Some(complaint) = collector.failed() {
            self.give_up(complaint);
            return Ok(Flow::Done);
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        if let State::Reading(collector) = &self.state {
            if collector.is_beyond_us() {
                return Err(self.hand_over(0, "several NaNs, or numbers that only it reads"));
            }
            self.start_printing();
        }
        let State::Printing(output) = &mut self.state else { return Ok(Flow::Done) };
        let more = output.print(BLOCK_BYTES, out);
        if let Some(complaint) = output.failed() {
            self.give_up(complaint);
            return Ok(Flow::Done);
        }
        if more {
            return Ok(Flow::More);
        }
        self.state = State::Ended;
        Ok(Flow::Done)
    }

    fn messages(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.complaint)
    }

    fn status(&self) -> i32 {
        if self.failed { FAILURE } else { 0 }
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        Some(self)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl IoControl for SortKernel {
    fn prefers_reading_itself(&mut self, bytes: u64) -> bool {
        matches!(&self.state, State::Reading(collector) if collector.prefers_reading_itself(bytes))
    }

    fn read_range(&mut self, file: &dyn PlainFile, range: Range<u64>) -> (u64, Flow) {
        let State::Reading(collector) = &mut self.state else { return (0, Flow::More) };
        let taken = collector.read_range(file, range);
        if let Some(complaint) = collector.failed() {
            self.give_up(complaint);
            return (taken, Flow::Done);
        }
        (taken, Flow::More)
    }
}

impl Parallel for SortKernel {
    fn fork(&mut self) -> Option<Peer> {
        let State::Reading(collector) = &self.state else { return None };
        let state = State::Reading(Box::new(collector.fork()?));
        let SortKernel { terminator, unique, style, limit, .. } = *self;
        let (helpers, memory, complaint) = (Helpers::default(), self.memory.clone(), Vec::new());
        let (failed, is_peer) = (false, true);
        Some(Peer::of_fold(SortKernel {
            terminator,
            unique,
            style,
            limit,
            helpers,
            memory,
            complaint,
            failed,
            is_peer,
            state,
        }))
    }

    fn merge(&mut self, peer: Box<dyn Kernel>) {
        let peer = known::<SortKernel>(peer).map(|peer| peer.state);
        if let (State::Reading(own), Some(State::Reading(peer))) = (&mut self.state, peer) {
            own.merge(*peer);
        }
    }
}

/// Adds the missing terminator of a last line: only the last block of an input can lack it.
pub(super) fn complete(text: &mut Vec<u8>, terminator: u8) {
    if text.last().is_some_and(|last| *last != terminator) {
        text.push(terminator);
    }
}

/// The previous line, kept across blocks.
#[derive(Debug)]
struct Previous {
    order: LineOrder,
    line: Vec<u8>,
    any: bool,
}

impl Previous {
    fn new(order: LineOrder) -> Self {
        Previous { order, line: Vec::new(), any: false }
    }

    /// Compares the previous line with this one; `None` for the first.
    fn compare(&self, line: &[u8]) -> Option<Ordering> {
        self.any.then(|| self.order.compare_lines(&self.line, line))
    }

    fn replace(&mut self, line: &[u8]) {
        self.any = true;
        self.line.clear();
        self.line.extend_from_slice(line);
    }
}

/// Iterates over the lines of a block without their terminators.
fn each_line_of(block: &[u8], terminator: u8) -> impl Iterator<Item = &[u8]> {
    block.split_inclusive(move |byte| *byte == terminator).map(move |line| {
        let len = line.len() - usize::from(line.last() == Some(&terminator));
        &line[..len]
    })
}

/// `sort -m` of one input: passes lines through at once; `-u` drops lines equal to the previous one.
#[derive(Debug)]
pub(crate) struct PassKernel {
    terminator: u8,
    previous: Option<Previous>,
}

impl PassKernel {
    pub(crate) fn new(options: &SortOptions) -> Self {
        let previous = options.unique.then(|| Previous::new(options.order()));
        PassKernel { terminator: options.terminator, previous }
    }
}

impl Kernel for PassKernel {
    fn framing(&self) -> Framing {
        Framing::Records(self.terminator)
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let Some(previous) = &mut self.previous else {
            out.extend_from_slice(block);
            complete(out, self.terminator);
            return Ok(Flow::More);
        };
        for line in each_line_of(block, self.terminator) {
            if previous.compare(line) != Some(Ordering::Equal) {
                out.extend_from_slice(line);
                out.push(self.terminator);
                previous.replace(line);
            }
        }
        Ok(Flow::More)
    }
}

/// `sort -c` and `sort -C`. It stops where the real sort does, which its writer may notice: that fills its
/// buffer, waiting for input if necessary, before it compares its content.
#[derive(Debug)]
pub(crate) struct CheckKernel {
    /// How much of its buffer the real sort would have filled.
    filled: usize,
    terminator: u8,
    unique: bool,
    previous: Previous,
    disordered: bool,
    /// -c: whether the first line out of order is shown.
    reports: bool,
    /// The name of the input, for the message.
    name: Vec<u8>,
    lines: u64,
    complaint: Vec<u8>,
}

impl CheckKernel {
    pub(crate) fn new(options: &SortOptions) -> Self {
        CheckKernel {
            filled: 0,
            terminator: options.terminator,
            unique: options.unique,
            previous: Previous::new(options.order()),
            disordered: false,
            reports: options.mode == Mode::Report,
            name: Vec::new(),
            lines: 0,
            complaint: Vec::new(),
        }
    }

    fn report(&mut self, line: &[u8]) {
        let number = self.lines.to_string();
        let parts = [b"sort: ", &self.name[..], b":", number.as_bytes(), b": disorder: ", line];
        self.complaint = parts.concat();
        self.complaint.push(self.terminator);
    }
}

impl Kernel for CheckKernel {
    fn framing(&self) -> Framing {
        Framing::Records(self.terminator)
    }

    fn begin_input(&mut self, name: Option<&[u8]>, _out: &mut Vec<u8>) {
        self.name = name.unwrap_or(b"-").to_vec();
    }

    fn push(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        // coreutils 9.1, sort.c: 256 KiB for lines and for a struct of 32 bytes for each.
        const BUFFER: usize = 256 << 10;
        const OF_LINE: usize = 32;
        for line in each_line_of(block, self.terminator) {
            let size = line.len() + 1 + OF_LINE;
            if self.filled + size > BUFFER {
                if self.disordered {
                    return Ok(Flow::Done);
                }
                self.filled = 0;
            }
            self.filled += size;
            if self.disordered {
                continue;
            }
            self.lines += 1;
            self.disordered = match self.previous.compare(line) {
                Some(Ordering::Greater) => true,
                Some(Ordering::Equal) => self.unique,
                _ => false,
            };
            if self.disordered {
                if self.reports {
                    self.report(line);
                }
                continue;
            }
            self.previous.replace(line);
        }
        Ok(Flow::More)
    }

    fn messages(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.complaint)
    }

    fn status(&self) -> i32 {
        i32::from(self.disordered)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pelton_stream::{Storage, Stored};

    use super::super::key::{Key, Kind};
    use super::*;

    fn general(text: &[u8]) -> (Outcome, Vec<u8>, Vec<u8>) {
        let keys = vec![Key { kind: Kind::General, ..Key::line() }];
        let mut kernel = SortKernel::new(&SortOptions { keys, ..SortOptions::default() });
        let mut out = Vec::new();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            assert_eq!(kernel.push(line, &mut out), Ok(Flow::More));
        }
        let outcome = kernel.finish(&mut out);
        let held = outcome.as_ref().err().map(|hand_over| hand_over.unconsumed.clone());
        (outcome, held.unwrap_or_default(), out)
    }

    #[test]
    fn two_nans_are_given_back_with_everything_else() {
        let text = b"2\nnan\n1\n-NaN(1)";
        let (outcome, held, out) = general(text);
        assert!(outcome.is_err());
        assert_eq!((held, out), ([text, &b"\n"[..]].concat(), Vec::new()));
    }

    #[test]
    fn the_first_line_out_of_order_is_shown() {
        let options = SortOptions { mode: Mode::Report, ..SortOptions::default() };
        let mut kernel = CheckKernel::new(&options);
        kernel.begin_input(Some(b"f"), &mut Vec::new());
        assert_eq!(kernel.push(b"a\nb\n", &mut Vec::new()), Ok(Flow::More));
        assert_eq!(kernel.push(b"a c\nA\n", &mut Vec::new()), Ok(Flow::More));
        // Not before the real sort would have filled its buffer.
        assert_eq!(kernel.push(&b"z\n".repeat(7000), &mut Vec::new()), Ok(Flow::More));
        assert_eq!(kernel.push(&b"z\n".repeat(1000), &mut Vec::new()), Ok(Flow::Done));
        assert_eq!((kernel.messages(), kernel.status()), (b"sort: f:3: disorder: a c\n".to_vec(), 1));
    }

    /// A disk that is full, or cannot be read.
    struct Faulty {
        writes: bool,
    }

    impl Storage for Faulty {
        fn memory_bytes(&self) -> usize {
            10
        }

        fn directory(&self) -> Vec<u8> {
            b"/tmp".to_vec()
        }

        fn create(&self, _: Option<&[u8]>) -> std::io::Result<Arc<dyn Stored>> {
            Ok(Arc::new(Faulty { writes: self.writes }))
        }
    }

    impl Stored for Faulty {
        fn write_at(&self, _: &[u8], _: u64) -> std::io::Result<()> {
            if self.writes { Ok(()) } else { Err(std::io::Error::from_raw_os_error(28)) }
        }

        fn read_at(&self, _: &mut [u8], _: u64) -> std::io::Result<()> {
            Err(std::io::Error::from_raw_os_error(5))
        }
    }

    #[test]
    fn what_cannot_be_stored_ends_it_as_it_ends_sort() {
        for (writes, words) in [
            (false, "sort: write failed: /tmp: No space left on device\n"),
            (true, "sort: read failed: /tmp: Input/output error\n"),
        ] {
            let mut kernel = SortKernel::new(&SortOptions::default());
            let storage = Some(Arc::new(Faulty { writes }) as _);
            kernel.notice(Notice::Resources(&Resources { storage, ..Resources::default() }));
            let mut out = Vec::new();
            let flow = kernel.push(b"b\na\nand others that are longer\n", &mut out);
            assert_eq!(flow, Ok(if writes { Flow::More } else { Flow::Done }));
            assert_eq!(kernel.finish(&mut out), Ok(Flow::Done));
            assert_eq!(String::from_utf8_lossy(&kernel.messages()), words);
            assert_eq!((kernel.status(), out), (2, Vec::new()));
        }
    }

    #[test]
    fn one_nan_has_a_place() {
        let (outcome, held, out) = general(b"2\n-inf\nnan\nx\n1\n");
        assert_eq!((outcome, held), (Ok(Flow::Done), Vec::new()));
        assert_eq!(out, b"x\nnan\n-inf\n1\n2\n");
    }
}
