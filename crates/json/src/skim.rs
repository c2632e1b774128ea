//! What nobody wants, passed 64 bytes at a time. It is checked as strictly as everything else, but by bits and not token by
//! token: of JSON's grammar, all is between neighbours, except that a comma and a colon must suit what they stand in,
//! and a bracket the one that it closes.
//!
//! In an object of which only members of some names are wanted, it stops at these, and is sure only of where names begin:
//! the visitor has not been told of the others, and must be, where something is wrong with them.
//!
//! It only ever says yes. Where it is not sure, an error included, it goes back to the last place between two tokens that it
//! was sure of, and the [machine](crate::machine) goes on from there, which knows what to say.

use pelton_sys::json_tokens::{Block, See, blocks};

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
    /// A name comes that is wanted.
    Wanted,
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
    let mut skimmer =
        Skimmer { text, from: start.at, sure: start, now: start, limits, outcome: Outcome::More };
    blocks(&text[start.at..], &mut skimmer);
    (skimmer.sure, skimmer.outcome)
}

/// Goes through the object in which `start` is, in front of a name or its end, to the next member with one of `names`.
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

/// What one pass keeps.
struct Skimmer<'a> {
    text: &'a [u8],
    /// Where it began.
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

/// The same where names are looked at.
struct Chooser<'a> {
    text: &'a [u8],
    start: Reached,
    now: Reached,
    limits: Limits,
    outcome: Outcome,
    names: &'a Names,
    /// Where the last two names of the object begin, and a 1 if they are its first.
    last: Option<(usize, u64)>,
    before_last: Option<(usize, u64)>,
    /// The last string that began is a name of the object.
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
                Wanted::No => left &= left - 1,
                Wanted::Yes => (self.outcome, left) = (Outcome::Wanted, 0),
                Wanted::Unknown => (self.outcome, left) = (Outcome::Unsure, 0),
            }
        }
        if let Some(last) = block.strings.checked_ilog2() {
            self.in_name = passed.names >> last & 1 == 1;
        }
        self.outcome == Outcome::More
    }
}

impl Chooser<'_> {
    /// Where the machine goes on. It must tell of a name before anything behind that, and of the one before before anything
    /// in the name itself.
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

/// Whether anything in a name stands behind a backslash: then its letters are not those that were meant. `in_name`: the
/// string that goes on from before is a name.
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

/// Names that are wanted.
#[derive(Clone, Debug, Default)]
pub struct Names(Vec<Name>);

/// A name with the quote behind it.
#[derive(Clone, Debug)]
struct Name {
    quoted: Vec<u8>,
    /// Its first eight bytes, those that it has, and which these are.
    start: u64,
    mask: u64,
}

/// Whether a name is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    No,
    Yes,
    /// Its end is not there.
    Unknown,
}

impl Names {
    /// Those; `None` if one of them could be written with a backslash only, or nothing is gained.
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n [u8]>) -> Option<Self> {
        const MOST: usize = 8;
        let names: Option<Vec<Name>> = names.map(Name::new).collect();
        names.filter(|names| (1..=MOST).contains(&names.len())).map(Names)
    }

    /// Whether the string whose opening quote is at `at` is one of them.
    #[inline(always)]
    fn judge(&self, text: &[u8], at: usize) -> Wanted {
        let Some(start) = text[at + 1..].first_chunk::<8>() else { return Wanted::Unknown };
        let start = u64::from_le_bytes(*start);
        for name in &self.0 {
            if (start ^ name.start) & name.mask == 0 {
                let rest = &text[at + 1..];
                if rest.len() < name.quoted.len() {
                    return Wanted::Unknown;
                }
                if rest.starts_with(&name.quoted) {
                    return Wanted::Yes;
                }
            }
        }
        Wanted::No
    }
}

impl Name {
    fn new(name: &[u8]) -> Option<Self> {
        if name.iter().any(|byte| matches!(byte, b'"' | b'\\' | 0..b' ')) {
            return None;
        }
        let quoted = [name, b"\""].concat();
        let (mut start, mut mask) = ([0; 8], [0; 8]);
        for (at, byte) in quoted.iter().take(8).enumerate() {
            (start[at], mask[at]) = (*byte, u8::MAX);
        }
        Some(Name { quoted, start: u64::from_le_bytes(start), mask: u64::from_le_bytes(mask) })
    }
}

/// What came of a block.
struct Passed {
    outcome: Outcome,
    /// Strings that are names of members one level within what ends the value, and which of them are the first ones.
    names: u64,
    first: u64,
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
        // Up to the bracket that ends the value, if one does.
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

    /// Goes into containers and out of them: what does not suit the one that it stands in, what stands in the outermost one,
    /// and the bit of the bracket that ends the value.
    #[inline(always)]
    fn brackets(&mut self, block: &Block, in_object: u64, limits: Limits) -> (u64, u64, Option<u32>) {
        let outermost = |depth: usize| u64::from(depth == limits.until + 1).wrapping_neg();
        let mut level = 0;
        let mut left = block.open | block.close;
        let (mut wrong, mut rest) = (0, u64::MAX);
        while left != 0 {
            let bit = left.trailing_zeros();
            // Up to this one.
            let here = rest & (left ^ (left - 1));
            let object = self.top & 1 == 1;
            wrong |= here & if object { in_object } else { block.colon };
            level |= here & outermost(self.depth);
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
