//! gawk: programs that count, cut and change characters, over valid and invalid UTF-8.

use super::awk::broken_into_lines;
use super::on_files;
use super::template::{Holes, filled};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = Vec::new();
    if rng.chance(20) {
        args.push(rng.pick(&["-F,", "-F:", "-Fa", "-F\\t", "-vs=É", "-vs=b"]).as_bytes().to_vec());
    }
    // Over ASCII, the only other characters are those of the program.
    let is_ascii = rng.chance(15);
    let program = filled(rng, if is_ascii { "{ @O }" } else { "@I" }, HOLES);
    let program = if rng.chance(20) { broken_into_lines(rng, &program) } else { program };
    args.push(program.into_bytes());
    let mut case = on_files(rng, command, args);
    case.utf8 = rng.chance(95);
    case.stdin = characters(rng, is_ascii);
    case.files.iter_mut().for_each(|(_, content)| *content = characters(rng, is_ascii));
    case
}

/// Pieces of lines, the last of which are no characters.
const PIECES: &[&[u8]] = &[
    b"a",
    b"b",
    b"ab",
    b"x",
    b"B",
    b" ",
    b",",
    b":",
    b"12",
    b"0.5",
    b"the",
    b"Word",
    b"\t",
    "é".as_bytes(),
    "É".as_bytes(),
    "ß".as_bytes(),
    "€".as_bytes(),
    "日本".as_bytes(),
    "😀".as_bytes(),
    "퐀".as_bytes(),
    "훈".as_bytes(),
    "\u{10fffe}".as_bytes(),
    "e\u{301}".as_bytes(),
    "ǅ".as_bytes(),
    "ı".as_bytes(),
    "İ".as_bytes(),
    "ÿ".as_bytes(),
    "\u{fffd}".as_bytes(),
    "\u{a0}".as_bytes(),
    b"\0",
    b"\xe9",
    b"\xc3",
    b"\xff",
    b"\x80",
    b"\xe2\x82",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xf0\x9f\x98",
    b"\xc0\x80",
    b"\xf8\x88\x80\x80\x80",
];

/// How many of the pieces are of ASCII.
const ASCII: usize = 13;

fn characters(rng: &mut Rng, is_ascii: bool) -> Vec<u8> {
    let mut known = if is_ascii { ASCII } else { rng.pick(&[ASCII, 29, 29, 30, PIECES.len(), PIECES.len()]) };
    // Other characters may come only behind lines of ASCII.
    let is_mixed = !is_ascii && rng.chance(40);
    let mut text = Vec::new();
    for line in 0..rng.pick(&[0, 1, 1, 2, 3, 5]) {
        if is_mixed {
            known = if line == 0 { ASCII } else { rng.pick(&[ASCII, ASCII, 29, PIECES.len()]) };
        }
        for _ in 0..rng.pick(&[0, 1, 2, 3, 5, 8, 12]) {
            text.extend_from_slice(rng.pick(&PIECES[..known]));
        }
        text.push(b'\n');
    }
    if rng.chance(10) {
        text.pop();
    }
    text
}

const HOLES: &Holes = &[
    (
        'I',
        &[
            "{ @X }",
            "@T",
            "@T { @X }",
            "{ @X; @X }",
            "{ @X } END { @Z }",
            "{ @X; @X } END { @Z; @Z }",
            "BEGIN { @Y } { @X }",
            "NR > 1 { @X }",
            "{ x = x @S } END { @Z }",
            "function f(s) { return @F } { print f(@S), f(@S) }",
            "{ @X > \"/dev/stderr\" } { @X }",
        ],
    ),
    (
        'T',
        &[
            "@R",
            "!@R",
            "$1 ~ @R",
            "$0 !~ @R && $2 ~ @R",
            "@R, @R",
            "length > 3",
            "length($1) == @N",
            "length($0) != NF",
            "@C",
            "@F",
            "@S == @S",
        ],
    ),
    (
        'X',
        &[
            "print length",
            "print length, $0",
            "print @F",
            "print @F, @F",
            "print @S",
            "x = @S",
            "n += @C",
            "c[@S]++",
            "$1 = @S; print",
            "$2 = @F; print NF, $0",
            "printf @G, @S, @S",
            "printf \"%c|%3c|%-3c|\\n\", @K, @K, @K",
            "for (i = 1; i <= length($1); i++) printf \"%s.\", substr($1, i, 1)",
            "if (match($0, @R)) print RSTART, RLENGTH, substr($0, RSTART, RLENGTH)",
            "while (match($1, @R)) { print RSTART; $1 = substr($1, RSTART + 1) ; if (++g > 9) break }",
            "if (@C > 2) print @S",
            "gsub(@R, @P); print length, $0",
            "gsub(@R, \"<&>\"); print",
            "sub(@R, \"[&]\"); print",
            "print (@S ~ @R), (@S ~ @R)",
            "n = split($0, p, @R); print n, p[1], p[n]",
            "if (@R) k = !k; if (k) print",
            "x = toupper(substr($0, 1, 1)) substr($0, 2); print x",
            "x = sprintf(@G, @S, @S); print length(x), x",
            "r = \"\"; for (i = length($0); i > 0; i--) r = r substr($0, i, 1); print r",
        ],
    ),
    (
        'Y',
        &[
            "x = \"é\"",
            "n = length(\"é\")",
            "OFS = \"é\"",
            "printf \"%3s|\\n\", \"é\"",
            "x = \"\\351\"",
            "y = index(\"bé\", \"é\")",
        ],
    ),
    (
        'Z',
        &[
            "print x, length(x), n",
            "print length, $0",
            "print NR, n",
            "print substr(x, 2, 3)",
            "print toupper(x)",
            "printf \"%5s|%.2s\\n\", x, $0",
        ],
    ),
    (
        'C',
        &[
            "length",
            "length($0)",
            "length($2)",
            "length(x)",
            "index($0, @P)",
            "index(@S, @S)",
            "match(@S, @R)",
            "length(@S)",
        ],
    ),
    (
        'F',
        &[
            "$1",
            "x",
            "@C",
            "@S",
            "toupper(@S)",
            "tolower(@S)",
            "substr(@S, @N)",
            "substr(@S, @N, @N)",
            "sprintf(@G, @S, @N)",
        ],
    ),
    (
        'S',
        &[
            "$0",
            "$1",
            "$2",
            "x",
            "s",
            "$NF",
            "\"é\"",
            "\"aé€b\"",
            "$1 $2",
            "x $1",
            "substr($0, @N)",
            "substr($0, @N, @N)",
            "toupper($1)",
            "tolower($0)",
            "(@S \"€\")",
        ],
    ),
    ('N', &["1", "2", "3", "5", "0", "-1", "1.5", "NF", "NR", "length($1)", "0.5", "1e10"]),
    (
        'G',
        &[
            "\"%s|%s\\n\"",
            "\"%5s|%-5s|\\n\"",
            "\"%.2s|%.1s\\n\"",
            "\"%6.3s|%-6.2s|\\n\"",
            "\"%.0s%2s\\n\"",
            "\"%-s%12s\\n\"",
            "\"%é%3s|%s\\n\"",
        ],
    ),
    (
        'K',
        &[
            "65",
            "233",
            "8364",
            "128",
            "55296",
            "1114112",
            "-1",
            "256",
            "$1 + 0",
            "2147483648",
            "1e20",
            "\"é\"",
            "\"ab\"",
            "\"€\" $1",
            "(\"x\" $0)",
            "$1 \"é\"",
            "0",
        ],
    ),
    (
        'R',
        &[
            "/a/",
            "/b*/",
            "/[ab]+/",
            "/é/",
            "/$/",
            "/x|€/",
            "/^a/",
            "/b$/",
            "/[0-9]/",
            "/[[:space:]]/",
            "/@E/",
            "/^@E/",
            "/@E$/",
            "/^@E$/",
            "/@E@E/",
            "/^@E@E$/",
            "/(@E|x)@E/",
            "/@E@E@E/",
        ],
    ),
    (
        'E',
        &[
            ".",
            ".",
            ".*",
            "[^x]",
            "[^ ]+",
            "[^a]*",
            "a",
            "b?",
            "é",
            "[ab]",
            "[a-c]+",
            "[a-c-e]",
            "[[:digit:]-]",
            ".?",
            "(a.|b)+",
            "[[:space:]]*",
            "\\S",
            "\\w+",
            "[[:alpha:]]",
            "[^[:space:]]",
            "한",
            "\\s",
        ],
    ),
    (
        'O',
        &[
            "print (@A ~ @L), @L",
            "$0 = @A; print (@L), $1 ~ @L",
            "gsub(@R, @A); print (@L), $1 ~ @L",
            "sub(@L, @A); gsub(@L, \"<&>\"); print",
            "x = x @A; print match(x, @L), RLENGTH",
            "print (@A ~ @R), length(@A)",
        ],
    ),
    // The system's tables say what matches them.
    (
        'L',
        &[
            "/\\w/",
            "/^\\w+$/",
            "/\\W/",
            "/^[[:alpha:]]/",
            "/[[:upper:]]$/",
            "/\\y./",
            "/x\\>/",
            "/[[:punct:]]/",
        ],
    ),
    ('A', &["\"é\"", "\"É\" $1", "\"x€\"", "\"a\\303\\251\"", "sprintf(\"%c\", @K)", "s"]),
    ('P', &["\"a\"", "\"x\"", "\"12\"", "\"é\"", "\"\"", "\"<&>\"", "\"€\"", "\"b\"", "\"\\351\""]),
];
