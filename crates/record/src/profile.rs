//! Where the CPU time of a stage went: samples of its stacks (`pelton time --inside`).

use crate::diagnosis::Frame;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The profile of a stage and of what it started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// Samples in which a thread was running. Each stands for the same part of the CPU time.
    pub samples: u32,
    /// Of these, samples whose stack could not be read.
    pub unread: u32,
    /// The average time from one look to the next.
    pub interval_ns: u64,
    /// The CPU time of the stage.
    pub cpu_ns: u64,
    /// The part of it that the samples stand for: less if it was spent in processes that are too short to be seen.
    pub seen_cpu_ns: u64,
    /// The frames that occur in [`Profile::stacks`].
    pub frames: Vec<Frame>,
    /// The different stacks, the most frequent first.
    pub stacks: Vec<StackCount>,
    /// The lines, or functions where lines are not known, of the program itself, the most expensive first. Each sample belongs to
    /// one of them: the innermost that is in no library, or the innermost of all.
    pub lines: Vec<LineCost>,
    /// The most expensive line in words; what is missing and how to get it.
    pub verdict: String,
    /// What the reader should know of how it was made.
    pub notes: Vec<String>,
}

/// A stack and how often it was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StackCount {
    /// The name of the process.
    pub process: String,
    /// Its frames, the outermost first: places in [`Profile::frames`].
    pub frames: Vec<u32>,
    /// The number of samples.
    pub samples: u32,
}

/// What a line of a program cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LineCost {
    /// The name of the process.
    pub process: String,
    /// The function, and file and line if known.
    pub frame: Frame,
    /// The source text of the line, if the file was found.
    pub text: Option<String>,
    /// Samples in it or in what it called of libraries.
    pub samples: u32,
    /// Samples in it or in anything that it called.
    pub total_samples: u32,
    /// The functions of libraries in which those samples were, as called from it, the most frequent first.
    pub calls: Vec<CallCount>,
}

/// A function of a library that a line called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallCount {
    /// Its name.
    pub function: String,
    /// The number of samples in it or in what it called.
    pub samples: u32,
}
