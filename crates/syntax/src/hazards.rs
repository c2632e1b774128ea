//! Finds constructs whose effect would differ if a stage ran in a separate shell instead of a subshell of the
//! original shell.
//!
//! A pipeline's stage is a *copy* of the shell: it has the original's process id in `$$`, its last status in
//! `$?`, its options, jobs and traps. A separate `bash -c STAGE` has its own. This scan finds, without
//! parsing the text fully, anything that could reveal the difference. False positives are acceptable (the
//! stage only loses its separate row); false negatives are not. Code in strings needs no scan: a command that
//! evaluates strings in the same shell (`eval`, `trap`, `source` …) is itself a hazard, so single-quoted text
//! is otherwise data.
//!
//! It sees only the stage. The caller must track variables, functions, options and directories that *earlier*
//! commands of the same text changed.

use crate::Dialect;
use crate::reader::Reader;
use pelton_record::Span;

/// A construct that depends on the original shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// The construct: `$$`, `BASHPID`, `eval`; or a description without backquotes.
    pub name: String,
    /// Its span in the text.
    pub span: Span,
}

/// Builtins that show or change the state of one shell process, or run code from strings.
const COMMANDS: [&str; 38] = [
    "alias",
    "bg",
    "bind",
    "caller",
    "compgen",
    "complete",
    "compopt",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "enable",
    "eval",
    "export",
    "fc",
    "fg",
    "getopts",
    "hash",
    "history",
    "jobs",
    "local",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "readarray",
    "readonly",
    "shopt",
    "source",
    "suspend",
    "times",
    "trap",
    "type",
    "typeset",
    "ulimit",
    "unalias",
    "unset",
    "exec",
];

/// Variables that the shell computes, or that change the shell's behaviour.
const VARIABLES: [&str; 12] = [
    "PPID",
    "SHLVL",
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "PIPESTATUS",
    "SHELLOPTS",
    "DIRSTACK",
    "HISTCMD",
    "PS4",
    "COPROC",
    "FUNCNAME",
];

/// Words that a command may follow, apart from operators.
const PREFIXES: [&str; 15] = [
    "!", "time", "command", "builtin", "exec", "if", "then", "elif", "else", "while", "until", "do", "{",
    "-p", "--",
];

/// Returns the first construct in `text` that would behave differently in a separate shell.
///
/// ```
/// use pelton_syntax::shell_hazards;
/// assert!(shell_hazards("while read -r x; do echo \"$x\"; done").is_none());
/// assert_eq!(shell_hazards("{ echo $$; }").map(|h| h.name).as_deref(), Some("$$"));
/// ```
pub fn shell_hazards(text: &str) -> Option<Hazard> {
    let scan = Scan::new(text);
    let mut found: Vec<Hazard> = Vec::new();
    found.extend(scan.parameter());
    found.extend(scan.variable());
    found.extend(scan.command());
    found.into_iter().min_by_key(|hazard| hazard.span.start)
}

/// The text without line continuations, and the original offset of each byte.
struct Scan {
    text: String,
    origin: Vec<usize>,
    /// Single-quoted strings, as ranges of `text` without the quotes.
    data: Vec<(usize, usize)>,
}

/// The text between two separators.
struct Token {
    /// As written, with single-quoted text masked.
    masked: String,
    span: Span,
    /// As written, without quotes and backslashes.
    plain: String,
    /// The separators before it.
    gap: String,
}

impl Scan {
    fn new(source: &str) -> Self {
        let (mut text, mut origin) = (String::new(), Vec::new());
        let mut rest = source.char_indices().peekable();
        while let Some((at, c)) = rest.next() {
            if c == '\\' && rest.next_if(|(_, next)| *next == '\n').is_some() {
                continue;
            }
            origin.extend(at..at + c.len_utf8());
            text.push(c);
        }
        origin.push(source.len());
        // Only a text that parses to its end shows with certainty what is single-quoted.
        let mut reader = Reader::new(&text, Dialect::Bash);
        let understood = text.len() == source.len() && reader.script().is_ok();
        let data = if understood { std::mem::take(&mut reader.single_quoted_spans) } else { Vec::new() };
        let data = data.into_iter().map(|span| (span.start, span.end)).collect();
        Scan { text, origin, data }
    }

    fn hazard(&self, name: impl Into<String>, start: usize, end: usize) -> Hazard {
        Hazard { name: name.into(), span: Span::new(self.origin[start], self.origin[end.max(start)]) }
    }

    fn is_data(&self, start: usize, end: usize) -> bool {
        self.data.iter().any(|(from, to)| *from <= start && end <= *to)
    }

    /// Finds `$$`, `$?` and similar parameters.
    fn parameter(&self) -> Option<Hazard> {
        let bytes = self.text.as_bytes();
        let starts = self.text.match_indices('$').map(|(at, _)| at).filter(|at| !self.is_data(*at, *at + 1));
        for at in starts {
            let brace = usize::from(bytes.get(at + 1) == Some(&b'{'));
            let rest = &self.text[at + 1 + brace..];
            let mut chars = rest.chars();
            let (Some(first), second) = (chars.next(), chars.next()) else { continue };
            let alone = second.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_');
            let special = match first {
                '$' | '!' | '?' | '-' => true,
                '_' => alone,
                // `${#?}`: the length of a parameter.
                '#' => brace == 1 && second.is_some_and(|c| "$!?-_".contains(c)),
                _ => false,
            };
            if special {
                let name =
                    if first == '!' && brace == 1 { "${!…}".to_owned() } else { format!("${first}") };
                return Some(self.hazard(name, at, at + 1 + brace + first.len_utf8()));
            }
        }
        None
    }

    /// Finds names of variables, with or without a `$`, which arithmetic and `-v` do not need.
    fn variable(&self) -> Option<Hazard> {
        let arithmetic = ["((", "[[", "$[", "let"].iter().any(|sign| self.text.contains(sign));
        let mut start = 0;
        for name in self.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            let known = VARIABLES.contains(&name) || name.starts_with("BASH") || name.starts_with("COMP_");
            if known || arithmetic && name == "_" {
                return Some(self.hazard(name, start, start + name.len()));
            }
            start += name.len() + self.text[start + name.len()..].chars().next().map_or(0, char::len_utf8);
        }
        // `printf '%(…)T' -2` prints the start time of the shell.
        self.text.find("%(").map(|at| self.hazard("a time format of printf", at, at + 2))
    }

    /// Returns the texts between blanks and operators, each with the separators before it; the last is empty
    /// if the text ends in separators. Double-quoted text is split as well; single-quoted text is not, if
    /// `data` knows it.
    fn tokens(&self) -> Vec<Token> {
        // Masks byte by byte, so that offsets stay valid.
        let mut masked = self.text.clone().into_bytes();
        for (from, to) in &self.data {
            masked[*from..*to].fill(b'x');
        }
        let separates = |b: &u8| b.is_ascii_whitespace() || b";&|()<>`".contains(b);
        let mut tokens = Vec::new();
        let mut at = 0;
        while at < masked.len() {
            let start = at + masked[at..].iter().position(|b| !separates(b)).unwrap_or(masked.len() - at);
            let end = start + masked[start..].iter().position(separates).unwrap_or(masked.len() - start);
            tokens.push(Token {
                masked: String::from_utf8_lossy(&masked[start..end]).into_owned(),
                span: Span::new(start, end),
                plain: self.text[start..end].replace(['\'', '"', '\\'], ""),
                gap: self.text[at..start].to_owned(),
            });
            at = end;
        }
        tokens
    }

    /// Finds names of commands, and commands whose name is computed.
    fn command(&self) -> Option<Hazard> {
        let tokens = self.tokens();
        for (i, token) in tokens.iter().enumerate().filter(|(_, token)| !token.masked.is_empty()) {
            let plain = token.plain.strip_prefix('$').unwrap_or(&token.plain);
            let noticed = COMMANDS.contains(&plain)
                || plain == "set" && !sets_literally(&tokens[i + 1..])
                || plain == "wait" && !self.text[..token.span.start].contains('&');
            let begins = begins_command(&tokens[..i], token);
            if noticed || begins && token.plain == "." {
                return Some(self.hazard(plain, token.span.start, token.span.end));
            }
            if begins && is_computed(&token.masked) && !is_assignment(&token.masked) {
                return Some(self.hazard(
                    "a command name that is computed",
                    token.span.start,
                    token.span.end,
                ));
            }
        }
        None
    }
}

/// Whether the arguments of `set` are literal: `set -e`, `set -o pipefail`, `set -- a b`; not `set`, `set
/// -o`, `set $x`.
fn sets_literally(after: &[Token]) -> bool {
    let literal = |token: Option<&Token>| {
        token.is_some_and(|t| {
            !t.masked.is_empty() && t.gap.chars().all(|c| c == ' ' || c == '\t') && !is_computed(&t.masked)
        })
    };
    let takes_name = after.first().is_some_and(|t| t.plain.starts_with(['-', '+']) && t.plain.contains('o'));
    literal(after.first()) && (!takes_name || literal(after.get(1)))
}

/// Whether a command may begin with this token.
fn begins_command(before: &[Token], token: &Token) -> bool {
    if before.is_empty() || token.gap.contains([';', '&', '|', '(', ')', '`', '\n']) {
        return true;
    }
    let Some(last) = before.last() else { return true };
    // After the target of a redirection, the command may still follow.
    let after_target = last.gap.contains(['<', '>']);
    after_target || PREFIXES.contains(&last.plain.as_str()) || is_assignment(&last.masked)
}

fn is_assignment(raw: &str) -> bool {
    raw.split_once('=').is_some_and(|(name, _)| crate::assign::is_name(name.trim_end_matches('+')))
}

fn is_computed(raw: &str) -> bool {
    let bracket = raw.contains('[') && raw.contains(']') && raw != "[[" && raw != "]]";
    raw.contains(['$', '`', '*', '?', '~']) || bracket || raw.contains('{') && raw.contains(',')
}

#[cfg(test)]
mod tests {
    use super::shell_hazards;

    fn name(text: &str) -> Option<String> {
        shell_hazards(text).map(|hazard| hazard.name)
    }

    #[test]
    fn what_a_separate_shell_would_show_is_found() {
        let noticed = [
            "{ echo $$; }",
            "echo \"$$\"",
            "echo ${$}",
            "kill $!",
            "echo $-",
            "echo $_",
            "echo ${_}",
            "echo $?",
            "echo ${!name}",
            "echo $BASHPID",
            "echo $((BASHPID))",
            "echo $PPID",
            "[[ -v BASH_SUBSHELL ]]",
            "echo ${BASH_EXECUTION_STRING}",
            "echo $SHLVL",
            "echo $RANDOM",
            "((x=RANDOM))",
            "echo $SRANDOM",
            "echo $SECONDS",
            "set",
            "set -o",
            "set $x",
            "{ set; }",
            "declare -p",
            "typeset x",
            "local x",
            "export",
            "readonly",
            "compgen -v",
            "times",
            "jobs",
            "eval x",
            "e\"v\"al x",
            "'eval' x",
            "\\eval x",
            "ev\\\nal x",
            "source f",
            ". f",
            "a=b . f",
            ">x . f",
            "command . f",
            "{ . f; }",
            "if . f; then a; fi",
            "caller",
            "shopt",
            "hash",
            "history",
            "suspend",
            "disown",
            "fg",
            "bg",
            "enable",
            "bind",
            "complete",
            "alias",
            "unalias",
            "type ls",
            "wait",
            "$cmd x",
            "\"$cmd\" x",
            "{eval,x}",
            "$'\\145val' x",
            "trap 'echo $$' EXIT",
            "mapfile -C 'echo $$'",
            "echo \"`echo $$`\"",
            "echo \"$(eval x)\"",
            "echo $\\\n$",
            "printf '%(%s)T' -2",
            "echo ${#?}",
            "exec $x",
            "PS4=x",
            "((_))",
            "x=$$",
            "a | eval x",
            "echo 'it'\"'s $$\"",
        ];
        for text in noticed {
            assert!(name(text).is_some(), "{text:?} hides something");
        }
    }

    #[test]
    fn ordinary_stages_are_free_of_hazards() {
        let free = [
            "while read -r x; do echo \"$x\"; done",
            "find . -type f",
            "{ a; b; }",
            "sed '$!d;s/x$//' f",
            "set -e; a",
            "set -o pipefail; a",
            "set -- a b; b",
            "awk '{print $1, $NF}' [a]*",
            "for i in 1 2; do a & done; wait",
            "echo ${x:-y} $1 $# $@",
            "grep 'a type of set' f",
            "( cd /tmp && ls )",
            "if [ -f x ]; then cat x; fi",
            "",
        ];
        for text in free {
            assert_eq!(name(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_span_is_that_of_the_text_given() {
        let text = "ec\\\nho é $$";
        let hazard = shell_hazards(text).unwrap();
        assert_eq!(hazard.span.of(text), "$$");
    }
}
