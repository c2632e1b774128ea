//! Expressions that are one byte set, possibly repeated: `[0-9]`, `[a-z]+`, ` *`. They are frequent in
//! substitutions, and a loop over a table is faster than any automaton.

use std::ops::Range;
use std::sync::Arc;

use super::members::Members;
use super::node::Node;

/// A run of members of one set.
#[derive(Clone, Debug)]
pub(super) struct Run {
    members: Arc<Members>,
    min: usize,
    max: usize,
}

impl Run {
    /// `None` if the expression is of another kind.
    pub(super) fn new(node: &Node, utf8: bool) -> Option<Run> {
        let (set, min, max) = match node {
            Node::Set(set) => (set, 1, 1),
            Node::Repeat { body, min, max } => match &**body {
                Node::Set(set) => (set, *min as usize, max.map_or(usize::MAX, |max| max as usize)),
                _ => return None,
            },
            Node::Group(_, body) => return Run::new(body, utf8),
            _ => return None,
        };
        if utf8 && !set.is_ascii() {
            return None;
        }
        Some(Run { members: Arc::new(Members::new(|byte| set.contains(u32::from(byte)))), min, max })
    }

    /// Returns the set, if the expression is one member of it.
    pub(super) fn single(&self) -> Option<&[bool; 256]> {
        (self.min == 1 && self.max == 1).then_some(self.members.table())
    }

    /// Whether the expression is one character out of several.
    pub(super) fn is_one_of_several(&self) -> bool {
        self.single().is_some_and(|set| set.iter().filter(|member| **member).count() > 1)
    }

    pub(super) fn find(&self, text: &[u8], span: Range<usize>) -> Option<(usize, usize)> {
        let mut at = span.start;
        loop {
            if self.min > 0 {
                at += self.members.find(&text[at..span.end])?;
            }
            let longest = &text[at..span.end.min(at.saturating_add(self.max))];
            let length = longest.iter().position(|&b| !self.members.has(b)).unwrap_or(longest.len());
            if length >= self.min {
                return Some((at, at + length));
            }
            at += length;
        }
    }
}
