//! Expands back-references to short groups: `\([ab]\)\1` becomes `\(aa\|bb\)`, one branch for each string that the
//! group can match.
//!
//! The expanded expression is regular, so its search takes linear time; glibc's search backtracks. An expression is expanded
//! if it has one reference, to a group of a few characters, outside of repetitions and alternatives: there glibc matches as
//! POSIX says. Elsewhere it may not: in some lines it misses the match of `[ab]*([ab])b{1,2}\1.*\1x?$`.

use crate::{Accept, Declined};

use super::chars::CharSet;
use super::node::{Look, Node};

/// Branches of one expression.
const BRANCHES_MAX: usize = 1024;
/// Parts of all branches.
const PARTS_MAX: usize = 8192;

/// A group that is referred to: its number and the characters of each of its places.
type Group = (usize, Vec<Vec<u32>>);

/// Returns the same expression without back-references. In UTF-8 it matches the same of ASCII only.
pub(super) fn expand(node: &Node, utf8: bool) -> Accept<Node> {
    let parts = match node {
        Node::Concat(parts) => parts.as_slice(),
        _ => return Declined::because("a back-reference to no group before it"),
    };
    let mut referred: Option<Group> = None;
    for (index, part) in parts.iter().enumerate() {
        match part.as_back_reference() {
            Some(_) if referred.is_some() => return Declined::because("several back-references"),
            Some(number) => referred = Some((number, places_of(&parts[..index], number, utf8)?)),
            None if is_simple(part, index == 0, index + 1 == parts.len()) => {}
            None => {
                let reason = "a back-reference beside alternatives, conditions or repeated groups";
                return Declined::because(reason);
            }
        }
    }
    let Some(group) = referred else { return Declined::because("a back-reference in a group") };
    let branches = group.1.iter().try_fold(1_usize, |product, place| product.checked_mul(place.len()));
    let branches = branches.filter(|branches| {
        *branches <= BRANCHES_MAX && branches * (parts.len() + 2 * group.1.len()) <= PARTS_MAX
    });
    let Some(branches) = branches else {
        return Declined::because("a back-reference to one of very many strings");
    };
    Ok(Node::either((0..branches).map(|branch| branch_of(parts, &group, branch)).collect()))
}

/// Returns the characters at each place of a group.
fn places_of(before: &[Node], number: usize, utf8: bool) -> Accept<Vec<Vec<u32>>> {
    let of_number = |part: &&Node| matches!(part, Node::Group(known, _) if *known == number);
    let Some(Node::Group(_, body)) = before.iter().find(of_number) else {
        return Declined::because("a back-reference to no group before it");
    };
    let sets = match &**body {
        Node::Concat(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    let last = if utf8 { 0x7F } else { 0xFF };
    let members = |set: &CharSet| (0..=last).filter(|c| *c != u32::from(b'\n') && set.contains(*c)).collect();
    let place = |part: &Node| match part {
        Node::Set(set) => Some(members(set)),
        _ => None,
    };
    match sets.iter().map(place).collect::<Option<Vec<Vec<u32>>>>() {
        Some(places) => Ok(places),
        None => Declined::because("a back-reference to a group of more than a few characters"),
    }
}

/// Whether glibc treats the part as POSIX does, beside a back-reference.
fn is_simple(part: &Node, first: bool, last: bool) -> bool {
    match part {
        Node::Look(Look::LineStart) => first,
        Node::Look(Look::LineEnd) => last,
        Node::Set(_) => true,
        Node::Repeat { body, .. } => matches!(**body, Node::Set(_)),
        Node::Group(_, body) if body.as_back_reference().is_none() => match &**body {
            Node::Concat(parts) => parts.iter().all(|part| matches!(part, Node::Set(_))),
            body => matches!(body, Node::Set(_)),
        },
        _ => false,
    }
}

/// Returns a branch, in which the group is one string.
fn branch_of(parts: &[Node], (number, places): &Group, mut branch: usize) -> Node {
    let mut string = Vec::new();
    for place in places {
        string.push(Node::Set(CharSet::one(place[branch % place.len()])));
        branch /= place.len();
    }
    let is_string = |part: &Node| match part {
        Node::Group(known, _) => part.as_back_reference().unwrap_or(*known) == *number,
        _ => false,
    };
    let expanded =
        parts.iter().flat_map(|part| if is_string(part) { string.clone() } else { vec![part.clone()] });
    Node::concat(expanded.collect())
}

#[cfg(test)]
mod tests {
    use crate::regex::{Flavour, Options, compile};

    fn matching(expression: &str, lines: &[&str]) -> Vec<usize> {
        let options = Options::new(Flavour::GrepExtended);
        let mut regex = compile(&[expression.as_bytes()], &options).expect("an expression");
        let matches = |index: &usize| {
            let text = lines[*index].as_bytes();
            regex.is_match(text, 0..text.len())
        };
        (0..lines.len()).filter(matches).collect()
    }

    #[test]
    fn each_string_of_a_group_has_a_branch() {
        let lines = ["aa", "ab", "a-a", "b--b", "xaax", "", "ba", "abab", "abba"];
        assert_eq!(matching("([ab])\\1", &lines), [0, 4, 8]);
        assert_eq!(matching("^(.).*\\1$", &lines), [0, 2, 3, 4, 8]);
        assert_eq!(matching("([ab]b)\\1", &lines), [7]);
        assert_eq!(matching("([ab][ab])\\1", &lines), [7]);
    }

    #[test]
    fn others_are_declined() {
        let options = Options::new(Flavour::GrepExtended);
        for text in [
            "\\1(a)",
            "(a)\\2",
            "(a*)\\1",
            "(a|b)\\1",
            "(a)*\\1",
            "((a)b)\\1",
            "(a)\\1*",
            "(a)\\1|b",
            "(.)(.)(.)\\1\\2\\3",
            "\\b(a)\\1",
            "((a)\\2)",
            "([ab])([ab])\\2\\1",
            "(a)\\1\\1",
        ] {
            assert!(compile(&[text.as_bytes()], &options).is_err(), "{text}");
        }
    }
}
