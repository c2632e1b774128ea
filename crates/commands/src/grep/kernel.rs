//! The kernel as its driver sees it: inputs, arrivals, blocks, peers.

use std::ops::Range;

use memchr::memchr;
use pelton_stream::{
    Flow, Framing, HandOver, InputKind, IoControl, Kernel, Notice, Outcome, Parallel, Peer, PlainFile, known,
};

use super::context_lines::Past;
use super::options::{Options, Show};
use super::reads::Reads;
use super::search::{Enough, GrepKernel, Progress, take_all};

/// The C library's buffer for a pipe: with no more output than that, grep notices only at its end that its
/// reader has left.
const BUFFER_BYTES: u64 = 4096;

impl GrepKernel {
    /// Looks for a NUL in the bytes of one read.
    fn arrives(&mut self, bytes: &[u8]) {
        if self.options.text || self.gets_no_nul {
            return;
        }
        if self.reads_stdin {
            *self.from_stdin.get_or_insert(0) += bytes.len() as u64;
        }
        let progress = &mut self.progress;
        progress.nul = memchr(0, bytes).map(|at| progress.arrived + at as u64);
        progress.any_nul |= progress.nul.is_some();
        progress.arrived += bytes.len() as u64;
    }

    /// Ends an input, once, whether it was read to its end or not: prints the lines kept back, and the count, the
    /// name or the message that grep prints after them.
    fn end(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let before = out.len();
        take_all(&mut self.progress.earlier, out);
        take_all(&mut self.progress.unsure, out);
        match self.options.show {
            Show::Count => {
                self.printer.name_before(out);
                out.extend_from_slice(format!("{}\n", self.progress.selected).as_bytes());
            }
            Show::Names { matching } if matching == (self.progress.selected > 0) => {
                out.extend_from_slice(self.printer.name());
                out.push(b'\n');
            }
            _ => {}
        }
        self.printed += (out.len() - before) as u64;
        let nul = self.progress.binary.is_some_and(|before| before < self.progress.selected);
        if let Some(said) = self.progress.asked.take() {
            self.complaints.extend(said);
        } else if !self.options.is_quiet() && !self.unread && (nul || self.progress.withheld.is_some()) {
            self.complaints.extend_from_slice(&self.is_binary());
        }
    }
}

/// Work that several threads share.
impl GrepKernel {
    /// Whether peers may search what comes next, with their output kept back until it is certain. Very long lines make that
    /// more than a cache holds.
    fn may_look_ahead(&self) -> bool {
        let Progress { reads, any_nul, stuck, asked, binary, full, .. } = &self.progress;
        let is_beyond_first = reads.are_of_pipe() || !reads.are_known();
        let is_undecided =
            stuck.is_some() || asked.is_some() || binary.is_some() || *full || self.real.is_some();
        reads.do_not_depend_on_time()
            && reads.are_short()
            && is_beyond_first
            && !any_nul
            && !is_undecided
            && !self.drains
    }

    /// Searches a block as a peer: what is not text is for the first kernel.
    fn push_as_peer(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<Enough, HandOver> {
        let is_certain = self.options.text || self.gets_no_nul;
        let before = self.progress.reads.longest();
        self.progress.reads.make_room(block, 0);
        if !is_certain && (self.progress.reads.longest() > before || memchr(0, block).is_some()) {
            return Err(HandOver::at(0, "data that may be binary"));
        }
        let enough = self.search(block, out)?;
        match self.progress.withheld {
            Some(_) => Err(HandOver::at(0, "an invalid character")),
            None => Ok(enough),
        }
    }
}

impl Kernel for GrepKernel {
    fn framing(&self) -> Framing {
        Framing::Records(b'\n')
    }

    fn notice(&mut self, notice: Notice<'_>) {
        match notice {
            Notice::Inputs(kinds) => self.kinds = kinds.to_vec(),
            Notice::NextInput(kind) => self.kinds.push(kind),
            Notice::Resources(resources) => self.itself = resources.itself.clone(),
            Notice::Arrival(bytes) => self.arrives(bytes),
            Notice::InputWithoutNul => self.gets_no_nul = true,
            Notice::DiscardedOutput => self.unread = true,
            Notice::PrecedingByte(_)
            | Notice::ProcessFork
            | Notice::UnreadableInput
            | Notice::FilesInUse(_) => {}
        }
    }

    fn begin_input(&mut self, name: Option<&[u8]>, _out: &mut Vec<u8>) {
        self.printer.begin(name);
        self.past = Past::default();
        self.reads_stdin = name.is_none();
        (self.drains, self.ended) = (false, false);
        let kind = self.kinds.get(self.begun).copied().unwrap_or(InputKind::Other);
        self.operands = self.options.inputs_until(name, self.operands);
        let reads = if self.begun == 0 { Reads::new(kind) } else { self.progress.reads.go_on(kind) };
        self.cannot_repeat |= reads.are_of_pipe();
        self.printed_before = self.printed;
        self.progress = Progress::new(reads);
        self.begun += 1;
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if self.drains {
            self.end(out);
            return Ok(Flow::More);
        }
        self.since = out.len();
        let enough = match self.options.text || self.gets_no_nul {
            _ if self.is_peer && !self.is_quiet() => self.push_as_peer(block, out)?,
            true => self.search(block, out)?,
            false if !self.is_quiet() => self.push_unsure(block, out)?,
            false if self.may_hold_nuls(block) && memchr(0, block).is_some() => {
                self.search_zapped(block, 0)?
            }
            false => self.search(block, out)?,
        };
        self.printed += (out.len() - self.since) as u64;
        Ok(match enough {
            true if self.options.show == Show::Nothing => Flow::Done,
            // Its position in the standard input is final now.
            true if self.progress.asked.is_some() => Flow::NextInput,
            true if self.options.limit != Some(self.progress.selected) && self.reads_stdin => {
                // grep leaves nothing of its standard input to others, and breaks no pipe.
                self.drains = true;
                // grep writes more than this at once, and ends there if its reader has gone. Whether it has shows
                // before the next call.
                if (out.len() - self.since) as u64 <= BUFFER_BYTES {
                    self.end(out);
                }
                Flow::More
            }
            true => Flow::NextInput,
            false => Flow::More,
        })
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        if let Some(reason) = self.progress.stuck {
            self.since = out.len();
            if self.options.around.is_some() && self.start_over(0, out) {
                self.printed += (out.len() - self.since) as u64;
                self.end(out);
                return Ok(Flow::More);
            }
            take_all(&mut self.progress.earlier, out);
            return Err(self.give_read(0, reason));
        }
        self.end(out);
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        Ok(if self.read_on(out) { Flow::More } else { Flow::Done })
    }

    fn messages(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.complaints)
    }

    fn status(&self) -> i32 {
        self.exit_status()
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        Some(self)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl IoControl for GrepKernel {
    /// An input that would only be drained need not be read at all.
    fn prefers_reading_itself(&mut self, _bytes: u64) -> bool {
        self.drains
    }

    fn read_range(&mut self, _file: &dyn PlainFile, range: Range<u64>) -> (u64, Flow) {
        (range.end.saturating_sub(range.start), Flow::More)
    }

    fn ignores_epipe(&mut self) -> bool {
        !self.options.text && !self.options.is_quiet() && self.printed <= BUFFER_BYTES
    }
}

impl Parallel for GrepKernel {
    /// Lines of possibly binary data are certain to be printed once no NUL has come for as long as a read can be.
    fn fork(&mut self) -> Option<Peer> {
        let Options { show, text, line_numbers, offsets, limit, around, .. } = self.options;
        if limit.is_some() || around.is_some() || self.unread {
            return None;
        }
        let (ends_only, gets_no_nul) = (self.ends_only, self.gets_no_nul);
        let mut peer = GrepKernel { ends_only, gets_no_nul, is_peer: true, ..GrepKernel::new(&self.options) };
        peer.printer.begin_as(&self.printer);
        peer.progress.reads = self.progress.reads;
        match show {
            Show::Count => Some(Peer::of_fold(peer)),
            Show::Lines | Show::Matches if line_numbers || offsets => None,
            Show::Lines | Show::Matches if text || gets_no_nul => Some(Peer::of_blocks(peer)),
            Show::Lines | Show::Matches if self.may_look_ahead() => {
                Some(Peer::of_blocks(peer).with_lookahead(self.progress.reads.longest()))
            }
            _ => None,
        }
    }

    fn take_printed_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.printed)
    }

    fn pass(&mut self, read: u64, printed: u64, out: &mut Vec<u8>) {
        let now = self.now(0);
        let progress = &mut self.progress;
        self.printed += printed + (progress.earlier.len() + progress.unsure.len()) as u64;
        take_all(&mut progress.earlier, out);
        take_all(&mut progress.unsure, out);
        progress.kept.clear();
        let offset = self.printer.skip(read);
        progress.arrived = offset;
        progress.reads.go_to(offset);
        progress.selected_earlier = progress.selected;
        progress.before = now;
    }

    fn merge(&mut self, peer: Box<dyn Kernel>) {
        let Some(peer) = known::<Self>(peer) else { return };
        self.any |= peer.any;
        self.printed += peer.printed;
        if self.options.show == Show::Count {
            self.progress.selected += peer.progress.selected;
        }
        if self.sample.is_empty() {
            self.sample = peer.sample;
        }
    }
}
