//! Scripts: the shell expands, branches and loops; pelton runs the pipelines.
//!
//! The shell runs a text with loops, conditions or functions. But adjacent stages that pelton has kernels for
//! become one call of `pelton pipe`, in argument form, so that the shell expands their words as usual:
//!
//! ```text
//! for f in *.log; do grep "$p" "$f" | sort | uniq -c >"$f.out"; done
//! for f in *.log; do pelton pipe SEP grep "$p" "$f" SEP sort SEP uniq -c >"$f.out"; done
//! ```
//!
//! SEP is a word that no expansion can yield, since it is generated each time. Line numbers do not change.
//! Anything that could tell a call from a pipeline is refused, for the stage, the pipeline or the whole text:
//! see `refuse` and `stages`. Compiling only regions of a script and leaving control to the shell is PaSh's
//! idea; just-in-time expansion by the shell is PaSh-JIT's.

mod assigned;
mod calls;
mod echoed;
mod launch;
mod names;
mod outlook;
mod position;
mod refuse;
mod sizes;
mod sourced;
mod stages;
mod traced;
pub(crate) mod zsh;

use crate::environ::Environment;
use crate::lookup::Programs;
use crate::native::files::SMALL_LIMIT_BYTES;
use crate::plan::{ListItem, Plan, Request, system_lacks};

pub use calls::Caller;
use calls::{Edit, Writer};
pub use launch::start;
use pelton_record::Span;
pub use pelton_record::quoted;
use pelton_syntax::{self as syntax, Command, Dialect, Nested, Script};
use pelton_sys::limits;
use refuse::ShellEffects;
use std::collections::BTreeSet;

/// A text whose pipelines call pelton.
#[derive(Debug)]
pub struct Rewritten {
    /// The text for the shell.
    pub text: String,
    /// Every pipeline of two stages or more, and every command that stands alone and is called, in textual order.
    pub pipelines: Vec<Considered>,
    /// Whether the shell must read it in place of the script's file.
    pub from_file: bool,
    /// The files that it sources, whose text is known.
    pub sourced: Vec<SourcedFile>,
}

/// A file that a script sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcedFile {
    /// The name that `.` gets.
    pub name: String,
    /// The line of the script from which it is sourced, from 1.
    pub line: usize,
}

impl Rewritten {
    /// Whether it has any call.
    pub fn has_calls(&self) -> bool {
        self.pipelines.iter().any(|one| one.called > 0)
    }
}

/// A pipeline, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    /// Its position.
    pub span: Span,
    /// Its line, from 1.
    pub line: usize,
    /// How many of its stages pelton runs, in one or more calls.
    pub called: usize,
    /// Its number of stages.
    pub stages: usize,
    /// Why not all: the first reason, to follow 'because of'.
    pub reason: Option<String>,
}

/// Whether the plan leaves to the shell what might hold pipelines: a compound command, or everything.
pub fn may_hold_pipelines(plan: &Plan) -> bool {
    match plan {
        Plan::Whole { .. } => true,
        Plan::Steps(steps) => steps.iter().any(|step| match step {
            ListItem::Set(_) => false,
            ListItem::List(list) => list
                .iter()
                .any(|(_, pipeline)| pipeline.stages.iter().any(|stage| stage.kind.shell_reason().is_some())),
        }),
    }
}

/// Rewrites the text of `request`.
///
/// # Errors
/// The reason why the text should stay unchanged, to follow 'because of'.
pub fn rewrite(request: &Request, environment: &Environment, caller: &Caller) -> Result<Rewritten, String> {
    if let Some(reason) = system_lacks(request) {
        return Err(reason.into());
    }
    if limits::has_file_limit_below(SMALL_LIMIT_BYTES) {
        return Err("a limit on the size of files: the shell shows the text of what it ends".into());
    }
    let dialect = request.shell.dialect.ok_or("the shell, whose grammar is not modelled")?;
    if let Some(name) = environment.upsetting(dialect) {
        return Err(format!("the environment ({name}), which changes how the shell works"));
    }
    let text = request.text.to_str().ok_or("bytes in the text that are not UTF-8")?;
    let from_file = launch::may_read_file(request);
    if !from_file && request.script.is_some() && dialect != Dialect::Posix {
        return Err(
            "the processor, on which the shell cannot be given another text in place of its script".into()
        );
    }
    if text.len() > LONGEST && !from_file {
        return Err("its length".into());
    }
    let script = syntax::parse(text, dialect).map_err(|error| format!("its syntax: {}", error.message))?;
    if let Some(why) = script.unmodelled() {
        return Err(why.describe().into());
    }
    let found = pipelines(&script);
    let sourced = sourced::read(text, &script, &found, request, environment)?;
    let own_functions = functions(&found);
    let functions = sourced.texts(text, &found).flat_map(|(_, found)| functions(found)).collect::<Vec<_>>();
    if functions.iter().any(|name| name == "exec") {
        return Err("a function named `exec`, by which calls take the place of a subshell".into());
    }
    let stages =
        || sourced.texts(text, &found).flat_map(|(_, found)| found).flat_map(|one| &one.pipeline.stages);
    let computes = stages().any(runs_what_it_computes);
    let all = sourced.joined(text);
    let known = refuse::Known { dialect, from_file, computes };
    let manner = refuse::manner(&all, &request.shell_flags, known)?;
    let names: Vec<&str> = all.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let unset = (sourced.texts(text, &found))
        .map(|(text, found)| assigned::may_be_unset(text, &names, found, computes))
        .collect::<Option<Vec<_>>>();
    let assigned = unset.map_or(vec![], |unset| {
        let known = script.assigned.iter().chain(&sourced.assigned);
        known.filter(|one| !unset.iter().any(|unset| unset.contains(&one.name))).cloned().collect()
    });
    let programs = &Programs::new(environment);
    let judge = stages::Judge {
        text,
        environment,
        programs,
        manner: &manner,
        functions: &functions,
        assigned: &assigned,
        dialect,
        all: &all,
        computes,
        names: &names,
    };
    let (names_path, names_line) = (all.contains("PATH"), all.contains("LINENO"));
    if dialect == Dialect::Zsh {
        zsh::check_run(request, &sourced, &found, &manner)?;
    }
    let traced = traced::traced(&all, &names, &manner, environment, &found, &functions)?;
    if traced.is_some() && !sourced.files.is_empty() && !own_functions.is_empty() {
        return Err("tracing, and functions that sourced files may call".into());
    }
    let writer = Writer {
        text,
        caller,
        shell: &request.shell,
        dialect,
        effects: manner,
        names_path,
        names_line,
        traced,
        functions: function_spans(&found),
        sees_lines: dialect == Dialect::Zsh && zsh::sees_lines(&names),
    };
    let outlook = outlook::Outlook::new(text, environment, programs);
    let (mut edits, mut considered, mut cut_names) = (Vec::new(), Vec::new(), Vec::new());
    let sizes = sizes::Sizes::new(text, &found, request);
    for one in &found {
        let (own, reason) = match one.pipeline.stages.as_slice() {
            [stage] => match consider_single(stage, one, &judge, &outlook, &writer, &sizes) {
                Some(edits) => (edits, None),
                None => {
                    cut_names.extend(writer.cuts_names(stage, one, &judge, &outlook));
                    continue;
                }
            },
            _ => consider(one, &judge, &outlook, &writer, &sizes),
        };
        let called = own.iter().map(|edit| edit.stages).sum();
        let line = 1 + text[..one.pipeline.span.start].matches('\n').count();
        considered.push(Considered {
            span: one.pipeline.span,
            line,
            called,
            stages: one.pipeline.stages.len(),
            reason,
        });
        edits.extend(own);
    }
    considered.sort_by_key(|one| one.span.start);
    // Without a call the script is not worth rewriting.
    if considered.iter().any(|one| one.called > 0) {
        edits.extend(cut_names.into_iter().flatten());
    }
    let named = |file: sourced::Library| Some(SourcedFile { name: file.name, line: file.line? });
    let sourced = sourced.files.into_iter().filter_map(named).collect();
    Ok(Rewritten { text: calls::apply(text, edits), pipelines: considered, from_file, sourced })
}

/// The system limits an argument to 128 KiB, and calls are longer than what they replace.
const LONGEST: usize = 64 * 1024;

/// Returns every pipeline of the text: those at the top like the nested ones, without loops.
pub(crate) fn pipelines(script: &Script) -> Vec<Nested> {
    let top = script.items.iter().flat_map(|item| item.and_or.pipelines().map(|it| (it, item.background)));
    let top = top.map(|(pipeline, background)| Nested {
        pipeline: pipeline.clone(),
        background,
        substitutions: 0,
        backquoted: false,
        in_here_document: false,
        loop_variables: vec![],
    });
    top.chain(script.nested.iter().cloned()).collect()
}

/// Whether `text` is a loop of the shell, or a group of commands, that starts processes: for an external
/// command, a pipeline or a `$(…)`.
pub(crate) fn is_loop_of_processes(text: &str) -> bool {
    let Ok(script) = syntax::parse(text, Dialect::Bash) else { return false };
    let compound = |stage: &syntax::Stage| matches!(stage.command, Command::Compound(_));
    let substitutes = |stage: &syntax::Stage| {
        stage.words().flat_map(|word| &word.parts).any(|part| {
            use syntax::{Reason, WordPart};
            let WordPart::Opaque { reason, .. } = part else { return false };
            matches!(reason, Reason::CommandSubstitution | Reason::ProcessSubstitution)
        })
    };
    let starts = |stage: &syntax::Stage| {
        let name = stage.simple().and_then(|simple| simple.words.first()).and_then(syntax::Word::static_text);
        substitutes(stage) || name.is_some_and(|name| !crate::is_builtin(&name))
    };
    script.stages().all(compound)
        && pipelines(&script)
            .iter()
            .any(|found| found.pipeline.stages.len() > 1 || found.pipeline.stages.iter().any(starts))
}

/// Whether the name of the command is computed: any command may be meant.
fn runs_what_it_computes(stage: &syntax::Stage) -> bool {
    let name = stage.simple().and_then(|simple| simple.words.first());
    name.is_some_and(|name| name.static_text().is_none())
}

/// Returns the names of all functions that the text defines anywhere.
fn functions(found: &[Nested]) -> Vec<String> {
    let stages = found.iter().flat_map(|one| &one.pipeline.stages);
    let names = stages.filter_map(|stage| match &stage.command {
        Command::Function { name } => Some(name.clone()),
        _ => None,
    });
    names.collect()
}

/// Returns where the text defines functions.
fn function_spans(found: &[Nested]) -> Vec<Span> {
    let stages = found.iter().flat_map(|one| &one.pipeline.stages);
    stages.filter(|stage| matches!(stage.command, Command::Function { .. })).map(|stage| stage.span).collect()
}

/// Returns the call of a command that stands alone; `None` if it stays as it is.
fn consider_single(
    stage: &syntax::Stage,
    found: &Nested,
    judge: &stages::Judge<'_>,
    outlook: &outlook::Outlook<'_>,
    writer: &Writer<'_>,
    sizes: &sizes::Sizes<'_>,
) -> Option<Vec<Edit>> {
    let shown = writer.traced.as_ref().is_some_and(|traced| traced.shows_text_of(found));
    if shown || found.background || found.pipeline.timed || !sizes.is_worth_a_call(stage) {
        return None;
    }
    judge.single(stage, found).ok()?;
    match outlook.nothing_gained(std::slice::from_ref(stage)) {
        Some(_) => None,
        None => writer.single(stage, found).ok(),
    }
}

/// Returns the calls of one pipeline, and why it is not one call.
fn consider(
    found: &Nested,
    judge: &stages::Judge<'_>,
    outlook: &outlook::Outlook<'_>,
    writer: &Writer<'_>,
    sizes: &sizes::Sizes<'_>,
) -> (Vec<Edit>, Option<String>) {
    let pipeline = &found.pipeline;
    if found.background && writer.effects.handles_jobs {
        return (vec![], Some("`&`: its processes may be looked at or get signals".into()));
    }
    if pipeline.timed {
        return (vec![], Some("the shell's `time`, which reports on it".into()));
    }
    if writer.traced.as_ref().is_some_and(|traced| traced.shows_text_of(found)) {
        return (vec![], Some("tracing: bash shows this text as it is written".into()));
    }
    let last = pipeline.stages.len() - 1;
    let judged: Vec<Result<BTreeSet<String>, String>> = (pipeline.stages.iter().enumerate())
        .map(|(at, stage)| judge.stage(stage, at == 0, at == last, found))
        .collect();
    if let Some(edits) = fed_by_echo(found, judge, &judged, outlook, writer) {
        return (edits, None);
    }
    let mut reason = judged.iter().find_map(|one| one.clone().err());
    let (mut edits, mut alone) = (Vec::new(), None);
    let mut at = 0;
    while at <= last {
        let needed: Vec<&BTreeSet<String>> = judged[at..].iter().map_while(|one| one.as_ref().ok()).collect();
        let run = needed.len();
        if run >= 2 || run == 1 && sizes.is_worth_a_call(&pipeline.stages[at]) {
            let stages = &pipeline.stages[at..at + run];
            let needed = needed.into_iter().flatten().collect();
            match outlook.nothing_gained(stages) {
                Some(why) => reason = reason.or(Some(format!("stages that no kernel serves ({why})"))),
                None => match writer.call(stages, found, at == 0, &needed) {
                    Ok(calls) => edits.extend(calls),
                    Err(why) => reason = reason.or(Some(why)),
                },
            }
        } else if run == 1 {
            alone = pipeline.stages[at].simple().and_then(|simple| simple.words.first()?.static_text());
        }
        at += run.max(1);
    }
    if let (Some(why), Some(name), true) = (&mut reason, alone, edits.is_empty()) {
        *why += &format!("; `{name}` alone reads little, as far as is known before");
    }
    (edits, reason)
}

/// Returns the call of all stages behind an `echo`, which gets what that would print; `None` if they need the process.
fn fed_by_echo(
    found: &Nested,
    judge: &stages::Judge<'_>,
    judged: &[Result<BTreeSet<String>, String>],
    outlook: &outlook::Outlook<'_>,
    writer: &Writer<'_>,
) -> Option<Vec<Edit>> {
    let (first, rest) = found.pipeline.stages.split_first()?;
    let always = |one: &Result<BTreeSet<String>, String>| one.as_ref().is_ok_and(BTreeSet::is_empty);
    if rest.is_empty() || !judged[1..].iter().all(always) {
        return None;
    }
    // The test before the call sets the status.
    if calls::reads_status(found.pipeline.span.of(judge.text)) {
        return None;
    }
    let echoed = echoed::Echoed::of(first, found, judge)?;
    // The first time, bash may be asked its version.
    let gains = outlook.nothing_gained(rest).is_none() && writer.shell.fills_pipes(judge.environment);
    gains.then(|| writer.fed(&echoed, first, rest, found))?
}

#[cfg(test)]
mod tests;
