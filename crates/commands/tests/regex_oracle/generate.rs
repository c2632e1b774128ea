//! Random expressions and lines, over few characters so that they meet.

use pelton_testkit::Random;

/// What an expression is written for.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    pub extended: bool,
    pub sed: bool,
    pub utf8: bool,
}

const LITERALS: [&str; 22] = [
    "a", "b", "c", "a", "b", "ab", "abc", "1", "2", " ", "-", ",", "x", "_", "A", "K", "s", "i", "]", "}",
    "#", "aa",
];
const CLASSES: [&str; 10] = [
    "[:alpha:]",
    "[:digit:]",
    "[:space:]",
    "[:alnum:]",
    "[:punct:]",
    "[:upper:]",
    "[:lower:]",
    "[:blank:]",
    "[:xdigit:]",
    "[:print:]",
];
const LOOKS: [&str; 6] = ["\\<", "\\>", "\\b", "\\B", "\\`", "\\'"];
const JUNK: [&str; 36] = [
    "a", "b", "c", "[", "]", "^", "$", "*", "\\", "{", "}", "(", ")", "|", "1", ",", "-", "+", "?", ".",
    "\\(", "\\)", "\\{", "\\}", "\\|", "\\+", "\\?", "[^", "[a", "a-c", "{1,2}", "\\{2\\}", "\\w", "\\b",
    "\\<", "é",
];

/// One expression.
pub fn expression(random: &mut Random, dialect: Dialect) -> String {
    if random.one_in(8) {
        let count = 1 + random.below(7);
        return (0..count).map(|_| random.pick(&JUNK)).collect();
    }
    let mut text = String::new();
    alternatives(random, dialect, 3, &mut text);
    text
}

fn alternatives(random: &mut Random, dialect: Dialect, depth: usize, text: &mut String) {
    branch(random, dialect, depth, text);
    while random.one_in(4) {
        text.push_str(if dialect.extended { "|" } else { "\\|" });
        branch(random, dialect, depth, text);
    }
}

fn branch(random: &mut Random, dialect: Dialect, depth: usize, text: &mut String) {
    if random.one_in(12) {
        text.push('^');
    }
    let count = if random.one_in(12) { 0 } else { 1 + random.below(4) };
    for _ in 0..count {
        atom(random, dialect, depth, text);
        if random.one_in(3) {
            repetition(random, dialect, text);
            if random.one_in(10) {
                repetition(random, dialect, text);
            }
        }
    }
    if random.one_in(12) {
        text.push('$');
    }
}

fn atom(random: &mut Random, dialect: Dialect, depth: usize, text: &mut String) {
    match random.below(20) {
        0..=8 => text.push_str(random.pick(&LITERALS)),
        9 | 10 => text.push('.'),
        11 | 12 => bracket(random, dialect, text),
        13..=15 if depth > 0 => {
            text.push_str(if dialect.extended { "(" } else { "\\(" });
            alternatives(random, dialect, depth - 1, text);
            text.push_str(if dialect.extended { ")" } else { "\\)" });
        }
        16 => text.push_str(random.pick(&LOOKS)),
        17 => text.push_str(random.pick(&["\\w", "\\W", "\\s", "\\S"])),
        18 => escape(random, dialect, text),
        _ if dialect.utf8 && random.one_in(2) => text.push_str(random.pick(&["é", "ü", "日"])),
        _ => text.push_str(random.pick(&LITERALS)),
    }
}

fn escape(random: &mut Random, dialect: Dialect, text: &mut String) {
    const COMMON: [&str; 10] = ["\\.", "\\*", "\\[", "\\]", "\\^", "\\$", "\\\\", "\\-", "\\/", "\\,"];
    const SED: [&str; 8] = ["\\n", "\\t", "\\x41", "\\d098", "\\o141", "\\f", "\\-", "\\x20"];
    let rare = random.one_in(3);
    text.push_str(if dialect.sed && rare { random.pick(&SED) } else { random.pick(&COMMON) });
}

fn bracket(random: &mut Random, dialect: Dialect, text: &mut String) {
    const MEMBERS: [&str; 20] = [
        "a", "b", "c", "x", "1", "a-c", "0-9", "A-Z", "a-z", " ", ",", ".", "*", "^", "$", "\\", "(", "|",
        "_", "[",
    ];
    text.push('[');
    if random.one_in(4) {
        text.push('^');
    }
    if random.one_in(10) {
        text.push(']');
    }
    for _ in 0..1 + random.below(3) {
        match random.below(14) {
            0 | 1 => text.push_str(random.pick(&CLASSES)),
            2 if dialect.utf8 => text.push_str(random.pick(&["é", "ü"])),
            3 if dialect.sed => text.push_str(random.pick(&["\\n", "\\t", "\\\\", "\\]", "\\x41"])),
            4 if random.one_in(4) => {
                text.push_str(random.pick(&["[.a.]", "[=a=]", "[.-.]", "-", "+--", "\\-z"]))
            }
            _ => text.push_str(random.pick(&MEMBERS)),
        }
    }
    if random.one_in(10) {
        text.push('-');
    }
    text.push(']');
}

fn repetition(random: &mut Random, dialect: Dialect, text: &mut String) {
    const BASIC: [&str; 8] = ["*", "\\+", "\\?", "\\{2\\}", "\\{1,2\\}", "\\{0,3\\}", "\\{,2\\}", "\\{2,\\}"];
    const EXTENDED: [&str; 8] = ["*", "+", "?", "{2}", "{1,2}", "{0,3}", "{,2}", "{2,}"];
    let which = if random.one_in(2) { random.below(3) } else { random.below(8) };
    text.push_str(if dialect.extended { EXTENDED[which] } else { BASIC[which] });
}

/// A line, without its newline. Valid UTF-8 unless `wild`, which allows any bytes.
pub fn line(random: &mut Random, utf8: bool, wild: bool) -> Vec<u8> {
    const PIECES: [&str; 30] = [
        "a", "b", "c", "a", "b", "c", "aa", "ab", "abc", "bc", "1", "2", " ", " ", "-", ",", "x", "_", "A",
        "B", "k", "K", "S", "i", "]", "[", "*", "\\", "\t", "}",
    ];
    const WIDE: [&str; 9] = ["é", "ü", "日", "ı", "ſ", "\u{212a}", "\u{3000}", "É", "😀"];
    const BEYOND: [&[u8]; 6] = [
        b"\xED\xA0\x80",
        b"\xF4\x90\x80\x80",
        b"\xF7\xBF\xBF\xBF",
        b"\xF8\x88\x80\x80\x80",
        b"\xF8\x80\x80\x80\x80",
        b"\xFD\x84\x80\x80\x80\x80",
    ];
    let count = if random.one_in(16) { 0 } else { random.below(12) };
    let mut line = Vec::new();
    let wide = utf8 && random.one_in(2);
    for _ in 0..count {
        if wild && utf8 && random.one_in(20) {
            line.extend(random.pick(&BEYOND));
        } else if wild && random.one_in(6) {
            line.push([0xFF, 0xC3, 0x80, 0xA9, 0xE9, 0xF0][random.below(6)]);
        } else if wide && random.one_in(4) {
            line.extend_from_slice(random.pick(&WIDE).as_bytes());
        } else {
            line.extend_from_slice(random.pick(&PIECES).as_bytes());
        }
    }
    line
}
