//! awk: which programs treat each record by itself is for an analysis of the language to say.

use super::Stateless;
use crate::{Accept, Context, Declined};

/// Declined until programs are analysed.
pub(super) fn stateless(_args: &[Vec<u8>], _context: &Context) -> Accept<Stateless> {
    Declined::because("programs of awk are not analysed yet")
}
