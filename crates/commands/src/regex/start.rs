//! Expressions whose leftmost match begins at the first member of a set, or at the first occurrence of a
//! string, since the rest is optional: ` .*`, `  *`, `HTTP/[0-9.]*`, `#.*$` without the `$`. Their start is
//! found without an automaton, and often their end too.

use std::ops::Range;
use std::sync::Arc;

use memchr::memmem::Finder;

use super::chars::{CharSet, encode};
use super::engine::Engine;
use super::members::Members;
use super::node::Node;

/// The start and end of matches.
#[derive(Clone, Debug)]
pub(super) struct Start {
    head: Head,
    tail: Tail,
}

/// The start of every match.
#[derive(Clone, Debug)]
enum Head {
    /// A member of this set.
    Member(Arc<Members>),
    /// This string, of several characters.
    Text(Arc<Finder<'static>>),
}

impl Head {
    fn find(&self, text: &[u8]) -> Option<usize> {
        match self {
            Head::Member(members) => members.find(text),
            Head::Text(finder) => finder.find(text),
        }
    }

    fn len(&self) -> usize {
        match self {
            Head::Member(_) => 1,
            Head::Text(finder) => finder.needle().len(),
        }
    }
}

/// The text after the first character of a match.
#[derive(Clone, Debug)]
enum Tail {
    /// Everything before the first of these.
    Until(Arc<Members>),
    /// The same if all of it is ASCII: other sequences may be invalid, which only the automaton knows.
    UntilIfAscii(Arc<Members>),
    /// Found by the automaton.
    Any,
}

impl Start {
    /// `None` if the expression is of another kind, or if finding all its matches could take more than linear
    /// time.
    pub(super) fn new(node: &Node, utf8: bool, newline_ends: bool) -> Option<Start> {
        let Node::Concat(parts) = node else { return None };
        let fixed = parts.iter().take_while(|part| single(part).is_some()).count();
        let (head, rest) = parts.split_at(fixed.max(1));
        let plain = |part: &Node| !part.any(&|node| matches!(node, Node::Look(_))) && part.is_nullable();
        if !rest.iter().all(plain) || node.may_look_far() {
            return None;
        }
        let of = |set: &CharSet, byte: u8| set.contains(u32::from(byte)) && !(newline_ends && byte == b'\n');
        let head = match head {
            [Node::Set(set)] if utf8 && !set.is_ascii() => return None,
            [Node::Set(set)] => Head::Member(Arc::new(Members::new(|byte| of(set, byte)))),
            [_] => return None,
            several => Head::Text(Arc::new(Finder::new(&text(several, utf8)).into_owned())),
        };
        let tail = match rest {
            [Node::Repeat { body, min: 0, max: None }] => match &**body {
                Node::Set(set) if !utf8 || set.is_ascii() => {
                    Tail::Until(Arc::new(Members::new(|byte| !of(set, byte))))
                }
                Node::Set(set) => {
                    Tail::UntilIfAscii(Arc::new(Members::new(|byte| byte.is_ascii() && !of(set, byte))))
                }
                _ => Tail::Any,
            },
            _ => Tail::Any,
        };
        Some(Start { head, tail })
    }

    /// Whether matches begin at the occurrences of a string.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.head, Head::Text(_))
    }

    /// Returns where the first match begins.
    pub(super) fn first(&self, text: &[u8], span: Range<usize>) -> Option<usize> {
        self.head.find(&text[span.clone()]).map(|at| span.start + at)
    }

    /// Returns the leftmost-longest match.
    pub(super) fn find(
        &self,
        engine: &mut Engine,
        text: &[u8],
        span: Range<usize>,
    ) -> Option<(usize, usize)> {
        let start = self.first(text, span.clone())?;
        let end = |stops: &Members| {
            let behind = &text[start + self.head.len()..span.end];
            start + self.head.len() + stops.find(behind).unwrap_or(behind.len())
        };
        let end = match &self.tail {
            Tail::Until(stops) => end(stops),
            Tail::UntilIfAscii(stops) => match end(stops) {
                end if text[start..end].is_ascii() => end,
                _ => engine.longest_at(text, start..span.end)?,
            },
            Tail::Any => engine.longest_at(text, start..span.end)?,
        };
        Some((start, end))
    }
}

/// Returns the only character of a part, if it has one.
fn single(part: &Node) -> Option<u32> {
    match part {
        Node::Set(set) if set.len() == 1 => set.iter().next(),
        _ => None,
    }
}

fn text(parts: &[Node], utf8: bool) -> Vec<u8> {
    parts.iter().filter_map(single).flat_map(|character| encode(character, utf8)).collect()
}

#[cfg(test)]
mod tests {
    use crate::Charset;
    use crate::regex::{Flavour, Newline, Options, compile};

    #[test]
    fn it_finds_what_the_automata_find() {
        let texts: [&[u8]; 7] = [
            b"",
            b"  a  b",
            b"ab aab b\n\n b",
            b"\n# x\n#",
            b"x\xff# \xc3\xa9 \xff#a",
            b"a#\0b\n",
            b"####\n##",
        ];
        for expression in [
            " .*",
            "  *",
            "#[^b]*",
            "a(b|c)?a*",
            "[ab]b*",
            "#.*",
            "[#a].?",
            "a[^x]*",
            "ab[a ]*",
            "aaa*",
            "##.*",
            "x\u{e9}*",
            "\u{e9} .*",
            "# \u{e9}\u{e9}?",
        ] {
            for charset in [Charset::C, Charset::Utf8] {
                for newline in [Newline::EndsLine, Newline::IsCharacter] {
                    let options =
                        Options { spans: true, charset, newline, ..Options::new(Flavour::SedExtended) };
                    let mut plain = compile(&[expression.as_bytes()], &options).unwrap();
                    // An alternative that cannot match: the same language, but found by the automata.
                    let same = format!("(never matched at all|){expression}");
                    let mut other = compile(&[same.as_bytes()], &options).unwrap();
                    for text in texts {
                        for from in 0..=text.len() {
                            assert_eq!(
                                plain.find(text, from..text.len()).ok(),
                                other.find(text, from..text.len()).ok(),
                                "{expression} {charset:?} {newline:?} {text:?} from {from}"
                            );
                        }
                    }
                }
            }
        }
    }
}
