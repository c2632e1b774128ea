//! sed with a memory: the hold space, several lines at a time, branches, and the idioms that people build of them.
//!
//! Every script comes to an end: branches lead forward, except in idioms that do so on any data; and where `D` may lead
//! back, nothing adds lines. What the hold space doubles is few lines.

use super::sed::{addresses, alphabet, substitute, text};
use super::{flags, on_stdin};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let extended = rng.chance(25);
    let mut args = flags(rng, &["-n", "-z", "-s", "-u"], 7);
    if rng.chance(5) {
        args.push(rng.pick(&[&b"-l5"[..], b"-l1", b"--line-length=20"]).to_vec());
    }
    if extended {
        args.push(b"-E".to_vec());
    }
    if rng.chance(25) {
        args.push(b"-n".to_vec());
    }
    let script = match rng.below(10) {
        0..6 => commands(rng, extended),
        _ if extended => commands(rng, extended),
        _ => around_idiom(rng),
    };
    args.push(script);
    let mut case = on_stdin(rng, command, args);
    case.stdin = few_lines(rng);
    for name in ["one", "two"] {
        if !rng.chance(15) {
            break;
        }
        case.args.push(name.into());
        case.files.push((name.to_owned(), few_lines(rng)));
    }
    case
}

/// What a script of these may not hold at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `D`, and nothing that adds lines but `N`.
    Deletes,
    /// `G`, `x` and the like.
    Holds,
}

fn commands(rng: &mut Rng, extended: bool) -> Vec<u8> {
    let kind = rng.pick(&[Kind::Deletes, Kind::Holds]);
    let count = 1 + rng.below(6);
    let mut script = Vec::new();
    let mut open = 0;
    for _ in 0..count {
        if rng.chance(12) {
            address(rng, extended, &mut script);
            script.push(b'{');
            open += 1;
        }
        address(rng, extended, &mut script);
        one(rng, extended, kind, &mut script);
        script.push(b'\n');
        if open > 0 && rng.chance(50) {
            script.extend_from_slice(b"}\n");
            open -= 1;
        }
    }
    script.extend(std::iter::repeat_n(b'}', open));
    if script.windows(4).any(|word| matches!(word, b"b e\n" | b"t e\n" | b"T e\n")) {
        script.extend_from_slice(b"\n:e\n");
        if rng.chance(40) {
            script.extend_from_slice(rng.pick(&[&b"p"[..], b"l", b"$!d", b"/a/s//b/", b"P", b"="]));
        }
    }
    // Labels are known only behind them: none is left without its place.
    if script.windows(2).any(|word| word == b" e") && !script.windows(2).any(|word| word == b":e") {
        script.extend_from_slice(b"\n:e");
    }
    script
}

fn address(rng: &mut Rng, extended: bool, script: &mut Vec<u8>) {
    if rng.chance(30) {
        script.extend_from_slice(rng.pick(&[&b"$!"[..], b"1!", b"$", b"/\\n/", b"/\\n/!", b"2,3", b"/^$/"]));
    } else if rng.chance(40) {
        addresses(rng, extended, script);
        script.extend_from_slice(rng.pick(&[&b""[..], b"", b"", b"!"]));
    }
}

fn one(rng: &mut Rng, extended: bool, kind: Kind, script: &mut Vec<u8>) {
    match (rng.below(14), kind) {
        (0..2, _) => script.extend_from_slice(rng.pick(&[&b"N"[..], b"N", b"n"])),
        (2..5, Kind::Holds) => script.push(rng.pick(b"hHgGx")),
        (2..5, Kind::Deletes) => script.push(rng.pick(b"DDP")),
        (5..8, _) => substitution(rng, extended, kind, script),
        (8, _) => script.extend_from_slice(rng.pick(&[&b"b e"[..], b"t e", b"T e", b"b", b"t", b"T"])),
        (9, _) => script.extend_from_slice(rng.pick(&[
            &b"l"[..],
            b"l 5",
            b"l 1",
            b"l 0",
            b"=",
            b"p",
            b"w /dev/stdout",
            b"w/dev/stdout",
        ])),
        (10, _) => script.extend_from_slice(rng.pick(&[&b"P"[..], b"p", b"d", b"q", b"Q3", b"z"])),
        (11, Kind::Holds) => script.extend_from_slice(rng.pick(&[&b"y/\\n/ /"[..], b"y/ab/\\nb/"])),
        (11, Kind::Deletes) => script.extend_from_slice(rng.pick(&[&b"y/\\n/ /"[..], b"y/ab/ba/"])),
        (12, _) => {
            script.push(rng.pick(b"aic"));
            script.extend_from_slice(rng.pick(&[
                &b" text"[..],
                b"\\\ntext",
                b"\\\n  one\\\ntwo",
                b"\\ text",
                b"\\text",
                b" a\\tb",
                b" a \\\\ b",
                b" a\\\n b}",
                b"\\\n\\  text",
            ]));
        }
        _ => script.extend_from_slice(rng.pick(&[
            &b"s/\\n/,/"[..],
            b"s/\\n/,/g",
            b"s/.*\\n//",
            b"s/\\n.*//",
            b"s/^a/x/M",
            b"s/b*$/x/Mg",
            b"s//x/",
            b"s//&&/",
            b"s/a/b/w /dev/stdout",
        ])),
    }
}

fn substitution(rng: &mut Rng, extended: bool, kind: Kind, script: &mut Vec<u8>) {
    let start = script.len();
    loop {
        substitute(rng, extended, script);
        let adds_lines = script[start..].windows(2).any(|pair| pair == b"\\n" || pair == b"\\\n");
        if kind == Kind::Holds || !adds_lines {
            return;
        }
        script.truncate(start);
    }
}

/// Idioms that end on any data.
const IDIOMS: &[&str] = &[
    "1!G;h;$!d",
    "/\\n/!G;s/\\(.\\)\\(.*\\n\\)/&\\2\\1/;//D;s/.//",
    "$!N;s/\\n/ /",
    ":a;N;$!ba;s/\\n/,/g",
    ":a\n/\\\\$/N\ns/\\\\\\n//\nta",
    ":a;s/^.\\{1,7\\}$/ &/;ta",
    ":a;s/\\([0-9]\\)\\([0-9]\\{3\\}\\)\\(,\\|$\\)/\\1,\\2\\3/;ta",
    "$!N;/^\\(.*\\)\\n\\1$/!P;D",
    "$!N;P;D",
    "$!N;$!D",
    ":a;$q;N;4,$D;ba",
    "n;d",
    "$!{h;d};x;G",
    "x;p;x",
    "/a/{x;p;x}",
    "/a/{g;1!p};h",
    "-n /a/{n;p}",
    "/./{H;$!d};x;/b/!d",
    "G;s/\\n/&&/;s/\\n//;h;P;d",
    "H;$!d;x;s/\\n/+/g",
    "$!N;s/^\\(.\\).*\\n/\\1/;P;D",
    ":a;/a$/{N;s/\\n/ /;ba}",
    "N;N;s/\\n/-/g",
    "0~3{x;s/^/=/;x;G}",
    "/x/,/b/{//!d}",
    "s/a/b/;t;s/b/c/;T;s/c/d/",
    ":a;s/aa/a/;ta;s/a/<&>/g",
    "h;s/a/b/;x;G;s/\\n/ = /",
    "s/b/\\n/g;:a;/\\n/{P;s/[^\\n]*\\n//;ba}",
    "/a/b;s/^/- /",
    "$!{$!N};P;D",
    "1{h;d};x;$G",
    "/^$/{N;/^\\n$/D}",
    "/./,/^$/!d",
    "x;$p;x;1!H;$!d",
    "i\\\nhead\n$a\\\ntail",
    "y/ab/AB/;l;s/A/\\n/;l",
];

fn around_idiom(rng: &mut Rng) -> Vec<u8> {
    let idiom = rng.pick(IDIOMS).trim_start_matches("-n ");
    // Where D leads back, what stands before it is done again.
    let plain: &[&str] = &["p", "=", "l", "y/a/b/", "2d", "$!b", "a x", "w /dev/stdout"];
    let mut script = Vec::new();
    if rng.chance(30) {
        script.extend_from_slice(rng.pick(plain).as_bytes());
        script.push(b'\n');
    }
    script.extend_from_slice(idiom.as_bytes());
    if rng.chance(40) {
        script.push(b'\n');
        script.extend_from_slice(rng.pick(&["", "$!", "/a/", "2"]).as_bytes());
        script.extend_from_slice(rng.pick(plain).as_bytes());
    }
    script
}

fn few_lines(rng: &mut Rng) -> Vec<u8> {
    if rng.chance(60) {
        let alphabet = alphabet(rng);
        let lines = rng.pick(&[0, 1, 2, 3, 4, 5, 7]);
        return text(rng, alphabet, lines);
    }
    rng.pick(&[
        &b"one\ntwo\nthree\nfour\nfive\n"[..],
        b"a\na\nb\nb\nb\nc",
        b"\n\na b\n\n\nx y\nb\n\n",
        b"12345\n1234567 89\n\n1\n",
        b"go on \\\nhere \\\nend\nalone\\\n",
        b"a\0b\nx\0\0a\nb",
        b"key = a\n  b\nkey2 = x\n",
    ])
    .to_vec()
}
