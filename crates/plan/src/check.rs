//! Invariants checked after every rule.

use crate::step::Operator;
use pelton_stream::Framing;
use std::ops::Range;

/// Returns an error in the steps of a segment, if any.
pub(crate) fn fault(steps: &[Operator], segment: &Range<usize>) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Shape;
    use pelton_commands::{ByteMap, Input};

    fn map(stages: Range<usize>, inputs: Vec<Input>) -> Operator {
        let shape = Shape::Map { map: Box::new(ByteMap::identity()), real: Vec::new() };
        Operator {
            stages,
            inputs,
            as_pipe: false,
            shape,
            resume: Vec::new(),
            from_end: None,
            needs_pipe: false,
            ns_per_byte: None,
        }
    }

    #[test]
    fn each_stage_once_and_in_order() {
        let pipe = || vec![Input::Stdin];
        let file = || vec![Input::File(b"f".to_vec())];
        let fine = [map(3..4, file()), map(4..6, pipe())];
        assert_eq!(fault(&fine, &(3..6)), None);
        for (steps, segment) in [
            (vec![map(0..1, pipe()), map(2..3, pipe())], 0..3),
            (vec![map(0..2, pipe()), map(1..3, pipe())], 0..3),
            (vec![map(0..1, pipe())], 0..2),
            (vec![map(0..1, pipe()), map(1..2, file())], 0..2),
            (vec![map(0..0, pipe()), map(0..1, pipe())], 0..1),
        ] {
            assert!(fault(&steps, &segment).is_some());
        }
    }
}
