//! Which commands can neither change a file that is sourced later, nor wait.

use super::Text;
use pelton_record::Span;
use pelton_syntax::{Redirect, RedirectKind, Stage, Word, WordPart};

/// Builtins that change nothing outside of the shell. Those that change variables are looked at one by one.
const BUILTINS: [&str; 27] = [
    ":", "true", "false", "[", "test", "echo", "printf", "set", "shift", "umask", "return", "exit", "break",
    "continue", "pwd", "cd", "export", "readonly", "local", "declare", "typeset", "unset", "getopts",
    "shopt", "trap", "command", "exec",
];
/// Programs that give no file other bytes, and do not read their standard input. `rm` is looked at by itself.
const PROGRAMS: [&str; 27] = [
    "basename", "dirname", "readlink", "realpath", "date", "uname", "id", "whoami", "hostname", "nproc",
    "getconf", "tput", "expr", "stat", "which", "arch", "printenv", "seq", "ls", "df", "du", "free",
    "getopt", "tty", "groups", "logname", "rm",
];
/// Programs that change no file, but may read their standard input.
const FILTERS: [&str; 8] = ["cat", "tr", "cut", "head", "tail", "wc", "grep", "rev"];

/// Returns what a command does that may change files, or wait; `None` if it does not. `piped`: whether its input is a pipe
/// from an earlier stage.
pub fn disturbance(stage: &Stage, name: &str, words: &[Word], piped: bool) -> Option<String> {
    let is =
        |at: usize, text: &str| words.get(at).and_then(Word::static_text).is_some_and(|word| word == text);
    let fed = piped
        || stage
            .redirects
            .iter()
            .any(|redirect| matches!(redirect.kind, RedirectKind::HereDoc(_) | RedirectKind::HereString(_)));
    let harmless = match name {
        "command" => is(1, "-v") || is(1, "-V"),
        "exec" => words.len() == 1,
        "unset" | "declare" | "typeset" | "local" | "readonly" => !words.iter().any(has_odd_options),
        "trap" => !words.iter().skip(2).any(|word| {
            word.static_text().is_none_or(|word| matches!(word.as_str(), "ERR" | "RETURN" | "DEBUG"))
        }),
        "sed" => fed && only_substitutes(&words[1..]),
        "sort" | "uniq" => fed && words[1..].iter().all(is_order),
        _ if FILTERS.contains(&name) => fed,
        _ => BUILTINS.contains(&name) || PROGRAMS.contains(&name),
    };
    (!harmless).then(|| format!("`{name}`"))
}

/// Whether these arguments of sed are one `s` command without a file or a program, perhaps behind `-n`, `-E` or `-e`.
fn only_substitutes(words: &[Word]) -> bool {
    let words: Option<Vec<String>> = words.iter().map(Word::static_text).collect();
    let Some((program, options)) = words.as_deref().and_then(<[String]>::split_last) else { return false };
    let mut characters = program.chars();
    let substitutes = characters.next() == Some('s');
    let Some(delimiter) = characters.next().filter(|delimiter| "/|,#:@".contains(*delimiter)) else {
        return false;
    };
    let rest: Vec<&str> = characters.as_str().split(delimiter).collect();
    let plain = !program.contains(['\n', ';', '}']) && !program.contains(&format!("\\{delimiter}"));
    let flags = |flags: &str| flags.chars().all(|flag| "gpI123456789".contains(flag));
    let usual = options.iter().all(|option| matches!(option.as_str(), "-n" | "-E" | "-r" | "-e"));
    substitutes && plain && usual && rest.len() == 3 && flags(rest[2])
}

/// Whether an argument of sort or uniq is an option that names no file.
fn is_order(word: &Word) -> bool {
    let text = word.static_text();
    text.is_some_and(|text| {
        text.strip_prefix('-')
            .is_some_and(|letters| letters.chars().all(|letter| "bcdfnruVhg".contains(letter)))
    })
}

/// Whether a word of a declaration is an option by which later commands mean something else: a function is gone, a variable
/// stands for another, or changes its values.
fn has_odd_options(word: &Word) -> bool {
    match word.parts.first() {
        Some(WordPart::Bare(text) | WordPart::Quoted(text)) => text
            .strip_prefix(['-', '+'])
            .is_some_and(|options| !options.chars().all(|option| "rxgv".contains(option))),
        _ => true,
    }
}

/// Whether a redirection leaves all files as they are, and cannot wait.
pub fn is_harmless(redirect: &Redirect) -> bool {
    let is_null = |word: &Word| word.static_text().is_some_and(|word| word == "/dev/null");
    match &redirect.kind {
        RedirectKind::Duplicate(..) | RedirectKind::Close(_) => true,
        RedirectKind::HereDoc(word) | RedirectKind::HereString(word) => {
            !word.parts.iter().any(|part| matches!(part, WordPart::Opaque { .. }))
        }
        RedirectKind::Read(word)
        | RedirectKind::Write(word)
        | RedirectKind::Clobber(word)
        | RedirectKind::Append(word)
        | RedirectKind::WriteBoth(word)
        | RedirectKind::AppendBoth(word) => is_null(word),
        _ => false,
    }
}

/// Whether a piece of the text holds a substitution whose commands the tree does not show.
pub fn hides_commands(text: &Text, span: Span) -> bool {
    let written = span.of(&text.text);
    let begins = |at: usize, backquoted: bool| {
        let blanks = text.text[at..].len() - text.text[at..].trim_start().len();
        let mut nested = text.script.nested.iter().filter(|one| one.is_substituted());
        nested.any(|one| one.backquoted == backquoted && one.pipeline.span.start == at + blanks)
    };
    let dollars = written.match_indices("$(").map(|(at, _)| span.start + at + 2);
    let hidden = |at: usize| !text.text[at..].starts_with('(') && !begins(at, false);
    let quotes: Vec<usize> = written.match_indices('`').map(|(at, _)| span.start + at + 1).collect();
    let shown = quotes.iter().filter(|at| begins(**at, true)).count();
    dollars.into_iter().any(hidden)
        || quotes.len() != 2 * shown
        || written.contains("<(")
        || written.contains(">(")
}

/// Returns the variables that a piece of a text may assign to, judged by its characters alone: `NAME=`, `${NAME:=…}`,
/// `NAME++`, `((NAME = …))`.
pub fn may_assign(written: &str) -> Vec<&str> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names = Vec::new();
    let mut rest = written;
    while let Some(start) = rest.find(in_name) {
        let before = rest[..start].ends_with("++") || rest[..start].ends_with("--");
        rest = &rest[start..];
        let end = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let operator = after.trim_start();
        let operator = operator.trim_start_matches(['+', '-', '*', '/', '%', '&', '|', '^', '<', '>', ':']);
        let assigned = operator.starts_with('=') && !operator.starts_with("==");
        if before || assigned || after.starts_with("++") || after.starts_with("--") || after.starts_with('[')
        {
            names.push(name);
        }
        rest = after;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::may_assign;

    #[test]
    fn assignments_are_seen_in_characters() {
        for text in
            ["x=1", "${x:=1}", "${x=1}", "$((x = 1))", "((x++))", "((--x))", "x+=1", "x[1]=2", "((x<<=1))"]
        {
            assert_eq!(may_assign(text), ["x"], "{text}");
        }
        for text in ["$x", "\"$x\" = y", "${x:-a}", "[[ $x == y ]]", "${x%/*}", "test \"$x\" = a"] {
            assert!(may_assign(text).is_empty(), "{text}");
        }
    }
}
