//! Predicts what a pipeline would take if one of its stages were faster.
//!
//! The timeline of a run says how much each stage computed, waited outside the pipeline, read and wrote, and when. What it
//! waited for its neighbours is left out of the model ([`model`]) and comes back from the simulation ([`simulate`]): there
//! it depends on the others. The unchanged model has to take about as long as the run did, or nothing is predicted.
//! Coz (Curtsinger and Berger, SOSP 2015) asks the same of the lines of one program.

mod from_record;
mod model;
mod simulate;
mod transfer;

pub use model::Change;

use model::Model;
use pelton_record::{Pipeline, Prediction, Run, Split, StageWhatIf, WhatIf};
use simulate::total_seconds;

use crate::stage_label::label;

/// The largest difference between the unchanged model and the run, as a share of the run.
const LARGEST_RESIDUAL: f64 = 0.15;
/// The least that a prediction may be off either way, as a share of the time predicted.
const LEAST_MARGIN: f64 = 0.03;
/// The share of their time for which stages have to wait for a CPU before other programs are part of the model.
const CONTENDED: f64 = 0.02;
/// Fewer idle cores than this mean that programs wait for one another's cores.
const IDLE: f64 = 0.25;
/// Programs of others that may want each core then.
const MOST_PER_CORE: f64 = 12.0;
/// What each core that others want adds to [`LEAST_MARGIN`]: their load changes.
const MARGIN_OF_LOAD: f64 = 0.01;
/// Halvings in the search for the load of other programs.
const HALVINGS: usize = 10;
/// The size to which an ordinary user may set a pipe.
const LARGE_PIPE_BYTES: u64 = 1 << 20;
/// A stage that gains less than this share is not recommended.
const WORTHWHILE: f64 = 0.03;

/// A pipeline of a run whose time with changed stages can be predicted.
#[derive(Clone, Debug)]
pub struct Predictor<'a> {
    pipeline: &'a Pipeline,
    model: Model,
    measured_s: f64,
    modelled_s: f64,
}

impl<'a> Predictor<'a> {
    /// Fits a model to the record of a pipeline.
    ///
    /// # Errors
    /// Why nothing can be predicted, in words.
    pub fn fit(run: &Run, pipeline: &'a Pipeline) -> Result<Self, String> {
        if pipeline.stages.len() < 2 {
            return Err("there is only one stage: the time of the whole is its own".into());
        }
        if !pipeline.passes.is_empty() {
            return Err("stages ran natively, in one process".into());
        }
        if pipeline.stages.iter().any(|stage| stage.timeline.is_none()) {
            return Err("the record has no timeline (--what-if and --timeline keep one)".into());
        }
        let measured_s = pipeline.wall_ns as f64 / 1e9;
        let model = with_other_load(from_record::model(run, pipeline)?, run, pipeline, measured_s);
        let modelled_s =
            total_seconds(&model).ok_or("the model of this pipeline comes to no end".to_owned())?;
        let fitted = Predictor { pipeline, model, measured_s, modelled_s };
        match fitted.residual() {
            residual if residual.abs() > LARGEST_RESIDUAL => Err(format!(
                "with nothing changed, the model of this pipeline takes {modelled_s:.2} s instead of {measured_s:.2} s"
            )),
            _ => Ok(fitted),
        }
    }

    /// Returns what of the measured time the unchanged model does not explain, as a share.
    pub fn residual(&self) -> f64 {
        (self.measured_s - self.modelled_s) / self.measured_s
    }

    /// Predicts the pipeline's time with a change of one stage.
    pub fn predict(&self, stage: usize, change: Change) -> Option<Prediction> {
        self.predict_all(&[(stage, change)])
    }

    /// Predicts the pipeline's time with several changes at once.
    pub fn predict_all(&self, changes: &[(usize, Change)]) -> Option<Prediction> {
        let with = |model: Model, (stage, change): &(usize, Change)| model.with(*stage, *change);
        let simulated_s = total_seconds(&changes.iter().fold(self.model.clone(), with))?;
        // What the model does not explain shrinks with the rest, or stays, or was chance.
        let in_proportion = simulated_s * self.measured_s / self.modelled_s;
        let added = simulated_s + self.measured_s - self.modelled_s;
        let all = [in_proportion, added, simulated_s];
        let (low, high) = all.iter().fold((f64::MAX, 0.0), |(low, high), s| (s.min(low), s.max(high)));
        let ns = |seconds: f64| (seconds.max(0.0) * 1e9).round() as u64;
        let margin = LEAST_MARGIN + (MARGIN_OF_LOAD * self.model.others).min(LARGEST_RESIDUAL);
        Some(Prediction {
            total_ns: ns(in_proportion),
            low_ns: ns(low * (1.0 - margin)),
            high_ns: ns(high * (1.0 + margin)),
        })
    }

    fn row(&self, stage: usize, splittable: bool) -> Option<StageWhatIf> {
        let cores = self.model.cores as u32;
        let split = if splittable && cores > 1 { self.predict(stage, Change::Split(cores)) } else { None };
        let pipe = self.model.pipes.get(stage).copied().flatten();
        let small = pipe.is_some_and(|pipe| pipe.capacity < LARGE_PIPE_BYTES as f64);
        Some(StageWhatIf {
            stage,
            free: self.predict(stage, Change::Work(0.0))?,
            twice_as_fast: self.predict(stage, Change::Work(0.5))?,
            split: split.map(|prediction| Split { processes: cores, prediction }),
            larger_pipe: if small {
                self.predict(stage, Change::PipeAfter(LARGE_PIPE_BYTES))
            } else {
                None
            },
            measured_twice_as_fast: None,
        })
    }

    /// Returns the least time with any other stage free.
    pub(crate) fn best_of_others(&self, stage: usize) -> Option<Prediction> {
        let others = (0..self.pipeline.stages.len()).filter(|other| *other != stage);
        others.filter_map(|other| self.predict(other, Change::Work(0.0))).min_by_key(|best| best.total_ns)
    }
}

/// Predicts for the longest pipeline of a run. `splittable`: whether several processes can share a stage's input.
pub fn what_if(run: &Run, splittable: &[bool]) -> WhatIf {
    let longest = run.pipelines.iter().enumerate().max_by_key(|(_, pipeline)| pipeline.wall_ns);
    let Some((index, pipeline)) = longest else {
        return refused(WhatIf::default(), "nothing was run".into());
    };
    let about = WhatIf { pipeline: index, measured_ns: pipeline.wall_ns, ..WhatIf::default() };
    let predictor = match Predictor::fit(run, pipeline) {
        Ok(predictor) => predictor,
        Err(reason) => return refused(about, reason),
    };
    let rows = (0..pipeline.stages.len())
        .filter_map(|stage| predictor.row(stage, splittable.get(stage).copied().unwrap_or(false)))
        .collect::<Vec<_>>();
    WhatIf {
        modelled_ns: Some((predictor.modelled_s * 1e9) as u64),
        other_load_cores: predictor.model.others,
        headline: headline(pipeline, &rows),
        stages: rows,
        ..about
    }
}

fn refused(about: WhatIf, reason: String) -> WhatIf {
    WhatIf { headline: format!("nothing can be predicted: {reason}"), reason: Some(reason), ..about }
}

fn headline(pipeline: &Pipeline, rows: &[StageWhatIf]) -> String {
    let measured = seconds(pipeline.wall_ns);
    let best = rows.iter().min_by_key(|row| row.twice_as_fast.total_ns);
    let gains = |prediction: &Prediction| {
        (prediction.high_ns as f64) < pipeline.wall_ns as f64
            && (prediction.total_ns as f64) < pipeline.wall_ns as f64 * (1.0 - WORTHWHILE)
    };
    match best {
        Some(row) if gains(&row.twice_as_fast) => format!(
            "most is gained in {}: if it were twice as fast, the whole would take {} instead of {measured}; if it were free, {}",
            label(pipeline, row.stage),
            seconds(row.twice_as_fast.total_ns),
            seconds(row.free.total_ns)
        ),
        _ => format!("no stage alone makes the whole clearly faster than {measured}: work on several"),
    }
}

/// Formats a time for a sentence: `0.251 s`, `3.15 s`.
pub(crate) fn seconds(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    if seconds < 1.0 { format!("{seconds:.3} s") } else { format!("{seconds:.2} s") }
}

/// Adds the other programs that kept cores busy, as many as explain the measured time.
fn with_other_load(model: Model, run: &Run, pipeline: &Pipeline, measured_s: f64) -> Model {
    let most = most_other_load(run, pipeline);
    let loaded = |others: f64| Model { others, ..model.clone() };
    let takes_longer =
        |others: f64| total_seconds(&loaded(others)).is_some_and(|total_s| total_s > measured_s);
    if most <= 0.0 || takes_longer(0.0) {
        return model;
    }
    let (mut low, mut high) = (0.0, most);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        (low, high) = if takes_longer(middle) { (low, middle) } else { (middle, high) };
    }
    loaded(low)
}

/// Returns the most cores that other programs may have wanted. While cores are idle, they wanted hardly more than they
/// used; else any number of them may have waited.
fn most_other_load(run: &Run, pipeline: &Pipeline) -> f64 {
    let waits = || pipeline.stages.iter().filter_map(|stage| stage.waits.as_ref());
    let runnable_ns: u64 = waits().map(|waits| waits.cpu_wait_ns).sum();
    let life_ns: u64 = waits().map(|waits| waits.whole_ns()).sum();
    if (runnable_ns as f64) < CONTENDED * life_ns as f64 {
        return 0.0;
    }
    let cores = f64::from(run.machine.cores);
    let used = run.total.cpu_ns() as f64 / run.wall_ns.max(1) as f64;
    let by_others = run.observer.idle_cores.map_or(0.0, |idle| (cores - used - idle).max(0.0));
    let hardly_idle = run.observer.idle_cores.is_some_and(|idle| idle < IDLE);
    if hardly_idle { MOST_PER_CORE * cores } else { 2.0 * by_others + 0.25 }
}

#[cfg(test)]
mod tests;
