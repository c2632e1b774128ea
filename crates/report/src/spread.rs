//! The spread of repeated runs.

use pelton_record::{Repeats, Run};

use crate::Style;

/// Returns the spread's sign.
pub fn sign(style: &Style) -> &'static str {
    if style.unicode { "±" } else { "+-" }
}

/// Returns half the interquartile range: half of the runs are within about this much of the median, and one
/// slow outlier does not move it. Quartiles are interpolated. `None` for fewer than two values.
pub fn half_iqr(values: &[u64]) -> Option<u64> {
    if values.len() < 2 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    Some(((quantile(&sorted, 0.75) - quantile(&sorted, 0.25)) / 2.0).round() as u64)
}

fn quantile(sorted: &[u64], q: f64) -> f64 {
    let place = (sorted.len() - 1) as f64 * q;
    let [low, high] =
        [place.floor(), place.ceil()].map(|at| sorted.get(at as usize).map_or(0.0, |v| *v as f64));
    low + (high - low) * place.fract()
}

/// Returns the spreads of real, user and sys of stage `row`, counted over all pipelines, or of the whole run.
/// `None` without repeats; an inner `None` is an unknown spread.
pub fn of_row(run: &Run, row: Option<usize>) -> Option<[Option<u64>; 3]> {
    let repeats: &Repeats = run.repeats.as_ref().filter(|repeats| repeats.runs > 1)?;
    let lists = match row {
        None => [&repeats.wall_ns, &repeats.user_ns, &repeats.sys_ns],
        Some(row) => match repeats.stages.get(row) {
            Some(stage) => [&stage.wall_ns, &stage.user_ns, &stage.sys_ns],
            None => return Some([None; 3]),
        },
    };
    Some(lists.map(|values| half_iqr(values)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_interquartile_range() {
        assert_eq!(half_iqr(&[]), None);
        assert_eq!(half_iqr(&[7]), None);
        assert_eq!(half_iqr(&[10, 20]), Some(3));
        assert_eq!(half_iqr(&[5, 1, 3, 2, 4]), Some(1));
        assert_eq!(half_iqr(&[10, 10, 10, 10, 10_000]), Some(0));
    }
}
