//! Detects which implementation and version a program is.
//!
//! A kernel equals one named implementation, so the name on the PATH is not enough. The program is run once
//! with `--version` and once on a few bytes whose output tells a patched program from the original. The
//! answer is cached while the file stays the same (path, inode, time, size).

mod cache;
mod probe;
mod verified;

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::locale::installed::{LocaleStore, SystemLocales};
use crate::tool::{busybox, uutils};
use cache::{decode, encode};

pub use cache::{CacheFile, CacheFolder, Store};
pub use probe::Probe;
pub use verified::{Certificate, Certificates, Exclusion, Verified};

/// The project that a program comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// GNU coreutils.
    GnuCoreutils,
    /// uutils' coreutils, which Ubuntu has since 25.10.
    Uutils,
    /// busybox, one program for many tools.
    Busybox,
    /// GNU grep.
    GnuGrep,
    /// GNU sed.
    GnuSed,
    /// GNU findutils (find, xargs).
    GnuFindutils,
    /// GNU gzip (gzip, gunzip, zcat).
    GnuGzip,
    /// GNU awk.
    Gawk,
    /// mawk.
    Mawk,
    /// The one true awk.
    OriginalAwk,
    /// util-linux.
    UtilLinux,
    /// jq. It has no kernel.
    Jq,
    /// bash's own builtins.
    Bash,
    /// pelton itself: it is not asked for its version.
    Pelton,
}

impl Family {
    /// Returns its name as it prints it.
    pub fn title(self) -> &'static str {
        match self {
            Family::GnuCoreutils => "GNU coreutils",
            Family::Uutils => "uutils coreutils",
            Family::Busybox => "busybox",
            Family::GnuGrep => "GNU grep",
            Family::GnuSed => "GNU sed",
            Family::GnuFindutils => "GNU findutils",
            Family::GnuGzip => "GNU gzip",
            Family::Gawk => "GNU awk",
            Family::Mawk => "mawk",
            Family::OriginalAwk => "the one true awk",
            Family::UtilLinux => "util-linux",
            Family::Jq => "jq",
            Family::Bash => "bash",
            Family::Pelton => "pelton",
        }
    }
}

impl Family {
    /// Returns what the files of its programs hold, and those of others that start them do not.
    fn mark(self) -> &'static str {
        match self {
            Family::Mawk => "mawk %d.%d",
            Family::Uutils => "(uutils coreutils) ",
            Family::Busybox => "BusyBox v1.",
            Family::UtilLinux => "util-linux 2.",
            Family::Gawk => "GNU Awk",
            Family::OriginalAwk => "version 20",
            Family::Bash => "GNU bash",
            Family::Jq => "jq-",
            Family::GnuGzip => "bug-gzip@gnu.org",
            family => family.title(),
        }
    }

    /// Whether those files hold the version as a string of its own, too.
    fn holds_version(self) -> bool {
        matches!(
            self,
            Family::GnuCoreutils
                | Family::GnuGrep
                | Family::GnuSed
                | Family::GnuFindutils
                | Family::GnuGzip
                | Family::UtilLinux
        )
    }

    /// Returns the family of this name in pelton's own files: that of its variant.
    fn named(name: &str) -> Option<Self> {
        FIRST_LINES.iter().map(|(_, family)| *family).find(|family| format!("{family:?}") == name)
    }
}

/// The versions that the kernels were compared with: those of Debian 12. Other versions are declined until
/// they have been compared too: release notes that name no difference prove nothing.
pub const TESTED: &[(Family, &str)] = &[
    (Family::GnuCoreutils, "9.1"),
    (Family::GnuGrep, "3.8"),
    (Family::GnuSed, "4.9"),
    (Family::GnuFindutils, "4.9.0"),
    (Family::GnuGzip, "1.12"),
    (Family::Gawk, "5.2.1"),
    (Family::Mawk, "1.3.4 20200120"),
    (Family::OriginalAwk, "20220912"),
    (Family::UtilLinux, "2.38.1"),
    (Family::Jq, "1.6"),
    (Family::Bash, "5.2.15(1)-release"),
    (Family::Pelton, env!("CARGO_PKG_VERSION")),
];

/// The versions that the differential tests were run with (docs/design/versions.md). A tool's row may name others
/// between them.
const COMPARED: &[(Family, &[&str])] = &[
    (Family::GnuCoreutils, &["8.32", "9.1", "9.7", "9.10"]),
    (Family::Uutils, uutils::COMPARED),
    (Family::Busybox, busybox::COMPARED),
    (Family::GnuGrep, &["3.6", "3.8", "3.11", "3.12"]),
    (Family::GnuSed, &["4.7", "4.9"]),
    (Family::GnuFindutils, &["4.8.0", "4.9.0", "4.10.0", "4.11.0"]),
    (Family::GnuGzip, &["1.10", "1.12", "1.13", "1.14"]),
    (Family::Gawk, &["5.1.0", "5.2.1", "5.3.2"]),
    (Family::Mawk, &["1.3.4 20200120", "1.3.4 20250131", "1.3.4 20260302"]),
    (Family::OriginalAwk, &["20220912", "20250116", "20251225"]),
    (Family::UtilLinux, &["2.36.1", "2.38.1"]),
    (Family::Bash, &["5.2.15(1)-release"]),
    (Family::Pelton, &[env!("CARGO_PKG_VERSION")]),
];

/// First lines of `--version`, up to the version. `*` stands for the program's name.
const FIRST_LINES: &[(&str, Family)] = &[
    ("* (GNU coreutils) ", Family::GnuCoreutils),
    ("* (uutils coreutils) ", Family::Uutils),
    ("BusyBox v", Family::Busybox),
    ("* (GNU grep) ", Family::GnuGrep),
    ("* (GNU sed) ", Family::GnuSed),
    ("* (GNU findutils) ", Family::GnuFindutils),
    ("* (gzip) ", Family::GnuGzip),
    ("gzip ", Family::GnuGzip),
    ("GNU Awk ", Family::Gawk),
    ("mawk ", Family::Mawk),
    ("awk version ", Family::OriginalAwk),
    ("* from util-linux ", Family::UtilLinux),
    ("jq-", Family::Jq),
    ("GNU bash, version ", Family::Bash),
];

/// Follows what a program claims to be that its file is not.
const STARTS_ANOTHER: &str = ", said by a script or by a program that starts another one";

/// The implementation behind a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// A recognised one.
    Known {
        /// The project.
        family: Family,
        /// The version as printed.
        version: String,
    },
    /// One that `pelton verify` compared with a kernel on this machine.
    Verified(Arc<Verified>),
    /// The line that it printed instead, for the reason in `explain`; may be empty.
    Unknown(String),
}

impl Implementation {
    /// Returns the tested version of this family, for tests and for callers that have checked it.
    pub fn tested(family: Family) -> Self {
        let version = TESTED.iter().find(|(tested, _)| *tested == family).map_or("", |(_, version)| version);
        Implementation::Known { family, version: version.to_owned() }
    }

    /// Returns the family, if known.
    pub fn family(&self) -> Option<Family> {
        match self {
            Implementation::Known { family, .. } => Some(*family),
            Implementation::Verified(verified) => Some(verified.family),
            Implementation::Unknown(_) => None,
        }
    }

    /// Returns the version whose kernel it equals, as far as it does.
    fn like(&self) -> Option<(Family, &str)> {
        match self {
            Implementation::Known { family, version } => Some((*family, version)),
            Implementation::Verified(verified) => Some((verified.family, &verified.like)),
            Implementation::Unknown(_) => None,
        }
    }

    /// Whether it is this family in one of these versions, or was verified to be like one.
    pub fn is_one_of(&self, wanted: Family, versions: &[&str]) -> bool {
        self.like().is_some_and(|(family, version)| family == wanted && versions.contains(&version))
    }

    /// Whether it is this family in a tested version, or was verified to be like it.
    pub fn is_tested(&self, wanted: Family) -> bool {
        self.like().is_some_and(|like| like.0 == wanted && TESTED.contains(&like))
    }

    /// Whether it is a script, or a program that starts another one: what it does may change while its file stays.
    pub fn starts_another(&self) -> bool {
        matches!(self, Implementation::Unknown(line) if line.ends_with(STARTS_ANOTHER))
    }

    /// Describes it for reasons.
    pub fn describe(&self) -> String {
        match self {
            Implementation::Known { family, version } => format!("{} {version}", family.title()),
            Implementation::Verified(verified) => verified.shown.clone(),
            Implementation::Unknown(line) if line.is_empty() => "an unknown program".to_owned(),
            Implementation::Unknown(line) if self.starts_another() => line.clone(),
            Implementation::Unknown(line) => format!("an unknown program ('{line}')"),
        }
    }

    /// Describes it and how it is known that a kernel equals it, for `explain`.
    pub fn describe_equality(&self) -> String {
        let name = self.describe();
        match self {
            Implementation::Known { family, version } => {
                let compared = COMPARED
                    .iter()
                    .any(|(known, versions)| known == family && versions.contains(&version.as_str()));
                if compared { name } else { format!("{name}, between versions that were compared") }
            }
            Implementation::Verified(verified) => {
                let Verified { date, comparisons, .. } = &**verified;
                format!("{name}, verified here on {date}: {} comparisons", grouped(*comparisons))
            }
            Implementation::Unknown(_) => name,
        }
    }

    /// Parses the first line of `program --version`.
    pub fn from_version_line(program: &str, line: &str) -> Self {
        for (pattern, family) in FIRST_LINES {
            let expected = pattern.replace('*', program);
            if let Some(rest) = line.strip_prefix(&expected) {
                let version = match family {
                    Family::Gawk => rest.split([',', ' ']).next(),
                    Family::Bash => rest.split(' ').next(),
                    _ => Some(rest.trim_end()),
                };
                let version = version.unwrap_or_default();
                let version =
                    if *family == Family::Busybox { busybox::version(version) } else { version.to_owned() };
                return Implementation::Known { family: *family, version };
            }
        }
        Implementation::Unknown(line.chars().take(60).collect())
    }
}

/// The file attributes that must stay the same for an answer to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The device of its file system.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
    /// Modification time, in nanoseconds.
    pub modified_ns: i128,
    /// Its size.
    pub bytes: u64,
}

impl Stamp {
    /// Encodes it as four fields with tabs between them.
    fn encode(&self) -> String {
        let Stamp { device, inode, modified_ns, bytes } = self;
        format!("{device}\t{inode}\t{modified_ns}\t{bytes}")
    }

    /// Decodes the next four fields.
    fn decode<'t>(fields: &mut impl Iterator<Item = &'t str>) -> Option<Self> {
        Some(Stamp {
            device: fields.next()?.parse().ok()?,
            inode: fields.next()?.parse().ok()?,
            modified_ns: fields.next()?.parse().ok()?,
            bytes: fields.next()?.parse().ok()?,
        })
    }
}

/// Inspects programs.
pub trait ProgramInspector {
    /// Returns the stamp of the file, following links.
    fn stamp(&self, path: &Path) -> Option<Stamp>;
    /// Returns the SHA-256 of the file's content, in hexadecimal.
    fn sha256(&self, path: &Path) -> Option<String>;
    /// Returns the first line of `path --version`.
    fn version_line(&self, path: &Path) -> Option<String>;
    /// Whether the program's own file holds what it says of itself. A script, or a program that starts another one, says
    /// what that one says.
    fn holds(&self, path: &Path, family: Family, version: &str) -> bool;
    /// Returns how the program differs from the implementation that it claims to be, in words.
    fn oddity(&self, path: &Path, found: &Implementation, program: &str) -> Option<String>;
}

/// The first bytes of a program that the kernel loads itself.
const ELF: &[u8] = b"\x7fELF";

/// Inspects programs of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemProbe;

impl ProgramInspector for SystemProbe {
    fn stamp(&self, path: &Path) -> Option<Stamp> {
        let data = fs::metadata(path).ok()?;
        let modified_ns = i128::from(data.mtime()) * 1_000_000_000 + i128::from(data.mtime_nsec());
        Some(Stamp { device: data.dev(), inode: data.ino(), modified_ns, bytes: data.size() })
    }

    fn sha256(&self, path: &Path) -> Option<String> {
        let content = fs::read(path).ok()?;
        Some(Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn version_line(&self, path: &Path) -> Option<String> {
        // awk is a link to one of several implementations.
        let real = fs::canonicalize(path).ok();
        let name = real.as_deref().unwrap_or(path).file_name()?.to_str()?;
        // mawk before 1.3.4-2020 has no long options and prints its version with -W.
        let args = match name {
            "mawk" => &["-W", "version"][..],
            "busybox" => &["--help"],
            _ => &["--version"],
        };
        // Most of its applets, which links call, do not know the option.
        let path = real.as_deref().filter(|_| name == "busybox").unwrap_or(path);
        let (answer, _) = probe::ask(path, args, "", "C")?;
        Some(String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned())
    }

    fn holds(&self, path: &Path, family: Family, version: &str) -> bool {
        let Ok(file) = fs::read(path) else { return false };
        let holds = |text: &str| memchr::memmem::find(&file, text.as_bytes()).is_some();
        let says_version = || !family.holds_version() || holds(&format!("{version}\0"));
        // gunzip and zcat are scripts that come with gzip and end by becoming it.
        let becomes_gzip = || {
            let ends = [&b"\nexec gzip -d \"$@\"\n"[..], b"\nexec gzip -cd \"$@\"\n"];
            family == Family::GnuGzip
                && file.starts_with(b"#!/bin/sh\n")
                && ends.iter().any(|end| file.ends_with(end))
                && holds(&format!("(gzip) {version}\n"))
        };
        let is_program = || file.starts_with(ELF) && says_version();
        holds(family.mark()) && (is_program() || becomes_gzip())
    }

    fn oddity(&self, path: &Path, found: &Implementation, program: &str) -> Option<String> {
        let tool = crate::lookup(program.as_bytes())?.as_installed(found);
        if found.family() != Some(tool.family) {
            return None;
        }
        let probes = tool.probes_of(found);
        if probes.is_empty() {
            return None;
        }
        // busybox stands on systems without such a locale, and has no patches for characters.
        if tool.family != Family::Busybox && !has_utf8() {
            return Some("C.UTF-8 is not installed, in which patched ones could be told".to_owned());
        }
        let odd = probes.iter().find(|probe| !probe.is_shown_by(path))?;
        Some(format!("patched: '{}' answers otherwise", odd.describe(program)))
    }
}

/// Whether C.UTF-8 is installed, so that bytes and characters can differ.
fn has_utf8() -> bool {
    SystemLocales::default().installed(b"C.UTF-8") == Some(true)
}

/// Groups the digits of a number by thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// Identifies implementations by path, with a cache.
pub struct Detector<'a> {
    probe: &'a dyn ProgramInspector,
    store: Option<Box<dyn Store + 'a>>,
    /// What was stored at the beginning. Only the lines of programs that are asked for are decoded.
    stored: String,
    known: HashMap<PathBuf, (Stamp, Implementation)>,
    certificates: Certificates,
    /// Programs with a certificate: each file is read only once.
    verified: HashMap<PathBuf, (Stamp, Implementation)>,
}

impl Detector<'static> {
    /// Makes one for this machine, with the user's cache and certificates if the environment names a folder.
    pub fn of_user(variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let folder = CacheFolder::of_user(variable);
        let store = folder.as_ref().map(|folder| Box::new(folder.implementations()) as Box<dyn Store>);
        let certificates = folder.and_then(|folder| folder.certificates().read().ok());
        let certificates = certificates.map(|text| Certificates::decode(&text)).unwrap_or_default();
        Detector { certificates, ..Detector::new(&SystemProbe, store) }
    }
}

impl<'a> Detector<'a> {
    /// Makes one with the answers in `store`.
    pub fn new(probe: &'a dyn ProgramInspector, store: Option<Box<dyn Store + 'a>>) -> Self {
        Detector {
            probe,
            stored: store.as_ref().and_then(|store| store.load()).unwrap_or_default(),
            store,
            known: HashMap::new(),
            certificates: Certificates::default(),
            verified: HashMap::new(),
        }
    }

    /// Returns the implementation at this path. Runs it only if it is new or was replaced. A certificate of the user
    /// counts more than what the program says.
    pub fn identify(&mut self, path: &Path) -> Implementation {
        let Some(stamp) = self.probe.stamp(path) else { return Implementation::Unknown(String::new()) };
        self.verified(path, stamp).unwrap_or_else(|| self.claimed(path, stamp))
    }

    fn verified(&mut self, path: &Path, stamp: Stamp) -> Option<Implementation> {
        if let Some((_, known)) = self.verified.get(path).filter(|(then, _)| *then == stamp) {
            return Some(known.clone());
        }
        let certificate = self.certificates.of(path, stamp, || self.probe.sha256(path))?;
        let found = Implementation::Verified(Arc::new(certificate.verified.clone()));
        self.verified.insert(path.to_owned(), (stamp, found.clone()));
        Some(found)
    }

    /// Returns what the program says it is, if it behaves so.
    fn claimed(&mut self, path: &Path, stamp: Stamp) -> Implementation {
        if let Some((_, known)) = self.known.get(path).filter(|(then, _)| *then == stamp) {
            return known.clone();
        }
        if let Some((then, stored)) = cache::find(&self.stored, path)
            && then == stamp
        {
            self.known.insert(path.to_owned(), (then, stored.clone()));
            return stored;
        }
        let program = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let implementation = self.ask(path, program);
        // Keeps what other processes have stored meanwhile.
        let stored = self.store.as_ref().and_then(|store| store.load());
        self.known.extend(stored.and_then(|text| decode(&text)).unwrap_or_default());
        self.known.insert(path.to_owned(), (stamp, implementation.clone()));
        if let Some(store) = &self.store {
            store.save(&encode(&self.known));
        }
        implementation
    }

    fn ask(&self, path: &Path, program: &str) -> Implementation {
        let line = self.probe.version_line(path).unwrap_or_default();
        let found = Implementation::from_version_line(program, &line);
        if let Implementation::Known { family, version } = &found
            && !self.probe.holds(path, *family, version)
        {
            return Implementation::Unknown(found.describe() + STARTS_ANOTHER);
        }
        let oddity = self.probe.oddity(path, &found, program);
        match (found, oddity) {
            (Implementation::Known { family, version }, Some(oddity)) => {
                Implementation::Known { family, version: format!("{version} ({oddity})") }
            }
            (found, _) => found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    struct Machine {
        stamp: Cell<Stamp>,
        line: &'static str,
        asked: Cell<u32>,
        odd: bool,
    }

    impl ProgramInspector for Machine {
        fn stamp(&self, _: &Path) -> Option<Stamp> {
            Some(self.stamp.get())
        }

        fn sha256(&self, _: &Path) -> Option<String> {
            None
        }

        fn version_line(&self, _: &Path) -> Option<String> {
            self.asked.set(self.asked.get() + 1);
            Some(self.line.to_owned())
        }

        fn holds(&self, _: &Path, _: Family, _: &str) -> bool {
            !self.line.contains("GNU grep")
        }

        fn oddity(&self, _: &Path, _: &Implementation, program: &str) -> Option<String> {
            self.odd.then(|| format!("patched: {program}"))
        }
    }

    #[derive(Default)]
    struct Memory(RefCell<Option<String>>);

    impl Store for &Memory {
        fn load(&self) -> Option<String> {
            self.0.borrow().clone()
        }

        fn save(&self, text: &str) {
            *self.0.borrow_mut() = Some(text.to_owned());
        }
    }

    fn machine(line: &'static str) -> Machine {
        let stamp = Stamp { device: 1, inode: 1, modified_ns: -5, bytes: 3 };
        Machine { stamp: Cell::new(stamp), line, asked: Cell::new(0), odd: false }
    }

    #[test]
    fn version_lines_name_the_implementation() {
        let known = |program: &str, line: &str| Implementation::from_version_line(program, line);
        assert!(known("cut", "cut (GNU coreutils) 9.1").is_tested(Family::GnuCoreutils));
        assert!(!known("cut", "cut (GNU coreutils) 9.4").is_tested(Family::GnuCoreutils));
        assert!(!known("cut", "cut (uutils coreutils) 0.0.27").is_tested(Family::GnuCoreutils));
        assert!(!known("cut", "sort (GNU coreutils) 9.1").is_tested(Family::GnuCoreutils));
        assert!(known("rev", "rev from util-linux 2.38.1").is_tested(Family::UtilLinux));
        assert!(known("gawk", "GNU Awk 5.2.1, API 3.2, PMA Avon 8-g1").is_tested(Family::Gawk));
        assert!(known("mawk", "mawk 1.3.4 20200120").is_tested(Family::Mawk));
        let busybox = "BusyBox v1.37.0 (Debian 1:1.37.0-6+b9) multi-call binary.";
        assert_eq!(known("sort", busybox).describe(), "busybox 1.37.0 (Debian)");
        let bash = "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)";
        assert!(known("bash", bash).is_tested(Family::Bash));
    }

    #[test]
    fn what_starts_another_program_is_not_that_program() {
        let machine = machine("grep (GNU grep) 3.8");
        let found = Detector::new(&machine, None).identify(Path::new("/home/me/bin/grep"));
        assert!(found.starts_another(), "{found:?}");
        let folder = std::env::temp_dir().join(format!("pelton-detect-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let script = folder.join("grep");
        fs::write(&script, "#!/bin/sh\n# GNU grep\nexec /bin/grep \"$@\"\n").expect("written");
        let holds = |path: &str, family, version| SystemProbe.holds(Path::new(path), family, version);
        assert!(!SystemProbe.holds(&script, Family::GnuGrep, "3.8"));
        assert!(holds("/bin/grep", Family::GnuGrep, "3.8"));
        assert!(!holds("/bin/grep", Family::GnuGrep, "3.99") && !holds("/bin/grep", Family::GnuSed, "3.8"));
        let zcat = folder.join("zcat");
        let body = "#!/bin/sh\nversion=\"zcat (gzip) 1.12\n\"\nusage='<bug-gzip@gnu.org>.'\n";
        fs::write(&zcat, format!("{body}exec gzip -cd \"$@\"\n")).expect("written");
        assert!(SystemProbe.holds(&zcat, Family::GnuGzip, "1.12"), "a script that comes with its program");
        assert!(!SystemProbe.holds(&zcat, Family::GnuGzip, "1.13"));
        fs::write(&zcat, format!("{body}exec pigz -cd \"$@\"\n")).expect("written");
        assert!(!SystemProbe.holds(&zcat, Family::GnuGzip, "1.12"));
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_program_is_asked_once_until_it_changes() {
        let machine = machine("cat (GNU coreutils) 9.1");
        let memory = Memory::default();
        let path = Path::new("/usr/bin/cat");
        assert!(
            Detector::new(&machine, Some(Box::new(&memory))).identify(path).is_tested(Family::GnuCoreutils)
        );
        assert!(
            Detector::new(&machine, Some(Box::new(&memory))).identify(path).is_tested(Family::GnuCoreutils)
        );
        assert_eq!(machine.asked.get(), 1);
        machine.stamp.set(Stamp { inode: 2, ..machine.stamp.get() });
        Detector::new(&machine, Some(Box::new(&memory))).identify(path);
        assert_eq!(machine.asked.get(), 2);
    }

    #[test]
    fn one_that_behaves_otherwise_is_not_what_it_says() {
        let machine = Machine { odd: true, ..machine("cut (GNU coreutils) 9.1") };
        let memory = Memory::default();
        for _ in 0..2 {
            let found = Detector::new(&machine, Some(Box::new(&memory))).identify(Path::new("/usr/bin/cut"));
            assert!(!found.is_tested(Family::GnuCoreutils));
            assert_eq!(found.describe(), "GNU coreutils 9.1 (patched: cut)");
        }
        assert_eq!(machine.asked.get(), 1);
    }

    #[test]
    fn what_another_run_has_found_stays() {
        let machine = machine("cat (GNU coreutils) 9.1");
        let memory = Memory::default();
        let mut slow = Detector::new(&machine, Some(Box::new(&memory)));
        Detector::new(&machine, Some(Box::new(&memory))).identify(Path::new("/bin/cat"));
        slow.identify(Path::new("/usr/bin/cat"));
        Detector::new(&machine, Some(Box::new(&memory))).identify(Path::new("/bin/cat"));
        assert_eq!(machine.asked.get(), 2);
    }

    #[test]
    fn the_programs_of_this_machine_are_what_the_kernels_equal() {
        let version = Implementation::tested(Family::GnuCoreutils).describe();
        for tool in crate::TOOLS.iter().filter(|tool| tool.family == Family::GnuCoreutils) {
            let found = Detector::new(&SystemProbe, None).identify(&Path::new("/usr/bin").join(tool.name));
            if found.describe().starts_with(&version) {
                assert!(found.is_tested(Family::GnuCoreutils), "{}: {}", tool.name, found.describe());
            }
        }
    }

    #[test]
    fn a_damaged_cache_is_ignored() {
        let machine = machine("cat (GNU coreutils) 9.1");
        let whole = {
            let memory = Memory::default();
            Detector::new(&machine, Some(Box::new(&memory))).identify(Path::new("/usr/bin/cat"));
            (&memory).load().unwrap()
        };
        for damaged in [&whole[..whole.len() - 1], &whole[5..], "", "\n", &whole.replace("\t", " ")] {
            let memory = Memory(RefCell::new(Some(damaged.to_owned())));
            machine.asked.set(0);
            let found = Detector::new(&machine, Some(Box::new(&memory))).identify(Path::new("/usr/bin/cat"));
            assert!(found.is_tested(Family::GnuCoreutils));
            assert_eq!(machine.asked.get(), 1, "{damaged:?}");
        }
    }
}
