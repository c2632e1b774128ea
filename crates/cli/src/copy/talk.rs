//! The messages and questions of a copy.

use crate::failure::plain;
use crate::terminal;
use pelton_copy::Talk;
use pelton_report::units;
use pelton_sys::clock;
use std::io::{self, BufRead, Write};
use std::path::Path;

/// How often progress is shown, in nanoseconds.
const EVERY_NS: u64 = 500_000_000;

/// Prints messages and questions.
pub struct Teller {
    verbose: bool,
    progress: bool,
    redrawn: bool,
    drawn: bool,
    started_ns: u64,
    shown_ns: u64,
    files: u64,
    bytes: u64,
}

impl Teller {
    /// Prints errors, and more if asked.
    pub fn new(verbose: bool, progress: bool) -> Self {
        let now = clock::now_ns();
        let redrawn = terminal::stderr_is_terminal();
        Teller {
            verbose,
            progress,
            redrawn,
            drawn: false,
            started_ns: now,
            shown_ns: now,
            files: 0,
            bytes: 0,
        }
    }

    /// Prints the final progress.
    pub fn end(&mut self) {
        if self.progress {
            self.show(clock::now_ns());
            self.leave_line();
        }
    }

    fn leave_line(&mut self) {
        if self.drawn {
            terminal::say("\n");
            self.drawn = false;
        }
    }

    fn show(&mut self, now: u64) {
        self.shown_ns = now;
        let elapsed = now - self.started_ns;
        let rate = u128::from(self.bytes) * 1_000_000_000 / u128::from(elapsed.max(1));
        let text = format!(
            "{}; {} files, {} at {}/s",
            units::seconds(elapsed),
            units::count(self.files),
            units::bytes(self.bytes),
            units::bytes(rate as u64)
        );
        if self.redrawn {
            terminal::redraw(&text);
            self.drawn = true;
        } else {
            terminal::say(&format!("{text}\n"));
        }
    }
}

impl Talk for Teller {
    fn may_overwrite(&mut self, path: &Path) -> bool {
        self.leave_line();
        terminal::say(&format!("pelton: overwrite `{}`? ", path.display()));
        let mut answer = String::new();
        let _ = io::stdin().lock().read_line(&mut answer);
        answer.trim_start().starts_with(['y', 'Y'])
    }

    fn made(&mut self, from: &Path, to: &Path, how: Option<&str>) {
        if self.verbose {
            let how = how.map(|how| format!("  ({how})")).unwrap_or_default();
            let line = format!("`{}` -> `{}`{how}\n", from.display(), to.display());
            let _ = io::stdout().write_all(line.as_bytes());
        }
    }

    fn kept(&mut self, path: &Path, aside: &Path) {
        if self.verbose {
            let line = format!("`{}` is kept as `{}`\n", path.display(), aside.display());
            let _ = io::stdout().write_all(line.as_bytes());
        }
    }

    fn copied(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
        let now = clock::now_ns();
        if self.progress && now >= self.shown_ns + EVERY_NS {
            self.show(now);
        }
    }

    fn failed(&mut self, doing: &str, path: &Path, reason: Option<&io::Error>) {
        self.leave_line();
        let reason = reason.map(|reason| format!(": {}", plain(reason))).unwrap_or_default();
        terminal::say(&format!("pelton: {doing} `{}`{reason}\n", path.display()));
    }
}
