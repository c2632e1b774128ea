//! A range of bytes in a text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Byte offsets `start..end` in the text that was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// Returns the span `start..end`; `start` must not be beyond `end`.
    pub fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end, "span {start}..{end} is backwards");
        Span { start, end }
    }

    /// Returns the part of `text` that the span covers.
    ///
    /// # Panics
    /// If the span does not lie on character boundaries within `text`.
    pub fn of(self, text: &str) -> &str {
        &text[self.start..self.end]
    }
}
