//! The automata: which lines match, and where is the leftmost-longest match?
//!
//! POSIX requires the longest of the leftmost matches; the library's automata prefer alternatives in order.
//! So a match is found in three steps, each linear: forward to the end of the preferred match, which starts
//! leftmost; backward from there to that start; forward again from the start with an automaton without
//! preferences, to the last end. States are built on demand, so that compiling is cheap; a full cache is
//! cleared, never given up.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use memchr::memchr;
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::{Anchored, HalfMatch, Input, MatchError, MatchKind};
use regex_syntax::hir::Hir;

use crate::{Accept, Declined};

use super::GaveUp;
use super::dense::{Forward, Spans, Trust};
use super::line_automaton::LineAutomaton;
use super::line_marks::LineMarks;

/// The automata with the states built so far. Clones share the former and copy the latter.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    shared: Arc<Shared>,
    forward: Cache,
    longest: Cache,
    backward: Cache,
    /// The length of all matches in bytes, if fixed.
    bytes: Option<usize>,
    meter: RescanCounter,
    trust: Trust,
    /// Bytes searched with the lazy automaton.
    searched: usize,
}

/// Counts how much of a long line was read again, over all searches in it.
#[derive(Clone, Debug, Default)]
struct RescanCounter {
    /// The start of the last search; an earlier start means another line.
    at: usize,
    left: usize,
    /// Whether counting is off.
    off: bool,
}

#[derive(Debug)]
struct Shared {
    /// From anywhere to the end of the leftmost match that prefers earlier alternatives.
    forward: DFA,
    /// The same fully built, once enough was searched. `None` inside: too big.
    whole: OnceLock<Option<Forward>>,
    /// The same for whole lines, likewise.
    lines: OnceLock<Option<LineAutomaton>>,
    /// The other two, likewise.
    spans: OnceLock<Option<Spans>>,
    /// From a known start to the longest end.
    longest: DFA,
    /// From a known end back to the leftmost start.
    backward: DFA,
}

/// Memory limit for the states of one automaton.
const CACHE_BYTES: usize = 8 << 20;
/// Memory limit for an automaton without states.
const NFA_BYTES: usize = 4 << 20;

/// Bytes after which building all states pays. Tests, which search less, use both ways.
const WHOLE_FROM: usize = if cfg!(debug_assertions) { 64 } else { 128 << 10 };

impl Shared {
    fn whole(&self) -> Option<&Forward> {
        self.whole.get_or_init(|| Forward::new(self.forward.get_nfa())).as_ref()
    }

    fn spans(&self) -> Option<(&Forward, &Spans)> {
        let forward = self.whole()?;
        let make = || Spans::new(forward, self.longest.get_nfa(), self.backward.get_nfa());
        Some((forward, self.spans.get_or_init(make).as_ref()?))
    }
}

impl Engine {
    pub(super) fn new(hir: &Hir, bytes: Option<usize>) -> Accept<Engine> {
        let nfa = nfa(hir, false)?;
        let shared = Shared {
            whole: OnceLock::new(),
            lines: OnceLock::new(),
            spans: OnceLock::new(),
            forward: lazy(nfa.clone(), MatchKind::LeftmostFirst)?,
            longest: lazy(nfa, MatchKind::All)?,
            backward: lazy(self::nfa(hir, true)?, MatchKind::All)?,
        };
        Ok(Engine {
            forward: shared.forward.create_cache(),
            longest: shared.longest.create_cache(),
            backward: shared.backward.create_cache(),
            shared: Arc::new(shared),
            bytes,
            meter: RescanCounter::default(),
            trust: Trust::default(),
            searched: 0,
        })
    }

    /// Returns the end of the shortest match found first, reading forward.
    pub(super) fn first_end(&mut self, text: &[u8], span: Range<usize>) -> Option<usize> {
        self.search_forward(Input::new(text).span(span).earliest(true))
    }

    fn search_forward(&mut self, input: Input) -> Option<usize> {
        if self.searched > WHOLE_FROM
            && let Some(whole) = self.shared.whole()
        {
            return whole.search(&input);
        }
        let end = offset(self.shared.forward.try_search_fwd(&mut self.forward, &input));
        self.searched += end.unwrap_or(input.end()) - input.start();
        end
    }

    /// Marks the lines of a block that ends with a newline, once building all states has paid. `false`: there are too
    /// many.
    pub(super) fn mark_lines(&mut self, block: &[u8], marks: &mut LineMarks) -> bool {
        if self.searched <= WHOLE_FROM {
            return false;
        }
        let shared = &*self.shared;
        let Some(lines) = shared.lines.get_or_init(|| shared.whole()?.of_lines()) else { return false };
        lines.mark(block, marks);
        true
    }

    pub(super) fn be_patient(&mut self) {
        self.meter.off = true;
    }

    /// Whether a match starts here.
    pub(super) fn matches_at(&mut self, text: &[u8], span: Range<usize>) -> bool {
        self.search_forward(Input::new(text).span(span).earliest(true).anchored(Anchored::Yes)).is_some()
    }

    /// Returns the longest match that starts here.
    pub(super) fn longest_at(&mut self, text: &[u8], span: Range<usize>) -> Option<usize> {
        if self.searched > WHOLE_FROM
            && let Some((_, spans)) = self.shared.spans()
        {
            return spans.longest_at(text, span);
        }
        let input = Input::new(text).span(span).anchored(Anchored::Yes);
        let end = offset(self.shared.longest.try_search_fwd(&mut self.longest, &input));
        self.searched += end.unwrap_or(input.start()) - input.start();
        end
    }

    /// Returns the leftmost-longest match within `span`; the text around it decides conditions.
    pub(super) fn find(&mut self, text: &[u8], span: Range<usize>) -> Option<(usize, usize)> {
        if self.searched > WHOLE_FROM
            && let Some((forward, spans)) = self.shared.spans()
        {
            return spans.find(forward, self.bytes, &mut self.trust, text, span);
        }
        let end = self.search_forward(Input::new(text).span(span.clone()))?;
        if let Some(bytes) = self.bytes {
            return Some((end - bytes, end));
        }
        let start = self.start_of(text, span.start..end)?;
        Some((start, self.longest_at(text, start..span.end)?))
    }

    /// Calls `found` for successive non-empty matches, as long as that is simple. Returns where to continue,
    /// if not all were found.
    pub(super) fn each(
        &mut self,
        text: &[u8],
        span: Range<usize>,
        found: &mut impl FnMut(usize, usize),
    ) -> Option<usize> {
        if self.searched > WHOLE_FROM
            && let Some((_, spans)) = self.shared.spans()
        {
            return spans.each(&mut self.trust, text, span, found);
        }
        Some(span.start)
    }

    /// Returns the leftmost start of the matches that end where `span` ends.
    fn start_of(&mut self, text: &[u8], span: Range<usize>) -> Option<usize> {
        let back = Input::new(text).span(span).anchored(Anchored::Yes);
        offset(self.shared.backward.try_search_rev(&mut self.backward, &back))
    }

    /// Like [`find`](Self::find), but gives up when the matches of a line have made it read the line many
    /// times.
    pub(super) fn find_counting(
        &mut self,
        text: &[u8],
        span: Range<usize>,
    ) -> Result<Option<(usize, usize)>, GaveUp> {
        if self.meter.off || self.is_known_to_be_linear() {
            return Ok(self.find(text, span));
        }
        self.find_metered(text, span)
    }

    fn find_metered(&mut self, text: &[u8], span: Range<usize>) -> Result<Option<(usize, usize)>, GaveUp> {
        let new_line =
            span.start <= self.meter.at || memchr(b'\n', &text[self.meter.at..span.start]).is_some();
        if new_line {
            self.meter.left = READINGS_MAX * span.len();
        }
        self.meter.at = span.start;
        let left = &mut self.meter.left;
        let input = Input::new(text).span(span.clone());
        let Some(end) = walk(&self.shared.forward, &mut self.forward, &input, left)? else { return Ok(None) };
        let Some(start) = self.start_of(text, span.start..end) else { return Ok(None) };
        let input = Input::new(text).span(start..span.end).anchored(Anchored::Yes);
        let end = walk(&self.shared.longest, &mut self.longest, &input, &mut self.meter.left)?;
        self.searched += end.unwrap_or(start) - input.start();
        Ok(end.map(|end| (start, end)))
    }

    /// Whether looking ahead from each match cannot add up.
    pub(super) fn is_known_to_be_linear(&self) -> bool {
        self.searched > WHOLE_FROM && self.shared.spans().is_some_and(|(_, spans)| spans.is_linear())
    }
}

/// How often a long line may be read.
const READINGS_MAX: usize = 32;

/// Returns the end of a match, reading forward byte by byte and counting.
fn walk(dfa: &DFA, cache: &mut Cache, input: &Input, left: &mut usize) -> Result<Option<usize>, GaveUp> {
    let Ok(mut state) = dfa.start_state_forward(cache, input) else { return Ok(None) };
    let mut end = None;
    // An automaton enters a match state one byte after the match.
    for at in input.start()..input.end() {
        let Ok(next) = dfa.next_state(cache, state, input.haystack()[at]) else { return Ok(None) };
        state = next;
        *left = left.checked_sub(1).ok_or(GaveUp)?;
        if state.is_match() {
            end = Some(at);
        } else if state.is_dead() {
            return Ok(end);
        }
    }
    let last = match input.haystack().get(input.end()) {
        Some(&byte) => dfa.next_state(cache, state, byte),
        None => dfa.next_eoi_state(cache, state),
    };
    let matches = last.is_ok_and(|state| state.is_match());
    Ok(if matches { Some(input.end()) } else { end })
}

/// No automaton here has quit bytes or gives up, so there are no errors.
fn offset(found: Result<Option<HalfMatch>, MatchError>) -> Option<usize> {
    found.ok().flatten().map(|half| half.offset())
}

pub(super) fn nfa(hir: &Hir, reverse: bool) -> Accept<NFA> {
    let captures = if reverse { thompson::WhichCaptures::None } else { thompson::WhichCaptures::All };
    let config = thompson::Config::new()
        .utf8(false)
        .reverse(reverse)
        .nfa_size_limit(Some(NFA_BYTES))
        .which_captures(captures);
    thompson::Compiler::new()
        .configure(config)
        .build_from_hir(hir)
        .map_err(|error| Declined::new(format!("the automaton: {error}")))
}

fn lazy(nfa: NFA, kind: MatchKind) -> Accept<DFA> {
    let config = Config::new().match_kind(kind).cache_capacity(CACHE_BYTES).skip_cache_capacity_check(true);
    DFA::builder()
        .configure(config)
        .build_from_nfa(nfa)
        .map_err(|error| Declined::new(format!("the automaton: {error}")))
}

#[cfg(test)]
mod tests {
    use super::super::hir::Dialect;
    use super::super::node::Node;
    use super::super::parse::{Syntax, parse};
    use super::*;

    fn node(expression: &str) -> Node {
        let syntax = Syntax::EXTENDED;
        parse(expression.as_bytes(), syntax).expect("an expression").node
    }

    /// Returns the bytes read to find all matches of a line; `None` if it gave up.
    fn steps(node: &Node, line: &[u8]) -> Option<usize> {
        let hir = Dialect { utf8: false, newline_ends: true, groups: false }.translate(node);
        let mut engine = Engine::new(&hir, None).expect("an automaton");
        let mut at = 0;
        while let Some((start, end)) = engine.find_metered(line, at..line.len()).ok()? {
            at = if start == end { end + 1 } else { end };
            if at > line.len() {
                break;
            }
        }
        Some(READINGS_MAX * line.len() - engine.meter.left)
    }

    /// Whether it is linear, by the expression's form or by its automata.
    fn is_linear(node: &Node) -> bool {
        let hir = Dialect { utf8: false, newline_ends: true, groups: false }.translate(node);
        let mut engine = Engine::new(&hir, None).expect("an automaton");
        engine.searched = usize::MAX;
        !node.may_look_far() || engine.is_known_to_be_linear()
    }

    const ATOMS: &[&str] = &["a", "b", "[ab]", "[^a]", ".", "(ab)", "(a|b)", "(a|bc)", "(a|a.*b)"];
    const TIMES: &[&str] = &["", "*", "+", "?", "{2}"];

    /// Returns expressions of up to three repeated atoms, in sequence or as alternatives.
    fn expressions() -> Vec<String> {
        let mut number = 7_u32;
        let mut below = |end: usize| {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (number >> 16) as usize % end
        };
        let mut some = || {
            let parts = (0..1 + below(3)).map(|at| {
                let bar = if at > 0 && below(3) == 0 { "|" } else { "" };
                format!("{bar}{}{}", ATOMS[below(ATOMS.len())], TIMES[below(TIMES.len())])
            });
            parts.collect::<String>()
        };
        (0..300).map(|_| some()).collect()
    }

    #[test]
    fn what_is_called_linear_reads_twice_as_much_of_a_line_twice_as_long() {
        const BYTES: usize = 1000;
        let (mut linear, mut given_up) = (0, 0);
        for expression in expressions() {
            let node = node(&expression);
            let is_linear = is_linear(&node);
            linear += usize::from(is_linear);
            for period in ["a", "b", "ab", "aab", "abc", "ba", "c", "aaaaaaac"] {
                let line = |bytes: usize| period.bytes().cycle().take(bytes).collect::<Vec<u8>>();
                let (Some(once), Some(twice)) = (steps(&node, &line(BYTES)), steps(&node, &line(2 * BYTES)))
                else {
                    assert!(!is_linear, "{expression} over {period} was given up");
                    given_up += 1;
                    continue;
                };
                assert!(
                    !is_linear || twice < once * 2 + BYTES,
                    "{expression} over {period}: {once}, then {twice}"
                );
            }
        }
        assert!(linear > 200 && given_up > 0, "{linear} linear, {given_up} given up");
    }
}
