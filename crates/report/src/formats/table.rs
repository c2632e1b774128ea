//! The table: the default format.
//!
//! ```text
//!   #  command          real    user     sys   CPU  time spent  peak mem      in     out  status
//! ──────────────────────────────────────────────────────────────────────────────────────────────
//!   1  cat words.txt  4.771s  0.004s  0.061s    1%  ››››››››››   ≤3.9 MB  105 MB  105 MB       0
//! ▶ 2  tr A-Z a-z     4.773s  4.601s  0.098s   98%  ▇▇▇▇▇▇▇▇▇▇   ≤3.9 MB  105 MB  105 MB       0
//!   3  wc -l          4.774s  0.212s  0.040s    5%  ▇‹‹‹‹‹‹‹‹‹   ≤3.9 MB  105 MB     9 B       0
//! ──────────────────────────────────────────────────────────────────────────────────────────────
//!      ALL            4.774s  4.817s  0.199s  105%               ≤3.9 MB  315 MB  210 MB       0
//!   ▇ running   ▒ runnable   ‹ blocked on read   › blocked on write   · other
//! ```
//!
//! `▶` is the bottleneck; below follow the verdict, something to try, and notes. A narrow terminal drops
//! columns by rank; `all` shows those in further tables. Number formats are in `units.rs`, the rows in
//! `lines.rs`, the columns in `columns.rs`, their fitting in `layout.rs`, the sentences in `prose.rs`.

use pelton_record::{Pipeline, Run, Stage};

use super::{Style, Subject};
use crate::{
    arrivals, by_line,
    columns::{self, BAR_HEAD, Column, PIPE_HEAD, SPREAD_RANK, STATUS_HEAD},
    history, inside,
    layout::Sheet,
    paint::{Pieces, Role},
    process_tree, profile, prose, syscalls, text, threads, what_if,
};

/// Renders a record as tables with the verdict below them. Tables about its rows come from the whole record.
pub fn render(subject: &Subject<'_>, style: &Style) -> String {
    let Subject { run: whole, shown: run } = *subject;
    let mut lines = tables(run, style);
    for (whose, stage) in stages(whole) {
        if let Some(inside) = &stage.inside {
            lines.push(Pieces::default());
            lines.extend(inside::lines(inside, style));
        }
        if let Some(tree) = stage.tree.as_ref().filter(|tree| style.all || process_tree::is_notable(tree)) {
            lines.push(Pieces::default());
            lines.extend(process_tree::lines(tree, &whose, style));
        }
        if let Some(found) = &stage.profile {
            lines.push(Pieces::default());
            lines.extend(profile::lines(found, &whose, style));
        }
        if let Some(counted) = &stage.syscalls {
            lines.push(Pieces::default());
            lines.extend(syscalls::lines(counted, &whose, style));
        }
        let Some(threads) = &stage.threads else { continue };
        lines.push(Pieces::default());
        lines.extend(threads::lines(threads, &whose, style));
    }
    if let Some(found) = &whole.lines {
        lines.push(Pieces::default());
        lines.extend(by_line::lines(found, style));
    }
    if let Some(arrivals) = &whole.arrivals {
        lines.push(Pieces::default());
        lines.extend(arrivals::lines(arrivals, style));
    }
    if let Some(found) = &whole.what_if {
        lines.push(Pieces::default());
        lines.extend(what_if::lines(whole, found, style));
    }
    if let Some(found) = &whole.history {
        lines.push(Pieces::default());
        lines.extend(history::lines(found, style));
    }
    if !whole.budgets.is_empty() {
        lines.push(Pieces::default());
        lines.extend(history::budgets(&whole.budgets, style));
    }
    for paragraphs in [prose::verdict(run, style), prose::notes(run, style)] {
        if !paragraphs.is_empty() {
            lines.push(Pieces::default());
            lines.extend(paragraphs.iter().flat_map(|paragraph| paragraph.lines(style)));
        }
    }
    lines.iter().map(|line| line.line(style.color)).collect()
}

/// Returns all stages with their names.
fn stages(run: &Run) -> impl Iterator<Item = (String, &Stage)> {
    run.pipelines.iter().flat_map(|pipeline| {
        let name =
            |row: usize, stage: &Stage| format!("stage {} ({})", pipeline.numbers(row).start(), stage.name);
        pipeline.stages.iter().enumerate().map(move |(row, stage)| (name(row, stage), stage))
    })
}

fn tables(run: &Run, style: &Style) -> Vec<Pieces> {
    let rows = columns::rows(run, style);
    let columns = columns::columns(run, style);
    // Sentences name a pipeline by its number.
    let heading = |(at, pipeline): (usize, &Pipeline)| {
        let shown = text::printable(&pipeline.text, style.unicode);
        let has_place = ["line ", "in stage "].iter().any(|place| shown.starts_with(place));
        format!("pipeline {}{} {shown}", at + 1, if has_place { "," } else { ":" })
    };
    let headings: Vec<_> = run.pipelines.iter().enumerate().map(heading).collect();
    let sheet = Sheet { rows: &rows, headings: &headings, width: style.width, unicode: style.unicode };
    let mut lines = vec![];
    let mut all_spreads = false;
    let mut shown = vec![];
    for (columns, table) in sheet.draw(&columns, style.all) {
        shown.extend(columns.iter().map(|column| column.head.as_ref()));
        if !lines.is_empty() {
            lines.push(Pieces::default());
        }
        lines.extend(table);
        if columns.iter().any(|column| column.head == BAR_HEAD) {
            let pipes = columns.iter().any(|column| column.head == PIPE_HEAD);
            lines.extend(legend(run, pipes, style));
        }
        all_spreads |= columns.iter().any(|column| column.rank == SPREAD_RANK);
    }
    let all_succeed = stages(run).all(|(_, stage)| stage.end.status() == 0);
    let is_worth =
        |column: &&Column| column.rank != SPREAD_RANK && !(column.head == STATUS_HEAD && all_succeed);
    let others = columns.iter().filter(is_worth).map(|column| column.head.as_ref());
    let left_out = prose::left_out(others.filter(|head| !shown.contains(head)).collect());
    let caption =
        left_out.into_iter().chain(prose::caption(run, style, all_spreads)).chain(prose::economy(run));
    lines.extend(caption.flat_map(|paragraph| paragraph.lines(style)));
    lines
}

/// Explains the signs in the bars, on as many lines as needed.
fn legend(run: &Run, pipes: bool, style: &Style) -> Vec<Pieces> {
    let named = |sign: Pieces, name: &str| {
        let mut entry = sign;
        entry.push(Role::Dim, format!(" {name}"));
        entry
    };
    let mut entries: Vec<_> = columns::keys(run).map(|key| named(key.piece(style), key.name)).collect();
    if columns::has_unsampled(run) {
        entries.push(named(Pieces::one(Role::Dim, "?"), "too short to sample"));
    }
    if pipes {
        let signs = if style.unicode { "▁…█" } else { "_-#" };
        entries.push(named(Pieces::one(Role::BlockedOnWrite, signs), "its pipe from empty to full"));
    }
    let mut lines = vec![];
    let mut line = Pieces::default();
    for entry in entries {
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

    /// Renders `run` for several widths, for a file, and with each switch of [`Style`].
    fn sheets(run: &Run) -> String {
        let narrow = samples::wide(80);
        let styles = [
            ("60 columns", samples::wide(60)),
            ("80 columns", narrow),
            ("120 columns", samples::wide(120)),
            ("200 columns", samples::wide(200)),
            ("unlimited", Style { width: None, ..narrow }),
            ("80 columns, all", Style { all: true, ..narrow }),
            ("100 columns, ASCII", Style { unicode: false, ..samples::wide(100) }),
            ("120 columns, colour", Style { color: true, ..samples::wide(120) }),
        ];
        styles
            .iter()
            .map(|(name, style)| format!("== {name}\n{}\n", render(&samples::subject(run), style)))
            .collect()
    }

    #[test]
    fn looks_like_this() {
        for (name, run) in samples::all() {
            samples::check(&format!("table_{name}"), &sheets(&run));
        }
    }

    #[test]
    fn a_run_of_nothing_is_shown_too() {
        let mut run = samples::single();
        run.pipelines.clear();
        let shown = render(&samples::subject(&run), &samples::wide(60));
        assert_eq!(shown.lines().filter(|line| line.starts_with('─')).count(), 1, "{shown}");
        assert!(shown.contains("     ALL  "), "{shown}");
    }
}
