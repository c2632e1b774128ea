//! Stages that the shell runs itself, without starting a program: what they print first, and what they never read.

use crate::stage::{Kind, StagePlan};
use pelton_syntax::{self as syntax, Command, CompoundKind, Dialect, Reason, Script, Stage, Word, WordPart};

/// Builtins that print.
const PRINT: [&str; 4] = ["echo", "printf", "pwd", "type"];

/// Builtins that neither print nor wait.
const AT_ONCE: [&str; 23] = [
    ":", "[", "break", "cd", "continue", "declare", "exit", "export", "false", "getopts", "let", "local",
    "readonly", "return", "set", "shift", "shopt", "test", "trap", "true", "typeset", "umask", "unset",
];

/// Programs that end at once, and read nothing.
const END_AT_ONCE: [&str; 2] = ["false", "true"];

/// Whether the stage ends at once without reading its input: what writes to it may be ended by SIGPIPE before it prints.
pub(crate) fn ends_without_reading(stage: &StagePlan, dialect: Dialect) -> bool {
    match &stage.kind {
        Kind::Builtin(_) => true,
        Kind::Program => END_AT_ONCE.contains(&stage.name.as_str()),
        Kind::ShellBuiltin { name } => is_quick_builtin(name),
        Kind::Shell { .. } => syntax::parse(&stage.shell_text, dialect)
            .is_ok_and(|script| only_builtins(&script, stage, dialect, false).is_some()),
    }
}

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
            .is_ok_and(|script| only_builtins(&script, stage, dialect, first).is_some_and(|prints| prints.0)),
    }
}

fn is_quick_builtin(name: &str) -> bool {
    PRINT.contains(&name) || AT_ONCE.contains(&name)
}

/// Whether a stage of builtins prints.
struct Prints(bool);

/// Checks that the stage consists of quick builtins, and of `read` if `may_read`.
fn only_builtins(script: &Script, plan: &StagePlan, dialect: Dialect, may_read: bool) -> Option<Prints> {
    let nested: Option<Vec<Script>> = script
        .nested
        .iter()
        .map(|nested| syntax::parse(nested.pipeline.span.of(&plan.shell_text), dialect).ok())
        .collect();
    let nested = nested?;
    let all = || std::iter::once(script).chain(&nested);
    if all().flat_map(|script| &script.items).any(|item| item.background) {
        return None;
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
                is_quick_builtin(name) || functions.contains(&name) || may_read && name == "read"
            })
        }),
    };
    let prints = |stage: &Stage| PRINT.contains(&name_of(stage).as_deref().unwrap_or_default());
    stages().all(is_quick).then(|| Prints(stages().any(prints)))
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
