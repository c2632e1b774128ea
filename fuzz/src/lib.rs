//! What must hold for any bytes, one function per parser: it returns, and what it says about the text is about the text.
//!
//! Each is a libFuzzer target (`fuzz_targets/`) and is run on stable Rust by the test `fuzz_targets`, with a corpus and
//! random mutations (`cargo xtask fuzz --only parsers`).

use pelton_commands::regex::{Flavour, Newline, Options, Regex, Within, compile};
use pelton_commands::{Charset, Context, Implementation, Locale, TOOLS, accept};
use pelton_record::{Run, Span};
use pelton_syntax::{Dialect, Pipeline, parse, shell_hazards};

/// A parser under test: its name, what must hold, and inputs to begin with.
pub struct Target {
    /// As in `cargo fuzz run NAME`.
    pub name: &'static str,
    /// Panics if it does not hold.
    pub check: fn(&[u8]),
    /// Inputs to begin with.
    pub seeds: &'static [&'static [u8]],
}

/// All of them.
pub const TARGETS: [Target; 6] = [
    Target { name: "syntax", check: syntax, seeds: SYNTAX },
    Target { name: "argv", check: argv, seeds: ARGV },
    Target { name: "regex", check: regex, seeds: REGEX },
    Target { name: "record", check: record, seeds: RECORD },
    Target { name: "json", check: json, seeds: JSON },
    Target { name: "csv", check: csv, seeds: CSV },
];

const SYNTAX: &[&[u8]] = &[
    b"a | b && c || ! d; e &",
    b"if a; then b; fi | while read -r x; do echo \"$x\"; done",
    b"x=1 y=\"$(cat <f)\" cmd 'a b' $'\\n' \"${v:-w}\" ~/f *.c {a,b} 2>&1 >|out",
    b"cat <<'E' | sort\na\nE\n",
    b"set -o pipefail; { time a |& b; } > out",
    b"case $a in (x|y) z ;; esac; f() { :; }; [[ a == b ]]; ((i++)); (sub)",
];

/// The command's number and the locale in the first byte, then arguments with a NUL behind each.
const ARGV: &[&[u8]] = &[
    b"\x00-A\0--number\0--\0f\0",
    b"\x01-k2,2nr\0-t,\0--stable\0-k\x001.2,3.4b\0",
    b"\x02-d:\0-f1,3-\0--output-delimiter=x\0",
    b"\x03a-z[:upper:]\0\\000-\\377[x*5]\0",
    b"\x04-n-5\0-c1k\0+3\0",
    b"\x05s/a\\(b\\)*/\\1&/g;3,$!{p;q5}\0-n\0-E\0",
    b"\x06-e\0(a|b)*c{2,3}\0-i\0-m1\0",
    b"\x07%s %05d %-3x\\n\0a\0b\0",
    b"\x0e-m99999999999999999999\0-mmmmmmmmmmmmmmmmmmmmmmmm.\0a\0",
    b"\x08-name\0*.c\0-type\0f\0-o\0-print0\0",
];

/// Options in the first byte, then the expression, a newline, and text to search.
const REGEX: &[&[u8]] = &[
    b"\x00a*b\\|c\\{2,3\\}\naab cc ccc\nb",
    b"\x09(a|ab)(c|bcd)(d*)\nabcd",
    b"\x1b[[:alpha:]_]+[^]x-z]\\b\xc3\xa9?\nabc \xc3\xa9\xff x",
    b"\x23\\(^a\\|b$\\)*\\w\\W\\<x\\>\na b x\n",
    b"\x5c[^\\n]\\x41\\o101\\d065\\n\nAAA",
    b"\x65(((a{0,9}){0,9}){0,9}){0,9}\naaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

const RECORD: &[&[u8]] =
    &[b"{}", b"{\"exit_status\":0,\"pipelines\":[{\"stages\":[{\"end\":null}]}]}", b"[1e999]"];

/// A path, a newline, and documents.
const JSON: &[&[u8]] = &[
    b".menu.popup.menuitem[].value\n{\"menu\": {\"id\": 1, \"popup\": {\"menuitem\": [{\"value\": \"N\\u00e9\"}]}}}",
    b"..a[?b.c >= 2.5 && d != 'x'][1:3]\n[{\"a\":[{\"b\":{\"c\":3},\"d\":null}]}] -1.5e+7 true\n\"\\ud83d\\ude00\"",
    b"{.id}: {text}\\n{{}}\n\xef\xbb\xbf[[[[[[]]]]]]{}",
];

/// Columns, a condition, a newline each, and a table.
const CSV: &[&[u8]] =
    &[b"b,1-2,!c\na~x|y\na,b,c\r\n1,\"2,\n\"\"\",3\r\n\r\nx,,\n", b"3-1\n2>=1.5\na,b,c\n1,2,3\n4,5,6"];

/// Texts come back with an answer, and every span lies in the text, between characters, inside of what it is part of.
pub fn syntax(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for dialect in [Dialect::Bash, Dialect::Posix] {
        match parse(text, dialect) {
            Err(error) => lies_in(error.span, text),
            Ok(script) => {
                for item in &script.items {
                    lies_in(item.span, text);
                    let rest = item.and_or.rest.iter().map(|(_, pipeline)| pipeline);
                    for pipeline in [&item.and_or.first].into_iter().chain(rest) {
                        pipeline_lies_in(pipeline, item.span, text);
                    }
                }
            }
        }
    }
    if let Some(hazard) = shell_hazards(text) {
        lies_in(hazard.span, text);
    }
}

fn pipeline_lies_in(pipeline: &Pipeline, around: Span, text: &str) {
    let within = |span: Span, around: Span| {
        lies_in(span, text);
        assert!(around.start <= span.start && span.end <= around.end, "{span:?} is not in {around:?}");
    };
    within(pipeline.span, around);
    for stage in &pipeline.stages {
        within(stage.span, pipeline.span);
    }
}

fn lies_in(span: Span, text: &str) {
    assert!(span.start <= span.end && text.get(span.start..span.end).is_some(), "{span:?} of {text:?}");
}

/// Any arguments of any command are accepted or declined, and a kernel is made or not.
pub fn argv(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    let tool = &TOOLS[usize::from(choice >> 1) % TOOLS.len()];
    let locale = if choice & 1 == 0 { Locale::C } else { Locale::C_UTF8 };
    let context = Context { locale, implementation: Implementation::tested(tool.family) };
    let args: Vec<Vec<u8>> = rest.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
    if let Ok(command) = accept(tool.name.as_bytes(), &args, &context) {
        let _ = (command.kernel(), command.join_kernel(), command.inputs().len(), command.resume_args());
    }
}

/// Any expression is compiled or declined; what it finds lies in the line, and searching and judging agree.
pub fn regex(data: &[u8]) {
    const FLAVOURS: [Flavour; 5] = [
        Flavour::GrepBasic,
        Flavour::GrepExtended,
        Flavour::GrepFixed,
        Flavour::SedBasic,
        Flavour::SedExtended,
    ];
    let Some((&choice, rest)) = data.split_first() else { return };
    let split = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let (expression, text) = (&rest[..split], rest.get(split + 1..).unwrap_or_default());
    let flag = |bit: u32| choice >> bit & 1 == 1;
    let options = Options {
        charset: if flag(3) { Charset::Utf8 } else { Charset::C },
        ignore_case: flag(4),
        within: [Within::Anywhere, Within::Anywhere, Within::Word, Within::Line]
            [usize::from(choice >> 5 & 3)],
        newline: if flag(7) { Newline::IsCharacter } else { Newline::EndsLine },
        stray_backslash_is_quiet: true,
        spans: true,
        groups: &[1],
        ..Options::new(FLAVOURS[usize::from(choice & 7) % FLAVOURS.len()])
    };
    if let Ok(mut regex) = compile(&[expression], &options) {
        search(&mut regex, text, options.newline);
    }
}

fn search(regex: &mut Regex, text: &[u8], newline: Newline) {
    let whole = [text];
    let lines: Vec<&[u8]> = match newline {
        Newline::EndsLine => text.split(|byte| *byte == b'\n').collect(),
        Newline::IsCharacter => whole.to_vec(),
    };
    let judges = regex.judges_all();
    for line in lines.into_iter().filter(|line| judges.first_unjudged(line).is_none()) {
        let matches = regex.is_match(line, 0..line.len());
        let Ok(found) = regex.find(line, 0..line.len()) else { continue };
        assert_eq!(
            matches,
            found.is_some(),
            "the verdict and the search differ on {:?}",
            line.escape_ascii().to_string()
        );
        if let Some((start, end)) = found {
            assert!(start <= end && end <= line.len(), "{start}..{end}");
            let _ = regex.groups_of(line, (start, end));
        }
    }
}

/// Any bytes are a record or not, and a record that was read is written as it was read.
pub fn record(data: &[u8]) {
    let Ok(run) = serde_json::from_slice::<Run>(data) else { return };
    let text = serde_json::to_string(&run).expect("a record can be written");
    let again: Run = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(serde_json::to_string(&again).expect("a record can be written"), text);
}

/// What errors and lines are does not depend on how the text comes; any path is read or refused, and what it selects is
/// JSON.
pub fn json(data: &[u8]) {
    use pelton_json::formats::{Lines, Values, parse_template};
    use pelton_json::select::{Paths, parse, parse_list};
    use pelton_json::{Failure, Out, Rules, Selected, SyntaxError, Visitor, read};

    fn outcome(text: &[u8], window: usize, visitor: &mut impl Visitor) -> Option<SyntaxError> {
        match read(&mut { text }, Rules::default(), window, visitor) {
            Ok(()) => None,
            Err(Failure::Syntax(error)) => Some(*error),
            Err(other) => panic!("{other:?}"),
        }
    }

    let split = data.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (path, text) = (String::from_utf8_lossy(&data[..split]), &data[(split + 1).min(data.len())..]);
    let (mut whole, mut pieces) = (Vec::new(), Vec::new());
    let error = outcome(text, 1 << 16, &mut Lines::new(Out::new(&mut whole)));
    assert_eq!(outcome(text, 64, &mut Lines::new(Out::new(&mut pieces))), error);
    let fine = error.is_none();
    assert!(pieces.starts_with(&whole) && (!fine || pieces.len() == whole.len()));
    let (_, _) = (parse_template(&path), parse_list(&path));
    if let Ok(paths) = parse(&path).map_err(|_| String::new()).and_then(|path| Paths::new(&[path])) {
        let mut values = Vec::new();
        let nests = paths.nests();
        let same =
            outcome(text, 64, &mut Selected::new(paths, Values::new(Out::new(&mut values), false, nests)));
        assert_eq!(same.map(|error| error.fault), error.map(|error| error.fault));
        // What comes before an error may be half a value.
        if fine {
            assert_eq!(outcome(&values, 64, &mut Lines::new(Out::kept())), None);
        }
    }
}

/// What is printed does not depend on where the table is cut; any columns and conditions are read or refused.
pub fn csv(data: &[u8]) {
    use pelton_csv::{Columns, Condition, Format, Options, RECORD_BYTES_MAX, Share, read};

    let mut parts = data.splitn(3, |byte| *byte == b'\n');
    let mut part = || parts.next().unwrap_or_default();
    let (columns, condition, text) = (part(), part(), part());
    let columns = Columns::parse(&String::from_utf8_lossy(columns)).ok();
    let conditions = Condition::parse(&String::from_utf8_lossy(condition)).ok();
    for format in [Format::Separated(b','), Format::Array, Format::Tabs] {
        let options = Options {
            delimiter: b',',
            named: true,
            columns: columns.clone(),
            conditions: conditions.iter().cloned().collect(),
            format,
            numbers: true,
            header: true,
            ragged: columns.is_none(),
        };
        let printed = |chunk: usize| {
            let (mut printed, mut begun) = (Vec::new(), false);
            let input = std::io::Cursor::new(text.to_vec());
            let outcome = read(
                input,
                &options,
                Share { threads: 1, chunk, record: RECORD_BYTES_MAX },
                &mut begun,
                |bytes| {
                    printed.extend_from_slice(bytes);
                    Ok(())
                },
            );
            (printed, format!("{outcome:?}"))
        };
        assert_eq!(printed(1 << 18), printed(3));
    }
}
