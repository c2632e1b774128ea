//! The tree of a parsed expression, and its static properties.

use super::chars::CharSet;

/// A parsed expression. All characters are sets: a literal is a set of one, or of two under `-i`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// The empty string.
    Empty,
    /// One character out of a set. The empty set never matches.
    Set(CharSet),
    /// A condition on the text around a position.
    Look(Look),
    /// `\( \)`, counted from 1.
    Group(usize, Box<Node>),
    Concat(Vec<Node>),
    Either(Vec<Node>),
    Repeat {
        body: Box<Node>,
        min: u32,
        max: Option<u32>,
    },
}

/// A condition that takes no characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    LineStart,
    LineEnd,
    WordStart,
    WordEnd,
    WordEdge,
    /// No word character before (`-w` at a match's start).
    NoWordBefore,
    /// No word character after.
    NoWordAfter,
}

impl Look {
    pub(super) fn is_word(self) -> bool {
        !matches!(self, Look::LineStart | Look::LineEnd)
    }
}

/// Added to the number of a group that is referred to.
const BACK_REFERENCE: usize = 1 << 32;

impl Node {
    /// Makes a back-reference: an empty group with a number that no group has, until it is
    /// [expanded](super::back_references).
    pub(super) fn back_reference(number: usize) -> Node {
        Node::Group(BACK_REFERENCE + number, Box::new(Node::Empty))
    }

    /// Returns the number of the group that it refers to.
    pub(super) fn as_back_reference(&self) -> Option<usize> {
        match self {
            Node::Group(number, _) => number.checked_sub(BACK_REFERENCE),
            _ => None,
        }
    }

    /// Makes a concatenation without needless nesting.
    pub(super) fn concat(mut parts: Vec<Node>) -> Node {
        match parts.len() {
            0 => Node::Empty,
            1 => parts.swap_remove(0),
            _ => Node::Concat(parts),
        }
    }

    /// Makes an alternation without needless nesting.
    pub(super) fn either(mut branches: Vec<Node>) -> Node {
        if branches.len() == 1 { branches.swap_remove(0) } else { Node::Either(branches) }
    }

    pub(super) fn children(&self) -> &[Node] {
        match self {
            Node::Empty | Node::Set(_) | Node::Look(_) => &[],
            Node::Group(_, body) | Node::Repeat { body, .. } => std::slice::from_ref(body),
            Node::Concat(nodes) | Node::Either(nodes) => nodes,
        }
    }

    /// Whether `holds` is true for the node or for any below.
    pub(super) fn any(&self, holds: &impl Fn(&Node) -> bool) -> bool {
        holds(self) || self.children().iter().any(|child| child.any(holds))
    }

    /// Whether all its characters are ASCII.
    pub(super) fn is_ascii(&self) -> bool {
        !self.any(&|node| matches!(node, Node::Set(set) if !set.is_ascii()))
    }

    /// Whether it can match the empty string, where its conditions allow.
    pub(super) fn is_nullable(&self) -> bool {
        match self {
            Node::Empty | Node::Look(_) => true,
            Node::Set(_) => false,
            Node::Group(_, body) => body.is_nullable(),
            Node::Concat(parts) => parts.iter().all(Node::is_nullable),
            Node::Either(branches) => branches.iter().any(Node::is_nullable),
            Node::Repeat { body, min, .. } => *min == 0 || body.is_nullable(),
        }
    }

    /// Whether it matches the empty string anywhere.
    pub(super) fn matches_nothing_anywhere(&self) -> bool {
        match self {
            Node::Empty => true,
            Node::Set(_) | Node::Look(_) => false,
            Node::Group(_, body) => body.matches_nothing_anywhere(),
            Node::Concat(parts) => parts.iter().all(Node::matches_nothing_anywhere),
            Node::Either(branches) => branches.iter().any(Node::matches_nothing_anywhere),
            Node::Repeat { body, min, .. } => *min == 0 || body.matches_nothing_anywhere(),
        }
    }

    /// Whether a search that has found a match could read far beyond it for a longer one, in vain. Finding
    /// all matches may then take more than linear time. Without alternatives, the text after the shortest
    /// match either belongs to a longer one or has no other.
    pub(super) fn may_look_far(&self) -> bool {
        let simple = |node: &Node| match node {
            Node::Either(_) => false,
            Node::Repeat { body, .. } => matches!(**body, Node::Set(_)),
            _ => true,
        };
        self.any(&|node| matches!(node, Node::Repeat { max: None, .. })) && self.any(&|node| !simple(node))
    }

    /// Returns the number of characters of all its matches, if fixed.
    pub(super) fn fixed_len(&self) -> Option<usize> {
        match self {
            Node::Empty | Node::Look(_) => Some(0),
            Node::Set(_) => Some(1),
            Node::Group(_, body) => body.fixed_len(),
            Node::Concat(parts) => parts.iter().map(Node::fixed_len).sum(),
            Node::Either(branches) => {
                let first = branches.first()?.fixed_len()?;
                branches.iter().all(|branch| branch.fixed_len() == Some(first)).then_some(first)
            }
            Node::Repeat { body, min, max } => {
                (*max == Some(*min)).then(|| body.fixed_len()).flatten().map(|len| len * *min as usize)
            }
        }
    }

    /// Whether every match can only start at the start of a line.
    pub(super) fn is_line_anchored(&self) -> bool {
        match self {
            Node::Look(look) => *look == Look::LineStart,
            Node::Group(_, body) => body.is_line_anchored(),
            Node::Concat(parts) => {
                // Parts before the anchor must be unable to take a character.
                let anchor = parts.iter().position(Node::is_line_anchored);
                anchor.is_some_and(|at| parts[..at].iter().all(|part| part.fixed_len() == Some(0)))
            }
            Node::Either(branches) => branches.iter().all(Node::is_line_anchored),
            Node::Repeat { body, min, .. } => *min > 0 && body.is_line_anchored(),
            Node::Empty | Node::Set(_) => false,
        }
    }

    /// Whether every match can only end at the end of a line.
    pub(super) fn ends_line(&self) -> bool {
        match self {
            Node::Look(look) => *look == Look::LineEnd,
            Node::Group(_, body) => body.ends_line(),
            Node::Concat(parts) => {
                let anchor = parts.iter().rposition(Node::ends_line);
                anchor.is_some_and(|at| parts[at + 1..].iter().all(|part| part.fixed_len() == Some(0)))
            }
            Node::Either(branches) => branches.iter().all(Node::ends_line),
            Node::Repeat { body, min, .. } => *min > 0 && body.ends_line(),
            Node::Empty | Node::Set(_) => false,
        }
    }

    /// Whether nothing comes before any `^`, and nothing after any `$`.
    pub(super) fn anchors_are_outermost(&self, first: bool, last: bool) -> bool {
        match self {
            Node::Look(Look::LineStart) => first,
            Node::Look(Look::LineEnd) => last,
            Node::Empty | Node::Set(_) | Node::Look(_) => true,
            Node::Group(_, body) => body.anchors_are_outermost(first, last),
            Node::Repeat { body, .. } => body.anchors_are_outermost(false, false),
            Node::Either(branches) => branches.iter().all(|branch| branch.anchors_are_outermost(first, last)),
            Node::Concat(parts) => parts.iter().enumerate().all(|(index, part)| {
                part.anchors_are_outermost(first && index == 0, last && index + 1 == parts.len())
            }),
        }
    }

    /// Returns the expected size of the automaton, in characters after expanding repetitions.
    pub(super) fn weight(&self) -> usize {
        let own: usize = self.children().iter().map(Node::weight).fold(1, usize::saturating_add);
        match self {
            Node::Repeat { min, max, .. } => own.saturating_mul(max.unwrap_or(*min + 1).max(1) as usize),
            _ => own,
        }
    }
}
