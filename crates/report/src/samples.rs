//! Sample records for tests: handwritten, like those of real runs.

use pelton_record::{
    Bottleneck, BottleneckKind, Cost, End, How, LeftBehind, Machine, Observer, Pass, PipeFill, PipeUse,
    Pipeline, Repeats, Run, Span, Stage, StageRepeats, Verdict, Waits,
};

use crate::{Style, formats::Subject};

/// Plain text of this width.
pub fn wide(width: usize) -> Style {
    Style { width: Some(width), color: false, unicode: true, all: false }
}

/// A record shown as it is.
pub fn subject(run: &Run) -> Subject<'_> {
    Subject { run, shown: run }
}

/// Every sample, by name.
pub fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("simple", simple()),
        ("single", single()),
        ("sigpipe", sigpipe()),
        ("unknown", unknown()),
        ("lists", lists()),
        ("repeats", repeats()),
        ("long", long()),
        ("hostile", hostile()),
        ("failed", failed()),
        ("native", native()),
    ]
}

/// The names of all samples.
pub const NAMES: [&str; 10] =
    ["simple", "single", "sigpipe", "unknown", "lists", "repeats", "long", "hostile", "failed", "native"];

/// Compares `text` with `tests/snapshots/NAME.snap`. Escapes become `␛`, so that the files stay text.
pub fn check(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../tests/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text.replace('\x1b', "␛")));
}

/// Compares one text made of several samples, each under its name.
pub fn check_each(name: &str, samples: &[&str], render: impl Fn(&Run) -> String) {
    let texts = all().into_iter().filter(|(sample, _)| samples.contains(sample));
    check(name, &texts.map(|(sample, run)| format!("== {sample}\n{}\n", render(&run))).collect::<String>());
}

const MS: u64 = 1_000_000;

fn cost(real_ms: u64, user_ms: u64, sys_ms: u64) -> Cost {
    Cost {
        wall_ns: real_ms * MS + 300_000,
        user_ns: user_ms * MS,
        sys_ns: sys_ms * MS,
        peak_rss_bytes: 3_801_088,
        peak_rss_is_bound: true,
        minor_faults: 140,
        voluntary_switches: 1527,
        involuntary_switches: 12,
        ..Cost::zero()
    }
}

fn moves(read: u64, written: u64, cost: Cost) -> Cost {
    Cost {
        read_bytes: Some(read),
        written_bytes: Some(written),
        read_calls: Some(read / 65_536 + 7),
        write_calls: Some(written / 65_536 + 1),
        ..cost
    }
}

/// Percentages: running, runnable, blocked on read, blocked on write, other.
fn waits(cost: &Cost, percent: [u64; 5]) -> Option<Waits> {
    let [running_ns, cpu_wait_ns, starved_ns, backpressured_ns, other_ns] =
        percent.map(|p| cost.wall_ns / 100 * p);
    Some(Waits {
        running_ns,
        cpu_wait_ns,
        starved_ns,
        backpressured_ns,
        other_ns,
        samples: 120,
        ..Waits::default()
    })
}

fn stage(text: &str, cost: Cost, percent: Option<[u64; 5]>) -> Stage {
    let name = text.split([' ', '\n']).next().unwrap_or_default().to_owned();
    Stage {
        text: text.to_owned(),
        program: Some(format!("/usr/bin/{name}")),
        name,
        span: Span::default(),
        how: How::Process,
        pid: 4711,
        start_ns: 0,
        end: End::Exited(0),
        waits: percent.and_then(|percent| waits(&cost, percent)),
        cost,
        reads_previous: true,
        feeds_next: true,
        threads: None,
        profile: None,
        syscalls: None,
        timeline: None,
        temporary_bytes: None,
        inside: None,
        tree: None,
        stands_for: 1,
        starts_processes: false,
    }
}

fn pipeline(stages: Vec<Stage>) -> Pipeline {
    let texts: Vec<_> = stages.iter().map(|stage| stage.text.as_str()).collect();
    Pipeline {
        text: texts.join(" | "),
        span: Span::default(),
        start_ns: 0,
        wall_ns: stages.iter().map(|stage| stage.cost.wall_ns).max().unwrap_or(0),
        exit_status: 0,
        stages,
        passes: vec![],
        pipes: vec![],
    }
}

fn run(pipelines: Vec<Pipeline>, bottleneck: Option<(usize, usize)>, headline: &str) -> Run {
    let mut total = Cost::zero();
    for stage in pipelines.iter().flat_map(|pipeline| &pipeline.stages) {
        total.add(&stage.cost);
    }
    total.wall_ns = pipelines.iter().map(|pipeline| pipeline.wall_ns).sum();
    let texts: Vec<_> = pipelines.iter().map(|pipeline| pipeline.text.as_str()).collect();
    Run {
        pelton_version: "0.1.0".to_owned(),
        text: texts.join("; "),
        shell: "/bin/bash".to_owned(),
        started_unix_ms: 1_767_225_600_000,
        machine: Machine {
            host: "atlas".to_owned(),
            kernel: "Linux 6.1.0".to_owned(),
            arch: "x86_64".to_owned(),
            cpu: Some("Intel(R) Core(TM) i7-3770 CPU @ 3.40GHz".to_owned()),
            cores: 4,
            collation: "C".into(),
        },
        pipelines,
        wall_ns: total.wall_ns,
        observer: Observer { cpu_ns: 9_312_000, rounds: 120, sampling_ns: 8_100_000, idle_cores: None },
        verdict: Verdict {
            bottleneck: bottleneck.map(|(pipeline, stage)| Bottleneck {
                pipeline,
                stage,
                kind: BottleneckKind::Cpu,
                share: 0.98,
            }),
            headline: headline.to_owned(),
            neighbours: vec![],
            cores_used: total.cpu_share().unwrap_or(0.0),
            cores: 4,
            advice: None,
        },
        total,
        ..Run::default()
    }
}

/// A pipe that fills to `level` within a second, and stays so.
fn seen(writer: usize, level: f64) -> PipeUse {
    let fill = |start_ms: u64, length_ms: u64, level: f64| PipeFill {
        start_ns: start_ms * MS,
        length_ns: length_ms * MS,
        bytes: (65_536.0 * level) as u64,
        full_share: if level < 1.0 { 0.0 } else { 1.0 },
    };
    PipeUse {
        writer,
        reader: writer + 1,
        capacity_bytes: Some(65_536),
        mean_bytes: (62_000.0 * level) as u64,
        full_share: if level < 1.0 { 0.0 } else { 0.9 },
        empty_share: 0.1,
        samples: 240,
        over_time: vec![fill(0, 1000, level / 2.0), fill(1000, 3771, level)],
    }
}

/// Three stages, the second is CPU-bound.
pub fn simple() -> Run {
    let stages = vec![
        stage("cat words.txt", moves(104_857_600, 104_857_600, cost(4771, 4, 61)), Some([1, 0, 0, 97, 2])),
        stage("tr A-Z a-z", moves(104_857_600, 104_857_600, cost(4773, 4601, 98)), Some([98, 1, 0, 0, 1])),
        stage("wc -l", moves(104_860_000, 9, cost(4774, 212, 40)), Some([5, 0, 94, 0, 1])),
    ];
    let headline = "tr (stage 2) sets the pace: it computed for 98% of the time.";
    let mut run = run(vec![pipeline(stages)], Some((0, 1)), headline);
    if let Some(waits) = &mut run.pipelines[0].stages[0].waits {
        waits.elsewhere.io_ns = waits.other_ns;
        waits.margin_ns = Some(120 * MS);
    }
    run.pipelines[0].pipes = vec![seen(0, 1.0), seen(1, 0.1)];
    run.verdict.neighbours = vec![
        "cat was blocked on write 97% of its time in the pipe to tr.".to_owned(),
        "wc was blocked on read 94% of its time from tr.".to_owned(),
    ];
    run.verdict.advice =
        Some("LC_ALL=C tr, if your data is ASCII; or split the input over the idle cores".to_owned());
    run
}

/// One command, too short for a verdict.
pub fn single() -> Run {
    let only = stage("ls", moves(6_112, 412, Cost { peak_rss_bytes: 4_210_688, ..cost(1, 1, 0) }), None);
    run(vec![pipeline(vec![only])], None, "Too short to tell: the run took 1.3 ms.")
}

fn killed(signal: i32, name: &str, core: bool) -> End {
    End::Killed { signal, name: name.to_owned(), core }
}

/// Two stages ended early by the last.
pub fn sigpipe() -> Run {
    let mut stages = vec![
        stage("yes", moves(5_000, 327_680, cost(12, 2, 3)), None),
        stage("sed s/y/n/", moves(200_000, 163_840, cost(12, 10, 1)), Some([92, 0, 3, 5, 0])),
        stage("head -n 1000", moves(65_536, 2_000, cost(11, 0, 1)), None),
    ];
    for stage in stages.iter_mut().take(2) {
        stage.end = killed(13, "SIGPIPE", false);
    }
    let mut run = run(
        vec![pipeline(stages)],
        Some((0, 1)),
        "sed (stage 2) sets the pace: it was busy 92% of the time.",
    );
    run.verdict.cores_used = -0.0;
    run
}

/// Counters that the kernel did not report, and no wall time.
pub fn unknown() -> Run {
    let blind = |cost: Cost| Cost {
        read_bytes: None,
        written_bytes: None,
        read_calls: None,
        write_calls: None,
        peak_rss_is_bound: false,
        ..cost
    };
    let mut nothing = stage(":", Cost { peak_rss_bytes: 0, ..Cost::default() }, None);
    nothing.how = How::Builtin;
    let stages = vec![stage("sudo cat /var/log/syslog", blind(cost(20, 8, 4)), None), nothing];
    let mut run = run(vec![pipeline(stages)], None, "No stage stands out.");
    run.notes =
        vec!["The counters of stage 1 belong to another user: bytes and calls are unknown.".to_owned()];
    run
}

/// Two pipelines, one with a compound stage that the shell ran, and processes left behind.
pub fn lists() -> Run {
    let mut group = stage("{ cat a; cat b; }", moves(52_000_000, 52_000_000, cost(900, 10, 80)), None);
    group.name = "{…}".to_owned();
    group.how = How::Shell { reason: "a group of commands".to_owned() };
    let sort =
        Cost { peak_rss_bytes: 812_000_000, peak_rss_is_bound: false, ..cost(150_000, 320_000, 9_400) };
    let first =
        pipeline(vec![group, stage("sort -u", moves(52_000_000, 31_000_000, sort), Some([92, 0, 3, 0, 5]))]);
    let mut wc = stage("wc -l < b", moves(26_000_000, 9, cost(31, 20, 9)), None);
    wc.end = End::Exited(1);
    let mut run = run(
        vec![first, pipeline(vec![wc])],
        Some((0, 1)),
        "sort (stage 2) sets the pace: it computed for 92% of the time.",
    );
    run.exit_status = 1;
    run.left_behind = LeftBehind { cost: cost(5, 120, 0), ended: 1, running: 2 };
    run
}

/// Medians of several runs.
pub fn repeats() -> Run {
    let mut run = simple();
    let spread = |median_ms: u64| [0_u64, 9, 2, 13, 4].map(|off| (median_ms + off) * MS).to_vec();
    let row =
        |real, user, sys| StageRepeats { wall_ns: spread(real), user_ns: spread(user), sys_ns: spread(sys) };
    run.repeats = Some(Repeats {
        runs: 5,
        warmup: 1,
        wall_ns: spread(4770),
        user_ns: spread(4800),
        sys_ns: spread(190),
        exit_status: vec![0, 0, 1, 0, 0],
        stages: vec![row(4767, 2, 60), row(4770, 4600, 95), row(4771, 210, 38)],
    });
    run
}

/// A realistic pipeline: commands that do not fit.
pub fn long() -> Run {
    let stages = vec![
        stage(
            "zcat /var/log/nginx/access.log.2.gz /var/log/nginx/access.log.3.gz",
            moves(41_000_000, 612_000_000, cost(8_120, 5_210, 410)),
            Some([69, 0, 0, 30, 1]),
        ),
        stage(
            "grep -v -E 'bot|crawler|spider|monitoring|healthcheck'",
            moves(612_000_000, 580_000_000, cost(8_123, 2_012, 215)),
            Some([27, 0, 22, 51, 0]),
        ),
        stage(
            "awk '{\n\tsplit($4, t, \":\")\n\tprint t[2] \":\" t[3], $7, $9\n}'",
            moves(580_000_000, 140_000_000, cost(8_130, 7_741, 190)),
            Some([97, 0, 2, 0, 1]),
        ),
        stage(
            "sort -T /fast/scratch --parallel=4 -S 2G",
            moves(
                140_000_000,
                140_000_000,
                Cost {
                    peak_rss_bytes: 412_000_000,
                    peak_rss_is_bound: false,
                    major_faults: 3,
                    block_outputs: 273_500,
                    ..cost(12_402, 9_120, 820)
                },
            ),
            Some([55, 3, 40, 0, 2]),
        ),
        stage("uniq -c", moves(140_000_000, 9_200_000, cost(12_403, 401, 38)), Some([4, 0, 96, 0, 0])),
        stage("sort -rn", moves(9_200_000, 9_200_000, cost(12_420, 120, 11)), Some([1, 0, 99, 0, 0])),
        stage("head -n 20", moves(70_000, 1_200, cost(12_421, 1, 1)), Some([0, 0, 100, 0, 0])),
    ];
    let mut run = run(
        vec![pipeline(stages)],
        Some((0, 2)),
        "awk (stage 3) sets the pace: it computed for 97% of the time until sort had its input.",
    );
    run.verdict.neighbours = vec![
        "grep was blocked on write 51% of its time in the pipe to awk.".to_owned(),
        "sort was blocked on read 40% of its time from awk, and gave nothing on before its end.".to_owned(),
    ];
    run.verdict.advice = Some(
        "mawk in place of gawk: in programs like this one it needs a half to a third of the CPU time."
            .to_owned(),
    );
    run
}

/// Text that would break a terminal, or a table.
pub fn hostile() -> Run {
    let stages = vec![
        stage("printf '\x1b[2J\x1b]0;owned\x07|a\\|b`c`'", moves(3_000, 20, cost(2, 1, 1)), None),
        stage("grep '日本語のとても長いパターン' | ", moves(3_020, 20, cost(2, 1, 0)), None),
        stage(
            "sed 's/\u{202e}é/\u{301}e\u{301}/;\r\n\n\n s/\u{9b}//' \u{fffd}",
            moves(3_020, 20, cost(3, 3, 0)),
            Some([99, 0, 1, 0, 0]),
        ),
        stage("", moves(0, 0, cost(2, 0, 0)), None),
    ];
    run(
        vec![pipeline(stages)],
        Some((0, 2)),
        "sed\x1b[31m 's/日本/é/' sets the\npace — busy 99 % of the time.",
    )
}

/// Failures of several kinds.
pub fn failed() -> Run {
    let mut stages = vec![
        stage("cat nowhere", moves(3_000, 0, cost(1, 0, 1)), None),
        stage("frobnicate", moves(0, 40, cost(1, 0, 0)), None),
        stage("./crash", moves(0, 0, cost(60, 40, 9)), None),
    ];
    for (stage, end) in stages.iter_mut().zip([End::Exited(1), End::Exited(127), killed(11, "SIGSEGV", true)])
    {
        stage.end = end;
    }
    let mut run = run(
        vec![pipeline(stages)],
        None,
        "Two of three stages did nothing: cat failed (1), frobnicate was not found (127).",
    );
    run.exit_status = 139;
    run
}

/// Eight stages, two of them processes: a pass of three rows, one of which stands for three stages, and a
/// pass of a single row that fell back.
pub fn native() -> Run {
    let kernel = |pass: usize, text: &str, moved: (u64, u64), cost: Cost, percent: [u64; 5]| {
        let waits = waits(&cost, percent).map(|waits| Waits { samples: 0, ..waits });
        let cost = Cost { peak_rss_bytes: 0, peak_rss_is_bound: false, minor_faults: 0, ..cost };
        let cost = Cost { voluntary_switches: 0, involuntary_switches: 0, ..moves(moved.0, moved.1, cost) };
        let cost = Cost { read_calls: None, write_calls: None, ..cost };
        let how = How::Native { pass, rules: vec![], label: None, handed_over: false };
        Stage { how, waits, ..stage(text, cost, None) }
    };
    let first = kernel(0, "cut -d, -f2", (104_857_600, 21_000_000), cost(820, 161, 20), [22, 0, 0, 78, 0]);
    let second = kernel(0, "tr A-Z a-z", (21_000_000, 21_000_000), cost(820, 9, 0), [1, 0, 22, 77, 0]);
    let mut third =
        kernel(0, "sort | uniq -c | sort -rn", (21_000_000, 9_000), cost(830, 610, 30), [77, 0, 23, 0, 0]);
    let rules = vec!["sort-uniq".to_owned(), "top-k".to_owned()];
    let label = Some("count the distinct lines".to_owned());
    third.how = How::Native { pass: 0, rules, label, handed_over: false };
    third.stands_for = 3;
    let awk = stage("awk '{print $2}'", moves(9_000, 4_000, cost(832, 2, 1)), Some([1, 0, 99, 0, 0]));
    let mut sed = kernel(1, "sed 's/é/e/'", (4_000, 3_900), cost(833, 1, 1), [0, 0, 100, 0, 0]);
    sed.how = How::Native { pass: 1, rules: vec![], label: None, handed_over: true };
    let tee = stage("tee >(wc -l)", moves(3_900, 7_800, cost(833, 1, 0)), Some([0, 0, 100, 0, 0]));
    let mut all = pipeline(vec![first, second, third, awk, sed, tee]);
    let whole = moves(104_857_600, 9_000, Cost { peak_rss_bytes: 41_000_000, ..cost(831, 780, 50) });
    let of = |first: usize, last: usize, cost: Cost, percent: [u64; 5]| Pass {
        first,
        last,
        pid: 4711,
        waits: waits(&cost, percent),
        cost,
    };
    all.passes = vec![
        of(0, 2, Cost { peak_rss_is_bound: false, ..whole }, [100, 0, 0, 0, 0]),
        of(4, 4, moves(4_000, 3_900, cost(833, 1, 1)), [0, 0, 100, 0, 0]),
    ];
    let mut run = run(vec![all], Some((0, 2)), "stages 3 to 5 (sort | uniq -c | sort -rn) set the pace.");
    run.total = Cost::zero();
    for cost in run.pipelines.iter().flat_map(Pipeline::costs) {
        run.total.add(cost);
    }
    run.total.wall_ns = run.wall_ns;
    run.verdict.cores_used = run.total.cpu_share().unwrap_or(0.0);
    run
}
