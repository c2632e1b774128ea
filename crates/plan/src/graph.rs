//! The input and output of planning.

use crate::cost::Rate;
use pelton_commands::stateless::Stateless;
use pelton_commands::{Accept, Accepted, ChildProgram, Copies, Ending, Facts, Input, Locale};
use pelton_stream::{JoinKernel, Kernel};
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
    /// The locale of its arguments, if they were parsed.
    pub locale: Option<Locale>,
    /// The accepted command, or why it must stay a process.
    pub command: Accept<Arc<Accepted>>,
    /// How several processes could share the lines of its input.
    pub stateless: Accept<Stateless>,
    /// Whether its standard input is inherited from the whole run, not a pipe or its own file (`< file`):
    /// another process may read on where it stops.
    pub shares_stdin: bool,
    /// Whether it writes its standard output to its own file (`> file`), not to the pipe.
    pub redirects_stdout: bool,
    /// Whether it reads its standard input from its own file (`< file`), not from the pipe.
    pub redirects_stdin: bool,
}

impl Candidate {
    /// Returns the facts of its command, if that was accepted.
    pub fn facts(&self) -> Option<&Facts> {
        self.command.as_ref().ok().map(|accepted| &accepted.facts)
    }

    /// Returns the inputs of its command. Empty for a source, and if they are unknown.
    pub(crate) fn inputs(&self) -> &[Input] {
        self.command.as_ref().map_or(&[], |accepted| accepted.command.inputs())
    }
}

/// The context of the pipeline.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// `set -o pipefail`: whether the status of every stage counts, not only the last one's.
    pub pipefail: bool,
    /// The locale of the stages, for rules that parse arguments again.
    pub context: pelton_commands::Context,
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
        /// Left to right. Never empty.
        nodes: Vec<Node>,
    },
}

/// One kernel of a native pass.
#[derive(Debug)]
pub struct Node {
    /// The stages it stands for: one, or several merged by a rule.
    pub stages: Range<usize>,
    /// Its work.
    pub work: Work,
    /// The real commands that continue if its kernel falls back (see [`pelton_stream::HandOver`]), left to
    /// right, the first of them from standard input. Never empty if its kernel may fall back.
    pub resume: Vec<Resume>,
    /// How much of the end of its input it needs, if it reads one file: the rest need not be read.
    pub from_end: Option<Ending>,
    /// Whether it must read a pipe itself instead of getting another kernel's output.
    pub needs_pipe: bool,
    /// The kernel's cost per byte read, in ns; `None` if not measured.
    pub ns_per_byte: Option<f64>,
}

/// How the real command of a stage continues after a fallback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The stage of the program.
    pub stage: usize,
    /// Its arguments, without the command's name.
    pub args: Vec<Vec<u8>>,
}

/// Makes a fresh kernel.
pub type MakeKernel = Box<dyn Fn() -> Accept<Box<dyn Kernel>> + Send + Sync>;

/// The work of a node.
pub enum Work {
    /// A command's own kernel, with the inputs of its operands.
    Command(Arc<Accepted>),
    /// A kernel that a rule made for one or several commands; it reads what the first of them read.
    Rewritten {
        /// Its inputs.
        inputs: Vec<Input>,
        /// Makes the kernel.
        make: MakeKernel,
        /// Its description, for `explain`: `count distinct lines by hashing`.
        label: String,
    },
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Work::Command(accepted) => write!(f, "Command({:?})", accepted.command),
            Work::Rewritten { label, .. } => write!(f, "Rewritten({label})"),
        }
    }
}

impl Work {
    /// Returns its inputs. Only the first node of a segment may read anything but its predecessor.
    pub fn inputs(&self) -> &[Input] {
        match self {
            Work::Command(accepted) => accepted.command.inputs(),
            Work::Rewritten { inputs, .. } => inputs,
        }
    }

    /// Returns a fresh join kernel, if it reads several inputs in parallel. Only the first node of a segment
    /// does.
    pub fn join_kernel(&self) -> Option<Box<dyn JoinKernel>> {
        match self {
            Work::Command(accepted) => accepted.command.join_kernel().ok(),
            Work::Rewritten { .. } => None,
        }
    }

    /// Returns the files that get a copy of the stream: the node is a tee, and the driver makes its kernel.
    pub fn copies(&self) -> Option<&Copies> {
        match self {
            Work::Command(accepted) => accepted.facts.output.copies.as_ref(),
            Work::Rewritten { .. } => None,
        }
    }

    /// Returns the program that it would start for its input.
    pub fn child(&self) -> Option<&ChildProgram> {
        match self {
            Work::Command(accepted) => accepted.facts.child.as_ref(),
            Work::Rewritten { .. } => None,
        }
    }

    /// Returns a fresh kernel. It was made once while planning, so data cannot cause an error here.
    pub fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        match self {
            Work::Command(accepted) => accepted.command.kernel(),
            Work::Rewritten { make, .. } => make(),
        }
    }
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
