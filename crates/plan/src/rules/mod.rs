//! One rewrite per file, in the order in which they are tried.
//!
//! Every rule looks at two adjacent nodes in a segment and merges them, or says why not. A rule must be right
//! for any data: same bytes, same status of every stage, no output on standard error.

use crate::graph::{Decision, Outcome, StageNote, Surroundings, may_leave_early};
use crate::node::{Node, Resume, Work};
use pelton_commands::{Accept, Context, Declined, Input, Locale, SortOptions, UniqOptions};
use pelton_stream::Framing;

/// A rewrite of two adjacent nodes.
pub struct Rule {
    /// Its name, for `--without` and in explanations.
    pub name: &'static str,
    /// Its summary: `sort | head: only the lines that leave are kept`.
    pub summary: &'static str,
    /// `None`: the rule does not apply to these two. Otherwise their rewrite, or why not.
    pub rewrite: fn(&Node, &Node, &Site) -> Option<Accept<Rewrite>>,
}

/// The result of a rewrite.
pub struct Rewrite {
    /// The replacement: one node, or two.
    pub nodes: Vec<Node>,
    /// The gain, in a sentence.
    pub gain: String,
}

impl Rewrite {
    /// Replaces the two neighbouring nodes by one.
    pub fn one(node: Node, gain: impl Into<String>) -> Rewrite {
        Rewrite { nodes: vec![node], gain: gain.into() }
    }
}

/// What a rule may know of the pipeline.
#[derive(Clone, Debug)]
pub struct Site {
    /// All its stages.
    pub stages: Vec<StageNote>,
    /// The estimated share of the pipeline's input that reaches each of them.
    pub shares: Vec<f64>,
    /// Its context.
    pub surroundings: Surroundings,
}

impl Site {
    /// Returns the description of a node.
    pub fn label<'a>(&'a self, node: &'a Node) -> &'a str {
        node.label(|stage| &self.stages[stage].shown)
    }

    /// Declines to make one node of several, if a program that pelton does not know feeds them and one of them or of those behind
    /// may end early: each command takes a buffer more before the one in front of it notices, and the program can tell.
    fn as_many_buffers(&self, first: &Node, rewrite: Rewrite) -> Accept<Rewrite> {
        let (stages, start) = (&self.stages, first.stages.start);
        let reads_it = first.inputs.contains(&Input::Stdin) && rewrite.nodes.len() == 1;
        if reads_it
            && may_leave_early(&stages[start..])
            && self.surroundings.is_fed_by_a_stranger(stages, start)
        {
            return Declined::because("what feeds it can tell how long each of them reads");
        }
        Ok(rewrite)
    }

    /// Returns the locale of a stage, if its command was understood.
    pub fn locale_of(&self, stage: usize) -> Option<&Locale> {
        Some(&self.stages[stage].context.as_ref()?.locale)
    }

    /// Returns the arguments of a node, if it is the command of this name.
    pub fn args_of<'a>(&'a self, node: &Node, name: &str) -> Option<&'a [Vec<u8>]> {
        self.stage_of(node, name).map(|stage| stage.args.as_slice())
    }

    /// Returns the options of a node, if it is `sort`, as the installed one understands them.
    pub fn sort_options(&self, node: &Node) -> Option<Accept<SortOptions>> {
        self.options_of(node, "sort", SortOptions::parse)
    }

    /// Returns the options of a node, if it is `uniq`, as the installed one understands them.
    pub fn uniq_options(&self, node: &Node) -> Option<Accept<UniqOptions>> {
        self.options_of(node, "uniq", UniqOptions::parse)
    }

    fn options_of<O>(
        &self,
        node: &Node,
        name: &str,
        parse: fn(&[Vec<u8>], &Context) -> Accept<O>,
    ) -> Option<Accept<O>> {
        let stage = self.stage_of(node, name)?;
        Some(parse(&stage.args, stage.context.as_ref()?))
    }

    fn stage_of(&self, node: &Node, name: &str) -> Option<&StageNote> {
        match node.work {
            Work::Own { stage, .. } => Some(&self.stages[stage]).filter(|stage| stage.name == name),
            _ => None,
        }
    }

    /// Returns the real commands that map the same bytes as a node, if it only maps bytes. They can take over
    /// anywhere. Empty if there are none.
    pub fn real_maps(&self, node: &Node) -> Vec<Resume> {
        match &node.work {
            Work::Map { real, .. } => real.clone(),
            Work::Own { .. } if !node.resume.is_empty() => node.resume.clone(),
            Work::Own { stage, accepted } if accepted.command.inputs() == [Input::Stdin] => {
                vec![Resume { stage: *stage, args: self.stages[*stage].args.clone() }]
            }
            _ => Vec::new(),
        }
    }
}

/// Declares the modules of the rules, and lists the rules in the same order.
macro_rules! registry {
    ($(mod $module:ident;)*) => {
        $(mod $module;)*

        /// The rules, each before those that profit from it.
        pub const RULES: &[Rule] = &[$($module::RULE),*];
    };
}

// One line per rule, in the order in which they are tried.
registry! {
    // First, since a cat separates nodes that other rules would merge.
    mod drop_cat;
    // While grep is still a grep: other rewrites of it print the same for text.
    mod json_grep;
    // Before rules that look at the stage before a sort or a filter: one map is easier to check than five.
    mod compose_byte_maps;
    // After maps are merged, so that the filter passes all of them at once.
    mod filter_before_map;
    // One sort instead of two, before rules look at the stages after it.
    mod last_sort;
    // After the number of sorts is settled. Its rewrite of `sort | uniq` may still be counted.
    mod sort_uniq;
    mod count_distinct;
    // The rest of `X | wc -l` if no rule knows more of X.
    mod count_lines;
    // The smaller of two heads, before rules for a sort or a tac.
    mod head_head;
    mod tail_tail;
    mod top_k;
    mod tac_head;
}

/// Applies one rule to all adjacent pairs, left to right, until it matches no more.
pub fn apply(rule: &Rule, nodes: &mut Vec<Node>, site: &Site) -> Vec<Decision> {
    let mut decisions = Vec::new();
    let mut at = 0;
    while at + 1 < nodes.len() {
        let stages = nodes[at].stages.start..nodes[at + 1].stages.end;
        let mut saves_ns_per_byte = None;
        let made = (rule.rewrite)(&nodes[at], &nodes[at + 1], site).map(|made| {
            made.and_then(framed)
                .and_then(|made| same_lines(&nodes[at..at + 2], made))
                .and_then(|made| site.as_many_buffers(&nodes[at], made))
        });
        let outcome = match made {
            Some(Ok(Rewrite { nodes: made, gain })) => {
                saves_ns_per_byte = saving(&nodes[at..at + 2], &made, site);
                let count = made.len();
                nodes.splice(at..at + 2, made);
                // One node may match its new neighbour; two were compared already.
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
fn saving(before: &[Node], after: &[Node], site: &Site) -> Option<f64> {
    let cost = |nodes: &[Node]| -> Option<f64> {
        nodes.iter().map(|node| Some(site.shares[node.stages.start] * node.ns_per_byte?)).sum()
    };
    Some((cost(before)? - cost(after)?).max(0.0))
}

/// Declines a rewrite that no longer takes NULs for line ends, as one of the two commands does.
fn same_lines(before: &[Node], rewrite: Rewrite) -> Accept<Rewrite> {
    let takes_nuls = |nodes: &[Node]| nodes.iter().any(|node| node.nul_ends_lines);
    if takes_nuls(before) && !takes_nuls(&rewrite.nodes) {
        return Declined::because("one of them takes NULs for the ends of lines");
    }
    Ok(rewrite)
}

/// Declines records across files: after a cat was dropped, files run into each other and can be cut anywhere,
/// but not into records.
fn framed(rewrite: Rewrite) -> Accept<Rewrite> {
    let node = &rewrite.nodes[0];
    if node.as_pipe && node.inputs.len() > 1 && node.framing()? != Framing::Bytes {
        return Declined::because("a line may begin in one file and end in the next");
    }
    Ok(rewrite)
}
