//! Writes calls into a text: the words of the stages are unchanged, only the text between them changes.

use super::ShellEffects;
use super::echoed::Echoed;
use super::names;
use super::outlook::Outlook;
use super::stages::{Judge, expands_unquoted, unset_ends_stage};
use super::traced::{self, Traced};
use super::zsh;
use crate::shell::Shell;
use pelton_record::Span;
use pelton_record::quoted;
use pelton_syntax::{Dialect, Nested, Redirect, RedirectKind, Stage, Word};
use std::collections::BTreeSet;

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
    pub dialect: Dialect,
    pub effects: ShellEffects,
    /// Whether the script, or a file that it sources, mentions `PATH`.
    pub names_path: bool,
    /// Whether the script, or a file that it sources, mentions `LINENO`.
    pub names_line: bool,
    /// How calls keep out of the trace, if the text may be traced.
    pub traced: Option<Traced>,
    /// Where functions are defined.
    pub functions: Vec<Span>,
    /// Whether a script of zsh's may see the line of the last command.
    pub sees_lines: bool,
}

/// A replacement of a piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub span: Span,
    pub text: String,
    /// Stages that this edit adds to a call.
    pub stages: usize,
}

impl Edit {
    /// Makes an edit that only adds text, at `at`.
    pub fn insertion(at: usize, text: String, stages: usize) -> Self {
        Edit { span: Span::new(at, at), text, stages }
    }
}

/// The characters of file names that bash neither splits, with any usual `IFS`, nor matches with other names. Without
/// ranges, which depend on the locale.
const PLAIN: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+@%=-";

impl Writer<'_> {
    /// Makes a call of a command that stands alone. The shell expands its words and opens its files as before.
    ///
    /// # Errors
    /// As [`Writer::call`].
    pub fn single(&self, stage: &Stage, of: &Nested) -> Result<Vec<Edit>, String> {
        self.refuse_here_document(of)?;
        let beginning = self.beginning(&self.lines(std::slice::from_ref(stage), of), &[], false, of);
        refuse_escapes(&beginning, of)?;
        let Some(traced) = &self.traced else {
            return Ok(vec![Edit::insertion(stage.span.start, beginning, 1)]);
        };
        let (before, after) = traced.around(&beginning);
        Ok(vec![Edit::insertion(stage.span.start, before, 1), Edit::insertion(stage.span.end, after, 0)])
    }

    /// Makes one call of these adjacent stages of a pipeline, made only where the parameters `needed` are set.
    /// `from_first`: whether its first stage is among them.
    ///
    /// # Errors
    /// The reason why no call can replace them, to follow 'because of'.
    pub fn call(
        &self,
        stages: &[Stage],
        of: &Nested,
        from_first: bool,
        needed: &BTreeSet<&String>,
    ) -> Result<Vec<Edit>, String> {
        let edits = self.unconditional_call(stages, of, from_first)?;
        match (needed.first(), stages.first(), stages.last()) {
            (Some(_), Some(first), Some(last)) => {
                self.where_set(Span::new(first.span.start, last.span.end), of, needed, edits)
            }
            _ => Ok(edits),
        }
    }

    fn unconditional_call(
        &self,
        stages: &[Stage],
        of: &Nested,
        from_first: bool,
    ) -> Result<Vec<Edit>, String> {
        let (Some(first), Some(last)) = (stages.first(), stages.last()) else { return Ok(vec![]) };
        self.refuse_here_document(of)?;
        if self.dialect == Dialect::Zsh && of.background && self.effects.pipefail {
            // zsh looks at the last stage alone where the pipeline is the job, and not in a list.
            return Err("`&`, and pipefail".to_owned());
        }
        let span = Span::new(first.span.start, last.span.end);
        if self.sees_lines && span.of(self.text).contains('\n') {
            return Err("several lines, of which a trap sees the last".to_owned());
        }
        let redirects: Vec<&Redirect> = stages.iter().flat_map(|stage| &stage.redirects).collect();
        let mut beginning = self.beginning(&self.lines(stages, of), stages, !from_first, of);
        refuse_escapes(&beginning, of)?;
        let mut after = String::new();
        if let Some(traced) = &self.traced {
            if of.background {
                return Err("tracing, in the background".to_owned());
            }
            (beginning, after) = traced.around(&beginning);
        }
        let mut edits = vec![Edit::insertion(span.start, beginning, 1)];
        for pair in stages.windows(2) {
            let gap = Span::new(pair[0].span.end, pair[1].span.start);
            let lines = lines(gap.of(self.text)).ok_or("what stands between two stages")?;
            let text = format!(" {} {}", self.caller.separator, "\\\n".repeat(lines));
            edits.push(Edit { span: gap, text, stages: 1 });
        }
        // Redirections passed as options are removed from the text.
        edits.extend(redirects.iter().map(|one| Edit { span: one.span, text: String::new(), stages: 0 }));
        let is_bash = self.dialect == Dialect::Bash;
        // In the background, bash redirects the input of a command to `/dev/null`, but not the input of a pipeline.
        let keeps_input = is_bash && of.background && from_first;
        if keeps_input {
            edits.push(Edit::insertion(span.end, " <&0".to_owned(), 0));
        }
        if !after.is_empty() {
            edits.push(Edit::insertion(span.end, after, 0));
        }
        let files = redirects.iter().filter_map(|redirect| option_and_file(redirect)).map(|(_, file)| file);
        let split: Vec<&Word> = files.filter(|file| expands_unquoted(file.span.of(self.text))).collect();
        if split.is_empty() || !is_bash {
            Ok(edits)
        } else if self.traced.is_some() {
            Err("tracing, and the name of a file that expands".to_owned())
        } else if of.is_substituted() || keeps_input {
            // bash 5.2 prints the text of a `$(…)` anew before it runs it, a `case` on several lines: later lines would
            // get other numbers.
            Err("the name of a file that expands, in the background or a substitution".to_owned())
        } else {
            self.guarded(span, &split, edits)
        }
    }

    /// Makes a call of these stages, all behind `first`, whose word it gets as a here-string. `None` if the text around it
    /// does not allow that.
    pub fn fed(
        &self,
        echoed: &Echoed<'_>,
        first: &Stage,
        stages: &[Stage],
        of: &Nested,
    ) -> Option<Vec<Edit>> {
        if self.traced.is_some() {
            return None;
        }
        let (from, to) = (first.span.start, stages.last()?.span.end);
        let (begin, span) = (stages[0].span.start, Span::new(from, to));
        let names = stages.iter().flat_map(|stage| &stage.redirects).filter_map(option_and_file);
        let expands = names.map(|(_, file)| file.span.of(self.text)).any(expands_unquoted);
        // Alone, the command starts as soon as the call would, and beside `echo`.
        if stages.len() < 2 && !of.is_substituted() {
            return None;
        }
        if of.background || expands || span.of(self.text).contains('\n') {
            return None;
        }
        let edits = self.unconditional_call(stages, of, false).ok()?;
        let call = self.edited(Span::new(begin, to), edits);
        let Echoed { word, test } = echoed;
        let (before, after) = match of.is_substituted() {
            false => (format!("if {test}; then {call} <<< {word}; else "), "; fi"),
            true if self.is_alone(of) => (format!("{test} && exec {call} <<< {word}; "), ""),
            true => return None,
        };
        let called = 1 + stages.len();
        Some(vec![Edit::insertion(from, before, called), Edit::insertion(to, after.to_owned(), 0)])
    }

    /// Returns the edits that let bash cut a name in a `$(…)` without a program; `None` if it does anything else.
    pub fn cuts_names(
        &self,
        stage: &Stage,
        of: &Nested,
        judge: &Judge<'_>,
        outlook: &Outlook<'_>,
    ) -> Option<Vec<Edit>> {
        let fits =
            self.dialect == Dialect::Bash && of.is_substituted() && !of.backquoted && self.is_alone(of);
        // The programs of another PATH may be others, and a trace shows what cuts.
        (fits && !self.names_path && self.traced.is_none())
            .then(|| names::in_the_shell(stage, of, judge, outlook))?
    }

    /// Whether a `$(…)` or `` `…` `` consists of the pipeline.
    fn is_alone(&self, of: &Nested) -> bool {
        let Span { start, end } = of.pipeline.span;
        let blanks = [' ', '\t'];
        let (before, after) =
            (self.text[..start].trim_end_matches(blanks), self.text[end..].trim_start_matches(blanks));
        let (open, close) = if of.backquoted { ("`", "`") } else { ("$(", ")") };
        !of.pipeline.negated && before.ends_with(open) && after.starts_with(close)
    }

    /// Adds a test of the expanded file names, by which bash runs either the pipeline or the call: a name of several
    /// words, or a pattern, makes only the stage fail.
    ///
    /// ```text
    /// case "$out:" in (:*|*::*|*:*:*|*[!:a-z…]*) sort a | uniq > $out;; (*) pelton pipe … ;; esac
    /// ```
    fn guarded(&self, span: Span, names: &[&Word], edits: Vec<Edit>) -> Result<Vec<Edit>, String> {
        let stages = edits.iter().map(|edit| edit.stages).sum();
        let Some(call) = self.on_one_line(span, edits) else {
            return Err("the name of a file that expands, beside words of several lines".into());
        };
        let too_many = ":*".repeat(names.len() + 1);
        let names: String = names.iter().map(|name| format!("{}:", name.span.of(self.text))).collect();
        let before = format!("case \"{names}\" in (:*|*::*|*{too_many}|*[!:{PLAIN}]*) ");
        Ok(vec![
            Edit::insertion(span.start, before, stages),
            Edit::insertion(span.end, format!(";; (*) {call};; esac"), 0),
        ])
    }

    /// Adds a test of the parameters that must be set, by which the shell runs either the call or the pipeline.
    ///
    /// ```text
    /// case ${1+x}${sum+x} in (xx) pelton pipe … ;; (*) grep "$1" a | cut -f"$sum";; esac
    /// n=$([[ ${1+x} == x ]] && exec pelton pipe … ; grep "$1" a | wc -l)
    /// ```
    ///
    /// bash 5.2 prints the text of a `$(…)` anew before it runs it, a `case` on several lines: later lines would get other
    /// numbers. There the call takes the place of the subshell.
    ///
    /// # Errors
    /// The reason why the text around it does not allow that.
    fn where_set(
        &self,
        span: Span,
        of: &Nested,
        needed: &BTreeSet<&String>,
        edits: Vec<Edit>,
    ) -> Result<Vec<Edit>, String> {
        let uncertain = needed.first().map(|name| unset_ends_stage(name)).unwrap_or_default();
        if self.traced.is_some() {
            return Err(format!("tracing, and {uncertain}"));
        }
        if self.dialect == Dialect::Zsh && self.effects.errexit {
            // zsh does not look at the status of a `case` that stands in a list.
            return Err(format!("`set -e`, and {uncertain}"));
        }
        let is_bash = self.dialect == Dialect::Bash;
        if is_bash && of.background {
            // bash redirects the input of a command there, but not of a pipeline.
            return Err(format!("`&`, and {uncertain}"));
        }
        let takes_place = is_bash && of.is_substituted();
        let may_take_place =
            self.is_alone(of) && span == of.pipeline.span && !reads_status(span.of(self.text));
        if takes_place && !may_take_place {
            return Err(uncertain);
        }
        let stages = edits.iter().map(|edit| edit.stages).sum();
        let call = self.on_one_line(span, edits).ok_or(uncertain)?;
        let expansions: String = needed.iter().map(|name| format!("${{{name}+x}}")).collect();
        let all = "x".repeat(needed.len());
        let (before, after) = match takes_place {
            true => (format!("[[ {expansions} == {all} ]] && exec {call}; "), ""),
            false => (format!("case {expansions} in ({all}) {call};; (*) "), ";; esac"),
        };
        Ok(vec![Edit::insertion(span.start, before, stages), Edit::insertion(span.end, after.to_owned(), 0)])
    }

    /// Returns an edited piece of the text.
    fn edited(&self, span: Span, edits: Vec<Edit>) -> String {
        let moved = |edit: Edit| Edit {
            span: Span::new(edit.span.start - span.start, edit.span.end - span.start),
            ..edit
        };
        apply(span.of(self.text), edits.into_iter().map(moved).collect())
    }

    /// Returns an edited piece of the text, on one line; `None` if it has several of its own: a newline may be part of a word,
    /// and the lines that follow would get other numbers.
    fn on_one_line(&self, span: Span, edits: Vec<Edit>) -> Option<String> {
        let joined = edits.into_iter().map(|edit| Edit { text: edit.text.replace("\\\n", ""), ..edit });
        let edited = self.edited(span, joined.collect());
        (!edited.contains('\n')).then_some(edited)
    }

    /// Returns the line that messages about each stage name, as one if it is the same: where it ends for bash, where it
    /// begins for dash, which counts from 1 between backquotes. In a here-document bash counts from the line of the command.
    fn lines(&self, stages: &[Stage], of: &Nested) -> String {
        if of.backquoted && self.dialect == Dialect::Posix {
            return "1".to_owned();
        }
        if of.in_here_document && self.dialect == Dialect::Bash {
            return "\"$LINENO\"".to_owned();
        }
        if self.dialect == Dialect::Zsh && (of.is_substituted() || self.is_in_function(of.pipeline.span)) {
            return zsh::counted_lines(stages, self.text);
        }
        let names = |span: Span| if self.dialect == Dialect::Bash { span.end } else { span.start };
        let line = |stage: &Stage| 1 + self.text[..names(stage.span)].matches('\n').count();
        let mut lines: Vec<String> = stages.iter().map(|stage| line(stage).to_string()).collect();
        if lines.iter().all(|line| *line == lines[0]) {
            lines.truncate(1);
        }
        lines.join(",")
    }

    fn is_in_function(&self, span: Span) -> bool {
        self.functions.iter().any(|body| body.start <= span.start && span.end <= body.end)
    }

    /// Fails for a pipeline in a here-document if bash may give it another line than the command's, or if tabs between its
    /// words may be stripped.
    fn refuse_here_document(&self, of: &Nested) -> Result<(), String> {
        if !of.in_here_document {
            return Ok(());
        }
        if of.pipeline.span.of(self.text).contains('\n') {
            return Err("a here-document, and several lines".to_owned());
        }
        if self.dialect == Dialect::Zsh {
            return Err("a here-document of zsh's".to_owned());
        }
        match self.dialect == Dialect::Bash && (self.names_line || self.traced.is_some()) {
            true => Err("a here-document, in a script that traces or names `LINENO`".to_owned()),
            false => Ok(()),
        }
    }

    /// Writes the call up to its first stage, with the redirections of these stages as options. `owns_input`: whether its input
    /// is a pipe from the stage before.
    fn beginning(&self, line: &str, stages: &[Stage], owns_input: bool, of: &Nested) -> String {
        let Caller { program, options, separator } = self.caller;
        let mut words = vec![quoted(program), "pipe".to_owned()];
        words.extend(options.iter().map(|option| quoted(option)));
        words.push(format!("--shell={}", quoted(&self.shell.path.to_string_lossy())));
        // What bash itself puts before its messages.
        let name = match self.dialect {
            Dialect::Bash => "${BASH_SOURCE:-$0}",
            Dialect::Posix => "$0",
            Dialect::Zsh => zsh::NAME,
        };
        words.push(format!("--name=\"{name}\" --line={line}"));
        if self.effects.pipefail {
            words.extend(match self.dialect {
                Dialect::Bash => Some("--shell-options=\"$SHELLOPTS\"".to_owned()),
                Dialect::Zsh => Some(zsh::PIPEFAIL.to_owned()),
                Dialect::Posix => None,
            });
        }
        if self.traced.is_some() {
            words.push(format!("--trace={} --flags=\"$-\"", traced::depth(of)));
        }
        if owns_input {
            words.push("--own-input".to_owned());
        }
        let drops = |stage: &Stage| stage.redirects.iter().any(Redirect::drops_messages);
        let silent = stages.iter().enumerate().filter(|(_, stage)| drops(stage));
        let silent: Vec<String> = silent.map(|(at, _)| (at + 1).to_string()).collect();
        if !silent.is_empty() {
            words.push(format!("--silent={}", silent.join(",")));
        }
        let redirects = stages.iter().flat_map(|stage| &stage.redirects);
        words.extend(redirects.filter_map(|redirect| self.option(redirect)));
        words.push(separator.clone());
        words.join(" ") + " "
    }

    /// Returns a redirection as an option: the call opens the file as the stage would, so that only the stage
    /// fails on an error.
    fn option(&self, redirect: &Redirect) -> Option<String> {
        let (option, file) = option_and_file(redirect)?;
        let written = file.span.of(self.text);
        let quote = if expands_unquoted(written) { "\"" } else { "" };
        Some(format!("--{option}={quote}{written}{quote}"))
    }
}

/// Whether an expansion is of the status of the command before, which a test sets.
pub fn reads_status(written: &str) -> bool {
    written.contains("$?") || written.contains("${?")
}

/// Fails if the beginning of a call could not stand between backquotes as it is.
fn refuse_escapes(beginning: &str, of: &Nested) -> Result<(), String> {
    match of.backquoted && beginning.contains(['\\', '`']) {
        true => {
            Err("backquotes, and a path or an option of pelton's that would need escapes there".to_owned())
        }
        false => Ok(()),
    }
}

/// Returns the option of a call for a redirection, and the name of its file; `None` if a call has no such option.
fn option_and_file(redirect: &Redirect) -> Option<(&'static str, &Word)> {
    match &redirect.kind {
        _ if redirect.drops_messages() => None,
        RedirectKind::Read(file) => Some(("read", file)),
        RedirectKind::Write(file) => Some(("write", file)),
        RedirectKind::Append(file) => Some(("append", file)),
        RedirectKind::Clobber(file) => Some(("clobber", file)),
        _ => None,
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
