//! The gain from more cores: the serial part of each plan is measured here, and the token pipeline is
//! simulated for up to 64 workers.
//!
//! A block is read (by one worker at a time), worked on (by any), and passed on (by one at a time, in order).
//! Three durations are measured: reading alone, reading and writing alone, and everything with one thread;
//! the rest is work. Some work does not shrink with workers (merging folds, a last sort): the time of two
//! threads beyond the simulation, kept constant.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::contest::{Contender, Samples, contest};
use super::results::Results;
use super::shell_and_run::Place;
use super::{Bench, stats};
use workbench::Outcome;
use workbench::inputs::{LINES, PROSE, PURCHASES};

/// Name, input, text.
const PLANS: [(&str, &str, &str); 5] = [
    (
        "five seds, to a file",
        "base64",
        "sed 's/a/A/g' < base64 | sed 's/b/B/g' | sed 's/c/C/g' | sed 's/d/D/g' | sed 's/[0-9]//g' > out",
    ),
    ("sed -E, thrown away", "base64", "sed -E 's/([0-9])[a-f]*/<\\1>/g' base64 > /dev/null"),
    (
        "word frequency",
        "prose",
        "tr -cs A-Za-z '\\n' < prose | tr A-Z a-z | sort | uniq -c | sort -rn | head > out",
    ),
    ("sort, text", "base64", "sort base64 > out"),
    ("sort, numbers", "csv", "sort -t, -k4,4n csv > out"),
];
/// The size of a read.
const BLOCK_BYTES: u64 = 96 << 10;
/// The limit of blocks in flight for each worker, as in the team.
const PER_WORKER: usize = 2;
const WORKERS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Measures all plans.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let runs = bench.runs(5);
    let megabytes = bench.size_mb(300);
    let files = [("base64", LINES), ("prose", PROSE), ("csv", PURCHASES)];
    let files = files.map(|(name, recipe)| Ok((name, recipe.file(&bench.data, megabytes)?)));
    let files = files.into_iter().collect::<Outcome<Vec<_>>>()?;
    let paths: Vec<_> = files.iter().map(|(name, path)| (*name, path.as_path())).collect();
    let place = Place::with(&paths)?;
    let mut body = String::from(
        "| plan | serial part, by two threads | gain with 2 | on paper: 2 | 4 | 8 | 16 | 32 | 64 | what sets the limit |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n",
    );
    let mut data = Vec::new();
    for (name, input, text) in PLANS {
        let samples = contest(&contenders(bench, input, text), &place.dir, runs, 1)?;
        let plan = Plan::of(&samples, megabytes * 1_000_000 / BLOCK_BYTES, text.ends_with("out"));
        let on_paper: Vec<f64> = WORKERS[1..].iter().map(|workers| plan.gain(*workers)).collect();
        let columns = on_paper.iter().map(|gain| format!("{gain:.1}")).collect::<Vec<_>>().join(" | ");
        let _ = writeln!(
            body,
            "| {name} | {:.0} % | {:.2} | {columns} | {} |",
            100.0 * plan.karp_flatt(),
            plan.one / plan.two,
            plan.limit()
        );
        data.push(json!({
            "name": name,
            "seconds": {"read": plan.read, "write": plan.write, "one": plan.one, "two": plan.two, "apart": plan.apart},
            "workers": WORKERS[1..], "gains": on_paper,
            "runs": samples.iter().map(Samples::json).collect::<Vec<Value>>(),
        }));
    }
    Ok(Results {
        name: "scaling",
        about: format!(
            "{megabytes} MB, {runs} rounds. Serial part: Karp and Flatt's experimentally determined serial fraction of two threads \
             beside one. On paper: a discrete simulation of blocks of {} KiB that are read one at a time, worked on by any, passed on \
             in order, and of what two threads take besides.",
            BLOCK_BYTES >> 10
        ),
        body,
        claims: Vec::new(),
        data: data.into(),
    })
}

fn contenders(bench: &Bench, input: &str, text: &str) -> Vec<Contender> {
    let pelton = |jobs: &str| {
        let words = ["run".into(), format!("--jobs={jobs}").into(), "--".into(), text.into()];
        Contender::new(
            &format!("--jobs {jobs}"),
            std::iter::once(bench.pelton.clone().into_os_string()).chain(words),
        )
    };
    let dd = |name: &str, to: &str| {
        Contender::new(
            name,
            ["dd".into(), format!("if={input}"), format!("of={to}"), format!("bs={BLOCK_BYTES}")],
        )
    };
    vec![pelton("1"), pelton("2"), dd("reading", "/dev/null"), dd("reading and writing", "out")]
}

/// The times of a plan, in seconds.
struct Plan {
    blocks: u64,
    read: f64,
    write: f64,
    one: f64,
    two: f64,
    /// The time of two threads beyond the simulation.
    apart: f64,
}

impl Plan {
    fn of(samples: &[Samples], blocks: u64, writes: bool) -> Self {
        let [one, two, read, both] = [0, 1, 2, 3].map(|at: usize| stats::median(&samples[at].real));
        let write = if writes { (both - read).max(0.0) } else { 0.0 };
        let read = read.min(one - write);
        let mut plan = Plan { blocks: blocks.max(1), read, write, one, two, apart: 0.0 };
        plan.apart = (two - plan.played(2)).clamp(0.0, one);
        plan
    }

    /// Returns the serial fraction that explains the gain with two workers.
    fn karp_flatt(&self) -> f64 {
        (2.0 * self.two / self.one - 1.0).clamp(0.0, 1.0)
    }

    fn gain(&self, workers: usize) -> f64 {
        self.one / (self.played(workers) + self.apart)
    }

    /// Simulates the pipeline: returns when the last block has been passed on, in seconds.
    fn played(&self, workers: usize) -> f64 {
        let count = self.blocks as f64;
        let (read, write) = (self.read / count, self.write / count);
        let work = (self.one - self.read - self.write - self.apart).max(0.0) / count;
        let mut free = vec![0.0_f64; workers];
        let (mut reader, mut passer) = (0.0_f64, 0);
        let mut passed: Vec<f64> = Vec::with_capacity(self.blocks as usize);
        for block in 0..self.blocks as usize {
            let next = (0..workers).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap_or(0);
            let room = block.checked_sub(PER_WORKER * workers).map_or(0.0, |before| passed[before]);
            reader = free[next].max(reader).max(room) + read;
            let before = passed.last().copied().unwrap_or(0.0);
            let done = reader + work;
            let passes = done.max(before) + write;
            // A worker that finds another one passing blocks on leaves its own block to that worker, and
            // continues.
            if before > done && passer != next {
                free[next] = done;
                free[passer] = free[passer].max(passes);
            } else {
                free[next] = passes;
                passer = next;
            }
            passed.push(passes);
        }
        passed.last().copied().unwrap_or(0.0)
    }

    fn limit(&self) -> &'static str {
        let parts = [
            (self.apart, "what is done apart: merging folds, sorting what is left, starting"),
            (self.read, "reading, one block at a time"),
            (self.write, "writing, in order"),
        ];
        parts.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or("", |part| part.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(read: f64, write: f64, one: f64) -> Plan {
        Plan { blocks: 3000, read, write, one, two: one / 2.0, apart: 0.0 }
    }

    #[test]
    fn one_worker_takes_the_sum_and_many_what_is_serial() {
        let plan = plan(0.1, 0.2, 2.0);
        assert!((plan.played(1) - 2.0).abs() < 1e-9);
        assert!((plan.gain(2) - 2.0).abs() < 0.01, "{}", plan.gain(2));
        let most = plan.gain(64);
        assert!((9.5..=10.0).contains(&most), "writing takes a tenth: {most}");
    }

    #[test]
    fn what_is_done_apart_does_not_shrink() {
        let plan = Plan { apart: 0.5, ..plan(0.0, 0.0, 1.0) };
        assert!((plan.gain(64) - 1.0 / (0.5 + 0.5 / 64.0)).abs() < 0.01, "{}", plan.gain(64));
        assert_eq!(plan.limit(), "what is done apart: merging folds, sorting what is left, starting");
    }
}
