//! Finds the bottleneck of recently observed stages.

use crate::verdict::judge;
use pelton_record::live::LiveStage;
use pelton_record::{Cost, End, How, Machine, Pipeline, Run, Span, Stage, Verdict, Waits};

/// Judges recent observations as if they were a run.
pub fn verdict(stages: &[LiveStage], cores: u32) -> Verdict {
    let wall_ns =
        stages.iter().filter_map(|stage| Some(stage.lately.as_ref()?.whole_ns())).max().unwrap_or(0);
    let rows: Vec<Stage> = stages
        .iter()
        .enumerate()
        .map(|(i, stage)| {
            let waits = stage.lately.clone();
            let lived_ns = waits.as_ref().map_or(0, Waits::whole_ns);
            let user_ns = waits.as_ref().map_or(0, |waits| waits.running_ns);
            Stage {
                text: stage.text.clone(),
                name: stage.name.clone(),
                span: Span::default(),
                program: None,
                how: How::Process,
                pid: stage.pid,
                start_ns: 0,
                end: End::Exited(0),
                cost: Cost { wall_ns: lived_ns, user_ns, ..Cost::zero() },
                waits,
                threads: None,
                profile: None,
                syscalls: None,
                inside: None,
                tree: stage.tree.clone(),
                timeline: None,
                temporary_bytes: None,
                reads_previous: i > 0,
                feeds_next: i + 1 < stages.len(),
                stands_for: 1,
                starts_processes: false,
            }
        })
        .collect();
    let mut total = Cost::zero();
    rows.iter().for_each(|row| total.add(&row.cost));
    total.wall_ns = wall_ns;
    let pipeline = Pipeline {
        text: String::new(),
        span: Span::default(),
        start_ns: 0,
        wall_ns,
        exit_status: 0,
        stages: rows,
        passes: Vec::new(),
        pipes: Vec::new(),
    };
    judge(&Run {
        machine: Machine { cores, ..Machine::default() },
        pipelines: vec![pipeline],
        wall_ns,
        total,
        ..Run::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_seconds_are_judged() {
        let stage = |name: &str, ms: [u64; 3]| {
            let [running_ns, starved_ns, backpressured_ns] = ms.map(|ms| ms * 1_000_000);
            let waits = Waits { running_ns, starved_ns, backpressured_ns, samples: 100, ..Waits::default() };
            LiveStage { name: name.into(), lately: Some(waits), ..LiveStage::default() }
        };
        let stages = [stage("cat", [50, 0, 950]), stage("gzip", [990, 10, 0]), stage("wc", [10, 990, 0])];
        let said = verdict(&stages, 2);
        assert_eq!(said.bottleneck.map(|bottleneck| bottleneck.stage), Some(1));
        assert!(
            said.neighbours[0].starts_with("stage 1 (cat) was blocked on write 95%"),
            "{:?}",
            said.neighbours
        );
    }
}
