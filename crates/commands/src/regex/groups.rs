//! Assigns parts of a match to groups.
//!
//! The engine finds a match's span; this retraces it to exactly that end. Where several paths exist, glibc
//! takes at each fork the state with the lower number, if the end can be reached from there. For the
//! expressions accepted here that means: repetitions continue rather than stop, alternatives in order, and an
//! empty first alternative last. Linear: no state is visited twice at a position.
//!
//! A repetition of one set is a run: its end is found at once, and where the set has no byte of what follows, no other
//! end is tried. So `s/^([^,]*),(.*)$/\2,\1/` takes a step for each part, not for each byte.

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
    /// How many more bytes of runs may be read for this match.
    left: usize,
    /// For each step, the lowest position from which the rest of a run was tried.
    tried: Vec<usize>,
    slots: Vec<Option<usize>>,
    visited: Vec<u64>,
    jobs: Vec<Job>,
    spans: Vec<Option<(usize, usize)>>,
}

#[derive(Clone, Copy, Debug)]
enum GroupStep {
    Set(usize),
    /// As many members of `set` as possible, rather more than fewer. `next`: what follows.
    Run {
        set: usize,
        next: Next,
    },
    Look(Look),
    /// The first is preferred.
    Fork(usize, usize),
    Go(usize),
    Save(usize),
    Done,
}

/// What follows a run.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// A member of this set. `disjoint`: the run has none of its members, so that only its end can be right.
    Set {
        set: usize,
        disjoint: bool,
    },
    /// The end of the match.
    End,
    Any,
}

#[derive(Clone, Debug)]
struct Members {
    bytes: [bool; 256],
    wide: CharSet,
    /// Whether all ASCII bytes, or in C all bytes, but the newline are members.
    all: bool,
}

#[derive(Clone, Copy, Debug)]
enum Job {
    Try {
        step: usize,
        at: usize,
    },
    /// Ends the run of a step within these positions, the last one first.
    Shorten {
        step: usize,
        from: usize,
        to: usize,
    },
    Restore {
        slot: usize,
        old: Option<usize>,
    },
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
            left: 0,
            tried: Vec::new(),
            slots: vec![None; 2 * (groups + 1)],
            visited: Vec::new(),
            jobs: Vec::new(),
            spans: vec![None; groups + 1],
        };
        tracer.emit(node);
        tracer.steps.push(GroupStep::Done);
        tracer.look_ahead();
        tracer
    }

    /// Finds out what follows each run.
    fn look_ahead(&mut self) {
        for index in 0..self.steps.len() {
            let GroupStep::Run { set, .. } = self.steps[index] else { continue };
            let follows = self.steps[index + 1..].iter().find(|step| !matches!(step, GroupStep::Save(_)));
            let next = match follows {
                Some(GroupStep::Set(other)) => {
                    let (run, other_set) = (&self.sets[set].bytes, &self.sets[*other].bytes);
                    let disjoint = run.iter().zip(other_set).all(|(one, other)| !(one & other));
                    Next::Set { set: *other, disjoint }
                }
                // Nothing jumps over the last step.
                Some(GroupStep::Done) => Next::End,
                _ => Next::Any,
            };
            self.steps[index] = GroupStep::Run { set, next };
        }
        self.tried = vec![usize::MAX; self.steps.len()];
    }

    /// Removes the limit.
    pub(super) fn be_patient(&mut self) {
        self.visits_max = usize::MAX;
    }

    fn emit(&mut self, node: &Node) {
        match node {
            Node::Empty => {}
            Node::Set(set) => {
                let set = self.add_set(set);
                self.steps.push(GroupStep::Set(set));
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

    fn add_set(&mut self, set: &CharSet) -> usize {
        let limit = if self.utf8 { 0x80 } else { 0x100 };
        let bytes: [bool; 256] = std::array::from_fn(|b| b < limit && set.contains(b as u32));
        let all = (0..limit).all(|byte| byte == usize::from(b'\n') || bytes[byte]);
        self.sets.push(Members { bytes, wide: set.clone(), all });
        self.sets.len() - 1
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
        if let (Node::Set(set), None) = (body, max) {
            let set = self.add_set(set);
            return self.steps.push(GroupStep::Run { set, next: Next::Any });
        }
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
        let bytewise = !self.utf8 || text[span.clone()].is_ascii();
        self.trace_by(text, span, bytewise)
    }

    /// Does it with runs taken at once, or character by character.
    fn trace_by(&mut self, text: &[u8], span: Range<usize>, bytewise: bool) -> Option<&Spans> {
        let width = span.len() + 1;
        if self.steps.len().saturating_mul(width) > self.visits_max {
            return None;
        }
        self.visited.clear();
        self.visited.resize((self.steps.len() * width).div_ceil(64), 0);
        self.slots.fill(None);
        self.tried.fill(usize::MAX);
        self.left = self.visits_max;
        self.jobs.clear();
        self.jobs.push(Job::Try { step: 0, at: span.start });
        while let Some(job) = self.jobs.pop() {
            if self.left == 0 {
                return None;
            }
            match job {
                Job::Restore { slot, old } => self.slots[slot] = old,
                Job::Try { step, at } => {
                    if self.run(text, &span, bytewise, step, at) {
                        return Some(self.take_spans(span));
                    }
                }
                Job::Shorten { step, from, to } => {
                    if let Some(at) = self.shorten(text, &span, step, from, to)
                        && self.run(text, &span, bytewise, step + 1, at)
                    {
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
    fn run(
        &mut self,
        text: &[u8],
        span: &Range<usize>,
        bytewise: bool,
        mut step: usize,
        mut at: usize,
    ) -> bool {
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
                GroupStep::Run { set, .. } if bytewise => {
                    let Some((from, to)) = self.run_of(text, span, step, set, at) else { return false };
                    match self.shorten(text, span, step, from, to) {
                        Some(end) => (step, at) = (step + 1, end),
                        None => return false,
                    }
                }
                GroupStep::Run { set, .. } => {
                    let taken = self.taken(text, span.end, set, at);
                    match taken {
                        Some(len) => {
                            self.jobs.push(Job::Try { step: step + 1, at });
                            at += len;
                        }
                        None => step += 1,
                    }
                }
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

    /// Returns the positions at which a run from `at` can end, without those that were tried, if there are any.
    fn run_of(
        &mut self,
        text: &[u8],
        span: &Range<usize>,
        step: usize,
        set: usize,
        at: usize,
    ) -> Option<(usize, usize)> {
        // Whoever came here before was further behind: an earlier run was made shorter since.
        let known = self.tried[step];
        let limit = if at < known { known.min(span.end) } else { span.end };
        let bytes = &text[at..limit];
        let members = &self.sets[set];
        let length = if members.all && !members.bytes[usize::from(b'\n')] {
            memchr::memchr(b'\n', bytes).unwrap_or(bytes.len())
        } else {
            bytes.iter().position(|byte| !members.bytes[usize::from(*byte)]).unwrap_or(bytes.len())
        };
        // At the limit the whole match is given up.
        self.left = self.left.saturating_sub(length);
        self.tried[step] = at;
        let end = at + length;
        if end == known { Some((at, end.checked_sub(1).filter(|end| *end >= at)?)) } else { Some((at, end)) }
    }

    /// Returns the last of these positions after which the expression can continue, and queues the ones before.
    fn shorten(
        &mut self,
        text: &[u8],
        span: &Range<usize>,
        step: usize,
        from: usize,
        to: usize,
    ) -> Option<usize> {
        let GroupStep::Run { next, .. } = self.steps[step] else { return None };
        let found = match next {
            Next::Any => Some(to),
            Next::End => Some(to).filter(|to| *to == span.end),
            Next::Set { set, disjoint } => {
                let continues = |at: &usize| {
                    // A character of several bytes is only judged where it is read.
                    let byte = text[..span.end].get(*at);
                    byte.is_some_and(|byte| self.sets[set].bytes[usize::from(*byte)])
                };
                if disjoint { Some(to).filter(continues) } else { (from..=to).rev().find(continues) }
            }
        };
        let is_only = matches!(next, Next::End | Next::Set { disjoint: true, .. });
        if let Some(before) = found.filter(|at| *at > from && !is_only) {
            self.jobs.push(Job::Shorten { step, from, to: before - 1 });
        }
        found
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

#[cfg(test)]
mod tests {
    use pelton_testkit::Random;

    use super::super::parse::{Syntax, parse};
    use super::*;
    use crate::regex::{Flavour, Options, compile};

    const PARTS: &[&str] = &[
        "a", "b", ".", "[ab]", "[^a]", "[0-9]", "(a)", "(.*)", "([^ ]*)", "(b|ab)", "([ab]+)", " ",
        "(a+|b*)", "\u{e9}",
    ];
    const TIMES: &[&str] = &["", "", "", "*", "+", "?", "{2}", "{1,2}", "{2,}"];

    fn expression(random: &mut Random) -> String {
        let mut text = String::from(random.pick(&["", "^"]));
        for _ in 0..1 + random.below(6) {
            text += "(";
            text += random.pick(PARTS);
            text += random.pick(TIMES);
            text += ")";
            text += random.pick(PARTS);
            text += random.pick(TIMES);
        }
        text + random.pick(&["", "$"])
    }

    #[test]
    fn runs_at_once_give_the_same_groups_as_character_by_character() {
        let mut random = Random::new(11);
        let (mut compared, mut runs) = (0, 0);
        for _ in 0..3000 {
            let text = expression(&mut random);
            let utf8 = random.below(3) == 0;
            let charset = if utf8 { crate::Charset::Utf8 } else { crate::Charset::C };
            let options = Options { charset, ..Options::new(Flavour::GrepExtended) };
            let Ok(mut regex) = compile(&[text.as_bytes()], &options) else { continue };
            let syntax = Syntax { utf8, ..Syntax::EXTENDED };
            let parsed = parse(text.as_bytes(), syntax).expect("an expression");
            let mut tracer = Tracer::new(&parsed.node, parsed.groups, utf8, true);
            runs += usize::from(tracer.steps.iter().any(|step| matches!(step, GroupStep::Run { .. })));
            for _ in 0..6 {
                let mut line = String::new();
                for _ in 0..random.below(14) {
                    line += random.pick(&["a", "b", "ab", "1", " ", "aa"]);
                }
                let Ok(Some((start, end))) = regex.find(line.as_bytes(), 0..line.len()) else { continue };
                let slow = tracer.trace_by(line.as_bytes(), start..end, false).map(<[_]>::to_vec);
                let fast = tracer.trace_by(line.as_bytes(), start..end, true).map(<[_]>::to_vec);
                assert_eq!(fast, slow, "{text} {line:?}");
                compared += 1;
            }
        }
        assert!(compared > 2000 && runs > 2000, "{compared} {runs}");
    }
}
