//! Which processes can still continue: a fixpoint over the wait-for graph.
//!
//! A thread is live if it runs, sleeps for a time, waits for something outside, or cannot be classified. A
//! thread is also live if it waits for something live: any holder of the other end of a channel, any child,
//! any other thread. What is left when nothing more becomes live is dead: every process that could end its
//! wait is dead too. This is the classical reduction of a resource graph with *or* requests (Holt 1972, Knapp
//! 1987), with doubt counted as life.

use super::world::{Cause, Process, Task, Wait, World};
use std::collections::BTreeSet;

/// Returns the threads that can never continue, as (process, thread).
pub fn dead_threads(world: &World) -> BTreeSet<(u32, u32)> {
    let mut live = Live::default();
    loop {
        let before = live.threads.len();
        for (&pid, process) in &world.processes {
            for task in &process.tasks {
                if !live.threads.contains(&(pid, task.thread)) && live.can_end(world, pid, task, &task.wait) {
                    live.threads.insert((pid, task.thread));
                    live.processes.insert(pid);
                }
            }
        }
        if live.threads.len() == before {
            break;
        }
    }
    let all =
        world.processes.iter().flat_map(|(&pid, process)| process.tasks.iter().map(move |t| (pid, t.thread)));
    all.filter(|thread| !live.threads.contains(thread)).collect()
}

/// Returns the processes whose threads are all dead.
pub fn dead_processes(world: &World, threads: &BTreeSet<(u32, u32)>) -> BTreeSet<u32> {
    let all_dead = |pid: u32, process: &Process| {
        !process.has_ended() && process.tasks.iter().all(|task| threads.contains(&(pid, task.thread)))
    };
    world.processes.iter().filter(|(pid, process)| all_dead(**pid, process)).map(|(pid, _)| *pid).collect()
}

#[derive(Default)]
struct Live {
    threads: BTreeSet<(u32, u32)>,
    processes: BTreeSet<u32>,
}

impl Live {
    fn can_end(&self, world: &World, pid: u32, task: &Task, wait: &Wait) -> bool {
        match &wait.cause {
            cause if cause.is_outside() => true,
            Cause::Stopped => false,
            Cause::Any(waits) => {
                waits.is_empty() || waits.iter().any(|one| self.can_end(world, pid, task, one))
            }
            Cause::Thread => self.another_thread(world, pid, task),
            Cause::Opener { .. } => {
                let may_open = |one: u32| self.has(world, one) && !only_looks_on(world, pid, one);
                wait.by.iter().any(|holder| may_open(holder.pid))
            }
            // If no holder of the other end is visible, an invisible one exists: otherwise the wait would be
            // over.
            _ => {
                let may_open = |&opener: &u32| {
                    self.has(world, opener)
                        && !only_waits_above(world, pid, opener)
                        && !only_looks_on(world, pid, opener)
                };
                wait.by.is_empty()
                    || wait.by.iter().any(|holder| self.has(world, holder.pid))
                    || wait.openers.iter().any(may_open)
            }
        }
    }

    /// A process that has ended counts as live: its end is about to be noticed.
    fn has(&self, world: &World, pid: u32) -> bool {
        self.processes.contains(&pid) || world.processes.get(&pid).is_none_or(Process::has_ended)
    }

    fn another_thread(&self, world: &World, pid: u32, task: &Task) -> bool {
        let Some(process) = world.processes.get(&pid) else { return true };
        process
            .tasks
            .iter()
            .any(|other| other.thread != task.thread && self.threads.contains(&(pid, other.thread)))
    }
}

/// Whether a process is a pelton that times something above `pid`, or its helper that follows processes, in its group: both only wait
/// until others end.
fn only_looks_on(world: &World, pid: u32, one: u32) -> bool {
    let stat = |pid: u32| world.processes.get(&pid).map(|process| &process.stat);
    let group = |pid: u32| stat(pid).map(|stat| stat.group);
    is_pelton(world, one) && world.ancestors(pid).any(|pid| is_pelton(world, pid) && group(pid) == group(one))
}

fn is_pelton(world: &World, pid: u32) -> bool {
    world.processes.get(&pid).is_some_and(|process| process.stat.name == "pelton")
}

/// Whether a process above another one only waits for a signal or for a terminal, as `timeout` and a shell do.
fn only_waits_above(world: &World, pid: u32, above: u32) -> bool {
    let waits = |process: &Process| {
        let mut causes = process.tasks.iter().map(|task| &task.wait.cause);
        causes.all(|cause| matches!(cause, Cause::Signal | Cause::Terminal))
    };
    world.processes.get(&above).is_some_and(waits) && world.ancestors(pid).any(|ancestor| ancestor == above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_record::diagnosis::Holder;

    fn by(cause: Cause, pids: &[u32]) -> Wait {
        let by = pids.iter().map(|&pid| Holder { pid, fd: None }).collect();
        Wait { by, ..Wait::simple(cause) }
    }

    fn world(processes: Vec<(u32, Vec<Wait>)>) -> World {
        let process = |pid: u32, waits: Vec<Wait>| {
            let task = |(i, wait)| Task { thread: pid + i as u32, wait, evidence: String::new() };
            Process { tasks: waits.into_iter().enumerate().map(task).collect(), ..Process::default() }
        };
        let processes = processes.into_iter().map(|(pid, waits)| (pid, process(pid, waits))).collect();
        World { processes }
    }

    fn dead(processes: Vec<(u32, Vec<Wait>)>) -> Vec<u32> {
        let world = world(processes);
        dead_processes(&world, &dead_threads(&world)).into_iter().collect()
    }

    #[test]
    fn a_circle_is_dead_with_all_who_wait_for_it() {
        let circle = vec![
            (10, vec![by(Cause::Child, &[20])]),
            (20, vec![by(Cause::Room, &[10])]),
            (30, vec![by(Cause::Child, &[10])]),
        ];
        assert_eq!(dead(circle), [10, 20, 30]);
    }

    #[test]
    fn one_live_holder_is_enough() {
        let held = |other| {
            vec![
                (10, vec![by(Cause::Child, &[20])]),
                (20, vec![by(Cause::Data, &[10, 40])]),
                (40, vec![Wait::simple(other)]),
            ]
        };
        for outside in [Cause::Running, Cause::Timer, Cause::Disk, Cause::Unknown(String::new())] {
            assert_eq!(dead(held(outside)), Vec::<u32>::new());
        }
        assert_eq!(dead(held(Cause::Stopped)), [10, 20, 40]);
    }

    #[test]
    fn a_reader_that_holds_its_own_write_end_is_dead() {
        assert_eq!(dead(vec![(10, vec![by(Cause::Data, &[10])])]), [10]);
    }

    #[test]
    fn who_may_still_open_a_fifo_keeps_its_reader_alive() {
        let reader = || Wait { openers: vec![20], ..by(Cause::Data, &[10]) };
        let with = |other| vec![(10, vec![reader()]), (20, vec![other])];
        assert_eq!(dead(with(Wait::simple(Cause::Timer))), Vec::<u32>::new());
        assert_eq!(dead(with(by(Cause::Child, &[10]))), [10, 20]);
    }

    #[test]
    fn whoever_holds_the_other_end_unseen_is_live() {
        assert_eq!(dead(vec![(10, vec![by(Cause::Data, &[])])]), Vec::<u32>::new());
        assert_eq!(
            dead(vec![(10, vec![by(Cause::Opener { for_writing: true, removed: false }, &[])])]),
            [10]
        );
    }

    #[test]
    fn threads_keep_one_another_alive() {
        let locked = || by(Cause::Thread, &[]);
        assert_eq!(dead(vec![(10, vec![locked(), locked()])]), [10]);
        assert_eq!(dead(vec![(10, vec![locked(), Wait::simple(Cause::Timer)])]), Vec::<u32>::new());
        let reader = vec![(10, vec![locked(), by(Cause::Data, &[10])])];
        assert_eq!(dead(reader), [10], "each waits for the other");
    }

    #[test]
    fn any_of_several_is_enough_and_the_ended_are_noticed() {
        let any = by(Cause::Any(vec![by(Cause::Data, &[20]), by(Cause::Data, &[10])]), &[]);
        let both = |other| vec![(10, vec![any.clone()]), (20, vec![other])];
        assert_eq!(dead(both(Wait::simple(Cause::Timer))), Vec::<u32>::new());
        assert_eq!(dead(both(by(Cause::Room, &[10]))), [10, 20]);
        assert_eq!(dead(vec![(10, vec![by(Cause::Child, &[20])]), (20, vec![])]), Vec::<u32>::new());
    }
}
