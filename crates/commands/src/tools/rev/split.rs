//! rev in parts, where its kernel is declined.

use crate::tool::stateless::{Errors, Stateless, Statuses};
use crate::{Accept, Context, Declined, Input};

/// Parses the arguments. Declines a file: its name is in the messages.
pub(super) fn stateless(args: &[Vec<u8>], _context: &Context) -> Accept<Stateless> {
    match args {
        // It stops at invalid bytes, and reports the line.
        [] => Ok(Stateless {
            errors: Errors::ByLine { blank: 1 },
            ..Stateless::lines(Input::Stdin, Vec::new(), Statuses::AnyIsTheEnd)
        }),
        _ => Declined::because("options or files of rev"),
    }
}
