//! The character sets that an expression distinguishes: for the planner, which searches before a byte map
//! that cannot affect the search.

use crate::{ByteMap, ByteSet};

use super::chars::CharSet;
use super::classes;
use super::node::Node;

/// The character sets that decide what matches.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    sets: Vec<CharSet>,
    /// Whether it matches any text with one character of the only set.
    single: bool,
    utf8: bool,
}

impl Sets {
    pub(super) fn of(node: &Node, utf8: bool) -> Self {
        let mut sets = Vec::new();
        collect(node, &mut sets);
        if node.any(&|node| matches!(node, Node::Look(look) if look.is_word())) {
            sets.push(CharSet::of((0..0x80u8).filter(|&b| classes::is_word(b)).map(u32::from)));
        }
        Sets { sets, single: is_single(node), utf8 }
    }

    /// Whether the map cannot affect the search. If each character is in a set exactly if its image is, then
    /// a line and the mapped line have the same paths through the expression. With deletions, that holds only
    /// for a search for one character that is not deleted.
    pub(super) fn cannot_notice(&self, map: &ByteMap) -> bool {
        let touched = map.creates().union(&map.removes());
        let multibyte = ByteSet::where_(|byte| self.utf8 && !byte.is_ascii());
        if touched.contains(b'\n') || touched.intersects(&multibyte) {
            return false;
        }
        if !map.deleted.is_empty() && !self.single {
            return false;
        }
        let becomes = |set: &CharSet, byte: u8| {
            !map.deleted.contains(byte) && set.contains(u32::from(map.to[usize::from(byte)]))
        };
        // Unchanged bytes stay in the same sets.
        touched
            .iter()
            .filter(|&byte| map.removes().contains(byte))
            .all(|byte| self.sets.iter().all(|set| set.contains(u32::from(byte)) == becomes(set, byte)))
    }
}

fn collect(node: &Node, sets: &mut Vec<CharSet>) {
    if let Node::Set(set) = node
        && !sets.contains(set)
    {
        sets.push(set.clone());
    }
    node.children().iter().for_each(|child| collect(child, sets));
}

fn is_single(node: &Node) -> bool {
    match node {
        Node::Set(_) => true,
        Node::Group(_, body) => is_single(body),
        Node::Either(branches) => branches.iter().all(is_single),
        // One suffices, and more change nothing, where only the line counts.
        Node::Repeat { body, min: 1, .. } => is_single(body),
        Node::Empty | Node::Look(_) | Node::Concat(_) | Node::Repeat { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Flavour, Options, Regex, compile};
    use crate::{ByteMap, Charset};

    fn regex(text: &str, charset: Charset, ignore_case: bool) -> Regex {
        let options = Options { charset, ignore_case, ..Options::new(Flavour::GrepExtended) };
        compile(&[text.as_bytes()], &options).expect("compiles")
    }

    /// Makes a map from `from` to `to` that deletes `deleted`.
    fn map(from: &[u8], to: &[u8], deleted: &[u8]) -> ByteMap {
        let mut map = ByteMap::identity();
        from.iter().zip(to).for_each(|(from, to)| map.to[usize::from(*from)] = *to);
        map.deleted = deleted.iter().copied().collect();
        map
    }

    fn mapped(map: &ByteMap, line: &[u8]) -> Vec<u8> {
        let stays = line.iter().filter(|byte| !map.deleted.contains(**byte));
        stays.map(|byte| map.to[usize::from(*byte)]).collect()
    }

    const EXPRESSIONS: &[&str] = &[
        "00", "a", "[ab]", "[^ab]", "a.c", "^a", "b$", "^$", "(a|b)+", "a{2}", "\\bb", "\\w-", "a|cc",
        "ab*c", ".", "",
    ];

    fn maps() -> Vec<ByteMap> {
        let pairs: [(&[u8], &[u8]); 9] = [
            (b"a", b"A"),
            (b"b", b"a"),
            (b"ab", b"ba"),
            (b"c", b"-"),
            (b"-", b"c"),
            (b"0", b"c"),
            (b"c-", b"--"),
            (b"A", b"c"),
            (b"", b""),
        ];
        let deleted: [&[u8]; 4] = [b"", b"-", b"a", b"c0"];
        pairs.iter().flat_map(|(from, to)| deleted.map(|gone| map(from, to, gone))).collect()
    }

    /// Returns all lines of up to three characters.
    fn lines() -> Vec<Vec<u8>> {
        let mut lines = vec![vec![]];
        let mut longest = lines.clone();
        for _ in 0..3 {
            let longer = |line: &Vec<u8>| b"abcA0-".map(|byte| [line.as_slice(), &[byte]].concat());
            longest = longest.iter().flat_map(longer).collect();
            lines.extend_from_slice(&longest);
        }
        lines
    }

    #[test]
    fn what_it_says_holds_for_every_short_line() {
        let (lines, mut held) = (lines(), 0);
        for (text, charset) in EXPRESSIONS.iter().flat_map(|text| [(text, Charset::C), (text, Charset::Utf8)])
        {
            let mut regex = regex(text, charset, false);
            for map in maps() {
                if !regex.keeps_same_lines_after(&map) {
                    continue;
                }
                held += 1;
                for line in &lines {
                    let after = mapped(&map, line);
                    let verdict = regex.is_match(line, 0..line.len());
                    assert_eq!(verdict, regex.is_match(&after, 0..after.len()), "{text} {map:?} {line:?}");
                }
            }
        }
        assert!(held > 150, "only {held} pairs of expression and map");
    }

    #[test]
    fn it_notices() {
        let says = |text: &str, map: &ByteMap| regex(text, Charset::Utf8, false).keeps_same_lines_after(map);
        assert!(says("00", &map(b"a", b"A", b"")));
        assert!(says("[a-z]", &map(b"abc", b"bcd", b"0")));
        assert!(!says("00", &map(b"a", b"A", b"-")));
        assert!(!says("00", &map(b"a", b"0", b"")));
        assert!(!says("00", &map(b"0", b"a", b"")));
        assert!(!says("a\\b", &map(b"c", b"-", b"")));
        assert!(!says("x", &map(b"a", b"\n", b"")));
        assert!(!says("x", &map(b"\xc3", b"y", b"")));
        assert!(!says("x", &map(b"y", b"\xc3", b"")));
        assert!(regex("x", Charset::C, false).keeps_same_lines_after(&map(b"\xc3", b"y", b"")));
        assert!(!regex("b", Charset::C, true).keeps_same_lines_after(&map(b"A", b"B", b"")));
        assert!(regex("b", Charset::C, true).keeps_same_lines_after(&map(b"B", b"b", b"")));
    }
}
