//! Marks the matching lines of a block with one automaton that reads newlines as well: after each newline its state
//! says whether the line before matched.
//!
//! For expressions that [`line_marks`](super::line_marks) cannot express, over short lines: there is no call and no
//! branch per line. Each step waits for the load of the one before, so four parts of the block are read in turns.

use regex_automata::Anchored;
use std::collections::HashMap;

use regex_automata::dfa::{Automaton, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start::Config as Start;

use super::line_marks::LineMarks;

/// The automaton's table: the next state for each state and byte.
#[derive(Debug)]
pub(super) struct LineAutomaton {
    next: Box<[[u8; 256]; 256]>,
}

/// At the start of a line, after one that did not match.
const UNMATCHED: u8 = 0;
/// At the start of a line, after one that matched.
const MATCHED: u8 = 1;
/// In a line that matches, whatever follows.
const SURE: u8 = 2;
/// In a line that cannot match any more.
const DEAD: u8 = 3;
const FIRST_FREE: usize = 4;

/// Parts of a block that are read in turns.
const PARTS: usize = 4;
/// Bytes of a part whose marks are gathered in one word.
const STEP: usize = 64;

impl LineAutomaton {
    /// `None` if there are too many states.
    pub(super) fn new(dfa: &dense::DFA<Vec<u32>>) -> Option<LineAutomaton> {
        let config = Start::new().anchored(Anchored::No).look_behind(Some(b'\n'));
        let start = dfa.start_state(&config).ok()?;
        let mut next = Box::new([[UNMATCHED; 256]; 256]);
        let mut numbers = Numbers { dfa, known: Vec::new(), places: HashMap::new() };
        let first = numbers.of(start)?;
        let mut done = 0;
        while let Some(state) = numbers.known.get(done).copied() {
            let row = FIRST_FREE + done;
            for byte in 0..=u8::MAX {
                let to = numbers.of(dfa.next_state(state, byte))?;
                next[row][usize::from(byte)] = match byte {
                    b'\n' if to == SURE => MATCHED,
                    b'\n' => UNMATCHED,
                    _ => to,
                };
            }
            done += 1;
        }
        for (state, at_end) in [(SURE, MATCHED), (DEAD, UNMATCHED)] {
            next[usize::from(state)] = [state; 256];
            next[usize::from(state)][usize::from(b'\n')] = at_end;
        }
        for state in [UNMATCHED, MATCHED] {
            next[usize::from(state)] = next[usize::from(first)];
        }
        Some(LineAutomaton { next })
    }

    /// Marks the lines of a block that ends with a newline.
    pub(super) fn mark(&self, block: &[u8], marks: &mut LineMarks) {
        marks.begin(block);
        let starts = parts_of(block);
        let mut at: [usize; PARTS] = std::array::from_fn(|part| starts[part]);
        let mut states = [UNMATCHED; PARTS];
        let steps = (0..PARTS).map(|part| (starts[part + 1] - starts[part]) / STEP).min().unwrap_or(0);
        for _ in 0..steps {
            let chunks: [Option<&[u8; STEP]>; PARTS] = at.map(|at| block[at..].first_chunk());
            let [Some(a), Some(b), Some(c), Some(d)] = chunks else { break };
            let words = self.step([a, b, c, d], &mut states);
            for (at, word) in at.iter_mut().zip(words) {
                marks.add(*at, word);
                *at += STEP;
            }
        }
        for part in 0..PARTS {
            let (mut at, mut state) = (at[part], states[part]);
            for byte in &block[at..starts[part + 1]] {
                state = self.next[usize::from(state)][usize::from(*byte)];
                if state == MATCHED {
                    marks.add(at, 1);
                }
                at += 1;
            }
        }
    }

    /// Reads bytes of each part in turns. Returns the ends of matching lines among them.
    #[inline]
    fn step(&self, chunks: [&[u8; STEP]; PARTS], states: &mut [u8; PARTS]) -> [u64; PARTS] {
        let mut words = [0; PARTS];
        let [a, b, c, d] = chunks;
        for (bit, (((a, b), c), d)) in a.iter().zip(b).zip(c).zip(d).enumerate() {
            for ((byte, state), word) in [a, b, c, d].into_iter().zip(&mut *states).zip(&mut words) {
                *state = self.next[usize::from(*state)][usize::from(*byte)];
                *word |= u64::from(*state == MATCHED) << bit;
            }
        }
        words
    }
}

/// The numbers of states.
struct Numbers<'d> {
    dfa: &'d dense::DFA<Vec<u32>>,
    /// Those from [`FIRST_FREE`] on, in order.
    known: Vec<StateID>,
    places: HashMap<StateID, u8>,
}

impl Numbers<'_> {
    fn of(&mut self, state: StateID) -> Option<u8> {
        if self.dfa.is_match_state(state) {
            return Some(SURE);
        }
        if self.dfa.is_dead_state(state) {
            return Some(DEAD);
        }
        if let Some(number) = self.places.get(&state) {
            return Some(*number);
        }
        let number = u8::try_from(FIRST_FREE + self.known.len()).ok()?;
        self.known.push(state);
        self.places.insert(state, number);
        Some(number)
    }
}

/// Cuts a block into parts of whole lines. Returns their starts, and the end.
fn parts_of(block: &[u8]) -> [usize; PARTS + 1] {
    let mut starts = [0; PARTS + 1];
    for part in 1..=PARTS {
        let near = block.len() * part / PARTS;
        let before = memchr::memrchr(b'\n', &block[..near]).map_or(0, |newline| newline + 1);
        starts[part] = before.max(starts[part - 1]);
    }
    starts
}
