//! Every shell script of this machine is parsed or left to the shell: no panic, no disagreement with the
//! shell.
#![allow(missing_docs, clippy::print_stdout)]

use pelton_syntax::{Dialect, parse};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PLACES: &[&str] = &[
    "/usr/bin",
    "/usr/sbin",
    "/etc",
    "/usr/lib/git-core",
    "/usr/share",
    "/usr/libexec",
    "/lib/init",
    "/opt",
];

/// Returns the dialect of the shell in a `#!` line, if it is supported.
fn dialect_of(first_line: &str) -> Option<Dialect> {
    let mut words = first_line.strip_prefix("#!")?.split_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    let name = if program == "env" { words.next()? } else { program };
    match name {
        "bash" => Some(Dialect::Bash),
        "sh" | "dash" => Some(Dialect::Posix),
        _ => None,
    }
}

fn scripts(dir: &Path, depth: usize, found: &mut Vec<(PathBuf, Dialect, Vec<u8>)>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() && depth > 0 {
            scripts(&path, depth - 1, found);
        } else if kind.is_file() && begins_with_hash_bang(&path) {
            let Ok(bytes) = std::fs::read(&path) else { continue };
            let first = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
            if let Some(dialect) = dialect_of(&String::from_utf8_lossy(first)) {
                found.push((path, dialect, bytes));
            }
        }
    }
}

fn begins_with_hash_bang(path: &Path) -> bool {
    use std::io::Read;
    let mut start = [0; 2];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"#!"
}

fn shell_accepts(path: &Path, dialect: Dialect) -> bool {
    let shell = if dialect == Dialect::Bash { "bash" } else { "dash" };
    let quiet = Command::new(shell).arg("-n").arg(path).stdin(Stdio::null()).stderr(Stdio::null()).status();
    quiet.expect("bash and dash are needed as oracles").success()
}

#[test]
fn every_script_of_this_machine_is_read_or_left() {
    let mut found = Vec::new();
    PLACES.iter().for_each(|place| scripts(Path::new(place), 6, &mut found));
    assert!(found.len() >= 20, "only {} scripts were found", found.len());
    let (mut modelled, mut left, mut not_text) = (0, std::collections::BTreeMap::<String, usize>::new(), 0);
    let mut differences = Vec::new();
    for (path, dialect, bytes) in &found {
        let Ok(text) = std::str::from_utf8(bytes) else {
            not_text += 1;
            continue;
        };
        let accepted = shell_accepts(path, *dialect);
        match parse(text, *dialect) {
            Ok(script) => match script.unmodelled() {
                Some(why) => *left.entry(format!("{why:?}")).or_default() += 1,
                None if accepted => modelled += 1,
                None => differences.push(format!("{}: modelled, but refused", path.display())),
            },
            Err(error) if accepted => {
                differences.push(format!("{}: {error} at {:?}, but accepted", path.display(), error.span));
            }
            Err(_) => modelled += 1,
        }
    }
    println!("{} scripts: {modelled} read, left to the shell {left:?}, {not_text} not UTF-8", found.len());
    let total = modelled + left.values().sum::<usize>() + not_text + differences.len();
    assert_eq!(total, found.len(), "each script is counted once");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
