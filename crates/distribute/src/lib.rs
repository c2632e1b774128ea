//! The same pipeline on several workers, with the bytes and the status of one machine.
//!
//! ```text
//! text ──Work::of──▶ stages for the parts, how to merge, stages for the end
//! files ──cut──▶ parts, each of whole lines          both ──▶ Job (plan.json)
//! worker: part ──▶ pelton run 'stages' ──▶ part file, committed once
//! driver: part files in order ──▶ merge ──▶ pelton run 'the end'
//! ```
//!
//! The leading stages run on each part of the input if each treats lines by themselves; one stage behind them may do as well
//! if its outputs can be merged ([`OverParts`](pelton_commands::OverParts)). All others run on the driver's machine over the merged output, so what cannot be shared is
//! slower but never different. A part that says anything on its standard error, ends with an error, or holds bytes that a
//! stage does not take for text makes the whole text run on the driver's machine instead: nothing was printed by then.

mod counted;
mod cut;
mod feed;
mod finish;
mod fold;
mod job;
mod numbered;
mod schedule;
mod work;
mod worker;

pub use cut::{Cuts, Piece, parts};
pub use finish::finish;
pub use fold::run_fold;
pub use job::{InputFile, Job, JobError, PartResult, Tool};
pub use schedule::{Attempt, AttemptEnd, Event, Launcher, Outcome, Progress, run_parts};
pub use work::{Check, Division, Merge, PartStatus, Suffices, Work};
pub use worker::{check_machine, run_part};
