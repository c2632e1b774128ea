//! Stages in sentences.

use pelton_record::Pipeline;

/// Returns a row's name for a sentence: `stage 2 (grep)`, or `stages 2 to 3 (sort | uniq)`.
pub(crate) fn label(pipeline: &Pipeline, stage: usize) -> String {
    let (numbers, name) = (pipeline.numbers(stage), &pipeline.stages[stage].name);
    match (numbers.start(), numbers.end()) {
        (first, last) if first == last => format!("stage {first} ({name})"),
        (first, last) => format!("stages {first} to {last} ({name})"),
    }
}
