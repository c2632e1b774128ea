//! CSV (RFC 4180): one row per stage and one for the whole, raw figures in base units.

use pelton_record::Run;

/// Shows `run` as CSV.
pub fn render(run: &Run) -> String {
    let _ = run;
    String::new()
}
