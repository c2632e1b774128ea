//! One watched stage: its activity, throughput and waits.

use crate::probes::pipes::PipeProbe;
use crate::probes::waits::{Edges, WaitProbe};
use crate::tree::Sampler;
use pelton_record::Waits;
use pelton_record::live::{LivePipe, LiveStage};
use pelton_record::typed_command_line;
use pelton_sys::procfs::{self, Io, ProcFile};
use pelton_sys::{clock, pidfd, processes};
use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};

/// How long observations count as recent.
const LATELY_NS: u64 = 5_000_000_000;

/// A stage that is watched.
pub struct Watched {
    text: String,
    name: String,
    /// Its pipes to its neighbours.
    pub edges: Edges,
    waits: WaitProbe,
    pidfd: Option<OwnedFd>,
    pipe: Option<PipeProbe>,
    io: Bytes,
    tree: Sampler,
    lately: VecDeque<(u64, Waits)>,
    /// Whether it has ended.
    pub gone: bool,
}

/// Bytes that a stage and its descendants read and wrote since it was first seen.
#[derive(Default)]
struct Bytes {
    files: HashMap<u32, (Option<ProcFile>, Io)>,
    known: bool,
    read: u64,
    written: u64,
    /// At the last snapshot.
    shown: (u64, u64),
}

impl Bytes {
    /// Reads the counters of the leader and its descendants. A shell's counters jump by those of a child that
    /// it reaps: so while it has children, its own are ignored.
    fn read(&mut self, leader: u32, descendants: &[u32]) {
        let first = self.files.is_empty();
        for &pid in descendants.iter().chain([&leader]) {
            let mut buffer = [0; 512];
            let new = !self.files.contains_key(&pid);
            let (file, last) =
                self.files.entry(pid).or_insert_with(|| (ProcFile::open(pid, "io"), Io::default()));
            let Some(io) = file.as_ref().and_then(|file| procfs::parse_io(file.read(&mut buffer)?)) else {
                continue;
            };
            self.known = true;
            let counts = !(new && first) && (pid != leader || descendants.is_empty());
            if counts {
                self.read += io.read_bytes.saturating_sub(last.read_bytes);
                self.written += io.written_bytes.saturating_sub(last.written_bytes);
            }
            *last = io;
        }
        self.files.retain(|pid, _| *pid == leader || descendants.contains(pid));
    }

    /// Returns the bytes since the last call.
    fn since(&mut self) -> Option<(u64, u64)> {
        let (read, written) = (self.read - self.shown.0, self.written - self.shown.1);
        self.shown = (self.read, self.written);
        self.known.then_some((read, written))
    }
}

impl Watched {
    pub fn new(pid: u32, edges: Edges, now_ns: u64) -> Self {
        let (name, text) = called(pid).unwrap_or_else(|| ("?".to_owned(), "?".to_owned()));
        Watched {
            text,
            name,
            edges,
            waits: WaitProbe::join(pid, edges, now_ns),
            pidfd: pidfd::open(pid),
            pipe: edges.downstream.map(|inode| PipeProbe::new(inode, now_ns)),
            io: Bytes::default(),
            tree: Sampler::attach(pid, now_ns),
            lately: VecDeque::new(),
            gone: false,
        }
    }

    pub fn sample(&mut self, pid: u32, now_ns: u64) {
        self.gone = self.waits.sample(now_ns).is_none() || self.gone;
        self.io.read(pid, &self.waits.descendants());
        self.tree.sample(now_ns, None);
        if let (Some(pipe), Some(pidfd)) = (&mut self.pipe, &self.pidfd) {
            pipe.sample(now_ns, Some(pidfd.as_fd()), None);
        }
    }

    /// Returns its activity since the last call.
    pub fn snapshot(&mut self, pid: u32, window_ns: u64) -> LiveStage {
        let seen = self.waits.sees_waits();
        let (cpu_ns, now) = self.waits.take();
        self.lately.push_back((window_ns, now.clone()));
        while self.lately.iter().skip(1).map(|(ns, _)| ns).sum::<u64>() >= LATELY_NS {
            self.lately.pop_front();
        }
        let mut lately = Waits::default();
        self.lately.iter().for_each(|(_, waits)| lately.add(waits));
        // It may have been found between fork and exec, or during exec.
        if let Some((name, text)) = called(pid) {
            (self.name, self.text) = (name, text);
        }
        let moved = self.io.since();
        let rate = |bytes: u64| (bytes as f64 * 1e9 / window_ns.max(1) as f64) as u64;
        LiveStage {
            pid,
            name: self.name.clone(),
            text: self.text.clone(),
            cpu_ns,
            now: seen.then_some(now),
            lately: seen.then_some(lately),
            read_rate: moved.map(|(read, _)| rate(read)),
            write_rate: moved.map(|(_, written)| rate(written)),
            written_bytes: self.io.known.then_some(self.io.written),
            pipe: self.pipe.as_mut().and_then(live_pipe),
            tree: self.tree.recent(clock::now_ns()),
        }
    }
}

/// Returns a process's name and command line, while it exists.
pub fn called(pid: u32) -> Option<(String, String)> {
    let name = processes::file(pid, "stat").and_then(|text| processes::parse_stat(&text))?.name;
    let words = processes::command_line(pid);
    let text = if words.is_empty() { name.clone() } else { typed_command_line(&words) };
    Some((name, text))
}

fn live_pipe(probe: &mut PipeProbe) -> Option<LivePipe> {
    let seen = probe.take()?;
    Some(LivePipe {
        bytes: seen.mean_bytes,
        capacity_bytes: seen.capacity_bytes,
        full_share: seen.full_share,
        empty_share: seen.empty_share,
    })
}
