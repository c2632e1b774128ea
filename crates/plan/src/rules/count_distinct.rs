//! count-distinct: `sort -u | wc -l`, `sort | uniq -d | wc -l` → a table of lines without order.
//!
//! **Proof.** wc prints the number of its input lines. That depends on which lines there are and how often
//! each came, not on their order.
//!
//! **Conditions.** wc has no option but -l; lines end in newlines, which wc counts; no `-g`, whose NaNs only
//! the real sort can order; and for uniq, the conditions of sort-uniq. If most lines are distinct they are
//! sorted all the same, since that takes less memory, and only not printed.

use super::{Rewrite, Rule, Site};
use crate::cost;
use crate::node::{Node, Work};
use pelton_commands::{Accept, DistinctCount, counts_only_lines};
use pelton_stream::Kernel;

pub(super) const RULE: Rule = Rule {
    name: "count-distinct",
    summary: "sort -u | wc -l, sort | uniq | wc -l: distinct lines are counted without ordering them",
    rewrite,
};

fn rewrite(before: &Node, wc: &Node, site: &Site) -> Option<Accept<Rewrite>> {
    if !counts_only_lines(site.args_of(wc, "wc")?) {
        return None;
    }
    let work = match (&before.work, site.sort_options(before)) {
        (Work::Made { groups: Some(groups), .. }, _) => {
            let (sort, uniq) = (**groups).clone();
            counting(move || DistinctCount::of_uniq(&sort, &uniq))
        }
        (_, Some(Ok(sort))) if sort.unique => counting(move || DistinctCount::of_sort(&sort)),
        _ => return None,
    };
    Some(work.map(|work| {
        let node = before.with(wc, work, Some(cost::COUNT_DISTINCT_NS_PER_BYTE));
        Rewrite::one(node, "distinct lines are counted as they arrive; their order does not matter")
    }))
}

fn counting(make: impl Fn() -> Accept<DistinctCount> + Send + Sync + 'static) -> Accept<Work> {
    make()?;
    Ok(Work::made("count the distinct lines", move || Ok(Box::new(make()?) as Box<dyn Kernel>)))
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_same, plan_text, reasons};

    #[test]
    fn no_order_before_a_count() {
        for text in ["sort -u f | wc -l", "sort -u -k 2 f | wc -l", "sort f | uniq -d | wc -l"] {
            assert_eq!(plan_text(text), "native { [count the distinct lines] < f }", "{text}");
        }
        assert_eq!(plan_text("cat f | sort | uniq -c | wc -l"), "native { [count the distinct lines] < f }");
    }

    #[test]
    fn lookalikes_stay() {
        let newlines = "wc counts newlines, which do not end these lines";
        for (text, reason) in [
            ("sort -uz f | wc -l", newlines),
            ("sort -z f | uniq -z | wc -l", newlines),
            ("sort -ug f | wc -l", "-g may meet two NaNs"),
            ("sort -mu f g | wc -l", "sort is not asked to sort and to drop what is equal"),
        ] {
            assert_eq!(reasons(text, "count-distinct"), [reason], "{text}");
        }
        for text in
            ["sort -u f | wc", "sort -u f | wc -lw", "sort -s -k1,1 f | uniq | wc -l", "uniq f | wc -l"]
        {
            assert_eq!(reasons(text, "count-distinct"), [""; 0], "{text}");
        }
    }

    #[test]
    fn the_output_is_the_same() {
        for text in [
            "sort -u f g | wc -l",
            "sort -u -k 2,2n f g | wc -l",
            "sort f g | uniq | wc -l",
            "sort f g | uniq -d | wc -l",
            "sort f | uniq -u | wc -l",
            "sort -r f | uniq -D | wc -l",
        ] {
            assert_same(text);
        }
    }
}
