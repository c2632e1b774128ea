//! The line being processed, the pattern space and the hold space.

/// One line and its position.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) text: &'a [u8],
    pub(super) last: bool,
    pub(super) number: u64,
}

/// The pattern space: the line as read, until it changes.
#[derive(Debug, Default)]
pub(super) struct Space {
    /// Its text, if it differs from the line: see [`Space::text`].
    pub(super) text: Vec<u8>,
    /// Whether it differs from the line.
    pub(super) changed: bool,
    /// Whether the line had a terminator.
    pub(super) ended: bool,
}

impl Space {
    /// Returns its text.
    pub(super) fn text<'a>(&'a self, line: &Line<'a>) -> &'a [u8] {
        if self.changed { &self.text } else { line.text }
    }

    /// Returns it for changes.
    pub(super) fn own(&mut self, line: &Line) -> &mut Vec<u8> {
        if !self.changed {
            self.text.clear();
            self.text.extend_from_slice(line.text);
            self.changed = true;
        }
        &mut self.text
    }
}

/// The hold space.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) text: Vec<u8>,
    /// Whether its content would be printed with a terminator. This goes with every copied or added text.
    pub(super) ended: bool,
}

impl Default for Held {
    fn default() -> Self {
        Held { text: Vec::new(), ended: true }
    }
}
