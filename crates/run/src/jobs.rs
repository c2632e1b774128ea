//! A non-interactive shell's messages on standard error about children killed by a signal.

use crate::environ::Environment;
use crate::plan::PipelinePlan;
use crate::shell::{Behaviour, Shell};
use crate::stage::StagePlan;
use pelton_syntax::Dialect;
use pelton_sys::signals;
use pelton_sys::wait::Ended;
use std::ffi::OsStr;

const SIGINT: i32 = 2;
pub(crate) const SIGPIPE: i32 = 13;
const SIGTERM: i32 = 15;

/// Returns the message for a pipeline that has ended, if the shell would print one.
pub fn message(
    shell: &Shell,
    environment: &Environment,
    name: &OsStr,
    pipeline: &PipelinePlan,
    ends: &[(u32, Ended)],
    pipefail: bool,
    spell: &dyn Fn(&StagePlan) -> String,
) -> Option<String> {
    match shell.dialect {
        Some(Dialect::Bash) => bash(shell.behaviour(environment), name, pipeline, ends, pipefail, spell),
        // zsh prints something only where it reads commands from a terminal.
        Some(Dialect::Zsh) => None,
        Some(Dialect::Posix) | None => dash(ends),
    }
}

/// bash prints a message if the process that decides the pipeline's status was killed, and then for all its
/// processes; for a plain SIGTERM it prints less, in Debian's builds.
fn bash(
    behaviour: Behaviour,
    name: &OsStr,
    pipeline: &PipelinePlan,
    ends: &[(u32, Ended)],
    pipefail: bool,
    spell: &dyn Fn(&StagePlan) -> String,
) -> Option<String> {
    let failed = ends.iter().rev().find(|(_, ended)| pipefail && ended.status() != 0);
    let (_, deciding) = failed.or(ends.last())?;
    let Ended::Signalled(signal, core) = *deciding else { return None };
    match signal {
        SIGINT | SIGPIPE => return None,
        SIGTERM if behaviour.names_terminated => {
            return Some(terminated(behaviour, pipeline, signal, core, spell));
        }
        SIGTERM => return Some(format!("{}{}\n", signals::description(signal), dumped(core))),
        _ => {}
    }
    let columns = behaviour.state_columns;
    let mut text = format!("{}: line {}: ", name.display(), pipeline.line);
    for (i, (stage, (pid, ended))) in pipeline.stages.iter().zip(ends).enumerate() {
        let lead = if i == 0 { "" } else { "     " };
        let bar = if i == 0 { "" } else { "| " };
        let spelled = spell(stage);
        // The state of the first process is not repeated, and the column is then two narrower.
        if i > 0 && *ended == ends[0].1 {
            text.push_str(&format!("{lead}{pid:>5} {:<1$}{bar}{spelled}\n", "", columns - 2));
        } else {
            text.push_str(&format!("{lead}{pid:>5} {:<columns$}{bar}{spelled}\n", state(*ended)));
        }
    }
    Some(text)
}

/// Returns the message about a pipeline whose end SIGTERM decided: no process id, all commands on one line.
fn terminated(
    behaviour: Behaviour,
    pipeline: &PipelinePlan,
    signal: i32,
    core: bool,
    spell: &dyn Fn(&StagePlan) -> String,
) -> String {
    let state = format!("{}{}", signals::description(signal), dumped(core));
    let stages: Vec<String> = pipeline.stages.iter().map(spell).collect();
    format!("{state:<columns$}{}\n", stages.join(" | "), columns = behaviour.state_columns)
}

fn dumped(core: bool) -> &'static str {
    if core { " (core dumped)" } else { "" }
}

fn state(ended: Ended) -> String {
    match ended {
        Ended::Exited(0) => "Done".into(),
        Ended::Exited(code) => format!("Exit {code}"),
        Ended::Signalled(signal, core) => format!("{}{}", signals::description(signal), dumped(core)),
    }
}

/// dash prints the signal of every killed process of the pipeline.
fn dash(ends: &[(u32, Ended)]) -> Option<String> {
    let mut text = String::new();
    for (_, ended) in ends {
        if let Ended::Signalled(signal, core) = *ended
            && signal != SIGINT
            && signal != SIGPIPE
        {
            text.push_str(&format!("{}{}\n", signals::description(signal), dumped(core)));
        }
    }
    (!text.is_empty()).then_some(text)
}
