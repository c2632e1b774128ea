//! The progress bar of `pelton verify`.

use crate::terminal;
use indicatif::ProgressBar;
use pelton_parallel::lock;
use pelton_report::units;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The bar runs by time; its message counts what all workers have compared.
pub(super) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    /// Comparisons and kinds of differing calls, by tool.
    tools: Mutex<BTreeMap<&'static str, (u64, usize)>>,
}

impl Progress {
    /// Shows a bar, if standard error is a terminal.
    pub(super) fn new(expected: Duration) -> Self {
        let bar = terminal::bar(expected.as_millis() as u64, "{bar:24} {elapsed} {wide_msg}");
        Progress { bar, begun: Instant::now(), tools: Mutex::default() }
    }

    /// Notes how far the comparison of a tool is.
    pub(super) fn tell(&self, tool: &'static str, comparisons: u64, exclusions: usize) {
        let mut tools = lock(&self.tools);
        tools.insert(tool, (comparisons, exclusions));
        let total: u64 = tools.values().map(|(comparisons, _)| comparisons).sum();
        let differ: Vec<&str> = tools.iter().filter(|(_, told)| told.1 > 0).map(|(name, _)| *name).collect();
        let differ =
            if differ.is_empty() { String::new() } else { format!("differ: {} · ", differ.join(", ")) };
        self.bar.set_message(format!("{differ}{} comparisons · {tool}", units::count(total)));
        self.bar.set_position((self.begun.elapsed().as_millis() as u64).min(self.bar.length().unwrap_or(0)));
    }

    /// Removes the bar.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
