//! Decides whether a program prints whole lines, and terminates.

use crate::{Accept, Declined};

use super::effects::{Looker, Thing};
use super::names::{Owner, bodies};
use super::read_lines;
use super::tree::{Arith, Builtin, Expr, Order, Program, Statement};
use super::visit::{each_expr, each_statement, every_expr};

/// Whether each print ends with a newline.
pub(super) fn prints_whole_lines(program: &Program) -> bool {
    let mut whole = true;
    for (_, statement) in bodies(program) {
        each_statement(statement, &mut |statement| match statement {
            Statement::Printf(args, _) => {
                whole &= matches!(args.first(), Some(Expr::Text(format)) if format.ends_with(b"\n"));
            }
            Statement::ForIn(name, ..) => whole &= name != "ORS",
            _ => {}
        });
    }
    every_expr(program, &mut |expr| {
        whole &= expr.changed_place() != Some(&Expr::Name("ORS".to_owned()));
    });
    whole
}

/// Declines printing loops without a visible bound: their output is buffered until the record is done.
pub(super) fn check_loops(program: &Program, looker: &mut Looker) -> Accept<()> {
    for (owner, statement) in bodies(program) {
        let mut loops = Vec::new();
        each_statement(statement, &mut |statement| {
            if matches!(statement, Statement::While(..) | Statement::Do(..) | Statement::For(..)) {
                loops.push(statement);
            }
        });
        for statement in loops {
            if looker.statement(owner, statement)?.prints && !ends(program, owner, statement, looker)? {
                return Declined::because("a loop that prints, with no bound that can be seen");
            }
        }
    }
    Ok(())
}

/// Maximum literal number of iterations.
const TURNS_MAX: f64 = 100_000.0;

fn ends(program: &Program, owner: Owner, statement: &Statement, looker: &mut Looker) -> Accept<bool> {
    let (test, body, step) = match statement {
        Statement::For(_, Some(test), step, body) => (test, body, step.as_deref()),
        Statement::While(test, body) | Statement::Do(body, test) => (test, body, None),
        _ => return Ok(false),
    };
    let steps: Vec<&Statement> = step.into_iter().chain([&**body]).flat_map(Statement::flat).collect();
    let mut tests = Vec::new();
    all_of(test, &mut tests);
    let shrinks = |name: &Expr| {
        steps.iter().any(|statement| match statement {
            Statement::Expr(Expr::Assign(place, value)) => {
                **place == *name
                    && matches!(&**value, Expr::Builtin(Builtin::Substr, args) if args[0] == *name)
            }
            _ => false,
        })
    };
    for test in tests {
        let test = test.bare();
        let counted = match test {
            Expr::Compare(Order::Less | Order::LessOrEqual, counter, bound) => Some((counter, bound, 1.0)),
            Expr::Compare(Order::Greater | Order::GreaterOrEqual, counter, _) => {
                Some((counter, counter, -1.0))
            }
            _ => None,
        };
        if let Some((counter, bound, sign)) = counted
            && let (counter, turns) = stepped(counter, sign)
            && (turns || moves(&steps, counter, sign))
            && (sign < 0.0 && starts_bounded(program, counter) || sign > 0.0 && is_bounded(program, bound, 0))
            && writers(looker, owner, &steps, counter)? == Some(usize::from(!turns))
        {
            return Ok(true);
        }
        let mut found = false;
        // A file ends.
        let is_line = |expr: &Expr| read_lines::file_of(expr.bare()).is_some();
        found |= is_line(test)
            || matches!(test, Expr::Compare(Order::Greater, line, zero) if is_line(line) && **zero == Expr::Number(0.0));
        each_expr(test, &mut |part| match part {
            Expr::Builtin(Builtin::Match | Builtin::Index, args) => found |= shrinks(&args[0]),
            Expr::Match { text, negated: false, .. } => found |= shrinks(text),
            Expr::Builtin(Builtin::Length, args) => found |= shrinks(&args[0]),
            _ => {}
        });
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

fn all_of<'a>(test: &'a Expr, tests: &mut Vec<&'a Expr>) {
    match test.bare() {
        Expr::And(left, right) => {
            all_of(left, tests);
            all_of(right, tests);
        }
        test => tests.push(test),
    }
}

/// Returns the counter of a test, and whether the test itself counts in this direction (`i++ < 9`).
fn stepped(counter: &Expr, sign: f64) -> (&Expr, bool) {
    match counter.bare() {
        Expr::Step { place, by, .. } if by * sign > 0.0 => (place, true),
        counter => (counter, false),
    }
}

/// Whether one of the steps counts in this direction.
fn moves(steps: &[&Statement], counter: &Expr, sign: f64) -> bool {
    let up = |number: f64| number * sign > 0.0;
    steps.iter().any(|statement| match statement {
        Statement::Expr(Expr::Step { place, by, .. }) => **place == *counter && up(*by),
        Statement::Print(args, _) | Statement::Printf(args, _) => {
            args.iter().any(|arg| always_steps(arg, &|place, by| *place == *counter && up(by)))
        }
        Statement::Expr(Expr::Update(arith, place, value)) => {
            let by = match (arith, &**value) {
                (Arith::Add, Expr::Number(number)) => *number,
                (Arith::Subtract, Expr::Number(number)) => -number,
                _ => return false,
            };
            **place == *counter && up(by)
        }
        _ => false,
    })
}

/// Whether evaluating an expression always evaluates a `++` or `--` such as this one.
fn always_steps(expr: &Expr, is_it: &impl Fn(&Expr, f64) -> bool) -> bool {
    match expr {
        Expr::Step { place, by, .. } => is_it(place, *by),
        Expr::And(first, _) | Expr::Or(first, _) | Expr::If(first, ..) => always_steps(first, is_it),
        expr => expr.parts().into_iter().any(|part| always_steps(part, is_it)),
    }
}

/// Returns how many of the steps write to the counter; `None` if it is no variable.
fn writers(looker: &mut Looker, owner: Owner, steps: &[&Statement], counter: &Expr) -> Accept<Option<usize>> {
    let Expr::Name(name) = counter else { return Ok(None) };
    let mut writers = 0;
    for statement in steps {
        let uses = looker.statement(owner, statement)?;
        let writes = |thing: &Thing| matches!(thing, Thing::Variable(_, written) if written == name);
        writers += usize::from(uses.writes.iter().any(writes));
    }
    Ok(Some(writers))
}

/// Whether a counter that goes down has a bounded start.
fn starts_bounded(program: &Program, counter: &Expr) -> bool {
    is_bounded(program, counter, 0)
}

/// Whether it is at most the input size, or a literal.
fn is_bounded(program: &Program, expr: &Expr, depth: usize) -> bool {
    match expr.bare() {
        Expr::Number(number) => *number <= TURNS_MAX,
        Expr::LengthAlone => true,
        Expr::Builtin(
            Builtin::Length
            | Builtin::Split
            | Builtin::Index
            | Builtin::Match
            | Builtin::Asort
            | Builtin::Asorti,
            _,
        ) => true,
        Expr::Name(name) if matches!(name.as_str(), "NF" | "NR" | "FNR" | "RSTART" | "RLENGTH") => true,
        Expr::Arith(arith, left, right) if arith.is_additive() => {
            is_bounded(program, left, depth) && is_bounded(program, right, depth)
        }
        Expr::If(_, yes, no) => is_bounded(program, yes, depth) && is_bounded(program, no, depth),
        expr @ Expr::Name(_) if depth < 4 => {
            let mut bounded = true;
            every_expr(program, &mut |found| match found {
                Expr::Assign(place, value) if **place == *expr => {
                    bounded &= is_bounded(program, value, depth + 1);
                }
                Expr::Update(arith, place, value) if **place == *expr => {
                    bounded &=
                        arith.is_additive() && matches!(**value, Expr::Number(number) if number <= TURNS_MAX);
                }
                Expr::Builtin(Builtin::ReadLine | Builtin::NextRecord, args) => {
                    bounded &= args.first() != Some(expr)
                }
                _ => {}
            });
            let is_parameter = |name: &str| program.has_parameter(name);
            bounded && matches!(expr, Expr::Name(name) if !is_parameter(name))
        }
        _ => false,
    }
}
