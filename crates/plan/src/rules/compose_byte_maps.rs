//! compose-byte-maps: `tr a b | tr -d c` → one table.
//!
//! **Proof.** A byte map turns each byte into a fixed byte or into nothing, independent of its neighbours. So
//! does a composition of two: a byte goes where the second map sends the result of the first, and is deleted
//! if either deletes it. Neither looks at lines, and neither can stop early, fall back or fail.
//!
//! **Conditions.** Both declare themselves byte maps ([`Class::ByteMap`](pelton_commands::Class::ByteMap)),
//! which excludes `tr -s`.

use super::{Rewrite, Rule, Site};
use crate::node::{Node, Work};
use pelton_commands::Accept;

pub(super) const RULE: Rule =
    Rule { name: "compose-byte-maps", summary: "tr | tr: one table, one pass over each byte", rewrite };

fn rewrite(first: &Node, second: &Node, site: &Site) -> Option<Accept<Rewrite>> {
    let map = first.byte_map()?.then(&second.byte_map()?);
    let real = match (site.real_maps(first), site.real_maps(second)) {
        (one, other) if !one.is_empty() && !other.is_empty() => [one, other].concat(),
        _ => Vec::new(),
    };
    // A table costs as much as the more expensive of the two: it may make room for deleted bytes.
    let ns_per_byte = first.ns_per_byte.zip(second.ns_per_byte).map(|(one, other)| one.max(other));
    let node = first.with(second, Work::Map { map: Box::new(map), real }, ns_per_byte);
    let gain = format!("one table in place of {} commands, one pass over each byte", node.stages.len());
    Some(Ok(Rewrite::one(node, gain)))
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_same, plan_text};

    #[test]
    fn neighbours_become_one() {
        assert_eq!(plan_text("tr a b < f | tr b c"), "native { [one byte map] < - }");
        assert_eq!(plan_text("seq 3 | tr 1 2 | tr -d 3 | tr 2 4"), "native { seq 3 ; [one byte map] }");
    }

    #[test]
    fn lookalikes_stay() {
        for (text, plan) in [
            ("tr a b < f | tr -s b", "native { tr a b ; tr -s b }"),
            ("tr -s a < f | tr a b", "native { tr -s a ; tr a b }"),
            ("tr a b < f | cut -c 1", "native { tr a b ; cut -c 1 }"),
            ("tr a b < f | nosuch | tr b c", "native { tr a b } | nosuch | native { tr b c }"),
        ] {
            assert_eq!(plan_text(text), plan, "{text}");
        }
    }

    #[test]
    fn the_output_is_the_same() {
        for text in [
            "tr a-z b-za < f | tr b x",
            "tr -d ab < f | tr c a | tr -d c",
            "tr a '\\n' < f | tr '\\n' a | tr -d '\\n'",
            "cat f g | tr a-m n-z | tr n-z a-m | cat | sort",
        ] {
            assert_same(text);
        }
    }
}
