//! Decides what pelton starts itself, what the shell runs for one stage, and what the shell runs whole.
//!
//! Every stage of a pipeline runs in its own subshell, so a separate shell can run one that pelton does not
//! model, unless the difference would show (`$$`, `$!`, the status of an earlier command …): then the shell
//! runs the whole text. Only what is listed here is considered safe.

use crate::environ::{self, Environment};
use crate::expand::command_name;
use crate::lookup;
use crate::shell::Shell;
use crate::shell_queries;
use crate::stage::{self, Kind, Memo, StagePlan, Surroundings};
use pelton_record::Span;
use pelton_syntax::{self as syntax, Command, Connector, Dialect, Script, SyntaxError};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What to run.
#[derive(Clone, Debug)]
pub struct Request {
    /// The shell text.
    pub text: OsString,
    /// `$0`, which is also the name in the shell's messages.
    pub name: OsString,
    /// `$1` and so on.
    pub args: Vec<OsString>,
    /// The regular file the text was read from, if it was: the shell can read it again.
    pub script: Option<PathBuf>,
    /// Options of the shell: those that the script's `#!` line asks for, or whoever called it.
    pub shell_flags: Vec<OsString>,
    /// The shell for the text.
    pub shell: Shell,
    /// Whether nothing else reads its standard input: where a stage leaves that does not matter.
    pub owns_input: bool,
    /// Whether a shell has expanded its words: all are quoted.
    pub is_expanded: bool,
}

impl Request {
    /// Returns the context for starting the stages of its text, whose shells get these flags.
    pub(crate) fn surroundings<'a>(
        &'a self,
        environment: &'a Environment,
        flags: &'a [&'a str],
    ) -> Surroundings<'a> {
        Surroundings {
            shell: &self.shell,
            name: &self.name,
            args: &self.args,
            environment,
            flags,
            owns_input: self.owns_input,
            execed: false,
            memo: Memo::default(),
        }
    }
}

/// How a text will be run.
#[derive(Debug)]
pub enum Plan {
    /// pelton starts the stages.
    Steps(Vec<ListItem>),
    /// The shell runs the text whole.
    Whole {
        /// The reason, to follow 'because of'.
        reason: String,
    },
}

/// One item of the text's list.
#[derive(Debug)]
pub enum ListItem {
    /// Pipelines joined by `&&` and `||`.
    List(Vec<(Option<Connector>, PipelinePlan)>),
    /// `set -e`, `set -o pipefail` and so on, in order. Without an option, only the status is 0 again.
    Set(Vec<(ShellOption, bool)>),
}

/// The shell options that pelton tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellOption {
    /// `-e`
    Errexit,
    /// `-u`
    Nounset,
    /// `-o pipefail`
    Pipefail,
}

/// One pipeline.
#[derive(Debug)]
pub struct PipelinePlan {
    /// Its position.
    pub span: Span,
    /// Whether `!` inverts its status.
    pub negated: bool,
    /// The line where it ends, including here-documents, from 1: messages about it name this line.
    pub line: usize,
    /// Its stages.
    pub stages: Vec<StagePlan>,
}

/// Parses the text and plans it. An error means that the shell rejects the text too, before running anything.
pub fn plan(request: &Request, environment: &Environment) -> Result<Plan, SyntaxError> {
    let whole = |reason: String| Ok(Plan::Whole { reason });
    if let Some(flag) = request.shell_flags.first() {
        return whole(format!("the option {} of its shell", flag.display()));
    }
    if let Some(reason) = system_lacks(request) {
        return whole(reason.into());
    }
    let Some(dialect) = request.shell.dialect else {
        return whole(format!(
            "the shell: the grammar of `{}` is not modelled",
            request.shell.name.display()
        ));
    };
    if dialect == Dialect::Zsh && !request.is_expanded {
        return whole("zsh, which expands words in ways of its own".into());
    }
    if let Some(name) = environment.upsetting(dialect) {
        return whole(format!("the environment ({name}), which changes how the shell works"));
    }
    let Some(text) = request.text.to_str() else {
        return whole("bytes in the text that are not UTF-8".into());
    };
    match syntax::parse(text, dialect) {
        Ok(script) => {
            let planner = Planner {
                text,
                dialect,
                is_script: request.script.is_some(),
                environment,
                functions: vec![],
                prelude: vec![],
                before: false,
            };
            match planner.plan(script) {
                Ok(steps) => Ok(Plan::Steps(steps)),
                Err(reason) => whole(reason),
            }
        }
        // The shell decides what its syntax is, and it may run the lines before the error.
        Err(error)
            if error.may_run_first
                || shell_queries::accepts(&request.shell, &request.text, &request.name, environment) =>
        {
            whole(format!("its syntax: {}", error.message))
        }
        Err(error) => Err(error),
    }
}

/// The descriptors that one pipeline may need besides its pipes: files, temporary and saved ones.
const DESCRIPTORS: usize = 48;
/// For its pipe, or for its worker.
const DESCRIPTORS_PER_STAGE: usize = 2;

/// The system limits an argument to 128 KiB; the rest is for the text added around a stage.
const LONGEST_SHELL_TEXT: usize = 100 * 1024;

/// Returns why the shell should run the whole text: the system lacks what pelton needs for it. That is `/proc` (a chroot may
/// lack it), or descriptors for a text with so many pipes (`ulimit -n`).
pub(crate) fn system_lacks(request: &Request) -> Option<&'static str> {
    if !Path::new("/proc/self").exists() {
        return Some("/proc, which is not mounted here");
    }
    let stages = request.text.as_encoded_bytes().iter().filter(|byte| **byte == b'|').count();
    let enough = pelton_sys::limits::has_room_for(DESCRIPTORS + DESCRIPTORS_PER_STAGE * stages);
    (!enough).then_some("the limit on open files, which leaves few descriptors (ulimit -n)")
}

impl Plan {
    /// Returns the words of the text if it is one program with literal arguments and nothing else.
    pub fn lone_command(&self) -> Option<Vec<OsString>> {
        let Plan::Steps(steps) = self else { return None };
        let [ListItem::List(list)] = steps.as_slice() else { return None };
        let [(None, PipelinePlan { negated: false, stages, .. })] = list.as_slice() else { return None };
        let [StagePlan { kind: Kind::Program, syntax, .. }] = stages.as_slice() else { return None };
        let Command::Simple(simple) = &syntax.command else { return None };
        let is_plain = simple.assignments.is_empty() && syntax.redirects.is_empty() && !syntax.pipes_stderr;
        let words = simple.words.iter().map(|word| word.static_text().map(OsString::from));
        words.collect::<Option<Vec<_>>>().filter(|_| is_plain)
    }
}

/// Why the shell runs the whole text.
type Reason = String;

struct Planner<'a> {
    text: &'a str,
    dialect: Dialect,
    /// Whether the text is a script, which messages name.
    is_script: bool,
    environment: &'a Environment,
    /// Functions defined so far.
    functions: Vec<String>,
    /// Definitions and assignments so far: a shell that runs a single stage must read them first.
    prelude: Vec<Span>,
    /// Whether a pipeline precedes the current one: it would have set `$?`.
    before: bool,
}

impl Planner<'_> {
    fn plan(mut self, script: Script) -> Result<Vec<ListItem>, Reason> {
        let mut steps = Vec::new();
        let count = script.items.len();
        for (i, item) in script.items.into_iter().enumerate() {
            if item.background {
                return Err("a background command".into());
            }
            if item.and_or.rest.is_empty() && self.takes_as_prelude(&item)? {
                if self.before {
                    // The status is 0 again.
                    steps.push(ListItem::Set(Vec::new()));
                }
                continue;
            }
            if item.and_or.rest.is_empty()
                && let Some(options) = set_options(&item.and_or.first, self.dialect)
            {
                steps.push(ListItem::Set(options));
                continue;
            }
            steps.push(ListItem::List(self.list(item.and_or, i + 1 == count)?));
        }
        check_options(&steps)?;
        Ok(steps)
    }

    /// Accepts definitions of functions, and assignments that cannot fail: only a shell that runs later needs
    /// them.
    fn takes_as_prelude(&mut self, item: &syntax::Item) -> Result<bool, Reason> {
        let pipeline = &item.and_or.first;
        let [stage] = pipeline.stages.as_slice() else { return Ok(false) };
        if pipeline.negated || pipeline.timed {
            return Ok(false);
        }
        match &stage.command {
            Command::Function { name } => {
                if !stage.redirects.is_empty() {
                    return Err("a function with redirections".into());
                }
                self.functions.push(name.clone());
            }
            Command::Simple(simple) if simple.words.is_empty() && stage.redirects.is_empty() => {
                for assignment in &simple.assignments {
                    let fixed = assignment.value.static_text().is_some();
                    let locale = assignment.name.starts_with("LC_") || assignment.name.starts_with("LANG");
                    if !fixed
                        || locale
                        || environ::is_special(&assignment.name)
                        || self.environment.get(&assignment.name).is_some()
                    {
                        return Err(format!("the assignment to {}", assignment.name));
                    }
                }
            }
            _ => return Ok(false),
        }
        self.prelude.push(item.span);
        Ok(true)
    }

    fn list(
        &mut self,
        and_or: syntax::AndOr,
        last_item: bool,
    ) -> Result<Vec<(Option<Connector>, PipelinePlan)>, Reason> {
        let count = and_or.rest.len() + 1;
        let first = std::iter::once((None, and_or.first));
        let rest = and_or.rest.into_iter().map(|(connector, pipeline)| (Some(connector), pipeline));
        let mut list = Vec::with_capacity(count);
        for (i, (connector, pipeline)) in first.chain(rest).enumerate() {
            list.push((connector, self.pipeline(pipeline, last_item && i + 1 == count)?));
            self.before = true;
        }
        Ok(list)
    }

    fn pipeline(&self, pipeline: syntax::Pipeline, last: bool) -> Result<PipelinePlan, Reason> {
        if pipeline.timed {
            return Err("the shell's own `time`".into());
        }
        let alone = pipeline.stages.len() == 1;
        let line = |offset: usize| self.text[..offset].bytes().filter(|b| *b == b'\n').count() + 1;
        let last_line = pipeline.stages.iter().map(end_of).max().map_or(1, line);
        // `! exit 3` ends the shell before its status is inverted.
        let negated = pipeline.negated;
        let stages: Result<Vec<_>, _> =
            pipeline.stages.into_iter().map(|stage| self.stage(stage, alone && (!last || negated))).collect();
        Ok(PipelinePlan { span: pipeline.span, negated: pipeline.negated, line: last_line, stages: stages? })
    }

    /// `lasting`: whether later commands would see the stage's changes to the shell.
    fn stage(&self, stage: syntax::Stage, lasting: bool) -> Result<StagePlan, Reason> {
        if self.dialect == Dialect::Posix
            && stage.redirects.iter().any(|r| matches!(r.kind, syntax::RedirectKind::Opaque(_)))
        {
            // A syntax that this shell lacks may be an error for its whole text.
            return Err("a redirection that this shell may not have".into());
        }
        if let Command::Simple(simple) = &stage.command
            && command_name(simple, self.environment).is_some_and(|name| name.starts_with(b"%"))
        {
            return Err("a job's name as a command".into());
        }
        let kind = stage::classify(&stage, &self.functions, self.environment);
        if let Some(reason) = kind.shell_reason() {
            self.check_shell(&stage, &reason)?;
            // A shell of its own gets the functions from its environment, and its messages say so; some errors end it with
            // another status than the script.
            let text = stage.span.of(self.text);
            if self.is_script && self.functions.iter().any(|function| text.contains(function.as_str())) {
                return Err(reason);
            }
            if lasting && stage::has_lasting_effect(&stage, &self.functions) {
                return Err(format!("{reason}, whose effect lasts"));
            }
        }
        let execs = matches!(kind, Kind::Shell { .. }) && self.is_program(&stage);
        let plan = StagePlan::new(self.text, stage, kind, &self.prelude, self.functions.clone(), execs);
        if plan.shell_text.len() > LONGEST_SHELL_TEXT {
            return Err("the length of a stage".into());
        }
        Ok(plan)
    }

    /// Whether the stage is certainly a program, though the shell must expand its arguments.
    fn is_program(&self, stage: &syntax::Stage) -> bool {
        let Some(simple) = stage.simple() else { return false };
        let Some(name) = simple.words.first().and_then(|word| word.static_text()) else { return false };
        let known = stage::is_builtin(&name) || self.functions.contains(&name) || name.starts_with('-');
        !known && !stage.redirects.is_empty() && lookup::find(name.as_bytes(), self.environment).is_some()
    }

    /// Checks that a separate shell may run this stage.
    fn check_shell(&self, stage: &syntax::Stage, reason: &str) -> Result<(), Reason> {
        let text = stage.span.of(self.text);
        let read_by_shell = self.prelude.iter().map(|span| span.of(self.text)).chain([text]);
        for text in read_by_shell {
            if let Some(hazard) = syntax::shell_hazards(text) {
                return Err(format!("{}, which needs the shell itself", hazard.name));
            }
        }
        let asks_status =
            ["$?", "${?", "PIPESTATUS", "exit", "return"].iter().any(|word| text.contains(word));
        if self.before && asks_status {
            return Err(format!("{reason} that asks for the status of what ran before"));
        }
        if matches!(stage.command, Command::Compound(_)) && text.replace("<<<", "").contains("<<") {
            return Err("a here-document within a compound command".into());
        }
        let computed = |r: &syntax::Redirect| match &r.kind {
            syntax::RedirectKind::HereDoc(body) => body.static_text().is_none(),
            _ => false,
        };
        if stage.redirects.iter().any(computed) {
            return Err("a here-document with expansions".into());
        }
        if let Command::Compound(compound) = &stage.command
            && let syntax::CompoundKind::Unmodelled(why) = compound.kind
        {
            return Err(why.describe().into());
        }
        Ok(())
    }
}

/// Returns the end of a stage, including the bodies of its here-documents.
fn end_of(stage: &syntax::Stage) -> usize {
    let bodies = stage.redirects.iter().filter_map(|redirect| match &redirect.kind {
        syntax::RedirectKind::HereDoc(body) => Some(body.span.end),
        _ => None,
    });
    bodies.chain([stage.span.end]).max().unwrap_or(0)
}

/// Parses a `set` that has only options that pelton tracks.
fn set_options(pipeline: &syntax::Pipeline, dialect: Dialect) -> Option<Vec<(ShellOption, bool)>> {
    let [stage] = pipeline.stages.as_slice() else { return None };
    let Command::Simple(simple) = &stage.command else { return None };
    if pipeline.negated || pipeline.timed || !stage.redirects.is_empty() || !simple.assignments.is_empty() {
        return None;
    }
    let words: Vec<String> = simple.words.iter().map(|word| word.static_text()).collect::<Option<_>>()?;
    let (name, arguments) = words.split_first()?;
    if name != "set" || arguments.is_empty() {
        return None;
    }
    let mut options = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let on = argument.starts_with('-');
        let letters = argument.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty())?;
        for letter in letters.chars() {
            options.push((option(letter, &mut arguments, dialect)?, on));
        }
    }
    Some(options)
}

fn option<'w>(
    letter: char,
    rest: &mut impl Iterator<Item = &'w String>,
    dialect: Dialect,
) -> Option<ShellOption> {
    match letter {
        'e' => Some(ShellOption::Errexit),
        'u' => Some(ShellOption::Nounset),
        'o' => match rest.next()?.as_str() {
            "errexit" => Some(ShellOption::Errexit),
            "nounset" => Some(ShellOption::Nounset),
            "pipefail" if dialect != Dialect::Posix => Some(ShellOption::Pipefail),
            _ => None,
        },
        _ => None,
    }
}

/// Checks stages that a shell runs: under `-e` and `-u` they could end the whole text, which the shell must
/// then run.
fn check_options(steps: &[ListItem]) -> Result<(), Reason> {
    let strict = |step: &ListItem| match step {
        ListItem::Set(options) => options.iter().any(|(option, _)| *option != ShellOption::Pipefail),
        ListItem::List(_) => false,
    };
    match steps.iter().find_map(reason_for_a_shell) {
        Some(reason) if steps.iter().any(strict) => Err(format!("{reason} under `set -e` or `set -u`")),
        _ => Ok(()),
    }
}

fn reason_for_a_shell(step: &ListItem) -> Option<Reason> {
    let ListItem::List(list) = step else { return None };
    list.iter().flat_map(|(_, pipeline)| &pipeline.stages).find_map(|stage| stage.kind.shell_reason())
}

impl Plan {
    /// Returns commands that are neither programs in PATH nor known to the shell, with the span of their
    /// names.
    pub fn missing_commands(&self, environment: &Environment) -> Vec<(String, Span)> {
        let stages = self
            .pipelines()
            .enumerate()
            .flat_map(|(i, pipeline)| pipeline.stages.iter().map(move |stage| (i, stage)));
        let missing = stages.filter_map(|(i, stage)| Some((i, stage.missing_command(environment)?)));
        // Later pipelines may run programs that earlier ones create.
        missing.filter(|(i, (name, _))| *i == 0 || !name.contains('/')).map(|(_, missing)| missing).collect()
    }

    /// Returns the number of stages of the longest pipeline; 1 if the shell runs the text whole.
    pub fn most_stages(&self) -> usize {
        self.pipelines().map(|pipeline| pipeline.stages.len()).max().unwrap_or(1)
    }

    /// Returns all pipelines, if pelton starts the stages.
    fn pipelines(&self) -> impl Iterator<Item = &PipelinePlan> {
        let steps = match self {
            Plan::Steps(steps) => steps.as_slice(),
            Plan::Whole { .. } => &[],
        };
        let lists = steps.iter().filter_map(|step| match step {
            ListItem::List(list) => Some(list),
            ListItem::Set(_) => None,
        });
        lists.flatten().map(|(_, pipeline)| pipeline)
    }
}
