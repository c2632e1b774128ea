//! `cargo xtask reference`: writes the book's reference, using the program that it describes.
//!
//! A test (`crates/cli/tests/manual.rs`) checks that the pages are up to date.

use workbench::Outcome;
use workbench::cargo_workspace::{cargo, root};
use workbench::steps::step;

/// Rewrites docs/reference.
pub fn run() -> Outcome {
    step("build pelton", &mut cargo(["build", "--quiet", "--locked", "-p", "pelton"]))?;
    let dir = root().join("docs/reference");
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    let mut write =
        cargo(["run", "--quiet", "--locked", "-p", "pelton", "--", "man", "--markdown", "--output"]);
    step("write docs/reference", write.arg(&dir))?;
    // The book's own page, docs/formats.md, includes the registry of formats: it is never out of date.
    Ok(std::fs::remove_file(dir.join("formats.md"))?)
}
