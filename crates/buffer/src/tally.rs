//! Counting what goes through, and who waits for whom.

use pelton_record::BufferedStream;

/// Time spent in a state that begins and ends.
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

    /// All of it so far.
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
    /// Nothing is held, and nothing comes.
    pub input_waits: Span,
    /// There is something, and the reader takes nothing.
    pub reader_waits: Span,
    /// No room is left.
    pub full: Span,
}

impl Tally {
    /// For the record.
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

/// How things stand.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Since the start.
    pub elapsed_ns: u64,
    /// Memory taken for what is held.
    pub memory_bytes: u64,
    /// Disk taken for what is held.
    pub disk_bytes: u64,
    /// The disk has no room although its limit is not reached.
    pub disk_is_full: bool,
    /// One after another.
    pub streams: Vec<StreamProgress>,
}

/// How one stream stands.
#[derive(Clone, Debug)]
pub struct StreamProgress {
    /// What is held now.
    pub held_bytes: u64,
    /// Its counts.
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
