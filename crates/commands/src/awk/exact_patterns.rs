//! Expressions that mawk 1.3.4 (20200120) matches as POSIX specifies.
//!
//! Its matcher does not always find the longest or the leftmost match if there are several ways to continue:
//! `.+.+c?b*` ends too early on `  bb `, and `ab?|[ab]|[^a]` does not find a blank. Whether a line matches at
//! all is wrong only for nested repetitions. The accepted expressions were compared with gawk, over random
//! expressions of these forms and random lines: no difference in hundreds of thousands of matches.

use crate::{Accept, Declined};

/// Declines expressions that mawk may not match where it should.
pub(super) fn check_match(text: &[u8]) -> Accept<()> {
    if super::deterministic::is_one_way(text) {
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

/// Declines expressions where mawk may find another match than the leftmost-longest one.
pub(super) fn check_find(text: &[u8]) -> Accept<()> {
    if super::deterministic::is_one_way(text) {
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

/// Returns the pieces of an expression (characters, sets, operators), each with the next.
pub(super) fn pairs(text: &[u8]) -> Vec<(&[u8], Option<&[u8]>)> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let end = match text[at] {
            b'\\' => at + 2,
            b'[' => end_of_bracket(text, at),
            _ => at + 1,
        };
        let end = end.min(text.len());
        pieces.push(&text[at..end]);
        at = end;
    }
    let next = pieces.iter().skip(1).map(|piece| Some(*piece)).chain([None]);
    pieces.iter().copied().zip(next).collect()
}

fn end_of_bracket(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    at += usize::from(text.get(at) == Some(&b'^'));
    at += usize::from(text.get(at) == Some(&b']'));
    while let Some(byte) = text.get(at) {
        match byte {
            b']' => return at + 1,
            b'\\' => at += 2,
            b'[' if text.get(at + 1) == Some(&b':') => {
                at = memchr::memmem::find(&text[at..], b":]").map_or(text.len(), |end| at + end + 2);
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns the members of a piece. `None` if not obvious.
pub(super) fn members(piece: &[u8]) -> Option<[bool; 256]> {
    let mut members = [false; 256];
    match piece {
        b"." => return Some([true; 256]),
        [b'\\', byte] if byte.is_ascii_punctuation() => members[usize::from(*byte)] = true,
        [b'\\', byte] => members[usize::from(blank(*byte)?)] = true,
        [b'[', inner @ .., b']'] => return bracket(inner),
        [byte] => members[usize::from(*byte)] = true,
        _ => return None,
    }
    Some(members)
}

/// Returns the character of an escape.
fn blank(letter: u8) -> Option<u8> {
    match letter {
        b't' => Some(b'\t'),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        _ => None,
    }
}

fn bracket(inner: &[u8]) -> Option<[bool; 256]> {
    let negated = inner.first() == Some(&b'^');
    let inner = &inner[usize::from(negated)..];
    let mut members = [false; 256];
    let mut at = 0;
    while let Some(&byte) = inner.get(at) {
        let rest = &inner[at..];
        at += match (byte, rest) {
            (b'[', [_, b':', ..]) => {
                let end = memchr::memmem::find(rest, b":]")?;
                let is_member = class(&rest[2..end])?;
                (0..128u8).filter(is_member).for_each(|byte| members[usize::from(byte)] = true);
                end + 2
            }
            (b'[', [_, b'.' | b'=', ..]) => return None,
            (b'\\', [_, byte, ..]) if blank(*byte).is_some() => {
                blank(*byte).into_iter().for_each(|byte| members[usize::from(byte)] = true);
                2
            }
            (b'\\', [_, byte, ..]) if byte.is_ascii_punctuation() => {
                members[usize::from(*byte)] = true;
                2
            }
            (b'\\', _) => return None,
            (low, [_, b'-', high, ..]) if *high != b'\\' => {
                (low..=*high).for_each(|byte| members[usize::from(byte)] = true);
                3
            }
            (byte, _) => {
                members[usize::from(byte)] = true;
                1
            }
        };
    }
    if negated {
        members.iter_mut().for_each(|member| *member = !*member);
    }
    Some(members)
}

fn class(name: &[u8]) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alpha" => u8::is_ascii_alphabetic,
        b"digit" => u8::is_ascii_digit,
        b"alnum" => u8::is_ascii_alphanumeric,
        b"upper" => u8::is_ascii_uppercase,
        b"lower" => u8::is_ascii_lowercase,
        b"punct" => u8::is_ascii_punctuation,
        b"xdigit" => u8::is_ascii_hexdigit,
        b"space" => |byte| matches!(byte, b' ' | b'\t'..=b'\r'),
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        _ => return None,
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
            assert!(check_find(text.as_bytes()).is_ok(), "{text}");
        }
        for text in ["a|ab", ".+.+c?", "[ab]+a", "(a|ab)c", "a.*b+", ".+x", "[^a]?a*[ab]", "a*|a"] {
            assert!(check_find(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn repetitions_in_repetitions_are_refused() {
        for (text, taken) in
            [("(a|b)+", true), ("(ab)*c+", true), ("(a+)", true), ("(a+)*", false), ("((a?)b)+", false)]
        {
            assert_eq!(check_match(text.as_bytes()).is_ok(), taken, "{text}");
        }
    }
}
