//! How the outputs over parts of the input become the output over all of it, for workers on several machines.

use super::analyse::Analysis;
use super::kernel::ProgramTraits;
use super::mentions;
use super::tree::{Expr, Program};
use super::visit::any_expr_below;
use crate::OverParts;

/// Decides it for a program with one input.
pub(super) fn over_parts(program: &Program, analysis: &Analysis, manner: &ProgramTraits) -> OverParts {
    let by_lines = manner.reads && manner.record_end == b'\n';
    // In END, FNR counts the records of the last input.
    let counts_inputs_apart = || mentions(program, &["FNR"]);
    if manner.folds && manner.behind == 0 && by_lines && !manner.needs_record && !counts_inputs_apart() {
        return OverParts::Folded;
    }
    let begins_alike = !program.begin.iter().flatten().any(|statement| {
        any_expr_below(statement, |expr| matches!(expr, Expr::Name(name) if name == "NR"))
            || super::prints(statement)
    });
    let skips = manner.shares && analysis.counts && !analysis.has_end && !counts_inputs_apart();
    if begins_alike && by_lines && manner.whole_lines && skips {
        let options = vec![b"-v".to_vec(), format!("NR={}", manner.behind).into_bytes()];
        return OverParts::AfterFirst { lines: manner.behind, options: Some(options) };
    }
    OverParts::Unknown
}
