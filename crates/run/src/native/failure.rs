//! What the real commands say if they cannot read or write, and the status they end with.

use pelton_commands::Messages;
use pelton_commands::detect::Family;
use std::io;

/// A command, for its messages.
#[derive(Clone, Debug)]
pub struct Caller {
    /// What it is called by: its path, perhaps.
    pub called: String,
    /// Which awk it is, if it is one.
    pub awk: Option<Family>,
    /// The language of its messages.
    pub messages: Messages,
}

impl Caller {
    /// Which command it is: of the awks, whatever it is called, the implementation's usual name.
    pub fn name(&self) -> &str {
        match self.awk {
            Some(Family::Gawk) => "gawk",
            Some(Family::Mawk) => "mawk",
            Some(Family::OriginalAwk) => "original-awk",
            _ => self.called.rsplit('/').next().unwrap_or_default(),
        }
    }

    /// Whether the C library holds what it prints into a pipe until a buffer is full ([`BUFFER`]), or until its end.
    pub fn is_buffered(&self) -> bool {
        !matches!(self.name(), "cat" | "tee" | "pelton")
    }

    /// As it says why something failed.
    fn reason(&self, error: &io::Error) -> String {
        match self.name() {
            // mawk leaves LC_MESSAGES alone.
            "mawk" => untranslated(error),
            _ => reason(error, &self.messages),
        }
    }

    /// The translation of one of its texts.
    fn said(&self, text: &str) -> String {
        translation(&self.messages, self.catalogue(), text)
    }

    /// Where the translations of its messages are.
    fn catalogue(&self) -> &'static str {
        match self.name() {
            "grep" => "grep",
            "sed" => "sed",
            "rev" => "util-linux",
            "find" | "xargs" => "findutils",
            _ => "coreutils",
        }
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
    let reason = caller.reason(&failure.error);
    let large = failure.printed > BUFFER as u64;
    let error = caller.said("write error");
    let at_end = format!("{called}: {error}: {reason}\n");
    let no_reason = format!("{called}: {error}\n");
    match caller.name() {
        "wc" => (no_reason, 1),
        "tac" if failure.printed > 4 * BUFFER as u64 => (no_reason, 1),
        "rev" if large => (no_reason, 1),
        "head" | "tail" if large => {
            let what = caller.said("error writing %s").replace("%s", "'standard output'");
            (format!("{called}: {what}: {reason}\n"), 1)
        }
        "expand" | "unexpand" | "paste" | "tr" if large => (at_end + &no_reason, 1),
        "sort" => {
            let what = caller.said(if large { "write failed" } else { "fflush failed" });
            let stdout = quoted_if_needed(&caller.said("standard output"));
            (format!("{called}: {what}: {stdout}: {reason}\n{no_reason}"), 2)
        }
        "sed" => {
            let what = if large { items(caller, failure.item) } else { caller.said("couldn't flush %s: %s") };
            let what = what.replacen("%s", "stdout", 1).replacen("%s", &reason, 1);
            (format!("{called}: {what}\n"), 4)
        }
        "mawk" => {
            let close = format!("{called}: close failed on file /dev/stdout ({reason})\n");
            let print = if large { format!("{called}: write failure ({reason})\n") } else { String::new() };
            (print + &close, 2)
        }
        // The real ones say how far they had read, too.
        "gawk" if large => (format!("{called}: fatal: print to \"standard output\" failed: {reason}\n"), 2),
        "gawk" => (format!("{called}: warning: error writing standard output: {reason}\n"), 1),
        "original-awk" => (format!("{called}: write error on /dev/stdout\n source line number 1\n"), 2),
        "grep" => (at_end, 2),
        "pelton" => (format!("{called}: cannot write to standard output: {reason}\n"), 2),
        "tee" => (format!("{called}: 'standard output': {reason}\n"), 1),
        _ => (at_end, 1),
    }
}

/// As gnulib's quotef shows the name of a stream.
fn quoted_if_needed(name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    if plain { name.to_owned() } else { format!("'{name}'") }
}

/// What sed says of a line of this length, `%s` for where to and why.
fn items(caller: &Caller, length: usize) -> String {
    let (one, many) = ("couldn't write %llu item to %s: %s", "couldn't write %llu items to %s: %s");
    let found = caller.said(&format!("{one}\0{many}"));
    // One form, or one for the singular and one for the plural; with more the language has rules of its own.
    let form = match *found.split('\0').collect::<Vec<_>>() {
        [form] => form,
        [singular, plural] => {
            if length == 1 {
                singular
            } else {
                plural
            }
        }
        _ => many,
    };
    form.replace("%llu", &length.to_string())
}

fn translation(messages: &Messages, catalogue: &str, text: &str) -> String {
    String::from_utf8(messages.text_or_english(catalogue, text)).unwrap_or_else(|_| text.to_owned())
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
    let Caller { called, .. } = caller;
    let reason = caller.reason(error);
    let file = |stdin: &str| input.map_or(stdin.to_owned(), |name| name.escape_ascii().to_string());
    let stdin = || caller.said("standard input");
    let quoted = || format!("'{}'", file(&stdin()));
    let dies = matches!(
        caller.name(),
        "sort" | "uniq" | "tail" | "tac" | "comm" | "join" | "mawk" | "gawk" | "original-awk"
    );
    let (message, status) = match caller.name() {
        "tr" | "tee" | "join" => (format!("{called}: {}: {reason}\n", caller.said("read error")), 1),
        "sort" => (format!("{called}: {}: {}: {reason}\n", caller.said("read failed"), file("-")), 2),
        "head" | "tail" => {
            (format!("{called}: {}: {reason}\n", caller.said("error reading %s").replace("%s", &quoted())), 1)
        }
        "uniq" => (
            format!(
                "{called}: {}\n",
                caller.said("error reading %s").replace("%s", &format!("'{}'", file("-")))
            ),
            1,
        ),
        "tac" => {
            let name = file(&quoted_if_needed(&stdin()));
            (format!("{called}: {}: {reason}\n", caller.said("%s: read error").replace("%s", &name)), 1)
        }
        "wc" => (format!("{called}: {}: {reason}\n", file(&quoted_if_needed(&stdin()))), 1),
        "grep" => (format!("{called}: {}: {reason}\n", file(&caller.said("(standard input)"))), 2),
        "mawk" => (format!("{called}: read error ({reason})\n"), 2),
        "pelton" => (format!("{called}: cannot read {}: {reason}\n", file("standard input")), 2),
        "sed" => {
            let what = caller.said("read error on %s: %s").replacen("%s", &file("stdin"), 1);
            (format!("{called}: {}\n", what.replacen("%s", &reason, 1)), 4)
        }
        _ => (format!("{called}: {}: {reason}\n", file("-")), 1),
    };
    Unreadable { message, status, dies }
}

/// As strerror(3) says it, in the user's language.
pub fn reason(error: &io::Error, messages: &Messages) -> String {
    translation(messages, "libc", &untranslated(error))
}

fn untranslated(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// How long the line is that holds the last byte of the first buffer, without its end.
pub fn item(bytes: &[u8]) -> usize {
    let end = BUFFER.min(bytes.len());
    let start = bytes[..end].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    bytes[start..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - start)
}
