//! Adds the examples of docs/add to a copy of this workspace, builds it, and uses what was added.
//!
//! A block fenced as `rust,file=PATH` is a new file. One fenced as `rust,line=PATH,after=TEXT` goes behind the first line
//! of a file that begins with TEXT. The copy keeps the times of all files, so that cargo builds only what has changed
//! since the last time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use workbench::cargo_workspace::{cargo, root, target_dir};

const PAGES: [&str; 4] = ["command", "rule", "format", "probe"];

/// What a build of the workspace needs.
const PARTS: [&str; 9] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "bench",
    "crates",
    "docs",
    "experiments",
    "rustfmt.toml",
    "workbench",
];

/// A change that a page makes.
#[derive(Debug, PartialEq)]
struct Change {
    path: String,
    /// Where its text goes; `None` for a new file.
    after: Option<String>,
    text: String,
}

/// Returns the changes of a page.
fn changes(markdown: &str) -> Vec<Change> {
    let mut found = Vec::new();
    let mut open = false;
    for line in markdown.lines() {
        if let Some(info) = line.strip_prefix("```") {
            let (path, after) =
                match info.strip_prefix("rust,line=").and_then(|info| info.split_once(",after=")) {
                    Some((path, after)) => (Some(path), Some(after.to_owned())),
                    None => (info.strip_prefix("rust,file="), None),
                };
            open = !open && path.is_some();
            found.extend(path.map(|path| Change { path: path.to_owned(), after, text: String::new() }));
        } else if let Some(change) = found.last_mut().filter(|_| open) {
            change.text += &format!("{line}\n");
        }
    }
    found
}

/// A copy of the workspace, removed on drop. Its target directory stays.
struct Copy {
    dir: PathBuf,
    target: PathBuf,
}

impl Drop for Copy {
    fn drop(&mut self) {
        // It is below the target directory, and made again by the next run.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Copy {
    fn make() -> Copy {
        let target = target_dir().unwrap().join("add-examples");
        let copy = Copy { dir: target.join("workspace"), target };
        let _ = fs::remove_dir_all(&copy.dir);
        for part in PARTS {
            clone(&root().join(part), &copy.dir.join(part));
        }
        // Its tests would not be built anyway, and it depends on everything.
        let manifest = copy.dir.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap().replace("\"xtask\", ", "");
        write(&manifest, &text, modified(&root().join("Cargo.toml")));
        copy
    }

    /// Applies the changes of a page, as old as the newest of the files concerned.
    fn apply(&self, page: &str) {
        let page = root().join("docs/add").join(page).with_extension("md");
        let changes = changes(&fs::read_to_string(&page).unwrap());
        assert_eq!(changes.len(), 2, "{}: a file and a line", page.display());
        for Change { path, after, text } in changes {
            let file = self.dir.join(&path);
            let Some(after) = after else {
                assert!(!file.exists(), "{path} is there already: the page needs another example");
                write(&file, &text, modified(&page));
                continue;
            };
            let old = fs::read_to_string(&file).unwrap();
            let mut lines: Vec<&str> = old.lines().collect();
            let at = lines.iter().position(|line| line.trim_start().starts_with(&after));
            let at = at.unwrap_or_else(|| panic!("{path}: no line begins with {after:?}"));
            lines.insert(at + 1, text.trim_end());
            write(&file, &(lines.join("\n") + "\n"), modified(&page).max(modified(&file)));
        }
    }

    /// Calls cargo in the copy; returns what it prints.
    fn cargo(&self, args: &str) -> String {
        // Built rarely and run for moments.
        let mut command = cargo(["--config", "profile.dev.package.'*'.opt-level=0"]);
        command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_TARGET_DIR", &self.target);
        command.args(args.split(' ')).current_dir(&self.dir);
        let out = command.output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        let printed = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "cargo {args}:\n{said}\n{printed}");
        printed
    }

    /// Runs the copy's pelton with a fresh home.
    fn pelton(&self, args: &[&str]) -> String {
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(self.target.join("debug/pelton"));
        command.args(args).current_dir(home.path()).env("HOME", home.path()).env("LC_ALL", "C");
        let out = command.env_remove("XDG_CACHE_HOME").output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap()
    }
}

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path)
        .and_then(|file| file.modified())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str, modified: SystemTime) {
    fs::write(path, text).unwrap();
    File::options().append(true).open(path).unwrap().set_modified(modified).unwrap();
}

/// Copies a file or a folder with its times.
fn clone(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        File::options().append(true).open(to).unwrap().set_modified(modified(from)).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        // Records of measurements are large, and no part of a build.
        if entry.file_name() != "results" {
            clone(&entry.path(), &to.join(entry.file_name()));
        }
    }
}

#[test]
fn the_examples_of_all_pages_work() {
    let copy = Copy::make();
    PAGES.iter().for_each(|page| copy.apply(page));
    copy.cargo("build --quiet --offline -p pelton");
    // The tests in their files: filters by module.
    let tests = "-- rules::uniq_uniq formats::logfmt probes::timeslices";
    let tested = copy.cargo(&format!(
        "test --quiet --offline -p pelton-plan -p pelton-report -p pelton-observe --lib {tests}"
    ));
    assert_eq!(tested.matches("test result: ok. 0 passed").count(), 0, "{tested}");
    assert_eq!(tested.matches("test result: ok.").count(), 3, "{tested}");

    // Under --strict nothing runs unless all of it is native.
    let same = |text: &str| {
        let real = Command::new("bash").args(["-c", text]).output().unwrap();
        assert_eq!(
            copy.pelton(&["run", "--strict", text]),
            String::from_utf8(real.stdout).unwrap(),
            "{text}"
        );
    };
    same("seq 100000 | sum -r");
    same("seq 1000 | cut -c1 | uniq | uniq");

    assert!(copy.pelton(&["explain", "--rules"]).contains("uniq-uniq"));
    let plan = copy.pelton(&["explain", "seq 9 | uniq | uniq"]);
    assert!(plan.contains("uniq leaves no line beside an equal one"), "{plan}");

    let shown = copy.pelton(&["time", "--format", "logfmt", "seq 3 | cat > /dev/null"]);
    assert!(shown.contains("stage=\"seq\" wall_ns=") && shown.contains("stage=\"ALL\""), "{shown}");
    assert!(copy.pelton(&["time", "--help"]).contains("logfmt"));
    assert!(copy.pelton(&["man", "formats"]).contains("for collectors of logs"));

    let record = copy.pelton(&["time", "--json", "true | cat > /dev/null"]);
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let stages = record["pipelines"][0]["stages"].as_array().unwrap();
    let stages = stages.iter().filter(|stage| stage["how"]["by"] == "process");
    let figures: Vec<u64> =
        stages.map(|stage| stage["cost"]["figures"]["timeslices"].as_u64().unwrap()).collect();
    assert!(!figures.is_empty() && figures.iter().all(|figure| *figure > 0), "{figures:?}");
    assert!(copy.pelton(&["time", "--all", "cat < /dev/null"]).contains("timeslices"));
}

#[test]
fn a_page_is_read_as_changes() {
    let page = "x\n\n```rust,file=a/b.rs\nfn b() {}\n```\n\n```rust\nother\n```\n\n```rust,line=a/mod.rs,after=mod a, b\n    mod b;\n```\nend\n";
    let change = |path: &str, after: Option<&str>, text: &str| Change {
        path: path.into(),
        after: after.map(str::to_owned),
        text: text.into(),
    };
    assert_eq!(
        changes(page),
        [change("a/b.rs", None, "fn b() {}\n"), change("a/mod.rs", Some("mod a, b"), "    mod b;\n")]
    );
}
