//! Markdown: a GitHub table with the verdict below it, for an issue, a wiki page or a README.
//!
//! Columns are aligned in the source too, so that it is readable unrendered. Commands are code spans, whose
//! fences are longer than any backquotes in them; a pipe in a cell is escaped even there. Bars are omitted, since they need
//! their legend.

use pelton_record::Run;

use super::{Style, Subject};
use crate::{
    columns::{self, BAR_HEAD, Column, PIPE_HEAD, Row},
    prose::{self, Paragraph},
    text,
};

/// Renders a record as a Markdown table with the verdict below it.
pub fn render(subject: &Subject<'_>, style: &Style) -> String {
    let run = subject.shown;
    let columns: Vec<_> = columns::columns(run, style)
        .into_iter()
        .filter(|column| ![BAR_HEAD, PIPE_HEAD].contains(&&*column.head))
        .collect();
    let rows = columns::rows(run, style);
    let mut cells = vec![heads(&columns)];
    let mut pipeline = None;
    for (at, row) in rows.iter().enumerate() {
        if let Some(heading) = run.pipelines.get(row.pipeline)
            && run.pipelines.len() > 1
            && pipeline != Some(row.pipeline)
        {
            pipeline = Some(row.pipeline);
            cells.push(heading_row(&text::printable(&heading.text, style.unicode), columns.len()));
        }
        cells.push(row_cells(row, at, &columns, style));
    }
    let left: Vec<_> = [false, true].into_iter().chain(columns.iter().map(|column| column.left)).collect();
    draw(&cells, &left) + &sentences(run, style)
}

fn heads(columns: &[Column]) -> Vec<String> {
    let named = columns.iter().map(|column| match (column.group, &*column.head) {
        ("", head) => head.to_owned(),
        (group, head) => format!("{group} {head}"),
    });
    ["#".to_owned(), "command".to_owned()].into_iter().chain(named).collect()
}

fn heading_row(pipeline: &str, columns: usize) -> Vec<String> {
    let cells = [String::new(), bold(&code_cell(pipeline))];
    cells.into_iter().chain((0..columns).map(|_| String::new())).collect()
}

fn row_cells(row: &Row, at: usize, columns: &[Column], style: &Style) -> Vec<String> {
    let whole = row.number.is_empty();
    let mark = if style.unicode { "▶" } else { "->" };
    let number = if row.mark { format!("{mark} {}", row.number) } else { row.number.clone() };
    let command = if row.is_code { code_cell(&row.command) } else { row.command.clone() };
    let command = format!("{}{command}", row.branch);
    let figures =
        columns.iter().map(|column| column.cells.get(at).map(|cell| cell.text()).unwrap_or_default());
    let cells = [number, command].into_iter().chain(figures);
    if row.mark || whole { cells.map(|cell| bold(&cell)).collect() } else { cells.collect() }
}

fn bold(cell: &str) -> String {
    if cell.is_empty() { String::new() } else { format!("**{cell}**") }
}

/// Renders a code span for a cell.
fn code_cell(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut fence = "`".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    // A fence must not touch a backquote. Markdown strips one blank at each end, even from text with blanks.
    let blank = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{blank}{}{blank}{fence}", text.replace('|', "\\|"))
}

/// Draws the rows. The first is the header; the delimiter row follows it.
fn draw(rows: &[Vec<String>], left: &[bool]) -> String {
    let widths: Vec<_> = (0..left.len())
        .map(|i| {
            rows.iter().filter_map(|row| row.get(i)).map(|cell| text::width(cell)).max().unwrap_or(0).max(3)
        })
        .collect();
    let dashes = widths.iter().zip(left).map(|(width, left)| {
        let dashes = "-".repeat(width - 1);
        if *left { format!(":{dashes}") } else { format!("{dashes}:") }
    });
    let mut out = String::new();
    for (i, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).zip(left).map(|((cell, width), left)| {
            let blanks = " ".repeat(width - text::width(cell));
            if *left { format!("{cell}{blanks}") } else { format!("{blanks}{cell}") }
        });
        out += &format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
        if i == 0 {
            out += &format!("| {} |\n", dashes.clone().collect::<Vec<_>>().join(" | "));
        }
    }
    out
}

/// Lists the verdict, its headline first, then the notes.
fn sentences(run: &Run, style: &Style) -> String {
    let mut out = String::new();
    let (verdict, caption) = (prose::verdict(run, style), prose::caption(run, style, true));
    let (headline, others) = match verdict.split_first() {
        Some((first, others)) if !run.verdict.headline.trim().is_empty() => (Some(first), others),
        _ => (None, verdict.as_slice()),
    };
    if let Some(headline) = headline {
        out += &format!("\n**{}**\n", escaped(&headline.text, style));
    }
    let economy = prose::economy(run);
    let list: Vec<_> =
        others.iter().cloned().chain(caption).chain(economy).chain(prose::notes(run, style)).collect();
    if !list.is_empty() {
        out.push('\n');
    }
    for Paragraph { label, text, .. } in &list {
        let label = if label.trim().is_empty() { String::new() } else { format!("{} ", label.trim()) };
        out += &format!("- {label}{}\n", escaped(text, style));
    }
    out
}

/// Escapes `text` for Markdown.
fn escaped(text: &str, style: &Style) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text::printable(text, style.unicode).trim().chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '~' | '|' | '$' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn looks_like_this() {
        samples::check_each("markdown", &samples::NAMES, |run| {
            let style = samples::wide(80);
            let plain = render(&samples::subject(run), &style);
            let all = render(&samples::subject(run), &Style { all: true, ..style });
            format!("{plain}\n<!-- all -->\n\n{all}")
        });
    }

    #[test]
    fn code_survives_backquotes_and_pipes() {
        assert_eq!(code_cell("a | b"), "`a \\| b`");
        assert_eq!(code_cell("a `b`"), "`` a `b` ``");
        assert_eq!(code_cell("a`b"), "``a`b``");
        assert_eq!(code_cell(""), "");
    }

    #[test]
    fn sentences_are_no_markup() {
        assert_eq!(escaped("ls *.c\n| a_b <x>", &samples::wide(80)), r"ls \*.c \| a\_b \<x\>");
    }
}
