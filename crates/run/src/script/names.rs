//! `$(basename "$f")`, `$(dirname "$f")`: bash itself cuts the name, without a program.
//!
//! ```text
//! y=$([[ $f && $f != -* && $f != */ ]] && printf '%s\n' "${f##*/}" || basename "$f")
//! ```
//!
//! The test leaves to the program what it takes for an option, and names that it cuts in other ways. A `$(…)` still is a
//! copy of bash, but executes nothing. One line stays one line where bash prints the text anew: a `case` or `if` would not.

use super::calls::Edit;
use super::outlook::Outlook;
use super::stages::Judge;
use pelton_syntax::{Nested, Stage, Word};

/// Returns the edits that let bash cut the name first; `None` if the command is something else. The command must be all of a
/// `$(…)`.
pub fn in_the_shell(
    stage: &Stage,
    of: &Nested,
    judge: &Judge<'_>,
    outlook: &Outlook<'_>,
) -> Option<Vec<Edit>> {
    let simple = stage.simple().filter(|simple| simple.assignments.is_empty())?;
    let usual = stage.redirects.is_empty() && !stage.pipes_stderr && !of.background && !of.pipeline.timed;
    let shadowed = ["printf", "set"].iter().any(|name| judge.functions.iter().any(|own| own == name));
    if !usual || shadowed || judge.single(stage, of).is_err() {
        return None;
    }
    let name = simple.words.first()?.static_text()?;
    let (word, suffix) = match (name.as_str(), &simple.words[1..]) {
        ("basename" | "dirname", [word]) => (word, None),
        ("basename", [word, suffix]) => (word, Some(plain_suffix(suffix, judge.text)?)),
        _ => return None,
    };
    judge.word(word, of).ok()?;
    let variable = variable(word.span.of(judge.text))?;
    // Only what has a kernel is known to be the tool of that name.
    if outlook.nothing_gained(std::slice::from_ref(stage)).is_some() {
        return None;
    }
    let text = match (name.as_str(), suffix) {
        ("basename", None) => {
            let test = test(variable, &["-*", "*/"]);
            format!("[[ {test} ]] && {}", print(&format!("{variable}##*/")))
        }
        ("basename", Some(suffix)) => {
            let test = test(variable, &["-*", "*/", suffix, &format!("*/{suffix}")]);
            // Nobody sees the arguments of this copy of the shell.
            format!("[[ {test} ]] && set -- \"${{{variable}##*/}}\" && {}", print(&format!("1%{suffix}")))
        }
        _ => {
            let test = test(variable, &["-*", "*/", "*//*"]);
            format!("[[ ${variable} == ?*/* && {test} ]] && {}", print(&format!("{variable}%/*")))
        }
    };
    let at = stage.span.start;
    Some(vec![Edit::insertion(at, format!("{text} || "), 0)])
}

/// Writes that a variable is not empty and matches none of these patterns.
fn test(variable: &str, excluded: &[&str]) -> String {
    let others: String = excluded.iter().map(|pattern| format!(" && ${variable} != {pattern}")).collect();
    format!("${variable}{others}")
}

/// Writes a command that prints an expansion, and a newline.
fn print(expansion: &str) -> String {
    format!("printf '%s\\n' \"${{{expansion}}}\"")
}

/// Returns the variable, or the number of the argument, that is all of a word in double quotes.
fn variable(written: &str) -> Option<&str> {
    let inner = written.strip_prefix("\"$")?.strip_suffix('"')?;
    let name = match inner.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}')?,
        None => inner,
    };
    let is_digit = name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    (is_digit || is_name).then_some(name)
}

/// Returns a suffix of letters that mean themselves, as written.
fn plain_suffix<'t>(word: &Word, text: &'t str) -> Option<&'t str> {
    let written = word.span.of(text);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._".contains(&byte);
    (!written.is_empty() && written.bytes().all(plain)).then_some(written)
}
