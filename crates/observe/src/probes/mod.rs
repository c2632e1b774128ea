//! One source of measurements per file: what every stage's costs and waits are made of, and probes of one figure each.

pub mod accounting;
pub mod exact;
mod ledger;
pub mod pipes;
pub mod syscalls;
pub mod threads;
pub mod timeline;
pub mod track;
pub mod waits;

use std::collections::BTreeMap;

/// A source of one figure for each process that pelton starts.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// The name of its figure in the record. It ends with the unit, if there is one: `_bytes` or `_ns`. A total is the
    /// largest of several figures if the name begins with `peak_`, otherwise their sum.
    pub name: &'static str,
    /// Attaches to a process that waits at its gate, before it executes its program.
    pub attach: fn(pid: u32) -> Box<dyn Gauge>,
}

/// A probe that is attached to a process.
pub trait Gauge {
    /// Takes a sample while the process runs: every 5 to 20 ms.
    fn sample(&mut self) {}

    /// Returns the figure. The process has ended, but is not reaped: files of /proc that are open can still be read.
    fn finish(&mut self) -> Option<u64>;
}

/// Declares the modules of the probes of one figure each, and lists them.
macro_rules! registry {
    ($(mod $module:ident;)*) => {
        $(mod $module;)*

        /// The probes of one figure each.
        pub const PROBES: &[Probe] = &[$($module::PROBE),*];
    };
}

registry! {
    // One line per probe: `mod NAME;`.
    mod peak_anonymous;
}

/// The gauges of one process.
pub struct Gauges(Vec<(&'static str, Box<dyn Gauge>)>);

impl Gauges {
    /// Attaches these probes to a process that waits at its gate.
    pub fn attach(probes: &[Probe], pid: u32) -> Self {
        Gauges(probes.iter().map(|probe| (probe.name, (probe.attach)(pid))).collect())
    }

    /// Takes a sample with each.
    pub fn sample(&mut self) {
        self.0.iter_mut().for_each(|(_, gauge)| gauge.sample());
    }

    /// Returns all figures, by name.
    pub fn finish(self) -> BTreeMap<String, Option<u64>> {
        self.0.into_iter().map(|(name, mut gauge)| (name.to_owned(), gauge.finish())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts its samples.
    struct Count(Option<u64>);

    impl Gauge for Count {
        fn sample(&mut self) {
            self.0 = Some(self.0.unwrap_or(0) + 1);
        }

        fn finish(&mut self) -> Option<u64> {
            self.0
        }
    }

    #[test]
    fn a_gauge_is_sampled_and_then_read() {
        let probe = Probe { name: "samples", attach: |_| Box::new(Count(None)) };
        let mut gauges = Gauges::attach(&[probe], 1);
        gauges.sample();
        gauges.sample();
        assert_eq!(gauges.finish(), BTreeMap::from([("samples".to_owned(), Some(2))]));
        assert_eq!(Gauges::attach(&[probe], 1).finish(), BTreeMap::from([("samples".to_owned(), None)]));
    }

    #[test]
    fn no_two_probes_have_the_same_name() {
        let mut names: Vec<_> = PROBES.iter().map(|probe| probe.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PROBES.len());
    }
}
