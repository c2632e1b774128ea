//! `pelton json` as a command: statuses, messages, pipes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.arg("json").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn pelton(args: &[&str], input: &[u8]) -> Output {
    let mut child = command(args).spawn().expect("pelton starts");
    let mut stdin = child.stdin.take().expect("piped");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // It may end before it has read all.
            let _ = stdin.write_all(input);
        });
        child.wait_with_output().expect("pelton ends")
    })
}

fn check(args: &[&str], input: &str, status: i32, stdout: &str, stderr: &str) {
    let output = pelton(args, input.as_bytes());
    assert_eq!(String::from_utf8_lossy(&output.stdout), stdout, "{args:?} {input}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), stderr, "{args:?} {input}");
    assert_eq!(output.status.code(), Some(status), "{args:?} {input}");
}

#[test]
fn the_forms() {
    let text = r#"{"a": [1, "x y"]}"#;
    check(
        &[],
        text,
        0,
        "@ <=> {\n@.\"a\" <=> [\n@.\"a\".0: 1\n@.\"a\".1: \"x y\"\n@.\"a\" <=> ]\n@ <=> }\n",
        "",
    );
    check(&["--tokens"], text, 0, "{\n\"a\"\n:\n[\n1\n,\n\"x y\"\n]\n}\n", "");
    check(&["--gron"], text, 0, "json = {};\njson.a = [];\njson.a[0] = 1;\njson.a[1] = \"x y\";\n", "");
}

#[test]
fn what_is_selected() {
    let text = r#"{"items": [{"id": 1, "name": "a\tb"}, {"id": 2, "name": null, "tags": ["x"]}]}"#;
    check(&[".items[].id"], text, 0, "1\n2\n", "");
    check(&["-r", ".items[0].name"], text, 0, "a\tb\n", "");
    check(&[".items[?id > 1]"], text, 0, "{\"id\":2,\"name\":null,\"tags\":[\"x\"]}\n", "");
    check(&[".items[].id", "--lines"], text, 0, "@.\"items\".0.\"id\": 1\n@.\"items\".1.\"id\": 2\n", "");
    check(&[".items[]", "--tsv", ".name, .id", "--header"], text, 0, ".name\t.id\na\\tb\t1\n\t2\n", "");
    check(&[".items[]", "--format", "{{{.id}}} {.tags}"], text, 0, "{1} \n{2} [\"x\"]\n", "");
    let template = ["--format", "{depth} {key} {type} {text}", "--format-close", "{value} {path}"];
    check(&template, "{\"a\":[\"\\u00e9\"]}", 0, "2 0 string é\n] @.\"a\"\n} @\n", "");
    check(&["--ndjson", "--jobs", "2", ".a"], "{\"a\":1}\n\n{\"a\":2}\n", 0, "1\n2\n", "");
    check(&[".nothing"], text, 0, "", "");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_read() {
    let refused = |args: &[&str], says: &[&str]| {
        let output = pelton(args, b"");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        for part in says {
            assert!(stderr.contains(part), "{args:?} does not say {part:?}:\n{stderr}");
        }
    };
    refused(&[".a[-1]"], &["this path cannot be read", "count from 0", ".a[-1]"]);
    refused(&["--tsv", ".a b"], &["this list of columns cannot be read"]);
    refused(&["--format", "{nothing}"], &["this template cannot be read", "there is no `{nothing}`"]);
    refused(&["--format", "{.a} {path}"], &["either paths or the places"]);
    refused(&["..a", "--tsv", ".b"], &["without `..`", "try:"]);
    refused(&["--tsv", ".a[?b]"], &["a condition cannot stand in a column"]);
    refused(&["--tokens", "--gron"], &["cannot be used with"]);
    refused(&["./nosuch"], &["cannot read ./nosuch"]);
}

#[test]
fn what_is_wrong_is_said_after_what_was_right() {
    let says = "pelton: standard input: line 1, column 4, at @.1: a value is expected, not `]`\n";
    check(&[], "[1,]", 2, "@ <=> [\n@.0: 1\n", says);
    let says =
        "pelton: standard input: line 1, column 3, at @: a second document begins here, and one is wanted\n";
    check(&["--one"], "1 2", 2, "@: 1\n", says);
    let says =
        "pelton: standard input: line 1, column 3, at @.0.0: more than 2 levels of objects and arrays\n";
    check(&["--max-depth", "2"], "[[[", 2, "@ <=> [\n@.0 <=> [\n", says);
}

#[test]
fn the_next_file_is_read_after_one_that_cannot_be() {
    let says = "pelton: cannot read nosuch: No such file or directory\n";
    check(&["nosuch", "-"], "1", 2, "@: 1\n", says);
    let says = "pelton: cannot read /: Is a directory\n";
    check(&["/"], "", 2, "", says);
}

#[test]
fn a_full_disk_is_an_error() {
    let mut command = command(&[]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("there is one");
    let mut child = command.stdout(full).spawn().expect("pelton starts");
    child.stdin.take().expect("piped").write_all(b"[1]").expect("written");
    let output = child.wait_with_output().expect("pelton ends");
    assert_eq!(output.status.code(), Some(2));
    let says = "pelton: cannot write to standard output: No space left on device\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), says);
}

#[test]
fn lines_come_while_the_input_stays_open() {
    let mut child = command(&[]).spawn().expect("pelton starts");
    let mut stdin = child.stdin.take().expect("piped");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    stdin.write_all(b"{\"a\": 1, \"b").expect("written");
    assert_eq!(lines.next().expect("a line").expect("text"), "@ <=> {");
    assert_eq!(lines.next().expect("a line").expect("text"), "@.\"a\": 1");
    stdin.write_all(b"\": 2}").expect("written");
    drop(stdin);
    assert_eq!(lines.next().expect("a line").expect("text"), "@.\"b\": 2");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_reader_that_leaves_ends_it_by_a_signal() {
    use std::os::unix::process::ExitStatusExt;
    let mut child = command(&[]).spawn().expect("pelton starts");
    let mut stdin = child.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || while stdin.write_all(b"[1,2,3]\n").is_ok() {});
    let mut stdout = child.stdout.take().expect("piped");
    stdout.read_exact(&mut [0; 10]).expect("some lines");
    drop(stdout);
    assert_eq!(child.wait().expect("it ends").signal(), Some(13));
    writer.join().expect("it could write no more");
}
