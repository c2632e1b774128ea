//! What `xargs echo` prints: items gathered into batches, each printed as echo prints it.
//!
//! ```text
//! bytes ──items──► item ──gather──► batch ──echo──► out
//! ```
//! What lies between the start of the batch and the end of what was read is kept as it came, so that the real xargs
//! can go on from the start of a batch: there its state is that of its own start.

use memchr::memmem;
use pelton_stream::{Flow, Framing, HandOver, Kernel, Outcome};

use super::items::{Items, Step};
use super::{Batch, Settings};
use crate::echo::is_options;

/// More than this is not kept of a batch: what is that long is mostly blanks or quotes.
const HELD_BYTES: usize = 1 << 20;

/// With -I, lines and command lines longer than this are left to the real one, which has limits on both.
const REPLACED_BYTES: usize = 4096;

pub(super) struct XargsKernel {
    settings: Settings,
    items: Items,
    /// The items of the batch, a NUL behind each.
    batch: Vec<u8>,
    count: u64,
    lines: u64,
    /// What the words of the command line take of the characters of a batch.
    words_bytes: usize,
    has_run: bool,
    /// What was read from the start of the batch up to the current block.
    held: Vec<u8>,
    /// Where in `held` and the block after it the current item begins.
    item_start: usize,
}

type Troubled<T> = Result<T, &'static str>;

impl XargsKernel {
    pub(super) fn new(settings: Settings) -> Self {
        XargsKernel {
            items: Items::new(settings.reading),
            words_bytes: settings.words_bytes(),
            settings,
            batch: Vec::new(),
            count: 0,
            lines: 0,
            has_run: false,
            held: Vec::new(),
            item_start: 0,
        }
    }

    /// An item is complete. Returns where the batch now begins: behind the item, before it, or where it did.
    fn gather(&mut self, line: bool, out: &mut Vec<u8>) -> Troubled<Start> {
        if let Batch::Replace(pattern) = &self.settings.batch {
            let words = replaced(&self.settings.words, pattern, &self.items.item)?;
            self.items.item.clear();
            self.has_run = true;
            return say(words.iter().map(Vec::as_slice), out).map(|()| Start::Behind);
        }
        let mut start = Start::Kept;
        if self.words_bytes + self.batch.len() + self.items.item.len() + 1 > self.settings.characters {
            if self.batch.is_empty() || self.settings.exits || matches!(self.settings.batch, Batch::Lines(_))
            {
                return Err("a list of arguments that is too long");
            }
            self.run(out)?;
            start = Start::Before;
        }
        self.batch.append(&mut self.items.item);
        self.batch.push(0);
        self.count += 1;
        self.lines += u64::from(line);
        let full = match self.settings.batch {
            Batch::Items(most) => self.count == most,
            Batch::Lines(most) => self.lines >= most,
            _ => false,
        };
        if full {
            // What is handed over begins with the batch: nothing of this item may have been printed.
            self.run(out)?;
            start = Start::Behind;
        }
        Ok(start)
    }

    /// Prints what the command prints for this batch.
    fn run(&mut self, out: &mut Vec<u8>) -> Troubled<()> {
        let words = self.settings.words.iter().map(Vec::as_slice);
        let items = self.batch.split_inclusive(|&byte| byte == 0).map(|item| &item[..item.len() - 1]);
        say(words.chain(items), out)?;
        self.batch.clear();
        (self.count, self.lines, self.has_run) = (0, 0, true);
        Ok(())
    }

    fn is_too_long(&self) -> bool {
        let most = match self.settings.batch {
            Batch::Replace(_) => REPLACED_BYTES,
            _ => self.settings.characters,
        };
        self.words_bytes + self.items.item.len() + 2 > most
    }

    /// The block is done; what belongs to the batch is kept.
    fn keep(&mut self, block: &[u8], start: usize) -> Outcome {
        self.held.extend_from_slice(&block[start..]);
        if self.held.len() <= HELD_BYTES {
            return Ok(Flow::More);
        }
        if self.batch.is_empty() && self.items.item.is_empty() {
            // Empty quotes: that there is an item must be sure where the real one is to go on, as it runs at least once.
            self.held = self.items.shortest();
            self.item_start = 0;
            return Ok(Flow::More);
        }
        Err(HandOver { consumed: block.len(), reason: "more between the items than is kept" })
    }
}

/// Where the batch begins after an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Kept,
    Before,
    Behind,
}

impl Kernel for XargsKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        // Where the batch begins in the block, if nothing of it is held.
        let mut start = 0;
        for (at, &byte) in block.iter().enumerate() {
            if self.items.is_between() {
                self.item_start = self.held.len() + at - start;
            }
            let step = self.items.step(byte);
            let begins = match step {
                Step::Taken if self.is_too_long() => Err("an item that is too long"),
                Step::Taken => Ok(Start::Kept),
                Step::Skipped if self.batch.is_empty() => Ok(Start::Behind),
                Step::Skipped => Ok(Start::Kept),
                Step::Ended { line } => self.gather(line, out),
                Step::Trouble(reason) => Err(reason),
            };
            match begins.map_err(|reason| HandOver { consumed: start, reason })? {
                Start::Kept => {}
                Start::Before => {
                    let into_block = self.item_start.saturating_sub(self.held.len());
                    self.held.drain(..self.item_start.min(self.held.len()));
                    start += into_block;
                }
                Start::Behind => {
                    self.held.clear();
                    start = at + 1;
                }
            }
        }
        self.keep(block, start)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        let rest = match self.items.finish() {
            Some(Step::Trouble(reason)) => Err(reason),
            Some(_) => self.gather(false, out).map(|start| {
                if start == Start::Before {
                    self.held.drain(..self.item_start);
                }
            }),
            None => Ok(()),
        };
        let ended = rest.and_then(|()| {
            let runs_empty = !self.has_run && self.settings.runs_empty;
            if self.batch.is_empty() && !runs_empty { Ok(()) } else { self.run(out) }
        });
        ended.map(|()| Flow::Done).map_err(|reason| HandOver { consumed: 0, reason })
    }

    fn held(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

/// The words with each occurrence of the pattern replaced.
fn replaced(words: &[Vec<u8>], pattern: &[u8], item: &[u8]) -> Troubled<Vec<Vec<u8>>> {
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

/// What echo prints, which reads its options from the items as well.
fn say<'a>(words: impl Iterator<Item = &'a [u8]> + Clone, out: &mut Vec<u8>) -> Troubled<()> {
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
