//! Which locales are installed: glibc checks its archive, then a folder; a missing name means C.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::locale::messages::Messages;
use pelton_sys::collate::Locale;

/// Reports which locales exist. A trait so that tests need no particular machine.
pub trait LocaleStore {
    /// Whether this locale (as written in the environment) is installed. `None` if unknown.
    fn installed(&self, name: &[u8]) -> Option<bool>;

    /// Returns what is known of its characters.
    fn characters(&self, _name: &[u8]) -> Characters {
        Characters::Unknown
    }

    /// Returns how it writes numbers; `None` if unknown, or if the decimal point is no single byte.
    fn numbers(&self, _name: &[u8]) -> Option<NumberFormat> {
        None
    }

    /// Whether the abbreviated names of its months are English.
    fn has_english_months(&self, _name: &[u8]) -> bool {
        false
    }

    /// Returns the language of messages for the locale's name and LANGUAGE, for output in UTF-8 or not.
    fn messages(&self, _name: &[u8], _language: Option<&[u8]>, _utf8: bool) -> Messages {
        Messages::English
    }
}

/// What a locale's LC_CTYPE says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Characters {
    /// UTF-8, with the classes and widths of C.UTF-8, and with its upper and lower case or others.
    Unicode {
        /// Whether the case is that of C.UTF-8.
        plain_case: bool,
    },
    /// Something else, or unknown.
    Unknown,
}

/// How a locale writes numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberFormat {
    /// The decimal point.
    pub point: u8,
    /// The thousands separator, if it is a single byte.
    pub thousands: Option<u8>,
}

impl NumberFormat {
    /// The format of C, POSIX and C.UTF-8.
    pub const C: NumberFormat = NumberFormat { point: b'.', thousands: None };
}

/// Returns a locale of the C library's, loaded once and kept.
pub(crate) fn loaded(name: &str) -> Option<Locale> {
    static LOADED: Mutex<BTreeMap<String, Option<Locale>>> = Mutex::new(BTreeMap::new());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    *loaded.entry(name.to_owned()).or_insert_with(|| Locale::load(&CString::new(name).ok()?))
}

/// The machine's locales.
#[derive(Clone, Debug)]
pub struct SystemLocales {
    root: PathBuf,
}

impl Default for SystemLocales {
    fn default() -> Self {
        SystemLocales { root: PathBuf::from("/usr/lib/locale") }
    }
}

impl SystemLocales {
    /// Uses another folder for `/usr/lib/locale`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        SystemLocales { root: root.into() }
    }
}

impl LocaleStore for SystemLocales {
    fn installed(&self, name: &[u8]) -> Option<bool> {
        let name = std::str::from_utf8(name).ok()?;
        // A path is loaded as a folder, and modifiers or aliases have rules that are not modelled here.
        if name.is_empty() || name.contains(['/', '@', '\0']) || !name.contains(['_', '.']) {
            return None;
        }
        let stored = normalise(name);
        if archive_has(&self.root.join("locale-archive"), &stored)? {
            return Some(true);
        }
        Some([name, &stored].iter().any(|folder| self.root.join(folder).join("LC_CTYPE").is_file()))
    }

    fn characters(&self, name: &[u8]) -> Characters {
        let locale = std::str::from_utf8(name).ok().and_then(loaded);
        match (locale, loaded("C.UTF-8")) {
            (Some(locale), Some(plain)) if locale.has_characters_of(&plain) => {
                Characters::Unicode { plain_case: locale.has_case_of(&plain) }
            }
            _ => Characters::Unknown,
        }
    }

    fn numbers(&self, name: &[u8]) -> Option<NumberFormat> {
        let signs = loaded(std::str::from_utf8(name).ok()?)?.number_signs();
        let [point] = *signs.point else { return None };
        // A separator of several bytes counts as none.
        let thousands = <[u8; 1]>::try_from(signs.thousands).ok().map(|[byte]| byte);
        Some(NumberFormat { point, thousands })
    }

    fn has_english_months(&self, name: &[u8]) -> bool {
        const ENGLISH: [&[u8]; 12] =
            [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
        let locale = std::str::from_utf8(name).ok().and_then(loaded);
        locale.is_some_and(|locale| locale.months() == ENGLISH)
    }

    fn messages(&self, name: &[u8], language: Option<&[u8]>, utf8: bool) -> Messages {
        Messages::resolve(name, language, utf8)
    }
}

/// Normalises a name as glibc does: the codeset in lower case without punctuation, `C.UTF-8` as `C.utf8`.
fn normalise(name: &str) -> String {
    let Some((language, codeset)) = name.split_once('.') else { return name.to_owned() };
    let codeset: String =
        codeset.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    format!("{language}.{codeset}")
}

/// Whether the archive's string table has the name. `None` if the file exists but is malformed.
fn archive_has(path: &Path, name: &str) -> Option<bool> {
    const MAGIC: u32 = 0xde02_0109;
    let Ok(mut file) = File::open(path) else { return Some(false) };
    let mut header = [0; 32];
    file.read_exact(&mut header).ok()?;
    let word = |index: usize| {
        let bytes = header.get(index * 4..index * 4 + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    if word(0)? != MAGIC {
        return None;
    }
    // magic, serial, namehash {offset, used, size}, strings {offset, used, size}.
    let (offset, used) = (word(5)?, word(6)?);
    file.seek(SeekFrom::Start(offset.into())).ok()?;
    let mut strings = Vec::new();
    file.take(used.into()).read_to_end(&mut strings).ok()?;
    Some(strings.split(|&byte| byte == 0).any(|stored| stored == name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codesets_are_stored_in_lower_case_without_punctuation() {
        assert_eq!(normalise("en_US.UTF-8"), "en_US.utf8");
        assert_eq!(normalise("C.utf8"), "C.utf8");
        assert_eq!(normalise("de_DE"), "de_DE");
    }

    #[test]
    fn archives_and_folders_are_searched_and_nonsense_is_not_judged() {
        let root = std::env::temp_dir().join(format!("pelton-locales-{}", std::process::id()));
        std::fs::create_dir_all(root.join("C.utf8")).unwrap();
        std::fs::write(root.join("C.utf8/LC_CTYPE"), b"x").unwrap();
        let mut archive: Vec<u8> = Vec::new();
        for word in [0xde02_0109u32, 1, 32, 0, 0, 32, 12, 12] {
            archive.extend(word.to_ne_bytes());
        }
        archive.extend(b"\0en_US.utf8\0");
        std::fs::write(root.join("locale-archive"), &archive).unwrap();
        let store = SystemLocales::at(&root);
        assert_eq!(store.installed(b"C.UTF-8"), Some(true));
        assert_eq!(store.installed(b"en_US.UTF-8"), Some(true));
        assert_eq!(store.installed(b"fr_FR.UTF-8"), Some(false));
        assert_eq!(store.installed(b"german"), None);
        std::fs::write(root.join("locale-archive"), b"rubbish, but long enough to be a header").unwrap();
        assert_eq!(store.installed(b"C.UTF-8"), None);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
