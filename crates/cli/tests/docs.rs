//! The console examples in README.md and docs/ are run, so that they stay true.
//!
//! A block fenced as `console` holds commands after `$ ` (continued after `> `), each followed by what it prints, on
//! both channels, and by `? N` if its status is not 0. `[..]` stands for anything within a line, a line `...` for any
//! lines. A block fenced as `console figures` shows a measurement as it came: another run must show the same rows,
//! down to the first blank line. The blocks of a file share a directory, in which `<!-- $ COMMAND -->` above a block
//! prepares unseen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug, Default, PartialEq)]
struct Example {
    line: usize,
    command: String,
    output: String,
    status: i32,
    figures: bool,
}

/// The examples of a Markdown text, in order.
fn examples(markdown: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let (mut block, mut figures) = (false, false);
    for (number, line) in markdown.lines().enumerate() {
        let example = || Example { line: number + 1, figures, ..Example::default() };
        if let Some(fence) = line.strip_prefix("```") {
            block = !block && fence.starts_with("console");
            figures = fence.ends_with("figures");
        } else if let Some(hidden) = line.strip_prefix("<!-- $ ").and_then(|rest| rest.strip_suffix(" -->")) {
            found.push(Example { command: hidden.into(), ..example() });
        } else if !block {
            continue;
        } else if let Some(command) = line.strip_prefix("$ ") {
            found.push(Example { command: command.into(), ..example() });
        } else if let Some(last) = found.last_mut() {
            last.add(line);
        }
    }
    found
}

impl Example {
    fn add(&mut self, line: &str) {
        let more = line.strip_prefix("> ").filter(|_| self.output.is_empty());
        let status = line.strip_prefix("? ").and_then(|number| number.parse().ok());
        match (more, status) {
            (Some(more), _) => self.command = format!("{}\n{more}", self.command),
            (_, Some(status)) => self.status = status,
            _ => self.output = format!("{}{line}\n", self.output),
        }
    }

    /// Runs it in `dir`; what it printed, and its status.
    fn run(&self, dir: &Path) -> (String, i32) {
        let bin = Path::new(env!("CARGO_BIN_EXE_pelton")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let out = Command::new("bash")
            .args(["-c", &format!("exec 2>&1\n{}", self.command)])
            .current_dir(dir)
            .env("PATH", format!("{}:{path}", bin.display()))
            .envs([("HOME", dir.as_os_str()), ("LC_ALL", "C.UTF-8".as_ref()), ("TERM", "dumb".as_ref())])
            .env_remove("COLUMNS")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (String::from_utf8(out.stdout).unwrap(), out.status.code().unwrap_or(-1))
    }

    fn check(&self, dir: &Path, file: &str) {
        let (printed, status) = self.run(dir);
        let at = format!("{file}:{}: $ {}\n", self.line, self.command);
        assert_eq!(status, self.status, "{at}{printed}");
        let shown = |text: &str| if self.figures { without_figures(text) } else { text.to_owned() };
        let compare = snapbox::Assert::new().normalize_paths(false);
        compare.eq(at.clone() + &shown(&printed), at + &shown(&self.output));
    }
}

/// What another run would say as well: the first word of each line that has a figure, down to the first blank line,
/// after which the verdict on that run stands. Columns may differ: they depend on what could be sampled.
fn without_figures(text: &str) -> String {
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let rows = lines.filter(|line| line.contains(|c: char| c.is_ascii_digit()));
    let first_word = |line: &str| {
        let word = line.split(|c: char| !c.is_alphabetic()).find(|word| !word.is_empty());
        format!("{}\n", word.unwrap_or_default())
    };
    rows.map(first_word).collect()
}

fn check_file(path: &Path) {
    let markdown = fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy();
    let dir = tempfile::tempdir().unwrap();
    for example in examples(&markdown) {
        example.check(dir.path(), &name);
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_readme_is_true() {
    check_file(&root().join("README.md"));
}

#[test]
fn the_documents_are_true() {
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            check_file(&path);
        }
    }
}

#[test]
fn examples_are_found() {
    let markdown = "text\n<!-- $ hidden -->\n```console figures\n$ echo \\\n> 1\n1\n$ false\n? 1\n```\n```sh\n$ no\n```\n";
    let example = |line, command: &str, output: &str, status, figures| Example {
        line,
        command: command.into(),
        output: output.into(),
        status,
        figures,
    };
    assert_eq!(
        examples(markdown),
        [
            example(2, "hidden", "", 0, false),
            example(4, "echo \\\n1", "1\n", 0, true),
            example(7, "false", "", 1, true),
        ]
    );
}

#[test]
fn figures_may_differ_but_rows_may_not() {
    let one = "   command  real\n1 cat a.txt 0.123s ▇‹‹\n  ALL 0.2s\n\nthe bottleneck is stage 1\n";
    let other = "   command  real  time spent\n▶ 1 cat a.txt 12ms ▇\nALL 20ms\n\nno bottleneck\n";
    assert_eq!(without_figures(one), without_figures(other));
    assert_ne!(without_figures(one), without_figures(&one.replace("cat", "dog")));
}

#[test]
fn wildcards_stand_for_anything() {
    let dir = tempfile::tempdir().unwrap();
    let command = "echo 'a\\b 17 c'; seq 3; false".to_owned();
    let output = "a\\b [..] c\n...\n3\n".to_owned();
    Example { command, output, status: 1, ..Example::default() }.check(dir.path(), "some.md");
}

#[test]
#[should_panic(expected = "some.md:7")]
fn an_example_that_does_not_hold_is_found() {
    let dir = tempfile::tempdir().unwrap();
    Example { line: 7, command: "echo 1".into(), output: "2\n".into(), ..Example::default() }
        .check(dir.path(), "some.md");
}
