//! What a command's meaning depends on besides its arguments: the locale and the implementation.

use crate::locale::collation::Collation;
use crate::locale::installed::{Characters, LocaleStore, NumberFormat, SystemLocales};
use crate::locale::messages::Messages;
use crate::tool::detect::Implementation;
use crate::{Accept, Declined};

/// The character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// Bytes; only ASCII has classes (C, POSIX).
    C,
    /// UTF-8, with the classes and widths of C.UTF-8, which nearly all locales have.
    Utf8,
    /// Any other: no kernel supports it.
    Other,
}

/// The string order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collate {
    /// By their bytes (C, POSIX, C.UTF-8).
    Bytes,
    /// By this locale's tables, named as the user wrote it.
    Other(String),
}

/// The meaning of the environment's locale variables, with glibc's precedence and its fall-back to C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locale {
    /// LC_CTYPE.
    pub ctype: Charset,
    /// Whether upper and lower case are those of C.UTF-8: in Turkish, `i` and `I` are not a pair (LC_CTYPE).
    pub plain_case: bool,
    /// LC_COLLATE.
    pub collate: Collate,
    /// Whether LC_COLLATE is C, and not C.UTF-8, which compares bytes too, but not before glibc 2.35.
    pub collates_as_c: bool,
    /// The language of messages (LC_MESSAGES, LANGUAGE).
    pub messages: Messages,
    /// How numbers are written; `None` if not known, or if the decimal point is no single byte (LC_NUMERIC).
    pub numbers: Option<NumberFormat>,
    /// Whether the names of months are English (LC_TIME).
    pub plain_dates: bool,
}

impl Locale {
    /// The C locale.
    pub const C: Locale = Locale {
        ctype: Charset::C,
        plain_case: true,
        collate: Collate::Bytes,
        collates_as_c: true,
        messages: Messages::English,
        numbers: Some(NumberFormat::C),
        plain_dates: true,
    };

    /// The C.UTF-8 locale, installed.
    pub const C_UTF8: Locale = Locale { ctype: Charset::Utf8, collates_as_c: false, ..Locale::C };
}

/// The context of a command's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The locale of the program.
    pub locale: Locale,
    /// The implementation behind the name.
    pub implementation: Implementation,
}

/// Every category that `setlocale(LC_ALL, "")` loads. If one of them is not installed, it loads none.
const CATEGORIES: [&str; 12] = [
    "LC_CTYPE",
    "LC_NUMERIC",
    "LC_TIME",
    "LC_COLLATE",
    "LC_MONETARY",
    "LC_MESSAGES",
    "LC_PAPER",
    "LC_NAME",
    "LC_ADDRESS",
    "LC_TELEPHONE",
    "LC_MEASUREMENT",
    "LC_IDENTIFICATION",
];

/// Why a call with [`Charset::Other`] is declined.
pub(crate) const UNKNOWN_CHARACTERS: &str = "the characters of this locale, or their upper and lower case";

/// Variables that change what options or messages mean; with them, nothing runs natively.
const UNSERVED: [&str; 10] = [
    "POSIXLY_CORRECT",
    "_POSIX2_VERSION",
    // The line width of sed's `l`.
    "COLS",
    "LOCPATH",
    "OUTPUT_CHARSET",
    "GCONV_PATH",
    // Of mawk.
    "MAWKBINMODE",
    "MAWK_LONG_OPTIONS",
    "WHINY_USERS",
    // Of gawk: variables that outlive the program.
    "GAWK_PERSIST_FILE",
];

impl Locale {
    /// Resolves the locale from the command's environment.
    pub fn resolve(variable: impl Fn(&str) -> Option<Vec<u8>>, store: &dyn LocaleStore) -> Accept<Locale> {
        if let Some(name) = UNSERVED.iter().find(|name| variable(name).is_some()) {
            return Declined::because(format!("{name} is set"));
        }
        let names: Vec<Vec<u8>> =
            CATEGORIES.iter().map(|category| category_name(&variable, category)).collect();
        let mut distinct = names.clone();
        distinct.sort();
        distinct.dedup();
        for name in distinct.iter().filter(|name| !is_c(name)) {
            match store.installed(name) {
                Some(true) => {}
                // glibc then stays in the C locale for every category.
                Some(false) => return Ok(Locale::C),
                None => {
                    return Declined::because(format!("locale {} cannot be looked up", name.escape_ascii()));
                }
            }
        }
        let [ctype, numeric, time, collate, _, messages, ..] = names.as_slice() else { return Ok(Locale::C) };
        let language = match variable("LANGUAGE").filter(|list| !list.is_empty()) {
            None if is_plain(messages) => Messages::English,
            _ if is_c(messages) => Messages::English,
            list => store.messages(messages, list.as_deref(), has_utf8(ctype)),
        };
        if language == Messages::Unknown {
            return Declined::because("the language of its messages is not known");
        }
        let (ctype, plain_case) = charset(ctype, store);
        Ok(Locale {
            ctype,
            plain_case,
            collate: if is_plain(collate) {
                Collate::Bytes
            } else {
                Collate::Other(String::from_utf8_lossy(collate).into_owned())
            },
            collates_as_c: is_c(collate),
            messages: language,
            numbers: if is_plain(numeric) { Some(NumberFormat::C) } else { store.numbers(numeric) },
            plain_dates: is_plain(time) || store.has_english_months(time),
        })
    }

    /// Returns the locale that `LC_ALL` with this name makes; `None` if it is not installed.
    pub fn named(name: &str) -> Option<Locale> {
        let variable = |category: &str| (category == "LC_ALL").then(|| name.as_bytes().to_vec());
        Locale::resolve(variable, &SystemLocales::default())
            .ok()
            .filter(|locale| *locale != Locale::C || is_c(name.as_bytes()))
    }

    /// Returns the character set of a call; [`Charset::Other`] for one that changes or ignores the case of letters
    /// where that case is not plain.
    pub(crate) fn charset_for(&self, has_case: bool) -> Charset {
        if has_case && !self.plain_case { Charset::Other } else { self.ctype }
    }

    /// Declines a call for which no character set is known.
    pub(crate) fn check_characters(&self, has_case: bool) -> Accept<()> {
        match self.charset_for(has_case) {
            Charset::C | Charset::Utf8 => Ok(()),
            Charset::Other => Declined::because(UNKNOWN_CHARACTERS),
        }
    }

    /// Returns the string order; `None` for byte order.
    pub(crate) fn collation(&self) -> Accept<Option<&'static Collation>> {
        match &self.collate {
            Collate::Bytes => Ok(None),
            Collate::Other(name) => Collation::of(name),
        }
    }
}

/// Whether every locale named in the environment is installed: bash warns about one that is not.
pub fn locales_are_installed(variable: impl Fn(&str) -> Option<Vec<u8>>, store: &dyn LocaleStore) -> bool {
    let names = CATEGORIES.iter().chain(&["LC_ALL", "LANG"]).filter_map(|name| variable(name));
    let mut names = names.filter(|value| !value.is_empty() && !is_c(value));
    names.all(|name| store.installed(&name) == Some(true))
}

/// Returns the locale name: LC_ALL, then the category's own variable, then LANG; empty means unset.
fn category_name(variable: &impl Fn(&str) -> Option<Vec<u8>>, category: &str) -> Vec<u8> {
    ["LC_ALL", category, "LANG"]
        .iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()))
        .unwrap_or_else(|| b"C".to_vec())
}

fn is_c(name: &[u8]) -> bool {
    matches!(name, b"C" | b"POSIX")
}

fn is_c_utf8(name: &[u8]) -> bool {
    matches!(name, b"C.UTF-8" | b"C.utf8")
}

/// Whether it equals C, except perhaps for its characters.
fn is_plain(name: &[u8]) -> bool {
    is_c(name) || is_c_utf8(name)
}

/// Whether its name says UTF-8.
fn has_utf8(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with(b".utf-8") || name.ends_with(b".utf8")
}

/// Returns the character set of a locale, and whether its case is plain. Nothing is loaded for the most frequent ones.
fn charset(name: &[u8], store: &dyn LocaleStore) -> (Charset, bool) {
    match name {
        b"C" | b"POSIX" => (Charset::C, true),
        b"C.UTF-8" | b"C.utf8" | b"en_US.UTF-8" | b"en_US.utf8" => (Charset::Utf8, true),
        _ => match store.characters(name) {
            Characters::Unicode { plain_case } => (Charset::Utf8, plain_case),
            Characters::Unknown => (Charset::Other, true),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Installed(&'static [&'static str]);

    impl LocaleStore for Installed {
        fn installed(&self, name: &[u8]) -> Option<bool> {
            Some(self.0.iter().any(|known| known.as_bytes() == name))
        }
    }

    fn resolve(variables: &[(&str, &str)]) -> Accept<Locale> {
        let find = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_bytes().to_vec())
        };
        Locale::resolve(find, &Installed(&["C.UTF-8", "en_US.UTF-8", "de_DE.UTF-8"]))
    }

    #[test]
    fn lc_all_wins_then_the_category_then_lang_and_empty_is_unset() {
        assert_eq!(resolve(&[]).unwrap(), Locale::C);
        assert_eq!(resolve(&[("LANG", "C.UTF-8")]).unwrap(), Locale::C_UTF8);
        assert_eq!(resolve(&[("LANG", "en_US.UTF-8"), ("LC_ALL", "C")]).unwrap(), Locale::C);
        assert_eq!(resolve(&[("LANG", "C.UTF-8"), ("LC_ALL", "")]).unwrap(), Locale::C_UTF8);
        let mixed = resolve(&[("LANG", "C.UTF-8"), ("LC_COLLATE", "en_US.UTF-8")]).unwrap();
        assert_eq!(mixed.collate, Collate::Other("en_US.UTF-8".to_owned()));
        assert_eq!(mixed.ctype, Charset::Utf8);
        assert_eq!(resolve(&[("LANG", "de_DE.UTF-8")]).unwrap().ctype, Charset::Other);
    }

    #[test]
    fn what_is_not_known_of_a_locale_is_not_plain() {
        let locale = resolve(&[("LANG", "en_US.UTF-8")]).unwrap();
        assert_eq!((locale.numbers, locale.plain_dates), (None, false));
        let numbers = resolve(&[("LANG", "en_US.UTF-8"), ("LC_NUMERIC", "C")]).unwrap();
        assert_eq!(numbers.numbers, Some(NumberFormat::C));
    }

    #[test]
    fn one_category_that_is_not_installed_leaves_all_of_them_in_c() {
        assert_eq!(resolve(&[("LANG", "C.UTF-8"), ("LC_TIME", "xx_YY")]).unwrap(), Locale::C);
        assert_eq!(resolve(&[("LC_ALL", "fr_FR.UTF-8")]).unwrap(), Locale::C);
    }

    #[test]
    fn a_locale_that_is_not_installed_is_noticed_behind_one_that_is() {
        let check = |variables: &'static [(&str, &str)]| {
            let find = |name: &str| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_bytes().to_vec())
            };
            locales_are_installed(find, &Installed(&["C.UTF-8"]))
        };
        assert!(check(&[]) && check(&[("LC_ALL", "C.UTF-8"), ("LANG", ""), ("LC_TIME", "POSIX")]));
        assert!(!check(&[("LC_ALL", "C"), ("LC_CTYPE", "xx_YY")]));
        assert!(!check(&[("LANG", "xx_YY")]));
    }

    #[test]
    fn variables_that_change_meanings_are_declined() {
        assert_eq!(resolve(&[("POSIXLY_CORRECT", "")]).unwrap_err().reason, "POSIXLY_CORRECT is set");
    }
}
