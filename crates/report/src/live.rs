//! Live pipelines, as a screen or as lines: a pure function of a snapshot.
//!
//! ```text
//! pelton watch  12.4 s  1 pipeline, 3 stages  1.6 of 2 cores used
//!    PID    command           CPU  time spent   in/s      out/s     pipe after
//!   4711    cat access.log     5%  ▇›››››››››   410 MB/s  410 MB/s  full 97%
//! ▶ 4712    grep 404          99%  ▇▇▇▇▇▇▇▇▇▇   410 MB/s  12 MB/s   ▁ 3%
//! ```
//!
//! Signs repeat what colours say, so that nothing depends on colour.

use pelton_record::Waits;
use pelton_record::live::{LivePipe, LivePipeline, LiveStage, Snapshot};

use crate::{
    columns::{KEYS, apportion},
    paint::{Pieces, Role},
    process_tree,
    style::Style,
    text, units,
};

/// The user's choices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Lines scrolled past.
    pub scrolled: usize,
    /// The display is frozen.
    pub paused: bool,
    /// The keys are explained.
    pub help: bool,
    /// Shares of the last seconds instead of the last moment.
    pub lately: bool,
}

/// Columns of the narrowest bar, and of the widest.
const BAR: [usize; 2] = [10, 30];
/// The widest bar if room is left.
const BAR_MAX: usize = 60;
/// The columns of all but command and bar.
const FIXED: usize = 2 + 7 + 2 + 2 + 5 + 2 + 2 + 8 + 2 + 8 + 2 + 10;
/// The narrowest command.
const COMMAND: usize = 12;
/// The widest.
const COMMAND_MAX: usize = 80;

/// Renders `now` in `height` lines.
pub fn screen(now: &Snapshot, view: &View, style: &Style, height: usize) -> Vec<String> {
    let width = style.width.unwrap_or(80);
    let head = [title(now, view), Pieces::default()];
    let foot = foot(now, view, style);
    let room = height.saturating_sub(head.len() + foot.len()).max(1);
    let body = if view.help { help() } else { body(now, view, style, width) };
    let most = body.len().saturating_sub(room);
    let shown = body.iter().skip(view.scrolled.min(most)).take(room);
    let blanks = vec![Pieces::default(); room.saturating_sub(body.len())];
    let lines = head.iter().chain(shown).chain(&blanks).chain(&foot).take(height);
    lines.map(|line| cut(line, width).line(style.color).trim_end_matches('\n').to_owned()).collect()
}

/// Renders `now` without a screen: one line per pipeline.
pub fn lines(now: &Snapshot, style: &Style) -> String {
    now.pipelines.iter().map(|pipeline| format!("{}\n", line(now, pipeline, style))).collect()
}

fn line(now: &Snapshot, pipeline: &LivePipeline, style: &Style) -> String {
    let stage = |(i, stage): (usize, &LiveStage)| {
        let mark = if is_bottleneck(pipeline, i) { if style.unicode { "▶" } else { ">" } } else { "" };
        let name = text::printable(&stage.name, style.unicode);
        let waits = stage.now.as_ref().and_then(most_waited).map_or(String::new(), |text| format!(" {text}"));
        format!("{mark}{name} {}{waits}", units::percent(cpu_share(stage, now.window_ns)))
    };
    let stages: Vec<String> = pipeline.stages.iter().enumerate().map(stage).collect();
    let out = pipeline
        .stages
        .last()
        .and_then(|last| last.read_rate)
        .map_or(String::new(), |rate| format!("; the last reads {}/s", units::bytes(rate)));
    let stuck = stillness(pipeline).map_or(String::new(), |text| format!("; {text}"));
    format!("{}  {}{out}{stuck}", units::seconds(now.elapsed_ns), stages.join(" | "))
}

/// A pipeline in which nothing has moved for so long is taken for stuck.
const STILL_NS: u64 = 2_000_000_000;

/// Says who knows why nothing moves, where nothing has for some time.
fn stillness(pipeline: &LivePipeline) -> Option<String> {
    let is_still = |stage: &LiveStage| {
        let waited = stage.lately.as_ref().is_some_and(|lately| {
            lately.running_ns == 0 && lately.cpu_wait_ns == 0 && lately.whole_ns() >= STILL_NS
        });
        waited && stage.cpu_ns == 0 && stage.read_rate.unwrap_or(0) == 0 && stage.write_rate.unwrap_or(0) == 0
    };
    let first = pipeline.stages.first()?;
    let several = pipeline.stages.len() > 1;
    (several && pipeline.stages.iter().all(is_still))
        .then(|| format!("nothing moves: `pelton doctor {}` says why", first.pid))
}

/// Returns the share and name of a stage's longest wait.
fn most_waited(waits: &Waits) -> Option<String> {
    let shares = apportion(waits, 100)?;
    let (key, share) = KEYS.iter().zip(shares).skip(1).max_by_key(|(_, share)| *share)?;
    (share >= 10).then(|| format!("({share}% {})", key.name))
}

fn title(now: &Snapshot, view: &View) -> Pieces {
    let mut line = Pieces::one(Role::Strong, "pelton watch");
    let stages: usize = now.pipelines.iter().map(|pipeline| pipeline.stages.len()).sum();
    let pipelines = now.pipelines.iter().filter(|pipeline| pipeline.stages.len() > 1).count();
    let s = |n: usize| if n == 1 { "" } else { "s" };
    let mut parts = vec![
        units::seconds(now.elapsed_ns),
        format!(
            "{pipelines} pipeline{}, {stages} process{}",
            s(pipelines),
            if stages == 1 { "" } else { "es" }
        ),
        format!("{:.1} of {} cores", now.cores_used, now.cores),
    ];
    // The start is no measure of what sampling costs.
    if now.elapsed_ns >= 1_000_000_000 {
        parts.push(format!("sampling {:.1}%", now.looking * 100.0));
    }
    if now.ended > 0 {
        parts.push(format!("{} ended", now.ended));
    }
    line.push(Role::Plain, format!("  {}", parts.join("  ")));
    if view.paused {
        line.push(Role::Mark, "  PAUSED");
    }
    line
}

fn foot(now: &Snapshot, view: &View, style: &Style) -> Vec<Pieces> {
    let mut lines = Vec::new();
    let mut legend = Pieces::default();
    let occurs = |i: usize| {
        let waits =
            now.pipelines.iter().flat_map(|pipeline| &pipeline.stages).filter_map(|stage| stage.now.as_ref());
        waits.filter_map(|waits| apportion(waits, BAR[0])).any(|parts| parts[i] > 0)
    };
    for (_, key) in KEYS.iter().enumerate().filter(|(i, _)| *i < 4 || occurs(*i)) {
        legend.blanks(1);
        legend.append(&key.piece(style));
        legend.push(Role::Dim, format!(" {} ", key.name));
    }
    lines.push(legend);
    let span = if view.lately { "last 5 s" } else { "now" };
    let keys = format!(" q quit   space hold   w shares: {span}   arrows scroll   + - pace   ? help");
    lines.push(Pieces::one(Role::Dim, keys));
    if now.hidden > 0 && now.pipelines.is_empty() {
        lines.insert(0, Pieces::one(Role::Dim, format!(" {} processes may not be looked into", now.hidden)));
    }
    lines
}

fn help() -> Vec<Pieces> {
    const TEXT: [&str; 17] = [
        "  q, Esc, Ctrl-C   end; what is watched goes on",
        "  space, p         hold the picture; sampling goes on",
        "  w                shares of this moment, or of the last 5 seconds",
        "  arrows, PgUp …   scroll",
        "  + and -          redraw more often, or less",
        "  ?, h             this page, and back",
        "",
        "  A bar shows what a stage did. Its signs point to the neighbour that is",
        "  waited for: ‹ blocked on read from the stage before, › on write to the",
        "  stage after. That pipe is full if its reader is slower, and empty if its",
        "  writer is. in/s and out/s are bytes through read and write calls, those of",
        "  what the stage started included.",
        "",
        "  ▶ sets the pace: it computes, or waits for something outside, while the",
        "  others wait for it. The lines below say why, from the last 5 seconds.",
        "  ? stands where the system does not let pelton look.",
        "",
    ];
    TEXT.iter().map(|line| Pieces::one(Role::Plain, *line)).collect()
}

fn body(now: &Snapshot, view: &View, style: &Style, width: usize) -> Vec<Pieces> {
    let [command, bar] = columns(now, style, width);
    let mut lines = Vec::new();
    for (i, pipeline) in now.pipelines.iter().enumerate() {
        if i == 0 {
            lines.push(heads(command, bar));
        }
        for (stage, row) in pipeline.stages.iter().enumerate() {
            lines.push(self::row(now, view, style, row, is_bottleneck(pipeline, stage), [command, bar]));
            lines.extend(channels(row, style));
        }
        lines.extend(verdict(pipeline, style, width));
        lines.push(Pieces::default());
    }
    if now.pipelines.is_empty() {
        lines.push(Pieces::one(Role::Dim, "  no pipeline runs; one that begins will be shown"));
    }
    lines
}

/// Returns the widths of commands and bars. If both fit, commands are as wide as needed, and bars get the
/// rest.
fn columns(now: &Snapshot, style: &Style, width: usize) -> [usize; 2] {
    let room = width.saturating_sub(FIXED);
    let texts = now.pipelines.iter().flat_map(|pipeline| &pipeline.stages).map(|stage| &stage.text);
    let longest = texts.map(|text| text::width(&text::printable(text, style.unicode))).max().unwrap_or(0);
    let needed = longest.clamp(COMMAND, COMMAND_MAX);
    if room >= needed + BAR[1] {
        return [needed, (room - needed).min(BAR_MAX)];
    }
    let bar = room.saturating_sub(40).clamp(BAR[0], BAR[1]);
    [room.saturating_sub(bar).clamp(COMMAND, COMMAND_MAX), bar]
}

fn is_bottleneck(pipeline: &LivePipeline, stage: usize) -> bool {
    pipeline.verdict.bottleneck.as_ref().is_some_and(|bottleneck| bottleneck.stage == stage)
}

/// Maximum number of channels shown below a stage.
const CHANNELS: usize = 6;

/// Renders the channels between a stage's processes on which they waited.
fn channels(stage: &LiveStage, style: &Style) -> Vec<Pieces> {
    let Some(tree) = &stage.tree else { return Vec::new() };
    let waited = tree.channels.iter().filter(|one| one.write_blocked_ns.max(one.read_blocked_ns) > 0);
    let line =
        |one| Pieces::one(Role::Plain, format!("           {}", process_tree::channel(tree, one, style)));
    waited.take(CHANNELS).map(line).collect()
}

/// Renders the verdict on a pipeline.
fn verdict(pipeline: &LivePipeline, style: &Style, width: usize) -> Vec<Pieces> {
    let sentences = std::iter::once((Role::Strong, &pipeline.verdict.headline));
    let neighbours = pipeline.verdict.neighbours.iter().map(|text| (Role::Plain, text));
    let wanted = sentences.chain(neighbours).filter(|_| pipeline.verdict.bottleneck.is_some());
    let stuck = stillness(pipeline);
    let wanted = wanted.chain(stuck.iter().map(|text| (Role::Strong, text)));
    wanted
        .flat_map(|(role, sentence)| {
            let safe = text::printable(sentence, style.unicode);
            let wrapped = text::wrap(&safe, width.saturating_sub(4).min(100));
            wrapped.into_iter().map(move |line| Pieces::one(role, format!("    {line}")))
        })
        .collect()
}

fn heads(command: usize, bar: usize) -> Pieces {
    let mut line = Pieces::default();
    line.blanks(2);
    line.push(
        Role::Dim,
        format!("{:>7}  {:<command$}  {:>5}  {:<bar$}  ", "PID", "command", "CPU", "time spent"),
    );
    line.push(Role::Dim, format!("{:>8}  {:>8}  {}", "in/s", "out/s", "pipe"));
    line
}

fn row(
    now: &Snapshot,
    view: &View,
    style: &Style,
    stage: &LiveStage,
    mark: bool,
    [command, bar]: [usize; 2],
) -> Pieces {
    let sign = match (mark, style.unicode) {
        (false, _) => " ",
        (true, true) => "▶",
        (true, false) => ">",
    };
    let mut line = Pieces::one(Role::Mark, format!("{sign} "));
    line.push(Role::Dim, format!("{:>7}  ", stage.pid));
    let name = text::shorten(&text::printable(&stage.text, style.unicode), command, style.unicode);
    let blanks = command.saturating_sub(text::width(&name));
    line.push(Role::Plain, format!("{name}{}  ", " ".repeat(blanks)));
    line.push(Role::Plain, format!("{:>5}  ", units::percent(cpu_share(stage, now.window_ns))));
    let waits = if view.lately { &stage.lately } else { &stage.now };
    line.append(&self::bar(waits.as_ref(), bar, style));
    let rate = |rate: Option<u64>| rate.map_or("?".to_owned(), units::bytes);
    line.push(Role::Plain, format!("  {:>8}  {:>8}  ", rate(stage.read_rate), rate(stage.write_rate)));
    line.append(&stage.pipe.map_or(Pieces::default(), |pipe| self::pipe(pipe, style)));
    if mark { line.lift(Role::Strong) } else { line }
}

fn cpu_share(stage: &LiveStage, window_ns: u64) -> f64 {
    stage.cpu_ns as f64 / window_ns.max(1) as f64
}

fn bar(waits: Option<&Waits>, width: usize, style: &Style) -> Pieces {
    let mut cell = Pieces::default();
    match waits.and_then(|waits| apportion(waits, width)) {
        Some(parts) => {
            for (n, key) in parts.into_iter().zip(&KEYS) {
                let sign = key.piece(style).text();
                cell.push(key.role(), sign.repeat(n));
            }
        }
        None => cell.push(Role::Dim, format!("{:<width$}", "?")),
    }
    cell
}

/// Renders a pipe in nine columns: its fill level, or the share of time full or empty.
fn pipe(pipe: LivePipe, style: &Style) -> Pieces {
    let capacity = pipe.capacity_bytes.unwrap_or(65_536).max(1);
    let level = pipe.bytes as f64 / capacity as f64;
    let text = match () {
        () if pipe.full_share >= 0.5 => format!("full {}", units::percent(pipe.full_share)),
        () if pipe.empty_share >= 0.5 => format!("empty {}", units::percent(pipe.empty_share)),
        () => format!("{} {}", crate::pipes::sign(level, style), units::percent(level)),
    };
    Pieces::one(Role::BlockedOnWrite, text)
}

/// Cuts `line` at `width`.
fn cut(line: &Pieces, width: usize) -> Pieces {
    if line.width() <= width { line.clone() } else { line.first(width) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use pelton_record::{Bottleneck, BottleneckKind, Verdict};

    fn snapshot() -> Snapshot {
        let stage = |pid: u32, text: &str, percent: [u64; 3], rates: [u64; 2], full_share: f64| {
            let [running_ns, starved_ns, backpressured_ns] = percent.map(|p| p * 5_000_000);
            let waits = Waits { running_ns, starved_ns, backpressured_ns, samples: 25, ..Waits::default() };
            let pipe = LivePipe { bytes: 30_000, capacity_bytes: Some(65_536), full_share, empty_share: 0.0 };
            LiveStage {
                pid,
                name: text.split(' ').next().unwrap_or_default().to_owned(),
                text: text.to_owned(),
                cpu_ns: running_ns,
                lately: Some(waits.clone()),
                now: Some(waits),
                read_rate: Some(rates[0]),
                write_rate: Some(rates[1]),
                written_bytes: Some(1_000),
                pipe: (pid != 4713).then_some(pipe),
                tree: None,
            }
        };
        let stages = vec![
            stage(4711, "cat access.log", [5, 0, 95], [410_000_000, 410_000_000], 0.97),
            stage(4712, "grep -E 'GET|POST' --line-buffered", [99, 1, 0], [410_000_000, 12_000_000], 0.0),
            stage(4713, "wc -l", [1, 99, 0], [12_000_000, 0], 0.0),
        ];
        let kind = BottleneckKind::Cpu;
        let verdict = Verdict {
            bottleneck: Some(Bottleneck { pipeline: 0, stage: 1, kind, share: 0.99 }),
            headline: "the bottleneck is stage 2 (grep): it computes: 99% CPU".into(),
            neighbours: vec!["stage 1 (cat) was blocked on write 95% of its life".into()],
            ..Verdict::default()
        };
        Snapshot {
            elapsed_ns: 12_400_000_000,
            window_ns: 500_000_000,
            pipelines: vec![LivePipeline { stages, verdict }],
            cores: 2,
            cores_used: 1.05,
            looking: 0.004,
            ..Snapshot::default()
        }
    }

    #[test]
    fn looks_like_this() {
        let now = snapshot();
        let mut shown = String::new();
        for (name, view, width, height) in [
            ("80 columns", View::default(), 80, 14),
            (
                "132 columns, the last seconds, paused",
                View { lately: true, paused: true, ..View::default() },
                132,
                12,
            ),
            ("60 columns, 6 lines, scrolled", View { scrolled: 2, ..View::default() }, 60, 6),
            ("help", View { help: true, ..View::default() }, 100, 20),
        ] {
            let lines = screen(&now, &view, &samples::wide(width), height);
            assert_eq!(lines.len(), height, "{name}");
            assert!(lines.iter().all(|line| text::width(line) <= width), "{name}: {lines:#?}");
            shown += &format!("== {name}\n{}\n\n", lines.join("\n"));
        }
        let plain = Style { unicode: false, ..samples::wide(80) };
        shown += &format!("== lines\n{}\n", lines(&now, &plain));
        samples::check("live", &shown);
    }

    #[test]
    fn what_does_not_move_is_said_after_a_while() {
        let still = |lasted_ns: u64| {
            let mut now = snapshot();
            for stage in &mut now.pipelines[0].stages {
                let waits = Waits { starved_ns: lasted_ns, ..Waits::default() };
                (stage.cpu_ns, stage.lately, stage.now) = (0, Some(waits.clone()), Some(waits));
                (stage.read_rate, stage.write_rate) = (Some(0), Some(0));
            }
            now
        };
        let says = |now: &Snapshot| {
            let line = lines(now, &samples::wide(200));
            let screen = screen(now, &View::default(), &samples::wide(100), 20).join("\n");
            let words = "nothing moves: `pelton doctor 4711` says why";
            assert_eq!(line.contains(words), screen.contains(words), "{line}{screen}");
            line.contains(words)
        };
        assert!(says(&still(3_000_000_000)));
        assert!(!says(&still(1_000_000_000)), "too early to tell");
        let mut moves = still(3_000_000_000);
        moves.pipelines[0].stages[2].read_rate = Some(1);
        assert!(!says(&moves));
        assert!(!says(&snapshot()));
    }

    #[test]
    fn colours_say_nothing_that_signs_do_not() {
        let plain = screen(&snapshot(), &View::default(), &samples::wide(100), 20);
        let style = Style { color: true, ..samples::wide(100) };
        let coloured = screen(&snapshot(), &View::default(), &style, 20).join("\n");
        let mut bare = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, after)) = rest.split_once('\x1b') {
            bare += before;
            rest = after.split_once('m').map_or("", |(_, rest)| rest);
        }
        assert_eq!(bare + rest, plain.join("\n"));
    }
}
