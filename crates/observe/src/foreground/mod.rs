//! Observes the programs of one line of an interactive shell, from some time after they began (`pelton last`).
//!
//! The stages are children of the shell, which reaps them. So their figures are what the kernel has counted of them by
//! the last sample, and the shell's own account of reaped children has the exact sum.

mod stage;

use crate::probes::pipes::PipeProbe;
use crate::wiring::{self, Wired};
use pelton_record::{End, PipeUse, Pipeline, Span, Stage};
use pelton_sys::accounts::{self, ChildrenCpu};
use pelton_sys::procfs::ProcFile;
use pelton_sys::{clock, processes};
use stage::LateStage;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Maximum number of stages and of pipelines observed in a line.
const STAGES: usize = 64;
const JOBS: usize = 16;
/// Every so many samples, all accounts are read.
const ACCOUNTS_EVERY: u32 = 5;

/// Samples are closer at first, so that the waits of a line that ends soon are known too.
const QUICK: Duration = Duration::from_millis(50);
const QUICK_SAMPLES: u32 = 32;
const CALM: Duration = Duration::from_millis(200);
/// The pause while the shell runs the line without any program.
const NOTHING_TO_SEE: Duration = Duration::from_secs(1);

/// An interactive shell: what is read of it again and again.
pub struct Shell {
    pid: u32,
    stat: ProcFile,
    children: ProcFile,
}

impl Shell {
    /// Opens its files; `None` if there is no such process, or its children are not listed.
    pub fn open(pid: u32) -> Option<Self> {
        let children = ProcFile::open(pid, &format!("task/{pid}/children"))?;
        Some(Shell { pid, stat: ProcFile::open(pid, "stat")?, children })
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the CPU time of all children that it has reaped.
    pub fn reaped(&self) -> ChildrenCpu {
        let mut buffer = [0; 1024];
        self.stat.read(&mut buffer).and_then(accounts::children_cpu).unwrap_or_default()
    }

    /// Returns its start, in clock ticks since boot: with the process id, it identifies the shell.
    pub fn start_ticks(&self) -> u64 {
        self.status().map_or(0, |stat| stat.start_ticks)
    }

    fn status(&self) -> Option<processes::Stat> {
        processes::parse_stat(self.stat.read(&mut [0; 1024])?)
    }

    fn children(&self) -> Vec<u32> {
        let mut buffer = [0; 4096];
        let text = self.children.read(&mut buffer).unwrap_or_default();
        text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }
}

/// The programs of a line that is running.
pub struct Foreground {
    /// When the line began, by the monotonic clock.
    start_ns: u64,
    joined_ns: u64,
    jobs: Vec<Job>,
    unobserved: u32,
    rounds: u32,
    sampling_ns: u64,
}

/// The stages that share a process group: a pipeline.
struct Job {
    group: u32,
    stages: Vec<LateStage>,
}

/// What is known of the programs of a line.
pub struct Programs {
    /// The pipelines that were seen. Texts are the command lines of the processes.
    pub pipelines: Vec<Pipeline>,
    /// Stages that were not observed, because there were too many.
    pub unobserved: u32,
    /// How long after the line's beginning the first sample was taken.
    pub joined_after_ns: u64,
    /// Number of samples.
    pub rounds: u32,
    /// CPU time that they took.
    pub sampling_ns: u64,
    /// Names of the programs that were older than the line: jobs that it continued.
    pub older: Vec<String>,
    /// Names of the programs that had not ended when the line had: stopped, or in the background.
    pub still_there: Vec<String>,
}

impl Foreground {
    /// Begins with the programs that `shell` runs now, for a line that began at `start_ns`.
    pub fn join(shell: &Shell, start_ns: u64) -> Self {
        let joined_ns = clock::now_ns();
        let (jobs, unobserved, rounds, sampling_ns) = (Vec::new(), 0, 0, 0);
        let mut line = Foreground { start_ns, joined_ns, jobs, unobserved, rounds, sampling_ns };
        line.sample(shell);
        line
    }

    /// Takes a sample of every stage, and finds new ones.
    pub fn sample(&mut self, shell: &Shell) {
        let before_ns = clock::thread_cpu_ns();
        let now_ns = clock::now_ns();
        self.find(shell, now_ns);
        let reads_accounts = self.rounds.is_multiple_of(ACCOUNTS_EVERY);
        for stage in self.jobs.iter_mut().flat_map(|job| &mut job.stages) {
            stage.sample(now_ns, reads_accounts);
        }
        self.rounds += 1;
        self.sampling_ns += clock::thread_cpu_ns().saturating_sub(before_ns);
    }

    /// Notices stages that have ended, between two samples.
    pub fn notice_ends(&mut self) {
        let now_ns = clock::now_ns();
        let ended = self.jobs.iter_mut().flat_map(|job| &mut job.stages);
        ended.for_each(|stage| stage.notice_end(now_ns));
    }

    /// Returns the time until the next sample.
    pub fn pause(&self) -> Duration {
        match () {
            () if self.rounds < QUICK_SAMPLES => QUICK,
            () if self.stages().all(LateStage::has_ended) => NOTHING_TO_SEE,
            () => CALM,
        }
    }

    /// Returns a descriptor for each running stage, readable when it ends.
    pub fn ends(&self) -> Vec<BorrowedFd<'_>> {
        self.stages().filter_map(LateStage::end).collect()
    }

    fn stages(&self) -> impl Iterator<Item = &LateStage> {
        self.jobs.iter().flat_map(|job| &job.stages)
    }

    /// Adds the children of the shell in the foreground of its terminal. Where the shell gives them no process group
    /// of their own, only those that are younger than the line: older ones belong to the shell.
    fn find(&mut self, shell: &Shell, now_ns: u64) {
        let Some(status) = shell.status() else { return };
        let Some(foreground) = status.foreground else { return };
        for pid in shell.children() {
            if self.stages().any(|stage| stage.pid() == pid && !stage.has_ended()) {
                continue;
            }
            let stat = processes::file(pid, "stat").and_then(|text| processes::parse_stat(&text));
            let Some(stat) = stat.filter(|stat| stat.group == foreground && stat.state != 'Z') else {
                continue;
            };
            let is_old = stage::monotonic_start_ns(stat.start_ticks) + stage::TICK_NS < self.start_ns;
            if is_old && foreground == status.group {
                continue;
            }
            let is_new = self.jobs.last().is_none_or(|job| job.group != foreground);
            if self.stages().count() >= STAGES || (is_new && self.jobs.len() >= JOBS) {
                self.unobserved += 1;
                continue;
            }
            let Some(stage) = LateStage::join(pid, &stat, now_ns) else { continue };
            match self.jobs.iter_mut().find(|job| job.group == foreground && foreground != status.group) {
                Some(job) => job.stages.push(stage),
                None => self.jobs.push(Job { group: foreground, stages: vec![stage] }),
            }
        }
    }

    /// Returns what is known, at the end of the line. `statuses` are those of the last pipeline's stages.
    pub fn finish(mut self, statuses: &[i32]) -> Programs {
        let now_ns = clock::now_ns();
        self.sample_last(now_ns);
        let names = |wanted: &dyn Fn(&LateStage) -> bool| -> Vec<String> {
            self.stages().filter(|stage| wanted(stage)).map(|stage| stage.name().to_owned()).collect()
        };
        let older = names(&|stage| stage.is_older_than(self.start_ns));
        let still_there = names(&|stage| !stage.has_ended());
        let last = self.jobs.len().saturating_sub(1);
        let jobs = std::mem::take(&mut self.jobs);
        let pipelines = jobs.into_iter().enumerate().map(|(i, job)| {
            let statuses = if i == last { statuses } else { &[] };
            job.pipeline(self.start_ns, now_ns, statuses)
        });
        Programs {
            pipelines: pipelines.collect(),
            unobserved: self.unobserved,
            joined_after_ns: self.joined_ns.saturating_sub(self.start_ns),
            rounds: self.rounds,
            sampling_ns: self.sampling_ns,
            older,
            still_there,
        }
    }

    /// Records which processes have ended since the last sample.
    fn sample_last(&mut self, now_ns: u64) {
        for stage in self.jobs.iter_mut().flat_map(|job| &mut job.stages) {
            stage.sample(now_ns, true);
        }
    }
}

impl Job {
    /// Sorts the stages by the data flow; those that no pipe joins, by their start.
    fn sort(&mut self) {
        self.stages.sort_by_key(LateStage::started);
        let wired: Vec<Wired> =
            self.stages.iter().map(|stage| Wired { parent: None, pipes: stage.pipes() }).collect();
        let mut order: Vec<usize> = wiring::chains(&wired).into_iter().flatten().collect();
        order.extend((0..wired.len()).filter(|i| !order.contains(i)).collect::<Vec<_>>());
        let mut stages: Vec<Option<LateStage>> = self.stages.drain(..).map(Some).collect();
        self.stages = order.into_iter().filter_map(|i| stages.get_mut(i)?.take()).collect();
    }

    fn pipeline(mut self, line_start_ns: u64, now_ns: u64, statuses: &[i32]) -> Pipeline {
        self.sort();
        let pipes = self.pipes(line_start_ns);
        let joined: Vec<bool> = self
            .stages
            .windows(2)
            .map(|pair| {
                pair[0].pipes()[wiring::OUT].is_some_and(|pipe| pair[1].pipes()[wiring::IN] == Some(pipe))
            })
            .collect();
        let statuses = if statuses.len() == self.stages.len() { statuses } else { &[] };
        let rows = self.stages.into_iter().enumerate();
        let stages: Vec<Stage> = rows
            .map(|(i, stage)| Stage {
                end: statuses.get(i).map_or_else(stage::unknown_end, |status| End::Exited(*status)),
                reads_previous: i > 0 && joined[i - 1],
                feeds_next: joined.get(i).copied().unwrap_or(false),
                ..stage.finish(line_start_ns, now_ns)
            })
            .collect();
        let start_ns = stages.iter().map(|stage| stage.start_ns).min().unwrap_or(0);
        let end_ns = stages.iter().map(|stage| stage.start_ns + stage.cost.wall_ns).max().unwrap_or(start_ns);
        let texts: Vec<&str> = stages.iter().map(|stage| stage.text.as_str()).collect();
        Pipeline {
            text: texts.join(" | "),
            span: Span::default(),
            start_ns,
            wall_ns: end_ns - start_ns,
            exit_status: statuses.last().copied().unwrap_or(-1),
            stages,
            passes: Vec::new(),
            pipes,
        }
    }

    /// Returns the use of each pipe whose two ends were observed.
    fn pipes(&self, line_start_ns: u64) -> Vec<PipeUse> {
        let reader = |pipe: u64| self.stages.iter().position(|stage| stage.pipes()[wiring::IN] == Some(pipe));
        let writers = self.stages.iter().enumerate();
        let uses = writers.filter_map(|(writer, stage)| {
            let probe: &PipeProbe = stage.pipe()?;
            probe.finish(writer, reader(stage.pipes()[wiring::OUT]?)?, line_start_ns)
        });
        uses.collect()
    }
}
