//! Expressions that mawk 1.3.4 (20200120) matches as POSIX specifies.
//!
//! Its matcher does not always find the longest or the leftmost match if there are several ways to continue:
//! `.+.+c?b*` ends too early on `  bb `, and `ab?|[ab]|[^a]` does not find a blank. Whether a line matches at
//! all is wrong only for nested repetitions. The accepted expressions were compared with gawk, over random
//! expressions of these forms and random lines: no difference in hundreds of thousands of matches.

use crate::{Accept, Declined};

use super::Dialect;
use super::deterministic::is_one_way;
use super::pattern_pieces::{members, pairs};

/// Declines expressions that mawk may not match where it should. gawk and the one true awk always do.
pub(super) fn check_match(text: &[u8], dialect: Dialect) -> Accept<()> {
    if dialect.is_gawk() || dialect.is_one_true() || is_one_way(text) {
        return Ok(());
    }
    let mut open: Vec<bool> = Vec::new();
    for (piece, next) in pairs(text) {
        let repeats = matches!(next, Some(b"*" | b"+" | b"?"));
        match piece {
            b"(" => open.push(false),
            b")" => {
                let inner = open.pop().unwrap_or(false);
                if inner && repeats {
                    return Declined::because(
                        "a repetition in a repetition, which mawk does not always match",
                    );
                }
                if let Some(outer) = open.last_mut() {
                    *outer |= inner || repeats;
                }
            }
            _ if repeats => {
                if let Some(outer) = open.last_mut() {
                    *outer = true;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Declines expressions where mawk may find another match than the leftmost-longest one. gawk and the one true awk never do.
pub(super) fn check_find(text: &[u8], dialect: Dialect) -> Accept<()> {
    if dialect.is_gawk() || dialect.is_one_true() || is_one_way(text) {
        return Ok(());
    }
    let unsure = || Declined::because("matches that mawk does not always find in full length");
    let mut branches = vec![Vec::new()];
    let mut anchors = Vec::new();
    for (piece, next) in pairs(text) {
        match piece {
            b"(" | b")" => return unsure(),
            b"|" => branches.push(Vec::new()),
            b"^" | b"$" => anchors.push(piece),
            b"*" | b"+" | b"?" => {}
            piece => {
                let Some(members) = members(piece) else { return unsure() };
                let repeated = next.filter(|next| matches!(*next, b"*" | b"+" | b"?")).map(|next| next[0]);
                if let Some(branch) = branches.last_mut() {
                    branch.push(Item { members, repeated });
                }
            }
        }
    }
    let is_trim = anchors == [b"^", b"$"] && text.starts_with(b"^") && text.ends_with(b"$");
    if branches.len() == 2 && is_trim && branches.iter().all(|branch| branch.len() == 1) {
        return Ok(());
    }
    if !branches.iter().all(|branch| is_plain(branch)) {
        return unsure();
    }
    if branches.len() > 1 && !are_apart(&branches, anchors.is_empty()) {
        return unsure();
    }
    Ok(())
}

/// A character or set, and its repetition.
struct Item {
    members: [bool; 256],
    repeated: Option<u8>,
}

impl Item {
    fn may_be_nothing(&self) -> bool {
        matches!(self.repeated, Some(b'*' | b'?'))
    }

    fn meets(&self, other: &Item) -> bool {
        self.members.iter().zip(&other.members).any(|(left, right)| *left && *right)
    }

    fn is_anything(&self) -> bool {
        self.repeated == Some(b'*') && self.members.iter().filter(|member| !**member).count() == 0
    }
}

/// Whether after each repetition the next character decides if it continues; or `.*` is followed by no
/// repetition.
fn is_plain(branch: &[Item]) -> bool {
    branch.iter().enumerate().all(|(at, item)| {
        let rest = &branch[at + 1..];
        if item.repeated.is_none() || item.is_anything() && rest.iter().all(|item| item.repeated.is_none()) {
            return true;
        }
        let reach = rest.iter().position(|item| !item.may_be_nothing()).map_or(rest.len(), |end| end + 1);
        !rest[..reach].iter().any(|next| item.meets(next))
    })
}

/// Whether the branches are strings of one length, or the first character decides the branch.
fn are_apart(branches: &[Vec<Item>], no_anchors: bool) -> bool {
    let literal = |branch: &Vec<Item>| {
        branch.len() == branches[0].len() && branch.iter().all(|item| item.repeated.is_none())
    };
    if no_anchors && branches.iter().all(literal) {
        return true;
    }
    branches.iter().enumerate().all(|(at, branch)| {
        let first = branch.first().filter(|item| !item.may_be_nothing());
        let others = branches[at + 1..].iter();
        first.is_some_and(|first| {
            others.clone().all(|other| other.first().is_some_and(|item| !first.meets(item)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plain_is_taken() {
        for text in [
            "a",
            "[0-9]+",
            "^[ \\t]+|[ \\t]+$",
            "a.*b",
            "[a-z]+[0-9]",
            "[0-9]+\\.[0-9]*",
            "foo|bar",
            "^a|b$",
            "[^,]*,",
            ".*",
            "\\n[ \\t\\r\\n]*",
            "^[ \\t\\n]*",
            r#""([^"\\]|\\.)*"|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|null|[][{}:,]"#,
        ] {
            assert!(check_find(text.as_bytes(), Dialect::Mawk { is_2025: false }).is_ok(), "{text}");
        }
        for text in ["a|ab", ".+.+c?", "[ab]+a", "(a|ab)c", "a.*b+", ".+x", "[^a]?a*[ab]", "a*|a"] {
            assert!(check_find(text.as_bytes(), Dialect::Mawk { is_2025: false }).is_err(), "{text}");
        }
    }

    #[test]
    fn repetitions_in_repetitions_are_refused() {
        for (text, taken) in
            [("(a|b)+", true), ("(ab)*c+", true), ("(a+)", true), ("(a+)*", false), ("((a?)b)+", false)]
        {
            assert_eq!(
                check_match(text.as_bytes(), Dialect::Mawk { is_2025: false }).is_ok(),
                taken,
                "{text}"
            );
        }
    }
}
