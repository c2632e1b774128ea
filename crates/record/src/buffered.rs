//! The output of `pelton buffer --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One run of an elastic buffer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Buffered {
    /// [`crate::RECORD_VERSION`] of the program that wrote this.
    pub record_version: u32,
    /// Version of pelton that wrote this.
    pub pelton_version: String,
    /// Time from the start to the last byte delivered.
    pub wall_ns: u64,
    /// The limit on memory for held data.
    pub memory_limit_bytes: u64,
    /// The limit on disk space for held data.
    pub disk_limit_bytes: u64,
    /// The most memory in use for held data at one time, in whole blocks.
    pub memory_peak_bytes: u64,
    /// The most disk space in use for held data at one time, in whole blocks.
    pub disk_peak_bytes: u64,
    /// How often the disk was full although its limit was not reached.
    pub disk_full: u64,
    /// The streams that were buffered: standard input; or a command's standard output and standard error.
    pub streams: Vec<BufferedStream>,
}

/// The data that a buffer took from one writer for one reader.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct BufferedStream {
    /// `stdin`, `stdout` or `stderr`.
    pub name: String,
    /// Bytes taken from the writer.
    pub in_bytes: u64,
    /// Bytes delivered to the reader. Fewer than `in_bytes` only if the reader closed, or a write failed.
    pub out_bytes: u64,
    /// Bytes that were passed on at once from pipe to pipe, without a copy.
    pub passed_bytes: u64,
    /// Bytes that were on disk for a while.
    pub disk_bytes: u64,
    /// The most bytes held at one time.
    pub held_peak_bytes: u64,
    /// Time in which nothing was held and no input came: blocked on read.
    pub input_wait_ns: u64,
    /// Time in which data was held and the reader took none: the waiting that the buffer spared the writer.
    pub reader_wait_ns: u64,
    /// Time in which both limits were reached, so that the writer may have been blocked.
    pub full_ns: u64,
    /// Whether the reader closed its end before the end of the data.
    pub reader_left: bool,
}
