//! Assigns parts of a match to groups.
//!
//! The engine finds a match's span; this retraces it to exactly that end. Where several paths exist, glibc
//! takes at each fork the state with the lower number, if the end can be reached from there. For the
//! expressions accepted here that means: repetitions continue rather than stop, alternatives in order, and an
//! empty first alternative last. Linear: no state is visited twice at a position.

use std::ops::Range;

use crate::{Accept, Declined};

use super::chars::CharSet;
use super::classes::is_word;
use super::node::{Look, Node};

/// The span of each group, from 0 (the whole match) up.
pub type Spans = [Option<(usize, usize)>];

/// An expression as steps, for one pass along a known match.
#[derive(Clone, Debug)]
pub(super) struct Tracer {
    steps: Vec<GroupStep>,
    sets: Vec<Members>,
    utf8: bool,
    newline_ends: bool,
    /// Limit on steps times positions; longer matches are not retraced.
    visits_max: usize,
    slots: Vec<Option<usize>>,
    visited: Vec<u64>,
    jobs: Vec<Job>,
    spans: Vec<Option<(usize, usize)>>,
}

#[derive(Clone, Copy, Debug)]
enum GroupStep {
    Set(usize),
    Look(Look),
    /// The first is preferred.
    Fork(usize, usize),
    Go(usize),
    Save(usize),
    Done,
}

#[derive(Clone, Debug)]
struct Members {
    bytes: [bool; 256],
    wide: CharSet,
}

#[derive(Clone, Copy, Debug)]
enum Job {
    Try { step: usize, at: usize },
    Restore { slot: usize, old: Option<usize> },
}

/// The limit on steps times positions, for memory.
const VISITS_MAX: usize = 1 << 26;

impl Tracer {
    pub(super) fn new(node: &Node, groups: usize, utf8: bool, newline_ends: bool) -> Self {
        let mut tracer = Tracer {
            steps: Vec::new(),
            sets: Vec::new(),
            utf8,
            newline_ends,
            visits_max: VISITS_MAX,
            slots: vec![None; 2 * (groups + 1)],
            visited: Vec::new(),
            jobs: Vec::new(),
            spans: vec![None; groups + 1],
        };
        tracer.emit(node);
        tracer.steps.push(GroupStep::Done);
        tracer
    }

    /// Removes the limit.
    pub(super) fn be_patient(&mut self) {
        self.visits_max = usize::MAX;
    }

    fn emit(&mut self, node: &Node) {
        match node {
            Node::Empty => {}
            Node::Set(set) => {
                self.steps.push(GroupStep::Set(self.sets.len()));
                let limit = if self.utf8 { 0x80 } else { 0x100 };
                let bytes = std::array::from_fn(|b| b < limit && set.contains(b as u32));
                self.sets.push(Members { bytes, wide: set.clone() });
            }
            Node::Look(look) => self.steps.push(GroupStep::Look(*look)),
            Node::Group(number, body) => {
                self.steps.push(GroupStep::Save(2 * number));
                self.emit(body);
                self.steps.push(GroupStep::Save(2 * number + 1));
            }
            Node::Concat(parts) => parts.iter().for_each(|part| self.emit(part)),
            Node::Either(branches) => self.emit_either(branches),
            Node::Repeat { body, min, max } => self.emit_repeat(body, *min, *max),
        }
    }

    fn emit_either(&mut self, branches: &[Node]) {
        let mut order: Vec<&Node> = branches.iter().collect();
        if let [Node::Empty, _, ..] = branches {
            order.swap(0, 1);
        }
        let mut ends = Vec::new();
        while let Some(branch) = order.first().copied() {
            order.remove(0);
            let fork = self.steps.len();
            if !order.is_empty() {
                self.steps.push(GroupStep::Done);
            }
            self.emit(branch);
            if !order.is_empty() {
                ends.push(self.steps.len());
                self.steps.push(GroupStep::Done);
                self.steps[fork] = GroupStep::Fork(fork + 1, self.steps.len());
            }
        }
        let end = self.steps.len();
        ends.into_iter().for_each(|at| self.steps[at] = GroupStep::Go(end));
    }

    fn emit_repeat(&mut self, body: &Node, min: u32, max: Option<u32>) {
        (0..min).for_each(|_| self.emit(body));
        let Some(max) = max else {
            let fork = self.steps.len();
            self.steps.push(GroupStep::Done);
            self.emit(body);
            self.steps.push(GroupStep::Go(fork));
            self.steps[fork] = GroupStep::Fork(fork + 1, self.steps.len());
            return;
        };
        let forks: Vec<usize> = (min..max)
            .map(|_| {
                self.steps.push(GroupStep::Done);
                let fork = self.steps.len() - 1;
                self.emit(body);
                fork
            })
            .collect();
        let end = self.steps.len();
        forks.into_iter().for_each(|fork| self.steps[fork] = GroupStep::Fork(fork + 1, end));
    }

    /// Returns the groups of the match `span`. `None` if the match is too long to retrace.
    pub(super) fn trace(&mut self, text: &[u8], span: Range<usize>) -> Option<&Spans> {
        let width = span.len() + 1;
        if self.steps.len().saturating_mul(width) > self.visits_max {
            return None;
        }
        self.visited.clear();
        self.visited.resize((self.steps.len() * width).div_ceil(64), 0);
        self.slots.fill(None);
        self.jobs.clear();
        self.jobs.push(Job::Try { step: 0, at: span.start });
        while let Some(job) = self.jobs.pop() {
            match job {
                Job::Restore { slot, old } => self.slots[slot] = old,
                Job::Try { step, at } => {
                    if self.run(text, &span, step, at) {
                        return Some(self.take_spans(span));
                    }
                }
            }
        }
        None
    }

    fn take_spans(&mut self, span: Range<usize>) -> &Spans {
        for (group, target) in self.spans.iter_mut().enumerate() {
            let pair = (self.slots[2 * group], self.slots[2 * group + 1]);
            *target = if let (Some(start), Some(end)) = pair { Some((start, end)) } else { None };
        }
        self.spans[0] = Some((span.start, span.end));
        &self.spans
    }

    /// Continues from a step until it fails or the end is reached; queues the other paths as jobs.
    fn run(&mut self, text: &[u8], span: &Range<usize>, mut step: usize, mut at: usize) -> bool {
        loop {
            let visit = step * (span.len() + 1) + (at - span.start);
            if self.visited[visit / 64] >> (visit % 64) & 1 == 1 {
                return false;
            }
            self.visited[visit / 64] |= 1 << (visit % 64);
            match self.steps[step] {
                GroupStep::Set(set) => match self.taken(text, span.end, set, at) {
                    Some(len) => (step, at) = (step + 1, at + len),
                    None => return false,
                },
                GroupStep::Look(look) if holds(look, text, at, self.newline_ends) => step += 1,
                GroupStep::Look(_) => return false,
                GroupStep::Fork(first, second) => {
                    self.jobs.push(Job::Try { step: second, at });
                    step = first;
                }
                GroupStep::Go(target) => step = target,
                GroupStep::Save(slot) => {
                    self.jobs.push(Job::Restore { slot, old: self.slots[slot] });
                    self.slots[slot] = Some(at);
                    step += 1;
                }
                GroupStep::Done => return at == span.end,
            }
        }
    }

    /// Returns the length of the character at `at`, if it belongs to the set.
    fn taken(&self, text: &[u8], end: usize, set: usize, at: usize) -> Option<usize> {
        let &first = text[..end].get(at)?;
        let members = &self.sets[set];
        if !self.utf8 || first < 0x80 {
            return members.bytes[usize::from(first)].then_some(1);
        }
        let len = match first {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => return None,
        };
        let c = std::str::from_utf8(text[..end].get(at..at + len)?).ok()?.chars().next()?;
        members.wide.contains(c.into()).then_some(len)
    }
}

fn holds(look: Look, text: &[u8], at: usize, newline_ends: bool) -> bool {
    let before = at.checked_sub(1).map(|at| text[at]);
    let after = text.get(at).copied();
    let word_before = before.is_some_and(is_word);
    let word_after = after.is_some_and(is_word);
    let ends = |side: Option<u8>| side.is_none_or(|b| newline_ends && b == b'\n');
    match look {
        Look::LineStart => ends(before),
        Look::LineEnd => ends(after),
        Look::WordStart => !word_before && word_after,
        Look::WordEnd => word_before && !word_after,
        Look::WordEdge => word_before != word_after,
        Look::NoWordBefore => !word_before,
        Look::NoWordAfter => !word_after,
    }
}

/// Declines expressions where glibc's result for the wanted groups is uncertain.
pub(super) fn check(node: &Node, wanted: &[usize]) -> Accept<()> {
    let is_wanted = |node: &Node| matches!(node, Node::Group(number, _) if wanted.contains(number));
    let repeated_group = |node: &Node| match node {
        Node::Repeat { body, max, .. } => *max != Some(1) && body.any(&is_wanted),
        _ => false,
    };
    if node.any(&repeated_group) {
        return Declined::because("a group inside a repetition");
    }
    let open = |node: &Node| match node {
        Node::Repeat { body, max: Some(0 | 1), .. } => body.is_nullable(),
        Node::Repeat { body, .. } => body.fixed_len().is_none_or(|len| len == 0),
        _ => false,
    };
    // glibc renumbers the states after a condition, behind all others; and a \b is two alternatives to it.
    let words = |node: &Node| matches!(node, Node::Look(look) if look.is_word());
    let branching = |node: &Node| matches!(node, Node::Either(_) | Node::Repeat { .. });
    let condition = |node: &Node| matches!(node, Node::Look(_));
    if node.any(&words)
        || !node.anchors_are_outermost(true, true)
        || node.any(&|node| branching(node) && node.any(&condition))
    {
        return Declined::because("groups beside a condition in the middle");
    }
    if node.any(&open) {
        return Declined::because("groups beside a repetition of something without a fixed length");
    }
    Ok(())
}
