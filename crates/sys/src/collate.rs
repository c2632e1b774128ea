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

    /// Items of LC_CTYPE: tables of bytes, of columns, and the numbers of the first tables of characters.
    const BYTE_CLASSES: libc::nl_item = 0;
    const BYTE_UPPER: libc::nl_item = 1;
    const BYTE_LOWER: libc::nl_item = 3;
    const COLUMNS: libc::nl_item = 12;
    const CODESET: libc::nl_item = libc::CODESET;
    const CLASS_OFFSET: libc::nl_item = 17;
    const MAP_OFFSET: libc::nl_item = 18;
    /// Classes that every locale has, from `upper` to `alnum`.
    const CLASSES: c_int = 12;
    /// Maps that every locale has: to upper and to lower case.
    const MAPS: c_int = 2;

    /// Upper limit on a table's size.
    const TABLE_BYTES_MAX: usize = 64 << 20;

    /// The version of the C library, if it is glibc.
    pub fn glibc_version() -> Option<&'static str> {
        // SAFETY: takes nothing; returns a string that never goes away.
        let version = unsafe { gnu_get_libc_version() };
        // SAFETY: as above.
        unsafe { CStr::from_ptr(version) }.to_str().ok()
    }

    /// Whether the layout of this library's tables was verified.
    fn is_verified() -> bool {
        glibc_version().is_some_and(|version| TESTED_GLIBC.contains(&version))
    }

    /// A C library locale that is never freed.
    #[derive(Clone, Copy, Debug)]
    pub struct Locale(pub(super) libc::locale_t);

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

        /// Whether each of `[a-z]`, `[A-Z]` and `[0-9]` holds of ASCII just the letters and digits that it seems to, in the
        /// library's regular expressions. In Turkish, `i` lies in none of them.
        pub fn has_plain_ranges(&self) -> bool {
            const RANGES: [(&CStr, &CStr, &CStr); 3] = [
                (c"^[a-z]*$", c"abcdefghijklmnopqrstuvwxyz", c"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
                (c"^[A-Z]*$", c"ABCDEFGHIJKLMNOPQRSTUVWXYZ", c"abcdefghijklmnopqrstuvwxyz0123456789"),
                (c"^[0-9]*$", c"0123456789", c"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
            ];
            self.within(|| {
                RANGES.iter().all(|(pattern, inside, outside)| {
                    let mut outside = outside.to_bytes().iter().map(|byte| [*byte as c_char, 0]);
                    matches(pattern, inside.as_ptr()) && !outside.any(|text| matches(pattern, text.as_ptr()))
                })
            })
        }

        /// Makes it this thread's locale while something runs that asks for that one.
        pub(super) fn within<T>(&self, run: impl FnOnce() -> T) -> T {
            // SAFETY: the locale is alive, and never freed.
            let before = unsafe { libc::uselocale(self.0) };
            let found = run();
            // SAFETY: what uselocale returned is what it takes.
            unsafe { libc::uselocale(before) };
            found
        }

        /// Whether both have the same character set, classes of characters and numbers of columns; `false` if
        /// unknown. Case is another matter: [`has_case_of`](Self::has_case_of).
        pub fn has_characters_of(&self, other: &Locale) -> bool {
            self.text(CODESET) == other.text(CODESET)
                && self.shares(other, |locale| locale.between(BYTE_CLASSES, BYTE_UPPER))
                && self.shares(other, |locale| locale.between(COLUMNS, CODESET))
                && (0..CLASSES).all(|index| self.shares(other, |locale| locale.table(CLASS_OFFSET, index)))
        }

        /// Whether both have the same upper and lower case of each character; `false` if unknown.
        pub fn has_case_of(&self, other: &Locale) -> bool {
            self.shares(other, |locale| locale.between(BYTE_UPPER, BYTE_UPPER + 1))
                && self.shares(other, |locale| locale.between(BYTE_LOWER, BYTE_LOWER + 1))
                && (0..MAPS).all(|index| self.shares(other, |locale| locale.table(MAP_OFFSET, index)))
        }

        /// Whether both have the same table, and one that is not empty.
        fn shares(&self, other: &Locale, table: impl Fn(&Locale) -> Option<&'static [u8]>) -> bool {
            is_verified() && table(self).is_some_and(|own| !own.is_empty() && Some(own) == table(other))
        }

        /// Returns a table of characters: the one at this index behind the first.
        fn table(&self, offset: libc::nl_item, index: c_int) -> Option<&'static [u8]> {
            let first = c_int::try_from(self.word(offset)).ok()?.checked_add(index)?;
            self.between(first, first.checked_add(1)?)
        }

        /// Returns an item that is not a string: it is stored in place of the pointer.
        fn word(&self, item: libc::nl_item) -> usize {
            self.raw(item) as usize & 0xffff_ffff
        }

        fn text(&self, item: libc::nl_item) -> Vec<u8> {
            // SAFETY: the items asked for are strings, which live as long as the locale.
            unsafe { CStr::from_ptr(self.raw(item)) }.to_bytes().to_vec()
        }

        /// Does not use `nl_langinfo_l`: statically linked glibc 2.36 queries the thread's locale there,
        /// whatever its argument, so every order would be that of bytes.
        fn raw(&self, item: libc::nl_item) -> *const c_char {
            // SAFETY: takes any item; what it returns stays as long as the locale.
            self.within(|| unsafe { libc::nl_langinfo(item) })
        }

        /// Returns its collation tables; `None` if this version of the library was not verified, or the
        /// layout is unexpected.
        pub fn tables(&self) -> Option<Tables> {
            if !is_verified() {
                return None;
            }
            let levels = self.word(LEVELS);
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

    /// Whether a text matches a pattern, in this thread's locale; `false` if the pattern is none.
    fn matches(pattern: &CStr, text: *const c_char) -> bool {
        let mut compiled = std::mem::MaybeUninit::<libc::regex_t>::uninit();
        // SAFETY: the pattern is a C string; the first argument is room for what is made.
        if unsafe { libc::regcomp(compiled.as_mut_ptr(), pattern.as_ptr(), libc::REG_NOSUB) } != 0 {
            return false;
        }
        // SAFETY: regcomp succeeded; both strings end with NUL.
        let found = unsafe { libc::regexec(compiled.as_ptr(), text, 0, std::ptr::null_mut(), 0) } == 0;
        // SAFETY: made by regcomp, and not used afterwards.
        unsafe { libc::regfree(compiled.as_mut_ptr()) };
        found
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
        pub fn has_characters_of(&self, _other: &Locale) -> bool {
            match *self {}
        }

        /// Never called.
        pub fn has_plain_ranges(&self) -> bool {
            match *self {}
        }

        /// Never called.
        pub fn has_case_of(&self, _other: &Locale) -> bool {
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
    use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulong};

    unsafe extern "C" {
        fn wctype_l(name: *const c_char, locale: libc::locale_t) -> c_ulong;
        fn iswctype_l(char: c_uint, class: c_ulong, locale: libc::locale_t) -> c_int;
        fn towupper_l(char: c_uint, locale: libc::locale_t) -> c_uint;
        fn towlower_l(char: c_uint, locale: libc::locale_t) -> c_uint;
        fn wcwidth(char: libc::wchar_t) -> c_int;
    }

    const NAMES: [&CStr; 12] = [
        c"upper", c"lower", c"alpha", c"digit", c"xdigit", c"space", c"print", c"graph", c"blank", c"cntrl",
        c"punct", c"alnum",
    ];

    /// A character as the library tells it: a bit for each class, the number of columns.
    type Class = (u16, c_int);
    /// Upper and lower case of a character.
    type Case = (c_uint, c_uint);

    /// Asks the library for each character of a locale.
    fn characters(locale: &Locale) -> (Vec<Class>, Vec<Case>) {
        let own = locale.0;
        let chars = || (0..0x300u32 * 256).chain(0xe_0000..0xe_0200);
        // SAFETY: a C string and a locale that is alive.
        let classes = NAMES.map(|name| unsafe { wctype_l(name.as_ptr(), own) });
        // SAFETY: takes any character; the class is of this locale.
        let is = |char, class| u16::from(unsafe { iswctype_l(char, class, own) } != 0);
        // SAFETY: takes any character.
        let columns = |char| unsafe { wcwidth(char as libc::wchar_t) };
        let class =
            |char| (classes.iter().fold(0, |bits, class| bits << 1 | is(char, *class)), columns(char));
        // SAFETY: takes any character; the locale is alive.
        let upper = |char| unsafe { towupper_l(char, own) };
        // SAFETY: as above.
        let lower = |char| unsafe { towlower_l(char, own) };
        locale.within(|| {
            (chars().map(class).collect(), chars().map(|char| (upper(char), lower(char))).collect())
        })
    }

    /// PELTON_LOCALES may name more of them; with LOCPATH, of another folder.
    #[test]
    fn tables_are_equal_where_all_characters_are() {
        let asked = std::env::var("PELTON_LOCALES");
        let names = asked.as_deref().unwrap_or("en_US.UTF-8 de_DE.UTF-8 ja_JP.UTF-8 tr_TR.UTF-8");
        let Some(plain) = Locale::load(c"C.UTF-8") else { return };
        let (classes, case) = characters(&plain);
        for name in names.split_whitespace() {
            let Some(locale) = Locale::load(&CString::new(name).expect("no NUL")) else { continue };
            let (own_classes, own_case) = characters(&locale);
            let found = (locale.has_characters_of(&plain), locale.has_case_of(&plain));
            assert_eq!(found, (own_classes == classes, own_case == case), "{name}");
        }
    }

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
