//! `pelton pipe`: runs a pipeline given as words that the caller has expanded. `pelton run` writes these
//! calls into scripts; see `pelton_run::script`.

use crate::args::PipeArgs;
use crate::ending::Ending;
use crate::failure::Failure;
use crate::run;
use crate::source;
use crate::stateless;
use crate::xtrace;
use pelton_run::{Environment, Explained, Observing, Options};
use pelton_syntax::Dialect;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Longer texts are not planned: the shell gets the words themselves.
const LONGEST: usize = 100 * 1024;

/// Runs `pelton pipe`.
pub fn pipe(args: &PipeArgs) -> Result<Ending, Failure> {
    args.passes.apply()?;
    let environment = Environment::inherit();
    if !args.faithful {
        stateless::declare(&args.switches.stateless)?;
    }
    let stages = stages(&args.words)?;
    let shell = source::find_shell(args.shell.as_deref().unwrap_or(OsStr::new("bash")), &environment)?;
    let for_bash = shell.dialect == Some(Dialect::Bash);
    let is_traced = args.flags.as_deref().is_some_and(|flags| flags.as_bytes().contains(&b'x'));
    match args.trace.filter(|_| is_traced) {
        Some(depth) if for_bash => xtrace::print_as_bash(&stages, depth, &shell.path)
            .map_err(|error| Failure::new(format!("cannot trace the commands: {error}")))?,
        Some(_) => {
            let written = args.write.as_ref().or(args.append.as_ref()).or(args.clobber.as_ref());
            xtrace::print_as_dash(&stages, args.read.as_deref(), written.map(OsString::as_os_str));
        }
        None => {}
    }
    let for_zsh = shell.dialect == Some(Dialect::Zsh);
    let text = Text { args, stages: &stages, for_bash, for_zsh }.planned();
    let name = args.name.clone().unwrap_or_else(|| shell.name.clone());
    let request = |text, shell, words: Vec<OsString>| pelton_run::Request {
        text,
        name: name.clone(),
        args: words,
        script: None,
        shell_flags: vec![],
        shell,
        owns_input: args.own_input,
        is_expanded: true,
    };
    let request = match text.len() <= LONGEST {
        true => request(text, shell, vec![]),
        // Only bash has `${@:…}`.
        false => {
            let bash = source::find_shell(OsStr::new("bash"), &environment)?;
            let words = stages.iter().flat_map(|stage| stage.iter().cloned()).collect();
            request(Text { args, stages: &stages, for_bash: true, for_zsh: false }.by_number(), bash, words)
        }
    };
    let plan = pelton_run::plan(&request, &environment).map_err(|error| Failure::new(error.message))?;
    let native = (!args.faithful).then(|| args.switches.resolve()).transpose()?;
    if let (Some(file), Some(switches)) = (&args.passes.log_calls, &native) {
        log_call(file, args.line[0], &pelton_run::explain(&plan, &request, &environment, switches, false))
            .map_err(|error| Failure::new(format!("cannot write '{}': {error}", file)))?;
    }
    let options = Options { observing: Observing::No, native, in_place: true, ..Options::FAITHFULLY };
    run::text(&request, &plan, &environment, &options)
}

/// Appends which stages of the pipeline run natively, as one line of JSON.
fn log_call(file: &str, line: u32, explained: &[Explained]) -> std::io::Result<()> {
    let mut stages = Vec::new();
    for summary in explained.iter().map(|one| one.planned.summary()) {
        for segment in &summary.segments {
            let names = summary.stages[segment.stages.clone()].iter().map(|stage| &stage.name);
            let stage = |name| serde_json::json!({ "name": name, "process_because_of": segment.reason });
            stages.extend(names.map(stage));
        }
    }
    let line = serde_json::json!({ "line": line, "stages": stages });
    std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)?
        .write_all(format!("{line}\n").as_bytes())
}

/// Parses the arguments of a call as `pelton run` writes it into scripts, without clap, whose start is a
/// tenth of the cost of a tiny call. Returns `None` for all other calls, which clap parses.
pub fn written_call(mut args: impl Iterator<Item = OsString>) -> Option<PipeArgs> {
    args.next().filter(|verb| verb == "pipe")?;
    let mut call = PipeArgs { line: vec![1], ..PipeArgs::default() };
    for arg in args.by_ref() {
        let Some(option) = arg.as_bytes().strip_prefix(b"--") else {
            // Short options, and the empty word, which is no separator.
            if arg.as_bytes().first().is_none_or(|byte| *byte == b'-') {
                return None;
            }
            call.words.push(arg);
            break;
        };
        if option == b"own-input" {
            call.own_input = true;
            continue;
        }
        let (name, value) = option.split_once_at(b'=')?;
        let value = || Some(OsStr::from_bytes(value).to_owned());
        match name {
            b"shell=" => call.shell = value(),
            b"name=" => call.name = value(),
            b"line=" => {
                let line = |line: &str| line.parse().ok().filter(|line| *line <= 1_000_000);
                call.line = value()?.to_str()?.split(',').map(line).collect::<Option<_>>()?;
            }
            b"shell-options=" => call.shell_options = value(),
            b"flags=" => call.flags = value(),
            b"trace=" => call.trace = Some(value()?.to_str()?.parse().ok()?),
            b"silent=" => {
                call.silent =
                    value()?.to_str()?.split(',').map(|at| at.parse().ok()).collect::<Option<_>>()?;
            }
            b"read=" => call.read = value(),
            b"write=" => call.write = value(),
            b"append=" => call.append = value(),
            b"clobber=" => call.clobber = value(),
            _ => return None,
        }
    }
    let targets = [&call.write, &call.append, &call.clobber];
    let one_target = targets.iter().filter(|target| target.is_some()).count() <= 1;
    call.words.extend(args);
    (one_target && call.words.len() > 1).then_some(call)
}

/// Splits the words into stages; the first word is the separator.
fn stages(words: &[OsString]) -> Result<Vec<&[OsString]>, Failure> {
    let help = "pelton pipe ::: sort FILE ::: uniq -c";
    let (separator, rest) =
        words.split_first().ok_or_else(|| Failure::new("there is no pipeline to run").with_help(help))?;
    let stages: Vec<&[OsString]> = rest.split(|word| word == separator).collect();
    if let Some(empty) = stages.iter().position(|stage| stage.is_empty()) {
        let message = format!("stage {} of the pipeline has no command", empty + 1);
        return Err(Failure::new(message)
            .with_help(format!("`{}` stands between stages: {help}", separator.display())));
    }
    Ok(stages)
}

/// The shell text for a pipeline of words.
struct Text<'a> {
    args: &'a PipeArgs,
    stages: &'a [&'a [OsString]],
    /// Whether it is in bash's dialect.
    for_bash: bool,
    /// Whether zsh counts its lines, from 0 in a function.
    for_zsh: bool,
}

impl Text<'_> {
    /// Quotes every word.
    fn planned(&self) -> OsString {
        self.written(|out, words, _| {
            for word in words {
                out.push(b' ');
                quote(out, word, self.for_bash);
            }
        })
    }

    /// Writes the words of each stage as `"${@:FROM:COUNT}"`, for words too long for one argument.
    fn by_number(&self) -> OsString {
        self.written(|out, words, from| {
            let count = words.len();
            out.extend_from_slice(format!(" \"${{@:{from}:{count}}}\"").as_bytes());
        })
    }

    /// Writes the text. `command` appends the words of a command; it gets their place among all words, from 1.
    fn written(&self, command: impl Fn(&mut Vec<u8>, &[OsString], usize)) -> OsString {
        // Makes messages name the script's lines.
        let to_line = |out: &mut Vec<u8>, stage: usize| {
            let line = self.args.line.get(stage).map_or(0, |line| *line as usize) + usize::from(self.for_zsh);
            let now = 1 + out.iter().filter(|byte| **byte == b'\n').count();
            out.extend(std::iter::repeat_n(b'\n', line.saturating_sub(now)));
        };
        let redirect = |out: &mut Vec<u8>, operator: &[u8], file: &OsStr| {
            out.extend_from_slice(operator);
            quote(out, file, self.for_bash);
        };
        let mut out = Vec::new();
        to_line(&mut out, 0);
        if self.args.shell_options.as_deref().is_some_and(has_pipefail) {
            out.extend_from_slice(b"set -o pipefail; ");
        }
        let mut number = 1;
        for (at, stage) in self.stages.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(b" |");
                to_line(&mut out, at);
            }
            let (assignments, words) = stage.split_at(assignments(stage));
            for text in assignments {
                let (name, value) = text.as_bytes().split_once_at(b'=').unwrap_or_default();
                out.push(b' ');
                out.extend_from_slice(name);
                quote(&mut out, OsStr::from_bytes(value), self.for_bash);
            }
            command(&mut out, words, number + assignments.len());
            number += stage.len();
            if self.args.silent.contains(&(at + 1)) {
                out.extend_from_slice(b" 2>/dev/null");
            }
            if let (0, Some(file)) = (at, &self.args.read) {
                redirect(&mut out, b" <", file);
            }
        }
        let writes =
            [(b" >".as_slice(), &self.args.write), (b" >>", &self.args.append), (b" >|", &self.args.clobber)];
        for (operator, file) in writes {
            if let Some(file) = file {
                redirect(&mut out, operator, file);
            }
        }
        OsString::from_vec(out)
    }
}

/// Quotes a word: for bash without newlines, which would count as lines of the script.
pub fn quote(out: &mut Vec<u8>, word: &OsStr, for_bash: bool) {
    out.push(b'\'');
    for byte in word.as_bytes() {
        match byte {
            b'\'' => out.extend_from_slice(b"'\\''"),
            b'\n' if for_bash => out.extend_from_slice(b"'$'\\n''"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
}

/// Returns the number of assignments before the command.
pub fn assignments(stage: &[OsString]) -> usize {
    stage.iter().take_while(|word| is_assignment(word)).count()
}

/// Whether a word is `NAME=…`.
fn is_assignment(word: &OsStr) -> bool {
    let Some((name, _)) = word.as_bytes().split_once_at(b'=') else { return false };
    let name = &name[..name.len() - 1];
    name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Whether pipefail is on.
fn has_pipefail(options: &OsStr) -> bool {
    options.as_bytes().split(|byte| *byte == b':').any(|name| name == b"pipefail")
}

trait SplitAt {
    /// Splits after the first `byte`.
    fn split_once_at(&self, byte: u8) -> Option<(&[u8], &[u8])>;
}

impl SplitAt for [u8] {
    fn split_once_at(&self, byte: u8) -> Option<(&[u8], &[u8])> {
        let at = self.iter().position(|one| *one == byte)?;
        Some(self.split_at(at + 1))
    }
}
