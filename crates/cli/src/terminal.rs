//! Terminal capabilities and output.

use clap::ValueEnum;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use pelton_report::Style;
use rustix::termios::{self, LocalModes, OptionalActions, Termios};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::Duration;

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal that shows them
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

/// What an output can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Colours.
    pub color: bool,
    /// Characters outside ASCII.
    pub unicode: bool,
    /// Columns; `None` for no limit.
    pub width: Option<usize>,
}

/// The width of a report that goes to a file or a pipe, unless COLUMNS says another.
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
        let width = terminal.then(|| termios::tcgetwinsize(&stream).ok()).flatten();
        let width = width.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
        Look {
            color: colors(color, terminal),
            unicode: unicode(),
            width: Some(width.unwrap_or_else(width_of_file)),
        }
    }

    /// Converts to a report style, with `all` columns or the important ones.
    pub fn style(self, all: bool) -> Style {
        Style { width: self.width, color: self.color, unicode: self.unicode, all }
    }

    /// What a file can hold.
    pub fn of_file(color: When) -> Self {
        Look { color: color == When::Always, unicode: unicode(), width: Some(width_of_file()) }
    }
}

fn width_of_file() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    asked.filter(|columns| *columns > 0).unwrap_or(DEFAULT_WIDTH)
}

/// Delivers each key of the terminal behind standard input at once, without showing it, until dropped.
pub struct SingleKeys {
    before: Termios,
}

impl SingleKeys {
    /// Takes the keys. `None` if standard input is no terminal.
    pub fn take() -> Option<Self> {
        let stdin = std::io::stdin();
        let before = termios::tcgetattr(&stdin).ok()?;
        let mut raw = before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        // On failure, keys arrive with Enter.
        let _ = termios::tcsetattr(&stdin, OptionalActions::Now, &raw);
        Some(SingleKeys { before })
    }

    /// Reads the keys that are pressed within `patience`, if standard input is a terminal.
    pub fn pressed(patience: Duration) -> Option<Vec<u8>> {
        let stdin = std::io::stdin();
        if !stdin.is_terminal() || !pelton_sys::pipe::is_readable_within(stdin.as_fd(), patience) {
            return None;
        }
        let mut keys = vec![0; 64];
        let n = rustix::io::read(&stdin, &mut keys).ok()?;
        // The terminal is gone.
        if n == 0 {
            return Some(vec![b'q']);
        }
        keys.truncate(n);
        Some(keys)
    }
}

impl Drop for SingleKeys {
    fn drop(&mut self) {
        // A terminal that is gone has no modes.
        let _ = termios::tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
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

/// Whether the locale's character set is UTF-8.
fn unicode() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// A progress bar for `total` runs, if standard error is a terminal. Drawn only between runs.
pub fn progress(total: u64, message: &'static str) -> ProgressBar {
    bar(total, "{msg} {pos} of {len} {bar:30} {elapsed} elapsed{left}").with_message(message)
}

/// A bar of this length in the form of `template`, if standard error is a terminal.
pub fn bar(length: u64, template: &str) -> ProgressBar {
    if !stderr_is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length);
    match ProgressStyle::with_template(template) {
        Ok(style) if unicode() => bar.with_style(style.with_key("left", left)),
        Ok(style) => bar.with_style(style.with_key("left", left).progress_chars("#>-")),
        Err(_) => bar,
    }
}

/// Says how long it will take, once that can be told.
fn left(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    if state.pos() > 0 {
        // A bar that cannot be drawn is no error.
        let _ = write!(out, ", {:#} left", HumanDuration(state.eta()));
    }
}

/// Writes to standard error in one call. Errors are ignored, as in any program.
pub fn say(text: &str) {
    say_bytes(text.as_bytes());
}

/// Overwrites the last line of standard error, which is a terminal.
pub fn redraw(text: &str) {
    say(&format!("\r{text}\x1b[K"));
}

/// Clears the last line of standard error, which is a terminal.
pub fn clear_line() {
    redraw("");
}

/// Like [`say`], for raw bytes.
pub fn say_bytes(bytes: &[u8]) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(bytes);
    let _ = stderr.flush();
}
