//! find-grep: `find … | grep x` → one pass.
//!
//! **Proof.** No name has a NUL, and find ends each with a newline. grep's output depends on where its reads
//! end only if it finds a NUL; otherwise it checks each printed line for being text. So it does not matter
//! how the names are cut.
//!
//! **Conditions.** Both remain nodes with their own status. find's messages appear at once, and grep's lines
//! once it has printed enough of them; with two processes their order in a shared file is a race too.

use super::{Rewrite, Rule, Site};
use crate::node::Node;
use pelton_commands::{Accept, Content};

pub(super) const RULE: Rule = Rule {
    name: "find-grep",
    summary: "find | grep x: names come without a pipe, since none holds a NUL",
    rewrite,
};

fn rewrite(find: &Node, grep: &Node, _site: &Site) -> Option<Accept<Rewrite>> {
    let printer = find.own_command()?;
    if printer.facts.output.content != Content::NoNul || !grep.needs_pipe || !grep.reads_pipe() {
        return None;
    }
    let second = Node { needs_pipe: false, ..grep.clone() };
    let gain = "no name holds a NUL: grep need not look how they come".to_owned();
    Some(Ok(Rewrite { nodes: vec![find.clone(), second], gain }))
}

#[cfg(test)]
mod tests {
    use crate::testing::plan_text;

    #[test]
    fn names_come_without_a_pipe() {
        for (text, plan) in [
            ("find . | grep x", "native { find . ; grep x }"),
            (
                "find . -name '*.c' | grep x | wc -l",
                "native { find . -name '*.c' ; [grep x, line ends only] ; wc -l }",
            ),
            ("find . -mtime 1 | grep x", "find . -mtime 1 | native { grep x }"),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
    }
}
