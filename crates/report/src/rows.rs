//! Small tables below the main one: their widths, and rows that begin with a name.

use crate::paint::{Pieces, Role};
use crate::text;

/// Returns the width of each column: of its widest cell, or of its head.
pub fn widths<'c, const N: usize>(
    heads: &[&str; N],
    rows: impl Iterator<Item = &'c [String; N]> + Clone,
) -> [usize; N] {
    std::array::from_fn(|column| {
        let widest = rows.clone().map(|row| text::width(&row[column])).max().unwrap_or(0);
        widest.max(heads[column].len())
    })
}

/// Renders a table whose first column is a name, to the left, and whose others are figures.
pub fn named<const N: usize>(heads: &[&str; N], rows: &[[String; N]]) -> Vec<Pieces> {
    let widths = widths(heads, rows.iter());
    let line = |role: Role, cells: &[String; N]| {
        let mut line = Pieces::one(Role::Plain, "    ");
        line.push(role, cells[0].clone());
        line.blanks(widths[0] - text::width(&cells[0]));
        for (cell, width) in cells.iter().zip(&widths).skip(1) {
            line.blanks(2 + width - text::width(cell));
            line.push(role, cell.clone());
        }
        line
    };
    let head = line(Role::Dim, &heads.map(str::to_owned));
    std::iter::once(head).chain(rows.iter().map(|cells| line(Role::Plain, cells))).collect()
}
