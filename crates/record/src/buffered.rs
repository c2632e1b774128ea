//! What `pelton buffer --json` tells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One use of an elastic buffer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Buffered {
    /// [`crate::RECORD_VERSION`] of the program that wrote this.
    pub record_version: u32,
    /// Version of pelton that wrote this.
    pub pelton_version: String,
    /// From the start to the last byte delivered.
    pub wall_ns: u64,
    /// The most memory that was allowed for what is held.
    pub memory_limit_bytes: u64,
    /// The most disk that was allowed for what is held.
    pub disk_limit_bytes: u64,
    /// The most memory that held anything at one time, in whole blocks.
    pub memory_peak_bytes: u64,
    /// The most disk that held anything at one time, in whole blocks.
    pub disk_peak_bytes: u64,
    /// How often the disk had no room although its limit was not reached.
    pub disk_full: u64,
    /// What went through: standard input; or a command's standard output, and its standard error.
    pub streams: Vec<BufferedStream>,
}

/// What went through a buffer from one writer to one reader.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct BufferedStream {
    /// `stdin`, `stdout` or `stderr`.
    pub name: String,
    /// Taken from the writer.
    pub in_bytes: u64,
    /// Delivered to the reader. Less than `in_bytes` only if the reader left, or could not be written to.
    pub out_bytes: u64,
    /// Of those, passed on at once from pipe to pipe, without being copied.
    pub passed_bytes: u64,
    /// Of those, kept on disk for a while.
    pub disk_bytes: u64,
    /// The most that was held at one time.
    pub held_peak_bytes: u64,
    /// Time in which nothing was held and nothing came: waiting for the writer.
    pub input_wait_ns: u64,
    /// Time in which the reader took nothing although there was something: what the buffer hid from the writer.
    pub reader_wait_ns: u64,
    /// Time in which both limits were reached, so that the writer may have had to wait.
    pub full_ns: u64,
    /// Whether the reader left before the end.
    pub reader_left: bool,
}
