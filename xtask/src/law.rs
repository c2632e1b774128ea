//! The import law, and the limits on unsafe code and on printing.
//!
//! A crate may import only crates before it in [`ORDER`]. Only `sys` may use libc; only `sys` and `simd` may contain
//! unsafe code.
//! Only `cli` may print or exit. docs/architecture.md names exactly the existing crates. Registries list every file of
//! their folders.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::registries;
use workbench::cargo_workspace::{metadata, root};
use workbench::{Failure, Outcome};

/// The crates of pelton, each before its importers.
pub const ORDER: [&str; 19] = [
    "record",
    "simd",
    "sys",
    "parallel",
    "buffer",
    "copy",
    "find",
    "syntax",
    "stream",
    "json",
    "csv",
    "commands",
    "verify",
    "plan",
    "observe",
    "run",
    "distribute",
    "report",
    "cli",
];
/// Imported by tests only; may import any of [`ORDER`].
const TESTKIT: &str = "testkit";
/// Not part of pelton: may import anything, and no crate of pelton imports them.
const DEVELOPERS: [&str; 4] = ["workbench", "bench", "experiments", "xtask"];
/// The crates with unsafe code.
const UNSAFE: [&str; 2] = ["simd", "sys"];
/// Only for `sys`.
const LIBC: &str = "libc";
/// Safe wrappers of system calls: for `sys`, for `cli` (terminal width), and for tests.
const WRAPPERS: [&str; 2] = ["nix", "rustix"];
/// Lints that must be allowed to print or exit; only in `cli`.
const LOOSE: [&str; 4] = ["clippy::print_stdout", "clippy::print_stderr", "clippy::exit", "clippy::all"];
/// Ways to print that the lints do not see. `run` may use them: its workers replace stages, and write the
/// output of these stages.
const HANDLES: [&str; 2] = ["io::stdout", "io::stderr"];

/// A crate of the workspace, as the law sees it.
#[derive(Clone, Debug, Default)]
pub struct Crate {
    /// Its name without `pelton-`; the binary is `cli`.
    pub name: String,
    /// Its dependencies, in the workspace and outside.
    pub imports: Vec<Import>,
    /// The text of its Cargo.toml.
    pub manifest: String,
    /// Its files under `src`: path and text.
    pub sources: Vec<(String, String)>,
}

/// One dependency.
#[derive(Clone, Debug)]
pub struct Import {
    /// In the form of [`Crate::name`].
    pub name: String,
    /// Whether it is a dev-dependency.
    pub dev: bool,
}

/// Fails with every violation in this workspace.
pub fn run() -> Outcome {
    let architecture = root().join("docs/architecture.md");
    let architecture =
        fs::read_to_string(&architecture).map_err(|e| format!("{}: {e}", architecture.display()))?;
    let workspace_manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let mut violations = violations(&crates()?, &workspace_manifest, &architecture);
    violations.extend(registries::unlisted()?);
    if violations.is_empty() { Ok(()) } else { Err(violations.join("\n  ").into()) }
}

/// Describes every violation of the law.
pub fn violations(crates: &[Crate], workspace_manifest: &str, architecture: &str) -> Vec<String> {
    let mut found = Vec::new();
    for one in crates {
        found.extend(one.imports.iter().filter_map(|import| order(&one.name, import)));
        found.extend(lints(one));
        found.extend(loud(one));
    }
    if !workspace_manifest.contains("unsafe_code = \"forbid\"") {
        found.push("Cargo.toml: the workspace's lints must forbid unsafe code".into());
    }
    found.extend(map(crates, architecture));
    found
}

/// Describes why `importer` may not have this import, if so.
fn order(importer: &str, import: &Import) -> Option<String> {
    let rank = |name: &str| ORDER.iter().position(|&one| one == name);
    let name = import.name.as_str();
    let wrong = |why: &str| Some(format!("{importer} must not import {name}: {why}"));
    match (rank(importer), rank(name)) {
        _ if DEVELOPERS.contains(&importer) => None,
        _ if DEVELOPERS.contains(&name) => wrong("it is no part of pelton"),
        _ if name == TESTKIT && !import.dev => wrong("testkit is for tests"),
        (None, _) if importer != TESTKIT => Some(format!("{importer} has no place in the order of imports")),
        (Some(a), Some(b)) if a <= b => wrong("a crate imports only those before it"),
        _ if importer == "sys" || (importer == "cli" && WRAPPERS.contains(&name)) => None,
        _ if name == LIBC => wrong("only sys talks to libc"),
        (Some(_), _) if WRAPPERS.contains(&name) && !import.dev => wrong("only sys talks to libc"),
        _ => None,
    }
}

/// Checks that every crate but `sys` and `simd` has the workspace's lints unchanged: they forbid unsafe code.
fn lints(one: &Crate) -> Option<String> {
    let section = one.manifest.split("\n[").find_map(|section| section.strip_prefix("lints]"));
    let inherited = section.is_some_and(|body| body.lines().any(|line| line.trim() == "workspace = true"));
    (!UNSAFE.contains(&one.name.as_str()) && !inherited)
        .then(|| format!("{}: Cargo.toml must say [lints] workspace = true", one.name))
}

/// Finds code that lets a crate other than `cli` print. Clippy sees direct printing.
fn loud(one: &Crate) -> Vec<String> {
    if one.name == "cli" || DEVELOPERS.contains(&one.name.as_str()) {
        return Vec::new();
    }
    let handles = HANDLES.iter().filter(|_| one.name != "run");
    let banned: Vec<&str> = LOOSE.iter().chain(handles).copied().collect();
    let mut found = Vec::new();
    for (path, text) in &one.sources {
        let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        for (number, line) in code {
            if let Some(what) = banned.iter().find(|what| has_word(line, what)) {
                found.push(format!("{path}:{}: {what}: only cli prints or exits", number + 1));
            }
        }
    }
    found
}

/// Whether `what` occurs in `line`, and not as the end of a longer name.
fn has_word(line: &str, what: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(what).any(|(at, _)| !line[..at].ends_with(is_name))
}

/// Checks that docs/architecture.md has a heading `### crates/NAME` for each crate, and no other.
fn map(crates: &[Crate], architecture: &str) -> Vec<String> {
    let on_disk: BTreeSet<&str> =
        crates.iter().map(|one| one.name.as_str()).filter(|name| !DEVELOPERS.contains(name)).collect();
    let in_doc: BTreeSet<&str> =
        architecture.lines().filter_map(|line| line.strip_prefix("### crates/")).map(str::trim).collect();
    let missing = on_disk
        .difference(&in_doc)
        .map(|name| format!("docs/architecture.md: crates/{name} is not on the map"));
    let gone =
        in_doc.difference(&on_disk).map(|name| format!("docs/architecture.md: there is no crates/{name}"));
    missing.chain(gone).collect()
}

/// Returns the crates of this workspace.
pub fn crates() -> Outcome<Vec<Crate>> {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    packages.iter().map(read).collect()
}

fn read(package: &Value) -> Outcome<Crate> {
    let odd = || -> Failure { "cargo metadata is not what it was".into() };
    let manifest = Path::new(package["manifest_path"].as_str().ok_or_else(odd)?);
    let mut one = Crate {
        name: short(package["name"].as_str().ok_or_else(odd)?),
        manifest: fs::read_to_string(manifest)?,
        ..Crate::default()
    };
    for dependency in package["dependencies"].as_array().ok_or_else(odd)? {
        let mut name = short(dependency["name"].as_str().ok_or_else(odd)?);
        if !dependency["source"].is_null() && ORDER.contains(&name.as_str()) {
            // An outside crate with the name of one of ours (csv).
            name.push_str(" of others");
        }
        one.imports.push(Import { name, dev: dependency["kind"] == "dev" });
    }
    collect_sources(&manifest.with_file_name("src"), &mut one.sources)?;
    Ok(one)
}

fn short(package: &str) -> String {
    if package == "pelton" { "cli".into() } else { package.strip_prefix("pelton-").unwrap_or(package).into() }
}

fn collect_sources(dir: &Path, into: &mut Vec<(String, String)>) -> Outcome {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_sources(&path, into)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let shown = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            into.push((shown, fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const INHERITS: &str = "[package]\nname = \"x\"\n\n[lints]\nworkspace = true\n\n[dependencies]\n";
    const FORBIDS: &str = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n";

    fn one(name: &str, imports: &[&str]) -> Crate {
        let imports = imports.iter().map(|&name| Import { name: name.into(), dev: false }).collect();
        Crate { name: name.into(), imports, manifest: INHERITS.into(), sources: Vec::new() }
    }

    fn judge(one: Crate) -> Vec<String> {
        let architecture = format!("### crates/{}\n", one.name);
        violations(&[one], FORBIDS, &architecture)
    }

    #[test]
    fn the_law_allows_what_points_backwards() {
        assert_eq!(judge(one("run", &["record", "sys", "syntax", "observe", "serde"])), Vec::<String>::new());
        assert_eq!(judge(one("sys", &["libc", "rustix"])), Vec::<String>::new());
        assert_eq!(judge(one("testkit", &["record", "run"])), Vec::<String>::new());
    }

    #[test]
    fn the_law_catches_an_import_of_a_later_crate() {
        assert_eq!(
            judge(one("observe", &["run"])),
            ["observe must not import run: a crate imports only those before it"]
        );
        assert_eq!(judge(one("record", &["record"])).len(), 1);
    }

    #[test]
    fn the_law_catches_tests_in_the_product() {
        assert_eq!(judge(one("run", &["testkit"])), ["run must not import testkit: testkit is for tests"]);
        assert_eq!(
            judge(one("testkit", &["xtask"])),
            ["testkit must not import xtask: it is no part of pelton"]
        );
        let mut tested = one("run", &[]);
        tested.imports.push(Import { name: TESTKIT.into(), dev: true });
        assert_eq!(judge(tested), Vec::<String>::new());
    }

    #[test]
    fn the_law_catches_libc_outside_sys() {
        assert_eq!(
            judge(one("observe", &["libc"])),
            ["observe must not import libc: only sys talks to libc"]
        );
    }

    #[test]
    fn the_law_catches_a_crate_without_a_place() {
        assert_eq!(judge(one("turbo", &["record"])), ["turbo has no place in the order of imports"]);
    }

    #[test]
    fn the_law_catches_lints_that_are_not_inherited() {
        let own = "[package]\n\n[lints.rust]\nunsafe_code = \"allow\"\n";
        let loose = Crate { manifest: own.into(), ..one("run", &[]) };
        assert_eq!(judge(loose), ["run: Cargo.toml must say [lints] workspace = true"]);
        let sys = Crate { manifest: own.into(), ..one("sys", &[]) };
        assert_eq!(judge(sys), Vec::<String>::new());
        assert_eq!(violations(&[], "", "").len(), 1);
    }

    #[test]
    fn the_law_catches_a_crate_that_arranges_to_speak() {
        let text = "// io::stdout is for cli\n#![allow(clippy::print_stdout)]\nfn f() { std::io::stderr(); }\n\
                    fn g() { rustix::stdio::stdout(); }\n";
        let sources = vec![("lib.rs".to_owned(), text.to_owned())];
        let loud = Crate { sources: sources.clone(), ..one("report", &[]) };
        assert_eq!(
            judge(loud),
            [
                "lib.rs:2: clippy::print_stdout: only cli prints or exits",
                "lib.rs:3: io::stderr: only cli prints or exits"
            ]
        );
        assert_eq!(
            judge(Crate { sources: sources.clone(), ..one("run", &[]) }).len(),
            1,
            "its workers may write"
        );
        assert_eq!(judge(Crate { sources, ..one("cli", &[]) }), Vec::<String>::new());
    }

    #[test]
    fn the_map_shows_the_crates_there_are() {
        let crates = [one("record", &[]), one("sys", &[])];
        assert_eq!(
            violations(&crates, FORBIDS, "### crates/record\n### crates/plan\n"),
            [
                "docs/architecture.md: crates/sys is not on the map",
                "docs/architecture.md: there is no crates/plan"
            ]
        );
    }
}
