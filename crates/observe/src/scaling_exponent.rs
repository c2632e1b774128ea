//! How a cost grows with the input's size: the slope of a line through the points on logarithmic scales.

use pelton_record::{Growth, GrowthPoint};

/// Minimum cost beyond start-up, in nanoseconds; smaller ones drown in noise.
const LEAST: u64 = 2_000_000;

/// Judges `points`, the first of which is an empty input: its cost is start-up, and excluded from the growth.
pub fn scaling_exponent(command: String, points: Vec<GrowthPoint>) -> Growth {
    let start_up = points.first().map_or(0, |point| point.cpu_ns);
    let beyond = |point: &GrowthPoint| point.cpu_ns.saturating_sub(start_up);
    let clear = points.iter().skip(1).filter(|point| beyond(point) >= LEAST.max(start_up / 4));
    let logs: Vec<(f64, f64)> =
        clear.map(|point| ((point.bytes as f64).ln(), (beyond(point) as f64).ln())).collect();
    let exponent = slope(&logs);
    let headline = match exponent {
        None => "too little to tell how it grows: give it a larger input".to_owned(),
        Some(power) => format!("user+sys grow {} (size to the power of {power:.2})", words(power)),
    };
    Growth { command, points, exponent, headline }
}

/// Returns the least-squares slope of at least three points, of different sizes.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let together: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (points.len() >= 3 && spread > 0.0).then(|| together / spread)
}

fn words(power: f64) -> &'static str {
    match power {
        _ if power < 0.1 => "not at all",
        _ if power < 0.9 => "more slowly than the input",
        _ if power < 1.07 => "as the input does",
        _ if power < 1.3 => "a little faster than the input, as sorting does",
        _ if power < 1.8 => "faster than the input",
        _ if power < 2.3 => "with the square of the input",
        _ => "much faster than the input",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exponent(cost: impl Fn(f64) -> f64) -> Option<f64> {
        let sizes = [0_u64, 1 << 20, 1 << 21, 1 << 22, 1 << 23];
        let points = sizes.map(|bytes| {
            let cpu_ns = 3_000_000 + cost(bytes as f64) as u64;
            GrowthPoint { bytes, real_ns: cpu_ns, cpu_ns }
        });
        scaling_exponent("text".into(), points.to_vec()).exponent
    }

    #[test]
    fn powers_are_found_whatever_the_start_up() {
        let near = |found: Option<f64>, wanted: f64| found.is_some_and(|it| (it - wanted).abs() < 0.02);
        assert!(near(exponent(|n| n * 10.0), 1.0));
        assert!(near(exponent(|n| n * n / 1000.0), 2.0));
        assert!(near(exponent(|n| n.sqrt() * 10_000.0), 0.5));
    }

    #[test]
    fn little_cost_says_nothing() {
        assert_eq!(exponent(|n| n / 100.0), None);
    }
}
