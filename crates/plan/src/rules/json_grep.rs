//! json-grep: `pelton json f | grep key` → selects values while the document is read.
//!
//! **Proof.** `pelton json` prints UTF-8 without NULs, since it rejects anything else. So grep's handling of
//! binary data never applies, nor where its reads end: it prints what `grep -a` prints, and need not read a
//! pipe itself. If it does not count lines or bytes and does not invert matches (`-v`), a line without a
//! match has no effect. So only lines with a string that every match contains are generated from a document.
//! grep still decides on them.
//!
//! **Conditions.** Both remain nodes with their own status. json complains as soon as it finds an error, so
//! options that make grep end before its input does (`-q`, `-m`) keep both as processes already. An
//! expression without such a string, and `--gron`, still run as one pass, over all lines.

use super::{Rewrite, Rule, Site};
use crate::node::{Node, Work};
use pelton_commands::{Accept, Content, Declined, Special};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    name: "json-grep",
    summary: "pelton json | grep key: only lines with the key in them are made",
    rewrite,
};

fn rewrite(json: &Node, grep: &Node, site: &Site) -> Option<Accept<Rewrite>> {
    let (printer, reader) = (json.own_command()?, grep.own_command()?);
    if printer.facts.output.content != Content::Text || !grep.reads_pipe() {
        return None;
    }
    let accepted = reader.command.kernel_for(Special::TextInput)?;
    let reader = Arc::clone(reader);
    let made = move || reader.command.kernel_for(Special::TextInput).unwrap_or_else(no_such_kernel);
    let label = format!("{}, of text", site.label(grep));
    let second = Node { work: Work::made(label, made), needs_pipe: false, ..grep.clone() };
    let (first, gain) = match selecting(json, site, grep) {
        Some((first, needed)) => (first, format!("lines without {} are not made", needed.escape_ascii())),
        None => (json.clone(), "what json prints is text: grep need not look how it comes".to_owned()),
    };
    Some(accepted.map(|_| Rewrite { nodes: vec![first, second], gain }))
}

/// Returns json without lines that grep would drop, and the string that the others contain.
fn selecting(json: &Node, site: &Site, grep: &Node) -> Option<(Node, Vec<u8>)> {
    let (printer, reader) = (json.own_command()?, grep.own_command()?);
    let needed = reader.facts.input.required_substring.clone()?;
    printer.command.kernel_for(Special::LinesWith(&needed))?.ok()?;
    let label = format!("{}, lines with {} only", site.label(json), needed.escape_ascii());
    let (printer, text) = (Arc::clone(printer), needed.clone());
    let made = move || printer.command.kernel_for(Special::LinesWith(&text)).unwrap_or_else(no_such_kernel);
    Some((Node { work: Work::made(label, made), ..json.clone() }, needed))
}

fn no_such_kernel<T>() -> Accept<T> {
    Declined::because("no such kernel")
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_same, in_utf8, plan_text, under_pipefail};

    #[test]
    fn lines_that_grep_would_throw_away_are_not_made() {
        for (text, plan) in [
            (
                "pelton json f | grep value",
                "native { [pelton json f, lines with value only] < f ; [grep value, of text] }",
            ),
            (
                "pelton json --lines < f | grep -c 'id.*new'",
                "native { [pelton json --lines, lines with new only] < - ; [grep -c 'id.*new', of text] }",
            ),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
        assert!(in_utf8("cat f | pelton json | grep -F a | sort | uniq -c").contains("lines with a only"));
        assert!(under_pipefail("pelton json f | grep value").contains("lines with value only"));
    }

    #[test]
    fn where_every_line_counts_all_are_made_in_the_same_pass() {
        for grep in ["grep -v a", "grep -n a", "grep -i a", "grep '[a-z]'", "grep -b a", "grep -c ''"] {
            let plan = plan_text(&format!("pelton json f | {grep}"));
            assert!(plan.starts_with("native { pelton json f ; [grep"), "{plan}");
        }
        let plan = plan_text("pelton json --gron f | grep a");
        assert_eq!(plan, "native { pelton json --gron f ; [grep a, of text] }");
    }

    #[test]
    fn lookalikes_stay() {
        for (text, plan) in [
            ("pelton json f", "pelton json f"),
            ("pelton json .a f | grep a", "pelton json .a f | native { grep a }"),
            ("pelton json f | grep a f", "pelton json f | grep a f"),
            ("pelton json --tsv .a f | sort", "pelton json --tsv .a f | native { sort }"),
            ("pelton run f | sort", "pelton run f | native { sort }"),
            // Whether it lives to complain depends on when its reader ends.
            ("pelton json f | grep -q a", "pelton json f | native { grep -q a }"),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
    }

    #[test]
    fn the_output_is_the_same() {
        for text in ["pelton json f | grep -a a", "pelton json g | grep -av a", "pelton json f | grep -ac 1"]
        {
            assert_same(text);
        }
    }
}
