//! Estimates what a plan saves: see [`crate::cost`] for the figures and their limits.

use crate::cost::{self, PROCESS_NS, READ_OR_WRITE_NS_PER_BYTE, WORKER_NS};
use crate::graph::{Planned, Segment};
use crate::node::Node;
use serde::Serialize;
use std::ops::Range;

/// The input size assumed if the real one is unknown.
const USUAL_BYTES: u64 = 100_000_000;

/// CPU time, user and system, of a pipeline run by the shell and by its plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The assumed input size in bytes.
    pub input_bytes: u64,
    /// Whether it is the size of the input files. Otherwise it is a round number.
    pub input_is_known: bool,
    /// Cost when run by the shell, in ns.
    pub shell_cpu_ns: u64,
    /// Cost as planned, in ns.
    pub plan_cpu_ns: u64,
    /// Commands of unknown cost, in neither sum.
    pub not_counted: Vec<String>,
}

impl Estimate {
    /// Returns how many times less CPU time the plan takes.
    pub fn ratio(&self) -> f64 {
        self.shell_cpu_ns as f64 / self.plan_cpu_ns.max(1) as f64
    }
}

impl Planned {
    /// Estimates what the plan saves. `None` if every stage stays a process, or if the cost of a native stage
    /// is unknown, or for a source such as find, whose output is no share of its input.
    pub fn estimate(&self) -> Option<Estimate> {
        let native = self.segments.iter().filter_map(|segment| match segment {
            Segment::Process(_) => None,
            Segment::Native { stages, .. } => Some(stages.clone()),
        });
        let rates: Vec<_> = native.flatten().map(|stage| self.stages[stage].rate).collect();
        if rates.is_empty() || rates.iter().any(Option::is_none) {
            return None;
        }
        let bytes = self.input_bytes.unwrap_or(USUAL_BYTES);
        let shares = cost::shares(&self.stages);
        let lengths = cost::line_lengths(&self.stages);
        let process_ns = |stage: usize| {
            let per_byte = self.stages[stage].rate.map_or(0.0, |rate| rate.real_for(lengths[stage]));
            PROCESS_NS + bytes as f64 * shares[stage] * per_byte
        };
        let processes = (0..self.stages.len()).map(process_ns);
        let planned = self.segments.iter().map(|segment| match segment {
            Segment::Process(stage) => process_ns(*stage),
            // The real commands read and write too: an estimate for kernels above their cost was never
            // measured.
            Segment::Native { stages, nodes } => {
                let real: f64 = stages.clone().map(process_ns).sum();
                self.native_ns(stages, nodes, bytes, &shares).min(real)
            }
        });
        let unknown = self.stages.iter().filter(|stage| stage.rate.is_none());
        let mut not_counted: Vec<String> = unknown.map(|stage| stage.name.clone()).collect();
        not_counted.dedup();
        Some(Estimate {
            input_bytes: bytes,
            input_is_known: self.input_bytes.is_some(),
            shell_cpu_ns: processes.sum::<f64>() as u64,
            plan_cpu_ns: planned.sum::<f64>() as u64,
            not_counted,
        })
    }

    fn native_ns(&self, stages: &Range<usize>, nodes: &[Node], bytes: u64, shares: &[f64]) -> f64 {
        let from_end = nodes.first().is_some_and(|node| node.from_end.is_some());
        let read = if from_end { 0.0 } else { shares[stages.start] };
        let last = stages.end - 1;
        let written = read.min(shares[last] * self.stages[last].rate.map_or(1.0, |rate| rate.passes));
        // A kernel without a figure is assumed to cost as much as the command.
        let real = |node: &Node| {
            let rates = self.stages[node.stages.clone()].iter().map(|stage| stage.rate);
            rates.flatten().map(|rate| rate.real).sum()
        };
        let kernels: f64 = nodes
            .iter()
            .filter(|node| node.from_end.is_none())
            .map(|node| shares[node.stages.start] * node.ns_per_byte.unwrap_or_else(|| real(node)))
            .sum();
        WORKER_NS + bytes as f64 * (kernels + (read + written) * READ_OR_WRITE_NS_PER_BYTE)
    }
}

#[cfg(test)]
mod tests {
    use crate::Switches;
    use crate::testing::planned;

    fn ratio(text: &str, bytes: u64) -> f64 {
        let mut planned = planned(text, false, &Switches::default());
        planned.input_bytes = Some(bytes);
        planned.estimate().expect("native stages").ratio()
    }

    #[test]
    fn it_grows_with_what_is_saved() {
        assert!(ratio("sort f | uniq -c", 100_000_000) > 3.0);
        assert!(ratio("tr a b < f | wc -l", 100_000_000) > 1.0);
        // Six starts fewer, for any size.
        assert!(ratio("cat f | tr a b | sort | uniq -c | sort -rn | head", 1) > 5.0);
    }

    #[test]
    fn what_ends_early_costs_little() {
        let mut planned = planned("tr a b < f | head -n 1", false, &Switches::default());
        planned.input_bytes = Some(1 << 40);
        let estimate = planned.estimate().expect("native");
        assert!(estimate.shell_cpu_ns < 10_000_000, "{estimate:?}");
    }

    #[test]
    fn nothing_is_said_to_cost_more() {
        for text in ["nosuch | wc -l", "nosuch | grep -c x", "wc -l f", "nosuch | tail -n 1 | wc"] {
            let estimate = planned(text, false, &Switches::default()).estimate();
            assert!(estimate.is_none_or(|estimate| estimate.ratio() >= 1.0), "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_said() {
        let all = Switches::default();
        let estimate = planned("sort f | nosuch", false, &all).estimate().expect("native");
        assert_eq!(estimate.not_counted, ["nosuch"]);
        assert!(!estimate.input_is_known);
        assert_eq!(planned("nosuch", false, &all).estimate(), None);
        assert_eq!(planned("find . | xargs cat | sort", false, &all).estimate(), None);
    }
}
