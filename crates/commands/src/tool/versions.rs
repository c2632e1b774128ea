//! Versions of a tool that its kernel equals, beside the one that it was written after.
//!
//! A version is listed if the differential tests compared it (`cargo xtask oracles` makes roots of other Debian
//! releases; `PELTON_ORACLE=ROOT/oracle` names the tools), or if it lies between two that were compared and behave
//! alike. In both cases the release notes (NEWS) of all versions up to it were read. What they change, and what the
//! comparisons found, is declined by [`OtherVersions::difference`].

use super::context::{Collate, Context, Locale};
use super::detect::Probe;

/// Returns what a call does otherwise than in the tested version.
pub type Difference = fn(&[Vec<u8>], &Context) -> Option<&'static str>;

/// Versions that differ from the tested one in the same way.
#[derive(Clone, Copy, Debug)]
pub struct OtherVersions {
    /// As the program prints them.
    pub versions: &'static [&'static str],
    /// What tells them from patched ones, if that is not what tells the tested version.
    pub probes: Option<&'static [Probe]>,
    /// Returns the difference that a call may show; such a call is declined.
    pub difference: Difference,
    /// Whether they were compared in C and C.UTF-8 only; in other locales every call is declined.
    pub in_c_only: bool,
}

/// From 8.32, which Debian 11 and Ubuntu 22.04 have, to 9.1.
pub(crate) const COREUTILS_8_32_TO_9_0: &[&str] = &["8.32", "9.0"];
/// After 9.1 to 9.7, which Debian 13 has.
pub(crate) const COREUTILS_TO_9_7: &[&str] = &["9.2", "9.3", "9.4", "9.5", "9.6", "9.7"];
/// After 9.7 to 9.10, which Debian unstable has.
pub(crate) const COREUTILS_TO_9_10: &[&str] = &["9.8", "9.9", "9.10"];
/// After 9.1 to 9.10.
pub(crate) const COREUTILS_9_2_TO_9_10: &[&str] =
    &["9.2", "9.3", "9.4", "9.5", "9.6", "9.7", "9.8", "9.9", "9.10"];
/// All that were compared besides 9.1: for a tool in which nothing changed.
pub(crate) const COREUTILS_8_32_TO_9_10: &[&str] =
    &["8.32", "9.0", "9.2", "9.3", "9.4", "9.5", "9.6", "9.7", "9.8", "9.9", "9.10"];

impl OtherVersions {
    /// Makes those that are alike.
    pub(crate) const fn alike(versions: &'static [&'static str]) -> Self {
        OtherVersions::but(versions, |_, _| None)
    }

    /// Makes those that are alike but for calls that `difference` names.
    pub(crate) const fn but(versions: &'static [&'static str], difference: Difference) -> Self {
        OtherVersions { versions, probes: None, difference, in_c_only: false }
    }

    /// Returns the difference that this call may show.
    pub(super) fn difference_of(&self, args: &[Vec<u8>], context: &Context) -> Option<&'static str> {
        let is_c = [Locale::C, Locale::C_UTF8].contains(&context.locale);
        match self.in_c_only && !is_c {
            true => Some("locales other than C and C.UTF-8, in which it was not compared"),
            false => (self.difference)(args, context),
        }
    }
}

/// The difference of calls in C.UTF-8, of tools that order strings, with versions that came with glibc before 2.35: its
/// C.UTF-8, made by distributions, does not compare bytes.
pub(crate) fn in_c_utf8(_: &[Vec<u8>], context: &Context) -> Option<&'static str> {
    let is_old = context.locale.collate == Collate::Bytes && !context.locale.collates_as_c;
    is_old.then_some("the order of strings in C.UTF-8")
}

/// Whether some argument may be an option with one of these letters, or a long one.
pub(crate) fn may_have(args: &[Vec<u8>], letters: &[u8]) -> bool {
    let options = args.iter().filter(|arg| arg.len() > 1 && arg[0] == b'-');
    options.into_iter().any(|arg| arg[1] == b'-' || arg[1..].iter().any(|letter| letters.contains(letter)))
}

/// Whether all options are short, and made of these letters.
pub(crate) fn has_only(args: &[Vec<u8>], letters: &[u8]) -> bool {
    let options = args.iter().filter(|arg| arg.len() > 1 && arg[0] == b'-');
    options.into_iter().all(|arg| arg[1..].iter().all(|letter| letters.contains(letter)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Implementation;

    /// Accepts a call of this version, in C.
    fn reason(name: &str, version: &str, args: &[&str]) -> Option<String> {
        let family = crate::lookup(name.as_bytes()).expect("a tool").family;
        let implementation = Implementation::Known { family, version: version.to_owned() };
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
        let context = Context { locale: crate::Locale::C, implementation };
        crate::accept(name.as_bytes(), &args, &context).err().map(|declined| declined.reason)
    }

    #[test]
    fn compared_versions_are_served_but_for_what_differs() {
        assert_eq!(reason("cut", "9.7", &["-c1"]), None);
        assert_eq!(reason("sort", "9.7", &["-rn"]), None);
        let differs = "sort is GNU coreutils 9.7, which differs: versions and suffixes of numbers";
        for args in [&["-V"][..], &["-k1,1h"], &["-k", "2V"], &["--sort=version"]] {
            assert_eq!(reason("sort", "9.7", args).as_deref(), Some(differs), "{args:?}");
        }
        assert_eq!(reason("wc", "9.7", &[]), None);
        let unknown =
            "cut is GNU coreutils 8.31, which no kernel was compared with; `pelton verify cut` compares it";
        assert_eq!(reason("cut", "8.31", &["-c1"]).as_deref(), Some(unknown));
    }

    #[test]
    fn old_tools_that_order_strings_are_not_served_in_c_utf8() {
        for (name, args) in
            [("sort", &["-rn"][..]), ("uniq", &["-c"]), ("comm", &["a", "b"]), ("join", &["a", "b"])]
        {
            assert_eq!(reason(name, "8.32", args), None, "{name}");
            let implementation =
                Implementation::Known { family: crate::Family::GnuCoreutils, version: "8.32".to_owned() };
            let context = Context { locale: crate::Locale::C_UTF8, implementation };
            let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
            let found = crate::accept(name.as_bytes(), &args, &context).err().map(|declined| declined.reason);
            assert!(found.is_some_and(|reason| reason.contains("C.UTF-8")), "{name}");
            // Only the order counts, not the characters.
            let mixed = crate::Locale { collates_as_c: false, ..crate::Locale::C };
            let context = Context { locale: mixed, ..context };
            assert!(crate::accept(name.as_bytes(), &args, &context).is_err(), "{name}");
            let by_bytes = crate::Locale { collates_as_c: true, ..crate::Locale::C_UTF8 };
            let context = Context { locale: by_bytes, ..context };
            assert!(crate::accept(name.as_bytes(), &args, &context).is_ok(), "{name}");
        }
    }

    #[test]
    fn what_changed_in_some_versions_is_declined_in_those() {
        let served = |name, version, args: &[&str]| reason(name, version, args).is_none();
        assert!(
            served("cat", "8.32", &["-n"])
                && !served("cat", "8.32", &["-A"])
                && served("cat", "9.0", &["-A"])
        );
        assert!(served("nl", "8.32", &["-ba"]) && !served("nl", "8.32", &["-d", "x"]));
        assert!(served("fold", "8.32", &["-w", "9"]) && !served("fold", "9.10", &["-w", "9"]));
        assert!(served("seq", "9.10", &["9"]) && !served("seq", "9.10", &["18446744073709551617"]));
        assert!(served("unexpand", "9.10", &["-a"]) && !served("unexpand", "9.10", &["-t", "/4"]));
        assert!(served("paste", "9.10", &["-d", ","]) && !served("paste", "9.10", &["-d", "é"]));
        assert!(served("grep", "3.7", &["-n", "a"]) && !served("grep", "3.7", &["-s", "a"]));
        assert!(served("grep", "3.12", &["-n", "a"]) && !served("grep", "3.12", &["-lm1", "a"]));
        assert!(served("tail", "9.9", &["-n", "3"]) && !served("tail", "9.8", &["-n", "3"]));
    }

    #[test]
    fn tools_of_uutils_are_served_but_for_what_differs() {
        let served = |name: &str, version: &str, args: &[&str]| {
            let implementation =
                Implementation::Known { family: crate::Family::Uutils, version: version.to_owned() };
            let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
            let context = Context { locale: crate::Locale::C, implementation };
            crate::accept(name.as_bytes(), &args, &context).is_ok()
        };
        for version in ["0.7.0", "0.8.0", "0.12.0"] {
            for (name, args) in [
                ("sort", &["-r"][..]),
                ("sort", &["-t,", "-k2,2", "bigfile"]),
                ("uniq", &["-c"]),
                ("cut", &["-d,", "-f2"]),
                ("tr", &["[:upper:]", "[:lower:]"]),
                ("wc", &["-l"]),
                ("head", &["-n", "5"]),
            ] {
                assert!(served(name, version, args), "{name} {args:?} of {version}");
            }
            for (name, args) in [
                ("sort", &["-k2,2n"][..]),
                ("seq", &["21", "985", "10002"]),
                ("wc", &[]),
                ("uniq", &["-f1"]),
                ("sort", &["-t=", "-k2,2"]),
                ("uniq", &["-cs1"]),
                ("seq", &["-ws:", "3"]),
                ("seq", &["-s", "-w", "3"]),
                ("basename", &["-s", "-a", "a"]),
                ("nl", &["-d", "x"]),
                ("tr", &["-c", "-", "[:upper:]a"]),
            ] {
                assert!(!served(name, version, args), "{name} {args:?} of {version}");
            }
            assert!(!served("comm", version, &["a", "b"]) && !served("join", version, &["a", "b"]));
        }
        let in_english = Context {
            locale: crate::Locale { plain_dates: false, ..crate::Locale::C_UTF8 },
            implementation: Implementation::Known {
                family: crate::Family::Uutils,
                version: "0.12.0".to_owned(),
            },
        };
        let declined = crate::accept(b"cat", &[], &in_english).err().map(|declined| declined.reason);
        assert!(declined.is_some_and(|reason| reason.contains("other than C and C.UTF-8")));
        assert!(served("sort", "0.12.0", &["-rn"]) && served("sort", "0.12.0", &["-t,", "-k2,2n"]));
        assert!(!served("sort", "0.8.0", &["-rn"]) && !served("sort", "0.8.0", &["-t,", "-k2,2n"]));
        assert!(served("nl", "0.7.0", &["-ba"]) && !served("nl", "0.2.2", &["-ba"]));
        assert!(!served("sort", "0.0.30", &["-n"]) && !served("sort", "0.9.0", &["-n"]));
    }

    #[test]
    fn applets_of_busybox_are_served_in_their_simplest_forms() {
        let served = |name: &str, version: &str, args: &[&str]| {
            let implementation =
                Implementation::Known { family: crate::Family::Busybox, version: version.to_owned() };
            let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
            let context = Context { locale: crate::Locale::C, implementation };
            crate::accept(name.as_bytes(), &args, &context).is_ok()
        };
        for version in crate::tool::busybox::COMPARED {
            for (name, args) in [
                ("cat", &["a", "b"][..]),
                ("head", &["-n", "5"]),
                ("head", &["-5"]),
                ("tail", &["-n", "+2"]),
                ("wc", &["-l"]),
                ("cut", &["-d", " ", "-f2-3"]),
                ("tr", &["-cs", "A-Za-z", "\\n"]),
                ("tr", &["[:upper:]", "[:lower:]"]),
                ("sort", &["-rn"]),
                ("sort", &["-t,", "-k2,2n"]),
                ("uniq", &["-c"]),
                ("seq", &["-w", "8", "12"]),
                ("tac", &[]),
            ] {
                assert!(served(name, version, args), "{name} {args:?} of {version}");
            }
            for (name, args) in [
                ("cat", &["-n"][..]),
                ("head", &["-n", "-5"]),
                ("tail", &["+2"]),
                ("wc", &["-l", "a", "b"]),
                ("wc", &[]),
                ("cut", &["-f2,3"]),
                ("tr", &["[:graph:]", "a"]),
                ("tr", &["\\-a", "b"]),
                ("sort", &["-nu"]),
                ("sort", &["-k2"]),
                ("sort", &["-rs"]),
                ("sort", &["-t,", "-k2,2nr"]),
                ("sort", &["--reverse"]),
                ("uniq", &["in", "-c"]),
                ("seq", &["1.5"]),
                ("nl", &[]),
                ("grep", &["a"]),
            ] {
                assert!(!served(name, version, args), "{name} {args:?} of {version}");
            }
        }
        assert!(!served("cat", "1.37.0", &[]) && !served("cat", "1.36.1 (Debian)", &[]));
    }

    #[test]
    fn options_are_letters_or_else() {
        let args = |args: &[&str]| args.iter().map(|arg| arg.as_bytes().to_vec()).collect::<Vec<_>>();
        assert!(has_only(&args(&["-lc", "-", "file", "-m"]), b"lcm"));
        assert!(!has_only(&args(&["-lw"]), b"lcm"));
        assert!(!has_only(&args(&["--lines"]), b"lcm"));
        assert!(may_have(&args(&["-bA"]), b"A") && may_have(&args(&["--show-all"]), b"A"));
        assert!(!may_have(&args(&["-b", "A", "-"]), b"A"));
    }
}
