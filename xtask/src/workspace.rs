//! Where things are, and how cargo is called.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Outcome;

/// The root of the checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// cargo, called in the root of the checkout.
pub fn cargo<const N: usize>(args: [&str; N]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}

/// What `cargo metadata` says of the workspace's own crates.
pub fn metadata() -> Outcome<Value> {
    let out = cargo(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .stderr(Stdio::inherit())
        .output()?;
    if !out.status.success() {
        return Err("cargo metadata failed".into());
    }
    Ok(serde_json::from_slice(&out.stdout)?)
}

/// Where cargo builds; ours to put data in.
pub fn target_dir() -> Outcome<PathBuf> {
    let metadata = metadata()?;
    let dir = metadata["target_directory"].as_str().ok_or("cargo metadata names no target directory")?;
    Ok(PathBuf::from(dir))
}

/// The release binary, built if it is not fresh.
pub fn release_binary() -> Outcome<PathBuf> {
    crate::steps::step(
        "build pelton (release)",
        &mut cargo(["build", "--quiet", "--release", "-p", "pelton"]),
    )?;
    Ok(target_dir()?.join("release/pelton"))
}

/// Whether a program is on the PATH.
pub fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}
