//! rev, where its kernel is declined.

use super::{Stateless, Statuses};
use crate::{Accept, Context, Declined, Input};

/// Reads the arguments. A file would stand in its messages.
pub(super) fn stateless(args: &[Vec<u8>], _context: &Context) -> Accept<Stateless> {
    match args {
        [] => Ok(Stateless::lines(Input::Stdin, Vec::new(), Statuses::AnyIsTheEnd)),
        _ => Declined::because("options or files of rev"),
    }
}
