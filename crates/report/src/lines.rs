//! The lines of a report: the rows of a run, and the native passes that several rows share.

use pelton_record::{Cost, End, How, Run, Stage, Waits};
use std::ops::RangeInclusive;

/// A line to show.
#[derive(Debug)]
pub struct Line<'a> {
    /// The pipeline it belongs to.
    pub pipeline: usize,
    /// Its index among the pipeline's rows, and the row; `None` for a pass.
    pub row: Option<(usize, &'a Stage)>,
    /// The numbers of the stages it stands for.
    pub numbers: RangeInclusive<usize>,
    /// Its cost. A row within a shared pass only has times and bytes.
    pub cost: Cost,
    /// Its waits.
    pub waits: Option<&'a Waits>,
    /// How it ended.
    pub end: Option<&'a End>,
    /// Who ran it.
    pub ran_by: &'static str,
    /// For a row of a shared pass: whether it is the last.
    pub within: Option<bool>,
}

/// Returns all lines in order.
pub fn lines(run: &Run) -> Vec<Line<'_>> {
    let mut lines = vec![];
    for (at, pipeline) in run.pipelines.iter().enumerate() {
        for (i, stage) in pipeline.stages.iter().enumerate() {
            let pass = pipeline.pass_of(i).filter(|pass| pass.rows().contains(&i));
            let shared = pass.filter(|pass| pass.first < pass.last);
            if let Some(pass) = shared.filter(|pass| pass.first == i) {
                lines.push(Line {
                    pipeline: at,
                    row: None,
                    numbers: *pipeline.numbers(pass.first).start()..=*pipeline.numbers(pass.last).end(),
                    cost: pass.cost.clone(),
                    waits: pass.waits.as_ref(),
                    end: None,
                    ran_by: "native",
                    within: None,
                });
            }
            lines.push(Line {
                pipeline: at,
                row: Some((i, stage)),
                numbers: pipeline.numbers(i),
                cost: pass
                    .filter(|_| shared.is_none())
                    .map_or(stage.cost.clone(), |pass| whole(&pass.cost, &stage.cost)),
                waits: stage.waits.as_ref(),
                end: Some(&stage.end),
                ran_by: ran_by(&stage.how),
                within: shared.map(|pass| pass.last == i),
            });
        }
    }
    lines
}

/// Gives a pass's only row all counters of the process.
fn whole(pass: &Cost, row: &Cost) -> Cost {
    Cost {
        wall_ns: row.wall_ns,
        user_ns: row.user_ns,
        sys_ns: row.sys_ns,
        read_bytes: row.read_bytes,
        written_bytes: row.written_bytes,
        ..pass.clone()
    }
}

/// The executor, in a word.
pub fn ran_by(how: &How) -> &'static str {
    match how {
        How::Process => "process",
        How::Builtin => "builtin",
        How::Shell { .. } => "shell",
        How::Native { .. } => "native",
    }
}
