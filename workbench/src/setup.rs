//! `cargo xtask setup`: installs what the tests need and a fresh Debian machine lacks.
//!
//! Uses the network only if something is missing, so a second run only looks at the PATH.

use std::io::IsTerminal;
use std::path::Path;
use std::process::Command;

use crate::cargo_workspace::{cargo, on_path, root};
use crate::steps::{step, timed};
use crate::{Failure, Outcome};

/// Programs from crates.io, and the version to install if missing.
const CRATES: [(&str, &str, &str); 2] =
    [("cargo-deny", "cargo-deny", "0.20.2"), ("typos", "typos-cli", "1.52.0")];

/// A program that the tests run, and its Debian package.
const ORACLES: [(&str, &str); 17] = [
    ("bash", "bash"),
    ("busybox", "busybox"),
    ("dash", "dash"),
    ("fish", "fish"),
    ("gawk", "gawk"),
    ("groff", "groff-base"),
    ("hyperfine", "hyperfine"),
    ("jq", "jq"),
    ("make", "make"),
    ("mawk", "mawk"),
    ("original-awk", "original-awk"),
    ("ps", "procps"),
    ("python3", "python3"),
    ("ruby", "ruby"),
    ("strace", "strace"),
    ("valgrind", "valgrind"),
    ("zsh", "zsh"),
];

/// Locales that do not sort by bytes: tools are compared in them. They have decimal commas (German, French), separators
/// of several bytes (French), letters with an unusual case (Turkish), and ideographs.
pub const LOCALES: [&str; 6] = ["en_US", "de_DE", "ja_JP", "fr_FR", "tr_TR", "zh_CN"];
/// The sources of locales, from the package `locales`.
const LOCALE_SOURCES: &str = "/usr/share/i18n/locales";

/// Installs what is missing.
pub fn run() -> Outcome {
    debian_packages()?;
    locales()?;
    rust_components()?;
    step("fetch the crates that Cargo.lock names", &mut cargo(["fetch", "--locked", "--quiet"]))?;
    crates()
}

fn debian_packages() -> Outcome {
    let mut missing: Vec<_> = missing(on_path);
    if !LOCALES.iter().all(|name| Path::new(LOCALE_SOURCES).join(name).exists()) {
        missing.push("locales");
    }
    if missing.is_empty() {
        return Ok(());
    }
    install(&missing)
}

/// Installs Debian packages.
pub fn install(packages: &[&str]) -> Outcome {
    timed(&format!("install {}", packages.join(" ")), || {
        if !on_path("apt-get") {
            return Err(cannot("there is no apt-get here", packages));
        }
        let update = as_root(&["apt-get", "-qq", "update"], packages)?.status()?;
        if !update.success() {
            eprintln!("    apt-get update failed ({update}); trying with the package lists at hand");
        }
        let mut install = vec!["apt-get", "-qq", "-y", "--no-install-recommends", "install"];
        install.extend(packages);
        match as_root(&install, packages)?.status()? {
            status if status.success() => Ok(()),
            status => Err(cannot(&format!("apt-get install failed ({status})"), packages)),
        }
    })
}

/// Makes the locales: Debian itself makes only C.UTF-8.
fn locales() -> Outcome {
    let there = Command::new("locale").arg("-a").output()?;
    let there = String::from_utf8_lossy(&there.stdout);
    for name in LOCALES.iter().filter(|name| !there.lines().any(|one| one == format!("{name}.utf8"))) {
        let whole = format!("{name}.UTF-8");
        let mut make = as_root(&["localedef", "-i", name, "-f", "UTF-8", &whole], &["locales"])?;
        step(&format!("make the locale {whole}"), &mut make)?;
    }
    Ok(())
}

/// Returns the packages whose program is missing.
fn missing(is_there: impl Fn(&str) -> bool) -> Vec<&'static str> {
    ORACLES.iter().filter(|(program, _)| !is_there(program)).map(|&(_, package)| package).collect()
}

fn cannot(why: &str, packages: &[&str]) -> Failure {
    format!("{why}. These Debian packages are needed, please install them: {}", packages.join(" ")).into()
}

/// Returns the command to run as root: unchanged if we are root, else through sudo, which may ask for a
/// password only at a terminal.
fn as_root(words: &[&str], packages: &[&str]) -> Outcome<Command> {
    let mut command = if nix::unistd::geteuid().is_root() {
        Command::new("env")
    } else if on_path("sudo") {
        let mut sudo = Command::new("sudo");
        if !std::io::stdin().is_terminal() {
            sudo.arg("-n");
        }
        sudo.arg("env");
        sudo
    } else {
        return Err(cannot("this is not root and there is no sudo", packages));
    };
    command.arg("DEBIAN_FRONTEND=noninteractive").args(words);
    Ok(command)
}

/// Adds components that a minimal toolchain lacks, through rustup.
fn rust_components() -> Outcome {
    let works = |tool: &str| cargo([tool, "--version"]).output().is_ok_and(|out| out.status.success());
    if works("fmt") && works("clippy") {
        return Ok(());
    }
    if !on_path("rustup") {
        return Err("this Rust has no rustfmt or no clippy, and there is no rustup to add them".into());
    }
    step(
        "add rustfmt and clippy",
        Command::new("rustup").args(["component", "add", "rustfmt", "clippy"]).current_dir(root()),
    )
}

/// Installs programs unoptimised: under a minute each instead of minutes, and they run for seconds either way.
fn crates() -> Outcome {
    for (program, package, version) in CRATES {
        if on_path(program) {
            continue;
        }
        let mut install = cargo(["install", "--quiet", "--debug", "--locked", "--version", version, package]);
        step(&format!("install {program} (about a minute on 2 cores)"), &mut install)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn only_what_is_missing_is_installed() {
        assert_eq!(missing(|_| true), Vec::<&str>::new());
        assert_eq!(missing(|program| program != "ps" && program != "jq"), ["jq", "procps"]);
    }
}
