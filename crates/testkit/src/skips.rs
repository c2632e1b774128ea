//! Records tests that cannot run on this machine.

use std::io::Write;
use std::path::Path;

/// The environment variable with the path of the file that gets a line for each skip: `cargo xtask test`
/// prints the lines, and fails if one is not in its list.
pub const FILE: &str = "PELTON_SKIPS";

/// Records a skip, in a few words: `java`, `locale de_DE.UTF-8`.
pub fn skip(what: &str) {
    let Some(path) = std::env::var_os(FILE) else { return };
    let file = std::fs::File::options().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(format!("{what}\n").as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Whether a required program is installed; if not, records a skip.
pub fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|directory| Path::new(&directory).join(name).exists());
    if !found {
        skip(name);
    }
    found
}
