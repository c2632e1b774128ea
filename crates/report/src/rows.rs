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
    let head = (Role::Dim, heads.map(str::to_owned).to_vec());
    let rows = rows.iter().map(|cells| (Role::Plain, cells.to_vec()));
    roled(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// Renders such a table, whose first row holds the heads, with a role for each row. All rows have the same number of cells.
pub fn roled(rows: &[(Role, Vec<String>)]) -> Vec<Pieces> {
    let columns = rows.first().map_or(0, |(_, heads)| heads.len());
    let width = |column: usize| rows.iter().map(|(_, cells)| text::width(&cells[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |(role, cells): &(Role, Vec<String>)| {
        let mut line = Pieces::one(Role::Plain, "    ");
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let gap = width - text::width(cell);
            line.blanks(if column == 0 { 0 } else { 2 + gap });
            line.push(*role, cell.clone());
            line.blanks(if column == 0 { gap } else { 0 });
        }
        line
    };
    rows.iter().map(line).collect()
}
