//! Skipped text is validated like other text: the same errors at the same positions, however the input is
//! split.
#![allow(missing_docs)]

mod common;

use common::{Random, document, lines, mutate, printed, skipped};
use pelton_json::formats::Values;
use pelton_json::select::{Paths, parse};
use pelton_json::{Fault, Interest, Kind, Out, Raw, Rules, Selected, StringPosition, Visitor};

/// This many bytes are processed token by token before bitwise skipping begins.
const BEFORE: usize = 5000;

/// Reads the text selected and unselected, and compares the errors.
fn agree(text: &[u8], max_depth: usize, window: usize, read: usize) {
    let rules = Rules { max_depth, ..Rules::default() };
    let place = |error: pelton_json::SyntaxError| (error.fault, error.offset, error.line, error.column);
    let wanted = lines(text, rules, 1 << 16, 1 << 16).1.map(place);
    let unwanted = skipped(text, rules, window, read).map(place);
    assert_eq!(unwanted, wanted, "window {window}, read {read}: {}", text.escape_ascii());
}

/// Forwards to the inner visitor, but hides its `names`, so that every name is reported.
struct Told<'v, V>(&'v mut V);

impl<V: Visitor> Visitor for Told<'_, V> {
    fn document(&mut self) -> Interest {
        self.0.document()
    }
    fn key(&mut self, raw: Raw<'_>) -> Interest {
        self.0.key(raw)
    }
    fn element(&mut self) -> Interest {
        self.0.element()
    }
    fn open(&mut self, kind: Kind) -> Interest {
        self.0.open(kind)
    }
    fn close(&mut self, kind: Kind) {
        self.0.close(kind);
    }
    fn scalar(&mut self, raw: Raw<'_>) {
        self.0.scalar(raw);
    }
    fn piece(&mut self, raw: &[u8], place: StringPosition) {
        self.0.piece(raw, place);
    }
    fn path(&self) -> Vec<u8> {
        self.0.path()
    }
    fn pause(&mut self) -> std::io::Result<()> {
        self.0.pause()
    }
    fn refusal(&mut self) -> Option<Fault> {
        self.0.refusal()
    }
}

/// Compares selection with names matched bitwise and names reported one by one: values, errors, positions,
/// paths.
fn choose_alike(text: &[u8], paths: &[&str], max_depth: usize, window: usize, read: usize) {
    let rules = Rules { max_depth, ..Rules::default() };
    let selected = |told: bool| {
        let steps: Vec<_> = paths.iter().map(|path| parse(path).expect("a path")).collect();
        let compiled = Paths::new(&steps).expect("few paths");
        let nests = compiled.nests();
        let mut bytes = Vec::new();
        let mut visitor = Selected::new(compiled, Values::new(Out::new(&mut bytes), false, nests));
        let error = match told {
            true => printed(text, rules, window, read, &mut Told(&mut visitor)),
            false => printed(text, rules, window, read, &mut visitor),
        };
        drop(visitor);
        (String::from_utf8_lossy(&bytes).into_owned(), error)
    };
    let (chosen, all) = (selected(false), selected(true));
    assert_eq!(chosen, all, "{paths:?}, window {window}, read {read}: {}", text.escape_ascii());
}

const PATHS: &[&[&str]] = &[
    &[".list[].a"],
    &[".list[].id", ".list[].list"],
    &[".list[].b.list[].a"],
    &[".a.a.a.b"],
    &[".list[].\"a b\"", ".list[].é"],
    &[".list.a", ".list[].b", ".a.list"],
    &[".\"a longer name\"", ".\"a longer nose\""],
];

/// Returns objects of various sizes in an array, after blanks that move them across a block boundary.
fn objects(random: &mut Random) -> String {
    let mut text = "{\"list\":[".to_owned();
    for number in 0..1 + random.below(8) {
        if number > 0 {
            text.push(',');
        }
        text.push_str(&" ".repeat(random.below(70)));
        text.push('{');
        for member in 0..random.below(7) {
            let name =
                random.pick(&["a", "b", "id", "list", "é", "a b", "\\u0061", "x\\n", "a longer name", ""]);
            text.push_str(if member > 0 { ", " } else { "" });
            text.push_str(&format!("\"{name}\" :"));
            let depth = random.below(4);
            document(random, depth, &mut text);
        }
        text.push('}');
    }
    text.push_str("], \"a longer nose\":1, \"a longer name\" :");
    document(random, 2, &mut text);
    text.push('}');
    text
}

#[test]
fn names_are_chosen_as_if_they_were_told() {
    let mut random = Random::new(13);
    let rounds = std::env::var("PELTON_JSON_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(4_000);
    for round in 0..rounds {
        let mut text = if round % 4 == 0 { large(&mut random) } else { objects(&mut random) }.into_bytes();
        if round % 2 == 1 {
            mutate_end(&mut random, &mut text, 1000);
        }
        text.resize(text.len() + random.below(200), b' ');
        let (window, most) = limits(round);
        choose_alike(&text, random.pick(PATHS), most, window, 1 + random.below(window));
    }
}

/// Mutates the last bytes, which may stay valid.
fn mutate_end(random: &mut Random, text: &mut Vec<u8>, bytes: usize) {
    let mut end = text.split_off(text.len().saturating_sub(bytes));
    mutate(random, &mut end);
    text.append(&mut end);
}

/// Returns a window size and a maximum depth.
fn limits(round: usize) -> (usize, usize) {
    ([64, 100, 200, 1000, 1 << 16][round % 5], [1_000_000, 70, 5][round % 3])
}

/// Returns a value larger than a block in an array or an object, so that there is something to skip.
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
        mutate_end(&mut random, &mut text, 2000);
        text.resize(text.len() + random.below(200), b' ');
        let (window, most) = limits(round);
        agree(&text, most, window, 1 + random.below(window));
    }
}

/// Tries every token in place of every other, in objects and arrays, with and without a block boundary before
/// it.
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
