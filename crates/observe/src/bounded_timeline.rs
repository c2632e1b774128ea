//! A timeline with a bounded number of intervals: when there are too many, adjacent ones are merged.

use pelton_record::{PipeFill, Slice};

/// An interval that can be merged with the next one.
pub trait Stretch {
    /// Returns its length in nanoseconds.
    fn length_ns(&self) -> u64;
    /// Merges the next one into it.
    fn join(&mut self, next: &Self);
}

/// Intervals in order.
#[derive(Clone, Debug)]
pub struct Course<T> {
    stretches: Vec<T>,
    most: usize,
    shortest_ns: u64,
}

impl<T: Stretch + Copy> Course<T> {
    /// Makes a timeline of at most this many intervals.
    pub fn new(most: usize) -> Self {
        Course { stretches: Vec::new(), most: most.max(2), shortest_ns: 1 }
    }

    /// Adds the next interval.
    pub fn push(&mut self, next: T) {
        match self.stretches.last_mut() {
            Some(last) if last.length_ns() < self.shortest_ns => last.join(&next),
            _ => self.stretches.push(next),
        }
        if self.stretches.len() > self.most {
            self.thin();
        }
    }

    fn thin(&mut self) {
        let pair = |pair: &[T]| {
            let mut first = pair[0];
            pair[1..].iter().for_each(|next| first.join(next));
            first
        };
        self.stretches = self.stretches.chunks(2).map(pair).collect();
        let longest = self.stretches.iter().map(Stretch::length_ns).max();
        // New intervals grow to this length, so that all end up about equal.
        self.shortest_ns = longest.unwrap_or(1);
    }

    /// Returns all intervals.
    pub fn into_vec(self) -> Vec<T> {
        self.stretches
    }

    /// Returns all intervals so far.
    pub fn as_slice(&self) -> &[T] {
        &self.stretches
    }
}

impl Stretch for PipeFill {
    fn length_ns(&self) -> u64 {
        self.length_ns
    }

    fn join(&mut self, next: &Self) {
        let (own, other) = (self.length_ns as f64, next.length_ns as f64);
        let mean = |a: f64, b: f64| (a * own + b * other) / (own + other).max(1.0);
        self.bytes = mean(self.bytes as f64, next.bytes as f64).round() as u64;
        self.full_share = mean(self.full_share, next.full_share);
        self.length_ns += next.length_ns;
    }
}

impl Stretch for Slice {
    fn length_ns(&self) -> u64 {
        self.length_ns
    }

    fn join(&mut self, next: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        self.length_ns += next.length_ns;
        self.running_ns += next.running_ns;
        self.cpu_wait_ns += next.cpu_wait_ns;
        self.starved_ns += next.starved_ns;
        self.backpressured_ns += next.backpressured_ns;
        self.other_ns += next.other_ns;
        self.read_bytes = sum(self.read_bytes, next.read_bytes);
        self.written_bytes = sum(self.written_bytes, next.written_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_stretches_become_few_that_cover_the_same_time() {
        let mut course = Course::new(10);
        for i in 0..1000 {
            let fill = PipeFill { start_ns: i * 5, length_ns: 5, bytes: i * 1000, full_share: 1.0 };
            course.push(fill);
        }
        let fills = course.into_vec();
        assert!((5..=10).contains(&fills.len()), "{}", fills.len());
        assert_eq!(fills.iter().map(|fill| fill.length_ns).sum::<u64>(), 5000);
        let mut at = 0;
        for fill in &fills {
            assert_eq!(fill.start_ns, at);
            at += fill.length_ns;
            let middle = (fill.start_ns + fill.length_ns / 2) * 200;
            assert!(fill.bytes.abs_diff(middle) <= 1500, "{fill:?}");
            assert!((fill.full_share - 1.0).abs() < 1e-9);
        }
    }
}
