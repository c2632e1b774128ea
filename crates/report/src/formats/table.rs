//! Table.

use pelton_record::Run;

use super::Style;

/// Shows `run` as a table.
pub fn render(run: &Run, style: &Style) -> String {
    super::shell_style::render(run, style) + &run.verdict.headline + "\n"
}
