//! The frames of a Ruby program, from the interpreter's memory.

use super::maps::Maps;
use super::module::Modules;
use super::ruby_versions::{Offsets, ThreadId, offsets};
use super::{Found, MOST_FRAMES, MOST_THREADS, frame};
use pelton_record::diagnosis::{Frame, Language, Stack};
use pelton_sys::{other_process, processes};

/// Longer texts are not read.
const MOST_BYTES: u64 = 4096;
/// Flag of a string outside its object, and of an array within.
const FLAG_1: u64 = 1 << 13;

/// An interpreter of a version that is known.
#[derive(Clone, Copy, Debug)]
pub struct Interpreter {
    vm: u64,
    offsets: Offsets,
}

/// Finds the interpreter of a process.
pub fn find(maps: &Maps, modules: &mut Modules) -> Found<Interpreter> {
    let is_ruby = |name: &str| name.starts_with("libruby") || name.starts_with("ruby");
    Found::among(maps, modules, is_ruby, |placed| {
        let version = other_process::string(maps.pid, placed.data("ruby_version")?)?;
        let vm = maps.word(placed.data("ruby_current_vm_ptr")?)?;
        Some(Interpreter { vm, offsets: offsets(std::str::from_utf8(&version).ok()?)? })
    })
}

impl Interpreter {
    /// Returns the stacks of those threads that run Ruby and are `wanted`.
    pub fn stacks(self, maps: &Maps, wanted: &dyn Fn(u32) -> bool) -> Vec<Stack> {
        let tasks = processes::tasks(maps.pid);
        Reader { pid: maps.pid, maps, offsets: self.offsets, tasks }.stacks(self.vm, wanted)
    }
}

struct Reader<'m> {
    pid: u32,
    maps: &'m Maps,
    offsets: Offsets,
    tasks: Vec<u32>,
}

impl Reader<'_> {
    fn stacks(&self, vm: u64, wanted: &dyn Fn(u32) -> bool) -> Vec<Stack> {
        let main = self.maps.word(vm + self.offsets.main_thread).unwrap_or(0);
        let mut threads = vec![main];
        threads.extend(self.threads(vm).into_iter().filter(|thread| *thread != main));
        let stack = |thread: u64| {
            let id = if thread == main { Some(self.pid) } else { self.thread_id(thread) };
            let id = id.filter(|id| wanted(*id))?;
            Some(Stack { thread: id, frames: self.frames(thread).unwrap_or_default() })
        };
        threads.into_iter().filter_map(stack).collect()
    }

    /// Returns the threads of the main ractor.
    fn threads(&self, vm: u64) -> Vec<u64> {
        let Some(ractor) = self.maps.word(vm + self.offsets.main_ractor) else { return Vec::new() };
        let list = ractor + self.offsets.threads;
        let mut found = Vec::new();
        let mut at = self.maps.word(list).unwrap_or(list);
        while at != list && at != 0 && found.len() < MOST_THREADS {
            found.push(at);
            at = self.maps.word(at).unwrap_or(list);
        }
        found
    }

    fn thread_id(&self, thread: u64) -> Option<u32> {
        let id = match self.offsets.thread_id {
            ThreadId::None => None,
            ThreadId::Here(offset) => self.maps.half_word(thread + offset),
            ThreadId::Indirect(first, second) => {
                self.maps.half_word(self.maps.word(thread + first)? + second)
            }
        };
        id.filter(|id| self.tasks.contains(id))
    }

    /// Returns the frames of Ruby code: those of functions in C have no line.
    fn frames(&self, thread: u64) -> Option<Vec<Frame>> {
        const STACK: u64 = 0;
        const STACK_WORDS: u64 = 8;
        const CURRENT: u64 = 16;
        let context = self.maps.word(thread + self.offsets.context)?;
        let words = self.maps.word(context + STACK_WORDS)?;
        let end = self.maps.word(context + STACK)?.checked_add(words.checked_mul(8)?)?;
        let mut at = self.maps.word(context + CURRENT)?;
        let mut frames = Vec::new();
        while at < end && frames.len() < MOST_FRAMES {
            frames.extend(self.frame(at));
            at += self.offsets.frame_size;
        }
        Some(frames)
    }

    fn frame(&self, at: u64) -> Option<Frame> {
        const CODE: u64 = 16;
        const BODY: u64 = 16;
        const INSTRUCTIONS: u64 = 8;
        const PATH: u64 = 64;
        const LABEL: u64 = 80;
        let next = self.maps.word(at).filter(|next| *next != 0)?;
        let code = self.maps.word(at + CODE).filter(|code| *code != 0)?;
        let body = self.maps.word(code + BODY)?;
        let function = self.text(self.maps.word(body + LABEL)?)?;
        let file = self.path(self.maps.word(body + PATH)?);
        let place = next.checked_sub(self.maps.word(body + INSTRUCTIONS)?)? / 8;
        let is_library = file.as_deref().is_some_and(is_library);
        let line = self.line(body, place.saturating_sub(1));
        // The frame below the first one has no code of its own.
        if line == Some(0) {
            return None;
        }
        Some(Frame { file, line, is_library, ..frame(Language::Ruby, function) })
    }

    /// Returns the line of instruction `place`.
    fn line(&self, body: u64, place: u64) -> Option<u32> {
        const TABLE: u64 = 0;
        const SIZE: u64 = 16;
        const INDEX: u64 = 24;
        let info = body + self.offsets.lines;
        let table = self.maps.word(info + TABLE)?;
        let entry = match self.maps.half_word(info + SIZE)? {
            0 => return None,
            1 => 0,
            _ => self
                .entry(self.maps.word(info + INDEX).filter(|index| *index != 0)?, place)?
                .checked_sub(1)?,
        };
        self.maps.half_word(table + entry * self.offsets.line_entry)
    }

    /// Returns how many entries start at or before an instruction: the rank in a succinct bit vector. The first 54 are 7 bits
    /// each, 9 to a word. Blocks of 512 bits follow: the rank of the block, 9 bits for the rank of each word in it, the bits.
    fn entry(&self, index: u64, place: u64) -> Option<u64> {
        const FIRST: u64 = 54;
        const BLOCK_BYTES: u64 = 8 + 8 + 64;
        if place < FIRST {
            return Some(self.maps.word(index + place / 9 * 8)? >> (place % 9 * 7) & 0x7f);
        }
        let (block, bit) = ((place - FIRST) / 512, (place - FIRST) % 512);
        let block = index + FIRST / 9 * 8 + block * BLOCK_BYTES;
        let word = bit / 64;
        let of_word = match word {
            0 => 0,
            word => self.maps.word(block + 8)? >> ((word - 1) * 9) & 0x1ff,
        };
        let bits = self.maps.word(block + 16 + word * 8)? << (63 - bit % 64);
        Some(u64::from(self.maps.half_word(block)?) + of_word + u64::from(bits.count_ones()))
    }

    /// Returns the path of code: a text, or a pair of the path as written and the real one.
    fn path(&self, object: u64) -> Option<String> {
        const ARRAY: u64 = 7;
        let flags = self.maps.word(object)?;
        if flags & 0x1f != ARRAY {
            return self.text(object);
        }
        let first = if flags & FLAG_1 != 0 { object + 16 } else { self.maps.word(object + 32)? };
        self.text(self.maps.word(first)?)
    }

    fn text(&self, object: u64) -> Option<String> {
        const STRING: u64 = 5;
        let flags = self.maps.word(object)?;
        if flags & 0x1f != STRING {
            return None;
        }
        let (start, length) = match (flags & FLAG_1 != 0, self.offsets.length_in_flags) {
            (true, _) => (self.maps.word(object + 24)?, self.maps.word(object + 16)?),
            (false, true) => (object + 16, flags >> 14 & 0x1f),
            (false, false) => (object + 24, self.maps.word(object + 16)?),
        };
        let mut bytes = vec![0; usize::try_from(length).ok().filter(|_| length <= MOST_BYTES)?];
        if !bytes.is_empty() {
            self.maps.bytes(start, &mut bytes)?;
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Whether a file belongs to Ruby or a gem, and not to the program.
fn is_library(file: &str) -> bool {
    file.starts_with("<internal:") || file.contains("/lib/ruby/") || file.contains("/gems/")
}
