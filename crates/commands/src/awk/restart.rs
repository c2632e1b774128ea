//! Runs the real awk again from the beginning, where a kernel meets what it does not do exactly.
//!
//! A program whose records know of each other cannot be continued by another process, and the messages of an awk name the
//! record. So the real awk reads all its inputs again, which must be regular files. It prints the same as the kernel up to
//! that point: what is known already is dropped.

use std::io::Read;
use std::sync::Arc;

use pelton_stream::Programs;
use pelton_sys::wait::Ended;

use crate::{Accept, Declined, Input};

use super::tree::{Builtin, Expr, Program, Statement};
use super::visit::{any_below, any_expr, any_statement};

/// How the real awk is started again.
#[derive(Clone, Debug, Default)]
pub(super) struct Restart {
    /// All arguments.
    args: Vec<Vec<u8>>,
    reads_stdin: bool,
    itself: Option<Arc<dyn Programs>>,
    /// Bytes that the kernel has printed.
    printed: usize,
    /// Bytes that the kernel has printed to standard error.
    said: usize,
}

/// What the real awk did after what the kernel had done.
pub(super) struct Rest {
    pub(super) said: Vec<u8>,
    pub(super) status: i32,
}

impl Restart {
    pub(super) fn new(args: &[Vec<u8>], inputs: &[Input]) -> Self {
        let reads_stdin = inputs.contains(&Input::Stdin);
        Restart { args: args.to_vec(), reads_stdin, ..Restart::default() }
    }

    /// Sets how the real awk is started.
    pub(super) fn by(&mut self, itself: Option<&Arc<dyn Programs>>) {
        self.itself = itself.cloned();
    }

    /// Counts what the kernel has printed.
    pub(super) fn printed(&mut self, bytes: usize) {
        self.printed += bytes;
    }

    /// Counts what the kernel has printed to standard error.
    pub(super) fn said(&mut self, bytes: usize) {
        self.said += bytes;
    }

    /// Runs the real awk, and appends what it prints after what is known.
    pub(super) fn run(&self, name: &str, out: &mut Vec<u8>) -> Rest {
        // All that was read of it.
        let back = self.reads_stdin.then_some(u64::MAX);
        let started = self.itself.as_ref().map(|itself| itself.start_again(self.args.clone(), back));
        let Some(Ok(mut started)) = started else {
            let said =
                format!("pelton: {name}: cannot start {name} again, for what pelton does not support\n");
            return Rest { said: said.into_bytes(), status: 2 };
        };
        let start = out.len();
        // A read error counts as its end.
        let _ = started.read_to_end(out);
        let known = self.printed.min(out.len() - start);
        out.drain(start..start + known);
        let mut said = started.said();
        said.drain(..self.said.min(said.len()));
        Rest { said, status: started.end().map_or(2, Ended::status) }
    }
}

/// Declines a program that cannot run twice: what it does besides printing would be done twice, or otherwise.
pub(super) fn check(program: &Program) -> Accept<()> {
    let does_more = |expr: &Expr| {
        matches!(
            expr,
            Expr::Builtin(
                Builtin::System | Builtin::Close | Builtin::Flush | Builtin::Rand | Builtin::Srand,
                _
            ) | Expr::Getline(_)
        )
    };
    let prints_elsewhere = |statement: &Statement| match statement {
        Statement::Print(_, Some(to)) | Statement::Printf(_, Some(to)) => {
            !to.is_standard_error() && !to.is_standard_output()
        }
        _ => false,
    };
    if any_expr(program, does_more) || any_statement(program, prints_elsewhere) {
        return Declined::because(
            "files, commands or random numbers beside what is made while the program runs, at which it may have to run again",
        );
    }
    // What fails is then evaluated in an order of the real awk's.
    let exits = |statement: &Statement| matches!(statement, Statement::Exit(_));
    let mut of_functions = program.functions.iter().flat_map(|function| &function.body);
    if of_functions.any(|statement| any_below(statement, exits)) {
        return Declined::because("exit in a function, beside what is made while the program runs");
    }
    Ok(())
}
