//! Threads: a row each, the busiest first, and whether they take turns.
//!
//! ```text
//!   thread       CPU  runnable  on lock  switches  name
//!     4711  0.512s  0.003s      74%     1,234  python3
//! ```

use pelton_record::threads::{Thread, Threads};

use crate::{
    paint::{Pieces, Role},
    style::Style,
    text, units,
};

/// Rows shown, unless `all` is set.
const ROWS: usize = 12;
/// Sentences longer than this are hard to follow from line to line, however wide the terminal is.
const READABLE: usize = 100;
/// The width of a name.
const NAME: usize = 24;

/// Renders their verdict, and a row for each. `whose` is the owner.
pub fn lines(threads: &Threads, whose: &str, style: &Style) -> Vec<Pieces> {
    let label = format!("  threads of {}: ", text::printable(whose, style.unicode));
    let room = style.width.map_or(READABLE, |width| width.min(READABLE)).saturating_sub(4);
    let wrapped = text::wrap(&format!("{label}{}", threads.verdict), room);
    let role = if threads.turns.is_some() { Role::Strong } else { Role::Plain };
    let mut lines: Vec<Pieces> = wrapped
        .into_iter()
        .enumerate()
        .map(|(i, words)| Pieces::one(role, format!("{}{words}", if i == 0 { "  " } else { "    " })))
        .collect();
    let shown = if style.all { threads.rows.len() } else { threads.rows.len().min(ROWS) };
    lines.extend(table(&threads.rows[..shown], style));
    if shown < threads.rows.len() {
        lines.push(Pieces::one(Role::Dim, format!("    and {} more (--all)", threads.rows.len() - shown)));
    }
    lines
}

const HEADS: [&str; 6] = ["process", "thread", "CPU", "runnable", "on lock", "switches"];

fn table(rows: &[Thread], style: &Style) -> Vec<Pieces> {
    let cells: Vec<[String; 6]> = rows.iter().map(cells).collect();
    let widths = crate::rows::widths(&HEADS, cells.iter());
    let line = |role: Role, cells: &[String], name: &str| {
        let mut line = Pieces::one(Role::Plain, "  ");
        for (cell, width) in cells.iter().zip(&widths) {
            line.blanks(2 + width - text::width(cell));
            line.push(role, cell.clone());
        }
        line.blanks(2);
        line.push(role, text::shorten(&text::printable(name, style.unicode), NAME, style.unicode));
        line
    };
    let mut lines = vec![line(Role::Dim, &HEADS.map(str::to_owned), "name")];
    lines.extend(rows.iter().zip(&cells).map(|(row, cells)| line(Role::Plain, cells, &row.name)));
    lines
}

fn cells(row: &Thread) -> [String; 6] {
    let switches = row.voluntary_switches.zip(row.involuntary_switches);
    [
        row.pid.to_string(),
        row.thread.to_string(),
        units::seconds(row.cpu_ns),
        units::seconds(row.cpu_wait_ns),
        units::percent(row.lock_share),
        switches.map_or("?".to_owned(), |(voluntary, involuntary)| units::count(voluntary + involuntary)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_under_their_heads() {
        let row = |thread: u32, ms: u64, name: &str| Thread {
            pid: 10,
            thread,
            name: name.into(),
            cpu_ns: ms * 1_000_000,
            voluntary_switches: (thread != 12).then_some(1_200),
            involuntary_switches: Some(34),
            lock_share: 0.75,
            ..Thread::default()
        };
        let threads = Threads {
            rows: vec![row(11, 512, "python3"), row(12, 7, "a\u{1b}[31mb")],
            verdict: "these 2 threads take turns: 1.0 of 2 cores used".into(),
            ..Threads::default()
        };
        let shown: String = lines(&threads, "stage 1 (python3)", &Style::default())
            .iter()
            .map(|line| line.line(false))
            .collect();
        let expected = "  threads of stage 1 (python3): these 2 threads take turns: 1.0 of 2 cores used
    process  thread     CPU  runnable  on lock  switches  name
         10      11  0.512s    0.000s      75%      1234  python3
         10      12  0.007s    0.000s      75%         ?  a^[[31mb
";
        assert_eq!(shown, expected);
    }
}
