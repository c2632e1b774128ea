//! Makes the model of a pipeline from its record.

use super::model::{Model, PipeModel, Segment, StageModel};
use super::transfer::{Counted, through_pipe};
use pelton_record::{Pipeline, Run, Stage};

/// The capacity of a pipe that was not sampled.
const USUAL_PIPE: f64 = 65_536.0;
/// Segments kept for a stage.
const MOST_SEGMENTS: usize = 160;
/// A stage that ends earlier than the one before it by more than this did not wait for its end.
const SAME_MOMENT_S: f64 = 0.004;
/// Pipelines shorter than this have too few samples.
pub(super) const SHORTEST_NS: u64 = 150_000_000;

/// A stage's timeline in seconds from the pipeline's start, with its last interval, which no sample saw.
struct Course {
    pieces: Vec<Piece>,
    had_children: bool,
    threads: f64,
    start_s: f64,
    end_s: f64,
}

/// An interval between two samples.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    end_s: f64,
    busy_s: f64,
    outside_s: f64,
    ready_s: f64,
    read: f64,
    written: f64,
}

/// Returns the model of a pipeline alone on the machine; or why there is none.
pub(super) fn model(run: &Run, pipeline: &Pipeline) -> Result<Model, String> {
    if pipeline.wall_ns < SHORTEST_NS {
        return Err(format!(
            "the pipeline ran for {:.2} s, which gives too few samples: measure more input",
            pipeline.wall_ns as f64 / 1e9
        ));
    }
    let courses: Vec<Course> =
        pipeline.stages.iter().map(|stage| course(pipeline, stage)).collect::<Result<_, _>>()?;
    let (mut stages, mut pipes): (Vec<Vec<Segment>>, _) =
        (courses.iter().map(|course| segments(&course.pieces)).collect(), Vec::new());
    for i in 1..courses.len() {
        let joined = pipeline.stages[i].reads_previous && pipeline.stages[i - 1].feeds_next;
        if !joined {
            pipes.push(None);
            continue;
        }
        let sampled = pipeline.pipes.iter().find(|pipe| pipe.writer + 1 == i);
        let capacity = sampled.and_then(|pipe| pipe.capacity_bytes).map_or(USUAL_PIPE, |bytes| bytes as f64);
        let (written, read) = through_pipe(&courses[i - 1].written(), &courses[i].read(), capacity);
        stages[i - 1].iter_mut().zip(written).for_each(|(segment, bytes)| segment.writes = bytes);
        stages[i].iter_mut().zip(read).for_each(|(segment, bytes)| segment.reads = bytes);
        pipes.push(Some(PipeModel { capacity }));
    }
    let stages = stages.into_iter().enumerate().map(|(i, segments)| stage_model(&courses, i, segments));
    Ok(Model {
        stages: stages.collect(),
        pipes,
        cores: f64::from(run.machine.cores.max(1)),
        caused_by_others: 0.0,
    })
}

fn stage_model(courses: &[Course], i: usize, segments: Vec<Segment>) -> StageModel {
    let course = &courses[i];
    let segments = fewer(segments);
    let last_read = segments.iter().rposition(|segment| segment.reads > 0.0).map_or(0, |at| at + 1);
    let waited_for_eof = i > 0 && course.end_s + SAME_MOMENT_S >= courses[i - 1].end_s;
    let outlives_reader =
        courses.get(i + 1).is_some_and(|reader| course.end_s > reader.end_s + SAME_MOMENT_S);
    StageModel {
        segments,
        threads: course.threads,
        start_s: course.start_s,
        needs_eof_at: waited_for_eof.then_some(last_read),
        outlives_reader,
    }
}

fn segments(pieces: &[Piece]) -> Vec<Segment> {
    let segment = |piece: &Piece| Segment {
        busy_s: piece.busy_s,
        outside_s: piece.outside_s,
        ready_s: piece.ready_s,
        ..Segment::default()
    };
    pieces.iter().map(segment).collect()
}

/// Joins neighbouring segments that do the same kind of work, and drops those without any.
fn fewer(mut segments: Vec<Segment>) -> Vec<Segment> {
    segments.retain(|segment| segment.seconds(1.0) > 0.0 || segment.reads > 0.0 || segment.writes > 0.0);
    let total_s: f64 = segments.iter().map(|segment| segment.seconds(1.0)).sum();
    let longest_s = total_s / MOST_SEGMENTS as f64;
    let kind = |segment: &Segment| (segment.reads > 0.0, segment.writes > 0.0);
    let mut kept: Vec<Segment> = Vec::new();
    for next in segments {
        match kept.last_mut() {
            Some(last) if kind(last) == kind(&next) && last.seconds(1.0) + next.seconds(1.0) < longest_s => {
                last.join(&next);
            }
            _ => kept.push(next),
        }
    }
    kept
}

fn course(pipeline: &Pipeline, stage: &Stage) -> Result<Course, String> {
    let slices = stage.timeline.as_deref().unwrap_or_default();
    let since_start_s = |ns: u64| (ns as f64 - pipeline.start_ns as f64).max(0.0) / 1e9;
    let start_s = since_start_s(stage.start_ns);
    let end_s = start_s + stage.cost.wall_ns as f64 / 1e9;
    let known = |bytes: Option<u64>| bytes.unwrap_or(0) as f64;
    let mut pieces: Vec<Piece> = slices
        .iter()
        .map(|slice| Piece {
            end_s: since_start_s(slice.start_ns + slice.length_ns),
            busy_s: slice.running_ns as f64 / 1e9,
            outside_s: slice.other_ns as f64 / 1e9,
            ready_s: slice.cpu_wait_ns as f64 / 1e9,
            read: known(slice.read_bytes),
            written: known(slice.written_bytes),
        })
        .collect();
    let cpu_s = stage.cost.cpu_ns() as f64 / 1e9;
    let (busy_s, outside_s, ready_s) = match &stage.waits {
        Some(waits) => {
            let seconds = |ns: u64| ns as f64 / 1e9;
            (seconds(waits.running_ns), seconds(waits.other_ns), seconds(waits.cpu_wait_ns))
        }
        None if pieces.iter().map(|piece| piece.outside_s).sum::<f64>() < cpu_s.max(0.02) => {
            (cpu_s, 0.0, 0.0)
        }
        None => return Err(format!("too few samples saw what `{}` waited for", stage.name)),
    };
    pieces.push(Piece { end_s, ..Piece::default() });
    complete(&mut pieces, busy_s, |piece| &mut piece.busy_s);
    // Waits after the last sample are not known: those before it stand for them.
    stretch(&mut pieces, outside_s, |piece| &mut piece.outside_s);
    stretch(&mut pieces, ready_s, |piece| &mut piece.ready_s);
    complete(&mut pieces, known(stage.cost.read_bytes), |piece| &mut piece.read);
    complete(&mut pieces, known(stage.cost.written_bytes), |piece| &mut piece.written);
    let threads = if busy_s > 0.0 { (cpu_s / busy_s).max(1.0) } else { 1.0 };
    Ok(Course { pieces, had_children: stage.tree.is_some(), threads, start_s, end_s })
}

/// Makes a figure add up to its exact total: the last piece has what no sample saw.
fn complete(pieces: &mut [Piece], total: f64, figure: fn(&mut Piece) -> &mut f64) {
    let seen: f64 = pieces.iter_mut().map(|piece| *figure(piece)).sum();
    match pieces.last_mut() {
        Some(last) if seen < total => *figure(last) += total - seen,
        _ => stretch(pieces, total, figure),
    }
}

/// Makes a figure add up to its total, by a factor.
fn stretch(pieces: &mut [Piece], total: f64, figure: fn(&mut Piece) -> &mut f64) {
    let seen: f64 = pieces.iter_mut().map(|piece| *figure(piece)).sum();
    let count = pieces.len().max(1) as f64;
    for piece in pieces {
        let value = figure(piece);
        *value = if seen > 0.0 { *value * total / seen } else { total / count };
    }
}

impl Course {
    fn counted(&self, bytes: fn(&Piece) -> f64) -> Counted {
        Counted {
            ends_s: self.pieces.iter().map(|piece| piece.end_s).collect(),
            bytes: self.pieces.iter().map(bytes).collect(),
            had_children: self.had_children,
        }
    }

    fn read(&self) -> Counted {
        self.counted(|piece| piece.read)
    }

    fn written(&self) -> Counted {
        self.counted(|piece| piece.written)
    }
}
