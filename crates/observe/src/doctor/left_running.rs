//! Finds readers of a pipe that a process holds open which was left in the background.
//!
//! A shell reads the output of a `$(…)` until nobody has it open for writing, also when the commands between the parentheses have
//! ended; a filter reads its input so.

use super::dead::SHELLS;
use super::pace::{Conclusion, telling};
use super::seen::Seen;
use super::words::{descriptor, name, names};
use super::world::Cause;
use pelton_record::diagnosis::{Health, Holder, Kind};
use std::collections::BTreeSet;

/// A process that waits for the end of a pipe.
struct Reader<'s> {
    pid: u32,
    /// Whether it is a shell that reads the output of a `$(…)`.
    is_substitution: bool,
    /// Who could write to it, itself left out.
    holders: Vec<&'s Holder>,
}

/// Draws another conclusion about processes that stand still, if one of them reads a pipe that only processes left in the background
/// hold open.
pub fn conclude(seen: &Seen, part: &BTreeSet<u32>) -> Option<Conclusion> {
    let Reader { pid, is_substitution, holders } = part.iter().find_map(|&pid| reader(seen, pid))?;
    let world = &seen.world;
    let first = holders.first()?;
    let program = world.processes.get(&first.pid).map_or("COMMAND", |process| process.stat.name.as_str());
    let end = first.fd.map_or("an end of it".to_owned(), |fd| format!("it as {}", descriptor(fd)));
    let pids: BTreeSet<u32> = holders.iter().map(|holder| holder.pid).collect();
    let (was, has) = if pids.len() == 1 { ("was", "has") } else { ("were", "have") };
    let what = if is_substitution { "the output of a $(…)" } else { "its standard input" };
    let headline = format!(
        "{} reads {what} until all who can write to it have ended: {}, which {was} left in the background, still {has} {end}",
        name(world, pid),
        names(world, pids),
    );
    let cure = format!("start that with its output elsewhere, as in `{program} … > FILE 2>&1 &`");
    Some(Conclusion {
        health: Health::Idle,
        kind: Kind::HeldOpen,
        headline,
        root_cause: first.pid,
        cure: Some(cure),
    })
}

/// Returns what a process reads, if all who could write to it were left in the background.
fn reader(seen: &Seen, pid: u32) -> Option<Reader<'_>> {
    let process = seen.world.processes.get(&pid)?;
    let wait = telling(process).filter(|wait| wait.cause == Cause::Data)?;
    if !wait.object.as_deref().is_some_and(|object| object.starts_with("pipe:")) {
        return None;
    }
    let is_substitution = match wait.fd? {
        0 => false,
        3.. if is_shell(&process.stat.name) => true,
        _ => return None,
    };
    let holders: Vec<&Holder> = wait.by.iter().filter(|holder| holder.pid != pid).collect();
    let all_left = !holders.is_empty() && holders.iter().all(|holder| is_left(seen, pid, holder.pid));
    all_left.then_some(Reader { pid, is_substitution, holders })
}

fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name) || name == "busybox"
}

/// Whether a process of the reader's session has lost all its ancestors there: whoever started it has ended.
fn is_left(seen: &Seen, reader: u32, holder: u32) -> bool {
    let session = |pid: u32| seen.world.processes.get(&pid).map(|process| process.stat.session);
    let own = session(reader);
    let above: BTreeSet<u32> =
        seen.world.ancestors(reader).chain([reader]).filter(|&pid| session(pid) == own).collect();
    session(holder) == own && seen.world.ancestors(holder).all(|pid| !above.contains(&pid))
}
