//! What the real commands say if they cannot read or write, and the status they end with.

use std::io;

/// A command, for its messages.
#[derive(Clone, Debug)]
pub struct Caller {
    /// What it is called by: its path, perhaps.
    pub called: String,
}

impl Caller {
    /// Which command it is.
    pub fn name(&self) -> &str {
        self.called.rsplit('/').next().unwrap_or_default()
    }
}

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

/// What it says of output that cannot be written, and its status.
pub fn writing(caller: &Caller, failure: &Failure) -> (String, i32) {
    let called = &caller.called;
    let reason = reason(&failure.error);
    let large = failure.printed > BUFFER as u64;
    let at_end = format!("{called}: write error: {reason}\n");
    let no_reason = format!("{called}: write error\n");
    match caller.name() {
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
        "awk" | "mawk" => {
            let close = format!("{called}: close failed on file /dev/stdout ({reason})\n");
            let print = if large { format!("{called}: write failure ({reason})\n") } else { String::new() };
            (print + &close, 2)
        }
        "grep" => (at_end, 2),
        "pelton" => (format!("{called}: cannot write to standard output: {reason}\n"), 2),
        "tee" => (format!("{called}: 'standard output': {reason}\n"), 1),
        _ => (at_end, 1),
    }
}

/// An input that cannot be read to its end.
#[derive(Debug)]
pub struct Unreadable {
    /// What the command says.
    pub message: String,
    /// Its status.
    pub status: i32,
    /// It prints nothing more, not even what it holds.
    pub dies: bool,
}

/// What it says of an input (`None`: standard input) that cannot be read to its end.
pub fn reading(caller: &Caller, input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    let Caller { called } = caller;
    let reason = reason(error);
    let file = |stdin: &str| input.map_or(stdin.to_owned(), |name| name.escape_ascii().to_string());
    let quoted = || format!("'{}'", file("standard input"));
    let dies = matches!(caller.name(), "sort" | "uniq" | "tail" | "tac" | "comm" | "join" | "awk" | "mawk");
    let (message, status) = match caller.name() {
        "tr" | "tee" | "join" => (format!("{called}: read error: {reason}\n"), 1),
        "sort" => (format!("{called}: read failed: {}: {reason}\n", file("-")), 2),
        "head" | "tail" => (format!("{called}: error reading {}: {reason}\n", quoted()), 1),
        "uniq" => (format!("{called}: error reading '{}'\n", file("-")), 1),
        "tac" => (format!("{called}: {}: read error: {reason}\n", file("'standard input'")), 1),
        "wc" => (format!("{called}: {}: {reason}\n", file("'standard input'")), 1),
        "grep" => (format!("{called}: {}: {reason}\n", file("(standard input)")), 2),
        "awk" | "mawk" => (format!("{called}: read error ({reason})\n"), 2),
        "pelton" => (format!("{called}: cannot read {}: {reason}\n", file("standard input")), 2),
        "sed" => (format!("{called}: read error on {}: {reason}\n", file("stdin")), 4),
        _ => (format!("{called}: {}: {reason}\n", file("-")), 1),
    };
    Unreadable { message, status, dies }
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
