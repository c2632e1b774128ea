//! Which stages of a pipeline run natively, fused and rewritten, and why the others do not.
//!
//! plan opens no files and starts no processes: it is given what each stage is, and answers with segments. Every
//! rewrite is one file in [`rules`], with its proof in words; each has a name and can be switched off.

mod graph;
pub mod rules;

pub use graph::{Candidate, Decision, MakeKernel, Node, Outcome, Planned, Resume, Segment, Surroundings, Switches, Work};
