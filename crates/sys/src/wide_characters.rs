//! The C library's classification of characters: printable, white space, number of columns.
//!
//! `wc` calls the C library. Calling the same library here gives equal results by construction, whatever its
//! Unicode version. Only glibc is used; otherwise nothing is available.

/// Number of characters in a page.
pub const PAGE: usize = 256;

/// The class of a character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WideClass {
    /// `iswprint`.
    pub printable: bool,
    /// `iswspace`.
    pub space: bool,
    /// `wcwidth`; 0 for characters without a width.
    pub columns: u8,
    /// `towlower` of what is `iswupper`; 0 for other characters.
    pub lower: u32,
    /// `towupper` of what is `iswlower`; 0 for other characters.
    pub upper: u32,
}

/// The character classes of C.UTF-8.
#[derive(Debug)]
pub struct WideClasses(platform::Locale);

impl WideClasses {
    /// Returns `None` if the C library does not have that locale, or is not glibc.
    pub fn of_utf8() -> Option<Self> {
        platform::Locale::new(c"C.UTF-8").map(WideClasses)
    }

    /// Returns the classes of the characters `page * PAGE ..`.
    pub fn page(&self, page: u32) -> Box<[WideClass; PAGE]> {
        let mut classes = Box::new([WideClass::default(); PAGE]);
        self.0.fill(page * PAGE as u32, &mut *classes);
        classes
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod platform {
    use super::WideClass;
    use std::ffi::{CStr, c_int, c_uint};

    unsafe extern "C" {
        fn iswprint_l(char: c_uint, locale: libc::locale_t) -> c_int;
        fn iswspace_l(char: c_uint, locale: libc::locale_t) -> c_int;
        fn iswlower_l(char: c_uint, locale: libc::locale_t) -> c_int;
        fn iswupper_l(char: c_uint, locale: libc::locale_t) -> c_int;
        fn towlower_l(char: c_uint, locale: libc::locale_t) -> c_uint;
        fn towupper_l(char: c_uint, locale: libc::locale_t) -> c_uint;
        fn wcwidth(char: libc::wchar_t) -> c_int;
    }

    /// A glibc locale object.
    #[derive(Debug)]
    pub(super) struct Locale(libc::locale_t);

    // SAFETY: a locale object is immutable once made.
    unsafe impl Send for Locale {}
    // SAFETY: as above.
    unsafe impl Sync for Locale {}

    impl Locale {
        pub(super) fn new(name: &CStr) -> Option<Self> {
            // SAFETY: the name is a C string; no base locale is given.
            let locale = unsafe { libc::newlocale(libc::LC_CTYPE_MASK, name.as_ptr(), std::ptr::null_mut()) };
            (!locale.is_null()).then_some(Locale(locale))
        }

        pub(super) fn fill(&self, first: u32, classes: &mut [WideClass]) {
            // SAFETY: the locale is alive; it becomes this thread's until the end of this function.
            let before = unsafe { libc::uselocale(self.0) };
            for (char, class) in (first..).zip(classes) {
                // SAFETY: takes any value; the locale is alive.
                class.printable = unsafe { iswprint_l(char, self.0) } != 0;
                // SAFETY: as above.
                class.space = unsafe { iswspace_l(char, self.0) } != 0;
                // SAFETY: takes any value.
                let columns = unsafe { wcwidth(char as libc::wchar_t) };
                class.columns = u8::try_from(columns).unwrap_or(0);
                // SAFETY: takes any value; the locale is alive.
                if unsafe { iswupper_l(char, self.0) } != 0 {
                    // SAFETY: as above.
                    class.lower = unsafe { towlower_l(char, self.0) };
                }
                // SAFETY: as above.
                if unsafe { iswlower_l(char, self.0) } != 0 {
                    // SAFETY: as above.
                    class.upper = unsafe { towupper_l(char, self.0) };
                }
            }
            // SAFETY: what uselocale returned is what it takes.
            unsafe { libc::uselocale(before) };
        }
    }

    impl Drop for Locale {
        fn drop(&mut self) {
            // SAFETY: made by newlocale, and no thread's locale any more.
            unsafe { libc::freelocale(self.0) };
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod platform {
    use super::WideClass;
    use std::ffi::CStr;

    /// Not available.
    #[derive(Debug)]
    pub(super) enum Locale {}

    impl Locale {
        pub(super) fn new(_name: &CStr) -> Option<Self> {
            None
        }

        pub(super) fn fill(&self, _first: u32, _classes: &mut [WideClass]) {
            match *self {}
        }
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn letters_blanks_and_wide_characters_are_told_apart() {
        let Some(classes) = WideClasses::of_utf8() else { return };
        let class = |char: char| classes.page(char as u32 / 256)[char as usize % 256];
        assert_eq!(
            class('é'),
            WideClass { printable: true, space: false, columns: 1, lower: 0, upper: 'É' as u32 }
        );
        assert_eq!(class('日').columns, 2);
        assert!(class('\u{3000}').space);
        assert!(!class('\u{2028}').printable || class('\u{2028}').space);
        assert_eq!(class('\u{301}').columns, 0);
    }
}
