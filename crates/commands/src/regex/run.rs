//! Expressions that are one set of bytes, perhaps repeated: `[0-9]`, `[a-z]+`, ` *`. Frequent in substitutions, and
//! a loop over a table beats any automaton at them.

use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memchr2, memchr3};

use super::node::Node;

/// A run of members of one set.
#[derive(Clone, Debug)]
pub(super) struct Run {
    members: Arc<[bool; 256]>,
    /// The members, if they are few.
    few: Vec<u8>,
    min: usize,
    max: usize,
}

impl Run {
    /// `None` if the expression is not of this kind.
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
        let few = if set.len() <= 3 { set.iter().map(|c| c as u8).collect() } else { Vec::new() };
        Some(Run { members: Arc::new(std::array::from_fn(|b| set.contains(b as u32))), few, min, max })
    }

    /// The set, if the expression is one member of it.
    pub(super) fn single(&self) -> Option<&[bool; 256]> {
        (self.min == 1 && self.max == 1).then_some(&*self.members)
    }

    /// The expression is one character out of several.
    pub(super) fn is_one_of_several(&self) -> bool {
        self.single().is_some_and(|set| set.iter().filter(|member| **member).count() > 1)
    }

    pub(super) fn find(&self, text: &[u8], span: Range<usize>) -> Option<(usize, usize)> {
        let mut at = span.start;
        loop {
            if self.min > 0 {
                at += self.first_member(&text[at..span.end])?;
            }
            let longest = &text[at..span.end.min(at.saturating_add(self.max))];
            let length = longest.iter().position(|&b| !self.members[usize::from(b)]).unwrap_or(longest.len());
            if length >= self.min {
                return Some((at, at + length));
            }
            at += length;
        }
    }

    fn first_member(&self, text: &[u8]) -> Option<usize> {
        match self.few.as_slice() {
            [a] => memchr(*a, text),
            [a, b] => memchr2(*a, *b, text),
            [a, b, c] => memchr3(*a, *b, *c, text),
            _ => text.iter().position(|&b| self.members[usize::from(b)]),
        }
    }
}
