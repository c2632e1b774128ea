//! Skips unselected values, validating them 64 bytes at a time, with bit masks instead of token by token. The
//! validation is complete: JSON's grammar only relates neighbouring tokens, except that commas and colons
//! must suit the container, and a closing bracket its opening one.
//!
//! [`choose`] skips members of an object up to a selected name. It only resumes at the start of a name: the
//! visitor has not been told of the skipped names, and must be if one of them is faulty.
//!
//! This code only accepts. If it is unsure, or finds an error, it goes back to the last position between two
//! tokens that was certainly valid. The [machine](crate::machine) continues from there and reports errors.

use pelton_simd::json_tokens::{Block, See, blocks};

use crate::escapes::check_odd;
use crate::names::{Names, Selection};
use crate::scalar::{self, Scalar};
use crate::state::State;

/// A position between two tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    /// Offset of the next byte.
    pub(crate) at: usize,
    /// Number of open containers, and the innermost as bits (1 is an object), as in
    /// [`Levels`](crate::levels::Levels).
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
    /// A string after `{`, or after a comma.
    first_name: u64,
    string: u64,
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The depth at which the value ends.
    pub(crate) until: usize,
    /// Maximum depth.
    pub(crate) max_depth: usize,
}

/// Why skipping stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The text ended within the value.
    More,
    /// The value ended.
    Over,
    /// The machine must process the next token.
    Unsure,
    /// The next name is selected.
    Wanted,
}

impl Reached {
    /// Makes a position from the machine's state.
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

    /// Returns the machine's state at this position, which is within a container.
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

/// Skips the value in `text` that contains `start`.
pub(crate) fn skim(text: &[u8], start: Reached, limits: Limits) -> (Reached, Outcome) {
    let mut skimmer =
        Skimmer { text, from: start.at, sure: start, now: start, limits, outcome: Outcome::More };
    blocks(&text[start.at..], &mut skimmer);
    (skimmer.sure, skimmer.outcome)
}

/// Skips members of the object that contains `start`, up to a member with one of `names`. `start` is before a
/// name or the object's end.
pub(crate) fn choose(text: &[u8], start: Reached, limits: Limits, names: &Names) -> (Reached, Outcome) {
    let mut chooser = Chooser {
        text,
        now: start,
        start,
        limits,
        outcome: Outcome::More,
        names,
        last: None,
        before_last: None,
        in_name: false,
    };
    blocks(&text[start.at..], &mut chooser);
    (chooser.sure(), chooser.outcome)
}

/// State of [`skim`].
struct Skimmer<'a> {
    text: &'a [u8],
    /// Start offset.
    from: usize,
    sure: Reached,
    now: Reached,
    limits: Limits,
    outcome: Outcome,
}

impl See for Skimmer<'_> {
    #[inline(always)]
    fn see(&mut self, block: &Block) -> bool {
        self.now.at = self.from + block.at;
        self.outcome = self.now.pass(self.text, block, self.limits).outcome;
        if self.outcome == Outcome::Over || self.outcome == Outcome::More && block.clean {
            self.sure = self.now;
        }
        self.outcome == Outcome::More
    }
}

/// State of [`choose`].
struct Chooser<'a> {
    text: &'a [u8],
    start: Reached,
    now: Reached,
    limits: Limits,
    outcome: Outcome,
    names: &'a Names,
    /// Offsets of the last two names of the object, each with a 1 if it is the first name.
    last: Option<(usize, u64)>,
    before_last: Option<(usize, u64)>,
    /// Whether the last string that began is a name of the object.
    in_name: bool,
}

impl See for Chooser<'_> {
    #[inline(always)]
    fn see(&mut self, block: &Block) -> bool {
        let at = self.start.at + block.at;
        self.now.at = at;
        let passed = self.now.pass(self.text, block, self.limits);
        self.outcome = passed.outcome;
        if block.escaped != 0 && escapes_name(block, passed.names, self.in_name) {
            self.outcome = Outcome::Unsure;
        }
        let mut left = if self.outcome == Outcome::Unsure { 0 } else { passed.names };
        while left != 0 {
            let bit = left.trailing_zeros();
            self.before_last = self.last;
            self.last = Some((at + bit as usize, passed.first >> bit & 1));
            match self.names.judge(self.text, at + bit as usize) {
                Selection::No => left &= left - 1,
                Selection::Yes => (self.outcome, left) = (Outcome::Wanted, 0),
                Selection::Unknown => (self.outcome, left) = (Outcome::Unsure, 0),
            }
        }
        if let Some(last) = block.strings.checked_ilog2() {
            self.in_name = passed.names >> last & 1 == 1;
        }
        self.outcome == Outcome::More
    }
}

impl Chooser<'_> {
    /// Returns where the machine continues. The machine must report a name before anything after it, and the
    /// name before that one before anything inside the name itself.
    fn sure(&self) -> Reached {
        let name = match self.outcome {
            Outcome::Over => return self.now,
            Outcome::Wanted => self.last,
            Outcome::More | Outcome::Unsure => self.before_last,
        };
        let Some((at, first)) = name else { return self.start };
        let before = Before { brace: first, comma: 1 - first, ..Before::default() };
        Reached { at, depth: self.start.depth, top: self.start.top, before }
    }
}

/// Whether a name contains an escape: its bytes then differ from its meaning. `in_name`: a string continued
/// from the previous block is a name.
#[inline(never)]
fn escapes_name(block: &Block, names: u64, in_name: bool) -> bool {
    let mut escaped = block.escaped;
    while escaped != 0 {
        let strings_before = block.strings & ((1 << escaped.trailing_zeros()) - 1);
        if strings_before.checked_ilog2().map_or(in_name, |owner| names >> owner & 1 == 1) {
            return true;
        }
        escaped &= escaped - 1;
    }
    false
}

/// The result for a block.
struct Passed {
    outcome: Outcome,
    /// Strings that are names of members of the outermost object, and the first names of objects.
    names: u64,
    first: u64,
}

/// Returns the token after each of `set`; `waits` carries over to the next block. The addition carries each
/// bit through the bytes that start no token.
#[inline(always)]
fn next(set: u64, tokens: u64, waits: &mut u64) -> u64 {
    let (sum, beyond) = (!tokens).overflowing_add(set << 1 | *waits);
    *waits = set >> 63 | u64::from(beyond);
    sum & tokens
}

impl Reached {
    #[inline(always)]
    fn pass(&mut self, text: &[u8], block: &Block, limits: Limits) -> Passed {
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
        let (wrong_kind, level, end) = self.brackets(block, in_object, limits);
        // All bits up to the bracket that ends the value, if one does.
        let valid = end.map_or(u64::MAX, |bit| u64::MAX >> (63 - bit));
        if (wrong & valid) | wrong_kind != 0 || !self.details(text, block, valid) {
            return Passed { outcome: Outcome::Unsure, names: 0, first: 0 };
        }
        let names = strings & level & (after_brace | after_comma);
        let outcome = match end {
            Some(bit) => {
                self.at += bit as usize + 1;
                self.before = Before { value: 1, ..Before::default() };
                Outcome::Over
            }
            None => {
                self.at += 64;
                Outcome::More
            }
        };
        Passed { outcome, names, first: after_brace }
    }

    /// Follows the brackets. Returns the bits that do not suit their container, the bits in the outermost
    /// container, and the bit of the bracket that ends the value.
    #[inline(always)]
    fn brackets(&mut self, block: &Block, in_object: u64, limits: Limits) -> (u64, u64, Option<u32>) {
        let outermost = |depth: usize| u64::from(depth == limits.until + 1).wrapping_neg();
        let mut level = 0;
        let mut left = block.open | block.close;
        let (mut wrong, mut rest) = (0, u64::MAX);
        while left != 0 {
            let bit = left.trailing_zeros();
            // All bits up to this bracket.
            let here = rest & (left ^ (left - 1));
            let object = self.top & 1 == 1;
            wrong |= here & if object { in_object } else { block.colon };
            level |= here & outermost(self.depth);
            let curly = block.curly >> bit & 1;
            if block.open >> bit & 1 == 1 {
                // Containers outside of `top` are unknown here.
                wrong |= u64::from(self.depth.is_multiple_of(64) || self.depth >= limits.max_depth);
                self.depth += 1;
                self.top = self.top << 1 | curly;
            } else {
                wrong |= u64::from(curly != self.top & 1);
                self.depth -= 1;
                self.top >>= 1;
                wrong |= u64::from(self.depth > 0 && self.depth.is_multiple_of(64));
                if self.depth <= limits.until {
                    return (wrong, level, Some(bit));
                }
            }
            rest &= !here;
            left &= left - 1;
        }
        wrong |= rest & if self.top & 1 == 1 { in_object } else { block.colon };
        level |= rest & outermost(self.depth);
        (wrong, level, None)
    }

    /// Validates numbers, words and escapes.
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
