//! The length of a part, and whether parts pay at all.

use pelton_sys::cpu_waits::ThreadFile;

/// A command's cost of a start and per byte, in nanoseconds of CPU time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// From its start to its first byte.
    pub start_ns: f64,
    /// After that.
    pub ns_per_byte: f64,
}

/// Distributing and collecting costs about 1 ns per byte read and 1 per byte printed, on idle cores. A
/// command is split if it costs much more.
const HEAVY_NS_PER_BYTE: f64 = 20.0;
/// When others wait for cores it costs 5 ns, most of it for wake-ups, and nothing is gained before they have
/// gone: only commands with a far higher cost are split then.
const HEAVY_IN_A_CROWD_NS_PER_BYTE: f64 = 150.0;
/// A part costs this many times its start, so that starts are 2% of the total.
const STARTS: f64 = 50.0;
/// The largest share of a start in its part.
const START_SHARE_MAX: f64 = 0.05;
/// Parts are kept in memory, so their length is limited.
const PART_BYTES: std::ops::RangeInclusive<f64> = 65_536.0..=8_388_608.0;

impl Cost {
    /// Returns how many bytes a part should have; `None` if parts do not pay.
    pub fn part_bytes(&self, crowded: bool) -> Option<usize> {
        let heavy = if crowded { HEAVY_IN_A_CROWD_NS_PER_BYTE } else { HEAVY_NS_PER_BYTE };
        if self.ns_per_byte < heavy {
            return None;
        }
        let start_ns = self.start_ns.max(0.0);
        let bytes = (STARTS * start_ns / self.ns_per_byte).clamp(*PART_BYTES.start(), *PART_BYTES.end());
        (start_ns <= START_SHARE_MAX * bytes * self.ns_per_byte).then_some(bytes as usize)
    }
}

/// The length of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartSize {
    /// Not known yet: one process until it is.
    Unknown,
    /// One process only.
    One,
    /// About this many bytes each.
    Bytes(usize),
    /// The same, whether it pays or not.
    Forced(usize),
}

impl PartSize {
    /// Returns the length for a command of this cost. `crowded`: whether others wait for cores.
    pub fn of(cost: &Cost, crowded: bool) -> Self {
        cost.part_bytes(crowded).map_or(PartSize::One, PartSize::Bytes)
    }
}

/// Measures a process while it works: its CPU time at two points, with some bytes in between.
pub struct Gauge {
    accounts: ThreadFile,
    before: Option<(u64, u64)>,
}

impl Gauge {
    /// Starts measuring this process; `None` if the kernel does not report its CPU time.
    pub fn new(pid: u32) -> Option<Self> {
        Some(Gauge { accounts: ThreadFile::of_process(pid)?, before: None })
    }

    /// Returns its cost, once known. It has read `taken_bytes` by now.
    pub fn look(&mut self, taken_bytes: u64) -> Option<Cost> {
        const FIRST_BYTES: u64 = 64 << 10;
        const BETWEEN_BYTES: u64 = 128 << 10;
        let wanted = self.before.map_or(FIRST_BYTES, |(bytes, _)| bytes + BETWEEN_BYTES);
        if taken_bytes < wanted {
            return None;
        }
        let ran_ns = self.accounts.read()?.0;
        let (bytes, ns) = *self.before.get_or_insert((taken_bytes, ran_ns));
        if taken_bytes == bytes {
            return None;
        }
        let ns_per_byte = ran_ns.saturating_sub(ns) as f64 / (taken_bytes - bytes) as f64;
        Some(Cost { start_ns: ns as f64 - ns_per_byte * bytes as f64, ns_per_byte })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_long_beside_their_start() {
        let bytes = |start_ns, ns_per_byte| Cost { start_ns, ns_per_byte }.part_bytes(false);
        assert_eq!(bytes(1e6, 50.0), Some(1_000_000));
        // Cheap.
        assert_eq!(bytes(1e6, 10.0), None);
        // So expensive that little input is enough, and so slow to start that no length is.
        assert_eq!(bytes(1e6, 5000.0), Some(65_536));
        assert_eq!(bytes(50e6, 50.0), None);
        assert_eq!(bytes(5e6, 25.0), Some(8_388_608));
        assert_eq!(bytes(-1e5, 50.0), Some(65_536));
    }

    #[test]
    fn in_a_crowd_only_what_is_dear_is_divided() {
        let bytes = |ns_per_byte| Cost { start_ns: 1e6, ns_per_byte }.part_bytes(true);
        assert_eq!(bytes(50.0), None);
        assert_eq!(bytes(200.0), Some(250_000));
    }
}
