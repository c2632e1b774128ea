//! Shell style: a line per stage in the layout of a shell's `time`, then a rule, then the whole.
//!
//! ```text
//! tokenize: real 0m4.773s user 0m2.894s sys 0m0.114s cpu 63.02%
//! parse:    real 0m4.775s user 0m4.716s sys 0m0.056s cpu 99.94%
//! --------------------------------------------------------------
//! ALL:      real 0m4.776s user 0m7.610s sys 0m0.170s cpu 162.90%
//! ```
//!
//! The decimal mark is a point in every locale. Times are rounded half up: 59.9996 s is `1m0.000s`.

use pelton_record::{Cost, Run, Stage};

use super::{Style, Subject};
use crate::{text, units};

/// Renders a record in the layout of a shell's `time`.
pub fn render(subject: &Subject<'_>, style: &Style) -> String {
    let rows = rows(subject.shown, style.unicode);
    let room = rows.iter().map(|(name, _)| text::width(name)).max().unwrap_or(0);
    let mut lines: Vec<_> = rows.iter().map(|(name, cost)| line(name, cost, room)).collect();
    let rule = "-".repeat(lines.iter().map(|line| text::width(line)).max().unwrap_or(0));
    lines.insert(lines.len() - 1, rule);
    lines.join("\n") + "\n"
}

/// Returns each name, with a colon, and cost: the stages, then the run.
fn rows(run: &Run, unicode: bool) -> Vec<(String, &Cost)> {
    let stages: Vec<_> = run.pipelines.iter().flat_map(|pipeline| &pipeline.stages).collect();
    let name = |stage: &Stage| {
        let alone = stages.iter().filter(|other| other.name == stage.name).count() == 1;
        let name = if alone { &stage.name } else { &stage.text };
        text::shorten(&text::printable(name, unicode), NAME_ROOM, unicode) + ":"
    };
    let mut rows: Vec<_> = stages.iter().map(|stage| (name(stage), &stage.cost)).collect();
    rows.push(("ALL:".to_owned(), &run.total));
    rows
}

/// The widest name. Stages of the same name are told apart by their text, which may be long.
const NAME_ROOM: usize = 32;

fn line(name: &str, cost: &Cost, room: usize) -> String {
    let [real, user, sys] = [cost.wall_ns, cost.user_ns, cost.sys_ns].map(units::minutes);
    let cpu = cost.cpu_share().map_or("?".to_owned(), |share| format!("{:.2}%", share * 100.0));
    let pad = " ".repeat(room.saturating_sub(text::width(name)));
    format!("{name}{pad} real {real} user {user} sys {sys} cpu {cpu}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn looks_like_this() {
        let ascii = Style { unicode: false, ..samples::wide(80) };
        samples::check_each("shell_style", &samples::NAMES, |run| render(&samples::subject(run), &ascii));
    }

    #[test]
    fn a_line_is_that_of_requirement_p1() {
        let cost =
            Cost { wall_ns: 4_773_000_000, user_ns: 2_894_000_000, sys_ns: 114_000_000, ..Cost::zero() };
        let shown = line("tokenize awk:", &cost, 13);
        assert_eq!(shown, "tokenize awk: real 0m4.773s user 0m2.894s sys 0m0.114s cpu 63.02%");
    }

    #[test]
    fn a_minute_is_a_minute() {
        let mut run = samples::single();
        run.total = Cost { wall_ns: 59_999_600_000, user_ns: 1, ..Cost::zero() };
        let shown = render(&samples::subject(&run), &samples::wide(80));
        assert!(shown.ends_with("ALL: real 1m0.000s user 0m0.000s sys 0m0.000s cpu 0.00%\n"), "{shown}");
    }
}
