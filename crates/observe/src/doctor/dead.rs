//! Classifies deadlocks, and suggests a remedy.

use super::buffered;
use super::words::{descriptor, listed, name, names};
use super::world::{Cause, Process, Wait, World};
use pelton_record::diagnosis::Kind;
use std::collections::BTreeSet;

/// Shells, in which a command releases a lock.
pub const SHELLS: [&str; 6] = ["bash", "dash", "ksh", "mksh", "sh", "zsh"];

/// A process of a deadlocked set, and the wait that keeps it there.
pub type Held<'w> = (u32, &'w Wait);

/// Returns the wait of `pid` for a process of `root_cause`; if there is none, its first wait.
pub fn held<'w>(world: &'w World, pid: u32, root_cause: &BTreeSet<u32>) -> Option<&'w Wait> {
    let tasks = &world.processes.get(&pid)?.tasks;
    let leads = |wait: &&Wait| wait.by.iter().any(|holder| root_cause.contains(&holder.pid));
    let waits = || tasks.iter().map(|task| &task.wait);
    waits()
        .find(leads)
        .or_else(|| waits().find(|wait| wait.cause != Cause::Thread))
        .or_else(|| waits().next())
}

/// Classifies a deadlocked set.
pub fn kind(held: &[Held<'_>]) -> Kind {
    let has = |test: fn(&Cause) -> bool| held.iter().any(|(_, wait)| test(&wait.cause));
    let all = |test: fn(&Cause) -> bool| held.iter().all(|(_, wait)| test(&wait.cause));
    match unread(held).map(|(_, (_, reader))| &reader.cause) {
        _ if has(|c| *c == Cause::Stopped) => Kind::Stopped,
        _ if has(|c| matches!(c, Cause::Opener { .. })) => Kind::FifoOneSided,
        _ if has(|c| *c == Cause::Lock) => Kind::FileLock,
        _ if all(|c| *c == Cause::Thread) => Kind::Threads,
        Some(Cause::Child) => Kind::WaitsWithoutReading,
        Some(_) => Kind::UndrainedChannel,
        None if all(|c| *c == Cause::Room) => Kind::BothFull,
        None if mutual(held).is_some() || held.len() > 1 && all(reads) => Kind::BothEmpty,
        None if has(reads) && all(|c| reads(c) || *c == Cause::Child) => Kind::HeldOpen,
        None => Kind::Cycle,
    }
}

fn reads(cause: &Cause) -> bool {
    matches!(cause, Cause::Data | Cause::Any(_))
}

/// Returns a process blocked on write, and the process that should read from it but waits for something else.
fn unread<'h, 'w>(held: &'h [Held<'w>]) -> Option<(&'h Held<'w>, &'h Held<'w>)> {
    let full = held.iter().filter(|(_, wait)| wait.cause == Cause::Room);
    let mut pairs = full.flat_map(|full| {
        let others = held.iter().filter(|(pid, wait)| {
            (reads(&wait.cause) || wait.cause == Cause::Child)
                && full.1.by.iter().any(|holder| holder.pid == *pid)
        });
        others.map(move |other| (full, other))
    });
    pairs.next()
}

/// Returns two processes that are blocked on read from each other.
fn mutual<'h, 'w>(held: &'h [Held<'w>]) -> Option<(&'h Held<'w>, &'h Held<'w>)> {
    let from = |one: &Held<'_>, other: &Held<'_>| {
        reads(&one.1.cause) && one.1.by.iter().any(|holder| holder.pid == other.0)
    };
    let mut pairs = held.iter().flat_map(|one| held.iter().map(move |other| (one, other)));
    pairs.find(|(one, other)| one.0 != other.0 && from(one, other) && from(other, one))
}

/// Returns the reader that gets no end of file, in a deadlocked set without a full pipe: preferably one that
/// processes input, not the process that started the others.
fn reader<'h, 'w>(world: &World, held: &'h [Held<'w>]) -> Option<&'h Held<'w>> {
    let inside = |pid: u32| held.iter().any(|(member, _)| *member == pid);
    let started_inside =
        |pid: u32| world.processes.get(&pid).is_some_and(|process| inside(process.stat.parent));
    let mut all = held.iter().filter(|(_, wait)| reads(&wait.cause));
    all.clone().find(|(pid, _)| started_inside(*pid)).or_else(|| all.next())
}

/// Returns the path of a FIFO that a process reads by a descriptor that is open for writing as well (`exec 3<>FIFO`): it
/// wants data, and no end of file.
fn both_ways<'w>((pid, wait): &Held<'w>) -> Option<&'w str> {
    let path = wait.object.as_deref().filter(|path| path.starts_with('/'))?;
    let is_own = wait.by.iter().any(|holder| holder.pid == *pid && holder.fd == wait.fd);
    (wait.cause == Cause::Data && is_own).then_some(path)
}

/// Returns one sentence that describes it.
pub fn headline(world: &World, kind: Kind, held: &[Held<'_>]) -> String {
    let pids: Vec<u32> = held.iter().map(|(pid, _)| *pid).collect();
    let all = names(world, pids.iter().copied());
    let both = if pids.len() == 2 { "both" } else { "all" };
    let of = |test: fn(&Cause) -> bool| {
        names(world, held.iter().filter(|(_, wait)| test(&wait.cause)).map(|(pid, _)| *pid))
    };
    let pair = unread(held).map(|((full, _), (other, _))| (name(world, *full), name(world, *other)));
    match (kind, pair) {
        (Kind::WaitsWithoutReading, Some((full, other))) => {
            format!(
                "{other} is deadlocked: it waits for the end of {full}, which is blocked on write to a pipe that {other} does not read"
            )
        }
        (Kind::UndrainedChannel, Some((full, other))) => {
            format!(
                "{other} reads one channel while {full} is blocked on write to another, which is full and which {other} does not read"
            )
        }
        (Kind::BothFull, _) => {
            format!("{all} {both} are blocked on write to each other's channels, and neither reads")
        }
        (Kind::BothEmpty, _) => match mutual(held) {
            Some(((one, _), (other, _))) => {
                let rest = pids.iter().copied().filter(|pid| pid != one && pid != other);
                let rest = names(world, rest);
                let pair = names(world, [*one, *other]);
                let more = if rest.is_empty() { rest } else { format!(" ({rest} beside them)") };
                format!("{pair} both are blocked on read from each other, and neither writes{more}")
            }
            None => format!("{all} {both} are blocked on read from each other, and neither writes"),
        },
        (Kind::HeldOpen, _) if held.len() == 1 && both_ways(&held[0]).is_some() => {
            let path = both_ways(&held[0]).unwrap_or_default();
            format!(
                "{all} waits for data in {path}, which it has open for reading and writing: nobody is left to write"
            )
        }
        (Kind::HeldOpen, _) if held.len() == 1 => {
            format!(
                "{all} waits for an end of file that it holds back itself: it has the write end open as well"
            )
        }
        (Kind::HeldOpen, _) => {
            let verb = if held.iter().filter(|(_, wait)| reads(&wait.cause)).count() == 1 {
                "waits"
            } else {
                "wait"
            };
            let (reader, waiter) = (of(reads), of(|c| !reads(c)));
            format!(
                "{reader} {verb} for an end of file that cannot come: {waiter}, which waits for its end, holds it back"
            )
        }
        (Kind::FifoOneSided, _) => {
            let who = of(|c| matches!(c, Cause::Opener { .. }));
            if held.iter().any(|(_, wait)| matches!(wait.cause, Cause::Opener { removed: true, .. })) {
                return format!(
                    "nobody can open the other side of the FIFO that {who} opens by its name: it was removed or renamed"
                );
            }
            one_sided(world, held)
        }
        (Kind::Stopped, _) => format!(
            "others wait for {}: stopped, by a signal or from a terminal",
            of(|c| *c == Cause::Stopped)
        ),
        (Kind::FileLock, _) => {
            format!("the file lock that {} wants is held by one that waits for it", of(|c| *c == Cause::Lock))
        }
        (Kind::Threads, _)
            if held
                .iter()
                .all(|(pid, _)| world.processes.get(pid).is_some_and(|one| one.tasks.len() == 1)) =>
        {
            format!("{all} waits for what only it itself could bring about")
        }
        (Kind::Threads, _) => format!("all threads of {all} wait, and each for another one"),
        _ => format!("{all} wait for one another in a circle"),
    }
}

/// Says who waits for whom to open FIFOs, and why nobody does.
fn one_sided(world: &World, held: &[Held<'_>]) -> String {
    let mut sides: Vec<(String, Vec<u32>)> = Vec::new();
    for (pid, wait) in held.iter().filter(|(_, wait)| matches!(wait.cause, Cause::Opener { .. })) {
        let side = other_side(wait);
        match sides.iter_mut().find(|(known, _)| *known == side) {
            Some((_, pids)) => pids.push(*pid),
            None => sides.push((side, vec![*pid])),
        }
    }
    let wait = |pids: &[u32]| if pids.len() == 1 { "waits" } else { "wait" };
    let all: Vec<String> = sides
        .iter()
        .map(|(side, pids)| format!("{} {} for {side}", names(world, pids.iter().copied()), wait(pids)))
        .collect();
    let all = listed(all, "and");
    match late_reader(held) {
        Some(((_, wait), reader)) => {
            format!(
                "{all}; {}, which has {} among its arguments, first waits for {}",
                name(world, reader),
                wait.object.as_deref().unwrap_or_default(),
                awaited(world, reader)
            )
        }
        None => {
            let what = if sides.len() == 1 { "it" } else { "them" };
            format!("{all}, and nobody that runs now will open {what}")
        }
    }
}

/// Returns one that opens a FIFO for writing, and the process that has the FIFO among its arguments, most likely to read it, but
/// waits for something else first.
fn late_reader<'h, 'w>(held: &'h [Held<'w>]) -> Option<(&'h Held<'w>, u32)> {
    held.iter().find_map(|one| match one.1.cause {
        Cause::Opener { for_writing: true, removed: false } => Some((one, *one.1.named_by.first()?)),
        _ => None,
    })
}

/// Returns what a process waits for, as the object of a sentence.
fn awaited(world: &World, pid: u32) -> String {
    let tasks = world.processes.get(&pid).map_or(&[][..], |process| &process.tasks);
    match tasks.first().map(|task| &task.wait) {
        Some(wait) if matches!(wait.cause, Cause::Opener { .. }) => other_side(wait),
        Some(wait) if !wait.by.is_empty() => names(world, wait.by.iter().map(|holder| holder.pid)),
        _ => "something else".to_owned(),
    }
}

/// Returns what one that opens a FIFO waits for: `a reader of the FIFO PATH`.
pub fn other_side(wait: &Wait) -> String {
    let side = match wait.cause {
        Cause::Opener { for_writing: true, .. } => "a reader",
        _ => "a writer",
    };
    let path = wait.object.as_ref().map(|path| format!(" {path}")).unwrap_or_default();
    format!("{side} of the FIFO{path}")
}

/// Returns what helps one that waits until somebody opens the other side of a FIFO.
pub fn open_other_side(wait: &Wait) -> Option<String> {
    let path = wait.object.as_deref()?;
    match wait.cause {
        Cause::Opener { removed: true, .. } => {
            Some("end it (kill), or open the FIFO under its new name, if it has one".to_owned())
        }
        Cause::Opener { for_writing: true, .. } => Some(format!(
            "start the reader of {path} now; in a script, put & behind the command that writes, so that the script goes on to the \
             reader. A reader by hand, such as `cat {path}`, takes the data from that of the script"
        )),
        Cause::Opener { for_writing: false, .. } => Some(format!(
            "start the writer of {path} now; in a script whose writer comes later, put & behind the command that reads. If the writer \
             has ended already, `true > {path}` ends the wait, with an empty input"
        )),
        _ => None,
    }
}

/// Returns what helps if a shell waits for another command too, which waits for the one that opens a FIFO: that command keeps the
/// script from going on.
fn beside_opener(world: &World, held: &[Held<'_>], (opener, wait): Held<'_>) -> Option<String> {
    let parent = |pid: u32| world.processes.get(&pid).map(|process| process.stat.parent);
    let shell = held.iter().find(|(pid, wait)| wait.cause == Cause::Child && Some(*pid) == parent(opener))?.0;
    // What a shell has started last is what it waits for; what was started before runs beside it.
    let started = |pid: u32| world.processes.get(&pid).map(|process| (process.stat.start_ticks, pid));
    let waits_for_it = |(pid, wait): &&Held<'_>| {
        *pid != opener && parent(*pid) == Some(shell) && wait.by.iter().any(|holder| holder.pid == opener)
    };
    let last = held.iter().filter(waits_for_it).max_by_key(|(pid, _)| started(*pid));
    let Some((other, _)) = last.filter(|(pid, _)| started(*pid) > started(opener)) else {
        return before_reader(world, shell, (opener, wait));
    };
    Some(format!(
        "put & behind the command that runs as {} in the script: it waits for {}, and {} for it, so the script does not get to {}",
        name(world, *other),
        name(world, opener),
        name(world, shell),
        other_side(wait)
    ))
}

/// Returns what helps if a shell waits for the one that opens a FIFO for writing.
fn before_reader(world: &World, shell: u32, (opener, wait): Held<'_>) -> Option<String> {
    let Cause::Opener { for_writing: true, removed: false, .. } = wait.cause else { return None };
    let path = wait.object.as_deref()?;
    Some(format!(
        "in the script that {} runs, put & behind the command of {}, so that the script goes on to the reader of {path}; or start that \
         reader before it. A reader by hand, such as `cat {path}`, takes the data from that of the script",
        name(world, shell),
        name(world, opener),
    ))
}

/// Returns what helps if the reader of a FIFO waits for something else before it opens it.
fn read_at_once(world: &World, (opener, wait): &Held<'_>, reader: u32) -> Option<String> {
    let path = pelton_record::typed(&[wait.object.clone()?]);
    Some(format!(
        "in the command of {}, write `<(pelton buffer < {path})` in place of {path} (bash, zsh): then it is opened and read at once, \
         and {} goes on; or put what one of them is to read into a file",
        name(world, reader),
        name(world, *opener),
    ))
}

/// Returns one remedy.
pub fn cure(world: &World, kind: Kind, held: &[Held<'_>]) -> Option<String> {
    let find = |test: fn(&Cause) -> bool| held.iter().find(|(_, wait)| test(&wait.cause)).copied();
    let text = match kind {
        Kind::WaitsWithoutReading | Kind::UndrainedChannel => drain(world, kind, held)?,
        Kind::BothFull => {
            let inside = |pid: u32| held.iter().any(|(member, _)| *member == pid);
            let parent_of = |pid: u32| world.processes.get(&pid).map(|process| process.stat.parent);
            let child = held.iter().map(|(pid, _)| *pid).find(|pid| parent_of(*pid).is_some_and(inside));
            let parent = child.and_then(parent_of);
            match child.zip(parent) {
                Some((child, parent)) => format!(
                    "in {}, read and write at the same time (poll, or a thread; in Python communicate()), or start {} as `pelton buffer -- \
                     {} …`, which takes in what it writes",
                    name(world, parent),
                    name(world, child),
                    world.processes.get(&child).map_or("COMMAND", |process| process.stat.name.as_str()),
                ),
                None => "read and write at the same time (poll, or a thread), or put `pelton buffer` into one of the two pipes between \
                         them"
                    .into(),
            }
        }
        Kind::BothEmpty | Kind::HeldOpen => end_of_file(world, kind, held)?,
        Kind::FifoOneSided => {
            if let Some((opener, reader)) = late_reader(held) {
                return read_at_once(world, opener, reader);
            }
            let opener = find(|c| matches!(c, Cause::Opener { .. }))?;
            beside_opener(world, held, opener).or_else(|| open_other_side(opener.1))?
        }
        Kind::Stopped => {
            let stopped = held.iter().filter(|(_, wait)| wait.cause == Cause::Stopped);
            let pids: Vec<String> = stopped.map(|(pid, _)| pid.to_string()).collect();
            format!("kill -CONT {}", pids.join(" "))
        }
        Kind::FileLock => {
            let (pid, wait) = find(|c| *c == Cause::Lock)?;
            let holder = wait.by.iter().find(|holder| holder.pid != pid)?;
            let is_shell = |process: &Process| SHELLS.contains(&process.stat.name.as_str());
            let by_shell = holder.fd.filter(|_| world.processes.get(&holder.pid).is_some_and(is_shell));
            let how = by_shell.map(|fd| format!(" (`flock -u {fd}`)")).unwrap_or_default();
            format!(
                "in {}, release the lock{how} before it waits for {}, or take it only once",
                name(world, holder.pid),
                name(world, pid)
            )
        }
        Kind::Threads if held.iter().any(|(_, wait)| wait.object.is_some()) => {
            "a debugger shows where it waits, and who was to write there".into()
        }
        Kind::Threads => {
            "take locks in the same order everywhere; a debugger shows where each thread stands".into()
        }
        _ => {
            let (pid, _) = held.first()?;
            format!("break the circle: end one of them, such as {}", name(world, *pid))
        }
    };
    Some(text)
}

fn drain(world: &World, kind: Kind, held: &[Held<'_>]) -> Option<String> {
    let ((pid, full), (other, _)) = unread(held)?;
    let end = full.by.iter().find(|holder| holder.pid == *other)?.fd.map_or("that end".into(), descriptor);
    let (writer, who) = (name(world, *pid), name(world, *other));
    Some(match kind {
        Kind::WaitsWithoutReading => format!(
            "in {who}, read its {end} to the end before waiting (in Python communicate(), in Ruby Open3.capture3), or send that output to a file"
        ),
        _ => format!(
            "in {who}, read its {end} at the same time (poll, or a thread; in Python communicate()), or send the {} of {writer} to a file",
            full.fd.map_or("output".into(), descriptor)
        ),
    })
}

/// Returns what helps a program that reads from a process that it has started, which reads from it.
fn write_before_reading(world: &World, held: &[Held<'_>]) -> Option<String> {
    let ((one, a), (other, b)) = mutual(held)?;
    let is_above = |above: u32, pid: u32| world.ancestors(pid).any(|pid| pid == above);
    let ((parent, reads), (child, input)) = match () {
        () if is_above(*one, *other) => ((*one, *a), (*other, *b)),
        () if is_above(*other, *one) => ((*other, *b), (*one, *a)),
        () => return None,
    };
    // A filter that answers line by line may only keep its answer back.
    if buffered::unbuffered(world, child).is_some() && reads.by.iter().any(|holder| holder.fd == Some(1)) {
        return None;
    }
    let end = |wait: &Wait, of: u32| wait.by.iter().find(|holder| holder.pid == of)?.fd.map(descriptor);
    let (who, child_name) = (name(world, parent), name(world, child));
    Some(format!(
        "in {who}, write all that {child_name} is to read and close {}, its {}, before reading {}, its {}; or do both at once (in Python \
         communicate())",
        end(input, parent)?,
        input.fd.map(descriptor)?,
        reads.fd.map(descriptor)?,
        end(reads, child)?,
    ))
}

/// Returns what helps a process that reads a FIFO by a descriptor that is open for writing as well.
pub fn read_only(world: &World, held: &Held<'_>) -> Option<String> {
    let path = both_ways(held)?;
    let who = name(world, held.0);
    let end = held.1.fd.map(descriptor)?;
    Some(format!(
        "open {path} for reading only (`< {path}`, not `<>`): the {end} of {who} could write to it too, so no end of file comes"
    ))
}

fn end_of_file(world: &World, kind: Kind, held: &[Held<'_>]) -> Option<String> {
    if let [only] = held
        && let Some(path) = both_ways(only)
    {
        return Some(format!(
            "write to {path}, or open it for reading only: then its last writer ends the wait"
        ));
    }
    if let Some(cure) = held.iter().find_map(|one| read_only(world, one)) {
        return Some(cure);
    }
    let (pid, empty) = reader(world, held)?;
    let waits = match &empty.cause {
        Cause::Any(waits) => waits.as_slice(),
        _ => std::slice::from_ref(*empty),
    };
    let inside = |pid: u32| held.iter().any(|(member, _)| *member == pid);
    let holders = || waits.iter().flat_map(|wait| &wait.by).filter(|holder| inside(holder.pid));
    // Its own end is easy to close too, but that does not help while another one is open.
    let one = holders().find(|holder| holder.pid != *pid).or_else(|| holders().next())?;
    let end = one.fd.map_or("the other end".into(), descriptor);
    let own = if holders().any(|holder| holder.pid == *pid) && one.pid != *pid {
        ", and its own copy of it"
    } else {
        ""
    };
    let who = name(world, *pid);
    let close =
        format!("close {end} in {}{own}: while it is open, {who} sees no end of file", name(world, one.pid));
    if let (Kind::BothEmpty, Some(both)) = (kind, write_before_reading(world, held)) {
        return Some(both);
    }
    let filter = held.iter().find_map(|(member, _)| Some((*member, buffered::unbuffered(world, *member)?)));
    Some(match filter.filter(|_| kind == Kind::BothEmpty) {
        Some((filter, how)) => format!("{close}; if {} was to answer earlier: {how}", name(world, filter)),
        None => close,
    })
}
