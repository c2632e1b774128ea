//! `echo "$x" | sed …`: what the shell's own `echo` would print becomes the input of the call, `<<< "$x"`.
//!
//! bash forks for each stage, its builtins too. A small here-string is a pipe that bash has filled before it starts the
//! command. So `echo` needs no process, and in a `$(…)` of its own the call takes the place of the subshell: one process
//! instead of four for `$(echo "$x" | sed … | tr …)`.
//!
//! ```text
//! y=$([[ ${#x} -lt 1000 && "$x" != -* ]] && exec pelton pipe … <<< "$x"; echo "$x" | sed … | tr …)
//! if [[ ${#x} -lt 1000 && "$x" != -* ]]; then pelton pipe … <<< "$x"; else echo "$x" | sed …; fi
//! ```
//!
//! The test leaves to the pipeline what a here-string would put into a temporary file, and what `echo` could take for an
//! option.

use super::stages::{Judge, positional};
use pelton_syntax::{Nested, Stage, Word, WordPart};

/// Characters of a word up to which it is passed on: in any encoding fewer bytes than bash writes to a pipe of its own.
const CHARACTERS_MAX: usize = 1000;

/// A stage that prints one word, and a newline.
pub struct Echoed<'t> {
    /// The word as written, in double quotes.
    pub word: &'t str,
    /// Holds if the word may be passed on.
    pub test: String,
}

impl<'t> Echoed<'t> {
    /// Returns what the stage prints; `None` if it does anything else, or if a variable is the shell's own.
    pub fn of(stage: &Stage, of: &Nested, judge: &Judge<'t>) -> Option<Self> {
        let simple = stage.simple().filter(|_| stage.redirects.is_empty() && !stage.pipes_stderr)?;
        let name = simple.words.first()?.static_text().filter(|name| !judge.functions.contains(name))?;
        let word = match (name.as_str(), simple.words.as_slice()) {
            ("echo", [_, word]) => word,
            ("printf", [_, format, word]) if format.static_text().as_deref() == Some("%s\\n") => word,
            _ => return None,
        };
        judge.word(word, of).ok()?;
        let written = word.span.of(judge.text);
        let inner = written.strip_prefix('"')?.strip_suffix('"')?;
        let usual = simple.assignments.is_empty() && !inner.contains(['"', '\\', '`', '\n', '!']);
        let test = test(word, judge.text, name == "echo").filter(|_| usual)?;
        Some(Echoed { word: written, test })
    }
}

/// Returns the test of a word; `None` if it has no variables, or other parts.
fn test(word: &Word, text: &str, has_options: bool) -> Option<String> {
    let (mut lengths, mut literal) = (Vec::new(), 0);
    for part in &word.parts {
        match part {
            WordPart::Quoted(written) => literal += written.len(),
            WordPart::Variable { name, .. } => lengths.push(format!("${{#{name}}}")),
            WordPart::Opaque { span, .. } => {
                // `$1`
                lengths.push(positional(span.of(text)).map(|number| format!("${{#{number}}}"))?);
            }
            _ => return None,
        }
    }
    let left = CHARACTERS_MAX.checked_sub(literal).filter(|_| !lengths.is_empty())?;
    let length = format!("{} -lt {left}", lengths.join("+"));
    Some(match word.parts.first() {
        _ if !has_options => format!("[[ {length} ]]"),
        Some(WordPart::Quoted(text)) if text.starts_with('-') => return None,
        Some(WordPart::Quoted(text)) if !text.is_empty() => format!("[[ {length} ]]"),
        _ => format!("[[ {length} && {} != -* ]]", word.span.of(text)),
    })
}
