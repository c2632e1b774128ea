//! What must hold after every rule.

use crate::step::Step;
use pelton_stream::Framing;
use std::ops::Range;

/// What is wrong with the steps of a segment, if anything.
pub(crate) fn fault(steps: &[Step], segment: &Range<usize>) -> Option<String> {
    let mut next = segment.start;
    for (at, step) in steps.iter().enumerate() {
        if step.stages.start != next || step.stages.is_empty() {
            return Some(format!("step {at} stands for {:?}, and stage {next} is the next", step.stages));
        }
        next = step.stages.end;
        if at > 0 && !step.reads_pipe() {
            return Some(format!("step {at} reads {:?}", step.inputs));
        }
        if step.resume.iter().any(|resume| !step.stages.contains(&resume.stage)) {
            return Some(format!("step {at} hands over to a stage that is not its own"));
        }
        if step.as_pipe && step.inputs.len() > 1 && step.framing() != Ok(Framing::Bytes) {
            return Some(format!("step {at} wants records of several files that run into each other"));
        }
    }
    (next != segment.end).then(|| format!("stage {next} and those behind it are lost"))
}
