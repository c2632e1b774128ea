//! `cargo xtask book`: builds the book, from docs/ to HTML.

use std::path::PathBuf;
use std::process::Command;

use workbench::Outcome;
use workbench::cargo_workspace::{cargo, root, target_dir};
use workbench::steps::{step, timed};

/// The version of mdBook that builds the book.
const MDBOOK_VERSION: &str = "0.5.4";

/// Builds the book, and prints the path of its first page.
pub fn run() -> Outcome {
    let mdbook = mdbook()?;
    let dir = target_dir()?.join("book");
    timed("build the book", || {
        let out = Command::new(&mdbook).arg("build").arg("--dest-dir").arg(&dir).arg(root()).output()?;
        let said = String::from_utf8_lossy(&out.stderr);
        // mdBook continues after a missing page or include.
        match out.status.success() && !said.contains("ERROR") && !said.contains("WARN") {
            true => Ok(()),
            false => Err(format!("mdbook: {said}").into()),
        }
    })?;
    println!("{}", dir.join("index.html").display());
    Ok(())
}

/// Returns mdBook from the target directory, installing it if missing.
fn mdbook() -> Outcome<PathBuf> {
    let tools = target_dir()?.join("tools").join(format!("mdbook-{MDBOOK_VERSION}"));
    let mdbook = tools.join("bin/mdbook");
    if !mdbook.exists() {
        let mut install = cargo(["install", "--quiet", "--locked", "--version", MDBOOK_VERSION]);
        install.args(["--no-default-features", "--features", "search", "mdbook", "--root"]).arg(&tools);
        step("install mdbook (a few minutes on 2 cores)", &mut install)?;
    }
    Ok(mdbook)
}
