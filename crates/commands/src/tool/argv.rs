//! Arguments as GNU's getopt_long reads them, over byte strings.
//!
//! Each command states its options as a table. [`parse`] returns the occurrences in the order in which the
//! command's own loop would see them. Declines what getopt reports as an error (an unknown or ambiguous
//! option, a missing argument): the real tool prints its own message and status. Also declines `--help` and
//! `--version`, which every GNU tool has and which take part in abbreviations.

use crate::{Accept, Declined};

/// Whether an option has an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Never.
    Nothing,
    /// Always: attached, or the next argument.
    Value,
    /// Only if attached (`-n5`, `--number=5`).
    MaybeValue,
}

/// One option of a command. Several rows may share an `id` (synonyms).
#[derive(Clone, Copy, Debug)]
pub struct Opt<Id> {
    /// The command's identifier.
    pub id: Id,
    /// Its letter.
    pub short: Option<u8>,
    /// Its long name, without dashes.
    pub long: Option<&'static str>,
    /// Whether it has an argument.
    pub takes: Takes,
}

/// Makes a row for `-s` and `--long`.
pub const fn opt<Id>(id: Id, short: u8, long: &'static str, takes: Takes) -> Opt<Id> {
    Opt { id, short: Some(short), long: Some(long), takes }
}

/// Makes a row for `-s` only.
pub const fn short<Id>(id: Id, short: u8, takes: Takes) -> Opt<Id> {
    Opt { id, short: Some(short), long: None, takes }
}

/// Makes a row for `--long` only.
pub const fn long<Id>(id: Id, long: &'static str, takes: Takes) -> Opt<Id> {
    Opt { id, short: None, long: Some(long), takes }
}

/// Where options are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Anywhere before `--`, also after operands.
    Anywhere,
    /// Only before the first operand (getopt's `+`: `tr`, `seq`).
    First,
}

/// One occurrence on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item<'a, Id> {
    /// An option and its argument.
    Option(Id, Option<&'a [u8]>),
    /// An operand.
    Operand(&'a [u8]),
}

/// The parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed<'a, Id> {
    /// Options and operands in order, for commands where the order of both matters.
    pub items: Vec<Item<'a, Id>>,
    /// The arguments that are options or belong to one, as written, without operands and `--`: the fallback
    /// passes them to the real tool, which reads standard input.
    pub option_args: Vec<&'a [u8]>,
}

impl<'a, Id: Copy + PartialEq> Parsed<'a, Id> {
    /// Iterates over the options in order, with their arguments (empty for none).
    pub fn options(&self) -> impl Iterator<Item = (Id, &'a [u8])> + '_ {
        self.items.iter().filter_map(|item| match item {
            Item::Option(id, value) => Some((*id, value.unwrap_or_default())),
            Item::Operand(_) => None,
        })
    }

    /// Returns the operands in order.
    pub fn operands(&self) -> Vec<&'a [u8]> {
        let operand = |item: &Item<'a, Id>| match item {
            Item::Operand(operand) => Some(*operand),
            Item::Option(..) => None,
        };
        self.items.iter().filter_map(operand).collect()
    }

    /// Whether the option was given.
    pub fn has(&self, id: Id) -> bool {
        self.options().any(|(given, _)| given == id)
    }

    /// Returns [`option_args`](Parsed::option_args) as owned bytes.
    pub fn resume_args(&self) -> Vec<Vec<u8>> {
        self.option_args.iter().map(|arg| arg.to_vec()).collect()
    }

    /// Returns the argument of the last occurrence.
    pub fn last_value(&self, id: Id) -> Option<&'a [u8]> {
        self.options().filter(|(given, _)| *given == id).last().map(|(_, value)| value)
    }
}

/// Parses `args` (without the command's name) by `table`.
pub fn parse<'a, Id: Copy + PartialEq>(
    args: &'a [Vec<u8>],
    table: &[Opt<Id>],
    order: Order,
) -> Accept<Parsed<'a, Id>> {
    let mut items = Vec::with_capacity(args.len());
    let mut option_args = Vec::new();
    let mut rest = args.iter().map(Vec::as_slice);
    while let Some(arg) = rest.next() {
        let behind = rest.clone();
        match arg {
            b"--" => break,
            [b'-', b'-', name @ ..] => items.push(long_option(name, table, &mut rest)?),
            [b'-', letters @ ..] if !letters.is_empty() => {
                short_options(letters, table, &mut rest, &mut items)?;
            }
            operand => {
                items.push(Item::Operand(operand));
                if order == Order::First {
                    break;
                }
                continue;
            }
        }
        option_args.push(arg);
        let values = behind.len() - rest.len();
        option_args.extend(behind.take(values));
    }
    // After `--`, or after the first operand with [`Order::First`], a `--` is an operand.
    items.extend(rest.map(Item::Operand));
    Ok(Parsed { items, option_args })
}

fn short_options<'a, Id: Copy>(
    mut letters: &'a [u8],
    table: &[Opt<Id>],
    rest: &mut impl Iterator<Item = &'a [u8]>,
    items: &mut Vec<Item<'a, Id>>,
) -> Accept<()> {
    while let [letter, attached @ ..] = letters {
        let Some(option) = table.iter().find(|option| option.short == Some(*letter)) else {
            return Declined::because(format!("option -{} is unknown", letter.escape_ascii()));
        };
        let value = match option.takes {
            Takes::Nothing => {
                items.push(Item::Option(option.id, None));
                letters = attached;
                continue;
            }
            _ if !attached.is_empty() => Some(attached),
            Takes::MaybeValue => None,
            Takes::Value => Some(rest.next().ok_or_else(|| {
                Declined::new(format!("option -{} lacks its argument", letter.escape_ascii()))
            })?),
        };
        items.push(Item::Option(option.id, value));
        return Ok(());
    }
    Ok(())
}

fn long_option<'a, Id: Copy + PartialEq>(
    arg: &'a [u8],
    table: &[Opt<Id>],
    rest: &mut impl Iterator<Item = &'a [u8]>,
) -> Accept<Item<'a, Id>> {
    let equals = memchr::memchr(b'=', arg);
    let name = &arg[..equals.unwrap_or(arg.len())];
    let attached = equals.map(|at| &arg[at + 1..]);
    let shown = || format!("--{}", name.escape_ascii());
    let option = resolve(name, table)?;
    let value = match (option.takes, attached) {
        (Takes::Nothing, Some(_)) => {
            return Declined::because(format!("option {} takes no argument", shown()));
        }
        (Takes::Value, None) => {
            Some(rest.next().ok_or_else(|| Declined::new(format!("option {} lacks its argument", shown())))?)
        }
        (_, attached) => attached,
    };
    Ok(Item::Option(option.id, value))
}

/// Finds the row for a full or abbreviated name. Synonyms are not ambiguous.
fn resolve<Id: Copy + PartialEq>(name: &[u8], table: &[Opt<Id>]) -> Accept<Opt<Id>> {
    let shown = || name.escape_ascii();
    if let Some(exact) = table.iter().find(|option| option.long.is_some_and(|long| long.as_bytes() == name)) {
        return Ok(*exact);
    }
    let mut found: Option<&Opt<Id>> = None;
    for option in
        table.iter().filter(|option| option.long.is_some_and(|long| long.as_bytes().starts_with(name)))
    {
        match found {
            Some(other) if other.id != option.id || other.takes != option.takes => {
                return Declined::because(format!("option --{} is ambiguous", shown()));
            }
            _ => found = Some(option),
        }
    }
    let standard = ["help", "version"].iter().any(|long| long.as_bytes().starts_with(name));
    match found {
        Some(_) if standard => Declined::because(format!("option --{} is ambiguous", shown())),
        Some(option) => Ok(*option),
        None if standard => Declined::because(format!("option --{} speaks of the tool itself", shown())),
        None => Declined::because(format!("option --{} is unknown", shown())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Id {
        Delimiter,
        Fields,
        Only,
        Digits,
        Color,
    }

    const TABLE: &[Opt<Id>] = &[
        opt(Id::Delimiter, b'd', "delimiter", Takes::Value),
        opt(Id::Fields, b'f', "fields", Takes::Value),
        opt(Id::Only, b's', "only-delimited", Takes::Nothing),
        short(Id::Digits, b'5', Takes::MaybeValue),
        long(Id::Color, "color", Takes::MaybeValue),
        long(Id::Color, "colour", Takes::MaybeValue),
        long(Id::Only, "dull", Takes::Nothing),
    ];

    fn args(line: &str) -> Vec<Vec<u8>> {
        line.split(' ').map(|arg| arg.as_bytes().to_vec()).collect()
    }

    /// Formats options as `d=,`, operands in brackets.
    fn read(line: &str, order: Order) -> Result<String, String> {
        let args = args(line);
        let parsed = parse(&args, TABLE, order).map_err(|declined| declined.reason)?;
        let show = |item: &Item<Id>| match item {
            Item::Option(id, None) => format!("{id:?}"),
            Item::Option(id, Some(value)) => format!("{id:?}={}", value.escape_ascii()),
            Item::Operand(operand) => format!("[{}]", operand.escape_ascii()),
        };
        Ok(parsed.items.iter().map(show).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn options_are_told_from_operands() {
        let args = args("a -sd , b --fields 2 -- -s");
        let parsed = parse(&args, TABLE, Order::Anywhere).unwrap();
        assert_eq!(parsed.option_args, [&b"-sd"[..], b",", b"--fields", b"2"]);
        assert_eq!(parsed.operands(), [&b"a"[..], b"b", b"-s"]);
    }

    #[test]
    fn letters_combine_and_arguments_attach() {
        assert_eq!(read("-sd, -f 2 x", Order::Anywhere).unwrap(), "Only Delimiter=, Fields=2 [x]");
        assert_eq!(read("-d -s", Order::Anywhere).unwrap(), "Delimiter=-s");
        assert_eq!(read("-57 -5 7", Order::Anywhere).unwrap(), "Digits=7 Digits [7]");
        assert_eq!(read("-d --", Order::Anywhere).unwrap(), "Delimiter=--");
    }

    #[test]
    fn long_names_abbreviate_unless_two_meanings_fit() {
        assert_eq!(read("--del=, --f 3 --on", Order::Anywhere).unwrap(), "Delimiter=, Fields=3 Only");
        assert_eq!(read("--col --colour=x", Order::Anywhere).unwrap(), "Color Color=x");
        assert_eq!(read("--delimiter=", Order::Anywhere).unwrap(), "Delimiter=");
        assert_eq!(read("--d=,", Order::Anywhere).unwrap_err(), "option --d is ambiguous");
        assert_eq!(
            read("--only-delimited=1", Order::Anywhere).unwrap_err(),
            "option --only-delimited takes no argument"
        );
        assert_eq!(read("--he", Order::Anywhere).unwrap_err(), "option --he speaks of the tool itself");
        assert_eq!(read("--nope", Order::Anywhere).unwrap_err(), "option --nope is unknown");
        assert_eq!(read("--fields", Order::Anywhere).unwrap_err(), "option --fields lacks its argument");
    }

    #[test]
    fn operands_permute_or_end_the_options() {
        assert_eq!(read("a -s - b -- -s --", Order::Anywhere).unwrap(), "[a] Only [-] [b] [-s] [--]");
        assert_eq!(read("-s a -s --", Order::First).unwrap(), "Only [a] [-s] [--]");
        assert_eq!(read("-- -- a", Order::First).unwrap(), "[--] [a]");
        assert_eq!(read("-x", Order::Anywhere).unwrap_err(), "option -x is unknown");
    }
}
