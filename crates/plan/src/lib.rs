//! Decides which stages of a pipeline run natively, fused and rewritten, and why the others do not.
//!
//! plan opens no files and starts no processes: its input describes each stage, and its output is segments.
//! Every rewrite is one file in [`rules`], with its proof in words; each has a name and can be disabled.
//!
//! ```text
//!   candidates ─ verdict ─▶ native or process, per stage ─ segments ─▶ runs of native neighbours
//!              ─ rules ─▶ fewer, better kernels ─ check ─▶ Planned ─ explain ─▶ text
//! ```

mod advice;
mod check;
mod cost;
mod dot;
mod estimate;
mod explain;
mod graph;
mod join_of_pipes;
mod layout;
mod node;
mod parts;
mod plan;
pub mod rules;
mod segments;
mod summary;
#[cfg(test)]
mod testing;
mod verdict;

pub use advice::{ON_MAKE, is_make};
pub use estimate::Estimate;
pub use explain::Drawing;
pub use graph::{
    Candidate, Decision, Outcome, Planned, Segment, StageNote, Surroundings, Switches, may_have_enough,
};
pub use node::{MakeKernel, Node, Resume, Work};
pub use pelton_commands::cost::Rate;
pub use plan::{Named, describe_names, list_names, plan};
pub use summary::{NodeSummary, SegmentSummary, Summary};
