//! Unwinds the stack of a thread that is blocked, or was stopped.
//!
//! The call frame information of each function tells how to find its caller. Of a blocked thread the kernel tells stack
//! pointer and program counter, not the frame pointer, which code without optimisation needs. Then the stack is searched for
//! the function's return address: a call instruction precedes it, whose target is the function. A call through a pointer has no
//! known target; such an address counts only if unwinding from it reaches the first function of the thread. Of a stopped thread
//! all registers are known; code without call frame information (made while the program runs, or by Go) is left by its
//! frame pointer.

use super::maps::Maps;
use super::module::{Modules, Placed, Rules};
use super::{MOST_FRAMES, file_name, frame};
use pelton_record::diagnosis::{Frame, Language};
use pelton_sys::processes;
use pelton_sys::stopped::Registers as Stopped;
use std::collections::HashMap;

/// Bytes of the stack that are copied of a stopped thread.
const COPIED: usize = 64 << 10;
/// Bytes of the stack that are searched for a return address.
const SEARCHED: usize = 64 << 10;
/// Candidates tried per search, and searches per stack.
const MOST_CANDIDATES: usize = 24;
const MOST_SEARCHES: u32 = 64;

/// The numbers of registers in call frame information.
pub struct Registers {
    pub stack_pointer: u16,
    pub frame_pointer: u16,
    pub return_address: u16,
}

/// Those of this machine.
#[cfg(target_arch = "aarch64")]
pub const REGISTERS: Registers = Registers { stack_pointer: 31, frame_pointer: 29, return_address: 30 };
/// Those of this machine.
#[cfg(not(target_arch = "aarch64"))]
pub const REGISTERS: Registers = Registers { stack_pointer: 7, frame_pointer: 6, return_address: 16 };

/// What is known of a frame.
#[derive(Clone, Copy, Debug)]
struct At {
    pc: u64,
    stack: u64,
    frame_pointer: Option<u64>,
    /// The return address, where a register has it.
    link: Option<u64>,
    /// Whether `pc` is a return address, which may be beyond the end of the function that called.
    returns: bool,
}

/// How a call at a return address was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    /// To this address.
    Direct(u64),
    /// Through a pointer.
    Indirect,
}

/// Returns the frames of a thread that is blocked in a system call, the innermost first.
pub fn frames(pid: u32, thread: u32, maps: &Maps, modules: &mut Modules) -> Vec<Frame> {
    let Some((stack, pc)) = blocked_at(pid, thread) else { return Vec::new() };
    let start = At { pc, stack, frame_pointer: None, link: None, returns: false };
    let (mut known, copy) = (KnownRules::new(), StackCopy::default());
    let mut unwinder = Unwinder { maps, modules, searches: 0, copy: &copy, known: &mut known };
    let (places, _) = unwinder.unwind(start, 0);
    places.into_iter().flat_map(|at| names(at.code(), maps, unwinder.modules)).collect()
}

/// The stack of a thread as it was when it was stopped.
#[derive(Debug, Default)]
pub struct StackCopy {
    start: u64,
    bytes: Vec<u8>,
}

impl StackCopy {
    /// Copies the innermost part of a stack, from its stack pointer on.
    pub fn of(maps: &Maps, stack_pointer: u64) -> Self {
        let end = maps.at(stack_pointer).map_or(stack_pointer, |one| one.end);
        let mut bytes = vec![0; (end - stack_pointer).min(COPIED as u64) as usize];
        let copied = maps.bytes(stack_pointer, &mut bytes);
        StackCopy { start: stack_pointer, bytes: copied.map_or_else(Vec::new, |()| bytes) }
    }

    fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        Some(u64::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?))
    }
}

/// How to leave the frame of a function, by the address of its code; `None` where nothing tells.
pub type KnownRules = HashMap<u64, Option<Rules>>;

/// Returns the addresses of the code in which a stopped thread was, the innermost first, and whether its first function was
/// reached.
pub fn addresses(
    registers: &Stopped,
    copy: &StackCopy,
    maps: &Maps,
    modules: &mut Modules,
    known: &mut KnownRules,
) -> (Vec<u64>, bool) {
    let start = At {
        pc: registers.pc,
        stack: registers.stack,
        frame_pointer: Some(registers.frame_pointer),
        link: registers.link,
        returns: false,
    };
    let (places, reached) = Unwinder { maps, modules, searches: 0, copy, known }.unwind(start, 0);
    (places.into_iter().map(At::code).collect(), reached)
}

/// Returns stack pointer and program counter of a blocked thread: the last two fields.
fn blocked_at(pid: u32, thread: u32) -> Option<(u64, u64)> {
    let text = processes::file(pid, &format!("task/{thread}/syscall"))?;
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let number = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    match fields.as_slice() {
        [_, .., stack, pc] if fields.len() >= 3 => Some((number(stack)?, number(pc)?)),
        _ => None,
    }
}

impl At {
    /// Returns the address of the code that is executed: that of the call, for a caller.
    fn code(self) -> u64 {
        self.pc.saturating_sub(u64::from(self.returns))
    }
}

struct Unwinder<'m> {
    maps: &'m Maps,
    modules: &'m mut Modules,
    searches: u32,
    copy: &'m StackCopy,
    known: &'m mut KnownRules,
}

impl Unwinder<'_> {
    /// Returns the frames from `at` outwards, and whether the first function of the thread was reached.
    fn unwind(&mut self, mut at: At, depth: usize) -> (Vec<At>, bool) {
        let mut places = Vec::new();
        while depth + places.len() < MOST_FRAMES {
            let Some(rules) = self.rules(at.code()) else {
                let Some(next) = self.caller_by_frame_pointer(at) else { return (places, false) };
                places.push(at);
                at = next;
                continue;
            };
            places.push(at);
            if rules.return_at.is_none() {
                return (places, true);
            }
            match self.caller(at, &rules) {
                Some(next) if next.pc == 0 => return (places, true),
                Some(next) => at = next,
                None => {
                    let (rest, reached) = self.search(at, &rules, depth + places.len());
                    places.extend(rest);
                    return (places, reached);
                }
            }
        }
        (places, false)
    }

    fn rules(&mut self, address: u64) -> Option<Rules> {
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let rules = self.look_up_rules(address);
        self.known.insert(address, rules);
        rules
    }

    fn look_up_rules(&mut self, address: u64) -> Option<Rules> {
        self.maps.at(address).filter(|one| one.executable)?;
        let placed = Placed::at(address, self.maps, self.modules)?;
        let rules = placed.module.rules(placed.in_file(address), &REGISTERS)?;
        Some(Rules { start: placed.in_process(rules.start), end: placed.in_process(rules.end), ..rules })
    }

    fn word(&self, address: u64) -> Option<u64> {
        self.copy.word(address).or_else(|| self.maps.word(address))
    }

    /// Finds the caller of code of which nothing is known: the frame pointer points at the caller's, beside which the return
    /// address is.
    fn caller_by_frame_pointer(&self, at: At) -> Option<At> {
        self.maps.at(at.code()).filter(|one| one.executable)?;
        let frame = at.frame_pointer.filter(|frame| *frame >= at.stack && frame % 8 == 0)?;
        let (frame_pointer, pc) = (self.word(frame)?, self.word(frame + 8)?);
        Some(At { pc, stack: frame + 16, frame_pointer: Some(frame_pointer), link: None, returns: true })
    }

    /// Finds the caller by the rules alone.
    fn caller(&self, at: At, rules: &Rules) -> Option<At> {
        let (register, offset) = rules.frame?;
        let base = match register {
            _ if register == REGISTERS.stack_pointer => at.stack,
            _ if register == REGISTERS.frame_pointer => at.frame_pointer?,
            _ => return None,
        };
        let frame = base.wrapping_add_signed(offset);
        if let Some(pc) = at.link.filter(|_| !rules.saves_return) {
            let frame_pointer = self.saved_frame_pointer(at, rules, frame);
            return Some(At { pc, stack: frame, frame_pointer, link: None, returns: true });
        }
        if frame <= at.stack && at.returns || !rules.saves_return {
            return None;
        }
        self.left(at, rules, frame)
    }

    /// Returns the caller, given its stack pointer.
    fn left(&self, at: At, rules: &Rules, frame: u64) -> Option<At> {
        let pc = self.word(frame.wrapping_add_signed(rules.return_at?))?;
        let frame_pointer = self.saved_frame_pointer(at, rules, frame);
        Some(At { pc, stack: frame, frame_pointer, link: None, returns: true })
    }

    fn saved_frame_pointer(&self, at: At, rules: &Rules, frame: u64) -> Option<u64> {
        match rules.frame_pointer_at {
            Some(offset) => self.word(frame.wrapping_add_signed(offset)),
            None => at.frame_pointer,
        }
    }

    /// Searches the stack for the return address of the function.
    fn search(&mut self, at: At, rules: &Rules, depth: usize) -> (Vec<At>, bool) {
        let mut stack = vec![0; SEARCHED];
        let end = self.maps.at(at.stack).map_or(at.stack, |one| one.end);
        stack.truncate((end - at.stack).min(SEARCHED as u64) as usize);
        if self.maps.bytes(at.stack, &mut stack).is_none() {
            return (Vec::new(), false);
        }
        let words = stack.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        let slots = words.enumerate().map(|(i, word)| (at.stack + 8 * i as u64, word));
        let calls: Vec<(u64, Caller)> =
            slots.filter_map(|(slot, word)| Some((slot, self.call_before(word)?))).collect();
        let is_direct = |call: &Caller| matches!(call, Caller::Direct(to) if *to == rules.start);
        let (direct, others): (Vec<_>, Vec<_>) = calls.into_iter().partition(|(_, call)| is_direct(call));
        let is_certain = direct.first().copied();
        for (slot, _) in direct.into_iter().chain(others).take(MOST_CANDIDATES) {
            if self.searches >= MOST_SEARCHES {
                break;
            }
            self.searches += 1;
            let Some(next) = self.left_at(at, rules, slot) else { continue };
            let (rest, reached) = self.unwind(next, depth);
            if reached || is_certain.is_some_and(|(certain, _)| certain == slot) {
                return (rest, reached);
            }
        }
        (Vec::new(), false)
    }

    /// Returns the caller, given where the return address is.
    fn left_at(&self, at: At, rules: &Rules, slot: u64) -> Option<At> {
        // Without a rule, the return address is the last word of the frame.
        let offset = rules.return_at.filter(|_| rules.saves_return).unwrap_or(-8);
        let frame = slot.wrapping_add_signed(-offset);
        let rules = Rules { return_at: Some(offset), ..*rules };
        self.left(at, &rules, frame)
    }

    /// Returns how the call was made that returns to `address`; `None` if no call precedes it.
    fn call_before(&self, address: u64) -> Option<Caller> {
        let mapping = self.maps.at(address.checked_sub(1)?)?;
        if !mapping.executable {
            return None;
        }
        let mut code = [0; 8];
        self.maps.bytes(address.checked_sub(8)?, &mut code)?;
        call(&code, address)
    }
}

/// Returns the functions at the address of some code, the innermost inlined one first. Empty if none has a name.
pub fn names(address: u64, maps: &Maps, modules: &mut Modules) -> Vec<Frame> {
    let Some(placed) = Placed::at(address, maps, modules) else { return Vec::new() };
    let (path, module, in_file) = (placed.path, &placed.module, placed.in_file(address));
    let symbol = module.function(in_file).map(demangled);
    let is_library = is_library(path);
    let lines = if is_library { Vec::new() } else { module.lines(in_file) };
    if lines.is_empty() {
        let Some(name) = symbol else { return Vec::new() };
        let file = is_library.then(|| file_name(path).to_owned());
        // Where others have lines, a function without one belongs to the program's start or to a library.
        let is_library = is_library || module.has_lines() || is_installed(path);
        return vec![Frame { file, is_library, ..frame(Language::Native, name) }];
    }
    let name = |function: Option<String>| function.or_else(|| symbol.clone()).unwrap_or_else(|| "?".into());
    let one = |(function, file, line): (_, Option<String>, _)| {
        let is_library = file.as_deref().is_some_and(is_library_source);
        Frame { file, line, is_library, ..frame(Language::Native, name(function)) }
    };
    lines.into_iter().map(one).collect()
}

/// Returns the name of the function at the address of some code, by symbols alone: debug information takes long to read.
pub fn symbol(address: u64, maps: &Maps, modules: &mut Modules) -> Option<String> {
    let placed = Placed::at(address, maps, modules)?;
    placed.module.function(placed.in_file(address)).map(demangled)
}

/// Does the same as [`names`]; code without a name is named by where it is in its file.
pub fn names_or_place(address: u64, maps: &Maps, modules: &mut Modules) -> Vec<Frame> {
    let named = names(address, maps, modules);
    if !named.is_empty() {
        return named;
    }
    let Some(path) = maps.at(address).map(|one| one.path.as_str()) else { return Vec::new() };
    let start = Placed::of(path, maps, modules).map(|placed| {
        let in_file = placed.in_file(address);
        placed.module.rules(in_file, &REGISTERS).map_or(in_file, |rules| rules.start)
    });
    let file =
        if path.is_empty() { "code made while it runs".to_owned() } else { file_name(path).to_owned() };
    let function = start.map_or_else(|| "?".to_owned(), |start| format!("{start:#x}"));
    vec![Frame { file: Some(file), is_library: true, ..frame(Language::Native, function) }]
}

fn demangled(symbol: &str) -> String {
    addr2line::demangle_auto(symbol.into(), None).into_owned()
}

/// Whether `path` is a library of the system.
fn is_library(path: &str) -> bool {
    let name = file_name(path);
    let in_system = ["/lib", "/usr/lib", "/nix/store"].iter().any(|start| path.starts_with(start));
    in_system && (name.contains(".so") || name.starts_with("ld-"))
}

/// Whether a source file belongs to a standard library or a package, whose functions may be inlined.
fn is_library_source(file: &str) -> bool {
    ["/rustc/", "/usr/include/", "/usr/lib/"].iter().any(|start| file.starts_with(start))
        || file.contains("/.cargo/registry/")
}

/// Whether `path` is a program of the system: names of functions alone say nothing to its users.
fn is_installed(path: &str) -> bool {
    ["/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/", "/usr/lib"].iter().any(|start| path.starts_with(start))
}

/// Decodes the call instruction at the end of `code`, which ends at `address`.
#[cfg(not(target_arch = "aarch64"))]
fn call(code: &[u8; 8], address: u64) -> Option<Caller> {
    if code[3] == 0xe8 {
        let relative = i32::from_le_bytes([code[4], code[5], code[6], code[7]]);
        return Some(Caller::Direct(address.wrapping_add_signed(i64::from(relative))));
    }
    // `call *…` is ff /2, with 0 to 5 bytes after the second, and perhaps a prefix.
    let length = |second: u8| match (second >> 6, second & 7) {
        (3, _) => 2,
        (0, 5) | (2, 0..=3 | 5..=7) => 6,
        (0, 4) | (1, 0..=3 | 5..=7) => 3,
        (1, 4) => 4,
        (2, _) => 7,
        _ => 2,
    };
    let is_call =
        |at: usize| code[at] == 0xff && (code[at + 1] >> 3) & 7 == 2 && at + length(code[at + 1]) == 8;
    (1..7).any(is_call).then_some(Caller::Indirect)
}

/// Decodes the call instruction at the end of `code`, which ends at `address`.
#[cfg(target_arch = "aarch64")]
fn call(code: &[u8; 8], address: u64) -> Option<Caller> {
    let word = u32::from_le_bytes([code[4], code[5], code[6], code[7]]);
    if word >> 26 == 0b10_0101 {
        let words = ((word << 6) as i32) >> 6;
        return Some(Caller::Direct((address - 4).wrapping_add_signed(i64::from(words) * 4)));
    }
    (word & 0xffff_fc1f == 0xd63f_0000).then_some(Caller::Indirect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn calls_are_recognised_by_the_bytes_before() {
        assert_eq!(call(&[0, 0, 0, 0xe8, 0xfb, 0xff, 0xff, 0xff], 100), Some(Caller::Direct(95)));
        assert_eq!(call(&[0, 0, 0, 0, 0, 0, 0xff, 0xd0], 100), Some(Caller::Indirect));
        assert_eq!(call(&[0, 0, 0xff, 0x15, 1, 2, 3, 4], 100), Some(Caller::Indirect));
        assert_eq!(call(&[0x90; 8], 100), None);
    }
}
