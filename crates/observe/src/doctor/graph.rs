//! The wait-for graph between processes: its connected components, and the deadlocked sets in them.

use super::world::{Cause, Process, Wait, World};
use std::collections::{BTreeMap, BTreeSet};

/// Which waits count as edges: all, or only some kinds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Edges {
    /// All.
    All,
    /// Waits on channels and locks: not for children, nor for processes that might open a FIFO.
    Channels,
}

/// Returns the processes that could end a wait of `process`.
pub fn ends(process: &Process, edges: Edges) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for task in &process.tasks {
        collect(&task.wait, edges, &mut found);
    }
    found
}

fn collect(wait: &Wait, edges: Edges, found: &mut BTreeSet<u32>) {
    match &wait.cause {
        Cause::Any(waits) => waits.iter().for_each(|wait| collect(wait, edges, found)),
        Cause::Child | Cause::Opener { .. } if edges == Edges::Channels => {}
        _ => found.extend(wait.by.iter().map(|holder| holder.pid)),
    }
}

/// Returns `seeds` with their descendants and the processes at the other ends of their channels; without
/// `own`, and without unreadable processes unless they are seeds.
pub fn related(world: &World, seeds: &[u32], own: &BTreeSet<u32>) -> BTreeSet<u32> {
    let channels: BTreeMap<u32, BTreeSet<u32>> =
        world.processes.iter().map(|(&pid, process)| (pid, ends(process, Edges::Channels))).collect();
    let mut found: BTreeSet<u32> = BTreeSet::new();
    let mut todo: Vec<u32> = seeds.to_vec();
    while let Some(pid) = todo.pop() {
        let Some(process) = world.processes.get(&pid) else { continue };
        let told = seeds.contains(&pid) || (!process.hidden && !own.contains(&pid));
        if !told || !found.insert(pid) {
            continue;
        }
        todo.extend(&process.children);
        todo.extend(&channels[&pid]);
        todo.extend(channels.iter().filter(|(_, ends)| ends.contains(&pid)).map(|(other, _)| *other));
    }
    found
}

/// Splits `members` into components connected by waits.
pub fn components(world: &World, members: &BTreeSet<u32>, edges: Edges) -> Vec<BTreeSet<u32>> {
    let mut neighbours: BTreeMap<u32, BTreeSet<u32>> =
        members.iter().map(|&pid| (pid, BTreeSet::new())).collect();
    for &pid in members {
        let Some(process) = world.processes.get(&pid) else { continue };
        for end in ends(process, edges).into_iter().filter(|end| members.contains(end)) {
            neighbours.entry(pid).or_default().insert(end);
            neighbours.entry(end).or_default().insert(pid);
        }
    }
    let mut left = members.clone();
    let mut found = Vec::new();
    while let Some(&first) = left.first() {
        let part = reach(first, |pid| neighbours.get(&pid).cloned().unwrap_or_default());
        left.retain(|pid| !part.contains(pid));
        found.push(part);
    }
    found
}

/// Returns the deadlocked sets of a dead component: its strongly connected components without outgoing edges.
/// All other processes only wait for them.
pub fn root_causes(world: &World, part: &BTreeSet<u32>) -> Vec<BTreeSet<u32>> {
    let next = |pid: u32| -> BTreeSet<u32> {
        let process = world.processes.get(&pid);
        process.map(|one| &ends(one, Edges::All) & part).unwrap_or_default()
    };
    let reached: BTreeMap<u32, BTreeSet<u32>> = part.iter().map(|&pid| (pid, reach(pid, next))).collect();
    let mut found: Vec<BTreeSet<u32>> = Vec::new();
    for own in reached.values() {
        // Everything reachable leads back: a deadlocked set.
        if own.iter().all(|other| reached[other] == *own) && !found.contains(own) {
            found.push(own.clone());
        }
    }
    found
}

/// Returns `start` and everything reachable from it by `next`.
fn reach(start: u32, next: impl Fn(u32) -> BTreeSet<u32>) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut todo = vec![start];
    while let Some(pid) = todo.pop() {
        if found.insert(pid) {
            todo.extend(next(pid));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::world::Task;
    use super::*;
    use pelton_record::diagnosis::Holder;

    /// Processes that are blocked on write to channels of others.
    fn world(edges: &[(u32, &[u32])]) -> World {
        let wait = |ends: &[u32]| Wait {
            by: ends.iter().map(|&pid| Holder { pid, fd: None }).collect(),
            ..Wait::simple(Cause::Room)
        };
        let process = |(pid, ends): &(u32, &[u32])| {
            let task = Task { thread: *pid, wait: wait(ends), evidence: String::new() };
            (*pid, Process { tasks: vec![task], ..Process::default() })
        };
        World { processes: edges.iter().map(process).collect() }
    }

    fn set(pids: &[u32]) -> BTreeSet<u32> {
        pids.iter().copied().collect()
    }

    #[test]
    fn a_root_cause_is_what_all_others_wait_for() {
        let world = world(&[(1, &[2]), (2, &[3]), (3, &[2]), (4, &[1]), (9, &[9])]);
        let all = set(&[1, 2, 3, 4, 9]);
        assert_eq!(components(&world, &all, Edges::All), [set(&[1, 2, 3, 4]), set(&[9])]);
        assert_eq!(root_causes(&world, &set(&[1, 2, 3, 4])), [set(&[2, 3])]);
        assert_eq!(root_causes(&world, &set(&[9])), [set(&[9])]);
    }

    #[test]
    fn neighbours_on_both_sides_are_related() {
        let world = world(&[(1, &[2]), (2, &[3]), (3, &[]), (4, &[])]);
        assert_eq!(related(&world, &[2], &set(&[])), set(&[1, 2, 3]));
        assert_eq!(related(&world, &[2], &set(&[1])), set(&[2, 3]));
    }
}
