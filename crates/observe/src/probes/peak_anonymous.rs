//! The most memory that a stage held for itself: anonymous pages, not those of files that it maps.
//!
//! The peak that the kernel keeps counts mapped files too, and cannot be told apart from that of pelton if it is smaller
//! (`peak_rss_is_bound`). This figure is sampled from `RssAnon` in /proc/PID/status, so a short peak may be missed, and a
//! stage that ends before the first sample has none.

use super::{Gauge, Probe};
use pelton_sys::procfs::ProcFile;

/// The status is read in each of the first four rounds of samples, then in every fourth: that costs as much as all other
/// samples of a stage.
const OFTEN: u32 = 4;

pub(super) const PROBE: Probe = Probe { name: "peak_anonymous_bytes", attach };

struct Anonymous {
    status: Option<ProcFile>,
    /// The size of its address space at the gate. Until that changes, its memory is what pelton left it.
    inherited: Option<u64>,
    peak_bytes: Option<u64>,
    rounds: u32,
}

fn attach(pid: u32) -> Box<dyn Gauge> {
    let mut gauge = Anonymous::new(pid);
    gauge.inherited = gauge.sizes().map(|sizes| sizes.address_space);
    Box::new(gauge)
}

/// Sizes in bytes.
#[derive(Debug, PartialEq)]
struct Sizes {
    address_space: u64,
    anonymous: u64,
}

impl Sizes {
    /// Parses /proc/PID/status; `None` for a zombie, which has no memory.
    fn parse(status: &str) -> Option<Sizes> {
        let field = |name: &str| {
            let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kib: u64 = rest.trim().strip_suffix(" kB")?.parse().ok()?;
            Some(kib * 1024)
        };
        Some(Sizes { address_space: field("VmSize:")?, anonymous: field("RssAnon:")? })
    }
}

impl Anonymous {
    fn new(pid: u32) -> Self {
        Anonymous { status: ProcFile::open(pid, "status"), inherited: None, peak_bytes: None, rounds: 0 }
    }

    fn sizes(&self) -> Option<Sizes> {
        let mut buffer = [0; 2048];
        Sizes::parse(self.status.as_ref()?.read(&mut buffer)?)
    }
}

impl Gauge for Anonymous {
    fn sample(&mut self) {
        self.rounds += 1;
        if self.rounds > OFTEN && !self.rounds.is_multiple_of(OFTEN) {
            return;
        }
        let sizes = self.sizes().filter(|sizes| Some(sizes.address_space) != self.inherited);
        self.peak_bytes = self.peak_bytes.max(sizes.map(|sizes| sizes.anonymous));
    }

    fn finish(&mut self) -> Option<u64> {
        self.peak_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_both_sizes() {
        let status = "Name:\tcat\nVmPeak:\t    9000 kB\nVmSize:\t    8000 kB\nRssAnon:\t     100 kB\nRssFile:\t 7 kB\n";
        let sizes = Sizes { address_space: 8_192_000, anonymous: 102_400 };
        assert_eq!(Sizes::parse(status), Some(sizes));
        assert_eq!(Sizes::parse("Name:\tcat\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn the_peak_stays_and_what_was_inherited_does_not_count() {
        let mut gauge = Anonymous::new(std::process::id());
        let memory = vec![1_u8; 64 << 20];
        gauge.sample();
        drop(std::hint::black_box(memory));
        gauge.sample();
        assert!(gauge.finish() >= Some(64 << 20), "{:?}", gauge.peak_bytes);
        let at_the_gate = || attach(std::process::id());
        assert_eq!(at_the_gate().finish(), None);
    }
}
