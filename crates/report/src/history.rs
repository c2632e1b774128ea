//! The course of a named pipeline over its runs, and its budgets.
//!
//! ```text
//!   history of nightly: real is more (2.80 times the median) than in any of the 14 runs before
//!     real      ▂▂▃▂▂▂▂▂▂▂▂▂▂▂█  1.150s … 3.402s
//!     user+sys  ▂▂▂▂▂▂▂▂▂▂▂▂▂▂▇  1.902s … 4.810s
//!   over budget: real 3.402s of 2.000s
//! ```

use pelton_record::history::{Budget, BudgetFigure, History, KeptRun};

use crate::{
    kept_lines::ago,
    paint::{Pieces, Role},
    pipes::sign,
    prose::Paragraph,
    style::Style,
    text, units,
};

/// The most runs drawn.
const DRAWN: usize = 40;
/// The width of a bar in the list of runs.
const BAR: usize = 24;

fn says(label_role: Role, label: &'static str, role: Role, text: String) -> Paragraph {
    Paragraph { label_role, label, role, text }
}

/// Renders the course of all runs in a few lines.
pub fn lines(history: &History, style: &Style) -> Vec<Pieces> {
    let name = text::printable(&history.name, style.unicode);
    let heading = format!("history of {name}: {}", history.verdict);
    let mut lines = says(Role::Plain, "  ", Role::Strong, heading).lines(style);
    let Some(last) = history.runs.last() else { return lines };
    let alike: Vec<&KeptRun> = history.runs.iter().filter(|run| run.is_like(last)).collect();
    if alike.len() > 1 {
        lines.push(course("real", &alike, |run| run.wall_ns, style));
        lines.push(course("user+sys", &alike, KeptRun::cpu_ns, style));
    }
    lines
}

/// Renders a figure of the last runs that can be compared: a sign for each, from none to the most; then its least and its most.
fn course(name: &str, runs: &[&KeptRun], figure: fn(&KeptRun) -> u64, style: &Style) -> Pieces {
    let room = style.width.map_or(DRAWN, |width| width.saturating_sub(36).clamp(8, DRAWN));
    let values: Vec<u64> = newest(runs, room).iter().map(|run| figure(run)).collect();
    let most = values.iter().copied().max().unwrap_or(0);
    let least = values.iter().copied().min().unwrap_or(0);
    let signs: String = values.iter().map(|value| sign(*value as f64 / most.max(1) as f64, style)).collect();
    let dots = if style.unicode { "…" } else { ".." };
    let mut line = Pieces::one(Role::Dim, format!("    {name:<10}"));
    line.push(Role::Running, signs);
    line.push(Role::Dim, format!("  {} {dots} {}", units::seconds(least), units::seconds(most)));
    line
}

fn newest<T>(runs: &[T], count: usize) -> &[T] {
    &runs[runs.len().saturating_sub(count)..]
}

/// Renders budgets, those that were exceeded first.
pub fn budgets(budgets: &[Budget], style: &Style) -> Vec<Pieces> {
    let mut sorted: Vec<&Budget> = budgets.iter().collect();
    sorted.sort_by_key(|budget| !budget.is_exceeded);
    let line = |budget: &Budget| {
        let mark = if style.unicode { "▶ " } else { "> " };
        match budget.is_exceeded {
            true => says(Role::Mark, mark, Role::Strong, format!("over budget: {}", told(budget))),
            false => says(Role::Plain, "  ", Role::Plain, format!("budget: {}", told(budget))),
        }
    };
    sorted.into_iter().flat_map(|budget| line(budget).lines(style)).collect()
}

/// Renders the budgets that were exceeded, in a line each.
pub fn exceeded(budgets: &[Budget]) -> String {
    let exceeded = budgets.iter().filter(|budget| budget.is_exceeded);
    exceeded.map(|budget| format!("pelton: over budget: {}\n", told(budget))).collect()
}

fn told(budget: &Budget) -> String {
    let Budget { figure, limit, used, over_median, .. } = budget;
    let shown = |value: u64| match figure {
        BudgetFigure::Real | BudgetFigure::Cpu => units::seconds(value),
        BudgetFigure::Mem => units::bytes(value),
    };
    let name = match figure {
        BudgetFigure::Real => "real",
        BudgetFigure::Cpu => "user+sys",
        BudgetFigure::Mem => "peak mem",
    };
    let share =
        over_median.map(|share| format!("{}% over the median of the runs before", (100.0 * share).round()));
    match (limit, share) {
        (Some(limit), None) => format!("{name} {} of {}", shown(*used), shown(*limit)),
        (Some(limit), Some(share)) => format!("{name} {} of {} ({share})", shown(*used), shown(*limit)),
        (None, share) => format!(
            "{name} {}: no limit yet, since {} needs three of them",
            shown(*used),
            share.unwrap_or_default()
        ),
    }
}

/// Renders a row for each run, the newest last: for `pelton time --history NAME` without a pipeline. Ends with a newline.
pub fn list(runs: &[KeptRun], now_unix_ms: u64, style: &Style) -> String {
    let count = if style.all { usize::MAX } else { DRAWN };
    let shown = newest(runs, count);
    let most = shown.iter().map(|run| run.wall_ns).max().unwrap_or(0).max(1);
    let mut lines = Vec::new();
    let head =
        format!("{:>14}  {:>9}  {:>9}  {:>8}  {:>6}", "when", "real", "user+sys", "peak mem", "status");
    lines.push(Pieces::one(Role::Dim, head));
    let mut last_text = "";
    for run in shown {
        if run.text != last_text {
            let text = text::printable(&run.text, style.unicode);
            let room = style.width.unwrap_or(usize::MAX);
            lines.push(Pieces::one(Role::Strong, text::shorten(&text, room, style.unicode)));
            last_text = &run.text;
        }
        let mut line = Pieces::one(Role::Dim, format!("{:>14}", ago(run.ended_unix_ms(), now_unix_ms)));
        let figures = format!(
            "  {:>9}  {:>9}  {:>8}  {:>6}  ",
            units::seconds(run.wall_ns),
            units::seconds(run.cpu_ns()),
            units::bytes(run.peak_rss_bytes),
            run.exit_status
        );
        line.push(Role::Plain, figures);
        let length = (BAR as f64 * run.wall_ns as f64 / most as f64).round() as usize;
        line.push(Role::Running, if style.unicode { "▇" } else { "#" }.repeat(length.max(1)));
        lines.push(line);
    }
    if shown.len() < runs.len() {
        let hidden = runs.len() - shown.len();
        lines.push(Pieces::one(Role::Dim, format!("and {hidden} earlier ones (--all)")));
    }
    lines.iter().map(|line| line.line(style.color)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> History {
        let run = |i: u64, ms: u64| KeptRun {
            started_unix_ms: i * 3_600_000,
            text: "a | b".into(),
            wall_ns: ms * 1_000_000,
            user_ns: 2 * ms * 1_000_000,
            peak_rss_bytes: 3_000_000,
            ..KeptRun::default()
        };
        let runs = [100, 120, 110, 400].into_iter().zip(1..).map(|(ms, i)| run(i, ms)).collect();
        History {
            name: "nightly".into(),
            runs,
            verdict: "3 runs before: five are needed to tell a change".into(),
        }
    }

    fn shown(lines: &[Pieces]) -> String {
        lines.iter().map(|line| line.line(false)).collect()
    }

    #[test]
    fn the_course_of_its_runs() {
        let style = Style { width: Some(80), unicode: true, ..Style::default() };
        let expected = "  history of nightly: 3 runs before: five are needed to tell a change
    real      ▃▃▃█  0.100s … 0.400s
    user+sys  ▃▃▃█  0.200s … 0.800s
";
        assert_eq!(shown(&lines(&history(), &style)), expected);
        let expected = "          when       real   user+sys  peak mem  status
a | b
       3 h ago     0.100s     0.200s   3.00 MB       0  ▇▇▇▇▇▇
       2 h ago     0.120s     0.240s   3.00 MB       0  ▇▇▇▇▇▇▇
       1 h ago     0.110s     0.220s   3.00 MB       0  ▇▇▇▇▇▇▇
       0 s ago     0.400s     0.800s   3.00 MB       0  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
";
        assert_eq!(list(&history().runs, 4 * 3_600_000 + 400, &style), expected);
    }

    #[test]
    fn budgets_that_were_exceeded_come_first() {
        let budget = |figure, limit: Option<u64>, used, over_median| {
            let is_exceeded = limit.is_some_and(|limit| used > limit);
            Budget { figure, limit, used, over_median, is_exceeded }
        };
        let all = [
            budget(BudgetFigure::Mem, Some(5_000_000), 3_000_000, None),
            budget(BudgetFigure::Cpu, None, 1_000_000_000, Some(0.1)),
            budget(BudgetFigure::Real, Some(2_000_000_000), 3_400_000_000, Some(0.2)),
        ];
        let style = Style { width: Some(120), unicode: true, ..Style::default() };
        let expected = "▶ over budget: real 3.400s of 2.000s (20% over the median of the runs before)
  budget: peak mem 3.00 MB of 5.00 MB
  budget: user+sys 1.000s: no limit yet, since 10% over the median of the runs before needs three of
  them
";
        assert_eq!(shown(&budgets(&all, &style)), expected);
    }
}
