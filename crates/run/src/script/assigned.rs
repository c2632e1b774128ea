//! Which variables are certainly set where a stage expands them: under `set -u` any other could end the stage.

use pelton_syntax::{Nested, Simple, Word};
use std::collections::BTreeSet;

/// Returns the variables that the text may unset after it has assigned to them, or replace by arrays or by local ones without
/// a value; `None` if these may be any.
pub fn may_be_unset(
    text: &str,
    names: &[&str],
    found: &[Nested],
    computes: bool,
) -> Option<BTreeSet<String>> {
    const ANYTHING: [&str; 4] = ["unset", "coproc", "nameref", "builtin"];
    if computes || ANYTHING.iter().any(|word| names.contains(word)) {
        return None;
    }
    let mut unset = BTreeSet::new();
    for stage in found.iter().flat_map(|one| &one.pipeline.stages) {
        let Some(simple) = stage.simple() else { continue };
        let written = simple.assignments.iter().map(|one| (one.name.clone(), one.span.of(text)));
        let arrays = written.filter(|(_, written)| written.contains('[') || written.contains("=("));
        unset.extend(arrays.map(|(name, _)| name));
        declared(text, simple, &mut unset)?;
    }
    Some(unset)
}

/// Adds the variables that a command declares, or makes arrays of. `None` if their names are computed.
fn declared(text: &str, simple: &Simple, unset: &mut BTreeSet<String>) -> Option<()> {
    const COMMANDS: [&str; 10] = [
        "local",
        "declare",
        "typeset",
        "export",
        "readonly",
        "read",
        "mapfile",
        "readarray",
        "wait",
        "command",
    ];
    let Some((command, words)) = simple.words.split_first() else { return Some(()) };
    let Some(command) = command.static_text().filter(|name| COMMANDS.contains(&name.as_str())) else {
        return Some(());
    };
    let written = |word: &Word| word.span.of(text).to_owned();
    let words: Vec<String> = words.iter().map(written).collect();
    let has_options = words.iter().any(|word| word.starts_with(['-', '+']));
    if matches!(command.as_str(), "local" | "declare" | "typeset")
        && words.iter().any(|word| word.starts_with('-') && word.contains('n'))
    {
        // Another name for a variable.
        return None;
    }
    if !has_options && matches!(command.as_str(), "read" | "export" | "wait" | "command") {
        return Some(());
    }
    for word in words.iter().filter(|word| !word.starts_with(['-', '+'])) {
        let (name, value) =
            word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            // A computed name, or the prompt of `read -p`.
            return (command == "read" && !words.iter().any(|word| word.starts_with("-a"))).then_some(());
        }
        if has_options || value.is_none_or(|value| value.starts_with('(')) {
            unset.insert(name.to_owned());
        }
    }
    Some(())
}
