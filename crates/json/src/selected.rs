//! Prints the values that paths select in a given format; everything else is validated and skipped.

use std::io;

use pelton_simd::json_tokens::Found;

use crate::collect::{enters, interest, step_to_member};
use crate::compact::Compact;
use crate::error::Fault;
use crate::feed::read_text;
use crate::machine::{Machine, Rules};
use crate::names::Names;
use crate::select::{Paths, States, judged};
use crate::visit::{Interest, Kind, StringPosition, Visitor};
use pelton_simd::padded::{PADDING, Raw, Text};

/// A visitor that can follow the document without printing.
pub trait Format: Visitor {
    /// Switches printing on or off: on before a selected value, off after it.
    fn show(&mut self, shows: bool);
    /// Begins a selected value within another one.
    fn begin_inner(&mut self) {}
    /// Ends it.
    fn end_inner(&mut self) {}
}

/// A visitor with a readable output buffer.
pub trait Prints {
    /// Returns the output not yet written.
    fn printed(&mut self) -> &mut Text;
}

impl<F: Prints> Prints for Selected<F> {
    fn printed(&mut self) -> &mut Text {
        self.format.printed()
    }
}

/// Maximum nesting depth of values with conditions.
const MOST_HELD: usize = 100;

/// Prints selected values.
pub struct Selected<F> {
    paths: Paths,
    format: F,
    levels: Vec<Level>,
    /// States of the next value.
    next: States,
    /// Number of open selected values.
    open: usize,
    /// The value whose conditions are not yet evaluated.
    held: Option<Held>,
    /// Number of held values that contain the current value.
    nested: usize,
    refusal: Option<Fault>,
}

struct Level {
    states: States,
    /// Index of the next element.
    index: u64,
    wanted: bool,
    /// Whether it is an object of which only members of some names are selected.
    chooses: bool,
}

/// A value held until its end, because conditions apply to it.
struct Held {
    text: Text,
    compact: Compact,
    depth: usize,
    /// States of its parent, and its own states without conditions.
    parent: States,
    plain: States,
}

impl<F: Format> Selected<F> {
    /// Prints the values that `paths` select.
    pub fn new(paths: Paths, mut format: F) -> Self {
        format.show(false);
        Selected { paths, format, levels: Vec::new(), next: 0, open: 0, held: None, nested: 0, refusal: None }
    }

    /// Begins a member or an element: its states are known except for conditions.
    #[inline(always)]
    fn comes(&mut self, parent: States, plain: States, inner: Interest) -> Interest {
        self.next = plain;
        if self.paths.has_any_condition() && self.paths.has_conditions(parent) {
            self.hold(parent, plain);
            return Interest::Visit;
        }
        if self.open > 0 && inner == Interest::Visit { Interest::Visit } else { interest(plain) }
    }

    #[cold]
    fn hold(&mut self, parent: States, plain: States) {
        let mut compact = Compact::default();
        compact.begin();
        self.held = Some(Held { text: Text::default(), compact, depth: 0, parent, plain });
    }

    /// Ends the held value: evaluates its conditions, and reads it again with the resulting states.
    #[cold]
    fn release(&mut self) {
        let Some(mut held) = self.held.take() else { return };
        if self.nested >= MOST_HELD {
            self.refusal = Some(Fault::TooManyHeld(MOST_HELD));
            return;
        }
        held.text.extend(&[0; PADDING]);
        self.next = held.plain | judged(&self.paths, held.parent, held.text.bytes());
        if self.next == 0 && self.open == 0 {
            return;
        }
        self.nested += 1;
        let mut again = Again(self);
        let mut machine = Machine::new(Rules { max_depth: usize::MAX, ..Rules::default() });
        // Cannot fail: it was read once without an error.
        let _ = read_text(held.text.bytes(), &mut machine, &mut Found::default(), &mut again);
        self.nested -= 1;
    }

    /// Begins a value. Returns whether it is selected.
    #[inline(always)]
    fn begin(&mut self) -> bool {
        let wanted = self.paths.wants(self.next);
        if wanted {
            if self.open == 0 {
                self.format.show(true);
            } else {
                self.format.begin_inner();
            }
            self.open += 1;
        }
        wanted
    }

    #[inline(always)]
    fn end(&mut self, wanted: bool) {
        if wanted {
            self.open -= 1;
            if self.open == 0 {
                self.format.show(false);
            } else {
                self.format.end_inner();
            }
        }
    }
}

impl<F: Format> Visitor for Selected<F> {
    fn document(&mut self) -> Interest {
        self.format.document();
        self.levels.clear();
        self.next = self.paths.root();
        interest(self.next)
    }

    #[inline(always)]
    fn key(&mut self, raw: Raw<'_>) -> Interest {
        if let Some(held) = &mut self.held {
            held.compact.key(raw, &mut held.text);
            return Interest::Visit;
        }
        let Some(parent) = self.levels.last().map(|level| level.states) else { return Interest::Skip };
        let plain = step_to_member(&self.paths, parent, raw);
        let inner = self.format.key(raw);
        self.comes(parent, plain, inner)
    }

    #[inline(always)]
    fn element(&mut self) -> Interest {
        if let Some(held) = &mut self.held {
            held.compact.element(&mut held.text);
            return Interest::Visit;
        }
        let Some(level) = self.levels.last_mut() else { return Interest::Skip };
        let parent = level.states;
        let plain = self.paths.element(parent, level.index);
        level.index += 1;
        let inner = self.format.element();
        self.comes(parent, plain, inner)
    }

    #[inline(always)]
    fn open(&mut self, kind: Kind) -> Interest {
        if let Some(held) = &mut self.held {
            held.compact.open(kind, &mut held.text);
            held.depth += 1;
            return Interest::Visit;
        }
        let wanted = self.begin();
        let states = self.next;
        let chooses = self.open == 0 && kind == Kind::Object && self.paths.names(states).is_some();
        self.levels.push(Level { states, index: 0, wanted, chooses });
        let inner = self.format.open(kind);
        if self.open > 0 && inner == Interest::Visit { inner } else { enters(&self.paths, states, kind) }
    }

    #[inline(always)]
    fn close(&mut self, kind: Kind) {
        if let Some(held) = &mut self.held {
            held.compact.close(kind, &mut held.text);
            held.depth -= 1;
            if held.depth == 0 {
                self.release();
            }
            return;
        }
        self.format.close(kind);
        if let Some(level) = self.levels.pop() {
            self.end(level.wanted);
        }
    }

    #[inline(always)]
    fn scalar(&mut self, raw: Raw<'_>) {
        if let Some(held) = &mut self.held {
            held.compact.scalar(raw, &mut held.text);
            if held.depth == 0 {
                self.release();
            }
            return;
        }
        let wanted = self.begin();
        if self.open > 0 {
            self.format.scalar(raw);
        }
        self.end(wanted);
    }

    fn piece(&mut self, raw: &[u8], place: StringPosition) {
        if let Some(held) = &mut self.held {
            held.compact.piece(raw, &mut held.text);
            if place == StringPosition::Last && held.depth == 0 {
                self.release();
            }
            return;
        }
        if place == StringPosition::First {
            let wanted = self.begin();
            self.levels.push(Level { states: 0, index: 0, wanted, chooses: false });
        }
        if self.open > 0 {
            self.format.piece(raw, place);
        }
        if place == StringPosition::Last
            && let Some(level) = self.levels.pop()
        {
            self.end(level.wanted);
        }
    }

    fn path(&self) -> Vec<u8> {
        self.format.path()
    }

    fn pause(&mut self) -> io::Result<()> {
        self.format.pause()
    }

    #[inline(always)]
    fn chooses(&self) -> bool {
        self.held.is_none() && self.levels.last().is_some_and(|level| level.chooses)
    }

    fn names(&self) -> Option<&Names> {
        self.paths.names(self.levels.last()?.states)
    }

    fn refusal(&mut self) -> Option<Fault> {
        self.refusal.take()
    }
}

/// Reads a held value again, as the current value.
struct Again<'a, F>(&'a mut Selected<F>);

impl<F: Format> Visitor for Again<'_, F> {
    fn document(&mut self) -> Interest {
        Interest::Visit
    }
    fn key(&mut self, raw: Raw<'_>) -> Interest {
        self.0.key(raw)
    }
    fn element(&mut self) -> Interest {
        self.0.element()
    }
    fn open(&mut self, kind: Kind) -> Interest {
        self.0.open(kind)
    }
    fn close(&mut self, kind: Kind) {
        self.0.close(kind);
    }
    fn scalar(&mut self, raw: Raw<'_>) {
        self.0.scalar(raw);
    }
    fn piece(&mut self, raw: &[u8], place: StringPosition) {
        self.0.piece(raw, place);
    }
    fn path(&self) -> Vec<u8> {
        Vec::new()
    }
    fn pause(&mut self) -> io::Result<()> {
        Ok(())
    }
}
