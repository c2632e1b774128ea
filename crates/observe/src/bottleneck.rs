//! Finds the stage that sets the pace, and what it waits for.
//!
//! The bottleneck is the stage with the most time of its own: running, runnable without a CPU, or waiting for
//! something outside the pipeline. All others are starved (blocked on read) or back-pressured (blocked on
//! write).

use pelton_record::{Bottleneck, BottleneckKind, Elsewhere, Pipeline, Stage};

/// Stages within this share of the busiest one are compared again, by CPU time.
const CLOSE: f64 = 0.10;
/// Two stages as busy as this, and within [`CLOSE`] of each other, set the pace together.
const BUSY: f64 = 0.70;
/// A stage with less than this share of the time is not a bottleneck.
const LEAST_SHARE: f64 = 0.25;

/// Returns the share of the pipeline's wall time in which this stage, and not a neighbour, set the pace.
fn own_share(stage: &Stage, pipeline: &Pipeline) -> f64 {
    let own_ns = match &stage.waits {
        Some(waits) => waits.own_ns(),
        None => stage.cost.cpu_ns().min(stage.cost.wall_ns),
    };
    own_ns as f64 / pipeline.wall_ns as f64
}

/// Returns the share of the pipeline's wall time in which this stage was running or runnable.
fn cpu_demand(stage: &Stage, pipeline: &Pipeline) -> f64 {
    let ns = match &stage.waits {
        Some(waits) => waits.running_ns + waits.cpu_wait_ns,
        None => stage.cost.cpu_ns(),
    };
    ns as f64 / pipeline.wall_ns as f64
}

/// Returns the bottleneck of the pipeline with this index, if one stage stands out.
pub(crate) fn find(index: usize, pipeline: &Pipeline) -> Option<Bottleneck> {
    let shares: Vec<f64> = pipeline.stages.iter().map(|stage| own_share(stage, pipeline)).collect();
    let most = shares.iter().copied().fold(0.0, f64::max);
    if most < LEAST_SHARE {
        return None;
    }
    // A stage whose waits the probes cannot read (it polls) appears to wait for no neighbour. A stage that
    // computes for as long is the better answer.
    let demand = |i: usize| cpu_demand(&pipeline.stages[i], pipeline);
    let candidates = (0..shares.len()).filter(|&i| shares[i] >= most - CLOSE);
    let busiest = candidates.max_by(|&a, &b| demand(a).total_cmp(&demand(b)))?;
    let stage = match kind(&pipeline.stages[busiest]) {
        BottleneckKind::WaitsForCpu => would_take_longest(pipeline, &shares).unwrap_or(busiest),
        _ => busiest,
    };
    Some(Bottleneck {
        pipeline: index,
        stage,
        kind: kind(&pipeline.stages[stage]),
        share: shares[stage].min(1.0),
    })
}

/// Returns the stage that would take longest without waits for a CPU: where many programs compete for each
/// CPU, a stage that computes little but often waits longest.
fn would_take_longest(pipeline: &Pipeline, shares: &[f64]) -> Option<usize> {
    let quiet_ns = |i: usize| {
        let stage = &pipeline.stages[i];
        stage.waits.as_ref().map_or(stage.cost.cpu_ns(), |waits| waits.running_ns + waits.other_ns)
    };
    let candidates = (0..shares.len()).filter(|&i| shares[i] >= LEAST_SHARE);
    candidates.max_by_key(|&i| quiet_ns(i))
}

fn kind(stage: &Stage) -> BottleneckKind {
    let Some(waits) = &stage.waits else { return BottleneckKind::Cpu };
    if waits.other_ns > waits.running_ns + waits.cpu_wait_ns {
        BottleneckKind::WaitsElsewhere
    } else if waits.cpu_wait_ns > waits.running_ns {
        BottleneckKind::WaitsForCpu
    } else {
        BottleneckKind::Cpu
    }
}

/// Returns another stage with about as much time of its own: another run may find that one.
pub(crate) fn runner_up(pipeline: &Pipeline, bottleneck: &Bottleneck) -> Option<usize> {
    let share = |i: usize| own_share(&pipeline.stages[i], pipeline);
    let others = (0..pipeline.stages.len()).filter(|&i| i != bottleneck.stage);
    let next = others.max_by(|&a, &b| share(a).total_cmp(&share(b)))?;
    (share(next) >= LEAST_SHARE && bottleneck.share - share(next) <= CLOSE).then_some(next)
}

/// Returns another stage that computes about as much: speeding up either alone gains little.
pub(crate) fn partner(pipeline: &Pipeline, bottleneck: &Bottleneck) -> Option<usize> {
    let demand = |i: usize| cpu_demand(&pipeline.stages[i], pipeline);
    let own = demand(bottleneck.stage);
    (0..pipeline.stages.len())
        .find(|&i| i != bottleneck.stage && demand(i) >= BUSY && own - demand(i) <= CLOSE)
}

/// What a stage waits for outside the pipeline.
pub(crate) enum Awaited {
    Time,
    Lock,
    /// The tracer, at each system call.
    Tracer,
    InputOrOutput,
    Unknown,
}

/// Returns the largest such wait, if known.
pub(crate) fn waits_most_for(stage: &Stage) -> Awaited {
    let Some(waits) = &stage.waits else { return Awaited::Unknown };
    let Elsewhere { io_ns, lock_ns, asleep_ns, held_ns } = waits.elsewhere;
    let most = io_ns.max(lock_ns).max(asleep_ns).max(held_ns);
    match () {
        () if held_ns * 2 > waits.other_ns => Awaited::Tracer,
        () if most * 2 < waits.other_ns => Awaited::Unknown,
        () if most == asleep_ns => Awaited::Time,
        () if most == lock_ns => Awaited::Lock,
        () => Awaited::InputOrOutput,
    }
}
