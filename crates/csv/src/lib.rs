//! Reads separated values (RFC 4180) as a stream: selects columns by name, filters records, and converts
//! formats.
//!
//! ```text
//! bytes ──cutter──▶ whole records ──fields──▶ selected and filtered ──format──▶ lines
//!   quotes counted        by several threads, in order
//! ```
//!
//! The cutter counts quotes to find the line feeds that end records, and returns only whole records. In each
//! chunk `pelton_simd::fields` finds the ends of fields and records; the cost of a record then depends on what
//! is printed of it.

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

/// Maximum length of a record in bytes: an unclosed quote would make the rest of the input one record.
pub const RECORD_BYTES_MAX: usize = 64 << 20;

/// Bytes that a thread gets at once, unless a record is longer.
pub const CHUNK_BYTES: usize = 256 * 1024;
