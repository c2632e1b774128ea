//! What one or several processes cost.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The cost of one stage (its reaped descendants included) or of a whole run, as the kernel accounts it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Wall time.
    pub wall_ns: u64,
    /// CPU time in user mode. The sum with `sys_ns` is exact; the kernel splits it by sampling.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub sys_ns: u64,
    /// Largest resident set; in a total, the largest of any single process.
    pub peak_rss_bytes: u64,
    /// True if `peak_rss_bytes` is only an upper bound: a child inherits the high-water mark of the process that
    /// started it, so anything smaller than pelton itself cannot be told apart from it.
    pub peak_rss_is_bound: bool,
    /// Bytes returned by read(2) and its kin, the program loader's included. `None`: the kernel would not say.
    pub read_bytes: Option<u64>,
    /// Bytes accepted by write(2) and its kin, to standard output and elsewhere.
    pub written_bytes: Option<u64>,
    /// Calls of the read(2) family.
    pub read_calls: Option<u64>,
    /// Calls of the write(2) family.
    pub write_calls: Option<u64>,
    /// Page faults served without I/O (page reclaims).
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Block input operations (512-byte units on Linux).
    pub block_inputs: u64,
    /// Block output operations.
    pub block_outputs: u64,
    /// Times it gave up the CPU to wait.
    pub voluntary_switches: u64,
    /// Times the CPU was taken from it.
    pub involuntary_switches: u64,
    /// The fields of getrusage(2) that Linux does not maintain.
    pub unmaintained: Unmaintained,
    /// Figures of probes, by name. A name ends with its unit, if it has one (`_bytes`, `_ns`). In a total, `peak_…` is
    /// the largest of any single process; others are sums. They cover the processes that pelton started, not the
    /// descendants of these. Empty for what was not probed: a row of a shared native pass, processes left behind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, Option<u64>>,
}

impl Cost {
    /// Returns user plus system time.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.sys_ns
    }

    /// Returns (user+sys)/real, which exceeds 1 if several cores were used; `None` if the wall time is 0.
    pub fn cpu_share(&self) -> Option<f64> {
        (self.wall_ns > 0).then(|| self.cpu_ns() as f64 / self.wall_ns as f64)
    }

    /// Adds the additive counters, and keeps the larger peak. Wall time is not additive and stays as it is.
    pub fn add(&mut self, other: &Cost) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        self.user_ns += other.user_ns;
        self.sys_ns += other.sys_ns;
        if other.peak_rss_bytes > self.peak_rss_bytes {
            self.peak_rss_bytes = other.peak_rss_bytes;
            self.peak_rss_is_bound = other.peak_rss_is_bound;
        }
        self.read_bytes = sum(self.read_bytes, other.read_bytes);
        self.written_bytes = sum(self.written_bytes, other.written_bytes);
        self.read_calls = sum(self.read_calls, other.read_calls);
        self.write_calls = sum(self.write_calls, other.write_calls);
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
        self.block_inputs += other.block_inputs;
        self.block_outputs += other.block_outputs;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
        self.unmaintained.add(&other.unmaintained);
        for (name, figure) in &other.figures {
            match self.figures.get_mut(name) {
                // The largest of those that are known.
                Some(own) if name.starts_with(PEAK) => *own = (*own).max(*figure),
                Some(own) => *own = sum(*own, *figure),
                None => _ = self.figures.insert(name.clone(), *figure),
            }
        }
    }

    /// Returns the neutral element of [`Cost::add`]: as `default()`, but with known counters.
    pub fn zero() -> Self {
        Cost {
            read_bytes: Some(0),
            written_bytes: Some(0),
            read_calls: Some(0),
            write_calls: Some(0),
            ..Cost::default()
        }
    }
}

/// How the names of figures begin whose total is the largest.
const PEAK: &str = "peak_";

/// The rest of what getrusage(2) gives. Linux leaves these at zero; other systems fill them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unmaintained {
    /// `ru_ixrss`: integral shared text size.
    pub shared_text: u64,
    /// `ru_idrss`: integral unshared data size.
    pub unshared_data: u64,
    /// `ru_isrss`: integral unshared stack size.
    pub unshared_stack: u64,
    /// `ru_nswap`: times swapped out.
    pub swaps: u64,
    /// `ru_msgsnd`: messages sent.
    pub messages_sent: u64,
    /// `ru_msgrcv`: messages received.
    pub messages_received: u64,
    /// `ru_nsignals`: signals received.
    pub signals: u64,
}

impl Unmaintained {
    fn add(&mut self, other: &Unmaintained) {
        self.shared_text += other.shared_text;
        self.unshared_data += other.unshared_data;
        self.unshared_stack += other.unshared_stack;
        self.swaps += other.swaps;
        self.messages_sent += other.messages_sent;
        self.messages_received += other.messages_received;
        self.signals += other.signals;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_counter_makes_the_sum_unknown() {
        let mut total = Cost::zero();
        total.add(&Cost { read_bytes: Some(5), written_bytes: None, user_ns: 3, ..Cost::zero() });
        assert_eq!(total.read_bytes, Some(5));
        assert_eq!(total.written_bytes, None);
        assert_eq!(total.user_ns, 3);
    }

    #[test]
    fn the_larger_peak_brings_its_own_honesty() {
        let mut total = Cost { peak_rss_bytes: 10, ..Cost::zero() };
        total.add(&Cost { peak_rss_bytes: 20, peak_rss_is_bound: true, ..Cost::zero() });
        assert_eq!((total.peak_rss_bytes, total.peak_rss_is_bound), (20, true));
    }

    #[test]
    fn figures_add_up_by_name() {
        let cost = |name: &str, figure| Cost { figures: [(name.into(), figure)].into(), ..Cost::zero() };
        let total = |name: &str, figures: [Option<u64>; 3]| {
            let mut total = Cost::zero();
            figures.into_iter().for_each(|figure| total.add(&cost(name, figure)));
            total.add(&Cost::zero());
            total.figures[name]
        };
        assert_eq!(total("swapped_bytes", [Some(1), Some(2), Some(4)]), Some(7));
        assert_eq!(total("swapped_bytes", [Some(1), None, Some(4)]), None);
        assert_eq!(total("peak_swapped_bytes", [Some(1), None, Some(4)]), Some(4));
    }

    #[test]
    fn cpu_share_needs_wall_time() {
        assert_eq!(Cost::default().cpu_share(), None);
        let cost = Cost { wall_ns: 200, user_ns: 250, sys_ns: 50, ..Cost::default() };
        assert_eq!(cost.cpu_share(), Some(1.5));
    }
}
