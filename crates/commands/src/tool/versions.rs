//! Versions of a tool that its kernel equals, beside the one that it was written after.
//!
//! A version is listed if the differential tests compared it (`cargo xtask oracles` makes roots of other Debian
//! releases; `PELTON_ORACLE=ROOT/oracle` names the tools), or if it lies between two that were compared and behave
//! alike. In both cases the release notes (NEWS) of all versions up to it were read. What they change, and what the
//! comparisons found, is declined by [`OtherVersions::difference`].

use super::context::{Charset, Collate, Context};
use super::detect::Probe;

/// Versions that differ from the tested one in the same way.
#[derive(Clone, Copy, Debug)]
pub struct OtherVersions {
    /// As the program prints them.
    pub versions: &'static [&'static str],
    /// What tells them from patched ones, if that is not what tells the tested version.
    pub probes: Option<&'static [Probe]>,
    /// Returns the difference that a call may show; such a call is declined.
    pub difference: fn(&[Vec<u8>], &Context) -> Option<&'static str>,
}

/// From 9.1 to 9.7, which Debian 13 has. 9.8 and later are not compared yet.
pub(crate) const COREUTILS_TO_9_7: &[&str] = &["9.2", "9.3", "9.4", "9.5", "9.6", "9.7"];

impl OtherVersions {
    /// Makes those whose results do not depend on the locale, and are alike.
    pub(crate) const fn alike(versions: &'static [&'static str]) -> Self {
        OtherVersions { versions, probes: None, difference: |_, _| None }
    }
}

/// Whether nothing depends on the C library's tables, which belong to the system of the tool.
pub(crate) fn is_plain(context: &Context) -> bool {
    context.locale.collate == Collate::Bytes && context.locale.ctype != Charset::Other
}

/// The difference of calls that depend on those tables.
pub(crate) fn locale_tables(_: &[Vec<u8>], context: &Context) -> Option<&'static str> {
    (!is_plain(context)).then_some("the locale's tables")
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
        assert!(reason("wc", "9.7", &[]).is_some() && reason("wc", "9.7", &["-l"]).is_none());
        let unknown = "cut is GNU coreutils 9.8, which no kernel was compared with";
        assert_eq!(reason("cut", "9.8", &["-c1"]).as_deref(), Some(unknown));
    }

    #[test]
    fn options_are_letters_or_else() {
        let args = |args: &[&str]| args.iter().map(|arg| arg.as_bytes().to_vec()).collect::<Vec<_>>();
        assert!(has_only(&args(&["-lc", "-", "file", "-m"]), b"lcm"));
        assert!(!has_only(&args(&["-lw"]), b"lcm"));
        assert!(!has_only(&args(&["--lines"]), b"lcm"));
    }
}
