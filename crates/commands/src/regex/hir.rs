//! Converts our tree to the automaton library's representation, without text in between: nothing to quote,
//! nothing to misread.

use regex_syntax::hir::{self, Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir};

use super::chars::{CharSet, Former, encode};
use super::node::{Look, Node};

/// The settings of the conversion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    pub(super) utf8: bool,
    /// Whether lines end at newlines, so that many can be searched at once; otherwise only the text's ends
    /// count.
    pub(super) newline_ends: bool,
    /// Whether to keep the groups.
    pub(super) groups: bool,
}

/// Sequences of bytes that UTF-8 once had: ranges of the first two bytes, and how many continuation bytes follow.
struct FormerSequences {
    first: (u8, u8),
    second: (u8, u8),
    more: usize,
}

const fn sequences(first: (u8, u8), second: (u8, u8), more: usize) -> FormerSequences {
    FormerSequences { first, second, more }
}

/// Those of values beyond the last code point.
const BEYOND: [FormerSequences; 6] = [
    sequences((0xF4, 0xF4), (0x90, 0xBF), 2),
    sequences((0xF5, 0xF7), (0x80, 0xBF), 2),
    sequences((0xF8, 0xF8), (0x88, 0xBF), 3),
    sequences((0xF9, 0xFB), (0x80, 0xBF), 3),
    sequences((0xFC, 0xFC), (0x84, 0xBF), 4),
    sequences((0xFD, 0xFD), (0x80, 0xBF), 4),
];
/// Those of surrogates.
const OF_SURROGATES: [FormerSequences; 1] = [sequences((0xED, 0xED), (0xA0, 0xBF), 1)];

/// Adds sequences that UTF-8 once had.
fn with_former(known: Hir, former: Former) -> Hir {
    let bytes =
        |(first, last)| Hir::class(Class::Bytes(ClassBytes::new([ClassBytesRange::new(first, last)])));
    let sequence = |of: &FormerSequences| {
        let rest = std::iter::repeat_n((0x80, 0xBF), of.more);
        Hir::concat([of.first, of.second].into_iter().chain(rest).map(bytes).collect())
    };
    let beyond = BEYOND.iter().filter(|_| former.beyond);
    let surrogates = OF_SURROGATES.iter().filter(|_| former.surrogates);
    let mut branches = vec![known];
    branches.extend(beyond.chain(surrogates).map(sequence));
    Hir::alternation(branches)
}

impl Dialect {
    pub(super) fn translate(self, node: &Node) -> Hir {
        match node {
            Node::Empty => Hir::empty(),
            Node::Set(set) => self.set(set),
            Node::Look(look) => Hir::look(self.look(*look)),
            Node::Group(number, body) if self.groups => Hir::capture(hir::Capture {
                index: u32::try_from(*number).unwrap_or(u32::MAX),
                name: None,
                sub: Box::new(self.translate(body)),
            }),
            Node::Group(_, body) => self.translate(body),
            Node::Concat(parts) => Hir::concat(parts.iter().map(|part| self.translate(part)).collect()),
            Node::Either(branches) => {
                Hir::alternation(branches.iter().map(|branch| self.translate(branch)).collect())
            }
            Node::Repeat { body, min, max } => Hir::repetition(hir::Repetition {
                min: *min,
                max: *max,
                greedy: true,
                sub: Box::new(self.translate(body)),
            }),
        }
    }

    fn set(self, set: &CharSet) -> Hir {
        if set.len() == 1 && set.former() == Former::default() {
            let c = set.iter().next().unwrap_or_default();
            return Hir::literal(encode(c, self.utf8));
        }
        if self.utf8 {
            let range = |&(first, last): &(u32, u32)| {
                Some(ClassUnicodeRange::new(char::from_u32(first)?, char::from_u32(last)?))
            };
            let known = Hir::class(Class::Unicode(ClassUnicode::new(set.ranges().iter().filter_map(range))));
            return with_former(known, set.former());
        }
        let range = |&(first, last): &(u32, u32)| ClassBytesRange::new(first as u8, last as u8);
        Hir::class(Class::Bytes(ClassBytes::new(set.ranges().iter().map(range))))
    }

    fn look(self, look: Look) -> hir::Look {
        match look {
            Look::LineStart if self.newline_ends => hir::Look::StartLF,
            Look::LineEnd if self.newline_ends => hir::Look::EndLF,
            Look::LineStart => hir::Look::Start,
            Look::LineEnd => hir::Look::End,
            Look::WordStart => hir::Look::WordStartAscii,
            Look::WordEnd => hir::Look::WordEndAscii,
            Look::WordEdge => hir::Look::WordAscii,
            Look::NoWordBefore => hir::Look::WordStartHalfAscii,
            Look::NoWordAfter => hir::Look::WordEndHalfAscii,
        }
    }
}
