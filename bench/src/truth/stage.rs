//! A pipeline stage that keeps a diary: it moves blocks, computes and sleeps a known time for each megabyte,
//! and writes the clocks' times of all this to a file.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;
use nix::time::{ClockId, clock_gettime};
use serde_json::json;

use workbench::Outcome;

const BLOCK: usize = 64 * 1024;
const MEGABYTE: usize = 1_000_000;

/// What the stage does.
#[derive(Default)]
pub struct Stage {
    /// Makes this many megabytes instead of reading.
    source_mb: Option<usize>,
    /// Writes nothing: the last stage.
    sink: bool,
    /// Microseconds of computing for each megabyte.
    spin_us: u64,
    /// Microseconds of sleep for each megabyte.
    sleep_us: u64,
    /// Sleeps after this many megabytes, not after each block.
    burst_mb: Option<usize>,
    /// The file of the diary.
    diary: PathBuf,
}

impl Stage {
    /// Parses `--source MB | --sink`, `--spin US`, `--sleep US`, `--burst MB`, `--diary FILE`.
    pub fn parse(mut args: lexopt::Parser) -> Outcome<Self> {
        let mut stage = Stage::default();
        while let Some(arg) = args.next()? {
            match arg {
                Long("source") => stage.source_mb = Some(args.value()?.parse()?),
                Long("sink") => stage.sink = true,
                Long("spin") => stage.spin_us = args.value()?.parse()?,
                Long("sleep") => stage.sleep_us = args.value()?.parse()?,
                Long("burst") => stage.burst_mb = Some(args.value()?.parse()?),
                Long("diary") => stage.diary = args.value()?.into(),
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(stage)
    }

    /// Runs the stage.
    pub fn run(self) -> Outcome {
        let mut diary = Diary::begin()?;
        let begun = diary.last;
        let (mut stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
        let mut block = vec![b'x'; BLOCK];
        let (mut moved, mut slept_at) = (0, 0);
        let sleep_every = self.burst_mb.map_or(BLOCK, |mb| mb * MEGABYTE);
        loop {
            let size = match self.source_mb {
                Some(mb) => BLOCK.min(mb * MEGABYTE - moved),
                None => stdin.read(&mut block)?,
            };
            diary.starved += diary.blocked()?;
            if size == 0 {
                break;
            }
            spin(Duration::from_micros(self.spin_us * size as u64 / MEGABYTE as u64))?;
            diary.blocked()?;
            moved += size;
            if self.sleep_us > 0 && moved - slept_at >= sleep_every {
                let share = (moved - slept_at) as u64;
                std::thread::sleep(Duration::from_micros(self.sleep_us * share / MEGABYTE as u64));
                slept_at = moved;
                diary.asleep += diary.blocked()?;
            }
            if !self.sink {
                stdout.write_all(&block[..size])?;
                diary.backpressured += diary.blocked()?;
            }
        }
        let end = diary.last;
        let wall = end.wall - begun.wall;
        let text = json!({
            "wall": wall,
            "running": (end.cpu - begun.cpu) / wall,
            "cpu_wait": (end.ready - begun.ready) / wall,
            "starved": diary.starved / wall,
            "backpressured": diary.backpressured / wall,
            "asleep": diary.asleep / wall,
        });
        Ok(std::fs::write(&self.diary, text.to_string())?)
    }
}

/// Uses the CPU for this time.
fn spin(time: Duration) -> Outcome {
    let until = seconds(ClockId::CLOCK_THREAD_CPUTIME_ID)? + time.as_secs_f64();
    while seconds(ClockId::CLOCK_THREAD_CPUTIME_ID)? < until {
        std::hint::spin_loop();
    }
    Ok(())
}

fn seconds(clock: ClockId) -> Outcome<f64> {
    let now = clock_gettime(clock)?;
    Ok(now.tv_sec() as f64 + now.tv_nsec() as f64 / 1e9)
}

/// The clocks at one moment, in seconds.
#[derive(Clone, Copy)]
struct Moment {
    wall: f64,
    cpu: f64,
    ready: f64,
}

struct Diary {
    schedstat: File,
    last: Moment,
    starved: f64,
    backpressured: f64,
    asleep: f64,
}

impl Diary {
    fn begin() -> Outcome<Self> {
        let schedstat = File::open("/proc/thread-self/schedstat")?;
        let last = now(&schedstat)?;
        Ok(Diary { schedstat, last, starved: 0.0, backpressured: 0.0, asleep: 0.0 })
    }

    /// Returns how long the stage was neither running nor runnable since the last call.
    fn blocked(&mut self) -> Outcome<f64> {
        let before = self.last;
        self.last = now(&self.schedstat)?;
        let own = (self.last.cpu - before.cpu) + (self.last.ready - before.ready);
        Ok((self.last.wall - before.wall - own).max(0.0))
    }
}

fn now(schedstat: &File) -> Outcome<Moment> {
    let mut text = [0; 128];
    let size = schedstat.read_at(&mut text, 0)?;
    let text = std::str::from_utf8(&text[..size])?;
    let ready = text.split_ascii_whitespace().nth(1).ok_or("no schedstat")?.parse::<f64>()? / 1e9;
    Ok(Moment {
        wall: seconds(ClockId::CLOCK_MONOTONIC)?,
        cpu: seconds(ClockId::CLOCK_THREAD_CPUTIME_ID)?,
        ready,
    })
}
