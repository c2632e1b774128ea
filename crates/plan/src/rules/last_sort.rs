//! last-sort: `sort -k2 | sort` → `sort`; `uniq | sort -u` → `sort -u`; `sort -u | uniq` → `sort -u`.
//!
//! **Proof.** A sort with a total order (ties are broken by whole lines) prints the same for any order of its
//! input, and so does `sort -u` of whole lines. So the stage before it need not have sorted, if it printed
//! every line once: its only other effect was to complete the last line of each input, which the second does
//! too. uniq without options drops only repeats of a line, which `sort -u` of whole lines drops anyway; and
//! after `sort -u`, with any keys, no two adjacent lines are identical, since identical lines are equal by
//! any key.
//!
//! **Conditions.** Both use the same terminator; collation is by bytes; the second sort has no `-g`, whose
//! NaNs make its output depend on the order of its input; the first has no `-u`. All of them end with status
//! 0.

use super::{Rewrite, Rule, Site};
use crate::node::Node;
use pelton_commands::{Accept, Collate, Declined, Locale, SortMode, SortOptions, UniqOptions};

pub(super) const RULE: Rule = Rule {
    name: "last-sort",
    summary: "sort | sort, uniq | sort -u, sort -u | uniq: only what decides is run",
    rewrite,
};

fn rewrite(first: &Node, second: &Node, site: &Site) -> Option<Accept<Rewrite>> {
    let locale = |node: &Node| site.locale_of(node.stages.start);
    let (one, other) = (
        (site.sort_options(first), site.uniq_options(first)),
        (site.sort_options(second), site.uniq_options(second)),
    );
    match (one, other) {
        ((Some(one), _), (Some(other), _)) => {
            Some(two_sorts(one, other, locale(second)?).map(|()| keep_second(first, second)))
        }
        ((_, Some(one)), (Some(other), _)) => {
            Some(uniq_sort(&one.ok()?, &other.ok()?, locale(second)?)?.map(|()| keep_second(first, second)))
        }
        ((Some(one), _), (_, Some(other))) => {
            Some(sort_uniq(&one.ok()?, &other.ok()?, locale(first)?)?.map(|()| keep_first(first, second)))
        }
        _ => None,
    }
}

fn keep_second(first: &Node, second: &Node) -> Rewrite {
    let Node { inputs, as_pipe, .. } = first.clone();
    let stages = first.stages.start..second.stages.end;
    let node = Node { stages, inputs, as_pipe, ..second.clone() };
    Rewrite::one(node, "the last sort decides the order, whatever order its lines come in")
}

fn keep_first(first: &Node, second: &Node) -> Rewrite {
    let node = Node { stages: first.stages.start..second.stages.end, ..first.clone() };
    Rewrite::one(node, "sort -u leaves no line beside an identical one")
}

fn two_sorts(first: Accept<SortOptions>, second: Accept<SortOptions>, locale: &Locale) -> Accept<()> {
    let (first, second) = (first?, second?);
    if first.mode.only_checks() {
        return Declined::because("the first sort only checks");
    }
    if first.unique {
        return Declined::because("the first sort drops lines");
    }
    decides(&second, first.terminator, locale)
}

fn uniq_sort(uniq: &UniqOptions, sort: &SortOptions, locale: &Locale) -> Option<Accept<()>> {
    if !sort.unique {
        return None;
    }
    Some(match (uniq.only_drops_repeats(), sort.order().is_by_line()) {
        (false, _) => Declined::because("uniq does more than drop repeated lines"),
        (_, false) => {
            Declined::because("sort does not compare whole lines, and keeps the first of equal ones")
        }
        _ => decides(sort, uniq.terminator, locale),
    })
}

fn sort_uniq(sort: &SortOptions, uniq: &UniqOptions, locale: &Locale) -> Option<Accept<()>> {
    if !sort.unique || !uniq.only_drops_repeats() {
        return None;
    }
    Some(match () {
        () if sort.mode != SortMode::Sort => Declined::because("sort is not asked to sort"),
        () if sort.terminator != uniq.terminator => Declined::because("they end lines differently"),
        () if locale.collate != Collate::Bytes => Declined::because("the order is not by bytes"),
        () if sort.order().may_meet_nan() => Declined::because("-g may meet two NaNs"),
        () => Ok(()),
    })
}

/// Checks that this sort's output depends on its lines and not on their order.
fn decides(sort: &SortOptions, terminator: u8, locale: &Locale) -> Accept<()> {
    let total = if sort.unique { sort.order().is_by_line() } else { sort.order().is_total() };
    match () {
        () if sort.mode != SortMode::Sort => Declined::because("the last sort is not asked to sort"),
        () if !total => Declined::because("the last sort keeps the order of lines whose keys are equal"),
        () if sort.order().may_meet_nan() => Declined::because("-g may meet two NaNs"),
        () if sort.terminator != terminator => Declined::because("they end lines differently"),
        () if locale.collate != Collate::Bytes => Declined::because("the order is not by bytes"),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_same, plan_text, reasons};

    #[test]
    fn the_last_one_decides() {
        for (text, plan) in [
            ("sort -k 2 f g | sort -n", "native { sort -n < f g }"),
            ("sort f | sort | sort -u", "native { sort -u < f }"),
            ("sort -m f g | sort", "native { sort < f g }"),
            ("uniq f | sort -u", "native { sort -u < f }"),
            ("sort -u f | uniq", "native { sort -u f < f }"),
            ("sort -u -k 2 f | uniq", "native { sort -u -k 2 f < f }"),
            ("sort -rn f | sort | uniq -c", "native { [sort the distinct lines] < f }"),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
    }

    #[test]
    fn lookalikes_stay() {
        let keeps = "the last sort keeps the order of lines whose keys are equal";
        for (text, reason) in [
            ("sort f | sort -s -k 2", keeps),
            ("sort f | sort -u -k 2", keeps),
            ("sort -u f | sort", "the first sort drops lines"),
            ("sort -C f | sort", "the first sort only checks"),
            ("sort -c f | sort", "the first sort only checks"),
            ("sort f | sort -g", "-g may meet two NaNs"),
            ("sort -z f | sort", "they end lines differently"),
            ("sort f | sort -C", "the last sort is not asked to sort"),
            ("sort f | sort -c", "the last sort is not asked to sort"),
            ("uniq -c f | sort -u", "uniq does more than drop repeated lines"),
            ("uniq -d f | sort -u", "uniq does more than drop repeated lines"),
            ("uniq -i f | sort -u", "uniq does more than drop repeated lines"),
            ("uniq f | sort -u -n", "sort does not compare whole lines, and keeps the first of equal ones"),
            ("sort -mu f g | uniq", "sort is not asked to sort"),
            ("sort -uz f | uniq", "they end lines differently"),
        ] {
            assert_eq!(reasons(text, "last-sort"), [reason], "{text}");
        }
        // The output of these depends on repeats.
        for text in ["uniq f | sort", "uniq f | uniq -c", "sort -u f | uniq -c", "sort -u f | uniq -d"] {
            assert_eq!(reasons(text, "last-sort"), [""; 0], "{text}");
        }
        // tac joins the last line, which may lack its terminator, with the one before.
        assert_eq!(reasons("tac f | sort", "last-sort"), [""; 0]);
    }

    #[test]
    fn the_output_is_the_same() {
        for text in [
            "sort -k 2 f g | sort -r",
            "sort -s -n f | sort -k2,2 -k1n",
            "sort -z f | sort -z",
            "sort -m f g | sort -u",
            "uniq f | sort -u",
            "uniq f | sort -ru",
            "sort -u -n f | uniq",
            "sort -u f g | uniq",
        ] {
            assert_same(text);
        }
    }
}
