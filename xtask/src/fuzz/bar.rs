//! A campaign's progress bar: redrawn on a terminal, printed now and then elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Time between two lines where a line cannot be redrawn.
const PAUSE: Duration = Duration::from_secs(60);
const WIDTH: usize = 24;

/// A progress bar for elapsed time.
pub struct Bar {
    begun: Instant,
    whole: Duration,
    is_terminal: bool,
    said: Option<Instant>,
}

impl Bar {
    /// Creates a bar that is full after this time.
    pub fn new(whole: Duration) -> Self {
        Bar { begun: Instant::now(), whole, is_terminal: std::io::stderr().is_terminal(), said: None }
    }

    /// Draws the bar, followed by this text.
    pub fn show(&mut self, text: &str) {
        if !self.is_terminal && self.said.is_some_and(|said| said.elapsed() < PAUSE) {
            return;
        }
        self.said = Some(Instant::now());
        let line = line(self.begun.elapsed(), self.whole, text);
        let mut stderr = std::io::stderr().lock();
        // If the terminal is gone, no bar is needed.
        let _ = if self.is_terminal { write!(stderr, "\r\x1b[K{line}") } else { writeln!(stderr, "{line}") };
    }

    /// Ends the bar's line, so that later output is not drawn over.
    pub fn end(&mut self) {
        if self.is_terminal {
            eprintln!();
        }
    }
}

fn line(gone: Duration, whole: Duration, text: &str) -> String {
    let share = if whole.is_zero() { 1.0 } else { gone.as_secs_f64() / whole.as_secs_f64() };
    let full = ((share * WIDTH as f64) as usize).min(WIDTH);
    let clock = |time: Duration| format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60);
    let bar = "#".repeat(full) + &"-".repeat(WIDTH - full);
    format!("[{bar}] {} of {} · {text}", clock(gone), clock(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fills_and_does_not_overflow() {
        let minutes = |n: u64| Duration::from_secs(60 * n);
        assert_eq!(line(minutes(1), minutes(2), "x"), "[############------------] 1:00 of 2:00 · x");
        assert!(line(minutes(9), minutes(2), "x").starts_with("[########################] 9:00"));
        assert!(line(minutes(0), minutes(0), "").contains("####"));
    }
}
