//! Starts a program without copying this process: until the child execs, it runs in the parent's memory on a
//! separate stack, and the parent waits. That saves copying page tables, and the faults that a copy costs
//! both sides.

use std::ffi::{c_int, c_void};
use std::io;

/// Enough for the child's work before exec.
const STACK_BYTES: usize = 64 * 1024;

/// Runs `child` in a new process, which exits with its return value unless it execs first. Returns `Ok(None)`
/// where the system cannot do this.
///
/// The caller guarantees that `child` does not block, since this thread waits until it has exec'd or exited;
/// that it writes only to its stack and its own data; and that it takes no locks and allocates nothing.
#[cfg(target_os = "linux")]
pub(crate) fn start(mut child: &mut dyn FnMut() -> i32) -> io::Result<Option<u32>> {
    extern "C" fn enter(child: *mut c_void) -> c_int {
        // SAFETY: it is what `start` passed, which waits until this is over.
        let child = unsafe { &mut *child.cast::<&mut dyn FnMut() -> i32>() };
        let code = child();
        // SAFETY: _exit ends the process without running anything of the parent's.
        unsafe { libc::_exit(code) }
    }

    let mut stack: Vec<u128> = Vec::with_capacity(STACK_BYTES / size_of::<u128>());
    // SAFETY: the end of the allocation, aligned to 16 bytes as a stack must be.
    let top = unsafe { stack.as_mut_ptr().add(stack.capacity()) };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let child: *mut &mut dyn FnMut() -> i32 = &mut child;
    // SAFETY: the stack and the closure outlive the child's use of them, since CLONE_VFORK keeps this thread
    // waiting; the caller guarantees what the child does.
    match unsafe { libc::clone(enter, top.cast(), flags, child.cast()) } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Some(pid as u32)),
    }
}

/// Returns `None`: not supported here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn start(_child: &mut dyn FnMut() -> i32) -> io::Result<Option<u32>> {
    Ok(None)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use crate::wait::{self, Ended};

    #[test]
    fn the_child_ends_with_what_it_returns() {
        let mut work = || 7;
        let pid = super::start(&mut work).expect("started").expect("a process");
        assert_eq!(wait::reap(pid).expect("reaped").0, Ended::Exited(7));
    }
}
