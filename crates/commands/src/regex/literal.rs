//! Literal strings that every match contains: with them a search skips most of its input.

use super::chars::{CharSet, encode};
use super::node::Node;

/// Alternatives from expanding sets, such as both cases under `-i`: few enough for a vector search.
const SPELLINGS_MAX: usize = 16;
/// Alternatives of a literal search; with more the automaton is as fast.
const STRINGS_MAX: usize = 64;
/// The limit for an expression of only alternative literals, such as a list of words.
const WORDS_MAX: usize = 10_000;
/// Members of a set that is expanded.
const MEMBERS_MAX: usize = 8;

/// Returns the strings that the node matches, if they are few and none is empty: the node then equals this
/// list.
pub(super) fn exact(node: &Node, utf8: bool) -> Option<Vec<Vec<u8>>> {
    let strings = enumerate(node, utf8, WORDS_MAX)?;
    strings.iter().all(|string| !string.is_empty()).then_some(strings)
}

/// Returns strings of which each match contains one.
pub(super) fn required(node: &Node, utf8: bool) -> Option<Vec<Vec<u8>>> {
    best(node, utf8).filter(|strings| shortest(strings) > 1 || strings.len() <= 3)
}

/// Members of a set worth searching.
const SET_MAX: usize = 16;

/// Returns a small set of bytes of which each match contains one, if [`required`] has nothing rarer.
pub(super) fn required_set(node: &Node, utf8: bool) -> Option<Vec<u8>> {
    let is_common = |strings: Vec<Vec<u8>>| strings.iter().all(|s| s.len() == 1 && rarity(s[0]) == 0);
    if !required(node, utf8).is_none_or(is_common) {
        return None;
    }
    let set = smallest_set(node, utf8)?;
    Some(set.iter().filter_map(|c| u8::try_from(c).ok()).collect())
}

fn smallest_set(node: &Node, utf8: bool) -> Option<&CharSet> {
    match node {
        Node::Set(set) if set.is_ascii() || !utf8 => {
            Some(set).filter(|set| (4..=SET_MAX).contains(&set.len()))
        }
        Node::Group(_, body) => smallest_set(body, utf8),
        Node::Repeat { body, min, .. } if *min > 0 => smallest_set(body, utf8),
        Node::Concat(parts) => {
            parts.iter().filter_map(|part| smallest_set(part, utf8)).min_by_key(|set| set.len())
        }
        _ => None,
    }
}

fn enumerate(node: &Node, utf8: bool, max: usize) -> Option<Vec<Vec<u8>>> {
    let strings = match node {
        Node::Empty => vec![Vec::new()],
        Node::Look(_) => return None,
        Node::Set(set) if set.len() <= MEMBERS_MAX => set.iter().map(|c| encode(c, utf8)).collect(),
        Node::Set(_) => return None,
        Node::Group(_, body) => enumerate(body, utf8, max)?,
        Node::Concat(parts) => {
            let mut strings = vec![Vec::new()];
            for part in parts {
                strings = product(&strings, &enumerate(part, utf8, STRINGS_MAX)?)?;
            }
            strings
        }
        Node::Either(branches) => {
            let mut strings = Vec::new();
            for branch in branches {
                strings.extend(enumerate(branch, utf8, max)?);
                if strings.len() > max {
                    return None;
                }
            }
            strings
        }
        Node::Repeat { body, min, max: Some(max) } if min == max && *min <= 16 => {
            let once = enumerate(body, utf8, STRINGS_MAX)?;
            (0..*min).try_fold(vec![Vec::new()], |strings, _| product(&strings, &once))?
        }
        Node::Repeat { .. } => return None,
    };
    (!strings.is_empty()).then_some(strings)
}

fn product(heads: &[Vec<u8>], tails: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let count = heads.len() * tails.len();
    let joined = heads.iter().flat_map(|head| tails.iter().map(|tail| [head.as_slice(), tail].concat()));
    (count <= SPELLINGS_MAX).then(|| joined.collect())
}

fn best(node: &Node, utf8: bool) -> Option<Vec<Vec<u8>>> {
    if let Some(strings) = enumerate(node, utf8, STRINGS_MAX).filter(|strings| shortest(strings) > 0) {
        return Some(strings);
    }
    match node {
        Node::Group(_, body) => best(body, utf8),
        Node::Repeat { body, min, .. } if *min > 0 => best(body, utf8),
        Node::Concat(parts) => best_of_concat(parts, utf8),
        Node::Either(branches) => {
            let mut strings = Vec::new();
            for branch in branches {
                strings.extend(best(branch, utf8)?);
            }
            (strings.len() <= STRINGS_MAX).then_some(strings)
        }
        _ => None,
    }
}

/// Joins adjacent parts with known strings into longer ones; the longest run wins.
fn best_of_concat(parts: &[Node], utf8: bool) -> Option<Vec<Vec<u8>>> {
    let mut best_yet: Option<Vec<Vec<u8>>> = None;
    let mut offer = |candidate: Vec<Vec<u8>>| {
        if best_yet.as_ref().is_none_or(|current| score(&candidate) > score(current)) {
            best_yet = Some(candidate);
        }
    };
    let nothing = vec![Vec::new()];
    let mut run = nothing.clone();
    for part in parts.iter().filter(|part| !matches!(part, Node::Look(_))) {
        let strings = enumerate(part, utf8, STRINGS_MAX);
        match strings.as_ref().and_then(|strings| product(&run, strings)) {
            Some(longer) => run = longer,
            None => {
                offer(std::mem::replace(&mut run, strings.unwrap_or_else(|| nothing.clone())));
                best(part, utf8).into_iter().for_each(&mut offer);
            }
        }
    }
    offer(run);
    best_yet.filter(|strings| shortest(strings) > 0)
}

fn shortest(strings: &[Vec<u8>]) -> usize {
    strings.iter().map(Vec::len).min().unwrap_or(0)
}

/// Longer is rarer; beyond a few bytes, fewer alternatives are faster to search; of single bytes, some are
/// rarer.
fn score(strings: &[Vec<u8>]) -> (usize, usize, usize) {
    let length = shortest(strings).min(8);
    let rarity = if length == 1 { strings.iter().map(|string| rarity(string[0])).min() } else { None };
    (length, STRINGS_MAX.saturating_sub(strings.len()), rarity.unwrap_or(0))
}

/// Ranks bytes by rarity in text: the usual bytes of a language or a log come first.
fn rarity(byte: u8) -> usize {
    match byte {
        b' ' | b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 0,
        b'0'..=b'9' | b'h' | b'l' | b'd' | b'u' | b'c' | b'm' | b'.' | b'-' | b'/' | b':' | b',' => 1,
        b'a'..=b'z' | b'"' | b'_' | b'=' => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::{Syntax, parse};
    use super::*;

    fn node(text: &str, ignore_case: bool) -> Node {
        let syntax = Syntax { utf8: true, ignore_case, ..Syntax::EXTENDED };
        parse(text.as_bytes(), syntax).unwrap().node
    }

    fn shown(strings: Option<Vec<Vec<u8>>>) -> Option<Vec<String>> {
        strings.map(|strings| strings.into_iter().map(|s| String::from_utf8(s).unwrap()).collect())
    }

    #[test]
    fn finds_what_every_match_contains() {
        let required =
            |text: &str| shown(required(&node(text, false), true)).map(|strings| strings.join(" "));
        assert_eq!(required("^[0-9]+ error: .*x").as_deref(), Some(" error: "));
        assert_eq!(required("(foo|ba[rz])+q").as_deref(), Some("foo bar baz"));
        assert_eq!(required("(foo|.*)bar").as_deref(), Some("bar"));
        assert_eq!(required("foo|.*").as_deref(), None);
        assert_eq!(required("a.b").as_deref(), Some("b"));
        assert_eq!(required("[0-9]+.").as_deref(), None);
        assert_eq!(required("ab{2}c").as_deref(), Some("abbc"));
    }

    #[test]
    fn finds_a_set_where_no_string_is_rarer() {
        let set = |text: &str| required_set(&node(text, false), true).map(|set| set.len());
        assert_eq!(set("[0-9]+s"), Some(10));
        assert_eq!(set("[a-z]+[0-9]{3}"), Some(10));
        assert_eq!(set("[0-9]+ms"), None);
        assert_eq!(set("[0-9]*s"), None);
        assert_eq!(set("[a-z]+"), None);
    }

    #[test]
    fn lists_what_is_only_literals() {
        let exact = |text: &str| shown(exact(&node(text, false), true)).map(|strings| strings.join(" "));
        assert_eq!(exact("foo|ba[rz]").as_deref(), Some("foo bar baz"));
        assert_eq!(exact("foo|^x").as_deref(), None);
        assert_eq!(exact("foo|").as_deref(), None);
        assert_eq!(exact("é{2}").as_deref(), Some("éé"));
    }

    #[test]
    fn case_doubles_alternatives() {
        assert_eq!(shown(exact(&node("ab", true), true)).unwrap().join(" "), "AB Ab aB ab");
        assert_eq!(exact(&node("session", true), true), None);
        assert_eq!(shown(required(&node("error", true), true)).unwrap()[..2], ["ERRO", "ERRo"]);
    }
}
