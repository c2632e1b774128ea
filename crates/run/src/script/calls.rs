//! Writes calls into a text: the words of the stages are unchanged, only the text between them changes.

use crate::shell::Shell;
use pelton_record::Span;
use pelton_syntax::{Redirect, RedirectKind, Stage};

/// How calls are written.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The path of pelton.
    pub program: String,
    /// Options for `pelton pipe`, as written.
    pub options: Vec<String>,
    /// The word between the stages.
    pub separator: String,
}

/// Puts calls into a text.
pub struct Writer<'a> {
    pub text: &'a str,
    pub caller: &'a Caller,
    pub shell: &'a Shell,
    /// Whether calls must be told the shell's options.
    pub pipefail: bool,
}

/// A replacement of a piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub span: Span,
    pub text: String,
    /// Stages that this edit adds to a call.
    pub stages: usize,
}

impl Writer<'_> {
    /// Makes one call of these adjacent stages. Returns nothing if unknown text lies between two of them.
    pub fn call(&self, stages: &[Stage]) -> Vec<Edit> {
        let separator = &self.caller.separator;
        let (Some(first), Some(last)) = (stages.first(), stages.last()) else { return vec![] };
        let start = first.span.start;
        let line = 1 + self.text[..last.span.end].matches('\n').count();
        let redirects: Vec<&Redirect> = stages.iter().flat_map(|stage| &stage.redirects).collect();
        let text = self.beginning(line, &redirects);
        let mut edits = vec![Edit { span: Span::new(start, start), text, stages: 1 }];
        for pair in stages.windows(2) {
            let gap = Span::new(pair[0].span.end, pair[1].span.start);
            let Some(lines) = lines(gap.of(self.text)) else { return vec![] };
            let text = format!(" {separator} {}", "\\\n".repeat(lines));
            edits.push(Edit { span: gap, text, stages: 1 });
        }
        // Redirections passed as options are removed from the text.
        edits.extend(redirects.iter().map(|one| Edit { span: one.span, text: String::new(), stages: 0 }));
        edits
    }

    fn beginning(&self, line: usize, redirects: &[&Redirect]) -> String {
        let Caller { program, options, separator } = self.caller;
        let mut words = vec![quoted(program), "pipe".to_owned()];
        words.extend(options.iter().map(|option| quoted(option)));
        words.push(format!("--shell={}", quoted(&self.shell.path.to_string_lossy())));
        words.push(format!("--name=\"$0\" --line={line}"));
        if self.pipefail {
            words.push("--shell-options=\"$SHELLOPTS\"".to_owned());
        }
        words.extend(redirects.iter().filter_map(|redirect| self.option(redirect)));
        words.push(separator.clone());
        words.join(" ") + " "
    }

    /// Returns a redirection as an option: the call opens the file as the stage would, so that only the stage
    /// fails on an error.
    fn option(&self, redirect: &Redirect) -> Option<String> {
        let (name, target) = match &redirect.kind {
            RedirectKind::Read(target) => ("read", target),
            RedirectKind::Write(target) => ("write", target),
            RedirectKind::Append(target) => ("append", target),
            RedirectKind::Clobber(target) => ("clobber", target),
            _ => return None,
        };
        Some(format!("--{name}={}", target.span.of(self.text)))
    }
}

/// Counts the newlines between two stages; `None` if there is anything but blanks, comments and one `|`.
fn lines(gap: &str) -> Option<usize> {
    let mut bars = 0;
    for line in gap.split('\n') {
        let code = line.split_once('#').map_or(line, |(code, _)| code);
        let code = code.strip_suffix('\\').unwrap_or(code);
        bars += code.matches('|').count();
        if !code.chars().all(|c| matches!(c, ' ' | '\t' | '|')) {
            return None;
        }
    }
    (bars == 1).then(|| gap.matches('\n').count())
}

/// Quotes a word for the shell.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Applies all edits. They do not overlap; of two at one position, the one given first comes first.
pub fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.span.start);
    let mut out = String::with_capacity(text.len() + 64 * edits.len());
    let mut at = 0;
    for edit in &edits {
        out.push_str(&text[at..edit.span.start]);
        out.push_str(&edit.text);
        at = edit.span.end;
    }
    out.push_str(&text[at..]);
    out
}
