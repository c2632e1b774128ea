//! Markdown: a GitHub table.

use pelton_record::Run;

use super::Style;

/// Shows `run` as a Markdown table.
pub fn render(run: &Run, style: &Style) -> String {
    let _ = (run, style);
    String::new()
}
