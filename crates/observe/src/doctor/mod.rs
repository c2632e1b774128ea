//! `pelton doctor`: which running processes wait for which, and whether the waits can end.
//!
//! Takes two snapshots of all processes, at least 50 ms apart. Each becomes a [`world::World`] of plain data
//! (`look` reads threads, `holders` descriptors, `resolve` turns a system call into a wait). `liveness` finds
//! which threads can never continue; only what both snapshots agree on, and what has not run in between, is
//! called dead. `graph` finds components and deadlocked sets, `dead` and `live` classify them, and `words`
//! describes waits.

mod buffered;
mod dead;
mod graph;
pub(crate) mod holders;
mod left_running;
pub(crate) mod liveness;
pub(crate) mod look;
pub(crate) mod pace;
mod raw_process;
pub(crate) mod resolve;
mod seen;
pub(crate) mod words;
pub(crate) mod world;

use crate::probes::threads::ThreadProbe;
use crate::stack::Stacks;
use graph::Edges;
use pelton_record::diagnosis::{DIAGNOSIS_VERSION, Diagnosis, Finding, Health, Kind, Process, Wait};
use pelton_sys::{clock, other_process, processes};
use seen::Seen;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use world::{Cause, World};

/// Minimum time between two snapshots. The first snapshot counts as part of it.
const BETWEEN: Duration = Duration::from_millis(50);

/// Which processes to examine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All readable processes.
    All,
    /// All of the user's processes.
    Own,
    /// These, with their descendants and the processes at the other ends of their pipes.
    These(Vec<u32>),
}

/// Programs that are called by the name of the script that they run.
const INTERPRETERS: [&str; 10] =
    ["bash", "dash", "fish", "ksh", "node", "perl", "python", "ruby", "sh", "zsh"];

/// Returns the processes whose program or script, or the last part of its path, is called `name`; without this one.
pub fn find(name: &str) -> Vec<u32> {
    let own = std::process::id();
    let name = last_part(name);
    let fits = |pid: u32| {
        let stat = processes::file(pid, "stat").and_then(|text| processes::parse_stat(&text));
        stat.is_some_and(|stat| stat.name == name) || runs(&processes::command_line(pid), name)
    };
    processes::all().into_iter().filter(|&pid| pid != own && fits(pid)).collect()
}

/// Whether a command line runs the program or the script `name`.
fn runs(words: &[String], name: &str) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let program = last_part(program);
    let without_version = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let script = arguments.iter().find(|word| !word.starts_with('-'));
    program == name
        || INTERPRETERS.contains(&without_version) && script.is_some_and(|script| last_part(script) == name)
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Whether there is a process `pid`.
pub fn exists(pid: u32) -> bool {
    processes::owner(pid).is_some()
}

/// Watches the threads of `pid` and its descendants for two seconds.
pub fn threads(pid: u32) -> pelton_record::threads::Threads {
    const FOR: Duration = Duration::from_secs(2);
    const EVERY: Duration = Duration::from_millis(20);
    let start_ns = clock::now_ns();
    let mut probe = ThreadProbe::attach(pid, start_ns);
    while clock::now_ns() - start_ns < FOR.as_nanos() as u64 {
        probe.sample(clock::now_ns());
        std::thread::sleep(EVERY);
    }
    probe.finish(clock::now_ns(), pelton_sys::machine::cores())
}

/// Takes two snapshots, and draws conclusions.
pub fn examine(scope: &Scope) -> Diagnosis {
    examine_beside(scope, None)
}

/// Does the same for the parent of `command`, which only waits for its end: it will do nothing else that could end a wait,
/// such as opening a FIFO.
pub fn examine_beside(scope: &Scope, command: Option<u32>) -> Diagnosis {
    let start_ns = clock::now_ns();
    let taken_unix_ms = clock::unix_ms();
    let seen = see(command);
    let mut members = members(&seen, scope);
    let asked = match scope {
        Scope::These(pids) => Some(pids.as_slice()),
        Scope::All | Scope::Own => None,
    };
    if command.is_some() {
        // Whoever reads the command's output may wait for others as well: that is not the command's concern.
        members.retain(|pid| asked.is_none_or(|asked| asked.contains(pid)));
    }
    let (mut findings, idle) = findings(&seen, &members, asked.is_some());
    if command.is_some() {
        findings.retain(|finding| asked.is_none_or(|asked| is_about(finding, asked)));
    }
    let notes = add_stacks(&mut findings, asked.filter(|_| command.is_some()), asked.is_some());
    let health = findings.iter().map(|finding| finding.health).max().unwrap_or(Health::Idle);
    let visible = |process: &&world::Process| !process.hidden;
    let processes_seen = seen.world.processes.values().filter(visible).count() as u32;
    Diagnosis {
        diagnosis_version: DIAGNOSIS_VERSION,
        pelton_version: env!("CARGO_PKG_VERSION").into(),
        taken_unix_ms,
        wall_ns: clock::now_ns() - start_ns,
        health,
        processes: named(&seen.world, &findings),
        findings,
        processes_seen,
        processes_hidden: seen.world.processes.len() as u32 - processes_seen,
        processes_idle: idle,
        threads: None,
        notes,
    }
}

/// Whether a finding names one of these processes.
fn is_about(finding: &Finding, pids: &[u32]) -> bool {
    let mut named = finding.waits.iter().map(|wait| wait.pid).chain(finding.root_cause.iter().copied());
    named.any(|pid| pids.contains(&pid))
}

/// Adds where the threads of processes are in their programs: of those in `only`, and of the dead or of `all`. Returns what is to
/// be noted.
fn add_stacks(findings: &mut [Finding], only: Option<&[u32]>, all: bool) -> Vec<String> {
    let mut stacks = Stacks::new();
    let findings = findings.iter_mut().filter(|finding| all || finding.health == Health::Dead);
    for wait in findings.flat_map(|finding| &mut finding.waits) {
        if only.is_none_or(|only| only.contains(&wait.pid)) {
            wait.stacks = stacks.of(wait.pid, wait.thread);
        }
    }
    let late = "Some lines are missing: to read them took too long.";
    stacks.is_late.then(|| late.to_owned()).into_iter().collect()
}

fn see(command: Option<u32>) -> Seen {
    let pids = processes::all();
    let cpu = || -> BTreeMap<u32, u64> {
        pids.iter().filter_map(|&pid| Some((pid, clock::process_cpu_ns(pid)?))).collect()
    };
    let (first_ns, first) = (clock::now_ns(), cpu());
    let look = |pids: &[u32]| {
        let mut world = look::look(pids);
        world.is_waited_for(command, std::process::id());
        world
    };
    let mut world = look(&pids);
    std::thread::sleep(BETWEEN.saturating_sub(Duration::from_nanos(clock::now_ns() - first_ns)));
    let (second_ns, second) = (clock::now_ns(), cpu());
    let mut dead = liveness::dead_threads(&world);
    if !dead.is_empty() {
        confirm(&mut world, &look(&processes::all()), &dead);
        dead = liveness::dead_threads(&world);
    }
    let cpu_ns = second.iter().filter_map(|(pid, now)| Some((*pid, now.saturating_sub(*first.get(pid)?))));
    let cpu_ns = cpu_ns.collect();
    let mut dead = liveness::dead_processes(&world, &dead);
    let own = world.leave_out(std::process::id());
    dead.retain(|pid| !own.contains(pid));
    Seen { world, own, dead, cpu_ns, between_ns: second_ns - first_ns }
}

/// Compares with the second snapshot. A thread that is no longer dead in the same way, or that has run in between,
/// is live.
fn confirm(world: &mut World, again: &World, dead: &BTreeSet<(u32, u32)>) {
    let still = liveness::dead_threads(again);
    for (&pid, process) in &mut world.processes {
        for task in process.tasks.iter_mut().filter(|task| dead.contains(&(pid, task.thread))) {
            let tasks = again.processes.get(&pid).map(|process| process.tasks.as_slice()).unwrap_or_default();
            let same = tasks.iter().any(|other| {
                other.thread == task.thread && other.evidence == task.evidence && other.wait == task.wait
            });
            if !same || !still.contains(&(pid, task.thread)) {
                task.wait = world::Wait::simple(Cause::Running);
            }
        }
    }
}

/// Returns the deadlock that these processes are in, if one new snapshot of all processes confirms it: they
/// are still dead, with the same evidence. The caller has seen them stand still for a while.
pub(crate) fn confirm_deadlock(still: &BTreeMap<(u32, u32), String>) -> Option<Finding> {
    let mut world = look::look(&processes::all());
    let own = world.leave_out(std::process::id());
    let threads = liveness::dead_threads(&world);
    let dead = liveness::dead_processes(&world, &threads);
    let evidence = |pid: u32, thread: u32| {
        let tasks = &world.processes.get(&pid)?.tasks;
        Some(tasks.iter().find(|task| task.thread == thread)?.evidence.as_str())
    };
    let same = |(&(pid, thread), before): (&(u32, u32), &String)| {
        dead.contains(&pid) && evidence(pid, thread) == Some(before)
    };
    if !still.iter().all(same) {
        return None;
    }
    let seen = Seen { world, own, dead, cpu_ns: BTreeMap::new(), between_ns: 0 };
    let stuck: BTreeSet<u32> = still.keys().map(|(pid, _)| *pid).collect();
    let parts = graph::components(&seen.world, &seen.dead, Edges::All);
    let part = parts.into_iter().find(|part| !part.is_disjoint(&stuck))?;
    let root_cause = graph::root_causes(&seen.world, &part).into_iter().next()?;
    Some(deadlock(&seen, &part, &root_cause))
}

fn members(seen: &Seen, scope: &Scope) -> BTreeSet<u32> {
    let user = processes::own_user();
    let all = &seen.world.processes;
    let visible = all.iter().filter(|(pid, process)| !seen.own.contains(pid) && !process.hidden);
    match scope {
        Scope::All => visible.map(|(pid, _)| *pid).collect(),
        Scope::Own => visible.filter(|(_, process)| process.owner == user).map(|(pid, _)| *pid).collect(),
        Scope::These(pids) => graph::related(&seen.world, pids, &seen.own),
    }
}

/// Returns the findings about `members`, the gravest first, then those with advice, and the number of idle processes not worth a
/// finding.
fn findings(seen: &Seen, members: &BTreeSet<u32>, all: bool) -> (Vec<Finding>, u32) {
    let mut found = Vec::new();
    let (mut idle, mut still) = (0, Vec::new());
    for part in graph::components(&seen.world, &seen.dead, Edges::All) {
        if !part.is_disjoint(members) {
            found.extend(
                graph::root_causes(&seen.world, &part)
                    .iter()
                    .map(|root_cause| deadlock(seen, &part, root_cause)),
            );
        }
    }
    let live: BTreeSet<u32> = members.difference(&seen.dead).copied().collect();
    for mut part in graph::components(&seen.world, &live, Edges::Channels) {
        if part.iter().all(|&pid| pace::only_waits_for_children(seen, pid, &live)) {
            continue;
        }
        let Some(mut conclusion) = pace::conclude(seen, &part) else { continue };
        if conclusion.health == Health::Idle
            && let Some(better) =
                left_running::conclude(seen, &part).or_else(|| buffered::conclude(seen, &part))
        {
            conclusion = better;
        }
        let worth = conclusion.health != Health::Idle && conclusion.kind != Kind::Unseen;
        if all || worth {
            add_waiting_parents(seen, &live, &mut part);
            found.push(concluded(seen, &part, &conclusion));
        } else if pace::holds_up_a_reader(seen, &part) {
            still.push((part, conclusion));
        } else {
            idle += part.len() as u32;
        }
    }
    // The newest ones: the first process of each has the lowest id.
    let older = still.len().saturating_sub(STILL);
    let (older, newest) = still.split_at_mut(older);
    idle += older.iter().map(|(part, _)| part.len() as u32).sum::<u32>();
    for (part, conclusion) in newest.iter_mut().rev() {
        add_waiting_parents(seen, &live, part);
        found.push(concluded(seen, part, conclusion));
    }
    found.sort_by_key(|finding| (std::cmp::Reverse(finding.health), finding.cure.is_none()));
    (found, idle)
}

/// The most pipelines that stand still of which a look at all processes tells: servers and desktops have many.
const STILL: usize = 3;

/// Adds those who only wait for a child in `part`, their parents who only wait for them, and so on.
fn add_waiting_parents(seen: &Seen, live: &BTreeSet<u32>, part: &mut BTreeSet<u32>) {
    loop {
        let waits = |pid: &&u32| !part.contains(pid) && pace::only_waits_for_children(seen, **pid, part);
        let parents: Vec<u32> = live.iter().filter(waits).copied().collect();
        if parents.is_empty() {
            return;
        }
        part.extend(parents);
    }
}

/// Builds the finding about a dead component: its deadlocked set, and the processes that only wait for that.
fn deadlock(seen: &Seen, part: &BTreeSet<u32>, root_cause: &BTreeSet<u32>) -> Finding {
    let world = &seen.world;
    let held: Vec<dead::Held<'_>> =
        root_cause.iter().filter_map(|&pid| Some((pid, dead::held(world, pid, root_cause)?))).collect();
    let kind = dead::kind(&held);
    // A single stopped process is not a deadlock: nothing waits for it, and its shell can continue it.
    let alone = kind == Kind::Stopped && part.len() == 1;
    let mut waits: Vec<Wait> = held.iter().map(|(pid, wait)| told(world, *pid, wait)).collect();
    let others = part.difference(root_cause).filter_map(|&pid| Some((pid, dead::held(world, pid, part)?)));
    waits.extend(others.map(|(pid, wait)| told(world, pid, wait)));
    let headline = if alone {
        format!("{} is stopped, and nobody waits for it", words::names(world, root_cause.iter().copied()))
    } else {
        dead::headline(world, kind, &held)
    };
    Finding {
        health: if alone { Health::Idle } else { Health::Dead },
        kind,
        headline,
        root_cause: root_cause.iter().copied().collect(),
        waits,
        still_ns: still_ns(world, root_cause),
        cure: dead::cure(world, kind, &held),
    }
}

fn concluded(seen: &Seen, part: &BTreeSet<u32>, conclusion: &pace::Conclusion) -> Finding {
    let world = &seen.world;
    let wait = |&pid: &u32| {
        let process = world.processes.get(&pid)?;
        Some(told(world, pid, pace::telling(process)?))
    };
    Finding {
        health: conclusion.health,
        kind: conclusion.kind,
        headline: conclusion.headline.clone(),
        root_cause: vec![conclusion.root_cause],
        waits: part.iter().filter_map(wait).collect(),
        still_ns: None,
        cure: conclusion.cure.clone(),
    }
}

/// Converts a wait for the record: with a description, and the fill level of its channel.
fn told(world: &World, pid: u32, wait: &world::Wait) -> Wait {
    let asks = matches!(wait.cause, Cause::Data | Cause::Room);
    // A socket's unread data is at the reader's end.
    let fill = match (&wait.cause, wait.fd, wait.by.iter().find_map(|one| Some((one.pid, one.fd?)))) {
        (Cause::Room, Some(fd), Some((reader, end))) if is_socket(wait) => {
            other_process::fill(reader, end).or_else(|| other_process::fill(pid, fd))
        }
        (_, Some(fd), _) if asks => other_process::fill(pid, fd),
        _ => None,
    };
    let task = world.processes.get(&pid).and_then(|one| one.tasks.iter().find(|task| task.wait == *wait));
    Wait {
        pid,
        thread: task.map_or(pid, |task| task.thread),
        words: words::wait(world, pid, wait, fill),
        what: words::what(&wait.cause),
        fd: wait.fd,
        object: wait.object.clone(),
        fill_bytes: fill.map(|fill| fill.bytes),
        capacity_bytes: fill.and_then(|fill| fill.capacity_bytes),
        by: wait.by.clone(),
        stacks: Vec::new(),
    }
}

fn is_socket(wait: &world::Wait) -> bool {
    wait.object.as_deref().is_some_and(|object| object.starts_with("socket:"))
}

/// Returns how long ago the last of these processes ran.
fn still_ns(world: &World, root_cause: &BTreeSet<u32>) -> Option<u64> {
    let mut least: Option<u64> = None;
    for pid in root_cause {
        let process = world.processes.get(pid)?;
        for task in &process.tasks {
            let cpu =
                processes::parse_stat(&processes::file(*pid, &format!("task/{}/stat", task.thread))?)?.cpu;
            let ran_ns = processes::last_ran_ns(*pid, task.thread)?;
            let now_ns = processes::scheduler_now_ns(cpu)?;
            let still = now_ns.saturating_sub(ran_ns);
            least = Some(least.map_or(still, |least| least.min(still)));
        }
    }
    least
}

/// Describes the processes named in findings.
fn named(world: &World, findings: &[Finding]) -> Vec<Process> {
    let waits = findings.iter().flat_map(|finding| &finding.waits);
    let waiting = waits.flat_map(|wait| wait.by.iter().map(|holder| holder.pid).chain([wait.pid]));
    let root_causes = findings.iter().flat_map(|finding| finding.root_cause.iter().copied());
    let pids: BTreeSet<u32> = waiting.chain(root_causes).collect();
    pids.into_iter().filter_map(|pid| Some(described(pid, world.processes.get(&pid)?))).collect()
}

fn described(pid: u32, process: &world::Process) -> Process {
    let tick_ns = 1_000_000_000 / processes::ticks_per_second().max(1);
    Process {
        pid,
        parent: process.stat.parent,
        name: process.stat.name.clone(),
        command: pelton_record::typed_command_line(&processes::command_line(pid)),
        age_ns: clock::since_boot_ns().saturating_sub(process.stat.start_ticks * tick_ns),
        cpu_ns: clock::process_cpu_ns(pid).unwrap_or(process.stat.cpu_ticks * tick_ns),
        threads: process.stat.threads,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_command_line_runs_its_program_or_the_script_of_an_interpreter() {
        let runs = |line: &str, name: &str| {
            super::runs(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), name)
        };
        assert!(runs("/usr/bin/cat f", "cat") && runs("python3.11 -u /tmp/job.py a", "job.py"));
        assert!(runs("bash -x ./a.sh", "a.sh") && runs("./a.sh", "a.sh"));
        assert!(!runs("cat job.py", "job.py") && !runs("bash a.sh job.py", "job.py"));
    }
}
