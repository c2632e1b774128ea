//! Experiments with pipe buffers.

mod b1_stall;
mod b2_deadlock;
mod b3_cure;

use super::Experiment;
use super::finding::Finding;
use super::lab::Lab;
use super::programs;
use workbench::Outcome;
use workbench::cargo_workspace::on_path;

/// All experiments of this group, in order.
pub const ALL: &[&Experiment] = &[&b1_stall::EXPERIMENT, &b2_deadlock::EXPERIMENT, &b3_cure::EXPERIMENT];

/// Returns the parent of a child with much output, in each installed language.
fn parents(lab: &Lab, finding: &mut Finding) -> Outcome<Vec<(&'static str, Vec<String>)>> {
    let languages = [
        ("Python", programs::python(), "deadlock.py"),
        ("Ruby", on_path("ruby").then_some("ruby"), "deadlock.rb"),
        ("bash", Some("bash"), "deadlock.sh"),
    ];
    let mut found = Vec::new();
    for (language, program, source) in languages {
        match program {
            Some(program) => {
                let source = lab.program(&format!("experiments/buffers/{source}"))?;
                found.push((language, vec![program.to_owned(), source]));
            }
            None => finding.lacks(language),
        }
    }
    Ok(found)
}

/// Returns shell text for both sides of a pipe, in each installed language.
fn speakers(lab: &Lab, finding: &mut Finding) -> Outcome<Vec<(&'static str, String)>> {
    let languages = [
        ("Python", programs::python(), "pace.py"),
        ("Ruby", on_path("ruby").then_some("ruby"), "pace.rb"),
        ("bash", Some("bash"), "pace.sh"),
    ];
    let mut found = Vec::new();
    for (language, program, source) in languages {
        match program {
            Some(program) => {
                let source = lab.program(&format!("experiments/buffers/{source}"))?;
                found.push((language, format!("{program} {source}")));
            }
            None => finding.lacks(language),
        }
    }
    Ok(found)
}
