//! `pelton time --what-if`: what the pipeline would take if one of its stages were faster.

use crate::failure::Failure;
use crate::gain;
use crate::source::Source;
use crate::terminal;
use crate::time::{self, Drain, Input};
use clap::ValueEnum;
use pelton_record::{Prediction, Run, Stage, WhatIf};
use pelton_run::{Environment, HoldOthers, Observing, Options, Switches};

/// How it is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum How {
    /// A model made from the record of the run
    Model,
    /// As model, and by runs in which all other stages are slowed down
    Measure,
}

/// Adds predictions to the record of a run.
///
/// # Errors
/// If the pipeline cannot be run again to measure.
pub fn add(run: &mut Run, source: &Source, environment: &Environment, how: How) -> Result<(), Failure> {
    let mut found = pelton_run::what_if(run, &splittable(run, source, environment));
    if found.reason.is_none() {
        found.native = gain::native_time(run, source, environment);
    }
    if how == How::Measure {
        let note = measure(&mut found, run, source, environment)?;
        run.notes.push(note);
    }
    run.what_if = Some(found);
    Ok(())
}

/// Returns which stages of the longest pipeline several processes could share.
fn splittable(run: &Run, source: &Source, environment: &Environment) -> Vec<bool> {
    let Source::Text(request, plan) = source else { return Vec::new() };
    let longest = run.pipelines.iter().max_by_key(|pipeline| pipeline.wall_ns);
    let explained = pelton_run::explain(plan, request, environment, &Switches::default(), false);
    let same = explained.into_iter().find(|one| longest.is_some_and(|longest| longest.text == one.text));
    same.map_or(Vec::new(), |one| one.planned.stages.iter().map(|note| note.shareable).collect())
}

/// The share of a stage's time that it saves in effect while the others are slowed down.
const SAVED: f64 = 0.5;
/// A stage that computes for less than this share of the time is not measured: nothing is to be gained.
const LEAST_BUSY: f64 = 0.1;
/// The least that a measured time may be off either way.
const MARGIN: f64 = 0.05;

/// Runs the pipeline again for each stage that computes, with all others slowed down. Returns a note on what was done.
fn measure(
    found: &mut WhatIf,
    run: &Run,
    source: &Source,
    environment: &Environment,
) -> Result<String, Failure> {
    let [pipeline] = run.pipelines.as_slice() else {
        let why = match run.pipelines.len() {
            0 => "nothing was run",
            _ => "the text has several pipelines, and only one can be run again with its stages slowed down",
        };
        return Ok(format!("measured nothing: {why}"));
    };
    let measured: Vec<usize> = (0..found.stages.len())
        .filter(|row| is_measurable(&pipeline.stages[found.stages[*row].stage], run.wall_ns))
        .collect();
    if measured.is_empty() {
        return Ok("measured nothing: no stage computes for long enough by itself".to_owned());
    }
    let input = Input::hold()?;
    let drain = Drain::start()?;
    let progress = terminal::progress(measured.len() as u64 + 1, "run");
    let again = |stage: usize, share: f64| -> Result<Option<u64>, Failure> {
        input.rewind()?;
        let hold_others = Some(HoldOthers { stage, share });
        let options = Options { observing: Observing::Yes, hold_others, ..Options::FAITHFULLY };
        let measured = time::measure(source, environment, options)?;
        progress.inc(1);
        Ok((!measured.interrupted).then(|| measured.run.wall_ns.saturating_sub(measured.held_ns)))
    };
    // With the same large pipes and the same output, nothing slowed down.
    let Some(plain_ns) = again(measured[0], 0.0)? else { return Ok(INTERRUPTED.to_owned()) };
    for row in measured {
        let Some(held_ns) = again(found.stages[row].stage, SAVED)? else { return Ok(INTERRUPTED.to_owned()) };
        found.stages[row].measured_twice_as_fast = Some(prediction(held_ns, plain_ns, run.wall_ns));
    }
    drop(drain);
    progress.finish_and_clear();
    Ok(input.note().unwrap_or_else(|| MEASURED.to_owned()))
}

const INTERRUPTED: &str = "interrupted: not every stage was measured";
const MEASURED: &str = "measured: one more run for each stage that computes, with all others stopped for half of the CPU time that it uses";

/// Whether a stage computes by itself: what its children use cannot be told in time, and sleep is not seen.
fn is_measurable(stage: &Stage, wall_ns: u64) -> bool {
    let cpu_ns = stage.cost.cpu_ns();
    let waits_more = stage.waits.as_ref().is_some_and(|waits| waits.other_ns > waits.running_ns);
    stage.tree.is_none() && !waits_more && cpu_ns as f64 >= LEAST_BUSY * wall_ns as f64
}

/// Returns the time of a run less what the others were stopped, with the range that follows from how much the same
/// pipeline differs from run to run.
fn prediction(held_ns: u64, plain_ns: u64, wall_ns: u64) -> Prediction {
    let in_proportion = held_ns as f64 * wall_ns as f64 / plain_ns.max(1) as f64;
    let [low, high] = [in_proportion.min(held_ns as f64), in_proportion.max(held_ns as f64)];
    Prediction {
        total_ns: in_proportion as u64,
        low_ns: (low * (1.0 - MARGIN)) as u64,
        high_ns: (high * (1.0 + MARGIN)) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::prediction;

    #[test]
    fn runs_that_differ_widen_the_range() {
        let same = prediction(600, 1000, 1000);
        assert_eq!((same.total_ns, same.low_ns, same.high_ns), (600, 570, 630));
        let slower_then = prediction(600, 1200, 1000);
        assert_eq!((slower_then.total_ns, slower_then.low_ns, slower_then.high_ns), (500, 475, 630));
    }
}
