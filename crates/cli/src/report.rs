//! `pelton report`: what the developers need to know of a text for which pelton and the shell differ.

use crate::Cli;
use crate::check::{AGREES, CHANGES_BY_ITSELF, DIFFERS};
use crate::ending::Ending;
use crate::failure::Failure;
use crate::output;
use crate::shared_options::SourceArgs;
use crate::source::Source;
use crate::terminal;
use clap::{Args, CommandFactory as _, ValueHint};
use pelton_commands::detect::{Detector, SystemProbe};
use pelton_run::{Environment, ListItem, Plan, Request};
use pelton_sys::{machine, startup};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, IsTerminal, Read as _, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Write a report for the developers: what pelton prints for a text, and what the shell prints.
///
/// The text is run by pelton and by the shell, as `pelton run --check` does; if they differ, a few times more, and then shorter
/// parts of it. The report names the difference, the shortest part that still has it, the rule or kernel that causes it, the
/// plan, and the versions of pelton, the shell and the tools. It holds the text, the first lines that differ, the variables of
/// the locale and those that the text names, with their values, and the sizes and SHA-256 sums of the files that it names; please
/// read it before you send it; --without-lines leaves the lines and the sums out. Standard input, if it is no terminal, is read to its end first.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton report 'sort f | uniq -c' > report.md
  pelton report --run-twice 'my-program f | sort'   although the program may do
                                                    more than print
  pelton report --run-twice -f script.sh  a script
  pelton report --without-lines 'sort private | uniq -c'
                                                    nothing of what it printed

Exit status: 3 if pelton and the shell differ; 0 if not, or if the text prints
something else each time; 2 if it cannot be run twice.")]
pub struct ReportVerbArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    /// Run the text several times even if it may do more than print
    #[arg(long)]
    pub run_twice: bool,

    /// Leave out what the text printed, and the sums of its files: where it differs is said, but no bytes of the lines or messages.
    /// The text, the values of its variables and the sizes of its files stay
    #[arg(long)]
    pub without_lines: bool,

    /// Write the report to FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<std::path::PathBuf>,
}

/// The exit status of a check that finds a difference, and of a report with one.
const DIFFERENT: i32 = 3;

/// Runs `pelton report`.
pub fn report(args: &ReportVerbArgs) -> Result<Ending, Failure> {
    let environment = Environment::inherit();
    let source = Source::resolve(&args.source, &environment)?;
    let called = source.called_script(&environment);
    let Source::Text(request, plan) = called.as_ref().unwrap_or(&source) else {
        return Err(Failure::new("a command given as words runs as it is: nothing can differ").with_help(
            if source.calls_make() {
                "one recipe of make: make -n TARGET > recipe.txt, and pelton report --shell sh - < recipe.txt"
            } else {
                "the pipeline in one word: pelton report 'sort FILE | uniq -c'"
            },
        ));
    };
    let folder = args.output.as_deref().and_then(std::path::Path::parent);
    if let Some(missing) = folder.filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        return Err(Failure::new(format!(
            "cannot write the report: there is no folder `{}`",
            missing.display()
        )));
    }
    if let Some(option) = option_behind_script(args) {
        terminal::say(&format!(
            "pelton: `{option}` stands behind the script, so it is the script's argument; options of pelton report stand before -f\n"
        ));
    }
    let cannot = |error: io::Error| Failure::io("cannot run the text for a report", &error);
    let mut checks = Checks { args, calls_script: called.is_some(), input: held_input().map_err(cannot)? };
    let whole = checks.run(&request.text).map_err(cannot)?;
    if whole.is_refused {
        // The refusal names the option, of which this user knows nothing.
        let words = whole.words.replace("pelton run --check", "pelton report");
        let words = words.replace("--check runs", "a report runs");
        terminal::say(&words.replace("the same without --check", "the text in the shell itself"));
        return Ok(Ending::Status(2));
    }
    let shortest = match whole.differs {
        true => checks.shortest(request, plan).map_err(cannot)?,
        false => None,
    };
    let explained = checks.explain(&request.text).map_err(cannot)?;
    let text = markdown(request, &environment, &whole, shortest.as_ref(), &explained, !args.without_lines);
    match &args.output {
        Some(file) => std::fs::write(file, text)
            .map_err(|error| Failure::io(format!("cannot write `{}`", file.display()), &error))?,
        None => output::print(&text, "the report")?,
    }
    terminal::say(told(&whole));
    Ok(Ending::Status(if whole.differs { DIFFERENT } else { 0 }))
}

/// Returns what a report ends with.
fn sending() -> String {
    format!(
        "
## Before you send this

Read it: it holds your text, and the first lines that differ (not with --without-lines). Add the smallest input that shows
the difference. pelton sends nothing by itself: {}.
",
        receiver()
    )
}

/// Returns what a report without a difference ends with.
fn seen() -> String {
    format!(
        "
## What you saw

If you saw a difference, fill this in. It may have been in another folder, or with another input or variable.

pelton printed:

```text

```

The shell printed:

```text

```

Then {}.
",
        receiver()
    )
}

/// Returns an argument of the script that is also an option of this verb.
fn option_behind_script(args: &ReportVerbArgs) -> Option<&str> {
    let (_, arguments) = args.source.script()?;
    let root = Cli::command();
    let options: Vec<_> = root.find_subcommand("report")?.get_arguments().collect();
    arguments.iter().filter_map(|argument| argument.to_str()).find(|argument| {
        options.iter().any(|option| {
            let long = || argument.strip_prefix("--").is_some_and(|name| option.get_long() == Some(name));
            let short = || argument.strip_prefix('-').is_some_and(|name| name.chars().eq(option.get_short()));
            long() || short()
        })
    })
}

/// Returns where a report goes: to an address that whoever built this program gave in `PELTON_REPORT_TO`, or to them.
fn receiver() -> String {
    match option_env!("PELTON_REPORT_TO").filter(|address| !address.is_empty()) {
        Some(address) => format!("send this file to {address}"),
        None => "give this file to whoever gave you pelton, such as the maintainer of its package or your administrator (this build \
                 names no address)"
            .to_owned(),
    }
}

/// Returns what is said beside the report.
fn told(whole: &Checked) -> &'static str {
    match whole.differs {
        true => "pelton: there is a difference; the end of the report says what to do with it\n",
        false if whole.words.contains(CHANGES_BY_ITSELF) => {
            "pelton: the text prints something else each time, also without pelton: there is nothing to send\n"
        }
        false => {
            "pelton: no difference was found; if you saw one, run this in the same folder, with the same input and variables, or \
             write what you saw at the end of the report\n"
        }
    }
}

/// The outcome of `pelton run --check`.
struct Checked {
    text: OsString,
    differs: bool,
    is_refused: bool,
    /// What it says.
    words: String,
}

/// Returns what a check says without what the text said before it, and without the lines that it quotes; these stand further
/// in than its own.
fn without_lines(words: &str) -> String {
    let lines: Vec<&str> = words.lines().collect();
    // The text may have said the like before.
    let own = lines.iter().rposition(|line| line.starts_with(DIFFERS) || line.starts_with(AGREES));
    let own = own.unwrap_or(lines.len());
    let mut kept = String::new();
    for (at, line) in lines.into_iter().enumerate() {
        match at >= own && !line.starts_with(QUOTED) {
            true => kept += &format!("{line}\n"),
            false if kept.ends_with(LEFT_OUT) => {}
            false => kept += LEFT_OUT,
        }
    }
    kept
}

const QUOTED: &str = "    ";
const LEFT_OUT: &str = "    (left out)\n";

/// Standard input is kept up to this size.
const LARGEST_INPUT: u64 = 1 << 30;

/// Runs texts, each on the same standard input.
struct Checks<'a> {
    args: &'a ReportVerbArgs,
    /// The text is a script that words call: they are run, and not the script's text.
    calls_script: bool,
    input: Option<File>,
}

impl Checks<'_> {
    fn run(&mut self, text: &OsString) -> io::Result<Checked> {
        let more: &[&str] = if self.args.run_twice { &["--check", "--run-twice"] } else { &["--check"] };
        let out = self.pelton("run", more, text)?.stdout(Stdio::null()).output()?;
        let words = String::from_utf8_lossy(&out.stderr).into_owned();
        let says = |start: &str| words.lines().any(|line| line.starts_with(start));
        let (is_other, is_same) = (says(DIFFERS), says(AGREES));
        let is_refused = !is_other && !is_same;
        let words = if self.args.without_lines && !is_refused { without_lines(&words) } else { words };
        let differs = is_other && !words.contains(CHANGES_BY_ITSELF);
        Ok(Checked { text: text.clone(), differs, is_refused, words })
    }

    fn explain(&mut self, text: &OsString) -> io::Result<String> {
        let out = self.pelton("explain", &[], text)?.output()?;
        Ok(String::from_utf8_lossy(&out.stdout).into_owned())
    }

    /// Returns the shortest beginning of the pipeline that differs, unless it is the whole.
    fn shortest(&mut self, request: &Request, plan: &Plan) -> io::Result<Option<Checked>> {
        for text in beginnings(request, plan) {
            let checked = self.run(&text)?;
            if checked.differs {
                return Ok(Some(checked));
            }
        }
        Ok(None)
    }

    /// Returns a call of this program for a text, with the standard input from its beginning.
    fn pelton(&mut self, verb: &str, options: &[&str], text: &OsString) -> io::Result<Command> {
        let mut command = as_here(&std::env::current_exe()?);
        command.args([verb, "--color=never"]).args(options);
        if let Some(shell) = &self.args.source.shell {
            command.arg("--shell").arg(shell);
        }
        let stdin = match &mut self.input {
            Some(file) => {
                file.rewind()?;
                Stdio::from(file.try_clone()?)
            }
            None => Stdio::null(),
        };
        match &self.args.source.file {
            Some(script) => command.arg("--file").args(script),
            None if self.calls_script => command.args(&self.args.source.words),
            None => command.arg("--").arg(text),
        };
        command.stdin(stdin);
        Ok(command)
    }
}

/// Returns a command for this program, with SIGPIPE ignored if it is here; [`Command`] itself sets it to its default.
fn as_here(program: &Path) -> Command {
    if !startup::sigpipe_was_ignored() {
        return Command::new(program);
    }
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "trap '' PIPE; exec \"$@\"", "sh"]).arg(program);
    command
}

/// Keeps standard input, to be read again by each run. `None` for a terminal.
fn held_input() -> io::Result<Option<File>> {
    let mut stdin = io::stdin().lock();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let mut file = tempfile::tempfile()?;
    let copied = io::copy(&mut stdin.by_ref().take(LARGEST_INPUT + 1), &mut file)?;
    match copied {
        0..=LARGEST_INPUT => Ok(Some(file)),
        _ => Err(io::Error::other(
            "standard input is larger than 1 GB: `< FILE` in the text reads a file each time",
        )),
    }
}

/// Returns the texts of the first stage, of the first two, and so on, if the text is one pipeline.
fn beginnings(request: &Request, plan: &Plan) -> Vec<OsString> {
    let (Plan::Steps(steps), Some(text), None) = (plan, request.text.to_str(), &request.script) else {
        return Vec::new();
    };
    let [ListItem::List(list)] = steps.as_slice() else { return Vec::new() };
    let [(_, pipeline)] = list.as_slice() else { return Vec::new() };
    let before_last = pipeline.stages.len().saturating_sub(1);
    let ends = pipeline.stages[..before_last].iter().map(|stage| stage.span.end);
    ends.filter_map(|end| Some(text.get(pipeline.span.start..end)?.into())).collect()
}

fn markdown(
    request: &Request,
    environment: &Environment,
    whole: &Checked,
    shortest: Option<&Checked>,
    explained: &str,
    with_sums: bool,
) -> String {
    let mut text = String::from("# A report for pelton\n\n");
    let _ = writeln!(text, "- pelton {}", env!("CARGO_PKG_VERSION"));
    let (_, kernel, kind) = machine::names();
    let _ = writeln!(text, "- {kernel} on {kind}");
    let _ = writeln!(text, "- {}", shell_version(request));
    let _ = writeln!(text, "- {}", system());
    for (name, version) in versions_of(&whole.text.to_string_lossy(), environment) {
        let _ = writeln!(text, "- {name}: {version}");
    }
    if startup::sigpipe_was_ignored() {
        text += "- SIGPIPE is ignored\n";
    }
    let names = [
        "LC_ALL",
        "LC_COLLATE",
        "LC_CTYPE",
        "LC_NUMERIC",
        "LC_MESSAGES",
        "LANGUAGE",
        "LANG",
        "POSIXLY_CORRECT",
        "TMPDIR",
    ];
    let own = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let own = own.filter(|name| name.starts_with("PELTON_"));
    let own = own.chain(variables_of(&whole.text.to_string_lossy()));
    for name in names.map(str::to_owned).into_iter().chain(own) {
        if let Some(value) = environment.get(&name) {
            let _ = writeln!(text, "- {name}={}", String::from_utf8_lossy(value.as_encoded_bytes()));
        }
    }
    for (name, bytes) in files_of(&whole.text.to_string_lossy()) {
        let sum = if with_sums { checksum(name, bytes) } else { None };
        let checksum = sum.map(|sum| format!(", SHA-256 {sum}")).unwrap_or_default();
        let _ = writeln!(text, "- the file `{name}` has {bytes} bytes{checksum}");
    }
    section(&mut text, "The text", "sh", &whole.text.to_string_lossy());
    let found = match whole.differs {
        true => "What differs",
        false if whole.words.contains(CHANGES_BY_ITSELF) => "It changes from run to run",
        false => "No difference was found",
    };
    section(&mut text, found, "text", &whole.words);
    if let Some(shortest) = shortest {
        section(&mut text, "The shortest part that differs", "sh", &shortest.text.to_string_lossy());
        section(&mut text, "What differs there", "text", &shortest.words);
    }
    section(&mut text, "The plan", "text", explained);
    text += &if whole.differs { sending() } else { seen() };
    text
}

/// Returns the variables that a text may use: its readers need their values too.
fn variables_of(text: &str) -> BTreeSet<String> {
    let names = text.split('$').skip(1).map(|rest| rest.trim_start_matches(['{', '#', '!']));
    let names = names
        .map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the tools that a text names and that pelton knows, with what is installed.
fn versions_of<'t>(text: &'t str, environment: &Environment) -> BTreeMap<&'t str, String> {
    let names = words_of(text)
        .filter(|word| !pelton_run::is_builtin(word) && pelton_commands::lookup(word.as_bytes()).is_some());
    let mut detector = Detector::new(&SystemProbe, None);
    let found = |name: &'t str| {
        let path = pelton_run::find_program(name.as_bytes(), environment)?;
        Some((name, detector.identify(Path::new(OsStr::from_bytes(&path))).describe()))
    };
    names.collect::<BTreeSet<_>>().into_iter().filter_map(found).collect()
}

/// Returns the words of a text, without what stands between them in a shell.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "|&;<>()'\"`={}".contains(c)).filter(|word| !word.is_empty())
}

/// Returns the files that a text names, with their sizes.
fn files_of(text: &str) -> BTreeMap<&str, u64> {
    // `${LOG:-app.log}`
    let defaults = words_of(text).filter_map(|word| Some(word.split_once(":-")?.1));
    let words = words_of(text).chain(defaults);
    let size =
        |word| std::fs::metadata(word).ok().filter(std::fs::Metadata::is_file).map(|found| found.len());
    words.filter_map(|word| Some((word, size(word)?))).collect()
}

/// Returns the SHA-256 of a file that is not larger than what is kept of standard input.
fn checksum(name: &str, bytes: u64) -> Option<String> {
    let mut file = File::open(name).ok().filter(|_| bytes <= LARGEST_INPUT)?;
    let (mut hasher, mut block) = (Sha256::new(), vec![0; 1 << 18]);
    loop {
        match file.read(&mut block).ok()? {
            0 => return Some(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            length => hasher.update(&block[..length]),
        }
    }
}

/// Appends a section with a block, whose fence is longer than any in it.
fn section(text: &mut String, title: &str, language: &str, block: &str) {
    let mut fence = "```".to_owned();
    while block.contains(&fence) {
        fence.push('`');
    }
    let _ = write!(text, "\n## {title}\n\n{fence}{language}\n{}\n{fence}\n", block.trim_end());
}

/// Returns the system's name, as /etc/os-release has it.
fn system() -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("a system without /etc/os-release").trim_matches('"').to_owned()
}

/// Returns the first line that the shell says of its version, or its path.
fn shell_version(request: &Request) -> String {
    let path = &request.shell.path;
    let said = Command::new(path).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
    let said = said.ok().filter(|out| out.status.success()).map(|out| out.stdout).unwrap_or_default();
    let line = String::from_utf8_lossy(&said).lines().next().map(str::to_owned);
    line.filter(|line| !line.is_empty()).unwrap_or_else(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn fences_are_longer_than_those_of_the_text() {
        let mut text = String::new();
        section(&mut text, "A", "sh", "echo '```'\n");
        assert_eq!(text, "\n## A\n\n````sh\necho '```'\n````\n");
    }
}
