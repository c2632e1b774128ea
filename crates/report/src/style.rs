//! How records are shown, whatever the format.

/// What the output can show, and how much the user asked for. Formats for programs ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The terminal's columns; `None` for lines of any length.
    pub width: Option<usize>,
    /// Whether to use SGR sequences. No figure or mark depends on them.
    pub color: bool,
    /// Whether characters outside ASCII can be shown. If not, output is pure ASCII.
    pub unicode: bool,
    /// Show all figures, in as many tables as the width requires.
    pub all: bool,
}
