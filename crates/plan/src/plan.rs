//! From candidates to segments.

use crate::check;
use crate::graph::{Candidate, Decision, Node, Outcome, Planned, Segment, StageNote, Surroundings, Switches};
use crate::rules::{self, RULES, Site, SiteStage};
use crate::segments::{self, Run};
use crate::step::Step;
use crate::verdict::{self, Verdict};
use pelton_commands::{COMMANDS, Command};
use std::ops::Range;
use std::sync::Arc;

/// Decides what runs natively, and how.
pub fn plan(candidates: Vec<Candidate>, surroundings: &Surroundings, switches: &Switches) -> Planned {
    let mut verdicts = verdict::verdicts(&candidates, surroundings, switches);
    let runs = segments::segments(&candidates, &mut verdicts);
    let mut decisions: Vec<Decision> = candidates
        .iter()
        .zip(&verdicts)
        .enumerate()
        .map(|(at, (one, verdict))| decision(at, one, verdict))
        .collect();
    let (site, commands) = split(candidates, surroundings);
    let mut segments = Vec::with_capacity(runs.len());
    for run in runs {
        segments.push(match run {
            Run::Process(stage) => Segment::Process(stage),
            Run::Native(stages) => {
                let nodes = native(&stages, &commands, &site, switches, &mut decisions);
                Segment::Native { stages, nodes }
            }
        });
    }
    let stages = site.stages.into_iter().map(|stage| StageNote {
        name: stage.name,
        shown: stage.shown,
        blocks_until_eof: stage.blocks_until_eof,
    });
    Planned { segments, decisions, stages: stages.collect() }
}

/// Every name that a [`Switches`] can hold: of rules first, then of commands.
pub fn list_names() -> Vec<&'static str> {
    RULES
        .iter()
        .map(|rule| rule.name)
        .chain(COMMANDS.iter().filter(|entry| entry.native).map(|entry| entry.name))
        .collect()
}

fn decision(stage: usize, candidate: &Candidate, verdict: &Verdict) -> Decision {
    let outcome = match verdict {
        Verdict::Native(_) => Outcome::Fired("runs native".to_owned()),
        Verdict::Process(reason) => Outcome::Declined(reason.clone()),
    };
    Decision { name: candidate.name.clone(), stages: stage..stage + 1, outcome }
}

/// What rules read, and what they move about.
fn split(candidates: Vec<Candidate>, surroundings: &Surroundings) -> (Site, Vec<Option<Arc<dyn Command>>>) {
    let mut site = Site { stages: Vec::new(), surroundings: surroundings.clone() };
    let mut commands = Vec::new();
    for candidate in candidates {
        let command: Option<Arc<dyn Command>> = candidate.command.ok().map(Arc::from);
        site.stages.push(SiteStage {
            shown: shown(&candidate.name, &candidate.args),
            name: candidate.name,
            args: candidate.args,
            blocks_until_eof: command.as_ref().map(|command| command.facts().blocks_until_eof),
        });
        commands.push(command);
    }
    (site, commands)
}

/// The nodes of one native segment.
fn native(
    stages: &Range<usize>,
    commands: &[Option<Arc<dyn Command>>],
    site: &Site,
    switches: &Switches,
    decisions: &mut Vec<Decision>,
) -> Vec<Node> {
    let own = |stage: usize| Some(Step::own(stage, Arc::clone(commands[stage].as_ref()?)));
    let mut steps: Vec<Step> = stages.clone().filter_map(own).collect();
    for rule in RULES.iter().filter(|rule| switches.is_on(rule.name)) {
        decisions.extend(rules::apply(rule, &mut steps, site));
        debug_assert_eq!(check::fault(&steps, stages), None, "after {}", rule.name);
    }
    steps.into_iter().map(|step| step.into_node(site)).collect()
}

/// A command line for people: what is plain stands as it is, everything else in quotes.
fn shown(name: &str, args: &[Vec<u8>]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_=+,./:@%^".contains(byte);
    let show = |arg: &Vec<u8>| {
        let text = String::from_utf8_lossy(arg);
        let printable = !text.chars().any(|c| c.is_control() || c == char::REPLACEMENT_CHARACTER);
        match () {
            () if !arg.is_empty() && arg.iter().all(plain) => text.into_owned(),
            () if printable => format!("'{}'", text.replace('\'', r"'\''")),
            () => format!("$'{}'", arg.escape_ascii()),
        }
    };
    std::iter::once(name.to_owned()).chain(args.iter().map(show)).collect::<Vec<_>>().join(" ")
}
