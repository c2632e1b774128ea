//! The grammar of RFC 8259 as a state machine over tokens: no recursion, and it can pause at any token.

use crate::error::{Fault, Flaw, found};
use crate::escapes::check_odd;
use crate::levels::Levels;
use crate::scalar::{self, Scalar};
use crate::skim::{self, Limits, Outcome, Reached};
use crate::state::State;
use crate::visit::{Discard, Interest, Kind, StringPosition, Visitor};
use pelton_simd::padded::Raw;

/// The text read so far, and the index of its tokens.
pub(crate) struct View<'a> {
    pub(crate) text: &'a [u8],
    /// The text with padding after it.
    pub(crate) padded: &'a [u8],
    /// As in [`pelton_simd::json_tokens::Found`].
    pub(crate) tokens: &'a [u32],
    pub(crate) odd: &'a [u32],
    /// Nothing follows the text.
    pub(crate) whole: bool,
    /// The window is full.
    pub(crate) full: bool,
}

/// How far the machine has got.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    /// Index of the next token.
    pub(crate) token: usize,
    /// Index of the next odd byte.
    pub(crate) odd: usize,
    /// Within a string reported in pieces: the length of text already reported.
    pub(crate) told: usize,
}

/// Why [`Machine::walk`] returned.
enum Pause {
    /// The next token is missing or incomplete.
    More,
    /// The next value is unselected.
    Skip,
    /// The unselected value has ended.
    Skipped,
    /// Only members of some names of the current object are selected.
    Choose,
}

/// Parses documents, one after another.
#[derive(Debug)]
pub(crate) struct Machine {
    state: State,
    levels: Levels,
    /// The depth at which the skipped value ends.
    skipping: Option<usize>,
    /// Set if only the content of a container is skipped: its end is reported.
    inside: Option<Kind>,
    /// Whether it is within a string reported in pieces.
    long: bool,
    documents: u64,
    rules: Rules,
    lines: bool,
    /// Start of the document for which [`check_line`](Self::check_line) is due.
    document: Option<usize>,
}

/// Restrictions beyond the grammar.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Maximum number of nesting levels.
    pub max_depth: usize,
    /// Whether there must be exactly one document.
    pub single: bool,
}

impl Rules {
    /// Maximum nesting depth where paths are printed: a path is as long as its value is deep, so the output
    /// grows with the square of the depth.
    pub const MAX_DEPTH_OF_PATHS: usize = 10_000;
}

impl Default for Rules {
    fn default() -> Self {
        Rules { max_depth: 1_000_000, single: false }
    }
}

impl Machine {
    pub(crate) fn new(rules: Rules) -> Self {
        Machine {
            state: State::Document,
            levels: Levels::default(),
            skipping: None,
            inside: None,
            long: false,
            documents: 0,
            rules,
            lines: false,
            document: None,
        }
    }

    /// Makes a machine for complete texts in which no document spans lines.
    pub(crate) fn for_lines(rules: Rules) -> Self {
        Machine { lines: true, ..Machine::new(rules) }
    }

    /// Returns the offset of the first byte still needed.
    pub(crate) fn keeps(&self, view: &View<'_>, cursor: &Cursor) -> usize {
        let next = view.tokens.get(cursor.token).map_or(view.text.len(), |token| *token as usize);
        if self.long { cursor.told } else { next }
    }

    /// Runs to the end of the tokens or, with `to_choose`, to where [`choose`](Self::choose) can continue.
    /// Returns whether it stopped for `choose`.
    #[inline]
    pub(crate) fn run<V: Visitor>(
        &mut self,
        view: &View<'_>,
        cursor: &mut Cursor,
        visitor: &mut V,
        to_choose: bool,
    ) -> Result<bool, Flaw> {
        loop {
            let pause = match self.skipping {
                None => self.walk::<V, false>(view, cursor, visitor)?,
                Some(_) => self.walk::<Discard, true>(view, cursor, &mut Discard)?,
            };
            match pause {
                Pause::More => return Ok(false),
                Pause::Choose if to_choose => return Ok(true),
                Pause::Skip | Pause::Choose => {}
                Pause::Skipped => {
                    self.skipping = None;
                    if let Some(kind) = self.inside.take() {
                        visitor.close(kind);
                    }
                }
            }
        }
    }

    /// Whether it is within a string reported in pieces.
    pub(crate) fn is_long(&self) -> bool {
        self.long
    }

    /// Whether the next token lies within an unselected container.
    pub(crate) fn skims(&self) -> bool {
        !self.long && self.skipping.is_some_and(|until| self.levels.depth() > until)
    }

    /// Skips an unselected value from `at`, where no token is open. Returns where it stopped, and why.
    pub(crate) fn skim(&mut self, text: &[u8], at: usize) -> (usize, Outcome) {
        let Some(until) = self.skipping else { return (at, Outcome::Unsure) };
        let (depth, top) = self.levels.nearest();
        let start = Reached::new(at, self.state, depth, top);
        let limits = Limits { until, max_depth: self.rules.max_depth };
        let (reached, outcome) = skim::skim(text, start, limits);
        self.levels.set_nearest((reached.depth, reached.top));
        match outcome {
            Outcome::Over => self.end_value(),
            _ => self.state = reached.state(),
        }
        (reached.at, outcome)
    }

    /// Skips unselected members from `at`, where no token is open. Returns where it stopped, and why.
    pub(crate) fn choose<V: Visitor>(&mut self, text: &[u8], at: usize, visitor: &mut V) -> (usize, Outcome) {
        let Some(names) = visitor.names() else { return (at, Outcome::Unsure) };
        let (depth, top) = self.levels.nearest();
        let start = Reached::new(at, self.state, depth, top);
        let limits = Limits { until: depth - 1, max_depth: self.rules.max_depth };
        let (reached, outcome) = skim::choose(text, start, limits, names);
        if outcome == Outcome::Over {
            self.close(Kind::Object, visitor);
        } else {
            self.state = reached.state();
        }
        (reached.at, outcome)
    }

    /// Checks that the text may end here.
    pub(crate) fn end(&self) -> Result<(), Fault> {
        match self.state {
            State::Document if self.documents == 0 && self.rules.single => Err(Fault::NoDocument),
            State::Document => Ok(()),
            _ if self.long => Err(Fault::UnclosedString),
            state => Err(Fault::Ends { wanted: state.wanted() }),
        }
    }

    fn walk<V: Visitor, const SKIPPING: bool>(
        &mut self,
        view: &View<'_>,
        cursor: &mut Cursor,
        visitor: &mut V,
    ) -> Result<Pause, Flaw> {
        if self.long && !self.continue_long_string(view, cursor, visitor)? {
            return Ok(Pause::More);
        }
        loop {
            if SKIPPING && self.skipping == Some(self.levels.depth()) && self.is_after() {
                return Ok(Pause::Skipped);
            }
            let Some(token) = view.tokens.get(cursor.token) else { return Ok(Pause::More) };
            let at = *token as usize;
            let byte = view.text[at];
            let interest = match self.state {
                State::Value => match self.value(view, cursor, at, visitor)? {
                    Some(interest) => interest,
                    None => return Ok(Pause::More),
                },
                State::AfterMember => {
                    cursor.token += 1;
                    match byte {
                        b',' => {
                            self.state = State::Key;
                            if !SKIPPING && visitor.chooses() {
                                return Ok(Pause::Choose);
                            }
                        }
                        b'}' => self.close(Kind::Object, visitor),
                        _ => return Err(self.unexpected(view, at)),
                    }
                    Interest::Visit
                }
                State::FirstKey | State::Key if starts_member(view, cursor) => {
                    match self.members::<V, SKIPPING>(view, cursor, visitor)? {
                        Some(interest) => interest,
                        None => return Ok(Pause::More),
                    }
                }
                State::FirstKey | State::Key => match byte {
                    b'"' => match self.key(view, cursor, at, visitor)? {
                        Some(interest) => interest,
                        None => return Ok(Pause::More),
                    },
                    b'}' if self.state == State::FirstKey => {
                        cursor.token += 1;
                        self.close(Kind::Object, visitor);
                        Interest::Visit
                    }
                    _ => return Err(self.unexpected(view, at)),
                },
                State::Colon if byte == b':' => {
                    cursor.token += 1;
                    self.state = State::Value;
                    Interest::Visit
                }
                State::AfterElement => {
                    cursor.token += 1;
                    match byte {
                        b',' => self.state = State::Element,
                        b']' => self.close(Kind::Array, visitor),
                        _ => return Err(self.unexpected(view, at)),
                    }
                    Interest::Visit
                }
                State::FirstElement if byte == b']' => {
                    cursor.token += 1;
                    self.close(Kind::Array, visitor);
                    Interest::Visit
                }
                State::FirstElement | State::Element => {
                    match self.elements::<V, SKIPPING>(view, cursor, visitor)? {
                        Some(interest) => interest,
                        None => return Ok(Pause::More),
                    }
                }
                State::Document => {
                    self.check_line(view, cursor)?;
                    self.begin_document(at)?;
                    self.skips(visitor.document())
                }
                State::Colon => return Err(self.unexpected(view, at)),
            };
            if !SKIPPING && interest == Interest::Skip {
                return Ok(Pause::Skip);
            }
            if !SKIPPING && self.state == State::FirstKey && visitor.chooses() {
                return Ok(Pause::Choose);
            }
        }
    }

    /// Reads consecutive members whose values are scalars, as long as each is indexed up to its value's first
    /// token. A state transition per token would cost mispredicted jumps. `None` if a value's end is not
    /// there yet.
    #[inline(always)]
    fn members<V: Visitor, const SKIPPING: bool>(
        &mut self,
        view: &View<'_>,
        cursor: &mut Cursor,
        visitor: &mut V,
    ) -> Result<Option<Interest>, Flaw> {
        loop {
            let [start, quote, _, value] = view.tokens[cursor.token..][..4] else { return Ok(None) };
            let end = quote as usize + 1;
            check_string(view, cursor, end)?;
            let interest = self.skips(visitor.key(Raw::of(view.padded, start as usize, end)));
            cursor.token += 3;
            self.state = State::Value;
            if !SKIPPING && interest == Interest::Skip {
                return Ok(Some(interest));
            }
            let Some(interest) = self.value(view, cursor, value as usize, visitor)? else { return Ok(None) };
            let next = view.tokens.get(cursor.token).map(|next| view.text[*next as usize]);
            if self.state != State::AfterMember || next != Some(b',') || !SKIPPING && visitor.chooses() {
                return Ok(Some(interest));
            }
            cursor.token += 1;
            self.state = State::Key;
            if !starts_member(view, cursor) {
                return Ok(Some(interest));
            }
        }
    }

    /// Reads consecutive scalar elements. `None` if a value's end is not there yet.
    #[inline(always)]
    fn elements<V: Visitor, const SKIPPING: bool>(
        &mut self,
        view: &View<'_>,
        cursor: &mut Cursor,
        visitor: &mut V,
    ) -> Result<Option<Interest>, Flaw> {
        while let Some(start) = view.tokens.get(cursor.token) {
            let interest = self.skips(visitor.element());
            self.state = State::Value;
            if !SKIPPING && interest == Interest::Skip {
                return Ok(Some(interest));
            }
            let Some(interest) = self.value(view, cursor, *start as usize, visitor)? else { return Ok(None) };
            let next = view.tokens.get(cursor.token).map(|next| view.text[*next as usize]);
            if self.state != State::AfterElement || next != Some(b',') {
                return Ok(Some(interest));
            }
            cursor.token += 1;
            self.state = State::Element;
        }
        Ok(None)
    }

    /// If the next value is unselected, records where it ends.
    #[inline(always)]
    fn skips(&mut self, interest: Interest) -> Interest {
        if interest == Interest::Skip {
            self.skipping = Some(self.levels.depth());
        }
        interest
    }

    /// Whether a value has just ended.
    #[inline(always)]
    fn is_after(&self) -> bool {
        matches!(self.state, State::AfterMember | State::AfterElement | State::Document)
    }

    #[inline(always)]
    fn end_value(&mut self) {
        self.state = match self.levels.innermost() {
            None => State::Document,
            Some(Kind::Object) => State::AfterMember,
            Some(Kind::Array) => State::AfterElement,
        };
    }

    #[inline(always)]
    fn close<V: Visitor>(&mut self, kind: Kind, visitor: &mut V) {
        visitor.close(kind);
        self.levels.pop();
        self.end_value();
    }

    fn begin_document(&mut self, at: usize) -> Result<(), Flaw> {
        if self.rules.single && self.documents > 0 {
            return Err((at, Fault::SecondDocument));
        }
        self.documents += 1;
        self.document = self.lines.then_some(at);
        self.state = State::Value;
        Ok(())
    }

    /// In line mode, checks that the document before the cursor is on one line.
    pub(crate) fn check_line(&mut self, view: &View<'_>, cursor: &Cursor) -> Result<(), Flaw> {
        let Some(start) = self.document.take() else { return Ok(()) };
        let end = view.tokens[cursor.token - 1] as usize;
        match memchr::memchr(b'\n', &view.text[start..end]) {
            Some(line) => Err((start + line, Fault::LineEnds)),
            None => Ok(()),
        }
    }

    /// Reads the value at `at`; `None` if its end is not there yet.
    #[inline(always)]
    fn value<V: Visitor>(
        &mut self,
        view: &View<'_>,
        cursor: &mut Cursor,
        at: usize,
        visitor: &mut V,
    ) -> Result<Option<Interest>, Flaw> {
        match view.text[at] {
            b'"' => {
                let Some(end) = string_end(view, cursor, at)? else {
                    self.begin_long(view, cursor, at, visitor)?;
                    return Ok(None);
                };
                visitor.scalar(Raw::of(view.padded, at, end));
                cursor.token += 2;
            }
            b'{' => return self.open(Kind::Object, State::FirstKey, cursor, at, visitor).map(Some),
            b'[' => return self.open(Kind::Array, State::FirstElement, cursor, at, visitor).map(Some),
            b'}' | b']' | b':' | b',' => return Err(self.unexpected(view, at)),
            _ => match scalar::read(view.text, at, view.whole)? {
                Scalar::Open => return Ok(None),
                Scalar::Until(end) => {
                    visitor.scalar(Raw::of(view.padded, at, end));
                    cursor.token += 1;
                }
            },
        }
        self.end_value();
        Ok(Some(Interest::Visit))
    }

    #[inline(always)]
    fn open<V: Visitor>(
        &mut self,
        kind: Kind,
        state: State,
        cursor: &mut Cursor,
        at: usize,
        visitor: &mut V,
    ) -> Result<Interest, Flaw> {
        if self.levels.depth() >= self.rules.max_depth {
            return Err((at, Fault::TooDeep(self.rules.max_depth)));
        }
        let interest = self.skips(visitor.open(kind));
        if interest == Interest::Skip {
            self.inside = Some(kind);
        }
        self.levels.push(kind);
        self.state = state;
        cursor.token += 1;
        Ok(interest)
    }

    #[inline(always)]
    fn key<V: Visitor>(
        &mut self,
        view: &View<'_>,
        cursor: &mut Cursor,
        at: usize,
        visitor: &mut V,
    ) -> Result<Option<Interest>, Flaw> {
        let Some(end) = string_end(view, cursor, at)? else { return Ok(None) };
        cursor.token += 2;
        self.state = State::Colon;
        Ok(Some(self.skips(visitor.key(Raw::of(view.padded, at, end)))))
    }

    /// Reports the first piece of a string that fills the window.
    #[cold]
    fn begin_long<V: Visitor>(
        &mut self,
        view: &View<'_>,
        cursor: &mut Cursor,
        at: usize,
        visitor: &mut V,
    ) -> Result<(), Flaw> {
        if !view.full || at > 0 {
            return Ok(());
        }
        let end = whole_escapes(view);
        check_string(view, cursor, end)?;
        visitor.piece(&view.text[at..end], StringPosition::First);
        cursor.token += 1;
        cursor.told = end;
        self.long = true;
        Ok(())
    }

    /// Reports the next piece. Returns whether the string has ended.
    #[cold]
    fn continue_long_string<V: Visitor>(
        &mut self,
        view: &View<'_>,
        cursor: &mut Cursor,
        visitor: &mut V,
    ) -> Result<bool, Flaw> {
        let (end, place) = match view.tokens.get(cursor.token) {
            Some(quote) => (*quote as usize + 1, StringPosition::Last),
            None => (whole_escapes(view).max(cursor.told), StringPosition::Middle),
        };
        check_string(view, cursor, end)?;
        visitor.piece(&view.text[cursor.told..end], place);
        cursor.told = end;
        if place == StringPosition::Last {
            cursor.token += 1;
            self.long = false;
            self.end_value();
        }
        Ok(place == StringPosition::Last)
    }

    #[cold]
    fn unexpected(&self, view: &View<'_>, at: usize) -> Flaw {
        (at, Fault::Expected { wanted: self.state.wanted(), found: found(view.text, at) })
    }
}

/// Whether the next tokens are a name, a colon and the start of a value.
#[inline(always)]
fn starts_member(view: &View<'_>, cursor: &Cursor) -> bool {
    match view.tokens.get(cursor.token..cursor.token + 4) {
        Some([name, _, colon, _]) => view.text[*name as usize] == b'"' && view.text[*colon as usize] == b':',
        _ => false,
    }
}

/// Returns the offset after the closing quote of the string at `at`, validated; `None` if the quote is not
/// there yet.
#[inline(always)]
fn string_end(view: &View<'_>, cursor: &mut Cursor, at: usize) -> Result<Option<usize>, Flaw> {
    let Some(quote) = view.tokens.get(cursor.token + 1) else {
        // An error inside the string comes before any error after it.
        check_string(view, cursor, whole_escapes(view))?;
        return if view.whole { Err((at, Fault::UnclosedString)) } else { Ok(None) };
    };
    let end = *quote as usize + 1;
    check_string(view, cursor, end)?;
    Ok(Some(end))
}

/// Checks the odd bytes before `end`.
#[inline(always)]
fn check_string(view: &View<'_>, cursor: &mut Cursor, end: usize) -> Result<(), Flaw> {
    while let Some(odd) = view.odd.get(cursor.odd)
        && (*odd as usize) < end
    {
        check_odd(view.text, *odd as usize)?;
        cursor.odd += 1;
    }
    Ok(())
}

/// Returns how much of an unfinished string can be validated and reported without splitting an escape.
fn whole_escapes(view: &View<'_>) -> usize {
    /// `\u1234`
    const LONGEST: usize = 6;
    if view.whole {
        return view.text.len();
    }
    let end = view.text.len().saturating_sub(LONGEST);
    let Some(last) = view.odd.iter().rev().map(|odd| *odd as usize).find(|odd| *odd <= end) else {
        return end;
    };
    match view.text[last] {
        // An error whatever follows, unless there is an earlier one.
        0..b' ' => last + 1,
        // Stop before its backslash.
        b'u' if last + 5 > end => last - 1,
        _ if last == end => last - 1,
        _ => end,
    }
}
