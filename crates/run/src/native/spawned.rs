//! Checks the program that `xargs` would start: its kernel equals a tested program, with lists as long as
//! those of xargs when no system limit is near.

use pelton_commands::detect::Detector;
use pelton_commands::{Accept, Accepted, Declined, Family, Implementation};
use pelton_sys::limits;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// With a smaller stack limit, the system takes less than two MiB of arguments.
const STACK_BYTES: u64 = 8 << 20;

/// The environment's share of these, so that the longest list of xargs always fits.
const ENVIRONMENT_BYTES: usize = 1 << 19;

/// Checks that xargs would run the tested program, and that nothing else limits its lists.
pub fn check(
    accepted: &Accepted,
    program: Option<&[u8]>,
    environment: &[CString],
    detector: &mut Detector<'_>,
) -> Accept<()> {
    let Some(child) = accepted.facts.child.as_ref().filter(|_| accepted.command.kernel().is_ok()) else {
        return Ok(());
    };
    let name = &*child.name;
    let Some(program) = program else {
        return Declined::because(format!("it would find no {name} in PATH"));
    };
    // The program echo, not the builtin.
    let family = match name {
        "echo" => Some(Family::GnuCoreutils),
        name => pelton_commands::lookup(name.as_bytes()).map(|entry| entry.family),
    };
    let path = Path::new(OsStr::from_bytes(program));
    let found = detector.identify(path);
    // A certificate holds for some calls, and which these are shows only with their arguments.
    let is_verified = matches!(found, Implementation::Verified(_));
    if is_verified || !family.is_some_and(|family| found.is_tested(family)) {
        return Declined::because(format!("it runs a program {name} that no kernel was compared with"));
    }
    let pointer = std::mem::size_of::<usize>();
    let bytes: usize = environment.iter().map(|pair| pair.as_bytes().len() + 1 + pointer).sum();
    if bytes > ENVIRONMENT_BYTES || limits::stack_bytes().is_none_or(|stack| stack < STACK_BYTES) {
        return Declined::because("the system's limits leave less for arguments than it would take");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_commands::detect::SystemProbe;
    use pelton_commands::{Context, Locale};

    fn reason(args: &[&str], echo: Option<&str>, environment: &[CString]) -> Option<String> {
        let implementation = Implementation::tested(Family::GnuFindutils);
        let context = Context { locale: Locale::C, implementation };
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
        let accepted = Accepted::new(pelton_commands::accept(b"xargs", &args, &context).expect("understood"));
        let mut detector = Detector::new(&SystemProbe, None);
        check(&accepted, echo.map(str::as_bytes), environment, &mut detector)
            .err()
            .map(|declined| declined.reason)
    }

    #[test]
    fn another_echo_is_not_ours() {
        let unknown = "it runs a program echo that no kernel was compared with";
        assert_eq!(reason(&["-n1"], Some("/bin/sh"), &[]).as_deref(), Some(unknown));
        assert_eq!(reason(&["wc"], None, &[]).as_deref(), Some("it would find no wc in PATH"));
        assert_eq!(reason(&["-n1"], None, &[]).as_deref(), Some("it would find no echo in PATH"));
        // It stays a process for another reason.
        assert_eq!(reason(&["rm"], None, &[]), None);
    }

    #[test]
    fn a_large_environment_leaves_less_room() {
        let mut detector = Detector::new(&SystemProbe, None);
        if !detector.identify(Path::new("/bin/echo")).is_tested(Family::GnuCoreutils) {
            return;
        }
        let large = CString::new(format!("A={}", "x".repeat(1 << 20))).expect("no NUL");
        let less = "the system's limits leave less for arguments than it would take";
        assert_eq!(reason(&["-n1"], Some("/bin/echo"), &[large]).as_deref(), Some(less));
    }
}
