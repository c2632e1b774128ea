//! Certificates of `pelton verify`: programs whose behaviour was compared with a kernel's on this machine.
//!
//! A certificate holds for one file (name, device, inode, size, time, SHA-256), for this version of pelton, in the
//! locales that were compared. It is kept in the user's cache folder, which nobody else can write.

use std::path::{Path, PathBuf};

use super::cache::lines_below;
use super::{Family, Stamp};
use crate::tool::context::{Context, Locale};

/// What a comparison of a program with a kernel has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The project whose kernel it was compared with.
    pub family: Family,
    /// The version that the kernel equals: the nearest one that the tool's row names.
    pub like: String,
    /// What the program says it is.
    pub shown: String,
    /// The day of the comparison, in UTC: `2026-12-01`.
    pub date: String,
    /// How many runs of the kernel were compared.
    pub comparisons: u64,
    /// The locales of the comparison.
    pub locales: Vec<String>,
    /// The calls that differ.
    pub exclusions: Vec<Exclusion>,
}

impl Verified {
    /// Returns why a call is declined, if so.
    pub(crate) fn difference(&self, args: &[Vec<u8>], context: &Context) -> Option<String> {
        if !self.locales.iter().any(|name| is_locale(name, &context.locale)) {
            return Some(format!("verified in other locales only ({})", self.locales.join(", ")));
        }
        let is_c = context.locale == Locale::C;
        let excluded = self.exclusions.iter().find(|exclusion| exclusion.covers(args, is_c))?;
        Some(format!("{}, as `pelton verify` found", excluded.describe()))
    }

    /// Whether it differs in every call.
    pub fn differs_always(&self) -> bool {
        self.exclusions.iter().any(Exclusion::is_of_every_call)
    }
}

fn is_locale(name: &str, locale: &Locale) -> bool {
    let known = match name {
        "C" => Some(Locale::C),
        "C.UTF-8" => Some(Locale::C_UTF8),
        _ => Locale::named(name),
    };
    known.as_ref() == Some(locale)
}

/// Calls on which a program differs from the kernel: those with all of some options.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exclusion {
    /// The letters of short options, sorted. A digit stands for all options that begin with one.
    letters: Vec<u8>,
    /// Whether a long option belongs to them. Which letter equals it is not known.
    long: bool,
    /// Whether it holds in C, and not only in other locales.
    in_c: bool,
}

impl Exclusion {
    /// Makes the exclusion of all calls with the options of this one. Of letters in one argument, the first counts: the
    /// others may be its value.
    pub fn of(args: &[Vec<u8>], in_c: bool) -> Self {
        let mut letters: Vec<u8> =
            args.iter().filter_map(|arg| letters(std::slice::from_ref(arg)).first().copied()).collect();
        letters.sort_unstable();
        letters.dedup();
        Exclusion { letters, long: has_long(args), in_c }
    }

    /// Makes the exclusion of every call.
    pub fn of_every_call() -> Self {
        Exclusion { letters: Vec::new(), long: false, in_c: true }
    }

    /// Whether every call of the other one is one of these.
    pub fn includes(&self, other: &Exclusion) -> bool {
        let options =
            self.letters.iter().all(|letter| other.letters.contains(letter)) && (!self.long || other.long);
        options && (self.in_c || !other.in_c)
    }

    fn is_of_every_call(&self) -> bool {
        *self == Exclusion::of_every_call()
    }

    /// Whether a call may be one of these. A long option may equal any letter, any letter a long option, and what follows
    /// a letter may be its value: in doubt it is.
    pub fn covers(&self, args: &[Vec<u8>], is_c: bool) -> bool {
        if is_c && !self.in_c {
            return false;
        }
        if self.letters.is_empty() && !self.long {
            return true;
        }
        let there = [letters(args), values(args)].concat();
        if self.long {
            return has_long(args) || !there.is_empty();
        }
        has_long(args) || self.letters.iter().all(|letter| there.contains(letter))
    }

    /// Returns it in words: `calls with -k -V or long options`, since which long options equal them is not known.
    pub fn describe(&self) -> String {
        let letters: Vec<String> =
            self.letters.iter().map(|letter| format!("-{}", char::from(*letter))).collect();
        let what = match (letters.is_empty(), self.long) {
            (true, false) => "all calls".to_owned(),
            (_, true) => "calls with options".to_owned(),
            (false, false) => format!("calls with {} or long options", letters.join(" ")),
        };
        if self.in_c { what } else { format!("{what} outside the C locale") }
    }

    /// Encodes it without blanks, tabs or commas.
    pub fn encode(&self) -> String {
        let letters: String = self.letters.iter().map(|letter| char::from(*letter)).collect();
        format!("{}{}:{letters}", u8::from(self.in_c), u8::from(self.long))
    }

    /// Decodes it.
    pub fn decode(text: &str) -> Option<Self> {
        let (flags, letters) = text.split_once(':')?;
        let [in_c @ (b'0' | b'1'), long @ (b'0' | b'1')] = flags.as_bytes() else { return None };
        let letters = letters.bytes().collect::<Vec<u8>>();
        Some(Exclusion { letters, long: *long == b'1', in_c: *in_c == b'1' })
    }
}

/// Returns the letters and the leading digits of short options, and what may be values among them.
fn letters(args: &[Vec<u8>]) -> Vec<u8> {
    let clusters =
        args.iter().filter_map(|arg| arg.strip_prefix(b"-")).filter(|rest| !rest.starts_with(b"-"));
    clusters
        .flat_map(|rest| {
            let digit = rest.first().filter(|byte| byte.is_ascii_digit()).map(|_| b'0');
            digit.into_iter().chain(rest.iter().copied().filter(u8::is_ascii_alphabetic))
        })
        .collect()
}

/// Returns the letters of arguments behind options, which may be their values.
fn values(args: &[Vec<u8>]) -> Vec<u8> {
    let behind =
        args.windows(2).filter(|pair| pair[0].len() > 1 && pair[0][0] == b'-').flat_map(|pair| &pair[1]);
    behind.copied().filter(u8::is_ascii_alphabetic).collect()
}

fn has_long(args: &[Vec<u8>]) -> bool {
    args.iter().any(|arg| arg.len() > 2 && arg.starts_with(b"--"))
}

/// A certificate: a file and what a comparison has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The program's path, as found on the PATH.
    pub path: PathBuf,
    /// The file's identity.
    pub stamp: Stamp,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// The result.
    pub verified: Verified,
}

impl Certificate {
    /// Whether it is for this file, by this path or another with the same name.
    fn is_for(&self, path: &Path, stamp: Stamp) -> bool {
        self.path.file_name() == path.file_name() && self.stamp == stamp
    }
}

/// The certificates of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificates(Vec<Certificate>);

const HEADER: &str = concat!("pelton verified 1 ", env!("CARGO_PKG_VERSION"));

impl Certificates {
    /// Decodes the text of a file; none unless it is complete, well-formed and of this version.
    pub fn decode(text: &str) -> Self {
        let all: Option<Vec<_>> =
            lines_below(HEADER, text).and_then(|lines| lines.map(decode_line).collect());
        Certificates(all.unwrap_or_default())
    }

    /// Encodes one line for each. Skips paths that are not UTF-8.
    pub fn encode(&self) -> String {
        let lines: String = self.0.iter().filter_map(encode_line).collect();
        format!("{HEADER}\n{lines}")
    }

    /// Iterates over all, in order of paths.
    pub fn iter(&self) -> impl Iterator<Item = &Certificate> {
        self.0.iter()
    }

    /// Adds one, in place of any for the same path or the same file.
    pub fn insert(&mut self, certificate: Certificate) {
        self.remove(&certificate.path);
        self.0.retain(|other| !other.is_for(&certificate.path, certificate.stamp));
        let at = self.0.partition_point(|other| other.path < certificate.path);
        self.0.insert(at, certificate);
    }

    /// Removes the one for this path. Returns whether there was one.
    pub fn remove(&mut self, path: &Path) -> bool {
        let before = self.0.len();
        self.0.retain(|other| other.path != path);
        self.0.len() < before
    }

    /// Returns the certificate for this file, by this path or another with the same name: a file that is several tools
    /// goes by its name. `sha256` is asked for only if everything else agrees.
    pub fn of(
        &self,
        path: &Path,
        stamp: Stamp,
        sha256: impl FnOnce() -> Option<String>,
    ) -> Option<&Certificate> {
        let found = self.0.iter().find(|one| one.is_for(path, stamp))?;
        (sha256()? == found.sha256).then_some(found)
    }
}

fn encode_line(certificate: &Certificate) -> Option<String> {
    let Certificate { path, stamp, sha256, verified } = certificate;
    let Verified { family, like, shown, date, comparisons, locales, exclusions } = verified;
    let locales = locales.join(",");
    let exclusions = exclusions.iter().map(Exclusion::encode).collect::<Vec<_>>().join(",");
    let words = [like, shown, date, &comparisons.to_string(), &locales, &exclusions, path.to_str()?];
    Some(format!("{}\t{sha256}\t{family:?}\t{}\n", stamp.encode(), words.map(escaped).join("\t")))
}

fn escaped(word: &str) -> String {
    word.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescaped(word: &str) -> Option<String> {
    let mut text = String::new();
    let mut letters = word.chars();
    while let Some(letter) = letters.next() {
        text.push(match letter {
            '\\' => match letters.next()? {
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                '\\' => '\\',
                _ => return None,
            },
            other => other,
        });
    }
    Some(text)
}

fn decode_line(line: &str) -> Option<Certificate> {
    let mut fields = line.split('\t');
    let stamp = Stamp::decode(&mut fields)?;
    let words: Vec<String> = fields.map(unescaped).collect::<Option<_>>()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [sha256, family, like, shown, date, comparisons, locales, exclusions, path] = words[..] else {
        return None;
    };
    let list =
        |text: &str| text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let verified = Verified {
        family: Family::named(family)?,
        like: like.to_owned(),
        shown: shown.to_owned(),
        date: date.to_owned(),
        comparisons: comparisons.parse().ok()?,
        locales: list(locales),
        exclusions: list(exclusions).iter().map(|text| Exclusion::decode(text)).collect::<Option<_>>()?,
    };
    Some(Certificate { path: PathBuf::from(path), stamp, sha256: sha256.to_owned(), verified })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Implementation;

    fn args(args: &[&str]) -> Vec<Vec<u8>> {
        args.iter().map(|arg| arg.as_bytes().to_vec()).collect()
    }

    fn verified() -> Verified {
        Verified {
            family: Family::GnuCoreutils,
            like: "9.10".into(),
            shown: "GNU coreutils 9.11".into(),
            date: "2026-12-01".into(),
            comparisons: 41_000,
            locales: vec!["C".into(), "C.UTF-8".into()],
            exclusions: vec![Exclusion::of(&args(&["-k2V"]), true), Exclusion::of(&args(&["-f"]), false)],
        }
    }

    fn certificate(path: &str) -> Certificate {
        let stamp = Stamp { device: 5, inode: 6, modified_ns: -7, bytes: 8 };
        Certificate { path: path.into(), stamp, sha256: "ab".into(), verified: verified() }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let mut all = Certificates::default();
        for path in ["/usr/bin/sort", "/usr/bin/cut", "/usr/bin/sort", "/a\tb\n\\t/sed"] {
            all.insert(certificate(path));
        }
        assert_eq!(all.iter().count(), 3);
        assert_eq!(Certificates::decode(&all.encode()), all);
        let whole = all.encode();
        for damaged in [
            &whole[..whole.len() - 1],
            &whole[3..],
            "",
            &whole.replace("verified 1", "verified 0"),
            &whole.replacen('\n', "0\n", 1),
            &whole.replace('\t', " "),
        ] {
            assert_eq!(Certificates::decode(damaged), Certificates::default(), "{damaged:?}");
        }
        assert!(all.remove("/usr/bin/cut".as_ref()) && !all.remove("/usr/bin/cut".as_ref()));
    }

    #[test]
    fn a_certificate_holds_for_its_file_only() {
        let mut all = Certificates::default();
        all.insert(certificate("/bin/sort"));
        let stamp = certificate("").stamp;
        let hash = |hash: &str| Some(hash.to_owned());
        let of = |path: &str, stamp, sha256| all.of(path.as_ref(), stamp, || sha256).is_some();
        assert!(of("/bin/sort", stamp, hash("ab")));
        assert!(!of("/bin/sort", stamp, hash("cd")) && !of("/bin/sort", stamp, None));
        assert!(of("/usr/bin/sort", stamp, hash("ab")) && !of("/bin/cut", stamp, hash("ab")));
        assert!(!of("/bin/sort", Stamp { device: 0, ..stamp }, hash("ab")));
    }

    #[test]
    fn calls_that_may_have_the_options_are_excluded() {
        let key = Exclusion::of(&args(&["-k2V"]), true);
        for covered in [&["-V", "-k1"][..], &["-kV"], &["-rk", "2V"], &["--key=2V"], &["-k1", "--debug"]] {
            assert!(key.covers(&args(covered), true), "{covered:?}");
        }
        for free in [&["-n", "-", "V"][..], &["-V"], &["V", "k"]] {
            assert!(!key.covers(&args(free), true), "{free:?}");
        }
        let long = Exclusion::of(&args(&["--debug"]), true);
        assert!(long.covers(&args(&["--x"]), true) && long.covers(&args(&["-x"]), true));
        assert!(!long.covers(&args(&["x"]), true));
        let wide = Exclusion::of(&args(&["-f"]), false);
        assert!(wide.covers(&args(&["-f"]), false) && !wide.covers(&args(&["-f"]), true));
        let count = Exclusion::of(&args(&["-5"]), true);
        assert!(count.covers(&args(&["-12"]), true) && !count.covers(&args(&["-n12"]), true));
        assert!(Exclusion::of(&args(&["x"]), true).covers(&args(&[]), true));
    }

    #[test]
    fn a_verified_program_is_what_its_kernel_equals_but_for_what_differs() {
        let implementation = Implementation::Verified(std::sync::Arc::new(verified()));
        let reason = |words: &[&str], locale| {
            let context = Context { locale, implementation: implementation.clone() };
            crate::accept(b"sort", &args(words), &context).err().map(|declined| declined.reason)
        };
        assert_eq!(reason(&["-n"], Locale::C), None);
        assert_eq!(reason(&["-f"], Locale::C), None);
        let found = "sort is GNU coreutils 9.11, which differs: calls with -f or long options outside the C locale, as `pelton verify` found";
        assert_eq!(reason(&["-f"], Locale::C_UTF8).as_deref(), Some(found));
        // What the row says of the version that it is like.
        assert!(reason(&["-h"], Locale::C).is_some());
        let german = Locale { plain_dates: false, ..Locale::C_UTF8 };
        assert!(reason(&[], german).is_some_and(|reason| reason.contains("other locales")));
    }
}
