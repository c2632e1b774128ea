//! From the command line to what is to be run.

use crate::args::SourceArgs;
use crate::diagnose::{self, Severity};
use crate::failure::{Failure, plain};
use crate::terminal::{self, Look};
use pelton_run::{Environment, Plan, Request, Shell};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// What is to be run.
pub enum Source {
    /// Shell text, and how it will be run.
    Text(Box<Request>, Plan),
    /// A command and its arguments.
    Words(Vec<OsString>),
}

impl Source {
    /// Reads and plans what the arguments name.
    pub fn resolve(args: &SourceArgs, environment: &Environment) -> Result<Self, Failure> {
        let request = match (&args.file, args.words.as_slice()) {
            (Some(file), arguments) => script(file, arguments, &args.shell, environment)?,
            (None, []) => {
                let message = "there is no pipeline to run";
                return Err(Failure::new(message).with_help("pelton time 'sort FILE | uniq -c', or pelton help"));
            }
            (None, [text]) if text == "-" => text_request(stdin_text()?, &args.shell, environment)?,
            (None, [text]) => text_request(text.clone(), &args.shell, environment)?,
            (None, words) => return Ok(Source::Words(words.to_vec())),
        };
        let plan = pelton_run::plan(&request, environment).map_err(|error| refusal(&request, error))?;
        Ok(Source::Text(Box::new(request), plan))
    }
}

fn refusal(request: &Request, error: pelton_syntax::SyntaxError) -> Failure {
    let text = request.text.to_string_lossy();
    let origin = request.script.as_ref().map(|file| file.display().to_string());
    let failure = Failure::new(error.message).at(&text, error.span, origin);
    match error.help {
        Some(help) => failure.with_help(help),
        None => failure,
    }
}

fn text_request(text: OsString, shell: &OsStr, environment: &Environment) -> Result<Request, Failure> {
    let shell = find_shell(shell, environment)?;
    Ok(Request { text, name: shell.name.clone(), args: vec![], script: None, shell })
}

fn find_shell(name: &OsStr, environment: &Environment) -> Result<Shell, Failure> {
    Shell::find(name, environment).map_err(|error| {
        Failure::new(error.to_string()).with_status(127).with_help("--shell with a path, such as --shell /bin/sh")
    })
}

fn stdin_text() -> Result<OsString, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::io("cannot read the text from standard input", &error))?;
    Ok(OsString::from_vec(bytes))
}

fn script(file: &Path, arguments: &[OsString], shell: &OsStr, environment: &Environment) -> Result<Request, Failure> {
    let bytes = std::fs::read(file).map_err(|error| {
        // As a shell that is given a script it cannot read.
        let status = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
        Failure::io(format!("cannot read the script `{}`", file.display()), &error).with_status(status)
    })?;
    if bytes.iter().take(512).any(|byte| *byte == 0) {
        let message = format!("`{}` is a binary file, not a shell script", file.display());
        let help = format!("pelton run {} runs it as a program", file.display());
        return Err(Failure::new(message).with_status(126).with_help(help));
    }
    let interpreter = interpreter(&bytes).filter(|_| shell == "bash");
    let shell = find_shell(interpreter.as_deref().unwrap_or(shell), environment)?;
    Ok(Request {
        text: OsString::from_vec(bytes),
        name: file.as_os_str().to_owned(),
        args: arguments.to_vec(),
        script: Some(file.to_path_buf()),
        shell,
    })
}

/// The shell that a script's `#!` line names, if it is a shell. An interpreter's option (`#!/bin/sh -e`) is not
/// modelled: such a script is left to be run as a program.
fn interpreter(script: &[u8]) -> Option<OsString> {
    let line = script.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let mut path = words.next()?;
    if path.ends_with("/env") {
        path = words.next()?;
    }
    let name = Path::new(path).file_name()?.as_bytes();
    let known: [&[u8]; 6] = [b"bash", b"sh", b"dash", b"zsh", b"ksh", b"mksh"];
    (words.next().is_none() && known.contains(&name)).then(|| OsString::from(path))
}

/// Warns of commands that do not exist. The shell will say so too, when it comes to them, and go on.
pub fn warn_of_missing(request: &Request, plan: &Plan, environment: &Environment, look: Look) {
    let text = request.text.to_string_lossy();
    let origin = request.script.as_ref().map(|file| file.display().to_string());
    for (name, span) in plan.missing_commands(environment) {
        let message = format!("there is no command `{name}`");
        let similar = diagnose::similar_program(&name);
        let help = match similar {
            Some(similar) => format!("did you mean `{similar}`?"),
            None => "it is neither in PATH nor a builtin or function of the shell".into(),
        };
        terminal::say(&diagnose::snippet(
            Severity::Warning,
            &message,
            &text,
            span,
            origin.as_deref(),
            Some(&help),
            look,
        ));
    }
}

/// The failure of a command that was given as words.
pub fn no_such_command(words: &[OsString], error: &std::io::Error) -> Failure {
    let name = words.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if error.kind() != std::io::ErrorKind::NotFound {
        return Failure::new(format!("cannot run `{name}`: {}", plain(error))).with_status(126);
    }
    if Path::new(&name).exists() && name.contains('/') {
        return Failure::new(format!("cannot run `{name}`: it is not an executable file")).with_status(126);
    }
    let failure = Failure::new(format!("there is no command `{name}`")).with_status(127);
    if name.contains(|c: char| c.is_whitespace() || "|;&<>$".contains(c)) {
        let text = "several words are one command; a pipeline is one word, and options of pelton stand before it";
        return failure.with_help(text);
    }
    match diagnose::similar_program(&name) {
        Some(similar) => failure.with_help(format!("did you mean `{similar}`?")),
        None => failure,
    }
}
