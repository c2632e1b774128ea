//! Invariants checked after every rule.

use crate::node::Node;
use pelton_stream::Framing;
use std::ops::Range;

/// Returns an error in the nodes of a segment, if any.
pub(crate) fn fault(nodes: &[Node], segment: &Range<usize>) -> Option<String> {
    let mut next = segment.start;
    for (at, node) in nodes.iter().enumerate() {
        if node.stages.start != next || node.stages.is_empty() {
            return Some(format!("node {at} stands for {:?}, and stage {next} is the next", node.stages));
        }
        next = node.stages.end;
        if at > 0 && !node.reads_pipe() {
            return Some(format!("node {at} reads {:?}", node.inputs));
        }
        if node.resume.iter().any(|resume| !node.stages.contains(&resume.stage)) {
            return Some(format!("node {at} hands over to a stage that is not its own"));
        }
        if node.as_pipe && node.inputs.len() > 1 && node.framing() != Ok(Framing::Bytes) {
            return Some(format!("node {at} wants records of several files that run into each other"));
        }
    }
    (next != segment.end).then(|| format!("stage {next} and those behind it are lost"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Work;
    use pelton_commands::{ByteMap, Input};

    fn map(stages: Range<usize>, inputs: Vec<Input>) -> Node {
        let work = Work::Map { map: Box::new(ByteMap::identity()), real: Vec::new() };
        Node {
            stages,
            inputs,
            as_pipe: false,
            work,
            resume: Vec::new(),
            from_end: None,
            needs_pipe: false,
            gets_no_nul: false,
            nul_ends_lines: false,
            ns_per_byte: None,
        }
    }

    #[test]
    fn each_stage_once_and_in_order() {
        let pipe = || vec![Input::Stdin];
        let file = || vec![Input::File(b"f".to_vec())];
        let fine = [map(3..4, file()), map(4..6, pipe())];
        assert_eq!(fault(&fine, &(3..6)), None);
        for (nodes, segment) in [
            (vec![map(0..1, pipe()), map(2..3, pipe())], 0..3),
            (vec![map(0..2, pipe()), map(1..3, pipe())], 0..3),
            (vec![map(0..1, pipe())], 0..2),
            (vec![map(0..1, pipe()), map(1..2, file())], 0..2),
            (vec![map(0..0, pipe()), map(0..1, pipe())], 0..1),
        ] {
            assert!(fault(&nodes, &segment).is_some());
        }
    }
}
