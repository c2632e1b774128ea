//! Summarises several runs of the same command line: medians instead of single values, with the raw values
//! kept.

use crate::verdict::judge;
use pelton_record::{Cost, Elsewhere, Pipeline, Repeats, Run, Stage, StageRepeats, Waits};
use std::collections::BTreeMap;

/// Returns one record for `runs` (at least one), in the order made; `warmup` runs before them were dropped.
///
/// If the runs did not all take the same path (`a && b`), their rows are not comparable: the result is then
/// the last run's, and a note says so.
pub fn summarise(mut runs: Vec<Run>, warmup: u32) -> Option<Run> {
    let mut summary = runs.pop()?;
    let same = runs.iter().all(|run| shape(run) == shape(&summary));
    runs.push(summary.clone());
    let list = |value: fn(&Run) -> u64| runs.iter().map(value).collect::<Vec<u64>>();
    let mut repeats = Repeats {
        runs: runs.len() as u32,
        warmup,
        wall_ns: list(|run| run.wall_ns),
        user_ns: list(|run| run.total.user_ns),
        sys_ns: list(|run| run.total.sys_ns),
        exit_status: runs.iter().map(|run| run.exit_status).collect(),
        stages: Vec::new(),
    };
    if same {
        repeats.stages = stage_repeats(&runs);
        put_medians(&mut summary, &runs);
    } else {
        summary
            .notes
            .push("the runs did not all run the same stages: the rows are those of the last run".into());
    }
    let statuses = &repeats.exit_status;
    if statuses.iter().any(|status| *status != statuses[0]) {
        summary.notes.push(format!("the runs did not all end alike: exit statuses {}", joined(statuses)));
    }
    summary.repeats = Some(repeats);
    summary.verdict = judge(&summary);
    Some(summary)
}

/// Returns the runs behind the medians of a record: each has its own times, and the other figures of the record. If it holds a
/// single run, that one.
pub fn each_run(summary: &Run) -> Vec<Run> {
    let Some(repeats) = &summary.repeats else { return vec![summary.clone()] };
    let each = |at: usize| {
        let mut run = Run { repeats: None, ..summary.clone() };
        run.wall_ns = *repeats.wall_ns.get(at)?;
        run.total.wall_ns = run.wall_ns;
        run.total.user_ns = *repeats.user_ns.get(at)?;
        run.total.sys_ns = *repeats.sys_ns.get(at)?;
        run.exit_status = *repeats.exit_status.get(at)?;
        let stages = run.pipelines.iter_mut().flat_map(|pipeline| &mut pipeline.stages);
        for (stage, own) in stages.zip(&repeats.stages) {
            stage.cost.wall_ns = *own.wall_ns.get(at)?;
            stage.cost.user_ns = *own.user_ns.get(at)?;
            stage.cost.sys_ns = *own.sys_ns.get(at)?;
        }
        Some(run)
    };
    (0..repeats.runs as usize).map_while(each).collect()
}

fn joined(statuses: &[i32]) -> String {
    statuses.iter().map(i32::to_string).collect::<Vec<_>>().join(" ")
}

fn shape(run: &Run) -> Vec<Vec<&str>> {
    run.pipelines.iter().map(|p| p.stages.iter().map(|stage| stage.text.as_str()).collect()).collect()
}

fn stages(run: &Run) -> impl Iterator<Item = &Stage> {
    run.pipelines.iter().flat_map(|pipeline| &pipeline.stages)
}

fn stage_repeats(runs: &[Run]) -> Vec<StageRepeats> {
    let count = runs.first().map_or(0, |run| stages(run).count());
    let mut rows = vec![StageRepeats::default(); count];
    for run in runs {
        for (row, stage) in rows.iter_mut().zip(stages(run)) {
            row.wall_ns.push(stage.cost.wall_ns);
            row.user_ns.push(stage.cost.user_ns);
            row.sys_ns.push(stage.cost.sys_ns);
        }
    }
    rows
}

/// Returns the median; for an even number of values, the mean of the two in the middle.
pub(crate) fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    match values.len() {
        0 => 0,
        n if n % 2 == 1 => values[n / 2],
        n => values[n / 2 - 1].midpoint(values[n / 2]),
    }
}

fn put_medians(summary: &mut Run, runs: &[Run]) {
    summary.wall_ns = median(runs.iter().map(|run| run.wall_ns).collect());
    summary.total = median_cost(&runs.iter().map(|run| &run.total).collect::<Vec<_>>());
    let mut idle: Vec<f64> = runs.iter().filter_map(|run| run.observer.idle_cores).collect();
    idle.sort_by(f64::total_cmp);
    summary.observer.idle_cores = idle.get(idle.len() / 2).copied();
    summary.observer.cpu_ns = median(runs.iter().map(|run| run.observer.cpu_ns).collect());
    for (p, pipeline) in summary.pipelines.iter_mut().enumerate() {
        let same: Vec<&Pipeline> = runs.iter().map(|run| &run.pipelines[p]).collect();
        pipeline.wall_ns = median(same.iter().map(|p| p.wall_ns).collect());
        pipeline.start_ns = median(same.iter().map(|p| p.start_ns).collect());
        for (s, stage) in pipeline.stages.iter_mut().enumerate() {
            let same: Vec<&Stage> = same.iter().map(|p| &p.stages[s]).collect();
            stage.cost = median_cost(&same.iter().map(|s| &s.cost).collect::<Vec<_>>());
            stage.start_ns = median(same.iter().map(|s| s.start_ns).collect());
            stage.waits = median_waits(&same);
        }
    }
}

fn median_cost(costs: &[&Cost]) -> Cost {
    let of = |value: fn(&Cost) -> u64| median(costs.iter().map(|cost| value(cost)).collect());
    let known = |value: fn(&Cost) -> Option<u64>| {
        let values: Option<Vec<u64>> = costs.iter().map(|cost| value(cost)).collect();
        values.map(median)
    };
    Cost {
        wall_ns: of(|c| c.wall_ns),
        user_ns: of(|c| c.user_ns),
        sys_ns: of(|c| c.sys_ns),
        peak_rss_bytes: of(|c| c.peak_rss_bytes),
        peak_rss_is_bound: costs.iter().any(|cost| cost.peak_rss_is_bound),
        read_bytes: known(|c| c.read_bytes),
        written_bytes: known(|c| c.written_bytes),
        read_calls: known(|c| c.read_calls),
        write_calls: known(|c| c.write_calls),
        minor_faults: of(|c| c.minor_faults),
        major_faults: of(|c| c.major_faults),
        block_inputs: of(|c| c.block_inputs),
        block_outputs: of(|c| c.block_outputs),
        voluntary_switches: of(|c| c.voluntary_switches),
        involuntary_switches: of(|c| c.involuntary_switches),
        unmaintained: costs.last().map(|cost| cost.unmaintained.clone()).unwrap_or_default(),
        figures: median_figures(costs),
    }
}

/// Returns the medians of the figures that have a name in every run.
fn median_figures(costs: &[&Cost]) -> BTreeMap<String, Option<u64>> {
    let names = costs.first().into_iter().flat_map(|cost| cost.figures.keys());
    let figure = |name: &String| {
        let values: Option<Vec<_>> = costs.iter().map(|cost| cost.figures.get(name)).collect();
        let known: Option<Vec<u64>> = values?.into_iter().copied().collect();
        Some((name.clone(), known.map(median)))
    };
    names.filter_map(figure).collect()
}

/// Returns the medians of each part, fitted again to the median wall time.
fn median_waits(stages: &[&Stage]) -> Option<Waits> {
    let waits: Vec<&Waits> = stages.iter().filter_map(|stage| stage.waits.as_ref()).collect();
    if waits.len() < stages.len() {
        return None;
    }
    let wall_ns = median(stages.iter().map(|stage| stage.cost.wall_ns).collect());
    let of = |value: fn(&Waits) -> u64| median(waits.iter().map(|w| value(w)).collect());
    let parts = [
        of(|w| w.running_ns),
        of(|w| w.cpu_wait_ns),
        of(|w| w.starved_ns),
        of(|w| w.backpressured_ns),
        of(|w| w.other_ns),
    ];
    let sum: u64 = parts.iter().sum();
    let fitted = |part: u64| if sum == 0 { 0 } else { (part as f64 * wall_ns as f64 / sum as f64) as u64 };
    let elsewhere = Elsewhere {
        io_ns: fitted(of(|w| w.elsewhere.io_ns)),
        lock_ns: fitted(of(|w| w.elsewhere.lock_ns)),
        asleep_ns: fitted(of(|w| w.elsewhere.asleep_ns)),
        held_ns: fitted(of(|w| w.elsewhere.held_ns)),
    };
    let [running_ns, cpu_wait_ns, starved_ns, backpressured_ns, _] = parts.map(fitted);
    Some(Waits {
        running_ns,
        cpu_wait_ns,
        starved_ns,
        backpressured_ns,
        other_ns: wall_ns.saturating_sub(running_ns + cpu_wait_ns + starved_ns + backpressured_ns),
        samples: waits.iter().map(|w| w.samples).sum(),
        elsewhere,
        margin_ns: waits.iter().map(|w| w.margin_ns).max().flatten(),
        exact: None,
    })
}

#[cfg(test)]
mod tests {
    use super::{median, median_cost};
    use pelton_record::Cost;

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), 0);
        assert_eq!(median(vec![9, 1, 5]), 5);
        assert_eq!(median(vec![9, 1, 5, 7]), 6);
        assert_eq!(median(vec![u64::MAX, u64::MAX]), u64::MAX);
    }

    #[test]
    fn medians_of_figures() {
        let cost = |a, b| Cost { figures: [("a".into(), a), ("b".into(), b)].into(), ..Cost::default() };
        let costs = [cost(Some(3), Some(1)), cost(Some(9), None), cost(Some(4), Some(2))];
        let median = median_cost(&costs.iter().collect::<Vec<_>>());
        assert_eq!(median.figures, [("a".into(), Some(4)), ("b".into(), None)].into());
    }
}
