//! System calls: a row each, the longest total time first.
//!
//! ```text
//!   system calls of stage 1 (dd): 4,026 in 0.031s
//!     call    calls  errors    time     bytes
//!     read     2000       0  0.012s   2.00 kB
//! ```

use pelton_record::syscalls::{Syscall, Syscalls};

use crate::{
    paint::{Pieces, Role},
    rows,
    style::Style,
    text, units,
};

/// Rows shown, unless `all` is set.
const ROWS: usize = 12;

/// Renders a row per call. `whose` is the owner.
pub fn lines(counted: &Syscalls, whose: &str, style: &Style) -> Vec<Pieces> {
    let time_ns = counted.rows.iter().map(|row| row.time_ns).sum();
    let whose = text::printable(whose, style.unicode);
    let calls = counted.calls();
    let title = format!("  system calls of {whose}: {calls}, {} in them", units::seconds(time_ns));
    let mut lines = vec![Pieces::one(Role::Plain, title)];
    let shown = if style.all { counted.rows.len() } else { counted.rows.len().min(ROWS) };
    lines.extend(table(&counted.rows[..shown]));
    if shown < counted.rows.len() {
        lines.push(Pieces::one(Role::Dim, format!("    and {} more (--all)", counted.rows.len() - shown)));
    }
    lines
}

const HEADS: [&str; 5] = ["call", "calls", "errors", "time", "bytes"];

fn table(calls: &[Syscall]) -> Vec<Pieces> {
    let cells: Vec<_> = calls.iter().map(cells).collect();
    rows::named(&HEADS, &cells)
}

fn cells(row: &Syscall) -> [String; 5] {
    [
        row.name.clone(),
        units::count(row.calls),
        units::count(row.errors),
        units::seconds(row.time_ns),
        row.bytes.map_or(String::new(), units::bytes),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_under_their_heads() {
        let row = |name: &str, calls: u64, ms: u64, bytes: Option<u64>| Syscall {
            number: 0,
            name: name.into(),
            calls,
            errors: 1,
            time_ns: ms * 1_000_000,
            bytes,
        };
        let counted = Syscalls {
            means: "ptrace".into(),
            rows: vec![row("read", 2_000, 512, Some(2_000)), row("openat", 7, 1, None)],
        };
        let shown: String =
            lines(&counted, "stage 1 (dd)", &Style::default()).iter().map(|line| line.line(false)).collect();
        let expected = "  system calls of stage 1 (dd): 2007, 0.513s in them
    call    calls  errors    time    bytes
    read     2000       1  0.512s  2.00 kB
    openat      7       1  0.001s
";
        assert_eq!(shown, expected);
    }
}
