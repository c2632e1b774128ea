//! From candidates to segments.

use crate::cost::RateOf as _;
use crate::graph::{Candidate, Decision, Outcome, Planned, Segment, StageNote, Surroundings, Switches};
use crate::node::Node;
use crate::rules::{self, RULES, Site};
use crate::segments;
use crate::verdict;
use crate::{advice, check, cost, parts};
use pelton_commands::{Accept, Accepted, Content, EarlyStop, Facts, TOOLS};
use std::ops::Range;
use std::sync::Arc;

/// Decides what runs natively, and how.
pub fn plan(mut candidates: Vec<Candidate>, surroundings: &Surroundings, switches: &Switches) -> Planned {
    verdict::put_in_order(&mut candidates);
    let mut verdicts = verdict::verdicts(&candidates, surroundings, switches);
    let grouped = segments::segments(&candidates, &mut verdicts);
    let mut decisions: Vec<Decision> = candidates
        .iter()
        .zip(&verdicts)
        .enumerate()
        .map(|(at, (one, verdict))| decision(at, one, verdict))
        .collect();
    let advice = advice::advice(&candidates);
    let (parts, of_parts) = parts::parts(&candidates, &verdicts, surroundings, switches);
    let stays_native = verdicts.iter().map(|verdict| verdict.is_ok()).collect();
    let (site, commands) = split(candidates, stays_native, surroundings);
    let mut segments = Vec::with_capacity(grouped.len());
    for segment in grouped {
        match segment {
            Segment::Process(stage) => segments.push(Segment::Process(stage)),
            Segment::Native { stages, .. } => {
                let nodes = native(&stages, &commands, &site, switches, &mut decisions);
                segments.extend(at_pipes(nodes));
            }
        }
    }
    decisions.extend(of_parts);
    Planned { segments, decisions, stages: site.stages, advice, parts, input_bytes: None }
}

/// The meaning of a name in [`Switches`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: &'static str,
    /// The summary of the rule; `None` for the kernel of the command of this name.
    pub summary: Option<&'static str>,
}

/// Returns every name for [`Switches`] with its meaning: rules first, then commands.
pub fn describe_names() -> Vec<Named> {
    let rules = RULES.iter().map(|rule| Named { name: rule.name, summary: Some(rule.summary) });
    let kernels = TOOLS.iter().filter(|tool| tool.has_kernel());
    let parts = [Named { name: parts::NAME, summary: Some(parts::SUMMARY) }];
    rules.chain(parts).chain(kernels.map(|tool| Named { name: tool.name, summary: None })).collect()
}

/// Returns every name for [`Switches`]: rules first, then commands.
pub fn list_names() -> Vec<&'static str> {
    describe_names().iter().map(|named| named.name).collect()
}

fn decision(stage: usize, candidate: &Candidate, verdict: &Accept<&Facts>) -> Decision {
    let outcome = match verdict {
        Ok(_) => Outcome::Fired("runs native".to_owned()),
        Err(declined) => Outcome::Declined(declined.reason.clone()),
    };
    Decision { name: candidate.name.clone(), stages: stage..stage + 1, outcome, saves_ns_per_byte: None }
}

/// The accepted commands, stage by stage.
type Commands = Vec<Option<Arc<Accepted>>>;

/// Splits candidates into notes, which the rules see, and commands.
fn split(candidates: Vec<Candidate>, native: Vec<bool>, surroundings: &Surroundings) -> (Site, Commands) {
    let mut stages = Vec::with_capacity(candidates.len());
    let mut commands = Vec::with_capacity(candidates.len());
    for (candidate, native) in candidates.into_iter().zip(native) {
        let accepted = candidate.command.ok();
        let facts = accepted.as_ref().map(|accepted| &accepted.facts);
        let plain = candidate.text.filter(|text| !text.chars().any(char::is_control));
        let shown = plain.unwrap_or_else(|| shown(&candidate.name, &candidate.args));
        let shareable = candidate.stateless.is_ok() || facts.is_some_and(Facts::treats_lines_alike);
        let rate = cost::rate(&candidate.name, &candidate.args)
            .map(|rate| rate.reading(accepted.as_deref()).mapping(accepted.as_deref()));
        stages.push(StageNote {
            name: candidate.name,
            args: candidate.args,
            context: candidate.context,
            shown,
            equals: candidate.implementation.filter(|_| native),
            blocks_until_eof: facts.map(|facts| facts.output.blocks_until_eof),
            stops_early: facts.map(Facts::stops_early),
            sharing: facts.filter(|_| native).and_then(|facts| facts.sharing.clone()),
            shareable,
            ends_when_enough: facts.is_some_and(|facts| facts.input.stops_early == Some(EarlyStop::Done)),
            rate,
        });
        commands.push(accepted);
    }
    let shares = cost::shares(&stages);
    (Site { stages, shares, surroundings: surroundings.clone() }, commands)
}

/// Makes the nodes of one native segment.
fn native(
    stages: &Range<usize>,
    commands: &[Option<Arc<Accepted>>],
    site: &Site,
    switches: &Switches,
    decisions: &mut Vec<Decision>,
) -> Vec<Node> {
    let own =
        |stage: usize| Some(Node::own(stage, Arc::clone(commands[stage].as_ref()?), site.stages[stage].rate));
    let mut nodes: Vec<Node> = stages.clone().filter_map(own).collect();
    for rule in RULES.iter().filter(|rule| switches.is_on(rule.name)) {
        decisions.extend(rules::apply(rule, &mut nodes, site));
        debug_assert_eq!(check::fault(&nodes, stages), None, "after {}", rule.name);
    }
    nodes.into_iter().map(Node::finished).collect()
}

/// Splits a native segment before each node that needs a pipe. After the rules, so that they see the whole
/// segment.
///
/// grep's output depends on where its reads end only if it finds a NUL in them. Where the nodes before it print none
/// (names, lines that another grep has selected), it gets blocks from them.
fn at_pipes(nodes: Vec<Node>) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut content = Content::Bytes;
    for mut node in nodes {
        node.gets_no_nul = matches!(content, Content::NoNul | Content::Text);
        content = node.content_after(content);
        match segments.last_mut() {
            Some(Segment::Native { stages, nodes }) if !node.needs_pipe || node.gets_no_nul => {
                stages.end = node.stages.end;
                nodes.push(node);
            }
            _ => segments.push(Segment::Native { stages: node.stages.clone(), nodes: vec![node] }),
        }
    }
    segments
}

/// Formats a command line for display: plain words unchanged, others quoted.
fn shown(name: &str, args: &[Vec<u8>]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_=+,./:@%^".contains(byte);
    let show = |arg: &Vec<u8>| {
        let text = String::from_utf8_lossy(arg);
        let printable = !text.chars().any(|c| c.is_control() || c == char::REPLACEMENT_CHARACTER);
        match () {
            () if !arg.is_empty() && arg.iter().all(plain) => text.into_owned(),
            () if printable => format!("'{}'", text.replace('\'', r"'\''")),
            () => format!("$'{}'", arg.escape_ascii()),
        }
    };
    std::iter::once(name.to_owned()).chain(args.iter().map(show)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use crate::testing::plan_text;

    #[test]
    fn what_depends_on_reads_reads_a_pipe() {
        assert_eq!(
            plan_text("sort -z f | grep x | cut -c1"),
            "native { sort -z f } | native { grep x ; cut -c1 }"
        );
        assert_eq!(plan_text("sort f | grep -a x | cut -c1"), "native { sort f ; grep -a x ; cut -c1 }");
        for printer in [
            "grep -a x f",
            "cut -c1 f",
            "cut -d, -f1- f",
            r"grep x f | sed s/x/\x00/",
            "grep x f | awk {printf(\"%c\",$1)}",
            r"grep x f | tr x \0",
            "grep x f | sort -z",
            "grep x f | uniq -z",
            "grep x f | cut -z -c1-",
            "grep x f | cut -z -f1",
            "grep x f | cut --output-delimiter= -c1,3",
            "find . -print0",
        ] {
            let plan = plan_text(&format!("{printer} | grep y"));
            assert!(plan.ends_with("| native { grep y }"), "{plan}");
        }
    }

    #[test]
    fn who_drops_messages_runs_apart_from_who_does_not() {
        let plan = plan_text("tr a b 2> /dev/null | sort | uniq -c");
        assert_eq!(plan, "native { tr a b } | native { [sort the distinct lines] }");
        let plan = plan_text("tr a b 2> /dev/null | cut -c1 2> /dev/null | tr b c");
        assert_eq!(plan, "native { tr a b ; cut -c1 } | native { tr b c }");
    }

    #[test]
    fn what_comes_without_nuls_comes_without_a_pipe() {
        for (text, plan) in [
            ("grep x f | grep y", "native { grep x f ; grep y }"),
            ("grep -v x f | cut -c2- | grep -c y", "native { grep -v x f ; cut -c2- ; grep -c y }"),
            ("grep x f | sort | uniq | grep y", "native { grep x f ; [sort the distinct lines] ; grep y }"),
            ("grep x f | awk NF | grep y", "native { grep x f ; awk NF ; grep y }"),
            ("grep x f | sed s/a/b/ | grep y", "native { grep x f ; sed s/a/b/ ; grep y }"),
            (r"tr -d \0 < f | grep y", r"native { tr -d '\0' ; grep y }"),
            ("find . | grep x", "native { find . ; grep x }"),
            (
                "find . -name '*.c' | grep x | wc -l",
                "native { find . -name '*.c' ; [grep x, line ends only] ; wc -l }",
            ),
            ("find . -mtime 1 | grep x", "find . -mtime 1 | native { grep x }"),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
    }
}
