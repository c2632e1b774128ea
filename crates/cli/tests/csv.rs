//! `pelton csv` as a command: statuses, messages, pipes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.arg("csv").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn check(args: &[&str], input: &str, status: i32, stdout: &str, stderr: &str) {
    let mut child = command(args).spawn().expect("pelton starts");
    let mut stdin = child.stdin.take().expect("piped");
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // It may end before it has read all.
            let _ = stdin.write_all(input.as_bytes());
        });
        child.wait_with_output().expect("pelton ends")
    });
    assert_eq!(String::from_utf8_lossy(&output.stdout), stdout, "{args:?} {input}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with(stderr) && said.is_empty() == stderr.is_empty(), "{args:?} {input}: {said}");
    assert_eq!(output.status.code(), Some(status), "{args:?} {input}");
}

const TABLE: &str = "id,city,price\n1,Oslo,9.5\n2,\"York, UK\",12\n3,Porto,30\n";

#[test]
fn columns_records_and_formats() {
    check(&["-s", "city,id", "-w", "price>10"], TABLE, 0, "city,id\n\"York, UK\",2\nPorto,3\n", "");
    check(
        &["--to", "tsv", "--drop-header", "-s", "2-"],
        TABLE,
        0,
        "Oslo\t9.5\nYork, UK\t12\nPorto\t30\n",
        "",
    );
    let objects = "[\n{\"id\":1,\"city\":\"Oslo\"}\n]\n";
    check(&["--to", "json", "--numbers", "-s", "-city", "-w", "city=Oslo"], TABLE, 0, objects, "");
    check(&["--to", "json", "-w", "id=9"], TABLE, 0, "[]\n", "");
    check(&["-d", "tab", "-n", "-s", "2", "-", "-"], "a\tb,c\n", 0, "\"b,c\"\n", "");
}

#[test]
fn what_is_wrong_is_said() {
    check(
        &["-s", "town"],
        TABLE,
        2,
        "",
        "pelton: standard input: there is no column `town`: the columns are id, city, price\n",
    );
    check(&["-s", "a,,b"], "", 2, "", "error: this list of columns cannot be read: a column is expected");
    check(&["-w", "city"], "", 2, "", "pelton: `city` is not a valid condition: it has none of =");
    check(&["-w", "city~("], "", 2, "", "pelton: `(` is no regular expression: ");
    check(&["-d", "ab"], "", 2, "", "error: ");
    check(
        &[],
        "a,b\n1\n",
        2,
        "a,b\n",
        "pelton: standard input: line 2, column 1, record 2: 1 fields, and the first record has 2\n",
    );
    check(&["nosuch", "-"], "a\n", 2, "a\n", "pelton: cannot read nosuch: No such file or directory\n");
}

#[test]
fn records_come_while_the_input_stays_open() {
    let mut child = command(&["-s", "2"]).spawn().expect("pelton starts");
    let mut stdin = child.stdin.take().expect("piped");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    stdin.write_all(b"a,b\n1,x\n2,\"y").expect("written");
    assert_eq!(lines.next().expect("a line").expect("text"), "b");
    assert_eq!(lines.next().expect("a line").expect("text"), "x");
    stdin.write_all(b"\"\n").expect("written");
    assert_eq!(lines.next().expect("a line").expect("text"), "y");
    drop(stdin);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_reader_that_leaves_ends_it_by_a_signal() {
    use std::os::unix::process::ExitStatusExt;
    let mut child = command(&[]).spawn().expect("pelton starts");
    let mut stdin = child.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || while stdin.write_all(b"1,2,3\n").is_ok() {});
    let mut stdout = child.stdout.take().expect("piped");
    stdout.read_exact(&mut [0; 10]).expect("some records");
    drop(stdout);
    assert_eq!(child.wait().expect("it ends").signal(), Some(13));
    writer.join().expect("it could write no more");
}
