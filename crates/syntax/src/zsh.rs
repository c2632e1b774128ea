//! zsh: its texts are read by bash's grammar, unless they hold what zsh reads otherwise.
//!
//! Most of what only zsh has, such as `for x (a b) …`, `*(.)` or `if [[ … ]] { … }`, bash rejects. What follows are the forms
//! that both accept and that mean different things. Most are looked for anywhere in the text, also in quotes: too much may
//! be refused, never too little.

use crate::{Command, Script, Stage, Word, WordPart};

/// Words that begin other commands in zsh, and are commands to bash.
const KEYWORDS: [&str; 3] = ["repeat", "foreach", "nocorrect"];

/// Whether zsh reads the text as bash does, which reads it as `script`.
pub(crate) fn reads_alike(text: &str, script: &Script) -> bool {
    let nested = script.nested.iter().flat_map(|nested| &nested.pipeline.stages);
    let is_read_otherwise = || [">!", "&!", "&|", ">&|", "coproc"].iter().any(|form| text.contains(form));
    !is_read_otherwise()
        && !has_range(text)
        && !quotes_in_expansions(text)
        && !script.stages().chain(nested).any(is_of_zsh)
}

/// Whether the text holds `<1-9>` or `<->`, which match numbers in names of files.
fn has_range(text: &str) -> bool {
    text.match_indices('<').any(|(at, _)| {
        let rest = text[at + 1..].trim_start_matches(|c: char| c.is_ascii_digit());
        let behind = rest.strip_prefix('-').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        behind.is_some_and(|behind| behind.starts_with('>'))
    })
}

/// Whether a `${…}` has a single quote: within double quotes the shells disagree on whether it quotes.
fn quotes_in_expansions(text: &str) -> bool {
    text.split("${").skip(1).any(|rest| rest.split('}').next().is_some_and(|inside| inside.contains('\'')))
}

/// Whether a command begins with a keyword of zsh, or has a brace that zsh may take for one: `{ sort a | uniq }`.
fn is_of_zsh(stage: &Stage) -> bool {
    let Command::Simple(simple) = &stage.command else { return false };
    let has_brace = |part: &WordPart| {
        let WordPart::Bare(text) = part else { return false };
        text.contains(['{', '}']) && text != "{}"
    };
    let first = simple.words.first().and_then(Word::static_text);
    first.is_some_and(|name| KEYWORDS.contains(&name.as_str()))
        || simple.words.iter().flat_map(|word| &word.parts).any(has_brace)
}

#[cfg(test)]
mod tests {
    use crate::{Dialect, parse};

    #[test]
    fn what_zsh_reads_otherwise_is_left_to_it() {
        for text in [
            "sort a <1-3> b | uniq",
            "ls <-> | wc -l",
            "sort a >! b",
            "sleep 1 &!",
            "repeat 3 { sort a | uniq }",
            "f() { sort a | uniq }",
            "foreach x (a b) sort $x; end",
            "foreach x in a b; sort $x | uniq; end",
            "coproc sort a | uniq",
            "{ sort a | uniq } always { echo }",
            "x=(${(f)y}); sort $x | uniq",
            "echo \"${x:-'}'}\" | sort",
            "for x (a b) sort $x | uniq",
            "cat *(.) | sort",
            "if [[ -f a ]] { sort a | uniq }",
            "sort a | uniq }",
        ] {
            let script = parse(text, Dialect::Zsh).unwrap();
            assert!(script.unmodelled().is_some(), "{text}");
        }
        for text in [
            "for x in a b; do sort $x | uniq; done # always, to the end",
            "f() { sort $1 | uniq; }; f a > b",
            "x=(a b); print -l $x[1,2] | sort",
            "find . -name '*.c' -exec cat {} + | wc -l",
            "sort a{1,2} | uniq > ${x:-b}",
        ] {
            let script = parse(text, Dialect::Zsh).unwrap();
            assert!(script.unmodelled().is_none() && script.stages().next().is_some(), "{text}");
        }
    }
}
