//! Selection by paths, compared with a naive evaluation over serde_json values; and the formats of selected
//! values.
#![allow(missing_docs)]

mod common;

use common::{Random, Trickle, document};
use pelton_json::formats::{Lines, OutputField, Records, Shown, Values};
use pelton_json::select::{PathStep, Paths, parse, parse_list};
use pelton_json::{Failure, Out, Rules, Selected, Visitor};
use serde_json::Value;

fn paths(texts: &[&str]) -> Paths {
    let steps: Vec<Vec<PathStep>> = texts.iter().map(|text| parse(text).expect(text)).collect();
    Paths::new(&steps).expect("few steps")
}

fn read(text: &str, window: usize, visitor: &mut impl Visitor) {
    match pelton_json::read(&mut Trickle(text.as_bytes(), window), Rules::default(), window, visitor) {
        Ok(()) => {}
        Err(Failure::Syntax(error)) => panic!("{error}: {text}"),
        Err(other) => panic!("{other:?}"),
    }
}

fn values_by(text: &str, texts: &[&str], raw: bool, window: usize) -> String {
    let mut bytes = Vec::new();
    let paths = paths(texts);
    let nests = paths.nests();
    read(text, window, &mut Selected::new(paths, Values::new(Out::new(&mut bytes), raw, nests)));
    String::from_utf8(bytes).expect("UTF-8")
}

fn values(text: &str, texts: &[&str]) -> String {
    values_by(text, texts, false, 1 << 16)
}

const MENU: &str = r#"{"menu": {"id": "file", "value": "File", "popup": {"menuitem": [
    {"value": "New", "n": 1}, {"value": "Open", "n": 2.5}, {"value": "Cl\"ose", "n": 10, "x": null}]}}}"#;

#[test]
fn paths_select() {
    let cases: [(&[&str], &str); 17] = [
        (&[".menu.id"], "\"file\"\n"),
        (&[".menu.popup.menuitem[].value"], "\"New\"\n\"Open\"\n\"Cl\\\"ose\"\n"),
        (&[".menu.popup.menuitem[1]"], "{\"value\":\"Open\",\"n\":2.5}\n"),
        (&[".menu.popup.menuitem[1:].n"], "2.5\n10\n"),
        (&[".menu.popup.menuitem[:1].n"], "1\n"),
        (
            &[".menu.*"],
            "\"file\"\n\"File\"\n{\"menuitem\":[{\"value\":\"New\",\"n\":1},{\"value\":\"Open\",\"n\":2.5},{\"value\":\"Cl\\\"ose\",\"n\":10,\"x\":null}]}\n",
        ),
        (&["..value"], "\"File\"\n\"New\"\n\"Open\"\n\"Cl\\\"ose\"\n"),
        (&["$..menuitem[0]"], "{\"value\":\"New\",\"n\":1}\n"),
        (&[".menu.id", ".menu.value"], "\"file\"\n\"File\"\n"),
        (&[".menu.value", ".menu.id"], "\"file\"\n\"File\"\n"),
        (&["..menuitem[?n > 2].value"], "\"Open\"\n\"Cl\\\"ose\"\n"),
        (&["..[?x].n"], "10\n"),
        (&["..[?(@.value == 'Open')].n"], "2.5\n"),
        (&["..[?value != \"New\" && n < 1e1].n"], "2.5\n"),
        (&[".nothing", ".menu[0]", ".menu.id.x"], ""),
        (&["..[?x == null].value"], "\"Cl\\\"ose\"\n"),
        (&["..menuitem[?n >= 10]"], "{\"value\":\"Cl\\\"ose\",\"n\":10,\"x\":null}\n"),
    ];
    for (texts, expected) in cases {
        for window in [64, 100, 65536] {
            assert_eq!(values_by(MENU, texts, false, window), expected, "{texts:?}");
        }
    }
}

#[test]
fn values_within_values_follow_them() {
    let text = r#"{"a": {"a": [1, {"a": 2}], "b": "x"}}"#;
    let expected = "{\"a\":[1,{\"a\":2}],\"b\":\"x\"}\n[1,{\"a\":2}]\n2\n";
    assert_eq!(values(text, &["..a"]), expected);
    assert_eq!(values(text, &[".a", ".a.b"]), "{\"a\":[1,{\"a\":2}],\"b\":\"x\"}\n\"x\"\n");
    assert_eq!(values("[[1]]", &[".."]), "[[1]]\n[1]\n1\n");
    assert_eq!(values("[{\"v\":1,\"c\":[{\"v\":2}]}]", &["..[?v].v"]), "1\n2\n");
}

#[test]
fn names_are_compared_by_what_they_mean() {
    assert_eq!(values(r#"{"\u0061": 1, "a": 2, "a\n": 3, "": 4}"#, &[".a"]), "1\n2\n");
    assert_eq!(values(r#"{"\u0061": 1, "a": 2, "a\n": 3, "": 4}"#, &["[\"a\\n\"]", "[\"\"]"]), "3\n4\n");
}

#[test]
fn strings_as_they_are_meant() {
    assert_eq!(values_by("[\"a\\nb\\u00e9\", 1, [\"x\"]]", &["[]"], true, 64), "a\nbé\n1\n[\"x\"]\n");
    let long = "é\\n\\ud83d\\ude00".repeat(500);
    assert_eq!(values_by(&format!("[\"{long}\"]"), &["[]"], true, 64), "é\n😀".repeat(500) + "\n");
}

#[test]
fn lines_of_what_is_selected() {
    let mut bytes = Vec::new();
    read(
        MENU,
        64,
        &mut Selected::new(paths(&[".menu.popup.menuitem[0]", ".menu.id"]), Lines::new(Out::new(&mut bytes))),
    );
    let at = "@.\"menu\".\"popup\".\"menuitem\".0";
    let expected = format!(
        "@.\"menu\".\"id\": \"file\"\n{at} <=> {{\n{at}.\"value\": \"New\"\n{at}.\"n\": 1\n{at} <=> }}\n"
    );
    assert_eq!(String::from_utf8(bytes), Ok(expected));
}

fn table(text: &str, records: &str, columns: &str, window: usize) -> String {
    let columns = parse_list(columns).expect("columns");
    let mut parts = Vec::new();
    for number in 0..columns.len() {
        parts.push(OutputField::Field(number));
        parts.push(OutputField::Text(if number + 1 < columns.len() {
            b"\t".to_vec()
        } else {
            b"\n".to_vec()
        }));
    }
    let mut bytes = Vec::new();
    let fields = Paths::new(&columns).expect("few steps");
    let format = Records::new(Out::new(&mut bytes), fields, columns.len(), parts, Shown::Columns);
    read(text, window, &mut Selected::new(paths(&[records]), format));
    String::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn records_become_rows() {
    let text = r#"{"id": 1, "name": "a\tb", "tags": ["x", "y"], "deep": {"er": null}} {"name": "\\", "id": true} 3
        {"id": {"a": [1, 2]}, "id2": 0}"#;
    let expected = "1\ta\\tb\ty\t\ntrue\t\\\\\t\t\n\t\t\t\n{\"a\":[1,2]}\t\t\t\n";
    for window in [64, 65536] {
        assert_eq!(table(text, ".", ".id,.name, .tags[],.deep.er", window), expected);
        assert_eq!(table("[[1,2],[3],4]", "[]", "[0],[1]", window), "1\t2\n3\t\n\t\n");
        assert_eq!(table("[1,\"a\",{\"b\":2}]", "[]", ".,.b", window), "1\t\na\t\n{\"b\":2}\t2\n");
    }
}

/// Returns the values that the steps select, naively: a value before its contents.
fn evaluate<'a>(value: &'a Value, steps: &[PathStep], found: &mut Vec<&'a Value>) {
    let Some((first, rest)) = steps.split_first() else { return found.push(value) };
    let children: Vec<(Option<&str>, u64, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (Some(name.as_str()), 0, value)).collect()
        }
        Value::Array(elements) => (0..).zip(elements).map(|(index, value)| (None, index, value)).collect(),
        _ => Vec::new(),
    };
    if *first == PathStep::Deep {
        evaluate(value, rest, found);
    }
    for (name, index, child) in children {
        match first {
            PathStep::Deep => evaluate(child, steps, found),
            PathStep::Any => evaluate(child, rest, found),
            PathStep::Key(key) if name.map(str::as_bytes) == Some(key) => evaluate(child, rest, found),
            PathStep::Slice(from, to) if name.is_none() && (*from..*to).contains(&index) => {
                evaluate(child, rest, found)
            }
            _ => {}
        }
    }
}

/// Returns each value once, in document order.
fn in_order<'a>(value: &'a Value, wanted: &[&'a Value], found: &mut Vec<&'a Value>) {
    if wanted.iter().any(|one| std::ptr::eq(*one, value)) {
        found.push(value);
    }
    match value {
        Value::Object(members) => members.values().for_each(|value| in_order(value, wanted, found)),
        Value::Array(elements) => elements.iter().for_each(|value| in_order(value, wanted, found)),
        _ => {}
    }
}

#[test]
fn random_paths_over_random_documents() {
    const PARTS: [&str; 9] = [".a", ".b", ".\"a b\"", "[0]", "[1:]", "[]", ".*", "..a", "..[0]"];
    let mut random = Random::new(7);
    for _ in 0..3000 {
        let mut text = String::new();
        document(&mut random, 5, &mut text);
        let Ok(value) = serde_json::from_str::<Value>(&text) else { continue };
        // Duplicate names or another order: serde_json sorts, and keeps the last duplicate.
        let text = value.to_string();
        let chosen: Vec<String> = (0..1 + random.below(2))
            .map(|_| (0..1 + random.below(3)).map(|_| random.pick(&PARTS)).collect())
            .collect();
        let chosen: Vec<&str> = chosen.iter().map(String::as_str).collect();
        let mut wanted = Vec::new();
        for path in &chosen {
            evaluate(&value, &parse(path).expect(path), &mut wanted);
        }
        let mut found = Vec::new();
        in_order(&value, &wanted, &mut found);
        let expected: String = found.iter().map(|value| format!("{value}\n")).collect();
        assert_eq!(values(&text, &chosen), expected, "{chosen:?} {text}");
        assert_eq!(values_by(&text, &chosen, false, 64), expected, "{chosen:?} {text}");
    }
}
