//! Random tables, compared with the csv crate and with our reader with other chunk sizes.
//!
//! `cargo test` runs a subset; PELTON_FUZZ_CASES sets the number of tables, PELTON_SEED the seed.
#![allow(missing_docs)]

use pelton_csv::{
    Columns, Condition, Failure, Fault, Format, Options, RECORD_BYTES_MAX, Share, SyntaxError, read,
};
use pelton_testkit::Random;
use std::io::{Read as _, Write as _};

fn options() -> Options {
    Options {
        delimiter: b',',
        named: true,
        columns: None,
        conditions: Vec::new(),
        format: Format::Separated(b','),
        numbers: false,
        header: true,
        ragged: false,
    }
}

fn run_by(text: &[u8], options: &Options, threads: usize, chunk: usize) -> (String, Option<Failure>) {
    let mut printed = Vec::new();
    let mut begun = false;
    let input = std::io::Cursor::new(text.to_vec());
    let outcome =
        read(input, options, Share { threads, chunk, record: RECORD_BYTES_MAX }, &mut begun, |bytes| {
            printed.extend_from_slice(bytes);
            Ok(())
        });
    printed.extend_from_slice(options.format.ending(begun));
    (String::from_utf8_lossy(&printed).into_owned(), outcome.err())
}

fn run(text: &str, options: &Options) -> String {
    let (printed, failure) = run_by(text.as_bytes(), options, 1, 1 << 18);
    assert!(failure.is_none(), "{failure:?}: {text}");
    printed
}

fn flaw(text: &str, options: &Options) -> SyntaxError {
    match run_by(text.as_bytes(), options, 1, 1 << 18).1 {
        Some(Failure::Syntax(error)) => error,
        other => panic!("{other:?}: {text}"),
    }
}

const TABLE: &str = "id,city,note\r\n1,Oslo,\"a,b\"\r\n\r\n2,\"York, UK\",\"say \"\"hi\"\"\"\r\n3,\"Porto\",\"two\r\nlines\"\r\n";

#[test]
fn all_formats() {
    let with = |format| Options { format, ..options() };
    let csv = "id,city,note\n1,Oslo,\"a,b\"\n2,\"York, UK\",\"say \"\"hi\"\"\"\n3,Porto,\"two\r\nlines\"\n";
    assert_eq!(run(TABLE, &options()), csv);
    let semicolons = "id;city;note\n1;Oslo;a,b\n2;York, UK;\"say \"\"hi\"\"\"\n3;Porto;\"two\r\nlines\"\n";
    assert_eq!(run(TABLE, &with(Format::Separated(b';'))), semicolons);
    let tabs = "id\tcity\tnote\n1\tOslo\ta,b\n2\tYork, UK\tsay \"hi\"\n3\tPorto\ttwo\\r\\nlines\n";
    assert_eq!(run(TABLE, &with(Format::Tabs)), tabs);
    let lines = "{\"id\":\"1\",\"city\":\"Oslo\",\"note\":\"a,b\"}\n{\"id\":\"2\",\"city\":\"York, UK\",\"note\":\"say \\\"hi\\\"\"}\n\
        {\"id\":\"3\",\"city\":\"Porto\",\"note\":\"two\\r\\nlines\"}\n";
    assert_eq!(run(TABLE, &with(Format::Lines)), lines);
    let numbers = Options { numbers: true, columns: Columns::parse("1").ok(), ..with(Format::Array) };
    assert_eq!(run(TABLE, &numbers), "[\n{\"id\":1},\n{\"id\":2},\n{\"id\":3}\n]\n");
    assert_eq!(run("a\n", &with(Format::Array)), "[]\n");
}

#[test]
fn columns_and_conditions() {
    let ask = |columns: &str, conditions: &[&str]| Options {
        columns: Some(Columns::parse(columns).expect(columns)),
        conditions: conditions.iter().map(|text| Condition::parse(text).expect(text)).collect(),
        ..options()
    };
    assert_eq!(run(TABLE, &ask("note,id", &["city=York, UK"])), "note,id\n\"say \"\"hi\"\"\",2\n");
    assert_eq!(run(TABLE, &ask("city", &["id>=2", "note~^two"])), "city\nPorto\n");
    assert_eq!(run(TABLE, &ask("!note", &["city!~o$"])), "id,city\n2,\"York, UK\"\n");
    assert_eq!(run("a\n\"\"\nx\n", &ask("a", &[])), "a\n\"\"\nx\n");
    let headless = Options { named: false, ..ask("2", &["1=a"]) };
    assert_eq!(run("a,b\nc,d\na,e", &headless), "b\ne\n");
    assert_eq!(run("\u{feff}a;b\n1;2", &Options { delimiter: b';', ..options() }), "a,b\n1,2\n");
    assert_eq!(run("", &options()), "");
    let failure = run_by(b"a,b\n", &ask("c", &[]), 1, 64).1;
    assert!(matches!(failure, Some(Failure::Columns(reason)) if reason.contains("the columns are a, b")));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let error = |fault, record, line, column| SyntaxError { fault, record, line, column };
    assert_eq!(flaw("a,b\n1,2\n\n3\n", &options()), error(Fault::Fields { found: 1, wanted: 2 }, 3, 4, 1));
    assert_eq!(flaw("a,b\n1,5\" pipe\n", &options()), error(Fault::Quote, 2, 2, 4));
    assert_eq!(flaw("a,b\n\"1\n\"x,2\n", &options()), error(Fault::Quote, 2, 3, 2));
    assert_eq!(flaw("a,b\n\"1\"\rx,2\n", &options()), error(Fault::Quote, 2, 2, 5));
    assert_eq!(flaw("a,b\n1,\"2\n3,4\n", &options()), error(Fault::Unclosed, 2, 2, 3));
    assert_eq!(flaw("\"a", &options()), error(Fault::Unclosed, 1, 1, 1));
    assert_eq!(flaw("a\"", &options()), error(Fault::Quote, 1, 1, 2));
    let ragged = Options { ragged: true, ..options() };
    assert_eq!(run("a,b\n1\n2,3,4\n", &ragged), "a,b\n1,\n2,3\n");
    let (printed, _) = run_by(b"a\n1\n2\n\"x\"y\n3\n", &options(), 1, 64);
    assert_eq!(printed, "a\n1\n2\n");
}

/// Reads an endless input. Returns the output and the error.
fn refused(beginning: &'static str, share: Share) -> (String, Option<Failure>) {
    let (mut printed, mut begun) = (Vec::new(), false);
    let endless = std::io::Cursor::new(beginning.as_bytes()).chain(std::io::repeat(b'x'));
    let outcome = read(endless, &options(), share, &mut begun, |bytes| {
        printed.extend_from_slice(bytes);
        Ok(())
    });
    (String::from_utf8_lossy(&printed).into_owned(), outcome.err())
}

#[test]
fn a_record_without_an_end_is_said_before_memory_is_full() {
    let record = 1 << 16;
    let is = |failure: Option<Failure>, wanted: SyntaxError| matches!(failure, Some(Failure::Syntax(error)) if error == wanted);
    for threads in [1, 2] {
        let (printed, failure) = refused("a,b\n1,2\n3,\"y\nz", Share { threads, chunk: 1 << 12, record });
        assert_eq!(printed, "a,b\n1,2\n");
        let fault = Fault::TooLong { limit: record, quoted: true };
        assert!(is(failure, SyntaxError { fault, record: 3, line: 3, column: 3 }));
    }
    let fault = Fault::TooLong { limit: record, quoted: false };
    let failure = refused("", Share { threads: 1, chunk: 1 << 12, record }).1;
    assert!(is(failure, SyntaxError { fault, record: 1, line: 1, column: 1 }));
}

/// Returns a random table as text, with quotes where necessary and some elsewhere.
fn table(random: &mut Random, rows: usize, columns: usize) -> String {
    const PARTS: [&str; 12] =
        ["a", "b", "é", " ", ",", "\"", "\n", "\r\n", ";", "12", "\t", "long enough for a step "];
    let mut text = String::new();
    for _ in 0..rows {
        for column in 0..columns {
            text += if column > 0 { "," } else { "" };
            let field: String = (0..random.below(4)).map(|_| PARTS[random.below(PARTS.len())]).collect();
            let must = field.contains([',', '"', '\n', '\r']) || columns == 1 && field.is_empty();
            if must || random.below(4) == 0 {
                text += &format!("\"{}\"", field.replace('"', "\"\""));
            } else {
                text += &field;
            }
        }
        text += ["\n", "\r\n"][random.below(2)];
    }
    if random.below(3) == 0 {
        text.truncate(text.trim_end_matches(['\n', '\r']).len());
    }
    text
}

/// Returns the expected output, made with the csv crate.
fn by_crate(text: &str, columns: &[usize], wanted: &str) -> String {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in reader.records() {
        let record = record.expect("a table");
        if record[columns[0]].contains(wanted) {
            writer.write_record(columns.iter().map(|column| &record[*column])).expect("written");
        }
    }
    String::from_utf8(writer.into_inner().expect("written")).expect("UTF-8")
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn the_csv_crate_prints_the_same() {
    let (cases, seed) = (number("PELTON_FUZZ_CASES", 5000), number("PELTON_SEED", 1));
    let mut random = Random::new(seed);
    for _ in 0..cases {
        let (rows, count) = (random.below(12), 1 + random.below(5));
        let text = table(&mut random, rows, count);
        let columns: Vec<usize> = (0..1 + random.below(3)).map(|_| random.below(count)).collect();
        let wanted = ["", "a", "\"", "\n"][random.below(4)];
        let list = columns.iter().map(|column| (column + 1).to_string()).collect::<Vec<_>>().join(",");
        let asked = Options {
            named: false,
            columns: Some(Columns::parse(&list).expect("numbers")),
            conditions: vec![Condition::parse(&format!("{}~{wanted}", columns[0] + 1)).expect("a condition")],
            ..options()
        };
        let expected = by_crate(&text, &columns, wanted);
        assert_eq!(run(&text, &asked), expected, "{list} {wanted:?} {}", text.escape_debug());
        let chunk = 1 + random.below(100);
        let (printed, failure) = run_by(text.as_bytes(), &asked, 1, chunk);
        assert!(failure.is_none() && printed == expected, "{chunk} {}", text.escape_debug());
    }
    let _ = writeln!(std::io::stdout(), "tally: csv inputs={cases} differences=0");
}

#[test]
fn several_threads_print_the_same() {
    let mut random = Random::new(5);
    let text = table(&mut random, 120_000, 4);
    assert!(text.len() > 2_000_000);
    for format in [Format::Separated(b','), Format::Array] {
        let asked = Options { format, columns: Columns::parse("3,1").ok(), named: false, ..options() };
        let one = run(&text, &asked);
        for (threads, chunk) in [(2, 1 << 12), (3, 1 << 16)] {
            let (printed, failure) = run_by(text.as_bytes(), &asked, threads, chunk);
            assert!(failure.is_none() && printed == one, "{threads} {chunk}");
        }
    }
    let bad = format!("{text}\nx\"y,2,3,4\n{text}");
    let one = run_by(bad.as_bytes(), &options(), 1, 1 << 16);
    let three = run_by(bad.as_bytes(), &options(), 3, 1 << 12);
    assert!(one.0 == three.0);
    assert!(
        matches!((one.1, three.1), (Some(Failure::Syntax(one)), Some(Failure::Syntax(three))) if one == three)
    );
}
