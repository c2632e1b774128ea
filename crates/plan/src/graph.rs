//! What goes into planning, and what comes out.

use crate::cost::Rate;
use pelton_commands::stateless::Stateless;
use pelton_commands::{Accept, Command, Copies, Ending, Input, Locale};
use pelton_stream::{JoinKernel, Kernel};
use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;

/// One stage as the planner sees it.
#[derive(Debug)]
pub struct Candidate {
    /// How the command is called, for sentences: `grep`.
    pub name: String,
    /// Its arguments, expanded, without the name. Empty if they are not known.
    pub args: Vec<Vec<u8>>,
    /// The stage as it is written, if that is known: for people.
    pub text: Option<String>,
    /// The program (or the shell whose builtin it is), if that was looked at: `GNU coreutils 9.1`.
    pub implementation: Option<String>,
    /// The locale that its arguments were read in, if they were.
    pub locale: Option<Locale>,
    /// Its options understood, or why it must stay a process.
    pub command: Accept<Box<dyn Command>>,
    /// Whether several processes of it could share the lines of its input.
    pub stateless: Accept<Stateless>,
    /// Its standard input is neither the pipe before it nor a file of its own (`< file`), but what the whole run
    /// inherited: others may read on where it stops.
    pub shares_stdin: bool,
    /// It writes its standard output to a file of its own (`> file`), not to the pipe after it.
    pub redirects_stdout: bool,
    /// It reads its standard input from a file of its own (`< file`), not from the pipe before it.
    pub redirects_stdin: bool,
}

/// What the pipeline stands in.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// `set -o pipefail`: the status of every stage counts, not only the last one's.
    pub pipefail: bool,
    /// The locale that the stages run in, for rules that read a command's arguments again.
    pub context: pelton_commands::Context,
}

/// Which rules and kernels are on, by name (`--without NAME`, `--only NAME`).
#[derive(Clone, Debug, Default)]
pub struct Switches {
    /// Names that are off: of a rule (`compose-byte-maps`) or of a command's kernel (`sort`).
    pub without: Vec<String>,
    /// If not empty, only these names are on.
    pub only: Vec<String>,
}

impl Switches {
    /// Whether `name` is on.
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
    /// What was decided, in the order of the stages and then of the rules, fired or declined.
    pub decisions: Vec<Decision>,
    /// What is known of each stage, for [`explain`](Planned::explain).
    pub stages: Vec<StageNote>,
    /// What the user could change, in sentences.
    pub advice: Vec<String>,
    /// Stages that stay processes, and of which several may run: what is known of them, for each stage.
    pub parts: Vec<Option<Stateless>>,
    /// How much the pipeline reads, if whoever asked for the plan knows: estimates are made for it.
    pub input_bytes: Option<u64>,
}

impl Planned {
    /// The names of the rules that fired and of the commands that run natively, rules first: what `--without` would
    /// change.
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

/// What is known of a stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageNote {
    /// How the command is called.
    pub name: String,
    /// As it is written, for people.
    pub shown: String,
    /// What its kernel equals (`GNU coreutils 9.1`). `None` if it stays a process.
    pub equals: Option<String>,
    /// It prints nothing before the end of its input (P8). `None` if the command is not understood.
    pub blocks_until_eof: Option<bool>,
    /// It may end before its input does, and everything before it then ends too. `None` if it is not understood.
    pub stops_early: Option<bool>,
    /// Whether threads can share its records, and why not. `None` if it stays a process, or says nothing of that.
    pub sharing: Option<String>,
    /// It ends once it has what it wants (`head`), and not only where something is wrong with its input (`join`).
    #[serde(skip)]
    pub ends_when_enough: bool,
    /// What it costs, if that was measured.
    #[serde(skip)]
    pub rate: Option<Rate>,
}

/// Neighbouring stages that run as one.
#[derive(Debug)]
pub enum Segment {
    /// This stage stays the user's real command.
    Process(usize),
    /// These run as one native pass in one process.
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
    /// The stages it stands for: one, or several that a rule made one.
    pub stages: Range<usize>,
    /// What it does.
    pub work: Work,
    /// If its kernel hands over (see [`pelton_stream::HandOver`]): the real commands that go on, left to right, the
    /// first of them from standard input. Never empty if its kernel may hand over.
    pub resume: Vec<Resume>,
    /// How much of the end of its input is enough, if it reads one file: what comes before need not be read.
    pub from_end: Option<Ending>,
    /// It must not be given what another kernel passes on, but read a pipe itself.
    pub needs_pipe: bool,
    /// What its kernel costs for each byte that it reads, in ns; `None` if that was not measured.
    pub ns_per_byte: Option<f64>,
}

/// How the real command of a stage goes on after a hand-over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The stage whose program it is.
    pub stage: usize,
    /// Its arguments, without the command's name.
    pub args: Vec<Vec<u8>>,
}

/// Makes a fresh kernel.
pub type MakeKernel = Box<dyn Fn() -> Accept<Box<dyn Kernel>> + Send + Sync>;

/// What a node does.
pub enum Work {
    /// A command's own kernel, with the inputs that its operands name.
    Command(Arc<dyn Command>),
    /// A kernel that a rule put in the place of one or several commands; it reads what the first of them read.
    Rewritten {
        /// What it reads.
        inputs: Vec<Input>,
        /// Makes it.
        make: MakeKernel,
        /// What it is, for `explain`: `count distinct lines by hashing`.
        label: String,
    },
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Work::Command(command) => write!(f, "Command({command:?})"),
            Work::Rewritten { label, .. } => write!(f, "Rewritten({label})"),
        }
    }
}

impl Work {
    /// What the node reads. Only the first node of a segment may read anything but its predecessor.
    pub fn inputs(&self) -> &[Input] {
        match self {
            Work::Command(command) => command.inputs(),
            Work::Rewritten { inputs, .. } => inputs,
        }
    }

    /// If it reads several inputs side by side: a fresh kernel for that. Only the first node of a segment does.
    pub fn join_kernel(&self) -> Option<Box<dyn JoinKernel>> {
        match self {
            Work::Command(command) => command.join_kernel().ok(),
            Work::Rewritten { .. } => None,
        }
    }

    /// Files that get a copy of what passes: the node is a tee, and the driver makes its kernel.
    pub fn copies(&self) -> Option<&Copies> {
        match self {
            Work::Command(command) => command.copies(),
            Work::Rewritten { .. } => None,
        }
    }

    /// The program that it would start for what it reads (see [`Command::runs`]).
    pub fn runs(&self) -> Option<&str> {
        match self {
            Work::Command(command) => command.runs(),
            Work::Rewritten { .. } => None,
        }
    }

    /// A fresh kernel. It was made once while planning, so an error here is none that data could cause.
    pub fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        match self {
            Work::Command(command) => command.kernel(),
            Work::Rewritten { make, .. } => make(),
        }
    }
}

/// One decision, for `explain`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// The rule's name, or a command's name for 'runs native' and 'stays a process'.
    pub name: String,
    /// The stages it is about.
    pub stages: Range<usize>,
    /// What came of it.
    pub outcome: Outcome,
    /// For a rule that fired: the CPU time that it saves for each byte that the pipeline reads, in ns. An estimate;
    /// `None` if there is none.
    pub saves_ns_per_byte: Option<f64>,
}

/// Fired, or why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done; what that gains and why it is safe, in a sentence.
    Fired(String),
    /// It was not; why, in a sentence.
    Declined(String),
}
