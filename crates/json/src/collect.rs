//! Collects the values that paths select within one value; for each path, in document order.

use crate::compact::Compact;
use crate::select::{Paths, States};
use crate::visit::{Interest, Kind, StringPosition};
use pelton_simd::padded::{Raw, Text};

/// Holds selected values until they are taken. A selected value inside another is a range of the same text.
pub(crate) struct Collector {
    paths: Paths,
    levels: Vec<Level>,
    /// States of the next value.
    next: States,
    compact: Compact,
    text: Text,
    /// Number of open selected values.
    open: usize,
    /// States, start and end in `text` of each selected value; the end is 0 while the value is open.
    found: Vec<(States, usize, usize)>,
}

struct Level {
    states: States,
    /// Index of the next element.
    index: u64,
    /// Index of the container in `found`, if it is selected.
    found: Option<usize>,
}

impl Collector {
    pub(crate) fn new(paths: Paths) -> Self {
        Collector {
            paths,
            levels: Vec::new(),
            next: 0,
            compact: Compact::default(),
            text: Text::default(),
            open: 0,
            found: Vec::new(),
        }
    }

    /// Begins the value.
    pub(crate) fn begin(&mut self) -> Interest {
        self.levels.clear();
        self.next = self.paths.root();
        Interest::Visit
    }

    #[inline(always)]
    pub(crate) fn key(&mut self, raw: Raw<'_>) -> Interest {
        let Some(level) = self.levels.last() else { return Interest::Skip };
        self.next = step_to_member(&self.paths, level.states, raw);
        if self.open > 0 {
            self.compact.key(raw, &mut self.text);
            return Interest::Visit;
        }
        interest(self.next)
    }

    #[inline(always)]
    pub(crate) fn element(&mut self) -> Interest {
        let Some(level) = self.levels.last_mut() else { return Interest::Skip };
        self.next = self.paths.element(level.states, level.index);
        level.index += 1;
        if self.open > 0 {
            self.compact.element(&mut self.text);
            return Interest::Visit;
        }
        interest(self.next)
    }

    /// Records the start of a selected value.
    #[inline(always)]
    fn note(&mut self) -> Option<usize> {
        if !self.paths.wants(self.next) {
            return None;
        }
        if self.open == 0 {
            self.compact.begin();
        }
        self.open += 1;
        self.found.push((self.next, self.text.len(), 0));
        Some(self.found.len() - 1)
    }

    #[inline(always)]
    fn end(&mut self, found: Option<usize>) {
        if let Some(found) = found {
            self.found[found].2 = self.text.len();
            self.open -= 1;
        }
    }

    #[inline(always)]
    pub(crate) fn open(&mut self, kind: Kind) -> Interest {
        let found = self.note();
        let states = self.next;
        self.levels.push(Level { states, index: 0, found });
        if self.open > 0 {
            self.compact.open(kind, &mut self.text);
            return Interest::Visit;
        }
        enters(&self.paths, states, kind)
    }

    #[inline(always)]
    pub(crate) fn close(&mut self, kind: Kind) {
        if self.open > 0 {
            self.compact.close(kind, &mut self.text);
        }
        if let Some(level) = self.levels.pop() {
            self.end(level.found);
        }
    }

    #[inline(always)]
    pub(crate) fn scalar(&mut self, raw: Raw<'_>) {
        let found = self.note();
        if self.open > 0 {
            self.compact.scalar(raw, &mut self.text);
        }
        self.end(found);
    }

    pub(crate) fn piece(&mut self, raw: &[u8], place: StringPosition) {
        if place == StringPosition::First {
            let found = self.note();
            self.levels.push(Level { states: 0, index: 0, found });
        }
        if self.open > 0 {
            self.compact.piece(raw, &mut self.text);
        }
        if place == StringPosition::Last
            && let Some(level) = self.levels.pop()
        {
            self.end(level.found);
        }
    }

    /// Whether no selected value is open.
    pub(crate) fn is_closed(&self) -> bool {
        self.open == 0
    }

    /// If no selected value is open, passes each to `give` with the number of its path, then drops all.
    pub(crate) fn take(&mut self, mut give: impl FnMut(usize, &[u8])) {
        if self.open > 0 || self.found.is_empty() {
            return;
        }
        for (states, start, end) in &self.found {
            for path in self.paths.ending(*states) {
                give(path, &self.text.bytes()[*start..*end]);
            }
        }
        self.found.clear();
        self.text.truncate(0);
    }
}

/// Returns the states of a member, given its name as written.
#[inline(always)]
pub(crate) fn step_to_member(paths: &Paths, states: States, raw: Raw<'_>) -> States {
    let inner = &raw.bytes()[1..raw.len() - 1];
    if memchr::memchr(b'\\', inner).is_none() {
        return paths.member(states, inner);
    }
    let mut name = Vec::new();
    crate::decode::decode(&raw, &mut name);
    paths.member(states, &name)
}

#[inline(always)]
pub(crate) fn interest(states: States) -> Interest {
    if states == 0 { Interest::Skip } else { Interest::Visit }
}

/// Whether a container can hold selected values.
#[inline(always)]
pub(crate) fn enters(paths: &Paths, states: States, kind: Kind) -> Interest {
    let enters = match kind {
        Kind::Object => paths.enters_objects(states),
        Kind::Array => paths.enters_arrays(states),
    };
    if enters { Interest::Visit } else { Interest::Skip }
}
