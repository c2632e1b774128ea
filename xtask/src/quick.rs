//! `cargo xtask quick`: quick checks while working, of what has changed. Takes less than half a minute once the workspace
//! is built.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Outcome, law, registries};
use workbench::cargo_workspace::{cargo, metadata, on_path, root};
use workbench::steps::{all, step, timed};

/// Options of `cargo xtask quick`.
#[derive(Debug, Default)]
pub struct Options {
    /// Whether to check every package, not only those that changed.
    everything: bool,
}

impl Options {
    /// Parses the arguments.
    ///
    /// # Errors
    /// For unknown arguments.
    pub fn parse(mut args: lexopt::Parser) -> Outcome<Options> {
        let mut options = Options::default();
        while let Some(arg) = args.next()? {
            match arg {
                lexopt::Arg::Long("all") => options.everything = true,
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(options)
    }
}

/// Runs formatting, the law, spelling, clippy and unit tests: all of them, even after a failure.
///
/// # Errors
/// If one of them fails.
pub fn run(options: &Options) -> Outcome {
    let files = changed_files()?;
    let packages = match options.everything {
        true => None,
        false => changed_packages(&files)?,
    };
    let Some(packages) = packages else {
        let unit_tests = ["test", "--quiet", "--workspace", "--no-fail-fast", "--lib", "--bins"];
        return all([tidy(), step("unit tests", &mut cargo(unit_tests))]);
    };
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    eprintln!(
        "    of what has changed since the last commit, or in it: {}; --all for every package",
        names.join(", ")
    );
    let mut checks = vec![spelling(&files), formatting()];
    if !packages.is_empty() {
        let mut clippy = cargo(["clippy", "--quiet", "--all-targets"]);
        clippy.args(of(&packages)).args(["--", "-D", "warnings"]);
        checks.push(step("clippy", &mut clippy));
        let mut tests = cargo(["test", "--quiet", "--no-fail-fast", "--bins"]);
        tests.args(packages.iter().any(|package| package.has_library).then_some("--lib"));
        checks.push(step("unit tests", tests.args(of(&packages))));
    }
    all(checks)
}

/// Runs the checks that need no test, of the whole workspace.
///
/// # Errors
/// If one of them fails.
pub fn tidy() -> Outcome {
    let clippy = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    all([formatting(), spelling(&[]), step("clippy", &mut cargo(clippy))])
}

fn formatting() -> Outcome {
    all([registries::format(true), timed("who may import whom", law::run)])
}

/// Checks the spelling of these files, of all if there are none, with the exceptions of `_typos.toml`.
fn spelling(files: &[PathBuf]) -> Outcome {
    if !on_path("typos") {
        eprintln!("    spelling: not checked, `cargo xtask setup` installs typos");
        return Ok(());
    }
    let there = files.iter().filter(|file| root().join(file).exists());
    step("spelling", Command::new("typos").arg("--force-exclude").args(there).current_dir(root()))
}

/// A package of the workspace.
struct Package {
    name: String,
    has_library: bool,
}

/// Returns cargo's options for these packages.
fn of(packages: &[Package]) -> impl Iterator<Item = &str> {
    packages.iter().flat_map(|package| ["-p", package.name.as_str()])
}

/// Returns the files that differ from the last commit, or if none does, those that it changed.
fn changed_files() -> Outcome<Vec<PathBuf>> {
    let mut files = git(&["diff", "--name-only", "HEAD"])?;
    files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
    if files.is_empty() { git(&["diff", "--name-only", "HEAD~1", "HEAD"]) } else { Ok(files) }
}

/// Returns the packages with one of these files; `None` if that may be any package.
fn changed_packages(files: &[PathBuf]) -> Outcome<Option<Vec<Package>>> {
    if files.iter().any(|file| ["Cargo.toml", "Cargo.lock"].map(Path::new).contains(&file.as_path())) {
        return Ok(None);
    }
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    Ok(Some(packages.iter().filter_map(|package| changed_package(package, files)).collect()))
}

/// Returns a package of cargo's metadata, if one of these files is in its directory.
fn changed_package(package: &Value, files: &[PathBuf]) -> Option<Package> {
    let manifest = Path::new(package["manifest_path"].as_str()?);
    let directory = manifest.parent()?.strip_prefix(root()).ok()?;
    files.iter().any(|file| file.starts_with(directory)).then_some(())?;
    let is_library =
        |target: &Value| target["kind"].as_array().is_some_and(|kinds| kinds.contains(&"lib".into()));
    let has_library = package["targets"].as_array()?.iter().any(is_library);
    Some(Package { name: package["name"].as_str()?.to_owned(), has_library })
}

/// Returns the files that git names, from the root of the checkout.
fn git(args: &[&str]) -> Outcome<Vec<PathBuf>> {
    let out = Command::new("git").args(args).current_dir(root()).output()?;
    if !out.status.success() {
        return Err(format!("git {}: {}", args.join(" "), String::from_utf8_lossy(&out.stderr).trim()).into());
    }
    Ok(String::from_utf8_lossy(&out.stdout).lines().map(PathBuf::from).collect())
}
