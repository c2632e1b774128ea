//! Compares words with bash: bash must print every static word as the parser reads it.
//!
//! `PELTON_WORDS=200000 PELTON_SEED=7 cargo test -p pelton-syntax --test words` runs a longer campaign.
#![allow(missing_docs, clippy::print_stdout)]

mod common;

use pelton_syntax::{Command as Parsed, Dialect, parse};
use pelton_testkit::Random;
use std::io::Write;
use std::process::{Command, Stdio};

/// Pieces of random words: whole quotes, halves of quotes, escapes, specials, and characters of every length.
const PIECES: &[&str] = &[
    "a",
    "b",
    "Z",
    "0",
    "7",
    "_",
    "-",
    ".",
    "/",
    ",",
    ":",
    "=",
    "+",
    "%",
    "@",
    "^",
    "#",
    "!",
    "]",
    "}",
    "{",
    "[",
    "~",
    "$",
    "é",
    "ß",
    "日",
    "本",
    "😀",
    "\u{301}",
    "\u{a0}",
    "\u{feff}",
    "\r",
    "\x0b",
    "\x1b",
    "'",
    "'",
    "\"",
    "\"",
    "\\",
    "\\",
    "\\\n",
    "' '",
    "'*'",
    "'\\'",
    "'\"'",
    "''",
    "\"\"",
    "\"'\"",
    "\" \"",
    "\"\\\\\"",
    "\"\\\"\"",
    "\"\\$x\"",
    "\"\\a\"",
    "\"\\\n\"",
    "\"$\"",
    "\"*?[a]{b,c}~\"",
    "\"!\"",
    "\"`\"",
    "\"\\`\"",
    "\\ ",
    "\\\t",
    "\\*",
    "\\?",
    "\\[",
    "\\$",
    "\\'",
    "\\\"",
    "\\\\",
    "\\~",
    "\\{",
    "\\}",
    "\\#",
    "\\é",
    "\\😀",
    "\\;",
    "\\|",
    "\\&",
    "\\(",
    "\\)",
    "\\<",
    "\\>",
    "\\`",
    "\\n",
    "$'",
    "$'a'",
    "$'\\n'",
    "$'\\t\\e\\E\\a\\b\\f\\r\\v'",
    "$'\\''",
    "$'\\\"'",
    "$'\\?'",
    "$'\\\\'",
    "$'\\101'",
    "$'\\1'",
    "$'\\12'",
    "$'\\1234'",
    "$'\\x41'",
    "$'\\x4'",
    "$'\\x4g'",
    "$'\\x'",
    "$'\\u41'",
    "$'\\U0000041'",
    "$'\\u'",
    "$'\\cA'",
    "$'\\c\\\\'",
    "$'\\c['",
    "$'\\q'",
    "$'é\\n'",
    "$'\n'",
    "$''",
    "{}",
    "{a}",
    "{a,b}",
    "{1..3}",
    "{a,",
    ",b}",
    "..",
    "a=b",
    "a~b",
    "=~",
    "'\n'",
    "\"\n\"",
    "\"a\\\nb\"",
    "x\\\ny",
    "${x}",
    "$x",
    "*",
    "?",
    "&&",
    ";",
];

fn random_word(random: &mut Random) -> String {
    (0..1 + random.below(7)).map(|_| *random.of(PIECES)).collect()
}

/// Returns the parser's reading of `word` as the only argument of a command, if it is fully static.
fn our_text(word: &str, dialect: Dialect) -> Option<String> {
    let script = parse(&format!("x {word}"), dialect).ok()?;
    let [item] = script.items.as_slice() else { return None };
    let [stage] = item.and_or.first.stages.as_slice() else { return None };
    let Parsed::Simple(simple) = &stage.command else { return None };
    let plain = item.and_or.rest.is_empty() && stage.redirects.is_empty() && !item.background;
    match simple.words.as_slice() {
        [_, argument] if plain => argument.static_text(),
        _ => None,
    }
}

/// Returns what the shell prints for each word. A word that the shell splits or rejects shows as a
/// difference.
fn shell_texts(shell: &str, words: &[String]) -> Vec<String> {
    let mut script = String::new();
    for word in words {
        script += &format!("printf '%s\\0' {word}\nprintf '\\1\\0'\n");
    }
    let mut child = Command::new(shell)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the shell is needed as the oracle");
    let mut input = child.stdin.take().expect("stdin is piped");
    let writer = std::thread::spawn(move || drop(input.write_all(script.as_bytes())));
    let output = child.wait_with_output().expect("the shell runs");
    writer.join().expect("the writer ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split("\x01\0").map(|fields| fields.strip_suffix('\0').unwrap_or(fields).to_owned()).collect()
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Compares as many words as wanted. Returns the differences, and the number of words generated.
fn campaign(shell: &str, dialect: Dialect, wanted: u64) -> (Vec<String>, u64) {
    let mut random = Random::new(setting("PELTON_SEED", 1));
    let (mut compared, mut made) = (0, 0);
    let mut differences = Vec::new();
    while compared < wanted {
        let mut batch = Vec::new();
        while batch.len() < 1_000 {
            made += 1;
            let word = random_word(&mut random);
            if let Some(text) = our_text(&word, dialect) {
                batch.push((word, text));
            }
        }
        let words: Vec<String> = batch.iter().map(|(word, _)| word.clone()).collect();
        let theirs = shell_texts(shell, &words);
        for (i, (word, ours)) in batch.iter().enumerate() {
            if theirs.get(i) != Some(ours) {
                differences.push(format!("{word:?}: ours {ours:?}, {shell} {:?}", theirs.get(i)));
            }
        }
        compared += batch.len() as u64;
    }
    (differences, made)
}

fn no_difference(shell: &str, dialect: Dialect) {
    let wanted = setting("PELTON_WORDS", 20_000);
    let (differences, made) = campaign(shell, dialect, wanted);
    println!("{shell}: {wanted} static words of {made} made were compared");
    let shown = &differences[..differences.len().min(20)];
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), shown.join("\n"));
}

#[test]
fn static_words_are_what_bash_prints() {
    no_difference("bash", Dialect::Bash);
}

#[test]
fn static_words_are_what_dash_prints() {
    no_difference("dash", Dialect::Posix);
}
