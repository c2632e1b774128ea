//! Whether a line of an interactive shell means the same in `pelton run '…'`, where a new bash would run it.
//!
//! A new shell lacks this shell's state (variables that are not exported, functions, options, jobs), so lines
//! that use it are refused. zsh and fish have other grammars: only what all three parse alike is taken.

use crate::manual::Completing;
use pelton_syntax::{
    Command, Dialect, Reason, Redirect, RedirectKind, Simple, Stage, Word, WordPart, is_set_by_shell, parse,
};

/// The state that the shell reports.
#[derive(Default)]
pub struct Known {
    functions: Vec<String>,
    aliases: Vec<(String, String)>,
    options: Vec<String>,
}

/// Shell options that change what a line means, and that a new shell would not have.
const OPTIONS: [&str; 11] = [
    "dotglob",
    "failglob",
    "globstar",
    "lastpipe",
    "nocaseglob",
    "noclobber",
    "noglob",
    "nounset",
    "nullglob",
    "pipefail",
    "posix",
];

/// Builtins that neither use nor change the state of the shell.
const HARMLESS: [&str; 6] = ["[", "echo", "false", "printf", "test", "true"];

impl Known {
    /// Reads lines of `function NAME`, `alias NAME VALUE`, `option NAME`.
    pub fn read(text: &str) -> Self {
        let mut known = Known::default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("function", name)) => known.functions.push(name.to_owned()),
                Some(("option", name)) => known.options.push(name.to_owned()),
                Some(("alias", rest)) => {
                    let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
                    known.aliases.push((name.to_owned(), value.to_owned()));
                }
                _ => {}
            }
        }
        known
    }
}

/// Returns the text for a new bash to run, with aliases expanded.
///
/// # Errors
/// The reason, to follow 'because of'.
pub fn rewritten(
    line: &str,
    shell: Completing,
    known: &Known,
    exported: &dyn Fn(&str) -> bool,
) -> Result<String, String> {
    if let Some(option) = known.options.iter().find(|option| OPTIONS.contains(&option.as_str())) {
        return Err(format!("the option {option}, which is on here"));
    }
    if line.contains('!') && (line.contains('"') || !only_in_single_quotes(line)) {
        return Err("`!`, which may stand for a line of the history".into());
    }
    let script = parse(line, Dialect::Bash).map_err(|error| format!("its syntax: {}", error.message))?;
    if let Some(why) = script.unmodelled() {
        return Err(why.describe().into());
    }
    if script.items.iter().any(|item| item.background) {
        return Err("`&`: jobs belong to this shell".into());
    }
    let mut text = line.to_owned();
    // From the end, so that a replacement does not move the spans before it.
    for pipeline in
        script.items.iter().flat_map(|item| item.and_or.pipelines()).collect::<Vec<_>>().into_iter().rev()
    {
        if pipeline.timed || pipeline.negated {
            return Err("a word of the shell's before the pipeline".into());
        }
        let last = pipeline.stages.len() - 1;
        for (at, stage) in pipeline.stages.iter().enumerate().rev() {
            let Judge { simple, name } = Judge::of(stage)?;
            plain_words(stage, shell, exported)?;
            if shell != Completing::Bash {
                alike(stage, at == 0, at == last)?;
            }
            if let Some(value) = command(&name, shell, known)? {
                let span = simple.words[0].span;
                text.replace_range(span.start..span.end, &value);
            }
        }
    }
    if script.items.is_empty() {
        return Err("nothing that could run".into());
    }
    Ok(text)
}

/// Quotes a line as one shell word.
pub fn quoted(text: &str, shell: Completing) -> String {
    match shell {
        Completing::Fish => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        Completing::Bash | Completing::Zsh => pelton_run::script::quoted(text),
    }
}

fn only_in_single_quotes(line: &str) -> bool {
    line.match_indices('!').all(|(at, _)| line[..at].matches('\'').count() % 2 == 1)
}

/// A stage that is a simple command with a plain name.
struct Judge<'t> {
    simple: &'t Simple,
    name: String,
}

impl<'t> Judge<'t> {
    fn of(stage: &'t Stage) -> Result<Self, String> {
        let simple = match &stage.command {
            Command::Simple(simple) => simple,
            Command::Compound(_) => return Err("a compound command".into()),
            Command::Function { .. } => return Err("the function that it defines".into()),
        };
        let Some(first) = simple.words.first() else { return Err("the variable that it sets".into()) };
        match first.parts.as_slice() {
            [WordPart::Bare(name)] => Ok(Judge { simple, name: name.clone() }),
            _ => Err("a command whose name is expanded or quoted".into()),
        }
    }
}

/// Returns what replaces the command's name: the value of its alias, if any.
fn command(name: &str, shell: Completing, known: &Known) -> Result<Option<String>, String> {
    let is_function = |name: &str| known.functions.iter().any(|function| function == name);
    let builtin =
        |name: &str| pelton_run::is_builtin(name) && !(shell == Completing::Bash && HARMLESS.contains(&name));
    if is_function(name) {
        return Err(format!("`{name}`, a function of this shell"));
    }
    let alias = known.aliases.iter().find(|(known, _)| known == name);
    let (runs, value) = match alias {
        Some((_, value)) => (value.split(' ').next().unwrap_or_default(), Some(value)),
        None => (name, None),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./=- ".contains(c);
    let simple =
        value.is_none_or(|value| value.chars().all(plain) && !value.ends_with(' ') && !runs.contains('='));
    let again = runs != name && known.aliases.iter().any(|(known, _)| known == runs);
    match () {
        () if !simple || again => Err(format!("`{name}`, an alias")),
        () if is_function(runs) => Err(format!("`{runs}`, a function of this shell")),
        () if builtin(runs) => Err(format!("`{runs}`, which is the shell's own")),
        () => Ok(value.cloned()),
    }
}

/// Fails if a word depends on the state of this shell.
fn plain_words(stage: &Stage, shell: Completing, exported: &dyn Fn(&str) -> bool) -> Result<(), String> {
    for part in stage.words().flat_map(|word| &word.parts) {
        match part {
            WordPart::Bare(_) | WordPart::Quoted(_) => {}
            _ if shell != Completing::Bash => return Err("an expansion".into()),
            WordPart::Tilde | WordPart::AnyText | WordPart::AnyChar => {}
            WordPart::Variable { name, .. } if is_set_by_shell(name, true) || !exported(name) => {
                return Err(format!("`${name}`, a variable of this shell"));
            }
            WordPart::Variable { .. } => {}
            WordPart::Opaque { reason: Reason::BraceExpansion | Reason::BracketPattern, .. } => {}
            WordPart::Opaque { reason, .. } => return Err(reason.describe().into()),
        }
    }
    let opaque = |redirect: &Redirect| matches!(redirect.kind, RedirectKind::Opaque(_));
    if stage.redirects.iter().any(opaque) {
        return Err("an unusual redirection".into());
    }
    Ok(())
}

/// Fails unless all three parse it alike.
fn alike(stage: &Stage, first: bool, last: bool) -> Result<(), String> {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_./,:@+-".contains(c);
    let quoted = |c: char| !"\\!$`\n".contains(c);
    let same = |word: &Word| {
        word.parts.iter().enumerate().all(|(at, part)| match part {
            WordPart::Bare(text) => {
                text.chars().all(|c| bare(c) || c == '=') && !(at == 0 && text.starts_with('='))
            }
            WordPart::Quoted(text) => text.chars().all(quoted),
            _ => false,
        })
    };
    let usual = |redirect: &Redirect| match &redirect.kind {
        RedirectKind::Read(_) => first && redirect.fd.is_none(),
        RedirectKind::Write(_) | RedirectKind::Append(_) => last && redirect.fd.is_none(),
        _ => false,
    };
    let assigns = stage.simple().is_some_and(|simple| !simple.assignments.is_empty());
    if !stage.words().all(same) || !stage.redirects.iter().all(usual) || stage.pipes_stderr || assigns {
        return Err("a construct that bash might read in another way".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, shell: Completing) -> Result<String, String> {
        let known = Known::read(
            "function mine\nalias grep grep --color=auto\nalias ll ls -l\nalias deep grep -v\nalias odd f() { x; }\n",
        );
        rewritten(line, shell, &known, &|name| name == "HOME")
    }

    #[test]
    fn lines_that_mean_the_same_are_taken() {
        for line in [
            "sort f | uniq -c > out",
            "cut -d: -f1 /etc/passwd | sort -u && wc -l < f",
            "awk '{print $1}' f | sort",
        ] {
            assert_eq!(of(line, Completing::Bash), Ok(line.into()));
        }
        for line in [
            "cat $HOME/f | wc",
            "ls *.log | wc -l",
            "awk '!x[$1]++' f",
            "echo {a,b} | wc",
            "x=1 sort f 2>/dev/null",
        ] {
            assert_eq!(of(line, Completing::Bash), Ok(line.into()));
            assert!(of(line, Completing::Zsh).is_err(), "{line}");
            assert!(of(line, Completing::Fish).is_err(), "{line}");
        }
        let line = "sort 'a file' | uniq -c | sort -rn > out && wc -l < f";
        assert_eq!(of(line, Completing::Zsh), Ok(line.into()));
        assert_eq!(of(line, Completing::Fish), Ok(line.into()));
    }

    #[test]
    fn what_is_the_shells_own_stays() {
        for line in [
            "cat $x | wc",
            "mine | wc",
            "cd /tmp",
            "x=1",
            "export x=1",
            "sort f &",
            "!! | wc",
            "echo \"!x\" | wc",
            "echo $? | wc",
            "echo $RANDOM | wc",
            "cat <(sort f)",
            "for x in a; do echo; done",
            "f() { x; }",
            "deep x f | wc",
            "odd | wc",
            "echo $(mine)",
            "time sort f",
            "jobs | wc",
            "read x",
            "",
            "\"sort\" f",
            "sort 'f",
        ] {
            assert!(of(line, Completing::Bash).is_err(), "{line}");
        }
        let strict = Known::read("option pipefail\n");
        assert!(rewritten("sort f", Completing::Bash, &strict, &|_| true).is_err());
    }

    #[test]
    fn aliases_are_expanded_where_commands_stand() {
        assert_eq!(of("grep x grep | sort", Completing::Bash), Ok("grep --color=auto x grep | sort".into()));
        assert_eq!(of("ll | grep x; ll", Completing::Zsh), Ok("ls -l | grep --color=auto x; ls -l".into()));
    }

    #[test]
    fn a_line_becomes_one_word() {
        assert_eq!(quoted("a 'b\\' c", Completing::Bash), "'a '\\''b\\'\\'' c'");
        assert_eq!(quoted("a 'b\\' c", Completing::Fish), "'a \\'b\\\\\\' c'");
    }
}
