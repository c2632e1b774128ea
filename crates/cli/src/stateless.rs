//! Commands declared to treat each line by itself: `--stateless`, and a file.
//!
//! ```toml
//! # ~/.config/pelton/stateless.toml
//! commands = ["tokenize", "normalise --lines"]
//! ```

use crate::failure::Failure;
use pelton_run::Declared;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The file's contents.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated {
    commands: Vec<String>,
}

/// Declares `given` and those of the file.
///
/// # Errors
/// If one of them is not a command, or the file cannot be read or parsed.
pub fn declare(given: &[String]) -> Result<(), Failure> {
    let mut declared = Declared::default();
    for text in given {
        declared.add(text).map_err(|reason| {
            Failure::new(format!("--stateless `{text}`: {reason}"))
                .with_help("pelton run --stateless 'tokenize --lines' 'tokenize --lines < big.txt | sort'")
        })?;
    }
    if let Some(path) = path() {
        for text in stated(&path)? {
            declared.add(&text).map_err(|reason| {
                Failure::new(format!("{}: `{text}`: {reason}", path.display()))
                    .with_help("commands = [\"tokenize\", \"normalise --lines\"]")
            })?;
        }
    }
    pelton_run::set_declared(declared);
    Ok(())
}

/// `$XDG_CONFIG_HOME/pelton/stateless.toml`, or under `~/.config`.
fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A relative path must be ignored (XDG base directory specification).
    let folder = set("XDG_CONFIG_HOME")
        .filter(|folder| folder.is_absolute())
        .or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("pelton/stateless.toml"))
}

fn stated(path: &Path) -> Result<Vec<String>, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(Failure::new(format!("{} is not UTF-8", path.display())));
        }
        // The file is optional; an unreadable one counts as missing.
        Err(_) => return Ok(Vec::new()),
    };
    let stated: Result<Stated, _> = toml::from_str(&text);
    stated.map(|stated| stated.commands).map_err(|error| {
        Failure::new(format!("{}: {}", path.display(), error.message()))
            .with_help("commands = [\"tokenize\", \"normalise --lines\"]")
    })
}
