//! An elastic buffer between a writer and a reader: memory first, then a nameless file, and out again all the while.
//!
//! ```text
//!            ┌──────────────── nothing is held: spliced from pipe to pipe, not copied ───────────────┐
//!   writer ──┤                                                                                       ├─▶ reader
//!            └─ the reader is late ─▶ queue: memory │ memory │ disk │ disk │ memory ─▶ oldest first ─┘
//! ```
//!
//! A [`Store`] has the room, with a limit on memory and one on disk; a queue per stream keeps the order, whatever each of
//! its chunks is held in; a `pump` moves what can be moved without waiting, and waits for everything at once.
//! Room goes back as soon as it is empty: memory to the system, the file as holes.
//!
//! One thread does all of it, and never makes an inherited descriptor non-blocking, since others share it: see
//! [`pelton_sys::flow`]. Only where the reader is a terminal, a device or a file, to which there is no writing without
//! waiting, a second thread writes.

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
