//! Simulates a pipeline as flows through bounded pipes.
//!
//! Between two events all rates are constant: a stage works at its own speed, or as fast as an empty pipe is filled or a
//! full one is drained, or as its share of the cores permits. An event is the end of a segment, a start, or a pipe that
//! becomes empty or full.

use super::model::{Model, StageModel};

/// Events after which a simulation is given up.
const MOST_EVENTS: usize = 200_000;
/// The share of a pipe's capacity that counts as nothing: rounding errors are smaller.
const ROUNDING: f64 = 1e-6;
/// Seconds in which a segment without work is done.
const INSTANT_S: f64 = 1e-9;
/// Halvings in the search for the share of a core that each runnable thread gets.
const HALVINGS: usize = 30;

/// Returns the seconds from the start of the first stage to the end of the last; `None` if the model does not end.
pub(super) fn total_seconds(model: &Model) -> Option<f64> {
    let mut simulation = Simulation::new(model);
    for _ in 0..MOST_EVENTS {
        simulation.settle();
        if simulation.stages.iter().all(|stage| stage.ended) {
            return Some(simulation.now_s);
        }
        simulation.advance()?;
    }
    None
}

struct Simulation<'a> {
    model: &'a Model,
    stages: Vec<Progress>,
    /// Bytes in each pipe.
    fills: Vec<f64>,
    now_s: f64,
}

/// How far a stage is.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    segment: usize,
    /// The part of the segment that is done, from 0 to 1.
    done: f64,
    ended: bool,
}

impl<'a> Simulation<'a> {
    fn new(model: &'a Model) -> Self {
        let stages = vec![Progress::default(); model.stages.len()];
        Simulation { model, stages, fills: vec![0.0; model.pipes.len()], now_s: 0.0 }
    }

    /// Ends the stages that have nothing left to do. A writer without a reader ends too, as by SIGPIPE.
    fn settle(&mut self) {
        let mut changed = true;
        while changed {
            changed = false;
            for i in 0..self.stages.len() {
                let all_done = self.stages[i].segment >= self.model.stages[i].segments.len();
                let is_over = all_done && !self.waits_for_eof(i) || self.has_lost_its_reader(i);
                if is_over && !self.stages[i].ended {
                    self.stages[i].ended = true;
                    changed = true;
                }
            }
        }
    }

    fn waits_for_eof(&self, i: usize) -> bool {
        let needs = self.model.stages[i].needs_eof_at.is_some_and(|at| self.stages[i].segment >= at);
        needs && i > 0 && !self.stages[i - 1].ended
    }

    fn has_lost_its_reader(&self, i: usize) -> bool {
        let writes =
            !self.model.stages[i].outlives_reader && self.model.pipes.get(i).is_some_and(Option::is_some);
        writes && self.stages.get(i + 1).is_some_and(|reader| reader.ended)
    }

    /// Moves time on to the next event.
    fn advance(&mut self) -> Option<()> {
        let rates = self.rates();
        let step_s = self.until_next_event(&rates).filter(|step_s| step_s.is_finite())?;
        let flows = self.flows(&rates);
        for ((fill, (input, output)), pipe) in self.fills.iter_mut().zip(flows).zip(&self.model.pipes) {
            let Some(pipe) = pipe else { continue };
            *fill = (*fill + (input - output) * step_s).clamp(0.0, pipe.capacity);
        }
        for (stage, rate) in self.stages.iter_mut().zip(&rates) {
            stage.done += rate * step_s;
            if stage.done >= 1.0 - ROUNDING {
                (stage.segment, stage.done) = (stage.segment + 1, 0.0);
            }
        }
        self.now_s += step_s;
        Some(())
    }

    fn until_next_event(&self, rates: &[f64]) -> Option<f64> {
        let ends = self.stages.iter().zip(rates).filter(|(_, rate)| **rate > 0.0);
        let ends = ends.map(|(stage, rate)| (1.0 - stage.done) / rate);
        let starts = self.model.stages.iter().map(|stage| stage.start_s - self.now_s).filter(|s| *s > 0.0);
        let turns = self.flows(rates).into_iter().enumerate().filter_map(|(i, (input, output))| {
            let (pipe, net) = (self.model.pipes[i]?, input - output);
            let room = if net > 0.0 { pipe.capacity - self.fills[i] } else { self.fills[i] };
            (!self.is_at_limit(i, net)).then(|| room / net.abs())
        });
        ends.chain(starts).chain(turns).min_by(f64::total_cmp)
    }

    /// Whether a pipe cannot become fuller, or emptier, than it is.
    fn is_at_limit(&self, i: usize, net: f64) -> bool {
        net == 0.0 || if net > 0.0 { self.is_full(i) } else { self.is_empty(i) }
    }

    fn is_empty(&self, i: usize) -> bool {
        self.model.pipes[i].is_some_and(|pipe| self.fills[i] <= pipe.capacity * ROUNDING)
    }

    fn is_full(&self, i: usize) -> bool {
        self.model.pipes[i].is_some_and(|pipe| self.fills[i] >= pipe.capacity * (1.0 - ROUNDING))
    }

    /// Returns bytes per second into and out of each pipe.
    fn flows(&self, rates: &[f64]) -> Vec<(f64, f64)> {
        (0..self.fills.len()).map(|i| (rates[i] * self.writes(i), rates[i + 1] * self.reads(i + 1))).collect()
    }

    /// Returns the bytes that stage `i` writes in its segment.
    fn writes(&self, i: usize) -> f64 {
        let segment = self.model.stages[i].segments.get(self.stages[i].segment);
        segment.map_or(0.0, |segment| segment.writes)
    }

    fn reads(&self, i: usize) -> f64 {
        let segment = self.model.stages[i].segments.get(self.stages[i].segment);
        segment.map_or(0.0, |segment| segment.reads)
    }

    /// Returns the rate of each stage, in segments per second. Runnable threads share the cores: one that wants less
    /// than its share gets all it wants.
    fn rates(&self) -> Vec<f64> {
        let all = self.rates_at(1.0);
        if self.cores_wanted(&all) <= self.model.cores {
            return all;
        }
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            let fits = self.cores_wanted(&self.rates_at(middle)) <= self.model.cores;
            (low, high) = if fits { (middle, high) } else { (low, middle) };
        }
        self.rates_at(low)
    }

    fn cores_wanted(&self, rates: &[f64]) -> f64 {
        let busy = |i: usize| {
            let stage = &self.model.stages[i];
            let segment = stage.segments.get(self.stages[i].segment);
            segment.map_or(0.0, |segment| rates[i] * segment.busy_s * stage.threads)
        };
        (0..self.stages.len()).map(busy).sum::<f64>()
    }

    /// Returns the rates if each thread gets at most this share of a core.
    fn rates_at(&self, share: f64) -> Vec<f64> {
        let mut rates: Vec<f64> = (0..self.stages.len()).map(|i| self.own_rate(i, share)).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for i in 0..self.fills.len() {
                changed |= self.couple(i, &mut rates);
            }
        }
        rates
    }

    /// Returns the rate of a stage that waits for no neighbour.
    fn own_rate(&self, i: usize, share: f64) -> f64 {
        let stage: &StageModel = &self.model.stages[i];
        let progress = &self.stages[i];
        let Some(segment) = stage.segments.get(progress.segment) else { return 0.0 };
        if progress.ended || self.now_s < stage.start_s - INSTANT_S || self.waits_for_eof(i) {
            return 0.0;
        }
        let alone = 1.0 / segment.seconds(self.model.caused_by_others).max(INSTANT_S);
        if segment.busy_s > 0.0 { alone.min(share / segment.busy_s) } else { alone }
    }

    /// Limits the reader of an empty pipe to what comes, and the writer of a full one to what goes. Returns whether a
    /// rate fell.
    fn couple(&self, i: usize, rates: &mut [f64]) -> bool {
        const SAME: f64 = 1.0 + 1e-9;
        if self.model.pipes[i].is_none() {
            return false;
        }
        let (writes, reads) = (self.writes(i), self.reads(i + 1));
        let (input, output) = (rates[i] * writes, rates[i + 1] * reads);
        if self.is_empty(i) && !self.stages[i].ended && output > input * SAME {
            rates[i + 1] = input / reads;
            return true;
        }
        if self.is_full(i) && !self.stages[i + 1].ended && input > output * SAME {
            rates[i] = output / writes;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{Change, PipeModel, Segment};
    use super::*;

    const MB: f64 = 1e6;

    /// A stage that works for so many seconds on so many megabytes.
    fn stage(busy_s: f64, outside_s: f64, reads: f64, writes: f64) -> StageModel {
        let segment = Segment { busy_s, outside_s, ready_s: 0.0, reads: reads * MB, writes: writes * MB };
        StageModel { segments: vec![segment], threads: 1.0, needs_eof_at: Some(1), ..StageModel::default() }
    }

    fn model(stages: Vec<StageModel>, cores: f64) -> Model {
        let pipes = vec![Some(PipeModel { capacity: 65_536.0 }); stages.len() - 1];
        Model { stages, pipes, cores, caused_by_others: 0.0 }
    }

    fn assert_takes(model: &Model, expected_s: f64) {
        let total_s = total_seconds(model).expect("an end");
        assert!((total_s - expected_s).abs() < 0.01, "{total_s} instead of {expected_s}");
    }

    #[test]
    fn the_slowest_stage_sets_the_pace() {
        let model = model(
            vec![stage(0.1, 0.0, 0.0, 50.0), stage(2.0, 0.0, 50.0, 50.0), stage(0.5, 0.0, 50.0, 0.0)],
            4.0,
        );
        assert_takes(&model, 2.0);
        assert_takes(&model.with(1, Change::Work(0.5)), 1.0);
        assert_takes(&model.with(1, Change::Work(0.0)), 0.5);
        assert_takes(&model.with(0, Change::Work(0.0)), 2.0);
        // All four cores are busy then: 2.6 s of work in all.
        assert_takes(&model.with(1, Change::Split(4)), 0.65);
    }

    #[test]
    fn cores_are_shared() {
        let two = model(vec![stage(1.0, 0.0, 0.0, 50.0), stage(2.0, 0.0, 50.0, 0.0)], 1.0);
        assert_takes(&two, 3.0);
        assert_takes(&two.with(0, Change::Work(0.0)), 2.0);
        // Split on one core: nothing is gained.
        assert_takes(&two.with(1, Change::Split(2)), 3.0);
        // Other programs take what the stage waited for.
        let mut waits = stage(1.0, 0.0, 0.0, 0.0);
        waits.segments[0].ready_s = 1.0;
        let loaded = Model { caused_by_others: 0.5, ..model(vec![waits], 1.0) };
        assert_takes(&loaded, 1.5);
        assert_takes(&loaded.with(0, Change::Work(0.5)), 0.75);
    }

    #[test]
    fn waits_outside_need_no_core() {
        let model = model(vec![stage(0.0, 1.0, 0.0, 50.0), stage(0.9, 0.0, 50.0, 0.0)], 1.0);
        assert_takes(&model, 1.0);
        assert_takes(&model.with(0, Change::Work(0.5)), 0.9);
    }

    /// Reads 50 MB in 1 s, computes for 1 s, and writes 50 MB in 1 s.
    fn sort() -> StageModel {
        let part = |reads, writes| Segment { busy_s: 1.0, reads, writes, ..Segment::default() };
        let segments = vec![part(50.0 * MB, 0.0), part(0.0, 0.0), part(0.0, 50.0 * MB)];
        StageModel { segments, threads: 1.0, needs_eof_at: Some(1), ..StageModel::default() }
    }

    #[test]
    fn a_stage_before_a_sort_shortens_its_first_phase_only() {
        let model = model(vec![stage(3.0, 0.0, 0.0, 50.0), sort(), stage(2.0, 0.0, 50.0, 0.0)], 4.0);
        // 3 s until the input is read, 1 s of sorting, 2 s of output to a slower reader.
        assert_takes(&model, 6.0);
        assert_takes(&model.with(0, Change::Work(0.5)), 4.5);
        assert_takes(&model.with(0, Change::Work(0.0)), 4.0);
        assert_takes(&model.with(2, Change::Work(0.0)), 5.0);
    }

    #[test]
    fn a_larger_pipe_carries_bursts_over() {
        // Ten times 100 ms without output, then 0.5 MB at once; the reader takes 10 MB/s.
        let burst = [(0.1, 0.0), (0.0, 0.5 * MB)];
        let burst = burst.map(|(outside_s, writes)| Segment { outside_s, writes, ..Segment::default() });
        let segments = std::iter::repeat_n(burst, 10).flatten().collect();
        let writer = StageModel { segments, ..stage(0.0, 0.0, 0.0, 0.0) };
        let model = model(vec![writer, stage(0.5, 0.0, 5.0, 0.0)], 2.0);
        // The reader works through 0.5 MB in 50 ms: the writer's next pause begins 43 ms later than its burst.
        assert_takes(&model, 10.0 * 0.1434 + 0.0066);
        assert_takes(&model.with(0, Change::PipeAfter(1 << 20)), 10.0 * 0.1 + 0.05);
    }

    #[test]
    fn a_writer_ends_with_its_reader() {
        let mut head = stage(0.1, 0.0, 1.0, 0.0);
        head.needs_eof_at = None;
        assert_takes(&model(vec![stage(100.0, 0.0, 0.0, 1000.0), head], 2.0), 0.1);
    }
}
