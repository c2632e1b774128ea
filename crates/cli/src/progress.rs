//! `pelton run --progress`: the progress line.

use crate::terminal::{self, Look};
use pelton_report::units;
use pelton_run::Progress;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// The interval of lines that are not redrawn, in nanoseconds.
const EVERY_NS: u64 = 3_000_000_000;
/// When a redrawn line first appears: a shorter run shows none.
const FIRST_NS: u64 = 500_000_000;
/// The window of the rate.
const RATE_NS: u64 = 5_000_000_000;

static METER: Mutex<PipelineProgress> = Mutex::new(PipelineProgress::new());

/// Shows the progress, if a line is due.
pub fn show(progress: &Progress) {
    let mut meter = METER.lock().unwrap_or_else(PoisonError::into_inner);
    let redrawn = terminal::stderr_is_terminal();
    let text = meter.line(progress, redrawn);
    match text {
        Some(text) if redrawn => {
            let width = Look::of_stderr(crate::terminal::When::Never).width.unwrap_or(80).max(10);
            let text: String = text.chars().take(width - 1).collect();
            terminal::redraw(&text);
            meter.drawn = true;
        }
        Some(text) => terminal::say(&format!("{text}\n")),
        None => {}
    }
    if progress.ended && std::mem::take(&mut meter.drawn) {
        terminal::clear_line();
    }
}

/// Progress of the current pipeline.
struct PipelineProgress {
    pipeline: usize,
    /// Times and bytes, the oldest first.
    seen: VecDeque<(u64, u64)>,
    said_ns: u64,
    drawn: bool,
}

impl PipelineProgress {
    const fn new() -> Self {
        PipelineProgress { pipeline: 0, seen: VecDeque::new(), said_ns: 0, drawn: false }
    }

    /// Returns the line, if it is due.
    fn line(&mut self, now: &Progress, redrawn: bool) -> Option<String> {
        if now.pipeline != self.pipeline {
            *self = PipelineProgress { pipeline: now.pipeline, drawn: self.drawn, ..PipelineProgress::new() };
        }
        self.seen.push_back((now.elapsed_ns, now.done_bytes));
        while self.seen.len() > 2 && self.seen[1].0 + RATE_NS < now.elapsed_ns {
            self.seen.pop_front();
        }
        let due_ns = if redrawn { FIRST_NS } else { self.said_ns + EVERY_NS };
        if now.ended || now.elapsed_ns < due_ns {
            return None;
        }
        self.said_ns = now.elapsed_ns;
        Some(describe(now, self.rate()))
    }

    /// Bytes per second.
    fn rate(&self) -> u64 {
        let (Some((from_ns, from)), Some((to_ns, to))) = (self.seen.front(), self.seen.back()) else {
            return 0;
        };
        // A single sample is measured from the start.
        let (from_ns, from) = if from_ns == to_ns { (0, 0) } else { (*from_ns, *from) };
        let bytes = u128::from(to.saturating_sub(from)) * 1_000_000_000;
        (bytes / u128::from(to_ns.saturating_sub(from_ns).max(1))) as u64
    }
}

fn describe(now: &Progress, rate: u64) -> String {
    let done = units::bytes(now.done_bytes);
    let mut parts = match now.total_bytes {
        Some(total) => {
            let share = now.done_bytes as f64 / total.max(1) as f64;
            vec![format!("{done} of {} ({})", units::bytes(total), units::percent(share))]
        }
        None => vec![done],
    };
    parts.push(format!("{}/s", units::bytes(rate)));
    match now.total_bytes.map(|total| total - now.done_bytes) {
        Some(0) => parts.push("all is read".to_owned()),
        Some(left) if rate > 0 => parts.push(format!("{} left", short(left / rate))),
        _ => {}
    }
    parts.push(match now.workers {
        1 => "1 worker".to_owned(),
        workers => format!("{workers} workers"),
    });
    format!("pelton: {}", parts.join(", "))
}

/// Seconds for people: `7 s`, `3:05`, `1:02:05`.
fn short(seconds: u64) -> String {
    let (minutes, rest) = (seconds / 60, seconds % 60);
    match minutes {
        0 => format!("{rest} s"),
        1..60 => format!("{minutes}:{rest:02}"),
        _ => format!("{}:{:02}:{rest:02}", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, done_bytes: u64, total_bytes: Option<u64>) -> Progress {
        let elapsed_ns = seconds * 1_000_000_000;
        Progress { pipeline: 0, done_bytes, total_bytes, workers: 2, elapsed_ns, ended: false }
    }

    #[test]
    fn a_line_says_how_far_it_is() {
        let mut meter = PipelineProgress::new();
        assert_eq!(meter.line(&at(1, 10_000_000, Some(100_000_000)), false), None);
        assert_eq!(
            meter.line(&at(3, 30_000_000, Some(100_000_000)), false).as_deref(),
            Some("pelton: 30.0 MB of 100 MB (30%), 10.0 MB/s, 7 s left, 2 workers")
        );
        assert_eq!(
            meter.line(&at(12, 100_000_000, Some(100_000_000)), true).as_deref(),
            Some("pelton: 100 MB of 100 MB (100%), 7.78 MB/s, all is read, 2 workers")
        );
        let next = Progress { pipeline: 1, ..at(4, 8_000, None) };
        assert_eq!(meter.line(&next, true).as_deref(), Some("pelton: 8.00 kB, 2.00 kB/s, 2 workers"));
        assert_eq!(meter.line(&Progress { ended: true, ..next }, true), None);
    }

    #[test]
    fn times_for_people() {
        assert_eq!([7, 185, 3725].map(short), ["7 s", "3:05", "1:02:05"]);
    }
}
