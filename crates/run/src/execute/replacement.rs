//! The program that this process may become in place of running a text.

use super::options::Options;
use crate::environ::Environment;
use crate::parts;
use crate::plan::{ListItem, PipelinePlan, Plan, Request};
use crate::stage::{Kind, Surroundings};
use pelton_syntax::Dialect;
use pelton_sys::spawn::{Action, Exec};
use std::os::unix::ffi::OsStrExt;

/// Returns the program that this process should exec instead of running the plan: the shell, for a text it
/// must run whole, or the program of a text that is one plain command. Not for observed runs.
pub fn replacement(
    plan: &Plan,
    request: &Request,
    environment: &Environment,
    options: &Options,
) -> Option<Exec> {
    match plan {
        Plan::Whole { .. } => whole(request, environment),
        Plan::Steps(steps) => {
            let [ListItem::List(list)] = steps.as_slice() else { return None };
            let [(None, pipeline)] = list.as_slice() else { return None };
            let [stage] = pipeline.stages.as_slice() else { return None };
            if stage.kind.shell_reason().is_some() {
                // The text is a single stage that the shell runs: it gets the text unchanged.
                return whole(request, environment);
            }
            let name = stage.name.as_bytes();
            let has_kernel = options.native.is_some()
                && (pelton_commands::lookup(name).is_some_and(|tool| tool.has_kernel())
                    || parts::may_be(name));
            if !shell_becomes(pipeline, request) || stage.kind != Kind::Program || has_kernel {
                return None;
            }
            let around = Surroundings { execed: true, ..request.surroundings(environment, &[]) };
            match stage.program(&around).ok()?.child.action {
                Action::Exec(exec) => Some(exec),
                Action::Exit(_) => None,
            }
        }
    }
}

/// Whether the shell would exec the program of this last pipeline of a text instead of starting it: bash does
/// so for a plain command without redirections, but not in a script file.
pub(super) fn shell_becomes(pipeline: &PipelinePlan, request: &Request) -> bool {
    let bash = request.shell.dialect == Some(Dialect::Bash) && request.script.is_none();
    // It must have nothing left to read after the command's line.
    let behind = request.text.to_str().and_then(|text| text.get(pipeline.span.end..)).unwrap_or_default();
    let ends_there = behind.split_once('\n').is_none_or(|(_, more)| more.is_empty());
    bash && ends_there
        && !pipeline.negated
        && matches!(pipeline.stages.as_slice(), [stage] if stage.is_execed_by_a_shell())
}

/// Returns the shell that runs the whole text itself; `None` if the text holds a NUL byte.
pub fn shell_call(request: &Request, environment: &Environment) -> Option<Exec> {
    whole(request, environment)
}

pub(super) fn whole(request: &Request, environment: &Environment) -> Option<Exec> {
    let env = environment.as_inherited();
    let flags = request.shell_flags.iter().map(|flag| flag.to_str()).collect::<Option<Vec<_>>>()?;
    match &request.script {
        Some(file) => request.shell.call_script(file, &request.shell_flags, &request.args, &env),
        None if request.is_expanded => {
            let text = request.text.as_bytes();
            request.shell.call_stages(&flags, text, &request.name, &request.args, &env)
        }
        None => request.shell.call(&flags, request.text.as_bytes(), &request.name, &request.args, &env),
    }
}
