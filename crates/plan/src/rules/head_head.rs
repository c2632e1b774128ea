//! head-head: `head -n 20 | head -n 5` → `head -n 5`.
//!
//! **Proof.** The first M of the first N lines are the first lines, as many as the smaller number. A last
//! line without terminator passes both unchanged. Both end with status 0; the effect of EPIPE on the status
//! of the first shows only under pipefail, where neither runs natively.
//!
//! **Conditions.** Both count lines from the beginning, of one input, without a header, with the same
//! terminator.

use super::{Rewrite, Rule, Site};
use crate::node::Node;
use pelton_commands::{Accept, Declined, Head};

pub(super) const RULE: Rule =
    Rule { name: "head-head", summary: "head -n 20 | head -n 5: the smaller number decides", rewrite };

fn rewrite(first: &Node, second: &Node, site: &Site) -> Option<Accept<Rewrite>> {
    let lines =
        |node: &Node| Some(Head::parse(site.args_of(node, "head")?).ok().and_then(|head| head.first_lines()));
    let (one, other) = (lines(first)?, lines(second)?);
    Some(match (one, other) {
        (Some((_, end)), Some((_, other_end))) if end != other_end => {
            Declined::because("they end lines differently")
        }
        (Some((count, _)), Some((other_count, _))) => {
            let stages = first.stages.start..second.stages.end;
            let decisive = if count <= other_count { first } else { second };
            let Node { inputs, as_pipe, .. } = first.clone();
            // The second one gets no file name, so it must not print one: it does not.
            let node = Node { stages, inputs, as_pipe, ..decisive.clone() };
            Ok(Rewrite::one(node, format!("no more than {} lines leave", count.min(other_count))))
        }
        _ => Declined::because("one of them does not just print the first so many lines"),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_same, plan_text, reasons};

    #[test]
    fn the_smaller_number_decides() {
        assert_eq!(plan_text("head -n 5 f | head -n 20"), "native { head -n 5 f < f }");
        assert_eq!(
            plan_text("sort f | head -n 20 | head -n 3"),
            "native { [the first 3 lines in order] < f }"
        );
    }

    #[test]
    fn lookalikes_stay() {
        let plain = "one of them does not just print the first so many lines";
        for (text, reason) in [
            ("head -c 5 f | head -n 1", plain),
            ("head -n -5 f | head -n 1", plain),
            ("head -v -n 5 f | head -n 1", plain),
            ("head -n 5 f g | head -n 1", plain),
            ("head -n 5 f | head -n 1 -v", plain),
            ("nosuch | head -n 5 | head -n 1", "what feeds it can tell how long each of them reads"),
            ("head -z -n 5 f | head -n 1", "they end lines differently"),
        ] {
            assert_eq!(reasons(text, "head-head"), [reason], "{text}");
        }
        assert_eq!(reasons("tail -n 5 f | head -n 1", "head-head"), [""; 0]);
    }

    #[test]
    fn the_output_is_the_same() {
        for text in [
            "head -n 2 f | head -n 1",
            "head -n 1 f | head -n 2",
            "head -z -n 2 f | head -z",
            "cat f | head -n 3 | head -n 2",
        ] {
            assert_same(text);
        }
    }
}
