//! What is particular to scripts of zsh.
//!
//! zsh expands the words of a call as it would those of a pipeline, with these differences: a pattern that matches nothing ends
//! the script, not only the stage; `$x[1]`, `$x:h` and `=x` are expansions; a redirection to an array names several files. Words
//! with such forms stay in a pipeline.
//!
//! The files that zsh reads before a script (`.zshenv`) count as sourced by it.

use super::ShellEffects;
use super::refuse::{in_names, whole_words};
use super::sourced::{Sourced, is_comment};
use super::stages::{Judge, expands_unquoted, positional};
use crate::environ::Environment;
use crate::plan::Request;
use pelton_record::quoted;
use pelton_syntax::{Command, Nested, Reason, Stage, Word, WordPart};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Variables of the environment that change what zsh does with commands.
pub const OBEYED_VARIABLES: [&str; 5] = ["IFS", "ARGV0", "STTY", "REPORTTIME", "REPORTMEMORY"];

/// Words that rule out calls wherever they stand, and why.
const WORDS: [(&str, &str); 16] = [
    ("FUNCNEST", "`FUNCNEST`, which limits functions"),
    ("histchars", "`histchars`, which changes what comments are"),
    ("TRAPEXIT", "a function that zsh calls itself"),
    ("TRAPZERR", "a function that zsh calls itself"),
    ("TRAPERR", "a function that zsh calls itself"),
    ("zshexit", "a function that zsh calls itself"),
    ("ARGV0", "`ARGV0`, which renames commands"),
    ("STTY", "`STTY`, which changes what commands start with"),
    ("REPORTTIME", "`REPORTTIME`, which reports on each command"),
    ("REPORTMEMORY", "`REPORTMEMORY`, which reports on each command"),
    ("TRAPDEBUG", "a trap for DEBUG, which counts commands"),
    ("TRAPCHLD", "a trap for SIGCHLD, which counts processes"),
    ("jobtexts", "`jobtexts`, which shows the text of commands"),
    ("jobstates", "`jobstates`, which counts processes"),
    ("command_not_found_handler", "a function for missing commands"),
    ("ZDOTDIR", "`ZDOTDIR`, which names the file that zsh reads first"),
];
/// Arrays by which a script sees or changes what commands and options are.
const ARRAYS: [&str; 13] = [
    "aliases",
    "galiases",
    "saliases",
    "dis_aliases",
    "dis_galiases",
    "dis_saliases",
    "options",
    "commands",
    "functions",
    "dis_functions",
    "builtins",
    "dis_builtins",
    "modules",
];
/// Commands that give variables values, or make other ones of that name.
const ASSIGN: [&str; 19] = [
    "shift",
    "local",
    "typeset",
    "declare",
    "readonly",
    "export",
    "private",
    "integer",
    "float",
    "unset",
    "read",
    "getopts",
    "for",
    "select",
    "print",
    "printf",
    "vared",
    "set",
    "zparseopts",
];
/// Arrays of the shell's own.
const SPECIAL_ARRAYS: [&str; 28] = [
    "reply",
    "match",
    "mbegin",
    "mend",
    "zsh_eval_context",
    "funcsourcetrace",
    "functrace",
    "funcfiletrace",
    "reswords",
    "dis_reswords",
    "patchars",
    "keymaps",
    "parameters",
    "historywords",
    "argv",
    "path",
    "fpath",
    "cdpath",
    "manpath",
    "mailpath",
    "fignore",
    "module_path",
    "psvar",
    "pipestatus",
    "watch",
    "funcstack",
    "dirstack",
    "signals",
];
/// Commands that rule out calls.
const COMMANDS: [(&str, &str); 12] = [
    ("autoload", "`autoload`: what it reads defines functions"),
    ("emulate", "`emulate`, which changes how the shell works"),
    ("whence", "`whence`, which shows the text of functions"),
    ("which", "`which`, which shows the text of functions"),
    ("where", "`where`, which shows the text of functions"),
    ("disable", "`disable`, which changes what commands are"),
    ("unhash", "`unhash`, which changes what commands are"),
    ("rehash", "`rehash`, which changes what commands are"),
    ("zmodload", "`zmodload`, which may add builtins"),
    ("sched", "`sched`, which runs commands later"),
    ("limit", "`limit`: the shell shows the text of what a limit ends"),
    ("unlimit", "`unlimit`: the shell shows the text of what a limit ends"),
];
/// Options that `setopt` may change, under the names that the other shells use.
const OPTIONS: [(&str, &str); 10] = [
    ("errexit", "errexit"),
    ("errreturn", "errexit"),
    ("pipefail", "pipefail"),
    ("unset", "nounset"),
    ("clobber", "noclobber"),
    ("xtrace", "xtrace"),
    ("allexport", "allexport"),
    ("localoptions", "localoptions"),
    ("nullglob", "nullglob"),
    ("warncreateglobal", "warncreateglobal"),
];
/// Variables that have another value in a stage than in the script.
const COUNTED_VARIABLES: [&str; 4] = ["ZSH_SUBSHELL", "ZSH_EVAL_CONTEXT", "ERRNO", "TTYIDLE"];

/// The option of a call that tells it whether pipefail is on.
pub const PIPEFAIL: &str = "--shell-options=\"${options[pipefail]/on/pipefail}\"";
/// What zsh puts before its messages: the name of the script, of the function, or of the file that is sourced.
pub const NAME: &str = "${(%):-%N}";
/// Flags for a zsh that runs a stage: it reads no file of the user's again.
pub const FLAGS: [&str; 1] = ["-f"];

/// Returns a text that runs `stages` in a function called `name`: what zsh says then begins with that. The line that it says is
/// the number of newlines behind the brace.
pub fn in_function(name: &str, stages: &[u8]) -> Vec<u8> {
    let name = quoted(name);
    [format!("{name}() {{ ").as_bytes(), stages, format!("\n}}; {name}").as_bytes()].concat()
}

/// Whether a script may see the line of its last command: zsh has that of the last stage, of a call the first.
pub fn sees_lines(names: &[&str]) -> bool {
    names.iter().any(|name| {
        name.starts_with("TRAP") || ["trap", "LINENO", "functrace", "funcfiletrace"].contains(name)
    })
}

/// Returns the lines of stages for a call in a function, where zsh counts from that, or in a substitution, where it has the line of
/// the command.
pub fn counted_lines(stages: &[Stage], text: &str) -> String {
    let newlines = |stage: &Stage| text[..stage.span.start].matches('\n').count();
    let first = stages.first().map_or(0, newlines);
    let lines: Vec<String> =
        stages.iter().map(|stage| format!("$((LINENO+{}))", newlines(stage) - first)).collect();
    match lines.iter().all(|line| *line == lines[0]) {
        true => "$LINENO".to_owned(),
        false => lines.join(","),
    }
}

/// Refuses what tells a call from a pipeline in zsh alone. `names`: whatever may be a name. `may_run`: whether the text may run a
/// command of this name.
///
/// # Errors
/// The reason, to follow 'because of'.
pub fn refused(text: &str, names: &[&str], may_run: impl Fn(&str) -> bool) -> Result<(), String> {
    let word = WORDS.iter().find(|(word, _)| names.contains(word));
    let command = || COMMANDS.iter().find(|(command, _)| may_run(command));
    if let Some((_, why)) = word.or_else(command) {
        return Err((*why).to_owned());
    }
    let text = without_comments(text);
    if let Some(array) = ARRAYS.iter().find(|array| names.contains(*array) && is_variable(&text, array)) {
        return Err(format!("`{array}`, by which zsh shows and changes what commands are"));
    }
    let declares = |(before, _): (&str, &str)| {
        let mut words = last_command(before).split_whitespace();
        words.any(|word| {
            ["local", "typeset", "declare", "private", "integer", "float", "unset"].contains(&word)
        })
    };
    match () {
        () if !["PATH", "path"].iter().all(|name| is_always_given(&text, name))
            || text.contains("unset -m") =>
        {
            Err("`PATH` or `path`, which may no longer be what commands get".to_owned())
        }
        () if whole_words(&text, "LINENO").any(declares) => Err("a `LINENO` of its own".to_owned()),
        () => Ok(()),
    }
}

/// Returns the text without lines that hold a comment alone; such lines in strings go as well, unless they hold quotes.
fn without_comments(text: &str) -> String {
    text.lines().filter(|line| !is_comment(line)).collect::<Vec<_>>().join("\n")
}

/// Whether a word that stands between these is expanded, or gets a value.
fn is_used(before: &str, after: &str) -> bool {
    let is_given = || begins_with_assign(last_command(before));
    before.ends_with(['$', '{', '+', ')', '#', '=', '^', '~'])
        || after.starts_with(['[', '=', '+', ':'])
        || is_given()
}

/// Characters between commands.
const SEPARATORS: [char; 8] = ['\n', ';', '&', '|', '(', ')', '{', '`'];

/// Returns the command in which a text ends.
fn last_command(before: &str) -> &str {
    before.rsplit(SEPARATORS).next().unwrap_or_default()
}

/// Whether a command gives variables values, by its name: prefixes such as `builtin` may precede that.
fn begins_with_assign(command: &str) -> bool {
    command.split(|c: char| !in_names(c)).any(|word| ASSIGN.contains(&word))
}

fn is_variable(text: &str, name: &str) -> bool {
    whole_words(text, name).any(|(before, after)| is_used(before, after))
}

/// Whether every use of PATH, or of the array that is tied to it, reads it or gives it some value.
fn is_always_given(text: &str, name: &str) -> bool {
    // What is computed alone may be empty.
    let is_some = |value: &str| {
        let value = value.split(['\n', ';']).next().unwrap_or_default();
        value.contains('/') || ["$PATH", "${PATH}", "$path", "${path}"].iter().any(|own| value.contains(own))
    };
    whole_words(text, name).all(|(before, after)| {
        if !is_used(before, after) {
            return true;
        }
        let is_read = before.ends_with('$') && !after.starts_with('[')
            || before.ends_with("${") && after.starts_with(['}', '/', '#', '%']);
        let is_extended = after.starts_with("+=(") || after.strip_prefix('=').is_some_and(is_some);
        let command = before.rsplit(['\n', ';', '&', '|', '(', '{']).next().unwrap_or_default();
        let is_unique = ["typeset -U", "typeset -U path", "typeset -U PATH"].contains(&command.trim());
        is_read
            || is_extended && ["", "export"].contains(&command.trim())
            || is_unique && !after.starts_with('=')
    })
}

/// Refuses what only a look at the run shows: calls would be told from pipelines, or the script could not be exchanged.
///
/// # Errors
/// The reason, to follow 'because of'.
pub fn check_run(
    request: &Request,
    sourced: &Sourced,
    found: &[Nested],
    effects: &ShellEffects,
) -> Result<(), String> {
    if effects.xtrace {
        return Err("tracing in zsh".into());
    }
    let is_timed_compound = |one: &Nested| {
        one.pipeline.timed
            && one.pipeline.stages.iter().any(|stage| !matches!(stage.command, Command::Simple(_)))
    };
    if found.iter().any(is_timed_compound) {
        return Err("`time` of a group, which shows its text".into());
    }
    // zsh moves the descriptors that a redirection replaces as it moves that of the script.
    let redirects = |text: &str| text.contains('<') || text.contains("exec");
    if sourced.files.iter().any(|file| file.line.is_none() && redirects(&file.text)) {
        return Err("a file that zsh reads first, which redirects".into());
    }
    let id = |file: fs::Metadata| (file.dev(), file.ino());
    let script = request.script.as_ref().and_then(|script| fs::metadata(script).ok()).map(id);
    match script.is_some() && fs::metadata("/proc/self/fd/0").ok().map(id) == script {
        true => Err("its standard input, which is the script itself".into()),
        false => Ok(()),
    }
}

/// Returns the option that a word of `setopt` or `unsetopt` changes, under the name that `set -o` has.
///
/// # Errors
/// If it may change how the shell runs pipelines.
pub fn option(word: &str) -> Result<&'static str, String> {
    let plain: String = word.to_lowercase().replace(['_', '-'], "");
    let known = |plain: &str| OPTIONS.iter().find(|(name, _)| *name == plain).map(|(_, known)| *known);
    let found = known(&plain).or_else(|| plain.strip_prefix("no").and_then(known));
    found.ok_or_else(|| format!("`setopt {word}`, which may change how the shell works"))
}

/// Returns the files that zsh reads before a script, with these flags.
///
/// # Errors
/// The reason why they are not certain, to follow 'because of'.
pub fn startup_files(flags: &[OsString], environment: &Environment) -> Result<Vec<String>, String> {
    let mut files: Vec<PathBuf> = ["/etc/zshenv", "/etc/zsh/zshenv"].map(PathBuf::from).into();
    let is_bare =
        flags.iter().filter_map(|flag| flag.to_str()).any(|flag| flag.starts_with('-') && flag.contains('f'));
    if !is_bare {
        let folder = environment.get("ZDOTDIR").or_else(|| environment.get("HOME"));
        let folder = folder.filter(|folder| !folder.is_empty());
        let folder = folder.ok_or("`HOME` or `ZDOTDIR`, which is empty: zsh looks for its file elsewhere")?;
        files.push(Path::new(folder).join(".zshenv"));
    }
    let names = files.into_iter().filter(|file| file.exists() || is_compiled(file)).map(|file| {
        let compiled = is_compiled(&file);
        let name =
            file.into_os_string().into_string().map_err(|_| "the name of a file that zsh reads first")?;
        if compiled { Err("a compiled file that zsh reads first") } else { Ok(name) }
    });
    Ok(names.collect::<Result<_, _>>()?)
}

/// Whether zsh may read the compiled form of a file that it sources.
pub fn is_compiled(file: &Path) -> bool {
    let mut name = file.as_os_str().to_owned();
    name.push(".zwc");
    Path::new(&name).exists()
}

/// Checks that a word of a stage, as written, means in a call what it means in a pipeline.
///
/// # Errors
/// The reason, to follow 'because of'.
pub fn check_word(word: &Word, text: &str) -> Result<(), String> {
    let written = word.span.of(text);
    let matches = |part: &WordPart| match part {
        WordPart::AnyText | WordPart::AnyChar => true,
        WordPart::Opaque { reason: Reason::BracketPattern | Reason::NamedHome, .. } => true,
        WordPart::Opaque { reason: Reason::BraceExpansion, span } => {
            span.of(text).contains(['~', '=', '*', '?', '[', '(', '<', '^', '#', '$'])
        }
        // A character that the locale lacks is an error.
        WordPart::Opaque { reason: Reason::AnsiString, span } => span.of(text).contains(['u', 'U']),
        WordPart::Bare(bare) => bare.contains(['[', '(', '~', '$']),
        WordPart::Opaque { .. } | WordPart::Quoted(_) | WordPart::Variable { .. } | WordPart::Tilde => false,
    };
    if word.parts.iter().any(matches) {
        return Err("a pattern: where it matches nothing, only its stage fails".into());
    }
    if written.starts_with('=') || follows_expansion(&without_single_quotes(written)) {
        return Err("an expansion of zsh's own".into());
    }
    match COUNTED_VARIABLES.iter().any(|name| written.contains(name)) {
        true => Err("a variable that has another value in a stage".into()),
        false => Ok(()),
    }
}

/// Whether a subscript or a modifier follows an expansion (`$x[1]`, `$x:h`), or a flag begins one (`$=x`, `$+x`, `$#x`,
/// `${x^^y}`).
fn follows_expansion(written: &str) -> bool {
    written.split('$').skip(1).any(|rest| {
        if rest.starts_with(['=', '~', '^', '+', ':']) {
            return true;
        }
        if let Some(inside) = rest.strip_prefix('{') {
            let (inside, behind) = inside.split_once('}').unwrap_or((inside, ""));
            return means_more(inside) || continues(behind);
        }
        if rest.chars().take_while(char::is_ascii_digit).count() > 1 {
            // The tenth parameter and beyond.
            return true;
        }
        let special = rest.strip_prefix(|c: char| "@*#?$!-".contains(c));
        if special.is_some_and(|behind| rest.starts_with('#') && behind.starts_with(in_names)) {
            return true;
        }
        continues(special.unwrap_or_else(|| rest.trim_start_matches(in_names)))
    })
}

/// Whether what stands in `${…}` has a meaning of zsh's own, or may be matched with names of files.
fn means_more(inside: &str) -> bool {
    let operator = inside.trim_start_matches('#').trim_start_matches(in_names);
    let cuts = operator.starts_with(['#', '%']);
    inside.contains(['^', ',', '[', '(', '$', '~', '|', '<']) || !cuts && inside.contains(['*', '?', '='])
}

/// Whether a subscript or a modifier begins here.
fn continues(behind: &str) -> bool {
    let is_modifier =
        |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '&' || c == '#');
    behind.starts_with('[') || behind.strip_prefix(':').is_some_and(is_modifier)
}

/// Returns a word as it is written, without what stands in single quotes or behind a backslash.
fn without_single_quotes(written: &str) -> String {
    let (mut kept, mut quote) = (String::new(), None);
    let mut characters = written.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some('\''), '\'') => quote = None,
            (Some('\''), _) => {}
            (None, '\'') => quote = Some('\''),
            (None, '"') => quote = Some('"'),
            (Some('"'), '"') => quote = None,
            (_, '\\') => drop(characters.next()),
            (_, character) => kept.push(character),
        }
    }
    kept
}

/// Whether the target of a redirection expands to one word: an array that is not quoted would be several files.
pub fn is_one_file(word: &Word, judge: &Judge<'_>) -> bool {
    let text = judge.text;
    if !expands_unquoted(word.span.of(text)) {
        return true;
    }
    word.parts.iter().all(|part| match part {
        WordPart::Bare(_) | WordPart::Quoted(_) | WordPart::Tilde => true,
        WordPart::Variable { name, .. } => is_no_array(name, judge),
        WordPart::Opaque { reason: Reason::SpecialParameter, span } => positional(span.of(text)).is_some(),
        WordPart::Opaque { reason: Reason::ParameterOperator, span } => {
            let inside = span.of(text).trim_start_matches("${");
            let name = &inside[..inside.find(|c| !in_names(c)).unwrap_or(inside.len())];
            name.starts_with(|c: char| c.is_ascii_digit()) || is_no_array(name, judge)
        }
        WordPart::Opaque { .. } | WordPart::AnyText | WordPart::AnyChar => false,
    })
}

/// Whether nothing in the text makes an array of a variable.
fn is_no_array(name: &str, judge: &Judge<'_>) -> bool {
    const MAKE_ARRAYS: [&str; 5] = ["zparseopts", "zstyle", "vared", "mapfile", "zstat"];
    // A line that goes on is one command.
    let all = judge.all.replace("\\\n", " ");
    let may_be_any = || {
        let names_computed = |command: &str| makes_arrays(command) && command.contains(['$', '{', '\\']);
        MAKE_ARRAYS.iter().any(|command| judge.names.contains(command))
            || all.split(SEPARATORS).any(names_computed)
    };
    if name.is_empty() || SPECIAL_ARRAYS.contains(&name) || judge.computes || may_be_any() {
        return false;
    }
    whole_words(&all, name).all(|(before, after)| {
        let is_list = ["=(", "+=(", "["].iter().any(|list| after.starts_with(list)) || after.contains("::=");
        !(is_list || makes_arrays(last_command(before)))
    })
}

/// Whether a command, or its beginning, may make arrays of the variables that it names: `typeset -a`, `read -A`, `set -A`.
fn makes_arrays(command: &str) -> bool {
    const COMMANDS: [&str; 8] =
        ["local", "typeset", "declare", "readonly", "export", "private", "read", "set"];
    let quotes = ['"', '\'', '\\'];
    let mut words = command.split_whitespace();
    words.by_ref().any(|word| COMMANDS.contains(&word.trim_matches(quotes)))
        && words.take_while(|word| *word != "--").any(|word| match word.strip_prefix(['-', '+']) {
            Some(flags) => flags.contains(['a', 'A', 'T', '$']),
            // A flag may be quoted, or computed.
            None => word.starts_with('$') || word.starts_with(quotes),
        })
}
