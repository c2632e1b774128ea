//! What standard error is, and writing to it.

use crate::args::When;
use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use pelton_report::Style;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;

/// What the reader's screen can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Colours.
    pub color: bool,
    /// Characters outside ASCII.
    pub unicode: bool,
    /// Columns, if it is a terminal.
    pub width: Option<usize>,
}

/// Columns of a report that goes to no terminal.
const DEFAULT_WIDTH: usize = 120;

impl Look {
    /// What standard error can show.
    pub fn of_stderr(color: When) -> Self {
        Look::of(std::io::stderr(), color)
    }

    /// What standard output can show.
    pub fn of_stdout(color: When) -> Self {
        Look::of(std::io::stdout(), color)
    }

    fn of(stream: impl IsTerminal + AsFd, color: When) -> Self {
        let terminal = stream.is_terminal();
        let width = terminal.then(|| rustix::termios::tcgetwinsize(&stream).ok()).flatten();
        let width = width.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
        Look { color: colors(color, terminal), unicode: unicode(), width: width.or(Some(DEFAULT_WIDTH)) }
    }

    /// The same for a report, with `all` of its columns or those that matter.
    pub fn style(self, all: bool) -> Style {
        Style { width: self.width, color: self.color, unicode: self.unicode, all }
    }

    /// What a file can hold.
    pub fn of_file(color: When) -> Self {
        Look { color: color == When::Always, unicode: unicode(), width: Some(DEFAULT_WIDTH) }
    }
}

/// Whether standard error is a terminal.
pub fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

fn colors(color: When, terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match color {
        When::Always => true,
        When::Never => false,
        When::Auto if set("NO_COLOR") => false,
        When::Auto if set("CLICOLOR_FORCE") => true,
        When::Auto => terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
    }
}

/// Whether the locale's character set has more than ASCII.
fn unicode() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Prints a text on standard output, whole: it is all that this process has to say there. `what` it is, for the message.
pub fn print(text: &str, what: &str) -> Result<(), Failure> {
    pelton_sys::signals::default_sigpipe();
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::io(format!("cannot print {what}"), &error))
}

/// A bar on standard error for so many runs. It is drawn between runs only, and on a terminal.
pub fn progress(total: u64, message: &'static str) -> ProgressBar {
    if !stderr_is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total).with_message(message);
    match ProgressStyle::with_template("{msg} {pos} of {len} {bar:30} {elapsed} elapsed, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Writes to standard error, in one go. A standard error that is closed loses what is said, as with any program.
pub fn say(text: &str) {
    say_bytes(text.as_bytes());
}

/// The same for what somebody else said.
pub fn say_bytes(bytes: &[u8]) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(bytes);
    let _ = stderr.flush();
}
