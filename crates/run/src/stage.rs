//! One stage: what it is, and what its child process becomes.

use crate::environ::{self, Environment};
use crate::plan::{Request, command_name};
use crate::shell::Shell;
use crate::{c_string, expand, lookup};
use pelton_record::{How, Span};
use pelton_syntax::{self as syntax, Command, CompoundKind, Dialect, Part, Reason, Redirect, RedirectKind};
use pelton_sys::spawn::{Action, Child, Exec, OpenMode, Redirection, open_flags};
use std::ffi::OsString;
use std::os::fd::BorrowedFd;

use crate::expand::Declined;

/// A stage that is ready to be started.
#[derive(Debug)]
pub struct StagePlan {
    /// Source text.
    pub text: String,
    /// Short name for tables.
    pub name: String,
    /// Where it stands.
    pub span: Span,
    /// As bash prints it in messages.
    pub printed: String,
    /// Who will run it.
    pub kind: Kind,
    /// The tree.
    pub syntax: syntax::Stage,
    /// What a shell must read to run this stage alone.
    pub shell_text: String,
    functions: Vec<String>,
}

/// Who runs a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program, started by pelton.
    Program,
    /// A builtin without effects, with its status.
    Builtin(i32),
    /// A separate shell.
    Shell {
        /// Why, to follow 'because of'.
        reason: String,
    },
}

/// The builtins of bash and dash, apart from the reserved words.
const BUILTINS: [&str; 62] = [
    ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "chdir", "command", "compgen", "complete",
    "compopt", "continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export", "false",
    "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd",
    "printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend",
    "test", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
];

/// Builtins that leave nothing behind in the shell but their status.
const WITHOUT_EFFECT: [&str; 7] = ["echo", "printf", "test", "[", "pwd", "true", "false"];

/// Decides who runs a stage, as far as that can be known before it starts.
pub fn classify(stage: &syntax::Stage, functions: &[String], environment: &Environment) -> Kind {
    let shell = |reason: &str| Kind::Shell { reason: reason.into() };
    if stage.redirects.iter().any(|r| matches!(r.kind, RedirectKind::Opaque(_))) {
        return shell(Reason::UnusualRedirect.describe());
    }
    let simple = match &stage.command {
        Command::Simple(simple) => simple,
        Command::Compound(compound) => return shell(&format!("the compound command {}", compound_name(compound.kind))),
        Command::Function { .. } => return shell("a function definition as a stage"),
    };
    if simple.words.is_empty() {
        return shell("a stage without a command");
    }
    if let Some(reason) = opaque(stage, simple, environment) {
        return Kind::Shell { reason };
    }
    let Some(name) = command_name(simple, environment).and_then(|name| String::from_utf8(name).ok()) else {
        return shell("a command whose name is not known before it runs");
    };
    if functions.contains(&name) {
        return Kind::Shell { reason: format!("the function `{name}`") };
    }
    match name.as_str() {
        "true" | ":" if simple.assignments.is_empty() => Kind::Builtin(0),
        "false" if simple.assignments.is_empty() => Kind::Builtin(1),
        _ if BUILTINS.contains(&name.as_str()) => Kind::Shell { reason: format!("the builtin `{name}`") },
        _ if prints_environment(&name, simple) => shell("`env`, which shows the shell's own order of variables"),
        _ => Kind::Program,
    }
}

/// The first thing in the stage that pelton cannot expand now. File names are matched later, when it starts.
fn opaque(stage: &syntax::Stage, simple: &syntax::Simple, environment: &Environment) -> Option<String> {
    let is_pattern = |word: &&syntax::Word| word.parts.iter().any(|p| matches!(p, Part::AnyText | Part::AnyChar));
    let arguments = simple.words.iter().filter(|word| !is_pattern(word));
    for word in arguments {
        if let Err(reason) = expand::arguments(std::slice::from_ref(word), environment) {
            return Some(reason);
        }
    }
    for word in simple.words.iter().filter(is_pattern) {
        if let Err(reason) = expand::value(word, environment) {
            return Some(reason);
        }
    }
    for assignment in &simple.assignments {
        if environ::is_special(&assignment.name) || assignment.name == "PATH" {
            return Some(format!("the assignment to {}", assignment.name));
        }
        if let Err(reason) = expand::value(&assignment.value, environment) {
            return Some(reason);
        }
    }
    stage.redirects.iter().find_map(|redirect| target(&redirect.kind, environment).err())
}

fn target(kind: &RedirectKind, environment: &Environment) -> Result<(), String> {
    match kind {
        RedirectKind::Read(word)
        | RedirectKind::Write(word)
        | RedirectKind::Clobber(word)
        | RedirectKind::Append(word)
        | RedirectKind::ReadWrite(word)
        | RedirectKind::WriteBoth(word)
        | RedirectKind::AppendBoth(word) => expand::file_name(word, environment).map(drop),
        RedirectKind::HereDoc(word) | RedirectKind::HereString(word) => expand::value(word, environment).map(drop),
        RedirectKind::Duplicate(..) | RedirectKind::Close(_) => Ok(()),
        RedirectKind::Opaque(reason) => Err(reason.describe().into()),
    }
}

/// `env` and `printenv` without a command or a name print all variables, in an order that bash's hash table gives.
fn prints_environment(name: &str, simple: &syntax::Simple) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    let option = |word: &syntax::Word| word.static_text().is_some_and(|text| text.starts_with('-'));
    matches!(base, "env" | "printenv") && simple.words.iter().skip(1).all(option)
}

/// Whether a stage that runs alone, in the shell itself, could change what follows it.
pub fn has_lasting_effect(stage: &syntax::Stage, functions: &[String]) -> bool {
    let simple = match &stage.command {
        Command::Simple(simple) => simple,
        Command::Compound(compound) => return compound.kind != CompoundKind::Subshell,
        Command::Function { .. } => return true,
    };
    let assigns = |part: &Part| {
        matches!(part, Part::Opaque { reason: Reason::Arithmetic | Reason::ParameterOperator, .. })
    };
    if simple.words.iter().flat_map(|word| &word.parts).any(assigns) {
        return true;
    }
    let Some(name) = simple.words.first().and_then(|word| word.static_text()) else { return true };
    let printf_v = name == "printf" && simple.words.len() > 1 && {
        let first = simple.words[1].static_text();
        first.is_none_or(|text| text.starts_with('-'))
    };
    let known = WITHOUT_EFFECT.contains(&name.as_str()) || !BUILTINS.contains(&name.as_str());
    functions.contains(&name) || printf_v || !known
}

/// What a separate shell must read to run `stage` alone: the definitions it may need, on their own lines and columns,
/// then the stage on its own line, so that line numbers in messages stay true.
pub fn shell_text(text: &str, stage: &syntax::Stage, prelude: &[Span]) -> String {
    let mut result = String::new();
    let mut at = 0;
    for span in prelude {
        blank(&text[at..span.start], &mut result);
        result.push_str(span.of(text));
        // The separator that followed it is about to be blanked out.
        result.push(';');
        at = (span.end + 1).min(stage.span.start);
        if text[span.end..at].contains('\n') {
            result.pop();
            result.push('\n');
        }
    }
    blank(&text[at..stage.span.start], &mut result);
    append_stage(text, stage, &mut result);
    result
}

/// Only the newlines of `text`.
fn blank(text: &str, into: &mut String) {
    into.extend(text.chars().filter(|c| *c == '\n'));
}

/// The stage's own text, with here-documents given anew: their bodies stand elsewhere in the original.
fn append_stage(text: &str, stage: &syntax::Stage, into: &mut String) {
    let mut at = stage.span.start;
    let mut bodies = String::new();
    for (i, redirect) in stage.redirects.iter().enumerate() {
        let RedirectKind::HereDoc(body) = &redirect.kind else { continue };
        let Some(body) = body.static_text() else { continue };
        let mut delimiter = format!("PELTON_{i}");
        while body.lines().any(|line| line == delimiter) {
            delimiter.push('_');
        }
        into.push_str(&text[at..redirect.span.start]);
        let fd = redirect.fd.map(|fd| fd.to_string()).unwrap_or_default();
        into.push_str(&format!("{fd}<<'{delimiter}'"));
        bodies.push_str(&format!("{body}{delimiter}\n"));
        at = redirect.span.end;
    }
    into.push_str(&text[at..stage.span.end]);
    if stage.pipes_stderr {
        into.push_str(" 2>&1");
    }
    if !bodies.is_empty() {
        into.push('\n');
        into.push_str(&bodies);
    }
}

/// Asks the shell whether it accepts the text, running nothing.
pub fn shell_accepts(request: &Request, environment: &Environment) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let env = environment.as_inherited();
    let text = request.text.as_bytes();
    let Some(exec) = request.shell.call(&["-n"], text, &request.name, &[], &env) else { return false };
    let null = |fd| Redirection::Open { fd, path: c"/dev/null".into(), flags: open_flags(OpenMode::ReadWrite) };
    let child = Child {
        action: Action::Exec(exec),
        fallback: None,
        stdin: None,
        stdout: None,
        redirections: vec![null(0), null(1), null(2)],
        not_mine: None,
    };
    let Ok(pid) = pelton_sys::spawn::spawn(&child) else { return false };
    pelton_sys::wait::reap(pid).is_ok_and(|(ended, _)| ended.status() == 0)
}

/// What stage starting needs to know of its surroundings.
pub struct Surroundings<'a> {
    /// The request it belongs to.
    pub shell: &'a Shell,
    /// `$0`.
    pub name: &'a OsString,
    /// `$1` and so on.
    pub args: &'a [OsString],
    /// The environment.
    pub environment: &'a Environment,
    /// Flags a shell must be given: `-o pipefail`.
    pub flags: &'a [&'a str],
    /// Whether the shell would become this stage's program instead of starting it.
    pub execed: bool,
}

/// Pipe ends of a stage.
#[derive(Clone, Copy, Default)]
pub struct Ends<'a> {
    /// From the stage before.
    pub stdin: Option<BorrowedFd<'a>>,
    /// To the stage after.
    pub stdout: Option<BorrowedFd<'a>>,
    /// The read end of the pipe behind `stdout`, which the child must not hold.
    pub not_mine: Option<BorrowedFd<'a>>,
}

/// A child to start, and what to tell about it.
pub struct Prepared<'a> {
    /// For the spawner.
    pub child: Child<'a>,
    /// For the record.
    pub how: How,
    /// Path of the program, if pelton starts it itself.
    pub program: Option<String>,
}

impl StagePlan {
    pub(crate) fn new(text: &str, syntax: syntax::Stage, kind: Kind, shell_text: String, functions: Vec<String>) -> Self {
        StagePlan {
            text: syntax.span.of(text).to_string(),
            name: short_name(text, &syntax),
            span: syntax.span,
            printed: printed(text, &syntax),
            kind,
            shell_text,
            syntax,
            functions,
        }
    }


    /// Decides what the child becomes.
    pub fn prepare<'e>(&self, around: &Surroundings<'_>, ends: Ends<'e>) -> Prepared<'e> {
        let shell = self.shell_exec(around);
        let native = match &self.kind {
            Kind::Shell { reason } => Err(reason.clone()),
            Kind::Builtin(status) => self.builtin(*status, around),
            Kind::Program => self.program(around),
        };
        let (native, fallback) = match native {
            Ok(native) => (native, shell),
            Err(reason) => {
                // Only a NUL byte, which no argument can hold, leaves even the shell without its text.
                let action = shell.map_or(Action::Exit(127), Action::Exec);
                (Native { action, redirections: vec![], how: How::Shell { reason }, program: None }, None)
            }
        };
        let child = Child {
            action: native.action,
            fallback,
            stdin: ends.stdin,
            stdout: ends.stdout,
            redirections: native.redirections,
            not_mine: ends.not_mine,
        };
        Prepared { child, how: native.how, program: native.program }
    }

    /// The command's name and where it stands, if it is a program that does not exist.
    pub(crate) fn missing_command(&self, environment: &Environment) -> Option<(String, Span)> {
        let Command::Simple(simple) = &self.syntax.command else { return None };
        if self.kind != Kind::Program {
            return None;
        }
        let name = command_name(simple, environment)?;
        let missing = lookup::find(&name, environment).is_none();
        missing.then(|| (String::from_utf8_lossy(&name).into_owned(), simple.words[0].span))
    }

    fn builtin(&self, status: i32, around: &Surroundings<'_>) -> Result<Native, Declined> {
        let redirections = self.redirections(around.environment)?;
        Ok(Native { action: Action::Exit(status), redirections, how: How::Builtin, program: None })
    }

    /// The program and its arguments, if all can be known now; else the shell will say what is wrong.
    pub(crate) fn program(&self, around: &Surroundings<'_>) -> Result<Native, Declined> {
        let Command::Simple(simple) = &self.syntax.command else { return Err("a compound command".into()) };
        let environment = around.environment;
        let arguments = expand::arguments(&simple.words, environment)?;
        let name = &arguments[0];
        if std::str::from_utf8(name).is_ok_and(|name| self.functions.iter().any(|f| f == name)) {
            return Err("a function".into());
        }
        let path = lookup::find(name, environment)
            .ok_or_else(|| format!("`{}`, which is not a program in PATH", String::from_utf8_lossy(name)))?;
        let mut assignments = Vec::new();
        for assignment in &simple.assignments {
            assignments.push((assignment.name.clone(), expand::value(&assignment.value, environment)?));
        }
        let dialect = around.shell.dialect.unwrap_or(Dialect::Posix);
        let envp = environment.for_program(dialect, &path, &assignments, around.execed);
        let program = String::from_utf8_lossy(&path).into_owned();
        let argv = arguments.iter().map(|a| c_string(a)).collect::<Option<_>>().ok_or("a NUL byte")?;
        let exec = Exec { path: c_string(&path).ok_or("a NUL byte")?, argv, envp };
        let redirections = self.redirections(environment)?;
        Ok(Native { action: Action::Exec(exec), redirections, how: How::Process, program: Some(program) })
    }

    fn shell_exec(&self, around: &Surroundings<'_>) -> Option<Exec> {
        let dialect = around.shell.dialect.unwrap_or(Dialect::Posix);
        let env = around.environment.for_stage_shell(dialect, self.is_execed_by_a_shell() && !around.execed);
        around.shell.call(around.flags, self.shell_text.as_bytes(), around.name, around.args, &env)
    }

    /// Whether a shell given this stage alone would exec it, rather than start it as a child.
    pub(crate) fn is_execed_by_a_shell(&self) -> bool {
        let Command::Simple(simple) = &self.syntax.command else { return false };
        let name = simple.words.first().and_then(|word| word.static_text());
        let builtin = name.is_some_and(|name| BUILTINS.contains(&name.as_str()) || self.functions.contains(&name));
        self.syntax.redirects.is_empty() && !self.syntax.pipes_stderr && !builtin
    }

    fn redirections(&self, environment: &Environment) -> Result<Vec<Redirection>, Declined> {
        let mut redirections = Vec::new();
        for redirect in &self.syntax.redirects {
            add(redirect, environment, &mut redirections)?;
        }
        if self.syntax.pipes_stderr {
            redirections.push(Redirection::Duplicate { fd: 2, from: 1 });
        }
        Ok(redirections)
    }
}

/// What a child becomes when no shell is needed.
pub(crate) struct Native {
    pub(crate) action: Action,
    pub(crate) redirections: Vec<Redirection>,
    how: How,
    program: Option<String>,
}

fn add(redirect: &Redirect, environment: &Environment, into: &mut Vec<Redirection>) -> Result<(), Declined> {
    let fd = |default: usize| redirect.fd.map_or(default, |fd| fd as usize);
    let open = |word, fd, mode| -> Result<Redirection, Declined> {
        let path = c_string(&expand::file_name(word, environment)?).ok_or("a NUL byte")?;
        Ok(Redirection::Open { fd, path, flags: open_flags(mode) })
    };
    let given = |bytes: &[u8], fd| match pelton_sys::pipe::feed(bytes) {
        Ok(source) => Ok(Redirection::Given { fd, source }),
        Err(error) => Err(format!("a here-document ({error})")),
    };
    into.push(match &redirect.kind {
        RedirectKind::Read(word) => open(word, fd(0), OpenMode::Read)?,
        RedirectKind::Write(word) | RedirectKind::Clobber(word) => open(word, fd(1), OpenMode::Write)?,
        RedirectKind::Append(word) => open(word, fd(1), OpenMode::Append)?,
        RedirectKind::ReadWrite(word) => open(word, fd(0), OpenMode::ReadWrite)?,
        RedirectKind::WriteBoth(word) => open(word, 1, OpenMode::Write)?,
        RedirectKind::AppendBoth(word) => open(word, 1, OpenMode::Append)?,
        RedirectKind::Duplicate(from, reads) => {
            Redirection::Duplicate { fd: fd(if *reads { 0 } else { 1 }), from: *from as usize }
        }
        RedirectKind::Close(reads) => Redirection::Close { fd: fd(if *reads { 0 } else { 1 }) },
        RedirectKind::HereDoc(body) => given(&expand::value(body, environment)?, fd(0))?,
        RedirectKind::HereString(word) => {
            let mut bytes = expand::value(word, environment)?;
            bytes.push(b'\n');
            given(&bytes, fd(0))?
        }
        RedirectKind::Opaque(reason) => return Err(reason.describe().into()),
    });
    if matches!(redirect.kind, RedirectKind::WriteBoth(_) | RedirectKind::AppendBoth(_)) {
        into.push(Redirection::Duplicate { fd: 2, from: 1 });
    }
    Ok(())
}

fn compound_name(kind: CompoundKind) -> &'static str {
    match kind {
        CompoundKind::Group => "{…}",
        CompoundKind::Subshell => "(…)",
        CompoundKind::For => "for",
        CompoundKind::While => "while",
        CompoundKind::Until => "until",
        CompoundKind::If => "if",
        CompoundKind::Case => "case",
        CompoundKind::Select => "select",
        CompoundKind::Arithmetic => "((…))",
        CompoundKind::Test => "[[…]]",
        CompoundKind::Coproc => "coproc",
        CompoundKind::Unmodelled(_) => "shell text",
    }
}

/// The command's base name, or the compound command's keyword.
fn short_name(text: &str, stage: &syntax::Stage) -> String {
    match &stage.command {
        Command::Compound(compound) => compound_name(compound.kind).into(),
        Command::Function { name } => name.clone(),
        Command::Simple(simple) => match simple.words.first() {
            Some(word) => {
                let name = word.static_text().unwrap_or_else(|| word.span.of(text).into());
                name.rsplit('/').next().unwrap_or(&name).to_string()
            }
            None => "(redirection)".into(),
        },
    }
}

/// The stage as bash prints commands: single blanks, redirections last and set off.
fn printed(text: &str, stage: &syntax::Stage) -> String {
    let Command::Simple(simple) = &stage.command else { return stage.span.of(text).to_string() };
    let assignments = simple.assignments.iter().map(|a| a.span);
    let words = simple.words.iter().map(|w| w.span);
    let mut parts: Vec<String> = assignments.chain(words).map(|span| span.of(text).to_string()).collect();
    parts.extend(stage.redirects.iter().map(|redirect| printed_redirect(text, redirect)));
    parts.join(" ")
}

fn printed_redirect(text: &str, redirect: &Redirect) -> String {
    let fd = |default: u32| redirect.fd.filter(|fd| *fd != default).map(|fd| fd.to_string()).unwrap_or_default();
    match &redirect.kind {
        RedirectKind::Read(word) => format!("{}< {}", fd(0), word.span.of(text)),
        RedirectKind::Write(word) => format!("{}> {}", fd(1), word.span.of(text)),
        RedirectKind::Append(word) => format!("{}>> {}", fd(1), word.span.of(text)),
        RedirectKind::WriteBoth(word) => format!("&> {}", word.span.of(text)),
        _ => redirect.span.of(text).to_string(),
    }
}
