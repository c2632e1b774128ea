//! `awk`: mawk.
//!
//! The path of a program: text → [`parse`] (with [`lex`] and [`expression`]) → [`tree`] → [`names`], which names are
//! arrays, [`uses`], what reads and changes what, and [`analyse`], whether records can be worked on alone → [`compile`]
//! → [`code`], where names are places → [`machine`] with [`eval`], which runs it over blocks.
//!
//! The awks are specifications of their own: how numbers are printed, what lies outside of a string for `substr`, what
//! escapes mean, in which order `for (k in a)` goes. What is declined and why stands where it is declined.

mod analyse;
mod array;
mod code;
mod compile;
mod compile_expr;
mod eval;
mod expression;
mod fields;
mod fold;
mod format;
mod given;
mod kernel;
mod lex;
mod lines;
mod machine;
mod names;
mod number;
mod order;
mod parse;
mod pattern;
mod record;
mod substitute;
mod sums;
mod tree;
mod unsure;
mod uses;
mod value;

use pelton_stream::Kernel;

use crate::{
    Accept, Charset, Class, Collate, Combiner, Command, Context, Declined, Facts, Input, Scripts, Touches,
};

use analyse::Analysis;
use compile::Compiled;
use kernel::{AwkKernel, Manner};
use names::Names;

/// Whose awk a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Mawk,
    Gawk,
}

/// `awk`, its arguments understood.
#[derive(Debug)]
struct Awk {
    compiled: Compiled,
    analysis: Analysis,
    manner: Manner,
    inputs: Vec<Input>,
    scripts: Vec<Vec<u8>>,
    resume: Option<Vec<Vec<u8>>>,
    begin_prints: bool,
}

/// Reads the arguments of `awk`.
pub fn accept(args: &[Vec<u8>], context: &Context, scripts: Scripts<'_>) -> Accept<Box<dyn Command>> {
    accept_as("awk", args, context, scripts)
}

/// Reads the arguments of `mawk`.
pub fn accept_mawk(args: &[Vec<u8>], context: &Context, scripts: Scripts<'_>) -> Accept<Box<dyn Command>> {
    accept_as("mawk", args, context, scripts)
}

fn accept_as(
    name: &'static str,
    args: &[Vec<u8>],
    context: &Context,
    scripts: Scripts<'_>,
) -> Accept<Box<dyn Command>> {
    let locale = &context.locale;
    if locale.ctype == Charset::Other || locale.collate != Collate::Bytes || locale.thousands.is_none() {
        return Declined::because("the order of strings, or the numbers, of this locale");
    }
    let dialect = Dialect::Mawk;
    let line = given::parse(args, dialect, scripts)?;
    let program = parse::parse(&line.program, dialect)?;
    let names = Names::of(&program)?;
    lines::check_lengths(&program, &line.program, &names)?;
    let analysis = analyse::analyse(&program, &names)?;
    let mut given = given::given(&line, &program, dialect)?;
    let names_a_file = names_a_file(&program);
    let sums = fold::sums(&program, &analysis).and_then(|sums| match names_a_file {
        true => Err("it asks for the name of its input".to_owned()),
        false => Ok(sums),
    });
    let folds = sums.is_ok();
    given.sums = sums.unwrap_or_default();
    let compiled = compile::compile(&program, &names, &given)?;
    let reads = !program.rules.is_empty() || !program.end.is_empty();
    if program.rules.is_empty() && program.end.is_empty() && program.begin.is_empty() {
        return Declined::because("an empty program");
    }
    let begin_stops = program.begin.iter().flatten().any(exits);
    if reads && begin_stops {
        return Declined::because("exit in BEGIN, before anything is read");
    }
    let begin_prints = program.begin.iter().flatten().any(prints);
    let alone = analysis.carried.is_empty() && !analysis.counts && !analysis.ranges && !analysis.may_fail;
    let one_input = line.inputs.len() == 1;
    let whole_lines = analysis.whole_lines && !line.variables.iter().any(|(name, _)| name == "ORS");
    // Whoever goes on reads a pipe.
    let resumes = alone && one_input && !analysis.has_end && !begin_prints && reads && !names_a_file;
    if reads && !resumes && meets_nul(&program) {
        return Declined::because(
            "tolower, toupper or a replacement from the input, which mawk cuts at a NUL",
        );
    }
    let manner = Manner {
        name,
        record_end: compiled.code.record_end,
        reads,
        resumes,
        shares: alone && analysis.joined.is_empty() && !analysis.exits && !names_a_file,
        whole_lines,
        folds: folds && !begin_prints,
    };
    let inputs = if reads { line.inputs } else { Vec::new() };
    let resume = resumes.then_some(line.resume);
    let scripts = line.script.into_iter().collect();
    Ok(Box::new(Awk { compiled, analysis, manner, inputs, scripts, resume, begin_prints }))
}

fn exits(statement: &tree::Statement) -> bool {
    let mut found = false;
    analyse::each_statement(statement, &mut |statement| {
        found |= matches!(statement, tree::Statement::Exit(_));
        for expr in statement.parts().0 {
            analyse::each_expr(expr, &mut |expr| found |= matches!(expr, tree::Expr::Call(..)));
        }
    });
    found
}

fn prints(statement: &tree::Statement) -> bool {
    let mut found = false;
    analyse::each_statement(statement, &mut |statement| {
        found |= matches!(statement, tree::Statement::Print(..) | tree::Statement::Printf(..));
        for expr in statement.parts().0 {
            analyse::each_expr(expr, &mut |expr| found |= matches!(expr, tree::Expr::Call(..)));
        }
    });
    found
}

/// It does what mawk does with strings up to a NUL only: where a record has one, the real one must go on.
fn meets_nul(program: &tree::Program) -> bool {
    use tree::{Builtin, Expr};
    let mut found = false;
    analyse::every_expr(program, &mut |expr| {
        found |= match expr {
            Expr::Builtin(Builtin::ToLower | Builtin::ToUpper, _) => true,
            Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) => !matches!(args.get(1), Some(Expr::Text(_))),
            _ => false,
        };
    });
    found
}

fn names_a_file(program: &tree::Program) -> bool {
    let mut found = false;
    analyse::every_expr(program, &mut |expr| {
        found |= matches!(expr, tree::Expr::Name(name) if name == "FILENAME");
    });
    found
}

impl Command for Awk {
    fn facts(&self) -> Facts {
        let analysis = &self.analysis;
        let touches = Touches::anything();
        let facts = if !self.manner.reads {
            Facts::stateless(Class::Source, touches)
        } else if self.manner.shares && self.inputs.len() == 1 && !analysis.has_end {
            Facts::stateless(Class::LineMap, touches)
        } else if !analysis.prints_records && !self.begin_prints {
            let combiner = if self.manner.folds { Combiner::Add } else { Combiner::Serial };
            Facts::serial(Class::Fold, touches).with_combiner(combiner).blocking()
        } else {
            Facts::serial(Class::LineNumbered, touches).with_combiner(Combiner::Serial)
        };
        let facts = facts.with_record_end(self.manner.record_end);
        if analysis.exits && self.manner.reads {
            return facts.stopping_early();
        }
        if analysis.may_fail { facts.giving_up_early() } else { facts }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn scripts(&self) -> &[Vec<u8>] {
        &self.scripts
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(AwkKernel::new(&self.compiled, self.manner)))
    }

    fn prints_in_any_order(&self) -> bool {
        self.analysis.any_order
    }

    fn complains(&self) -> bool {
        self.analysis.may_fail
    }

    fn complains_before_printing(&self) -> bool {
        self.analysis.may_fail
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        self.resume.clone()
    }
}
