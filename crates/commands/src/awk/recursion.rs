//! Functions that call themselves, directly or through others.
//!
//! How deep they may call differs between awks, and the kernel's stack is smaller than theirs: calls that are too deep make the
//! real awk run again from the beginning ([`restart`](super::restart)).

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::code::Function;
use super::machine::{Machine, Ran, Stop};
use super::names::Names;
use super::tree::{Builtin, Expr, Program, Statement};
use super::visit::{any_below, any_expr_below, each_expr_below};

/// Calls within calls, above which the real awk runs.
const DEPTH_MAX: usize = 2000;
/// Bytes of the stack, above which the real awk runs: threads have 2 MB at least.
const STACK_BYTES_MAX: usize = 640 * 1024;

/// The calls of recursive functions that are running.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Depth {
    calls: usize,
    /// The address of the stack at the first of them.
    base: usize,
}

/// A function, in the calls within itself: set once it is compiled. It is held by itself, so a compiled program with such a
/// function is never freed; a count of its users would be changed by each call.
#[derive(Clone, Default)]
pub(super) struct Within(Arc<OnceLock<Arc<Function>>>);

impl Within {
    /// Returns it, once it is compiled.
    pub(super) fn get(&self) -> Option<&Arc<Function>> {
        self.0.get()
    }

    pub(super) fn set(&self, function: &Arc<Function>) {
        let _ = self.0.set(Arc::clone(function));
    }
}

impl fmt::Debug for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Within")
    }
}

/// Whether a function calls itself.
pub(super) fn is_in(program: &Program, names: &Names) -> bool {
    (0..program.functions.len()).any(|number| {
        let mut reached = Vec::new();
        called_by(program, names, number)
            .into_iter()
            .for_each(|next| reach(program, names, next, &mut reached));
        reached.contains(&number)
    })
}

/// Whether a function prints, or one that it calls.
pub(super) fn prints(program: &Program, names: &Names, function: usize) -> bool {
    let mut reached = Vec::new();
    reach(program, names, function, &mut reached);
    let closes = |expr: &Expr| matches!(expr, Expr::Builtin(Builtin::Close, _));
    reached
        .into_iter()
        .flat_map(|number| &program.functions[number].body)
        .any(|statement| any_below(statement, Statement::is_print) || any_expr_below(statement, closes))
}

/// Adds a function and all that it calls.
fn reach(program: &Program, names: &Names, function: usize, reached: &mut Vec<usize>) {
    if reached.contains(&function) {
        return;
    }
    reached.push(function);
    called_by(program, names, function).into_iter().for_each(|next| reach(program, names, next, reached));
}

/// Returns the functions that a function calls directly.
fn called_by(program: &Program, names: &Names, function: usize) -> Vec<usize> {
    let mut called = Vec::new();
    for statement in &program.functions[function].body {
        each_expr_below(statement, &mut |expr| {
            if let Expr::Call(name, _) = expr {
                called.extend(names.function(name));
            }
        });
    }
    called
}

impl Machine {
    /// Passes a function that is called within itself to `call`.
    pub(super) fn recurse<T>(
        &mut self,
        function: &Within,
        call: impl FnOnce(&mut Self, &Function) -> Ran<T>,
    ) -> Ran<T> {
        let marker = 0u8;
        let here = std::ptr::from_ref(&marker).addr();
        if self.depth.calls == 0 {
            self.depth.base = here;
        }
        if self.depth.calls >= DEPTH_MAX || self.depth.base.abs_diff(here) > STACK_BYTES_MAX {
            return Err(Stop::Again);
        }
        self.depth.calls += 1;
        // It is compiled before the program runs.
        let result = function.get().map_or(Err(Stop::Again), |function| call(self, function));
        self.depth.calls -= 1;
        result
    }
}
