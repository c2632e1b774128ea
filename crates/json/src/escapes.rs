//! The bytes of strings that need a check: control characters, and characters after a backslash.

use crate::error::{Fault, Flaw};

/// Checks a control character or an escaped character.
pub(crate) fn check_odd(text: &[u8], at: usize) -> Result<(), Flaw> {
    match text[at] {
        byte @ 0..b' ' => Err((at, Fault::ControlCharacter(byte))),
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
        b'u' if text.get(at + 1..at + 5).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) => {
            Ok(())
        }
        _ => Err((at - 1, Fault::Escape)),
    }
}
