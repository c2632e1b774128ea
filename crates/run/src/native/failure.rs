//! What the real commands say if their output cannot be written, and the status they end with.

use std::io;

/// Standard output could not be written.
#[derive(Debug)]
pub struct Failure {
    /// Why.
    pub error: io::Error,
    /// How many bytes were printed until then.
    pub printed: u64,
    /// How long the line is that did not fit into the first buffer.
    pub item: usize,
}

/// What the C library buffers for a file, in bytes: with so much or less, the failure shows only at the end.
pub const BUFFER: usize = 4096;

/// What `name` says, called as `called`, and its status.
pub fn words(name: &str, called: &str, failure: &Failure) -> (String, i32) {
    let reason = reason(&failure.error);
    let large = failure.printed > BUFFER as u64;
    let at_end = format!("{called}: write error: {reason}\n");
    let no_reason = format!("{called}: write error\n");
    match name {
        "wc" => (no_reason, 1),
        "tac" if failure.printed > 4 * BUFFER as u64 => (no_reason, 1),
        "rev" if large => (no_reason, 1),
        "head" | "tail" if large => (format!("{called}: error writing 'standard output': {reason}\n"), 1),
        "expand" | "unexpand" | "paste" | "tr" if large => (at_end + &no_reason, 1),
        "sort" => {
            let what = if large { "write" } else { "fflush" };
            (format!("{called}: {what} failed: 'standard output': {reason}\n{no_reason}"), 2)
        }
        "sed" if large => {
            (format!("{called}: couldn't write {} items to stdout: {reason}\n", failure.item), 4)
        }
        "sed" => (format!("{called}: couldn't flush stdout: {reason}\n"), 4),
        "grep" => (at_end, 2),
        "tee" => (format!("{called}: 'standard output': {reason}\n"), 1),
        _ => (at_end, 1),
    }
}

/// As strerror(3) says it.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// How long the line is that holds the last byte of the first buffer, without its end.
pub fn item(bytes: &[u8]) -> usize {
    let end = BUFFER.min(bytes.len());
    let start = bytes[..end].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    bytes[start..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - start)
}
