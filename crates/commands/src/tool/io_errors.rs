//! The messages and statuses of tools for read and write errors.
//!
//! Each tool's row has its own two functions; the usual forms of coreutils are here.

use std::io;

use crate::Messages;

/// The C library's buffer for a file, in bytes: with this much output or less, a failure shows only at the
/// end.
pub const STDIO_BUFFER_BYTES: usize = 4096;

/// The two functions of a tool, and its message catalogue.
#[derive(Clone, Copy, Debug)]
pub struct IoErrors {
    /// The catalogue that translates its messages. `None` if it ignores LC_MESSAGES.
    pub catalogue: Option<&'static str>,
    /// Returns the message, with its newline, and the status where standard output cannot be written.
    pub write: fn(&Caller, &WriteFailure) -> (String, i32),
    /// Returns what happens where an input (`None`: standard input) cannot be read to its end.
    pub read: fn(&Caller, Option<&[u8]>, &io::Error) -> Unreadable,
}

impl IoErrors {
    /// The usual functions of coreutils.
    pub(crate) const COREUTILS: IoErrors =
        IoErrors { catalogue: Some("coreutils"), write: write_error_at_close, read: read_error };
}

/// When a tool writes its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardOutput {
    /// When a buffer is full ([`STDIO_BUFFER_BYTES`]) or at the end, as the C library does for a pipe.
    Buffered,
    /// At once.
    Unbuffered,
}

/// A command as it was called, for its messages.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The name by which it was called, perhaps a path.
    pub called: String,
    /// The language of its messages.
    pub messages: Messages,
    /// When it writes its output.
    pub standard_output: StandardOutput,
    /// The functions of its tool.
    pub(crate) io_errors: &'static IoErrors,
}

/// A failure to write standard output.
#[derive(Debug)]
pub struct WriteFailure {
    /// The error.
    pub error: io::Error,
    /// Bytes printed before it.
    pub printed: u64,
    /// Length of the line that did not fit into the first buffer.
    pub item: usize,
}

impl WriteFailure {
    /// Whether a buffer was full before the end, so that the tool notices while it still prints.
    pub(crate) fn is_beyond_first_buffer(&self) -> bool {
        self.printed > STDIO_BUFFER_BYTES as u64
    }
}

/// An input that cannot be read to its end.
#[derive(Debug)]
pub struct Unreadable {
    /// The message, with its newline.
    pub message: String,
    /// The status.
    pub status: i32,
    /// Whether it prints nothing more, not even buffered output.
    pub dies: bool,
}

impl Unreadable {
    /// Makes an error after which the tool continues with its next input.
    pub(crate) fn goes_on(message: String, status: i32) -> Self {
        Unreadable { message, status, dies: false }
    }

    /// Makes an error that ends the tool.
    pub(crate) fn dies(message: String, status: i32) -> Self {
        Unreadable { message, status, dies: true }
    }
}

impl Caller {
    /// Returns the message and the status where standard output cannot be written.
    pub fn write_error(&self, failure: &WriteFailure) -> (String, i32) {
        (self.io_errors.write)(self, failure)
    }

    /// Returns what happens where an input (`None`: standard input) cannot be read to its end.
    pub fn read_error(&self, input: Option<&[u8]>, error: &io::Error) -> Unreadable {
        (self.io_errors.read)(self, input, error)
    }

    /// Returns the reason of an error in the words of this tool.
    pub(crate) fn reason(&self, error: &io::Error) -> String {
        match self.io_errors.catalogue {
            Some(_) => reason(error, &self.messages),
            None => untranslated(error),
        }
    }

    /// Translates one of its texts.
    pub(crate) fn translated(&self, text: &str) -> String {
        let catalogue = self.io_errors.catalogue;
        catalogue.map_or_else(|| text.to_owned(), |name| translation(&self.messages, name, text))
    }
}

/// Returns `name: write error: reason`: the message of most tools when they close standard output.
pub(crate) fn write_error_at_close(caller: &Caller, failure: &WriteFailure) -> (String, i32) {
    let (error, reason) = (caller.translated("write error"), caller.reason(&failure.error));
    (format!("{}: {error}: {reason}\n", caller.called), 1)
}

/// Returns `name: write error`: the message at the end of a tool that has noticed the failure before.
pub(crate) fn write_error_without_reason(caller: &Caller, _failure: &WriteFailure) -> (String, i32) {
    (format!("{}: {}\n", caller.called, caller.translated("write error")), 1)
}

/// Returns the reason, followed by a second message: for tools that check each write, and again at the end.
pub(crate) fn write_error_twice_if_early(caller: &Caller, failure: &WriteFailure) -> (String, i32) {
    let (at_close, status) = write_error_at_close(caller, failure);
    if !failure.is_beyond_first_buffer() {
        return (at_close, status);
    }
    (at_close + &write_error_without_reason(caller, failure).0, status)
}

/// Returns `name: error writing 'standard output': reason` of head and tail.
pub(crate) fn error_writing_standard_output(caller: &Caller, failure: &WriteFailure) -> (String, i32) {
    if !failure.is_beyond_first_buffer() {
        return write_error_at_close(caller, failure);
    }
    let what = caller.translated("error writing %s").replace("%s", "'standard output'");
    (format!("{}: {what}: {}\n", caller.called, caller.reason(&failure.error)), 1)
}

/// Returns `name: file: reason`: the message of most tools, which then continue.
pub(crate) fn read_error(caller: &Caller, input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    Unreadable::goes_on(file_and_reason(caller, input, error), 1)
}

/// Returns `name: file: reason` of a tool that then ends.
pub(crate) fn fatal_read_error(caller: &Caller, input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    Unreadable::dies(file_and_reason(caller, input, error), 1)
}

fn file_and_reason(caller: &Caller, input: Option<&[u8]>, error: &io::Error) -> String {
    format!("{}: {}: {}\n", caller.called, file_name(input, "-"), caller.reason(error))
}

/// Returns `name: read error: reason`.
pub(crate) fn read_error_message(caller: &Caller, error: &io::Error) -> String {
    format!("{}: {}: {}\n", caller.called, caller.translated("read error"), caller.reason(error))
}

/// Returns `name: error reading 'file': reason` of head and tail.
pub(crate) fn error_reading(caller: &Caller, input: Option<&[u8]>, error: &io::Error) -> String {
    let quoted = format!("'{}'", file_name(input, &caller.translated("standard input")));
    let what = caller.translated("error reading %s").replace("%s", &quoted);
    format!("{}: {what}: {}\n", caller.called, caller.reason(error))
}

/// Returns the name of an input as messages show it.
pub(crate) fn file_name(input: Option<&[u8]>, stdin: &str) -> String {
    input.map_or(stdin.to_owned(), |name| name.escape_ascii().to_string())
}

/// Returns the name of a stream as gnulib's quotef shows it.
pub(crate) fn quoted_if_needed(name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    if plain { name.to_owned() } else { format!("'{name}'") }
}

fn translation(messages: &Messages, catalogue: &str, text: &str) -> String {
    String::from_utf8(messages.text_or_english(catalogue, text)).unwrap_or_else(|_| text.to_owned())
}

/// Returns the text of strerror(3) in the user's language.
pub fn reason(error: &io::Error, messages: &Messages) -> String {
    translation(messages, "libc", &untranslated(error))
}

fn untranslated(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Returns the length of the line that holds the last byte of the first buffer, without its terminator.
pub fn item(bytes: &[u8]) -> usize {
    let end = STDIO_BUFFER_BYTES.min(bytes.len());
    let start = bytes[..end].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    bytes[start..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - start)
}
