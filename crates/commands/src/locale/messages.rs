//! The language of messages: gettext's catalogues, looked up as in glibc.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Accept, Declined};

/// Where programs look for translations: on Debian and its relatives, and Ubuntu's additional folder.
pub(crate) const CATALOGUES: [&str; 2] = ["/usr/share/locale", "/usr/share/locale-langpack"];

/// The language of a program's messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Messages {
    /// The original text.
    English,
    /// The first of these languages that has a translation, in UTF-8.
    Translated(Vec<String>),
    /// Unknown: the lookup would differ from glibc's.
    Unknown,
}

impl Messages {
    /// Resolves the language from the locale of messages and LANGUAGE, for output in UTF-8 or not.
    pub(crate) fn resolve(locale: &[u8], language: Option<&[u8]>, utf8: bool) -> Messages {
        let list = language.filter(|list| !list.is_empty()).unwrap_or(locale);
        let Ok(list) = std::str::from_utf8(list) else { return Messages::Unknown };
        // In a list, C ends the search.
        let languages = list.split(':').take_while(|name| !matches!(*name, "C" | "POSIX"));
        let languages: Vec<&str> = languages.filter(|name| !name.is_empty()).collect();
        if !languages.iter().all(|name| is_simple(name)) {
            return Messages::Unknown;
        }
        let roots = CATALOGUES.map(Path::new);
        match languages.iter().all(|name| is_untranslated_in(&roots, name)) {
            true => Messages::English,
            false if utf8 => Messages::Translated(languages.into_iter().map(str::to_owned).collect()),
            false => Messages::Unknown,
        }
    }

    /// Returns a program's text from the given catalogue (`coreutils`, `libc`).
    ///
    /// # Errors
    ///
    /// If the translation is not known.
    pub fn text(&self, catalogue: &str, text: &str) -> Accept<Vec<u8>> {
        let unknown = || Declined::new("the language of its messages is not known");
        match self {
            Messages::English => Ok(text.as_bytes().to_vec()),
            Messages::Unknown => Err(unknown()),
            Messages::Translated(languages) => {
                let roots = CATALOGUES.map(Path::new);
                for language in languages {
                    if roots.iter().any(|root| has_own_codeset(root, language, catalogue)) {
                        return Err(unknown());
                    }
                    for folder in folders(language) {
                        let file = |root: &Path| {
                            fs::read(root.join(folder).join(format!("LC_MESSAGES/{catalogue}.mo"))).ok()
                        };
                        let bytes = match roots.map(file) {
                            [None, None] => continue,
                            [Some(bytes), None] | [None, Some(bytes)] => bytes,
                            // The distribution decides which one counts.
                            [Some(_), Some(_)] => return Err(unknown()),
                        };
                        if let Some(found) = lookup(&bytes, text).ok_or_else(unknown)? {
                            return Ok(found.to_vec());
                        }
                    }
                }
                Ok(text.as_bytes().to_vec())
            }
        }
    }

    /// Declines any language but English, for a command whose messages are not looked up.
    pub(crate) fn in_english(&self) -> Accept<()> {
        match self {
            Messages::English => Ok(()),
            _ => Declined::because("messages in another language"),
        }
    }

    /// Like [`text`](Self::text), but returns English if the translation is not known.
    pub fn text_or_english(&self, catalogue: &str, text: &str) -> Vec<u8> {
        self.text(catalogue, text).unwrap_or_else(|_| text.as_bytes().to_vec())
    }
}

/// The catalogues of the programs with kernels, and of their libraries.
const DOMAINS: [&str; 9] =
    ["coreutils", "grep", "sed", "findutils", "gawk", "bash", "util-linux", "gnulib", "libc"];

/// Checks gettext's folders: `en_US.UTF-8`, with the codeset normalised, without it, without the country,
/// without both.
fn is_untranslated_in(roots: &[&Path], name: &str) -> bool {
    let (place, codeset) = name.split_once('.').unwrap_or((name, ""));
    let language = place.split('_').next().unwrap_or(place);
    let normal: String = codeset.chars().filter(char::is_ascii_alphanumeric).collect();
    let codesets = [format!(".{codeset}"), format!(".{}", normal.to_lowercase()), String::new()];
    let has_catalogue = |folder: PathBuf| {
        folder.is_dir() && DOMAINS.iter().any(|domain| folder.join(format!("{domain}.mo")).exists())
    };
    !roots.iter().any(|root| {
        [place, language].iter().any(|place| {
            codesets
                .iter()
                .any(|codeset| has_catalogue(root.join(format!("{place}{codeset}")).join("LC_MESSAGES")))
        })
    })
}

/// Whether it is like `de`, `de_DE`, `de_DE.UTF-8`: neither an alias nor with a modifier.
fn is_simple(name: &str) -> bool {
    let (place, _) = name.split_once('.').unwrap_or((name, ""));
    let mut parts = place.split('_');
    let plain = |part: &str, lengths: [usize; 2]| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let language = parts.next().is_some_and(|part| plain(part, [2, 3]));
    language
        && parts.next().is_none_or(|part| plain(part, [2, 3]))
        && parts.next().is_none()
        && !name.contains(['@', '/'])
}

/// Returns the folders of its catalogues, the closest first.
fn folders(language: &str) -> impl Iterator<Item = &str> {
    let place = language.split('.').next().unwrap_or(language);
    let general = place.split('_').next().filter(|general| *general != place);
    std::iter::once(place).chain(general)
}

/// Whether there is a catalogue for one character set, as `de.UTF-8` or `de.utf8`. glibc's order among these
/// is not modelled.
fn has_own_codeset(root: &Path, language: &str, catalogue: &str) -> bool {
    ["UTF-8", "utf8"].iter().any(|codeset| {
        folders(language).any(|place| {
            let folder = root.join(format!("{place}.{codeset}")).join("LC_MESSAGES");
            folder.join(format!("{catalogue}.mo")).exists()
        })
    })
}

/// Finds a text in a catalogue compiled by msgfmt. The outer `None`: the file is malformed, or not in UTF-8.
///
/// GNU gettext's manual, 'The Format of GNU MO Files': a magic number, a revision, the number of texts, then
/// the offsets of the tables of lengths and positions, of the sorted originals and of their translations, in
/// 32 bits each.
fn lookup<'c>(catalogue: &'c [u8], text: &str) -> Option<Option<&'c [u8]>> {
    const MAGIC: u32 = 0x9504_12de;
    let number = |at: usize| Some(u32::from_le_bytes(catalogue.get(at..at + 4)?.try_into().ok()?));
    let entry = |table: usize, index: usize| {
        let length = number(table + 8 * index)? as usize;
        let start = number(table + 8 * index + 4)? as usize;
        catalogue.get(start..start.checked_add(length)?)
    };
    if number(0)? != MAGIC {
        return None;
    }
    let (count, originals, translations) = (number(8)? as usize, number(12)? as usize, number(16)? as usize);
    let find = |wanted: &[u8]| {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low.midpoint(high);
            match entry(originals, middle)?.cmp(wanted) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(Some(entry(translations, middle)?)),
            }
        }
        Some(None)
    };
    let header = find(b"")??.to_ascii_lowercase();
    let utf8 = header.windows(13).any(|part| part == b"charset=utf-8");
    utf8.then(|| find(text.as_bytes()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a catalogue as msgfmt writes it, from sorted pairs.
    fn catalogue(pairs: &[(&str, &str)]) -> Vec<u8> {
        let tables = 28 + 16 * pairs.len();
        let (mut lengths, mut texts) = ([Vec::new(), Vec::new()], Vec::new());
        for (side, table) in lengths.iter_mut().enumerate() {
            for (original, translation) in pairs {
                let text = [original, translation][side];
                table.extend((text.len() as u32).to_le_bytes());
                table.extend(((tables + texts.len()) as u32).to_le_bytes());
                texts.extend(text.bytes().chain([0]));
            }
        }
        let head = [0x9504_12de, 0, pairs.len() as u32, 28, 28 + 8 * pairs.len() as u32, 0, 0];
        let head = head.iter().flat_map(|number: &u32| number.to_le_bytes());
        head.chain(lengths.concat()).chain(texts).collect()
    }

    const HEADER: (&str, &str) = ("", "Content-Type: text/plain; charset=UTF-8\n");

    #[test]
    fn texts_are_found_in_a_catalogue() {
        let file = catalogue(&[HEADER, ("standard input", "Standardeingabe"), ("total", "insgesamt")]);
        assert_eq!(lookup(&file, "total"), Some(Some(&b"insgesamt"[..])));
        assert_eq!(lookup(&file, "standard input"), Some(Some(&b"Standardeingabe"[..])));
        assert_eq!(lookup(&file, "other"), Some(None));
    }

    #[test]
    fn what_is_no_catalogue_in_utf8_is_not_guessed_at() {
        let latin =
            catalogue(&[("", "Content-Type: text/plain; charset=ISO-8859-1\n"), ("total", "insgesamt")]);
        assert_eq!(lookup(&latin, "total"), None);
        let file = catalogue(&[HEADER, ("total", "insgesamt")]);
        for end in 0..file.len() - 1 {
            // Truncation never causes a panic.
            let _ = lookup(&file[..end], "total");
        }
        assert_eq!(lookup(b"no catalogue at all", "total"), None);
    }

    #[test]
    fn names_that_follow_other_rules_are_not_guessed_at() {
        for name in ["de", "de_DE", "de_DE.UTF-8", "ast_ES.UTF-8", "es_419"] {
            assert!(is_simple(name), "{name}");
        }
        for name in ["german", "sr_RS@latin", "/tmp/x", "d", "", "de_DE_x"] {
            assert!(!is_simple(name), "{name}");
        }
        assert_eq!(Messages::resolve(b"en_US.UTF-8", Some(b"german"), true), Messages::Unknown);
        assert_eq!(Messages::resolve(b"en_US.UTF-8", Some(b"C:de"), true), Messages::English);
        assert_eq!(folders("de_DE.UTF-8").collect::<Vec<_>>(), ["de_DE", "de"]);
        assert_eq!(folders("de").collect::<Vec<_>>(), ["de"]);
    }

    #[test]
    fn catalogues_are_found_under_every_form_of_a_name() {
        let root = std::env::temp_dir().join(format!("pelton-catalogues-{}", std::process::id()));
        for folder in ["en_US.UTF-8", "en_US.utf8", "en_US", "en.utf8", "en"] {
            let folder = root.join(folder).join("LC_MESSAGES");
            std::fs::create_dir_all(&folder).unwrap();
            assert!(is_untranslated_in(&[&root], "en_US.UTF-8"), "{folder:?}");
            std::fs::write(folder.join("coreutils.mo"), b"").unwrap();
            assert!(!is_untranslated_in(&[&root], "en_US.UTF-8"), "{folder:?}");
            std::fs::remove_dir_all(&root).unwrap();
        }
    }
}
