//! A second opinion: the parser crate shuck reads the same text, and should find the same commands.
//!
//! The two parsers were written independently, so they are unlikely to misread a text in the same way. shuck
//! is lenient where pelton is strict; the comparison is whether both split the text into the same stages with
//! the same words between the same operators. Where they differ, bash decides.

use pelton_syntax::{Command, Connector, Dialect, Pipeline, Script};
use shuck_ast as theirs;
use shuck_parser::ShellDialect;
use shuck_parser::parser::Parser;

/// A text as a flat sequence: precedence and nesting follow from it.
#[derive(Debug, PartialEq, Eq)]
enum Mark {
    Words(Vec<(usize, usize)>),
    Compound,
    Function,
    Pipe,
    PipeBoth,
    And,
    Or,
    End,
    Background,
}

/// Returns whether shuck reads `text` as `script` says.
pub fn agrees(text: &str, dialect: Dialect, script: &Script) -> bool {
    let shell = match dialect {
        Dialect::Bash | Dialect::Zsh => ShellDialect::Bash,
        Dialect::Posix => ShellDialect::Posix,
    };
    let parsed = Parser::with_dialect(text, shell).parse();
    if !parsed.is_ok() {
        return false;
    }
    let mut seen = Vec::new();
    parsed.file.body.iter().for_each(|stmt| their_item(stmt, &mut seen));
    let words =
        seen.iter_mut().filter_map(|mark| if let Mark::Words(words) = mark { Some(words) } else { None });
    words.flatten().for_each(|span| *span = without_continuations(text, *span));
    seen == our_marks(script)
}

/// Shrinks a word: shuck includes a line continuation at either end.
fn without_continuations(text: &str, (mut start, mut end): (usize, usize)) -> (usize, usize) {
    while text.get(start..end).is_some_and(|word| word.starts_with("\\\n")) {
        start += 2;
    }
    while text.get(start..end).is_some_and(|word| word.ends_with("\\\n")) {
        end -= 2;
    }
    (start, end)
}

fn our_marks(script: &Script) -> Vec<Mark> {
    let mut marks = Vec::new();
    for item in &script.items {
        our_pipeline(&item.and_or.first, &mut marks);
        for (connector, pipeline) in &item.and_or.rest {
            marks.push(if *connector == Connector::And { Mark::And } else { Mark::Or });
            our_pipeline(pipeline, &mut marks);
        }
        marks.push(if item.background { Mark::Background } else { Mark::End });
    }
    marks
}

fn our_pipeline(pipeline: &Pipeline, marks: &mut Vec<Mark>) {
    let last = pipeline.stages.len().saturating_sub(1);
    for (i, stage) in pipeline.stages.iter().enumerate() {
        marks.push(match &stage.command {
            // shuck gives the names of some builtins no span, so only arguments are compared.
            Command::Simple(simple) => {
                Mark::Words(simple.words.iter().skip(1).map(|w| (w.span.start, w.span.end)).collect())
            }
            Command::Compound(_) => Mark::Compound,
            Command::Function { .. } => Mark::Function,
        });
        if i < last {
            marks.push(if stage.pipes_stderr { Mark::PipeBoth } else { Mark::Pipe });
        }
    }
}

fn their_item(stmt: &theirs::Stmt, marks: &mut Vec<Mark>) {
    their_stmt(stmt, marks);
    marks.push(match stmt.terminator {
        Some(theirs::StmtTerminator::Background(_)) => Mark::Background,
        _ => Mark::End,
    });
}

fn their_stmt(stmt: &theirs::Stmt, marks: &mut Vec<Mark>) {
    match &stmt.command {
        theirs::Command::Binary(binary) => {
            their_stmt(&binary.left, marks);
            marks.push(match binary.op {
                theirs::BinaryOp::And => Mark::And,
                theirs::BinaryOp::Or => Mark::Or,
                theirs::BinaryOp::Pipe => Mark::Pipe,
                theirs::BinaryOp::PipeAll => Mark::PipeBoth,
            });
            their_stmt(&binary.right, marks);
        }
        theirs::Command::Compound(theirs::CompoundCommand::Time(time)) => {
            if let Some(command) = &time.command {
                their_stmt(command, marks);
            }
        }
        theirs::Command::Compound(_) => marks.push(Mark::Compound),
        theirs::Command::Function(_) | theirs::Command::AnonymousFunction(_) => marks.push(Mark::Function),
        command => marks.push(Mark::Words(their_arguments(command))),
    }
}

fn their_arguments(command: &theirs::Command) -> Vec<(usize, usize)> {
    use theirs::BuiltinCommand as Builtin;
    let words = |first: Option<&theirs::Word>, rest: &[theirs::Word]| {
        first.into_iter().chain(rest).map(|w| bytes(w.span)).collect()
    };
    match command {
        theirs::Command::Simple(simple) => words(None, &simple.args),
        theirs::Command::Decl(decl) => decl.operands.iter().map(their_operand).collect(),
        theirs::Command::Builtin(Builtin::Break(b)) => words(b.depth.as_ref(), &b.extra_args),
        theirs::Command::Builtin(Builtin::Continue(b)) => words(b.depth.as_ref(), &b.extra_args),
        theirs::Command::Builtin(Builtin::Return(b)) => words(b.code.as_ref(), &b.extra_args),
        theirs::Command::Builtin(Builtin::Exit(b)) => words(b.code.as_ref(), &b.extra_args),
        _ => Vec::new(),
    }
}

fn their_operand(operand: &theirs::DeclOperand) -> (usize, usize) {
    bytes(match operand {
        theirs::DeclOperand::Flag(word) | theirs::DeclOperand::Dynamic(word) => word.span,
        theirs::DeclOperand::Name(name) => name.span,
        theirs::DeclOperand::Assignment(assignment) => assignment.span,
    })
}

fn bytes(span: theirs::Span) -> (usize, usize) {
    (span.start.offset(), span.end.offset())
}
