//! The table: what users look at every day.

use pelton_record::Run;

use super::Style;
use crate::{
    columns::{self, BAR_HEAD, KEYS},
    layout::Sheet,
    paint::{Pieces, Role},
    prose, text,
};

/// Shows `run` as a table with the verdict below it.
pub fn render(run: &Run, style: &Style) -> String {
    let mut lines = tables(run, style);
    for paragraphs in [prose::verdict(run, style), prose::notes(run, style)] {
        if !paragraphs.is_empty() {
            lines.push(Pieces::default());
            lines.extend(paragraphs.iter().flat_map(|paragraph| paragraph.lines(style)));
        }
    }
    lines.iter().map(|line| line.line(style.color)).collect()
}

fn tables(run: &Run, style: &Style) -> Vec<Pieces> {
    let rows = columns::rows(run, style);
    let columns = columns::columns(run, style);
    let headings: Vec<_> = run.pipelines.iter().map(|p| text::printable(&p.text, style.unicode)).collect();
    let sheet = Sheet { rows: &rows, headings: &headings, width: style.width, unicode: style.unicode };
    let mut lines = vec![];
    for (columns, table) in sheet.draw(&columns, style.all) {
        if !lines.is_empty() {
            lines.push(Pieces::default());
        }
        lines.extend(table);
        if columns.iter().any(|column| column.head == BAR_HEAD) {
            lines.extend(legend(style));
        }
    }
    lines
}

/// What the signs in the bars mean, on as many lines as it takes.
fn legend(style: &Style) -> Vec<Pieces> {
    let mut lines = vec![];
    let mut line = Pieces::default();
    for key in &KEYS {
        let mut entry = key.piece(style);
        entry.push(Role::Dim, format!(" {}", key.name));
        if line.width() > 0 && style.width.is_some_and(|width| line.width() + 3 + entry.width() > width) {
            lines.push(std::mem::take(&mut line));
        }
        line.blanks(if line.width() == 0 { 2 } else { 3 });
        line.append(&entry);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn preview() {
        for (name, run) in samples::all() {
            for width in [60, 80, 120, 200] {
                println!("##### {name} {width}");
                println!("{}", render(&run, &samples::wide(width)));
            }
        }
        println!("{}", render(&samples::long(), &Style { all: true, ..samples::wide(80) }));
        println!("{}", render(&samples::long(), &Style { unicode: false, ..samples::wide(110) }));
    }
}
