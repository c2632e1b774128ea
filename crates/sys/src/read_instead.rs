//! Lets a bash that this process will exec read other bytes than those of its script.
//!
//! ```text
//!   this process            a fork of it, which traces it
//!   waits            ◀───   attaches with ptrace(2)
//!   exec             ──▶    sets a breakpoint where bash has opened its script, and moves the descriptor up
//!   breakpoint       ──▶    makes it open "/proc/TRACER/fd/1" in that place, detaches, ends
//!   reads the other bytes
//! ```
//!
//! bash sees the name that it was given, in its own messages as well. Six stops in all: to look at each system call of its
//! start would take 300. Whatever goes wrong, it reads the script itself.

use crate::pipe;
#[cfg(target_arch = "x86_64")]
use crate::{other_process, spawn, trace, wait};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether [`arrange`] knows the registers of this architecture.
pub const IS_SUPPORTED: bool = cfg!(target_arch = "x86_64");

/// Arranges that bash, if it is the next program which this process execs, reads `content` instead of its script.
///
/// # Errors
/// If this bash does not have the function, the system does not permit tracing, on another architecture than x86-64, or if
/// this process has several threads. Nothing has changed then.
pub fn arrange(bash: &Path, script: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::from(rustix::fs::memfd_create("script", rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    let script = std::fs::metadata(script)?;
    let program = std::fs::read(bash)?;
    let function = Function::find(&program).ok_or(io::ErrorKind::Unsupported)?;
    attach(function, (script.dev(), script.ino()), &file)
}

/// The function of bash that gets the descriptor of the opened script, and moves it to a high number.
#[derive(Clone, Copy, Debug)]
struct Function {
    /// Its distance from where the program begins to run.
    after_entry: u64,
}

impl Function {
    const NAME: &[u8] = b"move_to_high_fd";

    fn find(program: &[u8]) -> Option<Function> {
        let elf = ElfFile64::<Endianness>::parse(program).ok()?;
        let symbol = elf.dynamic_symbols().find(|symbol| symbol.name_bytes() == Ok(Self::NAME))?;
        (symbol.address() != 0).then(|| Function { after_entry: symbol.address().wrapping_sub(elf.entry()) })
    }
}

/// On other architectures the registers of a system call are others.
#[cfg(not(target_arch = "x86_64"))]
fn attach(_function: Function, _script: (u64, u64), _file: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_arch = "x86_64")]
fn attach(function: Function, script: (u64, u64), file: &File) -> io::Result<()> {
    let ready = pipe::pipe()?;
    let this = std::process::id() as libc::pid_t;
    let_trace(libc::PR_SET_PTRACER_ANY);
    let Some(child) = spawn::fork_copy()? else {
        // Its own child traces, and is nobody's child when the program waits for its children.
        if matches!(spawn::fork_copy(), Ok(None)) && seize(this, file, &ready.write).is_ok() {
            Tracer { tracee: this, function, script, breakpoint: None, signal: 0 }.follow();
        }
        spawn::exit_now(0);
    };
    wait::reap(child)?;
    drop(ready.write);
    let attached = rustix::io::retry_on_intr(|| rustix::io::read(&ready.read, &mut [0; 1]));
    let_trace(0);
    if attached? == 0 { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}

/// Says which process may trace this one. Only some kernels ask.
#[cfg(target_arch = "x86_64")]
fn let_trace(by: libc::c_ulong) {
    // SAFETY: changes an attribute of this process; the arguments are numbers.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, by, 0, 0, 0) };
}

/// Attaches to `tracee`, and says so. The other bytes become descriptor 1; every other one is closed.
#[cfg(target_arch = "x86_64")]
fn seize(tracee: libc::pid_t, file: &File, ready: &std::os::fd::OwnedFd) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    crate::signals::block_all();
    let high = |fd: i32| rustix::io::fcntl_dupfd_cloexec(borrowed(fd), 3);
    let (ready, file) = (high(ready.as_raw_fd())?, high(file.as_raw_fd())?);
    for (from, to) in [(&ready, 0), (&file, 1)] {
        // SAFETY: both are descriptors of this process, in which nothing else runs.
        if unsafe { libc::dup2(from.as_raw_fd(), to) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    trace::close_from(2);
    std::mem::forget((ready, file));
    trace::request(libc::PTRACE_SEIZE, tracee, libc::PTRACE_O_TRACEEXEC)?;
    trace::request(libc::PTRACE_INTERRUPT, tracee, 0)?;
    rustix::io::write(rustix::stdio::stdin(), b"1")?;
    // SAFETY: nothing uses it any more.
    unsafe { libc::close(0) };
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn borrowed(fd: i32) -> std::os::fd::BorrowedFd<'static> {
    // SAFETY: the descriptor stays open while it is borrowed: only `trace::close_from` closes it, later.
    unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) }
}

/// The work of the tracer.
#[cfg(target_arch = "x86_64")]
struct Tracer {
    tracee: libc::pid_t,
    function: Function,
    /// Device and inode of the script.
    script: (u64, u64),
    /// The address of the function, and the word of code there.
    breakpoint: Option<(u64, libc::c_long)>,
    /// A signal that arrived while the process made calls for the tracer.
    signal: libc::c_int,
}

/// `int3`.
#[cfg(target_arch = "x86_64")]
const BREAKPOINT: libc::c_long = 0xcc;
/// `syscall`.
#[cfg(target_arch = "x86_64")]
const SYSCALL: libc::c_long = 0x050f;

#[cfg(target_arch = "x86_64")]
impl Tracer {
    /// Follows the process until it has the other bytes, or ends.
    fn follow(mut self) {
        while let trace::Next::Stopped(pid, status) = trace::next() {
            let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
            if event == libc::PTRACE_EVENT_EXEC {
                self.breakpoint = self.set_breakpoint();
                if self.breakpoint.is_none() {
                    break;
                }
            } else if event == 0 && signal == libc::SIGTRAP && self.is_at_breakpoint() {
                self.exchange();
                break;
            }
            // A process that a signal stopped stays so until another continues it.
            let stays = event == libc::PTRACE_EVENT_STOP && signal != libc::SIGTRAP;
            let way = if stays { libc::PTRACE_LISTEN } else { libc::PTRACE_CONT };
            let forwarded = if event == 0 { signal } else { 0 };
            if trace::request(way, pid, forwarded).is_err() {
                break;
            }
        }
        // The end of this process detaches as well.
        let _ = trace::request(libc::PTRACE_DETACH, self.tracee, self.signal);
    }

    fn set_breakpoint(&self) -> Option<(u64, libc::c_long)> {
        const AT_ENTRY: u64 = 9;
        let vector = std::fs::read(format!("/proc/{}/auxv", self.tracee)).ok()?;
        let (words, _) = vector.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect();
        let entry = words.chunks(2).find(|pair| pair[0] == AT_ENTRY)?.get(1)?;
        let address = entry.wrapping_add(self.function.after_entry);
        let code = peek(self.tracee, address)?;
        poke(self.tracee, address, code & !0xff | BREAKPOINT).then_some((address, code))
    }

    fn is_at_breakpoint(&self) -> bool {
        let at = registers(self.tracee).map(|registers| registers.rip);
        self.breakpoint.is_some_and(|(address, _)| at == Some(address + 1))
    }

    /// Puts the other bytes in the place of the script, if that is what the function got, and lets the function begin.
    fn exchange(&mut self) {
        let (Some((address, code)), Some(mut before)) = (self.breakpoint, registers(self.tracee)) else {
            return;
        };
        before.rip = address;
        let fd = before.rdi;
        let opened = std::fs::metadata(format!("/proc/{}/fd/{}", self.tracee, fd as i32));
        if opened.is_ok_and(|opened| (opened.dev(), opened.ino()) == self.script) {
            // The stack below the red zone is free.
            let scratch = (before.rsp - 512) & !15;
            let other = format!("/proc/{}/fd/1\0", std::process::id());
            let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
            if other_process::write(self.tracee as u32, scratch, other.as_bytes())
                && poke(self.tracee, address, code & !0xffff | SYSCALL)
                && let Some(new) = self.call(&before, libc::SYS_open, [scratch, flags])
            {
                // If it fails, the script itself is read.
                let _ = self.call(&before, libc::SYS_dup2, [new, fd]);
                let _ = self.call(&before, libc::SYS_close, [new, 0]);
            }
        }
        poke(self.tracee, address, code);
        set_registers(self.tracee, &before);
    }

    /// Makes the process call the system. `None` if that fails.
    fn call(
        &mut self,
        before: &libc::user_regs_struct,
        number: i64,
        [first, second]: [u64; 2],
    ) -> Option<u64> {
        let registers_of_call = libc::user_regs_struct {
            rax: number as u64,
            orig_rax: u64::MAX,
            rdi: first,
            rsi: second,
            rdx: 0,
            ..*before
        };
        if !set_registers(self.tracee, &registers_of_call) {
            return None;
        }
        loop {
            trace::request(libc::PTRACE_SINGLESTEP, self.tracee, 0).ok()?;
            let trace::Next::Stopped(_, status) = trace::next() else { return None };
            if status >> 16 == 0 && libc::WSTOPSIG(status) == libc::SIGTRAP {
                break;
            }
            if status >> 16 == 0 {
                self.signal = libc::WSTOPSIG(status);
            }
        }
        let answer = registers(self.tracee)?.rax as i64;
        u64::try_from(answer).ok()
    }
}

#[cfg(target_arch = "x86_64")]
fn peek(tracee: libc::pid_t, address: u64) -> Option<libc::c_long> {
    let mut bytes = [0; 8];
    let word = other_process::memory(tracee as u32, address, &mut bytes)?.try_into().ok()?;
    Some(libc::c_long::from_ne_bytes(word))
}

/// Writes a word, of code too.
#[cfg(target_arch = "x86_64")]
fn poke(tracee: libc::pid_t, address: u64, word: libc::c_long) -> bool {
    // SAFETY: writes to the memory of the other process; none of ours is touched.
    unsafe { libc::ptrace(libc::PTRACE_POKETEXT, tracee, address, word) != -1 }
}

#[cfg(target_arch = "x86_64")]
fn registers(tracee: libc::pid_t) -> Option<libc::user_regs_struct> {
    // SAFETY: an all-zero value is a valid one for the kernel to fill.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one such structure to `registers`.
    let answer = unsafe { libc::ptrace(libc::PTRACE_GETREGS, tracee, 0usize, &raw mut registers) };
    (answer != -1).then_some(registers)
}

#[cfg(target_arch = "x86_64")]
fn set_registers(tracee: libc::pid_t, registers: &libc::user_regs_struct) -> bool {
    // SAFETY: the kernel reads one such structure.
    unsafe { libc::ptrace(libc::PTRACE_SETREGS, tracee, 0usize, std::ptr::from_ref(registers)) != -1 }
}
