//! `pelton copy` from the command line: statuses, messages, the report. crates/copy compares it with cp.

use std::path::Path;
use std::process::{Command, Output};

fn copy(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.arg("copy").args(args).current_dir(dir).output().expect("it runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn statuses_and_words() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("f"), vec![b'x'; 100_000]).expect("written");
    std::fs::create_dir(dir.path().join("d")).expect("made");
    for (args, status, words) in [
        (&["-v", "f", "g"][..], 0, "`f` -> `g`  ("),
        (&["--via", "splice", "-v", "f", "g"], 0, "(splice: as asked)"),
        (&["f", "d"], 0, ""),
        (&["f", "nowhere/x"], 1, "cannot write `nowhere/x`: No such file or directory"),
        (&["gone", "f", "d"], 1, "cannot stat `gone`: No such file or directory"),
        (&["f", "f"], 1, "the same file"),
        (&["d", "e"], 1, "-r not given"),
        (&["-r", "d", "d/e"], 1, "into itself"),
        (&["f", "g", "h"], 1, "it is no directory"),
        (&["f"], 1, "it is not said where to copy to"),
        (&["f", "/dev/full"], 1, "No space left on device"),
        (&["--via", "bogus", "f", "g"], 2, "the ways are characters, read-write"),
        (&["-n", "-i", "f", "g"], 0, "overwrite `g`?"),
        (&["--progress", "f", "g"], 0, "1 files, 100 kB at "),
    ] {
        let output = copy(dir.path(), args);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(words), "{args:?}: {}", said(&output));
    }
    assert!(dir.path().join("d/f").is_file());
}

#[test]
fn a_report_has_every_way_and_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("f"), vec![b'x'; 3_276_800]).expect("written");
    let output = copy(dir.path(), &["--report", "--json", "--runs", "1", "f"]);
    assert!(output.status.success(), "{}", said(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let ways = report["ways"].as_array().expect("a list");
    assert_eq!(ways.len(), 10);
    // 100 reads and 100 writes of 32 KiB, and the calls that open and close.
    assert_eq!((&ways[0]["way"], &ways[0]["calls"]), (&"characters".into(), &205.into()));
    assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 1);
    let table = said(&copy(dir.path(), &["--report", "--runs", "1", "f"]));
    assert!(table.lines().count() == 12 && table.contains("copy_file_range "), "{table}");
}

/// Lists a directory: names, kinds, permissions, sizes, link targets, and numbers of hard links.
fn listed(dir: &Path) -> String {
    let find = Command::new("find").args([".", "-printf", "%p %y %m %s %l %n\n"]).current_dir(dir).output();
    let text = String::from_utf8_lossy(&find.expect("find runs").stdout).into_owned();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// Copies of a directory into itself. cp takes entries by inode number and stops at its own copy: what it leaves depends
/// on the number that the copy gets. In memory the copy always has the highest one.
const INTO_ITSELF: [&str; 2] = ["-r d/.. gone", "-r . gone"];

#[test]
fn options_leave_what_cp_leaves() {
    const WORLD: &str = "ln -s loop2 loop1; ln -s loop1 loop2; echo aa > a; echo bb > b; mkdir d e; echo dd > d/f; mkdir d/sub; \
        echo x > d/sub/g; ln -s a la; ln -s nowhere dang; ln a ha; chmod 640 b; echo old > b~; echo n > n; echo n3 > n.~3~; \
        mkdir -p -m 711 p; mkdir -p -m 1750 p/q; echo r > p/q/r; mkdir -p o/d; echo of > o/d/f; echo s > o/d/sub";
    for words in [
        "-f a loop1",
        "a loop1",
        "-f a dang",
        "a a d",
        "a ./a d",
        "a b a d",
        "a ha d",
        "a la",
        "-f a ha",
        "--remove-destination a la",
        "--remove-destination a b",
        "--remove-destination a loop1",
        "--remove-destination a dang",
        "-l a c",
        "-l a b",
        "-lf a b",
        "-l a ha",
        "-l la c",
        "-lP la c",
        "-l d/f e",
        "-lr d e",
        "-s a c",
        "-s d/f c",
        "-s a d",
        "-s a b",
        "-sf a b",
        "-x a c",
        "-rx d e",
        "--preserve=mode b c",
        "--preserve=all a ha d",
        "--preserve=links a ha d",
        "--preserve b c",
        "--no-preserve=mode b c",
        "-p --no-preserve=mode,ownership b c",
        "-a --no-preserve=links a ha d",
        "-r d/. e",
        "-r d/./ e",
        "-r d/.. gone",
        "-r d/sub/.. e",
        "-r d// e",
        "-r . gone",
        "-rT d/. e",
        "-b a b",
        "-S .old a b",
        "-S x/y a b",
        "-b -S .old a b",
        "--backup=numbered a b",
        "--backup=t a n",
        "--backup=simple a n",
        "--backup=existing a n",
        "--backup=nil a b",
        "--backup=none a b",
        "--backup=simple --backup=numbered a b",
        "-S x -S y a b",
        "--backup=num a b",
        "--backup=n a b",
        "--backup=xyz a b",
        "-b -n a b",
        "-bu a b",
        "-b b~ b",
        "--backup=numbered b~ b",
        "-b a a",
        "-bf a a",
        "--backup=numbered --force a a",
        "-bf a ha",
        "-b la a",
        "-b a la",
        "-bP la dang",
        "-b a dang",
        "-b a loop1",
        "-br d/sub e",
        "-br d/. e",
        "--backup=numbered a b d",
        "--backup=numbered a ./a a d",
        "-bl a b",
        "-bs a b",
        "-b --remove-destination a b",
        "-b d b",
        "-bT a d",
        "-b gone b",
        "--parents a e",
        "--parents d/f e",
        "--parents d/sub/g d/f e",
        "--parents d/sub/g b",
        "--parents d/sub/g gone",
        "-r --parents d/sub e",
        "-r --parents d/sub/ e",
        "-rp --parents p/q e",
        "-a --parents p/q/r e",
        "--parents --no-preserve=mode p/q/r e",
        "--parents p/q/r e -v",
        "--parents ./d/../d/f e",
        "--parents e/../d/f e",
        "--parents gone/x e",
        "--parents a/x e",
        "--parents -b d/f o",
        "--parents d/sub/g o",
        "-t e --parents d/sub/g d/f",
    ] {
        let [theirs, ours] = ["cp", "pelton"].map(|who| {
            let mut place = std::env::temp_dir();
            if INTO_ITSELF.contains(&words) && Path::new("/dev/shm").is_dir() {
                place = "/dev/shm".into();
            }
            let dir = tempfile::tempdir_in(place).expect("a directory");
            let made =
                Command::new("bash").args(["-c", WORLD]).current_dir(dir.path()).status().expect("bash runs");
            assert!(made.success());
            let args: Vec<&str> = words.split(' ').collect();
            let good = match who {
                "cp" => {
                    Command::new("cp").args(&args).current_dir(dir.path()).output().expect("cp runs").status
                }
                _ => copy(dir.path(), &args).status,
            };
            (good.code(), listed(dir.path()))
        });
        assert_eq!(ours, theirs, "cp {words}");
    }
}
