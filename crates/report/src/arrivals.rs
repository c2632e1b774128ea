//! When lines were generated and when they arrived: shows whether a stage between buffers them.
//!
//! ```text
//!   line  generated at  arrived at
//!      1        0.003s      4.016s
//!      2        1.004s      4.016s
//! ```

use pelton_record::{Arrivals, Batch};

use crate::{
    paint::{Pieces, Role},
    style::Style,
    text, units,
};

/// Sentences longer than this are hard to follow.
const READABLE: usize = 100;
/// Lines shown at each end of a long run, unless `all` is set.
const SHOWN: u64 = 5;
/// A stage buffers its input if the first line arrives at most this share of the generating time before the
/// last is generated.
const SOON: f64 = 0.05;

/// Renders a row per line, and a conclusion.
pub fn lines(arrivals: &Arrivals, style: &Style) -> Vec<Pieces> {
    let (generated, arrived) = (&arrivals.generated, &arrivals.arrived);
    let (made, came) = (Arrivals::count(generated), Arrivals::count(arrived));
    let longest = made.max(came);
    let mut lines = vec![Pieces::one(Role::Dim, "    line  generated at  arrived at")];
    let time =
        |batches: &[Batch], number| Arrivals::at(batches, number).map_or(String::new(), units::seconds);
    let mut skipped = false;
    for number in 1..=longest {
        if !style.all && number > SHOWN && number + SHOWN <= longest {
            if !std::mem::replace(&mut skipped, true) {
                lines.push(Pieces::one(Role::Dim, format!("     ...  ({longest} lines; --all shows each)")));
            }
            continue;
        }
        let text = format!("  {number:>6}  {:>12}  {:>10}", time(generated, number), time(arrived, number));
        lines.push(Pieces::one(Role::Plain, text));
    }
    let room = style.width.map_or(READABLE, |width| width.min(READABLE)).saturating_sub(2);
    let said = text::wrap(&words(arrivals), room);
    lines.extend(said.iter().map(|line| Pieces::one(Role::Strong, format!("  {line}"))));
    lines
}

/// Words the conclusion.
fn words(arrivals: &Arrivals) -> String {
    let (generated, arrived) = (&arrivals.generated, &arrivals.arrived);
    let made = Arrivals::count(generated);
    let ends = generated.first().zip(generated.last()).zip(arrived.first());
    let Some(((first, last), came)) = ends else {
        return "no line was generated, or none arrived".to_owned();
    };
    let took = last.at_ns.saturating_sub(first.at_ns);
    let delay = units::seconds(came.at_ns.saturating_sub(first.at_ns));
    if took == 0 {
        return format!("all was generated at once; the first line arrived {delay} later");
    }
    let gathered = came.at_ns as f64 >= last.at_ns as f64 - SOON * took as f64;
    let by_then: u64 =
        generated.iter().filter(|batch| batch.at_ns <= came.at_ns).map(|batch| batch.lines).sum();
    if gathered {
        format!(
            "the first line arrived {delay} after the first was generated, and nothing before the last was: a stage gathers all \
             of its input, so what is behind it cannot work while what is before it does"
        )
    } else {
        format!(
            "the first line arrived {delay} after the first was generated, when {by_then} of {made} had been: lines stream"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn batches(ms: &[u64]) -> Vec<Batch> {
        ms.iter().map(|ms| Batch { at_ns: ms * 1_000_000, lines: 1 }).collect()
    }

    #[test]
    fn sort_gathers_and_cat_streams() {
        let generated = batches(&[3, 1004, 2005, 3006, 4007]);
        let sorted = Arrivals {
            generated: generated.clone(),
            arrived: vec![Batch { at_ns: 4_016_000_000, lines: 5 }],
        };
        let shown: String = lines(&sorted, &samples::wide(80)).iter().map(|line| line.line(false)).collect();
        assert!(shown.contains("       1        0.003s      4.016s\n"), "{shown}");
        assert!(shown.contains("       5        4.007s      4.016s\n"), "{shown}");
        assert!(words(&sorted).contains("a stage gathers all"), "{}", words(&sorted));
        let streamed = Arrivals { arrived: batches(&[4, 1005, 2006, 3007, 4008]), generated };
        assert!(words(&streamed).ends_with("when 1 of 5 had been: lines stream"), "{}", words(&streamed));
        assert_eq!(words(&Arrivals::default()), "no line was generated, or none arrived");
    }

    #[test]
    fn a_long_run_shows_its_ends() {
        let arrivals = Arrivals { generated: batches(&[1; 100]), arrived: batches(&[2; 90]) };
        assert_eq!(lines(&arrivals, &samples::wide(200)).len(), 1 + 5 + 1 + 5 + 1);
        let all = Style { all: true, ..samples::wide(200) };
        assert_eq!(lines(&arrivals, &all).len(), 102);
    }
}
