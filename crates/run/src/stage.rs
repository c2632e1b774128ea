//! One stage: its kind, and what its child process becomes.

use crate::c_string::c_string;
use crate::environ::{self, Environment};
use crate::expand::command_name;
use crate::shell::Shell;
use crate::shell_queries::output_of;
use crate::{expand, lookup};
use pelton_commands::{Accept, Locale};
use pelton_record::{How, Span};
use pelton_syntax::{
    self as syntax, Command, CompoundKind, Dialect, Reason, Redirect, RedirectKind, WordPart,
};
use pelton_sys::spawn::{Action, Child, Exec, Fallback, OpenMode, Redirection, open_flags};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::{CString, OsStr, OsString};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::expand::Declined;

/// A stage that is ready to be started.
#[derive(Debug)]
pub struct StagePlan {
    /// Source text.
    pub text: String,
    /// Short name for tables.
    pub name: String,
    /// Its position.
    pub span: Span,
    /// Source text, with `|&` expanded.
    alone: String,
    /// The bodies of its here-documents, each after a newline.
    bodies: String,
    /// What runs it.
    pub kind: Kind,
    /// Its syntax tree.
    pub syntax: syntax::Stage,
    /// The text for a shell that runs this stage alone.
    pub shell_text: String,
    /// Whether that text has an added `exec`.
    shell_text_execs: bool,
    functions: Vec<String>,
}

/// What runs a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program, started by pelton.
    Program,
    /// A builtin without effects, with its status.
    Builtin(i32),
    /// A separate shell.
    Shell {
        /// The reason, to follow 'because of'.
        reason: String,
    },
    /// A separate shell, only because it is a builtin: a kernel may replace it.
    ShellBuiltin {
        /// Its name.
        name: String,
    },
}

impl Kind {
    /// Returns why a separate shell runs it, if so, to follow 'because of'.
    pub fn shell_reason(&self) -> Option<String> {
        match self {
            Kind::Shell { reason } => Some(reason.clone()),
            Kind::ShellBuiltin { name } => Some(format!("the builtin `{name}`")),
            Kind::Program | Kind::Builtin(_) => None,
        }
    }
}

/// The builtins of bash and dash, apart from the reserved words.
const BUILTINS: [&str; 62] = [
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "chdir",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Whether `name` is a builtin of the shell.
pub fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name)
}

/// Builtins that change nothing in the shell but its status.
const WITHOUT_EFFECT: [&str; 7] = ["echo", "printf", "test", "[", "pwd", "true", "false"];

/// Decides what runs a stage, as far as known before it starts.
pub fn classify(stage: &syntax::Stage, functions: &[String], environment: &Environment) -> Kind {
    let shell = |reason: &str| Kind::Shell { reason: reason.into() };
    if stage.redirects.iter().any(|r| matches!(r.kind, RedirectKind::Opaque(_))) {
        return shell(Reason::UnusualRedirect.describe());
    }
    let simple = match &stage.command {
        Command::Simple(simple) => simple,
        Command::Compound(compound) => {
            return shell(&format!("the compound command {}", compound_name(compound.kind)));
        }
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
        _ if BUILTINS.contains(&name.as_str()) => Kind::ShellBuiltin { name },
        _ => Kind::Program,
    }
}

/// Returns the first part of the stage that pelton cannot expand now. File names are matched later, when it
/// starts.
fn opaque(stage: &syntax::Stage, simple: &syntax::Simple, environment: &Environment) -> Option<String> {
    let is_pattern =
        |word: &&syntax::Word| word.parts.iter().any(|p| matches!(p, WordPart::AnyText | WordPart::AnyChar));
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
    for (i, assignment) in simple.assignments.iter().enumerate() {
        let earlier = &simple.assignments[..i];
        let sees = |part: &WordPart| match part {
            WordPart::Variable { name, .. } => earlier.iter().any(|other| other.name == *name),
            _ => false,
        };
        if assignment.value.parts.iter().any(sees) {
            return Some("an assignment that uses the one before it".into());
        }
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
        RedirectKind::HereDoc(word) | RedirectKind::HereString(word) => {
            expand::value(word, environment).map(drop)
        }
        RedirectKind::Duplicate(..) | RedirectKind::Close(_) => Ok(()),
        RedirectKind::Opaque(reason) => Err(reason.describe().into()),
    }
}

/// Whether a single stage, run in the shell itself, could change what follows it.
pub fn has_lasting_effect(stage: &syntax::Stage, functions: &[String]) -> bool {
    let simple = match &stage.command {
        Command::Simple(simple) => simple,
        Command::Compound(compound) => return compound.kind != CompoundKind::Subshell,
        Command::Function { .. } => return true,
    };
    let assigns = |part: &WordPart| {
        matches!(part, WordPart::Opaque { reason: Reason::Arithmetic | Reason::ParameterOperator, .. })
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

/// Returns the text for a separate shell that runs only `stage`: the definitions it may need, then the stage,
/// all on their original lines, so that line numbers in messages are right.
pub fn shell_text(text: &str, stage: &syntax::Stage, prelude: &[Span], execs: bool) -> String {
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
    match inside_parentheses(text, stage) {
        Some(inside) => result.push_str(inside),
        None => append_stage(text, stage, execs, &mut result),
    }
    result
}

/// Returns the list within `( … )`, if running it alone is equivalent: a stage is a subshell already. The
/// difference shows where bash execs the only command of a subshell, and that is then killed.
fn inside_parentheses<'t>(text: &'t str, stage: &syntax::Stage) -> Option<&'t str> {
    let Command::Compound(compound) = &stage.command else { return None };
    if compound.kind != CompoundKind::Subshell || !stage.redirects.is_empty() || stage.pipes_stderr {
        return None;
    }
    let inside = compound.span.of(text).strip_prefix('(')?.strip_suffix(')')?;
    let script = syntax::parse(inside, Dialect::Bash).ok()?;
    matches!(script.items.as_slice(), [item] if !item.background).then_some(inside)
}

/// Appends only the newlines of `text`.
fn blank(text: &str, into: &mut String) {
    into.extend(text.chars().filter(|c| *c == '\n'));
}

/// Appends the stage's own text with the bodies of its here-documents, which are elsewhere in the original.
///
/// `execs`: it is a program, and a separate shell must exec it, as the stage's subshell would.
fn append_stage(text: &str, stage: &syntax::Stage, execs: bool, into: &mut String) {
    let mut at = stage.span.start;
    if execs && let Some(first) = stage.simple().and_then(|simple| simple.words.first()) {
        into.push_str(&text[at..first.span.start]);
        into.push_str("exec ");
        at = first.span.start;
    }
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

/// The context for starting stages.
pub struct Surroundings<'a> {
    /// The shell of the request.
    pub shell: &'a Shell,
    /// `$0`.
    pub name: &'a OsString,
    /// `$1` and so on.
    pub args: &'a [OsString],
    /// The environment.
    pub environment: &'a Environment,
    /// Flags a shell must be given: `-o pipefail`.
    pub flags: &'a [&'a str],
    /// Whether nothing else reads the standard input.
    pub owns_input: bool,
    /// Whether the shell would become this stage's program instead of starting it.
    pub execed: bool,
    /// Facts found for one stage that hold for the others.
    pub memo: Memo,
}

/// A program found by its name.
#[derive(Clone)]
pub struct Found {
    /// Its path.
    pub path: Vec<u8>,
    /// Whether the kernel can start it.
    pub starts: bool,
}

/// Facts that hold for all stages of a pipeline, computed on first use.
#[derive(Default)]
pub struct Memo {
    /// The variables of a program without its own assignments.
    environment: OnceCell<Vec<CString>>,
    /// The directories of PATH.
    folders: OnceCell<Vec<Vec<u8>>>,
    /// The programs found in them, by name.
    programs: RefCell<HashMap<Vec<u8>, Option<Found>>>,
    /// The locale of a program without its own assignments.
    pub locale: OnceCell<Accept<Locale>>,
}

impl Surroundings<'_> {
    /// Whether pipefail is on where these stages run.
    pub fn has_pipefail(&self) -> bool {
        self.flags.contains(&"pipefail")
    }

    /// Like [`Environment::for_program`], with a cache.
    fn environment_of(&self, path: &[u8], assignments: &[(String, Vec<u8>)]) -> Vec<CString> {
        let dialect = self.shell.dialect.unwrap_or(Dialect::Posix);
        let make = |path: &[u8]| self.environment.for_program(dialect, path, assignments, self.execed);
        if !assignments.is_empty() {
            return make(path);
        }
        let mut strings = self.memo.environment.get_or_init(|| make(path)).clone();
        let own = strings.iter_mut().find(|string| string.as_bytes().starts_with(b"_="));
        if let (Dialect::Bash | Dialect::Zsh, Some(own)) = (dialect, own)
            && let Some(named) = c_string(&[b"_=", path].concat())
        {
            *own = named;
        }
        strings
    }

    /// Like [`lookup::find`], and also whether the kernel can start it.
    pub(crate) fn program_of(&self, name: &[u8]) -> Option<Found> {
        if let Some(found) = self.memo.programs.borrow().get(name) {
            return found.clone();
        }
        let folders = self.memo.folders.get_or_init(|| lookup::folders(self.environment));
        let found = lookup::find_in(name, folders).map(|path| {
            let starts = lookup::kernel_can_start(&path);
            Found { path, starts }
        });
        self.memo.programs.borrow_mut().insert(name.to_vec(), found.clone());
        found
    }
}

/// Pipe ends of a stage.
#[derive(Clone, Copy, Default)]
pub struct Ends<'a> {
    /// From the previous stage.
    pub stdin: Option<BorrowedFd<'a>>,
    /// To the next stage.
    pub stdout: Option<BorrowedFd<'a>>,
    /// The read end of the pipe after `stdout`, which the child must not hold.
    pub not_mine: Option<BorrowedFd<'a>>,
}

/// A child to start, and its description.
pub struct Prepared<'a> {
    /// For the spawner.
    pub child: Child<'a>,
    /// For the record.
    pub how: How,
    /// Path of the program, if pelton starts it itself.
    pub program: Option<String>,
}

impl Prepared<'static> {
    /// Describes a child that has no pipe ends yet.
    fn new(action: Action, redirections: Vec<Redirection>, how: How, program: Option<String>) -> Self {
        let child = Child { action, fallback: None, stdin: None, stdout: None, redirections, not_mine: None };
        Prepared { child, how, program }
    }
}

impl StagePlan {
    pub(crate) fn new(
        text: &str,
        syntax: syntax::Stage,
        kind: Kind,
        prelude: &[Span],
        functions: Vec<String>,
        execs: bool,
    ) -> Self {
        let shell_text = shell_text(text, &syntax, prelude, execs);
        StagePlan {
            shell_text_execs: execs,
            text: syntax.span.of(text).to_string(),
            name: short_name(text, &syntax),
            span: syntax.span,
            alone: format!("{}{}", syntax.span.of(text), if syntax.pipes_stderr { " 2>&1" } else { "" }),
            bodies: bodies(text, &syntax),
            kind,
            shell_text,
            syntax,
            functions,
        }
    }

    /// Returns the command as bash prints it in messages about it: in its own normal form, which only bash
    /// knows. Asks bash for its list of jobs, with the command in a job that does not run it. Done only for
    /// such a message.
    pub fn spelled(&self, around: &Surroundings<'_>) -> String {
        // The job waits for a line that never comes, so that it can be listed, and is then killed.
        let question = format!("read -t 9 line <> <(:) && {} &{}\njobs\nkill $!", self.alone, self.bodies);
        let env = around.environment.as_inherited();
        let exec = around.shell.call(&[], question.as_bytes(), around.name, &[], &env);
        let answer = exec.and_then(|exec| output_of(exec).ok()).unwrap_or_default();
        let command = answer.split_once("<(:) && ").map(|(_, command)| command.trim_end_matches('\n'));
        match command.and_then(|command| command.strip_suffix(" &")) {
            Some(command) => command.to_string(),
            None => self.text.clone(),
        }
    }

    /// Decides what the child becomes.
    pub fn prepare<'e>(&self, around: &Surroundings<'_>, ends: Ends<'e>) -> Prepared<'e> {
        let shell = self.shell_exec(around);
        let prepared = match &self.kind {
            Kind::Shell { .. } | Kind::ShellBuiltin { .. } => {
                Err(self.kind.shell_reason().unwrap_or_default())
            }
            Kind::Builtin(status) => self.builtin(*status, around),
            Kind::Program => self.program(around),
        };
        let (prepared, fallback) = match prepared {
            Ok(prepared) => (prepared, shell.map(Fallback::Program)),
            Err(reason) => {
                // Only a NUL byte, which no argument can hold, prevents calling the shell.
                let action = shell.map_or(Action::Exit(127), Action::Exec);
                (Prepared::new(action, vec![], How::Shell { reason }, None), None)
            }
        };
        let Ends { stdin, stdout, not_mine } = ends;
        let child = Child { fallback, stdin, stdout, not_mine, ..prepared.child };
        Prepared { child, ..prepared }
    }

    /// Returns the command's name and position, if it is a program that does not exist now. Earlier commands
    /// may create one, but seldom one in PATH.
    pub(crate) fn missing_command(&self, environment: &Environment) -> Option<(String, Span)> {
        let Command::Simple(simple) = &self.syntax.command else { return None };
        if self.kind != Kind::Program {
            return None;
        }
        let name = command_name(simple, environment)?;
        let missing = lookup::find(&name, environment).is_none();
        missing.then(|| (String::from_utf8_lossy(&name).into_owned(), simple.words[0].span))
    }

    /// Returns the name and arguments of a builtin, if known now.
    pub(crate) fn builtin_arguments(&self, environment: &Environment) -> Result<Vec<Vec<u8>>, Declined> {
        match &self.syntax.command {
            Command::Simple(simple) if simple.assignments.is_empty() => {
                expand::arguments(&simple.words, environment)
            }
            _ => Err("an assignment before a builtin".into()),
        }
    }

    fn builtin(&self, status: i32, around: &Surroundings<'_>) -> Result<Prepared<'static>, Declined> {
        let redirections = self.redirections(around.environment)?;
        Ok(Prepared::new(Action::Exit(status), redirections, How::Builtin, None))
    }

    /// Returns the program and its arguments, if all are known now; otherwise the shell reports the error.
    pub(crate) fn program(&self, around: &Surroundings<'_>) -> Result<Prepared<'static>, Declined> {
        let Command::Simple(simple) = &self.syntax.command else { return Err("a compound command".into()) };
        let environment = around.environment;
        let arguments = expand::arguments(&simple.words, environment)?;
        let name = arguments.first().ok_or("only assignments")?;
        if std::str::from_utf8(name).is_ok_and(|name| self.functions.iter().any(|f| f == name)) {
            return Err("a function".into());
        }
        let Found { path, starts } = around.program_of(name).ok_or_else(|| missing_program(name))?;
        if !starts {
            // The shell reads it as a script, with the arguments that it has expanded by then.
            return Err(format!(
                "`{}`, which is neither a binary nor begins with `#!`",
                String::from_utf8_lossy(name)
            ));
        }
        let mut assignments = Vec::new();
        for assignment in &simple.assignments {
            assignments.push((assignment.name.clone(), expand::value(&assignment.value, environment)?));
        }
        let envp = around.environment_of(&path, &assignments);
        let program = String::from_utf8_lossy(&path).into_owned();
        let argv = arguments.iter().map(|a| c_string(a)).collect::<Option<_>>().ok_or("a NUL byte")?;
        let exec = Exec { path: c_string(&path).ok_or("a NUL byte")?, argv, envp };
        let redirections = self.redirections(environment)?;
        Ok(Prepared::new(Action::Exec(exec), redirections, How::Process, Some(program)))
    }

    pub(crate) fn shell_exec(&self, around: &Surroundings<'_>) -> Option<Exec> {
        let dialect = around.shell.dialect.unwrap_or(Dialect::Posix);
        let takes_back = (self.is_execed_by_a_shell() || self.shell_text_execs) && !around.execed;
        let env = around.environment.for_stage_shell(dialect, takes_back);
        around.shell.call_stages(around.flags, self.shell_text.as_bytes(), around.name, around.args, &env)
    }

    /// Returns the call of a shell that runs only these neighbouring stages, on their original lines.
    pub(crate) fn shell_exec_of(stages: &[StagePlan], around: &Surroundings<'_>) -> Option<Exec> {
        let lines = |text: &str| text.matches('\n').count();
        let begins = |stage: &StagePlan| lines(&stage.shell_text) - lines(&stage.alone);
        let mut text = stages.first()?.shell_text.clone();
        for pair in stages.windows(2) {
            let between = begins(&pair[1]).saturating_sub(begins(&pair[0]) + lines(&pair[0].alone));
            text.push_str(" |");
            text.push_str(&"\n".repeat(between));
            text.push_str(&format!(" {}", pair[1].alone));
        }
        let dialect = around.shell.dialect.unwrap_or(Dialect::Posix);
        let env = around.environment.for_stage_shell(dialect, false);
        around.shell.call_stages(around.flags, text.as_bytes(), around.name, around.args, &env)
    }

    /// Whether a shell that runs only this stage would exec it rather than start a child.
    pub(crate) fn is_execed_by_a_shell(&self) -> bool {
        let Command::Simple(simple) = &self.syntax.command else { return false };
        let name = simple.words.first().and_then(|word| word.static_text());
        let builtin =
            name.is_some_and(|name| BUILTINS.contains(&name.as_str()) || self.functions.contains(&name));
        self.syntax.redirects.is_empty() && !self.syntax.pipes_stderr && !builtin
    }

    fn redirections(&self, environment: &Environment) -> Result<Vec<Redirection>, Declined> {
        let mut redirections = Vec::new();
        for redirect in &self.syntax.redirects {
            add(redirect, environment, &mut redirections)?;
        }
        let opened: Vec<_> = redirections.iter().filter_map(opened_path).collect();
        if opened.len() > 1 && opened.iter().any(|path| is_fifo(path)) {
            // If a later one failed, the shell would open the FIFO a second time.
            return Err("a FIFO among several redirections".into());
        }
        if self.syntax.pipes_stderr {
            redirections.push(Redirection::Duplicate { fd: 2, from: 1 });
        }
        Ok(redirections)
    }
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

fn opened_path(redirection: &Redirection) -> Option<&CString> {
    match redirection {
        Redirection::Open { path, .. } => Some(path),
        _ => None,
    }
}

fn is_fifo(path: &CString) -> bool {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::FileTypeExt;
    let path = std::ffi::OsStr::from_bytes(path.as_bytes());
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
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

/// Returns the command's base name, or the compound command's keyword.
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

fn bodies(text: &str, stage: &syntax::Stage) -> String {
    let mut result = String::new();
    for redirect in &stage.redirects {
        if let RedirectKind::HereDoc(body) = &redirect.kind {
            let end = text[body.span.end..].find('\n').map_or(text.len(), |i| body.span.end + i);
            result.push('\n');
            result.push_str(&text[body.span.start..end]);
        }
    }
    result
}
/// Describes a name for which there is no program.
fn missing_program(name: &[u8]) -> String {
    let path = Path::new(OsStr::from_bytes(name));
    let why = match path.metadata() {
        _ if !name.contains(&b'/') => "not in PATH",
        Err(_) => "not there",
        Ok(found) if found.is_dir() => "a folder",
        Ok(_) => "not executable",
    };
    format!("`{}`, which is {why}", String::from_utf8_lossy(name))
}
