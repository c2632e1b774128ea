//! From measurements to a verdict: which stage sets the pace, why, and what its neighbours waited for (P2).
//!
//! This is a pure function of the record, so any record can be judged again.

use crate::advice;
use crate::bottleneck::{self, Awaited, partner, runner_up, waits_most_for};
use crate::stage_label::label;
use crate::surroundings;
use crate::tree::findings::tell;
use pelton_record::{Bottleneck, BottleneckKind, PipeUse, Pipeline, Run, Verdict};

/// Below this wall time, starting processes is most of the work, and no bottleneck can be named.
const TOO_SHORT_NS: u64 = 20_000_000;
/// Judges a run. Uses only `machine`, `pipelines`, `total` and `wall_ns`.
pub fn judge(run: &Run) -> Verdict {
    let mut verdict = judge_stages(run);
    let longest = run.pipelines.iter().max_by_key(|pipeline| pipeline.wall_ns);
    let Some(pipeline) = longest.filter(|pipeline| pipeline.wall_ns >= TOO_SHORT_NS) else { return verdict };
    match pipeline.stages.as_slice() {
        [only] => only.tree.iter().for_each(|tree| tell(&mut verdict, tree)),
        several => {
            for (i, tree) in
                several.iter().enumerate().filter_map(|(i, stage)| Some((i, stage.tree.as_ref()?)))
            {
                let inside = |text: &String| format!("in {}: {text}", label(pipeline, i));
                verdict.neighbours.extend(tree.findings.iter().map(|finding| inside(&finding.headline)));
            }
        }
    }
    verdict
}

/// Judges the pipelines found inside the only row of a run; `None` if there are none.
pub fn judge_inside(run: &Run) -> Option<Verdict> {
    let mut verdict = judge(&run.inner_pipelines()?);
    let stages = run.pipelines.iter().flat_map(|pipeline| &pipeline.stages);
    stages.filter_map(|stage| stage.tree.as_ref()).for_each(|tree| tell(&mut verdict, tree));
    Some(verdict)
}

fn judge_stages(run: &Run) -> Verdict {
    let cores = run.machine.cores;
    let cores_used = if run.wall_ns == 0 { 0.0 } else { run.total.cpu_ns() as f64 / run.wall_ns as f64 };
    let verdict = Verdict { cores_used, cores, ..Verdict::default() };
    let longest = run.pipelines.iter().enumerate().max_by_key(|(_, pipeline)| pipeline.wall_ns);
    let Some((index, pipeline)) = longest else {
        return Verdict { headline: "nothing was run".into(), ..verdict };
    };
    if pipeline.wall_ns < TOO_SHORT_NS {
        let headline = format!(
            "too short to judge: {:.1} ms, most of it the start of {} process{}",
            pipeline.wall_ns as f64 / 1e6,
            pipeline.processes(),
            if pipeline.processes() == 1 { "" } else { "es" }
        );
        return Verdict { headline, ..verdict };
    }
    let Some(bottleneck) = bottleneck::find(index, pipeline) else {
        let headline = match (
            pipeline.stages.len(),
            pipeline.stages.iter().all(|stage| stage.waits.is_some()),
        ) {
            (1, _) => "it neither computed nor was seen to wait for long enough to tell",
            (_, true) => "no stage stands out: all of them waited for one another most of the time",
            (_, false) => {
                "no stage stands out: none computed for long, and it was too short to see what they waited for"
            }
        };
        return Verdict { headline: headline.into(), ..verdict };
    };
    Verdict {
        headline: headline(run, pipeline, &bottleneck),
        neighbours: neighbours(pipeline, bottleneck.stage),
        advice: advice::advise(run, pipeline, &bottleneck, cores_used),
        bottleneck: Some(bottleneck),
        ..verdict
    }
}

/// A pipe with fewer samples is not mentioned.
const SOME_SAMPLES: u32 = 30;

fn percent(part_ns: u64, whole_ns: u64) -> u64 {
    if whole_ns == 0 { 0 } else { (part_ns as f64 / whole_ns as f64 * 100.0).round() as u64 }
}

fn headline(run: &Run, pipeline: &Pipeline, bottleneck: &Bottleneck) -> String {
    let stage = &pipeline.stages[bottleneck.stage];
    let share = (bottleneck.share * 100.0).round();
    let cpu = stage.cost.cpu_share().unwrap_or(0.0) * 100.0;
    let whole = match share_of_run(run, pipeline) {
        _ if run.pipelines.len() == 1 && pipeline.count() == 1 => "run".to_owned(),
        Some(of_run) => format!("pipeline's time (the pipeline takes {of_run:.0}% of the run's)"),
        None => "pipeline's time".to_owned(),
    };
    let what = match bottleneck.kind {
        BottleneckKind::Cpu => {
            format!("it computes: {cpu:.0}% CPU, on the critical path {share:.0}% of the {whole}")
        }
        BottleneckKind::WaitsForCpu => {
            format!(
                "it wanted a CPU for {share:.0}% of the {whole}, and had one for {cpu:.0}%: {}",
                surroundings::held_back_by(run).map_or_else(
                    || "other stages or programs took the rest".to_owned(),
                    surroundings::limit_in_words
                )
            )
        }
        BottleneckKind::WaitsElsewhere => format!(
            "for {share:.0}% of the {whole} it waits for nothing in the pipeline: {} ({cpu:.0}% CPU)",
            elsewhere(pipeline, bottleneck.stage)
        ),
    };
    let place = if run.pipelines.len() > 1 {
        format!(" of pipeline {}", bottleneck.pipeline + 1)
    } else {
        String::new()
    };
    let company = match partner(pipeline, bottleneck).or_else(|| runner_up(pipeline, bottleneck)) {
        Some(other) => format!(" ({} is about as busy)", label(pipeline, other)),
        None => String::new(),
    };
    let native = native_place(pipeline, bottleneck.stage);
    format!("the bottleneck is {}{place}{native}: {what}{company}", label(pipeline, bottleneck.stage))
}

/// Returns how much of a run one of several pipelines takes, in per cent. Those that ran beside others make more than the run.
fn share_of_run(run: &Run, pipeline: &Pipeline) -> Option<f64> {
    let all: u64 = run.pipelines.iter().map(|one| one.wall_ns).sum();
    let can_be_told = run.pipelines.len() > 1 && run.wall_ns > 0 && all <= run.wall_ns;
    can_be_told.then(|| pipeline.wall_ns as f64 * 100.0 / run.wall_ns as f64)
}

/// Describes a stage's largest wait outside the pipeline, if known.
fn elsewhere(pipeline: &Pipeline, row: usize) -> &'static str {
    let stage = &pipeline.stages[row];
    if stage.waits.is_none() {
        return "something else";
    }
    match waits_most_for(stage) {
        Awaited::Tracer => "tracing holds it up at each of its system calls",
        Awaited::Time => "it sleeps until a time has passed",
        Awaited::Lock => "a lock, or a thread of its own",
        // Its pipes to others are none of the pipeline's.
        Awaited::InputOrOutput => match (row == 0, row + 1 == pipeline.stages.len()) {
            (true, true) => "disk, network, terminal, or what writes its input or reads its output",
            (true, false) => "disk, network, terminal, or what writes its input",
            (false, true) => "disk, network, terminal, or what reads its output",
            (false, false) => "disk, network or terminal",
        },
        Awaited::Unknown => "disk, network, terminal, timer or a child",
    }
}

/// Describes how pelton ran a row natively.
fn native_place(pipeline: &Pipeline, row: usize) -> String {
    match pipeline.pass_of(row) {
        None => String::new(),
        Some(pass) if pass.first == pass.last => ", run natively".into(),
        Some(pass) => {
            let (first, last) = (pipeline.numbers(pass.first), pipeline.numbers(pass.last));
            format!(", in the native pass of stages {} to {}", first.start(), last.end())
        }
    }
}

fn neighbours(pipeline: &Pipeline, bottleneck: usize) -> Vec<String> {
    let before = bottleneck.checked_sub(1);
    let after = (bottleneck + 1 < pipeline.stages.len()).then_some(bottleneck + 1);
    before.into_iter().chain(after).map(|i| waited(pipeline, i, bottleneck)).collect()
}

/// Describes a neighbour that alternates with the bottleneck in the same pass.
fn took_turns(pipeline: &Pipeline, i: usize, bottleneck: usize) -> Option<String> {
    let pass = pipeline.pass_of(i)?;
    if !pass.rows().contains(&bottleneck) {
        return None;
    }
    let share = percent(pipeline.stages[i].cost.cpu_ns(), pass.cost.cpu_ns());
    Some(format!(
        "{} {} turns with it in the same process: {share}% of the pass's CPU time",
        label(pipeline, i),
        if pipeline.stages[i].stands_for > 1 { "take" } else { "takes" }
    ))
}

/// Describes what a neighbour waited for.
fn waited(pipeline: &Pipeline, i: usize, bottleneck: usize) -> String {
    if let Some(turns) = took_turns(pipeline, i, bottleneck) {
        return turns;
    }
    let stage = &pipeline.stages[i];
    let who = label(pipeline, i);
    let Some(waits) = &stage.waits else {
        let busy = percent(stage.cost.cpu_ns(), pipeline.wall_ns);
        return format!("{who} was busy for {busy}% of the time (too few samples to say what it waited for)");
    };
    let life = stage.cost.wall_ns;
    let (full, empty) = (percent(waits.backpressured_ns, life), percent(waits.starved_ns, life));
    let busy = percent(waits.own_ns(), life);
    let (was, its) = if stage.stands_for > 1 { ("were", "their") } else { ("was", "its") };
    match (full, empty) {
        (0, 0) => format!("{who} waited for no neighbour"),
        _ if full >= empty && full > busy => {
            let pipe = pipeline.pipes.iter().find(|pipe| pipe.writer == i);
            format!(
                "{who} {was} blocked on write {full}% of {its} life: the pipe after it was full{}, its reader is slower",
                often(pipe, |pipe| pipe.full_share)
            )
        }
        _ if empty > full && empty > busy => {
            let pipe = pipeline.pipes.iter().find(|pipe| pipe.reader == i);
            format!(
                "{who} {was} blocked on read {empty}% of {its} life: the pipe before it was empty{}, its writer is slower",
                often(pipe, |pipe| pipe.empty_share)
            )
        }
        _ => format!("{who} {was} busy {busy}% of {its} life, blocked {empty}% on read and {full}% on write"),
    }
}

/// Says how often a pipe was in this state, if it was sampled often enough.
fn often(pipe: Option<&PipeUse>, share: fn(&PipeUse) -> f64) -> String {
    let share = pipe.filter(|pipe| pipe.samples >= SOME_SAMPLES).map(share);
    share
        .filter(|share| *share >= 0.5)
        .map_or(String::new(), |share| format!(" {:.0}% of the time", share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_record::{Cost, End, How, Machine, Span, Stage, Waits};

    /// A stage that lived for 1 s: running, runnable, starved, back-pressured and otherwise waiting, in
    /// milliseconds.
    fn stage(name: &str, ms: [u64; 5]) -> Stage {
        let [running, ready, starved, full, other] = ms.map(|ms| ms * 1_000_000);
        Stage {
            text: name.into(),
            name: name.into(),
            span: Span::default(),
            program: None,
            how: How::Process,
            pid: 1,
            start_ns: 0,
            end: End::Exited(0),
            cost: Cost { wall_ns: 1_000_000_000, user_ns: running, ..Cost::zero() },
            waits: Some(Waits {
                running_ns: running,
                cpu_wait_ns: ready,
                starved_ns: starved,
                backpressured_ns: full,
                other_ns: other,
                samples: 50,
                ..Waits::default()
            }),
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

    fn judged(stages: Vec<Stage>) -> Verdict {
        judged_with(stages, vec![])
    }

    fn judged_with(stages: Vec<Stage>, passes: Vec<pelton_record::Pass>) -> Verdict {
        let wall_ns = 1_000_000_000;
        let pipeline = Pipeline {
            text: String::new(),
            span: Span::default(),
            start_ns: 0,
            wall_ns,
            exit_status: 0,
            stages,
            passes,
            pipes: vec![],
        };
        let mut total = Cost::zero();
        pipeline.stages.iter().for_each(|stage| total.add(&stage.cost));
        judge(&Run {
            shell: "bash".into(),
            machine: Machine { cores: 2, ..Machine::default() },
            pipelines: vec![pipeline],
            wall_ns,
            total,
            ..Run::default()
        })
    }

    fn answer(stages: Vec<Stage>) -> Option<(usize, BottleneckKind)> {
        judged(stages).bottleneck.map(|b| (b.stage, b.kind))
    }

    #[test]
    fn the_busy_middle_stage() {
        let verdict = judged(vec![
            stage("cat", [50, 0, 0, 950, 0]),
            stage("sed", [980, 20, 0, 0, 0]),
            stage("wc", [100, 0, 900, 0, 0]),
        ]);
        assert_eq!(verdict.bottleneck.as_ref().map(|b| b.stage), Some(1));
        assert!(
            verdict.neighbours[0].contains("was blocked on write 95% of its life"),
            "{:?}",
            verdict.neighbours
        );
        assert!(
            verdict.neighbours[1].contains("was blocked on read 90% of its life"),
            "{:?}",
            verdict.neighbours
        );
    }

    #[test]
    fn a_sleeping_producer() {
        let stages = vec![stage("curl", [10, 0, 0, 0, 990]), stage("gzip", [200, 0, 800, 0, 0])];
        assert_eq!(answer(stages), Some((0, BottleneckKind::WaitsElsewhere)));
    }

    #[test]
    fn what_it_waits_for_elsewhere_is_named() {
        let mut sleeper = stage("sh", [10, 0, 0, 0, 990]);
        if let Some(waits) = &mut sleeper.waits {
            waits.elsewhere.asleep_ns = 900_000_000;
        }
        let verdict = judged(vec![sleeper, stage("wc", [10, 0, 990, 0, 0])]);
        assert!(verdict.headline.contains("it sleeps until a time has passed"), "{}", verdict.headline);
    }

    #[test]
    fn pipes_bear_neighbours_out() {
        let pipe = PipeUse { writer: 0, reader: 1, full_share: 0.93, samples: 100, ..PipeUse::default() };
        let seen = |samples| often(Some(&PipeUse { samples, ..pipe.clone() }), |pipe| pipe.full_share);
        assert_eq!((seen(100).as_str(), seen(10).as_str()), (" 93% of the time", ""));
        assert_eq!(often(Some(&pipe), |pipe| pipe.empty_share), "");
    }

    #[test]
    fn on_a_loaded_machine_readiness_counts() {
        let stages = vec![stage("awk", [400, 550, 0, 50, 0]), stage("wc", [100, 100, 800, 0, 0])];
        assert_eq!(answer(stages), Some((0, BottleneckKind::WaitsForCpu)));
    }

    #[test]
    fn on_a_crowded_machine_who_computes_most_counts() {
        let stages = vec![stage("cat", [80, 620, 0, 300, 0]), stage("sha512sum", [210, 400, 390, 0, 0])];
        assert_eq!(answer(stages), Some((1, BottleneckKind::WaitsForCpu)));
    }

    #[test]
    fn one_that_polls_yields_to_one_that_computes() {
        let stages = vec![stage("node", [20, 0, 0, 0, 980]), stage("gzip", [950, 0, 50, 0, 0])];
        assert_eq!(answer(stages), Some((1, BottleneckKind::Cpu)));
    }

    #[test]
    fn a_native_pass_takes_turns() {
        let mut stages = vec![
            stage("cut", [250, 0, 0, 750, 0]),
            stage("sort | uniq -c", [700, 0, 250, 0, 50]),
            stage("awk", [20, 0, 980, 0, 0]),
        ];
        stages[1].stands_for = 2;
        for stage in &mut stages[..2] {
            stage.how = How::Native { pass: 0, rules: vec![], label: None, handed_over: false };
        }
        let cost = Cost { wall_ns: 1_000_000_000, user_ns: 950_000_000, ..Cost::zero() };
        let pass = pelton_record::Pass { first: 0, last: 1, pid: 1, cost, waits: None };
        let verdict = judged_with(stages, vec![pass]);
        assert!(
            verdict.headline.starts_with(
                "the bottleneck is stages 2 to 3 (sort | uniq -c), in the native pass of stages 1 to 3: it computes: 70% CPU"
            ),
            "{}",
            verdict.headline
        );
        assert_eq!(
            verdict.neighbours[0],
            "stage 1 (cut) takes turns with it in the same process: 26% of the pass's CPU time"
        );
        assert!(
            verdict.neighbours[1].starts_with("stage 4 (awk) was blocked on read 98%"),
            "{:?}",
            verdict.neighbours
        );
    }

    #[test]
    fn nobody_stands_out() {
        let stages = vec![stage("a", [100, 0, 0, 900, 0]), stage("b", [100, 0, 900, 0, 0])];
        assert_eq!(answer(stages), None);
    }

    #[test]
    fn two_that_share_the_pace_are_both_named() {
        let verdict = judged(vec![stage("a", [980, 0, 0, 20, 0]), stage("b", [940, 0, 60, 0, 0])]);
        assert!(verdict.headline.contains("stage 2 (b) is about as busy"), "{}", verdict.headline);
    }
}
