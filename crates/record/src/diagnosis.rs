//! The diagnosis of `pelton doctor`: which running process waits for which, and whether the wait can end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the meaning of a diagnosis. Within a version, fields are only added; a change of meaning
/// raises it.
pub const DIAGNOSIS_VERSION: u32 = 1;

/// One look at running processes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// [`DIAGNOSIS_VERSION`] of the program that wrote this.
    pub diagnosis_version: u32,
    /// Version of pelton that wrote this.
    pub pelton_version: String,
    /// When it was made, milliseconds since the Unix epoch.
    pub taken_unix_ms: u64,
    /// How long it took.
    pub wall_ns: u64,
    /// The gravest verdict of all findings; `idle` if there is none.
    pub health: Health,
    /// What was found, the gravest first.
    pub findings: Vec<Finding>,
    /// The processes that findings name.
    pub processes: Vec<Process>,
    /// How many processes were looked at.
    pub processes_seen: u32,
    /// How many could not be looked into, because they belong to somebody else.
    pub processes_hidden: u32,
    /// How many of those asked about are idle and wait for no other: no finding is made of them.
    pub processes_idle: u32,
    /// The threads of the processes asked about, if they were asked for.
    #[serde(default)]
    pub threads: Option<crate::threads::Threads>,
    /// Things the reader should know.
    pub notes: Vec<String>,
}

/// How processes that wait for one another are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Nothing to do: waiting for time, a person, the network or a signal.
    Idle,
    /// It moves, at the pace of the one named.
    Slow,
    /// It cannot be told, for the reason given.
    Unknown,
    /// Nothing of it can ever go on, unless a signal arrives or somebody else interferes.
    Dead,
}

/// Processes that wait for one another, or one alone.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How they are.
    pub health: Health,
    /// Of what kind it is.
    pub kind: Kind,
    /// One sentence.
    pub headline: String,
    /// The processes that cause it, by pid: the cycle, or the one that all others wait for.
    pub root_cause: Vec<u32>,
    /// Who waits for what.
    pub waits: Vec<Wait>,
    /// How long none of them has run, if the kernel says; estimated from the scheduler's clocks.
    pub still_ns: Option<u64>,
    /// One thing to do about it.
    pub cure: Option<String>,
}

/// What a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A process waits for a child to end, which is blocked on write to a pipe that only the waiting one could drain.
    WaitsWithoutReading,
    /// A process reads one channel of another, which is blocked on write to a second one that the first should read too.
    UndrainedChannel,
    /// Both write to each other and neither reads.
    BothFull,
    /// Both read from each other and neither writes.
    BothEmpty,
    /// A reader waits for the end of a channel that stays open: the reader itself holds it open, or a process that waits
    /// for the reader, or a process that was left in the background.
    HeldOpen,
    /// A FIFO was opened by one side only.
    FifoOneSided,
    /// Some wait to write, some to read, in a circle of another shape.
    Cycle,
    /// A stopped process, and those who wait for it.
    Stopped,
    /// A file lock whose holder waits for the one that wants it.
    FileLock,
    /// All threads of a process wait for one another.
    Threads,
    /// A reader does not keep up: its writer is blocked on write.
    SlowReader,
    /// A writer does not keep up: its readers wait for input.
    SlowWriter,
    /// Waiting for the disk or a file system.
    Disk,
    /// Computing, and nobody waits for it.
    Busy,
    /// A filter has read input and written nothing, or only whole buffers, and its reader waits: its output is in its buffer, if there is any.
    Buffered,
    /// Waiting for a time to pass.
    Timer,
    /// Waiting for somebody at a terminal.
    Terminal,
    /// Waiting for the network, a connection or a device.
    Outside,
    /// Waiting for a signal.
    Signal,
    /// Ended, but its parent has not noticed.
    Ended,
    /// It may not be looked into, or waits in a way that cannot be followed.
    Unseen,
}

/// A process that a finding names.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// Name of its program.
    pub name: String,
    /// Its command line.
    pub command: String,
    /// How long it has been there.
    pub age_ns: u64,
    /// CPU time so far.
    pub cpu_ns: u64,
    /// Number of its threads.
    pub threads: u32,
}

/// One wait: who, for what, and who could end it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Wait {
    /// The process that waits.
    pub pid: u32,
    /// Its thread.
    pub thread: u32,
    /// In words, without its name: 'blocked on write to its standard output: …'.
    pub words: String,
    /// What for.
    pub what: What,
    /// The descriptor it waits on, if it is one.
    pub fd: Option<u32>,
    /// What is behind the descriptor: `pipe:[123]`, `socket:[456]`, or a path.
    pub object: Option<String>,
    /// Bytes that wait to be read there.
    pub fill_bytes: Option<u64>,
    /// Bytes that fit in there. A pipe may be full with less: it counts pages.
    pub capacity_bytes: Option<u64>,
    /// Who could end the wait.
    pub by: Vec<Holder>,
    /// Where its threads are in the program, the waiting one first. Empty if that cannot be told.
    #[serde(default)]
    pub stacks: Vec<Stack>,
}

/// Where a thread is in its program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stack {
    /// The thread.
    pub thread: u32,
    /// Its calls, the innermost first.
    pub frames: Vec<Frame>,
}

/// One call on a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// The language of the function.
    pub language: Language,
    /// Its name.
    pub function: String,
    /// The file it is in: of the source, or of a library without debug information.
    pub file: Option<String>,
    /// The line, if known.
    pub line: Option<u32>,
    /// Whether it belongs to a library, and not to the program.
    pub is_library: bool,
}

/// A programming language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Python.
    Python,
    /// Ruby.
    Ruby,
    /// Perl.
    Perl,
    /// C, C++, Rust and others that are compiled.
    Native,
}

/// A process that could end a wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// Its id.
    pub pid: u32,
    /// Its descriptor of the other end, if that is what makes it the one.
    pub fd: Option<u32>,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Nothing: it runs, or is ready to.
    Nothing,
    /// Data, or an end of file.
    Data,
    /// Room for data.
    Room,
    /// The end of a child.
    Child,
    /// Somebody to open the other end of a FIFO.
    Opener,
    /// A file lock.
    Lock,
    /// Another thread of the same process.
    Thread,
    /// One of several things.
    Any,
    /// A signal to continue.
    Continue,
    /// Something outside: time, disk, network, terminal, a signal.
    Outside,
    /// It cannot be told.
    Unknown,
}
