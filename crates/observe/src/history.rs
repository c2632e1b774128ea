//! How a run compares with earlier ones of the same name.
//!
//! Runs of many days scatter, and not normally. So a run stands out only if it is beyond all earlier ones: of n, chance
//! alone would do that once in n+1.

use crate::repeats::median;
use pelton_record::history::{Budget, BudgetFigure, KeptRun};

/// With fewer earlier runs, nothing stands out.
const ENOUGH: usize = 5;
/// With fewer earlier runs, no limit follows from their median.
const ENOUGH_FOR_MEDIAN: usize = 3;
/// So many earlier runs are compared with: older ones say less.
const MOST: usize = 50;
/// A smaller change does not stand out.
const LEAST_CHANGE: f64 = 0.05;

/// Returns the earlier runs that can be compared with this one: of the same text on the same machine, that succeeded. The
/// newest last.
pub fn comparable<'r>(earlier: &'r [KeptRun], this: &KeptRun) -> Vec<&'r KeptRun> {
    let alike: Vec<&KeptRun> = earlier.iter().filter(|run| run.is_like(this)).collect();
    alike[alike.len().saturating_sub(MOST)..].to_vec()
}

/// Says how a run compares with earlier ones.
pub fn verdict(earlier: &[KeptRun], this: &KeptRun) -> String {
    let alike = comparable(earlier, this);
    let others = earlier.len() - alike.len().min(earlier.len());
    if this.exit_status != 0 {
        return format!("it ended with status {}, so it is not compared", this.exit_status);
    }
    let before = match alike.len() {
        0 if others > 0 => {
            return "none of the runs before had this text on this machine and succeeded".to_owned();
        }
        0 => return "the first run of this name".to_owned(),
        1 => "1 run before".to_owned(),
        n => format!("{n} runs before"),
    };
    if alike.len() < ENOUGH {
        return format!("{before}: five are needed to tell a change");
    }
    let figures = [("real", BudgetFigure::Real), ("user+sys", BudgetFigure::Cpu)];
    let changes: Vec<String> =
        figures.iter().filter_map(|(name, figure)| change(&alike, this, *figure, name)).collect();
    match changes.as_slice() {
        [] => format!("as in the {before}"),
        _ => format!("{} in any of the {before}", changes.join(", and ")),
    }
}

/// Says by how much a figure is beyond all earlier ones; `None` if it is not.
fn change(alike: &[&KeptRun], this: &KeptRun, figure: BudgetFigure, name: &str) -> Option<String> {
    let values: Vec<u64> = alike.iter().map(|run| figure.of(run)).collect();
    let (least, most) = (*values.iter().min()?, *values.iter().max()?);
    let usual = median(values).max(1) as f64;
    let value = figure.of(this);
    let ratio = value as f64 / usual;
    let beyond = match () {
        () if value > most && ratio >= 1.0 + LEAST_CHANGE => "more",
        () if value < least && ratio <= 1.0 - LEAST_CHANGE => "less",
        () => return None,
    };
    Some(format!("{name} is {beyond} ({ratio:.2} times the median) than"))
}

/// A limit as given: a figure, and the most of it or by how much it may exceed the median of the runs before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Nanoseconds or bytes.
    Fixed(u64),
    /// A share: 0.2 for 20% more.
    OverMedian(f64),
}

/// Compares a run with a limit.
pub fn budget(figure: BudgetFigure, limit: Limit, earlier: &[KeptRun], this: &KeptRun) -> Budget {
    let (limit, over_median) = match limit {
        Limit::Fixed(limit) => (Some(limit), None),
        Limit::OverMedian(share) => {
            let values: Vec<u64> = comparable(earlier, this).into_iter().map(|run| figure.of(run)).collect();
            let is_known = values.len() >= ENOUGH_FOR_MEDIAN;
            (is_known.then(|| (median(values) as f64 * (1.0 + share)) as u64), Some(share))
        }
    };
    let used = figure.of(this);
    Budget { figure, limit, used, over_median, is_exceeded: limit.is_some_and(|limit| used > limit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(ms: u64) -> KeptRun {
        KeptRun { text: "a | b".into(), wall_ns: ms * 1_000_000, user_ns: 40_000_000, ..KeptRun::default() }
    }

    #[test]
    fn only_what_is_beyond_all_earlier_runs_stands_out() {
        let earlier: Vec<KeptRun> = [100, 104, 98, 120, 101].map(run).to_vec();
        let said = |ms| verdict(&earlier, &run(ms));
        assert_eq!(said(119), "as in the 5 runs before");
        assert_eq!(said(124), "real is more (1.23 times the median) than in any of the 5 runs before");
        assert_eq!(said(97), "as in the 5 runs before");
        assert_eq!(said(50), "real is less (0.50 times the median) than in any of the 5 runs before");
        assert_eq!(verdict(&earlier[..4], &run(500)), "4 runs before: five are needed to tell a change");
        assert_eq!(verdict(&[], &run(500)), "the first run of this name");
    }

    #[test]
    fn other_texts_machines_and_failures_are_not_compared() {
        let other = |change: fn(&mut KeptRun)| {
            let mut one = run(100);
            change(&mut one);
            one
        };
        let earlier =
            [other(|run| run.text.clear()), other(|run| run.cores = 9), other(|run| run.exit_status = 1)];
        assert!(comparable(&earlier, &run(100)).is_empty());
        let failed = other(|run| run.exit_status = 1);
        assert_eq!(verdict(&earlier, &failed), "it ended with status 1, so it is not compared");
        let none = "none of the runs before had this text on this machine and succeeded";
        assert_eq!(verdict(&earlier, &run(100)), none);
    }

    #[test]
    fn limits() {
        let earlier: Vec<KeptRun> = [100, 110, 90].map(run).to_vec();
        let over = |limit, ms| budget(BudgetFigure::Real, limit, &earlier, &run(ms)).is_exceeded;
        assert!(over(Limit::Fixed(99_000_000), 100) && !over(Limit::Fixed(100_000_000), 100));
        assert!(over(Limit::OverMedian(0.2), 121) && !over(Limit::OverMedian(0.2), 119));
        let few = budget(BudgetFigure::Real, Limit::OverMedian(0.2), &earlier[..2], &run(900));
        assert_eq!((few.limit, few.is_exceeded), (None, false));
    }
}
