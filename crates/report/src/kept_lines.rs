//! Lines that were typed in a shell and kept (`pelton last`): the heading of one, and a list of several.

use pelton_record::Run;

use crate::{
    paint::{Pieces, Role},
    style::Style,
    text, units,
};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Renders what stands above the table of a line: its text, and how long ago it ended.
pub fn kept_line(run: &Run, now_unix_ms: u64, style: &Style) -> String {
    let mut line = Pieces::one(Role::Dim, format!("{}: ", ago(ended_ms(run), now_unix_ms)));
    line.push(Role::Plain, shortened(run, line.width(), style));
    line.line(style.color)
}

/// Renders a row for each line: its number for `pelton last N`, when it ended, how long it took, and its text.
pub fn kept_lines(runs: &[&Run], now_unix_ms: u64, style: &Style) -> String {
    let rows = runs.iter().enumerate().map(|(i, run)| {
        let time = units::seconds(run.wall_ns);
        let mut line = Pieces::one(Role::Strong, format!("{:>3}", i + 1));
        line.push(Role::Dim, format!("  {:>14}", ago(ended_ms(run), now_unix_ms)));
        line.push(Role::Plain, format!("  {time:>8}  "));
        line.push(Role::Plain, shortened(run, line.width(), style));
        line.line(style.color)
    });
    rows.collect()
}

fn shortened(run: &Run, before: usize, style: &Style) -> String {
    // Several lines stand in one, and the ends between them show: not each could be a `;`.
    let end = if style.unicode { " ↵ " } else { " \\n " };
    let lines: Vec<&str> = run.text.trim_end().lines().collect();
    let safe = text::printable(&lines.join(end), style.unicode);
    style.width.map_or(safe.clone(), |width| {
        text::shorten(&safe, width.saturating_sub(before).max(8), style.unicode)
    })
}

fn ended_ms(run: &Run) -> u64 {
    run.started_unix_ms + run.wall_ns / 1_000_000
}

/// Says how long ago a moment was.
pub fn ago(ended_ms: u64, now_unix_ms: u64) -> String {
    let counted = |n: u64, unit: &str| format!("{n} {unit} ago");
    match now_unix_ms.saturating_sub(ended_ms) {
        ms if ms < MINUTE_MS => counted(ms / 1000, "s"),
        ms if ms < HOUR_MS => counted(ms / MINUTE_MS, "min"),
        ms if ms < DAY_MS => counted(ms / HOUR_MS, "h"),
        ms if ms < 2 * DAY_MS => "1 day ago".to_owned(),
        ms => counted(ms / DAY_MS, "days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_list_names_each_line_and_its_age() {
        let mut runs = [samples::single(), samples::single(), samples::single()];
        let ended_ms = |run: &Run| run.started_unix_ms + run.wall_ns / 1_000_000;
        let now_ms = ended_ms(&runs[0]) + 3 * DAY_MS;
        let ages = [5_000, 7 * MINUTE_MS, DAY_MS + HOUR_MS];
        for (run, age) in runs.iter_mut().zip(ages) {
            run.started_unix_ms += 3 * DAY_MS - age;
            run.text = format!("sleep {age}\x1b[2J | wc");
        }
        let shown = kept_lines(&runs.iter().collect::<Vec<_>>(), now_ms, &samples::wide(80));
        let ages: Vec<&str> = shown.lines().filter_map(|line| line.get(5..19)).map(str::trim).collect();
        assert_eq!(ages, ["5 s ago", "7 min ago", "1 day ago"], "{shown}");
        assert!(shown.contains("sleep 5000^[[2J | wc") && !shown.contains('\x1b'), "{shown}");
        let heading = kept_line(&runs[0], now_ms, &samples::wide(80));
        assert_eq!(heading, "5 s ago: sleep 5000^[[2J | wc\n");
        runs[0].text = "for i in 1 2\ndo sleep $i\ndone\n".to_owned();
        let heading = kept_line(&runs[0], now_ms, &samples::wide(80));
        assert_eq!(heading, "5 s ago: for i in 1 2 ↵ do sleep $i ↵ done\n");
    }
}
