//! C strings.

use std::ffi::CString;

/// Converts bytes to a C string; `None` if they hold a NUL, which no argument of a program can.
pub(crate) fn c_string(bytes: &[u8]) -> Option<CString> {
    CString::new(bytes).ok()
}
