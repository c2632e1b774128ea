//! The frames of a Perl program, from the interpreter's memory: its current statement, and the contexts of the
//! subroutines that it is in.
//!
//! Offsets are from the headers of Perl 5.32, 5.36, 5.40 and 5.42 (`offsetof`), for 64-bit machines.

use super::maps::Maps;
use super::module::Modules;
use super::{Found, MOST_FRAMES, frame};
use pelton_record::diagnosis::{Frame, Language, Stack};
use pelton_sys::other_process;

/// `Icurcop` of `struct interpreter`, of 5.36 and of 5.32. `Icurstackinfo` comes this much later.
const CURRENT: [u64; 2] = [208, 224];
const STACK_INFO_AFTER_CURRENT: u64 = 16;

/// `PERL_SI`: `si_cxstack`, `si_prev`, `si_cxix`.
const CONTEXTS: u64 = 8;
const PREVIOUS: u64 = 16;
const CONTEXT_INDEX: u64 = 32;

/// `PERL_CONTEXT`: its size, `blku_type`, `blku_oldcop`, `blku_sub.cv`.
const CONTEXT_BYTES: u64 = 104;
const OLD_STATEMENT: u64 = 16;
const SUBROUTINE: u64 = 72;
/// `CXTYPEMASK`, `CXt_SUB`.
const KIND_BITS: u8 = 15;
const KIND_SUBROUTINE: u8 = 9;

/// `COP`: `cop_line`, and `cop_file` or `cop_filegv`.
const LINE: u64 = 36;
const FILE: u64 = 48;

/// `XPVCV`: `xcv_gv_u`, `xcv_flags`; `XPVGV`: its name; `HEK`: `hek_len`, `hek_key`.
const NAME_OF_SUBROUTINE: u64 = 56;
const FLAGS: u64 = 92;
const IS_NAMED: u32 = 0x8000;
const NAME_OF_GLOB: u64 = 32;
const NAME_LENGTH: u64 = 4;
const NAME_TEXT: u64 = 8;

/// Longer names are not read.
const MOST_NAME_BYTES: u32 = 1024;
/// A larger number is no line.
const LAST_LINE: u32 = 50_000_000;
/// The most nested stacks followed: one for each `sort` block, signal handler or tied variable.
const MOST_STACKS: usize = 16;

/// An interpreter.
#[derive(Clone, Copy, Debug)]
pub enum Interpreter {
    /// Built with threads: where the pointer to its state is.
    Threaded(u64),
    /// Built without: where the current statement and the current stack are.
    Single { current: u64, stack_info: u64 },
}

/// Finds the interpreter of a process.
pub fn find(maps: &Maps, modules: &mut Modules) -> Found<Interpreter> {
    let is_perl =
        |name: &str| name.starts_with("libperl.so") || name.strip_prefix("perl").is_some_and(is_version);
    Found::among(maps, modules, is_perl, |placed| {
        match (placed.data("PL_curcop"), placed.data("PL_curstackinfo")) {
            (Some(current), Some(stack_info)) => Some(Interpreter::Single { current, stack_info }),
            _ => placed.data("PL_curinterp").map(Interpreter::Threaded),
        }
    })
}

/// Whether what follows `perl` in the name of a program is a version or nothing: `perldoc` is another program.
fn is_version(rest: &str) -> bool {
    rest.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
}

impl Interpreter {
    /// Returns the stack of the main thread, if it is `wanted`.
    pub fn stacks(self, maps: &Maps, wanted: &dyn Fn(u32) -> bool) -> Vec<Stack> {
        if !wanted(maps.pid) {
            return Vec::new();
        }
        let frames = match self {
            Interpreter::Single { current, stack_info } => {
                Reader { maps, names_files: false }.frames(current, stack_info)
            }
            Interpreter::Threaded(pointer) => threaded(maps, pointer),
        };
        vec![Stack { thread: maps.pid, frames: frames.unwrap_or_default() }]
    }
}

/// Tries the offsets of each version: with the wrong ones, the current statement has no file.
fn threaded(maps: &Maps, pointer: u64) -> Option<Vec<Frame>> {
    let state = maps.word(pointer).filter(|state| *state != 0)?;
    CURRENT.iter().find_map(|offset| {
        let current = state + offset;
        Reader { maps, names_files: true }.frames(current, current + STACK_INFO_AFTER_CURRENT)
    })
}

struct Reader<'m> {
    maps: &'m Maps,
    /// Whether statements have the name of their file, and not a glob of that name.
    names_files: bool,
}

impl Reader<'_> {
    /// Returns the frames, the innermost first.
    fn frames(&self, current: u64, stack_info: u64) -> Option<Vec<Frame>> {
        let mut statement = self.maps.word(current)?;
        self.statement(statement)?;
        let mut frames = Vec::new();
        let mut info = self.maps.word(stack_info)?;
        for _ in 0..MOST_STACKS {
            if info == 0 {
                break;
            }
            statement = self.frames_of_stack(info, statement, &mut frames)?;
            info = self.maps.word(info + PREVIOUS)?;
        }
        frames.push(self.named("main program".to_owned(), statement)?);
        frames.truncate(MOST_FRAMES);
        Some(frames)
    }

    /// Adds the frames of one stack, whose innermost statement is given. Returns the statement that it was called from.
    fn frames_of_stack(&self, info: u64, mut statement: u64, frames: &mut Vec<Frame>) -> Option<u64> {
        let contexts = self.maps.word(info + CONTEXTS)?;
        let last = self.maps.half_word(info + CONTEXT_INDEX)? as i32;
        for index in (0..=u64::try_from(last).unwrap_or(0)).rev().filter(|_| last >= 0) {
            if frames.len() >= MOST_FRAMES {
                break;
            }
            let context = contexts + index * CONTEXT_BYTES;
            if self.maps.byte(context)? & KIND_BITS == KIND_SUBROUTINE {
                let name = self.maps.word(context + SUBROUTINE).and_then(|code| self.subroutine(code));
                frames.extend(self.named(name.unwrap_or_else(|| "?".to_owned()), statement));
                statement = self.maps.word(context + OLD_STATEMENT)?;
            }
        }
        Some(statement)
    }

    fn named(&self, function: String, statement: u64) -> Option<Frame> {
        let (file, line) = self.statement(statement)?;
        let is_library = is_library(&file);
        Some(Frame { file: Some(file), line: Some(line), is_library, ..frame(Language::Perl, function) })
    }

    /// Returns file and line of a statement.
    fn statement(&self, statement: u64) -> Option<(String, u32)> {
        let line = self.maps.half_word(statement + LINE).filter(|line| (1..LAST_LINE).contains(line))?;
        let file = self.maps.word(statement + FILE)?;
        let file = if self.names_files {
            String::from_utf8(other_process::string(self.maps.pid, file)?).ok()?
        } else {
            self.glob(file)?.strip_prefix("_<")?.to_owned()
        };
        (!file.is_empty() && !file.contains(char::is_control)).then_some((file, line))
    }

    /// Returns the name of a subroutine.
    fn subroutine(&self, code: u64) -> Option<String> {
        let body = self.maps.word(code)?;
        let name = self.maps.word(body + NAME_OF_SUBROUTINE)?;
        if self.maps.half_word(body + FLAGS)? & IS_NAMED != 0 { self.name(name) } else { self.glob(name) }
    }

    /// Returns the name of a glob.
    fn glob(&self, glob: u64) -> Option<String> {
        self.name(self.maps.word(self.maps.word(glob)? + NAME_OF_GLOB)?)
    }

    fn name(&self, key: u64) -> Option<String> {
        let length = self.maps.half_word(key + NAME_LENGTH).filter(|length| *length <= MOST_NAME_BYTES)?;
        let mut bytes = vec![0; length as usize];
        self.maps.bytes(key + NAME_TEXT, &mut bytes)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Whether a file belongs to Perl or an installed module, and not to the program.
fn is_library(file: &str) -> bool {
    let in_system = file.starts_with("/usr/") || file.starts_with("/etc/perl/");
    in_system && (file.contains("/perl/") || file.contains("/perl5/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_perl_itself_is_perl() {
        assert!(is_version("") && is_version("5.36.0") && !is_version("doc") && !is_version("5.36-x"));
    }
}
