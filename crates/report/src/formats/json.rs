//! JSON: the record itself, indented, in the order in which the record declares its fields.
//!
//! What the fields mean is in the record's documentation and in [`schema`]. Characters that a terminal would obey
//! are escaped, all of them: JSON asks for that only below U+0020, but U+009B starts an escape sequence as well.

use std::fmt::Write as _;

use pelton_record::Run;
use serde_json::Value;

/// Shows `run` as JSON.
pub fn render(run: &Run) -> String {
    // A record has string keys only and no failing serializer, so the error is out of reach; it still gets a form.
    let text = serde_json::to_string_pretty(run)
        .unwrap_or_else(|error| Value::String(error.to_string()).to_string());
    let mut safe = escape_controls(&text);
    safe.push('\n');
    safe
}

/// The JSON Schema of the record, for those who read `--format json` by program.
pub fn schema() -> Value {
    schemars::schema_for!(Run).to_value()
}

/// Escapes DEL and the C1 controls. They can only stand inside of strings, where JSON allows the escape.
fn escape_controls(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}' => _ = write!(out, "\\u{:04x}", u32::from(c)),
            _ => out.push(c),
        }
    }
    out
}
