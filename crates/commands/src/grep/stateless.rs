//! Whether grep treats lines independently, with any expression: `-P` and others that no kernel supports.

use crate::tool::argv::{Opt, Order, Takes, long, opt, parse, short};
use crate::tool::stateless::{Data, Stateless, Statuses};
use crate::{Accept, Charset, Context, Declined, Input};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    Expression,
    Text,
    Color,
    /// Selects lines, or parts of them, and how each is printed.
    Each,
}

/// All other options connect lines, count them, or name files.
const TABLE: &[Opt<Id>] = &[
    opt(Id::Each, b'E', "extended-regexp", Takes::Nothing),
    opt(Id::Each, b'F', "fixed-strings", Takes::Nothing),
    opt(Id::Each, b'G', "basic-regexp", Takes::Nothing),
    opt(Id::Each, b'P', "perl-regexp", Takes::Nothing),
    opt(Id::Each, b'i', "ignore-case", Takes::Nothing),
    short(Id::Each, b'y', Takes::Nothing),
    long(Id::Each, "no-ignore-case", Takes::Nothing),
    opt(Id::Each, b'w', "word-regexp", Takes::Nothing),
    opt(Id::Each, b'x', "line-regexp", Takes::Nothing),
    opt(Id::Each, b'v', "invert-match", Takes::Nothing),
    opt(Id::Each, b'o', "only-matching", Takes::Nothing),
    opt(Id::Each, b'h', "no-filename", Takes::Nothing),
    opt(Id::Each, b's', "no-messages", Takes::Nothing),
    opt(Id::Expression, b'e', "regexp", Takes::Value),
    opt(Id::Text, b'a', "text", Takes::Nothing),
    long(Id::Color, "color", Takes::MaybeValue),
    long(Id::Color, "colour", Takes::MaybeValue),
];

/// Parses the arguments.
pub(crate) fn stateless(args: &[Vec<u8>], context: &Context) -> Accept<Stateless> {
    let parsed = parse(args, TABLE, Order::Anywhere)?;
    if parsed.options().any(|(id, value)| id == Id::Color && value != b"never") {
        return Declined::because("colours");
    }
    let mut operands = parsed.operands();
    let mut own = parsed.resume_args();
    if !parsed.has(Id::Expression) {
        if operands.is_empty() {
            return Declined::because("no expression at all");
        }
        own.extend([b"-e".to_vec(), operands.remove(0).to_vec()]);
    }
    let input = match operands.as_slice() {
        [] => Input::Stdin,
        [operand] => Input::from_operand(operand),
        _ => return Declined::because("several files"),
    };
    if let Input::File(name) = &input {
        own.push([b"--label=", name.as_slice()].concat());
    }
    let data = match (parsed.has(Id::Text), context.locale.ctype) {
        (true, _) => Data::Bytes,
        (false, Charset::C) => Data::Text { utf8: false },
        (false, Charset::Utf8) => Data::Text { utf8: true },
        (false, Charset::Other) => return Declined::because("what is text in this character set"),
    };
    Ok(Stateless { data, ..Stateless::lines(input, own, Statuses::Found) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation, Locale};

    #[test]
    fn each_line_by_itself_or_not() {
        let reads = |args: &[&str]| {
            let context =
                Context { locale: Locale::C, implementation: Implementation::tested(Family::GnuGrep) };
            let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
            stateless(&args, &context)
        };
        let read = reads(&["-Po", "a(?=b)", "f"]).expect("stateless");
        assert_eq!(read.args, [&b"-Po"[..], b"-e", b"a(?=b)", b"--label=f"]);
        assert_eq!((read.input, read.data), (Input::File(b"f".to_vec()), Data::Text { utf8: false }));
        assert_eq!(reads(&["-aP", "-e", "x"]).map(|read| read.data), Ok(Data::Bytes));
        for args in [
            &["-Pn", "x"][..],
            &["-c", "x"],
            &["-m1", "x"],
            &["-q", "x"],
            &["-A1", "x"],
            &["-z", "x"],
            &["-f", "x"],
            &["-H", "x"],
            &["-r", "x"],
            &["--color", "x"],
            &["x", "f", "g"],
            &[],
        ] {
            assert!(reads(args).is_err(), "{args:?}");
        }
    }
}
