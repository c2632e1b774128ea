//! One rewrite per file, in the order in which they are tried.
//!
//! Every rule looks at two neighbours in a segment and makes them one, or says why not. A rule must be right whatever
//! the data: same bytes, same status of every stage, nothing to say on standard error.

mod compose_byte_maps;
mod count_distinct;
mod count_lines;
mod drop_cat;
mod filter_before_map;
mod find_grep;
mod head_head;
mod join_of_pipes;
mod json_grep;
mod last_sort;
mod sort_uniq;
mod tac_head;
mod top_k;

use crate::cost::Rate;
use crate::graph::{Decision, Outcome, Surroundings};
use crate::step::Operator;
use pelton_commands::Accept;
use pelton_stream::Framing;
use std::ops::Range;

pub(crate) use join_of_pipes::Piped;

/// A rewrite of two neighbours.
pub struct Rule {
    /// Its name, for `--without` and in explanations.
    pub name: &'static str,
    /// What it does, in a line: `sort | head: only the lines that leave are kept`.
    pub summary: &'static str,
    /// `None`: these two are no case for it. Otherwise what they become, or why not.
    pub rewrite: fn(&Operator, &Operator, &Site) -> Option<Accept<Rewrite>>,
}

/// What two neighbours become.
pub struct Rewrite {
    /// What stands in their place: one step, or two.
    pub steps: Vec<Operator>,
    /// What that gains, in a sentence.
    pub gain: String,
}

impl Rewrite {
    /// The two become one.
    pub fn one(step: Operator, gain: impl Into<String>) -> Rewrite {
        Rewrite { steps: vec![step], gain: gain.into() }
    }
}

/// What a rule may know of the pipeline.
#[derive(Clone, Debug)]
pub struct Site {
    /// Every stage of it.
    pub stages: Vec<SiteStage>,
    /// The share of the pipeline's input that reaches each of them, as an estimate.
    pub shares: Vec<f64>,
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
    /// What it costs, if that was measured.
    pub rate: Option<Rate>,
}

/// The rules, each before those that profit from it.
pub const RULES: &[Rule] = &[
    // First, since a cat keeps those apart that other rules would join.
    drop_cat::RULE,
    // While grep is a grep: what other rules would make of it prints the same of text.
    json_grep::RULE,
    find_grep::RULE,
    // Before whatever looks at what stands before a sort or a filter: one map is easier to judge than five.
    compose_byte_maps::RULE,
    // After the maps are one, so that the filter passes all of them at once.
    filter_before_map::RULE,
    // One sort instead of two, before rules look at what stands behind it.
    last_sort::RULE,
    // After the number of sorts is settled. What it makes of `sort | uniq` may still be counted.
    sort_uniq::RULE,
    count_distinct::RULE,
    // What is left of `X | wc -l` when no rule knows more of X.
    count_lines::RULE,
    // The smaller of two heads, before it meets a sort or a tac.
    head_head::RULE,
    top_k::RULE,
    tac_head::RULE,
];

/// Applies one rule to all neighbours, left to right, until it finds no more.
pub fn apply(rule: &Rule, steps: &mut Vec<Operator>, site: &Site) -> Vec<Decision> {
    let mut decisions = Vec::new();
    let mut at = 0;
    while at + 1 < steps.len() {
        let stages = steps[at].stages.start..steps[at + 1].stages.end;
        let mut saves_ns_per_byte = None;
        let outcome = match (rule.rewrite)(&steps[at], &steps[at + 1], site).map(|made| made.and_then(framed))
        {
            Some(Ok(Rewrite { steps: made, gain })) => {
                saves_ns_per_byte = saving(&steps[at..at + 2], &made, site);
                let count = made.len();
                steps.splice(at..at + 2, made);
                // One may meet its new neighbour; two were looked at.
                at += count - 1;
                Outcome::Fired(gain)
            }
            refused_or_no_case => {
                at += 1;
                let Some(Err(declined)) = refused_or_no_case else { continue };
                Outcome::Declined(declined.reason)
            }
        };
        decisions.push(Decision { name: rule.name.to_owned(), stages, outcome, saves_ns_per_byte });
    }
    decisions
}

/// What a rewrite saves for each byte that the pipeline reads, in ns, if all costs are known.
fn saving(before: &[Operator], after: &[Operator], site: &Site) -> Option<f64> {
    let cost = |steps: &[Operator]| -> Option<f64> {
        steps.iter().map(|step| Some(site.shares[step.stages.start] * step.ns_per_byte?)).sum()
    };
    Some((cost(before)? - cost(after)?).max(0.0))
}

/// Files that run into each other, since a cat that joined them was dropped, can be cut anywhere, but not into records.
fn framed(rewrite: Rewrite) -> Accept<Rewrite> {
    let step = &rewrite.steps[0];
    if step.as_pipe && step.inputs.len() > 1 && step.framing()? != Framing::Bytes {
        return pelton_commands::Declined::because("a line may begin in one file and end in the next");
    }
    Ok(rewrite)
}
