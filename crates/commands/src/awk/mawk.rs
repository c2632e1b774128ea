//! What versions of mawk do otherwise than the one of 2020.

use crate::{Accept, Declined, Family, Implementation};

use super::Dialect;
use super::format::Piece;
use super::loop_keys;
use super::tree::{Builtin, Expr, Program};
use super::visit::every_expr;

/// Versions with numbers of 64 bits that were compared.
const FROM_2025: &[&str] = &["1.3.4 20250131", COUNTS_FIELDS_WRONGLY];
/// Its optimiser lets `$NF` change the number of fields; keys that a loop finds may be numbers.
const COUNTS_FIELDS_WRONGLY: &str = "1.3.4 20260302";

/// Whether it is a mawk from 2025 on that was compared.
pub(super) fn is_2025(implementation: &Implementation) -> bool {
    implementation.is_one_of(Family::Mawk, FROM_2025)
}

/// Declines programs in which this version counts other fields.
pub(super) fn check_version(program: &Program, implementation: &Implementation) -> Accept<()> {
    if implementation.is_one_of(Family::Mawk, &[COUNTS_FIELDS_WRONGLY]) && takes_last_field(program) {
        return Declined::because(
            "$NF beside NF or fields that change, where this mawk counts fields wrongly",
        );
    }
    if implementation.is_one_of(Family::Mawk, &[COUNTS_FIELDS_WRONGLY]) && loop_keys::type_shows(program) {
        return Declined::because(loop_keys::MAY_BE_NUMBERS);
    }
    Ok(())
}

/// Declines `%c` of `sprintf` from 2025 on.
pub(super) fn check_sprintf(pieces: &[Piece], dialect: Dialect) -> Accept<()> {
    if dialect == (Dialect::Mawk { is_2025: true }) && pieces.iter().any(Piece::is_character) {
        return Declined::because("sprintf with %c, which takes strings for numbers in this mawk");
    }
    Ok(())
}

/// Whether it mentions `$NF`, and also NF by itself or an assignment to a field.
fn takes_last_field(program: &Program) -> bool {
    let is_count = |expr: &Expr| matches!(expr, Expr::Name(name) if name == "NF");
    let (mut last_fields, mut counts, mut changes) = (0, 0, false);
    every_expr(program, &mut |expr| match expr {
        Expr::Field(index) if is_count(index) => last_fields += 1,
        Expr::Name(_) if is_count(expr) => counts += 1,
        Expr::Assign(place, _) | Expr::Update(_, place, _) | Expr::Step { place, .. } => {
            changes |= matches!(**place, Expr::Field(_));
        }
        Expr::Builtin(Builtin::Sub | Builtin::Gsub | Builtin::NextRecord, _) | Expr::Getline(_) => {
            changes = true
        }
        _ => {}
    });
    last_fields > 0 && (counts > last_fields || changes)
}
