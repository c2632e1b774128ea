//! Reports what would not run natively, before anything runs.

use super::choose::each_pipeline;
use super::unit::Unit;
use crate::environ::Environment;
use crate::plan::{Plan, Request};
use crate::stage::Kind;
use pelton_plan::{Outcome, Switches};
use pelton_record::Span;

/// A stage that would stay a process, or run in the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stays {
    /// Its position in the text.
    pub span: Span,
    /// The reason.
    pub reason: String,
}

/// Returns the stages that would not run natively, and the number of all stages; `Err` if the shell would run
/// the whole text, with the reason to follow 'because of'.
///
/// Checks files as they are now: a pipeline that reads the output of an earlier one counts as not native.
pub fn stays(
    plan: &Plan,
    request: &Request,
    environment: &Environment,
    switches: &Switches,
) -> Result<(Vec<Stays>, usize), String> {
    if let Plan::Whole { reason } = plan {
        return Err(reason.clone());
    }
    let (mut found, mut count, mut first) = (Vec::new(), 0, true);
    each_pipeline(plan, request, environment, switches, &mut |pipeline, planned, units| {
        let native = |at: usize| {
            units.iter().any(|unit| matches!(unit, Unit::Native(native) if native.stages.contains(&at)))
        };
        for (at, stage) in pipeline.stages.iter().enumerate() {
            // pelton runs a builtin without side effects itself.
            if matches!(stage.kind, Kind::Builtin(_)) {
                continue;
            }
            let reason = match planned.decisions.get(at).map(|decision| &decision.outcome) {
                Some(Outcome::Declined(reason)) => reason.clone(),
                _ if first && !native(at) => NOT_PLAIN.to_owned(),
                _ => continue,
            };
            found.push(Stays { span: stage.span, reason });
        }
        count += pipeline.stages.len();
        first = false;
    });
    Ok((found, count))
}

/// The reason if the planner accepted a stage, but its files cannot be used.
const NOT_PLAIN: &str =
    "what its pass reads or writes is no plain file, pipe or device that is there and may be opened";
