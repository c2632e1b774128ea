//! sed: scripts of one to four commands, mostly s, over all kinds of lines. Repetitions are never nested: the real
//! sed could search for ever.

use super::{flags, on_files};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let extended = rng.chance(35);
    let mut args = flags(rng, &["-n", "-z", "--null-data", "-s", "-u", "--quiet", "-b"], 8);
    if extended {
        args.push(rng.pick(&[&b"-E"[..], b"-r", b"--regexp-extended"]).to_vec());
    }
    let mut file = None;
    let pieces = if rng.chance(15) { 2 + rng.below(2) } else { 1 };
    for index in 0..pieces {
        let mut script = Vec::new();
        if index == 0 && rng.chance(3) {
            script.extend_from_slice(rng.pick(&[&b"#n\n"[..], b"#n", b"#no\n", b"# n\n"]));
        }
        self::script(rng, extended, &mut script);
        match rng.below(4) {
            0 if pieces == 1 && rng.chance(40) => {
                if rng.chance(80) {
                    script.push(b'\n');
                }
                args.push(rng.pick(&[&b"-fscript"[..], b"--file=script"]).to_vec());
                file = Some(script);
            }
            0 if pieces == 1 => args.push(script),
            1 => args.push([b"--expression=", script.as_slice()].concat()),
            2 => args.push([b"-e", script.as_slice()].concat()),
            _ => args.extend([b"-e".to_vec(), script]),
        }
    }
    if rng.chance(3) {
        args.extend(flags(rng, &["-n", "-E", "-s"], 40));
    }
    let mut case = on_files(rng, command, args);
    if rng.chance(40) {
        let mut some = || {
            let alphabet = alphabet(rng);
            let lines = rng.pick(&[0, 1, 2, 3, 5, 8, 20, 60]);
            text(rng, alphabet, lines)
        };
        case.stdin = some();
        case.files.iter_mut().for_each(|(_, content)| *content = some());
    }
    case.files.extend(file.map(|script| ("script".to_owned(), script)));
    case
}

const ALPHABETS: &[&[&[u8]]] = &[
    &[b"a", b"b", b"ab", b"", b" "],
    &[b"a", b"b", b"c", b"1", b" ", b",", b"x", b"abc", b"A", b"-"],
    &[b"a", b"b", "é".as_bytes(), b"\xff", b"\xc3", b" ", b"1"],
    &[b"foo", b"bar", b" ", b"=", b"12", b"\t", b"#", b"/"],
    &[b"a", b"b", b"\0", b"x"],
];

/// Few characters, so that expressions meet them.
pub fn alphabet(rng: &mut Rng) -> &'static [&'static [u8]] {
    rng.pick(ALPHABETS)
}

/// So many lines of them.
pub fn text(rng: &mut Rng, alphabet: &[&[u8]], lines: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..lines {
        for _ in 0..rng.below(9) {
            text.extend_from_slice(rng.pick(alphabet));
        }
        text.push(b'\n');
    }
    if rng.chance(30) {
        text.pop();
    }
    text
}

fn script(rng: &mut Rng, extended: bool, script: &mut Vec<u8>) {
    let commands = rng.pick(&[1, 1, 1, 1, 2, 2, 3, 4]);
    for index in 0..commands {
        if index > 0 {
            script.extend_from_slice(rng.pick(&[&b";"[..], b";", b"\n", b" ; ", b";;", b" # ab\n"]));
        }
        command(rng, extended, 2, script);
    }
    if rng.chance(3) {
        script.extend_from_slice(rng.pick(&[&b";"[..], b"\n", b"}", b" p", b"#", b"\\"]));
    }
}

fn command(rng: &mut Rng, extended: bool, depth: u64, script: &mut Vec<u8>) {
    let ranged = addresses(rng, extended, script);
    if rng.chance(if ranged { 20 } else { 3 }) {
        script.extend_from_slice(rng.pick(&[&b"!"[..], b"!", b" ! ", b"! "]));
    }
    match rng.below(40) {
        0..18 => substitute(rng, extended, script),
        18..21 => script.extend_from_slice(rng.pick(&[
            &b"y/ab/ba/"[..],
            b"y/abc/xyz/",
            b"y,a\\,,\\tb,",
            b"y/a1/\\n\\\\/",
            b"y/aa/bc/",
            "y/aé/éa/".as_bytes(),
            b"y/a/bc/",
        ])),
        21..25 => script.push(b'p'),
        25..29 => script.push(b'd'),
        29..31 => script.extend_from_slice(rng.pick(&[&b"q"[..], b"q", b"q3", b"Q", b"Q 2", b"q 300"])),
        31 => script.push(b'='),
        32 => script.push(b'n'),
        33 => {
            script.extend_from_slice(rng.pick(&[&b"z"[..], b"h", b"N", b"l", b"b", b"G", b"P", b"x", b"t"]))
        }
        34..37 => {
            script.push(rng.pick(b"aaic"));
            script.extend_from_slice(rng.pick(&[
                &b" foo"[..],
                b"foo  bar",
                b"\\\nfoo",
                b"\\\n  foo",
                b"  x}",
                b" foo\\\nbar",
                b"\\",
                b"",
            ]));
            if rng.chance(80) {
                script.push(b'\n');
            }
        }
        _ if depth > 0 => {
            script.extend_from_slice(rng.pick(&[&b"{"[..], b"{ ", b"{\n"]));
            for _ in 0..1 + rng.below(3) {
                command(rng, extended, depth - 1, script);
                script.extend_from_slice(rng.pick(&[&b";"[..], b"\n", b" ; "]));
            }
            script.push(b'}');
        }
        _ => script.push(b'p'),
    }
}

/// Returns whether there are any.
pub fn addresses(rng: &mut Rng, extended: bool, script: &mut Vec<u8>) -> bool {
    if rng.chance(50) {
        return false;
    }
    address(rng, extended, script);
    if rng.chance(40) {
        script.extend_from_slice(rng.pick(&[&b","[..], b",", b", ", b" ,"]));
        match rng.below(6) {
            0 => script.extend_from_slice(rng.pick(&[&b"+0"[..], b"+1", b"+2", b"+5"])),
            1 => script.extend_from_slice(rng.pick(&[&b"~0"[..], b"~2", b"~3", b"~1"])),
            _ => address(rng, extended, script),
        }
    }
    if rng.chance(5) {
        script.push(b' ');
    }
    true
}

fn address(rng: &mut Rng, extended: bool, script: &mut Vec<u8>) {
    match rng.below(10) {
        0..4 => script.extend(rng.pick(&[0, 1, 1, 2, 2, 3, 4, 5, 7, 30]).to_string().into_bytes()),
        4 => script.extend_from_slice(rng.pick(&[&b"0~2"[..], b"1~2", b"2~3", b"0~4", b"3~0", b"2~1"])),
        5 => script.push(b'$'),
        _ => {
            let delimiter = rng.pick(b"////,|;");
            if delimiter != b'/' {
                script.push(b'\\');
            }
            script.push(delimiter);
            expression(rng, extended, delimiter, script);
            script.push(delimiter);
            script.extend_from_slice(rng.pick(&[&b""[..], b"", b"", b"", b"I", b"M"]));
        }
    }
}

pub fn substitute(rng: &mut Rng, extended: bool, script: &mut Vec<u8>) {
    let delimiter = rng.pick(b"//////,|:#_");
    script.extend([b's', delimiter]);
    let groups = expression(rng, extended, delimiter, script);
    script.push(delimiter);
    replacement(rng, delimiter, groups, script);
    script.push(delimiter);
    for flag in [&b"g"[..], b"p", b"I", b"i", b"2", b"3", b"1", b"M", b"w out", b"e"] {
        let percent = match flag {
            b"g" => 45,
            b"w out" | b"e" => 0,
            b"M" => 5,
            _ => 9,
        };
        if rng.chance(percent) {
            script.extend_from_slice(flag);
        }
    }
}

/// Returns how many groups it has.
fn expression(rng: &mut Rng, extended: bool, delimiter: u8, script: &mut Vec<u8>) -> u64 {
    if rng.chance(4) {
        return 0;
    }
    let mut groups = 0;
    if rng.chance(15) {
        script.push(b'^');
    }
    for _ in 0..rng.pick(&[1, 1, 1, 2, 2, 3]) {
        if rng.chance(18) {
            groups += 1;
            script.extend_from_slice(if extended { b"(" } else { b"\\(" });
            atom(rng, extended, delimiter, script);
            if rng.chance(30) {
                atom(rng, extended, delimiter, script);
            }
            script.extend_from_slice(if extended { b")" } else { b"\\)" });
        } else {
            atom(rng, extended, delimiter, script);
        }
        if rng.chance(6) {
            script.extend_from_slice(if extended { b"|" } else { b"\\|" });
        }
    }
    if rng.chance(15) {
        script.push(b'$');
    }
    groups
}

fn atom(rng: &mut Rng, extended: bool, delimiter: u8, script: &mut Vec<u8>) {
    match rng.below(30) {
        0..14 => script.extend_from_slice(rng.pick(&[
            &b"a"[..],
            b"b",
            b"ab",
            b"x",
            b" ",
            b"1",
            b"foo",
            b"A",
            b"-",
        ])),
        14..17 => script.push(b'.'),
        17..21 => script.extend_from_slice(rng.pick(&[
            &b"[0-9]"[..],
            b"[ab]",
            b"[^a]",
            b"[^ab ]",
            b"[[:space:]]",
            b"[a-z]",
            b"[A-Z0-9]",
            b"[h-j]",
            b"[A-I]",
            b"[^0-9]",
            b"[[:upper:]]",
            b"[\\n]",
        ])),
        21 => script.extend_from_slice(rng.pick(&[&b"\\n"[..], b"\\t", b"\\x41", b"\\.", b"\\*", b"\\\\"])),
        22 => script.extend_from_slice(rng.pick(&[&b"\\w"[..], b"\\s", b"\\b", b"\\<", b"\\S"])),
        23 => script.extend_from_slice("é".as_bytes()),
        24 => script.extend([b'\\', delimiter]),
        25 => script.extend_from_slice(b"\xff"),
        _ => script.push(rng.pick(b"ab,: ")),
    }
    if rng.chance(25) {
        let basic: &[&[u8]] = &[b"*", b"*", b"\\+", b"\\?", b"\\{2\\}", b"\\{1,2\\}"];
        let wide: &[&[u8]] = &[b"*", b"*", b"+", b"?", b"{2}", b"{1,2}"];
        script.extend_from_slice(rng.pick(if extended { wide } else { basic }));
    }
}

fn replacement(rng: &mut Rng, delimiter: u8, groups: u64, script: &mut Vec<u8>) {
    for _ in 0..rng.pick(&[0, 0, 1, 1, 1, 2, 3]) {
        match rng.below(24) {
            0..10 => script.extend_from_slice(rng.pick(&[&b"X"[..], b"b", b"", b"<>", b" ", b"long text"])),
            10..13 => script.push(b'&'),
            13..17 => {
                let group = if rng.chance(90) { rng.below(groups + 1) } else { rng.below(10) };
                script.extend([b'\\', b'0' + group as u8]);
            }
            17 => script.extend_from_slice(rng.pick(&[
                &b"\\n"[..],
                b"\\t",
                b"\\\n",
                b"\\x41",
                b"\\d065",
                b"\\o101",
            ])),
            18 => script.extend_from_slice(rng.pick(&[&b"\\&"[..], b"\\\\", b"\\.", b"\\q", b"\\cA", b"\n"])),
            19..22 => script.extend_from_slice(rng.pick(&[&b"\\U"[..], b"\\L", b"\\u", b"\\l", b"\\E"])),
            22 => script.extend([b'\\', delimiter]),
            _ => script.extend_from_slice("é".as_bytes()),
        }
    }
}
