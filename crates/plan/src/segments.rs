//! Groups adjacent native stages into segments; a stage that gains nothing alone stays a process.

use crate::graph::{Candidate, Segment};
use pelton_commands::{Accept, Declined, Facts, Input};

/// Groups the stages, and reverts the verdict on a stage that is useless alone. Native segments have no nodes yet.
pub(crate) fn segments(candidates: &[Candidate], verdicts: &mut [Accept<&Facts>]) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    for (at, verdict) in verdicts.iter().enumerate() {
        match (verdict, segments.last_mut()) {
            (Err(_), _) => segments.push(Segment::Process(at)),
            (Ok(_), Some(Segment::Native { stages, .. }))
                if reads_only_pipe(&candidates[at])
                    && candidates[at].drops_messages == candidates[at - 1].drops_messages =>
            {
                stages.end = at + 1;
            }
            (Ok(_), _) => segments.push(Segment::Native { stages: at..at + 1, nodes: Vec::new() }),
        }
    }
    for segment in &mut segments {
        let Segment::Native { stages, .. } = segment else { continue };
        let at = stages.start;
        if stages.len() == 1
            && let Some(reason) = no_use_alone(at, &candidates[at])
        {
            verdicts[at] = Declined::because(reason);
            *segment = Segment::Process(at);
        }
    }
    segments
}

/// Returns why a native stage without native neighbours should stay a process.
fn no_use_alone(at: usize, candidate: &Candidate) -> Option<&'static str> {
    let facts = candidate.facts()?;
    // tee gains: it writes larger pieces than the real one.
    if facts.only_copies() {
        return Some("alone it only copies, which the real one does as well");
    }
    let takes_pipe = at > 0 && reads_only_pipe(candidate) && !candidate.redirects_stdin;
    if takes_pipe && facts.input.needed_end.is_some() {
        // A pipe is read from its beginning, and by the real tail in small pieces.
        return None;
    }
    facts.no_gain_alone
}

/// Whether it reads only the pipe: only the first stage of a segment may read anything else.
fn reads_only_pipe(candidate: &Candidate) -> bool {
    candidate.inputs() == [Input::Stdin]
}
