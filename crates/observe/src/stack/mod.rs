//! The stacks of a running process: functions, files and lines of Python, Ruby, Perl and native code.
//!
//! Nothing is changed: memory is read by process_vm_readv(2). The stack pointer and program counter of a blocked thread are in
//! /proc/PID/task/TID/syscall, so its native stack is found without stopping it; those of one that runs are known
//! while it is stopped (`profile`). `python`, `ruby` and `perl` read the interpreter's own frames; `native` unwinds.

mod maps;
mod module;
mod native;
mod perl;
mod python;
mod python_lines;
mod python_versions;
mod ruby;
mod ruby_versions;

pub use maps::Maps;
pub use module::Modules;
use module::Placed;
pub use native::{KnownRules, StackCopy, addresses, names_or_place, symbol};
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
        let mut stacks = match Interpreter::find(&maps, &mut self.modules) {
            Found::Known(interpreter) => interpreter.stacks(&maps, &|_| true),
            // The functions of an interpreter that is not known say nothing of the program.
            Found::Unknown => Vec::new(),
            Found::Other => self.native(pid, thread, &maps),
        };
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

/// What a process was found to be.
#[derive(Clone, Copy, Debug)]
pub enum Found<T> {
    /// Something else.
    Other,
    /// This, in a version that is not known.
    Unknown,
    /// This.
    Known(T),
}

impl<T> Found<T> {
    /// Looks for an interpreter in the files of a process whose names say that it is there. The library, if there is one, has it;
    /// the program beside it is a stub of the same name.
    fn among(
        maps: &Maps,
        modules: &mut Modules,
        is_named: impl Fn(&str) -> bool,
        interpreter: impl Fn(&Placed<'_>) -> Option<T>,
    ) -> Found<T> {
        let mut files: Vec<&str> =
            maps.files().into_iter().filter(|path| is_named(file_name(path))).collect();
        files.sort_by_key(|path| !path.contains(".so"));
        if files.is_empty() {
            return Found::Other;
        }
        let known = files.into_iter().find_map(|path| interpreter(&Placed::of(path, maps, modules)?));
        known.map_or(Found::Unknown, Found::Known)
    }

    fn or_else(self, other: impl FnOnce() -> Found<T>) -> Found<T> {
        if matches!(self, Found::Other) { other() } else { self }
    }

    fn map<U>(self, change: impl FnOnce(T) -> U) -> Found<U> {
        match self {
            Found::Other => Found::Other,
            Found::Unknown => Found::Unknown,
            Found::Known(known) => Found::Known(change(known)),
        }
    }
}

/// An interpreter whose frames can be read.
#[derive(Clone, Copy, Debug)]
pub enum Interpreter {
    Python(python::Interpreter),
    Ruby(ruby::Interpreter),
    Perl(perl::Interpreter),
}

impl Interpreter {
    /// Finds the interpreter of a process.
    pub fn find(maps: &Maps, modules: &mut Modules) -> Found<Interpreter> {
        python::find(maps, modules)
            .map(Interpreter::Python)
            .or_else(|| ruby::find(maps, modules).map(Interpreter::Ruby))
            .or_else(|| perl::find(maps, modules).map(Interpreter::Perl))
    }

    /// Returns the stacks of those threads that run its language and are `wanted`.
    pub fn stacks(self, maps: &Maps, wanted: &dyn Fn(u32) -> bool) -> Vec<Stack> {
        match self {
            Interpreter::Python(python) => python.stacks(maps, wanted),
            Interpreter::Ruby(ruby) => ruby.stacks(maps, wanted),
            Interpreter::Perl(perl) => perl.stacks(maps, wanted),
        }
    }

    /// Whether a function of the interpreter is the one that executes the program's code: what it calls works for the
    /// innermost line.
    pub fn is_loop(self, function: &str) -> bool {
        match self {
            Interpreter::Python(_) => function == "_PyEval_EvalFrameDefault",
            Interpreter::Ruby(_) => matches!(function, "vm_exec_core" | "vm_exec" | "rb_vm_exec"),
            Interpreter::Perl(_) => matches!(function, "Perl_runops_standard" | "Perl_runops_debug"),
        }
    }
}

/// Returns the last component of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A frame without a line.
fn frame(language: Language, function: String) -> Frame {
    Frame { language, function, file: None, line: None, is_library: false }
}
