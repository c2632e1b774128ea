//! The steps that rules work on: the kernels of a segment while they are rearranged.

use crate::cost::Rate;
use crate::graph::{MakeKernel, Node, Resume, Work};
use crate::rules::Site;
use pelton_commands::{
    Accept, Accepted, ByteMap, ByteMapKernel, Class, Ending, Input, SortOptions, UniqOptions,
};
use pelton_stream::{Framing, Kernel};
use std::ops::Range;
use std::sync::Arc;

/// One kernel of a segment.
#[derive(Clone)]
pub struct Operator {
    /// The stages it stands for.
    pub stages: Range<usize>,
    /// Its inputs.
    pub inputs: Vec<Input>,
    /// Whether its inputs reach it as one stream without names, as through a pipe: a `cat` that read them was
    /// dropped.
    pub as_pipe: bool,
    /// Its work.
    pub shape: Shape,
    /// The real commands that continue from any record boundary (see [`Node::resume`]). Empty if there are
    /// none.
    pub resume: Vec<Resume>,
    /// See [`Node::from_end`].
    pub from_end: Option<Ending>,
    /// Whether it must read a pipe itself (see [`pelton_commands::InputFacts::depends_on_reads`]).
    pub needs_pipe: bool,
    /// See [`Node::ns_per_byte`].
    pub ns_per_byte: Option<f64>,
}

/// The work of a step.
#[derive(Clone)]
pub enum Shape {
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
        /// See [`Operator::real_maps`].
        real: Vec<Resume>,
    },
    /// The result of a rule.
    Made {
        /// Makes the kernel.
        make: SharedMake,
        /// Its description.
        label: String,
        /// The options of `sort | uniq`, if it is that.
        groups: Option<Box<(SortOptions, UniqOptions)>>,
    },
}

impl Shape {
    /// Makes the result of a rule.
    pub fn made(
        label: impl Into<String>,
        make: impl Fn() -> Accept<Box<dyn Kernel>> + Send + Sync + 'static,
    ) -> Shape {
        Shape::Made { make: Arc::new(make), label: label.into(), groups: None }
    }
}

/// Makes a fresh kernel, for several owners.
pub type SharedMake = Arc<dyn Fn() -> Accept<Box<dyn Kernel>> + Send + Sync>;

impl Operator {
    /// Makes the step of a single stage.
    pub fn own(stage: usize, accepted: Arc<Accepted>, rate: Option<Rate>) -> Operator {
        let Accepted { command, facts } = &*accepted;
        let resume = command.resume_args().map(|args| Resume { stage, args }).into_iter().collect();
        let inputs = command.inputs().to_vec();
        Operator {
            stages: stage..stage + 1,
            inputs,
            as_pipe: false,
            from_end: facts.input.needed_end,
            needs_pipe: facts.input.depends_on_reads,
            shape: Shape::Own { stage, accepted },
            resume,
            ns_per_byte: rate.and_then(|rate| rate.native),
        }
    }

    /// Merges this step and the next one into one that never falls back, with this cost per byte in ns.
    pub fn with(&self, next: &Operator, shape: Shape, ns_per_byte: Option<f64>) -> Operator {
        let Operator { inputs, as_pipe, .. } = self.clone();
        let stages = self.stages.start..next.stages.end;
        let needs_pipe = self.needs_pipe || next.needs_pipe;
        Operator {
            stages,
            inputs,
            as_pipe,
            shape,
            resume: Vec::new(),
            from_end: None,
            needs_pipe,
            ns_per_byte,
        }
    }

    /// Returns its command, if it is the work of a single stage.
    pub fn own_command(&self) -> Option<&Arc<Accepted>> {
        match &self.shape {
            Shape::Own { accepted, .. } => Some(accepted),
            _ => None,
        }
    }

    /// Whether it only copies its input.
    pub fn only_copies(&self) -> bool {
        self.own_command().is_some_and(|accepted| accepted.facts.only_copies())
    }

    /// Returns its map, if it only maps bytes.
    pub fn byte_map(&self) -> Option<ByteMap> {
        match &self.shape {
            Shape::Map { map, .. } => Some((**map).clone()),
            Shape::Own { accepted, .. } => match &accepted.facts.class {
                Class::ByteMap(map) => Some((**map).clone()),
                _ => None,
            },
            Shape::Made { .. } => None,
        }
    }

    /// Returns the real commands that map the same bytes, if it only maps bytes. They can take over anywhere.
    /// Empty if there are none.
    pub fn real_maps(&self, site: &Site) -> Vec<Resume> {
        match &self.shape {
            Shape::Map { real, .. } => real.clone(),
            Shape::Own { .. } if !self.resume.is_empty() => self.resume.clone(),
            Shape::Own { stage, accepted } if accepted.command.inputs() == [Input::Stdin] => {
                vec![Resume { stage: *stage, args: site.stages[*stage].args.clone() }]
            }
            _ => Vec::new(),
        }
    }

    /// Returns its arguments, if it is the command of this name.
    pub fn args_of<'a>(&self, name: &str, site: &'a Site) -> Option<&'a [Vec<u8>]> {
        match self.shape {
            Shape::Own { stage, .. } if site.stages[stage].name == name => Some(&site.stages[stage].args),
            _ => None,
        }
    }

    /// Whether it reads only its predecessor.
    pub fn reads_pipe(&self) -> bool {
        self.inputs == [Input::Stdin]
    }

    /// Returns its description: its commands, unless a rule has a better one.
    pub fn label(&self, site: &Site) -> String {
        match &self.shape {
            Shape::Own { stage, .. } => site.stages[*stage].shown.clone(),
            Shape::Map { .. } => "one byte map".to_owned(),
            Shape::Made { label, .. } => label.clone(),
        }
    }

    /// Returns the maker of its kernel, before its inputs are joined.
    fn make(&self) -> SharedMake {
        match &self.shape {
            Shape::Own { accepted, .. } => {
                let accepted = Arc::clone(accepted);
                Arc::new(move || accepted.command.kernel())
            }
            Shape::Map { map, .. } => {
                let map = map.clone();
                Arc::new(move || Ok(Box::new(ByteMapKernel::new(&map)) as Box<dyn Kernel>))
            }
            Shape::Made { make, .. } => Arc::clone(make),
        }
    }

    /// Returns how its kernel's input must be cut.
    pub fn framing(&self) -> Accept<Framing> {
        self.make()().map(|kernel| kernel.framing())
    }

    /// Converts it to a node for the runner.
    pub(crate) fn into_node(self, site: &Site) -> Node {
        let label = self.label(site);
        let make = self.make();
        let work = match self.shape {
            Shape::Own { accepted, .. }
                if !self.as_pipe && self.stages.len() == 1 && accepted.command.inputs() == self.inputs =>
            {
                Work::Command(accepted)
            }
            _ => Work::Rewritten {
                make: shared(make, self.as_pipe.then_some(self.inputs.len())),
                inputs: self.inputs,
                label,
            },
        };
        let from_end = if work.inputs().len() == 1 || !self.as_pipe { self.from_end } else { None };
        let Operator { stages, resume, needs_pipe, ns_per_byte, .. } = self;
        Node { stages, work, resume, from_end, needs_pipe, ns_per_byte }
    }
}

/// Makes the kernel for the runner, with its inputs as one pipe if `as_pipe`.
fn shared(make: SharedMake, as_pipe: Option<usize>) -> MakeKernel {
    match as_pipe {
        None => Box::new(move || make()),
        Some(inputs) => {
            Box::new(move || Ok(Box::new(crate::rules::Piped::new(make()?, inputs)) as Box<dyn Kernel>))
        }
    }
}
