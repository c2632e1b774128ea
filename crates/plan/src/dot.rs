//! The plan as a graph in Graphviz' language, for `dot -Tsvg`.

use crate::graph::{Decision, Outcome, Planned};
use crate::layout::{sentence, shorten};
use crate::summary::{NodeSummary, SegmentSummary, Summary};
use std::fmt::Write;
use std::ops::Range;

/// Line width of a stage or sentence, in characters.
const ROOM: usize = 34;

const HEAD: &str = "\
digraph plan {
  rankdir=LR;
  labelloc=t;
  nodesep=0.3;
  ranksep=0.4;
  fontname=\"Helvetica\";
  node [shape=box, style=\"rounded,filled\", fillcolor=white, color=\"#5b6b73\", fontname=\"Helvetica\", margin=\"0.15,0.09\"];
  edge [color=\"#5b6b73\", fontname=\"Helvetica\", fontsize=10, fontcolor=\"#8a6d3b\"];
";

impl Planned {
    /// Returns a digraph: a box for each kernel, in a frame around each native pass, another shape for each
    /// process, an arrow for data flow. Blocking kernels are marked.
    pub fn dot(&self, title: &str) -> String {
        let summary = self.summary();
        let mut text = HEAD.to_owned();
        let title = title.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  label=<{}>;", font(MONO, 16, "#000000", &escaped(&title)));
        for segment in &summary.segments {
            if segment.native {
                self.pass(segment, &mut text);
            } else {
                self.process(segment, &mut text);
            }
        }
        self.edges(&summary, &mut text);
        text.push_str("}\n");
        text
    }

    fn pass(&self, segment: &SegmentSummary, text: &mut String) {
        let place = match segment.stages.len() {
            1 => "one native pass".to_owned(),
            stages => format!("one native pass, in place of {stages} processes"),
        };
        let _ = writeln!(text, "  subgraph cluster_{} {{", segment.stages.start);
        let _ = writeln!(text, "    label=<{}>;", font(SANS, 12, "#2e6b3e", &place));
        text.push_str("    labelloc=b; style=\"rounded,filled\"; color=\"#7fb08b\"; fillcolor=\"#e6f3e8\"; margin=14;\n");
        for node in &segment.nodes {
            let label = lines(&self.node_lines(node));
            let border = if waits(node) { ", color=\"#c0662b\", penwidth=2.5" } else { "" };
            let _ = writeln!(text, "    stage_{} [label=<{label}>{border}];", node.stages.start);
        }
        text.push_str("  }\n");
    }

    fn process(&self, segment: &SegmentSummary, text: &mut String) {
        let stage = segment.stages.start;
        let mut told = self.stage_lines(&segment.stages);
        let reason = segment.reason.as_deref().unwrap_or_default();
        told.extend(small("#555555", &format!("a process: {reason}")));
        let blocks = self.stages[stage].blocks_until_eof == Some(true);
        if blocks {
            told.extend(small(WAITS_COLOR, WAITS));
        }
        let border = if blocks { ", color=\"#c0662b\", penwidth=2.5" } else { "" };
        let _ = writeln!(
            text,
            "  stage_{stage} [shape=cds, style=filled, fillcolor=\"#f1ece0\", margin=\"0.25,0.15\", label=<{}>{border}];",
            lines(&told)
        );
    }

    /// Returns the stages as written, their rewrites, and when they print.
    fn node_lines(&self, node: &NodeSummary) -> Vec<String> {
        let mut told = self.stage_lines(&node.stages);
        if self.shown(&node.stages) != node.label {
            // What remains of `cat f | grep x` is the grep, which needs no second label.
            let own = self.stages[node.stages.clone()].iter().any(|stage| stage.shown == node.label);
            let what = if own { String::new() } else { format!(": {}", node.label) };
            told.extend(small("#2e6b3e", &format!("{}{what}", node.rules.join(", "))));
        }
        if waits(node) {
            told.extend(small(WAITS_COLOR, WAITS));
        } else if node.reads_from_end {
            told.extend(small("#555555", "reads only the end of the file"));
        } else if self.stages[node.stages.clone()].iter().any(|stage| stage.ends_when_enough) {
            told.extend(small("#555555", "ends as soon as it has enough"));
        }
        told
    }

    fn stage_lines(&self, stages: &Range<usize>) -> Vec<String> {
        let shown = |(at, stage): (usize, &crate::StageNote)| {
            let bar = if at > 0 { "| " } else { "" };
            let text = format!("{bar}{}", shorten(&stage.shown, ROOM, "…"));
            font(MONO, 14, "#000000", &escaped(&text))
        };
        self.stages[stages.clone()].iter().enumerate().map(shown).collect()
    }

    /// Writes the edges from each kernel or process to the next, and the names and reasons of declined rules.
    fn edges(&self, summary: &Summary, text: &mut String) {
        let ends = |segment: &SegmentSummary| match segment.native {
            true => segment.nodes.iter().map(|node| node.stages.clone()).collect(),
            false => vec![segment.stages.clone()],
        };
        let nodes: Vec<Range<usize>> = summary.segments.iter().flat_map(ends).collect();
        for pair in nodes.windows(2) {
            let between = |decision: &&Decision| {
                decision.stages.start < pair[1].start && pair[1].start < decision.stages.end
            };
            let declined =
                summary.decisions.iter().skip(self.stages.len()).filter(between).filter_map(reason);
            let told: Vec<String> = declined.flat_map(|words| small("#8a6d3b", &words)).collect();
            let label = if told.is_empty() { String::new() } else { format!(" [label=<{}>]", lines(&told)) };
            let _ = writeln!(text, "  stage_{} -> stage_{}{label};", pair[0].start, pair[1].start);
        }
    }
}

const MONO: &str = "Courier";
const SANS: &str = "Helvetica";
const WAITS: &str = "waits for the end of its input";
const WAITS_COLOR: &str = "#a04a12";

fn waits(node: &NodeSummary) -> bool {
    node.blocks_until_eof && !node.reads_from_end
}

/// Returns why a rule declined these stages, if it did.
fn reason(decision: &Decision) -> Option<String> {
    match &decision.outcome {
        Outcome::Declined(reason) => Some(format!("not {}: {reason}", decision.name)),
        Outcome::Fired(_) => None,
    }
}

/// Formats a remark in short lines.
fn small(color: &str, words: &str) -> Vec<String> {
    sentence("", "", words, ROOM).lines().map(|line| font(SANS, 11, color, &escaped(line))).collect()
}

fn font(face: &str, size: u32, color: &str, content: &str) -> String {
    format!("<font face=\"{face}\" point-size=\"{size}\" color=\"{color}\">{content}</font>")
}

/// Joins lines, left-aligned.
fn lines(told: &[String]) -> String {
    told.iter().map(|line| format!("{line}<br align=\"left\"/>")).collect()
}

/// Escapes label text: markup, and characters that XML does not allow.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Graphviz collapses consecutive blanks.
            ' ' if out.is_empty() || out.ends_with(' ') => out.push_str("&#160;"),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;
    use crate::Switches;
    use crate::testing::planned;

    /// Returns the text outside of strings and labels; both must be closed.
    fn outside_strings(text: &str) -> String {
        let (mut outside, mut quoted, mut depth) = (String::new(), false, 0);
        for (before, c) in std::iter::once(' ').chain(text.chars()).zip(text.chars()) {
            match c {
                '"' if depth == 0 => quoted = !quoted,
                '<' if !quoted => depth += 1,
                '>' if !quoted && before != '-' => depth -= 1,
                _ if !quoted && depth == 0 => outside.push(c),
                _ => {}
            }
        }
        assert!(!quoted && depth == 0, "a string without end in {text}");
        outside
    }

    #[test]
    fn one_box_for_each_kernel_and_process() {
        let plan =
            planned("cat f | tr '\"\\\\' b | sort | uniq -c | nosuch | nl", false, &Switches::default());
        let text = plan.dot("a \"title\" <f");
        let outside = outside_strings(&text);
        assert_eq!(outside.matches('{').count(), outside.matches('}').count());
        let boxes = outside.lines().filter(|line| line.contains("stage_") && !line.contains("->"));
        assert_eq!(boxes.count(), 4);
        assert_eq!(outside.matches("->").count(), 3);
        assert_eq!(outside.matches("subgraph").count(), 2);
        for line in outside.lines().map(str::trim).filter(|line| !line.is_empty()) {
            assert!(line.ends_with([';', '{', '}']), "{line}");
        }
    }

    #[test]
    fn what_a_stranger_asks_stands_in_it() {
        let text = planned("cat f | sort | uniq -i | nosuch", false, &Switches::default()).dot("t");
        for part in ["drop-cat", "| sort", "waits for the end", "not sort-uniq: ", "a process: "] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn markup_is_text() {
        assert_eq!(escaped("a<b & \"c\"\t  d"), "a&lt;b &amp; &quot;c&quot;\\t &#160;d");
    }
}
