//! What each line of a script cost, the dearest first.
//!
//! ```text
//!   by line, each with all that it started:
//!     line  runs    real    user     sys  share  own
//!       12   600  1.203s  0.211s  0.402s    61%  61%  grep "$p" "$f" | sort | uniq -c
//!                                             8%      the shell itself
//! ```

use pelton_record::{Line, Lines};

use crate::{
    paint::{Pieces, Role},
    style::Style,
    text, units,
};

/// Rows shown, unless `all` is set.
const ROWS: usize = 12;
/// The least columns for a pipeline's text, however narrow the terminal is.
const TEXT: usize = 20;
/// The share from which a line stands out.
const HOT: f64 = 0.25;

const HEADS: [&str; 7] = ["line", "runs", "real", "user", "sys", "share", "own"];

/// Renders a row per line.
pub fn lines(lines: &Lines, style: &Style) -> Vec<Pieces> {
    let mut out = vec![Pieces::one(Role::Plain, "  by line, each with all that it started:")];
    let most = if style.all { usize::MAX } else { ROWS };
    let shown = &lines.rows[..lines.rows.len().min(most)];
    let mut rows: Vec<([String; HEADS.len()], &str, bool)> = shown
        .iter()
        .map(|row| (cells(row, lines), row.text.as_str(), share(row.own_cpu_ns, lines) >= HOT))
        .collect();
    let mut shell: [String; HEADS.len()] = Default::default();
    shell[5] = units::percent(share(lines.shell_cpu_ns, lines));
    if lines.shell_cpu_ns > 0 {
        rows.push((shell, "the shell itself", false));
    }
    let widths = crate::rows::widths(&HEADS, rows.iter().map(|(cells, ..)| cells));
    let row = |cells: &[String; HEADS.len()]| {
        let cells = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{}{cell}", " ".repeat(width - text::width(cell))));
        format!("    {}", cells.collect::<Vec<_>>().join("  "))
    };
    out.push(Pieces::one(Role::Dim, row(&HEADS.map(str::to_owned))));
    for (cells, written, hot) in &rows {
        let figures = row(cells);
        let room =
            style.width.map_or(usize::MAX, |width| width.saturating_sub(text::width(&figures) + 2).max(TEXT));
        let mut line = Pieces::one(if *hot { Role::Strong } else { Role::Plain }, figures);
        line.blanks(2);
        line.push(Role::Plain, text::shorten(&text::printable(written, style.unicode), room, style.unicode));
        out.push(line);
    }
    if shown.len() < lines.rows.len() {
        let more = lines.rows.len() - shown.len();
        out.push(Pieces::one(Role::Dim, format!("    and {more} more (--all)")));
    }
    out
}

fn share(cpu_ns: u64, lines: &Lines) -> f64 {
    (cpu_ns as f64 / lines.cpu_ns.max(1) as f64).min(1.0)
}

fn cells(row: &Line, lines: &Lines) -> [String; HEADS.len()] {
    [
        row.line.map_or("?".to_owned(), |line| line.to_string()),
        units::count(row.runs),
        units::seconds(row.cost.wall_ns),
        units::seconds(row.cost.user_ns),
        units::seconds(row.cost.sys_ns),
        units::percent(share(row.cost.cpu_ns(), lines)),
        units::percent(share(row.own_cpu_ns, lines)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use pelton_record::Cost;

    fn row(line: Option<u32>, text: &str, runs: u64, ms: u64, own_ms: u64) -> Line {
        let cost =
            Cost { user_ns: ms * 250_000, sys_ns: ms * 750_000, wall_ns: ms * 1_100_000, ..Cost::zero() };
        Line { line, text: text.into(), runs, cost, own_cpu_ns: own_ms * 1_000_000 }
    }

    #[test]
    fn looks_like_this() {
        let rows = vec![
            row(Some(12), "grep \"$p\" \"$f\" | sort | uniq -c | sort -rn | head -n 3", 600, 600, 600),
            row(Some(30), "tokenize < in | parse", 1, 250, 10),
            row(None, "curl", 2, 100, 100),
        ];
        let lines_of = Lines { rows, shell_cpu_ns: 50_000_000, cpu_ns: 1_000_000_000 };
        let shown: String =
            lines(&lines_of, &samples::wide(80)).iter().map(|line| line.line(false)).collect();
        let expected = "  by line, each with all that it started:
    line  runs    real    user     sys  share  own
      12   600  0.660s  0.150s  0.450s    60%  60%  grep \"$p\" \"$f\" | s…head -n 3
      30     1  0.275s  0.063s  0.188s    25%   1%  tokenize < in | parse
       ?     2  0.110s  0.025s  0.075s    10%  10%  curl
                                           5%       the shell itself
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn many_rows_are_cut() {
        let rows = (1..40).map(|line| row(Some(line), "x", 1, 1, 1)).collect();
        let lines_of = Lines { rows, shell_cpu_ns: 0, cpu_ns: 39_000_000 };
        assert_eq!(lines(&lines_of, &samples::wide(80)).len(), 2 + ROWS + 1);
        let all = Style { all: true, ..samples::wide(80) };
        assert_eq!(lines(&lines_of, &all).len(), 2 + 39);
    }
}
