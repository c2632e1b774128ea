//! Reasons to leave a whole text unchanged: anything in it that could tell a call from a pipeline.
//!
//! This scans words without parsing the text, so that code in strings and here-documents counts too. It may
//! refuse too much (a word in a comment), but never too little.

use super::{position, zsh};
use pelton_syntax::Dialect;
use std::ffi::OsString;

/// Effects of the text on its shell that calls must know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShellEffects {
    /// `set -u` may be on: an unset variable ends a stage, but would end the script in a call.
    pub nounset: bool,
    /// `pipefail` may be on: calls are told.
    pub pipefail: bool,
    /// `set -x` may be on: calls are told, and print what the shell would.
    pub xtrace: bool,
    /// `set -C` may be on: `>` may refuse.
    pub noclobber: bool,
    /// `set -e` may be on, or a trap that runs where a command fails.
    pub errexit: bool,
    /// Variables may be read-only: an assignment before a command may fail.
    pub has_readonly: bool,
    /// Processes in the background may be looked at, or sent signals.
    pub handles_jobs: bool,
    /// `IFS` may split words at letters, digits or what else file names consist of.
    pub odd_separators: bool,
}

/// Words that do not work with a call wherever they stand, and why.
const WORDS: [(&str, &str); 14] = [
    ("CHLD", "a trap for SIGCHLD, which counts processes"),
    ("SIGCHLD", "a trap for SIGCHLD, which counts processes"),
    ("PIPESTATUS", "`PIPESTATUS`, which tells stages apart"),
    ("pipestatus", "`pipestatus`, which tells stages apart"),
    ("BASH_COMMAND", "`BASH_COMMAND`, which shows the text of commands"),
    ("extdebug", "`extdebug`"),
    ("xpg_echo", "`xpg_echo`, which changes `echo`"),
    ("failglob", "`failglob`, where a pattern may fail its stage"),
    ("lastpipe", "`lastpipe`, which runs a stage in the shell itself"),
    ("expand_aliases", "an alias"),
    ("command_not_found_handle", "a function for missing commands"),
    ("POSIXLY_CORRECT", "`POSIXLY_CORRECT`, which changes commands"),
    ("SHELLOPTS", "`SHELLOPTS`"),
    ("BASHOPTS", "`BASHOPTS`"),
];
/// Words with another meaning in a text than in a file: they work if the shell reads the script's file.
const FILE_WORDS: [(&str, &str); 7] = [
    ("BASH_SOURCE", "`BASH_SOURCE`, which names the file"),
    ("BASH_LINENO", "`BASH_LINENO`"),
    ("BASH_ARGV", "`BASH_ARGV`"),
    ("BASH_ARGC", "`BASH_ARGC`"),
    ("BASH_EXECUTION_STRING", "`BASH_EXECUTION_STRING`"),
    ("caller", "`caller`, which names the file"),
    ("FUNCNAME", "`FUNCNAME`, which knows scripts from texts"),
];
/// Commands that do not work with a call.
const COMMANDS: [(&str, &str); 10] = [
    (".", "`.`: what it reads may define functions"),
    ("source", "`source`: what it reads may define functions"),
    ("eval", "`eval`: what it runs may define functions"),
    ("ulimit", "`ulimit`: the shell shows the text of what a limit ends"),
    ("alias", "an alias"),
    ("enable", "`enable`, which changes what commands are"),
    ("hash", "`hash`, which changes what commands are"),
    ("type", "`type`, which shows the text of functions"),
    ("fc", "the history"),
    ("history", "the history"),
];
/// Options that `shopt -o` sets as well; those of `set` are looked at one by one.
const SHOPT_OPTIONS: [(&str, &str); 4] = [
    ("verbose", "`verbose`, which shows the text"),
    ("noexec", "`noexec`"),
    ("monitor", "job control"),
    ("posix", "the shell's POSIX mode"),
];
/// Words by which a text, or a program that it starts, can tell a background call from a pipeline.
const JOB_WORDS: [&str; 13] = [
    "kill", "killall", "pkill", "pgrep", "pidof", "ps", "jobs", "fg", "bg", "disown", "suspend", "proc",
    "coproc",
];

/// Accepted option names of `set`.
const OPTIONS: [&str; 7] = ["errexit", "nounset", "pipefail", "noglob", "noclobber", "allexport", "xtrace"];
/// Accepted option letters of `set`.
const LETTERS: &str = "euCfaox";

/// Properties of a text that decide which words matter.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The dialect of its shell.
    pub dialect: Dialect,
    /// Whether the shell reads it in place of the script's file, rather than as an argument.
    pub from_file: bool,
    /// Whether it runs commands whose names it computes: a word anywhere may then be a command.
    pub computes: bool,
}

/// Returns the text's effects on its shell, or why it is left unchanged. `flags` are those of its `#!` line.
pub fn manner(text: &str, flags: &[OsString], known: Known) -> Result<ShellEffects, String> {
    // A line that goes on is one line.
    let text = &text.replace("\\\n", " ");
    let names: Vec<&str> = text.split(|character| !in_names(character)).collect();
    let blank = |c: char| c.is_whitespace() || ";&|(){}`'\"".contains(c);
    let words = text.split(blank).map(|word| word.trim_start_matches('\\'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let word = || refused_word(text, &names, known);
    if let Some(why) =
        word().or_else(|| refused_parameter(text, known)).or_else(|| refused_use(text, &names, &words))
    {
        return Err(why.into());
    }
    let mut effects = ShellEffects {
        handles_jobs: names.iter().any(|word| JOB_WORDS.contains(word)),
        odd_separators: !has_blank_separators(text),
        ..ShellEffects::default()
    };
    if known.dialect == Dialect::Zsh {
        if known.computes && ["setopt", "unsetopt"].iter().any(|word| names.contains(word)) {
            return Err("commands whose names are computed, and `setopt`".into());
        }
        zsh::refused(text, &names, |word| may_run(text, word, known))?;
        effects.take_zsh_options(text)?;
    }
    let mut flags = flags.iter().map(|flag| flag.to_str().unwrap_or("?"));
    while let Some(flag) = flags.next() {
        // What a shell does that nobody types into reads no files at its start, unless BASH_ENV names one.
        if !["--noprofile", "--norc"].contains(&flag) {
            effects.take(flag, &mut flags)?;
        }
    }
    let is_word =
        |(before, _): &(&str, &str)| before.is_empty() || before.ends_with(blank) || before.ends_with('\\');
    for (_, after) in whole_words(text, "set").filter(is_word) {
        let command = after.split(['\n', ';', '&', '|', ')', '`']).next().unwrap_or_default();
        let command = command.replace(['"', '\'', '\\'], "");
        let mut rest = command.split_whitespace();
        while let Some(option) = rest.next().filter(|word| word.starts_with(['-', '+', '$']) && *word != "--")
        {
            effects.take(option, &mut rest)?;
        }
    }
    // If it is set in another way, the word alone counts.
    effects.pipefail |= names.contains(&"pipefail");
    effects.nounset |= names.contains(&"nounset");
    effects.noclobber |= names.contains(&"noclobber");
    effects.xtrace |= names.contains(&"xtrace");
    effects.errexit |= ["errexit", "ZERR", "ERR", "TRAPZERR"].iter().any(|word| names.contains(word));
    effects.has_readonly = names.contains(&"readonly") || declares_readonly(&words);
    Ok(effects)
}

/// Whether the text may run this command.
fn may_run(text: &str, word: &str, known: Known) -> bool {
    position::is_command(text, word) || known.computes && position::is_word(text, word)
}

/// Whether a command such as `declare -r` makes variables read-only.
fn declares_readonly(words: &[&str]) -> bool {
    const DECLARE: [&str; 6] = ["declare", "typeset", "local", "integer", "float", "export"];
    words.iter().enumerate().filter(|(_, word)| DECLARE.contains(word)).any(|(at, _)| {
        let mut flags = words[at + 1..].iter().take_while(|word| word.starts_with(['-', '$']));
        flags.any(|flag| flag.contains(['r', '$']))
    })
}

/// Whether names of variables may hold this character.
pub(super) fn in_names(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Returns the reason for the first word that does not work with a call.
fn refused_word(text: &str, names: &[&str], known: Known) -> Option<&'static str> {
    let of_files = FILE_WORDS.iter().filter(|_| !known.from_file);
    let of_shopt = SHOPT_OPTIONS.iter().filter(|_| names.contains(&"shopt"));
    let mut anywhere = WORDS.iter().chain(of_files).chain(of_shopt).filter(|(word, _)| names.contains(word));
    let mut commands = COMMANDS.iter().filter(|(word, _)| may_run(text, word, known));
    anywhere.next().or_else(|| commands.next()).map(|(_, why)| *why)
}

/// Returns the reason for a parameter of the shell that tells a call from a pipeline, or a text from a file.
fn refused_parameter(text: &str, known: Known) -> Option<&'static str> {
    let expands = |parameter: char| {
        let stands = |at: usize| parameter != '_' || !text[at + 2..].starts_with(in_names);
        text.match_indices(&format!("${parameter}")).any(|(at, _)| stands(at))
            || text.contains(&format!("${{{parameter}}}"))
    };
    match () {
        () if !known.from_file && expands('-') => Some("`$-`, which knows scripts from texts"),
        () if expands('_') => Some("`$_`, the last argument of a command"),
        () => None,
    }
}

/// Returns the reason for a use of a builtin or a variable that does not work with a call, though others do.
fn refused_use(text: &str, names: &[&str], words: &[&str]) -> Option<&'static str> {
    let traps_debug = || {
        names.contains(&"trap") && whole_words(text, "DEBUG").any(|(before, after)| is_signal(before, after))
    };
    match () {
        () if traps_debug() => Some("a trap for DEBUG, which counts commands"),
        () if position::shows_functions(text, words) => {
            Some("`declare -f` or `set`, which show the text of functions")
        }
        () if whole_words(text, "set").any(|(_, after)| after.starts_with(" `")) => {
            Some("`set` with what a command prints")
        }
        () if !sets_path_only(text) => Some("`PATH`, which may no longer be what commands get"),
        () => None,
    }
}

/// Whether `DEBUG` may name a trap here: it is neither expanded nor assigned to.
fn is_signal(before: &str, after: &str) -> bool {
    !before.ends_with(['$', '{', '!', '#']) && !after.starts_with(['=', '+'])
}

/// Whether the text only reads `PATH`, or assigns to it by `export` or in a command without other words. `PATH` then
/// stays exported, and the shell looks commands up again.
fn sets_path_only(text: &str) -> bool {
    const ENDS: [char; 6] = ['\n', ';', '&', '|', '(', ')'];
    let is_fine = |before: &str, after: &str| {
        if before.ends_with(['$', '{', '#']) {
            return true;
        }
        let command = before.rsplit(ENDS).next().unwrap_or_default().trim();
        let Some(value) = after.strip_prefix('=').or(after.strip_prefix("+=")) else {
            return command == "export" && ends_command_word(after);
        };
        let value = value.split(ENDS).next().unwrap_or_default().trim_end();
        let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        match command {
            "export" => true,
            "" | "then" | "do" | "else" | "{" => {
                !value.contains([' ', '\t']) || quoted.is_some_and(|value| !value.contains('"'))
            }
            _ => false,
        }
    };
    whole_words(text, "PATH").all(|(before, after)| is_fine(before, after))
}

/// Whether every assignment to `IFS` in the text is of blanks and newlines.
fn has_blank_separators(text: &str) -> bool {
    const BLANK: [&str; 6] = ["", "''", "$'\\n'", "$'\\t'", "$'\\n\\t'", "$' \\t\\n'"];
    let is_blank = |after: &str| {
        let value = after.strip_prefix('=');
        value.is_some_and(|value| {
            BLANK.iter().any(|blank| value.strip_prefix(blank).is_some_and(ends_command_word))
        })
    };
    whole_words(text, "IFS").all(|(before, after)| before.ends_with(['$', '{']) || is_blank(after))
}

/// Whether a word of a command ends before this.
fn ends_command_word(after: &str) -> bool {
    after.is_empty() || after.starts_with([' ', '\t', '\n', ';'])
}

/// Returns what stands before and after each occurrence of `word` that is no part of a longer name.
pub(super) fn whole_words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let around = move |at: usize| (&text[..at], &text[at + word.len()..]);
    let found = text.match_indices(word).map(move |(at, _)| around(at));
    found.filter(|(before, after)| !before.ends_with(in_names) && !after.starts_with(in_names))
}

impl ShellEffects {
    /// Parses one word of options.
    fn take<'w>(&mut self, word: &str, rest: &mut impl Iterator<Item = &'w str>) -> Result<(), String> {
        let unknown = || format!("`set {word}`, which may change how the shell works");
        let letters =
            word.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty()).ok_or_else(unknown)?;
        if !letters.chars().all(|letter| LETTERS.contains(letter)) {
            return Err(unknown());
        }
        self.nounset |= letters.contains('u');
        self.noclobber |= letters.contains('C');
        self.errexit |= letters.contains('e');
        self.xtrace |= letters.contains('x');
        if letters.contains('o') {
            let name = rest.next().filter(|name| OPTIONS.contains(name)).ok_or_else(unknown)?;
            self.note_option(name);
        }
        Ok(())
    }

    fn note_option(&mut self, name: &str) {
        self.nounset |= name == "nounset";
        self.pipefail |= name == "pipefail";
        self.noclobber |= name == "noclobber";
        self.errexit |= name == "errexit";
        self.xtrace |= name == "xtrace";
    }

    /// Parses what follows each `setopt` and `unsetopt` of zsh.
    fn take_zsh_options(&mut self, text: &str) -> Result<(), String> {
        for (_, after) in whole_words(text, "setopt").chain(whole_words(text, "unsetopt")) {
            let command = after.split(['\n', ';', '&', '|', ')', '}', '`', '#']).next().unwrap_or_default();
            for word in command.split_whitespace() {
                self.note_option(zsh::option(word)?);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Known = Known { dialect: Dialect::Bash, from_file: false, computes: false };

    fn of(text: &str) -> Result<(bool, bool), String> {
        manner(text, &[], KNOWN).map(|manner| (manner.nounset, manner.pipefail))
    }

    #[test]
    fn options_are_known() {
        assert_eq!(of("set -e; a | b"), Ok((false, false)));
        assert_eq!(of("set -euo pipefail\na | b"), Ok((true, true)));
        assert_eq!(of("set -eu -o pipefail"), Ok((true, true)));
        assert_eq!(of("set -o nounset; set +o errexit"), Ok((true, false)));
        assert_eq!(of("set -- a b; set a b"), Ok((false, false)));
        assert_eq!(of("set -e\n$RUN a | b; set -u\n-x"), Ok((true, false)));
        assert!(of("set -e \\\n$OPTIONS\na | b").is_err() && of("set \"$OPTIONS\"").is_err());
        assert_eq!(manner("a", &["-eu".into()], KNOWN).map(|manner| manner.nounset), Ok(true));
        let flags = ["--norc", "-eo", "pipefail"].map(OsString::from);
        assert_eq!(manner("a", &flags, KNOWN).map(|manner| manner.pipefail), Ok(true));
        assert!(manner("a", &["-o".into()], KNOWN).is_err());
    }

    #[test]
    fn tracing_is_noticed_however_it_is_written() {
        for text in [
            "set -x",
            "set -eux -o pipefail",
            "set -o xtrace",
            "shopt -so xtrace",
            "\\set -x",
            "set \\-x",
            "set \\\n -x",
            "set -e\"x\"",
            "'set' '-x'",
        ] {
            assert!(manner(text, &[], KNOWN).is_ok_and(|effects| effects.xtrace), "{text}");
        }
        assert!(manner("a", &["-ex".into()], KNOWN).is_ok_and(|effects| effects.xtrace));
        assert!(manner("set -e\n-x", &[], KNOWN).is_ok_and(|effects| !effects.xtrace));
    }

    #[test]
    fn scripts_may_know_their_file() {
        for text in ["echo $BASH_SOURCE", "echo ${FUNCNAME[0]} $-", "caller"] {
            assert!(of(text).is_err(), "{text}");
            assert!(manner(text, &[], Known { from_file: true, ..KNOWN }).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_could_tell_is_refused() {
        for text in [
            "set -v",
            "set -ev",
            "set $OPTS",
            "set -o posix",
            "set -o $x",
            "set -",
            "echo ${PIPESTATUS[@]}",
            "alias g=grep",
            ". ./lib.sh",
            "if true; then . lib; fi",
            "eval \"$x\"",
            "trap 'x' EXIT DEBUG",
            "shopt -so verbose",
            "set `date`",
            "\\set -v",
            "set \\\n -v",
            "declare -f f > lib",
            "set | grep x",
            "(set)",
            "trap x CHLD",
            "echo $_",
            "echo ${_}",
            "echo $-",
            "PATH=/x:$PATH sort",
            "unset PATH",
            "local PATH=/x",
            "export -n PATH",
            "read PATH",
            "x=1 PATH=/x",
            "trap 'echo' DEBUG",
            "shopt -s lastpipe",
            "echo \"$BASH_SOURCE\"",
        ] {
            assert!(of(text).is_err(), "{text}");
        }
        for text in [
            "PATH=/x:$PATH",
            "export PATH=$HOME/bin:$PATH",
            "if x; then PATH=/x; fi",
            "PATH=\"/a b:$PATH\"",
            "echo ${PATH}",
            "echo $_x",
            "echo ${_x}",
            "mypath=1",
            "echo a.b",
            "resets -x",
            "echo ./x",
        ] {
            assert!(of(text).is_ok(), "{text}");
        }
        let computes = Known { from_file: true, computes: true, ..KNOWN };
        assert!(
            manner("run source lib", &[], computes).is_err() && manner("c=.; $c x", &[], computes).is_err()
        );
        assert!(manner("a", &["-v".into()], KNOWN).is_err());
    }
}
