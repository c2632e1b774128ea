//! sort's arguments, as GNU sort 9.1 parses them; its errors are declined.

use crate::locale::installed::NumberFormat;
use crate::tool::argv::{Opt, Order, Takes, long, opt, parse, short};
use crate::{Accept, Context, Declined, Family, Input};

use super::key::{Conventions, End, Ignore, Key, Kind, Start};
use super::number::Signs;
use super::order::LineOrder;

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Sort.
    Sort,
    /// Merge sorted inputs (`-m`).
    Merge,
    /// Report only by the status whether the input is sorted (`-C`).
    Check,
    /// As `Check`, and show the first line out of order on standard error (`-c`).
    Report,
}

impl Mode {
    /// Whether lines are only checked (`-c`, `-C`): none is printed.
    pub fn only_checks(self) -> bool {
        matches!(self, Mode::Check | Mode::Report)
    }
}

/// The parsed arguments of sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortOptions {
    /// The operation.
    pub mode: Mode,
    /// The keys, with inherited global options. Empty: the whole line.
    pub keys: Vec<Key>,
    /// The field separator (`-t`); blanks if `None`.
    pub separator: Option<u8>,
    /// `-r`, as far as it breaks ties between equal keys; without keys it reverses the whole order.
    pub reverse: bool,
    /// `-s`.
    pub stable: bool,
    /// `-u`.
    pub unique: bool,
    /// The line terminator.
    pub terminator: u8,
    /// The inputs.
    pub inputs: Vec<Input>,
    /// The locale's rules for text and numbers.
    pub conventions: Conventions,
    /// The memory limit (`-S`), in bytes.
    pub size_bytes: Option<usize>,
    /// The first directory for temporary files (`-T`).
    pub directory: Option<Vec<u8>>,
    /// The arguments without operands.
    pub resume_args: Vec<Vec<u8>>,
}

impl Default for SortOptions {
    /// Returns the options of a plain `sort`.
    fn default() -> Self {
        SortOptions {
            mode: Mode::Sort,
            keys: Vec::new(),
            separator: None,
            reverse: false,
            stable: false,
            unique: false,
            terminator: b'\n',
            inputs: vec![Input::Stdin],
            conventions: Conventions::C,
            size_bytes: None,
            directory: None,
            resume_args: Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    Letter(u8),
    Sort,
    Key,
    Separator,
    Merge,
    Unique,
    Stable,
    Zero,
    Check,
    CheckQuietly,
    Parallel,
    Size,
    Temporary,
    Compress,
    Batch,
    Unserved(&'static str),
}

/// More keys are declined: this bounds what one line can add to a run.
const KEYS_MAX: usize = 32;
/// Number of files in one merge; more are merged in rounds, which shows if they are not sorted.
const MERGE_MAX: usize = 16;

const TABLE: &[Opt<Id>] = &[
    opt(Id::Letter(b'b'), b'b', "ignore-leading-blanks", Takes::Nothing),
    opt(Id::Letter(b'd'), b'd', "dictionary-order", Takes::Nothing),
    opt(Id::Letter(b'f'), b'f', "ignore-case", Takes::Nothing),
    opt(Id::Letter(b'g'), b'g', "general-numeric-sort", Takes::Nothing),
    opt(Id::Letter(b'h'), b'h', "human-numeric-sort", Takes::Nothing),
    opt(Id::Letter(b'i'), b'i', "ignore-nonprinting", Takes::Nothing),
    opt(Id::Letter(b'M'), b'M', "month-sort", Takes::Nothing),
    opt(Id::Letter(b'n'), b'n', "numeric-sort", Takes::Nothing),
    opt(Id::Letter(b'r'), b'r', "reverse", Takes::Nothing),
    opt(Id::Letter(b'R'), b'R', "random-sort", Takes::Nothing),
    opt(Id::Letter(b'V'), b'V', "version-sort", Takes::Nothing),
    long(Id::Sort, "sort", Takes::Value),
    opt(Id::Key, b'k', "key", Takes::Value),
    opt(Id::Separator, b't', "field-separator", Takes::Value),
    opt(Id::Merge, b'm', "merge", Takes::Nothing),
    opt(Id::Unique, b'u', "unique", Takes::Nothing),
    opt(Id::Stable, b's', "stable", Takes::Nothing),
    opt(Id::Zero, b'z', "zero-terminated", Takes::Nothing),
    short(Id::Check, b'c', Takes::Nothing),
    short(Id::CheckQuietly, b'C', Takes::Nothing),
    long(Id::Check, "check", Takes::MaybeValue),
    long(Id::Parallel, "parallel", Takes::Value),
    opt(Id::Size, b'S', "buffer-size", Takes::Value),
    opt(Id::Temporary, b'T', "temporary-directory", Takes::Value),
    long(Id::Compress, "compress-program", Takes::Value),
    long(Id::Batch, "batch-size", Takes::Value),
    opt(Id::Unserved("-o"), b'o', "output", Takes::Value),
    long(Id::Unserved("--debug"), "debug", Takes::Nothing),
    long(Id::Unserved("--files0-from"), "files0-from", Takes::Value),
    long(Id::Unserved("--random-source"), "random-source", Takes::Value),
];

/// The ordering letters of a key or the global ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Letters {
    blanks_before_start: bool,
    blanks_before_end: bool,
    ignore: Option<Ignore>,
    fold: bool,
    kind: Option<Kind>,
    /// Whether two letters conflict.
    clash: bool,
    reverse: bool,
}

/// Which end of a key a `b` applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    End,
    Both,
}

impl Letters {
    /// Parses one letter. Returns `false` for an unknown one.
    fn read(&mut self, letter: u8, at: At) -> Accept<bool> {
        match letter {
            b'b' => {
                self.blanks_before_start |= at != At::End;
                self.blanks_before_end |= at != At::Start;
            }
            b'd' => self.ignore = Some(Ignore::ButDictionary),
            b'i' => self.ignore = self.ignore.or(Some(Ignore::Nonprinting)),
            b'f' => self.fold = true,
            b'r' => self.reverse = true,
            b'g' => self.set_kind(Kind::General),
            b'h' => self.set_kind(Kind::Human),
            b'M' => self.set_kind(Kind::Month),
            b'n' => self.set_kind(Kind::Numeric),
            b'V' => self.set_kind(Kind::Version),
            b'R' => return Declined::because("-R is random"),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_kind(&mut self, kind: Kind) {
        self.clash |= self.kind.is_some_and(|other| other != kind);
        self.kind = Some(kind);
    }

    /// Whether only the direction may be set: the key then inherits the global letters.
    fn are_default(&self) -> bool {
        Letters { reverse: false, ..*self } == Letters::default()
    }

    fn are_compatible(&self) -> bool {
        let numeric = self.kind.is_some_and(|kind| kind != Kind::Version);
        !(self.clash || numeric && self.ignore.is_some())
    }
}

/// A key as written in `-k`.
#[derive(Clone, Copy, Debug)]
struct RawKey {
    start: (usize, usize),
    end: Option<(usize, usize)>,
    letters: Letters,
}

impl RawKey {
    const LINE: RawKey = RawKey {
        start: (0, 0),
        end: None,
        letters: Letters {
            blanks_before_start: false,
            blanks_before_end: false,
            ignore: None,
            fold: false,
            kind: None,
            clash: false,
            reverse: false,
        },
    };

    fn resolve(self, global: Letters) -> Accept<Key> {
        let own = self.letters;
        let letters = if own.are_default() && !own.reverse { global } else { own };
        if !letters.are_compatible() {
            return Declined::because("ordering options that contradict each other");
        }
        let (fields, bytes) = self.start;
        let start = Start { fields, bytes, skip_blanks: letters.blanks_before_start };
        let skip_blanks = letters.blanks_before_end;
        Ok(Key {
            start,
            end: self.end.map(|(fields, bytes)| End { fields, bytes, skip_blanks }),
            ignore: letters.ignore,
            fold: letters.fold,
            kind: letters.kind.unwrap_or(Kind::Bytes),
            reverse: letters.reverse,
        })
    }
}

/// Versions that separate no thousands where the locale does not: 9.5 mended what 9.1 broke.
const WITHOUT_STRAY_SEPARATOR: &[&str] = &["8.32", "9.0", "9.5", "9.6", "9.7", "9.8", "9.9", "9.10"];

impl SortOptions {
    /// Parses the arguments (without the command's name).
    pub fn parse(args: &[Vec<u8>], context: &Context) -> Accept<SortOptions> {
        let parsed = parse(args, TABLE, Order::Anywhere)?;
        let operands = parsed.operands();
        if operands.iter().any(|operand| operand.starts_with(b"+")) {
            return Declined::because("an operand that may be an obsolete key (+1)");
        }
        let mut options = SortOptions { inputs: Input::from_operands(&operands), ..SortOptions::default() };
        let mut global = Letters::default();
        let mut keys = Vec::new();
        for (id, value) in parsed.options() {
            match id {
                Id::Letter(letter) => _ = global.read(letter, At::Both)?,
                Id::Sort => _ = global.read(sort_word(value)?, At::Both)?,
                Id::Key => keys.push(read_key(value)?),
                other => options.read_other(other, value)?,
            }
        }
        if keys.is_empty() && !global.are_default() {
            keys.push(RawKey::LINE);
        }
        options.keys = keys.into_iter().map(|key| key.resolve(global)).collect::<Accept<_>>()?;
        options.reverse = global.reverse;
        let is_operand = |arg: &&Vec<u8>| operands.iter().any(|operand| operand.as_ptr() == arg.as_ptr());
        options.resume_args = args.iter().filter(|arg| !is_operand(arg)).cloned().collect();
        // No key holds the byte that ends its record.
        let is_uutils = context.implementation.family() == Some(Family::Uutils);
        let none = match is_uutils
            || context.implementation.is_one_of(Family::GnuCoreutils, WITHOUT_STRAY_SEPARATOR)
        {
            true => options.terminator,
            false => Signs::C.thousands,
        };
        let numbers = context.locale.numbers.unwrap_or(NumberFormat::C);
        let thousands = numbers.thousands.unwrap_or(none);
        let as_strtod = context.implementation.family() == Some(Family::Busybox);
        let signs = Signs { point: numbers.point, thousands, after_returns: is_uutils, as_strtod };
        options.conventions = Conventions { collation: context.locale.collation()?, signs };
        options.check(context)?;
        Ok(options)
    }

    fn set_check(&mut self, mode: Mode) -> Accept<()> {
        if self.mode.only_checks() && self.mode != mode {
            return Declined::because("-c and -C together");
        }
        self.mode = mode;
        Ok(())
    }

    fn read_other(&mut self, id: Id, value: &[u8]) -> Accept<()> {
        match id {
            Id::Separator => self.separator = Some(self.separator_from(value)?),
            Id::Merge if self.mode == Mode::Sort => self.mode = Mode::Merge,
            Id::Merge => {}
            Id::CheckQuietly => self.set_check(Mode::Check)?,
            Id::Check if matches!(value, b"quiet" | b"silent") => self.set_check(Mode::Check)?,
            Id::Check if matches!(value, b"" | b"diagnose-first") => self.set_check(Mode::Report)?,
            Id::Unique => self.unique = true,
            Id::Stable => self.stable = true,
            Id::Zero => self.terminator = 0,
            Id::Parallel if plain_number(value).is_some_and(|count| count > 0) => {}
            Id::Size if is_size(value) => self.size_bytes = size_bytes(value),
            Id::Batch if plain_number(value).is_some_and(|count| (MERGE_MAX..=100).contains(&count)) => {}
            Id::Temporary => _ = self.directory.get_or_insert_with(|| value.to_vec()),
            Id::Compress => return Declined::because("--compress-program may have to run"),
            Id::Unserved(name) => return Declined::because(format!("{name} is not native")),
            _ => return Declined::because(format!("an argument like {}", value.escape_ascii())),
        }
        Ok(())
    }

    fn separator_from(&self, value: &[u8]) -> Accept<u8> {
        let separator = match value {
            [byte] => *byte,
            b"\\0" => 0,
            _ => return Declined::because("-t with anything but one byte"),
        };
        match self.separator {
            Some(other) if other != separator => Declined::because("-t given twice"),
            _ => Ok(separator),
        }
    }

    fn check(&self, context: &Context) -> Accept<()> {
        let locale = &context.locale;
        locale.check_characters(self.keys.iter().any(|key| key.fold))?;
        let numbers = [Kind::Numeric, Kind::General, Kind::Human];
        if locale.numbers.is_none() && self.keys.iter().any(|key| numbers.contains(&key.kind)) {
            return Declined::because("the numbers of this locale");
        }
        if !locale.plain_dates && self.keys.iter().any(|key| key.kind == Kind::Month) {
            return Declined::because("the names of months of this locale");
        }
        if self.keys.len() > KEYS_MAX {
            return Declined::because(format!("more than {KEYS_MAX} keys"));
        }
        // Input beyond memory goes to the real sort as one stream: a line without terminator would be joined
        // with the next input's first line.
        if self.inputs.len() > 1 && self.order().may_meet_nan() {
            let letter = if self.conventions.signs.as_strtod { "-n" } else { "-g" };
            return Declined::because(format!("{letter} of several inputs"));
        }
        if self.mode != Mode::Sort && self.order().may_meet_nan() {
            return Declined::because("-g with -m or -C may meet two NaNs");
        }
        match self.mode {
            Mode::Merge if self.inputs.len() > MERGE_MAX => {
                Declined::because(format!("-m of more than {MERGE_MAX} inputs"))
            }
            Mode::Merge if self.inputs.iter().filter(|input| **input == Input::Stdin).count() > 1 => {
                Declined::because("-m reads standard input twice at the same time")
            }
            Mode::Check | Mode::Report if self.inputs.len() > 1 => {
                Declined::because("-c or -C of more than one input")
            }
            Mode::Report => context.locale.messages.in_english(),
            _ => Ok(()),
        }
    }

    /// Returns the order of lines. With `-u`, lines are equal if their keys are.
    pub fn order(&self) -> LineOrder {
        let stable = self.stable || self.unique;
        LineOrder::in_locale(self.keys.clone(), self.separator, self.reverse, stable, self.conventions)
    }
}

fn sort_word(word: &[u8]) -> Accept<u8> {
    match word {
        b"general-numeric" => Ok(b'g'),
        b"human-numeric" => Ok(b'h'),
        b"month" => Ok(b'M'),
        b"numeric" => Ok(b'n'),
        b"random" => Ok(b'R'),
        b"version" => Ok(b'V'),
        _ => Declined::because(format!("--sort={}", word.escape_ascii())),
    }
}

fn plain_number(text: &[u8]) -> Option<usize> {
    const DIGITS_MAX: usize = 9;
    let good = (1..=DIGITS_MAX).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    good.then(|| text.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
}

fn is_size(text: &[u8]) -> bool {
    match text {
        [number @ .., b'%'] => plain_number(number).is_some_and(|percent| percent <= 100),
        [number @ .., b'b' | b'k' | b'K' | b'm' | b'M' | b'g' | b'G'] | number => {
            plain_number(number).is_some()
        }
    }
}

/// Parses `-S`. For a percentage, the default limit is as good.
fn size_bytes(text: &[u8]) -> Option<usize> {
    let (number, unit) = match text {
        [_, .., b'%'] => return None,
        [number @ .., b'b'] => (number, 1),
        [number @ .., b'm' | b'M'] => (number, 1 << 20),
        [number @ .., b'g' | b'G'] => (number, 1 << 30),
        [number @ .., b'k' | b'K'] | number => (number, 1 << 10),
    };
    Some(plain_number(number)?.saturating_mul(unit))
}

/// Parses `F[.C][letters][,F[.C][letters]]`.
fn read_key(text: &[u8]) -> Accept<RawKey> {
    let bad = || Declined::new(format!("-k {}", text.escape_ascii()));
    let mut key = RawKey::LINE;
    let mut rest = text;
    let (field, byte) = read_position(&mut rest).ok_or_else(bad)?;
    key.start = (field.checked_sub(1).ok_or_else(bad)?, byte.unwrap_or(1).checked_sub(1).ok_or_else(bad)?);
    read_letters(&mut rest, &mut key.letters, At::Start)?;
    if let [b',', end @ ..] = rest {
        rest = end;
        let (field, byte) = read_position(&mut rest).ok_or_else(bad)?;
        key.end = Some((field.checked_sub(1).ok_or_else(bad)?, byte.unwrap_or(0)));
        read_letters(&mut rest, &mut key.letters, At::End)?;
    }
    if rest.is_empty() { Ok(key) } else { Err(bad()) }
}

fn read_position(rest: &mut &[u8]) -> Option<(usize, Option<usize>)> {
    let field = read_number(rest)?;
    let [b'.', after @ ..] = *rest else { return Some((field, None)) };
    *rest = after;
    Some((field, Some(read_number(rest)?)))
}

fn read_number(rest: &mut &[u8]) -> Option<usize> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, after) = rest.split_at(digits);
    *rest = after;
    plain_number(number)
}

fn read_letters(rest: &mut &[u8], letters: &mut Letters, at: At) -> Accept<()> {
    while let [letter, after @ ..] = *rest {
        if !letters.read(*letter, at)? {
            break;
        }
        *rest = after;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Implementation, Locale};

    fn options(line: &str) -> Accept<SortOptions> {
        options_of("9.1", line)
    }

    fn options_of(version: &str, line: &str) -> Accept<SortOptions> {
        let args: Vec<Vec<u8>> = line.split_whitespace().map(|arg| arg.as_bytes().to_vec()).collect();
        let implementation =
            Implementation::Known { family: Family::GnuCoreutils, version: version.to_owned() };
        SortOptions::parse(&args, &Context { locale: Locale::C, implementation })
    }

    #[test]
    fn a_stray_byte_separates_thousands_until_9_4() {
        let separator = |version, line| options_of(version, line).unwrap().conventions.signs.thousands;
        assert_eq!((separator("9.1", "-n"), separator("9.4", "-n")), (0x80, 0x80));
        assert_eq!((separator("9.7", "-n"), separator("9.7", "-nz")), (b'\n', 0));
    }

    #[test]
    fn keys_inherit_global_letters_unless_they_have_their_own() {
        let read = options("-nr -k2,2 -k1b -k3r").unwrap();
        let kinds: Vec<_> = read.keys.iter().map(|key| (key.kind, key.reverse)).collect();
        assert_eq!(kinds, [(Kind::Numeric, true), (Kind::Bytes, false), (Kind::Bytes, true)]);
        assert!(read.reverse);
        assert_eq!(options("-b").unwrap().keys.len(), 1);
        assert_eq!(options("-r").unwrap().keys.len(), 0);
    }

    #[test]
    fn positions_count_from_one() {
        let read = options("-t, -k2.3b,4.5").unwrap();
        let key = &read.keys[0];
        assert_eq!(key.start, Start { fields: 1, bytes: 2, skip_blanks: true });
        assert_eq!(key.end, Some(End { fields: 3, bytes: 5, skip_blanks: false }));
        assert_eq!(read.separator, Some(b','));
    }

    #[test]
    fn what_sort_complains_about_is_declined() {
        for line in [
            "-k0", "-k1.0", "-k1,0", "-kx", "-k1,", "-k1x", "-ng", "-nd", "-t ab", "-t, -t:", "-R", "-o x",
            "+1",
        ] {
            assert!(options(line).is_err(), "{line}");
        }
        for line in [
            "-c -C",
            "-c a b",
            "--check=maybe",
            "--debug",
            "-S x",
            "--parallel=0",
            "-2",
            "--sort=foo",
            "-C a b",
            "-m - -",
            "-g -m a",
            "-g a b",
        ] {
            assert!(options(line).is_err(), "{line}");
        }
    }

    #[test]
    fn what_changes_nothing_is_accepted() {
        let read = options("-S 50% -T /nowhere --parallel=4 --batch-size=16 -id --check=quiet a").unwrap();
        assert_eq!(read.mode, Mode::Check);
        assert_eq!(options("--check").unwrap().mode, Mode::Report);
        assert_eq!(read.keys[0].ignore, Some(Ignore::ButDictionary));
    }
}
