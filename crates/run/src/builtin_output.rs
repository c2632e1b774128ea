//! Stages that the shell runs itself, without starting a program.

use crate::stage::{Kind, StagePlan};
use pelton_syntax::{self as syntax, Command, CompoundKind, Dialect, Reason, Script, Stage, Word, WordPart};

/// Builtins that print.
const PRINT: [&str; 4] = ["echo", "printf", "pwd", "type"];

/// Builtins that neither print nor wait.
const AT_ONCE: [&str; 23] = [
    ":", "[", "break", "cd", "continue", "declare", "exit", "export", "false", "getopts", "let", "local",
    "readonly", "return", "set", "shift", "shopt", "test", "trap", "true", "typeset", "umask", "unset",
];

/// Whether the stage prints, and consists of commands that the shell runs itself. `first`: its input comes from no
/// other stage.
///
/// The shell runs such a stage in a child of its own: `for i in 1 2 3; do echo $i; done | head -n 1` has ended
/// before `head` has even started, and under pipefail it would show if it had not. In pelton it is a process that
/// takes as long to start as `head`. Stages that may start programs or wait have no such lead in the shell either.
pub(crate) fn prints_without_programs(stage: &StagePlan, dialect: Dialect, first: bool) -> bool {
    match &stage.kind {
        Kind::Program | Kind::Builtin(_) => false,
        Kind::ShellBuiltin { name } => PRINT.contains(&name.as_str()),
        Kind::Shell { .. } => syntax::parse(&stage.shell_text, dialect)
            .is_ok_and(|script| only_builtins(&script, stage, dialect, first)),
    }
}

fn only_builtins(script: &Script, plan: &StagePlan, dialect: Dialect, first: bool) -> bool {
    let nested: Option<Vec<Script>> = script
        .nested
        .iter()
        .map(|nested| syntax::parse(nested.pipeline.span.of(&plan.shell_text), dialect).ok())
        .collect();
    let Some(nested) = nested else { return false };
    let all = || std::iter::once(script).chain(&nested);
    if all().flat_map(|script| &script.items).any(|item| item.background) {
        return false;
    }
    let stages = || all().flat_map(Script::stages);
    let functions: Vec<&str> = stages().filter_map(defines).collect();
    let is_quick = |stage: &Stage| match &stage.command {
        Command::Function { .. } => true,
        Command::Compound(compound) => !matches!(
            compound.kind,
            CompoundKind::Select | CompoundKind::Coproc | CompoundKind::Unmodelled(_)
        ),
        Command::Simple(_) if stage.words().any(starts_process) => false,
        Command::Simple(simple) => simple.words.first().is_none_or(|word| {
            word.static_text().is_some_and(|name| {
                let name = name.as_str();
                let known = PRINT.contains(&name) || AT_ONCE.contains(&name) || functions.contains(&name);
                known || first && name == "read"
            })
        }),
    };
    stages().all(is_quick)
        && stages().any(|stage| PRINT.contains(&name_of(stage).as_deref().unwrap_or_default()))
}

fn starts_process(word: &Word) -> bool {
    let starts = |reason: Reason| matches!(reason, Reason::CommandSubstitution | Reason::ProcessSubstitution);
    word.parts.iter().any(|part| matches!(part, WordPart::Opaque { reason, .. } if starts(*reason)))
}

fn defines(stage: &Stage) -> Option<&str> {
    match &stage.command {
        Command::Function { name } => Some(name),
        _ => None,
    }
}

fn name_of(stage: &Stage) -> Option<String> {
    stage.simple()?.words.first()?.static_text()
}
