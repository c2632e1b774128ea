//! The plan as data, for programs. docs/explain.md describes it; fields are only ever added.

use crate::estimate::Estimate;
use crate::graph::{Decision, Outcome, Planned, Segment, StageNote};
use crate::node::Node;
use serde::Serialize;
use std::ops::Range;

/// A plan as data: the content of [`Planned::explain`], for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The stages.
    pub stages: Vec<StageNote>,
    /// How they run.
    pub segments: Vec<SegmentSummary>,
    /// The decisions: about each stage, in order, and then by rules.
    pub decisions: Vec<Decision>,
    /// The estimated savings. `None` if every stage stays a process.
    pub estimate: Option<Estimate>,
    /// What the user could change, in sentences.
    pub advice: Vec<String>,
}

/// How some adjacent stages run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SegmentSummary {
    /// Whether they run in one native pass, or as the real command.
    pub native: bool,
    /// The stages.
    pub stages: Range<usize>,
    /// The kernels of the pass. Empty for a process.
    pub nodes: Vec<NodeSummary>,
    /// Why it is a process. `None` for a native pass.
    pub reason: Option<String>,
}

/// One kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeSummary {
    /// The stages it stands for.
    pub stages: Range<usize>,
    /// Its description.
    pub label: String,
    /// Whether it prints nothing before the end of its input (P8).
    pub blocks_until_eof: bool,
    /// Whether it may end before its input, which then ends everything before it.
    pub stops_early: bool,
    /// Whether it reads only the end of a regular file.
    pub reads_from_end: bool,
    /// The rules that made it.
    pub rules: Vec<String>,
}

impl Planned {
    /// Returns the plan as data.
    pub fn summary(&self) -> Summary {
        Summary {
            stages: self.stages.clone(),
            segments: self.segments.iter().map(|segment| self.segment(segment)).collect(),
            decisions: self.decisions.clone(),
            estimate: self.estimate(),
            advice: self.advice.clone(),
        }
    }

    fn segment(&self, segment: &Segment) -> SegmentSummary {
        match segment {
            Segment::Process(stage) => SegmentSummary {
                native: false,
                stages: *stage..*stage + 1,
                nodes: Vec::new(),
                reason: Some(self.reason(*stage).to_owned()),
            },
            Segment::Native { stages, nodes } => SegmentSummary {
                native: true,
                stages: stages.clone(),
                nodes: nodes.iter().map(|node| self.node(node)).collect(),
                reason: None,
            },
        }
    }

    fn node(&self, node: &Node) -> NodeSummary {
        let any = |is: fn(&StageNote) -> Option<bool>| {
            self.stages[node.stages.clone()].iter().any(|stage| is(stage) == Some(true))
        };
        let blocks_until_eof = any(|stage| stage.blocks_until_eof);
        NodeSummary {
            stages: node.stages.clone(),
            label: self.label(node).to_owned(),
            blocks_until_eof,
            // A blocking node no longer stops its upstream.
            stops_early: any(|stage| stage.stops_early) && !blocks_until_eof,
            reads_from_end: node.from_end.is_some(),
            rules: self.rules_of(node),
        }
    }

    /// Returns the description of a node.
    pub fn label<'a>(&'a self, node: &'a Node) -> &'a str {
        node.label(|stage| &self.stages[stage].shown)
    }

    /// Returns the rules that made this node, each once; none for a command's own kernel.
    pub fn rules_of(&self, node: &Node) -> Vec<String> {
        let mut rules: Vec<String> = Vec::new();
        if !node.is_rewritten() {
            return rules;
        }
        let within =
            |inner: &Range<usize>, outer: &Range<usize>| outer.start <= inner.start && inner.end <= outer.end;
        // Decisions on single stages come first; they are no rules. A rule that left two nodes counts for
        // both.
        for decision in self.decisions.iter().skip(self.stages.len()) {
            let here = within(&decision.stages, &node.stages) || within(&node.stages, &decision.stages);
            if here && matches!(decision.outcome, Outcome::Fired(_)) && !rules.contains(&decision.name) {
                rules.push(decision.name.clone());
            }
        }
        rules
    }

    /// Returns these stages as written.
    pub(crate) fn shown(&self, stages: &Range<usize>) -> String {
        let shown: Vec<&str> = self.stages[stages.clone()].iter().map(|stage| stage.shown.as_str()).collect();
        shown.join(" | ")
    }

    /// Returns why this stage stays a process.
    pub(crate) fn reason(&self, stage: usize) -> &str {
        match self.decisions.get(stage).map(|decision| &decision.outcome) {
            Some(Outcome::Declined(reason)) => reason,
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Switches;
    use crate::testing::planned;

    #[test]
    fn a_rule_made_what_it_changed() {
        let rules = |text: &str| -> Vec<Vec<String>> {
            let summary = planned(text, false, &Switches::default()).summary();
            summary.segments[0].nodes.iter().map(|node| node.rules.clone()).collect()
        };
        assert_eq!(rules("cat f | grep -a x | wc -l"), [vec!["drop-cat", "count-lines"], vec![]]);
        assert_eq!(rules("cut -c1 f | sort | uniq -c"), [vec![], vec!["sort-uniq"]]);
    }

    #[test]
    fn the_fields_that_are_documented() {
        let summary = planned("sort f | uniq -c | head | nosuch", false, &Switches::default()).summary();
        let value = serde_json::to_value(summary).expect("plain data");
        let keys = |value: &serde_json::Value| {
            let keys: Vec<String> = value.as_object().expect("an object").keys().cloned().collect();
            keys.join(" ")
        };
        assert_eq!(keys(&value), "advice decisions estimate segments stages");
        assert_eq!(keys(&value["stages"][0]), "blocks_until_eof equals name sharing shown stops_early");
        assert_eq!(keys(&value["segments"][0]), "native nodes reason stages");
        assert_eq!(
            keys(&value["segments"][0]["nodes"][0]),
            "blocks_until_eof label reads_from_end rules stages stops_early"
        );
        assert_eq!(keys(&value["decisions"][0]), "name outcome saves_ns_per_byte stages");
        assert_eq!(
            keys(&value["estimate"]),
            "input_bytes input_is_known not_counted plan_cpu_ns shell_cpu_ns"
        );
        let text = value.to_string();
        let documented = include_str!("../../../docs/explain.md");
        for key in text.split('"').filter(|part| part.contains('_') && !part.contains(' ')) {
            assert!(documented.contains(&format!("`{key}`")), "docs/explain.md does not tell of `{key}`");
        }
    }
}
