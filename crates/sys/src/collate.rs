//! The C library's collation tables of a locale, and its string comparison.
//!
//! For a single comparison, the library compares. For sorting millions, each string becomes a key once, from
//! the same tables. The library does not guarantee their layout, so they are returned only for versions whose
//! layout was verified.

/// Versions of glibc whose tables were verified, string by string, against `strcoll`.
pub const TESTED_GLIBC: &[&str] = &["2.36"];

/// Collation tables for byte strings. They live as long as the process.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Number of comparison levels; 0 if bytes are compared.
    pub levels: usize,
    /// Flags for each rule and level: 1 forward, 2 backward, 4 position counts.
    pub rulesets: &'static [u8],
    /// For each first byte: its element, or (negative) the offset in `extra` of the sequences that begin with
    /// it.
    pub first: &'static [i32],
    /// Weights by level: a length, then that many bytes.
    pub weights: &'static [u8],
    /// Multi-byte sequences.
    pub extra: &'static [u8],
    /// Elements of the sequences of a range.
    pub indirect: &'static [i32],
}

/// How a locale writes numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberSigns {
    /// The decimal point.
    pub point: Vec<u8>,
    /// The thousands separator; often empty.
    pub thousands: Vec<u8>,
}

pub use platform::{Locale, glibc_version};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod platform {
    use super::{NumberSigns, TESTED_GLIBC, Tables};
    use std::cmp::Ordering;
    use std::ffi::{CStr, c_char, c_int};

    unsafe extern "C" {
        fn strcoll_l(a: *const c_char, b: *const c_char, locale: libc::locale_t) -> c_int;
        fn gnu_get_libc_version() -> *const c_char;
    }

    /// Items of LC_COLLATE, as langinfo.h numbers them.
    const fn item(index: c_int) -> libc::nl_item {
        (libc::LC_COLLATE << 16) + index
    }

    const LEVELS: libc::nl_item = item(0);
    const RULESETS: libc::nl_item = item(1);
    const FIRST: libc::nl_item = item(2);
    const WEIGHTS: libc::nl_item = item(3);
    const EXTRA: libc::nl_item = item(4);
    const INDIRECT: libc::nl_item = item(5);
    /// The end of the table before it.
    const WIDE_FIRST: libc::nl_item = item(9);

    /// Upper limit on a table's size.
    const TABLE_BYTES_MAX: usize = 64 << 20;

    /// The version of the C library, if it is glibc.
    pub fn glibc_version() -> Option<&'static str> {
        // SAFETY: takes nothing; returns a string that never goes away.
        let version = unsafe { gnu_get_libc_version() };
        // SAFETY: as above.
        unsafe { CStr::from_ptr(version) }.to_str().ok()
    }

    /// A C library locale that is never freed.
    #[derive(Clone, Copy, Debug)]
    pub struct Locale(libc::locale_t);

    // SAFETY: a locale object is immutable once made, and this one is never freed.
    unsafe impl Send for Locale {}
    // SAFETY: as above.
    unsafe impl Sync for Locale {}

    impl Locale {
        /// Loads the categories that sorting needs: LC_CTYPE, LC_COLLATE, LC_NUMERIC, LC_TIME. It is never
        /// freed, so load each name once.
        pub fn load(name: &CStr) -> Option<Self> {
            let mask =
                libc::LC_CTYPE_MASK | libc::LC_COLLATE_MASK | libc::LC_NUMERIC_MASK | libc::LC_TIME_MASK;
            // SAFETY: the name is a C string; no base locale is given.
            let locale = unsafe { libc::newlocale(mask, name.as_ptr(), std::ptr::null_mut()) };
            (!locale.is_null()).then_some(Locale(locale))
        }

        /// Compares two strings with `strcoll`.
        pub fn compare(&self, a: &CStr, b: &CStr) -> Ordering {
            // SAFETY: two C strings and a locale that is alive.
            unsafe { strcoll_l(a.as_ptr(), b.as_ptr(), self.0) }.cmp(&0)
        }

        /// Returns its decimal point and thousands separator.
        pub fn number_signs(&self) -> NumberSigns {
            NumberSigns { point: self.text(libc::RADIXCHAR), thousands: self.text(libc::THOUSEP) }
        }

        /// Returns the abbreviated names of the twelve months.
        pub fn months(&self) -> Vec<Vec<u8>> {
            (0..12).map(|month| self.text(libc::ABMON_1 + month)).collect()
        }

        fn text(&self, item: libc::nl_item) -> Vec<u8> {
            // SAFETY: the items asked for are strings, which live as long as the locale.
            unsafe { CStr::from_ptr(self.raw(item)) }.to_bytes().to_vec()
        }

        /// Does not use `nl_langinfo_l`: statically linked glibc 2.36 queries the thread's locale there,
        /// whatever its argument, so every order would be that of bytes.
        fn raw(&self, item: libc::nl_item) -> *const c_char {
            // SAFETY: the locale is alive; it is this thread's until the end of this function.
            let before = unsafe { libc::uselocale(self.0) };
            // SAFETY: takes any item; what it returns stays as long as the locale.
            let found = unsafe { libc::nl_langinfo(item) };
            // SAFETY: what uselocale returned is what it takes.
            unsafe { libc::uselocale(before) };
            found
        }

        /// Returns its collation tables; `None` if this version of the library was not verified, or the
        /// layout is unexpected.
        pub fn tables(&self) -> Option<Tables> {
            if !TESTED_GLIBC.contains(&glibc_version()?) {
                return None;
            }
            // The number of levels is not a string: it is stored in place of the pointer.
            let levels = self.raw(LEVELS) as usize & 0xffff_ffff;
            if levels == 0 {
                let none =
                    Tables { levels, rulesets: &[], first: &[], weights: &[], extra: &[], indirect: &[] };
                return Some(none);
            }
            let tables = Tables {
                levels,
                rulesets: self.between(RULESETS, FIRST)?,
                first: words(self.between(FIRST, WEIGHTS)?)?,
                weights: self.between(WEIGHTS, EXTRA)?,
                extra: self.between(EXTRA, INDIRECT)?,
                indirect: words(self.between(INDIRECT, WIDE_FIRST)?)?,
            };
            Some(tables)
        }

        /// Returns a table's bytes, up to the start of the next one.
        fn between(&self, start: libc::nl_item, end: libc::nl_item) -> Option<&'static [u8]> {
            let (start, end) = (self.raw(start).cast::<u8>(), self.raw(end).cast::<u8>());
            let len = (end as usize).checked_sub(start as usize).filter(|len| *len <= TABLE_BYTES_MAX)?;
            // SAFETY: in the versions above, the tables of a category are parts of one mapped file, in this
            // order; the locale is never freed and never written to.
            Some(unsafe { std::slice::from_raw_parts(start, len) })
        }
    }

    /// Reinterprets the bytes as native 32-bit integers.
    fn words(bytes: &'static [u8]) -> Option<&'static [i32]> {
        // SAFETY: every pattern of bits is an integer.
        let (before, words, _) = unsafe { bytes.align_to::<i32>() };
        before.is_empty().then_some(words)
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod platform {
    use super::{NumberSigns, Tables};
    use std::cmp::Ordering;
    use std::ffi::CStr;

    /// `None`: not glibc.
    pub fn glibc_version() -> Option<&'static str> {
        None
    }

    /// Not available without glibc.
    #[derive(Clone, Copy, Debug)]
    pub enum Locale {}

    impl Locale {
        /// Returns `None`.
        pub fn load(_name: &CStr) -> Option<Self> {
            None
        }

        /// Never called.
        pub fn compare(&self, _a: &CStr, _b: &CStr) -> Ordering {
            match *self {}
        }

        /// Never called.
        pub fn number_signs(&self) -> NumberSigns {
            match *self {}
        }

        /// Never called.
        pub fn months(&self) -> Vec<Vec<u8>> {
            match *self {}
        }

        /// Never called.
        pub fn tables(&self) -> Option<Tables> {
            match *self {}
        }
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    /// Also covers static linking: `cargo xtask test` runs it both ways.
    #[test]
    fn an_english_order_is_not_that_of_bytes() {
        let Some(locale) = Locale::load(c"en_US.UTF-8") else { return };
        assert_eq!(locale.compare(c"a", c"B"), Ordering::Less);
        assert_eq!(locale.number_signs(), NumberSigns { point: b".".to_vec(), thousands: b",".to_vec() });
        assert_eq!(locale.months()[2], b"Mar");
        if glibc_version().is_some_and(|version| TESTED_GLIBC.contains(&version)) {
            let tables = locale.tables().expect("tables");
            assert!(tables.levels > 1 && tables.first.len() >= 256, "{tables:?}");
        }
    }
}
