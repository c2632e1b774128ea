//! What `pelton guard` reports, for people.
//!
//! ```text
//! pelton guard: nothing has moved for 30 s in `make test` (7 processes, 2 min after its start)
//!
//! DEAD  python3 (4711) is deadlocked: …
//! ```

use pelton_record::guard::{Guarded, Stall, StallKind};

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
