//! One kernel of a native pass: what rules move, merge and replace, and what the runner drives.

use crate::join_of_pipes::Piped;
use pelton_commands::cost::Rate;
use pelton_commands::with_nul_line_ends;
use pelton_commands::{
    Accept, Accepted, ByteMap, ByteMapKernel, ChildProgram, Class, Content, Copies, Ending, Facts, Input,
    SortOptions, UniqOptions,
};
use pelton_stream::{Framing, JoinKernel, Kernel, Notice};
use std::ops::Range;
use std::sync::Arc;

/// One kernel of a native pass.
#[derive(Clone, Debug)]
pub struct Node {
    /// The stages it stands for: one, or several merged by a rule.
    pub stages: Range<usize>,
    /// Its inputs. Only the first node of a segment may read anything but its predecessor.
    pub inputs: Vec<Input>,
    /// Whether its inputs reach it as one stream without names, as through a pipe: a `cat` that read them was
    /// dropped.
    pub as_pipe: bool,
    /// Its work.
    pub work: Work,
    /// The real commands that continue from any record boundary if its kernel falls back (see
    /// [`pelton_stream::HandOver`]), left to right, the first of them from standard input. Never empty if its
    /// kernel may fall back.
    pub resume: Vec<Resume>,
    /// How much of the end of its input it needs, if it reads one file: the rest need not be read.
    pub from_end: Option<Ending>,
    /// Whether it must read a pipe itself instead of getting another kernel's output (see
    /// [`pelton_commands::InputFacts::depends_on_reads`]).
    pub needs_pipe: bool,
    /// Whether its input holds no NUL.
    pub gets_no_nul: bool,
    /// Whether a NUL ends a line of its input (see [`pelton_commands::InputFacts::nul_ends_lines`]).
    pub nul_ends_lines: bool,
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

/// The work of a node.
#[derive(Clone)]
pub enum Work {
    /// The work of a single stage.
    Own {
        /// The index of the stage.
        stage: usize,
        /// Its command.
        accepted: Arc<Accepted>,
    },
    /// A byte map composed of several.
    Map {
        /// The composed map.
        map: Box<ByteMap>,
        /// The real commands that map the same bytes. Empty if there are none.
        real: Vec<Resume>,
    },
    /// The result of a rule.
    Made {
        /// Makes the kernel.
        make: MakeKernel,
        /// Its description, for `explain`: `count distinct lines by hashing`.
        label: String,
        /// The options of `sort | uniq`, if it is that.
        groups: Option<Box<(SortOptions, UniqOptions)>>,
    },
}

/// Makes a fresh kernel.
pub type MakeKernel = Arc<dyn Fn() -> Accept<Box<dyn Kernel>> + Send + Sync>;

impl Work {
    /// Makes the result of a rule.
    pub fn made(
        label: impl Into<String>,
        make: impl Fn() -> Accept<Box<dyn Kernel>> + Send + Sync + 'static,
    ) -> Work {
        Work::Made { make: Arc::new(make), label: label.into(), groups: None }
    }
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Work::Own { accepted, .. } => write!(f, "Own({:?})", accepted.command),
            Work::Map { .. } => write!(f, "Map"),
            Work::Made { label, .. } => write!(f, "Made({label})"),
        }
    }
}

impl Node {
    /// Makes the node of a single stage.
    pub fn own(stage: usize, accepted: Arc<Accepted>, rate: Option<Rate>) -> Node {
        let Accepted { command, facts } = &*accepted;
        let resume = command.resume_args().map(|args| Resume { stage, args }).into_iter().collect();
        let inputs = command.inputs().to_vec();
        Node {
            stages: stage..stage + 1,
            inputs,
            as_pipe: false,
            from_end: facts.input.needed_end,
            needs_pipe: facts.input.depends_on_reads,
            gets_no_nul: false,
            nul_ends_lines: facts.input.nul_ends_lines,
            work: Work::Own { stage, accepted },
            resume,
            ns_per_byte: rate.and_then(|rate| rate.native),
        }
    }

    /// Merges this node and the next one into one that never falls back, with this cost per byte in ns.
    pub fn with(&self, next: &Node, work: Work, ns_per_byte: Option<f64>) -> Node {
        Node {
            stages: self.stages.start..next.stages.end,
            needs_pipe: self.needs_pipe || next.needs_pipe,
            gets_no_nul: false,
            ..self.replaced(work, ns_per_byte)
        }
    }

    /// Returns this node with other work, which never falls back, at this cost per byte in ns.
    pub fn replaced(&self, work: Work, ns_per_byte: Option<f64>) -> Node {
        Node { from_end: None, work, resume: Vec::new(), ns_per_byte, ..self.clone() }
    }

    /// Returns its command, if it is the work of a single stage.
    pub fn own_command(&self) -> Option<&Arc<Accepted>> {
        match &self.work {
            Work::Own { accepted, .. } => Some(accepted),
            _ => None,
        }
    }

    /// Whether it only copies its input.
    pub fn only_copies(&self) -> bool {
        self.own_command().is_some_and(|accepted| accepted.facts.only_copies())
    }

    /// Returns its map, if it only maps bytes.
    pub fn byte_map(&self) -> Option<ByteMap> {
        match &self.work {
            Work::Map { map, .. } => Some((**map).clone()),
            Work::Own { accepted, .. } => match &accepted.facts.class {
                Class::ByteMap(map) => Some((**map).clone()),
                _ => None,
            },
            Work::Made { .. } => None,
        }
    }

    /// Returns which bytes its output can hold if its input holds these.
    pub(crate) fn content_after(&self, input: Content) -> Content {
        match &self.work {
            Work::Own { accepted, .. } => accepted.facts.content_after(input),
            Work::Map { map, .. } => Facts::of_map(map).content_after(input),
            // Lines of the input, and their numbers.
            Work::Made { groups: Some(groups), .. } if groups.0.terminator == b'\n' => input,
            Work::Made { .. } => Content::Bytes,
        }
    }

    /// Whether it reads only its predecessor.
    pub fn reads_pipe(&self) -> bool {
        self.inputs == [Input::Stdin]
    }

    /// Returns its description, if `shown` returns a stage as written: its command, unless a rule has a better
    /// one.
    pub fn label<'a>(&'a self, shown: impl Fn(usize) -> &'a str) -> &'a str {
        match &self.work {
            Work::Own { stage, .. } => shown(*stage),
            Work::Map { .. } => "one byte map",
            Work::Made { label, .. } => label,
        }
    }

    /// Returns its command, unless a rule changed what that does, reads or stands for.
    fn unchanged(&self) -> Option<&Accepted> {
        let accepted = self.own_command().filter(|_| !self.as_pipe && self.stages.len() == 1)?;
        (accepted.command.inputs() == self.inputs).then_some(accepted)
    }

    /// Whether a rule made or changed it.
    pub fn is_rewritten(&self) -> bool {
        self.unchanged().is_none()
    }

    /// Returns a fresh join kernel, if it reads several inputs in parallel. Only the first node of a segment
    /// does.
    pub fn join_kernel(&self) -> Option<Box<dyn JoinKernel>> {
        self.unchanged()?.command.join_kernel().ok()
    }

    /// Returns the files that get a copy of the stream: the node is a tee, and the driver makes its kernel.
    pub fn copies(&self) -> Option<&Copies> {
        self.unchanged()?.facts.output.copies.as_ref()
    }

    /// Returns the program that it would start for its input.
    pub fn child(&self) -> Option<&ChildProgram> {
        self.unchanged()?.facts.child.as_ref()
    }

    /// Returns a fresh kernel. It was made once while planning, so data cannot cause an error here.
    pub fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let mut kernel = match &self.work {
            Work::Own { accepted, .. } => accepted.command.kernel()?,
            Work::Map { map, .. } => Box::new(ByteMapKernel::new(map)),
            Work::Made { make, .. } if self.nul_ends_lines => with_nul_line_ends(make()?),
            Work::Made { make, .. } => make()?,
        };
        if self.gets_no_nul {
            kernel.notice(Notice::InputWithoutNul);
        }
        Ok(if self.as_pipe { Box::new(Piped::new(kernel, self.inputs.len())) } else { kernel })
    }

    /// Returns how its kernel's input must be cut.
    pub fn framing(&self) -> Accept<Framing> {
        self.kernel().map(|kernel| kernel.framing())
    }

    /// Returns it as the runner gets it: the end of several files that are one stream is not the end of a file.
    pub(crate) fn finished(mut self) -> Node {
        if self.as_pipe && self.inputs.len() != 1 {
            self.from_end = None;
        }
        self
    }
}
