//! The plan as a graph in Graphviz' language, for `dot -Tsvg`.

use crate::graph::Planned;
use crate::summary::{NodeSummary, SegmentSummary};
use std::fmt::Write;

impl Planned {
    /// A digraph: a box for each kernel or process, a frame around each native pass, an arrow for what flows.
    pub fn dot(&self, title: &str) -> String {
        let mut text = String::from("digraph plan {\n  rankdir=LR;\n  fontname=\"monospace\";\n");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  label={};\n  labelloc=t;", quoted(title));
        text.push_str(
            "  node [shape=box, style=\"rounded,filled\", fontname=\"monospace\", fillcolor=white];\n",
        );
        let mut names: Vec<String> = Vec::new();
        for segment in self.summary().segments {
            if segment.native {
                self.pass(&segment, &mut names, &mut text);
            } else {
                self.process(&segment, &mut names, &mut text);
            }
        }
        for pair in names.windows(2) {
            let _ = writeln!(text, "  {} -> {};", pair[0], pair[1]);
        }
        text.push_str("}\n");
        text
    }

    fn pass(&self, segment: &SegmentSummary, names: &mut Vec<String>, text: &mut String) {
        let first = segment.stages.start;
        let _ =
            writeln!(text, "  subgraph cluster_{first} {{\n    label=\"one native pass\";\n    labelloc=b;");
        text.push_str("    style=\"rounded,filled\";\n    fillcolor=\"#e8f3e8\";\n");
        for node in &segment.nodes {
            let name = format!("stage_{}", node.stages.start);
            let _ = writeln!(text, "    {name} [label={}];", quoted(&self.node_text(node)));
            names.push(name);
        }
        text.push_str("  }\n");
    }

    fn process(&self, segment: &SegmentSummary, names: &mut Vec<String>, text: &mut String) {
        let name = format!("stage_{}", segment.stages.start);
        let reason = segment.reason.as_deref().unwrap_or_default();
        let label = format!("{}\na process: {reason}", self.shown(&segment.stages));
        let _ = writeln!(text, "  {name} [label={}, fillcolor=\"#f4f0e4\"];", quoted(&label));
        names.push(name);
    }

    fn node_text(&self, node: &NodeSummary) -> String {
        let mut lines = vec![node.label.clone()];
        let stages = self.shown(&node.stages);
        if stages != node.label {
            lines.push(format!("for {stages}"));
        }
        if node.blocks_until_eof {
            lines.push("waits for the end of its input".to_owned());
        }
        lines.join("\n")
    }
}

/// As a string of the language: quotes and backslashes escaped, line breaks written out.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::quoted;
    use crate::Switches;
    use crate::testing::planned;

    /// Enough of the language to see that quotes and braces are balanced: what is left outside of strings.
    fn outside_strings(text: &str) -> String {
        let (mut outside, mut inside, mut escaped) = (String::new(), false, false);
        for c in text.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' if inside => escaped = true,
                '"' => inside = !inside,
                _ if !inside => outside.push(c),
                _ => {}
            }
        }
        assert!(!inside, "a string without end in {text}");
        outside
    }

    #[test]
    fn one_box_for_each_kernel_and_process() {
        let plan =
            planned("cat f | tr '\"\\\\' b | sort | uniq -c | nosuch | nl", false, &Switches::default());
        let text = plan.dot("a \"title\"");
        let outside = outside_strings(&text);
        assert_eq!(outside.matches('{').count(), outside.matches('}').count());
        assert_eq!(outside.matches("[label=").count(), 4);
        assert_eq!(outside.matches("->").count(), 3);
        assert_eq!(outside.matches("subgraph").count(), 2);
        for line in outside.lines().map(str::trim).filter(|line| !line.is_empty()) {
            assert!(line.ends_with([';', '{', '}']), "{line}");
        }
    }

    #[test]
    fn strings() {
        assert_eq!(quoted("a\"b\\c\nd"), r#""a\"b\\c\nd""#);
    }
}
