//! What is skipped is checked as what is read: the same errors at the same places, whatever pieces the text comes in.
#![allow(missing_docs)]

mod common;

use common::{Random, document, lines, mutate, skipped};
use pelton_json::Rules;

/// So many bytes are looked at token by token before anything is skipped by bits.
const BEFORE: usize = 5000;

/// Reads it with and without wanting it.
fn agree(text: &[u8], max_depth: usize, window: usize, read: usize) {
    let rules = Rules { max_depth, ..Rules::default() };
    let place = |error: pelton_json::SyntaxError| (error.fault, error.offset, error.line, error.column);
    let wanted = lines(text, rules, 1 << 16, 1 << 16).1.map(place);
    let unwanted = skipped(text, rules, window, read).map(place);
    assert_eq!(unwanted, wanted, "window {window}, read {read}: {}", text.escape_ascii());
}

/// Something larger than a step, in an array or an object, so that there is something to skip.
fn large(random: &mut Random) -> String {
    let mut text = String::new();
    let levels = [0, 1, 5, 62, 63, 64, 65, 130][random.below(8)];
    let (opening, closing) =
        [("[", "]"), ("{\"a\":", "}"), ("[0 , {\"b\" :\n", "} , []\n]")][random.below(3)];
    text.push_str("{\"list\":");
    text.push_str(&opening.repeat(levels));
    text.push('[');
    text.push_str(&" ".repeat([0, BEFORE][random.below(2)] + random.below(64)));
    for number in 0..1 + random.below(12) {
        if number > 0 {
            text.push(',');
        }
        document(random, 4, &mut text);
    }
    text.push(']');
    text.push_str(&closing.repeat(levels));
    text.push('}');
    text
}

#[test]
fn what_is_right_is_passed() {
    let mut random = Random::new(11);
    for _ in 0..400 {
        let text = large(&mut random);
        for (window, read) in [(64, 64), (200, 7), (1 << 16, 1 << 16)] {
            agree(text.as_bytes(), 1_000_000, window, read);
        }
    }
}

#[test]
fn what_is_wrong_is_told_as_if_it_were_read() {
    let mut random = Random::new(12);
    let rounds = std::env::var("PELTON_JSON_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(3_000);
    for round in 0..rounds {
        let mut text = large(&mut random).into_bytes();
        let tail = text.len().min(2000);
        let mut end = text.split_off(text.len() - tail);
        mutate(&mut random, &mut end);
        text.append(&mut end);
        text.resize(text.len() + random.below(200), b' ');
        let window = [64, 100, 200, 1000, 1 << 16][round % 5];
        let most = [1_000_000, 70, 5][round % 3];
        agree(&text, most, window, 1 + random.below(window));
    }
}

/// Each token in the place of each other, in objects and arrays, behind a border of steps or not.
#[test]
fn every_neighbour_is_judged() {
    const TOKENS: [&str; 9] = ["{", "}", "[", "]", ":", ",", "\"s\"", "1", "\"k\":"];
    for around in [("[", "]"), ("{\"a\":", "}"), ("{", "}")] {
        for first in TOKENS {
            for second in TOKENS {
                for third in TOKENS {
                    for (pad, behind) in [(0, 70), (61, 0)] {
                        let text = format!(
                            "{{\"x\":{}{}{first} {second}{third}{}{}}}{}",
                            around.0,
                            " ".repeat(BEFORE + pad),
                            " ".repeat(behind),
                            around.1,
                            " ".repeat(200)
                        );
                        agree(text.as_bytes(), 100, 1 << 16, 1 << 16);
                    }
                }
            }
        }
    }
}
