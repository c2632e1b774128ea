//! Texts that are kept until all of them have arrived: in memory, or else one after another in a file.

use std::ops::Range;
use std::sync::Arc;

use pelton_stream::{Holding, Stored};

use super::merge::Source;
use super::spill_directory::{Complaint, SpillDirectory, said};

/// How much of each text in the file is in memory at once, in bytes: one part in this many of the allowed
/// memory, for all texts.
const WINDOW_SHARE: usize = 4;
const WINDOW_BYTES_MIN: usize = 4 << 10;
const WINDOW_BYTES_MAX: usize = 1 << 20;

/// The texts.
#[derive(Debug, Default)]
pub(super) struct Texts {
    place: Option<SpillDirectory>,
    /// Reserves memory for the texts from the sort's limit, until dropped.
    held: Option<Holding>,
    kept: Kept,
    /// Each text's range in memory or in the file, in order.
    texts: Vec<Range<u64>>,
}

#[derive(Debug)]
enum Kept {
    Memory(Vec<Vec<u8>>),
    File(Arc<dyn Stored>, u64),
}

impl Default for Kept {
    fn default() -> Self {
        Kept::Memory(Vec::new())
    }
}

impl Texts {
    /// Sets the spill directory.
    pub(super) fn spill_to(&mut self, place: Option<SpillDirectory>) {
        let open = || place.as_ref().map(|place| Holding::new(&place.storage));
        self.held = self.held.take().or_else(open);
        self.place = place;
    }

    /// Begins another text.
    pub(super) fn begin(&mut self) {
        match &mut self.kept {
            Kept::Memory(texts) => texts.push(Vec::new()),
            Kept::File(_, end) => self.texts.push(*end..*end),
        }
    }

    /// Appends to the current text.
    pub(super) fn push(&mut self, block: &[u8]) -> Result<(), Complaint> {
        if let Kept::Memory(texts) = &mut self.kept {
            if let Some(text) = texts.last_mut() {
                text.extend_from_slice(block);
            }
            let bytes = texts.iter().map(Vec::len).sum();
            let (Some(place), Some(held)) = (&self.place, &mut self.held) else { return Ok(()) };
            return if place.may_hold(held, bytes) { Ok(()) } else { self.spill(place.clone()) };
        }
        self.store(block)
    }

    fn spill(&mut self, place: SpillDirectory) -> Result<(), Complaint> {
        let Kept::Memory(texts) = std::mem::replace(&mut self.kept, Kept::File(place.create()?, 0)) else {
            return Ok(());
        };
        for text in texts {
            self.begin();
            self.store(&text)?;
        }
        if let Some(held) = &mut self.held {
            held.keep(0);
        }
        Ok(())
    }

    fn store(&mut self, block: &[u8]) -> Result<(), Complaint> {
        let (Kept::File(file, end), Some(text)) = (&mut self.kept, self.texts.last_mut()) else {
            return Ok(());
        };
        if let Err(error) = file.write_at(block, *end) {
            let name = self.place.as_ref().map(SpillDirectory::name).unwrap_or_default();
            return Err(said(&[b"write failed: ", &name], &error));
        }
        *end += block.len() as u64;
        text.end = *end;
        Ok(())
    }

    /// Returns each text as a source of lines, and their reservation of shared memory.
    pub(super) fn into_sources(mut self, terminator: u8) -> (Vec<TextSource>, Option<Holding>) {
        let held = self.held.take();
        match (self.kept, self.place, held) {
            (Kept::File(file, _), Some(place), Some(mut held)) => {
                let bytes = window_bytes(&place, &mut held, self.texts.len());
                let directory = place.name();
                let stored =
                    |rest| Rest { file: Arc::clone(&file), rest, bytes, directory: directory.clone() };
                let sources = self.texts.into_iter().map(|text| TextSource::stored(stored(text), terminator));
                (sources.collect(), Some(held))
            }
            (Kept::Memory(texts), _, held) => {
                (texts.into_iter().map(|text| TextSource::new(text, terminator)).collect(), held)
            }
            // There is no file without a directory.
            (Kept::File(..), ..) => (Vec::new(), None),
        }
    }
}

/// Returns how much of each text is in memory at once: little, if others hold the rest.
fn window_bytes(place: &SpillDirectory, held: &mut Holding, texts: usize) -> usize {
    let texts = texts.max(1);
    let bytes = (place.memory_bytes() / WINDOW_SHARE / texts).clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX);
    held.keep(bytes * texts);
    if place.may_hold(held, bytes * texts) { bytes } else { WINDOW_BYTES_MIN }
}

/// The part of a text that is only in the file.
#[derive(Debug)]
struct Rest {
    file: Arc<dyn Stored>,
    rest: Range<u64>,
    /// Bytes read at once.
    bytes: usize,
    /// The directory, for messages.
    directory: Vec<u8>,
}

/// The lines of a text, each with its terminator.
#[derive(Debug)]
pub(crate) struct TextSource {
    /// All of it, or the last bytes read.
    text: Vec<u8>,
    rest: Option<Rest>,
    failure: Option<Complaint>,
    terminator: u8,
    start: usize,
    end: usize,
}

impl TextSource {
    pub(crate) fn new(text: Vec<u8>, terminator: u8) -> Self {
        let mut source = TextSource { text, rest: None, failure: None, terminator, start: 0, end: 0 };
        source.advance();
        source
    }

    fn stored(rest: Rest, terminator: u8) -> Self {
        let mut source =
            TextSource { text: Vec::new(), rest: Some(rest), failure: None, terminator, start: 0, end: 0 };
        source.advance();
        source
    }

    /// Returns sort's message if it could not be read.
    pub(super) fn failure(&self) -> Option<Complaint> {
        self.failure.clone()
    }

    /// Reads more after the line that begins at `start`. Returns `false` if there is no more.
    fn read(&mut self) -> bool {
        let Some(rest) = self.rest.as_mut().filter(|rest| !rest.rest.is_empty()) else { return false };
        self.text.drain(..self.start);
        (self.end, self.start) = (self.end - self.start, 0);
        let kept = self.text.len();
        let bytes = rest.bytes.min(usize::try_from(rest.rest.end - rest.rest.start).unwrap_or(usize::MAX));
        self.text.resize(kept + bytes, 0);
        if let Err(error) = rest.file.read_at(&mut self.text[kept..], rest.rest.start) {
            self.failure = Some(said(&[b"read failed: ", &rest.directory], &error));
            (self.text, self.start, self.end) = (Vec::new(), 0, 0);
            rest.rest = rest.rest.end..rest.rest.end;
            return false;
        }
        rest.rest.start += bytes as u64;
        true
    }
}

impl Source for TextSource {
    fn entry(&self) -> Option<(&[u8], u64)> {
        (self.start < self.end).then(|| (&self.text[self.start..self.end], 1))
    }

    fn advance(&mut self) {
        self.start = self.end;
        let mut looked = 0;
        loop {
            let rest = &self.text[self.start + looked..];
            if let Some(end) = memchr::memchr(self.terminator, rest) {
                self.end = self.start + looked + end + 1;
                return;
            }
            looked = self.text.len() - self.start;
            if !self.read() {
                self.end = self.text.len();
                return;
            }
        }
    }
}
