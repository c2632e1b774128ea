//! What `pelton guard` reports, for people.
//!
//! ```text
//! pelton guard: nothing has moved for 30 s in `make test` (7 processes, 2 min after its start)
//!
//! DEAD  python3 (4711) is deadlocked: …
//! ```

use pelton_record::diagnosis::Health;
use pelton_record::guard::{Entry, Guarded, RecordedProcess, Stall, StallKind};

use crate::diagnosis::{self, prose::about};
use crate::{
    paint::{Pieces, Role},
    style::Style,
    text,
};

/// The longest command shown.
const COMMAND: usize = 60;

/// Returns the JSON Schema of [`Guarded`].
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Guarded).to_value()
}

/// Renders one report.
pub fn stall(guarded: &Guarded, stall: &Stall, style: &Style) -> String {
    let mut out = heading(guarded, stall, style);
    out.push('\n');
    out.push_str(&diagnosis::prose(&stall.diagnosis, style));
    out
}

fn heading(guarded: &Guarded, stall: &Stall, style: &Style) -> String {
    let what = match stall.kind {
        StallKind::Still => format!("nothing has moved for {} in", about(stall.quiet_ns)),
        StallKind::Polling => format!("only small commands are repeated for {} in", about(stall.quiet_ns)),
        StallKind::Timeout if stall.quiet_ns >= 2_000_000_000 => {
            format!("the time is up, and nothing has moved for {} in", about(stall.quiet_ns))
        }
        StallKind::Timeout => "the time is up for".to_owned(),
    };
    let processes = if stall.processes == 1 { "process" } else { "processes" };
    let line = format!(
        "{what} `{}` ({} {processes}, {} after its start)",
        command(guarded, style),
        stall.processes,
        about(stall.at_ns)
    );
    let mut out = said(&line, style);
    if !stall.repeated.is_empty() {
        out.push_str(&said(&format!("started again and again: {}", stall.repeated.join(", ")), style));
    }
    out
}

fn command(guarded: &Guarded, style: &Style) -> String {
    let words = text::printable(&guarded.command.join(" "), style.unicode);
    text::shorten(&words, COMMAND, style.unicode)
}

/// Renders that something moves again.
pub fn moves_again(stall: &Stall, quiet_ns: u64, style: &Style) -> String {
    let what = if stall.kind == StallKind::Polling { "something else happens" } else { "something moves" };
    said(&format!("{what} again, after {}", about(quiet_ns)), style)
}

/// Renders that guard has ended the command, and the processes that it could not end.
pub fn ended(guarded: &Guarded, left: &[String], style: &Style) -> String {
    let status = guarded.exit_status.unwrap_or_default();
    let mut out = said(&format!("ended `{}`; status {status}", command(guarded, style)), style);
    if !left.is_empty() {
        out.push_str(&said(
            &format!("could not end {}: the kernel does not let go of them", left.join(", ")),
            style,
        ));
    }
    out
}

fn said(words: &str, style: &Style) -> String {
    let mut line = Pieces::one(Role::Strong, "pelton guard: ");
    line.push(Role::Plain, text::printable(words, style.unicode));
    line.line(style.color)
}

/// Renders a record: what moved in the last minutes, the processes at the end, and the reports.
pub fn record(entries: &[Entry], style: &Style) -> String {
    let mut out = String::new();
    let mut guarded = None;
    let mut last_processes = None;
    out.push_str("      at     CPU   bytes/s  started and ended\n");
    for entry in entries {
        match entry {
            Entry::Start { command, pid, started_unix_ms, guard_version } => {
                let start = start(command, *pid, *started_unix_ms, *guard_version);
                out.insert_str(0, &format!("`{}` (pid {pid})\n\n", self::command(&start, style)));
                guarded = Some(start);
            }
            Entry::Moved { .. } => out.push_str(&moved(entry, style)),
            Entry::Processes { at_ms, processes } => last_processes = Some((*at_ms, processes)),
            Entry::Stall(one) => {
                let text = guarded.as_ref().map(|guarded| stall(guarded, one, style)).unwrap_or_default();
                out.push_str(&format!("\n{text}\n"));
            }
            Entry::End { at_ms, exit_status } => {
                out.push_str(&format!("{} ended, status {exit_status}\n", seconds(*at_ms)));
            }
        }
    }
    if let Some((at_ms, processes)) = last_processes {
        out.push_str(&format!("\nprocesses at {}:\n", seconds(at_ms).trim_start()));
        out.extend(processes.iter().map(|process| self::process(process, style)));
    }
    out
}

fn start(command: &[String], pid: u32, started_unix_ms: u64, guard_version: u32) -> Guarded {
    Guarded {
        guard_version,
        pelton_version: String::new(),
        command: command.to_vec(),
        pid,
        started_unix_ms,
        wall_ns: 0,
        stall_ns: 0,
        exit_status: None,
        ended_by: None,
        stalls: Vec::new(),
        own_cpu_ns: 0,
    }
}

fn seconds(ms: u64) -> String {
    format!("{:>8.1} s", ms as f64 / 1e3)
}

fn moved(entry: &Entry, style: &Style) -> String {
    let Entry::Moved { at_ms, for_ms, cpu_us, bytes, started, ended } = entry else { return String::new() };
    let for_ms = (*for_ms).max(1);
    let names = text::printable(&started.join(" "), style.unicode);
    let ended = if *ended > 0 { format!("  -{ended}") } else { String::new() };
    let started = if names.is_empty() { String::new() } else { format!("  +{names}") };
    let cpu = *cpu_us as f64 / for_ms as f64 / 10.0;
    let rate = bytes.saturating_mul(1000) / for_ms;
    format!("{}{cpu:>6.1}%{:>10}{started}{ended}\n", seconds(*at_ms), crate::units::bytes(rate))
}

fn process(process: &RecordedProcess, style: &Style) -> String {
    let name = text::printable(&process.name, style.unicode);
    let (pid, parent) = (process.pid, process.parent);
    format!(
        "  {name} ({pid}), child of {parent}: {:.1} s CPU, {} read, {} written\n",
        process.cpu_ms as f64 / 1e3,
        crate::units::bytes(process.read_bytes),
        crate::units::bytes(process.written_bytes)
    )
}

/// Renders everything as one page for a browser.
pub fn html(guarded: &Guarded) -> String {
    let style = Style { width: Some(100), unicode: true, ..Style::default() };
    let command = text::escaped(&text::printable(&guarded.command.join(" "), true));
    let verdict = match (guarded.exit_status, guarded.ended_by) {
        (None, _) => "it still runs".to_owned(),
        (Some(status), None) => format!("it ended with status {status}"),
        (Some(status), Some(_)) => format!("guard ended it; status {status}"),
    };
    let reports: String = guarded.stalls.iter().map(|one| section(guarded, one, &style)).collect();
    let reports =
        if reports.is_empty() { "<p>It never stood still for so long.</p>".into() } else { reports };
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>pelton guard: {command}</title>\n\
         <style>:root{{color-scheme:light dark}}body{{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem}}\
         pre{{overflow-x:auto;padding:1rem;border:1px solid #8888;border-radius:6px;font-size:14px}}\
         .dead h2{{color:#b00020}}@media(prefers-color-scheme:dark){{.dead h2{{color:#ff8a80}}}}</style>\n\
         <h1>pelton guard</h1>\n<p><code>{command}</code> ran for {}; {verdict}.</p>\n{reports}</html>\n",
        about(guarded.wall_ns)
    )
}

fn section(guarded: &Guarded, one: &Stall, style: &Style) -> String {
    let class = if one.diagnosis.health == Health::Dead { " class=\"dead\"" } else { "" };
    let heading = heading(guarded, one, style);
    let heading = heading.trim_start_matches("pelton guard: ").trim_end();
    let again = one
        .moved_again_ns
        .map_or(String::new(), |ns| format!("<p>Something moved again {} after the start.</p>\n", about(ns)));
    let text = diagnosis::prose(&one.diagnosis, style);
    format!(
        "<section{class}><h2>{}</h2>\n<pre>{}</pre>\n{again}</section>\n",
        text::escaped(heading),
        text::escaped(&text)
    )
}
