//! `sed`: GNU sed.
//!
//! The path of a script: text → [`parse`] (with [`replacement`] and [`appended_text`]) → [`script`], its
//! content, and [`flow`], its order and whether lines are connected → [`program`], with compiled expressions
//! and global properties → [`machine`], which runs it line by line as sed does ([`cycle`], [`ranges`],
//! [`list`]), or [`passes`], which runs command by command over whole blocks. Simpler scripts have a more
//! specific class for the planner: a byte map, a line filter, a map of lines.

mod appended_text;
mod cycle;
mod flow;
mod list;
mod machine;
mod needed_lines;
mod parse;
mod passes;
mod program;
mod ranges;
mod replacement;
mod script;
mod spaces;
mod stateless;
mod substitute;
mod white_space;

pub(crate) use stateless::stateless;

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{self, Caller, IoErrors, StandardOutput, Unreadable, WriteFailure};
use crate::tool::row::{Acceptor, InProcess, Tool, is_letters_with};
use crate::tool::versions::{self, OtherVersions};
use pelton_stream::Kernel;
use std::io;

use crate::regex::{Judges, Shape};
use crate::tool::argv;
use crate::tool::argv::{Opt, Order, Takes, long, opt, short};
use crate::tool::facts::may_escape_nul;
use crate::{
    Accept, ByteMap, ByteMapKernel, ByteSet, Class, Command, Context, Declined, EarlyStop, Facts, Input,
    InputFacts, Lookup, OutputFacts, OverParts,
};

use machine::{Machine, SedMode};
use passes::Passes;
use program::{At, Instruction, Program, Select, Settings, Substitution, Work};
use script::{Action, Address, End, Lines, Script};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    Quiet,
    Expression,
    File,
    Extended,
    Separate,
    Unbuffered,
    NullData,
    Columns,
    /// No effect on this system.
    Binary,
    /// Declined, with the reason.
    Refused(&'static str),
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Quiet, b'n', "quiet", Takes::Nothing),
    long(Id::Quiet, "silent", Takes::Nothing),
    opt(Id::Expression, b'e', "expression", Takes::Value),
    opt(Id::Extended, b'E', "regexp-extended", Takes::Nothing),
    short(Id::Extended, b'r', Takes::Nothing),
    opt(Id::Separate, b's', "separate", Takes::Nothing),
    opt(Id::Unbuffered, b'u', "unbuffered", Takes::Nothing),
    opt(Id::NullData, b'z', "null-data", Takes::Nothing),
    long(Id::NullData, "zero-terminated", Takes::Nothing),
    opt(Id::Binary, b'b', "binary", Takes::Nothing),
    opt(Id::File, b'f', "file", Takes::Value),
    opt(Id::Refused("changing files in place (-i)"), b'i', "in-place", Takes::MaybeValue),
    opt(Id::Columns, b'l', "line-length", Takes::Value),
    long(Id::Refused("--posix"), "posix", Takes::Nothing),
    long(Id::Refused("--debug"), "debug", Takes::Nothing),
    long(Id::Refused("--sandbox"), "sandbox", Takes::Nothing),
    long(Id::Refused("--follow-symlinks"), "follow-symlinks", Takes::Nothing),
];

/// The parsed arguments of `sed`.
#[derive(Debug)]
struct Sed {
    program: Program,
    manner: SedMode,
    inputs: Vec<Input>,
    /// Its byte map, if it is one.
    map: Option<Box<ByteMap>>,
    resume: Option<Vec<Vec<u8>>>,
    facts: Facts,
}

/// The parsed options.
#[derive(Debug, Default)]
struct Options<'a> {
    pieces: Vec<&'a [u8]>,
    file: Option<&'a [u8]>,
    quiet: bool,
    extended: bool,
    separate: bool,
    unbuffered: bool,
    null_data: bool,
    columns: Option<u64>,
    operands: Vec<&'a [u8]>,
    /// As written, to continue from standard input.
    resume: Vec<Vec<u8>>,
}

impl<'a> Options<'a> {
    fn parse(args: &'a [Vec<u8>]) -> Accept<Options<'a>> {
        let parsed = argv::parse(args, OPTIONS, Order::Anywhere)?;
        let mut options =
            Options { operands: parsed.operands(), resume: parsed.resume_args(), ..Options::default() };
        for (id, value) in parsed.options() {
            match id {
                Id::Quiet => options.quiet = true,
                Id::Expression => options.pieces.push(value),
                Id::File if options.file.is_none() => options.file = Some(value),
                Id::File => return Declined::because("several files of scripts"),
                // A script is parsed with the options before it: later ones do not apply.
                Id::Extended | Id::NullData if !options.pieces.is_empty() || options.file.is_some() => {
                    return Declined::because("-E or -z behind a script");
                }
                Id::Extended => options.extended = true,
                Id::NullData => options.null_data = true,
                Id::Separate => options.separate = true,
                Id::Unbuffered => options.unbuffered = true,
                Id::Columns => options.columns = Some(columns(value)?),
                Id::Binary => {}
                Id::Refused(what) => return Declined::because(what),
            }
        }
        if options.file.is_some() && !options.pieces.is_empty() {
            return Declined::because("a script in a file beside another (-e)");
        }
        if options.pieces.is_empty() && options.file.is_none() {
            if options.operands.is_empty() {
                return Declined::because("no script");
            }
            let script = options.operands.remove(0);
            options.pieces.push(script);
            options.resume.extend([b"-e".to_vec(), script.to_vec()]);
        }
        Ok(options)
    }
}

/// Parses the value of `-l`.
fn columns(value: &[u8]) -> Accept<u64> {
    let digits =
        std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    match digits.and_then(|text| text.parse().ok()) {
        Some(columns) => Ok(columns),
        None => Declined::because("an unusual value of -l"),
    }
}

/// The tool row of `sed`.
pub(crate) static TOOL: Tool = Tool {
    name: "sed",
    family: Family::GnuSed,
    alternatives: &[],
    accept: Acceptor::WithLookup(accept),
    split: Some(stateless),
    in_process: InProcess::Reads { reuses_kernel: true, needs_all_sizes: false },
    only_prints: call_only_prints,
    io_errors: IoErrors { catalogue: Some("sed"), write: write_error, read: read_error },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[],
    cost: |_| Rate::both(4.0, 0.6, 1.0),
    other_versions: &[OtherVersions::but(&["4.7", "4.8"], difference)],
    verifiable: true,
    grammar: Grammar::reader(&["@x", "-n @x", "-e @x", "-E @x", "-e @x -e @x"], &["-z", "-s", "-u"]),
};

/// 4.9 knows the address 0 of `r`, and takes `\n` for a newline where the letter n separates the parts of `s`.
fn difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let holds = |part: &[u8]| args.iter().any(|arg| arg.windows(part.len()).any(|window| window == part));
    let reads_script = versions::may_have(args, b"f");
    let may_differ = reads_script || holds(b"0r") || holds(b"0 r") || holds(b"sn") || holds(b"yn");
    may_differ.then_some("the address 0, and the letter n as a separator")
}

fn call_only_prints(args: &[&str]) -> bool {
    let in_place = |arg: &&str| arg.starts_with("--in") || is_letters_with(arg, 'i');
    let words: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
    // What cannot be read here is judged by its letters, those of file names too.
    only_prints(&words).is_ok() || !args.iter().any(|arg| in_place(arg) || script_may_write(arg))
}

/// Whether the script may write or run something: `w`, `W` and `e` as commands or flags do. A script with
/// these letters outside of plain `s/…/…/g` or a print counts.
fn script_may_write(script: &str) -> bool {
    let plain = script.strip_prefix('s').and_then(|rest| {
        let mark = rest.chars().next()?;
        let flags = rest.rsplit(mark).next()?;
        (rest.matches(mark).count() == 3 && !rest.contains('\n')).then_some(flags)
    });
    match plain {
        Some(flags) => !flags.chars().all(|c| c.is_ascii_digit() || "gpIi".contains(c)),
        None => script.contains(['w', 'W', 'e']),
    }
}

fn write_error(caller: &Caller, failure: &WriteFailure) -> (String, i32) {
    let what = match failure.is_beyond_first_buffer() {
        true => lost_items(caller, failure.item),
        false => caller.translated("couldn't flush %s: %s"),
    };
    let what = what.replacen("%s", "stdout", 1).replacen("%s", &caller.reason(&failure.error), 1);
    (format!("{}: {what}\n", caller.called), 4)
}

/// Returns sed's message about a lost line of this length, with `%s` for the destination and the reason.
fn lost_items(caller: &Caller, length: usize) -> String {
    let (one, many) = ("couldn't write %llu item to %s: %s", "couldn't write %llu items to %s: %s");
    let found = caller.translated(&format!("{one}\0{many}"));
    // One form, or one for the singular and one for the plural; with more the language has its own rules.
    let form = match *found.split('\0').collect::<Vec<_>>() {
        [form] => form,
        [singular, _] if length == 1 => singular,
        [_, plural] => plural,
        _ => many,
    };
    form.replace("%llu", &length.to_string())
}

fn read_error(caller: &Caller, input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    let what = caller.translated("read error on %s: %s");
    let what = what.replacen("%s", &io_errors::file_name(input, "stdin"), 1);
    Unreadable::goes_on(format!("{}: {}\n", caller.called, what.replacen("%s", &caller.reason(error), 1)), 4)
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], context: &Context, lookup: &dyn Lookup) -> Accept<Box<dyn Command>> {
    let options = Options::parse(args)?;
    let utf8 = context.locale.ctype != crate::Charset::C;
    let file = options.file.map(|name| lookup.script(name)).transpose()?;
    let text = match &file {
        Some(text) => text.strip_suffix(b"\n").unwrap_or(text).to_vec(),
        None => options.pieces.join(&b'\n'),
    };
    let mut script = parse::parse(&text, options.pieces.len() > 1, utf8)?;
    flow::name_last_used(&mut script)?;
    let quits = script.commands.iter().any(|command| matches!(command.action, Action::Quit { .. }));
    if options.unbuffered && quits {
        return Declined::because("-u leaves unread what q does not want");
    }
    let says_text =
        |action: &Action| matches!(action, Action::Append(_) | Action::Insert(_) | Action::Change(_));
    if options.null_data && script.commands.iter().any(|command| says_text(&command.action)) {
        return Declined::because("a, i or c with -z");
    }
    let line_end = if options.null_data { 0 } else { b'\n' };
    let manner = SedMode {
        quiet: options.quiet || script.quiet,
        separate: options.separate,
        line_end,
        columns: options.columns.unwrap_or(list::COLUMNS),
    };
    let mut program = Program::new(&script, &Settings { context, extended: options.extended, line_end })?;
    let inputs = Input::from_operands(&options.operands);
    let map = byte_map(&program, manner).filter(|_| inputs.len() == 1).map(Box::new);
    // A last line without terminator would join the next file's first line in the real sed's standard input.
    let leaves = !program.counts && inputs.len() == 1;
    if !leaves {
        program.stay()?;
    }
    let resume = (leaves && program.may_stop && map.is_none()).then_some(options.resume);
    let prints_input = options.file.is_none() && !options.null_data && !may_escape_nul(args);
    let output = if prints_input { OutputFacts::of_input() } else { OutputFacts::default() };
    let facts = Facts {
        scripts: options.file.iter().map(|name| name.to_vec()).collect(),
        output: OutputFacts { is_unbuffered: options.unbuffered, ..output },
        ..facts(&script, &program, manner, map.as_deref(), inputs.len())
    };
    Ok(Box::new(Sed { program, manner, inputs, map, resume, facts }))
}

/// Returns how many files these arguments name, at their end, if the script only prints.
///
/// # Errors
/// If it may do more, or is not supported.
pub fn only_prints(args: &[Vec<u8>]) -> Accept<usize> {
    let options = Options::parse(args)?;
    if options.file.is_some() {
        return Declined::because("a script in a file");
    }
    // The parser declines anything that writes files or runs commands.
    parse::parse(&options.pieces.join(&b'\n'), options.pieces.len() > 1, false)?;
    let files = options.operands.len();
    let at_end =
        options.operands.iter().zip(&args[args.len() - files..]).all(|(one, arg)| *one == arg.as_slice());
    if at_end { Ok(files) } else { Declined::because("options behind its files") }
}

impl Command for Sed {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        if let Some(map) = &self.map {
            return Ok(Box::new(ByteMapKernel::new(map)));
        }
        if let Some(passes) = Passes::new(&self.program, self.manner) {
            return Ok(Box::new(passes));
        }
        Ok(Box::new(Machine::new(self.program.clone(), self.manner)))
    }

    fn keeps_same_lines_after(&self, map: &ByteMap) -> bool {
        match filter(&self.program, self.manner) {
            Some(At::Matching(regex)) => regex.keeps_same_lines_after(map),
            _ => false,
        }
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        self.resume.clone()
    }
}

/// Returns the whole script as one byte map, if it is one: `s/a/b/g`, `s/[0-9]//g`, `y/ab/ba/`.
fn byte_map(program: &Program, manner: SedMode) -> Option<ByteMap> {
    if manner.quiet {
        return None;
    }
    let mut map = ByteMap::identity();
    for step in &program.steps {
        let Instruction { lines: Select::All, negated: false, work } = step else { return None };
        let next = match work {
            Work::Substitute(substitution) => substitution_map(substitution, manner.line_end)?,
            Work::Plain(Action::Translate(to)) => translation_map(to, manner.line_end)?,
            Work::Plain(_) => return None,
        };
        map = map.then(&next);
    }
    Some(map)
}

fn translation_map(to: &[u8; 256], line_end: u8) -> Option<ByteMap> {
    let mut map = ByteMap { to: *to, deleted: ByteSet::none() };
    // A line never contains its terminator, so its mapping does not matter.
    map.to[usize::from(line_end)] = line_end;
    (!map.creates().contains(line_end)).then_some(map)
}

/// Returns the map if each member of a set becomes the same byte or nothing, in any position.
fn substitution_map(substitution: &Substitution, line_end: u8) -> Option<ByteMap> {
    let says = &substitution.says;
    let fixed = substitution.fixed.as_deref()?;
    if !says.global || says.nth > 1 || says.prints() || fixed.len() > 1 || fixed == [line_end] {
        return None;
    }
    if substitution.regex.judges_all() != Judges::AnyBytes {
        return None;
    }
    let members = match substitution.regex.shape() {
        Shape::Literal(text) => ByteSet::where_(|byte| text == [byte]),
        Shape::OneOf(members) => ByteSet::where_(|byte| members[usize::from(byte)]),
        Shape::Other => return None,
    };
    if members.is_empty() {
        return None;
    }
    let mut map = ByteMap::identity();
    for byte in members.iter().filter(|byte| *byte != line_end) {
        match fixed {
            [] => map.deleted.insert(byte),
            fixed => map.to[usize::from(byte)] = fixed[0],
        }
    }
    Some(map)
}

/// Returns the address by which whole lines are kept or dropped, if that is the whole effect.
fn filter(program: &Program, manner: SedMode) -> Option<&At> {
    let [Instruction { lines: Select::At(at), work: Work::Plain(action), .. }] = program.steps.as_slice()
    else {
        return None;
    };
    match action {
        Action::Print if manner.quiet => Some(at),
        Action::Delete if !manner.quiet => Some(at),
        _ => None,
    }
}

fn facts(script: &Script, program: &Program, manner: SedMode, map: Option<&ByteMap>, inputs: usize) -> Facts {
    let quits = script.commands.iter().any(|command| matches!(command.action, Action::Quit { .. }));
    let in_order = program.counts || inputs > 1;
    let class = match map {
        Some(map) => Class::ByteMap(Box::new(map.clone())),
        None if !in_order && filter(program, manner).is_some() => Class::LineFilter,
        None => Class::Other,
    };
    let sharing = match flow::connection(script) {
        None if inputs == 1 => "several: no line depends on another".to_owned(),
        None => "one: several files are read one after another".to_owned(),
        Some(connection) => format!("one, which takes the lines in order: {connection}"),
    };
    let stops_early = (quits && in_order).then_some(EarlyStop::Done);
    let over_parts = match deleted_at_the_start(script) {
        Some(lines) if !manner.quiet && inputs == 1 => OverParts::AfterFirst { lines, options: None },
        _ => OverParts::Unknown,
    };
    Facts {
        class,
        over_parts,
        record_end: manner.line_end,
        input: InputFacts {
            stops_early,
            needed_lines: needed_lines::needed_lines(script, manner.quiet).filter(|_| inputs == 1),
            ..InputFacts::default()
        },
        sharing: Some(sharing),
        ..Facts::default()
    }
}

/// Returns how many lines a script deletes that deletes the first lines and does nothing else (`1d`, `1,5d`).
fn deleted_at_the_start(script: &Script) -> Option<u64> {
    let [only] = script.commands.as_slice() else { return None };
    let lines = match &only.lines {
        Lines::At(Address::Number(1)) => 1,
        Lines::Range(Address::Number(1), End::Number(last)) => (*last).max(1),
        _ => return None,
    };
    (!only.negated && only.action == Action::Delete).then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation, Locale};
    use pelton_stream::Framing;

    fn sed(locale: Locale, args: &[&str]) -> Accept<Box<dyn Command>> {
        let context = Context { locale, implementation: Implementation::tested(Family::GnuSed) };
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
        accept(&args, &context, &crate::tool::interface::NoLookup)
    }

    fn class(args: &[&str]) -> String {
        match sed(Locale::C_UTF8, args) {
            Ok(command) => format!("{:?}", command.facts().class).split('(').next().unwrap_or("").to_owned(),
            Err(declined) => declined.reason,
        }
    }

    #[test]
    fn substitutions_of_single_bytes_are_byte_maps() {
        for script in
            ["s/a/A/g", "s/[0-9]//g", "y/abc/xyz/", "s/[ab]/x/g;y/x/y/;s/\\(c\\)/d/g", "", "#nothing"]
        {
            let is_map = script.starts_with('#') || class(&[script]) == "ByteMap";
            assert!(is_map, "{script}: {}", class(&[script]));
        }
        for script in [
            "s/a/A/",
            "s/a/AB/g",
            "s/ab/A/g",
            "s/a/\\n/g",
            "s/./x/g",
            "s/a/A/2g",
            "1s/a/A/g",
            "s/é/e/g",
            "s/\\w//g",
        ] {
            assert_ne!(class(&[script]), "ByteMap", "{script}");
        }
        assert_eq!(class(&["-n", "s/a/A/g"]), "Other");
        assert_eq!(class(&["s/a/A/g", "one", "two"]), "Other");
        // Newlines are characters if lines end in NUL; the terminator stays.
        let command = sed(Locale::C, &["-z", "s/[^a]/,/g"]).unwrap();
        let Class::ByteMap(map) = command.facts().class else { panic!("no map") };
        assert_eq!((map.to[0], map.to[10], map.to[97]), (0, b',', b'a'));
        assert_eq!(command.facts().record_end, 0);
    }

    #[test]
    fn classes_and_sharing_say_what_a_script_depends_on() {
        let (alone, in_order) =
            ("several: no line depends on another", "one, which takes the lines in order: ");
        for (args, expected, sharing) in [
            (&["-n", "/re/p"][..], "LineFilter", alone),
            (&["/re/!d"], "LineFilter", alone),
            (&["/re/d;s/a/b/"], "Other", alone),
            (&["s/a*/b/2"], "Other", alone),
            (&["1d"], "Other", in_order),
            (&["$d"], "Other", in_order),
            (&["/a/,/b/d"], "Other", in_order),
            (&["="], "Other", in_order),
            (&["N;P;D"], "Other", in_order),
            (&["1!G;h;$!d"], "Other", in_order),
            (&[":a;s/a/b/;ta"], "Other", alone),
            (&["h;s/a/b/;G"], "Other", alone),
        ] {
            assert_eq!(class(args), expected, "{args:?}");
            let facts = sed(Locale::C_UTF8, args).unwrap().facts();
            assert!(facts.sharing.is_some_and(|said| said.starts_with(sharing)), "{args:?}");
        }
        assert!(sed(Locale::C, &["3q"]).unwrap().facts().stops_early());
    }

    #[test]
    fn a_filter_says_which_maps_it_cannot_notice() {
        let mut map = ByteMap::identity();
        map.to[usize::from(b'a')] = b'b';
        let says = |args: &[&str]| sed(Locale::C_UTF8, args).unwrap().keeps_same_lines_after(&map);
        assert!(says(&["-n", "/00/p"]) && says(&["/[ab]0/d"]) && says(&["/0/!d"]));
        assert!(!says(&["-n", "/a/p"]) && !says(&["/0/p"]) && !says(&["-n", "1p"]) && !says(&["/0/s/1//"]));
    }

    #[test]
    fn what_is_not_understood_is_declined_with_a_reason() {
        for (args, reason) in [
            (&["r file"][..], "r and R read files while it runs"),
            (&["w file"], "w writes files"),
            (&["b a"], "a branch to a label that is not there"),
            (&["N;:a;P;$!ba"], "a loop that prints, in a script that cannot be left to sed midway"),
            (&["y/é/e/"], "y with characters of several bytes"),
            (
                &["$!N;s/[^a]//"],
                "an expression that does not judge every byte, in a script that cannot be left to sed midway",
            ),
            (&["-i", "p"], "changing files in place (-i)"),
            (&["-f", "x", "-e", "p"], "a script in a file beside another (-e)"),
            (&["--posix", "p"], "--posix"),
            (&["s/a/b/w out"], "the flag w of s writes files"),
            (&["s/a/b/e"], "the flag e of s runs commands"),
            (&["s/a/\\n/;s/\\n$/b/M"], "the flag M where lines hold newlines"),
            (&["N;/^a/Md"], "the flag M of an address where lines hold newlines"),
            (&["s/a/b"], "a command that is not terminated"),
            (&["s//b/"], "an empty expression means the last one used, which may be one of several"),
            (&["p}"], "an unexpected }"),
            (&["{p"], "a { without its }"),
            (&["-e", "p", "-E"], "-E or -z behind a script"),
            (&["s/a/\\1/"], "a group that the expression does not have"),
            (&["s|a\\|b|c|"], "a quoted delimiter that has a meaning of its own"),
            (&["0p"], "line 0"),
            (&[], "no script"),
        ] {
            assert_eq!(class(args), reason, "{args:?}");
        }
        assert_eq!(class(&["/a/s//b/"]), "Other");
    }

    #[test]
    fn only_what_may_stop_midway_has_a_way_back() {
        let resume = |args: &[&str]| sed(Locale::C_UTF8, args).unwrap().resume_args();
        let args = |args: &[&str]| Some(args.iter().map(|arg| arg.as_bytes().to_vec()).collect::<Vec<_>>());
        assert_eq!(resume(&["s/.$/x/"]), args(&["-e", "s/.$/x/"]));
        assert_eq!(resume(&["-n", "-e", "s/\\(a\\)b*/\\1/p"]), args(&["-n", "-e", "s/\\(a\\)b*/\\1/p"]));
        assert_eq!(resume(&["/a/d"]), None);
        assert!(sed(Locale::C_UTF8, &["1s/.$/x/"]).is_err());
        assert!(sed(Locale::C, &["1s/.$/x/"]).is_ok());
        let kernel = sed(Locale::C, &["-z", "1p"]).unwrap().kernel().unwrap();
        assert_eq!(kernel.framing(), Framing::Records(0));
    }
}
