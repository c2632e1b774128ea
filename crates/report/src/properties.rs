//! Properties that hold for every record, tested on random ones.

use pelton_record::{Cost, End, How, Pass, Pipeline, Repeats, Run, Stage, StageRepeats, Unmaintained, Waits};
use proptest::{array, collection, option, prelude::*};
use unicode_width::UnicodeWidthStr;

use crate::{Format, Style, render, samples};

/// Figures of all magnitudes. The record adds user and system time: each is at most half of the maximum.
fn figure() -> impl Strategy<Value = u64> {
    (0_u32..64, any::<u64>()).prop_map(|(bits, n)| n >> 1 >> bits)
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-z|`*\\\\'\", \n\t\x1b\u{9b}\u{202e}日é\u{301}\u{fe0f}❤👍🏽-]{0,120}"]
}

fn cost() -> impl Strategy<Value = Cost> {
    let known = array::uniform10(figure());
    let maybe = array::uniform4(option::of(figure()));
    (known, maybe, any::<bool>()).prop_map(|(known, maybe, peak_rss_is_bound)| {
        let [wall_ns, user_ns, sys_ns, peak_rss_bytes, minor_faults, major_faults, ..] = known;
        let [.., block_inputs, block_outputs, voluntary_switches, involuntary_switches] = known;
        let [read_bytes, written_bytes, read_calls, write_calls] = maybe;
        Cost {
            wall_ns,
            user_ns,
            sys_ns,
            peak_rss_bytes,
            peak_rss_is_bound,
            read_bytes,
            written_bytes,
            read_calls,
            write_calls,
            minor_faults,
            major_faults,
            block_inputs,
            block_outputs,
            voluntary_switches,
            involuntary_switches,
            unmaintained: Unmaintained { swaps: minor_faults, ..Unmaintained::default() },
            figures: [("peak_test_bytes".to_owned(), read_calls), ("test_ns".to_owned(), write_calls)].into(),
        }
    })
}

fn waits() -> impl Strategy<Value = Waits> {
    array::uniform5(figure()).prop_map(|[running_ns, cpu_wait_ns, starved_ns, backpressured_ns, other_ns]| {
        Waits {
            running_ns,
            cpu_wait_ns,
            starved_ns,
            backpressured_ns,
            other_ns,
            samples: 1,
            ..Waits::default()
        }
    })
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        any::<i32>().prop_map(End::Exited),
        words().prop_map(End::Unknown),
        (1..65, words(), any::<bool>()).prop_map(|(signal, name, core)| End::Killed { signal, name, core }),
    ]
}

fn stage() -> impl Strategy<Value = Stage> {
    let native = (0_usize..3, any::<bool>()).prop_map(|(pass, handed_over)| How::Native {
        pass,
        rules: vec!["drop-cat".to_owned()],
        label: None,
        handed_over,
    });
    let shell = words().prop_map(|reason| How::Shell { reason });
    let how = prop_oneof![Just(How::Process), Just(How::Builtin), shell, native];
    (words(), words(), how, end(), cost(), option::of(waits()), 0_u32..4).prop_map(
        |(text, name, how, end, cost, waits, stands_for)| {
            let sample = samples::single().pipelines.remove(0).stages.remove(0);
            Stage { text, name, how, end, cost, waits, stands_for, ..sample }
        },
    )
}

fn pipeline() -> impl Strategy<Value = Pipeline> {
    let stages = prop_oneof![30 => collection::vec(stage(), 0..6), 1 => collection::vec(stage(), 101..103)];
    let pass = (0_usize..8, 0_usize..8, cost(), option::of(waits()))
        .prop_map(|(first, last, cost, waits)| Pass { first, last, pid: 1, cost, waits });
    (words(), stages, collection::vec(pass, 0..3)).prop_map(|(text, stages, passes)| Pipeline {
        text,
        stages,
        passes,
        ..samples::single().pipelines.remove(0)
    })
}

fn repeats() -> impl Strategy<Value = Repeats> {
    let times = || array::uniform3(collection::vec(figure(), 0..5));
    let stages = collection::vec(times(), 0..8);
    (any::<u32>(), times(), stages, collection::vec(any::<i32>(), 0..5)).prop_map(
        |(runs, all, stages, exit_status)| {
            let [wall_ns, user_ns, sys_ns] = all;
            let stages = stages.into_iter();
            let stages =
                stages.map(|[wall_ns, user_ns, sys_ns]| StageRepeats { wall_ns, user_ns, sys_ns }).collect();
            Repeats { runs, warmup: 1, wall_ns, user_ns, sys_ns, exit_status, stages }
        },
    )
}

fn run() -> impl Strategy<Value = Run> {
    let sentences = (words(), collection::vec(words(), 0..3), option::of(words()), any::<f64>());
    let pipelines = collection::vec(pipeline(), 0..4);
    (pipelines, cost(), any::<i32>(), sentences, option::of(repeats())).prop_map(
        |(pipelines, total, exit_status, (headline, sentences, advice, cores_used), repeats)| {
            let mut run = samples::lists();
            run.verdict.headline = headline;
            run.verdict.neighbours = sentences.clone();
            run.verdict.advice = advice;
            run.verdict.cores_used = cores_used;
            Run { pipelines, total, exit_status, notes: sentences, repeats, ..run }
        },
    )
}

fn style() -> impl Strategy<Value = Style> {
    (option::of(40_usize..260), any::<[bool; 3]>()).prop_map(|(width, [color, unicode, all])| Style {
        width,
        color,
        unicode,
        all,
    })
}

/// Removes the SGR sequences that this crate writes.
fn without_sgr(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(part.len());
        assert_eq!(part[end..].chars().next(), Some('m'), "not an SGR sequence: {part:?}");
        text + &part[end + 1..]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_table_is_wider_than_its_width(run in run(), style in style()) {
        let shown = without_sgr(&render(&run, Format::Table, &style));
        for line in shown.lines() {
            prop_assert!(line.width() <= style.width.unwrap_or(usize::MAX), "{line:?}");
            prop_assert!(!line.ends_with(' '), "{line:?}");
        }
    }

    #[test]
    fn nothing_shown_to_people_holds_a_control(run in run(), style in style()) {
        for format in [Format::Table, Format::Json, Format::Markdown, Format::Posix, Format::ShellStyle] {
            let mut shown = render(&run, format, &style);
            if format == Format::Table && style.color {
                shown = without_sgr(&shown);
            }
            prop_assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{format}: {shown:?}");
            prop_assert!(shown.ends_with('\n'), "{format}: {shown:?}");
            prop_assert!(style.unicode || format == Format::Json || shown.is_ascii(), "{format}: {shown:?}");
        }
    }

    #[test]
    fn nothing_at_all_holds_what_turns_a_line_round(run in run(), style in style()) {
        for &format in Format::ALL {
            let shown = without_sgr(&render(&run, format, &Style { color: false, ..style }));
            // Tabs may separate fields: those of the user's text are escaped.
            let is_layout = |c: char| matches!(c, '\n' | '\t');
            let odd = |c: char| !is_layout(c) && (c.is_control() || crate::text::is_invisible(c));
            prop_assert!(!shown.contains(odd), "{format}: {shown:?}");
        }
    }

    #[test]
    fn csv_is_read_back(run in run()) {
        let text = render(&run, Format::Csv, &Style::default());
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let records: Vec<_> = reader.records().collect::<Result<_, _>>().expect("every row has as many fields");
        let stages: Vec<_> = run.pipelines.iter().flat_map(|pipeline| &pipeline.stages).collect();
        prop_assert_eq!(records.len(), stages.len() + 1);
        for (record, stage) in records.iter().zip(stages) {
            prop_assert_eq!(&record[3], crate::formats::csv::harmless(&stage.text));
            let wall_ns = stage.cost.wall_ns.to_string();
            prop_assert_eq!(&record[10], wall_ns.as_str());
        }
    }
}
