//! Texts made to break a parser: deep, long, truncated, or random. Each must return a result quickly.
#![allow(missing_docs, clippy::print_stdout)]

mod common;

use pelton_syntax::{Dialect, parse, shell_hazards};
use pelton_testkit::Random;
use std::time::{Duration, Instant};

fn both(text: &str) -> Duration {
    let begun = Instant::now();
    for dialect in [Dialect::Bash, Dialect::Posix] {
        match parse(text, dialect) {
            Ok(script) => {
                script.items.iter().for_each(|item| assert!(item.span.of(text).len() <= text.len()))
            }
            Err(error) => assert!(error.span.of(text).len() <= text.len()),
        }
    }
    if let Some(hazard) = shell_hazards(text) {
        let _ = hazard.span.of(text);
    }
    begun.elapsed()
}

#[test]
fn deep_and_long_texts_come_back() {
    let openings = [
        "(",
        "((",
        "{ ",
        "$(",
        "$((",
        "${",
        "${a:-",
        "\"$(",
        "\"",
        "'",
        "`",
        "if ",
        "while ",
        "case a in a) ",
        "for x in ",
        "[[ ( ",
        "[[ ! ",
        "! ",
        "time ",
        "a | ",
        "a && ",
        "a; ",
        "a & ",
        "a\n",
        "a ",
        "[",
        "{",
        "{a,",
        "*",
        "~",
        ":~",
        "a=~",
        "$",
        "\\\n",
        "<(",
        "<<E ",
        "<<E\n",
        "function a ",
        "coproc ",
        "a() ",
        "x=(",
        "x[",
        "x[$",
        "{1..",
        "a.{",
        "]",
        "}",
        ";;",
        "#",
        "é",
        "$'",
        "$\"",
        "2>",
        "a <b ",
        "@(",
        "x=1 ",
        "$[",
        "$$[",
        "\\",
        "\\a",
        "''",
        "a'b'\"c\"",
        "{a}>",
        "((a)",
        "f() {",
        "elif a; then ",
        "\t\r",
    ];
    let mut slowest = (Duration::ZERO, String::new());
    for opening in openings {
        for count in [1, 2, 50, 500, 2_000] {
            let text = opening.repeat(count);
            let taken = both(&text).max(both(&format!("{text})")));

            if taken > slowest.0 {
                slowest = (taken, format!("{opening:?} {count} times"));
            }
        }
    }
    assert!(slowest.0 < Duration::from_secs(20), "{slowest:?}");
    println!("slowest: {slowest:?}");
}

#[test]
fn noise_comes_back() {
    const BYTES: &[char] = &[
        'a', 'b', ' ', '\t', '\n', '\r', '\'', '"', '`', '$', '(', ')', '{', '}', '[', ']', '<', '>', '|',
        '&', ';', '!', '#', '*', '?', '~', '=', '+', '-', '@', '\\', '/', '.', ',', ':', '0', '1', 'E', 'x',
        '_', 'é', '日', '😀', '\u{1}', '\u{7f}', '\u{85}', '\u{2028}',
    ];
    let mut random = Random::new(5);
    for _ in 0..20_000 {
        let text: String = (0..random.below(24)).map(|_| *random.of(BYTES)).collect();
        both(&text);
    }
}
