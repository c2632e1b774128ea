//! One rewrite per file, in the order in which they are tried.
//!
//! Every rule looks at two adjacent steps in a segment and merges them, or says why not. A rule must be right
//! for any data: same bytes, same status of every stage, no output on standard error.

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

/// A rewrite of two adjacent steps.
pub struct Rule {
    /// Its name, for `--without` and in explanations.
    pub name: &'static str,
    /// Its summary: `sort | head: only the lines that leave are kept`.
    pub summary: &'static str,
    /// `None`: the rule does not apply to these two. Otherwise their rewrite, or why not.
    pub rewrite: fn(&Operator, &Operator, &Site) -> Option<Accept<Rewrite>>,
}

/// The result of a rewrite.
pub struct Rewrite {
    /// The replacement: one step, or two.
    pub steps: Vec<Operator>,
    /// The gain, in a sentence.
    pub gain: String,
}

impl Rewrite {
    /// Replaces the two by one.
    pub fn one(step: Operator, gain: impl Into<String>) -> Rewrite {
        Rewrite { steps: vec![step], gain: gain.into() }
    }
}

/// What a rule may know of the pipeline.
#[derive(Clone, Debug)]
pub struct Site {
    /// All its stages.
    pub stages: Vec<SiteStage>,
    /// The estimated share of the pipeline's input that reaches each of them.
    pub shares: Vec<f64>,
    /// Its context.
    pub surroundings: Surroundings,
}

impl Site {
    /// Returns these stages as written.
    pub fn shown(&self, stages: &Range<usize>) -> String {
        let shown: Vec<&str> = self.stages[stages.clone()].iter().map(|stage| stage.shown.as_str()).collect();
        shown.join(" | ")
    }
}

/// One stage.
#[derive(Clone, Debug)]
pub struct SiteStage {
    /// The command's name.
    pub name: String,
    /// Its arguments.
    pub args: Vec<Vec<u8>>,
    /// The stage for display.
    pub shown: String,
    /// Its cost, if measured.
    pub rate: Option<Rate>,
}

/// The rules, each before those that profit from it.
pub const RULES: &[Rule] = &[
    // First, since a cat separates steps that other rules would merge.
    drop_cat::RULE,
    // While grep is still a grep: other rewrites of it print the same for text.
    json_grep::RULE,
    find_grep::RULE,
    // Before rules that look at the stage before a sort or a filter: one map is easier to check than five.
    compose_byte_maps::RULE,
    // After maps are merged, so that the filter passes all of them at once.
    filter_before_map::RULE,
    // One sort instead of two, before rules look at the stages after it.
    last_sort::RULE,
    // After the number of sorts is settled. Its rewrite of `sort | uniq` may still be counted.
    sort_uniq::RULE,
    count_distinct::RULE,
    // The rest of `X | wc -l` if no rule knows more of X.
    count_lines::RULE,
    // The smaller of two heads, before rules for a sort or a tac.
    head_head::RULE,
    top_k::RULE,
    tac_head::RULE,
];

/// Applies one rule to all adjacent pairs, left to right, until it matches no more.
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
                // One step may match its new neighbour; two were compared already.
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

/// Returns what a rewrite saves per byte of the pipeline's input, in ns, if all costs are known.
fn saving(before: &[Operator], after: &[Operator], site: &Site) -> Option<f64> {
    let cost = |steps: &[Operator]| -> Option<f64> {
        steps.iter().map(|step| Some(site.shares[step.stages.start] * step.ns_per_byte?)).sum()
    };
    Some((cost(before)? - cost(after)?).max(0.0))
}

/// Declines records across files: after a cat was dropped, files run into each other and can be cut anywhere,
/// but not into records.
fn framed(rewrite: Rewrite) -> Accept<Rewrite> {
    let step = &rewrite.steps[0];
    if step.as_pipe && step.inputs.len() > 1 && step.framing()? != Framing::Bytes {
        return pelton_commands::Declined::because("a line may begin in one file and end in the next");
    }
    Ok(rewrite)
}
