//! Renders a [`record::Diagnosis`](pelton_record::Diagnosis): as text, as JSON, as a graph.

mod dot;
mod places;
pub(crate) mod prose;

use pelton_record::Diagnosis;
use serde_json::Value;

pub use dot::render as dot;
pub use prose::render as prose;

/// Renders as JSON.
pub fn json(diagnosis: &Diagnosis) -> String {
    crate::formats::json::pretty(diagnosis)
}

/// Returns the JSON Schema.
pub fn schema() -> Value {
    schemars::schema_for!(Diagnosis).to_value()
}

#[cfg(test)]
mod samples {
    use pelton_record::Diagnosis;
    use pelton_record::diagnosis::*;

    fn wait(pid: u32, what: What, words: &str, fd: Option<u32>, by: &[(u32, Option<u32>)]) -> Wait {
        Wait {
            pid,
            thread: pid,
            words: words.into(),
            what,
            fd,
            object: fd.map(|_| "pipe:[9]".into()),
            fill_bytes: fd.map(|_| 65_536),
            capacity_bytes: fd.map(|_| 65_536),
            by: by.iter().map(|&(pid, fd)| Holder { pid, fd }).collect(),
            stacks: Vec::new(),
        }
    }

    fn process(pid: u32, name: &str) -> Process {
        Process { pid, name: name.into(), command: format!("{name} \"x\"\u{1b}[31m"), ..Process::default() }
    }

    /// A parent that waits without reading, and an idle pair.
    pub fn diagnosis() -> Diagnosis {
        let dead = Finding {
            health: Health::Dead,
            kind: Kind::WaitsWithoutReading,
            headline: "python3 (10) is deadlocked".into(),
            root_cause: vec![10, 11],
            waits: vec![
                wait(10, What::Child, "waits for its child yes (11) to end", None, &[(11, None)]),
                wait(11, What::Room, "blocked on write to its standard output", Some(1), &[(10, Some(3))]),
            ],
            still_ns: Some(12_300_000_000),
            cure: Some("read before waiting".into()),
        };
        let idle = Finding {
            health: Health::Idle,
            kind: Kind::Timer,
            headline: "sleep (20) waits for a time to pass; cat (21) waits for it".into(),
            root_cause: vec![20],
            waits: vec![wait(21, What::Data, "blocked on read", Some(0), &[(20, Some(1))])],
            still_ns: None,
            cure: None,
        };
        Diagnosis {
            diagnosis_version: DIAGNOSIS_VERSION,
            pelton_version: "0.1.0".into(),
            taken_unix_ms: 0,
            wall_ns: 80_000_000,
            health: Health::Dead,
            findings: vec![dead, idle],
            processes: vec![
                process(10, "python3"),
                process(11, "yes"),
                process(20, "sleep"),
                process(21, "cat"),
            ],
            processes_seen: 90,
            processes_hidden: 3,
            processes_idle: 40,
            threads: None,
            notes: vec!["a note".into()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gets_the_diagnosis_back() {
        let text = json(&samples::diagnosis());
        let back: Diagnosis = serde_json::from_str(&text).unwrap();
        assert_eq!(json(&back), text);
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn the_schema_names_the_fields() {
        let schema = schema();
        let named = schema["properties"].as_object().unwrap();
        let Value::Object(fields) = serde_json::to_value(samples::diagnosis()).unwrap() else { panic!() };
        assert!(fields.keys().eq(named.keys()), "{schema}");
    }
}
