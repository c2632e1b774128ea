//! The C library's name matching: fnmatch(3), its regular expressions in all their syntaxes, and which
//! characters are printable. These depend on the locale, which [`use_locale`] and [`use_utf8`] set for the
//! whole process.

use std::ffi::{CStr, c_char, c_int};

/// Sets the environment's locale for characters and collation, and returns its character encoding.
pub fn use_locale() -> String {
    for category in [libc::LC_CTYPE, libc::LC_COLLATE] {
        // SAFETY: an empty name is a valid string; no result of an earlier call is kept. Only these two
        // categories change, and nothing in the standard library depends on them.
        unsafe { libc::setlocale(category, c"".as_ptr()) };
    }
    // SAFETY: CODESET is an item of every locale.
    let name = unsafe { libc::nl_langinfo(libc::CODESET) };
    // SAFETY: nl_langinfo returns a string, which stays until the locale changes.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

/// Sets the character encoding to UTF-8, whatever the environment.
pub fn use_utf8() {
    // SAFETY: as above; the result is not kept.
    unsafe { libc::setlocale(libc::LC_CTYPE, c"C.UTF-8".as_ptr()) };
}

/// Whether `text` matches a shell pattern, in which `/` and a leading dot are ordinary.
pub fn matches(pattern: &CStr, text: &CStr, fold_case: bool) -> bool {
    const FNM_CASEFOLD: c_int = 1 << 4;
    let flags = if fold_case { FNM_CASEFOLD } else { 0 };
    // SAFETY: both are strings that live across the call.
    unsafe { libc::fnmatch(pattern.as_ptr(), text.as_ptr(), flags) == 0 }
}

/// Calls `each` with the bytes of each character and whether it is printable; with each single byte where
/// they are not a character.
pub fn characters<'a>(text: &'a [u8], mut each: impl FnMut(&'a [u8], Shown)) {
    if text.iter().all(|byte| (0x20..0x7f).contains(byte)) {
        return text.chunks(1).for_each(|byte| each(byte, Shown::Yes));
    }
    let mut at = 0;
    // SAFETY: all zero is the initial state.
    let mut state: libc::mbstate_t = unsafe { std::mem::zeroed() };
    while at < text.len() {
        let mut wide: libc::wchar_t = 0;
        let rest = &text[at..];
        // SAFETY: `wide` and `state` are writable, and `rest` has the given length.
        let length = unsafe { mbrtowc(&mut wide, rest.as_ptr().cast(), rest.len(), &mut state) };
        let length = match length {
            0 => 1,
            length if length <= rest.len() => length,
            _ => {
                // SAFETY: as above.
                state = unsafe { std::mem::zeroed() };
                each(&rest[..1], Shown::Invalid);
                at += 1;
                continue;
            }
        };
        // SAFETY: it takes any number.
        let shown = unsafe { iswprint(wide as u32) } != 0;
        each(&rest[..length], if shown { Shown::Yes } else { Shown::No });
        at += length;
    }
}

/// Whether a character is printable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Printable.
    Yes,
    /// Not printable.
    No,
    /// Not a character.
    Invalid,
}

unsafe extern "C" {
    fn iswprint(wide: u32) -> c_int;
    fn mbrtowc(
        wide: *mut libc::wchar_t,
        from: *const c_char,
        bytes: usize,
        state: *mut libc::mbstate_t,
    ) -> usize;
}

pub use regex::{Regex, Syntax};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod regex {
    use std::ffi::{CStr, c_char, c_int, c_ulong};
    use std::sync::Mutex;

    unsafe extern "C" {
        static mut re_syntax_options: c_ulong;
        fn re_compile_pattern(
            pattern: *const c_char,
            bytes: usize,
            into: *mut libc::regex_t,
        ) -> *const c_char;
        fn re_match(
            regex: *mut libc::regex_t,
            text: *const c_char,
            bytes: c_int,
            start: c_int,
            registers: *mut std::ffi::c_void,
        ) -> c_int;
    }

    /// A regular expression syntax: bits of regex.h.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Syntax(c_ulong);

    const BK_PLUS_QM: c_ulong = 1 << 1;
    const CHAR_CLASSES: c_ulong = 1 << 2;
    const CONTEXT_INDEP_ANCHORS: c_ulong = 1 << 3;
    const CONTEXT_INDEP_OPS: c_ulong = 1 << 4;
    const CONTEXT_INVALID_OPS: c_ulong = 1 << 5;
    const DOT_NEWLINE: c_ulong = 1 << 6;
    const DOT_NOT_NULL: c_ulong = 1 << 7;
    const INTERVALS: c_ulong = 1 << 9;
    const NEWLINE_ALT: c_ulong = 1 << 11;
    const NO_BK_BRACES: c_ulong = 1 << 12;
    const NO_BK_PARENS: c_ulong = 1 << 13;
    const NO_BK_VBAR: c_ulong = 1 << 15;
    const NO_EMPTY_RANGES: c_ulong = 1 << 16;
    const UNMATCHED_RIGHT_PAREN_ORD: c_ulong = 1 << 17;
    const INVALID_INTERVAL_ORD: c_ulong = 1 << 21;
    const ICASE: c_ulong = 1 << 22;
    const CONTEXT_INVALID_DUP: c_ulong = 1 << 24;
    const NO_SUB: c_ulong = 1 << 25;

    const POSIX_COMMON: c_ulong = CHAR_CLASSES | DOT_NEWLINE | DOT_NOT_NULL | INTERVALS | NO_EMPTY_RANGES;
    const BASIC: c_ulong = POSIX_COMMON | BK_PLUS_QM | CONTEXT_INVALID_DUP;
    const EXTENDED: c_ulong = POSIX_COMMON
        | CONTEXT_INDEP_ANCHORS
        | CONTEXT_INDEP_OPS
        | NO_BK_BRACES
        | NO_BK_PARENS
        | NO_BK_VBAR
        | CONTEXT_INVALID_OPS
        | UNMATCHED_RIGHT_PAREN_ORD;

    impl Syntax {
        /// What find calls its default: Emacs syntax, with a dot that matches a newline.
        pub const FIND: Syntax = Syntax(DOT_NEWLINE);
        /// Emacs syntax, find's default.
        pub const EMACS: Syntax = Syntax(0);
        /// POSIX basic.
        pub const BASIC: Syntax = Syntax(BASIC);
        /// POSIX extended.
        pub const EXTENDED: Syntax = Syntax(EXTENDED);
        /// grep's.
        pub const GREP: Syntax = Syntax((BASIC | NEWLINE_ALT) & !(CONTEXT_INVALID_DUP | DOT_NOT_NULL));
        /// grep -E's.
        pub const EGREP: Syntax =
            Syntax((EXTENDED | INVALID_INTERVAL_ORD | NEWLINE_ALT) & !(CONTEXT_INVALID_OPS | DOT_NOT_NULL));
    }

    /// A compiled regular expression.
    pub struct Regex {
        // Boxed: the library may keep pointers into it.
        buffer: Box<libc::regex_t>,
    }

    // SAFETY: matching takes the library's lock inside the compiled expression.
    unsafe impl Send for Regex {}
    // SAFETY: as above.
    unsafe impl Sync for Regex {}

    impl Regex {
        /// Compiles a pattern, or returns the library's error message.
        ///
        /// # Errors
        /// If it is not valid in that syntax.
        pub fn new(pattern: &[u8], syntax: Syntax, fold_case: bool) -> Result<Self, String> {
            static SYNTAX_IS_GLOBAL: Mutex<()> = Mutex::new(());
            let guard = SYNTAX_IS_GLOBAL.lock();
            let wanted = syntax.0 | NO_SUB | if fold_case { ICASE } else { 0 };
            // SAFETY: only this function touches the variable, under the lock.
            unsafe { re_syntax_options = wanted };
            // SAFETY: the library requires an expression to be zeroed before compilation.
            let mut buffer: Box<libc::regex_t> = Box::new(unsafe { std::mem::zeroed() });
            // SAFETY: the pattern has the given length, and `buffer` is writable.
            let wrong =
                unsafe { re_compile_pattern(pattern.as_ptr().cast(), pattern.len(), buffer.as_mut()) };
            drop(guard);
            if wrong.is_null() {
                return Ok(Regex { buffer });
            }
            // SAFETY: the message is a constant of the library.
            let reason = unsafe { CStr::from_ptr(wrong) };
            Err(reason.to_string_lossy().into_owned())
        }

        /// Whether all of `text` matches.
        pub fn matches_all(&self, text: &[u8]) -> bool {
            let Ok(bytes) = c_int::try_from(text.len()) else { return false };
            let buffer: *const libc::regex_t = &raw const *self.buffer;
            // SAFETY: the library writes to the expression under its own lock; the text has the given length.
            let matched =
                unsafe { re_match(buffer.cast_mut(), text.as_ptr().cast(), bytes, 0, std::ptr::null_mut()) };
            matched == bytes
        }
    }

    impl Drop for Regex {
        fn drop(&mut self) {
            // SAFETY: it was compiled, and is no longer in use.
            unsafe { libc::regfree(self.buffer.as_mut()) };
        }
    }

    impl std::fmt::Debug for Regex {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Regex")
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod regex {
    /// Not available here.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Syntax(());

    #[allow(missing_docs)]
    impl Syntax {
        pub const FIND: Syntax = Syntax(());
        pub const EMACS: Syntax = Syntax(());
        pub const BASIC: Syntax = Syntax(());
        pub const EXTENDED: Syntax = Syntax(());
        pub const GREP: Syntax = Syntax(());
        pub const EGREP: Syntax = Syntax(());
    }

    /// Not available here.
    #[derive(Debug)]
    pub enum Regex {}

    impl Regex {
        /// Returns that it is not available.
        ///
        /// # Errors
        /// Always.
        pub fn new(_pattern: &[u8], _syntax: Syntax, _fold_case: bool) -> Result<Self, String> {
            Err("this C library has no expressions of that kind".to_owned())
        }

        /// Never called.
        pub fn matches_all(&self, _text: &[u8]) -> bool {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_as_in_a_shell() {
        assert!(matches(c"*.[ch]", c".x/y.c", false) && !matches(c"*.[ch]", c"y.cc", false));
        assert!(matches(c"README*", c"readme.md", true) && !matches(c"README*", c"readme.md", false));
    }

    #[test]
    fn expressions_match_all_or_nothing() {
        let regex =
            |pattern: &str, syntax| Regex::new(pattern.as_bytes(), syntax, false).expect("it compiles");
        assert!(regex(".*/a\\|b", Syntax::FIND).matches_all(b"x/a"));
        assert!(!regex(".*/a", Syntax::FIND).matches_all(b"x/ab"));
        assert!(regex("(x|xy)z?", Syntax::EXTENDED).matches_all(b"xyz"), "the longest match counts");
        assert!(Regex::new(b"(", Syntax::EXTENDED, false).is_err());
    }

    #[test]
    fn bytes_that_are_no_character_are_told() {
        let mut told = Vec::new();
        characters(b"a\n", |bytes, shown| told.push((bytes, shown)));
        assert_eq!(told, [(&b"a"[..], Shown::Yes), (&b"\n"[..], Shown::No)]);
    }
}
