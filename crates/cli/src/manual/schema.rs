//! Pages on the JSON formats, from the JSON schemas of the record types.

use super::page::{Block, Page};
use serde_json::{Map, Value};

/// Makes the run record page.
pub fn record() -> Page {
    let summary = "The fields of `pelton time --json`.";
    page("record", summary, "pelton time --schema", &pelton_report::schema())
}

/// Makes the diagnosis page.
pub fn diagnosis() -> Page {
    let summary = "The fields of `pelton doctor --json`.";
    page("diagnosis", summary, "pelton doctor --schema", &pelton_report::diagnosis::schema())
}

fn page(topic: &str, summary: &str, command: &str, schema: &Value) -> Page {
    let text = format!(
        "`{command}` prints all of this as a JSON schema. A ? behind a type: it may be null, which means unknown or not asked \
         for, never 0. Within a version fields are only added."
    );
    let mut blocks = vec![Block::Paragraph(text), Block::Heading("The object".into())];
    blocks.extend(described(schema));
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        blocks.push(Block::Heading(name.clone()));
        blocks.extend(described(definition));
    }
    Page { topic: topic.into(), section: 5, summary: summary.into(), blocks }
}

/// Describes a type: its sentence, then its fields or variants.
fn described(schema: &Value) -> Vec<Block> {
    let mut blocks: Vec<Block> = sentence(schema).map(Block::Paragraph).into_iter().collect();
    if let Some(fields) = schema["properties"].as_object() {
        blocks.push(Block::Terms(terms(fields)));
    }
    let choices = ["oneOf", "anyOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
    let choices: Vec<_> = choices.flat_map(choice).collect();
    if !choices.is_empty() {
        blocks.push(Block::Terms(choices));
    }
    if let Some(names) = schema["enum"].as_array() {
        blocks.push(Block::Paragraph(format!(
            "One of {}.",
            names.iter().map(quoted).collect::<Vec<_>>().join(", ")
        )));
    }
    blocks
}

fn terms(fields: &Map<String, Value>) -> Vec<(String, String)> {
    let term = |(name, schema): (&String, &Value)| {
        (format!("{name}: {}", kind(schema)), sentence(schema).unwrap_or_default())
    };
    fields.iter().map(term).collect()
}

/// Describes one variant of a type: a word, or an object with its fields.
fn choice(schema: &Value) -> Vec<(String, String)> {
    let said = sentence(schema).unwrap_or_default();
    match (&schema["const"], schema["enum"].as_array(), schema["properties"].as_object()) {
        (Value::String(word), _, _) => vec![(format!("\"{word}\""), said)],
        (_, Some(words), _) => words.iter().map(|word| (quoted(word), said.clone())).collect(),
        (_, _, Some(fields)) => {
            let inner: Vec<String> =
                fields.iter().map(|(name, field)| format!("\"{name}\": {}", kind(field))).collect();
            vec![(format!("{{{}}}", inner.join(", ")), said)]
        }
        _ => vec![(kind(schema), said)],
    }
}

fn quoted(value: &Value) -> String {
    value.to_string()
}

/// Names a type briefly.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        return name.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let (null, rest): (Vec<_>, Vec<_>) = choices.iter().partition(|one| one["type"] == "null");
        let names: Vec<String> = rest.into_iter().map(kind).collect();
        return format!("{}{}", names.join(" or "), if null.is_empty() { "" } else { "?" });
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => match schema["prefixItems"].as_array() {
            Some(items) => format!("[{}]", items.iter().map(kind).collect::<Vec<_>>().join(", ")),
            None => format!("list of {}", kind(&schema["items"])),
        },
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let plain: Vec<&str> =
                names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect();
            let plain = match plain.as_slice() {
                ["array"] => format!("list of {}", kind(&schema["items"])),
                _ => plain.join(" or "),
            };
            format!("{plain}{}", if names.iter().any(|name| name == "null") { "?" } else { "" })
        }
        _ => "anything".to_owned(),
    }
}

fn sentence(schema: &Value) -> Option<String> {
    let text = schema["description"].as_str()?;
    // The sentences come from doc comments: links lead nowhere here.
    Some(
        text.replace("\n\n", " ")
            .replace('\n', " ")
            .replace("[`", "`")
            .replace("`]", "`")
            .replace("`None`", "null"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_are_told_in_a_word() {
        assert_eq!(kind(&json!({"type": ["integer", "null"]})), "integer?");
        assert_eq!(kind(&json!({"type": "array", "items": {"$ref": "#/$defs/Stage"}})), "list of Stage");
        assert_eq!(kind(&json!({"anyOf": [{"$ref": "#/$defs/End"}, {"type": "null"}]})), "End?");
        assert_eq!(
            kind(&json!({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]})),
            "[integer, string]"
        );
    }

    #[test]
    fn every_field_of_the_record_has_a_sentence() {
        for page in [record(), diagnosis()] {
            for block in &page.blocks {
                let Block::Terms(terms) = block else { continue };
                for (term, said) in
                    terms.iter().filter(|(term, _)| term.contains(": ") && !term.starts_with('{'))
                {
                    assert!(!said.is_empty(), "{}: {term}", page.topic);
                }
            }
        }
    }
}
