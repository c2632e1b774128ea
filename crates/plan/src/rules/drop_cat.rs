//! drop-cat: `cat f | x` → `x` reading f; `a | cat | x` → `a | x`.
//!
//! **Proof.** cat without options prints its input, so x sees the same bytes, in the same order, with and
//! without cat. Only their origin could make a difference: the name of a file, its size, the boundary between
//! two files. The kernel of x is told none of these ([`Piped`](crate::join_of_pipes::Piped)): it sees all inputs as one
//! pipe, as with cat.
//!
//! **Conditions.** A later stage reads cat's output; a final cat stays, so that the status is its own.
//! Several files only for kernels that take blocks cut anywhere: a line may begin in one file and end in the
//! next. If a file cannot be opened, no segment runs natively, and cat itself reports it.

use super::{Rewrite, Rule, Site};
use crate::node::Node;
use pelton_commands::{Accept, Input};

pub(super) const RULE: Rule = Rule { name: "drop-cat", summary: "cat f | x: x reads f itself", rewrite };

fn rewrite(cat: &Node, next: &Node, site: &Site) -> Option<Accept<Rewrite>> {
    // A tee has no kernel whose input could be changed.
    if !cat.only_copies() || !next.reads_pipe() || next.framing().is_err() {
        return None;
    }
    // The pipeline's standard input may be a file, which must not show.
    let from_pipe = cat.reads_pipe() && cat.stages.start > 0;
    let node = Node {
        stages: cat.stages.start..next.stages.end,
        inputs: cat.inputs.clone(),
        as_pipe: cat.as_pipe || !from_pipe,
        ..next.clone()
    };
    let gain = match cat.inputs.as_slice() {
        [Input::File(name)] => format!("{} reads {} itself", site.label(next), name.escape_ascii()),
        _ => format!("{} reads what cat would pass on", site.label(next)),
    };
    Some(Ok(Rewrite::one(node, gain)))
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_same, plan_text, reasons};

    #[test]
    fn cat_of_a_file_before_a_kernel() {
        assert_eq!(plan_text("cat f | sort -r"), "native { sort -r < f }");
        assert_eq!(plan_text("cat < f | wc -l"), "native { wc -l < - }");
        assert_eq!(plan_text("tr a b < f | cat | sort"), "native { tr a b ; sort }");
        assert_eq!(plan_text("cat f | cat | cat | tac"), "native { tac < f }");
    }

    #[test]
    fn several_files_are_one_stream() {
        assert_eq!(plan_text("cat f g | tr a b"), "native { tr a b < f g }");
        assert_eq!(plan_text("cat f g | wc"), "native { wc < f g }");
    }

    #[test]
    fn several_files_stay_where_lines_count() {
        assert_eq!(plan_text("cat f g | sort"), "native { cat f g ; sort }");
        assert_eq!(
            reasons("cat f g | uniq", "drop-cat"),
            ["a line may begin in one file and end in the next"]
        );
    }

    #[test]
    fn lookalikes_stay() {
        for (text, plan) in [
            ("cat -n f | tr a b", "native { cat -n f ; tr a b }"),
            ("cat -s f | tr a b", "native { cat -s f ; tr a b }"),
            // The status is cat's.
            ("sort f | cat", "native { sort f ; cat }"),
            // What feeds it ends one line later.
            ("nosuch | cat | head -n 1", "nosuch | native { cat ; head -n 1 }"),
            // A command that reads a file does not read cat's output.
            ("cat f | sort g", "cat f | sort g"),
            ("seq 3 | sort", "native { seq 3 ; sort }"),
            // Nothing native follows.
            ("cat f | nosuch", "cat f | nosuch"),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
    }

    #[test]
    fn the_output_is_the_same() {
        for text in [
            "cat f | wc",
            "cat f g | wc -c",
            "cat f g | tr a-z A-Z",
            "cat f g | head -n 2",
            "cat f - g | tail -n 2 -v",
            "cat f g | tac",
            "cat f | nl",
            "cat f g f | head -c 5 -v",
            "cat f | head -v",
            "cat < f | wc",
            "cat f | cat | sort | uniq -c",
        ] {
            assert_same(text);
        }
    }
}
