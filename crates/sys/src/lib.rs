//! pelton's only use of libc: spawning behind a gate, waiting, signals, pipes, /proc.
//!
//! Everything here is small and mechanical; other crates decide how to use it. Each `unsafe` block holds one
//! operation and says why it is sound.

pub mod accounts;
pub mod allocator;
mod borrow;
pub mod call_names;
pub mod calls;
pub mod cgroups;
pub mod clock;
pub mod collate;
pub mod copying;
pub mod cpu_waits;
pub mod descriptors;
pub mod directories;
pub mod disks;
pub mod errors;
pub mod file_events;
pub mod file_locks;
pub mod flow;
pub mod follow;
pub mod libc_patterns;
pub mod limits;
pub mod machine;
pub mod memory;
pub mod other_process;
pub mod pages;
pub mod pidfd;
pub mod pipe;
pub mod pressure;
pub mod private;
pub mod processes;
pub mod procfs;
pub mod read_instead;
pub mod scratch;
pub mod shared;
pub mod signals;
pub mod sockets;
pub mod spare_capacity;
pub mod spawn;
pub mod stack;
pub mod stand_in;
pub mod startup;
pub mod stdio;
pub mod stopped;
pub mod trace;
mod traced_set_uid;
#[cfg(target_arch = "x86_64")]
mod tracee;
pub mod units;
#[cfg(target_os = "linux")]
pub mod uring;
pub mod users;
pub mod wait;
pub mod watchdog;
pub mod wide_characters;
