//! The frames of a Python program, from the interpreter's memory.

use super::maps::Maps;
use super::module::Modules;
use super::python_lines;
use super::python_versions::{Current, LineFormat, Offsets, minor_in_name, offsets};
use super::{Found, MOST_FRAMES, MOST_THREADS, frame};
use pelton_record::diagnosis::{Frame, Language, Stack};
use pelton_sys::processes;

/// Longer names and tables are not read.
const MOST_BYTES: u64 = 1 << 20;
/// `_PyInterpreterFrame.owner` of frames that belong to C code or the interpreter is this or larger.
const OWNED_BY_C: u8 = 3;
/// The lowest bits of a reference to an object, since 3.14: how it is counted.
const REFERENCE_TAG: u64 = 3;
/// `struct pthread.tid` of the GNU C library, at which a `pthread_t` points.
const THREAD_ID_IN_PTHREAD: u64 = if cfg!(target_arch = "aarch64") { 208 } else { 720 };

/// An interpreter of a version that is known.
#[derive(Clone, Copy, Debug)]
pub struct Interpreter {
    runtime: u64,
    offsets: Offsets,
}

/// Finds the interpreter of a process.
pub fn find(maps: &Maps, modules: &mut Modules) -> Found<Interpreter> {
    Found::among(
        maps,
        modules,
        |name| minor_in_name(name).is_some(),
        |placed| {
            let offsets = offsets(minor_in_name(placed.path)?)?;
            Some(Interpreter { runtime: placed.data("_PyRuntime")?, offsets })
        },
    )
}

impl Interpreter {
    /// Returns the stacks of those threads that run Python and are `wanted`.
    pub fn stacks(self, maps: &Maps, wanted: &dyn Fn(u32) -> bool) -> Vec<Stack> {
        Reader { maps, offsets: self.offsets, tasks: processes::tasks(maps.pid) }.stacks(self.runtime, wanted)
    }
}

struct Reader<'m> {
    maps: &'m Maps,
    offsets: Offsets,
    tasks: Vec<u32>,
}

impl Reader<'_> {
    fn stacks(&self, runtime: u64, wanted: &dyn Fn(u32) -> bool) -> Vec<Stack> {
        let mut stacks = Vec::new();
        let mut interpreter = self.maps.word(runtime + self.offsets.interpreters).unwrap_or(0);
        while interpreter != 0 && stacks.len() < MOST_THREADS {
            let mut thread = self.maps.word(interpreter + self.offsets.threads).unwrap_or(0);
            while thread != 0 && stacks.len() < MOST_THREADS {
                if let Some(id) = self.thread_id(thread).filter(|id| wanted(*id)) {
                    stacks.push(Stack { thread: id, frames: self.frames(thread) });
                }
                thread = self.maps.word(thread + self.offsets.thread_next).unwrap_or(0);
            }
            interpreter = self.maps.word(interpreter + self.offsets.interpreter_next).unwrap_or(0);
        }
        stacks
    }

    /// Returns the kernel's id of a thread. Old versions only have that of the C library.
    fn thread_id(&self, thread: u64) -> Option<u32> {
        if let [only] = self.tasks.as_slice() {
            return Some(*only);
        }
        let id = match self.offsets.native_id {
            Some(offset) => self.maps.word(thread + offset)? as u32,
            None => self
                .maps
                .half_word(self.maps.word(thread + self.offsets.thread_id)? + THREAD_ID_IN_PTHREAD)?,
        };
        self.tasks.contains(&id).then_some(id)
    }

    fn frames(&self, thread: u64) -> Vec<Frame> {
        let current = match self.offsets.current {
            Current::Frame(offset) => self.maps.word(thread + offset),
            Current::Indirect(first, second) => {
                self.maps.word(thread + first).and_then(|at| self.maps.word(at + second))
            }
        };
        let mut frames = Vec::new();
        let mut at = current.unwrap_or(0);
        while at != 0 && frames.len() < MOST_FRAMES {
            let owner = self.offsets.owner.and_then(|offset| self.maps.byte(at + offset));
            if owner.is_none_or(|owner| owner < OWNED_BY_C) {
                frames.extend(self.frame(at));
            }
            at = self.maps.word(at + self.offsets.back).unwrap_or(0);
        }
        frames
    }

    fn frame(&self, at: u64) -> Option<Frame> {
        let code = self.maps.word(at + self.offsets.code)? & !REFERENCE_TAG;
        let function = self.text(self.maps.word(code + self.offsets.name)?)?;
        let file = self.text(self.maps.word(code + self.offsets.file)?);
        let is_library = file.as_deref().is_some_and(is_library);
        let line = self.line(at, code);
        Some(Frame { file, line, is_library, ..frame(Language::Python, function) })
    }

    fn line(&self, at: u64, code: u64) -> Option<u32> {
        let first_line = i64::from(self.maps.half_word(code + self.offsets.first_line)? as i32);
        let table = self.object_bytes(self.maps.word(code + self.offsets.line_table)?)?;
        let place = match self.offsets.instructions {
            Some(start) => self.maps.word(at + self.offsets.place)?.checked_sub(code + start)?,
            None => {
                let place = u64::from(self.maps.half_word(at + self.offsets.place)?);
                if self.offsets.line_format == LineFormat::Ranges { 2 * place } else { place }
            }
        };
        let line = python_lines::line(self.offsets.line_format, &table, first_line, place)?;
        u32::try_from(line).ok()
    }

    /// Returns the content of a `bytes` object.
    fn object_bytes(&self, object: u64) -> Option<Vec<u8>> {
        const LENGTH: u64 = 16;
        const CONTENT: u64 = 32;
        self.content(object + CONTENT, self.maps.word(object + LENGTH)?)
    }

    /// Returns the text of a `str` object.
    fn text(&self, object: u64) -> Option<String> {
        const LENGTH: u64 = 16;
        const STATE: u64 = 32;
        let length = self.maps.word(object + LENGTH)?;
        let state = self.maps.half_word(object + STATE)?;
        // interned: 2 bits, kind: 3 bits, compact, ascii.
        let (kind, ascii) = (u64::from(state >> 2 & 7), state >> 6 & 1 == 1);
        let start = object + if ascii { self.offsets.ascii } else { self.offsets.compact };
        let bytes = self.content(start, length.checked_mul(kind)?)?;
        let unit = |unit: &[u8]| {
            let number = unit.iter().rev().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
            char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
        };
        matches!(kind, 1 | 2 | 4).then(|| bytes.chunks_exact(kind as usize).map(unit).collect())
    }

    fn content(&self, start: u64, length: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).ok().filter(|_| length <= MOST_BYTES)?];
        if !bytes.is_empty() {
            self.maps.bytes(start, &mut bytes)?;
        }
        Some(bytes)
    }
}

/// Whether a file belongs to Python or an installed package, and not to the program.
fn is_library(file: &str) -> bool {
    file.starts_with("<frozen")
        || file.contains("/lib/python3")
        || file.contains("/site-packages/")
        || file.contains("/dist-packages/")
}
