//! The lines that a run has to show: its rows, and the native passes that several of them share.

use pelton_record::{Cost, End, How, Run, Stage, Waits};
use std::ops::RangeInclusive;

/// One line.
#[derive(Debug)]
pub struct Line<'a> {
    /// The pipeline it belongs to.
    pub pipeline: usize,
    /// Its index among the pipeline's rows, and the row; `None` for a pass.
    pub row: Option<(usize, &'a Stage)>,
    /// The numbers of the stages it stands for.
    pub numbers: RangeInclusive<usize>,
    /// Its cost. Of a row within a pass only the times and the bytes are its own.
    pub cost: Cost,
    /// What it waited for.
    pub waits: Option<&'a Waits>,
    /// How it ended.
    pub end: Option<&'a End>,
    /// Who ran it.
    pub ran_by: &'static str,
    /// If it is a row of a pass of several: whether it is the last of them.
    pub within: Option<bool>,
}

/// Every line, in order.
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

/// The only row of a pass has all that the process cost.
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

/// In one word.
pub fn ran_by(how: &How) -> &'static str {
    match how {
        How::Process => "process",
        How::Builtin => "builtin",
        How::Shell { .. } => "shell",
        How::Native { .. } => "native",
    }
}
