//! Fully built automata, for expressions with few states: faster than lazy ones, and open to analysis. One
//! question is whether finding all matches reads a line more than a few times. Bytes read after a match in
//! vain are read again for the next match; this is bounded if only a limited number of non-match states can
//! follow each other, without cycles.

use std::collections::HashMap;
use std::ops::Range;

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson::NFA;
use regex_automata::util::primitives::StateID;
use regex_automata::util::start::Config as Start;
use regex_automata::{Anchored, HalfMatch, Input, MatchError, MatchKind};

use super::line_automaton::LineAutomaton;
use super::members::Members;

type Dfa = dense::DFA<Vec<u32>>;

/// Memory limit for the states of one automaton.
const BYTES: usize = 2 << 20;

/// Bytes that may be read after a match in vain.
const AHEAD_MAX: usize = 32;
/// States from the start to a match: an automaton enters a match state one byte after the match, so one byte
/// is enough for one. If more were needed, they would often be read in vain.
const BEGUN_MAX: usize = 2;

/// Searches forward from anywhere to the end of the leftmost match that prefers earlier alternatives; also
/// from a known start, to decide whether there is a match.
#[derive(Debug)]
pub(super) struct Forward(Dfa);

impl Forward {
    /// `None` if it has too many states.
    pub(super) fn new(nfa: &NFA) -> Option<Forward> {
        build(nfa, MatchKind::LeftmostFirst, StartKind::Both).map(Forward)
    }

    /// Returns an automaton for lines, if it has few states.
    pub(super) fn of_lines(&self) -> Option<LineAutomaton> {
        LineAutomaton::new(&self.0)
    }

    pub(super) fn search(&self, input: &Input) -> Option<usize> {
        forward(&self.0, input)
    }
}

/// Finds whole matches, together with [`Forward`].
#[derive(Debug)]
pub(super) struct Spans {
    /// From a known start to the longest end.
    longest: Dfa,
    /// From a known end back to the leftmost start.
    backward: Dfa,
    /// Whether finding all matches takes linear time.
    linear: bool,
    /// Whether no match is a prefix of another: the first end is the only one.
    one_end: bool,
    begins: Option<Begins>,
}

/// The bytes by which a match can begin, and the state before them.
#[derive(Debug)]
struct Begins {
    members: Members,
    state: StateID,
    /// Whether almost only matches begin with them, and others are rejected soon. If not, it is tried.
    sure: bool,
}

/// Tracks whether candidate starts were matches so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Trust {
    /// Searches that read too much in vain, minus the others.
    doubts: u32,
}

impl Trust {
    /// At this limit candidates are no longer used.
    const DOUBTS_MAX: u32 = 16;

    fn is_left(&self) -> bool {
        self.doubts < Trust::DOUBTS_MAX
    }

    fn lose(&mut self) {
        self.doubts += 2;
    }

    fn regain(&mut self) {
        self.doubts = self.doubts.saturating_sub(1);
    }
}

/// Bytes that one search may read in vain before it changes its method.
const VAIN_MAX: usize = 32;

impl Spans {
    /// `None` if there are too many states.
    pub(super) fn new(forward: &Forward, longest: &NFA, backward: &NFA) -> Option<Spans> {
        let longest = build(longest, MatchKind::All, StartKind::Anchored)?;
        let ahead = |graph: &Graph| graph.farthest_after(|id| graph.dfa.is_match_state(id));
        let graph = Graph::new(&longest, Anchored::Yes)?;
        let preferred = Graph::new(&forward.0, Anchored::No)?;
        let linear = ahead(&graph) <= AHEAD_MAX && ahead(&preferred) <= AHEAD_MAX;
        let one_end = graph.ends_once();
        let begins = graph.begins();
        let backward = build(backward, MatchKind::All, StartKind::Anchored)?;
        Some(Spans { linear, one_end, begins, longest, backward })
    }

    pub(super) fn is_linear(&self) -> bool {
        self.linear
    }

    /// Returns the leftmost-longest match. `bytes`: the length of all matches, if fixed.
    pub(super) fn find(
        &self,
        forward: &Forward,
        bytes: Option<usize>,
        trust: &mut Trust,
        text: &[u8],
        mut span: Range<usize>,
    ) -> Option<(usize, usize)> {
        match &self.begins {
            Some(begins) if begins.sure => {
                return self.find_by_beginnings(begins, usize::MAX, text, span).unwrap_or(None);
            }
            Some(begins) if trust.is_left() => {
                match self.find_by_beginnings(begins, VAIN_MAX, text, span.clone()) {
                    Ok(found) => {
                        trust.regain();
                        return found;
                    }
                    // No match begins before.
                    Err(start) => {
                        trust.lose();
                        span.start = start;
                    }
                }
            }
            _ => {}
        }
        self.find_anywhere(forward, bytes, text, span)
    }

    /// Calls `found` for successive matches, as long as candidate starts are good. Returns where to continue,
    /// if not all were found.
    pub(super) fn each(
        &self,
        trust: &mut Trust,
        text: &[u8],
        mut span: Range<usize>,
        found: &mut impl FnMut(usize, usize),
    ) -> Option<usize> {
        let Some(begins) = &self.begins else { return Some(span.start) };
        let vain_max = if begins.sure { usize::MAX } else { VAIN_MAX };
        while begins.sure || trust.is_left() {
            match self.find_by_beginnings(begins, vain_max, text, span.clone()) {
                Ok(None) => return None,
                Ok(Some((start, end))) => {
                    trust.regain();
                    found(start, end);
                    span.start = end;
                }
                Err(start) => {
                    trust.lose();
                    return Some(start);
                }
            }
        }
        Some(span.start)
    }

    fn find_anywhere(
        &self,
        forward: &Forward,
        bytes: Option<usize>,
        text: &[u8],
        span: Range<usize>,
    ) -> Option<(usize, usize)> {
        let end = forward.search(&Input::new(text).span(span.clone()))?;
        if let Some(bytes) = bytes {
            return Some((end - bytes, end));
        }
        let start = backward(&self.backward, text, span.start..end)?;
        let end = if self.one_end { end } else { self.longest_at(text, start..span.end)? };
        Some((start, end))
    }

    /// Returns the longest match at the start of the span.
    pub(super) fn longest_at(&self, text: &[u8], span: Range<usize>) -> Option<usize> {
        forward(&self.longest, &Input::new(text).span(span).anchored(Anchored::Yes))
    }

    /// `Err`: too much was read in vain, and no match begins before this offset.
    #[inline]
    fn find_by_beginnings(
        &self,
        begins: &Begins,
        vain_max: usize,
        text: &[u8],
        span: Range<usize>,
    ) -> Result<Option<(usize, usize)>, usize> {
        let (mut start, mut vain) = (span.start, 0);
        loop {
            if !text[..span.end].get(start).is_some_and(|byte| begins.members.has(*byte)) {
                let Some(before) = begins.members.find(&text[start..span.end]) else { return Ok(None) };
                start += before;
            }
            match self.walk(begins.state, text, start..span.end) {
                Ok(end) => return Ok(Some((start, end))),
                Err(read) => vain += read,
            }
            start += 1;
            if vain > vain_max {
                return Err(start);
            }
        }
    }

    /// Returns the last end of a match, or how far it read in vain. An automaton enters a match state one
    /// byte after the match.
    #[inline]
    fn walk(&self, mut state: StateID, text: &[u8], span: Range<usize>) -> Result<usize, usize> {
        let mut end = None;
        for at in span.clone() {
            state = self.longest.next_state(state, text[at]);
            if !self.longest.is_special_state(state) {
                continue;
            }
            if self.longest.is_match_state(state) {
                end = Some(at);
            } else if self.longest.is_dead_state(state) {
                return end.ok_or(at - span.start);
            }
        }
        let last = match text.get(span.end) {
            Some(&byte) => self.longest.next_state(state, byte),
            None => self.longest.next_eoi_state(state),
        };
        if self.longest.is_match_state(last) { Ok(span.end) } else { end.ok_or(span.len()) }
    }
}

fn build(nfa: &NFA, kind: MatchKind, start: StartKind) -> Option<Dfa> {
    let config = dense::Config::new()
        .match_kind(kind)
        .start_kind(start)
        .byte_classes(false)
        .dfa_size_limit(Some(BYTES))
        .determinize_size_limit(Some(2 * BYTES));
    dense::Builder::new().configure(config).build_from_nfa(nfa).ok()
}

/// Searches forward. In a state that few bytes leave, the automaton looks for these bytes up to the end of the
/// text, beyond the span: so the text is cut after the byte behind the span, which decides about its end.
fn forward(dfa: &Dfa, input: &Input) -> Option<usize> {
    let text = input.haystack();
    let near = Input::new(&text[..text.len().min(input.end() + 1)])
        .span(input.get_span())
        .anchored(input.get_anchored())
        .earliest(input.get_earliest());
    offset(dfa.try_search_fwd(&near))
}

/// Searches back from the end of the span. The text is cut for the same reason as in [`forward`].
fn backward(dfa: &Dfa, text: &[u8], span: Range<usize>) -> Option<usize> {
    let base = span.start.saturating_sub(1);
    let near = Input::new(&text[base..]).span(span.start - base..span.end - base).anchored(Anchored::Yes);
    offset(dfa.try_search_rev(&near)).map(|start| base + start)
}

/// No automaton here has quit bytes, so there are no errors.
fn offset(found: Result<Option<HalfMatch>, MatchError>) -> Option<usize> {
    found.ok().flatten().map(|half| half.offset())
}

/// The graph of states.
struct Graph<'a> {
    dfa: &'a Dfa,
    /// The start states, by preceding byte.
    starts: Vec<StateID>,
    /// All states but the dead one with their successors; the successor at the end of the text comes last.
    next: HashMap<StateID, Vec<StateID>>,
}

impl<'a> Graph<'a> {
    fn new(dfa: &'a Dfa, anchored: Anchored) -> Option<Graph<'a>> {
        let before = (0..=u8::MAX).map(Some).chain([None]);
        let start = |before| dfa.start_state(&Start::new().anchored(anchored).look_behind(before)).ok();
        let mut starts: Vec<StateID> = before.map(start).collect::<Option<_>>()?;
        starts.sort_unstable();
        starts.dedup();
        let mut graph = Graph { dfa, starts: starts.clone(), next: HashMap::new() };
        let mut todo = starts;
        while let Some(state) = todo.pop() {
            if dfa.is_dead_state(state) || graph.next.contains_key(&state) {
                continue;
            }
            let mut next: Vec<StateID> = (0..=u8::MAX).map(|byte| dfa.next_state(state, byte)).collect();
            next.sort_unstable();
            next.dedup();
            next.push(dfa.next_eoi_state(state));
            todo.extend_from_slice(&next);
            graph.next.insert(state, next);
        }
        Some(graph)
    }

    fn after(&self, state: StateID) -> &[StateID] {
        self.next.get(&state).map_or(&[], Vec::as_slice)
    }

    /// Returns how many non-match states can follow each other after one of these.
    fn farthest_after(&self, holds: impl Fn(StateID) -> bool) -> usize {
        let mut known = HashMap::new();
        let states = self.next.keys().filter(|state| holds(**state));
        let next = states.flat_map(|state| self.after(*state));
        next.map(|next| self.farthest(*next, &mut known)).max().unwrap_or(0)
    }

    /// Returns how many non-match states can follow each other from this one on: unlimited with a cycle.
    /// `known` marks states in progress so.
    fn farthest(&self, from: StateID, known: &mut HashMap<StateID, usize>) -> usize {
        if self.dfa.is_match_state(from) || self.dfa.is_dead_state(from) {
            return 0;
        }
        if let Some(known) = known.get(&from) {
            return *known;
        }
        known.insert(from, usize::MAX);
        let next = self.after(from).iter().map(|next| self.farthest(*next, known)).max();
        let farthest = next.unwrap_or(0).saturating_add(1);
        known.insert(from, farthest);
        farthest
    }

    /// Whether only the dead state follows a match.
    fn ends_once(&self) -> bool {
        let mut matches = self.next.keys().filter(|state| self.dfa.is_match_state(**state));
        matches.all(|state| self.after(*state).iter().all(|next| self.dfa.is_dead_state(*next)))
    }

    /// Returns where a match can begin, if the preceding byte does not matter, and empty matches are
    /// impossible. It is sure if every path ends soon or in a match.
    fn begins(&self) -> Option<Begins> {
        let &[start] = self.starts.as_slice() else { return None };
        if self.dfa.is_match_state(self.dfa.next_eoi_state(start)) {
            return None;
        }
        let begun = self.farthest(start, &mut HashMap::new());
        let sure = begun <= BEGUN_MAX && self.farthest_after(|_| true) <= AHEAD_MAX;
        let goes_on = |byte: u8| !self.dfa.is_dead_state(self.dfa.next_state(start, byte));
        Some(Begins { members: Members::new(goes_on), state: start, sure })
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::nfa;
    use super::super::hir::Dialect;
    use super::super::parse::{Syntax, parse};
    use super::*;

    fn spans(expression: &str) -> (Forward, Spans) {
        let syntax = Syntax::EXTENDED;
        let node = parse(expression.as_bytes(), syntax).expect("an expression").node;
        let hir = Dialect { utf8: false, newline_ends: true, groups: false }.translate(&node);
        let ahead = nfa(&hir, false).expect("an automaton");
        let back = nfa(&hir, true).expect("an automaton");
        let forward = Forward::new(&ahead).expect("few states");
        let spans = Spans::new(&forward, &ahead, &back).expect("few states");
        (forward, spans)
    }

    #[test]
    fn what_may_read_far_in_vain_is_told_from_what_may_not() {
        for linear in
            ["[0-9]+|[a-z]+", "[a-c]*d", "ab|abcd", "a.?b|a", "[0-9]+:[0-9]+", "(ab)*", "\\bab|a", "x$"]
        {
            assert!(spans(linear).1.is_linear(), "{linear}");
        }
        for other in ["a|a.*b", "a|b(cd{40}e)?", "a.*b", "a(b*c)?", "(a|ab*c)d?", "x(y[^z]*z)*"] {
            assert!(!spans(other).1.is_linear(), "{other}");
        }
    }

    #[test]
    fn beginnings_and_single_ends_are_known() {
        for begins in ["[0-9]+|[a-z]+", "x[a-z]*", "a|b", "[ab](cde)?"] {
            assert!(spans(begins).1.begins.is_some_and(|begins| begins.sure), "{begins}");
        }
        for other in
            ["[a-c]*d", "a.*b", "[0-9]*", "\\ba", "^a", "(ab)*", "a*b|c", "[a-z]{9}", "a|b(cd{40}e)?"]
        {
            assert!(!spans(other).1.begins.is_some_and(|begins| begins.sure), "{other}");
        }
        assert!(spans("[a-c]*d").1.one_end && spans("ab|cd").1.one_end);
        assert!(!spans("ab*").1.one_end && !spans("ab|abcd").1.one_end);
    }

    #[test]
    fn the_same_is_found_in_every_way() {
        let text = b"abc 12ab\nd aad1 x:1:22 aaab\n\n\xff ab";
        for expression in [
            "[0-9]+|[a-z]+",
            "[a-c]*d",
            "ab|abc",
            "a.*b",
            "[0-9]+:[0-9]+",
            "\\bab|a",
            "b$",
            "^ab*",
            "a{2}",
            "a[^b]*2|1",
        ] {
            let (forward, spans) = spans(expression);
            let mut trust = Trust::default();
            let plain = Spans { begins: None, one_end: false, ..self::spans(expression).1 };
            for start in 0..=text.len() {
                for end in start..=text.len() {
                    let expected = plain.find(&forward, None, &mut Trust::default(), text, start..end);
                    let found = spans.find(&forward, None, &mut trust, text, start..end);
                    assert_eq!(found, expected, "{expression} {start}..{end}");
                }
            }
        }
    }
}
