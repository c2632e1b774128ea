//! The input and output of planning.

use crate::node::Node;
use pelton_commands::cost::Rate;
use pelton_commands::stateless::Stateless;
use pelton_commands::{Accept, Accepted, Context, Facts, Input};
use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;

/// One stage as the planner sees it.
#[derive(Debug)]
pub struct Candidate {
    /// The command's name, for sentences: `grep`.
    pub name: String,
    /// Its expanded arguments, without the name. Empty if unknown.
    pub args: Vec<Vec<u8>>,
    /// The stage as written, if known: for display.
    pub text: Option<String>,
    /// The program (or the shell of a builtin), if it was identified: `GNU coreutils 9.1`.
    pub implementation: Option<String>,
    /// What the meaning of its arguments depends on, if they were parsed.
    pub context: Option<Context>,
    /// The accepted command, or why it must stay a process.
    pub command: Accept<Arc<Accepted>>,
    /// How several processes could share the lines of its input.
    pub stateless: Accept<Stateless>,
    /// Whether its standard input is inherited from the whole run, not a pipe or its own file (`< file`):
    /// another process may read on where it stops.
    pub shares_stdin: bool,
    /// Whether its standard input is the pipe of a stage that another shell runs: its first stage has one before it.
    pub reads_a_stage_outside: bool,
    /// Whether it writes its standard output to its own file (`> file`), not to the pipe.
    pub redirects_stdout: bool,
    /// Whether it reads its standard input from its own file (`< file`), not from the pipe.
    pub redirects_stdin: bool,
    /// Whether it drops its messages (`2>/dev/null`): the process that runs it does, and runs no stage that does not.
    pub drops_messages: bool,
    /// Whether it ends at once without reading its input (`true`, `echo`): what feeds it may be ended by SIGPIPE.
    pub ends_without_reading: bool,
}

impl Candidate {
    /// Returns the facts of its command, if that was accepted.
    pub fn facts(&self) -> Option<&Facts> {
        self.command.as_ref().ok().map(|accepted| &accepted.facts)
    }

    /// Whether the stage behind it sorts its lines, so that their order does not show.
    pub fn is_sorted_by(&self, next: &Candidate) -> bool {
        let ignores_order = next.facts().is_some_and(|facts| facts.input.ignores_order);
        !self.redirects_stdout && !next.redirects_stdin && ignores_order
    }

    /// Returns the inputs of its command. Empty for a source, and if they are unknown.
    pub(crate) fn inputs(&self) -> &[Input] {
        self.command.as_ref().map_or(&[], |accepted| accepted.command.inputs())
    }
}

/// The context of the pipeline.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `set -o pipefail`: whether the status of every stage counts, not only the last one's.
    pub pipefail: bool,
    /// Whether SIGPIPE is ignored: a stage whose reader leaves early prints a message instead of ending in silence.
    pub ignores_sigpipe: bool,
    /// Whether the last stage writes to a pipe or socket that was inherited: its reader, which is not seen, may leave early.
    pub prints_to_a_stranger: bool,
    /// Whether the first stage reads a pipe or socket that was inherited: its writer is not seen.
    pub reads_a_stranger: bool,
}

/// Programs that do nothing but print, whatever their arguments: they may end sooner than from the shell.
const ONLY_PRINT: [&str; 8] = ["cat", "dmesg", "grep", "journalctl", "seq", "tail", "yes", "zcat"];

impl Surroundings {
    /// Whether a program that pelton does not know feeds the stage of this number: it may do other things than print, and can
    /// tell how long it is read.
    pub fn is_fed_by_a_stranger(&self, stages: &[StageNote], stage: usize) -> bool {
        let decides = stages[..stage].iter().rev().find(|stage| {
            let only_prints = stage.equals.is_some() || ONLY_PRINT.contains(&stage.name.as_str());
            stage.blocks_until_eof == Some(true) || !only_prints
        });
        decides.map_or(self.reads_a_stranger, |stage| stage.blocks_until_eof != Some(true))
    }
}

/// Whether one of these stages may have read enough before the end of what the first one reads.
pub fn may_have_enough(stages: &[StageNote]) -> bool {
    up_to_the_end(stages).iter().any(|stage| stage.ends_when_enough)
}

/// Whether that may be, or one of them is a program of which nothing is known.
pub(crate) fn may_leave_early(stages: &[StageNote]) -> bool {
    let may = |stage: &StageNote| {
        stage.ends_when_enough || stage.equals.is_none() && stage.blocks_until_eof != Some(true)
    };
    up_to_the_end(stages).iter().any(may)
}

/// Returns the stages up to the first one that prints only when its input has ended: those behind it stop nobody before.
fn up_to_the_end(stages: &[StageNote]) -> &[StageNote] {
    let last = stages.iter().position(|stage| stage.blocks_until_eof == Some(true));
    &stages[..last.map_or(stages.len(), |last| last + 1)]
}

/// Which rules and kernels are enabled, by name (`--without NAME`, `--only NAME`).
#[derive(Clone, Debug, Default)]
pub struct Switches {
    /// Disabled names: of a rule (`compose-byte-maps`) or of a command's kernel (`sort`).
    pub without: Vec<String>,
    /// If not empty, only these names are enabled.
    pub only: Vec<String>,
}

impl Switches {
    /// Whether `name` is enabled.
    pub fn is_on(&self, name: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|n| n == name);
        !named(&self.without) && (self.only.is_empty() || named(&self.only))
    }
}

/// The plan of one pipeline.
#[derive(Debug)]
pub struct Planned {
    /// Left to right; together they cover every stage exactly once.
    pub segments: Vec<Segment>,
    /// All decisions, fired or declined: by stage, then by rule.
    pub decisions: Vec<Decision>,
    /// Notes on each stage, for [`explain`](Planned::explain).
    pub stages: Vec<StageNote>,
    /// What the user could change, in sentences.
    pub advice: Vec<String>,
    /// For each stage that stays a process and may run as several: its properties.
    pub parts: Vec<Option<Stateless>>,
    /// Bytes that the pipeline reads, if the caller knows: the basis of estimates.
    pub input_bytes: Option<u64>,
}

impl Planned {
    /// Whether all stages run natively.
    pub fn is_all_native(&self) -> bool {
        self.segments.iter().all(|segment| matches!(segment, Segment::Native { .. }))
    }

    /// Returns the names of the rules that fired and of the commands that run natively, rules first: names
    /// for `--without`.
    pub fn fired(&self) -> Vec<String> {
        let fired = self.decisions.iter().filter(|decision| matches!(decision.outcome, Outcome::Fired(_)));
        let mut names: Vec<String> = fired.map(|decision| decision.name.clone()).collect();
        // Decisions on single stages come first.
        names.reverse();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }
}

/// Notes on a stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageNote {
    /// The command's name.
    pub name: String,
    /// Its expanded arguments, without the name. Empty if unknown.
    #[serde(skip)]
    pub args: Vec<Vec<u8>>,
    /// What their meaning depends on, if they were parsed.
    #[serde(skip)]
    pub context: Option<Context>,
    /// The stage as written, for display.
    pub shown: String,
    /// The tool that its kernel equals (`GNU coreutils 9.1`). `None` if it stays a process.
    pub equals: Option<String>,
    /// Whether it prints nothing before the end of its input (P8). `None` for an unknown command.
    pub blocks_until_eof: Option<bool>,
    /// Whether it may end before its input, which then ends everything before it. `None` for an unknown
    /// command.
    pub stops_early: Option<bool>,
    /// Whether threads can share its records, and why not. `None` if it stays a process, or does not say.
    pub sharing: Option<String>,
    /// Whether several processes can share its input, since it treats each line by itself.
    #[serde(skip)]
    pub shareable: bool,
    /// Whether it ends when it is done (`head`), not only on a problem with its input (`join`).
    #[serde(skip)]
    pub ends_when_enough: bool,
    /// Its cost, if measured.
    #[serde(skip)]
    pub rate: Option<Rate>,
}

/// Adjacent stages that run as one.
#[derive(Debug)]
pub enum Segment {
    /// A stage that stays the user's real command.
    Process(usize),
    /// Stages that run as one native pass in one process.
    Native {
        /// The stages they stand for.
        stages: Range<usize>,
        /// Left to right. Never empty in a finished plan.
        nodes: Vec<Node>,
    },
}

/// One decision, for `explain`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// The rule's name, or a command's name for 'runs native' and 'stays a process'.
    pub name: String,
    /// The stages concerned.
    pub stages: Range<usize>,
    /// The outcome.
    pub outcome: Outcome,
    /// For a rule that fired: an estimate of the CPU time saved per byte of the pipeline's input, in ns;
    /// `None` if unknown.
    pub saves_ns_per_byte: Option<f64>,
}

/// The outcome of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Done; the gain and why it is safe, in a sentence.
    Fired(String),
    /// Not done; why, in a sentence.
    Declined(String),
}
