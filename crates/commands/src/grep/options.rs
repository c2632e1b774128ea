//! grep's arguments, as GNU grep 3.8 parses them.

use std::ops::Range;

use super::BEFORE_3_8;
use super::context_lines::Around;
use crate::regex::{self, Flavour, Newline, Regex, Within};
use crate::tool::argv::{Opt, Order, Parsed, Takes, long, opt, parse, short};
use crate::{Accept, Charset, Context, Declined, Family, Input, Lookup};

/// What is printed of selected lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// The lines.
    Lines,
    /// Their matching parts (`-o`).
    Matches,
    /// Their number (`-c`).
    Count,
    /// The names of inputs with selected lines (`-l`) or without (`-L`).
    Names {
        /// With them.
        matching: bool,
    },
    /// Nothing (`-q`).
    Nothing,
}

/// The parsed options.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) regex: Regex,
    pub(super) show: Show,
    /// `-v`.
    pub(super) invert: bool,
    /// `-n`.
    pub(super) line_numbers: bool,
    /// `-b`.
    pub(super) offsets: bool,
    /// Whether the input's name precedes each line or count.
    pub(super) names: bool,
    /// `-a`: NULs and invalid characters are text.
    pub(super) text: bool,
    /// `-m`: most selected lines per input.
    pub(super) limit: Option<u64>,
    /// The lines of context, if any were asked for.
    pub(super) around: Option<Around>,
    /// The name of the standard input.
    pub(super) label: Vec<u8>,
    /// The message about a binary input, with `%s` for the name.
    pub(super) binary: Vec<u8>,
    pub(super) utf8: bool,
    pub(super) inputs: Vec<Input>,
    /// A line that is not selected, or of which nothing is printed where all are selected, if one was found
    /// easily.
    pub(super) innocent: Option<Vec<u8>>,
    /// A selected line, likewise.
    pub(super) guilty: Option<Vec<u8>>,
    /// The files of expressions (`-f`).
    pub(super) scripts: Vec<Vec<u8>>,
    /// The arguments with which the real grep continues from standard input.
    pub(super) resume_args: Vec<Vec<u8>>,
    /// The original arguments.
    pub(super) args: Vec<Vec<u8>>,
    /// The indices of the operands among them, if known.
    pub(super) operands: Option<Vec<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    Flavour(Flavour),
    Expression,
    File,
    IgnoreCase(bool),
    Words,
    Lines,
    Invert,
    Count,
    Matches,
    FilesWith,
    FilesWithout,
    Quiet,
    Max,
    LineNumbers,
    Offsets,
    Names(bool),
    Label,
    Text,
    BinaryFiles,
    Color,
    After,
    Before,
    Around,
    /// No effect if no file is missing, or on Unix.
    Nothing,
    /// Known, but never native.
    Foreign,
}

const TABLE: &[Opt<Id>] = &[
    opt(Id::Flavour(Flavour::GrepExtended), b'E', "extended-regexp", Takes::Nothing),
    opt(Id::Flavour(Flavour::GrepFixed), b'F', "fixed-strings", Takes::Nothing),
    opt(Id::Flavour(Flavour::GrepBasic), b'G', "basic-regexp", Takes::Nothing),
    opt(Id::Expression, b'e', "regexp", Takes::Value),
    opt(Id::File, b'f', "file", Takes::Value),
    opt(Id::IgnoreCase(true), b'i', "ignore-case", Takes::Nothing),
    short(Id::IgnoreCase(true), b'y', Takes::Nothing),
    long(Id::IgnoreCase(false), "no-ignore-case", Takes::Nothing),
    opt(Id::Words, b'w', "word-regexp", Takes::Nothing),
    opt(Id::Lines, b'x', "line-regexp", Takes::Nothing),
    opt(Id::Invert, b'v', "invert-match", Takes::Nothing),
    opt(Id::Count, b'c', "count", Takes::Nothing),
    opt(Id::Matches, b'o', "only-matching", Takes::Nothing),
    opt(Id::FilesWith, b'l', "files-with-matches", Takes::Nothing),
    opt(Id::FilesWithout, b'L', "files-without-match", Takes::Nothing),
    opt(Id::Quiet, b'q', "quiet", Takes::Nothing),
    long(Id::Quiet, "silent", Takes::Nothing),
    opt(Id::Max, b'm', "max-count", Takes::Value),
    opt(Id::LineNumbers, b'n', "line-number", Takes::Nothing),
    opt(Id::Offsets, b'b', "byte-offset", Takes::Nothing),
    opt(Id::Names(true), b'H', "with-filename", Takes::Nothing),
    opt(Id::Names(false), b'h', "no-filename", Takes::Nothing),
    long(Id::Label, "label", Takes::Value),
    opt(Id::Text, b'a', "text", Takes::Nothing),
    long(Id::BinaryFiles, "binary-files", Takes::Value),
    long(Id::Color, "color", Takes::MaybeValue),
    long(Id::Color, "colour", Takes::MaybeValue),
    opt(Id::Nothing, b's', "no-messages", Takes::Nothing),
    opt(Id::Nothing, b'U', "binary", Takes::Nothing),
    opt(Id::Foreign, b'P', "perl-regexp", Takes::Nothing),
    opt(Id::Foreign, b'z', "null-data", Takes::Nothing),
    opt(Id::Foreign, b'Z', "null", Takes::Nothing),
    opt(Id::Foreign, b'T', "initial-tab", Takes::Nothing),
    opt(Id::After, b'A', "after-context", Takes::Value),
    opt(Id::Before, b'B', "before-context", Takes::Value),
    opt(Id::Around, b'C', "context", Takes::Value),
    opt(Id::Foreign, b'r', "recursive", Takes::Nothing),
    opt(Id::Foreign, b'R', "dereference-recursive", Takes::Nothing),
    opt(Id::Foreign, b'd', "directories", Takes::Value),
    opt(Id::Foreign, b'D', "devices", Takes::Value),
    short(Id::Foreign, b'I', Takes::Nothing),
    opt(Id::Foreign, b'u', "unix-byte-offsets", Takes::Nothing),
    short(Id::Foreign, b'X', Takes::Value),
    short(Id::Foreign, b'V', Takes::Nothing),
    long(Id::Foreign, "line-buffered", Takes::Nothing),
    long(Id::Foreign, "include", Takes::Value),
    long(Id::Foreign, "exclude", Takes::Value),
    long(Id::Foreign, "exclude-from", Takes::Value),
    long(Id::Foreign, "exclude-dir", Takes::Value),
    long(Id::Foreign, "group-separator", Takes::Value),
    long(Id::Foreign, "no-group-separator", Takes::Nothing),
];

impl Options {
    pub(super) fn parse(args: &[Vec<u8>], context: &Context, lookup: &dyn Lookup) -> Accept<Options> {
        let parsed = parse(args, TABLE, Order::Anywhere)?;
        check(&parsed)?;
        let mut operands = parsed.operands();
        let mut resume_args = parsed.resume_args();
        let files = files(&parsed, lookup)?;
        let given = parsed.options().filter(|(id, _)| *id == Id::Expression).map(|(_, value)| value);
        let mut expressions: Vec<&[u8]> =
            given.chain(files.iter().filter_map(|(_, text)| lines(text))).collect();
        if expressions.is_empty() && !files.is_empty() {
            // grep then does not read its input, which its writer may notice.
            return Declined::because("files of expressions that hold none");
        }
        if expressions.is_empty() {
            if operands.is_empty() {
                return Declined::because("no expression at all");
            }
            expressions.push(operands.remove(0));
            resume_args.extend([b"-e".to_vec(), expressions[0].to_vec()]);
        }
        let is_empty = |text: &&[u8]| text.split(|byte| *byte == b'\n').any(<[u8]>::is_empty);
        if parsed.has(Id::Invert) && expressions.iter().any(is_empty) {
            // grep then does not read at all, unless an option makes a difference.
            return Declined::because("-v of what matches everything");
        }
        if parsed.has(Id::Matches) && parsed.has(Id::Words) && parsed.has(Id::Lines) {
            return Declined::because("-o with both -w and -x");
        }
        let inputs = Input::from_operands(&operands);
        let only_names = parsed.has(Id::FilesWith) || parsed.has(Id::FilesWithout);
        if only_names && !parsed.has(Id::Quiet) && inputs.contains(&Input::Stdin) {
            return Declined::because(
                "names of inputs, where it leaves what is behind its last read to others",
            );
        }
        if let [Input::File(name)] = inputs.as_slice() {
            resume_args.push([b"--label=", name.as_slice()].concat());
        }
        let names = last_of(&parsed, |id| match id {
            Id::Names(names) => Some(names),
            _ => None,
        });
        let (invert, show) = (parsed.has(Id::Invert), show(&parsed));
        let mut regex = compile(&parsed, &expressions, context, show == Show::Matches && !invert)?;
        let mut find = |selected: bool| {
            let given = expressions.iter().flat_map(|text| text.split(|byte| *byte == b'\n')).take(GIVEN_MAX);
            let mut lines = [&b""[..], b"a", b"0", b" ", b"-"].into_iter().chain(given);
            let judges = regex.judges();
            let found = lines.find(|line| {
                judges.first_unjudged(line).is_none()
                    && (regex.is_match(line, 0..line.len()) != invert) == selected
            });
            found.map(<[u8]>::to_vec)
        };
        let (innocent, guilty) = (find(false), find(true));
        // If every line is selected, an empty line is as good, and has no match to print.
        let prints_nothing = show == Show::Matches && !invert && regex.matches_all_lines();
        let prints_lines = matches!(show, Show::Lines | Show::Matches);
        let named = names.unwrap_or(inputs.len() > 1);
        let text = parsed.has(Id::Text) || parsed.has(Id::BinaryFiles);
        let around = around(&parsed)?.filter(|_| prints_lines);
        if around.is_some() {
            check_around(&parsed, show, &inputs, text || context.locale.ctype == Charset::C, text)?;
        }
        let says_binary = !text && prints_lines;
        let words = |text: &str, printed: bool| match printed {
            true => context.locale.messages.text("grep", text),
            false => Ok(text.as_bytes().to_vec()),
        };
        Ok(Options {
            innocent: innocent.or_else(|| prints_nothing.then(Vec::new)),
            guilty,
            regex,
            show,
            invert,
            // Where no line is printed there is nothing to count, nor before the real grep continues.
            line_numbers: parsed.has(Id::LineNumbers) && prints_lines,
            offsets: parsed.has(Id::Offsets) && prints_lines,
            names: named,
            text,
            around,
            limit: parsed.last_value(Id::Max).map(limit).transpose()?,
            label: match parsed.last_value(Id::Label) {
                Some(label) => label.to_vec(),
                None => words("(standard input)", named || says_binary)?,
            },
            binary: words("%s: binary file matches", says_binary)?,
            utf8: context.locale.ctype == Charset::Utf8,
            inputs,
            scripts: files.into_iter().map(|(name, _)| name.to_vec()).collect(),
            resume_args,
            operands: places(args, &operands),
            args: args.to_vec(),
        })
    }

    /// Returns the original arguments for some of the inputs: its buffer then has the same position. `name`:
    /// the name of the last one, which a run per file does not have.
    pub(super) fn arguments_for(&self, inputs: Range<usize>, name: Option<&[u8]>) -> Option<Vec<Vec<u8>>> {
        if self.inputs.len() == 1 {
            let mut args = self.args.clone();
            if let Some(name) = name {
                args[*self.operands.as_ref()?.first()?] = name.to_vec();
            }
            return Some(args);
        }
        let operands = self.operands.as_ref()?;
        let wanted = operands.get(inputs)?;
        let others = |at: &usize| operands.contains(at) && !wanted.contains(at);
        let names = if self.names { &b"-H"[..] } else { b"-h" };
        let args = (0..self.args.len()).filter(|at| !others(at)).map(|at| self.args[at].clone());
        Some([names.to_vec()].into_iter().chain(args).collect())
    }

    /// Returns the number of inputs up to this one, which comes after `behind` inputs (`None`: the standard
    /// input).
    pub(super) fn inputs_until(&self, name: Option<&[u8]>, behind: usize) -> usize {
        let is_it = |input: &Input| match input {
            Input::Stdin => name.is_none(),
            Input::File(file) => name == Some(file),
        };
        let found = self.inputs.iter().skip(behind).position(is_it);
        found.map_or(self.inputs.len(), |place| behind + place + 1)
    }

    /// Whether it prints nothing of the lines themselves: the kind of data then matters less.
    pub(super) fn is_quiet(&self) -> bool {
        !matches!(self.show, Show::Lines | Show::Matches)
    }

    /// Whether the real grep can continue from any line: it needs no earlier state, or can get it from lines
    /// that stand for it.
    pub(super) fn is_resumable(&self) -> bool {
        let told = match self.show {
            Show::Lines | Show::Matches => self.innocent.is_some() && !self.offsets && self.limit.is_none(),
            Show::Count => !self.invert || self.guilty.is_some(),
            Show::Names { .. } | Show::Nothing => true,
        };
        told && self.inputs.len() == 1
    }

    /// Whether it prints all matches and nothing else, independent of line boundaries.
    pub(super) fn prints_all_matches(&self) -> bool {
        let all = self.show == Show::Matches && !self.invert && self.limit.is_none();
        all && !self.regex.may_match_nothing()
    }

    /// Whether each line is printed unchanged, or not at all.
    pub(super) fn is_filter(&self) -> bool {
        let is_plain = !self.line_numbers && !self.offsets && !self.names;
        self.show == Show::Lines && is_plain && self.around.is_none()
    }
}

/// Expression lines that are tried as sample lines.
const GIVEN_MAX: usize = 100;

/// Returns the indices of the operands.
fn places(args: &[Vec<u8>], operands: &[&[u8]]) -> Option<Vec<usize>> {
    let place = |operand: &&[u8]| {
        let is_it = |arg: &Vec<u8>| !arg.is_empty() && std::ptr::eq(arg.as_slice(), *operand);
        args.iter().position(is_it)
    };
    operands.iter().map(place).collect()
}

/// Reads the files of expressions.
fn files<'a>(parsed: &Parsed<'a, Id>, lookup: &dyn Lookup) -> Accept<Vec<(&'a [u8], Vec<u8>)>> {
    let names = parsed.options().filter(|(id, _)| *id == Id::File).map(|(_, name)| name);
    let read = |name: &'a [u8]| match lookup.script(name)? {
        text if text.contains(&0) => Declined::because("a file of expressions with a NUL in it"),
        text => Ok((name, text)),
    };
    names.map(read).collect()
}

/// Returns the expressions in a file. The last may lack its terminator. No expression differs from
/// an empty one.
fn lines(text: &[u8]) -> Option<&[u8]> {
    (!text.is_empty()).then(|| text.strip_suffix(b"\n").unwrap_or(text))
}

/// Declines options that are known and not native.
fn check(parsed: &Parsed<Id>) -> Accept<()> {
    for (id, value) in parsed.options() {
        match id {
            Id::Foreign => return Declined::because("an option that is not native"),
            Id::Color if value != b"never" => return Declined::because("colours"),
            Id::BinaryFiles if value != b"text" => {
                return Declined::because("a way with binary files that is not native");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the value of the last option that has one.
fn last_of<T>(parsed: &Parsed<Id>, says: impl Fn(Id) -> Option<T>) -> Option<T> {
    parsed.options().filter_map(|(id, _)| says(id)).last()
}

/// `-q` overrides `-l` and `-L`, which override `-c`, which overrides `-o`.
fn show(parsed: &Parsed<Id>) -> Show {
    let names = last_of(parsed, |id| match id {
        Id::FilesWith => Some(Show::Names { matching: true }),
        Id::FilesWithout => Some(Show::Names { matching: false }),
        _ => None,
    });
    match names {
        _ if parsed.has(Id::Quiet) => Show::Nothing,
        Some(names) => names,
        None if parsed.has(Id::Count) => Show::Count,
        None if parsed.has(Id::Matches) => Show::Matches,
        None => Show::Lines,
    }
}

/// The most lines before a selected one.
const BEFORE_MAX: usize = 3000;

/// Returns the lines of context that are asked for. Even none have an effect: groups are then told apart.
fn around(parsed: &Parsed<Id>) -> Accept<Option<Around>> {
    let of = |id: Id| parsed.last_value(id).map(length).transpose();
    let (before, after, both) = (of(Id::Before)?, of(Id::After)?, of(Id::Around)?);
    let is_asked_for = before.or(after).or(both).is_some();
    let around =
        Around { before: before.or(both).unwrap_or_default(), after: after.or(both).unwrap_or_default() };
    // Keeping them takes longer than grep's search for their beginning in its buffer.
    if around.before > BEFORE_MAX {
        return Declined::because(format!("{} lines before a selected one", around.before));
    }
    Ok(is_asked_for.then_some(around))
}

/// Parses a plain number of lines.
fn length(value: &[u8]) -> Accept<usize> {
    const LINES_MAX: usize = 100_000;
    let plain = !value.is_empty() && value.len() < 7 && value.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(value).ok().filter(|_| plain).and_then(|text| text.parse().ok());
    match number {
        Some(number) if number <= LINES_MAX => Ok(number),
        _ => Declined::because(format!("{} lines of context", value.escape_ascii())),
    }
}

/// Declines where lines of context change more than what is printed. What comes before a line stays in grep's buffer, so it reads
/// less of a pipe at a time; and where a line may not be printed, the real grep has to read its only input again.
fn check_around(
    parsed: &Parsed<Id>,
    show: Show,
    inputs: &[Input],
    shows_any_byte: bool,
    text: bool,
) -> Accept<()> {
    match () {
        () if show == Show::Matches => Declined::because("lines of context with -o"),
        () if parsed.has(Id::Max) => Declined::because("lines of context with -m"),
        () if !text && inputs.contains(&Input::Stdin) => {
            Declined::because("lines of context of a standard input")
        }
        () if !shows_any_byte && inputs.len() > 1 => {
            Declined::because("lines of context of several inputs in this locale")
        }
        () => Ok(()),
    }
}

/// Parses plain numbers only: 0 reads nothing at all, and other forms have their own rules.
fn limit(value: &[u8]) -> Accept<u64> {
    const DIGITS_MAX: usize = 18;
    let plain = (1..=DIGITS_MAX).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(value).ok().filter(|_| plain).and_then(|text| text.parse().ok());
    match number {
        Some(number) if number > 0 => Ok(number),
        _ => Declined::because(format!("-m {}", value.escape_ascii())),
    }
}

fn compile(parsed: &Parsed<Id>, expressions: &[&[u8]], context: &Context, spans: bool) -> Accept<Regex> {
    let mut flavours = parsed.options().filter_map(|(id, _)| match id {
        Id::Flavour(flavour) => Some(flavour),
        _ => None,
    });
    let flavour = flavours.next();
    if flavours.any(|other| Some(other) != flavour) {
        return Declined::because("kinds of expressions that conflict");
    }
    let ignore_case = last_of(parsed, |id| match id {
        Id::IgnoreCase(ignore) => Some(ignore),
        _ => None,
    })
    .unwrap_or(false);
    let within = match (parsed.has(Id::Lines), parsed.has(Id::Words)) {
        (true, _) => Within::Line,
        (false, true) => Within::Word,
        (false, false) => Within::Anywhere,
    };
    let before_3_8 = context.implementation.is_one_of(Family::GnuGrep, BEFORE_3_8);
    let options = regex::Options {
        flavour: flavour.unwrap_or(Flavour::GrepBasic),
        charset: context.locale.charset_for(ignore_case),
        ranges: regex::Ranges::of(&context.locale, expressions),
        ignore_case,
        within,
        newline: Newline::EndsLine,
        // Debian's 3.8 was built without that warning, but probing the program does not show it.
        stray_backslash_is_quiet: before_3_8,
        dot_misses_late: before_3_8,
        wide: regex::Wide::Unicode,
        spans,
        groups: &[],
    };
    regex::compile(expressions, &options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation, Locale};

    fn options(text: &str) -> Options {
        let args: Vec<Vec<u8>> = text.split(' ').map(|arg| arg.into()).collect();
        let context = Context { locale: Locale::C, implementation: Implementation::tested(Family::GnuGrep) };
        Options::parse(&args, &context, &crate::tool::interface::NoLookup).expect("native")
    }

    #[test]
    fn for_some_of_the_inputs_it_is_called_as_it_was() {
        let some = |text: &str, inputs: Range<usize>| {
            let args = options(text).arguments_for(inputs, None).expect("arguments");
            String::from_utf8_lossy(&args.join(&b' ')).into_owned()
        };
        assert_eq!(some("-v a f", 0..1), "-v a f");
        let other = options("-e a -- f").arguments_for(0..1, Some(b"g"));
        assert_eq!(other, Some(["-e", "a", "--", "g"].map(|arg| arg.into()).to_vec()));
        assert_eq!(some("a", 0..1), "a");
        assert_eq!(some("a f - -v g f", 0..1), "-H a f -v");
        assert_eq!(some("a f - -v g f", 1..3), "-H a - -v g");
        assert_eq!(some("a f - -v g f", 0..4), "-H a f - -v g f");
        assert_eq!(some("-h -e a a -- b -e", 0..1), "-h -h -e a a --");
    }

    #[test]
    fn inputs_that_could_not_be_opened_count() {
        let options = options("a f - g f");
        assert_eq!(options.inputs_until(Some(b"f"), 0), 1);
        assert_eq!(options.inputs_until(Some(b"g"), 1), 3);
        assert_eq!(options.inputs_until(None, 1), 2);
        assert_eq!(options.inputs_until(Some(b"f"), 3), 4);
    }

    #[test]
    fn limits_that_are_plain_numbers() {
        assert_eq!(limit(b"999999999999999999").ok(), Some(999_999_999_999_999_999));
        for odd in
            [&b"0"[..], b"-1", b"+1", b"1k", b"", b"99999999999999999999", b"mmmmmmmmmmmmmmmmmmmmmmmmmmm."]
        {
            assert!(limit(odd).is_err(), "{}", odd.escape_ascii());
        }
    }
}
