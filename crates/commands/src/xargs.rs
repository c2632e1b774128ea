//! `xargs`: GNU findutils. Only what it is: it runs commands of its own, which no kernel can be.
//!
//! How it forms their argument lists is told in `explain`, since that says whether what follows has to wait.

use pelton_stream::Kernel;

use crate::argv::{Opt, Order, Takes, long, opt, parse, short};
use crate::{Accept, Class, Command, Context, Declined, Facts, Input, Touches};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    ArgumentFile,
    Asks,
    Items,
    Lines,
    Replace,
    Other,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Other, b'0', "null", Takes::Nothing),
    opt(Id::ArgumentFile, b'a', "arg-file", Takes::Value),
    opt(Id::Other, b'd', "delimiter", Takes::Value),
    short(Id::Other, b'E', Takes::Value),
    opt(Id::Other, b'e', "eof", Takes::MaybeValue),
    short(Id::Replace, b'I', Takes::Value),
    opt(Id::Replace, b'i', "replace", Takes::MaybeValue),
    short(Id::Lines, b'L', Takes::Value),
    opt(Id::Lines, b'l', "max-lines", Takes::MaybeValue),
    opt(Id::Items, b'n', "max-args", Takes::Value),
    opt(Id::Other, b'o', "open-tty", Takes::Nothing),
    opt(Id::Asks, b'p', "interactive", Takes::Nothing),
    opt(Id::Other, b'P', "max-procs", Takes::Value),
    long(Id::Other, "process-slot-var", Takes::Value),
    opt(Id::Other, b'r', "no-run-if-empty", Takes::Nothing),
    opt(Id::Other, b's', "max-chars", Takes::Value),
    long(Id::Other, "show-limits", Takes::Nothing),
    opt(Id::Other, b't', "verbose", Takes::Nothing),
    opt(Id::Other, b'x', "exit", Takes::Nothing),
];

/// When a command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Batch {
    /// As many items as fit.
    Full,
    /// -n.
    Items,
    /// -L or -I.
    Lines,
}

#[derive(Debug)]
struct Xargs {
    batch: Batch,
    program: String,
}

/// Reads the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::First)?;
    if parsed.has(Id::ArgumentFile) {
        return Declined::because("it reads its items from a file");
    }
    if parsed.has(Id::Asks) {
        return Declined::because("it asks before it runs commands");
    }
    let batch = parsed.options().fold(Batch::Full, |batch, (id, _)| match id {
        Id::Items => Batch::Items,
        Id::Lines | Id::Replace => Batch::Lines,
        _ => batch,
    });
    let program = parsed.operands().first().map_or("echo".into(), |name| name.escape_ascii().to_string());
    Ok(Box::new(Xargs { batch, program }))
}

impl Command for Xargs {
    fn facts(&self) -> Facts {
        // Not said to block: full lists may be run before the input ends, and a command that fails may end it early.
        Facts::serial(Class::Effect, Touches::anything()).stopping_early()
    }

    fn inputs(&self) -> &[Input] {
        &[Input::Stdin]
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let (program, when) = (&self.program, self.batch.when());
        Declined::because(format!("it runs {program} {when}"))
    }
}

impl Batch {
    fn when(self) -> &'static str {
        match self {
            Batch::Full => "once it has gathered all items, or as many as fit an argument list",
            Batch::Items => "once for every few items",
            Batch::Lines => "once for every line or few",
        }
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
            reason(""),
            "it runs echo once it has gathered all items, or as many as fit an argument list"
        );
        assert_eq!(reason("-0 -n 1 rm -I"), "it runs rm once for every few items");
        assert_eq!(reason("-P4 -I{} mv {} x"), "it runs mv once for every line or few");
        assert_eq!(reason("-n5 --max-lines -r grep -p"), "it runs grep once for every line or few");
    }

    #[test]
    fn what_reads_elsewhere_is_not_judged() {
        assert_eq!(reason("-a f wc"), "it reads its items from a file");
        assert_eq!(reason("-p rm"), "it asks before it runs commands");
        assert_eq!(reason("--max"), "option --max is ambiguous");
    }
}
