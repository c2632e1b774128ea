//! Separated values (RFC 4180) read as a stream: columns selected by name, records filtered, other formats.
//!
//! ```text
//! bytes ──cutter──▶ whole records ──fields──▶ selected and filtered ──format──▶ lines
//!   quotes counted        by several threads, in order
//! ```
//!
//! The cutter counts quotes, so that it knows which line feeds end records and gives out whole ones only. In each chunk
//! `pelton_sys::fields` finds where fields and records end; a record then costs as much as what is printed of it.

mod cut;
mod error;
mod field;
mod filter;
mod header;
mod output;
mod read;
mod select;

pub use error::{Failure, Fault, SyntaxError};
pub use filter::{Condition, ConditionError};
pub use header::Header;
pub use output::Format;
pub use read::{Options, Share, read};
pub use select::{ColumnError, Columns};

/// How many bytes a record may have: with quotes that are never closed, all that follows would be one.
pub const RECORD_BYTES_MAX: usize = 64 << 20;

/// How many bytes a thread is given at once, unless a record is longer.
pub const CHUNK_BYTES: usize = 256 * 1024;
