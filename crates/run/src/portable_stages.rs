//! The stages of a pipeline, for running some of them elsewhere: on parts of the input, or on another machine.

use crate::environ::Environment;
use crate::expand;
use crate::native::choose;
use crate::plan::{ListItem, Plan, Request};
use crate::stage::{Kind, StagePlan, Surroundings};
use pelton_plan::Candidate;
use pelton_syntax::{Command, RedirectKind};
use pelton_sys::spawn::Action;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// One stage of a pipeline.
#[derive(Debug)]
pub struct PortableStage {
    /// The stage as the planner sees it.
    pub candidate: Candidate,
    /// The stage as written, with its redirections.
    pub text: String,
    /// How another shell starts its program without this one's variables and files, or why none can.
    pub call: Result<Call, String>,
    /// The file that it reads (`< file`), if it does.
    pub reads: Option<Vec<u8>>,
    /// The redirection of its standard output, as written, if it has one.
    pub writes: Option<String>,
    /// The file that this redirection names.
    pub written: Option<Vec<u8>>,
}

/// A program that a stage starts.
#[derive(Clone, Debug)]
pub struct Call {
    /// The assignments before it, expanded.
    pub assignments: Vec<(String, Vec<u8>)>,
    /// Its name as written.
    pub name: Vec<u8>,
    /// Its expanded arguments.
    pub args: Vec<Vec<u8>>,
    /// Where it was found.
    pub program: PathBuf,
}

/// Returns the stages of a text that is one pipeline.
///
/// # Errors
/// The reason, to follow 'because of', if it is more than that, or the shell runs it whole.
pub fn portable_stages(
    plan: &Plan,
    request: &Request,
    environment: &Environment,
) -> Result<Vec<PortableStage>, String> {
    let items = match plan {
        Plan::Whole { reason } => return Err(reason.clone()),
        Plan::Steps(items) => items.as_slice(),
    };
    if items.is_empty() {
        return Err("a text without a command".into());
    }
    let [ListItem::List(list)] = items else { return Err("several lists, or options of the shell".into()) };
    let [(None, pipeline)] = list.as_slice() else { return Err("several pipelines".into()) };
    if pipeline.negated {
        return Err("`!` before it".into());
    }
    if !request.args.is_empty() {
        return Err("arguments of the text".into());
    }
    if pipeline.stages.iter().any(|stage| stage.syntax.pipes_stderr) {
        return Err("messages that go into a pipe (`|&`)".into());
    }
    let around = request.surroundings(environment, &[]);
    let candidates = choose::candidates(&pipeline.stages, &around, &mut environment.detector());
    let text = request.text.to_str().unwrap_or_default();
    let stages = pipeline.stages.iter().zip(candidates);
    stages.map(|(stage, candidate)| portable(stage, candidate, text, &around)).collect()
}

fn portable(
    stage: &StagePlan,
    candidate: Candidate,
    text: &str,
    around: &Surroundings<'_>,
) -> Result<PortableStage, String> {
    let (mut reads, mut writes, mut written) = (None, None, None);
    for redirect in &stage.syntax.redirects {
        match &redirect.kind {
            RedirectKind::Read(word) if redirect.fd.is_none_or(|fd| fd == 0) && reads.is_none() => {
                reads = Some(expand::file_name(word, around.environment)?);
            }
            RedirectKind::Write(word) | RedirectKind::Clobber(word) | RedirectKind::Append(word)
                if redirect.fd.is_none_or(|fd| fd == 1) && writes.is_none() =>
            {
                writes = Some(redirect.span.of(text).to_owned());
                written = Some(expand::file_name(word, around.environment)?);
            }
            _ => return Err("a redirection beyond `< file` and `> file`".into()),
        }
    }
    let call = call(stage, around);
    let text = stage.span.of(text).to_owned();
    Ok(PortableStage { candidate, text, call, reads, writes, written })
}

fn call(stage: &StagePlan, around: &Surroundings<'_>) -> Result<Call, String> {
    if stage.kind != Kind::Program {
        let reason = stage.kind.shell_reason();
        return Err(reason.map_or_else(
            || "a builtin of the shell".to_owned(),
            |reason| format!("the shell runs it, because of {reason}"),
        ));
    }
    let Command::Simple(simple) = &stage.syntax.command else { return Err("a compound command".into()) };
    let Action::Exec(exec) = stage.program(around)?.child.action else { return Err("no program".into()) };
    let mut assignments = Vec::new();
    for one in &simple.assignments {
        assignments.push((one.name.clone(), expand::value(&one.value, around.environment)?));
    }
    let mut words = exec.argv.iter().map(|word| word.as_bytes().to_vec());
    Ok(Call {
        assignments,
        name: words.next().ok_or("no program")?,
        args: words.collect(),
        program: PathBuf::from(OsStr::from_bytes(exec.path.as_bytes())),
    })
}
