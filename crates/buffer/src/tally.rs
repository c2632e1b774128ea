//! Byte counts and waiting times.

use pelton_record::BufferedStream;

/// Time spent in a state that is entered and left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    since_ns: Option<u64>,
    total_ns: u64,
}

impl Span {
    /// Enters or leaves the state.
    pub fn set(&mut self, on: bool, now_ns: u64) {
        match (self.since_ns, on) {
            (None, true) => self.since_ns = Some(now_ns),
            (Some(since), false) => {
                self.total_ns += now_ns.saturating_sub(since);
                self.since_ns = None;
            }
            _ => {}
        }
    }

    /// Returns the total so far.
    pub fn so_far(&self, now_ns: u64) -> u64 {
        self.total_ns + self.since_ns.map_or(0, |since| now_ns.saturating_sub(since))
    }
}

/// The counts of one stream.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub in_bytes: u64,
    pub out_bytes: u64,
    pub passed_bytes: u64,
    pub disk_bytes: u64,
    pub held_peak_bytes: u64,
    /// Nothing is held, and no input comes.
    pub input_waits: Span,
    /// Data is held, and the reader takes none.
    pub reader_waits: Span,
    /// Both limits are reached.
    pub full: Span,
}

impl Tally {
    /// Returns the record of the stream.
    pub fn stream(&self, name: &str, reader_left: bool, now_ns: u64) -> BufferedStream {
        BufferedStream {
            name: name.to_owned(),
            in_bytes: self.in_bytes,
            out_bytes: self.out_bytes,
            passed_bytes: self.passed_bytes,
            disk_bytes: self.disk_bytes,
            held_peak_bytes: self.held_peak_bytes,
            input_wait_ns: self.input_waits.so_far(now_ns),
            reader_wait_ns: self.reader_waits.so_far(now_ns),
            full_ns: self.full.so_far(now_ns),
            reader_left,
        }
    }
}

/// A progress report.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Nanoseconds since the start.
    pub elapsed_ns: u64,
    /// Memory used for held data.
    pub memory_bytes: u64,
    /// Disk space used for held data.
    pub disk_bytes: u64,
    /// Whether the disk is full although its limit is not reached.
    pub disk_is_full: bool,
    /// The streams, in order.
    pub streams: Vec<StreamProgress>,
}

/// The progress of one stream.
#[derive(Clone, Debug)]
pub struct StreamProgress {
    /// Bytes held now.
    pub held_bytes: u64,
    /// The counts so far.
    pub counts: BufferedStream,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_add_up() {
        let mut span = Span::default();
        span.set(false, 5);
        span.set(true, 10);
        span.set(true, 20);
        assert_eq!(span.so_far(25), 15);
        span.set(false, 30);
        span.set(true, 100);
        assert_eq!((span.so_far(100), span.so_far(107)), (20, 27));
    }
}
