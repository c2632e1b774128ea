//! The rows and columns of a run, for all formats that show tables.
//!
//! A column is listed here once, with its figure and its [`Column::rank`], which decides when it is dropped
//! for lack of room. `?` is an unknown figure, `—` one without meaning in that row.

use std::borrow::Cow;

use pelton_record::{Cost, End, Run, Waits};

use crate::{
    lines::{self, Line},
    paint::{Pieces, Role},
    pipes, probe_figures, spread,
    style::Style,
    text, units,
};

/// A row: a stage, several stages run as one, a native pass, or the whole run.
#[derive(Debug)]
pub struct Row {
    /// The pipeline it belongs to.
    pub pipeline: usize,
    /// Its number in the pipeline, from 1, or a range; empty for the whole run.
    pub number: String,
    /// The tree sign within a native pass; may be empty.
    pub branch: &'static str,
    /// The command on one line: printable, unabridged.
    pub command: String,
    /// Whether it is shell text, not a label of pelton's.
    pub is_code: bool,
    /// Whether it is the bottleneck.
    pub mark: bool,
}

/// A column: its title, its rank, and a cell per row.
#[derive(Debug)]
pub struct Column {
    /// A title that neighbouring columns share; may be empty.
    pub group: &'static str,
    /// Its own title.
    pub head: Cow<'static, str>,
    /// 0 is always shown; the highest goes first. Columns of the same rank stay or go together.
    pub rank: u8,
    /// Blanks before it.
    pub gap: usize,
    /// Whether cells are left-aligned; figures are right-aligned.
    pub left: bool,
    /// A cell per row; the whole run's is last.
    pub cells: Vec<Pieces>,
}

impl Column {
    /// Returns its width in terminal columns, without its gap.
    pub fn width(&self) -> usize {
        self.cells.iter().map(Pieces::width).chain([text::width(&self.head)]).max().unwrap_or(0)
    }
}

impl Row {
    /// Returns the command with its tree sign.
    pub fn shown(&self) -> String {
        format!("{}{}", self.branch, self.command)
    }
}

/// Returns a row per line, and one for the run.
pub fn rows(run: &Run, style: &Style) -> Vec<Row> {
    let mut rows: Vec<Row> = lines::lines(run).iter().map(|line| row(run, line, style)).collect();
    rows.push(Row {
        pipeline: run.pipelines.len(),
        number: String::new(),
        branch: "",
        command: "ALL".to_owned(),
        is_code: false,
        mark: false,
    });
    rows
}

fn row(run: &Run, line: &Line<'_>, style: &Style) -> Row {
    let (first, last) = (line.numbers.start(), line.numbers.end());
    let dash = if style.unicode { "–" } else { "-" };
    let branch = match (line.within, style.unicode) {
        (None, _) => "",
        (Some(false), true) => "├ ",
        (Some(true), true) => "└ ",
        (Some(false), false) => "|- ",
        (Some(true), false) => "`- ",
    };
    let is_bottleneck = |row: usize| {
        run.verdict.bottleneck.as_ref().is_some_and(|b| (b.pipeline, b.stage) == (line.pipeline, row))
    };
    Row {
        pipeline: line.pipeline,
        number: if first == last { first.to_string() } else { format!("{first}{dash}{last}") },
        branch,
        command: line.row.map_or(PASS.to_owned(), |(_, stage)| text::printable(&stage.text, style.unicode)),
        is_code: line.row.is_some(),
        mark: line.row.is_some_and(|(row, _)| is_bottleneck(row)),
    }
}

/// The label of a pass of several rows.
const PASS: &str = "one native pass";

/// Returns the columns for which this run has figures, in display order: with `--all` also the counters and the shares of
/// the waits.
pub fn columns(run: &Run, style: &Style) -> Vec<Column> {
    let view = View { run, style, lines: lines::lines(run) };
    let mut columns = view.times();
    columns.extend(view.ran_by());
    columns.extend(view.bar());
    columns.extend(view.pipes());
    columns.extend(view.memory_and_bytes());
    if style.all {
        columns.extend(view.shares());
        columns.extend(view.counters());
    }
    columns.push(view.status());
    columns
}

struct View<'a> {
    run: &'a Run,
    style: &'a Style,
    lines: Vec<Line<'a>>,
}

impl View<'_> {
    /// A column that is defined for stages and the whole run.
    fn cost(&self, rank: u8, head: &'static str, cell: impl Fn(&Cost) -> Pieces) -> Column {
        let costs = self.lines.iter().map(|line| &line.cost).chain([&self.run.total]);
        Column { group: "", head: head.into(), rank, gap: 2, left: false, cells: costs.map(cell).collect() }
    }

    /// A column that only processes have: it is empty in the rows of a shared pass.
    fn process(&self, rank: u8, head: &'static str, cell: impl Fn(&Cost) -> Pieces) -> Column {
        let mut column = self.cost(rank, head, cell);
        for (cell, line) in column.cells.iter_mut().zip(&self.lines) {
            if line.within.is_some() {
                *cell = Pieces::default();
            }
        }
        column
    }

    /// Who ran each row, if pelton itself ran any.
    fn ran_by(&self) -> Option<Column> {
        self.lines.iter().find(|line| line.ran_by == "native")?;
        let cell = |line: &Line<'_>| match line.within {
            Some(_) => Pieces::default(),
            None => Pieces::one(Role::Plain, line.ran_by),
        };
        let cells = self.lines.iter().map(cell).chain([Pieces::default()]).collect();
        Some(Column { group: "", head: "run as".into(), rank: 3, gap: 2, left: true, cells })
    }

    fn times(&self) -> Vec<Column> {
        let mut columns = vec![
            self.cost(0, "real", |cost| figure(units::seconds(cost.wall_ns))),
            self.cost(1, "user", |cost| figure(units::seconds(cost.user_ns))),
            self.cost(1, "sys", |cost| figure(units::seconds(cost.sys_ns))),
            self.cost(2, "CPU", |cost| {
                cost.cpu_share().map_or(self.none(), |share| figure(units::percent(share)))
            }),
        ];
        // The spread of real shows whether two runs differ at all; the other two matter less.
        for (which, rank) in [(2, SPREAD_RANK), (1, SPREAD_RANK), (0, 3)] {
            if let Some(spread) = self.spread(which, rank) {
                columns.insert(which + 1, spread);
            }
        }
        columns
    }

    /// The spread of real (0), user (1) or sys (2) over repeated runs.
    fn spread(&self, which: usize, rank: u8) -> Option<Column> {
        let sign = spread::sign(self.style);
        if self.lines.iter().any(|line| line.row.is_none()) {
            return None;
        }
        let rows = (0..self.lines.len()).map(Some).chain([None]);
        let cells = rows.map(|row| {
            let spread = spread::of_row(self.run, row)?.get(which).copied().flatten();
            Some(
                spread
                    .map_or(unknown(), |ns| Pieces::one(Role::Dim, format!("{sign}{}", units::seconds(ns)))),
            )
        });
        let cells = cells.collect::<Option<_>>()?;
        let heads = if self.style.unicode {
            ["± real", "± user", "± sys"]
        } else {
            ["+- real", "+- user", "+- sys"]
        };
        let head = heads.get(which).copied().unwrap_or_default();
        Some(Column { group: "", head: head.into(), rank, gap: 1, left: true, cells })
    }

    fn memory_and_bytes(&self) -> Vec<Column> {
        let at_most = if self.style.unicode { "≤" } else { "<=" };
        vec![
            self.process(6, "peak mem", |cost| match (cost.peak_rss_bytes, cost.peak_rss_is_bound) {
                // Zero means that the kernel did not report it.
                (0, _) => unknown(),
                (n, true) => figure(format!("{at_most}{}", units::bytes_bound(n))),
                (n, false) => figure(units::bytes(n)),
            }),
            self.cost(7, "in", |cost| cost.read_bytes.map_or(unknown(), |n| figure(units::bytes(n)))),
            self.cost(7, "out", |cost| cost.written_bytes.map_or(unknown(), |n| figure(units::bytes(n)))),
        ]
    }

    /// The waits as bars, if any stage has them.
    fn bar(&self) -> Option<Column> {
        let bar = |waits: &Waits| {
            let mut cell = Pieces::default();
            for (n, key) in apportion(waits, BAR)?.into_iter().zip(KEYS) {
                cell.push(key.role, key.sign(self.style).repeat(n));
            }
            Some(cell)
        };
        Some(Column { gap: 2, left: true, ..self.waits(4, "", BAR_HEAD, bar)? })
    }

    /// How full the pipe after each stage was over time, if any was observed.
    fn pipes(&self) -> Option<Column> {
        let pipe = |line: &Line<'_>| {
            let (row, _) = line.row?;
            self.run.pipelines.get(line.pipeline)?.pipes.iter().find(|pipe| pipe.writer == row)
        };
        self.lines.iter().find_map(pipe)?;
        let cell = |line: &Line<'_>| match pipe(line) {
            Some(pipe) => Pieces::one(Role::BlockedOnWrite, pipes::course(pipe, PIPE, self.style)),
            None => Pieces::default(),
        };
        let cells = self.lines.iter().map(cell).chain([Pieces::default()]).collect();
        Some(Column { group: "", head: PIPE_HEAD.into(), rank: 5, gap: 2, left: true, cells })
    }

    /// The waits as figures, if any stage has them.
    fn shares(&self) -> Vec<Column> {
        let heads = [
            ("", "running"),
            ("", "runnable"),
            (WAITS, "input"),
            (WAITS, "room"),
            (WAITS, "I/O"),
            (WAITS, "lock"),
            (WAITS, "asleep"),
            (WAITS, "tracing"),
            (WAITS, "other"),
        ];
        let is_traced = self.lines.iter().filter_map(|line| line.waits).any(|waits| waits.exact.is_some());
        let share =
            |i: usize| move |waits: &Waits| Some(figure(format!("{}%", apportion(waits, 100)?.get(i)?)));
        let columns = heads.iter().enumerate().filter(|(_, (_, head))| *head != "tracing" || is_traced);
        let shares = columns.filter_map(|(i, (group, head))| self.waits(14, group, head, share(i)));
        // The accuracy of the shares.
        let samples = self.waits(15, "", "samples", |waits| Some(figure(units::count(waits.samples.into()))));
        let off = self.waits(15, "", spread::sign(self.style), |waits| Some(self.off(waits)));
        shares.chain(samples).chain(off).collect()
    }

    /// The error margin of the waits, in percent of the wall time.
    fn off(&self, waits: &Waits) -> Pieces {
        let share = |ns: u64| ns as f64 / waits.whole_ns().max(1) as f64;
        waits.margin_ns.map_or(self.none(), |ns| figure(units::percent(share(ns))))
    }

    /// A column of waits; `None` if no stage has any.
    fn waits(
        &self,
        rank: u8,
        group: &'static str,
        head: &'static str,
        cell: impl Fn(&Waits) -> Option<Pieces>,
    ) -> Option<Column> {
        self.lines.iter().find_map(|line| line.waits)?;
        let mut cells: Vec<_> =
            self.lines.iter().map(|line| line.waits.and_then(&cell).unwrap_or_else(unknown)).collect();
        // Stages wait at the same time: a sum would mean nothing.
        cells.push(Pieces::default());
        Some(Column { group, head: head.into(), rank, gap: 2, left: false, cells })
    }

    fn counters(&self) -> Vec<Column> {
        let known = |n: u64| figure(units::count(n));
        let maybe = |n: Option<u64>| n.map_or(unknown(), known);
        let mut columns = vec![
            self.grouped(11, "faults", "minor", |cost| known(cost.minor_faults)),
            self.grouped(11, "faults", "major", |cost| known(cost.major_faults)),
            self.grouped(12, "switches", "vol.", |cost| known(cost.voluntary_switches)),
            self.grouped(12, "switches", "invol.", |cost| known(cost.involuntary_switches)),
            self.grouped(13, "calls", "read", |cost| maybe(cost.read_calls)),
            self.grouped(13, "calls", "write", |cost| maybe(cost.write_calls)),
        ];
        columns.push(self.grouped(16, "blocks", "in", |cost| known(cost.block_inputs)));
        columns.push(self.grouped(16, "blocks", "out", |cost| known(cost.block_outputs)));
        columns.extend(self.figures());
        columns
    }

    /// The figures of probes, by name.
    fn figures(&self) -> impl Iterator<Item = Column> {
        probe_figures::names(self.run).into_iter().map(|name| {
            let cell = |cost: &Cost| match cost.figures.get(name) {
                Some(known) => known.map_or(unknown(), |n| figure(probe_figures::shown(name, n))),
                None => self.none(),
            };
            Column { head: probe_figures::title(name).into(), ..self.process(17, "", cell) }
        })
    }

    fn grouped(
        &self,
        rank: u8,
        group: &'static str,
        head: &'static str,
        cell: impl Fn(&Cost) -> Pieces,
    ) -> Column {
        Column { group, ..self.process(rank, head, cell) }
    }

    fn status(&self) -> Column {
        let last = status(self.run.exit_status);
        let ends = || self.lines.iter().filter_map(|line| line.end);
        let cells = self.lines.iter().map(|line| line.end.map_or(Pieces::default(), ending));
        let cells = cells.chain([last]).collect();
        let fine = |end: &End| matches!(end.status(), 0 | SIGPIPE) || matches!(end, End::Unknown(_));
        // A failure matters more than a figure; an early end by SIGPIPE is notable, but no failure.
        let rank = match self.run.exit_status {
            0 if ends().all(|end| end.status() == 0) => 9,
            0 | SIGPIPE if ends().all(fine) => 8,
            _ => 0,
        };
        Column { group: "", head: STATUS_HEAD.into(), rank, gap: 2, left: false, cells }
    }

    fn none(&self) -> Pieces {
        Pieces::one(Role::Dim, if self.style.unicode { "—" } else { "-" })
    }
}

/// The highest rank of the core figures.
pub const CORE_RANK: u8 = 7;
/// The rank of the spreads of user and sys.
pub const SPREAD_RANK: u8 = 8;
/// A shell's status for a process that SIGPIPE ended.
const SIGPIPE: i32 = 141;
/// The title over what a stage waited for.
const WAITS: &str = "waits for";
/// The title of the bars.
pub const BAR_HEAD: &str = "time spent";
/// Columns of a bar.
const BAR: usize = 10;
/// The title of the pipe column.
pub const PIPE_HEAD: &str = "pipe after";
/// The title of the column of exit statuses.
pub const STATUS_HEAD: &str = "status";
/// The width of a fill history.
const PIPE: usize = 10;

/// A part of a stage's wall time, in the order of [`apportion`].
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    role: Role,
    signs: [&'static str; 2],
}

impl Key {
    /// Returns the character for it in a bar.
    pub fn sign(&self, style: &Style) -> &'static str {
        let [plain, fine] = self.signs;
        if style.unicode { fine } else { plain }
    }

    /// Returns its role.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns it in its colour.
    pub fn piece(&self, style: &Style) -> Pieces {
        Pieces::one(self.role, self.sign(style))
    }
}

/// The parts of a stage's wall time. The signs point to the neighbour it waits for: input comes from the
/// left.
pub const KEYS: [Key; 9] = [
    Key { name: "running", role: Role::Running, signs: ["#", "▇"] },
    Key { name: "runnable", role: Role::Runnable, signs: ["=", "▒"] },
    Key { name: "blocked on read", role: Role::BlockedOnRead, signs: ["<", "‹"] },
    Key { name: "blocked on write", role: Role::BlockedOnWrite, signs: [">", "›"] },
    Key { name: "other I/O", role: Role::Other, signs: ["~", "~"] },
    Key { name: "lock", role: Role::Other, signs: ["x", "×"] },
    Key { name: "asleep", role: Role::Other, signs: ["z", "z"] },
    Key { name: "held by the tracing", role: Role::Other, signs: ["t", "t"] },
    Key { name: "other", role: Role::Other, signs: [".", "·"] },
];

/// The number of parts.
const PARTS: usize = KEYS.len();
/// The first parts, always in the legend; others only if they occur.
const ALWAYS: usize = 4;

/// Returns the keys for the legend of a run.
pub fn keys(run: &Run) -> impl Iterator<Item = &'static Key> {
    let mut occurs = [false; PARTS];
    for bar in lines::lines(run).iter().filter_map(|line| apportion(line.waits?, BAR)) {
        occurs.iter_mut().zip(bar).for_each(|(occurs, n)| *occurs |= n > 0);
    }
    KEYS.iter()
        .zip(occurs)
        .enumerate()
        .filter(|(i, (_, occurs))| *i < ALWAYS || *occurs)
        .map(|(_, (key, _))| key)
}

/// Whether what a row waited for is not known.
pub fn has_unsampled(run: &Run) -> bool {
    lines::lines(run).iter().any(|line| line.waits.and_then(|waits| apportion(waits, BAR)).is_none())
}

/// Divides `whole` in proportion to the parts of a stage's wall time; `None` if that is zero.
///
/// Each part is rounded down; the remainder goes to those that lost most (largest remainder method).
pub fn apportion(waits: &Waits, whole: usize) -> Option<[usize; PARTS]> {
    let elsewhere = &waits.elsewhere;
    let rest_ns = waits.other_ns.saturating_sub(elsewhere.known_ns());
    let parts = [
        waits.running_ns,
        waits.cpu_wait_ns,
        waits.starved_ns,
        waits.backpressured_ns,
        elsewhere.io_ns,
        elsewhere.lock_ns,
        elsewhere.asleep_ns,
        elsewhere.held_ns,
        rest_ns,
    ]
    .map(u128::from);
    let sum: u128 = parts.iter().sum();
    if sum == 0 {
        return None;
    }
    let mut shares = parts.map(|part| (part * whole as u128 / sum) as usize);
    let mut by_loss: Vec<_> = shares.iter_mut().zip(parts.map(|part| part * whole as u128 % sum)).collect();
    by_loss.sort_by_key(|(_, lost)| std::cmp::Reverse(*lost));
    let missing = whole.saturating_sub(by_loss.iter().map(|(share, _)| **share).sum());
    for (share, _) in by_loss.into_iter().take(missing) {
        *share += 1;
    }
    Some(shares)
}

fn ending(end: &End) -> Pieces {
    match end {
        End::Unknown(_) => unknown(),
        End::Exited(code) => status(*code),
        End::Killed { signal, name, .. } => {
            let name = text::shorten(&text::printable(name, false), 12, false);
            let name = if name.is_empty() { format!("signal {signal}") } else { name };
            let role = if end.status() == SIGPIPE { Role::Dim } else { Role::Failed };
            Pieces::one(role, name)
        }
    }
}

fn status(code: i32) -> Pieces {
    Pieces::one(if code == 0 { Role::Dim } else { Role::Failed }, code.to_string())
}

/// Renders a figure; a zero is dimmed, so that others stand out.
fn figure(text: impl Into<String>) -> Pieces {
    let text = text.into();
    let zero = !text.contains(|c| ('1'..='9').contains(&c));
    Pieces::one(if zero { Role::Dim } else { Role::Plain }, text)
}

/// Renders an unknown figure.
fn unknown() -> Pieces {
    Pieces::one(Role::Dim, "?")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_record::Elsewhere;

    #[test]
    fn parts_add_up_to_the_whole() {
        let third = Waits { running_ns: 1, starved_ns: 1, other_ns: 1, ..Waits::default() };
        assert_eq!(apportion(&third, 10), Some([4, 0, 3, 0, 0, 0, 0, 0, 3]));
        let elsewhere = Elsewhere { io_ns: 1, lock_ns: 1, asleep_ns: 1, held_ns: 0 };
        let parts = Waits { starved_ns: 1, other_ns: 4, elsewhere, ..Waits::default() };
        assert_eq!(apportion(&parts, 10), Some([0, 0, 2, 0, 2, 2, 2, 0, 2]));
        assert_eq!(apportion(&Waits::default(), 10), None);
        let huge = Waits { running_ns: u64::MAX, cpu_wait_ns: u64::MAX, ..Waits::default() };
        assert_eq!(apportion(&huge, 100), Some([50, 50, 0, 0, 0, 0, 0, 0, 0]));
    }
}
