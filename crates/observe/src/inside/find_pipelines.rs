//! The pipelines among processes: which process writes to the pipe that another reads.
//!
//! Pipelines of the same form at the same place are merged into one with several runs, as from a loop.

use super::process::FamilyProcess;
use super::relations::Relations;
use crate::probes::pipes::PipeProbe;
use crate::probes::waits::Sums;
use crate::wiring::{self, OUT, Wired};
use pelton_record::inside::{Inner, Within};
use pelton_record::typed_command_line;
use pelton_record::{Cost, End, How, Pipeline, Span, Stage, Waits};
use pelton_sys::signals;
use pelton_sys::wait::Ended;
use std::collections::{BTreeSet, HashMap};

/// The key by which pipelines are merged: where they ran, and the programs of their stages, each with its line.
type Look = (Option<(usize, usize)>, Vec<(String, Option<u32>)>);

/// Returns all pipelines, those nested in a stage of another after that one; and the stage that each process
/// leads.
pub fn pipelines(
    family: &Relations<'_>,
    pipes: &HashMap<u64, PipeProbe>,
    run_start_ns: u64,
) -> (Vec<Inner>, HashMap<usize, Within>) {
    let mut chains = chains(family);
    chains.sort_by_key(|chain| depth(family, chain[0]));
    // The chain of each leader, and its position in it.
    let mut places: HashMap<usize, Within> = HashMap::new();
    let mut groups: HashMap<Look, usize> = HashMap::new();
    let mut found: Vec<Inner> = Vec::new();
    for chain in chains {
        let within = enclosing(family, &places, chain[0]);
        let look = chain.iter().map(|&leader| (look(family, leader), line(family, leader))).collect();
        let key = (within.map(|within| (within.pipeline, within.stage)), look);
        let new = pipeline(family, &chain, pipes, run_start_ns);
        let group = *groups.entry(key).or_insert(found.len());
        for (stage, &leader) in chain.iter().enumerate() {
            places.insert(leader, Within { pipeline: group, stage });
        }
        match found.get_mut(group) {
            Some(inner) => add(inner, new),
            None => found.push(Inner { times: 1, line: None, within, pipeline: new }),
        }
    }
    (found, places)
}

/// Returns the line of a stage that exec'd. A fork may precede the shell's evaluation of the command.
fn line(family: &Relations<'_>, leader: usize) -> Option<u32> {
    let member = &family.members[leader];
    member.line.filter(|_| !member.words.is_empty())
}

fn depth(family: &Relations<'_>, index: usize) -> (usize, u64) {
    let mut depth = 0;
    let mut now = index;
    while let Some(parent) = family.members[now].parent {
        depth += 1;
        now = parent;
    }
    (depth, family.members[index].start_ns)
}

/// Returns the stage that ran a pipeline: the nearest ancestor of its first stage that leads one.
fn enclosing(family: &Relations<'_>, places: &HashMap<usize, Within>, leader: usize) -> Option<Within> {
    let mut now = family.members[leader].parent;
    while let Some(index) = now {
        if let Some(place) = places.get(&index) {
            return Some(*place);
        }
        now = family.members[index].parent;
    }
    None
}

/// Returns leaders, in the order of the data flow.
pub fn chains(family: &Relations<'_>) -> Vec<Vec<usize>> {
    // A process that still runs leads nothing: its counters are not known yet.
    let wired = family.members.iter().map(|member| match member.end_ns {
        0 => Wired::default(),
        _ => Wired { parent: member.parent, pipes: member.pipes },
    });
    wiring::chains(&wired.collect::<Vec<_>>())
}

/// Returns a stage's name: its program's, or for a shell's fork those of its commands, the most expensive
/// first.
fn name(family: &Relations<'_>, leader: usize) -> String {
    if !family.members[leader].words.is_empty() {
        return family.name(leader);
    }
    let programs = programs(family, leader);
    let mut names: Vec<String> = programs.iter().map(|&index| family.name(index)).collect();
    names.dedup();
    match names.len() {
        0 => family.name(leader),
        _ => names.join(" "),
    }
}

/// Returns what a stage has in common with its other runs: which programs of a shell's fork cost most differs from one to the
/// next.
fn look(family: &Relations<'_>, leader: usize) -> String {
    if !family.members[leader].words.is_empty() {
        return family.name(leader);
    }
    let programs = family.descendants(leader).into_iter();
    let programs = programs.filter(|&index| !family.members[index].words.is_empty());
    let names: BTreeSet<String> = programs.map(|index| family.name(index)).collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

/// Returns the commands of a shell's fork, the most expensive first.
fn programs(family: &Relations<'_>, leader: usize) -> Vec<usize> {
    let mut found = family.descendants(leader);
    found.retain(|&index| !family.members[index].words.is_empty());
    found.sort_by_key(|&index| std::cmp::Reverse(family.members[index].cpu_ns));
    let mut seen = std::collections::HashSet::new();
    found.retain(|&index| seen.insert(family.name(index)));
    found.truncate(3);
    found
}

/// Returns what a process of pelton's was forked for: the text that its parent was given, which is its longest argument.
fn of_pelton(family: &Relations<'_>, leader: usize) -> Option<String> {
    let parent = &family.members[family.members[leader].parent?];
    let is_pelton = parent.words.first()?.rsplit('/').next() == Some("pelton");
    let text = parent.words[1..].iter().max_by_key(|word| word.len()).filter(|_| is_pelton)?;
    Some(format!("pelton: {}", text.lines().next().unwrap_or_default()))
}

fn text(family: &Relations<'_>, leader: usize) -> String {
    let member = &family.members[leader];
    if !member.words.is_empty() {
        return typed_command_line(&member.words);
    }
    let programs = programs(family, leader);
    match programs.as_slice() {
        [] => of_pelton(family, leader).unwrap_or_else(|| family.name(leader)),
        [one] => typed_command_line(&family.members[*one].words),
        several => {
            let names: Vec<String> = several.iter().map(|&index| family.name(index)).collect();
            format!("{{ {} }}", names.join("; "))
        }
    }
}

fn pipeline(
    family: &Relations<'_>,
    chain: &[usize],
    pipes: &HashMap<u64, PipeProbe>,
    run_start_ns: u64,
) -> Pipeline {
    let members = chain.iter().map(|&leader| &family.members[leader]);
    let start_ns = members.clone().map(|member| member.start_ns).min().unwrap_or(0);
    let end_ns = members.map(|member| member.end_ns).max().unwrap_or(0);
    let stages: Vec<Stage> = chain
        .iter()
        .enumerate()
        .map(|(i, &leader)| Stage {
            reads_previous: i > 0,
            feeds_next: i + 1 < chain.len(),
            ..stage(family, leader, run_start_ns)
        })
        .collect();
    let seen = |(i, &leader): (usize, &usize)| {
        pipes.get(&family.members[leader].pipes[OUT]?)?.finish(i, i + 1, run_start_ns)
    };
    Pipeline {
        text: stages.iter().map(|stage| stage.text.as_str()).collect::<Vec<_>>().join(" | "),
        span: Span::default(),
        start_ns: start_ns.saturating_sub(run_start_ns),
        wall_ns: end_ns.saturating_sub(start_ns),
        exit_status: stages.last().map_or(0, |stage| stage.end.status()),
        pipes: chain[..chain.len() - 1].iter().enumerate().filter_map(seen).collect(),
        stages,
        passes: Vec::new(),
    }
}

fn stage(family: &Relations<'_>, leader: usize, run_start_ns: u64) -> Stage {
    let member = &family.members[leader];
    let all = family.descendants(leader);
    let mut cost = Cost::zero();
    for &index in all.iter().filter(|&&index| family.members[index].end_ns > 0) {
        cost.add(&family.own(index));
    }
    cost.wall_ns = member.end_ns.saturating_sub(member.start_ns);
    // For a shell that waits for its commands, the busiest command's timeline is shown.
    let kept = all.iter().map(|&index| &family.members[index]).filter(|member| member.timeline.is_some());
    let timeline = kept.max_by_key(|member| member.cpu_ns).and_then(|member| member.timeline.clone());
    let others: Vec<Sums> = all[1..].iter().map(|&index| family.members[index].sums).collect();
    Stage {
        text: text(family, leader),
        name: name(family, leader),
        span: Span::default(),
        program: None,
        how: How::Process,
        pid: member.pid,
        start_ns: member.start_ns.saturating_sub(run_start_ns),
        end: end(member),
        waits: Sums::stage(&member.sums, &others, cost.wall_ns, cost.cpu_ns()),
        cost,
        threads: None,
        profile: None,
        syscalls: None,
        inside: None,
        tree: None,
        timeline: timeline.map(|timeline| timeline.finish(run_start_ns)),
        temporary_bytes: None,
        reads_previous: false,
        feeds_next: false,
        stands_for: 1,
        starts_processes: false,
    }
}

fn end(member: &FamilyProcess) -> End {
    match member.ended {
        Ended::Exited(code) => End::Exited(code),
        Ended::Signalled(signal, core) => End::Killed { signal, name: signals::name(signal), core },
    }
}

/// Adds another run of the same pipeline.
fn add(inner: &mut Inner, more: Pipeline) {
    inner.times += 1;
    inner.pipeline.wall_ns += more.wall_ns;
    // The timeline of one run of many says nothing about the others.
    inner.pipeline.pipes.clear();
    inner.pipeline.stages.iter_mut().for_each(|stage| stage.timeline = None);
    for (stage, more) in inner.pipeline.stages.iter_mut().zip(more.stages) {
        stage.cost.add(&more.cost);
        stage.cost.wall_ns += more.cost.wall_ns;
        stage.waits = sum(stage.waits.take(), more.waits);
        if more.end.status() != 0 {
            stage.end = more.end;
        }
        // Of a function's commands, others may have cost most.
        if stage.text != more.text && stage.name == more.name {
            stage.text.clone_from(&stage.name);
        }
    }
}

/// Only if both are known: otherwise the parts would not add up to the time.
fn sum(one: Option<Waits>, other: Option<Waits>) -> Option<Waits> {
    let mut sum = one?;
    sum.add(&other?);
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::super::process::tests::member;
    use super::*;

    /// How often, the enclosing stage, and the stages with their cost.
    type Shown = (u64, Option<(usize, usize)>, Vec<(String, u64)>);

    fn found(members: &[FamilyProcess]) -> Vec<Shown> {
        let (inner, _) = pipelines(&Relations::of(members), &HashMap::new(), 0);
        let stages = |inner: &Inner| {
            let stages = inner.pipeline.stages.iter();
            stages.map(|stage| (stage.text.clone(), stage.cost.cpu_ns() / 1_000_000)).collect()
        };
        let within = |inner: &Inner| inner.within.map(|within| (within.pipeline, within.stage));
        inner.iter().map(|inner| (inner.times, within(inner), stages(inner))).collect()
    }

    fn of(text: &str, ms: u64) -> (String, u64) {
        (text.to_owned(), ms)
    }

    #[test]
    fn functions_around_commands_are_stages() {
        // tokenize | parse, both functions that run an awk, in a script.
        let members = [
            member(None, "bash x.sh", [0, 0], 1),
            member(Some(0), "", [0, 5], 1),
            member(Some(0), "", [5, 0], 1),
            member(Some(1), "awk tokens", [0, 5], 30),
            member(Some(2), "awk parse", [5, 0], 40),
        ];
        assert_eq!(found(&members), [(1, None, vec![of("awk tokens", 31), of("awk parse", 41)])]);
    }

    #[test]
    fn a_loop_of_pipelines_is_one_with_many_runs() {
        let mut members = vec![member(None, "bash x.sh", [0, 0], 1)];
        for i in 0..3 {
            members.push(member(Some(0), "", [0, 10 + i], 1));
            members.push(member(Some(0), "wc -c", [10 + i, 0], 2));
        }
        assert_eq!(found(&members), [(3, None, vec![of("bash (fork)", 3), of("wc -c", 6)])]);
    }

    #[test]
    fn runs_of_a_function_are_one_whichever_of_its_commands_costs_most() {
        // for … do clean | sort; done, with clean() { grep | tr; }
        let mut members = vec![member(None, "bash x.sh", [0, 0], 1)];
        for (run, costs) in [[20, 10], [10, 20]].into_iter().enumerate() {
            let (at, pipe) = (members.len(), 20 * (1 + run as u64));
            members.push(member(Some(0), "", [0, pipe], 1));
            members.push(member(Some(0), "sort", [pipe, 0], 3));
            members.push(member(Some(at), "grep", [0, pipe + 1], costs[0]));
            members.push(member(Some(at), "tr", [pipe + 1, pipe], costs[1]));
        }
        let outer = vec![of("{ grep; tr }", 62), of("sort", 6)];
        let inner = vec![of("grep", 30), of("tr", 30)];
        assert_eq!(found(&members), [(2, None, outer), (2, Some((0, 0)), inner)]);
    }

    #[test]
    fn a_pipeline_in_a_stage_is_told_apart() {
        // { a | b; } | c
        let members = [
            member(None, "bash x.sh", [0, 0], 1),
            member(Some(0), "", [0, 5], 1),
            member(Some(0), "c", [5, 0], 3),
            member(Some(1), "a", [0, 6], 10),
            member(Some(1), "b", [6, 5], 20),
        ];
        let outer = vec![of("{ b; a }", 31), of("c", 3)];
        let inner = vec![of("a", 10), of("b", 20)];
        assert_eq!(found(&members), [(1, None, outer), (1, Some((0, 0)), inner)]);
    }

    #[test]
    fn a_command_substitution_is_no_pipeline() {
        let members = [member(None, "bash x.sh", [0, 0], 1), member(Some(0), "date", [0, 9], 1)];
        assert_eq!(found(&members), []);
    }
}
