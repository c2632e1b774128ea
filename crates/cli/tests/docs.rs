//! Runs the console examples in README.md and docs/, so that they stay true.
//!
//! A block fenced as `console` holds commands after `$ ` (continued after `> `), each followed by its output
//! on both channels, and by `? N` if its status is not 0 (or `? N or M`). `[..]` matches anything within a
//! line, a line `...` any lines. A block fenced as `console figures` shows a measurement: another run must
//! show the same rows, down to the first blank line. The blocks of a file share a directory.
//! `<!-- $ COMMAND -->` above a block runs a hidden command first.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug, Default, PartialEq)]
struct Example {
    line: usize,
    command: String,
    output: String,
    /// Empty if all are 0.
    statuses: Vec<i32>,
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
        let statuses = line.strip_prefix("? ").map(|numbers| numbers.split(" or ").map(str::parse).collect());
        match (more, statuses) {
            (Some(more), _) => self.command = format!("{}\n{more}", self.command),
            (_, Some(Ok(statuses))) => self.statuses = statuses,
            _ => self.output = format!("{}{line}\n", self.output),
        }
    }

    /// Runs it in `dir`; returns its output and status.
    fn run(&self, dir: &Path) -> (String, i32) {
        let bin = Path::new(env!("CARGO_BIN_EXE_pelton")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let out = Command::new("bash")
            .args(["-c", &format!("exec 2>&1\n{}", self.command)])
            .current_dir(dir)
            .env("PATH", format!("{}:{path}", bin.display()))
            .envs([("HOME", dir.as_os_str()), ("LC_ALL", "C.UTF-8".as_ref()), ("TERM", "dumb".as_ref())])
            .env_remove("COLUMNS")
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (String::from_utf8(out.stdout).unwrap(), out.status.code().unwrap_or(-1))
    }

    fn check(&self, dir: &Path, file: &str) {
        let (printed, status) = self.run(dir);
        let at = format!("{file}:{}: $ {}\n", self.line, self.command);
        let expected = if self.statuses.is_empty() { &[0][..] } else { &self.statuses };
        assert!(expected.contains(&status), "status {status} of {at}{printed}");
        let shown = |text: &str| if self.figures { without_figures(text) } else { text.to_owned() };
        let compare = snapbox::Assert::new().normalize_paths(false);
        compare.eq(at.clone() + &shown(&printed), at + &shown(&self.output));
    }
}

/// Returns what every run must show: the first word of each line with a figure, down to the first blank line,
/// after which the verdict follows. Columns may differ: they depend on what was sampled.
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

/// Returns the pages of a docs folder, without subfolders.
fn pages(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs").join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

#[test]
fn the_documents_are_true() {
    pages("").iter().for_each(|page| check_file(page));
}

#[test]
fn the_lessons_are_true() {
    pages("lessons").iter().for_each(|page| check_file(page));
}

/// Returns the files that a page links to or includes, each with the heading that the link names, if any.
fn targets(page: &Path) -> Vec<(PathBuf, Option<String>)> {
    let markdown = fs::read_to_string(page).unwrap();
    let links = markdown.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
    let includes = markdown.split("{{#include ").skip(1).filter_map(|rest| rest.split(['}', ':']).next());
    let inside = |link: &&str| !link.contains("://") && !link.is_empty();
    let target = |link: &str| {
        let (file, heading) = link.split_once('#').map_or((link, None), |(file, name)| (file, Some(name)));
        let file = if file.is_empty() { page.to_owned() } else { page.parent().unwrap().join(file) };
        (file, heading.map(str::to_owned))
    };
    links.filter(inside).chain(includes).map(target).collect()
}

/// Returns the names by which links may lead to the headings of a page, as mdBook and code hosts make them.
fn heading_names(page: &Path) -> BTreeSet<String> {
    let name = |heading: &str| -> String {
        let kept =
            heading.trim().chars().filter(|one| one.is_alphanumeric() || matches!(one, ' ' | '-' | '_'));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    let markdown = fs::read_to_string(page).unwrap();
    let headings = markdown.lines().filter_map(|line| line.strip_prefix('#'));
    headings.map(|heading| name(heading.trim_start_matches('#'))).collect()
}

#[test]
fn links_lead_somewhere_and_the_book_has_every_page() {
    let docs = root().join("docs");
    let listed: BTreeSet<PathBuf> =
        targets(&docs.join("SUMMARY.md")).iter().map(|(path, _)| path.canonicalize().unwrap()).collect();
    let book: Vec<PathBuf> = ["", "lessons", "add", "design", "reference", "workers"]
        .iter()
        .flat_map(|folder| pages(folder))
        .collect();
    for page in &book {
        let known = page.ends_with("SUMMARY.md") || listed.contains(&page.canonicalize().unwrap());
        assert!(known, "{} is not in SUMMARY.md", page.display());
    }
    let beside = ["README.md", "CHANGELOG.md", "bench/README.md"].map(|page| root().join(page));
    for page in book.iter().chain(&beside) {
        for (target, heading) in targets(page) {
            assert!(target.exists(), "{} leads to {}", page.display(), target.display());
            let Some(heading) = heading else { continue };
            let there = heading_names(&target).contains(&heading);
            assert!(there, "{} leads to {}#{heading}", page.display(), target.display());
        }
    }
}

#[test]
fn headings_have_the_names_that_links_use() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.md");
    fs::write(&page, "# One\n\ntext # no\n\n## `pelton last`: the line, afterwards\n").unwrap();
    let names: Vec<String> = heading_names(&page).into_iter().collect();
    assert_eq!(names, ["one", "pelton-last-the-line-afterwards"]);
}

#[test]
fn examples_are_found() {
    let markdown = "text\n<!-- $ hidden -->\n```console figures\n$ echo \\\n> 1\n1\n$ false\n? 1 or 2\n```\n```sh\n$ no\n```\n";
    let example = |line, command: &str, output: &str, statuses: &[i32], figures| Example {
        line,
        command: command.into(),
        output: output.into(),
        statuses: statuses.to_vec(),
        figures,
    };
    assert_eq!(
        examples(markdown),
        [
            example(2, "hidden", "", &[], false),
            example(4, "echo \\\n1", "1\n", &[], true),
            example(7, "false", "", &[1, 2], true),
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
    Example { command, output, statuses: vec![1], ..Example::default() }.check(dir.path(), "some.md");
}

#[test]
#[should_panic(expected = "some.md:7")]
fn an_example_that_does_not_hold_is_found() {
    let dir = tempfile::tempdir().unwrap();
    Example { line: 7, command: "echo 1".into(), output: "2\n".into(), ..Example::default() }
        .check(dir.path(), "some.md");
}
