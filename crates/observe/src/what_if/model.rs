//! A pipeline as a model: what each stage does in which order, independent of how long it waits for its neighbours.

/// A pipeline whose times can be simulated.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// Left to right.
    pub stages: Vec<StageModel>,
    /// The pipe after each stage but the last; `None` where two neighbours are not joined.
    pub pipes: Vec<Option<PipeModel>>,
    /// Cores of the machine.
    pub cores: f64,
    /// The share of the stages' waits for a CPU that other programs cause. What the stages cause one another comes out of the
    /// simulation.
    pub caused_by_others: f64,
}

/// A stage: its work in order.
#[derive(Clone, Debug, Default)]
pub(super) struct StageModel {
    /// Work between which the ratio of time to bytes changes.
    pub segments: Vec<Segment>,
    /// Cores that it uses while it computes: more than 1 with several threads.
    pub threads: f64,
    /// When it starts, in seconds.
    pub start_s: f64,
    /// The first segment for which the stage before it must have ended; `segments.len()` if only its end waits for that.
    pub needs_eof_at: Option<usize>,
    /// Whether it goes on without a reader: otherwise it ends with its reader, as by SIGPIPE.
    pub outlives_reader: bool,
}

/// Work in which time and bytes are in proportion. Waits for neighbours are no part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Segment {
    /// Seconds on a CPU.
    pub busy_s: f64,
    /// Seconds of waits outside the pipeline: sleep, disk, network.
    pub outside_s: f64,
    /// Seconds of waits for a CPU.
    pub ready_s: f64,
    /// Bytes taken out of the pipe before it.
    pub reads: f64,
    /// Bytes put into the pipe after it.
    pub writes: f64,
}

/// A pipe.
#[derive(Clone, Copy, Debug)]
pub(super) struct PipeModel {
    /// Bytes that it holds at most.
    pub capacity: f64,
}

/// A change of one stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Its work takes this share of the time: 0.5 is twice as fast, 0 is free.
    Work(f64),
    /// This many processes share its work.
    Split(u32),
    /// The pipe after it holds this many bytes.
    PipeAfter(u64),
}

impl Segment {
    /// Returns its time if no other stage of the pipeline is in its way.
    pub fn seconds(&self, caused_by_others: f64) -> f64 {
        self.busy_s + self.outside_s + self.ready_s * caused_by_others
    }

    /// Adds the work that follows it.
    pub fn join(&mut self, next: &Segment) {
        self.busy_s += next.busy_s;
        self.outside_s += next.outside_s;
        self.ready_s += next.ready_s;
        self.reads += next.reads;
        self.writes += next.writes;
    }
}

impl Model {
    /// Returns the model with a change of one stage.
    pub fn with(&self, stage: usize, change: Change) -> Model {
        let mut changed = self.clone();
        match change {
            Change::Work(share) => changed.stages[stage].scale(share),
            Change::Split(processes) => {
                changed.stages[stage].scale(1.0 / f64::from(processes));
                changed.stages[stage].threads *= f64::from(processes);
            }
            Change::PipeAfter(bytes) => {
                if let Some(Some(pipe)) = changed.pipes.get_mut(stage) {
                    pipe.capacity = bytes as f64;
                }
            }
        }
        changed
    }
}

impl StageModel {
    fn scale(&mut self, share: f64) {
        for segment in &mut self.segments {
            segment.busy_s *= share;
            segment.outside_s *= share;
            segment.ready_s *= share;
        }
    }
}
