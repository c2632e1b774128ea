//! sort-uniq: `sort | uniq -c` → counts identical lines as they arrive and sorts only the distinct ones.
//!
//! **Proof.** If the order of sort is total (different lines never compare equal), identical lines are
//! adjacent in its output, so uniq sees each distinct line as one group. Which of identical lines is printed
//! does not show. So each distinct line and its count suffice.
//!
//! **Conditions.** The kernel checks them ([`pelton_commands::sort_uniq`]): a total order (not `-s`, not
//! `-u`), whole lines compared, the same line terminator, no `-g`, whose NaNs only the real sort can order.
//! uniq's status is always 0.

use super::{Rewrite, Rule, Site};
use crate::cost;
use crate::node::{Node, Work};
use pelton_commands::{Accept, SortOptions, UniqOptions, sort_uniq};
use pelton_stream::Kernel;
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    name: "sort-uniq",
    summary: "sort | uniq -c: identical lines are counted first, and only the distinct ones sorted",
    rewrite,
};

fn rewrite(sort: &Node, uniq: &Node, site: &Site) -> Option<Accept<Rewrite>> {
    let options = (site.sort_options(sort)?, site.uniq_options(uniq)?);
    Some(join(options.0, options.1).map(|work| {
        let node = sort.with(uniq, work, Some(cost::GROUP_NS_PER_BYTE));
        Rewrite::one(node, "identical lines are counted as they arrive, and only the distinct ones sorted")
    }))
}

fn join(sort: Accept<SortOptions>, uniq: Accept<UniqOptions>) -> Accept<Work> {
    let (sort, uniq) = (sort?, uniq?);
    sort_uniq(&sort, &uniq)?;
    let groups = Some(Box::new((sort.clone(), uniq.clone())));
    let make = move || Ok(Box::new(sort_uniq(&sort, &uniq)?) as Box<dyn Kernel>);
    Ok(Work::Made { make: Arc::new(make), label: "sort the distinct lines".to_owned(), groups })
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_same, plan_text, reasons};

    #[test]
    fn sort_before_uniq() {
        assert_eq!(plan_text("sort f | uniq -c"), "native { [sort the distinct lines] < f }");
        assert_eq!(plan_text("cat f | sort -k2n | uniq -d"), "native { [sort the distinct lines] < f }");
        assert_eq!(plan_text("sort -z f | uniq -z"), "native { [sort the distinct lines] < f }");
    }

    #[test]
    fn lookalikes_stay() {
        let total = "sort may not keep identical lines together, or drops some";
        let whole = "uniq does not compare whole lines";
        for (text, reason) in [
            ("sort -s -k1,1 f | uniq", total),
            ("sort -u f | uniq -c", total),
            ("sort f | uniq -f 1", whole),
            ("sort f | uniq -i", whole),
            ("sort f | uniq -w 3", whole),
            ("sort f | uniq -s 1 -c", whole),
            ("sort -z f | uniq", "sort and uniq end lines differently"),
            ("sort -m f g | uniq", "sort is not asked to sort"),
            ("sort -g f | uniq", "-g may meet two NaNs"),
            ("sort f | uniq --all-repeated=prepend", "uniq separates groups"),
        ] {
            assert_eq!(reasons(text, "sort-uniq"), [reason], "{text}");
        }
        assert_eq!(reasons("sort f | tr a b | uniq", "sort-uniq"), [""; 0]);
        assert_eq!(reasons("uniq f | sort", "sort-uniq"), [""; 0]);
    }

    #[test]
    fn the_output_is_the_same() {
        for text in
            ["sort f g | uniq -c", "sort -rn f | uniq -D", "sort -f f | uniq -u", "cat f | sort | uniq"]
        {
            assert_same(text);
        }
    }
}
