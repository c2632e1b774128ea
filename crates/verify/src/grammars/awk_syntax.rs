//! awk: operators in any order without parentheses, which each awk's grammar puts together in its own way, and numbers in
//! text at the borders of what is one.

use super::on_stdin;
use crate::{Case, Rng};

const OPERANDS: &[&str] = &[
    "1",
    "2",
    "0",
    "x",
    "y",
    "z",
    "\"a\"",
    "\"3\"",
    "\"\"",
    "$1",
    "$2",
    "NF",
    "NR",
    "a[\"k\"]",
    "length",
    "-1",
    "!x",
    "-x",
    "x++",
    "--y",
    "/a/",
    "!/b/",
    "(x)",
    "(x == 1)",
    "$x",
    "f(x)",
    "1.5",
    "int(x)",
    "substr(\"abc\", 2)",
    "\"k\" in a",
    "(x, 1) in a",
    "x = 2",
    "x += 2",
    "x /= 2",
    "split(y \"\\n,\" $0 \",\\n\", s, \",\")",
    "split($0 \"\\n\", s)",
    "split(\"\", s, \",\") s[1]",
    "substr($0, $1, $2)",
    "substr(\"hello\", 0, 2)",
    "substr($0, -1)",
    "substr($0, 1.5, 2.5)",
    "index($0, \"\")",
    "index(\"\", y)",
    "match($0, /b*/) RSTART RLENGTH",
    "gsub(/b*/, \"[&]\")",
    "gsub(/a|1/, \"\\\\&\\\\\\\\&\\\\\\\\\\\\&\\\\\\\\x\")",
    "sub(/$/, \"&&\")",
    "gsub(/^/, \"-\", $2)",
    "sprintf(\"%c%c\", $1, \"\")",
    "sprintf(\"%o %X %u\", $1, $2, $1)",
    "sprintf(\"%5.2f|%-8d|%08.3e\", $1, $2, $3)",
    "toupper(substr($0, 2))",
    "length(x)",
    "length()",
    "log($1)",
    "int(exp($2))",
    "sqrt(4)",
    "int(-0.5)",
    "$(NF - 1)",
    "srand(3) rand()",
    "int(rand() * 1000)",
    "-2^2",
    "2^3^0",
    "$NF",
    "\"10\"",
    "$3",
    "+$1",
    "$1 \"\"",
    "index(y, \"b\")",
    "x %= 2",
    "$2 = 7",
    "(1 ? x : y)",
    "sprintf(\"%s\", $1)",
    "toupper(y)",
    "-$1",
    "!$2",
    "1e3",
    "100000 * 100000",
];

const OPERATORS: &[&str] = &[
    " ", " ", " + ", " - ", " * ", " / ", " % ", "^2 + ", " < ", " <= ", " == ", " != ", " > ", " >= ",
    " ~ ", " !~ ", " && ", " || ", " ? 1 : ", " ? x : ", " -",
];

/// Words that are numbers to some awks, in some places.
const WORDS: &[&str] = &[
    "10",
    "9",
    "+5",
    "-3",
    "0",
    "-0",
    "00",
    "0x1A",
    "-0x1A",
    "+0x",
    "1e3",
    "1e",
    "1e+",
    "1e999",
    "-1e-999",
    ".5",
    "5.",
    ".",
    "+",
    "-",
    "+nan",
    "-nan",
    "nan",
    "+inf",
    "-inf",
    "inf",
    "+nano",
    "+infinity",
    "a",
    "b",
    "3a",
    "1.0",
    "1e2x",
    "--1",
    "+-1",
    "99999999999",
    "9007199254740993",
    "1e30",
    "1e31",
    "2147483648",
    "-2147483649",
    "18446744073709551616",
    "0.1",
    "1e-5",
    "1e5",
    "123456.789",
    "0.30000000000000004",
    "4e-320",
    "\u{b}7",
    "7\r",
    "é",
];

/// Makes a program of one expression or two, with values that show how it was read.
pub fn case(rng: &mut Rng, command: &str) -> Case {
    let one = expression(rng);
    let (pick, other) = (rng.below(11), expression(rng));
    let body = match pick {
        0 => format!("print {one}"),
        1 => format!("w = {one}; print w, x, y"),
        2 => format!("if ({one}) print \"t\"; else print \"f\"; print x, y, $0, NF"),
        3 => format!("print ({one}); print x, y, $0"),
        4 => format!("print {one}, {other}"),
        5 => format!("printf \"%s|%d|%.1f\\n\", {one}, {other}, z"),
        6 => format!("while ({one}) {{ if (n++ > 3) break; print n }}; print f({other})"),
        7 => format!("a[{one}] = 1; for (k in a) print k"),
        8 => format!("{one}; print x, y, $0, NF"),
        9 => format!("printf \"%c|%5c|%-3c|%x|%i|%g|%s\\n\", {one}, {other}, $1, $2, $2, $3, $2 + 0"),
        _ => "print $1 == $2, $1 < $2".to_owned(),
    };
    let text = match rng.below(6) {
        0 => format!("function f(q) {{ return q \"!\" }} {one} {{ print \"m\", x, y }}"),
        // A field with a large number takes as much memory.
        1 => format!("function f(q) {{ return q }} {{ x = $1; y = $2 \"\"; a[\"k\"]; {body} }}").replace("$x", "$2"),
        2 => "{ print ($1 < $2), ($1 == $2), $1 + 0, $2 * 1, ($1 > 5), !$1, -$2, $1 % $2, int($1), substr(\"abcdef\", $1, $2) }"
            .to_owned(),
        _ => format!("function f(q) {{ return q \"!\" }} {{ x = 3; y = \"b\"; a[\"k\"]; {body} }}"),
    };
    let mut case = on_stdin(rng, command, vec![text.into_bytes()]);
    let lines = rng.below(6);
    case.stdin = (0..lines).map(|_| line(rng)).collect::<String>().into_bytes();
    case
}

fn expression(rng: &mut Rng) -> String {
    let mut text = rng.pick(OPERANDS).to_owned();
    for _ in 0..=rng.below(3) {
        text.push_str(rng.pick(OPERATORS));
        text.push_str(rng.pick(OPERANDS));
    }
    text
}

fn line(rng: &mut Rng) -> String {
    let words: Vec<&str> = (0..rng.below(5)).map(|_| rng.pick(WORDS)).collect();
    format!("{}\n", words.join(" "))
}
