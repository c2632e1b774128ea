//! The sentences below a table: the verdict, advice, and notes.

use pelton_record::{How, LeftBehind, Repeats, Run, Unmaintained};

use crate::{
    paint::{Pieces, Role},
    spread,
    style::Style,
    text, units,
};

/// Sentences longer than this are hard to follow from line to line, however wide the terminal is.
const READABLE: usize = 100;

/// A paragraph: a label, and text wrapped to the right of it.
#[derive(Clone, Debug)]
pub struct Paragraph {
    /// The role of its label.
    pub label_role: Role,
    /// Its label, with blanks.
    pub label: &'static str,
    /// The role of its text.
    pub role: Role,
    /// Its text.
    pub text: String,
}

impl Paragraph {
    fn new(label: &'static str, role: Role, text: impl Into<String>) -> Self {
        Paragraph { label_role: role, label, role, text: text.into() }
    }

    /// Wraps the text beside the label.
    pub fn lines(&self, style: &Style) -> Vec<Pieces> {
        let indent = text::width(self.label);
        let room = style.width.map_or(usize::MAX, |width| width.min(READABLE).saturating_sub(indent));
        let safe = text::printable(&self.text, style.unicode);
        let lines = text::wrap(&safe, room).into_iter().enumerate();
        lines
            .map(|(i, text)| {
                let label = if i == 0 { self.label.to_owned() } else { " ".repeat(indent) };
                let mut line = Pieces::one(self.label_role, label);
                line.push(self.role, text);
                line
            })
            .collect()
    }
}

/// Returns the verdict: which stage, how busy, what its neighbours wait for, and advice.
pub fn verdict(run: &Run, style: &Style) -> Vec<Paragraph> {
    let verdict = &run.verdict;
    let label = match (verdict.bottleneck.is_some(), style.unicode) {
        (true, true) => "▶ ",
        (true, false) => "> ",
        (false, _) => "  ",
    };
    let headline =
        Paragraph { label_role: Role::Mark, ..Paragraph::new(label, Role::Strong, &*verdict.headline) };
    let mut all = vec![headline];
    all.extend(verdict.neighbours.iter().map(|text| Paragraph::new("  ", Role::Plain, text)));
    all.extend(cores(run).map(|text| Paragraph::new("  ", Role::Plain, text)));
    all.extend(
        verdict
            .advice
            .iter()
            .map(|text| Paragraph { label_role: Role::Hint, ..Paragraph::new("  try: ", Role::Plain, text) }),
    );
    all.retain(|paragraph| !paragraph.text.trim().is_empty());
    all
}

fn cores(run: &Run) -> Option<String> {
    let (used, of) = (run.verdict.cores_used, run.verdict.cores);
    // `abs` removes the sign of a -0.0.
    (used.is_finite() && of > 0).then(|| {
        let s = if of == 1 { "" } else { "s" };
        format!("{:.1} of {of} core{s} used{}.", used.abs(), watching(run))
    })
}

/// Describes the cost of sampling.
fn watching(run: &Run) -> String {
    let observer = &run.observer;
    if observer.rounds == 0 || run.wall_ns == 0 {
        return String::new();
    }
    let share = observer.sampling_ns as f64 / run.wall_ns as f64;
    format!("; {} cost {:.1}% of a core", plural(observer.rounds, "sample"), share * 100.0)
}

/// Returns notes of less urgency.
pub fn notes(run: &Run, style: &Style) -> Vec<Paragraph> {
    let mut texts = vec![];
    texts.extend(run.repeats.as_ref().and_then(varied));
    texts.extend(run.notes.iter().cloned());
    texts.extend(rewrites(run));
    texts.extend(in_shell(run));
    texts.extend(left_behind(&run.left_behind));
    if style.all {
        texts.push(unmaintained(run));
        texts.push(machine(run));
        let observer = &run.observer;
        let (cost, rounds) = (units::short_time(observer.cpu_ns), plural(observer.rounds, "round"));
        texts.push(format!("measuring cost {cost} of CPU, {rounds}"));
    }
    texts.into_iter().map(|text| Paragraph::new("  ", Role::Dim, text)).collect()
}

/// Counts the processes that native runs saved.
pub fn economy(run: &Run) -> Option<Paragraph> {
    let native = run.pipelines.iter().any(|pipeline| !pipeline.passes.is_empty());
    native.then(|| {
        let stages: usize = run.pipelines.iter().map(|pipeline| pipeline.count()).sum();
        let ran: usize = run.pipelines.iter().map(|pipeline| pipeline.processes()).sum();
        let text = match stages {
            1 => "the shell would run 1 process, the real command; pelton ran its own".to_owned(),
            _ => format!("the shell would run {}, one for each stage; pelton ran {ran}", processes(stages)),
        };
        Paragraph::new("  ", Role::Plain, text)
    })
}

/// Describes rewritten rows, and fallbacks.
fn rewrites(run: &Run) -> Vec<String> {
    let mut texts = vec![];
    for pipeline in &run.pipelines {
        for (row, stage) in pipeline.stages.iter().enumerate() {
            let How::Native { rules, label, handed_over, .. } = &stage.how else { continue };
            let numbers = pipeline.numbers(row);
            let who = match (numbers.start(), numbers.end()) {
                (first, last) if first == last => format!("stage {first}"),
                (first, last) => format!("stages {first} to {last}"),
            };
            if !rules.is_empty() {
                let what = label.as_ref().map_or(String::new(), |label| format!("{label}, "));
                texts.push(format!("{who} ran as one: {what}by {}", rules.join(" and ")));
            }
            if *handed_over {
                texts.push(format!(
                    "{who}: the input has data that pelton does not support; the real command took over"
                ));
            }
        }
    }
    texts
}

/// Explains the figures of repeated runs. `all_spreads`: whether a table already shows all spreads.
pub fn caption(run: &Run, style: &Style, all_spreads: bool) -> Option<Paragraph> {
    let repeats = run.repeats.as_ref()?;
    let mut text = format!("medians of {}", plural(repeats.runs, "run"));
    if repeats.warmup > 0 {
        text += &format!(" after {}", plural(repeats.warmup, "warm-up run"));
    }
    if let Some(spreads) = spread::of_row(run, None) {
        let sign = spread::sign(style);
        text += &format!("; {sign} is half the interquartile range");
        if !all_spreads {
            let [real, user, sys] = spreads.map(|ns| ns.map_or("?".to_owned(), units::seconds));
            text += &format!("; ALL: real {sign}{real}, user {sign}{user}, sys {sign}{sys}");
        }
    }
    Some(Paragraph::new("  ", Role::Dim, text))
}

/// Returns what a table says of the columns that do not fit.
pub fn left_out(heads: Vec<&str>) -> Option<Paragraph> {
    let text = format!("no room here for {} (--all)", heads.join(", "));
    (!heads.is_empty()).then(|| Paragraph::new("  ", Role::Dim, text))
}

fn varied(repeats: &Repeats) -> Option<String> {
    let mut statuses = repeats.exit_status.clone();
    statuses.sort_unstable();
    let counts: Vec<_> = statuses
        .chunk_by(|a, b| a == b)
        .filter_map(|same| Some(format!("{} in {}", same.first()?, plural(same.len() as u32, "run"))))
        .collect();
    (counts.len() > 1).then(|| format!("the exit status varied: {}", counts.join(", ")))
}

/// Stages that the shell ran, unless a note gives the reason already.
fn in_shell(run: &Run) -> Vec<String> {
    let shell = run.shell.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("the shell");
    let place = |pipeline: usize, stage: usize| match run.pipelines.len() {
        1 => format!("stage {}", run.pipelines[pipeline].numbers(stage).start()),
        _ => format!("stage {} of pipeline {}", run.pipelines[pipeline].numbers(stage).start(), pipeline + 1),
    };
    let noted = |reason: &str| run.notes.iter().any(|note| note.contains(reason));
    let mut texts = vec![];
    for (p, pipeline) in run.pipelines.iter().enumerate() {
        for (s, stage) in pipeline.stages.iter().enumerate() {
            if let How::Shell { reason } = &stage.how
                && !noted(reason)
            {
                texts.push(format!("{} ({}) ran in {shell}: {reason}", place(p, s), stage.name));
            }
        }
    }
    texts
}

fn left_behind(left: &LeftBehind) -> Option<String> {
    let ended = (left.ended > 0).then(|| {
        let cpu = units::seconds(left.cost.user_ns.saturating_add(left.cost.sys_ns));
        format!("{} that ended meanwhile ({cpu} of CPU, counted in ALL)", processes(left.ended as usize))
    });
    let running = (left.running > 0)
        .then(|| format!("{} still running (whose cost is in no figure)", processes(left.running as usize)));
    let parts: Vec<_> = ended.into_iter().chain(running).collect();
    (!parts.is_empty()).then(|| format!("left behind: {}", parts.join(", ")))
}

fn processes(n: usize) -> String {
    if n == 1 { "1 process".to_owned() } else { format!("{n} processes") }
}

fn plural(n: u32, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The fields of getrusage(2) that Linux leaves at zero.
fn unmaintained(run: &Run) -> String {
    let Unmaintained {
        shared_text,
        unshared_data,
        unshared_stack,
        swaps,
        messages_sent,
        messages_received,
        signals,
    } = run.total.unmaintained;
    let fields = [
        ("shared text", shared_text),
        ("unshared data", unshared_data),
        ("unshared stack", unshared_stack),
        ("swaps", swaps),
        ("messages sent", messages_sent),
        ("messages received", messages_received),
        ("signals", signals),
    ];
    if fields.iter().any(|(_, n)| *n > 0) {
        fields.map(|(name, n)| format!("{name} {}", units::count(n))).join(", ")
    } else {
        format!("{}: not kept by Linux", fields.map(|(name, _)| name).join(", "))
    }
}

fn machine(run: &Run) -> String {
    let machine = &run.machine;
    let cpu = machine.cpu.iter().map(String::as_str);
    let parts: Vec<_> =
        [machine.host.as_str(), &machine.kernel, &machine.arch].into_iter().chain(cpu).collect();
    let collation = match machine.collation.as_str() {
        "" => String::new(),
        name => format!(", sorting as in the locale {name}"),
    };
    format!("on {}, {}{collation}", parts.join(", "), plural(machine.cores, "core"))
}
