//! Random documents, valid and mutated, compared with serde_json, the two-stage awk parser, and our parser
//! with other window sizes.
//!
//! `cargo test` runs a subset; PELTON_FUZZ_CASES sets the number of documents, PELTON_SEED the seed.
#![allow(missing_docs)]

mod common;

use common::{Random, document, judge, lines, mutate, tokens};
use pelton_json::Rules;
use serde::de::IgnoredAny;
use std::io::Write as _;
use std::process::{Command, Stdio};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn serde_json_agrees_on_what_is_json() {
    let (cases, seed) = (number("PELTON_FUZZ_CASES", 20_000), number("PELTON_SEED", 1));
    let mut random = Random::new(seed);
    let mut accepted = 0;
    for _ in 0..cases {
        let mut text = String::new();
        document(&mut random, 5, &mut text);
        let mut text = text.into_bytes();
        if random.below(3) > 0 {
            mutate(&mut random, &mut text);
        }
        let valid = std::str::from_utf8(&text).is_ok() && serde_json::from_slice::<IgnoredAny>(&text).is_ok();
        let ours = judge(&text);
        assert_eq!(ours.is_ok(), valid, "{}: {ours:?}", text.escape_ascii());
        accepted += u64::from(valid);
        let small = (64 + random.below(80), 1 + random.below(100));
        let whole = lines(&text, Rules::default(), 1 << 16, 1 << 16);
        let pieces = lines(&text, Rules::default(), small.0, small.1);
        assert_eq!(pieces.1, whole.1, "{}", text.escape_ascii());
        // A part of an unclosed string may have been printed.
        let exact = whole.1.is_none();
        assert!(
            pieces.0.starts_with(&whole.0) && (!exact || pieces.0.len() == whole.0.len()),
            "{}",
            text.escape_ascii()
        );
        let mut stream = serde_json::Deserializer::from_slice(&text).into_iter::<IgnoredAny>();
        let valid = std::str::from_utf8(&text).is_ok() && stream.all(|one| one.is_ok());
        if valid {
            // Between documents, serde_json requires blanks after numbers and words even where there is no
            // ambiguity.
            assert_eq!(whole.1, None, "{}", text.escape_ascii());
        }
    }
    let _ = writeln!(std::io::stdout(), "tally: json inputs={cases} accepted={accepted} differences=0");
}

#[test]
fn the_two_stage_parser_in_awk_prints_the_same() {
    let mut random = Random::new(number("PELTON_SEED", 1));
    let mut text = String::new();
    for _ in 0..500 {
        document(&mut random, 5, &mut text);
        text.push('\n');
    }
    // The tokenizer takes a carriage return alone on a line as a token.
    text.retain(|character| character != '\r');
    let [tokenize, parse] = ["tokenize", "parse"]
        .map(|stage| format!("{}/../../bench/awk/{stage}.awk", env!("CARGO_MANIFEST_DIR")));
    let stage = |script: &str, input: &[u8]| {
        let mut child = Command::new("awk")
            .args(["-f", script])
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("awk starts");
        let mut stdin = child.stdin.take().expect("piped");
        std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input).expect("awk reads"));
            child.wait_with_output().expect("awk ends").stdout
        })
    };
    let expected_tokens = stage(&tokenize, text.as_bytes());
    let expected_lines = stage(&parse, &expected_tokens);
    let (found, error) = tokens(text.as_bytes(), Rules::default(), 4096, 4096);
    assert_eq!(error, None);
    same(&found, &expected_tokens);
    let (found, error) = lines(text.as_bytes(), Rules::default(), 4096, 4096);
    assert_eq!(error, None);
    same(&found, &expected_lines);
}

fn same(found: &[u8], expected: &[u8]) {
    let (found, expected) = (String::from_utf8_lossy(found), String::from_utf8_lossy(expected));
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", number + 1);
    }
    assert_eq!(found.len(), expected.len());
}
