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
/// What the part of the time that other programs cause adds to [`LEAST_MARGIN`]: their load changes.
const MARGIN_OF_LOAD: f64 = 0.4;
/// From this share up, the sentence mentions it.
const MUCH_LOAD: f64 = 0.2;
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
    /// The share of the time that other programs cause.
    loaded_share: f64,
}

impl<'a> Predictor<'a> {
    /// Fits a model to the record of a pipeline.
    ///
    /// # Errors
    /// Why nothing can be predicted, in words.
    pub fn fit(run: &Run, pipeline: &'a Pipeline) -> Result<Self, String> {
        if pipeline.stages.len() < 2 {
            return Err(match run.pipelines.len() {
                0 | 1 => "there is only one stage: the time of the whole is its own".into(),
                _ => format!("the longest of the pipelines, `{}`, has only one stage", pipeline.text),
            });
        }
        if !pipeline.passes.is_empty() {
            return Err("stages ran natively, in one process".into());
        }
        if pipeline.stages.iter().any(|stage| stage.timeline.is_none()) {
            return Err("the record has no timeline (--what-if and --timeline keep one)".into());
        }
        let measured_s = pipeline.wall_ns as f64 / 1e9;
        let model = with_other_load(from_record::model(run, pipeline)?, measured_s);
        let modelled_s =
            total_seconds(&model).ok_or("the model of this pipeline comes to no end".to_owned())?;
        let alone_s = total_seconds(&Model { caused_by_others: 0.0, ..model.clone() }).unwrap_or(modelled_s);
        let loaded_share = (1.0 - alone_s / modelled_s).max(0.0);
        let fitted = Predictor { pipeline, model, measured_s, modelled_s, loaded_share };
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

    /// Returns the same model on a machine with no other programs, whose time it takes for measured.
    pub fn without_other_programs(&self) -> Option<Self> {
        let model = Model { caused_by_others: 0.0, ..self.model.clone() };
        let modelled_s = total_seconds(&model)?;
        Some(Predictor { model, measured_s: modelled_s, modelled_s, loaded_share: 0.0, ..*self })
    }

    /// Returns the time of the pipeline in the model, with nothing changed.
    pub fn modelled_seconds(&self) -> f64 {
        self.modelled_s
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
        let margin = LEAST_MARGIN + MARGIN_OF_LOAD * self.loaded_share;
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
            larger_pipe: if small { self.predict(stage, Change::PipeAfter(LARGE_PIPE_BYTES)) } else { None },
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
        other_load_share: predictor.loaded_share,
        headline: headline(pipeline, &rows) + &load(predictor.loaded_share),
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

/// Says how much of the time other programs caused, if it is much.
fn load(share: f64) -> String {
    if share < MUCH_LOAD {
        return String::new();
    }
    format!("; other programs caused {:.0}% of that time: measure again when they are done", share * 100.0)
}

/// Formats a time for a sentence: `0.251 s`, `3.15 s`.
pub(crate) fn seconds(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    if seconds < 1.0 { format!("{seconds:.3} s") } else { format!("{seconds:.2} s") }
}

/// Adds as much of the stages' waits for a CPU as explains the measured time: other programs caused it.
fn with_other_load(model: Model, measured_s: f64) -> Model {
    let loaded = |caused_by_others: f64| Model { caused_by_others, ..model.clone() };
    let takes_longer = |share: f64| total_seconds(&loaded(share)).is_some_and(|total_s| total_s > measured_s);
    if takes_longer(0.0) {
        return model;
    }
    if !takes_longer(1.0) {
        return loaded(1.0);
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        (low, high) = if takes_longer(middle) { (low, middle) } else { (middle, high) };
    }
    loaded(low)
}

#[cfg(test)]
mod tests;
