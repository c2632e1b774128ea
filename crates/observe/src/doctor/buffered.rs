//! Finds filters that keep their output back: their input has come, nothing of it has gone on, or only whole buffers, and what
//! reads them waits.
//!
//! A program whose standard output is no terminal writes only when its buffer of some kilobytes is full.

use super::pace::{Conclusion, telling};
use super::seen::Seen;
use super::words::{count, listed, name, names};
use super::world::{Cause, Wait, World};
use pelton_record::diagnosis::{Health, Kind};
use pelton_sys::processes;
use pelton_sys::procfs::{self, Io};
use std::collections::BTreeSet;

/// Programs that print a line as soon as they have read what it is made of, and how they write each at once.
const FILTERS: [(&str, &str); 17] = [
    ("awk", "`fflush()` behind each print in awk"),
    ("cut", "`stdbuf -oL cut`"),
    ("egrep", "`grep -E --line-buffered`"),
    ("fgrep", "`grep -F --line-buffered`"),
    ("fold", "`stdbuf -oL fold`"),
    ("gawk", "`fflush()` behind each print in gawk"),
    ("grep", "`grep --line-buffered`"),
    ("jq", "`jq --unbuffered`"),
    ("mawk", "`mawk -W interactive`"),
    ("nl", "`stdbuf -oL nl`"),
    ("original-awk", "`fflush()` behind each print in original-awk"),
    ("paste", "`stdbuf -oL paste`"),
    ("rev", "`stdbuf -oL rev`"),
    ("rg", "`rg --line-buffered`"),
    ("sed", "`sed -u`"),
    ("tr", "`stdbuf -oL tr`"),
    ("uniq", "`stdbuf -oL uniq`"),
];

/// Programs that write only when their input has ended: before them it does not matter when a line comes.
const WAIT_FOR_ALL: [&str; 9] =
    ["sort", "wc", "tac", "tail", "shuf", "md5sum", "sha1sum", "sha256sum", "tsort"];

/// Full buffers are multiples of this many bytes.
const BUFFER_BYTES: u64 = 4096;

/// A filter that read more than this has read input: its libraries and locale are less.
const READ_AT_START_MAX: u64 = 64 << 10;

/// Returns how a filter writes each line at once; `None` for other programs.
pub fn unbuffered(world: &World, pid: u32) -> Option<&'static str> {
    let process = world.processes.get(&pid)?;
    FILTERS.iter().find(|(filter, _)| *filter == process.stat.name).map(|(_, how)| *how)
}

/// Draws another conclusion about a pipeline that stands still, if one of its filters keeps output back.
pub fn conclude(seen: &Seen, part: &BTreeSet<u32>) -> Option<Conclusion> {
    let (&first, moved) = part.iter().find_map(|pid| Some((pid, keeps_back(seen, *pid)?)))?;
    let behind: Vec<u32> = chain_behind(seen, part, first);
    let waits_for_all = |pid: &u32| {
        seen.world
            .processes
            .get(pid)
            .is_some_and(|process| WAIT_FOR_ALL.contains(&process.stat.name.as_str()))
    };
    if behind.iter().any(waits_for_all) {
        return None;
    }
    let who = name(&seen.world, first);
    let waiters = match behind.len() {
        0 => String::new(),
        count => {
            let verb = if count == 1 { "waits" } else { "wait" };
            format!("; {} {verb} for it", names(&seen.world, behind.iter().copied()))
        }
    };
    let headline = format!("{who} {moved} is in its buffer, if it has found anything{waiters}");
    let filters = [first].into_iter().chain(behind).filter(|pid| writes_late(seen, *pid));
    let mut hows: Vec<(&str, usize)> = Vec::new();
    for how in filters.filter_map(|pid| unbuffered(&seen.world, pid)) {
        match hows.iter_mut().find(|(known, _)| *known == how) {
            Some((_, count)) => *count += 1,
            None => hows.push((how, 1)),
        }
    }
    let said = |(how, count): (&str, usize)| match count {
        1 => how.to_owned(),
        2 => format!("{how} in both places"),
        count => format!("{how} in all {count} places"),
    };
    let hows: Vec<String> = hows.into_iter().map(said).collect();
    let cure = Some(format!(
        "have each line written at once, by {}: into a pipe or a file, lines are written only when some kB have come together",
        listed(hows, "and")
    ));
    Some(Conclusion { health: Health::Idle, kind: Kind::Buffered, headline, root_cause: first, cure })
}

/// Returns the account of a filter that reads a pipe, writes to a file or is read, has written nothing or whole buffers, and
/// may keep lines back.
fn silent(seen: &Seen, pid: u32) -> Option<Io> {
    pipe_input(seen, pid)?;
    if reader(seen, pid).is_none() && !writes_file(pid) {
        return None;
    }
    io(pid).filter(|own| own.written_bytes.is_multiple_of(BUFFER_BYTES) && writes_late(seen, pid))
}

/// Whether a filter may keep lines back.
fn writes_late(seen: &Seen, pid: u32) -> bool {
    let Some(process) = seen.world.processes.get(&pid) else { return false };
    let words = processes::command_line(pid);
    unbuffered(&seen.world, pid).is_some()
        && words.get(1..).is_some_and(|arguments| may_keep_back(&process.stat.name, arguments))
        && !is_told_to_flush(pid)
        && !std::fs::read_link(format!("/proc/{pid}/fd/1")).is_ok_and(|output| output.starts_with("/dev"))
}

/// Whether the standard output of a process is a regular file.
fn writes_file(pid: u32) -> bool {
    std::fs::metadata(format!("/proc/{pid}/fd/1")).is_ok_and(|output| output.is_file())
}

/// Returns what helps processes that wait for one another, if a filter among them may keep a line back that it has read: that
/// cannot be seen.
pub fn cure_of_circle(seen: &Seen, part: &BTreeSet<u32>) -> Option<String> {
    let filter = part.iter().copied().find(|&pid| silent(seen, pid).is_some())?;
    let (who, how) = (name(&seen.world, filter), unbuffered(&seen.world, filter)?);
    Some(format!(
        "if {who} has read a line, what it makes of that is in its buffer: have each line written at once, by {how}"
    ))
}

/// Returns what a filter has read and written, in words that end in what it may keep back.
fn keeps_back(seen: &Seen, pid: u32) -> Option<String> {
    let (input, own) = (pipe_input(seen, pid)?, silent(seen, pid)?);
    if own.written_bytes > 0 {
        let whole = count(own.written_bytes);
        return Some(format!(
            "has written {whole} bytes, which is whole buffers of {BUFFER_BYTES}: what it has found since"
        ));
    }
    if let [writer] = input.by.as_slice()
        && writer.fd == Some(1)
        && let Some(written) = written_to_pipe(seen, writer.pid).filter(|bytes| *bytes > 0)
    {
        let (written, writer) = (count(written), name(&seen.world, writer.pid));
        return Some(format!(
            "has read the {written} bytes of {writer} and written nothing: what it has found"
        ));
    }
    (own.read_bytes > READ_AT_START_MAX)
        .then(|| "has read input and written nothing: what it has found".to_owned())
}

/// Returns how much a process has written to its standard output, if it is certain that it has written nothing elsewhere.
fn written_to_pipe(seen: &Seen, pid: u32) -> Option<u64> {
    // What its children wrote counts as its own once they have ended.
    let alone = seen.world.processes.get(&pid).is_some_and(|process| !process.stat.has_had_children);
    let objects = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let mut objects = objects.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let has_socket = objects.any(|object| object.to_string_lossy().starts_with("socket:"));
    if alone && !has_socket { Some(io(pid)?.written_bytes) } else { None }
}

/// Whether a filter that is called with these arguments may write lines before its input ends, and does not write each at once.
fn may_keep_back(name: &str, arguments: &[String]) -> bool {
    let has = |letters: &str, names: &[&str]| {
        arguments.iter().any(|word| match word.strip_prefix("--") {
            Some(long) => names.iter().any(|name| !long.is_empty() && long.starts_with(name)),
            None => word.strip_prefix('-').is_some_and(|short| short.contains(|c| letters.contains(c))),
        })
    };
    let holds = |texts: &[&str]| arguments.iter().any(|word| texts.iter().any(|text| word.contains(text)));
    match name {
        "grep" | "egrep" | "fgrep" | "rg" => {
            !has("cqlL", &["line-buffered", "count", "quiet", "silent", "files-with"])
        }
        "sed" => !has("u", &["unbuffered"]) && !holds(&["$"]),
        "jq" => !has("s", &["unbuffered", "slurp", "stream"]),
        "awk" | "gawk" | "mawk" | "original-awk" => {
            !has("Wf", &[]) && !holds(&["END", "fflush", "system", "getline", "close", "/dev/"])
        }
        "paste" => !has("s", &["serial"]),
        _ => true,
    }
}

/// Whether stdbuf has set how it writes.
fn is_told_to_flush(pid: u32) -> bool {
    let variables = processes::file(pid, "environ").unwrap_or_default();
    variables.split('\0').any(|one| one.starts_with("_STDBUF_O"))
}

fn io(pid: u32) -> Option<Io> {
    procfs::parse_io(&processes::file(pid, "io")?)
}

/// Returns the wait of a process for data in the pipe or FIFO that is its standard input.
fn pipe_input(seen: &Seen, pid: u32) -> Option<&Wait> {
    wait_for_data(seen, pid).filter(|wait| wait.fd == Some(0))
}

/// Returns the wait of a process for data in a pipe or FIFO.
fn wait_for_data(seen: &Seen, pid: u32) -> Option<&Wait> {
    let wait = telling(seen.world.processes.get(&pid)?)?;
    let is_pipe =
        wait.object.as_deref().is_some_and(|object| object.starts_with("pipe:") || object.starts_with('/'));
    (wait.cause == Cause::Data && is_pipe).then_some(wait)
}

/// Returns the process that waits for what `pid` writes to its standard output.
fn reader(seen: &Seen, pid: u32) -> Option<u32> {
    let reads = |other: &u32| {
        wait_for_data(seen, *other)
            .is_some_and(|wait| wait.by.iter().any(|by| by.pid == pid && by.fd == Some(1)))
    };
    seen.world.processes.keys().copied().find(|other| *other != pid && reads(other))
}

/// Returns those that wait for one another's output, behind `first`.
fn chain_behind(seen: &Seen, part: &BTreeSet<u32>, first: u32) -> Vec<u32> {
    // In a circle it ends before its beginning.
    let next = |pid: &u32| reader(seen, *pid).filter(|reader| part.contains(reader) && *reader != first);
    std::iter::successors(next(&first), next).take(part.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::may_keep_back;

    #[test]
    fn arguments_tell_whether_lines_wait_in_a_buffer() {
        let keeps = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            may_keep_back(&words[0], &words[1..])
        };
        for line in
            ["grep error", "grep -iE a|b", "sed s/a/b/", "awk {print$1}", "tr a b", "jq .a", "paste - -"]
        {
            assert!(keeps(line), "{line}");
        }
        for line in [
            "grep --line-buffered error",
            "grep -ic error",
            "grep --count x",
            "sed -u s/a/b/",
            "sed -nu p",
            "sed -n $p",
            "awk END{print}",
            "gawk -f x.awk",
            "awk {print;fflush()}",
            "mawk -W interactive {print}",
            "jq --unbuffered .a",
            "jq -s .",
            "paste -s",
        ] {
            assert!(!keeps(line), "{line}");
        }
    }
}
