//! The languages of the originals: finds the installed ones, and compiles their programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::lab::Lab;
use workbench::Outcome;
use workbench::cargo_workspace::{on_path, root};
use workbench::setup;

/// Debian packages of programs that only the full form uses.
const PROGRAMS: [&str; 4] = ["ghc", "gron", "parallel", "ruby"];
/// Debian packages of libraries.
const LIBRARIES: [&str; 2] = ["libghc-async-dev", "libghc-monad-par-dev"];

/// Installs what is missing, where apt permits. The rest is reported as not installed.
pub fn install() {
    let programs = PROGRAMS.into_iter().filter(|name| !on_path(name));
    let missing: Vec<&str> =
        programs.chain(LIBRARIES.into_iter().filter(|package| !debian_has(package))).collect();
    if missing.is_empty() {
        return;
    }
    if let Err(failure) = setup::install(&missing) {
        eprintln!("    {failure}\n    going on without");
    }
}

fn debian_has(package: &str) -> bool {
    let out = Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Status}", package]).output();
    out.is_ok_and(|out| out.stdout == b"installed")
}

/// Returns Python, if installed.
pub fn python() -> Option<&'static str> {
    on_path("python3").then_some("python3")
}

/// Compiles a C program of experiments/; `None` without a compiler.
pub fn c(lab: &Lab, source: &str) -> Outcome<Option<PathBuf>> {
    compiled(lab, source, "cc", |from, to| {
        let mut command = Command::new("cc");
        command.args(["-O2", "-pthread", "-o"]).arg(to).arg(from);
        command
    })
}

/// Compiles a Haskell program, with GHC's threads.
pub fn haskell(lab: &Lab, source: &str) -> Outcome<Option<PathBuf>> {
    compiled(lab, source, "ghc", |from, to| {
        let mut command = Command::new("ghc");
        let objects = to.with_extension("objects");
        command.args(["-v0", "-O2", "-threaded", "-rtsopts", "-outputdir"]).arg(objects);
        command.arg("-o").arg(to).arg(from);
        command
    })
}

/// Compiles a Go program of one file.
pub fn go(lab: &Lab, source: &str) -> Outcome<Option<PathBuf>> {
    compiled(lab, source, "go", |from, to| {
        let mut command = Command::new("go");
        command.args(["build", "-o"]).arg(to).arg(from);
        command
    })
}

/// Compiles a Java program of one class; returns the directory of the class.
pub fn java(lab: &Lab, source: &str) -> Outcome<Option<PathBuf>> {
    compiled(lab, source, "javac", |from, to| {
        let mut command = Command::new("javac");
        command.arg("-d").arg(to).arg(from);
        command
    })
}

/// Compiles again whenever the source is newer than the result.
fn compiled(
    lab: &Lab,
    source: &str,
    compiler: &str,
    how: impl Fn(&Path, &Path) -> Command,
) -> Outcome<Option<PathBuf>> {
    if !on_path(compiler) {
        return Ok(None);
    }
    let from = root().join(source);
    let name = Path::new(source).with_extension("");
    let to = lab.kept.join(name.to_string_lossy().replace('/', "-") + "-" + compiler);
    let age = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    if age(&to).is_some_and(|made| Some(made) > age(&from)) {
        return Ok(Some(to));
    }
    let out = how(&from, &to).stdin(Stdio::null()).output()?;
    if !out.status.success() {
        return Err(format!("{compiler} refuses {source}: {}", String::from_utf8_lossy(&out.stderr)).into());
    }
    Ok(Some(to))
}
