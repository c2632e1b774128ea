//! CSV (RFC 4180): one row per stage and one called `ALL`, with raw figures, for spreadsheets and data frames.
//!
//! The header is always the same; columns are only ever added at its end. Names and meanings are those of the
//! record (`--format json`), times are nanoseconds and sizes bytes, as the names say. An empty field is unknown, or
//! has no meaning in that row.
//!
//! | columns | |
//! | --- | --- |
//! | `pipeline`, `stage` | numbers from 1, as in the table; empty for `ALL` |
//! | `name`, `command`, `program` | short name (`ALL` for the whole), source text, path of the program |
//! | `ran_by`, `pid` | `process`, `builtin`, `shell` or `native` |
//! | `status`, `signal` | as the shell reports it; the signal's name if one ended it |
//! | `start_ns` … `involuntary_switches` | when it started within the run, and its cost |
//! | `running_ns` … `samples` | what it did with its wall time |
//! | `wall_ns_spread` … `sys_ns_spread` | with repeats: half the interquartile range of the runs |
//! | `bottleneck` | `true` for the stage that sets the pace |
//! | `stands_for` … `handed_over` | of `pelton run --stats`: how many stages the row stands for, which native pass of its pipeline it ran in, from 1, the rewrites that made it, and whether the real command took over |
//! | the rest | the figures of probes, by name |
//!
//! Lines end in LF where the RFC says CRLF: every reader accepts both, and `awk -F,` keeps no carriage return
//! in the last field. The user's text is made safe, as in the table: control and invisible characters are
//! escaped, and a `'` precedes what a spreadsheet would take for a formula (OWASP, 'CSV Injection'). JSON has
//! the original text.

use pelton_record::{Cost, End, How, Run, Stage, Waits};

use super::{Style, Subject};
use crate::{lines, probe_figures, spread, text};

/// Renders a record as CSV.
pub fn render(subject: &Subject<'_>, _style: &Style) -> String {
    rendered(subject.run)
}

fn rendered(run: &Run) -> String {
    let figures = probe_figures::names(run);
    let names = FIELDS.iter().map(|(name, _)| *name).chain(figures.iter().copied());
    let mut out = line(names.map(str::to_owned));
    for row in rows(run) {
        let probed =
            figures.iter().map(|name| Some(process(&row)?.figures.get(*name)?.as_ref()?.to_string()));
        let fields = FIELDS.iter().map(|(_, field)| field(&row));
        out += &line(fields.chain(probed).map(Option::unwrap_or_default));
    }
    out
}

/// A stage, or the whole run.
struct Row<'a> {
    place: Option<(usize, usize)>,
    stage: Option<&'a Stage>,
    cost: Cost,
    /// Whether all counters of its cost are meaningful: it is the cost of whole processes.
    is_process: bool,
    status: i32,
    spreads: [Option<u64>; 3],
    bottleneck: bool,
}

fn rows(run: &Run) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = vec![];
    for line in lines::lines(run) {
        let Some((index, stage)) = line.row else { continue };
        let at = (line.pipeline, index);
        rows.push(Row {
            place: Some((line.pipeline + 1, *line.numbers.start())),
            stage: Some(stage),
            cost: line.cost,
            is_process: line.within.is_none(),
            status: stage.end.status(),
            spreads: spread::of_row(run, Some(rows.len())).unwrap_or_default(),
            bottleneck: run.verdict.bottleneck.as_ref().is_some_and(|b| (b.pipeline, b.stage) == at),
        });
    }
    rows.push(Row {
        place: None,
        stage: None,
        cost: run.total.clone(),
        is_process: true,
        status: run.exit_status,
        spreads: spread::of_row(run, None).unwrap_or_default(),
        bottleneck: false,
    });
    rows
}

type Field = fn(&Row<'_>) -> Option<String>;

/// Each column's name and source.
const FIELDS: &[(&str, Field)] = &[
    ("pipeline", |row| row.place.map(|(pipeline, _)| pipeline.to_string())),
    ("stage", |row| row.place.map(|(_, stage)| stage.to_string())),
    ("name", |row| Some(harmless(row.stage.map_or("ALL", |stage| &stage.name)))),
    ("command", |row| row.stage.map(|stage| harmless(&stage.text))),
    ("program", |row| row.stage?.program.as_deref().map(harmless)),
    ("ran_by", |row| row.stage.map(|stage| lines::ran_by(&stage.how).to_owned())),
    ("pid", |row| row.stage.map(|stage| stage.pid.to_string())),
    ("status", |row| Some(row.status.to_string())),
    ("signal", |row| match &row.stage?.end {
        End::Exited(_) | End::Unknown(_) => None,
        End::Killed { name, .. } => Some(harmless(name)),
    }),
    ("start_ns", |row| row.stage.map(|stage| stage.start_ns.to_string())),
    ("wall_ns", |row| Some(row.cost.wall_ns.to_string())),
    ("user_ns", |row| Some(row.cost.user_ns.to_string())),
    ("sys_ns", |row| Some(row.cost.sys_ns.to_string())),
    ("peak_rss_bytes", |row| process(row).map(|cost| cost.peak_rss_bytes.to_string())),
    ("peak_rss_is_bound", |row| process(row).map(|cost| cost.peak_rss_is_bound.to_string())),
    ("read_bytes", |row| row.cost.read_bytes.map(|n| n.to_string())),
    ("written_bytes", |row| row.cost.written_bytes.map(|n| n.to_string())),
    ("read_calls", |row| row.cost.read_calls.map(|n| n.to_string())),
    ("write_calls", |row| row.cost.write_calls.map(|n| n.to_string())),
    ("minor_faults", |row| process(row).map(|cost| cost.minor_faults.to_string())),
    ("major_faults", |row| process(row).map(|cost| cost.major_faults.to_string())),
    ("block_inputs", |row| process(row).map(|cost| cost.block_inputs.to_string())),
    ("block_outputs", |row| process(row).map(|cost| cost.block_outputs.to_string())),
    ("voluntary_switches", |row| process(row).map(|cost| cost.voluntary_switches.to_string())),
    ("involuntary_switches", |row| process(row).map(|cost| cost.involuntary_switches.to_string())),
    ("running_ns", |row| waits(row).map(|waits| waits.running_ns.to_string())),
    ("cpu_wait_ns", |row| waits(row).map(|waits| waits.cpu_wait_ns.to_string())),
    ("starved_ns", |row| waits(row).map(|waits| waits.starved_ns.to_string())),
    ("backpressured_ns", |row| waits(row).map(|waits| waits.backpressured_ns.to_string())),
    ("other_ns", |row| waits(row).map(|waits| waits.other_ns.to_string())),
    ("other_io_ns", |row| waits(row).map(|waits| waits.elsewhere.io_ns.to_string())),
    ("lock_ns", |row| waits(row).map(|waits| waits.elsewhere.lock_ns.to_string())),
    ("asleep_ns", |row| waits(row).map(|waits| waits.elsewhere.asleep_ns.to_string())),
    ("held_ns", |row| waits(row).map(|waits| waits.elsewhere.held_ns.to_string())),
    ("samples", |row| waits(row).map(|waits| waits.samples.to_string())),
    ("wall_ns_spread", |row| row.spreads[0].map(|n| n.to_string())),
    ("user_ns_spread", |row| row.spreads[1].map(|n| n.to_string())),
    ("sys_ns_spread", |row| row.spreads[2].map(|n| n.to_string())),
    ("bottleneck", |row| Some(row.bottleneck.to_string())),
    ("stands_for", |row| row.stage.map(|stage| stage.stands_for.to_string())),
    ("pass", |row| native(row).map(|(pass, _, _)| (pass + 1).to_string())),
    ("rules", |row| native(row).map(|(_, rules, _)| harmless(&rules.join(" ")))),
    ("handed_over", |row| native(row).map(|(_, _, handed_over)| handed_over.to_string())),
];

/// Returns the cost, if all its counters have meaning.
fn process<'r>(row: &'r Row<'_>) -> Option<&'r Cost> {
    row.is_process.then_some(&row.cost)
}

/// Returns pass and rewrites, and whether the real command took over.
fn native<'a>(row: &Row<'a>) -> Option<(usize, &'a [String], bool)> {
    match &row.stage?.how {
        How::Native { pass, rules, handed_over, .. } => Some((*pass, rules, *handed_over)),
        _ => None,
    }
}

fn waits<'a>(row: &Row<'a>) -> Option<&'a Waits> {
    row.stage?.waits.as_ref()
}

/// Makes text safe for terminals and spreadsheets.
pub(crate) fn harmless(text: &str) -> String {
    const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let shown = text::printable(text, true);
    if shown.trim_start().starts_with(FORMULA) { format!("'{shown}") } else { shown }
}

fn line(fields: impl Iterator<Item = String>) -> String {
    fields.map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

/// Quotes a field that contains a delimiter. Leading or trailing blanks count too: some readers trim them.
fn quoted(field: String) -> String {
    let bare = !field.contains([',', '"', '\n', '\r']) && field.trim_matches(' ') == field;
    if bare { field } else { format!("\"{}\"", field.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn looks_like_this() {
        let shown = ["simple", "unknown", "repeats", "hostile", "sigpipe", "lists"];
        samples::check_each("csv", &shown, rendered);
    }

    #[test]
    fn a_reader_gets_every_field_back() {
        for (name, run) in samples::all() {
            let text = rendered(&run);
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            let header = FIELDS.iter().map(|(name, _)| *name);
            let header: Vec<_> = header.chain(probe_figures::names(&run)).collect();
            assert_eq!(reader.headers().unwrap(), header, "{name}");
            let records: Vec<_> = reader.records().collect::<Result<_, _>>().unwrap();
            let stages = run.pipelines.iter().flat_map(|pipeline| &pipeline.stages);
            let commands = stages.map(|stage| harmless(&stage.text)).chain([String::new()]);
            assert!(records.iter().map(|record| record[3].to_owned()).eq(commands), "{name}");
        }
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(quoted("plain 'text'".to_owned()), "plain 'text'");
        assert_eq!(quoted("a\"b".to_owned()), "\"a\"\"b\"");
        assert_eq!(quoted("a,b".to_owned()), "\"a,b\"");
        assert_eq!(quoted("a\nb ".to_owned()), "\"a\nb \"");
    }
}
