//! The C library's own tables for a locale's order, and its own comparison of two strings.
//!
//! Where strings are compared once, the library compares them. Where millions are sorted, each is turned into a key
//! once, from the same tables. How the tables are laid out is no promise of the library's, so they are given out only
//! for the versions whose layout was compared.

/// The versions of glibc whose tables have been compared, string by string, with what `strcoll` makes of them.
pub const TESTED_GLIBC: &[&str] = &["2.36"];

/// The tables for strings of bytes. They stay for as long as the process lives.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// How many levels a comparison has; 0 if bytes are compared.
    pub levels: usize,
    /// For each rule and level, flags: 1 forward, 2 backward, 4 the position counts.
    pub rulesets: &'static [u8],
    /// For each first byte: what it is, or (negative) where in `extra` the sequences stand that begin with it.
    pub first: &'static [i32],
    /// Weights by level: a length, then that many bytes.
    pub weights: &'static [u8],
    /// Sequences of several bytes.
    pub extra: &'static [u8],
    /// What the sequences of a range are.
    pub indirect: &'static [i32],
}

/// How a locale writes numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberSigns {
    /// The decimal point.
    pub point: Vec<u8>,
    /// What stands between thousands; often empty.
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
    /// What stands behind the table before.
    const WIDE_FIRST: libc::nl_item = item(9);

    /// No table of a locale is larger.
    const TABLE_BYTES_MAX: usize = 64 << 20;

    /// The version of the C library, if it is glibc.
    pub fn glibc_version() -> Option<&'static str> {
        // SAFETY: takes nothing; returns a string that never goes away.
        let version = unsafe { gnu_get_libc_version() };
        // SAFETY: as above.
        unsafe { CStr::from_ptr(version) }.to_str().ok()
    }

    /// A locale of the C library's, loaded for good.
    #[derive(Clone, Copy, Debug)]
    pub struct Locale(libc::locale_t);

    // SAFETY: a locale object is immutable once made, and this one is never freed.
    unsafe impl Send for Locale {}
    // SAFETY: as above.
    unsafe impl Sync for Locale {}

    impl Locale {
        /// Loads the categories that sorting needs: LC_CTYPE, LC_COLLATE, LC_NUMERIC, LC_TIME. It stays loaded for as
        /// long as the process lives, so ask once per name.
        pub fn load(name: &CStr) -> Option<Self> {
            let mask =
                libc::LC_CTYPE_MASK | libc::LC_COLLATE_MASK | libc::LC_NUMERIC_MASK | libc::LC_TIME_MASK;
            // SAFETY: the name is a C string; no base locale is given.
            let locale = unsafe { libc::newlocale(mask, name.as_ptr(), std::ptr::null_mut()) };
            (!locale.is_null()).then_some(Locale(locale))
        }

        /// `strcoll`: how the library orders two strings.
        pub fn compare(&self, a: &CStr, b: &CStr) -> Ordering {
            // SAFETY: two C strings and a locale that is alive.
            unsafe { strcoll_l(a.as_ptr(), b.as_ptr(), self.0) }.cmp(&0)
        }

        /// Its decimal point and what stands between thousands.
        pub fn number_signs(&self) -> NumberSigns {
            NumberSigns { point: self.text(libc::RADIXCHAR), thousands: self.text(libc::THOUSEP) }
        }

        /// The abbreviated names of the twelve months.
        pub fn months(&self) -> Vec<Vec<u8>> {
            (0..12).map(|month| self.text(libc::ABMON_1 + month)).collect()
        }

        fn text(&self, item: libc::nl_item) -> Vec<u8> {
            // SAFETY: the items asked for are strings, which live as long as the locale.
            unsafe { CStr::from_ptr(self.raw(item)) }.to_bytes().to_vec()
        }

        /// Not by `nl_langinfo_l`: linked statically, glibc's 2.36 asks the thread's own locale there, whatever it is given, and
        /// every order would be that of bytes.
        fn raw(&self, item: libc::nl_item) -> *const c_char {
            // SAFETY: the locale is alive; it is this thread's until the end of this function.
            let before = unsafe { libc::uselocale(self.0) };
            // SAFETY: takes any item; what it returns stays as long as the locale.
            let found = unsafe { libc::nl_langinfo(item) };
            // SAFETY: what uselocale returned is what it takes.
            unsafe { libc::uselocale(before) };
            found
        }

        /// The tables of its order; `None` if this version of the library was not compared, or they are not laid out
        /// as expected.
        pub fn tables(&self) -> Option<Tables> {
            if !TESTED_GLIBC.contains(&glibc_version()?) {
                return None;
            }
            // The number of levels is no string: it stands where the pointer would.
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

        /// The bytes of a table, up to where the next one starts.
        fn between(&self, start: libc::nl_item, end: libc::nl_item) -> Option<&'static [u8]> {
            let (start, end) = (self.raw(start).cast::<u8>(), self.raw(end).cast::<u8>());
            let len = (end as usize).checked_sub(start as usize).filter(|len| *len <= TABLE_BYTES_MAX)?;
            // SAFETY: in the versions named above the tables of a category are pieces of one mapped file, in this
            // order; the locale is never freed, and nobody writes to it.
            Some(unsafe { std::slice::from_raw_parts(start, len) })
        }
    }

    /// The same bytes as 32-bit integers of this machine.
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

    /// There is no glibc.
    pub fn glibc_version() -> Option<&'static str> {
        None
    }

    /// There is none.
    #[derive(Clone, Copy, Debug)]
    pub enum Locale {}

    impl Locale {
        /// None can be loaded.
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

    /// Also where the library is linked statically: `cargo xtask test` runs it in both ways.
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
