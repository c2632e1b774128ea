//! The processes that a stage started, as a tree, and the channels between them.

use crate::diagnosis::Finding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stage's process, its descendants, and who feeds whom among them, by samples.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProcessTree {
    /// The processes: parents before their children, the stage's own process first. Those with the same name and parent are
    /// one node.
    pub nodes: Vec<TreeNode>,
    /// The channels between processes of the tree, by any descriptor; those most waited on first.
    pub channels: Vec<TreeChannel>,
    /// How often the tree was sampled. The interval grows with the number of processes, to cost at most 1% of a core.
    pub samples: u32,
    /// Conclusions about its channels, the gravest first.
    pub findings: Vec<TreeFinding>,
    /// A deadlock among its processes, confirmed as `pelton doctor` does.
    pub deadlock: Option<Deadlock>,
}

impl ProcessTree {
    /// Whether a channel is the pipe of a pipeline: from the standard output to the standard input of processes with
    /// the same parent.
    pub fn is_pipeline(&self, channel: &TreeChannel) -> bool {
        let parent = |end: &TreeEnd| self.nodes.get(end.node).and_then(|node| node.parent);
        let siblings = |writer: &TreeEnd| {
            channel.readers.iter().all(|reader| reader.fd == 0 && parent(reader) == parent(writer))
        };
        channel.writers.iter().all(|writer| writer.fd == 1 && siblings(writer))
    }
}

/// Processes of the same name with the same parent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TreeNode {
    /// The node of their parent; `None` for the first one.
    pub parent: Option<usize>,
    /// Name of their program.
    pub name: String,
    /// The command line of the first of them.
    pub text: String,
    /// How many there were; of a stage in a pipeline, how many were seen.
    pub times: u64,
    /// Their own CPU time: exact if they were followed to their ends (a single command), otherwise that up to their last
    /// samples.
    pub cpu_ns: Option<u64>,
    /// The sum of their lives, known in the same way.
    pub wall_ns: Option<u64>,
    /// What they did; `None` if none lived until a sample.
    pub activity: Option<Activity>,
}

/// What processes did while they were sampled. The parts add up to `seen_ns`; time on a CPU is exact, samples split the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// Time covered by samples, summed over the processes.
    pub seen_ns: u64,
    /// Running or runnable.
    pub running_ns: u64,
    /// Blocked on read from a channel of the tree.
    pub reading_ns: u64,
    /// Blocked on write to a channel of the tree.
    pub writing_ns: u64,
    /// Waiting for a child to end.
    pub child_ns: u64,
    /// Asleep until a time.
    pub asleep_ns: u64,
    /// Waiting for a lock or another thread.
    pub lock_ns: u64,
    /// Waiting for a disk or a file system.
    pub disk_ns: u64,
    /// Waiting for something outside the tree: the network, a terminal, a pipe to another stage.
    pub outside_ns: u64,
    /// Waiting for a signal, stopped, or not to be seen.
    pub other_ns: u64,
    /// Samples behind this.
    pub samples: u32,
}

impl Activity {
    /// Adds the activity of another process.
    pub fn add(&mut self, other: &Activity) {
        self.seen_ns += other.seen_ns;
        self.running_ns += other.running_ns;
        self.reading_ns += other.reading_ns;
        self.writing_ns += other.writing_ns;
        self.child_ns += other.child_ns;
        self.asleep_ns += other.asleep_ns;
        self.lock_ns += other.lock_ns;
        self.disk_ns += other.disk_ns;
        self.outside_ns += other.outside_ns;
        self.other_ns += other.other_ns;
        self.samples += other.samples;
    }
}

/// A channel from some processes of the tree to others. Channels that join the same nodes at the same descriptors are one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TreeChannel {
    /// What it is.
    pub kind: ChannelKind,
    /// The path of a FIFO.
    pub path: Option<String>,
    /// How many there were.
    pub times: u64,
    /// The processes that write to it: those that were seen to wait, otherwise those that hold only this end.
    pub writers: Vec<TreeEnd>,
    /// The processes that read from it.
    pub readers: Vec<TreeEnd>,
    /// Whether its users hold both ends, as with a pool of tokens: then only waits tell who wrote and who read.
    #[serde(default)]
    pub shared: bool,
    /// How long it was seen open at both ends.
    #[serde(default)]
    pub open_ns: u64,
    /// How long a writer was blocked on write to it.
    pub write_blocked_ns: u64,
    /// How long a reader was blocked on read from it.
    pub read_blocked_ns: u64,
    /// The longest time for which a writer was blocked and did not run in between: nobody read.
    pub longest_unread_ns: u64,
    /// What the reader did while a writer was blocked.
    pub reader_meanwhile: Activity,
    /// What the writer did while a reader was blocked.
    pub writer_meanwhile: Activity,
    /// Its fill; `None` if it could not be inspected.
    pub fill: Option<ChannelFill>,
}

/// What a channel is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ChannelKind {
    /// An anonymous pipe.
    #[default]
    Pipe,
    /// A FIFO.
    Fifo,
    /// One direction of a socket pair or a local connection.
    Socket,
}

/// An end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct TreeEnd {
    /// Index into [`ProcessTree::nodes`].
    pub node: usize,
    /// The descriptor.
    pub fd: u32,
}

/// How full a channel was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelFill {
    /// What it holds at most, in bytes; `None` for a socket.
    pub capacity_bytes: Option<u64>,
    /// Bytes in it, on average over time.
    pub mean_bytes: u64,
    /// Share of the time in which it had no room for a writer.
    pub full_share: f64,
    /// Share of the time in which there was nothing in it.
    pub empty_share: f64,
    /// How often it was looked at.
    pub samples: u32,
}

/// A conclusion about a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeFinding {
    /// What it is.
    pub kind: TreeFindingKind,
    /// Index into [`ProcessTree::channels`]; `None` for a deadlock.
    pub channel: Option<usize>,
    /// One sentence.
    pub headline: String,
    /// One thing to do about it.
    pub advice: Option<String>,
}

/// What a conclusion about a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TreeFindingKind {
    /// No process of them can go on.
    Deadlock,
    /// The writer was blocked while the reader did not read at all.
    NotRead,
    /// The reader reads, but not as fast as the writer writes.
    SlowReader,
    /// The reader waits for what the writer has to say.
    SlowWriter,
}

/// A deadlock, and how long it lasted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Deadlock {
    /// How long none of its processes ran, until the last sample.
    pub lasted_ns: u64,
    /// The processes that wait for one another.
    pub finding: Finding,
}
