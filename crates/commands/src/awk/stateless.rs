//! Decides which programs treat records independently, so that several awks can share the lines of one input:
//! those that the language's analysis accepts, whatever prevents native execution.
//!
//! A message of awk names the record, and gawk warns once about invalid bytes. An input with a name can be
//! read again from its beginning if an awk prints a message; one without a name is shared only if no awk can
//! print one.

use super::analyse::ArrayOrder;
use super::arguments::Line;
use super::names::Names;
use super::tree::{Arith, Builtin, Expr, Program, Statement};
use super::visit::{any_statement, every_expr};
use super::{Dialect, analyse, arguments, parse, prints, rules};
use crate::tool::interface::NoLookup;
use crate::tool::stateless::{Data, Errors, Stateless, Statuses, names_in};
use crate::{Accept, Charset, Context, Declined, Input};

/// Names by which a program in some awk sees more than its record, or does more than print.
const CONNECTING: [&str; 33] = [
    "NR",
    "FNR",
    "FILENAME",
    "ARGC",
    "ARGV",
    "ARGIND",
    "RS",
    "RT",
    "ORS",
    "ERRNO",
    "PROCINFO",
    "SYMTAB",
    "FUNCTAB",
    "LINT",
    "TEXTDOMAIN",
    "BINMODE",
    "IGNORECASE",
    "FIELDWIDTHS",
    "FPAT",
    "getline",
    "system",
    "close",
    "fflush",
    "rand",
    "srand",
    "systime",
    "strftime",
    "mktime",
    "nextfile",
    "exit",
    "include",
    "load",
    "namespace",
];

/// Parses the arguments.
pub(crate) fn stateless(args: &[Vec<u8>], context: &Context) -> Accept<Stateless> {
    let dialect = Dialect::of(context)?;
    rules::follow(dialect.rules(&context.locale));
    let mut line = arguments::parse(args, dialect, &NoLookup)?;
    if let Some(word) = names_in(&line.program).find(|word| CONNECTING.contains(word)) {
        return Declined::because(format!("{word} asks for more than its record, or does more than print"));
    }
    let program = parse::parse(&line.program, dialect)?;
    line.set_from_the_start(&program)?;
    if line.variables.iter().any(|(name, _)| CONNECTING.contains(&name.as_str())) {
        return Declined::because("a variable of awk's own on its command line");
    }
    let may_fail = alone(&program, &line, dialect)?;
    let (Some(input), true) = (line.inputs.pop(), line.inputs.is_empty()) else {
        return Declined::because("several files");
    };
    let errors = match input {
        Input::File(_) => Errors::ByLine { blank: 0 },
        Input::Stdin => Errors::Alike,
    };
    if errors == Errors::Alike && (may_fail || says_something(&program)) {
        return Declined::because("what awk says of an error, in an input without a name");
    }
    // mawk handles bytes only.
    if errors == Errors::Alike && !dialect.is_mawk() && context.locale.ctype != Charset::C {
        return Declined::because(
            "what awk says of bytes that are no characters, in an input without a name",
        );
    }
    let data = Data::Text { utf8: false };
    // A line ends only where `printf` says so; ORS is refused above.
    let prints_lines = names_in(&line.program).all(|word| word != "printf");
    Ok(Stateless {
        data,
        errors,
        prints_lines,
        ..Stateless::lines(input, line.resume, Statuses::AnyIsTheEnd)
    })
}

/// Declines a program that does not treat records independently, or does more than print. Returns whether it
/// may fail.
fn alone(program: &Program, line: &Line, dialect: Dialect) -> Accept<bool> {
    let names = Names::of(program)?;
    names.check_lengths(program, dialect)?;
    let analysis = analyse::analyse(program, &names, &line.variables, dialect)?;
    if analysis.has_end || program.rules.is_empty() {
        return Declined::because("END, or nothing that is done for each record");
    }
    if program.begin.iter().flatten().any(prints) {
        return Declined::because("BEGIN prints, which each process would do");
    }
    if let Some(name) = analysis.carried.first() {
        return Declined::because(format!("a record finds {name} as another has left it"));
    }
    if analysis.ranges || analysis.counts || analysis.exits || analysis.array_order != ArrayOrder::Hidden {
        return Declined::because("its records know of each other");
    }
    if analyse::redirects(program) {
        Declined::because("it prints into files or pipes")
    } else {
        Ok(analysis.may_fail)
    }
}

/// Whether some awk could print a message: for a division, a format, a computed expression.
fn says_something(program: &Program) -> bool {
    let constant = |expr: Option<&Expr>| matches!(expr, Some(Expr::Regex(_)));
    let mut says = !program.functions.is_empty();
    every_expr(program, &mut |expr| {
        says |= match expr {
            Expr::Arith(arith, ..) | Expr::Update(arith, ..) => {
                !matches!(arith, Arith::Add | Arith::Subtract | Arith::Multiply)
            }
            Expr::Match { regex, .. } => !constant(Some(regex)),
            Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) => !constant(args.first()),
            Expr::Builtin(builtin, _) => !matches!(
                builtin,
                Builtin::Length | Builtin::Substr | Builtin::Index | Builtin::ToLower | Builtin::ToUpper
            ),
            _ => false,
        };
    });
    says || any_statement(program, |statement| matches!(statement, Statement::Printf(..)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation, Locale};

    fn reads(family: Family, args: &[&str]) -> Accept<Stateless> {
        let context = Context { locale: Locale::C_UTF8, implementation: Implementation::tested(family) };
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
        stateless(&args, &context)
    }

    #[test]
    fn records_by_themselves() {
        for args in [
            &["{print $1 * 2}"][..],
            &["-F,", "$2 ~ /a/ {gsub(/b/, \"c\"); print}"],
            &["BEGIN {FS = \":\"} {s = $1; if ($2 > s) s = $2; print s}"],
        ] {
            assert!(reads(Family::Mawk, args).is_ok(), "{args:?}: {:?}", reads(Family::Mawk, args).err());
        }
        let read = reads(Family::Gawk, &["-F,", "{printf \"%d\\n\", $1 / $2}", "f"]).expect("stateless");
        assert_eq!((read.input, read.errors), (Input::File(b"f".to_vec()), Errors::ByLine { blank: 0 }));
        assert_eq!(read.args, [&b"-F,"[..], b"{printf \"%d\\n\", $1 / $2}"]);
    }

    #[test]
    fn records_that_know_of_others() {
        for args in [
            &["NR > 1"][..],
            &["{s += $1} END {print s}"],
            &["!seen[$1]++"],
            &["{print p; p = $1}"],
            &["/a/,/b/"],
            &["{print > \"f\"}"],
            &["{getline; print}"],
            &["BEGIN {print \"head\"} {print}"],
            &["{print FILENAME}"],
            &["{print rand()}"],
            &["{if ($1) exit; print}"],
            &["BEGIN {RS = \"\"} {print $1}"],
            &["{print}", "f", "g"],
            &["{printf \"%d\", $1 / $2}"],
        ] {
            assert!(reads(Family::Mawk, args).is_err(), "{args:?}");
        }
        assert!(reads(Family::Gawk, &["{print $1}"]).is_err());
    }
}
