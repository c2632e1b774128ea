//! `pelton time --what-if`: what the pipeline would take if one of its stages were faster.

use crate::failure::Failure;
use crate::gain;
use crate::source::Source;
use clap::ValueEnum;
use pelton_record::Run;
use pelton_run::{Environment, Switches};

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
pub fn add(run: &mut Run, source: &Source, environment: &Environment, _how: How) -> Result<(), Failure> {
    let mut found = pelton_run::what_if(run, &splittable(run, source, environment));
    if found.reason.is_none() {
        found.native = gain::native_time(run, source, environment);
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
