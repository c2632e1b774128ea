//! awk: programs of one to three rules over words, numbers and what lies between them.

use super::on_files;
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args: Vec<Vec<u8>> = Vec::new();
    let separator = rng.pick(&["", "", "", "", "t", ",", ":", "\\t", "[,:]", ", *", "ab", "|", "[ ]", "a"]);
    if !separator.is_empty() {
        match rng.below(3) {
            0 => args.push(format!("-F{separator}").into_bytes()),
            1 => args.extend([b"-F".to_vec(), separator.as_bytes().to_vec()]),
            _ => args.push(format!("-vFS={separator}").into_bytes()),
        }
    }
    if rng.chance(15) {
        let value = rng.pick(&[
            "3", "abc", "", "0x10", " 7 ", "1e2", "a\\tb", "+nan", "-inf", "1.5", "7\\r", "\\n7", "\\v7\\f",
        ]);
        args.extend([b"-v".to_vec(), format!("x={value}").into_bytes()]);
    }
    if rng.chance(15) {
        let value =
            rng.pick(&["a", "^b", "[0-9]+", "b$", "a|c", "x*", "1", "^.a", "(ab)+", "\\\\.", "é", "a{2}"]);
        args.push(format!("-vgiven={value}").into_bytes());
    }
    if rng.chance(10) {
        args.push(format!("-vOFS={}", rng.pick(&["-", "", ",", "::"])).into_bytes());
    }
    let mut has_paragraphs = false;
    if rng.chance(8) {
        let end = rng.pick(&[";", "a", " ", "|", "", "", ""]);
        args.push(format!("-vRS={end}").into_bytes());
        has_paragraphs = end.is_empty();
        if has_paragraphs && rng.chance(30) {
            args.push(b"-F\\n".to_vec());
        }
    }
    let mut text = Writer { rng, depth: 0 }.program();
    if rng.chance(15) {
        let value =
            rng.pick(&["1", "2", "3", "10", "04", "0", "-1", "1e1", " 2", "abc", "2024-01-01", "0x1", "a b"]);
        args.extend([b"-v".to_vec(), format!("column={value}").into_bytes()]);
        // Mostly a variable that never changes; as a place, it changes.
        let (from, to) =
            rng.pick(&[("$1", "$column"), ("$2", "$column"), ("$1", "column"), ("2.5", "column")]);
        text = text.replace(from, to);
    }
    let reads = rng.chance(8);
    if reads {
        let read = rng.pick(&[
            "while ((getline x < \"table\") > 0) c[x]++",
            "while ((getline x < \"table\") > 0) { n = split(x, a); c[a[1]] = a[2] }",
            "while ((getline x < \"table\") > 0) print x, x + 1",
            "while (getline x < \"table\") l[++n] = x",
            "for (i = 1; (getline x < \"table\") > 0; i++) l[i] = x; print i",
            "getline x < \"table\"; getline y < \"table\"",
            "if ((getline x < \"table\") > 0) print x, x + 1, (x < 5), (x == \"a\"), length(x), !x",
            "n = (getline x < \"table\"); print n, x; print (getline y < \"table\"), y",
            "while ((getline m < \"table\") > 0 && m != \"a\") n++; print n, m",
            "do { n++ } while ((getline y < \"table\") > 0); print n",
        ]);
        text = format!("BEGIN {{ {read} }}\n{text}");
    }
    if rng.chance(20) {
        text = broken_into_lines(rng, &text);
    }
    let mut program = None;
    if rng.chance(5) {
        args.extend([b"-f".to_vec(), b"program".to_vec()]);
        program = Some(text);
    } else {
        if rng.chance(5) {
            args.push(b"--".to_vec());
        }
        args.push(text.into_bytes());
    }
    if rng.chance(6) {
        let assignment = rng.pick(&[
            "x=3",
            "x=",
            "y=a\\tb",
            "OFS=-",
            "FS=:",
            "x= 0x10 ",
            "ORS=;",
            "n=2",
            "c=1",
            "RS=a",
            "systime=1",
            "ENDFILE=1",
            "ARGV=1",
            "y=+nan",
        ]);
        args.push(assignment.as_bytes().to_vec());
    }
    let mut case = on_files(rng, command, args);
    if rng.chance(90) {
        case.stdin = data(rng);
        case.files.iter_mut().for_each(|(_, content)| *content = data(rng));
    }
    if has_paragraphs {
        let files = case.files.iter_mut().map(|(_, content)| content);
        files.chain([&mut case.stdin]).for_each(|text| part_paragraphs(rng, text));
    }
    if reads {
        case.files.push(("table".to_owned(), data(rng)));
    }
    case.files.extend(program.map(|text| ("program".to_owned(), text.into_bytes())));
    if matches!(command, "awk" | "gawk") {
        avoid_infinity(&mut case);
    }
    case
}

/// Breaks a program into lines, behind some of its braces and semicolons.
pub(super) fn broken_into_lines(rng: &mut Rng, text: &str) -> String {
    let mut broken = String::new();
    let (mut depth, mut quote, mut escaped) = (0, None, false);
    for character in text.chars() {
        broken.push(character);
        match (quote, character) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            // An expression, or a division: what lies behind either is left as it is.
            (None, '"' | '/') => quote = Some(character),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, '{' | ';') if depth == 0 && rng.chance(50) => broken.push('\n'),
            _ => {}
        }
    }
    broken
}

/// Puts empty lines between some of the lines, and before and behind them.
fn part_paragraphs(rng: &mut Rng, text: &mut Vec<u8>) {
    // mawk reads 4096 bytes at first.
    let leading = if rng.chance(3) { 4090 + rng.below(12) as usize } else { rng.pick(&[0, 0, 1, 3]) };
    let mut parted = b"\n".repeat(leading);
    for byte in text.iter() {
        parted.push(*byte);
        if *byte == b'\n' && rng.chance(30) {
            parted.extend(b"\n".repeat(rng.pick(&[1, 1, 2])));
        }
    }
    *text = parted;
}

/// Replaces most numbers that are too large for a double. Where gawk has infinity in a computed field or record, it reads
/// freed memory, so even NF differs from run to run. The engine allows the differences that remain.
pub(super) fn avoid_infinity(case: &mut Case) {
    let avoid = |text: &mut Vec<u8>| {
        for at in 1..text.len().saturating_sub(2) {
            let is_large =
                text[at - 1].eq_ignore_ascii_case(&b'e') && text[at..at + 3].iter().all(u8::is_ascii_digit);
            if is_large {
                text[at] = b'1';
            }
        }
    };
    avoid(&mut case.stdin);
    case.files.iter_mut().for_each(|(_, content)| avoid(content));
}

/// Whatever `awk` is.
pub fn either(rng: &mut Rng, command: &str) -> Case {
    if rng.chance(50) { case(rng, command) } else { plain(rng, command) }
}

/// Programs of the kind that all awks run alike.
pub fn plain(rng: &mut Rng, command: &str) -> Case {
    let mut args: Vec<Vec<u8>> = Vec::new();
    let separator = rng.pick(&["", "", ",", ":", "\t", "|", ";", "/", "=", "-", "\t", "%"]);
    match rng.below(3) {
        _ if separator.is_empty() => {}
        0 => args.push(format!("-F{separator}").into_bytes()),
        1 => args.extend([b"-F".to_vec(), separator.as_bytes().to_vec()]),
        _ => args.push(format!("-vFS={separator}").into_bytes()),
    }
    if rng.chance(15) {
        args.push(format!("-vOFS={}", rng.pick(&["-", "", ",", "::", "\t", "a"])).into_bytes());
    }
    let mut program = String::new();
    if rng.chance(10) {
        program += rng.pick(&[
            "BEGIN { OFS = \",\" } ",
            "BEGIN { FS = OFS = \":\" }\n",
            "BEGIN { FS = \",\"; OFS = \"-\" } ",
        ]);
    }
    let mut plain = Plain { rng };
    for _ in 0..plain.rng.pick(&[1, 1, 1, 2, 3]) {
        program += &plain.rule();
        program.push('\n');
    }
    args.push(program.into_bytes());
    let mut case = super::on_stdin(rng, command, args);
    if rng.chance(95) {
        case.stdin = data(rng);
    }
    case
}

struct Plain<'a> {
    rng: &'a mut Rng,
}

impl Plain<'_> {
    fn pick(&mut self, choices: &[&str]) -> String {
        self.rng.pick(choices).to_owned()
    }

    fn rule(&mut self) -> String {
        match self.rng.below(4) {
            0 => self.test(),
            1 => format!("{} {{ {} }}", self.test(), self.action()),
            _ => format!("{{ {} }}", self.action()),
        }
    }

    fn action(&mut self) -> String {
        let count = self.rng.pick(&[1, 1, 2, 3]);
        (0..count).map(|_| self.statement()).collect::<Vec<_>>().join("; ")
    }

    fn statement(&mut self) -> String {
        match self.rng.below(10) {
            0..5 => format!(
                "print {}",
                (0..self.rng.pick(&[1, 1, 2, 3])).map(|_| self.printed()).collect::<Vec<_>>().join(", ")
            ),
            5 => "print".to_owned(),
            6 => format!("{} = {}", self.pick(&["$1", "$2", "$3", "$7"]), self.text()),
            7 | 8 => format!(
                "{}({}, {}{})",
                self.pick(&["sub", "gsub"]),
                self.regex(),
                self.pick(&["\"X\"", "\"\"", "\"a b\"", "\"b\"", "\", \""]),
                self.pick(&["", "", ", $0", ", $1", ", $2"])
            ),
            _ => format!(
                "if ({}) {{ {} }} else {{ {} }}",
                self.test(),
                self.pick(&["next", "print $2", "$2 = \"y\""]),
                self.pick(&["print $1", "$1 = $3"])
            ),
        }
    }

    fn printed(&mut self) -> String {
        if self.rng.chance(20) {
            return self.pick(&["NF", "length", "length($1)", "length($0)", "1", "(NF)", "42"]);
        }
        self.text()
    }

    fn text(&mut self) -> String {
        match self.rng.below(9) {
            0..5 => self.pick(&["$1", "$2", "$3", "$0", "$NF", "\"a\"", "\"\"", "\"10\"", "$9"]),
            5 => format!("{} {}", self.pick(&["$1", "\"-\"", "$NF"]), self.pick(&["$2", "\"b\"", "$3"])),
            6 => format!("({} ? $1 : {})", self.test(), self.pick(&["$2", "\"x\""])),
            7 => format!("{}({})", self.pick(&["toupper", "tolower"]), self.pick(&["$1", "$0", "$2"])),
            _ => format!(
                "substr({}, {})",
                self.pick(&["$0", "$1", "$2"]),
                self.pick(&["1", "2", "2, 3", "1, 1", "5, 100", "3, 2"])
            ),
        }
    }

    fn test(&mut self) -> String {
        match self.rng.below(8) {
            0..3 => self.regex(),
            3 => {
                let regex = match self.rng.below(4) {
                    0 => self.pick(&["given", "\"a\" given", "(given \"b?\")"]),
                    _ => self.regex(),
                };
                format!("{} {} {regex}", self.pick(&["$1", "$2", "$0", "$NF"]), self.pick(&["~", "!~"]))
            }
            4 => format!(
                "{} {} {}",
                self.pick(&["$1", "$2", "$0", "$NF"]),
                self.pick(&["==", "!="]),
                self.pick(&["\"a\"", "\"10\"", "\"\"", "\"foo\"", "\"1e3\""])
            ),
            5 => format!(
                "{} {} {}",
                self.pick(&["NF", "length", "length($1)"]),
                self.pick(&["<", "<=", "==", "!=", ">", ">="]),
                self.pick(&["0", "1", "2", "3", "NF", "10"])
            ),
            6 => format!("({} && !{})", self.regex(), self.regex()),
            _ => self.pick(&["NF", "!NF", "1", "0", "(NF || /a/)", "length"]),
        }
    }

    fn regex(&mut self) -> String {
        let mut text = self.pick(&["", "", "", "^"]);
        for index in 0..self.rng.pick(&[1, 1, 2, 3]) {
            if index > 0 && self.rng.chance(15) {
                text.push('|');
            }
            text += &self.pick(&[
                "a",
                "b",
                "ab",
                "1",
                "[ab]",
                "[0-9]",
                "[a-c]",
                ".",
                "[^a]",
                " ",
                ",",
                "\\.",
                "x",
                "[^ ,]",
                "foo",
                "\\/",
                "-",
                "[a-zA-Z_]",
                "[a-c-e]",
                "[0-9-]",
                "[[:alpha:]-z]",
            ]);
            text += &self.pick(&["", "", "", "*", "+", "?"]);
        }
        text += &self.pick(&["", "", "", "$"]);
        format!("/{text}/")
    }
}

/// Lines of few words, so that expressions meet them.
pub fn data(rng: &mut Rng) -> Vec<u8> {
    const WORDS: &[&[u8]] = &[
        b"a",
        b"b",
        b"ab",
        b"abc",
        b"foo",
        b"1",
        b"2",
        b"10",
        b"3.5",
        b"-4",
        b"+7",
        b"1e3",
        b"0x1f",
        b"+0x1f",
        b"-0x1.8",
        b"0x.8",
        b".5",
        b"5.",
        b"0",
        b"00",
        b"nan",
        b"inf",
        b"1e400",
        b"x1",
        b"1x",
        "é".as_bytes(),
        b"\xff",
        "훈".as_bytes(),
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"A",
        b"aB",
        b"2147483647",
        b"2147483648",
        b"-2147483649",
        b"123456789012",
        b"0.1",
        b"1e-5",
        b"1234567.8",
        b"&",
        b"\\",
        b"(a)",
        b"[b]",
        b"a.b",
        b"{2}",
        b"12345",
        b"7538.22",
        b"0.50",
        b"999999999.99",
        b"1234567890123.45",
        b"0.00000000000001",
        b"1.99999999999999999",
        b"50%",
        b"%%",
        b"100%s",
        b"%5%",
        b"%.3q%d",
        b"%*d%1$s",
        b"%-#hd",
    ];
    const BETWEEN: &[&[u8]] = &[b" ", b" ", b" ", b"  ", b"\t", b",", b",", b":", b", ", b";", b"|", b""];
    let small = rng.chance(50);
    let mut text = Vec::new();
    for _ in 0..rng.pick(&[0, 1, 2, 3, 5, 8, 16]) {
        if rng.chance(10) {
            text.extend_from_slice(rng.pick(BETWEEN));
        }
        for _ in 0..rng.below(7) {
            text.extend_from_slice(if small { rng.pick(&WORDS[..8]) } else { rng.pick(WORDS) });
            text.extend_from_slice(rng.pick(BETWEEN));
        }
        text.push(b'\n');
    }
    if rng.chance(30) {
        text.pop();
    }
    text
}

struct Writer<'a> {
    rng: &'a mut Rng,
    depth: u32,
}

impl Writer<'_> {
    fn pick(&mut self, choices: &[&str]) -> String {
        self.rng.pick(choices).to_owned()
    }

    /// The right operand: small exponents, since infinity in a record makes gawk's behaviour chance.
    fn operand_of(&mut self, operator: &str) -> String {
        if operator == "^" { self.pick(&["2", "3", "-1", "0.5", "0", "x"]) } else { self.value() }
    }

    fn program(&mut self) -> String {
        if self.rng.chance(5) {
            let body =
                self.pick(&["", "", "{ print $2 }", "{ n++; print n, $1 }", "{ $2 = \"\"; print; x = $1 }"]);
            return format!("{} {body}", self.first_of_kind());
        }
        if self.rng.chance(5) {
            let field = self.pick(&["$1", "$2", "$2", "$3", "$7"]);
            let text = self.pick(&["\"\"", "\"x\"", "\"a b\"", "\"10\""]);
            let print = self.pick(&["; print }", "; print } END { print NR }", " } 1", " } NF"]);
            return format!("{{ {field} = {text}{print}");
        }
        if self.rng.chance(10) {
            return self.printed();
        }
        if self.rng.chance(8) {
            return self.kept();
        }
        if self.rng.chance(5) {
            return self.with_fractions();
        }
        if self.rng.chance(3) {
            return self.says_several_things();
        }
        let mut items = Vec::new();
        if self.rng.chance(15) {
            let body = self.body(1);
            items.push(format!("BEGIN {{ {body} }}"));
        }
        let made: Vec<String> = (0..self.rng.pick(&[1, 1, 1, 2, 3])).map(|_| self.rule()).collect();
        if made.iter().any(|rule| rule.contains("form") || rule.contains("letter")) {
            let form = self.pick(&["%s\\n", "%5s|", "%d;%%", "a"]);
            items.insert(
                0,
                format!(
                    "BEGIN {{ form = \"{form}\"; letter = \"{}\" }}",
                    self.pick(&["s", "d", ".2f", "-s|"])
                ),
            );
        }
        items.extend(made);
        if self.rng.chance(35) {
            let body = self.end();
            items.push(format!("END {{ {body} }}"));
        }
        if self.rng.chance(20) {
            items.extend(self.function());
        }
        let between = self.pick(&[" ", "; ", "\n", "\n\n"]);
        items.join(&between)
    }

    /// Fields of each record, printed.
    fn printed(&mut self) -> String {
        let count = self.rng.pick(&[1, 1, 2, 3, 4]);
        let args: Vec<String> = (0..count)
            .map(|_| {
                self.pick(&[
                    "$1",
                    "$2",
                    "$3",
                    "$5",
                    "$7",
                    "$0",
                    "$70",
                    "NR",
                    "\"-\"",
                    "3",
                    "$2 \"|\" $1",
                    "$1 $4 \"\"",
                ])
            })
            .collect();
        let begin = self.pick(&["", "", "", "BEGIN { OFS = \"\\t\" } ", "BEGIN { FS = \",\"; x = 1 } "]);
        if self.rng.chance(40) {
            return format!("{begin}{{ print {} }}", args.join(", "));
        }
        let conversions: String = (0..count)
            .map(|_| {
                self.pick(&[
                    "%s", "%s", "%d", "%i ", "%.2f", "%f,", "%-8.3f|", "%9.1f", "%5s", "%-5.2s|", "%6d",
                    "%-6d|", "%.0f", "%.14f", "%.9f ", "%x", "%c", "%05d",
                ])
            })
            .collect();
        format!("{begin}{{ printf \"{conversions}\\n\", {} }}", args.join(", "))
    }

    /// Arrays that are looped over in the order in which they are kept.
    fn kept(&mut self) -> String {
        let mut rules = Vec::new();
        if self.rng.chance(20) {
            let (count, step) =
                (self.rng.pick(&[9, 38, 39, 390, 768, 769, 1600]), self.rng.pick(&[1, 7, 1008]));
            let key = self.pick(&[
                "\"k\" i * STEP % 1009",
                "i * STEP % 1009",
                "i * STEP",
                "-i * STEP",
                "(i % 3 ? i : i \"k\")",
                "2 ^ (i % 34) + i",
            ]);
            let key = key.replace("STEP", &step.to_string());
            rules.push(format!("BEGIN {{ for (i = 0; i < {count}; i++) c[{key}] = i }}"));
        }
        for _ in 0..self.rng.pick(&[1, 1, 2, 3]) {
            let (test, looks_up) =
                (self.pick(&["", "", "NR > 2 ", "$1 in c ", "!($2 in d) "]), self.looks_up());
            rules.push(format!("{test}{{ {looks_up} }}"));
        }
        if self.rng.chance(15) {
            rules.push(format!("NR % 3 == 1 {{ {} }}", self.loop_over()));
        }
        if self.rng.chance(25) {
            rules.push(format!("END {{ {} }}", self.loop_that_may_fail()));
        }
        if self.rng.chance(10) {
            let ends = self.pick(&["if (c[k] > 2) next; ", "if (k in d) next; ", "if (c[k] > 3) exit; ", ""]);
            let shows = self.pick(&[
                "print k",
                "n++",
                "d[k]",
                "print k > \"/dev/stderr\"",
                "print k; print c[k] > \"/dev/stderr\"",
            ]);
            rules.push(format!("NR == 5 {{ for (k in c) {{ {ends}{shows} }} }}"));
        }
        rules.push(format!("END {{ {} }}", self.loop_over()));
        rules.join(" ")
    }

    /// Arrays with indices that are not whole, some of which are written as whole ones.
    fn with_fractions(&mut self) -> String {
        let mut rules = Vec::new();
        if self.rng.chance(40) {
            rules.push(format!("BEGIN {{ {} }}", self.looks_up_fractions()));
        }
        for _ in 0..self.rng.pick(&[1, 1, 2, 3]) {
            let test = self.pick(&["", "", "NR > 2 ", "NR % 3 == 1 "]);
            rules.push(format!("{test}{{ {} }}", self.looks_up_fractions()));
        }
        let shown: Vec<String> = (0..4).map(|_| format!("c[{}]", self.fraction())).collect();
        let ends = self.looks_up_fractions();
        let shows = shown.join(", ");
        rules.push(format!("END {{ {ends}; n = 0; for (k in c) n++; print n, {shows}; print length(c) }}"));
        rules.join(" ")
    }

    /// An index that may be a number that is not whole.
    fn fraction(&mut self) -> String {
        self.pick(&[
            "1.1 * 100",
            "1.1 * 100 + NR",
            "110",
            "110 + NR % 3",
            "\"110\"",
            "\"11\" NR % 3",
            "$1 * 1.1",
            "$1 / 3 * 3",
            "$1 + 0",
            "$1",
            "$2 + 0",
            "$2 % 50",
            "NR * 0.1 * 3 * 10",
            "NR * 0.3 * 10",
            "int(NR * 0.3 * 10)",
            "NR / 2",
            "NR / 3",
            "123456.7 + NR",
            "123457 + NR",
            "-123456.7",
            "-123457",
            "\"-123457\"",
            "1500000000 + NR % 2",
            "0.1 + 0.2",
            "0.3",
            "\"0.3\"",
            "1.0000001",
            "0.9999999 * (NR % 2)",
            "1",
            "2 ^ 31",
            "2147483647",
            "log(NR)",
            "-0",
            "-x",
            "-$1",
            "-(NF > 2)",
            "-NR % 2",
            "int(-NR / 3)",
            "0",
            "x",
            "y",
            "x++",
            "x += 0.1",
            "\"k\"",
        ])
    }

    /// Something that looks up elements by such indices.
    fn looks_up_fractions(&mut self) -> String {
        let (key, other) = (self.fraction(), self.fraction());
        let form = self.pick(&[
            "c[KEY]++",
            "c[KEY] += NF",
            "c[KEY] = c[KEY] $2",
            "c[OTHER]; c[KEY] = c[KEY] \"x\"",
            "if ((KEY) in c) n++; print n",
            "if (!((KEY) in c)) d[KEY] = NR",
            "delete d[KEY]",
            "for (i = 3; i < 3000; i += 70) c[i]; c[KEY]++; c[OTHER]++; print length(c)",
            "c[123457 + NR % 2] = 1; c[KEY]; c[OTHER]",
            "x = KEY; c[x] = NR; d[x] = $2",
            "x = KEY; c[x]++; y = x; c[y]++; print x, (x in c), (y \"\" in c)",
            "if (NR == 4) delete c; c[KEY] = 1",
            "c[5]; c[-123457] = 1; c[KEY] = 1",
            "print c[KEY]++, d[OTHER]",
            "y = c[KEY] = OTHER; print y",
            "c[KEY] = c[OTHER] = NR",
            "c[KEY] = \"a b\"; sub(/a/, \"c\", c[KEY]); print c[OTHER]",
            "for (k in c) d[k]++; print length(d)",
            "for (k in c) if (k in d) n++; print n, length(c)",
            "for (k in c) { x = k; d[x * 2]++ } print length(d), d[OTHER]",
            "for (k in c) n += length(k); print n, c[OTHER]",
            "for (k in c) printf \"%g\\n\", k",
        ]);
        form.replace("(KEY)", &format!("({key})")).replace("KEY", &key).replace("OTHER", &other)
    }

    /// Something that looks up elements.
    fn looks_up(&mut self) -> String {
        let key = self.pick(&[
            "$1",
            "$1",
            "$2",
            "$0",
            "$NF",
            "$1 \",\" $2",
            "$1, $3",
            "substr($0, 3, 4)",
            "tolower($2)",
            "x",
            "d[$1]",
            "\"k\" NR % 7",
            "\"\"",
            "\"12\"",
            "NR",
            "NF % 3",
            "$1 + 0",
            "-NR",
            "NR * 70001",
            "sprintf(\"%d\", $1)",
            "(NR % 2 ? $1 : $2)",
        ]);
        let form = self.pick(&[
            "c[KEY]++",
            "c[KEY] += NF",
            "c[KEY] = c[KEY] $2",
            "c[KEY]",
            "if (KEY in c) n++",
            "if (!((KEY) in c)) d[KEY] = NR",
            "delete c[KEY]",
            "x = KEY; c[x] = NR; d[KEY] = $2",
            "for (i = 1; i <= NF; i++) c[$i]++",
            "n += split($0, p); for (i = n; i > 0; i--) c[p[i]] = d[KEY] p[i]",
            "c[KEY]++; $2 = KEY; d[$2]++",
            "if (NR == 4) delete c; c[KEY] = 1",
            "for (k in c) if (k == KEY) delete c[k]; c[KEY] = NR",
            "print c[KEY]++, d[KEY]",
            "c[KEY]; m = m length(c)",
            "n = split($0, p); m = m length(p)",
            "c[KEY] += $2; d[KEY]++",
            "d[KEY] += 1; c[KEY] = c[KEY] + NF",
            "if (KEY in d) m = m length(d); d[KEY]",
            "for (k in d) delete d[k]; d[KEY]; m = m length(d)",
        ]);
        form.replace("(KEY)", &format!("({key})")).replace("KEY", &key)
    }

    /// A loop whose order shows.
    fn loop_over(&mut self) -> String {
        self.pick(&[
            "for (k in c) print k, c[k]",
            "for (k in c) print c[k], k; for (k in d) print k",
            "for (k in c) printf \"%s=%s;\", k, c[k]; print n",
            "for (k in c) s = s \" \" k; print s",
            "for (k in c) { if (n++ < 5) print k; d[k] = n } for (k in d) print d[k], k",
            "for (k in c) { print k; delete c[k]; if (++m > 3) break } for (k in c) print \"left\", k",
            "for (k in d) if (k in c) print k; for (k in c) print k, d[k]",
            "for (k in c) if (k < 9) n++; print n",
            "for (k in c) if (k) n++; for (k in d) { x = k; n += x == $1 } print n",
            "for (k in c) if (k > x) x = k; print x; for (k in c) if (c[k] > m) { m = c[k]; x = k } print x, m",
        ])
    }

    /// A statement of whose parts several may end it or warn, in an order of their own.
    fn says_several_things(&mut self) -> String {
        let mut part = || {
            self.pick(&[
                "log(-$1)",
                "log(-2 - $2)",
                "exp(1000 * $2)",
                "sqrt($2)",
                "$(NF - 1)",
                "$(NF - 3)",
                "1 / $2",
                "$1 % x",
                "7 / NF",
                "$2",
                "c[log($2)]",
                "c[$1]++",
                "shown($1)",
                "ended()",
            ])
        };
        let (one, two, three) = (part(), part(), part());
        let form = self.pick(&[
            "c[ONE] = TWO",
            "c[ONE] += TWO",
            "c[ONE] /= TWO",
            "c[ONE] %= $2",
            "c[ONE] = d[TWO] = THREE",
            "c[ONE, TWO] = THREE",
            "$(ONE) = TWO",
            "print ONE, TWO THREE",
            "printf \"%s %s\\n\", ONE, TWO",
            "x = ONE + TWO - THREE",
            "y = ONE < TWO; print y",
            "print substr(ONE, TWO, THREE)",
            "print substr($2, ONE, TWO)",
            "print index(ONE, TWO)",
            "print atan2(ONE, TWO)",
            "y = ONE; sub(ONE, TWO, y); print y",
            "delete c[ONE]; if ((TWO) in c) print THREE",
            "print (ONE ? TWO : THREE)",
        ]);
        let form = form.replace("ONE", &one).replace("TWO", &two).replace("THREE", &three);
        let test = self.pick(&["", "", "NR > 2 ", "$2 > 0 "]);
        let functions = [
            ("shown", "function shown(x) { print x; return x } "),
            ("ended", "function ended() { if (NR > 3) exit 3; return 1 } "),
        ];
        let used = functions.iter().filter(|(name, _)| form.contains(name)).map(|(_, text)| *text);
        format!("{}{test}{{ {form} }} END {{ print x, length(c) }}", used.collect::<String>())
    }

    /// A loop in which the order may decide what comes before an error or a warning.
    fn loop_that_may_fail(&mut self) -> String {
        let test = self.pick(&["", "", "", "if (c[k] > 1) ", "if (k in d) "]);
        let divided = self.pick(&["c[k]", "NR", "1", "(k + 1)"]);
        let divisor = self.pick(&["c[k]", "d[k]", "k", "x", "m", "NR", "(c[k] - 1)", "(n - 3)", "length(k)"]);
        let sign = self.pick(&["/", "/", "%"]);
        let form = self.pick(&[
            "print k, DIVISION",
            "printf \"%s %.2f\\n\", k, DIVISION",
            "{ print k; print DIVISION }",
            "{ y = DIVISION; print k }",
            "print k; else print k, DIVISION",
            "p[k] = DIVISION",
            "print k, (c[k] > 1 ? DIVISION : 0)",
            "print k, log(DIVISION)",
            "print k, sqrt(c[k] - 2)",
            "print k, $(c[k] - 1)",
        ]);
        let test = if form.contains("else") { "if (c[k] > 1) ".to_owned() } else { test };
        let division = format!("{divided} {sign} {divisor}");
        format!("for (k in c) {test}{}", form.replace("DIVISION", &division))
    }

    /// A function, and what calls it. The parameter hides a variable of the same name.
    fn function(&mut self) -> [String; 2] {
        let (value, other, test) = (self.expr(), self.value(), self.test());
        let body = match self.rng.below(4) {
            0 => format!("return {value}"),
            1 => format!("q = x \"x\"; return {value}"),
            2 => format!("q = {value}; if ({test}) return q; x = {other}; return x"),
            _ => format!("if ({test}) return {other}; x++; return x q"),
        };
        let called = match self.rng.below(5) {
            0 => {
                let by = self.pick(&["k", "k + 1", "\"a\" k", "k % 3"]);
                return [
                    format!("function f(a, k) {{ a[{by}] += k; return a[{by}] }}"),
                    format!("{{ print f(c, {}), c[1] }}", self.value()),
                ];
            }
            1 if self.rng.chance(30) => {
                let body = self.pick(&[
                    "for (i = 1; i <= n; i++) a[i] = a[i] i; return length(a)",
                    "n = split(n, a, \".\"); for (i = n; i > 0; i--) n = n a[i]; return n length(a)",
                    "i = n; if (i in a) return length(a); a[i]; return a[n + 1]",
                ]);
                let given = self.value();
                return [
                    format!("function f(a, n, i) {{ {body} }}"),
                    format!("{{ print f(c, {given}), f(p, NF), c[1] }}"),
                ];
            }
            1 => format!("{{ s += f({}); x = f(NR) }}", self.value()),
            2 => format!("f({}) {{ print f(x) f({}) }}", self.value(), self.value()),
            3 => format!("{{ if (f($1) == {}) print; c[f(NR)] = f({}) }}", self.value(), self.value()),
            _ => format!("{{ print f({}) }}", self.value()),
        };
        [format!("function f(x, q) {{ {body} }}"), called]
    }

    fn rule(&mut self) -> String {
        let pattern = match self.rng.below(10) {
            0..4 => String::new(),
            4 => format!("{}, {}", self.test(), self.test()),
            _ => self.test(),
        };
        if !pattern.is_empty() && self.rng.chance(25) {
            return pattern;
        }
        let statements = self.rng.pick(&[1, 1, 2, 3]);
        let body = self.body(statements);
        format!("{pattern} {{ {body} }}")
    }

    fn end(&mut self) -> String {
        let one = [
            "print n, s, x",
            "print NR",
            "print",
            "print NF, $1",
            "for (k in c) print k, c[k]",
            "for (k in c) n += c[k]; print n",
            "for (i = 1; i <= NR; i++) print i, l[i]",
            "for (i = NR; i > 0; i--) print l[i]",
            "print length(c), length(l)",
            "printf \"%d %.3f %s\\n\", n, s, x",
            "print s / NR",
            "print m; exit n",
        ];
        self.pick(&one)
    }

    fn body(&mut self, statements: u64) -> String {
        let all: Vec<String> = (0..statements).map(|_| self.statement()).collect();
        let between = self.pick(&["; ", "\n", ";\n"]);
        all.join(&between)
    }

    fn statement(&mut self) -> String {
        self.depth += 1;
        let made = self.statement_here();
        self.depth -= 1;
        made
    }

    fn statement_here(&mut self) -> String {
        if self.rng.chance(3) {
            return self.pick(&[
                "getline",
                "getline x",
                "if ((getline y) > 0) print y",
                "getline $2",
                "getline $(NF + 2); print; print NF",
                "srand(3); print rand(), rand()",
                "srand(0); for (i = 0; i < 700; i++) x = rand(); printf \"%.17g\\n\", x",
                "srand(-7.5); printf \"%.17g %d\\n\", rand(), rand() * 100",
                "getline $5; for (i = 1; i <= NF; i++) printf \"%s|\", $i",
                "getline c[NR]",
                "getline $(NR)",
                "getline c[$1]",
                "n += getline",
                "getline; getline x; print x, $0",
                "if (getline) print NR, FNR, NF; else print \"end\"",
                "getline x; print (x < 5), (x == \"a\")",
                "getline NF",
                "getline; $1 = \"q\"; print",
            ]);
        }
        match self.rng.below(if self.depth > 2 { 22 } else { 30 }) {
            0..5 => self.print(),
            5 => "print".to_owned(),
            6 => {
                let (place, value) = (self.place(), self.expr());
                format!("{place} = {value}")
            }
            7 => {
                let (place, operator) = (self.place(), self.pick(&["+", "-", "*", "/", "%", "^"]));
                format!("{place} {operator}= {}", self.operand_of(&operator))
            }
            8 => format!("{}{}", self.place(), self.pick(&["++", "--"])),
            9 => format!("c[{}]++", self.value()),
            10 => format!("c[{}] += {}", self.value(), self.pick(&["1", "2", "$2", "NF"])),
            11 => "l[NR] = $0".to_owned(),
            12 => format!("s += {}", self.pick(&["$1", "$2", "$3", "length"])),
            13..16 => self.substitution(),
            16 if self.rng.chance(30) => self.pick(&[
                "$1 = $2 = \"\"",
                "$2 = $1 = $4 = \"x\"",
                "$7 = $1 = 0",
                "x = 2; x ^= 3; print x ^ 2",
            ]),
            16 => format!("$0 = {}", self.expr()),
            17 => format!("NF = {}", self.pick(&["2", "NF", "NF - 1", "4", "NF + 1"])),
            18 => format!("n = split($0, a{}); print n, a[1], a[2], a[n]", self.split_by()),
            19 => format!(
                "if (match({}, {})) print RSTART, RLENGTH, substr($0, RSTART, RLENGTH)",
                self.value(),
                self.regex()
            ),
            20 => self.pick(&[
                "next",
                "nextfile",
                "n++",
                "m = $1",
                "if ($1 > m) m = $1",
                "delete c",
                "delete c[$1]",
                "exit 3",
            ]),
            21 => self.printf(),
            22..26 => {
                let (test, yes) = (self.test(), self.statement());
                if self.rng.chance(40) {
                    let no = self.statement();
                    format!("if ({test}) {{ {yes} }} else {{ {no} }}")
                } else {
                    format!("if ({test}) {{ {yes} }}")
                }
            }
            26 => format!(
                "for (i = 1; i <= NF; i++) {{ {} }}",
                self.pick(&[
                    "print $i",
                    "s += $i",
                    "$i = $i \"x\"",
                    "if ($i ~ /a/) continue; print i, $i",
                    "c[$i]++"
                ])
            ),
            27 => format!(
                "i = NF; while (i > 0) {{ {}; i-- }}",
                self.pick(&["printf \"%s \", $i", "n++", "if ($i == \"a\") break"])
            ),
            28 => "do { j++ } while (j % 3)".to_owned(),
            _ => format!("{{ {} }}", self.statement()),
        }
    }

    fn print(&mut self) -> String {
        let count = self.rng.pick(&[1, 1, 2, 3]);
        let args: Vec<String> = (0..count).map(|_| self.expr()).collect();
        let list = args.join(", ");
        if self.rng.chance(15) || list.contains('>') {
            format!("print({list})")
        } else {
            format!("print {list}")
        }
    }

    fn printf(&mut self) -> String {
        if self.rng.chance(25) {
            return self.printf_of_a_text();
        }
        let conversion = self.pick(&[
            "%s", "%d", "%5d", "%-5s|", "%05d", "%x", "%o", "%c", "%e", "%f", "%g", "%.2f", "%10.3e", "%i",
            "%u", "%+d", "%.3s", "%5.1f", "%%%s", "%X", "%#x", "%#o", "% d", "%-8.3d|", "%G", "%.0f", "%5c",
            "%*d", "%.10g",
        ]);
        let stars = if conversion.contains('*') { "4, " } else { "" };
        let value = self.expr();
        let end = self.pick(&["\\n", "\\n", " "]);
        if self.rng.chance(70) {
            format!("printf(\"{conversion}{end}\", {stars}{value})")
        } else {
            format!("print sprintf(\"{conversion}\", {stars}{value})")
        }
    }

    /// Formats that are made while the program runs, and such as are chosen.
    fn printf_of_a_text(&mut self) -> String {
        let (value, test) = (self.expr(), self.test());
        match self.rng.below(6) {
            0 => format!("printf({value})"),
            1 => format!(
                "printf {}",
                self.pick(&["$1", "$2", "$0", "$NF", "$2 \" MB\\n\"", "$1 $2 \"%%\\n\"", "x"])
            ),
            2 => format!("printf ({test} ? \"%s;\" : \"%d,\"), {value}"),
            3 => format!("printf({test} ? \"a%%\" : $2)"),
            4 => format!("printf {}, {value}", self.pick(&["form", "form \"%s|\"", "\"%5\" letter"])),
            _ => format!("print sprintf(form, {value})"),
        }
    }

    fn substitution(&mut self) -> String {
        let (name, regex) = (self.pick(&["sub", "gsub"]), self.regex());
        let by = self.pick(&[
            "\"X\"",
            "\"[&]\"",
            "\"\"",
            "\"\\\\&\"",
            "\"\\\\\\\\&\"",
            "$1",
            "\"a b\"",
            "x",
            "NR",
            "\"&&\"",
        ]);
        // Nothing that would grow from record to record.
        let place = self.pick(&["", "", ", $1", ", $2", ", x", ", c[$1]", ", $NF"]);
        let before = match place.as_str() {
            ", x" => "x = $2; ",
            ", c[$1]" => "c[$1] = $2; ",
            _ => "",
        };
        if self.rng.chance(30) {
            format!("{before}print {name}({regex}, {by}{place}), $0")
        } else {
            format!("{before}{name}({regex}, {by}{place}); print")
        }
    }

    fn split_by(&mut self) -> String {
        self.pick(&[
            "",
            ", \",\"",
            ", /[,:]+/",
            ", \" \"",
            ", /a/",
            ", \"ab\"",
            ", \":\"",
            ", /, */",
            ", \"|\"",
            ", \".\"",
            ", / /",
        ])
    }

    fn place(&mut self) -> String {
        self.pick(&[
            "x",
            "y",
            "n",
            "$1",
            "$2",
            "$3",
            "$NF",
            "c[$1]",
            "c[x]",
            "$5",
            "c[$1, $2]",
            "c[NR % 3]",
            "c[NF]",
            "l[n]",
            "c[-NR]",
        ])
    }

    fn regex(&mut self) -> String {
        let atom = |writer: &mut Self| {
            writer.pick(&[
                "a",
                "b",
                "ab",
                ".",
                "[ab]",
                "[^a]",
                "[0-9]",
                "(a|b)",
                "(ab|c)",
                "\\.",
                "[[:alpha:]]",
                "1",
                " ",
                ",",
                "x",
                "[a-c]",
                "(a|ab)",
                "é",
                "\\t",
                "[^ ]",
                "{",
                "\\/",
                "(,[^,]*;)",
                "a{2}",
                "[0-9]{1,2}",
                "(ab){2,}",
                "b{0,1}",
                "(a[^b]*b|[0-9]+)",
                "\\s",
                "\\w",
                "\\y",
                "\\<",
                "\\>",
                "\\B",
                "\\S",
                "\\W",
                "a{b",
                "{}",
                "{,",
                "a$",
            ])
        };
        let mut text = String::new();
        if self.rng.chance(20) {
            text.push('^');
        }
        for index in 0..self.rng.pick(&[1, 1, 2, 3]) {
            if index > 0 && self.rng.chance(15) {
                text.push('|');
            }
            text += &atom(self);
            text += &self.pick(&["", "", "", "*", "+", "?"]);
        }
        if self.rng.chance(20) {
            text.push('$');
        }
        format!("/{text}/")
    }

    fn test(&mut self) -> String {
        match self.rng.below(13) {
            // Several strings that one thing is compared with.
            12 => {
                let (value, mut text) =
                    (self.value(), || self.pick(&["\"a\"", "\"b\"", "\"1\"", "\"\"", "\"abc\"", "$1"]));
                let texts = [text(), text(), text()];
                let tests: Vec<String> = texts.iter().map(|text| format!("{value} == {text}")).collect();
                format!("({})", tests.join(" || "))
            }
            0..3 => self.regex(),
            3..5 => format!("{} {} {}", self.value(), self.pick(&["~", "!~"]), self.regex()),
            5..8 => format!(
                "({} {} {})",
                self.value(),
                self.pick(&["<", "<=", "==", "!=", ">", ">="]),
                self.value()
            ),
            8 => format!("!({})", self.value()),
            9 => format!("({} && {})", self.value(), self.value()),
            10 if self.rng.chance(10) => self.first_of_kind(),
            10 => self.pick(&[
                "NR % 2",
                "NF",
                "($1 in c)",
                "NR == 2",
                "NR > 1",
                "length > 3",
                "$1",
                "c[$1]++ == 1",
                "(NR, x) in c",
                "FNR == 1",
            ]),
            _ => format!("({} || {})", self.value(), self.value()),
        }
    }

    /// Holds for a record that is the first of its kind, or something like it.
    fn first_of_kind(&mut self) -> String {
        let key = self.pick(&["$1", "$1", "$2", "$0", "$3", "$1, $2", "$1 \"-\" $2", "$NF", "NR", "x"]);
        let array = self.pick(&["seen", "seen", "c"]);
        match self.rng.below(4) {
            0 => format!("{array}[{key}]++ == 0"),
            1 => format!("!({array}[{key}]++)"),
            _ => format!("!{array}[{key}]++"),
        }
    }

    fn value(&mut self) -> String {
        self.pick(&[
            "$1",
            "$1",
            "$2",
            "$3",
            "$0",
            "$NF",
            "NF",
            "NR",
            "x",
            "y",
            "1",
            "0",
            "2.5",
            "10",
            "\"a\"",
            "\"10\"",
            "\"\"",
            "\"abc\"",
            "length",
            "length($1)",
            "c[$1]",
            "n",
            "\"3x\"",
            "100000",
            "1e6",
            "0.1",
            "FNR",
            "$4",
            "$(1)",
            "FILENAME",
            "$(NF-1)",
            "c[NR % 3]",
            "c[NF]",
            "l[NR - 1]",
            "c[1]",
            "010",
            "08",
            "length(c)",
            "ENVIRON[\"E_WORD\"]",
            "ENVIRON[\"E_NUMBER\"]",
            "ENVIRON[\"E_HEXADECIMAL\"]",
            "ENVIRON[\"E_FRACTION\"]",
            "ENVIRON[\"E_ESCAPES\"]",
            "ENVIRON[\"E_EMPTY\"]",
            "ENVIRON[\"E_NAN\"]",
            "ENVIRON[\"E_UNSET\"]",
        ])
    }

    fn operand(&mut self) -> String {
        if self.rng.chance(15) {
            self.pick(&["x++", "n--", "$1++", "-0", "0", "2", "c[1]++"])
        } else {
            self.value()
        }
    }

    /// Operands and operators without parentheses.
    fn chain(&mut self) -> String {
        let mut chain = self.pick(&["", "", "", "!", "-"]) + &self.operand();
        for _ in 0..self.rng.pick(&[1, 2, 2, 3, 4]) {
            chain += &self.pick(&[" / ", " ", " ", " ", " + ", " - ", " -", " * ", "+", " % ", " !", " - !"]);
            chain += &self.operand();
        }
        chain
    }

    fn expr(&mut self) -> String {
        if self.depth > 3 {
            return self.value();
        }
        self.depth += 1;
        let made = match self.rng.below(19) {
            18 => self.chain(),
            0..6 => self.value(),
            6..8 => {
                let (left, operator) = (self.expr(), self.pick(&["+", "-", "*", "/", "%", "^"]));
                format!("({left} {operator} {})", self.operand_of(&operator))
            }
            8..10 => format!("({} {})", self.value(), self.expr()),
            10 => format!("({} ? {} : {})", self.test(), self.value(), self.expr()),
            11 => self.test(),
            12 => format!("-{}", self.value()),
            13 => {
                let text = self.value();
                let start = self.pick(&["1", "2", "0", "-1", "1.5", "3", "NF", "x", "$2", "100"]);
                let length = self.pick(&["", ", 1", ", 2", ", 0", ", -1", ", 1.5", ", 100", ", $1", ", x"]);
                format!("substr({text}, {start}{length})")
            }
            14 => {
                format!("{}({})", self.pick(&["toupper", "tolower", "length", "int", "sqrt"]), self.value())
            }
            15 => format!("index({}, {})", self.value(), self.value()),
            16 => format!("({}++ {})", self.pick(&["x", "n", "y"]), self.pick(&["\"a\"", "$1", "+ 1"])),
            _ => {
                // What is stored, and the evaluation of an index, may change the index.
                let place = self.pick(&[
                    "x",
                    "y",
                    "$2",
                    "l[i++]",
                    "l[--i]",
                    "c[length(c)]",
                    "c[($1 in c)]",
                    "c[c[\"\"]]",
                    "c[$1]",
                    "c[x = $1]",
                ]);
                format!("({place} {} {})", self.pick(&["=", "=", "+="]), self.value())
            }
        };
        self.depth -= 1;
        made
    }
}
