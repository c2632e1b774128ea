//! What must be accepted, what must be rejected, and what RFC 8259 leaves open: in the style of JSONTestSuite
//! (Seriot, "Parsing JSON is a minefield", 2016), with our own cases.
#![allow(missing_docs)]

mod common;

use common::{Trickle, gron, judge, lines, tokens};
use pelton_json::formats::Lines;
use pelton_json::{Fault, Out, Rules};

#[test]
fn must_be_accepted() {
    for text in [
        "{}",
        "[]",
        "0",
        "-0",
        "\"\"",
        "null",
        " true ",
        "\n[ ]\n",
        "[[]]",
        "{\"\":0}",
        "{\"a\":{\"a\":[{}]}}",
        "[1,\n2 ,3]",
        "[1e5,1E5,1e+5,1e-5,1.5e5,-1.5]",
        "[0.0,0e0,-0e-0]",
        "[123456789012345678901234567890]",
        "[1E400,-1e-400]",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\u0000\\u00e9\\uABCD\\uabcd\"",
        "\"\\ud83d\\ude00\"",
        "\"é日😀\u{7f}\u{80}\u{2028}\u{ffff}\u{10ffff}\"",
        "\"/\"",
        "\"\u{feff}\"",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1,\"a\":1}",
        "[\"\\\\\",\"\\\\\\\\\"]",
        "[null, 1, \"1\", {}]",
        "\t[\r\n]\t",
        "[\"\\u0022\"]",
        "{\"\\u0000\":0}",
        "[true,false]",
        "[1 , 2]",
        "{ \"a\" : 1 , \"b\" : [ ] }",
    ] {
        assert_eq!(judge(text.as_bytes()), Ok(()), "{text}");
    }
}

#[test]
fn must_be_rejected() {
    for text in [
        "",
        " ",
        "[",
        "]",
        "{",
        "}",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[,]",
        "[1,,2]",
        "[1 2]",
        "[1:2]",
        "[\"a\":1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{\"a\" 1}",
        "{a:1}",
        "{'a':1}",
        "{1:1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\"::1}",
        "{\"a\":1,,\"b\":2}",
        "{\"a\",\"b\"}",
        "{]",
        "[}",
        "[[1]",
        "{\"a\":[}",
        "[1]]",
        "{}}",
        "[1}",
        "\"",
        "\"a",
        "\"\\\"",
        "\"\\",
        "[\"a",
        "[\"",
        "'a'",
        "\"\\x\"",
        "\"\\'\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\u\"",
        "\"\\U0041\"",
        "\"\n\"",
        "\"\t\"",
        "\"a\u{0}b\"",
        "\"\u{1f}\"",
        "\"\\\n\"",
        "\"\\\u{0}\"",
        "01",
        "-01",
        "+1",
        ".5",
        "5.",
        "-",
        "-a",
        "1.e5",
        "1e",
        "1e+",
        "1ee5",
        "0x10",
        "1_000",
        "1.2.3",
        "--1",
        "[1a]",
        "NaN",
        "Infinity",
        "-Infinity",
        "[-]",
        "[1.]",
        "[.1]",
        "[1e]",
        "１",
        "truE",
        "True",
        "tru",
        "nul",
        "falsee",
        "nulll",
        "[nul]",
        "[truetrue]",
        "undefined",
        "a",
        "*",
        "//",
        "/**/1",
        "1//",
        "[1/**/]",
        "#1",
        "1 2",
        "{}{}",
        "[][]",
        "null null",
        "\"a\"\"b\"",
        "1,",
        ",",
        ":",
        "\u{c}[]",
        "[\u{a0}1]",
        "\u{b}1",
        "[\u{0}]",
        "\u{feff}\u{feff}1",
        "[\u{feff}]",
        "\\u005b]",
        "[\\n]",
        "{\"a\":1\\n}",
        "[\"a\",\n4\n,1,1  ,",
        "{\"a\":/*c*/1}",
    ] {
        assert!(judge(text.as_bytes()).is_err(), "{text:?}");
    }
}

#[test]
fn bytes_that_are_no_utf8_are_rejected_wherever_they_are() {
    let tails: [&[u8]; 9] = [
        b"\xff",
        b"\xc3",
        b"\xc3(",
        b"\xe2\x82",
        b"\xf0\x9f\x98",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\x80",
    ];
    for bad in tails {
        for (before, after) in [("\"", "\""), ("[1,\"aé", "\"]"), ("{\"", "\":1}"), ("[", "]"), ("", "")] {
            let text = [before.as_bytes(), bad, after.as_bytes()].concat();
            for (window, read) in [(64, 1), (64, 64), (65536, 65536)] {
                let (_, error) = lines(&text, Rules::default(), window, read);
                let error = error.unwrap_or_else(|| panic!("{} is accepted", text.escape_ascii()));
                assert_eq!((error.fault, error.offset), (Fault::NotUtf8, before.len() as u64));
            }
        }
    }
}

#[test]
fn what_the_rfc_leaves_open() {
    // A byte order mark at the beginning is skipped.
    assert_eq!(judge("\u{feff}[1]".as_bytes()), Ok(()));
    assert_eq!(lines("\u{feff}1".as_bytes(), Rules::default(), 64, 1).0, b"@: 1\n");
    // A lone surrogate stays as written, and becomes U+FFFD where strings are decoded.
    assert_eq!(lines(b"\"\\ud800\"", Rules::default(), 64, 9).0, b"@: \"\\ud800\"\n");
    assert_eq!(gron(b"\"\\ud800x\""), "json = \"\u{fffd}x\";\n");
    // A duplicate name gives two members.
    let twice = "@ <=> {\n@.\"a\": 1\n@.\"a\": 2\n@ <=> }\n";
    assert_eq!(lines(b"{\"a\":1,\"a\":2}", Rules::default(), 64, 64).0, twice.as_bytes());
    // Numbers stay text.
    let number = "-123456789012345678901234567890.10E+0400";
    assert_eq!(lines(number.as_bytes(), Rules::default(), 64, 3).0, format!("@: {number}\n").as_bytes());
    // Documents may follow each other without blanks where there is no ambiguity.
    assert_eq!(lines(b"1 2\n{}[]\"a\"\"b\"", Rules::default(), 64, 64).0.split(|b| *b == b'\n').count(), 9);
    assert_eq!(lines(b" \n ", Rules::default(), 64, 64), (Vec::new(), None));
}

#[test]
fn errors_say_where() {
    let at = |text: &str| {
        let (_, error) = lines(text.as_bytes(), Rules::default(), 1 << 16, 1 << 16);
        error.unwrap_or_else(|| panic!("{text} is accepted")).to_string()
    };
    assert_eq!(
        at("{\"menu\": {\n  \"id\" \"file\"}}"),
        "line 2, column 8, at @.\"menu\".\"id\": `:` is expected, not a string"
    );
    assert_eq!(at("[1, 2,\n]"), "line 2, column 1, at @.2: a value is expected, not `]`");
    assert_eq!(at("[1, tru]"), "line 1, column 5, at @.1: true, false or null is expected, not `tru`");
    assert_eq!(
        at("[01]"),
        "line 1, column 2, at @.0: this is no number of JSON: it begins with a needless 0"
    );
    assert_eq!(
        at("{\"a\": [1"),
        "line 1, column 9, at @.\"a\".0: the input ends where `,` or `]` is expected"
    );
    assert_eq!(at("[\"a"), "line 1, column 2, at @.0: the input ends within the string that begins here");
    assert_eq!(at("\n\"a\nb\""), "line 2, column 3, at @: a line ends within a string: \\n is expected");
    assert_eq!(at("{\"a\": 1}\n}"), "line 2, column 1, at @: a value is expected, not `}`");
    assert_eq!(
        at("[\"\\x\"]"),
        "line 1, column 3, at @.0: a backslash escapes \" \\ / b f n r t, or u with four hexadecimal digits"
    );
    let deep = at(&"[".repeat(300));
    assert!(deep.contains(" … ") && deep.len() < 300, "{deep}");
}

#[test]
fn a_million_levels() {
    let depth = 1_000_000;
    let text = ["[".repeat(depth), "]".repeat(depth)].concat();
    let (printed, error) = tokens(text.as_bytes(), Rules::default(), 1 << 16, 1 << 16);
    assert_eq!((printed.len(), error), (4 * depth, None));
    let error =
        tokens(format!("[{text}]").as_bytes(), Rules::default(), 1 << 16, 1 << 16).1.expect("too deep");
    assert_eq!((error.fault, error.offset), (Fault::TooDeep(depth), depth as u64));
    let objects = "{\"a\":".repeat(depth);
    let error = tokens(objects.as_bytes(), Rules::default(), 1 << 16, 1 << 16).1.expect("it ends");
    assert_eq!(error.fault, Fault::Ends { wanted: "a value" });
}

#[test]
fn strings_longer_than_the_window_come_in_pieces() {
    let inner = "abc\\n\\u00e9é\\\"\\\\\\ud83d\\ude00".repeat(1000);
    for text in [format!("\"{inner}\""), format!("[1,\"{inner}\",{{\"a\":\"{inner}\"}}]")] {
        let (whole, error) = lines(text.as_bytes(), Rules::default(), 1 << 20, 1 << 20);
        assert_eq!(error, None);
        for (window, read) in [(64, 64), (64, 1), (65, 7), (100, 100), (1000, 333)] {
            let pieces = lines(text.as_bytes(), Rules::default(), window, read);
            assert_eq!((pieces.0.len(), pieces.1), (whole.len(), None), "{window} {read}");
            assert!(pieces.0 == whole, "{window} {read}");
        }
    }
    let mut torn = format!("\"{inner}");
    torn.truncate(torn.len() - 3);
    for bad in [torn, format!("\"{inner}\\x\""), format!("\"{inner}\n\"")] {
        assert!(lines(bad.as_bytes(), Rules::default(), 64, 64).1.is_some());
    }
}

#[test]
fn the_first_error_of_a_torn_string_is_the_one_that_is_told() {
    for bad in
        ["\\T\0", "\\]\0\\T\\\\>", "\\u00\n", "\\\\\0\0\\u12", "\0\\x", "\\\n\\T", "\\ud8\0\0\0\0\0\0\0"]
    {
        for before in 0..80 {
            for escapes in [0, 9] {
                let text = format!("\"{}{}{bad}{bad}", "a".repeat(before), "\\\\".repeat(escapes));
                let whole = lines(text.as_bytes(), Rules::default(), 1 << 16, 1 << 16).1;
                for (window, read) in [(64, 64), (64, 1), (70, 7)] {
                    let torn = lines(text.as_bytes(), Rules::default(), window, read).1;
                    assert_eq!(torn, whole, "{text:?} {window} {read}");
                }
            }
        }
    }
}

#[test]
fn names_and_numbers_may_be_longer_than_the_window() {
    let (name, number) = ("n".repeat(1000), "1".repeat(1000));
    let text = format!("{{\"{name}\":{number}}}");
    let (printed, error) = lines(text.as_bytes(), Rules::default(), 64, 64);
    assert_eq!(error, None);
    assert_eq!(String::from_utf8_lossy(&printed), format!("@ <=> {{\n@.\"{name}\": {number}\n@ <=> }}\n"));
}

#[test]
fn what_is_complete_is_printed_before_more_is_read() {
    struct Watched<'a>(Trickle<'a>, std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
    impl std::io::Read for Watched<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            if self.0.0.len() == 4 {
                assert_eq!(*self.1.lock().expect("whole"), b"@ <=> [\n@.0: 1\n");
            }
            self.0.read(into)
        }
    }
    struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
    impl std::io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("whole").extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let printed = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut input = Watched(Trickle(b"[1,   2]", 1), printed.clone());
    let mut visitor = Lines::new(Out::new(Shared(printed.clone())));
    pelton_json::read(&mut input, Rules::default(), 64, &mut visitor).expect("JSON");
    assert_eq!(*printed.lock().expect("whole"), b"@ <=> [\n@.0: 1\n@.1: 2\n@ <=> ]\n");
}

#[test]
fn gron_lines() {
    let text =
        r#"{"menu":{"id":"file","a b":[1,{"x":null},[]],"":"\u00e9\/\u0001\"","true":{}},"é":"a\tb\u007f"}"#;
    let expected = "json = {};\njson.menu = {};\njson.menu.id = \"file\";\njson.menu[\"a b\"] = [];\n\
        json.menu[\"a b\"][0] = 1;\njson.menu[\"a b\"][1] = {};\njson.menu[\"a b\"][1].x = null;\n\
        json.menu[\"a b\"][2] = [];\njson.menu[\"\"] = \"é/\\u0001\\\"\";\njson.menu[\"true\"] = {};\n\
        json.é = \"a\\tb\\u007F\";\n";
    assert_eq!(gron(text.as_bytes()), expected);
}
