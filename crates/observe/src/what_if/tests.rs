//! Predictions from made-up records, whose answers are known.

use super::*;
use pelton_record::{Cost, End, How, Machine, PipeUse, Slice, Span, Stage, Waits};

const MS: u64 = 1_000_000;
const SLICE_MS: u64 = 10;

/// What a stage did in each slice of 10 ms: ms running, ms waiting outside, bytes read, bytes written.
type Did = (u64, u64, u64, u64);

fn stage(name: &str, did: &[Did]) -> Stage {
    let slice = |(i, did): (usize, &Did)| Slice {
        start_ns: i as u64 * SLICE_MS * MS,
        length_ns: SLICE_MS * MS,
        running_ns: did.0 * MS,
        other_ns: did.1 * MS,
        starved_ns: (SLICE_MS - did.0 - did.1) * MS,
        read_bytes: Some(did.2),
        written_bytes: Some(did.3),
        ..Slice::default()
    };
    let sum = |part: fn(&Did) -> u64| did.iter().map(part).sum::<u64>();
    let wall_ns = did.len() as u64 * SLICE_MS * MS;
    let (running_ns, other_ns) = (sum(|did| did.0) * MS, sum(|did| did.1) * MS);
    let starved_ns = wall_ns - running_ns - other_ns;
    Stage {
        text: name.into(),
        name: name.into(),
        span: Span::default(),
        program: None,
        how: How::Process,
        pid: 1,
        start_ns: 0,
        end: End::Exited(0),
        cost: Cost {
            wall_ns,
            user_ns: running_ns,
            read_bytes: Some(sum(|did| did.2)),
            written_bytes: Some(sum(|did| did.3)),
            ..Cost::zero()
        },
        waits: Some(Waits { running_ns, other_ns, starved_ns, samples: 100, ..Waits::default() }),
        threads: None,
        profile: None,
        syscalls: None,
        inside: None,
        tree: None,
        timeline: Some(did.iter().enumerate().map(slice).collect()),
        temporary_bytes: None,
        reads_previous: true,
        feeds_next: true,
        stands_for: 1,
        starts_processes: false,
    }
}

fn run(stages: Vec<Stage>) -> Run {
    let wall_ns = stages.iter().map(|stage| stage.cost.wall_ns).max().unwrap_or(0);
    let pipe =
        |writer| PipeUse { writer, reader: writer + 1, capacity_bytes: Some(65_536), ..PipeUse::default() };
    let pipeline = Pipeline {
        text: String::new(),
        span: Span::default(),
        start_ns: 0,
        wall_ns,
        exit_status: 0,
        pipes: (1..stages.len()).map(|reader| pipe(reader - 1)).collect(),
        stages,
        passes: vec![],
    };
    Run {
        machine: Machine { cores: 4, ..Machine::default() },
        pipelines: vec![pipeline],
        wall_ns,
        total: Cost { wall_ns, ..Cost::zero() },
        ..Run::default()
    }
}

/// A stage that computes all the time between two that compute for a tenth and for three tenths of it, for 1 s.
fn busy_middle() -> Run {
    let all = |did: Did| vec![did; 100];
    run(vec![
        stage("cat", &all((1, 0, 0, 100_000))),
        stage("sed", &all((10, 0, 100_000, 100_000))),
        stage("wc", &all((3, 0, 100_000, 0))),
    ])
}

fn assert_near(prediction: Prediction, expected_ms: u64) {
    let total_ms = prediction.total_ns / MS;
    assert!(total_ms.abs_diff(expected_ms) <= 15, "{total_ms} ms instead of {expected_ms} ms");
    assert!(prediction.low_ns < prediction.total_ns && prediction.total_ns < prediction.high_ns);
}

#[test]
fn the_bottleneck_gains_until_the_next_one_sets_the_pace() {
    let said = what_if(&busy_middle(), &[false, true, false]);
    assert_eq!(said.reason, None);
    assert_near(said.stages[1].twice_as_fast, 500);
    assert_near(said.stages[1].free, 300);
    // 1.4 s of work on four cores.
    assert_near(said.stages[1].split.expect("split").prediction, 350);
    assert_near(said.stages[0].free, 1000);
    assert_near(said.stages[2].free, 1000);
    assert_eq!(said.stages[0].split, None);
    assert_eq!(said.stages[2].larger_pipe, None);
    let expected = "most is gained in stage 2 (sed): if it were twice as fast, the whole would take 0.500 s";
    assert!(said.headline.starts_with(expected), "{}", said.headline);
}

#[test]
fn a_sort_waits_for_all_input_whoever_writes_it() {
    // 0.6 s of input at the writer's pace, 0.2 s of sorting, 0.2 s of output.
    let phases = |one: Did, two: Did, three: Did| {
        [vec![one; 60], vec![two; 20], vec![three; 20]].into_iter().flatten().collect::<Vec<_>>()
    };
    let run = run(vec![
        stage("awk", &vec![(10, 0, 0, 100_000); 60]),
        stage("sort", &phases((2, 0, 100_000, 0), (10, 0, 0, 0), (10, 0, 0, 300_000))),
        stage("wc", &phases((0, 0, 0, 0), (0, 0, 0, 0), (1, 0, 300_000, 0))),
    ]);
    let said = what_if(&run, &[]);
    assert_eq!(said.reason, None);
    assert_near(said.stages[0].twice_as_fast, 700);
    assert_near(said.stages[0].free, 520);
    assert_near(said.stages[1].twice_as_fast, 800);
}

#[test]
fn pauses_are_work_too() {
    let run = run(vec![
        stage("curl", &vec![(0, 10, 0, 1000); 100]),
        stage("gzip", &vec![(4, 0, 1000, 100); 100]),
        stage("cat", &vec![(0, 0, 100, 0); 100]),
    ]);
    assert_near(what_if(&run, &[]).stages[0].twice_as_fast, 500);
    assert_near(what_if(&run, &[]).stages[0].free, 400);
}

#[test]
fn what_cannot_be_predicted_is_refused_with_a_reason() {
    let reason = |run: &Run| what_if(run, &[]).reason.expect("a reason");
    let one = run(vec![stage("sort", &[(10, 0, 0, 0); 100])]);
    assert!(reason(&one).contains("only one stage"));
    let short = run(vec![stage("a", &[(10, 0, 0, 9); 5]), stage("b", &[(1, 0, 9, 0); 5])]);
    assert!(reason(&short).contains("too few samples"), "{}", reason(&short));
    let mut bare = busy_middle();
    bare.pipelines[0].stages[1].timeline = None;
    assert!(reason(&bare).contains("no timeline"));
    // Half of the time nobody did anything: no stage explains that.
    let idle: Vec<Did> = (0..100).map(|i| if i % 2 == 0 { (10, 0, 0, 1000) } else { (0, 0, 0, 0) }).collect();
    let idle = run(vec![stage("a", &idle), stage("b", &vec![(1, 0, 500, 0); 100])]);
    assert!(reason(&idle).starts_with("with nothing changed"), "{}", reason(&idle));
}

#[test]
fn the_verdict_says_what_work_on_other_stages_would_gain() {
    let advice = crate::verdict::judge(&busy_middle()).advice.expect("advice");
    let expected = "only a faster stage 2 (sed) or splitting its input over the idle cores helps: with any other stage free, \
                    the whole would still take 1.00 s of 1.00 s";
    assert_eq!(advice, expected);
    let mut bare = busy_middle();
    bare.pipelines[0].stages[0].timeline = None;
    let advice = crate::verdict::judge(&bare).advice.expect("advice");
    assert!(advice.ends_with("that is where most is to be gained, 100% of the time"), "{advice}");
}

#[test]
fn waits_that_other_programs_cause_stay_in_proportion_and_widen_the_range() {
    // Each stage waits for a CPU as long as it computes.
    let half = |did: Did| vec![did; 100];
    let mut loaded = run(vec![stage("sed", &half((5, 0, 0, 1000))), stage("wc", &half((1, 0, 1000, 0)))]);
    for stage in &mut loaded.pipelines[0].stages {
        let waits = stage.waits.as_mut().expect("waits");
        (waits.cpu_wait_ns, waits.starved_ns) = (waits.running_ns, waits.starved_ns - waits.running_ns);
        for slice in stage.timeline.iter_mut().flatten() {
            (slice.cpu_wait_ns, slice.starved_ns) = (slice.running_ns, slice.starved_ns - slice.running_ns);
        }
    }
    let said = what_if(&loaded, &[]);
    assert_near(said.stages[0].twice_as_fast, 500);
    assert!((0.45..0.55).contains(&said.other_load_share), "{}", said.other_load_share);
    let quiet = what_if(&busy_middle(), &[]).stages[1].twice_as_fast;
    let width = |prediction: Prediction| prediction.high_ns - prediction.low_ns;
    assert!(width(said.stages[0].twice_as_fast) > 3 * width(quiet));
}
