//! Kills pelton at random moments, in a terminal and without: it must leave no process or temporary file, and
//! restore the terminal. `PELTON_FUZZ_CASES=200` sets the number of kills, by default for some seconds;
//! `PELTON_SEED` the seed.

use pelton_testkit::campaign_settings::tally;
use pelton_testkit::{Campaign, Ending, Launch, Random, Running, Signal, Terminal};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// The commands. Stages that pelton starts end by themselves within seconds; the loops never do.
const COMMANDS: &[&[&str]] = &[
    &["run", "--memory", "64K", "seq 300000 | sort -r | uniq -c | tail -n 1"],
    &["run", "yes | tr y n | head -n 2000000 | wc -l"],
    &["run", "set -o pipefail; seq 200000 | xargs -n 500 echo | sort | tail -n 1"],
    &["run", "seq 2000000 | grep -v 7 | tac | head -n 3; seq 100000 | sort -R | wc -l"],
    &["run", "seq 3000000 | sed 's/1/2/' | awk '{s += $1} END {print s}' > out"],
    &["run", "--stats", "while :; do seq 20000 | sort | tail -n 1; done"],
    &["run", "--progress", "seq 2000000 | sort -n | md5sum"],
    &["time", "seq 300000 | sort -n | md5sum"],
    &["time", "while :; do seq 20000 | sort | tail -n 1; done"],
    &["time", "--exact", "seq 300000 | sort | uniq -c | wc -l"],
    &["time", "--syscalls", "seq 30000 | tr 1 2 | wc -l"],
    &["time", "--timeline", "while :; do /bin/true; done"],
    &["time", "--arrivals", "seq 300000 | sort -n | tail -n 1"],
    &["time", "--runs", "5", "seq 100000 | sort -n | tail -n 1"],
    &["compare", "--runs", "3", "seq 30000 | sort", "seq 30000 | sort -n"],
    &["find", "/usr/share", "-name", "*a*", "-type", "f"],
    &["copy", "-r", "/usr/share/doc", "copied"],
];

const SIGNALS: &[Signal] =
    &[Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT, Signal::KILL, Signal::PIPE];

/// Kills once; returns what is wrong.
fn kill_once(random: &mut Random) -> Result<(), String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let tmp = dir.path().join("tmp");
    std::fs::create_dir(&tmp).expect("a directory");
    let (command, signal) = (random.pick(COMMANDS), random.pick(SIGNALS));
    let delay = Duration::from_millis(random.below(400) as u64);
    let in_terminal = random.below(2) == 0;
    let what = format!("{signal:?} after {delay:?}, terminal: {in_terminal}, {command:?}");
    let argv = std::iter::once(env!("CARGO_BIN_EXE_pelton")).chain(command.iter().copied());
    let mut launch = Launch::new(argv, dir.path());
    launch.env.push(("TMPDIR".into(), tmp.clone().into()));
    launch.timeout = Duration::from_secs(60);
    launch.settle = Duration::from_secs(20);
    let wrong = |error: pelton_testkit::Error| format!("{what}: {error}");
    let ended = if in_terminal {
        let terminal = Terminal::spawn(&launch).map_err(wrong)?;
        let before = terminal.settings().map_err(wrong)?;
        end(terminal.running(), delay, signal);
        terminal.running().await_exit().map_err(wrong)?;
        let after = terminal.settings().map_err(wrong)?;
        if before != after {
            return Err(format!("{what}: the terminal was\n{before}\nand is\n{after}"));
        }
        terminal.finish().map_err(wrong)?
    } else {
        let running = launch.spawn().map_err(wrong)?;
        end(&running, delay, signal);
        running.finish().map_err(wrong)?
    };
    let files = names_in(&tmp);
    match (ended.ending, ended.left_behind.is_empty(), files.is_empty()) {
        (Ending::TimedOut, _, _) => Err(format!("{what}: it never ended")),
        (_, true, true) => Ok(()),
        _ => Err(format!("{what}: left behind {:?}, files {files:?}", ended.left_behind)),
    }
}

/// Sends the signal, then another if needed: as in a shell, SIGQUIT is ignored, and SIGINT is left to the
/// stages.
fn end(running: &Running, delay: Duration, signal: Signal) {
    std::thread::sleep(delay);
    // It may have ended by itself.
    let _ = running.signal(signal);
    if matches!(signal, Signal::INT | Signal::QUIT | Signal::PIPE) {
        std::thread::sleep(Duration::from_millis(500));
        let _ = running.signal(Signal::TERM);
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("readable").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn random_kills_leave_nothing() {
    const USUAL: u64 = 16;
    let campaign = Campaign::from_env();
    let count = campaign.cases.unwrap_or(USUAL);
    let mut random = Random::new(campaign.seed);
    let wrong: Vec<String> = (0..count).filter_map(|_| kill_once(&mut random).err()).collect();
    let counts = [("kills", count), ("differences", wrong.len() as u64)];
    writeln!(std::io::stderr(), "{}", tally("kills", &counts)).expect("standard error");
    assert!(wrong.is_empty(), "seed {}:\n{}", campaign.seed, wrong.join("\n"));
}
