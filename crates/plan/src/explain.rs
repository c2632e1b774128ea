//! The plan in words. Pure: no colour, no terminal.

use crate::estimate::Estimate;
use crate::graph::{Decision, Outcome, Planned, StageNote};
use crate::layout::{Row, rows, sentence, shorten};
use crate::summary::{NodeSummary, SegmentSummary, Summary};
use std::fmt::Write;

/// Why the plan is safe: before the tools that its kernels equal.
const TESTED: &str = "equal, by pelton's tests, to your";

/// How a plan is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawing {
    /// Whether to use characters outside of ASCII.
    pub unicode: bool,
    /// The width in columns.
    pub width: usize,
}

impl Planned {
    /// Describes the plan: a tree; every rule that fired or declined, with its reason; when output begins;
    /// the estimate; which tools the kernels equal; and what the user could change.
    ///
    /// ```text
    /// 5 stages, 2 processes
    /// ├─ one native pass, in place of 4 processes
    /// │  ├─ tr A-Z a-z               for cat f | tr A-Z a-z
    /// │  └─ sort the distinct lines  for sort | uniq -c; waits for the end of its input
    /// └─ awk '{print $2}'            a process: pelton has no native awk
    ///
    /// Rewrites
    /// ✓ sort-uniq: identical lines are counted as they arrive, and only the distinct ones sorted
    ///   in sort | uniq -c
    ///
    /// Output    begins once the input has ended: `sort` waits for that
    /// Estimate  about 8× less CPU than from the shell, for the 100 MB of input
    /// Safe      equal, by pelton's tests, to your GNU coreutils 9.1 (cat, tr, sort, uniq)
    /// ```
    pub fn explain(&self, drawing: Drawing) -> String {
        let Drawing { unicode, width } = drawing;
        let signs = if unicode { &UNICODE } else { &ASCII };
        let summary = self.summary();
        let mut text = self.tree(&summary, signs, width);
        self.tell_rules(&summary, signs, width, &mut text);
        let mut facts = vec![("Output", self.output(&summary, signs))];
        if let Some(estimate) = &summary.estimate {
            facts.push(("Estimate", tell_estimate(estimate, signs)));
        }
        facts.extend(equals(&self.stages).map(|tools| ("Safe", format!("{TESTED} {tools}"))));
        let sharing = self.stages.iter().filter_map(|stage| {
            Some(("Threads", format!("{}: {}", brief(stage, signs), stage.sharing.as_deref()?)))
        });
        facts.extend(sharing);
        facts.extend(summary.advice.iter().map(|advice| ("Advice", advice.clone())));
        text.push('\n');
        for (name, words) in facts {
            text.push_str(&sentence(&format!("{name:10}"), &" ".repeat(10), &words, width));
        }
        text
    }

    fn tree(&self, summary: &Summary, signs: &Signs, width: usize) -> String {
        let mut tree = Vec::new();
        let last_segment = summary.segments.len() - 1;
        for (at, segment) in summary.segments.iter().enumerate() {
            let (branch, stem) = signs.of(at == last_segment);
            let row = |what, words| Row { branch: branch.into(), stem: stem.into(), what, words };
            if !segment.native {
                let words = format!("a process: {}", segment.reason.as_deref().unwrap_or_default());
                tree.push(row(self.shown(&segment.stages), self.with_wait(segment, words)));
                continue;
            }
            tree.push(row(format!("one native pass{}", in_place_of(segment.stages.len())), String::new()));
            for (index, node) in segment.nodes.iter().enumerate() {
                let (inner, under) = signs.of(index + 1 == segment.nodes.len());
                tree.push(Row {
                    branch: format!("{stem} {inner}"),
                    stem: format!("{stem} {under}"),
                    what: node.label.clone(),
                    words: self.node_words(node, signs),
                });
            }
        }
        let (stages, processes) = (self.stages.len(), summary.segments.len());
        format!(
            "{}, {}\n{}",
            counted(stages, "stage", "stages"),
            counted(processes, "process", "processes"),
            rows(&tree, width, signs.more)
        )
    }

    fn with_wait(&self, segment: &SegmentSummary, words: String) -> String {
        match self.stages[segment.stages.start].blocks_until_eof {
            Some(true) => format!("{words}; {WAITS}"),
            _ => words,
        }
    }

    fn node_words(&self, node: &NodeSummary, signs: &Signs) -> String {
        let mut words = Vec::new();
        if self.shown(&node.stages) != node.label {
            words.push(format!("for {}", self.brief(&node.stages, signs)));
        }
        if node.reads_from_end {
            words.push("reads only the end of a plain file".to_owned());
        } else if node.blocks_until_eof {
            words.push(WAITS.to_owned());
        }
        let stages = &self.stages[node.stages.clone()];
        if !node.blocks_until_eof && stages.iter().any(|stage| stage.ends_when_enough) {
            let before = if node.stages.start > 0 { ", and what feeds it with it" } else { "" };
            words.push(format!("ends as soon as it has enough{before}"));
        }
        words.join("; ")
    }

    /// Returns these stages, each shortened for a sentence.
    fn brief(&self, stages: &std::ops::Range<usize>, signs: &Signs) -> String {
        let brief: Vec<String> =
            self.stages[stages.clone()].iter().map(|stage| brief(stage, signs)).collect();
        brief.join(" | ")
    }

    fn tell_rules(&self, summary: &Summary, signs: &Signs, width: usize, text: &mut String) {
        let rules = summary.decisions.get(self.stages.len()..).unwrap_or(&[]);
        if !rules.is_empty() {
            text.push_str("\nRewrites\n");
        }
        for (at, decision) in rules.iter().enumerate() {
            if rules[at + 1..].iter().any(|later| decision.is_part_of(later)) {
                continue;
            }
            let (sign, words) = match &decision.outcome {
                Outcome::Fired(gain) => (signs.fired, gain),
                Outcome::Declined(reason) => (signs.declined, reason),
            };
            let what = format!("{sign} {}: {words}", decision.name);
            text.push_str(&sentence("", "  ", &what, width));
            let place = format!("in {}", self.brief(&decision.stages, signs));
            text.push_str(&sentence("  ", "  ", &place, width));
        }
    }

    /// Describes when output begins (P8).
    fn output(&self, summary: &Summary, signs: &Signs) -> String {
        let named = |stages: Vec<&StageNote>, and: &str| {
            let names: Vec<String> =
                stages.into_iter().map(|stage| format!("`{}`", brief(stage, signs))).collect();
            match names.split_last() {
                Some((last, before @ [_, ..])) => format!("{} {and} {last}", before.join(", ")),
                _ => names.concat(),
            }
        };
        let waiting: Vec<&StageNote> = summary.segments.iter().flat_map(|one| self.waiting(one)).collect();
        let unknown: Vec<&StageNote> =
            self.stages.iter().filter(|stage| stage.blocks_until_eof.is_none()).collect();
        match (waiting.len(), unknown.len()) {
            (0, 0) => "begins while input still comes".to_owned(),
            (0, 1) => format!("when it begins depends on {}, which runs as it is", named(unknown, "and")),
            (0, _) => format!("when it begins depends on {}, which run as they are", named(unknown, "and")),
            (1, _) => format!("begins once the input has ended: {} waits for that", named(waiting, "and")),
            _ => format!("begins once the input has ended: {} wait for that", named(waiting, "and")),
        }
    }

    /// Returns the blocking stages of a segment, one for each kernel.
    fn waiting(&self, segment: &SegmentSummary) -> Vec<&StageNote> {
        let waits = |stages: &std::ops::Range<usize>| {
            self.stages[stages.clone()].iter().find(|stage| stage.blocks_until_eof == Some(true))
        };
        if segment.native {
            return segment
                .nodes
                .iter()
                .filter(|node| !node.reads_from_end)
                .filter_map(|n| waits(&n.stages))
                .collect();
        }
        waits(&segment.stages).into_iter().collect()
    }
}

const WAITS: &str = "waits for the end of its input";

/// Returns a stage as written, shortened for a sentence.
fn brief(stage: &StageNote, signs: &Signs) -> String {
    const ROOM: usize = 40;
    shorten(&stage.shown, ROOM, signs.more)
}

/// Returns which tools the kernels equal, and for which commands: each once, in the order of the stages.
fn equals(stages: &[StageNote]) -> Option<String> {
    let mut tools: Vec<(&str, Vec<&str>)> = Vec::new();
    for stage in stages {
        let Some(tool) = stage.equals.as_deref() else { continue };
        let at = tools.iter().position(|(known, _)| *known == tool).unwrap_or_else(|| {
            tools.push((tool, Vec::new()));
            tools.len() - 1
        });
        if !tools[at].1.contains(&stage.name.as_str()) {
            tools[at].1.push(&stage.name);
        }
    }
    let words: Vec<String> =
        tools.into_iter().map(|(tool, names)| format!("{tool} ({})", names.join(", "))).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

struct Signs {
    branch: &'static str,
    last: &'static str,
    stem: &'static str,
    fired: &'static str,
    declined: &'static str,
    times: &'static str,
    more: &'static str,
}

const UNICODE: Signs =
    Signs {
        branch: "├─", last: "└─", stem: "│ ", fired: "✓", declined: "–", times: "×", more: "…"
    };
const ASCII: Signs =
    Signs { branch: "|-", last: "`-", stem: "| ", fired: "+", declined: "-", times: "x", more: "..." };

impl Signs {
    /// Returns the prefix of an item, and of the rows below it.
    fn of(&self, is_last: bool) -> (&'static str, &'static str) {
        if is_last { (self.last, "  ") } else { (self.branch, self.stem) }
    }
}

fn in_place_of(stages: usize) -> String {
    if stages > 1 { format!(", in place of {stages} processes") } else { String::new() }
}

fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

impl Decision {
    /// Whether the same rule fired again on more stages, including this result.
    fn is_part_of(&self, later: &Decision) -> bool {
        let fired = |decision: &Decision| matches!(decision.outcome, Outcome::Fired(_));
        fired(self)
            && fired(later)
            && self.name == later.name
            && later.stages.start <= self.stages.start
            && self.stages.end <= later.stages.end
            && self.stages != later.stages
    }
}

fn tell_estimate(estimate: &Estimate, signs: &Signs) -> String {
    let times = |ratio: f64| format!("{ratio:.*}{}", usize::from(ratio < 9.5), signs.times);
    let what = match estimate.ratio() {
        ratio if ratio >= 1.15 => format!("about {} less CPU than from the shell", times(ratio)),
        _ => "about as much CPU as from the shell".to_owned(),
    };
    let bytes = size(estimate.input_bytes);
    let mut words = match estimate.input_is_known {
        true => format!("{what}, for the {bytes} of input"),
        false => format!("{what}, if there were {bytes} of input"),
    };
    if !estimate.not_counted.is_empty() {
        let _ =
            write!(words, "; what {} costs is not known, and not counted", estimate.not_counted.join(", "));
    }
    words
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..999_500 => format!("{:.0} kB", bytes as f64 / 1e3),
        999_500..9_950_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        9_950_000..9_950_000_000 => format!("{:.0} MB", bytes as f64 / 1e6),
        _ => format!("{:.0} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Switches;
    use crate::testing::planned;

    fn told(text: &str, unicode: bool) -> String {
        let mut planned = planned(text, false, &Switches::default());
        planned.input_bytes = Some(20_000_000);
        planned.explain(Drawing { unicode, width: 100 })
    }

    #[test]
    fn a_tree_with_reasons() {
        assert_eq!(
            told("cat f g | tr a b | tr b c | sort | uniq -c | nosuch -x 'y$' | sort -u g | wc", true),
            "\
8 stages, 4 processes
├─ one native pass, in place of 5 processes
│  ├─ one byte map             for cat f g | tr a b | tr b c
│  └─ sort the distinct lines  for sort | uniq -c; waits for the end of its input
├─ nosuch -x 'y$'              a process: pelton has no native nosuch
├─ sort -u g                   a process: it does not read the pipe, and what feeds it must see
│                              that; waits for the end of its input
└─ one native pass
   └─ wc                       waits for the end of its input

Rewrites
✓ drop-cat: tr a b reads what cat would pass on
  in cat f g | tr a b
✓ compose-byte-maps: one table in place of 3 commands, one pass over each byte
  in cat f g | tr a b | tr b c
✓ sort-uniq: identical lines are counted as they arrive, and only the distinct ones sorted
  in sort | uniq -c

Output    begins once the input has ended: `sort`, `sort -u g` and `wc` wait for that
Estimate  about 3.7× less CPU than from the shell, for the 20 MB of input; what nosuch costs is not
          known, and not counted
Safe      equal, by pelton's tests, to your GNU coreutils 9.1 (cat, tr, sort, uniq, wc)
"
        );
    }

    #[test]
    fn plain_signs_and_refusals() {
        assert_eq!(
            told("sort f | uniq -i | head -n 3", false),
            "\
3 stages, 1 process
`- one native pass, in place of 3 processes
   |- sort f     waits for the end of its input
   |- uniq -i
   `- head -n 3  ends as soon as it has enough, and what feeds it with it

Rewrites
- sort-uniq: uniq does not compare whole lines
  in sort f | uniq -i

Output    begins once the input has ended: `sort f` waits for that
Estimate  about 3.5x less CPU than from the shell, for the 20 MB of input
Safe      equal, by pelton's tests, to your GNU coreutils 9.1 (sort, uniq, head)
"
        );
    }

    #[test]
    fn the_end_of_a_file_needs_no_more() {
        let text = told("tac f | head -n 3", true);
        assert!(text.contains("tac f      reads only the end of a plain file"), "{text}");
        assert!(text.contains("Output    begins while input still comes"), "{text}");
    }

    #[test]
    fn figures_for_people() {
        assert_eq!([7, 2_500, 1_280_000, 135_000_000].map(size), ["7 bytes", "2 kB", "1.3 MB", "135 MB"]);
    }
}
