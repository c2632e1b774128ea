//! What a stage's text would notice if it ran in a shell of its own instead of a subshell of the original one.
//!
//! A pipeline's stage is a *copy* of the shell: it has the original's process id in `$$`, its last status in `$?`, its
//! options, jobs and traps. A separate `bash -c STAGE` has its own. This scan finds, without understanding the text,
//! anything that could tell the two apart. It may cry wolf (the stage then loses its own row, nothing else); it must
//! not stay silent. Code in strings counts: whatever evaluates strings in the same shell (`eval`, `trap`, `source` …)
//! is itself a hazard, so that single-quoted text is otherwise data.
//!
//! It knows only the stage. Variables, functions, options and directories that *earlier* commands of the same text
//! changed are the caller's to remember.

use crate::Dialect;
use crate::grammar::Reader;
use pelton_record::Span;

/// Something in a stage that would notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// The construct: `$$`, `BASHPID`, `eval`; or a description without backquotes.
    pub name: String,
    /// Where it stands in the text given.
    pub span: Span,
}

/// Builtins that show or change what belongs to one shell process, or run code from strings.
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

/// Variables that the shell computes, or that change what the shell does by itself.
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

/// Words after which a command begins, apart from operators.
const PREFIXES: [&str; 15] = [
    "!", "time", "command", "builtin", "exec", "if", "then", "elif", "else", "while", "until", "do", "{",
    "-p", "--",
];

/// The first construct in `text` that would notice a shell of its own.
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

/// The text without line continuations, and where each of its bytes came from.
struct Scan {
    text: String,
    origin: Vec<usize>,
    /// Single-quoted strings, as ranges of `text`, quotes excluded.
    data: Vec<(usize, usize)>,
}

/// A run of bytes between separators.
struct Token {
    /// With single-quoted text blotted out.
    masked: String,
    span: Span,
    /// Without quotes and backslashes.
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
        // Only a text that is understood to its end tells for certain what is single-quoted.
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

    /// `$$`, `$?` and the like.
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
                // `${#?}`: the length of one of them.
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

    /// Names of variables, with or without a `$`: arithmetic and `-v` need none.
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
        // `printf '%(…)T' -2` tells when the shell began.
        self.text.find("%(").map(|at| self.hazard("a time format of printf", at, at + 2))
    }

    /// Cuts at blanks and operators, wherever they stand, except in single-quoted text.
    fn tokens(&self) -> Vec<Token> {
        // One byte for each byte, so that positions hold.
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

    /// Names of commands, and commands whose name is computed.
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

/// `set -e`, `set -o pipefail`, `set -- a b`; not `set`, `set -o`, `set $x`.
fn sets_literally(after: &[Token]) -> bool {
    let literal = |token: Option<&Token>| {
        token.is_some_and(|t| {
            !t.masked.is_empty() && t.gap.chars().all(|c| c == ' ' || c == '\t') && !is_computed(&t.masked)
        })
    };
    let takes_name = after.first().is_some_and(|t| t.plain.starts_with(['-', '+']) && t.plain.contains('o'));
    literal(after.first()) && (!takes_name || literal(after.get(1)))
}

/// True if a command may begin with this token.
fn begins_command(before: &[Token], token: &Token) -> bool {
    if before.is_empty() || token.gap.contains([';', '&', '|', '(', ')', '`', '\n']) {
        return true;
    }
    let Some(last) = before.last() else { return true };
    // After a redirection's target the command may still be to come.
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
