//! What a user probably meant, where the shell or the command line made something else of it.

use crate::diagnose::near;
use crate::failure::Failure;
use crate::source;
use clap::{ArgAction, Command};
use pelton_record::{End, Pipeline, Run};
use pelton_run::script::quoted;
use pelton_run::{Environment, find_program};
use pelton_sys::{processes, procfs};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// More neighbours in a pipeline are not looked for.
const READERS_MAX: usize = 20;

/// Commands that end with status 1 to say something, not because they failed.
const ANSWERS_BY_STATUS: &[&str] =
    &["grep", "egrep", "fgrep", "zgrep", "rg", "cmp", "diff", "test", "[", "expr", "false"];

/// Says which stages failed, though a later one hides it, and what may have made them fail.
pub fn hidden_failures<'a>(run: &'a Run) -> Vec<String> {
    let before_last =
        |pipeline: &'a Pipeline| pipeline.stages.split_last().map_or(&[][..], |(_, before)| before);
    let stages = run.pipelines.iter().flat_map(|pipeline| (1..).zip(before_last(pipeline)));
    let failed = stages.filter_map(|(number, stage)| match stage.end {
        End::Exited(0 | 141) => None,
        End::Exited(1) if ANSWERS_BY_STATUS.contains(&stage.name.as_str()) => None,
        End::Exited(status) => Some((number, stage, status)),
        End::Killed { .. } | End::Unknown(_) => None,
    });
    let notes = failed.take(3).map(|(number, stage, status)| {
        let mut note = format!("stage {number} ({}) failed with status {status}", stage.name);
        if lacks_a_variable(&stage.text) {
            note +=
                ": in double quotes the shell takes `$1` away: single quotes, or a file (-f FILE), keep it";
        }
        note
    });
    notes.collect()
}

/// Whether an awk program looks as if the shell had taken a `$1` out of it.
fn lacks_a_variable(text: &str) -> bool {
    text.contains("awk")
        && ["print ,", "print }", "print}", ", }", ",}", ", ,"].iter().any(|gap| text.contains(gap))
}

/// Returns the error for a word that is no command of pelton's.
pub fn unknown_verb(word: &str, root: &Command) -> Failure {
    if is_shell_text(word) {
        let failure = Failure::new(format!("`{}` is shell text, not a command of pelton", shortened(word)));
        let text = quoted(word);
        let calls = [
            ("time", "which stage is slow, and why"),
            ("run", "the same output, often faster"),
            ("explain", "what pelton would do with it"),
        ];
        let width = "pelton explain ".len() + text.chars().count();
        let lines =
            calls.map(|(verb, gives)| format!("{:width$}   {gives}", format!("pelton {verb} {text}")));
        return failure.with_help(lines.join("\n       "));
    }
    let verbs = root.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name);
    let failure = Failure::new(format!("pelton has no command `{word}`"));
    if let Some(similar) = nearest(word, verbs) {
        return failure.with_help(format!("pelton {similar}, or pelton --help"));
    }
    if find_program(word.as_bytes(), &Environment::inherit()).is_some() {
        let words = std::env::args_os().skip_while(|arg| *arg != *word);
        let words: Vec<OsString> = words.collect();
        return Failure::new(format!("`{word}` is a program, not a command of pelton"))
            .with_help(format!("pelton time {}", source::typed(&words)));
    }
    failure.with_help("pelton --help")
}

/// Returns the name that is meant, if one is near: it begins so, or two letters differ.
fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let rank = |name: &&str| (!name.starts_with(wanted), strsim::osa_distance(wanted, name));
    let near = near(wanted);
    names
        .min_by_key(rank)
        .filter(|name| name.starts_with(wanted) || strsim::osa_distance(wanted, name) <= near)
}

/// Returns the error for words that begin with an unknown option.
pub fn unknown_option(option: &OsStr, root: &Command) -> Failure {
    let option = option.to_string_lossy();
    let failure = Failure::new(format!("pelton has no option `{option}` here"));
    let (name, value) = option.split_once('=').map_or((&*option, None), |(name, value)| (name, Some(value)));
    match similar_option(name, verb(root)) {
        Some(similar) => {
            let value = value.map(|value| format!("={value}")).unwrap_or_default();
            failure.with_help(format!("{similar}{value}, or `--` before a pipeline that begins with `-`"))
        }
        None => failure.with_help("--help; or `--` before a pipeline that begins with `-`"),
    }
}

/// Returns the error for a command line without a pipeline, which an option may have taken for its value.
pub fn no_pipeline(root: &Command) -> Failure {
    let failure = Failure::new("there is no pipeline to run");
    let given: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let name = verb(root).get_name();
    let taken = given.iter().enumerate().skip(1).find_map(|(at, arg)| {
        let (option, value) = match arg.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, value),
            _ => (given[at - 1].as_str(), arg.as_str()),
        };
        (option.starts_with('-') && is_shell_text(value)).then_some((option, value))
    });
    match taken {
        Some((option, text)) => Failure::new(format!(
            "there is no pipeline to run: `{option}` took {} for its value",
            quoted(text)
        ))
        .with_help(format!(
            "pelton {name} {option} {} {}",
            value_name(verb(root), option),
            quoted(text)
        )),
        None => failure.with_help(format!("pelton {name} 'sort FILE | uniq -c', or pelton help")),
    }
}

/// Said of `pelton run make`.
pub const ON_MAKE: &str = "make starts its recipes itself, without pelton; `pelton time make` says by which two lines of the Makefile they run natively";

/// The message for `pelton time a | b` without quotes: the shell started `b` itself.
pub struct Beside {
    /// What was timed and what was not.
    pub headline: String,
    /// The command that times the whole line.
    pub cure: Option<String>,
}

/// Checks whether other programs of the same shell line read this process's output.
pub fn readers_beside(words: &[OsString]) -> Option<Beside> {
    let own = std::process::id();
    let readers = readers();
    // With `2>&1 |` they are to read the report.
    if readers.is_empty() || procfs::pipe_behind(own, 1) == procfs::pipe_behind(own, 2) {
        return None;
    }
    let own = source::typed(words);
    let Some(readers) = line_of(&readers) else {
        let headline =
            format!("only `{own}` was timed, and not what reads its output and may have kept it waiting");
        return Some(Beside { headline, cure: None });
    };
    let headline = format!(
        "only `{own}` was timed, and not `{readers}`, which reads its output and may have kept it waiting"
    );
    Some(Beside {
        headline,
        cure: Some(format!("to time all of it:{}", call_of("time", &format!("{own} | {readers}")))),
    })
}

/// Returns how to give a line to pelton. One with quotes goes through a here-document, in which they stay as they are.
fn call_of(verb: &str, line: &str) -> String {
    match line.contains('\'') {
        true => {
            let mut end = "end".to_owned();
            while line.lines().any(|one| one == end) {
                end.push('.');
            }
            format!("\n  pelton {verb} - << '{end}'\n  {line}\n{end}")
        }
        false => format!(" pelton {verb} {}", quoted(line)),
    }
}

/// Returns a note if others read the output of a command that was given to `pelton run` as words: the rest of a line whose
/// `|` the shell took. In `$(…)` and `<(…)` nobody has it as standard input.
pub fn rest_beside(words: &[OsString]) -> Option<String> {
    let readers = readers();
    if readers.is_empty() {
        return None;
    }
    let own = source::typed(words);
    let all = call_of("run", &format!("{own} | {}", line_of(&readers).as_deref().unwrap_or("…")));
    Some(format!("only `{own}` was given to pelton, and runs as it is; to run the whole line:{all}"))
}

/// Returns these command lines with `|` between them, if all are commands as they were written.
fn line_of(readers: &[Vec<String>]) -> Option<String> {
    let lines: Option<Vec<String>> =
        readers.iter().map(|reader| is_whole_command(reader).then(|| pelton_record::typed(reader))).collect();
    Some(lines?.join(" | "))
}

/// Returns the command lines of those that read this process's output, one after another.
fn readers() -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut writer = std::process::id();
    while found.len() < READERS_MAX
        && let Some(pipe) = procfs::pipe_behind(writer, 1)
        && let Some(reader) = reader_of(pipe, writer)
    {
        found.push(processes::command_line(reader));
        writer = reader;
    }
    found
}

fn reader_of(pipe: u64, writer: u32) -> Option<u32> {
    let reads = |pid: &u32| *pid != writer && procfs::pipe_behind(*pid, 0) == Some(pipe);
    processes::all().into_iter().find(reads)
}

/// Whether these words are a command as it was written: a shell stands for a loop or a group of the line.
fn is_whole_command(words: &[String]) -> bool {
    let Some(first) = words.first() else { return false };
    let name = Path::new(first).file_name().unwrap_or_default();
    !source::is_shell(name.as_encoded_bytes().strip_prefix(b"-").unwrap_or(name.as_encoded_bytes()))
}

/// Whether a word looks like several of the shell's.
pub fn is_shell_text(word: &str) -> bool {
    word.contains(|c: char| c.is_whitespace() || "|;&<>".contains(c))
}

fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let first = text.lines().next().unwrap_or_default();
    if first.len() == text.len() && text.chars().count() <= CHARS_MAX {
        return text.to_owned();
    }
    first.chars().take(CHARS_MAX).chain(" …".chars()).collect()
}

/// Returns the command of pelton's that was called.
fn verb(root: &Command) -> &Command {
    let named = |arg: OsString| root.find_subcommand(arg);
    std::env::args_os().skip(1).find_map(named).unwrap_or(root)
}

fn similar_option(name: &str, verb: &Command) -> Option<String> {
    let wanted = name.strip_prefix("--")?;
    let longs = verb.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(|arg| arg.get_long());
    nearest(wanted, longs).map(|long| format!("--{long}"))
}

/// Returns what an option's value is called in the help.
fn value_name(verb: &Command, option: &str) -> String {
    let is_it = |arg: &&clap::Arg| {
        arg.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long))
            || arg.get_short().is_some_and(|short| option.strip_prefix('-') == Some(&short.to_string()))
    };
    let arg = verb.get_arguments().find(is_it).filter(|arg| matches!(arg.get_action(), ArgAction::Set));
    let name = arg.and_then(|arg| arg.get_value_names()).and_then(|names| names.first());
    name.map_or_else(|| "FILE".to_owned(), ToString::to_string)
}
