//! The bytes that pass through a pipe over time, from the counters of both ends.
//!
//! A stage's counters also hold other bytes: those of the program's loader, of temporary files, of files that it opens
//! itself, of children that were not yet waited for. So there are several readings of each counter. Between those of the
//! writer and those of the reader, the right pair is one in which the pipe never holds less than nothing or more than
//! its capacity.

/// Bytes that one end moved, interval by interval.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    /// End of each interval, in seconds.
    pub ends_s: Vec<f64>,
    /// Bytes in it.
    pub bytes: Vec<f64>,
    /// Whether it had children, whose bytes are counted when they are waited for.
    pub had_children: bool,
}

/// A pair is taken only if the pipe's fill is wrong by less than this share of all bytes, on average.
const MOST_WRONG: f64 = 0.05;
/// A later reading of a counter has to fit better by this share.
const CLEARLY: f64 = 0.003;

impl Counted {
    fn sum(&self) -> f64 {
        self.bytes.iter().sum()
    }

    /// Returns readings of a counter that holds more than `total` bytes: all of them shrunk, the first ones left out (the
    /// loader's), the last ones left out (temporary files).
    fn readings(&self, total: f64) -> Vec<Vec<f64>> {
        let sum = self.sum();
        if sum <= 0.0 {
            return vec![self.bytes.clone()];
        }
        let shrunk = self.bytes.iter().map(|bytes| bytes * total / sum).collect();
        let after = |mut skip: f64| -> Vec<f64> {
            let rest = |bytes: &f64| {
                let skipped = skip.min(*bytes);
                skip -= skipped;
                bytes - skipped
            };
            self.bytes.iter().map(rest).collect()
        };
        let late: Vec<f64> = after(total).iter().zip(&self.bytes).map(|(rest, all)| all - rest).collect();
        vec![shrunk, after((sum - total).max(0.0)), late]
    }

    /// Returns the bytes up to a time, for this reading.
    fn until(&self, bytes: &[f64], time_s: f64) -> f64 {
        let (mut before_s, mut sum) = (0.0, 0.0);
        for (end_s, bytes) in self.ends_s.iter().zip(bytes) {
            if *end_s >= time_s {
                let part = (time_s - before_s) / (end_s - before_s).max(1e-12);
                return sum + bytes * part.clamp(0.0, 1.0);
            }
            (before_s, sum) = (*end_s, sum + bytes);
        }
        sum
    }

    /// Returns what passed in each of these intervals, if the other end's reading is right.
    fn as_seen_by(&self, other: &Counted, bytes: &[f64]) -> Vec<f64> {
        let mut last = 0.0;
        let passed = |end_s: &f64| {
            let sum = other.until(bytes, *end_s);
            sum - std::mem::replace(&mut last, sum)
        };
        let mut all: Vec<f64> = self.ends_s.iter().map(passed).collect();
        if let Some(end) = all.last_mut() {
            *end += bytes.iter().sum::<f64>() - last;
        }
        all
    }
}

/// Returns what the writer put into a pipe and what the reader took out of it, interval by interval.
pub(super) fn through_pipe(writer: &Counted, reader: &Counted, capacity: f64) -> (Vec<f64>, Vec<f64>) {
    let total = match (writer.sum(), reader.sum()) {
        (0.0, sum) | (sum, 0.0) => sum,
        (written, read) => written.min(read),
    };
    let mut best: Option<(f64, Vec<f64>, Vec<f64>)> = None;
    for written in writer.readings(total) {
        for read in reader.readings(total) {
            let wrong = wrong_share((writer, &written), (reader, &read), capacity) / total.max(1.0);
            if best.as_ref().is_none_or(|(least, ..)| wrong + CLEARLY < *least) {
                best = Some((wrong, written.clone(), read));
            }
        }
    }
    if let Some((_, written, read)) = best.filter(|(wrong, ..)| *wrong <= MOST_WRONG) {
        return (written, read);
    }
    // Only one end counts what passes when it passes.
    let excess = |end: &Counted| end.sum() - total;
    let writer_is_right = match (writer.had_children, reader.had_children) {
        (false, true) => writer.sum() > 0.0,
        (true, false) => reader.sum() <= 0.0,
        _ => excess(writer) <= excess(reader) && writer.sum() > 0.0,
    };
    let (right, other) = if writer_is_right { (writer, reader) } else { (reader, writer) };
    let bytes = right.readings(total).swap_remove(0);
    let seen = other.as_seen_by(right, &bytes);
    if writer_is_right { (bytes, seen) } else { (seen, bytes) }
}

/// Returns by how many bytes the fill of the pipe is impossible, on average over all ends of intervals.
fn wrong_share(writer: (&Counted, &[f64]), reader: (&Counted, &[f64]), capacity: f64) -> f64 {
    let times = || writer.0.ends_s.iter().chain(&reader.0.ends_s);
    let wrong = |time_s: &f64| {
        let fill = writer.0.until(writer.1, *time_s) - reader.0.until(reader.1, *time_s);
        (-fill).max(fill - capacity).max(0.0)
    };
    times().map(wrong).sum::<f64>() / times().count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(bytes: &[f64]) -> Counted {
        let ends_s = (1..=bytes.len()).map(|i| i as f64).collect();
        Counted { ends_s, bytes: bytes.to_vec(), had_children: false }
    }

    #[test]
    fn bytes_of_the_loader_come_first() {
        let (writer, reader) = (counted(&[0.0, 50.0, 50.0]), counted(&[30.0, 50.0, 50.0]));
        assert_eq!(through_pipe(&writer, &reader, 1.0).1, [0.0, 50.0, 50.0]);
    }

    #[test]
    fn temporary_files_come_last() {
        let (writer, reader) = (counted(&[50.0, 50.0, 0.0]), counted(&[50.0, 50.0, 80.0]));
        assert_eq!(through_pipe(&writer, &reader, 1.0).1, [50.0, 50.0, 0.0]);
    }

    #[test]
    fn a_copy_into_a_file_doubles_what_is_written() {
        let (writer, reader) = (counted(&[20.0, 60.0, 20.0]), counted(&[10.0, 30.0, 10.0]));
        assert_eq!(through_pipe(&writer, &reader, 1.0), (vec![10.0, 30.0, 10.0], vec![10.0, 30.0, 10.0]));
    }

    #[test]
    fn children_count_when_they_are_waited_for() {
        let writer = Counted { had_children: true, ..counted(&[0.0, 0.0, 100.0]) };
        let reader = counted(&[40.0, 40.0, 20.0]);
        assert_eq!(through_pipe(&writer, &reader, 1.0).0, [40.0, 40.0, 20.0]);
    }
}
