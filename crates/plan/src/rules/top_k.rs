//! top-k: `sort | head -n K` → only about K lines are kept.
//!
//! **Proof.** head prints the first K lines of sort's output. A line with K lines before it cannot be among
//! them, whatever follows; ties are broken as in sort, by the same code.
//!
//! **Conditions.** head counts lines, from the beginning, with sort's terminator; at most as many as
//! [`TopK::new`] allows; no `-g`, whose NaNs only the real sort can order. That SIGPIPE would end sort shows
//! only under pipefail, where head does not run natively.

use super::{Rewrite, Rule, Site};
use crate::cost;
use crate::node::{Node, Work};
use pelton_commands::{Accept, Declined, Head, SortOptions, TopK};
use pelton_stream::Kernel;

pub(super) const RULE: Rule =
    Rule { name: "top-k", summary: "sort | head: only the lines that leave are kept", rewrite };

fn rewrite(sort: &Node, head: &Node, site: &Site) -> Option<Accept<Rewrite>> {
    let sort_args = site.args_of(sort, "sort")?;
    let head_args = site.args_of(head, "head")?;
    Some(join(sort_args, head_args, site).map(|(work, lines)| {
        let best = if lines == 1 { "best line is".to_owned() } else { format!("best {lines} lines are") };
        let gain = format!("only the {best} kept, and little else is compared");
        Rewrite::one(sort.with(head, work, Some(cost::TOP_K_NS_PER_BYTE)), gain)
    }))
}

fn join(sort: &[Vec<u8>], head: &[Vec<u8>], site: &Site) -> Accept<(Work, usize)> {
    let sort = SortOptions::parse(sort, &site.surroundings.context)?;
    let Some((lines, end)) = Head::parse(head)?.first_lines() else {
        return Declined::because("head does not just print the first so many lines");
    };
    if end != sort.terminator {
        return Declined::because("sort and head end lines differently");
    }
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    TopK::new(&sort, lines)?;
    let make = move || Ok(Box::new(TopK::new(&sort, lines)?) as Box<dyn Kernel>);
    let label = if lines == 1 {
        "the first line in order".to_owned()
    } else {
        format!("the first {lines} lines in order")
    };
    Ok((Work::made(label, make), lines))
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_same, plan_text, reasons, under_pipefail};

    #[test]
    fn sort_before_head() {
        assert_eq!(plan_text("sort -rn f | head"), "native { [the first 10 lines in order] < f }");
        assert_eq!(plan_text("cat f | sort | head -n 3"), "native { [the first 3 lines in order] < f }");
        assert_eq!(
            plan_text("tr -cs A-Za-z '\\n' < f | tr A-Z a-z | sort | uniq -c | sort -rn | head"),
            "native { tr -cs A-Za-z '\\n' ; tr A-Z a-z ; [sort the distinct lines] ; [the first 10 lines in order] }"
        );
    }

    #[test]
    fn lookalikes_stay() {
        let first = "head does not just print the first so many lines";
        for (text, reason) in [
            ("sort f | head -c 10", first),
            ("sort f | head -n -10", first),
            ("sort f | head -v", first),
            ("sort -z f | head", "sort and head end lines differently"),
            ("sort -g f | head", "-g may meet two NaNs"),
            ("sort -m f g | head", "sort is not asked to sort"),
            ("sort f | head -n 100001", "more than 100000 lines are kept"),
        ] {
            assert_eq!(reasons(text, "top-k"), [reason], "{text}");
        }
        assert_eq!(reasons("sort f | tr a b | head", "top-k"), [""; 0]);
        assert_eq!(reasons("sort f | tail", "top-k"), [""; 0]);
    }

    #[test]
    fn under_pipefail_the_status_of_sort_shows() {
        assert_eq!(under_pipefail("sort f | head"), "native { sort f } | head");
    }

    #[test]
    fn the_output_is_the_same() {
        for text in [
            "sort f g | head -n 2",
            "sort -u f | head -3",
            "sort -k2 -s f | head -n 100",
            "sort -r f | head -n 1",
        ] {
            assert_same(text);
        }
    }
}
