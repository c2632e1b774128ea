//! What each stage is, and how its pipeline would be run natively.

use super::{Unit, prepare};
use crate::environ::Environment;
use crate::plan::{Plan, Request, ShellOption, Step};
use crate::stage::{Kind, StagePlan, Surroundings};
use pelton_commands::detect::{CacheFile, Detector, Store, SystemProbe};
use pelton_commands::{Context, Declined, Family, Implementation, Locale, SystemLocales};
use pelton_plan::{Candidate, Planned, Segment, Switches};
use pelton_syntax::RedirectKind;
use pelton_sys::spawn::{Action, Exec, Redirection};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What a stage would be as a process, and what the planner needs to know of it.
struct Understood {
    candidate: Candidate,
    exec: Option<Exec>,
    redirections: Vec<Redirection>,
    locale: Option<Locale>,
}

/// How each pipeline of a text would be run, for `explain`: its source text, and its plan.
pub fn explain(
    plan: &Plan,
    request: &Request,
    environment: &Environment,
    switches: &Switches,
) -> Vec<(String, Planned)> {
    let Plan::Steps(steps) = plan else { return Vec::new() };
    let cache = CacheFile::of_user(|name| environment.get(name).map(PathBuf::from));
    let mut detector = Detector::new(&SystemProbe, cache.as_ref().map(|cache| cache as &dyn Store));
    let around = crate::execute::surroundings(request, environment, &[]);
    let text = request.text.to_str().unwrap_or_default();
    let mut pipefail = false;
    let mut explained = Vec::new();
    for step in steps {
        match step {
            Step::Set(options) => {
                let last = options.iter().rev().find(|(option, _)| *option == ShellOption::Pipefail);
                pipefail = last.map_or(pipefail, |(_, on)| *on);
            }
            Step::List(list) => explained.extend(list.iter().map(|(_, pipeline)| {
                let (planned, _) =
                    plan_pipeline(&pipeline.stages, &around, switches, pipefail, &mut detector);
                (pipeline.span.of(text).to_string(), planned)
            })),
        }
    }
    explained
}

/// Plans one pipeline for native running.
pub fn plan_pipeline(
    stages: &[StagePlan],
    around: &Surroundings<'_>,
    switches: &Switches,
    pipefail: bool,
    detector: &mut Detector<'_>,
) -> (Planned, Vec<Unit>) {
    let mut execs = Vec::with_capacity(stages.len());
    let mut redirections = Vec::with_capacity(stages.len());
    let mut candidates = Vec::with_capacity(stages.len());
    let mut locales = Vec::with_capacity(stages.len());
    for (i, stage) in stages.iter().enumerate() {
        let understood = understand(i, stage, around, detector);
        execs.push(understood.exec);
        locales.push(understood.locale);
        redirections.push(understood.redirections);
        candidates.push(understood.candidate);
    }
    let mut locales: Vec<Locale> = locales.into_iter().flatten().collect();
    locales.dedup();
    if locales.len() > 1 {
        // Rules read arguments again, in one locale for all.
        for candidate in candidates.iter_mut().filter(|candidate| candidate.command.is_ok()) {
            candidate.command = Declined::because("the stages run in different locales");
        }
    }
    let locale = locales.pop().unwrap_or(Locale::C);
    let context = Context { locale, implementation: Implementation::tested(Family::GnuCoreutils) };
    let planned = pelton_plan::plan(candidates, &pelton_plan::Surroundings { pipefail, context }, switches);
    let mut units = Vec::new();
    for segment in &planned.segments {
        match segment {
            Segment::Process(stage) => units.push(Unit::Process(*stage)),
            Segment::Native { stages: range, nodes } => {
                match prepare::segment(range.clone(), nodes, stages, &execs, &mut redirections) {
                    Some(native) => units.push(Unit::Native(Box::new(native))),
                    None => units.extend(range.clone().map(Unit::Process)),
                }
            }
        }
    }
    (planned, units)
}

fn understand(
    i: usize,
    stage: &StagePlan,
    around: &Surroundings<'_>,
    detector: &mut Detector<'_>,
) -> Understood {
    let reads_file = stage.syntax.redirects.iter().any(|r| matches!(r.kind, RedirectKind::Read(_)));
    let writes_file = stage.syntax.redirects.iter().any(|r| !matches!(r.kind, RedirectKind::Read(_)));
    let mut understood = Understood {
        candidate: Candidate {
            name: stage.name.clone(),
            args: Vec::new(),
            command: Err(Declined::new("")),
            shares_stdin: i == 0 && !reads_file,
            redirects_stdout: writes_file,
            redirects_stdin: reads_file,
        },
        exec: None,
        redirections: Vec::new(),
        locale: None,
    };
    match command_of(stage, around, detector, &mut understood) {
        Ok(command) => understood.candidate.command = Ok(command),
        Err(declined) => understood.candidate.command = Err(declined),
    }
    understood
}

fn command_of(
    stage: &StagePlan,
    around: &Surroundings<'_>,
    detector: &mut Detector<'_>,
    understood: &mut Understood,
) -> pelton_commands::Accept<Box<dyn pelton_commands::Command>> {
    match &stage.kind {
        Kind::Program => {}
        Kind::Builtin(_) => return Declined::because("a builtin of the shell"),
        Kind::Shell { reason } => {
            return Declined::because(format!("the shell runs it, because of {reason}"));
        }
    }
    let native = stage.program(around).map_err(Declined::new)?;
    let Action::Exec(exec) = native.action else { return Declined::because("no program") };
    let path = Path::new(std::ffi::OsStr::from_bytes(exec.path.as_bytes()));
    let name = path.file_name().map(|name| name.as_bytes().to_vec()).unwrap_or_default();
    if pelton_commands::lookup(&name).is_none() {
        return Declined::because(format!("{} has no kernel", String::from_utf8_lossy(&name)));
    }
    check_redirects(stage)?;
    let variable = |wanted: &str| {
        let value = |pair: &std::ffi::CString| {
            let rest = pair.as_bytes().strip_prefix(wanted.as_bytes())?;
            rest.strip_prefix(b"=").map(<[u8]>::to_vec)
        };
        exec.envp.iter().find_map(value)
    };
    let locale = Locale::resolve(variable, &SystemLocales::default())?;
    let context = Context { locale: locale.clone(), implementation: detector.identify(path) };
    let args: Vec<Vec<u8>> = exec.argv.iter().skip(1).map(|arg| arg.as_bytes().to_vec()).collect();
    let command = pelton_commands::accept(&name, &args, &context)?;
    understood.candidate.name = String::from_utf8_lossy(&name).into_owned();
    understood.candidate.args = args;
    understood.exec = Some(exec);
    understood.locale = Some(locale);
    understood.redirections = native.redirections;
    Ok(command)
}

/// Only plain files, and only as standard input and standard output: everything else is the real command's.
fn check_redirects(stage: &StagePlan) -> Result<(), Declined> {
    if stage.syntax.pipes_stderr {
        return Declined::because("its standard error goes into the pipe");
    }
    for redirect in &stage.syntax.redirects {
        let plain = match redirect.kind {
            RedirectKind::Read(_) => redirect.fd.is_none_or(|fd| fd == 0),
            RedirectKind::Write(_) | RedirectKind::Append(_) | RedirectKind::Clobber(_) => {
                redirect.fd.is_none_or(|fd| fd == 1)
            }
            _ => false,
        };
        if !plain {
            return Declined::because("a redirection that only the real command can have");
        }
    }
    if stage.syntax.redirects.len() > 2 {
        return Declined::because("several redirections");
    }
    Ok(())
}
