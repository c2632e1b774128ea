//! What nobody wants, passed 64 bytes at a time. It is checked as strictly as everything else, but by bits and not token by
//! token: of JSON's grammar, all is between neighbours, except that a comma and a colon must suit what they stand in,
//! and a bracket the one that it closes.
//!
//! It only ever says yes. Where it is not sure, an error included, it goes back to the last place between two tokens that it
//! was sure of, and the [machine](crate::machine) goes on from there, which knows what to say.

use pelton_sys::structure::{Block, blocks};

use crate::machine::{State, check_odd};
use crate::scalar::{self, Scalar};

/// Where it got, between two tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    /// The next byte.
    pub(crate) at: usize,
    /// Containers that are open, and the innermost of them, a bit for each: 1 is an object; as
    /// [`Levels`](crate::levels::Levels) has them.
    pub(crate) depth: usize,
    pub(crate) top: u64,
    before: Before,
}

/// What the next token follows: one bit each, the lowest.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// The end of a value, or a name.
    value: u64,
    comma: u64,
    /// `{`, `[`
    brace: u64,
    bracket: u64,
    /// A string behind `{`, or behind a comma.
    first_name: u64,
    string: u64,
}

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The value is over when so many containers are open.
    pub(crate) until: usize,
    /// More must not be open.
    pub(crate) max_depth: usize,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The value goes on.
    More,
    /// It ended.
    Over,
    /// The machine must look at what comes.
    Unsure,
}

impl Reached {
    /// The machine stands there.
    pub(crate) fn new(at: usize, state: State, depth: usize, top: u64) -> Self {
        let mut before = Before::default();
        match state {
            State::Document | State::Value => {}
            State::FirstKey => before.brace = 1,
            State::FirstElement => before.bracket = 1,
            State::Key | State::Element => before.comma = 1,
            State::Colon => (before.value, before.first_name) = (1, 1),
            State::AfterMember | State::AfterElement => before.value = 1,
        }
        Reached { at, depth, top, before }
    }

    /// What the machine expects here, if it is within a container.
    pub(crate) fn state(&self) -> State {
        let (before, object) = (&self.before, self.top & 1 == 1);
        let named = before.first_name == 1 || before.string == 1;
        match object {
            true if named => State::Colon,
            _ if before.brace == 1 => State::FirstKey,
            _ if before.bracket == 1 => State::FirstElement,
            true if before.comma == 1 => State::Key,
            true if before.value == 1 => State::AfterMember,
            false if before.comma == 1 => State::Element,
            false if before.value == 1 => State::AfterElement,
            _ => State::Value,
        }
    }
}

/// Goes through `text` from `start` on.
pub(crate) fn skim(text: &[u8], start: Reached, limits: Limits) -> (Reached, Outcome) {
    let (mut sure, mut now) = (start, start);
    let mut outcome = Outcome::More;
    blocks(&text[start.at..], |block| {
        now.at = start.at + block.at;
        outcome = now.pass(text, block, limits);
        if outcome == Outcome::Over || outcome == Outcome::More && block.clean {
            sure = now;
        }
        outcome == Outcome::More
    });
    (sure, outcome)
}

/// The tokens next behind those of `set`; `waits` reaches from block to block. A carry runs from each of the set through
/// what is no token.
#[inline(always)]
fn next(set: u64, tokens: u64, waits: &mut u64) -> u64 {
    let (sum, beyond) = (!tokens).overflowing_add(set << 1 | *waits);
    *waits = set >> 63 | u64::from(beyond);
    sum & tokens
}

impl Reached {
    #[inline(always)]
    fn pass(&mut self, text: &[u8], block: &Block, limits: Limits) -> Outcome {
        let Block { strings, scalars, open, close, curly, colon, comma, .. } = *block;
        let tokens = strings | scalars | open | close | colon | comma;
        let before = &mut self.before;
        let after_value = next(strings | scalars | close, tokens, &mut before.value);
        let after_comma = next(comma, tokens, &mut before.comma);
        let after_brace = next(open & curly, tokens, &mut before.brace);
        let after_bracket = next(open & !curly, tokens, &mut before.bracket);
        let after_first_name = next(strings & after_brace, tokens, &mut before.first_name);
        let after_string = next(strings & after_comma, tokens, &mut before.string);
        let wrong = after_value & !(colon | comma | close)
            | !after_value & (colon | comma)
            | close & !(after_value | after_brace & curly | after_bracket & !curly)
            | after_brace & !(strings | close)
            | after_first_name & !colon
            | colon & !(after_first_name | after_string)
            | block.control;
        let in_object = after_comma & !strings | after_string & !colon;
        let (wrong_kind, end) = self.brackets(block, in_object, limits);
        // Up to the bracket that ends the value, if one does.
        let valid = end.map_or(u64::MAX, |bit| u64::MAX >> (63 - bit));
        if (wrong & valid) | wrong_kind != 0 || !self.details(text, block, valid) {
            return Outcome::Unsure;
        }
        match end {
            Some(bit) => {
                self.at += bit as usize + 1;
                self.before = Before { value: 1, ..Before::default() };
                Outcome::Over
            }
            None => {
                self.at += 64;
                Outcome::More
            }
        }
    }

    /// Goes into containers and out of them: what does not suit the one that it stands in, and the bit of the bracket that
    /// ends the value.
    #[inline(always)]
    fn brackets(&mut self, block: &Block, in_object: u64, limits: Limits) -> (u64, Option<u32>) {
        let mut left = block.open | block.close;
        let (mut wrong, mut rest) = (0, u64::MAX);
        while left != 0 {
            let bit = left.trailing_zeros();
            // Up to this one.
            let here = rest & (left ^ (left - 1));
            let object = self.top & 1 == 1;
            wrong |= here & if object { in_object } else { block.colon };
            let curly = block.curly >> bit & 1;
            if block.open >> bit & 1 == 1 {
                // The levels beyond are kept elsewhere.
                wrong |= u64::from(self.depth.is_multiple_of(64) || self.depth >= limits.max_depth);
                self.depth += 1;
                self.top = self.top << 1 | curly;
            } else {
                wrong |= u64::from(curly != self.top & 1);
                self.depth -= 1;
                self.top >>= 1;
                wrong |= u64::from(self.depth > 0 && self.depth.is_multiple_of(64));
                if self.depth <= limits.until {
                    return (wrong, Some(bit));
                }
            }
            rest &= !here;
            left &= left - 1;
        }
        wrong |= rest & if self.top & 1 == 1 { in_object } else { block.colon };
        (wrong, None)
    }

    /// Looks at numbers, words and escapes.
    #[inline(always)]
    fn details(&self, text: &[u8], block: &Block, valid: u64) -> bool {
        let at = |bits: u64| self.at + bits.trailing_zeros() as usize;
        let mut scalars = block.scalars & valid;
        while scalars != 0 {
            if !matches!(scalar::read(text, at(scalars), false), Ok(Scalar::Until(_))) {
                return false;
            }
            scalars &= scalars - 1;
        }
        let mut escaped = block.escaped & valid;
        while escaped != 0 {
            if check_odd(text, at(escaped)).is_err() {
                return false;
            }
            escaped &= escaped - 1;
        }
        true
    }
}
