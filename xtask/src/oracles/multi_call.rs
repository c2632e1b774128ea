//! Programs that are many tools, each called by a link: uutils' coreutils and busybox, in the versions that have rows.
//!
//! ```text
//! ORACLE/oracle/coreutils    the program
//! ORACLE/oracle/cat          a link to it, as for each of its tools that has a kernel
//! ```

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use workbench::Outcome;
use workbench::machine::Machine;
use workbench::steps::step;

use super::{TOOLS, debian, remove, version};

/// A program in one version.
pub struct MultiCall {
    /// The name of its folder.
    pub name: &'static str,
    /// The name of the program.
    program: &'static str,
    /// The version that it must print.
    version: &'static str,
    origin: Origin,
}

/// Where a program comes from.
enum Origin {
    /// The crate of its name, built here.
    Crate,
    /// This package of a Debian release, by its own loader.
    Debian { suite: &'static str, package: &'static str },
}

/// The programs that can be made.
pub const MULTI_CALL: [MultiCall; 6] = [
    MultiCall { name: "uutils-0.7", program: "coreutils", version: "0.7.0", origin: Origin::Crate },
    MultiCall { name: "uutils-0.8", program: "coreutils", version: "0.8.0", origin: Origin::Crate },
    MultiCall {
        name: "uutils-0.12",
        program: "coreutils",
        version: "0.12.0",
        origin: Origin::Debian { suite: "sid", package: "rust-coreutils" },
    },
    MultiCall {
        name: "busybox-1.35",
        program: "busybox",
        version: "1.35.0",
        origin: Origin::Debian { suite: "bookworm", package: "busybox" },
    },
    MultiCall {
        name: "busybox-1.37",
        program: "busybox",
        version: "1.37.0",
        origin: Origin::Debian { suite: "trixie", package: "busybox" },
    },
    MultiCall {
        name: "busybox-1.38",
        program: "busybox",
        version: "1.38.0",
        origin: Origin::Debian { suite: "sid", package: "busybox" },
    },
];

/// The tools of uutils that are built: those that have a kernel, each a feature of the crate.
const FEATURES: &str = "base64 basename cat comm cut dirname expand fold head join nl paste seq sort tac tail tee tr \
                        unexpand uniq wc";

impl MultiCall {
    /// Makes the folder beside its final place, so that an incomplete one is never used.
    pub fn make(&self, folder: &Path) -> Outcome {
        // Debian's programs name their loader: that has to be in its final place.
        remove(folder)?;
        let tools = folder.join("oracle.new");
        match self.origin {
            Origin::Crate => {
                let unfinished = folder.join("built");
                self.build(&unfinished)?;
                fs::create_dir(&tools)?;
                fs::rename(unfinished.join("bin").join(self.program), tools.join(self.program))?;
                remove(&unfinished)?;
            }
            Origin::Debian { suite, package } => {
                // With the locale C.UTF-8.
                debian::unpack(&format!("{package},libc-bin"), suite, folder)?;
                let from = debian::find(folder, self.program).ok_or("the package has no such program")?;
                fs::create_dir(&tools)?;
                debian::free_tool(folder, Machine::here()?, &from, &tools.join(self.program))?;
            }
        }
        self.link(&tools)?;
        Ok(fs::rename(&tools, folder.join("oracle"))?)
    }

    /// Builds the crate, with the versions of what it depends on that its authors chose.
    fn build(&self, into: &Path) -> Outcome {
        let mut build = Command::new("cargo");
        build
            .args(["install", "--quiet", "--locked", "--no-default-features", "--features", FEATURES])
            .args(["--version", &format!("={}", self.version), "--root"])
            .arg(into)
            .arg(self.program)
            // Nothing of it belongs among what the checkout is built into.
            .env_remove("CARGO_TARGET_DIR");
        step(&format!("build uutils {} (some minutes)", self.version), &mut build)
    }

    /// Makes a link for each of its tools, and checks the version.
    fn link(&self, tools: &Path) -> Outcome {
        let has_all = tools.join(self.program);
        let listed = Command::new(&has_all).arg("--list").output()?;
        let listed = String::from_utf8(listed.stdout)?;
        for tool in TOOLS.iter().filter(|tool| listed.lines().any(|line| line == **tool)) {
            let link: PathBuf = tools.join(tool);
            if !link.exists() {
                symlink(self.program, link)?;
            }
        }
        match version(&tools.join("cat")) {
            Some(found) if found == self.version => Ok(()),
            found => {
                let found = found.as_deref().unwrap_or("none");
                Err(format!("{} has to be version {}, but is {found}", self.name, self.version).into())
            }
        }
    }
}
