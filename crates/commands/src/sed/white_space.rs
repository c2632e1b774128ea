//! White space of a script.

/// Whether sed skips this byte between commands.
pub(super) fn is_space(byte: u8) -> bool {
    byte == b' ' || (b'\t'..=b'\r').contains(&byte)
}

/// Whether sed skips this byte within a command, where a carriage return, a vertical tab or a form feed is an
/// error.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
