//! The inside of a program: the processes that it started, the pipelines among them, the cost of each
//! command.

use crate::{Cost, Pipeline, Run, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The processes that one row started, itself included, as they were followed from fork to exit.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Inside {
    /// How many processes there were.
    pub processes: u64,
    /// Those that still ran when the row ended; they are in no figure here.
    pub still_running: u64,
    /// Those that gained privilege from their file (sudo), which is not given to who is followed: they were let go, and what they did
    /// and started afterwards is in no figure here, but in the row's.
    #[serde(default)]
    pub left: u64,
    /// The pipelines among them, found by the pipes that they share: those that look the same are one here, with their costs
    /// added up. A stage has all that it started.
    pub pipelines: Vec<Inner>,
    /// Every process, by the name of its program, the dearest first. The costs are their own, without what they started, and
    /// add up to that of the row.
    pub commands: Vec<Command>,
    /// What the start of a program that does nothing costs here, in CPU time of all who take part, nanoseconds; measured if
    /// many were started.
    pub start_ns: Option<u64>,
    /// The answer for these pipelines; its bottleneck is an index into them.
    pub verdict: Verdict,
}

/// A pipeline that a program ran, once or often.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Inner {
    /// How often.
    pub times: u64,
    /// The line of the script that it stands in, if that is known.
    #[serde(default)]
    pub line: Option<u32>,
    /// The stage of another of these pipelines that ran it, if one did: its cost is part of that stage's.
    pub within: Option<Within>,
    /// Its stages, in the order of the data. Times and costs are sums over all times that it ran.
    pub pipeline: Pipeline,
}

/// A stage of an inner pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Within {
    /// Index into [`Inside::pipelines`].
    pub pipeline: usize,
    /// Index into its stages.
    pub stage: usize,
}

/// All processes of one program.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Command {
    /// Its name; of a process that never became a program, that of the one it was forked from, with `(fork)`.
    pub name: String,
    /// The command line of the first of them.
    pub text: String,
    /// How many there were.
    pub times: u64,
    /// What they cost, without what they started. Its wall time is the sum of their lives.
    pub cost: Cost,
    /// CPU time from the fork to the program's first instruction, the loader's work not included. Part of `cost`.
    pub before_exec_ns: u64,
    /// CPU time of the cheapest of them: an upper bound of what starting it costs.
    pub cheapest_cpu_ns: u64,
}

impl Inside {
    /// Returns the pipelines that are nested in no other pipeline.
    pub fn outermost(&self) -> impl Iterator<Item = (usize, &Inner)> {
        self.pipelines.iter().enumerate().filter(|(_, inner)| inner.within.is_none())
    }
}

impl Run {
    /// Returns the same run with the row replaced by the pipelines found inside it; `None` if none was found.
    pub fn inner_pipelines(&self) -> Option<Run> {
        let stages = || self.pipelines.iter().flat_map(|pipeline| &pipeline.stages);
        let inside = stages().find_map(|stage| stage.inside.as_ref())?;
        if inside.pipelines.is_empty() || stages().count() != 1 {
            return None;
        }
        let pipelines = inside.pipelines.iter().map(|inner| {
            let pipeline = inner.pipeline.clone();
            let within = inner.within.map_or(String::new(), |within| {
                format!("in stage {} of {}: ", within.stage + 1, within.pipeline + 1)
            });
            let line = inner.line.map_or(String::new(), |line| format!("line {line}: "));
            let times = if inner.times > 1 { format!(" ({} times)", inner.times) } else { String::new() };
            Pipeline { text: format!("{within}{line}{}{times}", pipeline.text), ..pipeline }
        });
        let pipelines = pipelines.collect();
        Some(Run { pipelines, verdict: inside.verdict.clone(), ..self.clone() })
    }
}
