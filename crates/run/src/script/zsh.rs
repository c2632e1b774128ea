//! What is particular to scripts of zsh.
//!
//! zsh expands the words of a call and opens its files as it would those of a pipeline, with these differences: a pattern that
//! matches nothing ends the script, not only the stage; `$x[1]`, `$x:h` and `=x` are expansions; a redirection may be of
//! several files. Words with such forms stay in a pipeline. What zsh says of a file that it cannot open names functions, so
//! such files are left to it: the text tests whether they can be opened.
//!
//! The files that zsh reads before a script (`.zshenv`) count as sourced by it.

use super::stages::{expands_unquoted, positional};
use crate::environ::Environment;
use pelton_record::Span;
use pelton_syntax::{Reason, Redirect, RedirectKind, Word, WordPart};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Variables of the environment that change what zsh does with commands.
pub const OBEYED_VARIABLES: [&str; 5] = ["IFS", "ARGV0", "STTY", "REPORTTIME", "REPORTMEMORY"];

/// Words that do not work with a call wherever they stand, and why.
const WORDS: [(&str, &str); 9] = [
    ("ARGV0", "`ARGV0`, which renames commands"),
    ("STTY", "`STTY`, which changes what commands start with"),
    ("REPORTTIME", "`REPORTTIME`, which reports on each command"),
    ("REPORTMEMORY", "`REPORTMEMORY`, which reports on each command"),
    ("TRAPDEBUG", "a trap for DEBUG, which counts commands"),
    ("TRAPCHLD", "a trap for SIGCHLD, which counts processes"),
    ("functions", "`functions`, which shows the text of functions"),
    ("jobtexts", "`jobtexts`, which shows the text of commands"),
    ("ZDOTDIR", "`ZDOTDIR`, which names the file that zsh reads first"),
];
/// Commands that do not work with a call.
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

/// Refuses what tells a call from a pipeline in zsh alone. `may_run`: whether the text may run a command of this name.
///
/// # Errors
/// The reason, to follow 'because of'.
pub fn refused(names: &[&str], words: &[&str], may_run: impl Fn(&str) -> bool) -> Result<(), String> {
    let word = WORDS.iter().find(|(word, _)| names.contains(word));
    let command = || COMMANDS.iter().find(|(command, _)| may_run(command));
    if let Some((_, why)) = word.or_else(command) {
        return Err((*why).to_owned());
    }
    // An array that PATH follows, unless a function has its own of that name.
    let changes_path = |pair: &[&str]| {
        let declares = ["local", "typeset", "declare", "readonly", "private"].contains(&pair[0]);
        (declares || pair[0].starts_with('-')) && ["path", "PATH"].contains(&name_of(pair[1]))
    };
    match words.windows(2).any(changes_path)
        || words.iter().any(|word| word.starts_with("path=") && *word != "path=")
    {
        true => Err("`path`, which may no longer be what commands get".to_owned()),
        false => Ok(()),
    }
}

/// Returns the name that a word assigns to.
fn name_of(word: &str) -> &str {
    word.split(['=', '+']).next().unwrap_or_default()
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
        let folder = folder.ok_or("`HOME`, which is not set: zsh looks for its file elsewhere")?;
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
        WordPart::Opaque { reason, .. } => matches!(reason, Reason::BracketPattern | Reason::NamedHome),
        WordPart::Bare(bare) => bare.contains(['[', '(', '~', '$']),
        WordPart::Quoted(_) | WordPart::Variable { .. } | WordPart::Tilde => false,
    };
    if word.parts.iter().any(matches) {
        return Err("a pattern: where it matches nothing, only its stage fails".into());
    }
    if written.starts_with('=') || follows_expansion(&without_single_quotes(written)) {
        return Err("an expansion of zsh's own".into());
    }
    let counts = |part: &WordPart| matches!(part, WordPart::Variable { name, .. } if COUNTED_VARIABLES.contains(&name.as_str()));
    match word.parts.iter().any(counts) {
        true => Err("a variable that has another value in a stage".into()),
        false => Ok(()),
    }
}

/// Whether a subscript or a modifier follows an expansion (`$x[1]`, `$x:h`), or a flag begins one (`$=x`, `$+x`, `$#x`,
/// `${x^^y}`).
fn follows_expansion(written: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    written.split('$').skip(1).any(|rest| {
        if rest.starts_with(['=', '~', '^', '+', ':']) {
            return true;
        }
        if let Some(inside) = rest.strip_prefix('{') {
            let (inside, behind) = inside.split_once('}').unwrap_or((inside, ""));
            return inside.contains(['^', ',', '[', '(', '$']) || continues(behind);
        }
        let special = rest.strip_prefix(|c: char| "@*#?$!-".contains(c));
        if special.is_some_and(|behind| rest.starts_with('#') && behind.starts_with(is_name)) {
            return true;
        }
        continues(special.unwrap_or_else(|| rest.trim_start_matches(is_name)))
    })
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

/// Returns the tests, for `[[ … ]]`, that a redirection is of one file and that it can be opened. `None` for redirections of other
/// kinds, and if it cannot be tested.
pub fn can_open(redirect: &Redirect, text: &str) -> Option<Vec<String>> {
    let (is_read, word) = match &redirect.kind {
        RedirectKind::Read(word) => (true, word),
        RedirectKind::Write(word) | RedirectKind::Append(word) | RedirectKind::Clobber(word) => (false, word),
        _ => return None,
    };
    let written = word.span.of(text);
    // An array is several files, unless it is quoted; these are refused before.
    let mut tests = match expands_unquoted(written) {
        true => word.parts.iter().map(|part| is_scalar(part, text)).collect::<Option<Vec<_>>>()?.concat(),
        false => vec![],
    };
    tests.push(match is_read {
        true => format!("-r {written}"),
        false => {
            let folder = format!("${{${{:-{written}}}:h}}");
            format!(
                "( -w {written} && ! -d {written} || -n {written} && ! -e {written} && ! -L {written} && -d {folder} && -w {folder} && -x {folder} )"
            )
        }
    });
    Some(tests)
}

/// Returns the test that a part of a word expands to one word, if it needs one; `None` if it cannot be tested.
fn is_scalar(part: &WordPart, text: &str) -> Option<Vec<String>> {
    let name = match part {
        WordPart::Bare(_) | WordPart::Quoted(_) | WordPart::Tilde => return Some(vec![]),
        WordPart::Variable { name, .. } => name,
        WordPart::Opaque { reason: Reason::SpecialParameter, span } => {
            return positional(span.of(text)).map(|_| vec![]);
        }
        WordPart::Opaque { reason: Reason::ParameterOperator, span } => {
            let inside = span.of(text).strip_prefix("${")?;
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let name = &inside[..inside.find(|c| !is_name(c))?];
            match name.chars().next()? {
                '0'..='9' => return Some(vec![]),
                _ => name,
            }
        }
        _ => return None,
    };
    Some(vec![format!("( ${{+{name}}} == 0 || ${{(t){name}}} == scalar* )")])
}

/// Writes the test of a call before it: zsh runs the call, or the pipeline as it is written.
///
/// ```text
/// if [[ -r "$1" ]]; then pelton pipe …; else sort < "$1" | uniq; fi
/// ```
pub fn tested(tests: &[String], call: &str, pipeline: Span, text: &str) -> String {
    format!("if [[ {} ]]; then {call}; else {}; fi", tests.join(" && "), pipeline.of(text))
}
