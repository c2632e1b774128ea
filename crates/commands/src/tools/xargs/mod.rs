//! `xargs`: GNU findutils, if it runs `echo`, or a command that only reads files and has a kernel: it then
//! only prints.
//!
//! Any other command is run by the real xargs. `explain` shows how that forms argument lists, since it
//! decides whether the next stage has to wait.

mod items;
mod kernel;

use crate::Family;
use crate::tool::cost;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, never};
use crate::tool::versions::OtherVersions;
use pelton_stream::Kernel;

use crate::tool::argv::{Opt, Order, Parsed, Takes, long, opt, parse, short};
use crate::tool::in_process_exec::{self, Program};
use crate::{Accept, Charset, ChildProgram, Command, Context, Declined, EarlyStop, Facts, Input, InputFacts};
use items::Reading;
use kernel::XargsKernel;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    ArgumentFile,
    Asks,
    Characters,
    Delimiter,
    Exits,
    Items,
    Lines,
    LinesMaybe,
    Null,
    Processes,
    Replace,
    ReplaceMaybe,
    SkipsEmpty,
    Other,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Null, b'0', "null", Takes::Nothing),
    opt(Id::ArgumentFile, b'a', "arg-file", Takes::Value),
    opt(Id::Delimiter, b'd', "delimiter", Takes::Value),
    short(Id::Other, b'E', Takes::Value),
    opt(Id::Other, b'e', "eof", Takes::MaybeValue),
    short(Id::Replace, b'I', Takes::Value),
    opt(Id::ReplaceMaybe, b'i', "replace", Takes::MaybeValue),
    short(Id::Lines, b'L', Takes::Value),
    opt(Id::LinesMaybe, b'l', "max-lines", Takes::MaybeValue),
    opt(Id::Items, b'n', "max-args", Takes::Value),
    opt(Id::Other, b'o', "open-tty", Takes::Nothing),
    opt(Id::Asks, b'p', "interactive", Takes::Nothing),
    opt(Id::Processes, b'P', "max-procs", Takes::Value),
    long(Id::Other, "process-slot-var", Takes::Value),
    opt(Id::SkipsEmpty, b'r', "no-run-if-empty", Takes::Nothing),
    opt(Id::Characters, b's', "max-chars", Takes::Value),
    long(Id::Other, "show-limits", Takes::Nothing),
    opt(Id::Other, b't', "verbose", Takes::Nothing),
    opt(Id::Exits, b'x', "exit", Takes::Nothing),
];

/// The characters of an argument list, each argument with its NUL, unless -s says otherwise.
const CHARACTERS: usize = 128 * 1024;

/// When the command is run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Batch {
    /// For as many items as fit.
    Full,
    /// -n: after this many items.
    Items(u64),
    /// -L: after this many lines.
    Lines(u64),
    /// -I: for each line, which replaces this text.
    Replace(Vec<u8>),
}

/// The command for a list.
#[derive(Clone, Debug)]
enum Runs {
    Echo,
    Program(Box<Program>),
}

/// The settings of a run.
#[derive(Clone, Debug)]
struct Settings {
    runs: Runs,
    reading: Reading,
    batch: Batch,
    /// The arguments after the command's name.
    words: Vec<Vec<u8>>,
    /// The most characters of an argument list.
    characters: usize,
    /// -x: fails if a list is too long for -n.
    exits: bool,
    /// Whether it runs once even without items.
    runs_empty: bool,
}

impl Settings {
    /// Returns the words' share of `characters`.
    fn words_bytes(&self) -> usize {
        let name = match &self.runs {
            Runs::Echo => b"echo".len(),
            Runs::Program(program) => program.name.len(),
        };
        name + 1 + self.words.iter().map(|word| word.len() + 1).sum::<usize>()
    }
}

#[derive(Debug)]
struct Xargs {
    settings: Accept<Settings>,
    /// The command as written.
    program: String,
    args: Vec<Vec<u8>>,
}

/// The tool row of `xargs`.
pub(crate) static TOOL: Tool = Tool {
    name: "xargs",
    family: Family::GnuFindutils,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints: never,
    io_errors: IoErrors { catalogue: Some("findutils"), ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[],
    cost: cost::unknown,
    other_versions: &[OtherVersions::alike(&["4.8.0", "4.10.0", "4.11.0"])],
    verifiable: false,
    grammar: Grammar {
        role: Role::Filter,
        needs: &[
            "",
            "echo",
            "-n@p",
            "-n 1",
            "-n @p echo @s",
            "-L @p",
            "-s 1000",
            "-s 60 echo -n",
            "-d '\\n' -n @p",
            "-0 -n @p",
            "-0",
            "-d , -n@p",
            "-rn @p",
            "-r",
            "-x -n 4 -s 70",
            "-I{} echo '<{}>'",
            "-P 2 -n@p",
            "-n @p printf '%s\\n'",
            "-n1 echo -e",
            "-n 1 wc -c",
            "-r cat",
            "-n @p grep -c a",
            "-I{} head -n 2 {}",
            "-0 sort",
            "-n 1 basename",
            "-r basename -a",
            "-I{} basename {} b",
            "dirname",
        ],
        options: &[],
        operands: &[""],
    },
};

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::First)?;
    if parsed.has(Id::ArgumentFile) {
        return Declined::because("it reads its items from a file");
    }
    if parsed.has(Id::Asks) {
        return Declined::because("it asks before it runs commands");
    }
    let operands = parsed.operands();
    let (program, words) =
        operands.split_first().map_or((&b"echo"[..], &[][..]), |(name, rest)| (name, rest));
    let settings = settings(&parsed, program, words, context);
    let program = String::from_utf8_lossy(program).into_owned();
    Ok(Box::new(Xargs { settings, program, args: args.to_vec() }))
}

fn when(parsed: &Parsed<'_, Id>) -> &'static str {
    let full = "once it has gathered all items, or as many as fit an argument list";
    parsed.options().fold(full, |when, (id, _)| match id {
        Id::Items => "once for every few items",
        Id::Lines | Id::LinesMaybe | Id::Replace | Id::ReplaceMaybe => "once for every line or few",
        _ => when,
    })
}

fn settings(parsed: &Parsed<'_, Id>, program: &[u8], words: &[&[u8]], context: &Context) -> Accept<Settings> {
    let runs = || format!("it runs {} {}", program.escape_ascii(), when(parsed));
    let is_echo = program == b"echo";
    if !is_echo && !in_process_exec::is_known(program) {
        return Declined::because(runs());
    }
    let settings = lists(parsed, words, context)?;
    if is_echo {
        return Ok(settings);
    }
    let (replace, single) = match &settings.batch {
        Batch::Replace(pattern) => (Some(&pattern[..]), true),
        batch => (None, *batch == Batch::Items(1)),
    };
    let made = Program::new(program, &settings.words, replace, single, &context.locale)
        .map_err(|declined| Declined::new(format!("{} ({})", runs(), declined.reason)))?;
    Ok(Settings { runs: Runs::Program(Box::new(made)), ..settings })
}

/// Parses how the command line is split into lists.
fn lists(parsed: &Parsed<'_, Id>, words: &[&[u8]], context: &Context) -> Accept<Settings> {
    if context.locale.ctype == Charset::Other {
        return Declined::because("a locale in which other characters may be blank");
    }
    let mut settings = Settings {
        runs: Runs::Echo,
        reading: Reading::Blanks,
        batch: Batch::Full,
        words: words.iter().map(|word| word.to_vec()).collect(),
        characters: CHARACTERS,
        exits: false,
        runs_empty: true,
    };
    let mut batches = 0;
    let mut readings = 0;
    for (id, value) in parsed.options() {
        batches += u32::from(matches!(id, Id::Items | Id::Lines | Id::Replace));
        readings += u32::from(matches!(id, Id::Null | Id::Delimiter));
        match id {
            Id::Null => settings.reading = Reading::Delimiter(0),
            Id::Delimiter => settings.reading = Reading::Delimiter(delimiter(value)?),
            Id::Items => settings.batch = Batch::Items(number(value, 1)?),
            Id::Lines => settings.batch = Batch::Lines(number(value, 1)?),
            Id::Replace if value.is_empty() => return Declined::because("nothing to replace"),
            Id::Replace => settings.batch = Batch::Replace(value.to_vec()),
            Id::Characters => settings.characters = number(value, 1)? as usize,
            Id::Exits => settings.exits = true,
            Id::SkipsEmpty => settings.runs_empty = false,
            // The order of starting is one of the possible orders of ending.
            Id::Processes => drop(number(value, 0)?),
            _ => return Declined::because("an option of which only the real one knows what it does"),
        }
    }
    if batches > 1 || readings > 1 {
        return Declined::because("options that exclude each other");
    }
    if let Batch::Replace(_) = settings.batch {
        settings.runs_empty = false;
        if settings.reading == Reading::Blanks {
            settings.reading = Reading::Lines;
        }
    }
    let counts_lines = matches!(settings.batch, Batch::Replace(_) | Batch::Lines(_));
    if counts_lines && settings.characters != CHARACTERS {
        return Declined::because("-s where lines count");
    }
    if settings.characters > CHARACTERS || settings.words_bytes() + 64 > settings.characters.min(2048) {
        return Declined::because("an argument list whose length the system may limit");
    }
    if words.iter().any(|word| matches!(*word, b"--help" | b"--version")) {
        return Declined::because("echo may tell about itself");
    }
    Ok(settings)
}

fn number(text: &[u8], least: u64) -> Accept<u64> {
    let digits = text.len() <= 9 && text.iter().all(u8::is_ascii_digit);
    match std::str::from_utf8(text).ok().filter(|_| digits).and_then(|text| text.parse().ok()) {
        Some(number) if number >= least => Ok(number),
        _ => Declined::because("a number that is not plain"),
    }
}

fn delimiter(text: &[u8]) -> Accept<u8> {
    match text {
        [byte] => Ok(*byte),
        b"\\n" => Ok(b'\n'),
        b"\\t" => Ok(b'\t'),
        b"\\0" => Ok(0),
        _ => Declined::because("a delimiter that is not plain"),
    }
}

impl Command for Xargs {
    fn facts(&self) -> Facts {
        let starts_often = self.settings.as_ref().is_ok_and(|settings| settings.batch != Batch::Full);
        // Not marked as blocking: full lists may be run before the input ends. Invalid input, or a command
        // that fails, may end it early.
        Facts {
            input: InputFacts { stops_early: Some(EarlyStop::Problem), ..InputFacts::default() },
            child: Some(ChildProgram { name: self.program.clone(), starts_often }),
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &[Input::Stdin]
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let settings = self.settings.clone()?;
        Ok(Box::new(XargsKernel::new(settings)))
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        Some(self.args.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation, Locale};

    fn reason(line: &str) -> String {
        let context =
            Context { locale: Locale::C, implementation: Implementation::tested(Family::GnuFindutils) };
        let args: Vec<Vec<u8>> = line.split_whitespace().map(|arg| arg.as_bytes().to_vec()).collect();
        match accept(&args, &context) {
            Ok(command) => command.kernel().err().map(|declined| declined.reason).unwrap_or_default(),
            Err(declined) => declined.reason,
        }
    }

    #[test]
    fn it_says_when_it_runs_what() {
        assert_eq!(
            reason("rm"),
            "it runs rm once it has gathered all items, or as many as fit an argument list"
        );
        assert_eq!(reason("-0 -n 1 rm -I"), "it runs rm once for every few items");
        assert_eq!(reason("-P4 -I{} mv {} x"), "it runs mv once for every line or few");
        assert_eq!(reason("-n5 --max-lines -r chmod -p"), "it runs chmod once for every line or few");
    }

    #[test]
    fn what_only_reads_files_needs_no_process() {
        for line in [
            "wc -l",
            "-n1 basename",
            "-I{} basename {} .c",
            "dirname -z",
            "-0 -n 1 grep -c x",
            "-I% cat -n %",
            "-r sed s/a/b/",
            "-n 2 sort -u",
            "-L1 head -n 1",
        ] {
            assert_eq!(reason(line), "", "{line}");
        }
        for line in [
            "sort -o",
            "-I% cat x%",
            "-I% grep % %",
            "-I% grep % file",
            "-n1 grep x file -e",
            "-I% cut --output-delimiter % -f1 file",
            "uniq",
            "grep -f x",
            "tee",
            "sed -i s/a/b/",
            "grep -P x",
            "-n1 basename a b",
            "-I{} basename x{}",
        ] {
            assert_ne!(reason(line), "", "{line}");
        }
        assert_eq!(reason("-n1 uniq"), "");
    }

    #[test]
    fn what_reads_elsewhere_is_not_judged() {
        assert_eq!(reason("-a f wc"), "it reads its items from a file");
        assert_eq!(reason("-p rm"), "it asks before it runs commands");
        assert_eq!(reason("--max"), "option --max is ambiguous");
    }
}
