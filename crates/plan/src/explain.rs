//! The plan in words. Pure: no colour, no terminal.

use crate::estimate::Estimate;
use crate::graph::{Decision, Outcome, Planned};
use crate::summary::{NodeSummary, SegmentSummary, Summary};
use std::fmt::Write;

impl Planned {
    /// The plan as a tree; every rule that fired or declined, with its reason; when output begins; what is gained; and
    /// what the user could change.
    ///
    /// ```text
    /// 5 stages, 2 processes
    /// ├─ one native pass, in place of 4 processes
    /// │  ├─ tr A-Z a-z               for cat f | tr A-Z a-z
    /// │  └─ sort the distinct lines  for sort | uniq -c; waits for the end of its input
    /// └─ awk '{print $2}'            a process: awk has no kernel
    ///
    /// Rewrites
    /// ✓ sort-uniq: identical lines are counted as they arrive, and only the distinct ones sorted
    ///   in sort | uniq -c; saves 120 ms
    ///
    /// Output    begins once the input has ended: `sort` waits for that
    /// Estimate  about 8× less CPU than from the shell: 0.3 s, not 2.5 s, for 100 MB of input
    /// ```
    pub fn explain(&self, unicode: bool) -> String {
        let signs = if unicode { &UNICODE } else { &ASCII };
        let summary = self.summary();
        let mut text = self.tree(&summary, signs);
        self.tell_rules(&summary, signs, &mut text);
        let mut facts = vec![("Output", self.output(&summary))];
        if let Some(estimate) = &summary.estimate {
            facts.push(("Estimate", tell_estimate(estimate, signs)));
        }
        facts.extend(summary.advice.iter().map(|advice| ("Advice", advice.clone())));
        text.push('\n');
        for (name, words) in facts {
            tell_fact(name, &words, &mut text);
        }
        text
    }

    fn tree(&self, summary: &Summary, signs: &Signs) -> String {
        let mut rows = Vec::new();
        let last_segment = summary.segments.len() - 1;
        for (at, segment) in summary.segments.iter().enumerate() {
            let (branch, stem) = signs.of(at == last_segment);
            if !segment.native {
                let words = format!("a process: {}", segment.reason.as_deref().unwrap_or_default());
                let row =
                    (format!("{branch} {}", self.shown(&segment.stages)), self.with_wait(segment, words));
                rows.push(row);
                continue;
            }
            rows.push((
                format!("{branch} one native pass{}", in_place_of(segment.stages.len())),
                String::new(),
            ));
            for (index, node) in segment.nodes.iter().enumerate() {
                let (branch, _) = signs.of(index + 1 == segment.nodes.len());
                rows.push((format!("{stem} {branch} {}", node.label), self.node_words(node)));
            }
        }
        let (stages, processes) = (self.stages.len(), summary.segments.len());
        format!(
            "{}, {}\n{}",
            counted(stages, "stage", "stages"),
            counted(processes, "process", "processes"),
            aligned(&rows)
        )
    }

    fn with_wait(&self, segment: &SegmentSummary, words: String) -> String {
        match self.stages[segment.stages.start].blocks_until_eof {
            Some(true) => format!("{words}; {WAITS}"),
            _ => words,
        }
    }

    fn node_words(&self, node: &NodeSummary) -> String {
        let stages = self.shown(&node.stages);
        let mut words = Vec::new();
        if stages != node.label {
            words.push(format!("for {stages}"));
        }
        if node.reads_from_end {
            words.push("reads only the end of a plain file".to_owned());
        } else if node.blocks_until_eof {
            words.push(WAITS.to_owned());
        }
        if node.stops_early {
            let before = if node.stages.start > 0 { ", and what feeds it with it" } else { "" };
            words.push(format!("ends as soon as it has enough{before}"));
        }
        words.join("; ")
    }

    fn tell_rules(&self, summary: &Summary, signs: &Signs, text: &mut String) {
        let rules = summary.decisions.get(self.stages.len()..).unwrap_or(&[]);
        if !rules.is_empty() {
            text.push_str("\nRewrites\n");
        }
        let bytes = summary.estimate.as_ref().map_or(0, |estimate| estimate.input_bytes);
        for (at, decision) in rules.iter().enumerate() {
            if rules[at + 1..].iter().any(|later| decision.is_part_of(later)) {
                continue;
            }
            let (sign, words) = match &decision.outcome {
                Outcome::Fired(gain) => (signs.fired, gain),
                Outcome::Declined(reason) => (signs.declined, reason),
            };
            let parts = rules[..at].iter().filter(|earlier| earlier.is_part_of(decision));
            let saves = saving(decision, parts, bytes);
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{sign} {}: {words}\n  in {}{saves}",
                decision.name,
                self.shown(&decision.stages)
            );
        }
    }

    /// When output begins (P8).
    fn output(&self, summary: &Summary) -> String {
        let waits = |segment: &SegmentSummary| -> Vec<String> {
            if segment.native {
                let nodes = segment.nodes.iter().filter(|node| node.blocks_until_eof && !node.reads_from_end);
                return nodes.map(|node| node.label.clone()).collect();
            }
            let stage = &self.stages[segment.stages.start];
            if stage.blocks_until_eof == Some(true) { vec![stage.shown.clone()] } else { Vec::new() }
        };
        let waiting: Vec<String> = summary.segments.iter().flat_map(waits).collect();
        let unknown = self.stages.iter().find(|stage| stage.blocks_until_eof.is_none());
        match (waiting.as_slice(), unknown) {
            ([], None) => "begins while input still comes".to_owned(),
            ([], Some(stage)) => {
                format!("begins while input still comes, unless {} waits for its end", stage.name)
            }
            ([one], _) => format!("begins once the input has ended: `{one}` waits for that"),
            (several, _) => {
                format!("begins once the input has ended: `{}` wait for that", several.join("`, `"))
            }
        }
    }
}

const WAITS: &str = "waits for the end of its input";

struct Signs {
    branch: &'static str,
    last: &'static str,
    stem: &'static str,
    fired: &'static str,
    declined: &'static str,
    times: &'static str,
}

const UNICODE: Signs =
    Signs { branch: "├─", last: "└─", stem: "│ ", fired: "✓", declined: "–", times: "×" };
const ASCII: Signs = Signs { branch: "|-", last: "`-", stem: "| ", fired: "+", declined: "-", times: "x" };

impl Signs {
    /// What stands before an item, and before what belongs to it.
    fn of(&self, is_last: bool) -> (&'static str, &'static str) {
        if is_last { (self.last, "  ") } else { (self.branch, self.stem) }
    }
}

/// The right column begins at one place, unless what stands left of it is very long.
fn aligned(rows: &[(String, String)]) -> String {
    const WIDTH_MAX: usize = 48;
    let width = |left: &str| left.chars().count();
    let noted = rows.iter().filter(|(_, right)| !right.is_empty()).map(|(left, _)| width(left));
    let column = noted.filter(|width| *width <= WIDTH_MAX).max().unwrap_or(0);
    let mut text = String::new();
    for (left, right) in rows {
        let pad = " ".repeat(column.saturating_sub(width(left)));
        text.push_str(format!("{left}{pad}  {right}").trim_end());
        text.push('\n');
    }
    text
}

fn in_place_of(stages: usize) -> String {
    if stages > 1 { format!(", in place of {stages} processes") } else { String::new() }
}

fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

fn saving<'a>(decision: &'a Decision, parts: impl Iterator<Item = &'a Decision>, bytes: u64) -> String {
    let all = parts.chain([decision]).map(|decision| decision.saves_ns_per_byte);
    match all.sum::<Option<f64>>().map(|saves| saves * bytes as f64) {
        Some(ns) if ns >= 500_000.0 => format!("; saves about {}", duration(ns)),
        _ => String::new(),
    }
}

impl Decision {
    /// The same rule fired again, on more stages: it took in what this one made.
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
    let what = match estimate.ratio() {
        ratio if ratio >= 9.5 => format!("about {ratio:.0}{} less CPU than from the shell", signs.times),
        ratio if ratio >= 1.15 => format!("about {ratio:.1}{} less CPU than from the shell", signs.times),
        _ => "about as much CPU as from the shell".to_owned(),
    };
    let (shell, plan) = (duration(estimate.shell_cpu_ns as f64), duration(estimate.plan_cpu_ns as f64));
    let known = if estimate.input_is_known { "for the" } else { "if there are" };
    let mut words =
        format!("{what}: {plan} instead of {shell}, {known} {} of input", size(estimate.input_bytes));
    if !estimate.not_counted.is_empty() {
        let _ =
            write!(words, "; what {} costs is not known, and not counted", estimate.not_counted.join(", "));
    }
    words
}

fn duration(ns: f64) -> String {
    match ns {
        _ if ns >= 9.95e9 => format!("{:.0} s", ns / 1e9),
        _ if ns >= 9.995e8 => format!("{:.1} s", ns / 1e9),
        _ if ns >= 9.95e6 => format!("{:.0} ms", ns / 1e6),
        _ => format!("{:.1} ms", ns / 1e6),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

/// A name and a sentence, broken into lines.
fn tell_fact(name: &str, words: &str, text: &mut String) {
    const NAME: usize = 10;
    const WIDTH: usize = 100;
    let mut line = format!("{name:NAME$}");
    for word in words.split(' ') {
        if line.chars().count() + word.chars().count() > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(NAME);
        }
        line.push_str(word);
        line.push(' ');
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Switches;
    use crate::testing::planned;

    fn told(text: &str, unicode: bool) -> String {
        let mut planned = planned(text, false, &Switches::default());
        planned.input_bytes = Some(20_000_000);
        planned.explain(unicode)
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
├─ nosuch -x 'y$'              a process: nosuch has no kernel
├─ sort -u g                   a process: it does not read the pipe, and what feeds it must see that; waits for \
the end of its input
└─ one native pass
   └─ wc                       waits for the end of its input

Rewrites
✓ drop-cat: tr a b reads what cat would pass on
  in cat f g | tr a b; saves about 1.0 ms
✓ compose-byte-maps: one table in place of 3 commands, one pass over each byte
  in cat f g | tr a b | tr b c; saves about 2.0 ms
✓ sort-uniq: identical lines are counted as they arrive, and only the distinct ones sorted
  in sort | uniq -c; saves about 28 ms

Output    begins once the input has ended: `sort the distinct lines`, `sort -u g`, `wc` wait for
          that
Estimate  about 2.6× less CPU than from the shell: 181 ms instead of 477 ms, for the 20 MB of input;
          what nosuch costs is not known, and not counted
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
Estimate  about 3.5x less CPU than from the shell: 58 ms instead of 203 ms, for the 20 MB of input
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
        assert_eq!([0.3e6, 12e6, 1.25e9, 48e9].map(duration), ["0.3 ms", "12 ms", "1.2 s", "48 s"]);
        assert_eq!([7, 2_500, 135_000_000].map(size), ["7 bytes", "2 kB", "135 MB"]);
    }
}
