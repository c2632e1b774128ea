//! top-k: `sort | head -n K`, `sort | tail -n K`, `sort | sed Kq`, `sort | awk 'NR <= K'` → only about K lines are kept.
//!
//! **Proof.** head prints the first K lines of sort's output. A line with K lines before it cannot be among
//! them, whatever follows; ties are broken as in sort, by the same code. tail prints the first K of the opposite order,
//! from the last to the first: where lines that compare equal are identical, no tie is left. Others state that the first K
//! lines determine all that they do (`needed_lines`): they are given no more.
//!
//! **Conditions.** head counts lines, from the beginning, with sort's terminator; at most as many as
//! [`TopK::new`] allows; no `-g`, whose NaNs only the real sort can order. That SIGPIPE would end sort shows
//! only under pipefail, where head does not run natively. tail counts lines from the end and prints no header;
//! sort breaks ties by bytes, in a locale that compares bytes.

use super::tail_tail::may_print_header;
use super::{Rewrite, Rule, Site};
use crate::cost;
use crate::node::{Node, Work};
use pelton_commands::{Accept, Declined, Ending, SortOptions, TopK};
use pelton_stream::Kernel;

pub(super) const RULE: Rule =
    Rule { name: "top-k", summary: "sort | head, sort | tail: only the lines that leave are kept", rewrite };

/// Which lines of a sort's output leave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    First,
    Last,
}

fn rewrite(sort: &Node, other: &Node, site: &Site) -> Option<Accept<Rewrite>> {
    let options = site.sort_options(sort)?;
    let (kept, only_cuts) = match (site.args_of(other, "head"), site.args_of(other, "tail")) {
        (Some(_), _) => (first_lines(other), true),
        (_, Some(args)) => (last_lines(other, args)?, true),
        _ => (Ok(needed_lines(other)?), false),
    };
    Some(kept.and_then(|kept| join(options?, kept)).map(|(work, lines)| {
        let best = if lines == 1 { "best line is".to_owned() } else { format!("best {lines} lines are") };
        let gain = format!("only the {best} kept, and little else is compared");
        let cost = Some(cost::TOP_K_NS_PER_BYTE);
        match only_cuts {
            true => Rewrite::one(sort.with(other, work, cost), gain),
            false => Rewrite { nodes: vec![sort.replaced(work, cost), other.clone()], gain },
        }
    }))
}

/// Returns how many lines leave, where, and what ends them.
type Kept = (Place, u64, u8);

fn first_lines(head: &Node) -> Accept<Kept> {
    match needed_lines(head) {
        Some(kept) => Ok(kept),
        None => Declined::because("head does not just print the first so many lines"),
    }
}

/// `None`: it may need all lines, or does not read sort.
fn needed_lines(other: &Node) -> Option<Kept> {
    let facts = &other.own_command().filter(|_| other.reads_pipe())?.facts;
    Some((Place::First, facts.input.needed_lines?, facts.record_end))
}

/// `None`: tail does not count lines from the end.
fn last_lines(tail: &Node, args: &[Vec<u8>]) -> Option<Accept<Kept>> {
    let Ending::Records { count, end } = tail.own_command()?.facts.input.needed_end? else { return None };
    if may_print_header(args) {
        return Some(Declined::because("a header"));
    }
    Some(Ok((Place::Last, count, end)))
}

fn join(sort: SortOptions, (place, lines, end): Kept) -> Accept<(Work, usize)> {
    if end != sort.terminator {
        return Declined::because("they end lines differently");
    }
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    let kernel = match place {
        Place::First => TopK::new,
        Place::Last => TopK::last,
    };
    kernel(&sort, lines)?;
    let make = move || Ok(Box::new(kernel(&sort, lines)?) as Box<dyn Kernel>);
    let which = if place == Place::First { "first" } else { "last" };
    let label = if lines == 1 {
        format!("the {which} line in order")
    } else {
        format!("the {which} {lines} lines in order")
    };
    Ok((Work::made(label, make), lines))
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_same, plan_text, reasons, under_pipefail};

    #[test]
    fn sort_before_head() {
        assert_eq!(plan_text("sort -rn f | head"), "native { [the first 10 lines in order] < f }");
        assert_eq!(plan_text("sort -k2 f | tail -n 3"), "native { [the last 3 lines in order] < f }");
        assert_eq!(plan_text("cat f | sort | head -n 3"), "native { [the first 3 lines in order] < f }");
        for (text, lines, rest) in [
            ("sort f | sed 3q", 3, "sed 3q"),
            ("sort f | sed -n '2{p;q}'", 2, "sed -n '2{p;q}'"),
            ("sort f | sed '5,$d'", 4, "sed '5,$d'"),
            ("sort -rn f | awk 'NR<=5{print$1}'", 5, "awk 'NR<=5{print$1}'"),
        ] {
            let plan = format!("native {{ [the first {lines} lines in order] < f ; {rest} }}");
            assert_eq!(plan_text(text), plan);
        }
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
            ("sort -z f | head", "they end lines differently"),
            ("sort -g f | head", "-g may meet two NaNs"),
            ("sort -m f g | head", "sort is not asked to sort"),
            ("sort f | head -n 100001", "more than 100000 lines are kept"),
        ] {
            assert_eq!(reasons(text, "top-k"), [reason], "{text}");
        }
        assert_eq!(reasons("sort f | tr a b | head", "top-k"), [""; 0]);
        assert_eq!(reasons("sort f | tail -n +3", "top-k"), [""; 0]);
        assert_eq!(reasons("sort f | tail -c 3", "top-k"), [""; 0]);
        assert_eq!(reasons("sort f | sed -n '3p;$p'", "top-k"), [""; 0]);
        assert_eq!(reasons("sort f | awk 'NR<=3' g", "top-k"), [""; 0]);
        assert_eq!(reasons("sort f | awk 'NR<=3;END{print NR}'", "top-k"), [""; 0]);
        for (text, reason) in [
            ("sort f | tail -v", "a header"),
            ("sort -z f | tail", "they end lines differently"),
            ("sort -g f | tail", "-g may meet two NaNs"),
        ] {
            assert_eq!(reasons(text, "top-k"), [reason], "{text}");
        }
    }

    #[test]
    fn under_pipefail_the_status_of_sort_shows() {
        assert_eq!(under_pipefail("sort f | head"), "native { sort f } | head");
        assert_eq!(under_pipefail("sort f | sed 3q"), "native { sort f } | sed 3q");
        let reads_all = "native { [the first 3 lines in order] < f ; awk 'NR<=3' }";
        assert_eq!(under_pipefail("sort f | awk 'NR<=3'"), reads_all);
    }

    #[test]
    fn the_output_is_the_same() {
        for text in [
            "sort f g | head -n 2",
            "sort -u f | head -3",
            "sort -n f | head -n 2",
            "sort -k2 -s f | head -n 100",
            "sort -r f | head -n 1",
            "sort f g | sed -n '2{p;q}'",
            "sort -n f | sed 3q",
            "sort f | sed '2,$d;s/a/b/'",
            "sort -u f | awk 'NR<=2{print$1}'",
            "sort f g | awk '1;NR==3{exit}'",
            "sort f g | tail -n 2",
            "sort -u f | tail -3",
            "sort -rn -k2 f g | tail",
        ] {
            assert_same(text);
        }
    }
}
