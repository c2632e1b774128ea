//! How large the release binary is.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use super::Bench;
use super::results::Results;
use workbench::Outcome;

/// Well-known programs to compare with.
const NEIGHBOURS: [&str; 4] = ["/bin/bash", "/usr/bin/gawk", "/usr/bin/jq", "/usr/bin/hyperfine"];

/// Measures bytes on disk.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let mut sizes = Map::new();
    sizes.insert("pelton".into(), Value::from(fs::metadata(&bench.pelton)?.len()));
    for path in NEIGHBOURS.map(Path::new) {
        if let (Ok(file), Some(name)) = (fs::metadata(path), path.file_name()) {
            sizes.insert(name.to_string_lossy().into(), Value::from(file.len()));
        }
    }
    let row = |(name, bytes): (&String, &Value)| format!("| {name} | {bytes} |\n");
    let rows: String = sizes.iter().map(row).collect();
    Ok(Results {
        name: "size",
        about: "The release binary as it is installed: optimised, stripped.".into(),
        body: format!("| program | bytes |\n| --- | ---: |\n{rows}"),
        claims: Vec::new(),
        data: Value::Object(sizes),
    })
}
