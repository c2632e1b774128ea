//! Shows an error in a shell text: the line, the span underlined, and a hint.

use crate::terminal::Look;
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use pelton_record::Span;
use std::path::Path;

/// A message's severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing is run.
    Error,
    /// The text runs as in the shell.
    Warning,
}

/// Renders `message` with spans of `text` underlined, each with a label (may be empty).
pub fn snippet(
    severity: Severity,
    message: &str,
    text: &str,
    spans: &[(Span, String)],
    origin: Option<&str>,
    help: Option<&str>,
    look: Look,
) -> String {
    let level = match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    // Tabs and other control characters would move the underline or the cursor: each becomes a blank.
    let shown: String = text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
    let shift =
        |at: usize| text[..at].chars().map(|c| if c.is_control() { 1 } else { c.len_utf8() }).sum::<usize>();
    let annotations = spans.iter().map(|(span, label)| {
        let (start, end) = (shift(span.start), shift(span.end));
        let end = if end > start { end } else { (start + 1).min(shown.len()).max(start) };
        let label = Some(label.as_str()).filter(|label| !label.is_empty());
        AnnotationKind::Primary.span(start..end).label(label)
    });
    let source = Snippet::source(&shown).path(origin).line_start(1).annotations(annotations);
    let mut group: Group<'_> = level.primary_title(message).element(source);
    if let Some(help) = help {
        group = group.element(Level::HELP.message(help));
    }
    let renderer = if look.color { Renderer::styled() } else { Renderer::plain() };
    let decor = if look.unicode { DecorStyle::Unicode } else { DecorStyle::Ascii };
    let mut text = renderer.decor_style(decor).render(&[group]);
    text.push('\n');
    text
}

/// Finds the program in PATH with the nearest name, if one is near.
pub fn similar_program(name: &str) -> Option<String> {
    let near = near(name);
    let path = std::env::var_os("PATH")?;
    // Among equal distances, prefer a name that `name` is a prefix of: `sor` is `sort` rather than `sar`.
    let mut best: Option<(usize, bool, String)> = None;
    for directory in std::env::split_paths(&path) {
        for candidate in names_in(&directory) {
            let distance = strsim::osa_distance(name, &candidate);
            let rank = (distance, !candidate.starts_with(name), candidate);
            if distance <= near && best.as_ref().is_none_or(|best| rank < *best) {
                best = Some(rank);
            }
        }
    }
    best.map(|(.., name)| name)
}

/// Returns how many letters may differ in a name that is meant.
pub fn near(name: &str) -> usize {
    if name.len() <= 3 { 1 } else { 2 }
}

fn names_in(directory: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
