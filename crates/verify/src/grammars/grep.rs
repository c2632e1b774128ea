//! grep: expressions over few characters, its flags in all combinations, text and what is none.

use super::{flags, valued};
use crate::Case;
use crate::Rng;
use crate::data;

const EXPRESSIONS: &[&str] = &[
    "a",
    "b",
    "foo",
    "the",
    "1",
    "x*",
    "",
    "^",
    "$",
    "^$",
    ".",
    "a.",
    "^a",
    "b$",
    "[0-9]",
    "[0-9]+",
    "[0-9][0-9]*",
    "[a-c]",
    "[a-z]",
    "[A-Z]",
    "[h-j]",
    "[H-Z]",
    "[A-I]",
    "[^a-z]",
    "[^0-9]",
    "[0-9a-z]",
    "[b-z_]",
    "[a-zA-Z]",
    "[[=e=]]",
    "[[.a.]]",
    "[^a]",
    "[^ab,]",
    "a|b",
    "foo|bar|hello",
    "ab*",
    "o\\{2\\}",
    "o{2}",
    "(ab)*",
    "a\\|b",
    "\\(a\\)\\1",
    "\\<a",
    "a\\>",
    "\\bfoo",
    "\\w",
    "\\W",
    "\\s",
    "[[:alpha:]]",
    "[[:space:]]",
    "[[:digit:]]+",
    "^.*$",
    "e.*r",
    "a.*b",
    "\u{e9}",
    "[\u{e9}a]",
    "\u{65e5}",
    "\u{df}",
    "A",
    "Foo",
    "hello",
    "zebra",
    "-",
    "*",
    "\\.",
    ".*",
    "o*",
    "r$",
    "^[[:blank:]]*$",
    "a\nb",
    "foo\n",
    "\nb",
    "..",
    "...",
    "b.b",
    "1.5",
    "(a|ab)(c|bcd)?",
    "k",
    "s",
    "K",
];
const FLAGS: &[&str] = &[
    "-v",
    "-c",
    "-o",
    "-i",
    "-n",
    "-w",
    "-x",
    "-q",
    "-l",
    "-L",
    "-h",
    "-H",
    "-a",
    "-b",
    "-s",
    "-y",
    "--text",
    "--count",
    "--no-ignore-case",
    "--color=never",
    "--invert-match",
    "--only-matching",
    "-U",
    "--line-number",
    "--quiet",
    "--silent",
    "--files-with-matches",
    "--files-without-match",
    "--byte-offset",
    "--label=x",
    "--binary-files=text",
];

/// Parts of extended expressions, each with pieces of text that it matches, wholly or nearly.
const PARTS: &[(&str, &[&str])] = &[
    (".", &["a", "\u{e9}", "x", "\u{65e5}"]),
    ("[0-9]", &["1", "7", "a"]),
    ("[0-9]{1,3}\\.", &["1.", "192.", "1234.", "12,"]),
    ("([0-9]{1,3}\\.){3}", &["1.2.3.", "10.0.0.", "1.2.", "1.23.4"]),
    ("\\.", &[".", ","]),
    ("[.,]", &[".", ",", ";"]),
    ("[^a]", &["a", "b", "\u{e9}"]),
    ("[^a-z]", &["A", "1", "\u{e9}", "z"]),
    ("[a-z0-9_]", &["a", "_", "9", "Z"]),
    ("[aeiou]", &["a", "E", "x"]),
    ("get", &["get", "GET", "ge", "gte"]),
    ("warn", &["warn", "Warn", "war", "WARm"]),
    ("error", &["error", "ERROR", "erro", "Errol"]),
    ("(error|warn|get)", &["Error", "wArn", "get", "gee"]),
    ("-", &["-", "_", "--"]),
    ("(ab|c)", &["ab", "c", "a"]),
    ("k", &["k", "K", "\u{212a}"]),
    ("s", &["s", "\u{17f}"]),
    ("\u{e9}", &["\u{e9}", "\u{c9}", "e"]),
    ("[\u{e9}x]", &["\u{e9}", "x", "\u{e8}"]),
    ("[[:digit:]]", &["3", "\u{663}"]),
    ("\\b", &[" ", ""]),
    ("(^|b)", &["b", ""]),
];
const TIMES: &[&str] = &["", "", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,4}", "{3,7}"];

/// An extended expression of parts, anchored or not, and what it matches, wholly or nearly.
fn composed(rng: &mut Rng) -> (String, Vec<&'static str>) {
    let (mut expression, mut pieces) = (String::new(), Vec::new());
    for branch in 0..rng.pick(&[1, 1, 1, 1, 2, 3]) {
        expression += if branch > 0 { "|" } else { "" };
        expression += rng.pick(&["", "", "^"]);
        for _ in 0..rng.pick(&[1, 1, 1, 2, 2, 3]) {
            let (part, texts) = rng.pick(PARTS);
            expression += part;
            expression += rng.pick(TIMES);
            pieces.extend_from_slice(texts);
        }
        expression += rng.pick(&["", "", "$"]);
    }
    (expression, pieces)
}

/// An expression with back-references, and pieces that its groups match.
fn referring(rng: &mut Rng) -> (String, Vec<&'static str>) {
    const AROUND: &[&str] = &["", "", "a", ".*", "[ab]+", "x?", "b{1,2}", ".", "[^a]*"];
    const GROUPS: &[&str] =
        &["(.)", "([ab])", "([a-c][ab])", "(ab)", "(a)", "([[:alpha:]])", "(a.)", "([^b])"];
    let mut expression = String::from(rng.pick(&["", "", "^"]));
    expression += rng.pick(AROUND);
    expression += rng.pick(GROUPS);
    expression += rng.pick(AROUND);
    if rng.chance(30) {
        expression += rng.pick(GROUPS);
        expression += rng.pick(AROUND);
        expression += rng.pick(&["\\2", "\\1\\2", "\\2\\1", "\\2\\2"]);
    } else {
        expression += rng.pick(&["\\1", "\\1", "\\1a*\\1", "\\1*", "\\1|b"]);
    }
    expression += rng.pick(AROUND);
    expression += rng.pick(&["", "", "$"]);
    (expression, vec!["a", "b", "ab", "ba", "aa", "c", "x", "ac", "\u{e9}", "A"])
}

/// Lines of these pieces, most of them short, and a few that are not.
fn lines_of(rng: &mut Rng, pieces: &[&str]) -> Vec<u8> {
    let mut text = Vec::new();
    let lines = rng.pick(&[1, 5, 20, 100, 400]);
    let noise = rng.pick(&[0, 10, 60]);
    let wrong = rng.pick(&[0, 0, 2]);
    for _ in 0..lines {
        let most = rng.pick(&[2, 4, 30]);
        for _ in 0..rng.below(most) {
            match rng.below(100) {
                roll if roll < wrong => text.push(0xFF),
                roll if roll < noise => {
                    text.extend_from_slice(rng.pick(&[&b" "[..], b"qq ", b"........", b"zz-"]))
                }
                _ => text.extend_from_slice(rng.pick(pieces).as_bytes()),
            }
        }
        text.push(b'\n');
    }
    if rng.chance(20) {
        text.pop();
    }
    text
}

/// An expression of parts over lines that it matches or nearly does.
fn composed_case(rng: &mut Rng, command: &str) -> Case {
    let (expression, pieces) = if rng.chance(15) { referring(rng) } else { composed(rng) };
    let mut args = flags(rng, &["-c", "-v", "-o", "-i", "-n", "-x", "-w", "-a", "-l", "-q", "-b"], 12);
    args.push("-E".into());
    if rng.chance(6) {
        let number = rng.pick(&[1, 2, 10, 100]).to_string();
        valued(rng, &mut args, "-m", "--max-count", number.as_bytes());
    }
    valued(rng, &mut args, "-e", "--regexp", expression.as_bytes());
    let mut files = Vec::new();
    let stdin = lines_of(rng, &pieces);
    if rng.chance(30) {
        args.push("one".into());
        files.push(("one".to_owned(), lines_of(rng, &pieces)));
    }
    Case { command: command.to_owned(), args, stdin, files, piped: rng.chance(10), utf8: rng.chance(60) }
}

pub fn case(rng: &mut Rng, command: &str) -> Case {
    if rng.chance(35) {
        return composed_case(rng, command);
    }
    let percent = rng.pick(&[0, 3, 6, 12]);
    let mut args = flags(rng, FLAGS, percent);
    args.extend(flags(rng, &["-c", "-n", "-v", "-o", "-i"], 8));
    if rng.chance(70) {
        args.push(rng.pick(&["-E", "-F", "-G", "-E", "--extended-regexp", "--fixed-strings"]).into());
    }
    if rng.chance(12) {
        let number = rng.pick(&[1, 1, 2, 3, 10, 100]).to_string();
        valued(rng, &mut args, "-m", "--max-count", number.as_bytes());
    }
    let given = rng.chance(20);
    let mut expression = Vec::new();
    if given {
        for _ in 0..1 + rng.below(3) {
            let expression = rng.pick(EXPRESSIONS).as_bytes();
            valued(rng, &mut args, "-e", "--regexp", expression);
        }
    } else {
        expression = rng.pick(EXPRESSIONS).into();
        if expression.starts_with(b"-") {
            expression.splice(..0, *b"-e");
        }
        args.push(expression.clone());
    }
    let mut files = Vec::new();
    if rng.chance(12) {
        for name in ["list", "more"] {
            let lines = (0..rng.below(5)).map(|_| rng.pick(EXPRESSIONS)).collect::<Vec<_>>().join("\n");
            let end = if lines.is_empty() || rng.chance(20) { "" } else { "\n" };
            files.push((name.to_owned(), (lines + end).into_bytes()));
            valued(rng, &mut args, "-f", "--file", name.as_bytes());
            if rng.chance(70) {
                break;
            }
        }
        if !given && rng.chance(90) {
            // The expression would be a file.
            args.retain(|arg| *arg != expression);
        }
    }
    let mut case = Case {
        command: command.to_owned(),
        args,
        stdin: text(rng),
        files,
        piped: rng.chance(10),
        utf8: rng.chance(60),
    };
    // How much of a pipe grep reads at a time decides what it prints before a NUL.
    case.piped &= !case.stdin.contains(&0);
    for name in ["one", "two", "three"] {
        if !rng.chance(30) {
            break;
        }
        if rng.chance(15) {
            case.args.push(b"-".to_vec());
        }
        case.args.push(name.into());
        let content = text(rng);
        case.files.push((name.to_owned(), content));
    }
    case
}

/// Mostly text, often with something in it that is none.
fn text(rng: &mut Rng) -> Vec<u8> {
    let mut text = data::any(rng);
    if rng.chance(60) {
        text.retain(|byte| *byte != 0);
    }
    if rng.chance(40) && std::str::from_utf8(&text).is_err() {
        text = String::from_utf8_lossy(&text).into_owned().into_bytes();
    }
    if rng.chance(3) {
        // Longer than grep's buffer, with a NUL somewhere.
        let line = [text.as_slice(), b"a foo b\n"].concat();
        text = line.repeat(1 + 150_000 / line.len());
        let at = rng.below(text.len() as u64) as usize;
        if rng.chance(50) {
            text.retain(|byte| *byte != 0);
            let at = at.min(text.len() - 1);
            text[at] = 0;
        }
    }
    text
}
