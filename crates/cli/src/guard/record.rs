//! `--record FILE`: the last minutes of a command, in a file that is complete at any time.
//!
//! A line is appended for each sample in which something moved, and all processes every few seconds. When the
//! file has twice the size of what is kept, it is replaced by that.

use crate::failure::Failure;
use crate::output::{self, OutputTarget};
use crate::terminal::{Look, When};
use pelton_observe::guard::{Sample, Tree};
use pelton_record::guard::{Entry, Guarded, RecordedProcess, Stall};
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What is kept: the last ten minutes, of at most so many bytes.
const KEPT_MS: u64 = 10 * 60 * 1000;
const KEPT_BYTES: usize = 2 << 20;
/// All processes are written so often.
const PROCESSES_EVERY_MS: u64 = 15_000;
/// The most processes and names in a line.
const MOST_PROCESSES: usize = 500;
const MOST_NAMES: usize = 20;

/// A record that is being written.
pub struct Record {
    path: PathBuf,
    file: File,
    start: String,
    /// The lines kept, each with its time.
    lines: VecDeque<(u64, String)>,
    kept_bytes: usize,
    written_bytes: usize,
    processes_ms: Option<u64>,
}

impl Record {
    /// Starts a record in `path`.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let cannot =
            |error| Failure::io(format!("guard: cannot write the record `{}`", path.display()), &error);
        let file = File::create(path).map_err(cannot)?;
        Ok(Record {
            path: path.to_owned(),
            file,
            start: String::new(),
            lines: VecDeque::new(),
            kept_bytes: 0,
            written_bytes: 0,
            processes_ms: None,
        })
    }

    /// Writes the first line.
    pub fn start(&mut self, guarded: &Guarded) {
        let start = Entry::Start {
            guard_version: guarded.guard_version,
            command: guarded.command.clone(),
            pid: guarded.pid,
            started_unix_ms: guarded.started_unix_ms,
        };
        self.start = pelton_report::compact(&start);
        self.append(&self.start.clone());
    }

    /// Adds a sample.
    pub fn sample(&mut self, at_ms: u64, sample: &Sample, tree: &Tree) {
        let interval = &sample.interval;
        if interval.cpu_ns > 0 || interval.ended > 0 {
            let started = interval.started.iter().take(MOST_NAMES).map(|(_, name)| name.clone()).collect();
            self.add(
                at_ms,
                &Entry::Moved {
                    at_ms,
                    for_ms: interval.ns / 1_000_000,
                    cpu_us: interval.cpu_ns / 1000,
                    bytes: interval.bytes,
                    started,
                    ended: interval.ended,
                },
            );
        }
        if self.processes_ms.is_none_or(|ms| at_ms >= ms + PROCESSES_EVERY_MS) {
            self.processes_ms = Some(at_ms);
            let processes = tree.members().take(MOST_PROCESSES).map(|member| RecordedProcess {
                pid: member.pid,
                parent: member.parent,
                name: member.name.clone(),
                cpu_ms: member.cpu_ns / 1_000_000,
                read_bytes: member.read_bytes,
                written_bytes: member.written_bytes,
            });
            self.add(at_ms, &Entry::Processes { at_ms, processes: processes.collect() });
            // A machine that goes down leaves it. If the disk refuses, the next line is refused as well.
            let _ = self.file.sync_data();
        }
    }

    /// Adds a report.
    pub fn stall(&mut self, stall: &Stall) {
        self.add(stall.at_ns / 1_000_000, &Entry::Stall(Box::new(stall.clone())));
    }

    /// Adds the end.
    pub fn end(&mut self, at_ms: u64, exit_status: i32) {
        self.add(at_ms, &Entry::End { at_ms, exit_status });
    }

    fn add(&mut self, at_ms: u64, entry: &Entry) {
        let line = pelton_report::compact(entry);
        self.append(&line);
        self.kept_bytes += line.len();
        self.lines.push_back((at_ms, line));
        while self.lines.len() > 1
            && (self.kept_bytes > KEPT_BYTES
                || self.lines.front().is_some_and(|(ms, _)| ms + KEPT_MS < at_ms))
        {
            self.kept_bytes -= self.lines.pop_front().map_or(0, |(_, line)| line.len());
        }
        if self.written_bytes > 2 * self.kept_bytes.max(KEPT_BYTES / 8) {
            self.replace();
        }
    }

    /// Appends a line. A full disk must not end the command: what cannot be written is missing.
    fn append(&mut self, line: &str) {
        self.written_bytes += line.len();
        let _ = self.file.write_all(line.as_bytes());
    }

    /// Replaces the file by what is kept.
    fn replace(&mut self) {
        let lines: String = self.lines.iter().map(|(_, line)| line.as_str()).collect();
        let written = OutputTarget::prepare(Some(&self.path))
            .and_then(|target| target.write(&format!("{}{lines}", self.start)));
        if written.is_ok()
            && let Ok(file) = OpenOptions::new().append(true).open(&self.path)
        {
            self.file = file;
            self.written_bytes = self.kept_bytes;
        }
    }
}

/// Prints a record for people.
pub fn show(path: &Path, color: When) -> Result<(), Failure> {
    let doing = format!("guard: cannot read the record `{}`", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| Failure::io(&doing, &error))?;
    // The last line may be cut short, if guard was killed.
    let entries: Vec<Entry> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if !matches!(entries.first(), Some(Entry::Start { .. })) {
        return Err(Failure::new(format!("{doing}: it is not a record of guard"))
            .with_help("a file that `pelton guard --record FILE` wrote"));
    }
    let style = Look::of_stdout(color).style(false);
    output::print(&pelton_report::guard::record(&entries, &style), "the record")
}
