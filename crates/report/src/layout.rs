//! Fits rows and columns into a width, and draws them.
//!
//! Columns are taken by rank as long as the command stays readable; the command then gets the remaining
//! width, up to what it needs. With `all`, the columns that did not fit go into further tables below, with
//! the same rows.

use crate::{
    columns::{CORE_RANK, Column, Row},
    paint::{Pieces, Role},
    text,
};

/// The widest command without a width limit: a long awk program would push the figures out of sight.
const COMMAND_MAX: usize = 72;

/// Rows and settings of the tables.
pub struct Sheet<'a> {
    /// The rows; the whole run's is last.
    pub rows: &'a [Row],
    /// A heading for each pipeline, drawn if there are several.
    pub headings: &'a [String],
    /// The width limit, if there is one.
    pub width: Option<usize>,
    /// Whether characters outside ASCII can be drawn.
    pub unicode: bool,
}

impl Sheet<'_> {
    /// Draws tables for `columns`, each with the columns it shows. The first takes the lowest ranks; with
    /// `all`, further tables take the others.
    pub fn draw<'c>(&self, columns: &'c [Column], all: bool) -> Vec<(Vec<&'c Column>, Vec<Pieces>)> {
        let mut tables = vec![];
        let mut left: Vec<&Column> = columns.iter().collect();
        loop {
            let (taken, others) = self.choose(left);
            let lines = self.table(&taken);
            tables.push((taken, lines));
            if !all || others.is_empty() {
                return tables;
            }
            left = others;
        }
    }

    /// Parts `columns` into those of the next table, at least one, and the others.
    fn choose<'c>(&self, columns: Vec<&'c Column>) -> (Vec<&'c Column>, Vec<&'c Column>) {
        let mut ranks: Vec<_> = columns.iter().map(|column| column.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let mut used = self.margin();
        let mut taken = vec![];
        for rank in ranks {
            let need: usize = columns.iter().filter(|c| c.rank == rank).map(|c| c.gap + c.width()).sum();
            if self.width.is_none_or(|width| used + need + self.command_min(width, rank) <= width) {
                used += need;
                taken.push(rank);
            }
        }
        if taken.is_empty() {
            let mut all = columns.into_iter();
            return (all.by_ref().take(1).collect(), all.collect());
        }
        columns.into_iter().partition(|column| taken.contains(&column.rank))
    }

    /// The minimum width of the command if a column of `rank` is taken. Core figures may cut a command to its
    /// start; others must leave it readable.
    fn command_min(&self, width: usize, rank: u8) -> usize {
        let min = if rank <= CORE_RANK { (width / 6).max(4) } else { (width / 4).min(40) };
        self.natural().min(min)
    }

    /// Columns before the command: the mark, the number, and the blanks after each.
    fn margin(&self) -> usize {
        2 + self.numbers() + 2
    }

    fn numbers(&self) -> usize {
        self.rows.iter().map(|row| text::width(&row.number)).max().unwrap_or(0).max(1)
    }

    /// The width of the longest command.
    fn natural(&self) -> usize {
        let longest = self.rows.iter().map(|row| text::width(&row.shown())).max().unwrap_or(0);
        longest.clamp(text::width("command"), COMMAND_MAX)
    }

    fn table(&self, columns: &[&Column]) -> Vec<Pieces> {
        let figures: usize = columns.iter().map(|column| column.gap + column.width()).sum();
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(self.margin() + figures));
        let command = self.natural().min(room);
        let wide = self.margin() + command + figures;
        let mut lines = vec![];
        lines.extend(self.groups(columns, command));
        lines.push(self.heads(columns, command));
        if self.headings.len() < 2 {
            lines.push(self.rule("", wide));
        }
        let mut pipeline = None;
        for (at, row) in self.rows.iter().enumerate() {
            if row.number.is_empty() {
                // Without rows, the rule below the titles is enough.
                lines.extend((at > 0).then(|| self.rule("", wide)));
            } else if self.headings.len() > 1 && pipeline != Some(row.pipeline) {
                pipeline = Some(row.pipeline);
                lines.push(self.rule(self.headings.get(row.pipeline).map_or("", String::as_str), wide));
            }
            lines.push(self.row(row, at, columns, command));
        }
        lines
    }

    /// Draws the titles that several columns share, if there are any.
    fn groups(&self, columns: &[&Column], command: usize) -> Option<Pieces> {
        columns.iter().find(|column| !column.group.is_empty())?;
        let dash = if self.unicode { '─' } else { '-' };
        let mut line = Pieces::default();
        line.blanks(self.margin() + command);
        for run in columns.chunk_by(|a, b| a.group == b.group) {
            let gap = run.first().map_or(0, |column| column.gap);
            let span = run.iter().map(|column| column.gap + column.width()).sum::<usize>() - gap;
            let title = run.first().map_or("", |column| column.group);
            line.blanks(gap);
            if title.is_empty() {
                line.blanks(span);
                continue;
            }
            let title = text::shorten(title, span, self.unicode);
            let rest = span - text::width(&title);
            let (before, after) = (rest / 2, rest - rest / 2);
            let side = |n: usize| dash.to_string().repeat(n.saturating_sub(1));
            let blank = |n: usize| if n > 0 { " " } else { "" };
            line.push(
                Role::Dim,
                format!("{}{}{title}{}{}", side(before), blank(before), blank(after), side(after)),
            );
        }
        Some(line)
    }

    fn heads(&self, columns: &[&Column], command: usize) -> Pieces {
        let mut line = Pieces::default();
        line.blanks(2);
        line.append(&fit(&Pieces::one(Role::Dim, "#"), self.numbers(), false));
        line.blanks(2);
        let title = text::shorten("command", command, self.unicode);
        line.append(&fit(&Pieces::one(Role::Dim, title), command, true));
        for column in columns {
            line.blanks(column.gap);
            line.append(&fit(&Pieces::one(Role::Dim, &*column.head), column.width(), column.left));
        }
        line
    }

    fn rule(&self, title: &str, width: usize) -> Pieces {
        let dash = if self.unicode { "─" } else { "-" };
        if title.is_empty() {
            return Pieces::one(Role::Dim, dash.repeat(width));
        }
        let mut line = Pieces::one(Role::Dim, dash.repeat(2));
        line.push(Role::Strong, format!(" {} ", text::shorten(title, width.saturating_sub(6), self.unicode)));
        line.push(Role::Dim, dash.repeat(width.saturating_sub(line.width())));
        line
    }

    fn row(&self, row: &Row, at: usize, columns: &[&Column], command: usize) -> Pieces {
        let whole = row.number.is_empty();
        let sign = match (row.mark, self.unicode) {
            (false, _) => " ",
            (true, true) => "▶",
            (true, false) => ">",
        };
        let mut line = Pieces::one(Role::Mark, sign);
        line.blanks(1);
        line.append(&fit(&Pieces::one(Role::Dim, row.number.as_str()), self.numbers(), false));
        line.blanks(2);
        let name = text::shorten(&row.shown(), command, self.unicode);
        line.append(&fit(&Pieces::one(Role::Plain, name), command, true));
        for column in columns {
            line.blanks(column.gap);
            let cell = column.cells.get(at).cloned().unwrap_or_default();
            line.append(&fit(&cell, column.width(), column.left));
        }
        if row.mark || whole { line.lift(Role::Strong) } else { line }
    }
}

/// Pads `cell` to `width`.
fn fit(cell: &Pieces, width: usize, left: bool) -> Pieces {
    let blanks = width.saturating_sub(cell.width());
    let mut out = Pieces::default();
    out.blanks(if left { 0 } else { blanks });
    out.append(cell);
    out.blanks(if left { blanks } else { 0 });
    out
}
