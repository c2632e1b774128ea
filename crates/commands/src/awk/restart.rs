//! Runs the real awk again from the beginning, where a kernel meets what it does not do exactly.
//!
//! A program whose records know of each other cannot be continued by another process, and the messages of an awk name the
//! record. So the real awk reads all its inputs again, which must be regular files. It prints the same as the kernel up to
//! that point: what is known already is dropped.

use std::sync::Arc;

use pelton_stream::Programs;

use crate::tool::second_run::SecondRun;
use crate::{Accept, Declined, Input};

use super::tree::{Builtin, Expr, Program, Statement};
use super::visit::{any_below, any_expr, any_statement};

/// What the real awk is started with.
#[derive(Clone, Debug, Default)]
pub(super) struct Start {
    /// All arguments.
    args: Vec<Vec<u8>>,
    reads_stdin: bool,
}

impl Start {
    pub(super) fn new(args: &[Vec<u8>], inputs: &[Input]) -> Self {
        Start { args: args.to_vec(), reads_stdin: inputs.contains(&Input::Stdin) }
    }
}

/// The real awk, in the place of a kernel or ready for it.
#[derive(Debug, Default)]
pub(super) struct Restart {
    with: Start,
    itself: Option<Arc<dyn Programs>>,
    /// Bytes that the kernel has printed.
    printed: u64,
    /// Bytes that the kernel has printed to standard error.
    said: usize,
    /// Whether the real awk takes the place of the kernel.
    is_left: bool,
    /// The real awk, until it has ended.
    real: Option<SecondRun>,
}

/// What the real awk did after what the kernel had done.
pub(super) struct Rest {
    pub(super) said: Vec<u8>,
    pub(super) status: i32,
}

impl Clone for Restart {
    /// Returns it for a helper of the kernel, which starts nothing.
    fn clone(&self) -> Self {
        Restart::new(self.with.clone())
    }
}

impl Restart {
    pub(super) fn new(with: Start) -> Self {
        Restart { with, ..Restart::default() }
    }

    /// Sets how the real awk is started.
    pub(super) fn by(&mut self, itself: Option<&Arc<dyn Programs>>) {
        self.itself = itself.cloned();
    }

    /// Counts what the kernel has printed.
    pub(super) fn printed(&mut self, bytes: usize) {
        self.printed += bytes as u64;
    }

    /// Counts what the kernel has printed to standard error.
    pub(super) fn said(&mut self, bytes: usize) {
        self.said += bytes;
    }

    /// Whether the real awk takes the place of the kernel.
    pub(super) fn is_left(&self) -> bool {
        self.is_left
    }

    /// Starts the real awk. Returns what is said if it cannot be started.
    pub(super) fn start(&mut self, name: &str) -> Option<Rest> {
        self.is_left = true;
        // All that was read of it.
        let back = self.with.reads_stdin.then_some(u64::MAX);
        self.real = SecondRun::start(self.itself.as_ref(), self.with.args.clone(), back, self.printed);
        self.real.is_none().then(|| {
            let said =
                format!("pelton: {name}: cannot start {name} again, for what pelton does not support\n");
            Rest { said: said.into_bytes(), status: 2 }
        })
    }

    /// Appends more of what the real awk prints after what is known. Returns `false` if there is nothing more.
    pub(super) fn read_on(&mut self, out: &mut Vec<u8>) -> bool {
        self.real.as_mut().is_some_and(|real| real.read_on(out))
    }

    /// Waits for the end of the real awk, if it runs.
    pub(super) fn end(&mut self) -> Option<Rest> {
        let (mut said, status) = self.real.take()?.end();
        said.drain(..self.said.min(said.len()));
        Some(Rest { said, status: status.unwrap_or(2) })
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
