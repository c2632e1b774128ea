//! Describes waits in words.

use super::world::{Cause, Wait, World};
use pelton_record::diagnosis::{Holder, What};
use pelton_sys::other_process::Fill;

/// Maximum number of holders named in one sentence.
const NAMED: usize = 3;

/// Returns a process's name for a sentence: `cat (123)`.
pub fn name(world: &World, pid: u32) -> String {
    match world.processes.get(&pid) {
        Some(process) => format!("{} ({pid})", process.stat.name),
        None => format!("process {pid}"),
    }
}

/// Returns several names: `cat (1), cat (2) and tr (3)`.
pub fn names(world: &World, pids: impl IntoIterator<Item = u32>) -> String {
    listed(pids.into_iter().map(|pid| name(world, pid)).collect(), "and")
}

/// Joins a list for a sentence, shortened if long.
pub fn listed(mut words: Vec<String>, and: &str) -> String {
    if words.len() > NAMED + 1 {
        let more = words.len() - NAMED;
        words.truncate(NAMED);
        words.push(format!("{more} more"));
    }
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} {and} {last}", before.join(", ")),
    }
}

/// Returns a descriptor's name for a sentence.
pub fn descriptor(fd: u32) -> String {
    match fd {
        0 => "standard input".into(),
        1 => "standard output".into(),
        2 => "standard error".into(),
        fd => format!("descriptor {fd}"),
    }
}

/// Formats a number with commas between thousands.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Describes what `pid` waits for, in words that follow its name.
pub fn wait(world: &World, pid: u32, wait: &Wait, fill: Option<Fill>) -> String {
    let object = wait.object.as_deref().unwrap_or("a channel");
    match &wait.cause {
        Cause::Running => "runs, or is ready to".into(),
        Cause::Timer => "waits for a time to pass".into(),
        Cause::Disk => "waits for the disk or a file system".into(),
        Cause::Terminal => format!("waits for somebody at the terminal {object}"),
        Cause::Outside(what) => format!("waits for {what}"),
        Cause::Signal => "waits for a signal".into(),
        Cause::Traced => "is held by a debugger".into(),
        Cause::Stopped => "is stopped, until somebody continues it (SIGCONT)".into(),
        Cause::Child => child(world, wait),
        Cause::Data => data(world, pid, wait, object, fill),
        Cause::Room => room(world, pid, wait, object, fill),
        Cause::Opener { for_writing, removed } => opener(*for_writing, *removed, object),
        Cause::Lock => lock(world, pid, wait, object),
        Cause::Thread => threads(world, pid, wait),
        Cause::Any(waits) => any(world, pid, waits),
        Cause::Unknown(reason) => format!("waits for something that cannot be told: {reason}"),
    }
}

fn child(world: &World, wait: &Wait) -> String {
    match wait.by.as_slice() {
        [] => "waits for a process to end".into(),
        [one] => format!("waits for its child {} to end", name(world, one.pid)),
        several => {
            format!(
                "waits for one of its children to end: {}",
                names(world, several.iter().map(|one| one.pid))
            )
        }
    }
}

fn end(wait: &Wait) -> String {
    wait.fd.map_or("a descriptor".into(), |fd| format!("its {}", descriptor(fd)))
}

fn data(world: &World, pid: u32, wait: &Wait, object: &str, fill: Option<Fill>) -> String {
    let empty = match fill {
        Some(Fill { bytes: 0, .. }) => " is empty",
        Some(_) => " has something to read now",
        None => "",
    };
    let who = holders(world, pid, &wait.by, "write to it");
    format!("blocked on read from {}: {object}{empty}{who}", end(wait))
}

fn room(world: &World, pid: u32, wait: &Wait, object: &str, fill: Option<Fill>) -> String {
    let full = match fill {
        Some(Fill { bytes, capacity_bytes: Some(capacity) }) => {
            let full = if bytes < capacity { "has no room for the next write" } else { "is full" };
            format!(" {full} ({} of {} bytes)", count(bytes), count(capacity))
        }
        _ => " is full".into(),
    };
    let who = holders(world, pid, &wait.by, "read from it");
    format!("blocked on write to {}: {object}{full}{who}", end(wait))
}

/// Returns `, and only cat (12) could read from it (descriptor 3)`.
fn holders(world: &World, pid: u32, by: &[Holder], what: &str) -> String {
    if by.is_empty() {
        return format!("; who could {what} is not to be seen");
    }
    let mut pids: Vec<u32> = by.iter().map(|holder| holder.pid).collect();
    pids.dedup();
    let one = |&holder: &u32| {
        let fds = by.iter().filter(|one| one.pid == holder).filter_map(|one| one.fd);
        let fds = listed(fds.map(descriptor).collect(), "and");
        let who = if holder == pid { "it itself".into() } else { name(world, holder) };
        if fds.is_empty() { who } else { format!("{who} by its {fds}") }
    };
    format!(", and only {} could {what}", listed(pids.iter().map(one).collect(), "or"))
}

fn opener(for_writing: bool, removed: bool, object: &str) -> String {
    let (own, other) = if for_writing { ("writing", "reading") } else { ("reading", "writing") };
    if removed {
        return format!("waits to open the FIFO {object} for {own}, which was removed or renamed meanwhile");
    }
    format!("waits to open the FIFO {object} for {own}, until somebody opens it for {other}")
}

fn lock(world: &World, pid: u32, wait: &Wait, object: &str) -> String {
    let through = wait.fd.map(|fd| format!(" by its {}", descriptor(fd))).unwrap_or_default();
    let (own, others): (Vec<_>, Vec<_>) = wait.by.iter().partition(|one| one.pid == pid);
    if wait.by.is_empty() {
        return format!("waits{through} for a lock on {object}; its holder cannot be seen");
    }
    // Who inherits a descriptor has its lock too.
    let inherited = own.iter().find_map(|one| one.fd).map(descriptor);
    if others.is_empty() {
        let by = inherited.map(|end| format!(" by its {end}")).unwrap_or_default();
        return format!("waits{through} for a lock on {object}, which it holds itself{by}");
    }
    let mut pids: Vec<u32> = others.iter().map(|one| one.pid).collect();
    pids.dedup();
    let verb = if pids.len() == 1 { "holds" } else { "hold" };
    let first = others[0].fd.filter(|fd| others.iter().all(|one| one.fd == Some(*fd)));
    let by = first.map(|fd| format!(" by {}", descriptor(fd))).unwrap_or_default();
    let also =
        inherited.map(|end| format!("; it has inherited that lock itself, as its {end}")).unwrap_or_default();
    format!("waits{through} for a lock on {object}, which {} {verb}{by}{also}", names(world, pids))
}

fn threads(world: &World, pid: u32, wait: &Wait) -> String {
    let count = world.processes.get(&pid).map_or(1, |process| process.tasks.len());
    let (awaited, ends) = match (&wait.object, wait.fd) {
        (Some(object), Some(fd)) => (format!("{object} on its {}", descriptor(fd)), "write to"),
        _ => ("a lock".to_owned(), "release"),
    };
    match count {
        0 | 1 => format!("waits for {awaited} that only it itself could {ends}"),
        n => format!("has {n} threads that wait, one for {awaited} that only another one could {ends}"),
    }
}

fn any(world: &World, pid: u32, waits: &[Wait]) -> String {
    // Nobody else can end what is its own: the end of a pipe that it watches for its closing, or one that wakes itself.
    let is_own = |wait: &&Wait| !wait.by.is_empty() && wait.by.iter().all(|holder| holder.pid == pid);
    let told: Vec<Wait> = waits.iter().filter(|wait| !is_own(wait)).cloned().collect();
    let waits = if told.is_empty() { waits } else { &told };
    let ends = |cause: &Cause| {
        let of = waits.iter().filter(|wait| wait.cause == *cause).filter_map(|wait| wait.fd);
        listed(of.map(descriptor).collect(), "or")
    };
    let mut parts = Vec::new();
    let (data, room) = (ends(&Cause::Data), ends(&Cause::Room));
    if !data.is_empty() {
        parts.push(format!("input from its {data}"));
    }
    if !room.is_empty() {
        parts.push(format!("room in its {room}"));
    }
    let others = waits.iter().filter(|wait| !matches!(wait.cause, Cause::Data | Cause::Room));
    let mut others: Vec<String> =
        others.map(|one| wait(world, pid, one, None).trim_start_matches("waits for ").to_owned()).collect();
    others.dedup();
    parts.extend(others);
    let mut who: Vec<u32> = waits.iter().flat_map(|wait| &wait.by).map(|holder| holder.pid).collect();
    who.sort_unstable();
    who.dedup();
    let by = if who.is_empty() { String::new() } else { format!(" ({})", names(world, who)) };
    format!("waits for {}{by}", listed(parts, "or"))
}

/// Returns the kind of a wait for the record.
pub fn what(cause: &Cause) -> What {
    match cause {
        Cause::Running => What::Nothing,
        Cause::Timer | Cause::Disk | Cause::Terminal | Cause::Outside(_) | Cause::Signal => What::Outside,
        Cause::Traced | Cause::Stopped => What::Continue,
        Cause::Child => What::Child,
        Cause::Data => What::Data,
        Cause::Room => What::Room,
        Cause::Opener { .. } => What::Opener,
        Cause::Lock => What::Lock,
        Cause::Thread => What::Thread,
        Cause::Any(_) => What::Any,
        Cause::Unknown(_) => What::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lists() {
        assert_eq!((count(7), count(1_000), count(65_536)), ("7".into(), "1,000".into(), "65,536".into()));
        let words = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
        assert_eq!(listed(words(1), "and"), "0");
        assert_eq!(listed(words(4), "and"), "0, 1, 2 and 3");
        assert_eq!(listed(words(9), "or"), "0, 1, 2 or 6 more");
    }

    #[test]
    fn a_full_pipe_names_its_reader() {
        let by = vec![Holder { pid: 5, fd: Some(3) }];
        let one = Wait { fd: Some(1), object: Some("pipe:[9]".into()), by, ..Wait::simple(Cause::Room) };
        let fill = Fill { bytes: 65_536, capacity_bytes: Some(65_536) };
        assert_eq!(
            wait(&World::default(), 4, &one, Some(fill)),
            "blocked on write to its standard output: pipe:[9] is full (65,536 of 65,536 bytes), and only process 5 by its \
             descriptor 3 could read from it"
        );
    }
}
