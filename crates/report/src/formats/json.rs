//! JSON: the record itself, indented, in the order in which the record declares its fields.
//!
//! The record's documentation and [`schema`] describe the fields. All control, invisible and bidirectional
//! characters are escaped: JSON requires that only below U+0020, but U+009B starts an escape sequence too. A
//! JSON reader gets the original text.

use std::fmt::Write as _;

use pelton_record::Run;
use serde::Serialize;
use serde_json::Value;

use super::{Style, Subject};
use crate::text;

/// Renders a record as JSON.
pub fn render(subject: &Subject<'_>, _style: &Style) -> String {
    pretty(subject.run)
}

/// Renders any record.
pub fn pretty(record: &impl Serialize) -> String {
    // A record has string keys only and no failing serializer: the error is unreachable, but still has a
    // form.
    let text = serde_json::to_string_pretty(record)
        .unwrap_or_else(|error| Value::String(error.to_string()).to_string());
    escaped(&text) + "\n"
}

/// Renders a record on one line.
pub fn compact(record: &impl Serialize) -> String {
    let text =
        serde_json::to_string(record).unwrap_or_else(|error| Value::String(error.to_string()).to_string());
    escaped(&text) + "\n"
}

/// Returns the JSON Schema of the record, for programs that read `--format json`.
pub fn schema() -> Value {
    schemars::schema_for!(Run).to_value()
}

/// Escapes characters that a terminal would obey or not show. They only occur in strings, where JSON allows
/// UTF-16 escapes.
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
        samples::check("json", &pretty(&samples::lists()));
    }

    #[test]
    fn a_reader_gets_the_record_back() {
        for (name, run) in samples::all() {
            let back: Run = serde_json::from_str(&pretty(&run)).unwrap();
            assert_eq!(serde_json::to_value(back).unwrap(), serde_json::to_value(run).unwrap(), "{name}");
        }
    }

    #[test]
    fn no_control_is_left_raw() {
        let shown = pretty(&samples::hostile());
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
