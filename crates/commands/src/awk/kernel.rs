//! A program as a kernel: blocks in, output out.

use std::sync::Arc;

use pelton_stream::{Flow, Framing, HandOver, IoControl, Kernel, Notice, Outcome, Parallel, Peer, known};

use crate::regex::Judges;

use super::ascii::Ascii;
use super::code::{ORS, SUBSEP};
use super::compile::Compiled;
use super::fields::each_record;
use super::first_of_each_key::FirstOfEachKey;
use super::gate::Gate;
use super::length_filter::Lengths;
use super::machine::{Machine, Ran, Stop};
use super::next_record::{Ahead, Pending};
use super::paragraphs::Paragraphs;
use super::print_fields::Printed;
use super::restart::{Rest, Restart};
use super::rules::{self, Rules};
use super::set_field_to_constant::Assigned;
use super::substitute::Passes;

/// Why a helper refuses a block.
const ORDER: &str = "a sum that depends on the order";

/// Properties of the program for its driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProgramTraits {
    /// Its name in messages.
    pub(super) name: &'static str,
    pub(super) record_end: u8,
    /// Whether it has rules or an END.
    pub(super) reads: bool,
    /// Whether another process runs END if there was no record.
    pub(super) needs_record: bool,
    /// Whether another process continues from a NUL in the input on.
    pub(super) minds_nul: bool,
    /// Which input it judges; from other input on, another process continues too.
    pub(super) judges: Judges,
    /// Which awk it follows.
    pub(super) rules: Rules,
    /// Whether blocks can be processed in parallel.
    pub(super) shares: bool,
    /// The record number of an input after which record numbers no longer matter.
    pub(super) behind: u64,
    pub(super) whole_lines: bool,
    /// Whether record numbers may be needed, even in an error message.
    pub(super) counts: bool,
    /// Whether it adds up, and prints at the end.
    pub(super) folds: bool,
    /// Whether each addition is of 1.
    pub(super) adds_ones: bool,
    /// Whether it has loops.
    pub(super) loops: bool,
    /// Whether it works on bytes, not on characters, as long as its input is of ASCII.
    pub(super) works_on_bytes: bool,
}

#[derive(Clone, Debug)]
pub(super) struct AwkKernel {
    machine: Machine,
    manner: ProgramTraits,
    /// In paragraph mode.
    paragraphs: Option<Paragraphs>,
    /// What a record must match to have an effect.
    gate: Option<Gate>,
    /// Whether it only prints the records that do.
    prints_what_passes: bool,
    /// Set if the program only substitutes.
    passes: Option<Passes>,
    /// Set if strings of ASCII are taken for bytes.
    ascii: Option<Ascii>,
    lengths: Option<Lengths>,
    assigned: Option<Assigned>,
    printed: Option<Printed>,
    /// Set if other records have no effect.
    firsts: Option<FirstOfEachKey>,
    /// The rest of a block after it.
    left: Vec<u8>,
    /// What the program needs to take records by `getline`, if it does.
    ahead: Option<Arc<Ahead>>,
    pending: Pending,
    /// Set if the real awk may have to run again.
    restart: Option<Restart>,
    /// Whether it has to.
    again: bool,
    /// The ends of records, as bits.
    ends: Vec<u64>,
    begun: bool,
    over: bool,
    /// Whether the program wants no more of this input.
    leaves_input: bool,
    complaint: Vec<u8>,
}

impl AwkKernel {
    pub(super) fn new(
        compiled: &Compiled,
        mut manner: ProgramTraits,
        firsts: Option<FirstOfEachKey>,
        restart: Option<Restart>,
    ) -> Self {
        let machine = Machine::new(compiled);
        let ascii = manner
            .works_on_bytes
            .then(|| Ascii::new(manner.rules.characters, manner.shares && !manner.folds));
        let gate = Gate::of(&compiled.code, &compiled.patterns);
        let passes = Passes::of(&compiled.code, &compiled.patterns);
        let has_paragraphs = compiled.code.has_paragraphs;
        manner.rules.characters &= ascii.is_none();
        AwkKernel {
            machine,
            manner,
            ascii,
            paragraphs: has_paragraphs.then(|| Paragraphs::new(manner.rules.variant)),
            gate,
            prints_what_passes: false,
            passes,
            lengths: Lengths::of(&compiled.code),
            assigned: Assigned::of(&compiled.code),
            printed: None,
            firsts,
            left: Vec::new(),
            ahead: compiled.ahead.clone().map(Arc::new),
            pending: Pending::default(),
            restart,
            again: false,
            ends: Vec::new(),
            begun: false,
            over: false,
            leaves_input: false,
            complaint: Vec::new(),
        }
    }

    /// Takes strings for bytes or for characters, by the text that is read next.
    fn look_at(&mut self, text: &[u8]) {
        let is_on = self.ascii.as_ref().is_some_and(|ascii| ascii.allows(text));
        self.turn_ascii(is_on, text.len());
    }

    /// Takes strings for bytes if they all are of ASCII, and follows the rules for that.
    fn turn_ascii(&mut self, is_on: bool, length: usize) {
        if let Some(ascii) = &mut self.ascii {
            ascii.turn(is_on, length, &mut self.machine, &mut self.gate, &mut self.passes);
            self.manner.rules.characters = ascii.counts_characters && !is_on;
        }
        rules::follow(self.manner.rules);
    }

    fn begin(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            let ran = self.machine.begin();
            self.stopped(ran);
            self.machine.check_sums();
            let ends_lines = self.machine.globals[ORS].bytes() == Some(b"\n");
            self.prints_what_passes = ends_lines && self.machine.code.prints_what_passes();
            self.printed = Printed::of(&self.machine.code, &self.machine.globals);
            if let Some(firsts) = &mut self.firsts {
                let globals = &self.machine.globals;
                firsts.begin(globals[SUBSEP].bytes().unwrap_or_default(), globals[ORS].bytes());
            }
        }
    }

    /// Prepares for sums of a part of the input.
    pub(super) fn sum_only(&mut self) {
        let (helper, inexact) = (self.machine.helper(0), self.machine.inexact);
        // Initial values that are not small integers are refused at the end.
        (self.machine, self.over) = (helper, self.over || inexact);
    }

    /// Prepares for strings that may hold any characters.
    pub(super) fn expect_characters(&mut self) {
        self.turn_ascii(false, 0);
    }

    /// Returns its machine, unless something has ended it.
    pub(super) fn machine(&mut self) -> Option<&mut Machine> {
        (!self.over).then_some(&mut self.machine)
    }

    /// Whether the program was stopped. `exit` runs END.
    fn stopped(&mut self, ran: Ran<()>) -> bool {
        let Err(stop) = ran else { return false };
        if stop == Stop::NextFile {
            self.leaves_input = true;
            return false;
        }
        self.over = true;
        let stop = match stop {
            Stop::Exit if self.manner.reads => self.machine.end().err(),
            Stop::Exit => None,
            fatal => Some(fatal),
        };
        self.complain_if(stop);
        self.close_files();
        true
    }

    /// Takes over the machine's message if an error ended it.
    fn complain_if(&mut self, stop: Option<Stop>) {
        self.again |= stop == Some(Stop::Again);
        if stop == Some(Stop::Fatal) {
            let said = std::mem::take(&mut self.machine.said);
            self.complaint.extend([self.manner.name.as_bytes(), b": ", &said].concat());
            self.machine.status = 2;
        }
    }

    /// Closes the files that the program printed into.
    fn close_files(&mut self) {
        let stop = self.machine.close_files().err();
        self.complain_if(stop);
    }

    /// Processes records, whole ones except possibly the last.
    fn records(&mut self, block: &[u8]) {
        if block.is_empty() {
            return;
        }
        if let Some(paragraphs) = &mut self.paragraphs {
            let done = paragraphs.run(block, Self::each_paragraph(&mut self.machine));
            self.stopped(done);
            return;
        }
        if let Some(ahead) = self.ahead.clone() {
            return self.look_ahead(&ahead, block, false);
        }
        if self.manner.rules.characters && !block.is_ascii() {
            let done = self.carry_out(block);
            self.stopped(done);
            return;
        }
        if let Some(passes) = &mut self.passes {
            return passes.run(block, &mut self.machine.out);
        }
        if let Some(lengths) = &self.lengths {
            lengths.run(block, &mut self.ends, &mut self.machine.out);
            if self.manner.counts {
                self.pass_by(block, 0);
            }
            return;
        }
        if let Some(printed) = &mut self.printed {
            let machine = &mut self.machine;
            let records = printed.run(block, &mut self.ends, machine.records, &mut machine.out);
            return machine.skip(records);
        }
        if let Some(assigned) = &mut self.assigned
            && let Some(ran) = assigned.run(block, &mut self.ends, &mut self.machine)
        {
            self.stopped(ran);
            return;
        }
        if let Some(firsts) = &mut self.firsts {
            if firsts.is_all() {
                return firsts.run(block, &mut self.machine.out);
            }
            let mut left = std::mem::take(&mut self.left);
            left.clear();
            firsts.run(block, &mut left);
            let done = self.carry_out(&left);
            self.left = left;
            self.stopped(done);
            return;
        }
        let done = self.carry_out(block);
        self.stopped(done);
    }

    /// Processes records that may take the next ones.
    fn look_ahead(&mut self, ahead: &Ahead, block: &[u8], is_all: bool) {
        let code = Arc::clone(&self.machine.code);
        let run = |machine: &mut Machine, span| machine.record(&code, span);
        let done = self.pending.run(&mut self.machine, ahead, block, is_all, run);
        self.stopped(done);
    }

    fn carry_out(&mut self, block: &[u8]) -> Ran<()> {
        match self.gate.take() {
            Some(mut gate) => {
                let done = self.gated(&mut gate, block);
                self.gate = Some(gate);
                done
            }
            None if self.machine.code.rules.is_empty() => {
                self.pass_by(block, 0);
                Ok(())
            }
            None => {
                self.machine.record.set_block(block);
                self.each(block)
            }
        }
    }

    /// Returns what is done with a paragraph.
    fn each_paragraph(machine: &mut Machine) -> impl FnMut(&[u8]) -> Ran<()> {
        let code = Arc::clone(&machine.code);
        move |text| {
            machine.record.enter_alone(text);
            machine.rules(&code.rules)
        }
    }

    fn each(&mut self, block: &[u8]) -> Ran<()> {
        let code = Arc::clone(&self.machine.code);
        let (machine, end) = (&mut self.machine, self.manner.record_end);
        each_record(block, end, &mut self.ends, |record| machine.record(&code, record))
    }

    /// Processes only the lines that pass the gate; the others are counted.
    fn gated(&mut self, gate: &mut Gate, block: &[u8]) -> Ran<()> {
        let (machine, counts) = (&mut self.machine, self.manner.counts);
        if self.prints_what_passes && block.ends_with(b"\n") {
            gate.keep(block, &mut machine.out);
            self.pass_by(block, 0);
            return Ok(());
        }
        let code = Arc::clone(&machine.code);
        let mut passed = 0;
        let is_done = gate.each(block, |line, from| {
            if counts {
                machine.skip(memchr::memchr_iter(b'\n', &block[from..line.start]).count() as u64);
            }
            passed = line.end + 1;
            machine.record.enter_alone(&block[line]);
            machine.rules(&code.rules)
        })?;
        if !is_done {
            self.machine.record.set_block(block);
            return self.each(block);
        }
        self.pass_by(block, passed.min(block.len()));
        Ok(())
    }

    /// Skips records without an effect; the last of them is the last record read.
    fn pass_by(&mut self, block: &[u8], from: usize) {
        let end = self.manner.record_end;
        let rest = &block[from..];
        let Some(last) = rest.len().checked_sub(1) else { return };
        let open = rest[last] != end;
        if self.manner.counts {
            self.machine.skip(memchr::memchr_iter(end, rest).count() as u64 + u64::from(open));
        }
        let stop = if open { block.len() } else { block.len() - 1 };
        let start = memchr::memrchr(end, &block[from..stop]).map_or(from, |before| from + before + 1);
        self.machine.record.enter_alone(&block[start..stop]);
    }

    /// Counts what was printed from `start` on. Starts the real awk again if it has to run.
    fn printed_from(&mut self, start: usize, out: &[u8]) {
        let Some(restart) = &mut self.restart else { return };
        restart.printed(out.len() - start);
        if std::mem::take(&mut self.again) {
            // The real awk says it again.
            self.machine.aside.clear();
            self.machine.warning.clear();
            let rest = restart.start(self.manner.name);
            self.take_over(rest);
        }
    }

    /// Whether the real awk takes the place of this kernel.
    fn is_left(&self) -> bool {
        self.restart.as_ref().is_some_and(Restart::is_left)
    }

    /// Prints more of what the real awk prints. Returns `false` at its end.
    fn read_real(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(restart) = &mut self.restart else { return false };
        if restart.read_on(out) {
            return true;
        }
        let rest = restart.end();
        self.take_over(rest);
        false
    }

    fn take_over(&mut self, rest: Option<Rest>) {
        if let Some(rest) = rest {
            self.complaint = rest.said;
            self.machine.status = rest.status;
        }
    }

    /// Passes on the output.
    fn flush(&mut self, out: &mut Vec<u8>) {
        if out.is_empty() {
            std::mem::swap(out, &mut self.machine.out);
        } else {
            out.append(&mut self.machine.out);
        }
    }
}

/// Returns records that end at their first NUL, as those of the one true awk. All are ended, for one may become empty.
fn without_nul(block: &[u8], end: u8) -> Vec<u8> {
    let records = block.strip_suffix(&[end]).unwrap_or(block).split(|byte| *byte == end);
    let mut kept = Vec::with_capacity(block.len());
    for record in records {
        kept.extend_from_slice(&record[..memchr::memchr(0, record).unwrap_or(record.len())]);
        kept.push(end);
    }
    kept
}

impl Kernel for AwkKernel {
    fn framing(&self) -> Framing {
        Framing::Records(self.manner.record_end)
    }

    fn notice(&mut self, notice: Notice<'_>) {
        if let (Notice::Resources(resources), Some(restart)) = (notice, &mut self.restart) {
            restart.by(resources.itself.as_ref());
        }
        if let (Notice::FilesInUse(files), Some(own)) = (notice, &mut self.machine.files) {
            own.set_in_use(files);
        }
    }

    fn begin_input(&mut self, name: Option<&[u8]>, out: &mut Vec<u8>) {
        self.look_at(name.unwrap_or_default());
        self.begin();
        if let Some(paragraphs) = &mut self.paragraphs {
            paragraphs.begin();
        }
        self.machine.file_records = 0;
        self.machine.inputs = usize::from(name.is_some());
        let without = if rules::is_one_true() { b"".as_slice() } else { b"-" };
        self.machine.file_name = name.unwrap_or(without).to_vec();
        let start = out.len();
        self.flush(out);
        self.printed_from(start, out);
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        self.look_at(block);
        if self.is_left() {
            return Ok(if self.read_real(out) { Flow::Pending } else { Flow::Done });
        }
        let whole;
        // What may be handed over stays as it is.
        let block = if rules::is_one_true() && !self.manner.minds_nul && memchr::memchr(0, block).is_some() {
            whole = without_nul(block, self.manner.record_end);
            &whole
        } else {
            block
        };
        if self.over {
            return Ok(Flow::Done);
        }
        if self.machine.exactly {
            let added = self.carry_out(block).is_ok();
            return if added { Ok(Flow::More) } else { Err(HandOver::at(0, ORDER)) };
        }
        let nul = if self.manner.minds_nul { memchr::memchr(0, block) } else { None };
        let unjudged = nul.or_else(|| self.manner.judges.first_unjudged(block));
        let judged = unjudged.map_or(block.len(), |at| {
            memchr::memrchr(self.manner.record_end, &block[..at]).map_or(0, |end| end + 1)
        });
        // The machine prints directly into the output buffer.
        let start = out.len();
        std::mem::swap(out, &mut self.machine.out);
        self.records(&block[..judged]);
        std::mem::swap(out, &mut self.machine.out);
        if self.restart.is_some() {
            let leaves = unjudged.is_some() && !self.over && !self.leaves_input;
            self.again |= leaves;
            self.over |= leaves;
            self.printed_from(start, out);
        }
        if self.is_left() {
            return Ok(Flow::Pending);
        }
        if self.over {
            return Ok(Flow::Done);
        }
        if std::mem::take(&mut self.leaves_input) {
            return Ok(Flow::NextInput);
        }
        if unjudged.is_some() {
            let why = if nul.is_some() {
                "a NUL in the input"
            } else {
                "bytes that are no ASCII, or no characters"
            };
            return Err(HandOver::at(judged, why));
        }
        Ok(Flow::More)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        rules::follow(self.manner.rules);
        let start = out.len();
        if let Some(ahead) = self.ahead.clone().filter(|_| !self.over && !self.pending.is_empty()) {
            self.look_ahead(&ahead, b"", true);
            self.flush(out);
        }
        if let Some(paragraphs) = &mut self.paragraphs
            && !self.over
        {
            let done = paragraphs.end(Self::each_paragraph(&mut self.machine));
            self.stopped(done);
            self.leaves_input = false;
            self.flush(out);
        }
        self.printed_from(start, out);
        Ok(if self.over && !self.is_left() { Flow::Done } else { Flow::More })
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        rules::follow(self.manner.rules);
        if self.is_left() {
            return Ok(if self.read_real(out) { Flow::More } else { Flow::Done });
        }
        let start = out.len();
        self.begin();
        if self.manner.needs_record && self.machine.records == 0 {
            return Err(HandOver::at(0, "no record makes an array of what END asks the length of"));
        }
        if !self.over {
            self.machine.inputs = 0;
            let ran = self.machine.end();
            // An exit in END runs nothing more.
            self.manner.reads = false;
            self.stopped(ran);
        }
        self.over = true;
        self.close_files();
        self.flush(out);
        self.printed_from(start, out);
        Ok(if self.is_left() { Flow::More } else { Flow::Done })
    }

    fn messages(&mut self) -> Vec<u8> {
        let mut said = std::mem::take(&mut self.machine.aside);
        said.append(&mut self.machine.warning);
        said.append(&mut self.complaint);
        if let Some(restart) = &mut self.restart {
            restart.said(said.len());
        }
        said
    }

    fn status(&self) -> i32 {
        self.machine.status
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        Some(self)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl IoControl for AwkKernel {
    fn is_slow_per_record(&mut self) -> bool {
        self.manner.loops
    }
}

impl Parallel for AwkKernel {
    fn fork(&mut self) -> Option<Peer> {
        if let Some(firsts) = self.firsts.as_ref().filter(|_| self.begun && !self.over) {
            return firsts.fork();
        }
        let counted = self.machine.records.min(self.machine.file_records);
        if self.over || self.machine.exactly || counted < self.manner.behind {
            return None;
        }
        if self.manner.folds && self.begun && !self.machine.inexact {
            let helper = AwkKernel { machine: self.machine.helper(self.manner.behind), ..self.clone() };
            return Some(if self.manner.adds_ones { Peer::of_fold(helper) } else { Peer::of_sums(helper) });
        }
        self.manner.shares.then(|| Peer::of_blocks(self.clone()))
    }

    fn merge(&mut self, peer: Box<dyn Kernel>) {
        rules::follow(self.manner.rules);
        if let Some(firsts) = &mut self.firsts {
            firsts.in_vain |= known::<FirstOfEachKey>(peer).is_some_and(|peer| peer.in_vain);
            return;
        }
        if let Some(helper) = known::<AwkKernel>(peer).filter(|helper| helper.manner.folds) {
            if helper.ascii.as_ref().is_some_and(|ascii| !ascii.is_on()) {
                self.turn_ascii(false, 0);
            }
            self.machine.join(&helper.machine, self.manner.behind);
        }
    }

    fn keeps_records_whole(&mut self, end: u8) -> bool {
        end == b'\n' && self.manner.record_end == end && self.manner.whole_lines
    }
}
