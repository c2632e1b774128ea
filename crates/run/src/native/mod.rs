//! Native segments of a pipeline, and the worker process that runs one.
//!
//! A worker replaces the stages of its segment: it reads what the first of them would read, writes where the
//! last one would write, and reports the status of each. If a kernel falls back, the real command takes its
//! place in the middle of the stream:
//!
//! ```text
//!   worker:  source ► k0 ► k1 ► k2 ► stdout                    k1 falls back:
//!   worker:  source ► k0 ──pipe──► real command 1 ──pipe──► copy of the worker: k2 ► stdout
//! ```
//!
//! The copy is a fork, so k2 continues with its state.

mod budget;
mod child_programs;
pub mod choose;
mod data_files;
pub(crate) mod elastic;
mod feed;
pub(crate) mod files;
mod from_end;
mod hand_over;
mod join;
mod meter;
mod native_stage;
mod not_native;
mod out;
mod prepare;
mod reader;
mod scale_up;
mod segment;
mod source;
mod spawned;
mod spill;
mod start;
mod statuses;
mod tee;
mod unit;
mod worker;

pub use budget::set_memory;
pub use choose::{Explained, explain, plan_pipeline};
pub use elastic::{Jobs, set_jobs, set_niceness};
pub use meter::{PassCounters, RowNote};
pub use not_native::{Stays, stays};
pub use segment::Native;
pub use start::MakeShell;
pub use statuses::{Told, forget_telling, told};
pub use unit::Unit;
