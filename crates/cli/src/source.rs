//! From the command line to a source to run.

use crate::args::Cli;
use crate::diagnose::{self, Severity};
use crate::failure::{Failure, plain};
use crate::gain;
use crate::misunderstood;
use crate::shared_options::SourceArgs;
use crate::terminal::{self, Look};
use clap::CommandFactory;
use pelton_run::{Environment, Plan, Request, Shell};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A text or command to run.
pub enum Source {
    /// Shell text and its plan.
    Text(Box<Request>, Plan),
    /// A command and its arguments.
    Words(Vec<OsString>),
}

impl Source {
    /// Reads and plans what the arguments name.
    pub fn resolve(args: &SourceArgs, environment: &Environment) -> Result<Self, Failure> {
        let mut request = match (args.script(), args.words.as_slice()) {
            (Some((file, arguments)), _) => script(file, arguments, args.shell.as_deref(), environment)?,
            (None, []) => {
                return Err(misunderstood::no_pipeline(&Cli::command()));
            }
            (None, [first, ..]) if is_stray_option(first, &args.words) => {
                return Err(misunderstood::unknown_option(first, &Cli::command()));
            }
            (None, [text]) if text == "-" => text_request(stdin_text()?, args.shell.as_deref(), environment)?,
            (None, [text]) => text_request(text.clone(), args.shell.as_deref(), environment)?,
            (None, words) => return Ok(Source::Words(words.to_vec())),
        };
        request.shell_flags.splice(..0, args.shell_options.iter().cloned());
        if let Some((name, arguments)) = args.parameters.split_first() {
            (request.name, request.args) = (name.clone(), arguments.to_vec());
        }
        let plan = pelton_run::plan(&request, environment).map_err(|error| refusal(&request, error))?;
        Ok(Source::Text(Box::new(request), plan))
    }

    /// Returns the words of a single command, given as words or as text.
    pub fn words(&self) -> Option<Cow<'_, [OsString]>> {
        match self {
            Source::Words(words) => Some(Cow::Borrowed(words)),
            Source::Text(_, plan) => plan.lone_command().map(Cow::Owned),
        }
    }

    /// Whether it is a call of make.
    pub fn calls_make(&self) -> bool {
        self.words().is_some_and(|words| words.first().is_some_and(|word| pelton_run::is_make(word)))
    }

    /// Whether its text was read from a script's file.
    pub fn is_script(&self) -> bool {
        matches!(self, Source::Text(request, _) if request.script.is_some())
    }

    /// Returns the script that it calls and does nothing else, if it does. A tool that pelton knows is none, though many a
    /// `sort` or `grep` is a script around the real one.
    pub fn called_script(&self, environment: &Environment) -> Option<Source> {
        let words = self.words()?;
        CalledScript::of(&words, environment)?.resolve(environment)
    }

    /// Returns the script that it calls, and what in it may depend on the call, if something may.
    pub fn script_that_depends_on_its_call(
        &self,
        environment: &Environment,
    ) -> Option<(PathBuf, &'static str)> {
        let words = self.words()?;
        let script = CalledScript::of(&words, environment)?;
        let depends_on = dependence_on_its_call(&script.text()?)?;
        Some((script.file, depends_on))
    }
}

/// A script that words call, `./script.sh …` or `bash script.sh …`.
pub struct CalledScript<'a> {
    /// The script: `$0`.
    pub file: PathBuf,
    /// The shell that runs it, and its options.
    pub shell: OsString,
    flags: Vec<OsString>,
    arguments: &'a [OsString],
}

impl<'a> CalledScript<'a> {
    /// Recognises the call of a script.
    pub fn of(words: &'a [OsString], environment: &Environment) -> Option<Self> {
        let [first, rest @ ..] = words else { return None };
        let named = Path::new(first).file_name()?.as_bytes();
        if let [file, arguments @ ..] = rest
            && is_shell(named)
            && !file.as_bytes().starts_with(b"-")
        {
            let file = Path::new(file).to_owned();
            let script = CalledScript { file, shell: first.clone(), flags: vec![], arguments };
            return script.is_plain_file().then_some(script);
        }
        // Some tools are scripts (`zcat`), and none of the user's.
        if pelton_commands::lookup(named).is_some() {
            return None;
        }
        let exec = pelton_run::command(words, environment).ok()?;
        let file = Path::new(OsStr::from_bytes(exec.path.as_bytes())).to_owned();
        let (shell, flags) = interpreter_of_system(&beginning(&file)?)?;
        Some(CalledScript { file, shell, flags, arguments: rest })
    }

    /// Whether reading it takes nothing from its shell, as reading a FIFO or a descriptor would.
    fn is_plain_file(&self) -> bool {
        let is_descriptor = ["/dev", "/proc"].iter().any(|folder| self.file.starts_with(folder));
        !is_descriptor && std::fs::metadata(&self.file).is_ok_and(|metadata| metadata.is_file())
    }

    fn text(&self) -> Option<String> {
        let text = std::fs::read(&self.file).ok().filter(|text| !text.contains(&0))?;
        String::from_utf8(text).ok()
    }

    /// Reads and plans it, as `-f` does. `None` if it cannot be read, holds no text, or is no shell's: whoever called it
    /// finds out why.
    fn resolve(self, environment: &Environment) -> Option<Source> {
        let text = self.text().filter(|text| dependence_on_its_call(text).is_none())?;
        let shell = find_shell(&self.shell, environment).ok()?;
        let request = script_request(&self.file, text.into(), self.arguments, shell, self.flags);
        let plan = pelton_run::plan(&request, environment).ok()?;
        Some(Source::Text(Box::new(request), plan))
    }
}

/// Reads the words behind the name of a shell, as that does: its options, then a script, or a text if `-c` was among them, then
/// arguments. `None` if only the shell knows what they mean, or finds a script elsewhere.
pub fn of_shell_call(shell: Option<OsString>, words: &[OsString]) -> Option<SourceArgs> {
    let mut words = words.iter().cloned().peekable();
    let mut args = SourceArgs { shell, ..SourceArgs::default() };
    let mut is_text = false;
    while let Some(word) =
        words.next_if(|word| word.as_bytes().starts_with(b"-") || word.as_bytes().starts_with(b"+"))
    {
        match word.as_bytes() {
            b"-" | b"--" => break,
            b"--noprofile" | b"--norc" => args.shell_options.push(word),
            [sign, letters @ ..]
                if letters.iter().all(|letter| b"abcefhkmnoptuvxBCEHPT".contains(letter)) =>
            {
                is_text |= *sign == b'-' && letters.contains(&b'c');
                // The name of an option stands behind all letters.
                let (takes_name, letters): (Vec<u8>, Vec<u8>) =
                    letters.iter().filter(|letter| **letter != b'c').partition(|letter| **letter == b'o');
                if !letters.is_empty() {
                    args.shell_options.push(OsString::from_vec([&[*sign], letters.as_slice()].concat()));
                }
                for _ in takes_name {
                    args.shell_options.push(OsString::from_vec(vec![*sign, b'o']));
                    args.shell_options.push(words.next()?);
                }
            }
            _ => return None,
        }
    }
    let first = words.next()?;
    if is_text {
        // `-` alone would ask for standard input.
        let is_known =
            first != "-" && first.to_str().is_some_and(|text| dependence_on_its_call(text).is_none());
        (args.words, args.parameters) = (vec![first], words.collect());
        return is_known.then_some(args);
    }
    let is_there =
        std::fs::metadata(&first).is_ok_and(|found| found.is_file()) && std::fs::File::open(&first).is_ok();
    args.file = Some([first].into_iter().chain(words).collect());
    is_there.then_some(args)
}

/// Whether the first word looks like an unknown option, and no `--` precedes it.
pub fn is_stray_option(first: &OsStr, words: &[OsString]) -> bool {
    let given: Vec<OsString> = std::env::args_os().collect();
    let before = given.len().checked_sub(words.len() + 1).and_then(|i| given.get(i));
    first.as_bytes().starts_with(b"-") && first != "-" && before.is_none_or(|word| word != "--")
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

fn text_request(
    text: OsString,
    shell: Option<&OsStr>,
    environment: &Environment,
) -> Result<Request, Failure> {
    let shell = find_shell(shell.unwrap_or(OsStr::new("bash")), environment)?;
    Ok(Request {
        text,
        name: shell.name.clone(),
        args: vec![],
        script: None,
        shell_flags: vec![],
        shell,
        owns_input: false,
        is_expanded: false,
    })
}

/// Finds the shell that the user named.
pub fn find_shell(name: &OsStr, environment: &Environment) -> Result<Shell, Failure> {
    Shell::find(name, environment).map_err(|error| {
        Failure::new(error.to_string())
            .with_status(127)
            .with_help("--shell with a path, such as --shell /bin/sh")
    })
}

/// Reads a text from standard input.
pub fn stdin_text() -> Result<OsString, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::io("cannot read the text from standard input", &error))?;
    const LONGEST: usize = 128 * 1024 - 1;
    if bytes.len() > LONGEST {
        let message =
            format!("the text from standard input is longer than a shell can be given ({LONGEST} bytes)");
        return Err(Failure::new(message).with_help("writing it into a file, and pelton run -f FILE"));
    }
    Ok(OsString::from_vec(bytes))
}

fn script(
    file: &Path,
    arguments: &[OsString],
    shell: Option<&OsStr>,
    environment: &Environment,
) -> Result<Request, Failure> {
    let bytes = std::fs::read(file).map_err(|error| {
        // The status of a shell that cannot read its script.
        let status = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
        Failure::io(format!("cannot read the script `{}`", file.display()), &error).with_status(status)
    })?;
    if bytes.iter().take_while(|byte| **byte != b'\n').any(|byte| *byte == 0) {
        let message = format!("`{}` is a binary file, not a shell script", file.display());
        let help = format!("pelton run {} -- as a program", file.display());
        return Err(Failure::new(message).with_status(126).with_help(help));
    }
    let name = file.file_name().unwrap_or_default();
    let is_makefile = gain::MAKEFILES.iter().any(|make| name == *make);
    if is_makefile && !bytes.starts_with(b"#!") {
        let message = format!("`{}` is a Makefile, not a shell script", file.display());
        let help = "pelton time make; it says by which two lines its recipes run by pelton";
        return Err(Failure::new(message).with_help(help));
    }
    let (interpreter, shell_flags) = shell_of(&bytes, shell);
    let shell = find_shell(&interpreter, environment)?;
    Ok(script_request(file, OsString::from_vec(bytes), arguments, shell, shell_flags))
}

fn script_request(
    file: &Path,
    text: OsString,
    arguments: &[OsString],
    shell: Shell,
    shell_flags: Vec<OsString>,
) -> Request {
    // A pipe (`-f <(…)`) is read only once: its text must be passed on.
    let again = std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file());
    Request {
        text,
        name: file.as_os_str().to_owned(),
        args: arguments.to_vec(),
        script: again.then(|| file.to_path_buf()),
        shell_flags,
        shell,
        owns_input: false,
        is_expanded: false,
    }
}

/// Returns the shell for a script and its options: the one that is asked for, or that the script names, or bash.
fn shell_of(script: &[u8], asked: Option<&OsStr>) -> (OsString, Vec<OsString>) {
    match asked {
        Some(shell) => (shell.to_owned(), vec![]),
        None => interpreter(script).unwrap_or_else(|| ("bash".into(), vec![])),
    }
}

/// Returns the shell that a script's `#!` line names, with its options. `None` if it names no shell: bash
/// then runs the text, as in `bash FILE`.
fn interpreter(script: &[u8]) -> Option<(OsString, Vec<OsString>)> {
    let line = script.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let mut path = words.next()?;
    if path.ends_with("/env") {
        path = words.find(|word| *word != "-S")?;
    }
    let name = Path::new(path).file_name()?.as_bytes();
    is_shell(name).then(|| (OsString::from(path), words.map(OsString::from).collect()))
}

/// Returns what in a script may ask for its own name or text as a process, which is the shell's if the shell is given the
/// script, or for the `$_` that it was started with, or write into its own file. `top` counts only with what may be an option,
/// or as a value: it is a word of English.
fn dependence_on_its_call(script: &str) -> Option<&'static str> {
    let is_part = |c: char| c.is_alphanumeric() || "_-".contains(c);
    let has_word = |wanted: &str, is_call: fn(&str, &str) -> bool| {
        let mut at =
            script.match_indices(wanted).map(|(at, _)| (&script[..at], &script[at + wanted.len()..]));
        at.any(|(before, behind)| {
            !before.ends_with(is_part) && !behind.starts_with(is_part) && is_call(before, behind)
        })
    };
    let may_be_called = |before: &str, behind: &str| {
        before.ends_with('=')
            || behind.trim_start_matches([' ', '\t']).starts_with(['-', '\'', '"', '\\', '$'])
    };
    let texts = ["$_", "${_", "/proc", "proc/"].into_iter().filter(|text| script.contains(text));
    let names = ["ps", "pgrep", "pkill", "pidof", "killall", "pidwait", "pstree"];
    let names = names.into_iter().filter(|name| has_word(name, |_, _| true));
    let top = ["top"].into_iter().filter(|name| has_word(name, may_be_called));
    let own = ["$0"].into_iter().filter(|_| script.replace([' ', '"', '{'], "").contains(">$0"));
    texts.chain(names).chain(top).chain(own).next()
}

/// Returns the shell, with its option if any, that the system starts for a script: it takes all behind the program for one
/// argument (execve(2)). `None` if that is no shell, or what is meant and what the system does differ.
fn interpreter_of_system(script: &[u8]) -> Option<(OsString, Vec<OsString>)> {
    let line = script.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok().filter(|line| !line.contains('\r'))?;
    let words: Vec<&str> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let (shell, flags) = match words.as_slice() {
        ["/usr/bin/env" | "/bin/env", shell] => (*shell, vec![]),
        // By pelton itself, which runs it as bash does.
        ["/usr/bin/env" | "/bin/env", "-S", "pelton", "sh"] => return Some(("bash".into(), vec![])),
        [shell] => (*shell, vec![]),
        [shell, flag] => (*shell, vec![OsString::from(flag)]),
        _ => return None,
    };
    let is_found = shell.starts_with('/') || words.len() == 2 && flags.is_empty();
    (is_found && is_shell(Path::new(shell).file_name()?.as_bytes())).then(|| (shell.into(), flags))
}

/// Returns the bytes of a file in which a `#!` line stands.
fn beginning(file: &Path) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    std::fs::File::open(file).ok()?.take(256).read_to_end(&mut start).ok()?;
    Some(start)
}

/// Returns the text that runs a script by the shell that its `#!` line names, or by `shell`.
pub fn script_by_its_shell(script: &[OsString], shell: Option<&OsStr>) -> Result<OsString, Failure> {
    let Some(file) = script.first().map(Path::new) else { return Ok(OsString::new()) };
    let bytes = std::fs::read(file)
        .map_err(|error| Failure::io(format!("cannot read the script `{}`", file.display()), &error))?;
    let (shell, flags) = shell_of(&bytes, shell);
    let is_option = script[0].as_bytes().starts_with(b"-");
    let end_of_options = is_option.then(|| OsString::from("--"));
    Ok(typed([shell].iter().chain(&flags).chain(&end_of_options).chain(script)).into())
}

/// Returns words as one would type them.
pub fn typed(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    let words = words.into_iter().map(|word| word.as_ref().to_string_lossy().into_owned());
    pelton_record::typed(&words.collect::<Vec<_>>())
}

/// Whether a program of this name is a shell.
pub fn is_shell(name: &[u8]) -> bool {
    let known: [&[u8]; 6] = [b"bash", b"sh", b"dash", b"zsh", b"ksh", b"mksh"];
    known.contains(&name)
}

/// Warns of missing commands. The shell reports them too when it reaches them, and continues.
pub fn warn_of_missing(request: &Request, plan: &Plan, environment: &Environment, look: Look) {
    let text = request.text.to_string_lossy();
    let origin = request.script.as_ref().map(|file| file.display().to_string());
    for (name, span) in plan.missing_commands(environment) {
        let is_there = name.contains('/') && Path::new(&name).exists();
        let message = match is_there {
            true => format!("`{name}` is not an executable file"),
            false => format!("there is no command `{name}`"),
        };
        let help = match (diagnose::similar_program(&name), cure_for_script(&name)) {
            (_, Some(cure)) => cure,
            (Some(similar), None) => format!("did you mean `{similar}`?"),
            (None, None) if Path::new(&name).is_dir() => "it is a folder".into(),
            (None, None) if is_there => "`chmod +x` makes it one, if it is a program".into(),
            (None, None) if name.contains('/') => "no such file is in this folder or at that path".into(),
            (None, None) => "it is neither in PATH nor a builtin or function of the shell".into(),
        };
        terminal::say(&diagnose::snippet(
            Severity::Warning,
            &message,
            &text,
            &[(span, String::new())],
            origin.as_deref(),
            Some(&help),
            look,
        ));
    }
}

/// Returns the cure for a script that is there and cannot be called so: it is not executable, or not in PATH.
fn cure_for_script(name: &str) -> Option<String> {
    let file = Path::new(name);
    let found = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    let path = if name.contains('/') { name.to_owned() } else { format!("./{name}") };
    if found.permissions().mode() & 0o111 != 0 {
        return (path != name).then(|| format!("`{}`: this folder is not in PATH", typed([path])));
    }
    let Some(begins) = beginning(file).filter(|start| start.starts_with(b"#!")) else {
        // Most likely it holds a pipeline.
        return Some(format!("`-f {}` reads the pipeline from this file", typed([name])));
    };
    let chmod = format!("`{}`", typed(["chmod", "+x", name]));
    let then = if path == name { chmod } else { format!("{chmod} and then `{}`", typed([path])) };
    let shell = interpreter_of_system(&begins)
        .and_then(|(shell, _)| Path::new(&shell).file_name().map(OsStr::to_owned));
    Some(match shell {
        Some(shell) => format!("`{}`, or {then}", typed([shell.as_os_str(), name.as_ref()])),
        None => then,
    })
}

/// Describes why a command given as words cannot run.
pub fn no_such_command(words: &[OsString], error: &std::io::Error) -> Failure {
    let name = words.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if error.kind() != std::io::ErrorKind::NotFound {
        return Failure::new(format!("cannot run `{name}`: {}", plain(error))).with_status(126);
    }
    if Path::new(&name).exists() && name.contains('/') {
        let failure = Failure::new(format!("cannot run `{name}`: it is not an executable file"));
        let cure = cure_for_script(&name);
        return cure.into_iter().fold(failure, Failure::with_help).with_status(126);
    }
    let failure = Failure::new(format!("there is no command `{name}`")).with_status(127);
    if let Some(cure) = cure_for_script(&name) {
        return failure.with_help(cure);
    }
    if name.contains(|c: char| c.is_whitespace() || "|;&<>$".contains(c)) {
        let text = "several words are one command; a pipeline is one word, and options of pelton stand before it; one with \
             both kinds of quotes is best kept in a file: pelton time -f FILE";
        return failure.with_help(text);
    }
    if pelton_run::is_builtin(&name) {
        return failure
            .with_help(format!("a pipeline in one word, since `{name}` is a builtin of the shell"));
    }
    match diagnose::similar_program(&name) {
        Some(similar) => failure.with_help(format!("did you mean `{similar}`?")),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::dependence_on_its_call;

    #[test]
    fn a_script_depends_on_its_call_by_what_it_calls_and_not_by_its_words() {
        for (script, wanted) in [
            ("ps aux | grep -c \"$0\"", Some("ps")),
            ("if pgrep -f x; then exit; fi", Some("pgrep")),
            ("n=$(top -b -n 1 | head)", Some("top")),
            ("cat /proc/self/comm", Some("/proc")),
            ("echo \"# x\" > \"$0\"", Some("$0")),
            ("echo ${_}", Some("${_")),
            ("top '-bn1' -p $$ | tail -n 1", Some("top")),
            ("T=top; $T -bn1 | wc -l", Some("top")),
            ("cd /; cat proc/$$/comm", Some("proc/")),
            ("echo '== top samples'\nsort f | head -n 3", None),
            ("comm -12 a b | wc -l", None),
            ("cat top-3 maps | uniq -c", None),
        ] {
            assert_eq!(dependence_on_its_call(script), wanted, "{script}");
        }
    }
}
