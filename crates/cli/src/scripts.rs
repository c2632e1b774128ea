//! Texts that the shell runs with calls of pelton in place of pipelines.

use crate::shared_options::{PassArgs, SwitchArgs};
use pelton_run::script::{self, Caller, Rewritten};
use pelton_run::{Environment, Plan, Request, Switches};
use std::hash::{BuildHasher, RandomState};

/// The pipelines of a script.
#[derive(Default)]
pub struct Pipelines {
    /// How many run natively, at least in part.
    pub native: usize,
    pub all: usize,
    /// The lines of the others, as far as they are known.
    pub other_lines: Vec<usize>,
}

/// Returns how many of a script's pipelines run natively.
pub fn native_pipelines(request: &Request, plan: &Plan, environment: &Environment) -> Pipelines {
    let (switches, passes) = (SwitchArgs::default(), PassArgs::default());
    match rewritten(request, plan, environment, &switches, &passes) {
        Some(Ok(rewritten)) => {
            let others = rewritten.pipelines.iter().filter(|one| one.called == 0);
            let other_lines: Vec<usize> = others.map(|one| one.line).collect();
            let all = rewritten.pipelines.len();
            Pipelines { native: all - other_lines.len(), all, other_lines }
        }
        Some(Err(_)) => Pipelines::default(),
        None => {
            let explained = pelton_run::explain(plan, request, environment, &Switches::default(), false);
            let native = explained.iter().filter(|one| one.planned.estimate().is_some());
            Pipelines { native: native.count(), all: explained.len(), other_lines: Vec::new() }
        }
    }
}

/// Returns the rewritten text, or why it stays as it is; `None` if pelton runs all of it anyway, or does not model its
/// shell.
pub fn rewritten(
    request: &Request,
    plan: &Plan,
    environment: &Environment,
    switches: &SwitchArgs,
    passes: &PassArgs,
) -> Option<Result<Rewritten, String>> {
    if request.shell.dialect.is_none() || !script::may_hold_pipelines(plan) {
        return None;
    }
    let program = std::env::current_exe().ok()?.into_os_string().into_string().ok()?;
    let caller = Caller { program, options: options(switches, passes), separator: separator() };
    Some(script::rewrite(request, environment, &caller))
}

/// Forwards options of `run` to `pipe`.
fn options(switches: &SwitchArgs, passes: &PassArgs) -> Vec<String> {
    let mut options = Vec::new();
    options.extend(switches.without.iter().map(|name| format!("--without={name}")));
    options.extend(switches.only.iter().map(|name| format!("--only={name}")));
    options.extend(switches.stateless.iter().map(|command| format!("--stateless={command}")));
    options.extend(passes.cores.jobs.map(|jobs| match jobs {
        pelton_run::Jobs::Auto => "--jobs=auto".to_owned(),
        pelton_run::Jobs::Fixed(count) => format!("--jobs={count}"),
    }));
    options.extend(passes.cores.nice.map(|nice| format!("--nice={nice}")));
    if let Some(bytes) = passes.memory {
        options.extend([format!("--memory={bytes}"), format!("--memory-key={}", passes.memory_key())]);
    }
    options.extend(passes.log_calls.iter().map(|file| format!("--log-calls={file}")));
    options
}

/// A separator that texts contain only by guessing 128 random bits.
fn separator() -> String {
    let random = || RandomState::new().hash_one(0_u8);
    format!(":::{:016x}{:016x}", random(), random())
}
