//! Reads and changes a stopped process that this one traces.

use crate::other_process;

/// Returns its registers; `None` if it is not stopped.
pub(crate) fn registers(tracee: libc::pid_t) -> Option<libc::user_regs_struct> {
    // SAFETY: an all-zero value is a valid one for the kernel to fill.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one such structure to `registers`.
    let answer = unsafe { libc::ptrace(libc::PTRACE_GETREGS, tracee, 0usize, &raw mut registers) };
    (answer != -1).then_some(registers)
}

/// Sets its registers; false if it is not stopped.
pub(crate) fn set_registers(tracee: libc::pid_t, registers: &libc::user_regs_struct) -> bool {
    // SAFETY: the kernel reads one such structure.
    unsafe { libc::ptrace(libc::PTRACE_SETREGS, tracee, 0usize, std::ptr::from_ref(registers)) != -1 }
}

/// Reads 8 bytes of its memory.
pub(crate) fn word(pid: u32, address: u64) -> Option<u64> {
    let mut buffer = [0; 8];
    Some(u64::from_ne_bytes(*other_process::memory(pid, address, &mut buffer)?.first_chunk()?))
}

/// Writes 8 bytes to its memory, even to read-only code; false if the address is not mapped.
pub(crate) fn poke(tracee: libc::pid_t, address: u64, word: u64) -> bool {
    // SAFETY: writes to the memory of the other process; none of ours is touched.
    unsafe { libc::ptrace(libc::PTRACE_POKETEXT, tracee, address, word) != -1 }
}

/// What the kernel told a program at its exec: see `getauxval(3)`.
pub(crate) struct AuxiliaryVector(Vec<u64>);

impl AuxiliaryVector {
    /// Reads the vector of a process.
    pub(crate) fn read(pid: u32) -> Option<AuxiliaryVector> {
        let bytes = std::fs::read(format!("/proc/{pid}/auxv")).ok()?;
        let (words, _) = bytes.as_chunks::<8>();
        Some(AuxiliaryVector(words.iter().map(|word| u64::from_ne_bytes(*word)).collect()))
    }

    /// Returns the value of a key, such as `AT_ENTRY`.
    pub(crate) fn value(&self, key: libc::c_ulong) -> Option<u64> {
        self.0.chunks_exact(2).find(|pair| pair[0] == key).map(|pair| pair[1])
    }
}
