//! An elastic buffer between a writer and a reader: memory first, then a nameless file.
//!
//! ```text
//!            ┌──────────────── nothing is held: spliced from pipe to pipe, not copied ───────────────┐
//!   writer ──┤                                                                                       ├─▶ reader
//!            └─ the reader is late ─▶ queue: memory │ memory │ disk │ disk │ memory ─▶ oldest first ─┘
//! ```
//!
//! A [`Store`] limits the memory and the disk space; a queue per stream keeps the order of its chunks in
//! either; a `pump` moves everything that can be moved without blocking, and waits for all events at once.
//! Free space is returned at once: memory to the system, the file as holes.
//!
//! One thread does all of it, and never makes an inherited descriptor non-blocking, since other processes
//! share it: see [`pelton_sys::flow`]. A second thread writes only if the reader is a terminal, a device or a
//! file, where every write may block.

mod channel;
mod disk;
mod error;
mod pump;
mod queue;
mod sink;
mod store;
mod tally;

pub use error::Error;
pub use pump::{Child, Ends, Finish, Setting, Watch, pump};
pub use store::{Limits, Store};
pub use tally::{Progress, StreamProgress};
