//! However a search ends: when `walk` returns, none of its threads runs and none of its descriptors is open.
//! This test has its own process, so that it can count both.

use pelton_find::{Order, Settings, Sink, Surroundings, Walk, default_slots, parse, walk};
use pelton_testkit::{Random, wait_until};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Takes this many bytes, and then fails.
struct Pipe {
    room: AtomicUsize,
    lines: AtomicUsize,
}

impl Sink for Pipe {
    fn text(&self, bytes: &[u8]) -> io::Result<()> {
        let taken = |room: usize| room.checked_sub(bytes.len());
        let fits = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok();
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        self.lines.fetch_add(lines, Ordering::Relaxed);
        if fits { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }

    fn error(&self, _: &[u8]) {}
}

/// Makes random nested directories with a file in each.
fn tree(dir: &Path, random: &mut Random, directories: usize) {
    let mut all = vec![dir.to_path_buf()];
    for number in 0..directories {
        let inner = all[random.below(all.len())].join(format!("d{number}"));
        fs::create_dir(&inner).expect("made");
        fs::write(inner.join("file"), "").expect("made");
        all.push(inner);
    }
}

fn entries(of: &str) -> usize {
    fs::read_dir(of).expect("/proc").count()
}

/// Returns the number of threads and descriptors of this process.
fn held() -> (usize, usize) {
    (entries("/proc/self/task"), entries("/proc/self/fd"))
}

/// Waits for the same numbers: a join returns a moment before the kernel removes the thread from the list.
fn held_again(before: (usize, usize)) -> (usize, usize) {
    wait_until("threads and descriptors are what they were", || held() == before);
    held()
}

fn settings(random: &mut Random) -> Settings {
    Settings {
        walk: Walk::ALL[random.below(Walk::ALL.len())],
        workers: 1 + random.below(4),
        slots: default_slots(1 + random.below(3)),
        order: [Order::Listed, Order::Found, Order::NearestFirst][random.below(3)],
        first: random.below(3) == 0,
        stop_on_error: random.below(2) == 0,
        promptly: random.below(4) == 0,
        alone: random.below(60) as u64,
        timeline: random.below(8) == 0,
    }
}

fn stop(times: usize) {
    const DIRECTORIES: usize = 120;
    let dir = tempfile::tempdir().expect("a directory");
    let mut random = Random::new(0x5eed);
    tree(dir.path(), &mut random, DIRECTORIES);
    let start = dir.path().to_str().expect("text");
    let before = held();
    for turn in 0..times {
        let settings = settings(&mut random);
        let name = format!("d{}", random.below(DIRECTORIES));
        // Ends by a match, by a failed write, or by an error at the end.
        let (line, room) = match random.below(3) {
            0 => (vec![start, "-name", &name, "-print", "-quit"], usize::MAX),
            1 => (vec![start], random.below(4000)),
            _ => (vec![start, "nowhere", start, "-name", &name], usize::MAX),
        };
        let words: Vec<Vec<u8>> = line.iter().map(|word| word.as_bytes().to_vec()).collect();
        let around = Surroundings { utf8: false, output_is_terminal: false, input_is_terminal: false };
        let query = parse(&words, around).expect("modelled");
        let pipe = Pipe { room: AtomicUsize::new(room), lines: AtomicUsize::new(0) };
        walk(&query, &settings, &pipe);
        assert_eq!(held_again(before), before, "threads and descriptors, turn {turn}: {line:?} {settings:?}");
        let lines = pipe.lines.load(Ordering::Relaxed);
        if line.len() == 5 && line[4] == "-quit" {
            assert_eq!(lines, 1, "turn {turn}: {line:?} {settings:?}");
        }
    }
}

#[test]
fn a_thousand_random_stops_leave_nothing_running() {
    stop(1000);
}

#[test]
#[ignore = "half a minute"]
fn ten_thousand_random_stops_leave_nothing_running() {
    stop(10_000);
}
