//! tac-head: `tac f | head -n 5` → f is read from its end.
//!
//! **Proof.** tac prints the last line first. If the last line lacks its terminator, tac prints it and the
//! line before it without anything between, so the first K lines of its output come from at most the last K +
//! 1 lines of its input, and nothing before them can show.
//!
//! **Conditions.** tac reads one input and splits it at newlines; head prints only its first lines. The early
//! start applies only to a regular file; otherwise both kernels run unchanged.

use super::{Rewrite, Rule, Site};
use crate::node::Node;
use pelton_commands::{Accept, Declined, Ending, Head, reverses_lines};

pub(super) const RULE: Rule =
    Rule { name: "tac-head", summary: "tac f | head: f is read from its end", rewrite };

fn rewrite(tac: &Node, head: &Node, site: &Site) -> Option<Accept<Rewrite>> {
    let tac_args = site.args_of(tac, "tac")?;
    let head_args = site.args_of(head, "head")?;
    if tac.from_end.is_some() || tac.stages.start > 0 && tac.reads_pipe() {
        return None;
    }
    Some(count(tac_args, head_args).map(|count| {
        let from_end = Some(Ending::Records { count: count + 1, end: b'\n' });
        let node = Node { from_end, ns_per_byte: Some(0.0), ..tac.clone() };
        let gain = format!("of a plain file only the end is read: {} lines at most", count + 1);
        Rewrite { nodes: vec![node, head.clone()], gain }
    }))
}

fn count(tac_args: &[Vec<u8>], head_args: &[Vec<u8>]) -> Accept<u64> {
    if !reverses_lines(tac_args) {
        return Declined::because("tac does not just reverse lines");
    }
    match Head::parse(head_args)?.first_lines() {
        Some((count, b'\n')) => Ok(count),
        _ => Declined::because("head does not just print the first so many lines"),
    }
}

#[cfg(test)]
mod tests {
    use crate::Segment;
    use crate::testing::{planned, reasons};
    use pelton_commands::Ending;

    fn from_end(text: &str) -> Option<Ending> {
        let planned = planned(text, false, &crate::Switches::default());
        planned.segments.iter().find_map(|segment| match segment {
            Segment::Native { nodes, .. } => nodes[0].from_end,
            Segment::Process(_) => None,
        })
    }

    #[test]
    fn what_needs_only_the_end() {
        let lines = |count| Some(Ending::Records { count, end: b'\n' });
        for (text, expected) in [
            ("tac f | head -n 5", lines(6)),
            ("cat f | tac | head -n 5", lines(6)),
            ("tail -n 5 f | sort", lines(5)),
            ("cat f | tail -n 5 | sort", lines(5)),
            ("tail -c 5 f | sort", Some(Ending::Bytes(5))),
            ("tail -z f | sort", Some(Ending::Records { count: 10, end: 0 })),
            ("tail -n +5 f", None),
            ("cat f g | tail -n 5", None),
            ("tail -n 5 f g | sort", lines(5)),
            ("tac f g | head", None),
            ("sort f | tac | head", None),
            ("tac f | tail", None),
        ] {
            assert_eq!(from_end(text), expected, "{text}");
        }
    }

    #[test]
    fn lookalikes_stay() {
        let first = "head does not just print the first so many lines";
        for (text, reason) in [
            ("tac f | head -c 5", first),
            ("tac f | head -n -5", first),
            ("tac f | head -z", first),
            ("tac -s x f | head", "tac does not just reverse lines"),
            ("tac -b f | head", "tac does not just reverse lines"),
        ] {
            assert_eq!(reasons(text, "tac-head"), [reason], "{text}");
        }
        assert_eq!(reasons("rev f | head", "tac-head"), [""; 0]);
        assert_eq!(reasons("tac f g | head", "tac-head"), [""; 0]);
    }
}
