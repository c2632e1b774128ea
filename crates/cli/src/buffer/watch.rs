//! The progress line, and warnings.

use crate::failure::plain;
use crate::terminal;
use pelton_buffer::{Limits, Progress, StreamProgress, Watch};
use pelton_report::units;
use pelton_sys::flow::{self, For};
use std::io;
use std::os::fd::AsFd;

/// The default interval, in nanoseconds.
const EVERY_NS: u64 = 1_000_000_000;
/// The default on a terminal.
const EVERY_NS_ON_TERMINAL: u64 = 500_000_000;
/// A wait is named if it took more than 1/N of the time since the last line.
const MOSTLY: u64 = 2;
const SOMETIMES: u64 = 20;

/// Prints the progress line.
pub struct Line {
    every_ns: Option<u64>,
    redrawn: bool,
    drawn: bool,
    warned: bool,
    limits: Limits,
    last: Option<Progress>,
}

impl Line {
    /// Prints nothing unless `shown`.
    pub fn new(shown: bool, every_ns: Option<u64>, limits: &Limits) -> Self {
        let redrawn = terminal::stderr_is_terminal();
        let default = if redrawn { EVERY_NS_ON_TERMINAL } else { EVERY_NS };
        Line {
            every_ns: shown.then(|| every_ns.unwrap_or(default)),
            redrawn,
            drawn: false,
            warned: false,
            limits: limits.clone(),
            last: None,
        }
    }

    /// Ends the line, which stays visible.
    pub fn end(&mut self) {
        if self.drawn {
            terminal::say("\n");
            self.drawn = false;
        }
    }

    /// On a terminal, overwrites the last line. Skips the line if writing to standard error would block.
    fn show(&mut self, text: &str) {
        let stderr = io::stderr();
        let room = flow::wait(&[(stderr.as_fd(), For::Room)], Some(0));
        if !room.is_ok_and(|room| room[0].ready) {
            return;
        }
        if self.redrawn {
            terminal::redraw(text);
            self.drawn = true;
        } else {
            terminal::say(&format!("{text}\n"));
        }
    }
}

impl Watch for Line {
    fn every_ns(&self) -> Option<u64> {
        self.every_ns
    }

    fn progress(&mut self, progress: &Progress) {
        let text = describe(progress, self.last.as_ref(), &self.limits);
        self.show(&text);
        self.last = Some(progress.clone());
    }

    fn disk_is_full(&mut self, reason: &io::Error) {
        if self.warned {
            return;
        }
        self.warned = true;
        self.end();
        let directory = self.limits.directory.display();
        let reason = plain(reason);
        terminal::say(&format!(
            "pelton: cannot hold more in `{directory}`: {reason}; the writer waits for the reader now\n"
        ));
    }
}

/// Returns one line: the bytes moved since the previous line, the bytes held, and the side that waits.
fn describe(now: &Progress, last: Option<&Progress>, limits: &Limits) -> String {
    let since = now.elapsed_ns - last.map_or(0, |last| last.elapsed_ns);
    let mut parts = vec![units::seconds(now.elapsed_ns)];
    for (at, stream) in now.streams.iter().enumerate() {
        let before = last.and_then(|last| last.streams.get(at));
        let name = if now.streams.len() > 1 { format!("{} ", stream.counts.name) } else { String::new() };
        parts.push(format!("{name}{}", flows(stream, before, since)));
    }
    parts.push(format!(
        "memory {} of {}, disk {} of {}",
        units::bytes(now.memory_bytes),
        units::bytes(limits.memory_bytes),
        units::bytes(now.disk_bytes),
        units::bytes(limits.disk_bytes)
    ));
    parts.join("; ")
}

fn flows(stream: &StreamProgress, before: Option<&StreamProgress>, since_ns: u64) -> String {
    let counts = &stream.counts;
    let rate = |now: u64, before: Option<u64>| {
        let bytes = u128::from(now - before.unwrap_or(0));
        units::bytes((bytes * 1_000_000_000 / u128::from(since_ns.max(1))) as u64)
    };
    let came = rate(counts.in_bytes, before.map(|before| before.counts.in_bytes));
    let went = rate(counts.out_bytes, before.map(|before| before.counts.out_bytes));
    format!(
        "in {} at {came}/s, out {} at {went}/s, holds {}, {}",
        units::bytes(counts.in_bytes),
        units::bytes(counts.out_bytes),
        units::bytes(stream.held_bytes),
        who_waits(stream, before, since_ns)
    )
}

/// Who waited for whom since the last line.
fn who_waits(stream: &StreamProgress, before: Option<&StreamProgress>, since_ns: u64) -> &'static str {
    let counts = &stream.counts;
    let before = before.map(|before| &before.counts);
    let full = counts.full_ns - before.map_or(0, |before| before.full_ns);
    let reader = counts.reader_wait_ns - before.map_or(0, |before| before.reader_wait_ns);
    let input = counts.input_wait_ns - before.map_or(0, |before| before.input_wait_ns);
    match () {
        () if full * SOMETIMES > since_ns => "full: the writer waits for the reader",
        () if reader * MOSTLY > since_ns => "the reader is slower",
        () if input * MOSTLY > since_ns => "waiting for input",
        () => "flowing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_record::BufferedStream;

    fn progress(elapsed_ns: u64, in_bytes: u64, reader_wait_ns: u64, full_ns: u64) -> Progress {
        let counts = BufferedStream {
            name: "stdin".into(),
            in_bytes,
            out_bytes: in_bytes / 2,
            reader_wait_ns,
            full_ns,
            ..BufferedStream::default()
        };
        let streams = vec![StreamProgress { held_bytes: in_bytes / 2, counts }];
        Progress { elapsed_ns, memory_bytes: 0, disk_bytes: 0, disk_is_full: false, streams }
    }

    #[test]
    fn a_line_tells_rates_since_the_last_one() {
        let limits = Limits { memory_bytes: 1000, disk_bytes: 2_000_000, directory: "/tmp".into() };
        let first = progress(1_000_000_000, 10_000, 0, 0);
        let line = describe(&progress(3_000_000_000, 30_000, 1_500_000_000, 0), Some(&first), &limits);
        assert_eq!(
            line,
            "3.000s; in 30.0 kB at 10.0 kB/s, out 15.0 kB at 5.00 kB/s, holds 15.0 kB, the reader is slower; \
             memory 0 B of 1.00 kB, disk 0 B of 2.00 MB"
        );
        let full = describe(&progress(3_000_000_000, 30_000, 0, 500_000_000), Some(&first), &limits);
        assert!(full.contains("full: the writer waits for the reader"), "{full}");
        assert!(describe(&first, None, &limits).contains("flowing"));
    }
}
