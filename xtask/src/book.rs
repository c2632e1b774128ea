//! `cargo xtask book`: the book, from docs/ to HTML.

use std::path::PathBuf;
use std::process::Command;

use workbench::Outcome;
use workbench::steps::{step, timed};
use workbench::workspace::{cargo, root, target_dir};

/// The version of mdBook that builds it.
const MDBOOK_VERSION: &str = "0.5.4";

/// Builds it, and prints where it begins.
pub fn run() -> Outcome {
    let mdbook = mdbook()?;
    let dir = target_dir()?.join("book");
    timed("build the book", || {
        let out = Command::new(&mdbook).arg("build").arg("--dest-dir").arg(&dir).arg(root()).output()?;
        let said = String::from_utf8_lossy(&out.stderr);
        // It goes on after a page or an include that is not there.
        match out.status.success() && !said.contains("ERROR") && !said.contains("WARN") {
            true => Ok(()),
            false => Err(format!("mdbook: {said}").into()),
        }
    })?;
    println!("{}", dir.join("index.html").display());
    Ok(())
}

/// mdBook in the target directory, installed if it is not there.
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
