//! Counts equal stacks, and finds the lines of the program that cost most.

use super::process::Process;
use crate::stack::file_name;
use pelton_record::diagnosis::Frame;
use pelton_record::profile::{CallCount, LineCost, Profile, StackCount};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The most lines kept.
const MOST_LINES: usize = 50;
/// The most functions kept of those that a line calls.
const MOST_CALLS: usize = 5;
/// Fewer samples give no verdict.
const ENOUGH: u32 = 20;
/// A line with this share of the samples stands out.
const STANDS_OUT: f64 = 0.10;
/// More CPU time that was not seen makes shares meaningless, if so many samples should have been taken in it.
const MUCH_UNSEEN: f64 = 0.4;
const SURELY_UNSEEN: u64 = 10;
/// Larger source files are not read.
const MOST_SOURCE_BYTES: u64 = 16 << 20;

/// A process, and a frame of it.
type Line<'f> = (&'f str, u32);

/// What is known of a profile beside its stacks.
pub struct Around {
    /// The CPU time of the stage.
    pub cpu_ns: u64,
    /// The part of it that samples stand for.
    pub seen_cpu_ns: u64,
    /// The time from sample to sample.
    pub interval_ns: u64,
    /// For how long threads were stopped.
    pub stopped_ns: u64,
    /// Threads that ran and could not be stopped.
    pub refused: u32,
}

impl Around {
    /// Returns the share of the CPU time that no sample stands for, if that is much and not by chance.
    fn unseen(&self) -> Option<f64> {
        let unseen_ns = self.cpu_ns.saturating_sub(self.seen_cpu_ns);
        let share = unseen_ns as f64 / self.cpu_ns.max(1) as f64;
        (share > MUCH_UNSEEN && unseen_ns > SURELY_UNSEEN * self.interval_ns).then_some(share)
    }
}

/// Stacks, counted.
#[derive(Default)]
pub struct Folded {
    frames: Vec<Frame>,
    numbers: HashMap<Frame, u32>,
    stacks: HashMap<(String, Vec<u32>), u32>,
    unread: u32,
    /// Names of processes, and where they found their source files.
    directories: BTreeMap<String, PathBuf>,
    unknown_interpreters: BTreeMap<String, u32>,
}

impl Folded {
    /// Counts a stack whose innermost frame is the first.
    pub fn add(&mut self, process: &Process, frames: Vec<Frame>) {
        self.unread += u32::from(frames.is_empty());
        let mut stack: Vec<u32> = frames.into_iter().map(|frame| self.number(frame)).collect();
        stack.reverse();
        let name = process.name().to_owned();
        if process.is_unknown_interpreter() {
            *self.unknown_interpreters.entry(name.clone()).or_default() += 1;
        }
        self.directories.entry(name.clone()).or_insert_with(|| process.directory().clone());
        *self.stacks.entry((name, stack)).or_default() += 1;
    }

    /// Returns the number of samples.
    pub fn samples(&self) -> u32 {
        self.stacks.values().sum()
    }

    /// Adds the samples of another.
    pub fn with(mut self, other: Folded) -> Self {
        let numbers: Vec<u32> = other.frames.into_iter().map(|frame| self.number(frame)).collect();
        for ((process, stack), samples) in other.stacks {
            let stack = stack.into_iter().map(|frame| numbers[frame as usize]).collect();
            *self.stacks.entry((process, stack)).or_default() += samples;
        }
        self.unread += other.unread;
        self.directories.extend(other.directories);
        for (name, count) in other.unknown_interpreters {
            *self.unknown_interpreters.entry(name).or_default() += count;
        }
        self
    }

    fn number(&mut self, frame: Frame) -> u32 {
        let next = self.frames.len() as u32;
        let number = *self.numbers.entry(frame.clone()).or_insert(next);
        if number == next {
            self.frames.push(frame);
        }
        number
    }

    /// Returns the profile.
    pub fn profile(self, around: &Around) -> Profile {
        let samples = self.samples();
        let lines = self.lines();
        let verdict = verdict(&lines, samples, self.unread, around);
        let notes = self.notes(&lines, samples, around);
        let Around { cpu_ns, seen_cpu_ns, interval_ns, .. } = *around;
        // Unless much was not seen, the samples stand for all of it.
        let seen_cpu_ns = if around.unseen().is_some() { seen_cpu_ns } else { cpu_ns };
        let mut stacks: Vec<StackCount> = self
            .stacks
            .into_iter()
            .map(|((process, frames), samples)| StackCount { process, frames, samples })
            .collect();
        stacks.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.frames.cmp(&b.frames)));
        Profile {
            samples,
            unread: self.unread,
            interval_ns,
            cpu_ns,
            seen_cpu_ns,
            frames: self.frames,
            stacks,
            lines,
            verdict,
            notes,
        }
    }

    /// Returns the most expensive lines.
    fn lines(&self) -> Vec<LineCost> {
        let mut own: HashMap<Line<'_>, (u32, BTreeMap<&str, u32>)> = HashMap::new();
        let mut total: HashMap<Line<'_>, u32> = HashMap::new();
        for ((process, stack), samples) in &self.stacks {
            let Some(at) = self.own_frame(stack) else { continue };
            let (count, calls) = own.entry((process, stack[at])).or_default();
            *count += samples;
            if let Some(callee) = stack.get(at + 1) {
                *calls.entry(&self.frames[*callee as usize].function).or_default() += samples;
            }
            for frame in stack.iter().collect::<HashSet<_>>() {
                *total.entry((process, *frame)).or_default() += samples;
            }
        }
        let mut rows: Vec<_> = own.into_iter().collect();
        rows.sort_by_key(|((process, frame), (samples, _))| (std::cmp::Reverse(*samples), *process, *frame));
        rows.truncate(MOST_LINES);
        let mut sources = Sources::default();
        rows.into_iter()
            .map(|(key, (samples, calls))| {
                let frame = self.frames[key.1 as usize].clone();
                let directory = self.directories.get(key.0).map_or(Path::new("/"), PathBuf::as_path);
                let text = frame.file.as_ref().zip(frame.line);
                let text = text.and_then(|(file, line)| sources.line(&directory.join(file), line));
                let total_samples = total.get(&key).copied().unwrap_or(samples);
                LineCost {
                    process: key.0.to_owned(),
                    frame,
                    text,
                    samples,
                    total_samples,
                    calls: most(calls),
                }
            })
            .collect()
    }

    /// Returns which frame of a stack a sample belongs to.
    fn own_frame(&self, stack: &[u32]) -> Option<usize> {
        let is_own = |number: &u32| !self.frames[*number as usize].is_library;
        stack.iter().rposition(is_own).or(stack.len().checked_sub(1))
    }

    fn notes(&self, lines: &[LineCost], samples: u32, around: &Around) -> Vec<String> {
        let mut notes: Vec<String> = self
            .unknown_interpreters
            .iter()
            .filter(|(_, count)| **count * 2 > samples)
            .map(|(name, _)| {
                format!("{name} is of a version whose lines pelton cannot read: its own functions are shown instead")
            })
            .collect();
        notes.extend(lines.first().and_then(advice));
        if self.unread * 10 > samples {
            notes.push(format!("the stacks of {} of {samples} samples could not be read", self.unread));
        }
        let Around { stopped_ns, cpu_ns, .. } = around;
        if stopped_ns * 100 > *cpu_ns && samples > 0 {
            let share = 100.0 * *stopped_ns as f64 / (*cpu_ns).max(1) as f64;
            notes.push(format!("the samples stopped it for {share:.0}% of its CPU time"));
        }
        notes
    }
}

/// Returns what to do about the most expensive line, if it is one of those for which that is known.
fn advice(line: &LineCost) -> Option<String> {
    let LineCost { process, frame, .. } = line;
    match frame.function.as_str() {
        "strcoll_l" | "strxfrm_l" | "__strcoll_l" | "__strxfrm_l" => Some(format!(
            "{process} compares by the rules of the locale: with LC_ALL=C it compares bytes, which is faster and another order"
        )),
        name if name.starts_with("0x") => Some(format!(
            "functions without a name are shown by their address: the debug symbols of {} would name them",
            frame.file.as_deref().unwrap_or(process)
        )),
        _ => None,
    }
}

fn most(calls: BTreeMap<&str, u32>) -> Vec<CallCount> {
    let mut calls: Vec<CallCount> = calls
        .into_iter()
        .map(|(function, samples)| CallCount { function: function.to_owned(), samples })
        .collect();
    calls.sort_by_key(|call| std::cmp::Reverse(call.samples));
    calls.truncate(MOST_CALLS);
    calls
}

fn verdict(lines: &[LineCost], samples: u32, unread: u32, around: &Around) -> String {
    if around.refused > samples {
        return "it cannot be looked into: it is traced by another program, or not permitted".to_owned();
    }
    if let Some(share) = around.unseen() {
        return format!(
            "{} of its CPU time was not seen: it was spent in processes that end within some 50 ms, or while pelton read symbols",
            percent(share)
        );
    }
    let [first, ..] = lines else {
        return match samples {
            0 => "no sample found it running: it waits, or is too short".to_owned(),
            _ => "no stack could be read".to_owned(),
        };
    };
    let share = f64::from(first.samples) / f64::from((samples - unread).max(1));
    match () {
        () if samples < ENOUGH => {
            let s = if samples == 1 { "" } else { "s" };
            format!("only {samples} sample{s}: too short to tell much")
        }
        () if share < STANDS_OUT => {
            format!("no line stands out: the most expensive one, {}, has {}", place(first), percent(share))
        }
        () => format!("{} of its CPU time is in {}", percent(share), place(first)),
    }
}

fn percent(share: f64) -> String {
    format!("{}%", (100.0 * share).round())
}

/// Returns where a line is, in words.
fn place(line: &LineCost) -> String {
    let Frame { function, file, line, .. } = &line.frame;
    match (file, line) {
        (Some(file), Some(line)) => format!("line {line} of {} ({function})", file_name(file)),
        (Some(file), None) => format!("{function} of {}", file_name(file)),
        (None, _) => function.clone(),
    }
}

/// Source files, by path.
#[derive(Default)]
struct Sources(HashMap<PathBuf, Vec<String>>);

impl Sources {
    /// Returns a line of a file.
    fn line(&mut self, path: &Path, line: u32) -> Option<String> {
        let lines = self.0.entry(path.to_owned()).or_insert_with(|| read(path).unwrap_or_default());
        let text = lines.get(line.checked_sub(1)? as usize)?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

fn read(path: &Path) -> Option<Vec<String>> {
    let status = std::fs::metadata(path).ok().filter(|status| status.is_file())?;
    if status.len() > MOST_SOURCE_BYTES {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}
