//! One rewrite per file, in the order in which they are tried.
//!
//! Every rule looks at two neighbours in a segment and makes them one, or says why not. A rule must be right whatever
//! the data: same bytes, same status of every stage, nothing to say on standard error.

mod compose_byte_maps;
mod drop_cat;
mod filter_before_map;
mod piped;
mod sort_uniq;
mod top_k;

use crate::graph::{Decision, Outcome, Surroundings};
use crate::step::Step;
use pelton_commands::Accept;
use pelton_stream::Framing;
use std::ops::Range;

pub(crate) use piped::Piped;

/// A rewrite of two neighbours.
pub struct Rule {
    /// Its name, for `--without` and in explanations.
    pub name: &'static str,
    /// `None`: these two are no case for it. Otherwise what they become, or why not.
    pub rewrite: fn(&Step, &Step, &Site) -> Option<Accept<Rewrite>>,
}

/// What two neighbours become.
pub struct Rewrite {
    /// The step in their place.
    pub step: Step,
    /// What that gains, in a sentence.
    pub gain: String,
}

/// What a rule may know of the pipeline.
#[derive(Clone, Debug)]
pub struct Site {
    /// Every stage of it.
    pub stages: Vec<SiteStage>,
    /// What it stands in.
    pub surroundings: Surroundings,
}

impl Site {
    /// These stages as they are written.
    pub fn shown(&self, stages: &Range<usize>) -> String {
        let shown: Vec<&str> = self.stages[stages.clone()].iter().map(|stage| stage.shown.as_str()).collect();
        shown.join(" | ")
    }
}

/// One stage.
#[derive(Clone, Debug)]
pub struct SiteStage {
    /// How the command is called.
    pub name: String,
    /// Its arguments.
    pub args: Vec<Vec<u8>>,
    /// Both, for people.
    pub shown: String,
    /// See [`StageNote`](crate::StageNote).
    pub blocks_until_eof: Option<bool>,
}

/// The rules, each before those that profit from it.
pub const RULES: &[Rule] = &[
    // First, since a cat keeps those apart that other rules would join.
    drop_cat::RULE,
    // Before whatever looks at what stands before a sort or a filter: one map is easier to judge than five.
    compose_byte_maps::RULE,
    // After the maps are one, so that the filter passes all of them at once.
    filter_before_map::RULE,
    // Last, in any order: each takes a sort and what directly follows it, and nothing is left of either.
    sort_uniq::RULE,
    top_k::RULE,
];

/// Applies one rule to all neighbours, left to right, until it finds no more.
pub fn apply(rule: &Rule, steps: &mut Vec<Step>, site: &Site) -> Vec<Decision> {
    let mut decisions = Vec::new();
    let mut at = 0;
    while at + 1 < steps.len() {
        let stages = steps[at].stages.start..steps[at + 1].stages.end;
        let outcome = match (rule.rewrite)(&steps[at], &steps[at + 1], site).map(|made| made.and_then(framed))
        {
            Some(Ok(Rewrite { step, gain })) => {
                steps.splice(at..at + 2, [step]);
                Outcome::Fired(gain)
            }
            refused_or_no_case => {
                at += 1;
                let Some(Err(declined)) = refused_or_no_case else { continue };
                Outcome::Declined(declined.reason)
            }
        };
        decisions.push(Decision { name: rule.name.to_owned(), stages, outcome });
    }
    decisions
}

/// Files that run into each other, since a cat that joined them was dropped, can be cut anywhere, but not into records.
fn framed(rewrite: Rewrite) -> Accept<Rewrite> {
    let step = &rewrite.step;
    if step.as_pipe && step.inputs.len() > 1 && step.framing()? != Framing::Bytes {
        return pelton_commands::Declined::because("a line may begin in one file and end in the next");
    }
    Ok(rewrite)
}
