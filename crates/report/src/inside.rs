//! A program's processes: its pipelines, in place of its row, and its commands.
//!
//! ```text
//!   1,203 processes, by command:
//!     command  times    user     sys   CPU  before exec  cheapest  peak mem
//!     expr       600  0.211s  0.402s   61%          38%    0.9 ms    3.1 MB
//! ```

use pelton_record::inside::{Command, Inside};
use pelton_record::{Pipeline, Run};

use crate::{
    paint::{Pieces, Role},
    rows,
    style::Style,
    text, units,
};

/// Pipelines and commands shown, unless `all` is set.
const PIPELINES: usize = 8;
const COMMANDS: usize = 10;
/// The width of a command's name.
const NAME: usize = 28;

/// Replaces the only row of a run by the pipelines that it ran, the most expensive ones.
pub fn inner_pipelines(run: &Run, style: &Style) -> Option<Run> {
    let mut inner = run.inner_pipelines()?;
    let most = if style.all { usize::MAX } else { PIPELINES };
    if inner.pipelines.len() <= most {
        return Some(inner);
    }
    let cpu = |pipeline: &Pipeline| pipeline.stages.iter().map(|stage| stage.cost.cpu_ns()).sum::<u64>();
    let mut order: Vec<usize> = (0..inner.pipelines.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(cpu(&inner.pipelines[i])));
    let bottleneck = inner.verdict.bottleneck.as_ref().map(|bottleneck| bottleneck.pipeline);
    let mut kept: Vec<usize> = bottleneck.into_iter().chain(order).take(most + 1).collect();
    kept.sort_unstable();
    kept.dedup();
    if let Some(bottleneck) = &mut inner.verdict.bottleneck {
        bottleneck.pipeline = kept.iter().position(|&i| i == bottleneck.pipeline).unwrap_or(0);
    }
    let more = match inner.pipelines.len() - kept.len() {
        1 => "1 more pipeline ran (--all)".to_owned(),
        more => format!("{more} more pipelines ran (--all)"),
    };
    inner.notes.push(more);
    inner.pipelines = kept.iter().map(|&i| inner.pipelines[i].clone()).collect();
    Some(inner)
}

/// Renders processes by command.
pub fn lines(inside: &Inside, style: &Style) -> Vec<Pieces> {
    let counted = units::count(inside.processes);
    let mut lines = vec![Pieces::one(Role::Plain, format!("  {counted} processes, by command:"))];
    let most = if style.all { usize::MAX } else { COMMANDS };
    let shown = &inside.commands[..inside.commands.len().min(most)];
    lines.extend(table(shown, style));
    if shown.len() < inside.commands.len() {
        let more = inside.commands.len() - shown.len();
        lines.push(Pieces::one(Role::Dim, format!("    and {more} more (--all)")));
    }
    let legend = "  before exec: before its first instruction; cheapest: the least CPU time of one";
    lines.push(Pieces::one(Role::Dim, legend.to_owned()));
    lines.extend(starting(inside).map(|text| Pieces::one(Role::Plain, format!("  {text}"))));
    if inside.left > 0 {
        let text = format!("  {} of them gained privilege and were not followed further", inside.left);
        lines.push(Pieces::one(Role::Dim, text));
    }
    if inside.still_running > 0 {
        let text =
            format!("  {} of them still ran when it ended, and are in no figure", inside.still_running);
        lines.push(Pieces::one(Role::Dim, text));
    }
    lines
}

/// The share of CPU time that starts took, in words.
fn starting(inside: &Inside) -> Option<String> {
    let start_ns = inside.start_ns?;
    let started: u64 = inside.commands.iter().map(|row| row.times).sum();
    let whole_ns: u64 = inside.commands.iter().map(|row| row.cost.cpu_ns()).sum();
    let share = (start_ns * started) as f64 / whole_ns.max(1) as f64;
    Some(format!(
        "starting a program that does nothing takes {} of CPU here: {} for {started} of them, {} of all user+sys",
        units::short_time(start_ns),
        units::seconds(start_ns * started),
        units::percent(share.min(1.0)),
    ))
}

const HEADS: [&str; 9] =
    ["command", "times", "user", "sys", "before exec", "cheapest", "peak mem", "in", "out"];

fn table(commands: &[Command], style: &Style) -> Vec<Pieces> {
    let cells: Vec<_> = commands.iter().map(|row| cells(row, style)).collect();
    rows::named(&HEADS, &cells)
}

fn cells(row: &Command, style: &Style) -> [String; HEADS.len()] {
    let cost = &row.cost;
    let before = row.before_exec_ns as f64 / cost.cpu_ns().max(1) as f64;
    let bytes = |n: Option<u64>| n.map_or("?".to_owned(), units::bytes);
    [
        text::shorten(&text::printable(&row.name, style.unicode), NAME, style.unicode),
        units::count(row.times),
        units::seconds(cost.user_ns),
        units::seconds(cost.sys_ns),
        units::percent(before),
        units::short_time(row.cheapest_cpu_ns),
        units::bytes(cost.peak_rss_bytes),
        bytes(cost.read_bytes),
        bytes(cost.written_bytes),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use pelton_record::Cost;
    use pelton_record::inside::Inner;

    fn command(name: &str, times: u64, ms: u64) -> Command {
        let cost =
            Cost { user_ns: ms * 400_000, sys_ns: ms * 600_000, peak_rss_bytes: 3_100_000, ..Cost::zero() };
        Command {
            name: name.into(),
            times,
            before_exec_ns: ms * 380_000,
            cheapest_cpu_ns: ms * 1_000_000 / times,
            cost,
            ..Command::default()
        }
    }

    #[test]
    fn commands_are_rows() {
        let inside = Inside {
            processes: 601,
            commands: vec![command("expr", 600, 613), command("bash", 1, 40)],
            start_ns: Some(700_000),
            ..Inside::default()
        };
        let shown: String = lines(&inside, &samples::wide(100)).iter().map(|line| line.line(false)).collect();
        let expected = "  601 processes, by command:
    command  times    user     sys  before exec  cheapest  peak mem   in  out
    expr       600  0.245s  0.368s          38%    1.0 ms   3.10 MB  0 B  0 B
    bash         1  0.016s  0.024s          38%   40.0 ms   3.10 MB  0 B  0 B
  before exec: before its first instruction; cheapest: the least CPU time of one
  starting a program that does nothing takes 0.7 ms of CPU here: 0.421s for 601 of them, 64% of all user+sys
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn pipelines_take_the_place_of_the_row() {
        let mut run = samples::single();
        let inner = samples::simple().pipelines.remove(0);
        let found = Inner { times: 3, line: None, within: None, pipeline: inner };
        let verdict = samples::simple().verdict;
        let pipelines = vec![found; 12];
        run.pipelines[0].stages[0].inside = Some(Inside { pipelines, verdict, ..Inside::default() });
        let shown = inner_pipelines(&run, &samples::wide(80)).expect("pipelines");
        assert_eq!(shown.pipelines.len(), PIPELINES);
        assert!(shown.notes.iter().any(|note| note.starts_with("4 more")), "{:?}", shown.notes);
        assert_eq!(shown.pipelines[0].text, "cat words.txt | tr A-Z a-z | wc -l (3 times)");
        let all = Style { all: true, ..samples::wide(80) };
        assert_eq!(inner_pipelines(&run, &all).expect("pipelines").pipelines.len(), 12);
        assert!(inner_pipelines(&samples::simple(), &all).is_none());
    }
}
