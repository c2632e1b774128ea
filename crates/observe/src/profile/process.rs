//! One process whose stacks are sampled: its memory map, its interpreter if it has one, and the names of its code.

use super::LONGEST_PAUSE_NS;
use crate::stack::{
    Found, Interpreter, KnownRules, Maps, Modules, StackCopy, addresses, names_or_place, symbol,
};
use pelton_record::diagnosis::{Frame, Language};
use pelton_sys::procfs::{self, Syscall};
use pelton_sys::stopped::{self, Registers};
use pelton_sys::{clock, processes};
use std::collections::HashMap;
use std::path::PathBuf;

/// The memory map is read again after so long, and each time so much later: programs load their libraries at the start.
const REREAD_NS: u64 = 20_000_000;
/// The most threads of a process that are stopped in a round.
const MOST_RUNNING: usize = 64;

/// A process.
pub struct Process {
    pid: u32,
    is_child: bool,
    program: Program,
    rereads: u64,
    read_ns: u64,
    /// The CPU time that each thread had used when it was last sampled.
    used_ns: HashMap<u32, u64>,
}

/// What it executes.
struct Program {
    file: PathBuf,
    /// Its name as the kernel has it.
    name: String,
    /// Where relative names of its source files begin.
    directory: PathBuf,
    maps: Option<Maps>,
    interpreter: Found<Interpreter>,
    rules: KnownRules,
    names: HashMap<u64, Vec<Frame>>,
    symbols: HashMap<u64, Option<String>>,
}

/// What was seen of the threads of a process that run.
#[derive(Default)]
pub struct Sampled {
    /// The frames of each, the innermost first; empty if they could not be read.
    pub stacks: Vec<Vec<Frame>>,
    /// For how long they were stopped.
    pub stopped_ns: u64,
    /// The CPU time that this took the sampler, without looking up names.
    pub cpu_ns: u64,
    /// The CPU time of the threads that the samples stand for.
    pub seen_cpu_ns: u64,
    /// How many could not be stopped: traced by another, or not permitted.
    pub refused: u32,
}

/// What is taken from a thread while it is stopped.
struct Taken {
    /// Its frames in the language of the interpreter, if there is one.
    interpreted: Vec<Frame>,
    registers: Registers,
    stack: StackCopy,
}

impl Process {
    /// Starts with a process. `is_child`: it is a child of this one.
    pub fn new(pid: u32, is_child: bool) -> Self {
        Process { pid, is_child, program: Program::none(), rereads: 0, read_ns: 0, used_ns: HashMap::new() }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// Returns its working directory.
    pub fn directory(&self) -> &PathBuf {
        &self.program.directory
    }

    /// Whether it is an interpreter of a version whose frames cannot be read.
    pub fn is_unknown_interpreter(&self) -> bool {
        matches!(self.program.interpreter, Found::Unknown)
    }

    /// Takes a sample of each thread that runs. All are stopped, one after another, before names are looked up: that may take
    /// long, and a thread that has begun to wait is better not stopped.
    pub fn sample(&mut self, modules: &mut Modules) -> Sampled {
        let mut sampled = Sampled::default();
        let mut running =
            processes::tasks(self.pid).into_iter().filter(|thread| self.runs(*thread)).peekable();
        if running.peek().is_none() {
            return sampled;
        }
        let running: Vec<u32> = running.take(MOST_RUNNING).collect();
        if !self.refresh(modules) {
            return sampled;
        }
        let begin_cpu_ns = clock::thread_cpu_ns();
        let mut taken = Vec::with_capacity(running.len());
        for thread in running {
            // Again: the others have taken their time.
            if !self.runs(thread) {
                continue;
            }
            match self.take(thread) {
                Some((one, stopped_ns)) => {
                    sampled.stopped_ns += stopped_ns;
                    sampled.seen_cpu_ns += self.newly_used_ns(thread);
                    taken.push(one);
                }
                None => sampled.refused += u32::from(self.runs(thread)),
            }
        }
        sampled.cpu_ns = clock::thread_cpu_ns() - begin_cpu_ns;
        sampled.stacks = taken.into_iter().map(|one| self.frames(one, modules)).collect();
        sampled
    }

    /// Returns the CPU time of a thread since its last sample, but no more than the longest time for which a sample can stand.
    fn newly_used_ns(&mut self, thread: u32) -> u64 {
        let text = processes::file(self.pid, &format!("task/{thread}/schedstat"));
        let Some(account) = text.and_then(|text| procfs::parse_schedstat(&text)) else { return 0 };
        let before_ns = self.used_ns.insert(thread, account.running_ns).unwrap_or(0);
        account.running_ns.saturating_sub(before_ns).min(LONGEST_PAUSE_NS)
    }

    fn runs(&self, thread: u32) -> bool {
        let text = processes::file(self.pid, &format!("task/{thread}/syscall"));
        text.and_then(|text| procfs::parse_syscall(&text)) == Some(Syscall::Running)
    }

    /// Reads what is not known yet. Returns whether it is the program that it was the last time: one that is about to execute
    /// another is better not stopped, since a program that gains privilege from its file would not gain it meanwhile.
    fn refresh(&mut self, modules: &mut Modules) -> bool {
        let Ok(file) = std::fs::read_link(format!("/proc/{}/exe", self.pid)) else { return false };
        let is_same = self.program.file == file;
        let now_ns = clock::now_ns();
        if !is_same {
            self.program = Program { file, ..Program::none() };
            self.rereads = 0;
        } else if now_ns - self.read_ns > REREAD_NS * self.rereads {
            self.program.read(self.pid, modules);
            (self.rereads, self.read_ns) = (self.rereads + 1, now_ns);
        }
        is_same && self.program.maps.is_some()
    }

    /// Stops a thread, and returns what was taken and for how long it stood.
    fn take(&self, thread: u32) -> Option<(Taken, u64)> {
        let is_child = self.is_child && thread == self.pid;
        let Program { maps: Some(maps), interpreter, .. } = &self.program else { return None };
        stopped::while_stopped(thread, is_child, |registers| {
            let begin_ns = clock::now_ns();
            let of_interpreter = match interpreter {
                Found::Known(interpreter) => interpreter.stacks(maps, &|other| other == thread).pop(),
                Found::Unknown | Found::Other => None,
            };
            let interpreted = of_interpreter.map_or_else(Vec::new, |stack| stack.frames);
            let stack = StackCopy::of(maps, registers.stack);
            (Taken { interpreted, registers, stack }, clock::now_ns() - begin_ns)
        })
    }

    /// Finds the names of what was taken.
    fn frames(&mut self, taken: Taken, modules: &mut Modules) -> Vec<Frame> {
        let Program { maps: Some(maps), interpreter, rules, names, symbols, .. } = &mut self.program else {
            return Vec::new();
        };
        let Taken { interpreted, registers, stack } = taken;
        let (addresses, _) = addresses(&registers, &stack, maps, modules, rules);
        match interpreter {
            Found::Known(interpreter) if !interpreted.is_empty() => {
                let function = |address: u64| {
                    symbols.entry(address).or_insert_with(|| symbol(address, maps, modules)).clone()
                };
                let called = called_by_loop(*interpreter, addresses.into_iter().map(function));
                called.into_iter().chain(interpreted).collect()
            }
            _ => {
                let named = |address: u64| {
                    names.entry(address).or_insert_with(|| names_or_place(address, maps, modules)).clone()
                };
                addresses.into_iter().flat_map(named).collect()
            }
        }
    }
}

/// Returns the functions with names that the interpreter's loop has called: what the innermost line does. None if the loop
/// has no name itself.
fn called_by_loop(interpreter: Interpreter, functions: impl Iterator<Item = Option<String>>) -> Vec<Frame> {
    let mut called = Vec::new();
    for function in functions.flatten() {
        if interpreter.is_loop(&function) {
            return called;
        }
        let language = Language::Native;
        called.push(Frame { language, function, file: None, line: None, is_library: true });
    }
    Vec::new()
}

impl Program {
    /// Returns what is known before anything was read.
    fn none() -> Self {
        Program {
            file: PathBuf::new(),
            name: String::new(),
            directory: PathBuf::new(),
            maps: None,
            interpreter: Found::Other,
            rules: KnownRules::new(),
            names: HashMap::new(),
            symbols: HashMap::new(),
        }
    }

    fn read(&mut self, pid: u32, modules: &mut Modules) {
        let name = processes::file(pid, "comm").unwrap_or_default();
        self.name = name.trim_end().to_owned();
        self.directory = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        self.maps = Maps::read(pid);
        if let Some(maps) = &self.maps {
            self.interpreter = Interpreter::find(maps, modules);
        }
        // What could not be found may be in a library that was loaded since.
        self.rules.retain(|_, rules| rules.is_some());
        self.names.clear();
        self.symbols.clear();
    }
}
