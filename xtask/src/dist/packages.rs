//! Packages for Fedora, Alpine and Arch, made by nfpm.
//!
//! nfpm also makes .deb files, but compresses by Go's xz, which needs a fifth more room than
//! dpkg-deb's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::recipes::Values;
use super::{Effort, output, write};
use crate::Outcome;
use workbench::cargo_workspace::{on_path, target_dir};
use workbench::steps::step;

/// The version to install where there is none.
const VERSION: &str = "2.45.0";
const SOURCE: &str = "github.com/goreleaser/nfpm/v2/cmd/nfpm";
/// The formats, in nfpm's words.
const FORMATS: [&str; 3] = ["rpm", "apk", "archlinux"];

/// Returns the path of nfpm: from the PATH, or as [`installed_nfpm`] has left it.
///
/// # Errors
/// If there is no target directory.
pub fn find_nfpm() -> Outcome<Option<PathBuf>> {
    if on_path("nfpm") {
        return Ok(Some(PathBuf::from("nfpm")));
    }
    Ok(Some(own_directory()?.join("nfpm")).filter(|program| program.is_file()))
}

/// Returns the path of nfpm, which is built into the target directory if it is missing.
///
/// # Errors
/// If there is no Go, or it cannot build nfpm. The message says what to do.
pub fn installed_nfpm() -> Outcome<PathBuf> {
    if let Some(program) = find_nfpm()? {
        return Ok(program);
    }
    let by_hand = format!("install nfpm into the PATH: go install {SOURCE}@v{VERSION}");
    if !on_path("go") {
        return Err(format!("there is neither nfpm nor go; {by_hand}").into());
    }
    let directory = own_directory()?;
    let mut go = Command::new("go");
    go.args(["install", &format!("{SOURCE}@v{VERSION}")]).env("GOBIN", &directory);
    step("install nfpm (a minute or two)", &mut go).map_err(|error| format!("{error}; {by_hand}"))?;
    Ok(directory.join("nfpm"))
}

fn own_directory() -> Outcome<PathBuf> {
    Ok(target_dir()?.join(format!("nfpm-{VERSION}")))
}

/// Makes a package of each format from a tree with compressed manual pages, and returns them.
///
/// # Errors
/// If nfpm fails.
pub(super) fn make(
    nfpm: &Path,
    values: &Values,
    tree: &Path,
    out: &Path,
    time: &str,
) -> Outcome<Vec<PathBuf>> {
    let layout = out.join("nfpm.yaml");
    write(&layout, &values.fill("nfpm.yaml")?)?;
    let mut made = Vec::new();
    for format in FORMATS {
        let mut package = Command::new(nfpm);
        package.args(["package", "--packager", format, "--config"]).arg(&layout).arg("--target");
        package.arg(format!("{}/", out.display())).env("SOURCE_DATE_EPOCH", time).current_dir(tree);
        let said = workbench::steps::timed(&format!("pack for {format}"), || output(&mut package))?;
        let named = said.lines().find_map(|line| line.strip_prefix("created package: "));
        made.push(PathBuf::from(named.ok_or("nfpm names no package")?));
    }
    fs::remove_file(&layout)?;
    Ok(made)
}

/// Returns the compression of packages, in nfpm's words.
pub(super) fn compression(effort: Effort) -> &'static str {
    match effort {
        Effort::Least => "gzip:1",
        Effort::Most => "xz",
    }
}
