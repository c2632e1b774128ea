//! Whether a change helped: two command lines, run alternately.
//!
//! Each run of AFTER is divided by the adjacent run of BEFORE, so that disturbances of the machine (other
//! work, CPU throttling) affect both. The interval of the median ratio comes from order statistics alone (the
//! inverted sign test; Conover, *Practical Nonparametric Statistics*): it does not assume that times are
//! normally distributed, which they are not. The road not taken: a t-test on means, which a single slow
//! outlier decides. Too few runs for that interval still tell a change that dwarfs their differences: three ratios of
//! 0.05, 0.04 and 0.05 leave no doubt.

use crate::repeats::{median, summarise};
use pelton_record::{
    Change, Comparison, Direction, Judgement, JudgementKind, Outputs, RECORD_VERSION, Run, Timing,
};

/// Maximum probability of error of an interval, given enough runs (six).
const ERROR: f64 = 0.05;

/// With fewer runs than this takes (five), no change is distinguishable from chance.
const SURE: f64 = 0.93;

/// The measurements: runs in pairs, in the order made.
pub struct Compared {
    /// Runs of BEFORE.
    pub before: Vec<Run>,
    /// Runs of AFTER, as many.
    pub after: Vec<Run>,
    /// Number of warm-up runs.
    pub warmup: u32,
    /// Whether both outputs are equal.
    pub outputs: Outputs,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// A change below this share is ignored, however certain: 0.01 is one per cent.
    pub threshold: f64,
}

/// Compares the runs; `None` if there are none.
pub fn compare(compared: Compared) -> Option<Comparison> {
    let Compared { before, after, warmup, outputs, notes, threshold } = compared;
    let change = |figure: fn(&Run) -> u64| change(&before, &after, figure, threshold);
    let (real, cpu) = (change(|run| run.wall_ns)?, change(|run| run.total.user_ns + run.total.sys_ns)?);
    let judgement = judge(&real, &cpu, &outputs);
    Some(Comparison {
        record_version: RECORD_VERSION,
        results: vec![timing(&before), timing(&after)],
        judgement,
        real,
        cpu,
        outputs,
        before: summarise(before, warmup)?,
        after: summarise(after, warmup)?,
        notes,
    })
}

fn change(before: &[Run], after: &[Run], figure: fn(&Run) -> u64, threshold: f64) -> Option<Change> {
    // A cost of zero counts as one nanosecond: a ratio must be a number.
    let of = |run: &Run| figure(run).max(1) as f64;
    let mut ratios: Vec<f64> = before.iter().zip(after).map(|(b, a)| of(a) / of(b)).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let ratio = middle(&ratios)?;
    let (cut, confidence) = interval(ratios.len());
    let (low, high) = (*ratios.get(cut)?, *ratios.get(ratios.len() - 1 - cut)?);
    let all = |runs: &[Run]| median(runs.iter().map(figure).collect());
    let direction = match ratio {
        _ if confidence < SURE && !is_plain(&ratios) => Direction::Same,
        _ if high < 1.0 && ratio < 1.0 - threshold => Direction::Fell,
        _ if low > 1.0 && ratio > 1.0 + threshold => Direction::Rose,
        _ => Direction::Same,
    };
    let (before_ns, after_ns) = (all(before), all(after));
    Some(Change { before_ns, after_ns, ratio, low, high, confidence, direction })
}

/// So many runs of each at least.
const FEW: usize = 3;
/// A change is plain if the ratio nearest to 1 is away from it by so many times the spread of all ratios, in logarithms: for
/// three normally distributed ratios without a change, that happens in less than one of a thousand comparisons.
const PLAIN: f64 = 10.0;

/// Whether few ratios, sorted, are so alike and so far from 1 that chance does not explain them.
fn is_plain(ratios: &[f64]) -> bool {
    let (Some(low), Some(high)) = (ratios.first(), ratios.last()) else { return false };
    let (low, high) = (low.ln(), high.ln());
    let nearest = if low > 0.0 { low } else { (-high).max(0.0) };
    ratios.len() >= FEW && nearest > LEAST_PLAIN && nearest > PLAIN * (high - low)
}

/// A factor of 3: one process less in runs of milliseconds, or a machine that other programs slowed down for a while, shows
/// smaller ones.
const LEAST_PLAIN: f64 = 1.1;

fn middle(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    let high = *sorted.get(n / 2)?;
    Some(if n % 2 == 1 { high } else { (sorted[n / 2 - 1] + high) / 2.0 })
}

/// Returns how many of `n` sorted values are cut off at either end so that the rest covers the median with at
/// least 95 %, or zero; and the coverage: 1 - 2 P(fewer than cut+1 of n coins show heads).
fn interval(n: usize) -> (usize, f64) {
    let mut chance = 0.5_f64.powi(n as i32);
    let mut tail = chance;
    let mut best = (0, (1.0 - 2.0 * tail).max(0.0));
    for cut in 1..n.div_ceil(2) {
        chance *= (n + 1 - cut) as f64 / cut as f64;
        tail += chance;
        if 2.0 * tail > ERROR {
            break;
        }
        best = (cut, 1.0 - 2.0 * tail);
    }
    best
}

/// Requirement P2: real time is the gain, user+sys is the price.
fn judge(real: &Change, cpu: &Change, outputs: &Outputs) -> Judgement {
    use Direction::{Fell, Rose, Same};
    if let Outputs::Different { how } = outputs {
        let headline = format!("not the same output: {how}; so their times say nothing");
        return Judgement { kind: JudgementKind::NotTheSame, headline };
    }
    let (kind, headline) = match (real.direction, cpu.direction) {
        (Fell, Fell) => (JudgementKind::Helped, "helped: real and user+sys fell"),
        (Fell, Same) => (JudgementKind::Helped, "helped: real fell; user+sys shows no sure change"),
        (Fell, Rose) => (JudgementKind::Helped, "helped, at a price: real fell, and user+sys rose"),
        (Same, Fell) => (JudgementKind::Helped, "helped: user+sys fell; real shows no sure change"),
        (Same, Same) if real.confidence < SURE => {
            (JudgementKind::NoDifference, "too few runs to tell a change from chance")
        }
        (Same, Same) => (JudgementKind::NoDifference, "no difference that could be told"),
        (Same, Rose) => (JudgementKind::Worse, "worse: user+sys rose, and real did not fall"),
        (Rose, Fell) => (JudgementKind::Worse, "worse: real rose, though user+sys fell"),
        (Rose, Same) => (JudgementKind::Worse, "worse: real rose; user+sys shows no sure change"),
        (Rose, Rose) => (JudgementKind::Worse, "worse: real and user+sys rose"),
    };
    Judgement { kind, headline: headline.to_owned() }
}

fn timing(runs: &[Run]) -> Timing {
    const NS: f64 = 1e9;
    let times: Vec<f64> = runs.iter().map(|run| run.wall_ns as f64 / NS).collect();
    let count = runs.len() as f64;
    let mean_of =
        |figure: fn(&Run) -> u64| runs.iter().map(|run| figure(run) as f64).sum::<f64>() / count / NS;
    let mean = mean_of(|run| run.wall_ns);
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    Timing {
        command: runs.first().map(|run| run.text.clone()).unwrap_or_default(),
        mean,
        stddev: (runs.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
        median: median(runs.iter().map(|run| run.wall_ns).collect()) as f64 / NS,
        user: mean_of(|run| run.total.user_ns),
        system: mean_of(|run| run.total.sys_ns),
        min: times.iter().copied().fold(f64::INFINITY, f64::min),
        max: times.iter().copied().fold(0.0, f64::max),
        times,
        exit_codes: runs.iter().map(|run| run.exit_status).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_record::Cost;

    fn run(real: u64, cpu: u64) -> Run {
        Run {
            text: "text".into(),
            wall_ns: real * 1000,
            total: Cost { wall_ns: real * 1000, user_ns: cpu * 1000, ..Cost::zero() },
            ..Run::default()
        }
    }

    /// Before is always 1000 real and 1000 CPU.
    fn judged(after: &[(u64, u64)]) -> JudgementKind {
        let before = vec![run(1000, 1000); after.len()];
        let after = after.iter().map(|(real, cpu)| run(*real, *cpu)).collect();
        let outputs = Outputs::Same { bytes: 1, files: Some(0), unsteady_files: vec![] };
        let compared = Compared { before, after, warmup: 0, outputs, notes: vec![], threshold: 0.01 };
        compare(compared).expect("runs").judgement.kind
    }

    #[test]
    fn the_rule_of_real_and_price() {
        use JudgementKind::{Helped, NoDifference, Worse};
        let all = |real, cpu| judged(&[(real, cpu); 7]);
        assert_eq!(all(500, 500), Helped);
        assert_eq!(all(500, 2000), Helped);
        assert_eq!(all(1000, 900), Helped);
        assert_eq!(all(1000, 1000), NoDifference);
        assert_eq!(all(1005, 995), NoDifference);
        assert_eq!(all(1000, 1100), Worse);
        assert_eq!(all(1100, 500), Worse);
    }

    #[test]
    fn noise_is_no_difference() {
        let noisy =
            [(900, 1000), (1100, 1000), (950, 1000), (1060, 1000), (800, 1000), (1200, 1000), (930, 1000)];
        assert_eq!(judged(&noisy), JudgementKind::NoDifference);
    }

    #[test]
    fn few_runs_tell_nothing() {
        assert_eq!(judged(&[(900, 900); 4]), JudgementKind::NoDifference);
        assert_eq!(judged(&[(900, 900); 5]), JudgementKind::Helped);
        assert_eq!(judged(&[(10, 10); 2]), JudgementKind::NoDifference);
        assert_eq!(judged(&[(500, 500), (200, 200), (300, 300)]), JudgementKind::NoDifference);
        assert_eq!(judged(&[(500, 500); 3]), JudgementKind::NoDifference);
    }

    #[test]
    fn few_runs_tell_what_dwarfs_their_differences() {
        assert_eq!(judged(&[(44, 45), (48, 47), (45, 46)]), JudgementKind::Helped);
        assert_eq!(judged(&[(5000, 5000), (5100, 5200), (4900, 5000)]), JudgementKind::Worse);
    }

    #[test]
    fn one_outlier_decides_nothing() {
        let mut after = vec![(800, 800); 11];
        after[3] = (90_000, 90_000);
        assert_eq!(judged(&after), JudgementKind::Helped);
    }

    #[test]
    fn intervals_cover_what_they_say() {
        assert_eq!(interval(1), (0, 0.0));
        let (cut, sure) = interval(5);
        assert!(cut == 0 && (sure - 0.9375).abs() < 1e-12, "{cut} {sure}");
        let (cut, sure) = interval(6);
        assert!(cut == 0 && (sure - 0.96875).abs() < 1e-12, "{cut} {sure}");
        let (cut, sure) = interval(10);
        assert!(cut == 1 && (sure - 0.978_515_625).abs() < 1e-12, "{cut} {sure}");
        // The sign test's table for 20: the sixth and the fifteenth value.
        assert_eq!(interval(20).0, 5);
    }

    #[test]
    fn other_output_is_never_help() {
        let outputs = Outputs::Different { how: "x".into() };
        let (before, after) = (vec![run(1000, 1000); 7], vec![run(10, 10); 7]);
        let compared = Compared { before, after, warmup: 0, outputs, notes: vec![], threshold: 0.01 };
        assert_eq!(compare(compared).expect("runs").judgement.kind, JudgementKind::NotTheSame);
    }

    #[test]
    fn hyperfine_would_say_the_same() {
        let timing = timing(&[run(1000, 10), run(3000, 20), run(2000, 30)]);
        assert_eq!(timing.times, [0.001, 0.003, 0.002]);
        assert!((timing.mean - 0.002).abs() < 1e-12 && (timing.median - 0.002).abs() < 1e-12);
        assert!(timing.stddev.is_some_and(|it| (it - 0.001).abs() < 1e-12));
        assert!((timing.user - 0.000_02).abs() < 1e-12 && timing.system == 0.0);
        assert_eq!((timing.min, timing.max), (0.001, 0.003));
    }
}
