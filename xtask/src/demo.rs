//! `cargo xtask demo`: shows pelton's main job on realistic data, from nothing but a checkout.

use std::path::PathBuf;
use std::process::Command;

use workbench::Outcome;
use workbench::cargo_workspace::{release_binary, target_dir};
use workbench::inputs::ACCESS_LOG;

/// The pipeline of the README.
const PIPELINE: &str =
    "cat access.log | grep ' 404 ' | awk '{print $7}' | sort | uniq -c | sort -rn | head -n 3";
const MEGABYTES: u64 = 400;

/// Makes the log, and returns its directory.
pub(crate) fn directory() -> Outcome<PathBuf> {
    let dir = target_dir()?.join("demo");
    ACCESS_LOG.make(&dir.join("access.log"), MEGABYTES)?;
    Ok(dir)
}

/// Returns the pipeline as one word of a shell.
pub(crate) fn quoted_pipeline() -> String {
    format!("\"{}\"", PIPELINE.replace('$', "\\$"))
}

/// Makes the log, builds pelton, times the original pipeline, and runs pelton's plan for it.
pub fn run() -> Outcome {
    let pelton = release_binary()?;
    let dir = directory()?;
    for options in [&["time"][..], &["explain"], &["run", "--stats"]] {
        let command = options.join(" ");
        eprintln!("\n==> cd {} && pelton {command} {}", dir.display(), quoted_pipeline());
        let status = Command::new(&pelton).args(options).arg(PIPELINE).current_dir(&dir).status()?;
        if !status.success() {
            return Err(format!("pelton {command} failed ({status})").into());
        }
    }
    Ok(())
}
