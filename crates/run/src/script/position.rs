//! Finds words of a text that may be names of commands.
//!
//! Does not parse the text, so that code in strings, here-documents and traps counts too. It may find too many.

/// Words after which a command follows.
const BEFORE_COMMANDS: [&str; 17] = [
    "then", "do", "else", "elif", "if", "while", "until", "time", "!", "{", "builtin", "command", "exec",
    "eval", "coproc", "function", "trap",
];

/// Whether `word` may be a command somewhere in the text: it begins one, and is not assigned to.
pub fn is_command(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let next = after.chars().next();
        if word == "." {
            // A dot in quotes is a character, unless a command begins with it.
            let quoted = |quote: &char| next == Some(*quote) && ends_word(&after[1..]);
            if let Some(quote) =
                before.chars().next_back().filter(|quote| "'\"".contains(*quote)).filter(quoted)
            {
                return begins_command(before.trim_end_matches(quote));
            }
            return ends_word(after) && begins_command(before);
        }
        next.is_none_or(|next| next.is_whitespace() || "'\"`;&|()<>\\$,}".contains(next))
            && begins_command(before)
    })
}

/// Whether the text, of these words, may print functions: by `declare -f`, `typeset -f`, or `set` alone.
pub fn shows_functions(text: &str, words: &[&str]) -> bool {
    let declares = |pair: &[&str]| {
        matches!(pair[0], "declare" | "typeset")
            && pair[1].starts_with(['-', '$'])
            && pair[1].contains(['f', '$'])
    };
    let alone = |(at, word): (usize, &str)| {
        let after = text[at + word.len()..].trim_start_matches([' ', '\t']);
        after.chars().next().is_none_or(|next| "\n;&|)>".contains(next)) && begins_command(&text[..at])
    };
    words.windows(2).any(declares) || text.match_indices("set").any(alone)
}

/// Whether `word` stands anywhere in the text.
pub fn is_word(text: &str, word: &str) -> bool {
    let parts = |character: char| character.is_alphanumeric() || character == '_';
    match word {
        "." => {
            text.split(|c: char| c.is_whitespace() || ";&|(){}`'\"=".contains(c)).any(|found| found == ".")
        }
        _ => text.split(|character| !parts(character)).any(|found| found == word),
    }
}

fn ends_word(after: &str) -> bool {
    after.chars().next().is_none_or(char::is_whitespace)
}

/// Whether a command may begin behind this text.
fn begins_command(before: &str) -> bool {
    if before.ends_with("${") {
        return false;
    }
    let joined = before.trim_end_matches([' ', '\t']);
    let Some(last) = joined.chars().next_back() else { return true };
    // Quotes may hold code, or end an assignment before the command.
    if "\n;&|(){}'\"`".contains(last) {
        return true;
    }
    if joined.len() == before.len() {
        // Part of a longer word: `\eval` is a command, `$eval` and `re-eval` are not, and `run=eval` may be run later.
        return matches!(last, '\\' | '=')
            || [":-", ":+", "-", "+"].iter().any(|sign| joined.ends_with(sign) && in_braces(joined));
    }
    let start = joined.rfind(|character: char| character.is_whitespace() || ";&|()'\"`".contains(character));
    let start = start.map_or(0, |at| at + joined[at..].chars().next().map_or(1, char::len_utf8));
    let (earlier, token) = joined.split_at(start);
    // A longer word, with quotes or an escaped blank in it, may be an assignment, or the file of a redirection.
    if earlier.ends_with(['\'', '"', '`', ')']) || earlier.trim_end_matches([' ', '\t']).ends_with('\\') {
        return true;
    }
    let token = token.trim_start_matches('\\');
    let operator = earlier.trim_end_matches([' ', '\t', '&', '|']);
    let redirects = token.contains(['<', '>']) || operator.ends_with(['<', '>']);
    let may_vanish = token.starts_with(['-', '$']) && begins_command(earlier)
        || token.starts_with('-') && option_of(earlier);
    BEFORE_COMMANDS.contains(&token) || token.contains('=') || redirects || may_vanish
}

/// Whether the text ends inside `${NAME…`, behind the name and an operator.
fn in_braces(joined: &str) -> bool {
    let name = joined.trim_end_matches([':', '-', '+']);
    name.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').ends_with("${")
}

/// Whether the last word before options takes a command: `command -p`, `time -p`.
fn option_of(earlier: &str) -> bool {
    let mut tokens = earlier.split_whitespace().rev().skip_while(|token| token.starts_with('-'));
    tokens.next().is_some_and(|token| BEFORE_COMMANDS.contains(&token))
}

#[cfg(test)]
mod tests {
    use super::is_command;

    #[test]
    fn what_begins_a_command_is_found() {
        for text in [
            "eval x",
            "a; eval x",
            "a &&\n eval x",
            "if eval x; then",
            "x=1 eval y",
            "x=\"a b\" eval y",
            "trap 'eval x' EXIT",
            "trap \"a; eval x\" EXIT",
            "2>&1 eval x",
            "> f eval x",
            "command eval x",
            "command -p eval x",
            "\\eval x",
            "$sudo eval x",
            "(eval x)",
            "`eval x`",
            "a) eval x;;",
            "{ eval x; }",
            "! eval x",
            "eval",
            "\"eval\" x",
            "eval() { :; }",
            "$(eval x)",
            "eval$IFS x",
            "time -p eval x",
            "run=eval; $run x",
            "{eval,x}",
            "\\command eval x",
            "x=\"$y\"/b eval z",
            "> \"$y\"/log eval z",
            "x=a\\ b eval z",
            "${x:-eval} y",
            "${x+eval} y",
            "function eval {",
        ] {
            assert!(is_command(text, "eval"), "{text}");
        }
        for text in ["\".\" ./lib", "'.' ./lib", "c=. ./lib", "\\. ./lib"] {
            assert!(is_command(text, "."), "{text}");
        }
        assert!(
            is_command(". ./lib", ".")
                && is_command("if true; then\n. lib; fi", ".")
                && is_command("test -f x && . x", ".")
        );
    }

    #[test]
    fn arguments_and_variables_are_not() {
        for text in [
            "echo eval",
            "re-eval x",
            "$eval x",
            "${eval} x",
            "eval=1",
            "eval_x",
            "x/eval y",
            "my eval x",
            "# eval x",
            "echo a eval",
            "a.eval x",
        ] {
            assert!(!is_command(text, "eval"), "{text}");
        }
        assert!(
            !is_command("find . -name x", ".")
                && !is_command("cp a .; tr '.' _", ".")
                && !is_command("cd . && ls ./x", ".")
        );
    }
}
