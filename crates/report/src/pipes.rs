//! How full a pipe was over time, drawn as a line of small bars.

use pelton_record::{PipeFill, PipeUse};

use crate::style::Style;

/// From empty to full.
const FINE: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const PLAIN: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];

/// Draws `width` characters, each for an equal part of the observed time. Full means that writes block,
/// however few bytes that takes; a blank is a part without observations.
pub fn course(pipe: &PipeUse, width: usize, style: &Style) -> String {
    let Some((first, last)) = pipe.over_time.first().zip(pipe.over_time.last()) else { return String::new() };
    let (start_ns, end_ns) = (first.start_ns, last.start_ns + last.length_ns);
    let length_ns = end_ns.saturating_sub(start_ns).max(1);
    let edge = |i: usize| start_ns + (u128::from(length_ns) * i as u128 / width as u128) as u64;
    (0..width).map(|i| level(pipe, edge(i), edge(i + 1)).map_or(' ', |level| sign(level, style))).collect()
}

/// Returns the character for a level, 0 to 1.
pub fn sign(level: f64, style: &Style) -> char {
    let levels = if style.unicode { &FINE } else { &PLAIN };
    levels[((level * 7.0).round() as usize).min(7)]
}

/// Returns the mean level in an interval, 0 to 1.
fn level(pipe: &PipeUse, start_ns: u64, end_ns: u64) -> Option<f64> {
    let capacity = pipe.capacity_bytes.unwrap_or(65_536).max(1) as f64;
    let full = |fill: &PipeFill| fill.full_share.max((fill.bytes as f64 / capacity).min(1.0));
    let (mut sum, mut weight) = (0.0, 0.0);
    for fill in &pipe.over_time {
        let overlap =
            (fill.start_ns + fill.length_ns).min(end_ns).saturating_sub(fill.start_ns.max(start_ns));
        sum += full(fill) * overlap as f64;
        weight += overlap as f64;
    }
    (weight > 0.0).then(|| sum / weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_pipe_that_fills() {
        let fill =
            |i: u64, bytes, full_share| PipeFill { start_ns: i * 10, length_ns: 10, bytes, full_share };
        let over_time = vec![fill(1, 0, 0.0), fill(2, 32_768, 0.0), fill(3, 40_000, 1.0)];
        let pipe = PipeUse { capacity_bytes: Some(65_536), over_time, ..PipeUse::default() };
        assert_eq!(course(&pipe, 3, &samples::wide(80)), "▁▅█");
        assert_eq!(course(&pipe, 6, &samples::wide(80)), "▁▁▅▅██");
        let plain = crate::Style { unicode: false, ..samples::wide(80) };
        assert_eq!(course(&pipe, 3, &plain), "_=#");
        assert_eq!(course(&PipeUse::default(), 3, &plain), "");
    }
}
