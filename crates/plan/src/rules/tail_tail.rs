//! tail-tail: `tail -n 20 | tail -n 5` → `tail -n 5`.
//!
//! **Proof.** The last M of the last N lines are the last lines, as many as the smaller number; so with bytes. A last
//! line without terminator counts as a line, and passes both unchanged. The second reads all that the first prints, so
//! the first never meets a closed pipe. Both end with status 0.
//!
//! **Conditions.** Both count the same units from the end, with the same terminator, of one stream, and print no header.

use super::{Rewrite, Rule, Site};
use crate::node::Node;
use pelton_commands::{Accept, Declined, Ending};

pub(super) const RULE: Rule =
    Rule { name: "tail-tail", summary: "tail -n 20 | tail -n 5: the smaller number decides", rewrite };

fn rewrite(first: &Node, second: &Node, site: &Site) -> Option<Accept<Rewrite>> {
    let (args, other_args) = (site.args_of(first, "tail")?, site.args_of(second, "tail")?);
    let (one, other) = (ending(first), ending(second));
    Some(match (one, other) {
        _ if may_print_header(args) || may_print_header(other_args) => Declined::because("a header"),
        _ if first.inputs.len() > 1 && !first.as_pipe => Declined::because("several files, with headers"),
        (Some(one), Some(other)) => smaller(one, other).map(|smaller| {
            let decisive = if smaller == one { first } else { second };
            let from_end = first.from_end.and(Some(smaller));
            let stages = first.stages.start..second.stages.end;
            let Node { inputs, as_pipe, .. } = first.clone();
            let node = Node { stages, inputs, as_pipe, from_end, ..decisive.clone() };
            Rewrite::one(node, format!("no more than {} leave", described(smaller)))
        }),
        _ => Declined::because("one of them does not count from the end"),
    })
}

/// Returns what a tail prints: the end of its input.
fn ending(tail: &Node) -> Option<Ending> {
    tail.own_command()?.facts.input.needed_end
}

/// Whether an option may be `-v`, among other letters or in full.
pub(super) fn may_print_header(args: &[Vec<u8>]) -> bool {
    args.iter().any(|arg| arg.starts_with(b"-") && arg.contains(&b'v'))
}

fn smaller(one: Ending, other: Ending) -> Accept<Ending> {
    match (one, other) {
        (Ending::Bytes(a), Ending::Bytes(b)) => Ok(Ending::Bytes(a.min(b))),
        (Ending::Records { count: a, end }, Ending::Records { count: b, end: other }) if end == other => {
            Ok(Ending::Records { count: a.min(b), end })
        }
        (Ending::Records { .. }, Ending::Records { .. }) => Declined::because("they end lines differently"),
        _ => Declined::because("one counts bytes, the other lines"),
    }
}

fn described(ending: Ending) -> String {
    match ending {
        Ending::Bytes(count) => format!("{count} bytes"),
        Ending::Records { count, .. } => format!("{count} lines"),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_same, plan_text, planned, reasons};
    use crate::{Segment, Switches};
    use pelton_commands::Ending;

    #[test]
    fn the_smaller_number_decides() {
        assert_eq!(plan_text("tail -n 5 f | tail -n 20"), "native { tail -n 5 f < f }");
        assert_eq!(plan_text("tail -n 20 f | tail -n 5"), "native { tail -n 5 < f }");
        assert_eq!(plan_text("tail -c 9 f | tail -c 20 | tail -c 3"), "native { tail -c 3 < f }");
        assert_eq!(plan_text("cat f g | tail | tail -n 3"), "native { tail -n 3 < f g }");
        assert_eq!(plan_text("sort f | tail | tail -n 3"), "native { [the last 3 lines in order] < f }");
    }

    #[test]
    fn only_the_end_of_one_file_is_read() {
        let from_end = |text: &str| match &planned(text, false, &Switches::default()).segments[0] {
            Segment::Native { nodes, .. } => nodes[0].from_end,
            Segment::Process(_) => panic!("{text}"),
        };
        let lines = |count| Some(Ending::Records { count, end: b'\n' });
        assert_eq!(from_end("tail -n 20 f | tail -n 5"), lines(5));
        assert_eq!(from_end("tail -n 5 f | tail -n 20"), lines(5));
        assert_eq!(from_end("cat f g | tail -n 20 | tail -n 5"), None);
    }

    #[test]
    fn lookalikes_stay() {
        let start = "one of them does not count from the end";
        for (text, reason) in [
            ("tail -n +5 f | tail -n 1", start),
            ("tail -n 5 f | tail -n +1", start),
            ("tail -v f | tail", "a header"),
            ("tail f | tail -qv", "a header"),
            ("tail f g | tail", "several files, with headers"),
            ("tail -z f | tail", "they end lines differently"),
            ("tail -c 9 f | tail", "one counts bytes, the other lines"),
        ] {
            assert_eq!(reasons(text, "tail-tail"), [reason], "{text}");
        }
        assert_eq!(reasons("head f | tail", "tail-tail"), [""; 0]);
    }

    #[test]
    fn the_output_is_the_same() {
        for text in [
            "tail -n 2 f | tail -n 1",
            "tail -n 1 f | tail -n 2",
            "tail -c 5 f | tail -c 3",
            "tail -z -n 2 f | tail -z -n 1",
            "cat f g | tail -n 3 | tail -n 2",
            "sort f | tail -n 3 | tail -n 4",
        ] {
            assert_same(text);
        }
    }
}
