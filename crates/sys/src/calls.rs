//! Decodes what a blocked thread waits for, from its system call's number and arguments in /proc/PID/syscall.
//!
//! Numbers are those of this architecture: a 32-bit program on a 64-bit kernel is misread.

/// A blocking system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Reads or receives from this descriptor.
    Reads(u32),
    /// Writes or sends to this descriptor.
    Writes(u32),
    /// Moves bytes from the first descriptor to the second.
    Moves(u32, u32),
    /// Waits for a child.
    Child(Child),
    /// Sleeps for a time.
    Sleeps,
    /// Waits until one of several descriptors is ready.
    Polls {
        /// The descriptors.
        set: Polled,
        /// Whether it has a timeout.
        timed: bool,
    },
    /// Waits for a connection on this descriptor.
    Accepts(u32),
    /// Waits for the other side to accept the connection.
    Connects(u32),
    /// Waits for another thread to change the word at this address.
    Futex {
        /// Address of the word in the process's memory.
        address: u64,
        /// Whether the futex is private to the process.
        private: bool,
        /// Whether it has a timeout.
        timed: bool,
    },
    /// Waits for a lock on the file behind this descriptor.
    Locks(u32),
    /// Opens the file whose name is at this address; a FIFO blocks until the other end is opened.
    Opens {
        /// Address of the name in the process's memory.
        path: u64,
        /// Base of a relative name: a descriptor, or `AT_FDCWD`.
        directory: i32,
        /// As given to open(2).
        flags: u64,
    },
    /// Waits for a signal.
    Signal {
        /// Whether it has a timeout.
        timed: bool,
    },
    /// Waits for the file system.
    Disk,
    /// Resumes a wait that a signal interrupted; the kernel does not say which.
    Resumes,
    /// Anything else.
    Other(i64),
}

/// Which child is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// Any child.
    Any,
    /// This process.
    Process(u32),
    /// Any in this process group; 0 is the caller's group.
    Group(u32),
    /// The process of this pidfd.
    Pidfd(u32),
    /// The child of vfork(2), until it execs or exits.
    Vforked,
}

/// Where the descriptor set of poll(2) or a related call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    /// An array of `count` pollfd structures.
    Array {
        /// Address in the process's memory.
        address: u64,
        /// How many structures.
        count: u64,
    },
    /// Up to three bit sets of `limit` bits.
    Sets {
        /// Addresses: read, write, exceptions; 0 for none.
        addresses: [u64; 3],
        /// How many bits count.
        limit: u64,
    },
    /// The set registered with this epoll descriptor.
    Epoll(u32),
}

/// Decodes a call from its number and arguments.
pub fn call(number: i64, arguments: [u64; 6]) -> Call {
    let fd = |argument: usize| arguments[argument] as u32;
    match number {
        libc::SYS_read | libc::SYS_readv | libc::SYS_pread64 | libc::SYS_preadv | libc::SYS_preadv2 => {
            Call::Reads(fd(0))
        }
        libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_recvmmsg => Call::Reads(fd(0)),
        libc::SYS_write | libc::SYS_writev | libc::SYS_pwrite64 | libc::SYS_pwritev | libc::SYS_pwritev2 => {
            Call::Writes(fd(0))
        }
        libc::SYS_vmsplice | libc::SYS_sendto | libc::SYS_sendmsg | libc::SYS_sendmmsg => Call::Writes(fd(0)),
        libc::SYS_sendfile => Call::Moves(fd(1), fd(0)),
        libc::SYS_splice | libc::SYS_copy_file_range => Call::Moves(fd(0), fd(2)),
        libc::SYS_tee => Call::Moves(fd(0), fd(1)),
        libc::SYS_wait4 => Call::Child(wait4(arguments[0] as i32)),
        libc::SYS_waitid => Call::Child(waitid(arguments[0] as u32, fd(1))),
        libc::SYS_clone | libc::SYS_clone3 => Call::Child(Child::Vforked),
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => Call::Sleeps,
        libc::SYS_accept | libc::SYS_accept4 => Call::Accepts(fd(0)),
        libc::SYS_connect => Call::Connects(fd(0)),
        libc::SYS_futex => futex(arguments),
        libc::SYS_flock | libc::SYS_fcntl => Call::Locks(fd(0)),
        libc::SYS_openat | libc::SYS_openat2 => {
            // openat2's flags are behind a pointer; no program opens FIFOs with it.
            Call::Opens { path: arguments[1], directory: arguments[0] as i32, flags: arguments[2] }
        }
        libc::SYS_rt_sigsuspend => Call::Signal { timed: false },
        libc::SYS_rt_sigtimedwait => Call::Signal { timed: arguments[2] != 0 },
        libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_sync | libc::SYS_syncfs | libc::SYS_msync => {
            Call::Disk
        }
        libc::SYS_restart_syscall => Call::Resumes,
        _ => polls(number, arguments).or_else(|| legacy(number, arguments)).unwrap_or(Call::Other(number)),
    }
}

fn wait4(pid: i32) -> Child {
    match pid {
        -1 => Child::Any,
        pid if pid > 0 => Child::Process(pid as u32),
        group => Child::Group(group.unsigned_abs()),
    }
}

fn waitid(kind: u32, id: u32) -> Child {
    match kind {
        libc::P_PID => Child::Process(id),
        libc::P_PGID => Child::Group(id),
        libc::P_PIDFD => Child::Pidfd(id),
        _ => Child::Any,
    }
}

fn futex(arguments: [u64; 6]) -> Call {
    const PRIVATE: u64 = libc::FUTEX_PRIVATE_FLAG as u64;
    Call::Futex { address: arguments[0], private: arguments[1] & PRIVATE != 0, timed: arguments[3] != 0 }
}

/// Decodes the calls of every architecture that wait for one of several descriptors.
fn polls(number: i64, arguments: [u64; 6]) -> Option<Call> {
    let (set, timed) = match number {
        libc::SYS_ppoll => (array(arguments), arguments[2] != 0),
        libc::SYS_pselect6 => (sets(arguments), arguments[4] != 0),
        libc::SYS_epoll_pwait => (Polled::Epoll(arguments[0] as u32), arguments[3] as i32 >= 0),
        libc::SYS_epoll_pwait2 => (Polled::Epoll(arguments[0] as u32), arguments[3] != 0),
        _ => return None,
    };
    Some(Call::Polls { set, timed })
}

fn array(arguments: [u64; 6]) -> Polled {
    Polled::Array { address: arguments[0], count: arguments[1] }
}

fn sets(arguments: [u64; 6]) -> Polled {
    Polled::Sets { addresses: [arguments[1], arguments[2], arguments[3]], limit: arguments[0] }
}

/// Decodes calls that newer architectures no longer have.
#[cfg(target_arch = "x86_64")]
fn legacy(number: i64, arguments: [u64; 6]) -> Option<Call> {
    Some(match number {
        libc::SYS_poll => Call::Polls { set: array(arguments), timed: arguments[2] as i32 >= 0 },
        libc::SYS_select => Call::Polls { set: sets(arguments), timed: arguments[4] != 0 },
        libc::SYS_epoll_wait => {
            Call::Polls { set: Polled::Epoll(arguments[0] as u32), timed: arguments[3] as i32 >= 0 }
        }
        libc::SYS_open => Call::Opens { path: arguments[0], directory: libc::AT_FDCWD, flags: arguments[1] },
        libc::SYS_pause => Call::Signal { timed: false },
        libc::SYS_vfork => Call::Child(Child::Vforked),
        _ => return None,
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn legacy(_number: i64, _arguments: [u64; 6]) -> Option<Call> {
    None
}

/// Whether a call returns how many bytes it moved.
pub fn moves_bytes(number: i64) -> bool {
    let call = call(number, [0; 6]);
    matches!(call, Call::Reads(_) | Call::Writes(_) | Call::Moves(..))
        && ![libc::SYS_recvmmsg, libc::SYS_sendmmsg].contains(&number)
}

/// Whether open(2) with these flags waits for a FIFO's reader (it opens for writing) or its writer; `None` if
/// it opens for both, which does not block.
pub fn opens_for_writing(flags: u64) -> Option<bool> {
    match flags as i32 & libc::O_ACCMODE {
        libc::O_RDONLY => Some(false),
        libc::O_WRONLY => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_say_what_they_wait_for() {
        assert_eq!(call(libc::SYS_read, [3, 0, 0, 0, 0, 0]), Call::Reads(3));
        assert_eq!(call(libc::SYS_sendfile, [1, 5, 0, 0, 0, 0]), Call::Moves(5, 1));
        assert_eq!(call(libc::SYS_wait4, [u64::MAX, 0, 0, 0, 0, 0]), Call::Child(Child::Any));
        assert_eq!(call(libc::SYS_wait4, [42, 0, 0, 0, 0, 0]), Call::Child(Child::Process(42)));
        assert_eq!(
            call(libc::SYS_waitid, [u64::from(libc::P_PIDFD), 7, 0, 0, 0, 0]),
            Call::Child(Child::Pidfd(7))
        );
        let futex = Call::Futex { address: 64, private: true, timed: false };
        assert_eq!(call(libc::SYS_futex, [64, 128 | 9, 0, 0, 0, u64::MAX]), futex);
        let epoll = Call::Polls { set: Polled::Epoll(4), timed: false };
        assert_eq!(call(libc::SYS_epoll_pwait, [4, 0, 8, u64::from(u32::MAX), 0, 0]), epoll);
        assert_eq!(call(9_999, [0; 6]), Call::Other(9_999));
        assert_eq!(
            (opens_for_writing(0), opens_for_writing(1), opens_for_writing(2)),
            (Some(false), Some(true), None)
        );
    }
}
