//! The gain from more cores, for the pipelines of `bench limit`: the serial part of each is measured here, and the token
//! pipeline is simulated for up to 64 workers.
//!
//! A block is read and worked on by any worker, and passed on by one at a time, in order. Three durations are measured:
//! everything with one thread, with two, and writing the output alone; the rest is work. Some work does not shrink with
//! workers (merging their results, a last sort): the time of two threads beyond the simulation, kept constant.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::contest::{Contender, Samples, contest, run_once};
use super::results::Results;
use super::shell_and_run::{Place, named_input};
use super::{Bench, limit, stats};
use workbench::Outcome;

/// The size of a read.
const BLOCK_BYTES: u64 = 96 << 10;
/// The limit of blocks in flight for each worker, as in the team.
const PER_WORKER: usize = 2;
const WORKERS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// The machine for which changes are compared.
const MANY: usize = 64;

/// Measures all plans.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let (runs, megabytes) = (bench.runs(3), bench.size_mb(200));
    let place = limit::place(bench, megabytes)?;
    let mut body = String::from(
        "| plan | serial part, by two threads | gain with 2 | on paper: 2 | 4 | 8 | 16 | 32 | 64 | what sets the limit |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n",
    );
    let (mut data, mut plans) = (Vec::new(), Vec::new());
    for (kind, text) in limit::pipelines() {
        let (plan, samples) = measure(bench, &place, text, runs)?;
        let on_paper: Vec<f64> = WORKERS[1..].iter().map(|workers| plan.gain(*workers)).collect();
        let columns = on_paper.iter().map(|gain| format!("{gain:.1}")).collect::<Vec<_>>().join(" | ");
        let line = format!(
            "| `{}` | {:.0} % | {:.2} | {columns} | {} |",
            text.replace('|', "\\|"),
            100.0 * plan.karp_flatt(),
            plan.one / plan.two,
            plan.limit()
        );
        eprintln!("    {line}");
        let _ = writeln!(body, "{line}");
        data.push(json!({
            "name": text,
            "seconds": {"write": plan.write, "one": plan.one, "two": plan.two, "alone": plan.alone},
            "workers": WORKERS[1..], "gains": on_paper,
            "runs": samples.iter().map(Samples::json).collect::<Vec<Value>>(),
        }));
        plans.push((kind, plan));
    }
    let _ = write!(body, "\n{}", changes(&plans));
    Ok(Results {
        name: "scaling",
        about: format!(
            "The pipelines of `bench limit`, locale C, {megabytes} MB, {runs} rounds. Serial part: Karp and Flatt's experimentally \
             determined serial fraction of two threads beside one. On paper: a discrete simulation of blocks of {} KiB that any worker \
             reads and works on, and that are passed on in order, and of what two threads take besides. Memory's bandwidth, which many \
             cores share, is not in it.",
            BLOCK_BYTES >> 10
        ),
        body,
        claims: Vec::new(),
        data: data.into(),
    })
}

/// Runs a plan with one thread and with two, and writes its output once more.
fn measure(bench: &Bench, place: &Place, text: &str, runs: usize) -> Outcome<(Plan, Vec<Samples>)> {
    let pelton = |jobs: &str| {
        let argv = [bench.pelton.as_os_str(), "run".as_ref(), jobs.as_ref(), "--".as_ref(), text.as_ref()];
        Contender::new(jobs, argv)
    };
    let dd = |name: &str, to: &str| {
        Contender::new(name, ["dd", "if=kept", &format!("of={to}"), &format!("bs={BLOCK_BYTES}")])
    };
    run_once(&pelton("--jobs=1"), &place.dir)?;
    std::fs::rename(place.dir.join("out"), place.dir.join("kept"))?;
    let all =
        [pelton("--jobs=1"), pelton("--jobs=2"), dd("read output", "/dev/null"), dd("copy output", "out")];
    let samples = contest(&all, &place.dir, runs, 1)?;
    let input = named_input(text, limit::names()).ok_or("a plan without input")?;
    let bytes = place.dir.join(input).metadata()?.len();
    Ok((Plan::of(&samples, bytes / BLOCK_BYTES), samples))
}

/// The times of a plan, in seconds.
#[derive(Clone, Copy)]
struct Plan {
    blocks: u64,
    write: f64,
    one: f64,
    two: f64,
    /// The time of two threads beyond the simulation.
    alone: f64,
}

/// A change of how the threads of pelton share work.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    /// Each worker writes its own output, where it belongs in the file.
    Writing,
    /// What one thread does alone is divided among all.
    Alone,
}

/// Returns which changes would help most on many cores: for each kind of pipelines what the geometric mean of all gains
/// would be.
fn changes(plans: &[(&str, Plan)]) -> String {
    let mean = |gain: &dyn Fn(&str, &Plan) -> f64| {
        stats::geometric_mean(plans.iter().map(|(kind, plan)| gain(kind, plan)))
    };
    let now = mean(&|_, plan| plan.gain(MANY));
    let mut kinds: Vec<&str> = plans.iter().map(|(kind, _)| *kind).collect();
    kinds.dedup();
    let mut found = Vec::new();
    for kind in kinds {
        for change in [Change::Writing, Change::Alone] {
            let then =
                mean(&|of, plan| if of == kind { plan.gain_with(change, MANY) } else { plan.gain(MANY) });
            found.push((then, kind, change));
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut text = format!(
        "On {MANY} cores the geometric mean of all gains is {now:.1} on paper. What it would be after each change:\n\n\
         | pipelines | change | gain on {MANY} cores, mean of all |\n| --- | --- | ---: |\n"
    );
    for (then, kind, change) in found {
        let what = match change {
            Change::Writing => "every thread writes its part of the output file itself",
            Change::Alone => "what one thread does alone (merging, sorting the rest) is divided among all",
        };
        let _ = writeln!(text, "| {kind} | {what} | {then:.1} |");
    }
    text
}

impl Plan {
    fn of(samples: &[Samples], blocks: u64) -> Self {
        let [one, two, read, copy] = [0, 1, 2, 3].map(|at: usize| stats::median(&samples[at].real));
        let write = (copy - read).clamp(0.0, one);
        let mut plan = Plan { blocks: blocks.max(1), write, one, two, alone: 0.0 };
        plan.alone = (two - plan.played(2)).clamp(0.0, one - write);
        plan
    }

    fn gain_with(&self, change: Change, workers: usize) -> f64 {
        match change {
            // What was written one after the other is work of all.
            Change::Writing => Plan { write: 0.0, ..*self }.gain(workers),
            Change::Alone => self.one / (self.played(workers) + self.alone / workers as f64),
        }
    }

    /// Returns the serial fraction that explains the gain with two workers.
    fn karp_flatt(&self) -> f64 {
        (2.0 * self.two / self.one - 1.0).clamp(0.0, 1.0)
    }

    fn gain(&self, workers: usize) -> f64 {
        self.one / (self.played(workers) + self.alone)
    }

    /// Simulates the pipeline: returns when the last block has been passed on, in seconds.
    fn played(&self, workers: usize) -> f64 {
        let count = self.blocks as f64;
        let write = self.write / count;
        let work = (self.one - self.write - self.alone).max(0.0) / count;
        let mut free = vec![0.0_f64; workers];
        let mut passer = 0;
        let mut passed: Vec<f64> = Vec::with_capacity(self.blocks as usize);
        for block in 0..self.blocks as usize {
            let next = (0..workers).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap_or(0);
            let room = block.checked_sub(PER_WORKER * workers).map_or(0.0, |before| passed[before]);
            let before = passed.last().copied().unwrap_or(0.0);
            let done = free[next].max(room) + work;
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
        if self.alone > self.write {
            "what one thread does alone: starting, merging the others' results, sorting the rest"
        } else {
            "writing, in order"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(write: f64, one: f64) -> Plan {
        Plan { blocks: 3000, write, one, two: one / 2.0, alone: 0.0 }
    }

    #[test]
    fn one_worker_takes_the_sum_and_many_what_is_serial() {
        let plan = plan(0.2, 2.0);
        assert!((plan.played(1) - 2.0).abs() < 1e-9);
        assert!((plan.gain(2) - 2.0).abs() < 0.01, "{}", plan.gain(2));
        let most = plan.gain(64);
        assert!((9.5..=10.0).contains(&most), "writing takes a tenth: {most}");
    }

    #[test]
    fn what_one_thread_does_alone_does_not_shrink() {
        let plan = Plan { alone: 0.5, ..plan(0.0, 1.0) };
        assert!((plan.gain(64) - 1.0 / (0.5 + 0.5 / 64.0)).abs() < 0.01, "{}", plan.gain(64));
        assert_eq!(
            plan.limit(),
            "what one thread does alone: starting, merging the others' results, sorting the rest"
        );
    }

    #[test]
    fn changes_are_ranked_by_what_they_gain() {
        let merging = Plan { alone: 0.5, ..plan(0.0, 1.0) };
        assert!(merging.gain_with(Change::Alone, MANY) > 10.0 * merging.gain_with(Change::Writing, MANY));
        let writing = plan(0.5, 1.0);
        assert!(writing.gain_with(Change::Writing, MANY) > 10.0 * writing.gain_with(Change::Alone, MANY));
        let table = changes(&[("sorts", merging), ("lines", writing), ("lines", writing)]);
        let first = table.lines().find(|line| line.starts_with("| lines") || line.starts_with("| sorts"));
        assert!(first.is_some_and(|line| line.starts_with("| lines | every thread writes")), "{table}");
    }
}
