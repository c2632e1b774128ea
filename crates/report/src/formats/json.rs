//! JSON: the record itself, indented, in the order in which the record declares its fields.
//!
//! What the fields mean is in the record's documentation and in [`schema`]. Characters that a terminal would obey
//! are escaped, all of them, and those that are not seen or turn the line round: JSON asks for that only below U+0020,
//! but U+009B starts an escape sequence as well. Who reads the JSON gets the text as it is.

use std::fmt::Write as _;

use pelton_record::Run;
use serde::Serialize;
use serde_json::Value;

use crate::text;

/// Shows `run` as JSON.
pub fn render(run: &Run) -> String {
    pretty(run)
}

/// Any record as JSON.
pub fn pretty(record: &impl Serialize) -> String {
    // A record has string keys only and no failing serializer, so the error is out of reach; it still gets a form.
    let text = serde_json::to_string_pretty(record)
        .unwrap_or_else(|error| Value::String(error.to_string()).to_string());
    escaped(&text) + "\n"
}

/// Any record as JSON on one line.
pub fn compact(record: &impl Serialize) -> String {
    let text =
        serde_json::to_string(record).unwrap_or_else(|error| Value::String(error.to_string()).to_string());
    escaped(&text) + "\n"
}

/// The JSON Schema of the record, for those who read `--format json` by program.
pub fn schema() -> Value {
    schemars::schema_for!(Run).to_value()
}

/// Escapes what a terminal would obey or not show. It can only stand inside of strings, where JSON allows the escape, which
/// is one of UTF-16.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        if c == '\u{7f}' || text::is_invisible(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| _ = write!(out, "\\u{unit:04x}"));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn looks_like_this() {
        samples::check("json", &render(&samples::lists()));
    }

    #[test]
    fn a_reader_gets_the_record_back() {
        for (name, run) in samples::all() {
            let back: Run = serde_json::from_str(&render(&run)).unwrap();
            assert_eq!(serde_json::to_value(back).unwrap(), serde_json::to_value(run).unwrap(), "{name}");
        }
    }

    #[test]
    fn no_control_is_left_raw() {
        let shown = render(&samples::hostile());
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n'));
        assert!(shown.contains("\\u009b"), "{shown}");
    }

    #[test]
    fn the_schema_names_the_fields() {
        let Value::Object(record) = serde_json::to_value(samples::simple()).unwrap() else { panic!() };
        let schema = schema();
        let named = schema["properties"].as_object().unwrap();
        assert!(record.keys().eq(named.keys()), "{schema}");
    }
}
