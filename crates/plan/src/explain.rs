//! The plan in words, for people and for programs. Pure: no colour, no terminal.

use crate::graph::{Decision, Outcome, Planned, Segment, StageNote, Work};
use serde::Serialize;
use std::fmt::Write;
use std::ops::Range;

/// A plan as data: what [`Planned::explain`] says, for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The stages.
    pub stages: Vec<StageNote>,
    /// How they run.
    pub segments: Vec<SegmentSummary>,
    /// What was decided: about each stage, in their order, and then by rules.
    pub decisions: Vec<Decision>,
}

/// How some neighbouring stages run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SegmentSummary {
    /// In one native pass, or as the real command.
    pub native: bool,
    /// Which stages.
    pub stages: Range<usize>,
    /// The kernels of the pass. Empty for a process.
    pub nodes: Vec<NodeSummary>,
}

/// One kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeSummary {
    /// The stages that it stands for.
    pub stages: Range<usize>,
    /// What it is.
    pub label: String,
    /// It prints nothing before the end of its input (P8).
    pub blocks_until_eof: bool,
}

impl Planned {
    /// The plan as data.
    pub fn summary(&self) -> Summary {
        let segments = self.segments.iter().map(|segment| self.segment(segment)).collect();
        Summary { stages: self.stages.clone(), segments, decisions: self.decisions.clone() }
    }

    fn segment(&self, segment: &Segment) -> SegmentSummary {
        match segment {
            Segment::Process(stage) => {
                SegmentSummary { native: false, stages: *stage..*stage + 1, nodes: Vec::new() }
            }
            Segment::Native { stages, nodes } => {
                let node = |node: &crate::Node| NodeSummary {
                    stages: node.stages.clone(),
                    label: self.label(node),
                    blocks_until_eof: self.blocks(&node.stages),
                };
                let nodes = nodes.iter().map(node).collect();
                SegmentSummary { native: true, stages: stages.clone(), nodes }
            }
        }
    }

    fn label(&self, node: &crate::Node) -> String {
        match &node.work {
            Work::Rewritten { label, .. } => label.clone(),
            Work::Command(_) => self.shown(&node.stages),
        }
    }

    /// These stages as they are written.
    fn shown(&self, stages: &Range<usize>) -> String {
        let shown: Vec<&str> = self.stages[stages.clone()].iter().map(|stage| stage.shown.as_str()).collect();
        shown.join(" | ")
    }

    /// One of them waits for the end of its input.
    fn blocks(&self, stages: &Range<usize>) -> bool {
        self.stages[stages.clone()].iter().any(|stage| stage.blocks_until_eof == Some(true))
    }

    /// Why this stage stays a process.
    fn reason(&self, stage: usize) -> &str {
        match self.decisions.get(stage).map(|decision| &decision.outcome) {
            Some(Outcome::Declined(reason)) => reason,
            _ => "",
        }
    }

    /// The plan as a tree, and then every rule that fired or declined, with its reason.
    ///
    /// ```text
    /// one native pass
    /// ├─ tr A-Z a-z
    /// └─ sort the distinct lines   (for sort | uniq -c; waits for the end of its input)
    /// awk '{print $2}', a process: awk has no kernel
    ///
    /// ✓ sort-uniq: identical lines are counted as they arrive, and only the distinct ones sorted
    ///   sort | uniq -c
    /// ```
    pub fn explain(&self, unicode: bool) -> String {
        let signs = if unicode { &UNICODE } else { &ASCII };
        let mut text = String::new();
        for segment in self.summary().segments {
            self.tell_segment(&segment, signs, &mut text);
        }
        let rules = self.decisions.get(self.stages.len()..).unwrap_or(&[]);
        if !rules.is_empty() {
            text.push('\n');
        }
        for decision in rules {
            let (sign, words) = match &decision.outcome {
                Outcome::Fired(gain) => (signs.fired, gain),
                Outcome::Declined(reason) => (signs.declined, reason),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{sign} {}: {words}\n  {}", decision.name, self.shown(&decision.stages));
        }
        text
    }

    fn tell_segment(&self, segment: &SegmentSummary, signs: &Signs, text: &mut String) {
        if !segment.native {
            let stage = segment.stages.start;
            let waits = if self.blocks(&segment.stages) { WAITS } else { "" };
            let shown = &self.stages[stage].shown;
            let notes = notes(&[waits]);
            let _ = writeln!(text, "{shown}, a process: {}{notes}", self.reason(stage));
            return;
        }
        text.push_str("one native pass\n");
        for (at, node) in segment.nodes.iter().enumerate() {
            let branch = if at + 1 == segment.nodes.len() { signs.last } else { signs.branch };
            let stages = self.shown(&node.stages);
            let stands_for = if stages == node.label { String::new() } else { format!("for {stages}") };
            let waits = if node.blocks_until_eof { WAITS } else { "" };
            let _ = writeln!(text, "{branch} {}{}", node.label, notes(&[&stands_for, waits]));
        }
    }
}

const WAITS: &str = "waits for the end of its input";

struct Signs {
    branch: &'static str,
    last: &'static str,
    fired: &'static str,
    declined: &'static str,
}

const UNICODE: Signs = Signs { branch: "├─", last: "└─", fired: "✓", declined: "–" };
const ASCII: Signs = Signs { branch: "|-", last: "`-", fired: "+", declined: "-" };

/// In parentheses, those that say anything.
fn notes(notes: &[&str]) -> String {
    let said: Vec<&str> = notes.iter().copied().filter(|note| !note.is_empty()).collect();
    if said.is_empty() { String::new() } else { format!("   ({})", said.join("; ")) }
}

#[cfg(test)]
mod tests {
    use crate::Switches;
    use crate::testing::planned;

    #[test]
    fn a_tree_with_reasons() {
        let plan = planned(
            "cat f g | tr a b | tr b c | sort | uniq -c | nosuch -x 'y$' | sort -u g | wc -l",
            false,
            &Switches::default(),
        );
        assert_eq!(
            plan.explain(true),
            "\
one native pass
├─ one byte map   (for cat f g | tr a b | tr b c)
└─ sort the distinct lines   (for sort | uniq -c; waits for the end of its input)
nosuch -x 'y$', a process: nosuch has no kernel
sort -u g, a process: it does not read the pipe, and what feeds it must see that   (waits for the end of its input)
one native pass
└─ wc -l   (waits for the end of its input)

✓ drop-cat: tr a b reads what cat would pass on
  cat f g | tr a b
✓ compose-byte-maps: cat f g | tr a b | tr b c is one byte map: one pass over each byte
  cat f g | tr a b | tr b c
✓ sort-uniq: identical lines are counted as they arrive, and only the distinct ones sorted
  sort | uniq -c
"
        );
    }

    #[test]
    fn plain_signs_and_refusals() {
        let plan = planned("sort f | uniq -i", false, &Switches::default());
        assert_eq!(
            plan.explain(false),
            "\
one native pass
|- sort f   (waits for the end of its input)
`- uniq -i

- sort-uniq: uniq does not compare whole lines
  sort f | uniq -i
"
        );
    }
}
