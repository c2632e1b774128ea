//! Medians and related figures of raw samples.

/// Returns the middle value, or the mean of the two middle ones; NaN for no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Returns the geometric mean; 1 for no values.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value: f64| (sum + value.ln(), count + 1));
    (sum / f64::from(count.max(1))).exp()
}

/// Returns the smallest value: the cost of the work without disturbance.
pub fn min(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Returns the median of each round's difference `a - b`. A round pairs runs that are adjacent in time, so a
/// lasting disturbance affects both sides.
pub fn median_difference(a: &[f64], b: &[f64]) -> f64 {
    median(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

/// Returns the median of each round's ratio `a / b`.
pub fn median_ratio(a: &[f64], b: &[f64]) -> f64 {
    median(&ratios(a, b))
}

/// Returns each round's ratio `a / b`.
pub fn ratios(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a / b).collect()
}

/// Returns the upper end of the 95% interval of the true median. It depends on the order of the values alone, not on how they
/// are distributed. `None` for fewer than 6 values.
pub fn highest_median(values: &[f64]) -> Option<f64> {
    let (count, mut sorted) = (values.len(), values.to_vec());
    sorted.sort_by(f64::total_cmp);
    // The probability that `k` or fewer of `count` values are above their median, for k = 0, 1 …
    let (mut exactly, mut at_most, mut above) = (0.5_f64.powi(count as i32), 0.0, 0);
    while at_most + exactly <= 0.025 {
        at_most += exactly;
        exactly *= (count - above) as f64 / (above + 1) as f64;
        above += 1;
    }
    sorted.get(count - above).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
        assert_eq!(min(&[3.0, 1.0, 2.0]), 1.0);
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_the_sign_test() {
        let values = |count: u32| (1..=count).map(f64::from).collect::<Vec<_>>();
        assert_eq!(highest_median(&values(5)), None);
        assert_eq!(highest_median(&values(6)), Some(6.0));
        assert_eq!(highest_median(&values(21)), Some(16.0));
        assert_eq!(highest_median(&values(100)), Some(61.0));
    }

    #[test]
    fn pairs_cancel_what_hits_both() {
        let (a, b) = ([1.1, 11.1, 1.1], [1.0, 11.0, 1.0]);
        assert!((median_difference(&a, &b) - 0.1).abs() < 1e-9);
        assert!((median_ratio(&[2.0, 20.0], &[1.0, 10.0]) - 2.0).abs() < 1e-9);
    }
}
