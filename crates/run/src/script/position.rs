//! Where a word of a text may be the name of a command.
//!
//! Without parsing: code in strings, here-documents and traps counts too. It may find too much, never too little.

/// Words after which a command follows.
const BEFORE_COMMANDS: [&str; 17] = [
    "then", "do", "else", "elif", "if", "while", "until", "time", "!", "{", "builtin", "command", "exec",
    "eval", "coproc", "function", "trap",
];

/// Whether `word` may be a command somewhere in the text: it begins one, and is not assigned to.
pub fn is_command(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let next = text[at + word.len()..].chars().next();
        // A dot in quotes is a character; the command is followed by a name.
        let ends =
            next.is_none_or(|next| next.is_whitespace() || word != "." && "'\"`;&|()<>\\$,".contains(next));
        ends && begins_command(&text[..at])
    })
}

/// Whether a command may begin behind this text.
fn begins_command(before: &str) -> bool {
    // A line that goes on is one line.
    let joined = before.trim_end_matches([' ', '\t']);
    if let Some(rest) = joined.strip_suffix("\\\n") {
        return begins_command(&format!("{rest} "));
    }
    let Some(last) = joined.chars().next_back() else { return true };
    // Quotes may hold code, or end a value that is assigned first.
    if "\n;&|(){}'\"`".contains(last) {
        return true;
    }
    if joined.len() == before.len() {
        // The word goes on from there: `\\eval` is a command, `$eval` and `re-eval` are none; `run=eval` may become one.
        return matches!(last, '\\' | '=') || joined.ends_with(":-");
    }
    let start = joined.rfind(|character: char| character.is_whitespace() || ";&|()'\"`".contains(character));
    let start = start.map_or(0, |at| at + joined[at..].chars().next().map_or(1, char::len_utf8));
    let (earlier, token) = joined.split_at(start);
    let operator = earlier.trim_end_matches([' ', '\t', '&', '|']);
    let redirects = token.contains(['<', '>']) || operator.ends_with(['<', '>']);
    let may_vanish = token.starts_with(['-', '$']) && begins_command(earlier)
        || token.starts_with('-') && option_of(earlier);
    BEFORE_COMMANDS.contains(&token) || token.contains('=') || redirects || may_vanish
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
            "a \\\n; eval x",
            "then \\\n eval x",
            "eval",
            "\"eval\" x",
            "eval() { :; }",
            "$(eval x)",
            "eval$IFS x",
            "time -p eval x",
            "run=eval; $run x",
            "{eval,x}",
            "function eval {",
        ] {
            assert!(is_command(text, "eval"), "{text}");
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
