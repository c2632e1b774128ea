//! The result of a run.

use pelton_observe::inside::Launches;
use pelton_record::surroundings::Surroundings;
use pelton_record::{LeftBehind, Observer, Pipeline};

/// The result of a run.
#[derive(Debug, Default)]
pub struct Execution {
    /// The status that the shell would return.
    pub status: i32,
    /// The signal by which the shell would have died, if any: it execs the last plain command of a text, and
    /// it dies of an interrupt that killed its child.
    pub died_by: Option<i32>,
    /// The last signal that ended a stage, if any did; SIGPIPE does not count.
    pub stage_signal: Option<i32>,
    /// Whether SIGINT ended it.
    pub interrupted: bool,
    /// The pipelines that ran. Empty unless observed.
    pub pipelines: Vec<Pipeline>,
    /// Time from the first start to the last end. Zero unless observed.
    pub wall_ns: u64,
    /// Descendants that outlived their stages.
    pub left_behind: LeftBehind,
    /// What happened around it, if observed.
    pub surroundings: Option<Surroundings>,
    /// The cost of measuring.
    pub observer: Observer,
    /// What the shell that ran the whole text started from which line, if requested.
    pub launches: Option<Launches>,
    /// For how long all stages but one were stopped ([`HoldOthers`](super::HoldOthers)).
    pub held_ns: u64,
}
