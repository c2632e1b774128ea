//! The automata: where does a line match, and where does the leftmost-longest match lie?
//!
//! POSIX wants the longest of the leftmost matches; the library's automata prefer alternatives in order. So a match
//! is found in three steps, each linear: forward to the end of the preferred match, which starts leftmost; backward
//! from there to that start; forward again from the start with an automaton that never prefers, to the last end.
//! States are made when first met, so that compiling costs little; a full cache is emptied, never given up.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use memchr::memchr;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::{Anchored, HalfMatch, Input, MatchError, MatchKind};
use regex_syntax::hir::Hir;

use crate::{Accept, Declined};

use super::GaveUp;

/// The automata with the states met so far. Clones share the first and copy the second.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    shared: Arc<Shared>,
    forward: Cache,
    longest: Cache,
    backward: Cache,
    /// Bytes that all matches have, if one number.
    bytes: Option<usize>,
    meter: Meter,
    /// Bytes searched with the lazy automaton.
    searched: usize,
}

/// How much of a long line was read again, over all searches in it.
#[derive(Clone, Debug, Default)]
struct Meter {
    /// Where the last search started; one that starts before it is in another line.
    at: usize,
    left: usize,
    /// Nothing is counted.
    off: bool,
}

#[derive(Debug)]
struct Shared {
    /// From anywhere to the end of the leftmost match that prefers earlier alternatives.
    forward: DFA,
    /// The same with all states made, once so much was searched that it pays. `None` inside: too big.
    whole: OnceLock<Option<dense::DFA<Vec<u32>>>>,
    /// From a known start to the longest end.
    longest: DFA,
    /// From a known end back to the leftmost start.
    backward: DFA,
}

/// Bytes that the states of one automaton may take.
const CACHE_BYTES: usize = 8 << 20;
/// Bytes that an automaton may take before it has states.
const NFA_BYTES: usize = 4 << 20;

/// Bytes after which it pays to make all states, and what they may take then.
const WHOLE_FROM: usize = 128 << 10;
const WHOLE_BYTES: usize = 2 << 20;

impl Engine {
    pub(super) fn new(hir: &Hir, bytes: Option<usize>) -> Accept<Engine> {
        let nfa = nfa(hir, false)?;
        let shared = Shared {
            whole: OnceLock::new(),
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
            meter: Meter::default(),
            searched: 0,
        })
    }

    /// The end of the shortest match that is found first, reading forward.
    pub(super) fn first_end(&mut self, text: &[u8], span: Range<usize>) -> Option<usize> {
        self.search_forward(Input::new(text).span(span).earliest(true))
    }

    fn search_forward(&mut self, input: Input) -> Option<usize> {
        if self.searched > WHOLE_FROM
            && let Some(whole) = self.shared.whole.get_or_init(|| whole(&self.shared.forward))
        {
            return offset(whole.try_search_fwd(&input));
        }
        let end = offset(self.shared.forward.try_search_fwd(&mut self.forward, &input));
        self.searched += end.unwrap_or(input.end()) - input.start();
        end
    }

    pub(super) fn be_patient(&mut self) {
        self.meter.off = true;
    }

    /// Is there a match that starts here?
    pub(super) fn matches_at(&mut self, text: &[u8], span: Range<usize>) -> bool {
        let input = Input::new(text).span(span).earliest(true).anchored(Anchored::Yes);
        offset(self.shared.longest.try_search_fwd(&mut self.longest, &input)).is_some()
    }

    /// The longest match that starts here.
    pub(super) fn longest_at(&mut self, text: &[u8], span: Range<usize>) -> Option<usize> {
        let input = Input::new(text).span(span).anchored(Anchored::Yes);
        offset(self.shared.longest.try_search_fwd(&mut self.longest, &input))
    }

    /// The leftmost-longest match within `span`; what stands around it decides conditions.
    pub(super) fn find(&mut self, text: &[u8], span: Range<usize>) -> Option<(usize, usize)> {
        let end = self.search_forward(Input::new(text).span(span.clone()))?;
        if let Some(bytes) = self.bytes {
            return Some((end - bytes, end));
        }
        let start = self.start_of(text, span.start..end)?;
        Some((start, self.longest_at(text, start..span.end)?))
    }

    /// The leftmost start of the matches that end where `span` ends.
    fn start_of(&mut self, text: &[u8], span: Range<usize>) -> Option<usize> {
        let back = Input::new(text).span(span).anchored(Anchored::Yes);
        offset(self.shared.backward.try_search_rev(&mut self.backward, &back))
    }

    /// The same as [`find`](Self::find), but it gives up when the matches of a line have made it read the line
    /// many times.
    pub(super) fn find_counting(
        &mut self,
        text: &[u8],
        span: Range<usize>,
    ) -> Result<Option<(usize, usize)>, GaveUp> {
        if self.meter.off {
            return Ok(self.find(text, span));
        }
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
        Ok(end.map(|end| (start, end)))
    }
}

/// The automaton with all its states, if they are few.
fn whole(forward: &DFA) -> Option<dense::DFA<Vec<u32>>> {
    let config = dense::Config::new()
        .match_kind(MatchKind::LeftmostFirst)
        .start_kind(StartKind::Unanchored)
        .byte_classes(false)
        .dfa_size_limit(Some(WHOLE_BYTES))
        .determinize_size_limit(Some(2 * WHOLE_BYTES));
    dense::Builder::new().configure(config).build_from_nfa(forward.get_nfa()).ok()
}

/// How often a long line may be read.
const READINGS_MAX: usize = 32;

/// The end of a match, reading forward one byte at a time and counting them.
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

/// No automaton here is told to quit or to give up, so that there are no errors to speak of.
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
