//! `set -x`: the shell does not show the call, and the call shows the stages as the shell would.
//!
//! ```text
//! { 2>&9 9>&- pelton pipe --trace=1 --flags="$-" … ::: sort a ::: uniq; } 9>&2 2> /dev/null
//! ```
//!
//! A shell traces a command on the standard error that it has before the command's own redirections.

use super::ShellEffects;
use crate::environ::Environment;
use pelton_record::Span;
use pelton_syntax::{Command, CompoundKind, Nested, Reason, Redirect, RedirectKind, Stage};
use pelton_sys::startup;
use std::path::Path;

/// How calls keep out of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// A descriptor that the text does not use.
    descriptor: u8,
    /// What bash shows as it is written, not as it is expanded: calls in it would show.
    as_written: Vec<Span>,
}

impl Traced {
    /// Whether the text of a pipeline is shown.
    pub fn shows_text_of(&self, one: &Nested) -> bool {
        let span = one.pipeline.span;
        one.is_substituted()
            && self.as_written.iter().any(|shown| shown.start <= span.start && span.end <= shown.end)
    }

    /// Returns what precedes a call, which begins with `words`, and what follows it.
    pub fn around(&self, words: &str) -> (String, String) {
        let fd = self.descriptor;
        (format!("{{ 2>&{fd} {fd}>&- {words}"), format!("; }} {fd}>&2 2> /dev/null"))
    }
}

/// Returns how calls keep out of the trace; `None` if nothing is traced. `names`: whatever in the text may be a name.
///
/// # Errors
/// The reason why no call would show what the shell does.
pub fn traced(
    text: &str,
    names: &[&str],
    effects: &ShellEffects,
    environment: &Environment,
    found: &[Nested],
    functions: &[String],
) -> Result<Option<Traced>, String> {
    if !effects.xtrace {
        return Ok(None);
    }
    if names.contains(&"trap") {
        return Err("tracing and a trap: what that prints while a call runs would be lost".into());
    }
    for name in ["PS4", "BASH_XTRACEFD"] {
        if names.contains(&name) || environment.get(name).is_some() {
            return Err(format!("tracing with `{name}`"));
        }
    }
    let may_close =
        |sign: &str| text.split(sign).skip(1).any(|after| !after.starts_with(|c: char| c.is_ascii_digit()));
    if !startup::was_open(2) || may_close("2>&") || may_close("2<&") {
        return Err("tracing to a standard error that may be closed".into());
    }
    // The shell shows how deep a command stands in `$(…)` by as many `+`.
    let runs_function =
        |one: &Nested| one.pipeline.stages.iter().any(|stage| may_run_one_of(stage, functions));
    if !functions.is_empty() && found.iter().any(|one| one.is_substituted() && runs_function(one)) {
        return Err("tracing, and a function that runs in a `$(…)`".into());
    }
    let uses = |fd: &u8| {
        text.contains(&format!("{fd}>"))
            || text.contains(&format!("{fd}<"))
            || text.contains(&format!("&{fd}"))
    };
    let is_open = |fd: &u8| Path::new("/proc/self/fd").join(fd.to_string()).symlink_metadata().is_ok();
    let descriptor = (3..=9)
        .rev()
        .filter(|fd| !is_open(fd))
        .find(|fd| !uses(fd))
        .ok_or("tracing, while the script uses all descriptors from 3 to 9")?;
    Ok(Some(Traced {
        descriptor,
        as_written: found.iter().flat_map(|one| shown_as_written(one, found, text)).collect(),
    }))
}

/// Returns the parts of a pipeline that bash shows as they are written: the heads of `for`, `select` and `case`, and arrays.
fn shown_as_written<'a>(
    one: &'a Nested,
    found: &'a [Nested],
    text: &'a str,
) -> impl Iterator<Item = Span> + 'a {
    let heads = one.pipeline.stages.iter().filter_map(|stage| match &stage.command {
        Command::Compound(compound) => {
            let has_words =
                matches!(compound.kind, CompoundKind::For | CompoundKind::Select | CompoundKind::Case);
            has_words
                .then(|| Span::new(compound.span.start, body_of(compound.span, one.substitutions, found)))
        }
        _ => None,
    });
    let simple = one.pipeline.stages.iter().filter_map(Stage::simple);
    let assignments = simple.clone().flat_map(|simple| &simple.assignments).map(|one| one.span);
    let words = simple
        .flat_map(|simple| &simple.words)
        .filter(|word| word.opaque().is_some_and(|(reason, _)| reason == Reason::Array));
    let names = assignments.chain(words.map(|word| word.span)).filter_map(|span| array(span, text));
    heads.chain(names)
}

/// Returns the part of an assignment that is written as an array, or as the subscript of one.
fn array(assignment: Span, text: &str) -> Option<Span> {
    let written = assignment.of(text);
    if written.contains("=(") {
        return Some(assignment);
    }
    let (name, _) = written.split_once('=')?;
    name.contains('[')
        .then(|| Span::new(assignment.start, assignment.start + written.rfind("]=").unwrap_or(written.len())))
}

/// Returns where the first command inside of a compound command begins.
fn body_of(compound: Span, substitutions: usize, found: &[Nested]) -> usize {
    let inside = |span: Span| compound.start < span.start && span.end <= compound.end;
    let commands = found.iter().filter(|one| one.substitutions == substitutions && inside(one.pipeline.span));
    commands.map(|one| one.pipeline.span.start).min().unwrap_or(compound.end)
}

fn may_run_one_of(stage: &Stage, functions: &[String]) -> bool {
    let Command::Simple(simple) = &stage.command else { return false };
    let name = simple.words.first().map(|word| word.static_text());
    name.is_some_and(|name| name.is_none_or(|name| functions.contains(&name)))
}

/// Whether it would send standard error, and so the trace, elsewhere.
pub fn redirects_errors(redirect: &Redirect) -> bool {
    redirect.fd == Some(2) || matches!(redirect.kind, RedirectKind::Duplicate(..))
}

/// Returns the number of `+` before a command.
pub fn depth(of: &Nested) -> usize {
    1 + of.substitutions
}
