//! The stacks of a running process: functions, files and lines of Python, Ruby and native code.
//!
//! Nothing is stopped or changed: memory is read by process_vm_readv(2), and stack pointer and program counter of
//! a blocked thread are in /proc/PID/task/TID/syscall. So only threads that wait in a system call have a native
//! stack here. `python` and `ruby` read the interpreter's own frames; `native` unwinds.

mod maps;
mod module;
mod native;
mod python;
mod python_lines;
mod python_versions;
mod ruby;
mod ruby_versions;

use maps::Maps;
use module::Modules;
use pelton_record::diagnosis::{Frame, Language, Stack};
use pelton_sys::{clock, processes};

/// The most threads of a process whose stacks are read.
const MOST_THREADS: usize = 16;
/// The most frames read of a thread.
const MOST_FRAMES: usize = 64;

/// How long stacks are read: a program with much debug information takes a part of a second.
const PATIENCE_NS: u64 = 3_000_000_000;

/// Reads the stacks of processes; keeps what it has read of programs and libraries.
pub struct Stacks {
    modules: Modules,
    end_ns: u64,
    /// Whether stacks are missing because the time was up.
    pub is_late: bool,
}

impl Stacks {
    /// Starts the time for reading.
    pub fn new() -> Self {
        Stacks { modules: Modules::default(), end_ns: clock::now_ns() + PATIENCE_NS, is_late: false }
    }

    /// Returns the stacks of `pid`, that of `thread` first. Empty if nothing of use can be read.
    pub fn of(&mut self, pid: u32, thread: u32) -> Vec<Stack> {
        if clock::now_ns() > self.end_ns {
            self.is_late = true;
            return Vec::new();
        }
        let Some(maps) = Maps::read(pid) else { return Vec::new() };
        let interpreted = python::stacks(pid, &maps, &mut self.modules)
            .or_else(|| ruby::stacks(pid, &maps, &mut self.modules));
        let mut stacks = interpreted.unwrap_or_else(|| self.native(pid, thread, &maps));
        stacks.retain(|stack| !stack.frames.is_empty());
        stacks.sort_by_key(|stack| (stack.thread != thread, stack.thread != pid, stack.thread));
        stacks.truncate(MOST_THREADS);
        stacks
    }

    fn native(&mut self, pid: u32, thread: u32, maps: &Maps) -> Vec<Stack> {
        let mut threads = processes::tasks(pid);
        threads.sort_by_key(|&one| (one != thread, one));
        threads.truncate(MOST_THREADS);
        let stack = |thread| Stack { thread, frames: native::frames(pid, thread, maps, &mut self.modules) };
        let mut stacks: Vec<Stack> = threads.into_iter().map(stack).collect();
        // Names of library functions alone say no more than the system call does.
        stacks.retain(|stack| stack.frames.iter().any(|frame| !frame.is_library));
        stacks
    }
}

/// A frame without a line.
fn frame(language: Language, function: String) -> Frame {
    Frame { language, function, file: None, line: None, is_library: false }
}
