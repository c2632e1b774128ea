//! A diagnosis for people: a paragraph per finding, the most severe first.
//!
//! ```text
//! DEAD  python3 (4711) is deadlocked: …
//!   python3 (4711)  waits for its child sh (4712) to end
//!   sh (4712)       blocked on write to its standard output: …
//!   No progress for about 12 s; there will be none, unless a signal arrives.
//!   try: …
//! ```

use super::places;
use pelton_record::Diagnosis;
use pelton_record::diagnosis::{Finding, Health, Kind};

use crate::{
    paint::{Pieces, Role},
    style::Style,
    text, threads, units,
};

/// Sentences longer than this are hard to follow from line to line, however wide the terminal is.
const READABLE: usize = 100;
/// The most waits shown per finding, unless `all` is set.
const WAITS: usize = 12;

/// Renders `diagnosis`.
pub fn render(diagnosis: &Diagnosis, style: &Style) -> String {
    let mut lines: Vec<Pieces> = Vec::new();
    for finding in &diagnosis.findings {
        if !lines.is_empty() {
            lines.push(Pieces::default());
        }
        lines.extend(shown(diagnosis, finding, style));
    }
    if let Some(threads) = &diagnosis.threads {
        lines.push(Pieces::default());
        lines.extend(threads::lines(threads, "these processes", style));
    }
    let rest = rest(diagnosis, style);
    if !lines.is_empty() && !rest.is_empty() {
        lines.push(Pieces::default());
    }
    lines.extend(rest.iter().flat_map(|text| wrapped(Pieces::default(), Role::Dim, text, style)));
    lines.iter().map(|line| line.line(style.color)).collect()
}

fn label(finding: &Finding) -> (&'static str, Role) {
    match finding.health {
        // Nobody waits in vain, but what was asked for does not come.
        Health::Idle if finding.kind == Kind::Buffered => ("BUFFERED", Role::Mark),
        Health::Dead => ("DEAD", Role::Failed),
        Health::Slow => ("SLOW", Role::Mark),
        Health::Idle => ("IDLE", Role::Dim),
        Health::Unknown => ("UNKNOWN", Role::BlockedOnRead),
    }
}

fn shown(diagnosis: &Diagnosis, finding: &Finding, style: &Style) -> Vec<Pieces> {
    let (word, role) = label(finding);
    let mut lines = wrapped(Pieces::one(role, format!("{word}  ")), Role::Strong, &finding.headline, style);
    let name = |pid: u32| {
        let process = diagnosis.processes.iter().find(|process| process.pid == pid);
        process.map_or(format!("process {pid}"), |process| format!("{} ({pid})", process.name))
    };
    let most = if style.all { usize::MAX } else { WAITS };
    let names: Vec<String> =
        finding.waits.iter().take(most).map(|wait| text::printable(&name(wait.pid), style.unicode)).collect();
    let width = names.iter().map(|name| text::width(name)).max().unwrap_or(0);
    for (name, wait) in names.iter().zip(&finding.waits) {
        let mut label = Pieces::one(Role::Plain, format!("  {name}"));
        label.blanks(width - text::width(name) + 2);
        lines.extend(wrapped(label, Role::Plain, &wait.words, style));
        let places = places::lines(wait, style.all).into_iter();
        lines.extend(
            places.flat_map(|(indent, words)| {
                wrapped(Pieces::one(Role::Plain, indent), Role::Dim, &words, style)
            }),
        );
    }
    let plain = |text: &str| wrapped(Pieces::one(Role::Plain, "  "), Role::Dim, text, style);
    if finding.waits.len() > names.len() {
        lines.extend(plain(&format!("and {} more", finding.waits.len() - names.len())));
    }
    lines.extend(progress(finding).iter().flat_map(|text| plain(text)));
    if let Some(cure) = &finding.cure {
        lines.extend(wrapped(Pieces::one(Role::Hint, "  try: "), Role::Plain, cure, style));
    }
    lines
}

fn progress(finding: &Finding) -> Option<String> {
    let dead = finding.health == Health::Dead;
    let ever = match finding.kind {
        Kind::FifoOneSided => "there will be none until another process opens it, or a signal arrives",
        _ => "there will be none, unless a signal arrives",
    };
    match finding.still_ns {
        Some(ns) if dead => Some(format!("No progress for about {}; {ever}.", about(ns))),
        None if dead => Some(format!("No progress; {ever}.")),
        Some(ns) => Some(format!("No progress for about {}.", about(ns))),
        None => None,
    }
}

/// Formats an approximate time.
pub(crate) fn about(ns: u64) -> String {
    let s = ns as f64 / 1e9;
    match s {
        _ if s < 1.0 => format!("{:.1} s", s.max(0.1)),
        _ if s < 120.0 => format!("{s:.0} s"),
        _ if s < 7200.0 => format!("{:.0} min", s / 60.0),
        _ => format!("{:.0} h", s / 3600.0),
    }
}

/// Summarises the processes without a finding.
fn rest(diagnosis: &Diagnosis, style: &Style) -> Vec<String> {
    let mut all = Vec::new();
    match (diagnosis.processes_idle, diagnosis.findings.is_empty()) {
        (0, true) => all.push("Nothing waits for anything that cannot come.".into()),
        (0, false) => {}
        (n, true) => all.push(format!(
            "{n} {} idle, and none of them waits in vain; `pelton doctor PID` shows what one waits for.",
            are(n)
        )),
        (n, false) => all.push(format!("{n} more {} idle; `pelton doctor PID` shows one alone.", are(n))),
    }
    // Beside what was found, those that could not be seen matter little.
    let matters = diagnosis.findings.iter().all(|finding| finding.health == Health::Unknown);
    if diagnosis.processes_hidden > 0 && (matters || style.all) {
        let (seen, hidden) = (diagnosis.processes_seen, diagnosis.processes_hidden);
        let others = if hidden == 1 {
            "1 belongs to another user, or has more rights".into()
        } else {
            format!("{hidden} belong to other users, or have more rights")
        };
        let all_of = seen + hidden;
        all.push(format!("Could inspect only {seen} of {all_of} processes; {others} (root sees most)."));
    }
    all.extend(diagnosis.notes.iter().cloned());
    all.push(format!("Two looks, at least 50 ms apart, in {}.", units::short_time(diagnosis.wall_ns)));
    all
}

fn are(n: u32) -> &'static str {
    if n == 1 { "process is" } else { "processes are" }
}

fn wrapped(label: Pieces, role: Role, words: &str, style: &Style) -> Vec<Pieces> {
    let indent = label.width();
    let room = style.width.map_or(READABLE, |width| width.min(READABLE)).saturating_sub(indent).max(20);
    let safe = text::printable(words, style.unicode);
    let line = |(i, words): (usize, String)| {
        let mut line = if i == 0 { label.clone() } else { Pieces::one(Role::Plain, " ".repeat(indent)) };
        line.push(role, words);
        line
    };
    text::wrap(&safe, room).into_iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::diagnosis;
    use super::*;

    #[test]
    fn processes_that_cannot_be_seen_matter_where_nothing_was_found() {
        let said = |diagnosis: &Diagnosis, all: bool| {
            render(diagnosis, &Style { all, ..Style::default() })
                .contains("Could inspect only 90 of 93 processes")
        };
        assert!(!said(&diagnosis(), false));
        assert!(said(&diagnosis(), true));
        assert!(said(&Diagnosis { findings: vec![], ..diagnosis() }, false));
    }

    #[test]
    fn the_gravest_is_told_in_full() {
        let text = render(&diagnosis(), &Style { width: Some(80), ..Style::default() });
        let expected = "\
DEAD  python3 (10) is deadlocked
  python3 (10)  waits for its child yes (11) to end
  yes (11)      blocked on write to its standard output
  No progress for about 12 s; there will be none, unless a signal arrives.
  try: read before waiting

IDLE  sleep (20) waits for a time to pass; cat (21) waits for it
  cat (21)  blocked on read

40 more processes are idle; `pelton doctor PID` shows one alone.
a note
Two looks, at least 50 ms apart, in 80.0 ms.
";
        assert_eq!(text, expected);
    }

    #[test]
    fn colour_changes_no_word() {
        let style = Style { width: Some(60), unicode: true, ..Style::default() };
        let plain = render(&diagnosis(), &style);
        let coloured = render(&diagnosis(), &Style { color: true, ..style });
        assert_ne!(plain, coloured);
        let mut stripped = String::new();
        for (i, part) in coloured.split('\u{1b}').enumerate() {
            stripped.push_str(if i == 0 { part } else { part.split_once('m').unwrap().1 });
        }
        assert_eq!(stripped, plain);
    }
}
