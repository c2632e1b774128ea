//! The folders in which every file is an entry of a registry: tools, rules, formats and probes.
//!
//! A registry is a macro call in the folder's `mod.rs` that declares the modules. rustc does not see a file that no line
//! names, and rustfmt does not follow modules that a macro declares.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use workbench::Outcome;
use workbench::cargo_workspace::{cargo, root};
use workbench::steps::{all, step};

/// The folders.
pub const FOLDERS: [&str; 4] = [
    "crates/commands/src/tools",
    "crates/plan/src/rules",
    "crates/report/src/formats",
    "crates/observe/src/probes",
];

/// Formats the workspace, or fails if it is not formatted.
pub fn format(check: bool) -> Outcome {
    let check = check.then_some("--check");
    let mut entries = Command::new("rustfmt");
    entries.args(["--edition", "2024"]).args(check).current_dir(root());
    for folder in FOLDERS {
        entries.args(modules(&root().join(folder))?.into_iter().map(|(_, file)| file));
    }
    all([
        step("formatting", cargo(["fmt", "--all"]).args(check)),
        step("formatting of registered files", &mut entries),
    ])
}

/// Describes every file that no line of its registry names.
pub fn unlisted() -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        let dir = root().join(folder);
        let registry = fs::read_to_string(dir.join("mod.rs"))?;
        let unlisted = modules(&dir)?.into_iter().filter(|(name, _)| !lists(&registry, name));
        found.extend(unlisted.map(|(name, _)| format!("{folder}/mod.rs: no line lists {name}")));
    }
    Ok(found)
}

/// Returns the name and the file of each module in a folder.
fn modules(dir: &Path) -> Outcome<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
        if path.is_dir() {
            found.push((name, path.join("mod.rs")));
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "mod" {
            found.push((name, path));
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a line declares the module `name`.
fn lists(registry: &str, name: &str) -> bool {
    let declares = |line: &str| {
        let line = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        let rest = line.strip_prefix("mod ").and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with([';', ' ', ',']))
    };
    registry.lines().map(str::trim).any(declares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_lists_one_file() {
        let registry = "pub mod waits;\nregistry! {\n    // mod gone;\n    mod cat;\n    mod csv as Csv, \"csv\": \"x\";\n}\n";
        for name in ["waits", "cat", "csv"] {
            assert!(lists(registry, name), "{name}");
        }
        for name in ["gone", "ca", "cats", "Csv"] {
            assert!(!lists(registry, name), "{name}");
        }
    }

    #[test]
    fn folders_count_as_files_do() {
        let found = modules(&root().join(FOLDERS[0])).unwrap();
        let of = |name: &str| found.iter().find(|(found, _)| found == name).map(|(_, file)| file.clone());
        assert!(of("cat").unwrap().ends_with("tools/cat.rs"));
        assert!(of("cut").unwrap().ends_with("tools/cut/mod.rs"));
        assert_eq!(of("mod"), None);
    }
}
