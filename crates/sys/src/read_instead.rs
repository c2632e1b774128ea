//! Lets a bash or zsh that this process will exec read other bytes than those of its script.
//!
//! ```text
//!   this process            a fork of it, which traces it
//!   waits            ◀───   attaches with ptrace(2)
//!   exec             ──▶    sets a breakpoint where the shell has opened its script, and moves the descriptor up
//!   breakpoint       ──▶    makes it open "/proc/TRACER/fd/1" in that place, detaches, ends
//!   reads the other bytes
//! ```
//!
//! The shell sees the name that it was given, in its own messages as well. Six stops in all for bash, and three more for each
//! file that zsh opens before its script: to look at each system call of its start would take 300. Whatever goes wrong, it
//! reads the script itself.

#[cfg(target_arch = "x86_64")]
mod tracer;

use object::elf::Sym64;
use object::pod::slice_from_all_bytes;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ReadCache, ReadRef};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether [`arrange`] knows the registers of this architecture.
pub const IS_SUPPORTED: bool = cfg!(target_arch = "x86_64");

/// The function that a shell calls with the descriptor of a script that it has opened, to move it to a high number. Shells
/// export it, for their modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovesDescriptor {
    /// bash's `move_to_high_fd`.
    Bash,
    /// zsh's `movefd`, which other files pass through before.
    Zsh,
}

impl MovesDescriptor {
    fn name(self) -> &'static [u8] {
        match self {
            MovesDescriptor::Bash => b"move_to_high_fd",
            MovesDescriptor::Zsh => b"movefd",
        }
    }
}

/// Arranges that the shell, if it is the next program which this process execs, reads `content` instead of its script.
///
/// # Errors
/// If this shell does not have the function, the system does not permit tracing, on another architecture than x86-64, or if
/// this process has several threads. Nothing has changed then.
pub fn arrange(shell: &Path, by: MovesDescriptor, script: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::from(rustix::fs::memfd_create("script", rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    let script = std::fs::metadata(script)?;
    let program = ReadCache::new(File::open(shell)?);
    let function = Function::find(&program, by).ok_or(io::ErrorKind::Unsupported)?;
    // The copy that traces needs none of it.
    drop(program);
    tracer::attach(function, (script.dev(), script.ino()), &file)
}

/// Where the function is.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
struct Function {
    /// Its distance from where the program begins to run.
    after_entry: u64,
}

impl Function {
    /// Reads no more of the program than its headers and its dynamic symbols, each part at once: its symbols one by one
    /// would be thousands of reads.
    fn find<'a>(program: impl ReadRef<'a>, by: MovesDescriptor) -> Option<Function> {
        let elf = ElfFile64::<Endianness, _>::parse(program).ok()?;
        let section = |name| elf.section_by_name(name)?.data().ok();
        let (symbols, names) = (section(".dynsym")?, section(".dynstr")?);
        let symbols = slice_from_all_bytes::<Sym64<Endianness>>(symbols).ok()?;
        let is_it = |symbol: &&Sym64<Endianness>| {
            let name = names.get(symbol.st_name.get(elf.endian()) as usize..);
            name.and_then(|name| name.strip_prefix(by.name())).is_some_and(|rest| rest.first() == Some(&0))
        };
        let address = symbols.iter().find(is_it)?.st_value.get(elf.endian());
        (address != 0).then(|| Function { after_entry: address.wrapping_sub(elf.entry()) })
    }
}

/// On other architectures the registers of a system call differ.
#[cfg(not(target_arch = "x86_64"))]
mod tracer {
    pub(super) fn attach(_: super::Function, _: (u64, u64), _: &std::fs::File) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}
