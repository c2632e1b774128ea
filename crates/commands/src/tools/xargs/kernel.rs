//! Gathers items into batches, and prints the output of the command for each: that of echo, or of a kernel
//! over files.
//!
//! ```text
//! bytes ──items──► item ──gather──► batch ──echo, or a run over files──► out
//! ```
//! The input from the start of the batch to the read position is kept unchanged, so that the real xargs can
//! continue from the start of a batch: there its state equals its initial state.

use memchr::memmem;
use pelton_stream::{BLOCK_BYTES, Flow, Framing, HandOver, Kernel, Notice, Outcome, Resources};

use super::items::{ByteEffect, Items};
use super::{Batch, Runs, Settings};
use crate::tool::in_process_exec::{OrFallback, Progress, Run, RunOutput};
use crate::tools::echo::is_options;

/// Most bytes kept of a batch: a longer one is mostly blanks or quotes.
const HELD_BYTES: usize = 1 << 20;

/// Most bytes, with -I, of the command's words and one item. Above it, or if a command line's replacements
/// add up to over four times as much, the real xargs takes over: it has limits of its own.
const REPLACED_BYTES: usize = 4096;

/// Output bytes per block.
const ENOUGH_BYTES: usize = 1 << 20;

/// The status of xargs after a failed command.
const COMMAND_FAILED: i32 = 123;

pub(super) struct XargsKernel {
    settings: Settings,
    items: Items,
    /// The items of the batch.
    batch: Vec<Vec<u8>>,
    /// Their share of `characters`.
    batch_bytes: usize,
    lines: u64,
    /// The share of the command line's words.
    words_bytes: usize,
    has_run: bool,
    /// The input from the start of the batch on.
    held: Vec<u8>,
    /// Bytes of it before the start of the batch, which are done.
    start: usize,
    /// Bytes of it that were split into items.
    read: usize,
    /// The start of the current item in it.
    item_start: usize,
    /// The command's run for the batch, and the start of the next batch.
    running: Option<(Run, usize)>,
    failed: bool,
    complaints: Vec<u8>,
    resources: Resources,
    output_is_discarded: bool,
    /// The read buffer for files.
    block: Vec<u8>,
}

impl XargsKernel {
    pub(super) fn new(settings: Settings) -> Self {
        XargsKernel {
            items: Items::new(settings.reading),
            words_bytes: settings.words_bytes(),
            settings,
            batch: Vec::new(),
            batch_bytes: 0,
            lines: 0,
            has_run: false,
            held: Vec::new(),
            start: 0,
            read: 0,
            item_start: 0,
            running: None,
            failed: false,
            complaints: Vec::new(),
            resources: Resources::default(),
            output_is_discarded: false,
            block: Vec::new(),
        }
    }

    /// Processes the input so far, until enough is printed for one call.
    fn advance(&mut self, out: &mut Vec<u8>) -> OrFallback<Flow> {
        let before = out.len();
        loop {
            if self.running.is_some() && !self.run_on(out)? {
                return Ok(Flow::Pending);
            }
            if out.len() - before >= ENOUGH_BYTES || !self.complaints.is_empty() {
                return Ok(Flow::Pending);
            }
            if self.read == self.held.len() {
                return Ok(Flow::More);
            }
            self.read_byte(out)?;
        }
    }

    fn read_byte(&mut self, out: &mut Vec<u8>) -> OrFallback<()> {
        if self.items.is_between() {
            self.item_start = self.read;
        }
        let step = self.items.step(self.held[self.read]);
        self.read += 1;
        match step {
            ByteEffect::Taken if self.is_too_long() => Err("an item that is too long"),
            ByteEffect::Taken => Ok(()),
            ByteEffect::Skipped if self.batch.is_empty() => {
                self.start = self.read;
                Ok(())
            }
            ByteEffect::Skipped => Ok(()),
            ByteEffect::Ended { line } => self.gather(line, out),
            ByteEffect::Trouble(reason) => Err(reason),
        }
    }

    /// Adds a complete item.
    fn gather(&mut self, line: bool, out: &mut Vec<u8>) -> OrFallback<()> {
        let item = std::mem::take(&mut self.items.item);
        if let Batch::Replace(_) = &self.settings.batch {
            self.batch.push(item);
            return self.run(self.read, out);
        }
        if self.words_bytes + self.batch_bytes + item.len() + 1 > self.settings.characters {
            if self.batch.is_empty() || self.settings.exits || matches!(self.settings.batch, Batch::Lines(_))
            {
                return Err("a list of arguments that is too long");
            }
            // The item begins the next batch, and is read again.
            self.read = self.item_start;
            self.items = Items::new(self.settings.reading);
            return self.run(self.item_start, out);
        }
        self.batch_bytes += item.len() + 1;
        self.batch.push(item);
        self.lines += u64::from(line);
        let full = match self.settings.batch {
            Batch::Items(most) => self.batch.len() as u64 == most,
            Batch::Lines(most) => self.lines >= most,
            _ => false,
        };
        if full { self.run(self.read, out) } else { Ok(()) }
    }

    /// Runs the command for the batch; the next one begins at `next`.
    fn run(&mut self, next: usize, out: &mut Vec<u8>) -> OrFallback<()> {
        match &self.settings.runs {
            Runs::Echo => {
                match &self.settings.batch {
                    Batch::Replace(pattern) => {
                        let item = self.batch.first().map_or(&[][..], Vec::as_slice);
                        let words = replaced(&self.settings.words, pattern, item)?;
                        say(words.iter().map(Vec::as_slice), out)?;
                    }
                    _ => {
                        let words = self.settings.words.iter().chain(&self.batch);
                        say(words.map(Vec::as_slice), out)?;
                    }
                }
                self.begin_batch(next);
            }
            Runs::Program(_) if self.batch.is_empty() => return Err("a command that reads no file"),
            Runs::Program(program) => {
                let files = std::mem::take(&mut self.batch);
                let run = Run::new(program, files, &self.resources, self.output_is_discarded)?;
                self.running = Some((run, next));
            }
        }
        Ok(())
    }

    /// Continues the run. Returns whether it has ended.
    fn run_on(&mut self, out: &mut Vec<u8>) -> OrFallback<bool> {
        let Some((run, next)) = &mut self.running else { return Ok(true) };
        self.block.resize(BLOCK_BYTES, 0);
        let before = out.len();
        let mut said = RunOutput { out, complaints: &mut self.complaints };
        match run.resume(&self.resources, &mut self.block, &mut said) {
            Ok(Progress::Paused) => Ok(false),
            Ok(Progress::Ended(status)) => {
                self.failed |= status != 0;
                let next = *next;
                self.running = None;
                self.begin_batch(next);
                Ok(true)
            }
            Err(reason) => {
                out.truncate(before);
                self.complaints.clear();
                self.running = None;
                Err(reason)
            }
        }
    }

    fn begin_batch(&mut self, start: usize) {
        self.start = start;
        self.batch.clear();
        (self.batch_bytes, self.lines, self.has_run) = (0, 0, true);
    }

    fn is_too_long(&self) -> bool {
        let most = match self.settings.batch {
            Batch::Replace(_) => REPLACED_BYTES,
            _ => self.settings.characters,
        };
        self.words_bytes + self.items.item.len() + 2 > most
    }

    /// Drops what is done.
    fn forget(&mut self) -> OrFallback<()> {
        self.held.drain(..self.start);
        self.read -= self.start;
        self.item_start = self.item_start.saturating_sub(self.start);
        if let Some((_, next)) = &mut self.running {
            *next -= self.start;
        }
        self.start = 0;
        if self.read <= HELD_BYTES || self.running.is_some() {
            return Ok(());
        }
        if self.batch.is_empty() && self.items.item.is_empty() {
            // Empty quotes: the real xargs runs at least once, so a fallback must keep that an item exists.
            let rest = self.held.split_off(self.read);
            self.held = self.items.shortest();
            (self.read, self.item_start) = (self.held.len(), 0);
            self.held.extend(rest);
            return Ok(());
        }
        Err("more between the items than is kept")
    }

    /// Ends a call. On success, drops the input of finished batches; if what remains is too much to keep,
    /// falls back. On fallback, hands the real xargs the input from the start of the batch on, and the status
    /// so far; `consumed` is how much of the current block was taken.
    fn outcome(&mut self, done: OrFallback<Flow>, consumed: usize) -> Outcome {
        done.and_then(|flow| self.forget().map(|()| flow)).map_err(|reason| {
            let unconsumed = std::mem::take(&mut self.held).split_off(self.start);
            HandOver::at(consumed, reason).with_unconsumed(unconsumed).with_status(0, self.status())
        })
    }

    /// Ends the input.
    fn conclude(&mut self, out: &mut Vec<u8>) -> OrFallback<Flow> {
        if self.advance(out)? == Flow::Pending {
            return Ok(Flow::More);
        }
        match self.items.finish() {
            Some(ByteEffect::Trouble(reason)) => return Err(reason),
            Some(_) => self.gather(false, out)?,
            None => {
                let runs_empty = !self.has_run && self.settings.runs_empty;
                if self.batch.is_empty() && !runs_empty {
                    return Ok(Flow::Done);
                }
                self.run(self.read, out)?;
            }
        }
        Ok(Flow::More)
    }
}

impl Kernel for XargsKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn notice(&mut self, notice: Notice<'_>) {
        match notice {
            Notice::Resources(resources) => self.resources = resources.clone(),
            Notice::DiscardedOutput => self.output_is_discarded = true,
            _ => {}
        }
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        self.held.extend_from_slice(block);
        let done = self.advance(out);
        self.outcome(done, block.len())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        match self.conclude(out) {
            Ok(Flow::Done) => Ok(Flow::Done),
            done => self.outcome(done, 0),
        }
    }

    fn messages(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.complaints)
    }

    fn status(&self) -> i32 {
        if self.failed { COMMAND_FAILED } else { 0 }
    }
}

/// Returns the words with each occurrence of the pattern replaced.
fn replaced(words: &[Vec<u8>], pattern: &[u8], item: &[u8]) -> OrFallback<Vec<Vec<u8>>> {
    let mut total = 0;
    let mut result = Vec::with_capacity(words.len());
    for word in words {
        let mut new = Vec::with_capacity(word.len());
        let mut from = 0;
        for at in memmem::find_iter(word, pattern) {
            new.extend_from_slice(&word[from..at]);
            new.extend_from_slice(item);
            from = at + pattern.len();
            total += item.len();
            if total > 4 * REPLACED_BYTES {
                return Err("a command line that is too long");
            }
        }
        new.extend_from_slice(&word[from..]);
        result.push(new);
    }
    Ok(result)
}

/// Prints what echo does, which also parses options from the items.
fn say<'a>(words: impl Iterator<Item = &'a [u8]> + Clone, out: &mut Vec<u8>) -> OrFallback<()> {
    let mut alone = words.clone();
    if let (Some(b"--help" | b"--version"), None) = (alone.next(), alone.next()) {
        return Err("echo tells about itself");
    }
    let (mut newline, mut escapes) = (true, false);
    for letter in words.clone().take_while(|word| is_options(word)).flat_map(|word| &word[1..]) {
        match letter {
            b'n' => newline = false,
            b'e' => escapes = true,
            _ => escapes = false,
        }
    }
    let mut printed = words.skip_while(|word| is_options(word));
    if escapes && printed.clone().any(|word| word.contains(&b'\\')) {
        return Err("escapes, which echo expands");
    }
    if let Some(first) = printed.next() {
        out.extend_from_slice(first);
    }
    for word in printed {
        out.push(b' ');
        out.extend_from_slice(word);
    }
    if newline {
        out.push(b'\n');
    }
    Ok(())
}
