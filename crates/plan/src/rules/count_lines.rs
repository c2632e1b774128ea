//! count-lines: `sort f | wc -l` → counts the lines of the input.
//!
//! **Proof.** `wc -l` prints the number of newlines in its input. If the previous stage prints exactly one
//! line for each input line, it prints as many newlines as it reads, and one more if it completes a last
//! line. That number needs none of its work. A filter (`grep x | wc -l`) must still find its lines, but need
//! print only their newlines: on fallback the real command prints its part in full.
//!
//! **Conditions.** wc has no other option and reads the pipe. The previous stage's declared line effect holds
//! for all data, it cannot fail because of its data, and it ends with status 0; or it offers a kernel that
//! prints line ends only, falls back where its own kernel does, and ends with the same status: it remains a
//! node, so that its status shows under pipefail. Several files only for a command that completes the last
//! line of each.

use super::{Rewrite, Rule, Site};
use crate::cost;
use crate::node::{Node, Work};
use pelton_commands::{
    Accept, Accepted, Declined, LineCount, Lines, SortOptions, Special, counts_only_lines,
};
use pelton_stream::Kernel;
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    name: "count-lines",
    summary: "sort | wc -l, tr a b | wc -l: the lines are counted, and nothing else is done",
    rewrite,
};

fn rewrite(before: &Node, wc: &Node, site: &Site) -> Option<Accept<Rewrite>> {
    let args = site.args_of(wc, "wc")?;
    if !counts_only_lines(args) {
        return None;
    }
    if let Some(accepted) = before.own_command()
        && let Some(kernel) = accepted.command.kernel_for(Special::LineCount)
    {
        return Some(kernel.map(|_| line_ends_only(before, Arc::clone(accepted), wc, site)));
    }
    let completes = match (before.byte_map(), site.sort_options(before)) {
        (Some(map), _) => {
            let touched = map.creates().contains(b'\n') || map.removes().contains(b'\n');
            if touched { Declined::because("it changes how many lines there are") } else { Ok(false) }
        }
        (None, Some(options)) => options.and_then(|options| sort(&options)),
        (None, None) => lines_of(before)?,
    };
    Some(completes.map(|completes| {
        let work =
            Work::made("count the lines", move || Ok(Box::new(LineCount::new(completes)) as Box<dyn Kernel>));
        let gain = format!("{} changes nothing about the number of lines", site.label(before));
        Rewrite::one(before.with(wc, work, Some(cost::COUNT_LINES_NS_PER_BYTE)), gain)
    }))
}

/// Keeps the filter, which then prints line ends only.
fn line_ends_only(before: &Node, accepted: Arc<Accepted>, wc: &Node, site: &Site) -> Rewrite {
    let label = format!("{}, line ends only", site.label(before));
    let work = Work::made(label, move || {
        let kernel = accepted.command.kernel_for(Special::LineCount);
        kernel.unwrap_or_else(|| Declined::because("no such kernel"))
    });
    let first = Node { work, ..before.clone() };
    Rewrite {
        nodes: vec![first, wc.clone()],
        gain: "only the ends of its lines are printed, as only they count".into(),
    }
}

/// Whether sort, which completes the last line of each input, prints every line once.
fn sort(options: &SortOptions) -> Accept<bool> {
    match options.mode {
        _ if options.unique => Declined::because("-u drops lines"),
        mode if mode.only_checks() => Declined::because("sort is not asked to sort"),
        _ => Ok(options.terminator == b'\n'),
    }
}

/// Whether any other command completes the last line. `None`: the rule does not apply.
fn lines_of(node: &Node) -> Option<Accept<bool>> {
    let facts = &node.own_command()?.facts;
    Some(match facts.lines {
        Lines::Unknown => return None,
        _ if facts.record_end != b'\n' => Declined::because("its lines do not end in newlines"),
        Lines::Changed => Declined::because("it changes how many lines there are"),
        _ if node.inputs.len() > 1 => Declined::because("a line may begin in one file and end in the next"),
        Lines::Kept => Ok(false),
        Lines::Completed => Ok(true),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_same, plan_text, reasons, under_pipefail};

    #[test]
    fn what_keeps_the_number_of_lines_is_not_run() {
        for (text, plan) in [
            ("sort f | wc -l", "native { [count the lines] < f }"),
            ("sort -rn f g | wc --lines", "native { [count the lines] < f g }"),
            ("sort -m f g | wc -l", "native { [count the lines] < f g }"),
            ("cat f | tr a b | wc -l", "native { [count the lines] < f }"),
            ("tr -d a < f | wc -l", "native { [count the lines] < - }"),
            ("cut -c 1 f | wc -l", "native { [count the lines] < f }"),
            ("nl f | wc -l", "native { [count the lines] < f }"),
            (
                "seq 9 | tr 1 2 | sort -n | nl | wc -l",
                "native { seq 9 ; tr 1 2 ; sort -n ; [count the lines] }",
            ),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
        assert!(under_pipefail("sort f | wc -l").contains("count the lines"));
    }

    #[test]
    fn a_filter_prints_line_ends_only() {
        let text = "keep 00 < f | wc -l";
        assert_eq!(plan_text(text), "native { [keep 00, line ends only] < - ; wc -l }");
        assert_eq!(under_pipefail(text), plan_text(text));
    }

    #[test]
    fn lookalikes_stay() {
        let number = "it changes how many lines there are";
        for (text, reason) in [
            ("sort -ug f | wc -l", "-u drops lines"),
            ("sort -C f | wc -l", "sort is not asked to sort"),
            ("sort -c f | wc -l", "sort is not asked to sort"),
            ("tr a '\\n' < f | wc -l", number),
            ("tr -d '\\n' < f | wc -l", number),
            ("tr -s '\\n' < f | wc -l", number),
            ("tr -cd a < f | wc -l", number),
            ("cut -s -f 1 f | wc -l", number),
            ("cut -z -c 1 f | wc -l", "its lines do not end in newlines"),
            ("nl f g | wc -l", "a line may begin in one file and end in the next"),
        ] {
            assert_eq!(reasons(text, "count-lines"), [reason], "{text}");
        }
        for text in [
            "sort f | wc -lc",
            "sort f | wc -c",
            "sort f | wc",
            "sort f | wc -l f",
            "uniq f | wc -l",
            "fold f | wc -l",
            "tac f | wc -l",
            "paste -s f | wc -l",
            "head f | wc -l",
            "wc -l f | sort",
        ] {
            assert_eq!(reasons(text, "count-lines"), [""; 0], "{text}");
            assert!(!plan_text(text).contains("count the lines"), "{text}");
        }
    }

    #[test]
    fn the_output_is_the_same() {
        for text in [
            "sort f g | wc -l",
            "sort -z f | wc -l",
            "sort -m f g | wc -l",
            "cat f g | tr a b | wc -l",
            "cut -c 1 f | wc -l",
            "nl f | wc -l",
            "expand f | wc -l",
            "cat -n f | wc -l",
            "keep a < f | wc -l",
            "cat f | keep a | wc -l",
        ] {
            assert_same(text);
        }
    }
}
