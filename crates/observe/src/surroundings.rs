//! What happened around a run: CPU limits of cgroups, stalls of the machine, disks. Read at its start and at its end.

use pelton_record::Run;
use pelton_record::surroundings::{CpuLimit, Disk, Pressure, Surroundings};
use pelton_sys::cgroups;
use pelton_sys::disks;
use pelton_sys::pressure::{Resource, stalled_ns};

/// A limit that was used up in this share of its periods held the run back.
const HELD_BACK: f64 = 0.2;
/// A disk that was busy for this share of the time sets the pace of those that wait for it.
const BUSY: f64 = 0.5;
/// Stalls for memory of this share of the time are worth a word.
const STALLED: f64 = 0.1;

/// The counters at one moment.
pub struct Counters {
    limits: Vec<cgroups::CpuLimit>,
    pressure: Option<Pressure>,
    disks: Vec<disks::Disk>,
}

impl Counters {
    /// Reads them.
    pub fn read() -> Self {
        Counters { limits: cgroups::cpu_limits(), pressure: pressure(), disks: disks::all() }
    }

    /// Returns what has happened since.
    pub fn until_now(&self) -> Surroundings {
        let now = Counters::read();
        let pressure = self.pressure.zip(now.pressure).map(|(before, now)| Pressure {
            cpu_ns: now.cpu_ns.saturating_sub(before.cpu_ns),
            memory_ns: now.memory_ns.saturating_sub(before.memory_ns),
            io_ns: now.io_ns.saturating_sub(before.io_ns),
        });
        Surroundings { cpu_limit: self.tightest(&now), pressure, disks: self.used(&now) }
    }

    /// Returns the limit that was used up most often; of those that never were, the smallest.
    fn tightest(&self, now: &Counters) -> Option<CpuLimit> {
        let change = |now: &cgroups::CpuLimit| {
            let before = self.limits.iter().find(|before| before.path == now.path)?;
            Some(CpuLimit {
                cores: now.cores,
                periods: now.periods.saturating_sub(before.periods),
                throttled_periods: now.throttled_periods.saturating_sub(before.throttled_periods),
                throttled_ns: now.throttled_ns.saturating_sub(before.throttled_ns),
            })
        };
        let key = |limit: &CpuLimit| (limit.throttled_share(), -limit.cores);
        now.limits
            .iter()
            .filter_map(change)
            .max_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal))
    }

    fn used(&self, now: &Counters) -> Vec<Disk> {
        let change = |now: &disks::Disk| {
            let before = self.disks.iter().find(|before| before.name == now.name)?;
            Some(Disk {
                name: now.name.clone(),
                busy_ns: now.busy_ns.saturating_sub(before.busy_ns),
                read_bytes: now.read_bytes.saturating_sub(before.read_bytes),
                written_bytes: now.written_bytes.saturating_sub(before.written_bytes),
            })
        };
        let mut disks: Vec<Disk> =
            now.disks.iter().filter_map(change).filter(|disk| disk.busy_ns > 0).collect();
        disks.sort_by_key(|disk| std::cmp::Reverse(disk.busy_ns));
        disks
    }
}

fn pressure() -> Option<Pressure> {
    Some(Pressure {
        cpu_ns: stalled_ns(Resource::Cpu)?,
        memory_ns: stalled_ns(Resource::Memory)?,
        io_ns: stalled_ns(Resource::Io)?,
    })
}

/// Returns the CPU limit that held a run back.
pub fn held_back_by(run: &Run) -> Option<&CpuLimit> {
    run.surroundings.as_ref()?.cpu_limit.as_ref().filter(|limit| limit.throttled_share() >= HELD_BACK)
}

/// Returns the disk that was busy for most of a run, and for which share of it.
pub fn busy_disk(run: &Run) -> Option<(&Disk, f64)> {
    let disk = run.surroundings.as_ref()?.disks.first()?;
    let share = disk.busy_ns as f64 / run.wall_ns.max(1) as f64;
    (share >= BUSY).then_some((disk, share.min(1.0)))
}

/// Returns for which share of a run processes stalled for memory, if that is much.
pub fn short_of_memory(run: &Run) -> Option<f64> {
    let share = run.surroundings.as_ref()?.pressure?.memory_ns as f64 / run.wall_ns.max(1) as f64;
    (share >= STALLED).then_some(share.min(1.0))
}

/// Says how tight a limit was: `the CPU limit of its cgroup (0.5 cores) was used up in 91% of the periods`.
pub fn limit_in_words(limit: &CpuLimit) -> String {
    let cores = if (limit.cores - limit.cores.round()).abs() < 0.005 {
        format!("{:.0}", limit.cores)
    } else {
        format!("{:.2}", limit.cores).trim_end_matches('0').to_owned()
    };
    let s = if cores == "1" { "" } else { "s" };
    let share = 100.0 * limit.throttled_share();
    format!("the CPU limit of its cgroup ({cores} core{s}) was used up in {share:.0}% of the periods")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(limits: &[(&str, f64, u64, u64)]) -> Counters {
        let limit = |&(path, cores, periods, throttled_periods): &(&str, f64, u64, u64)| cgroups::CpuLimit {
            path: path.into(),
            cores,
            periods,
            throttled_periods,
            throttled_ns: 0,
        };
        Counters { limits: limits.iter().map(limit).collect(), pressure: None, disks: Vec::new() }
    }

    #[test]
    fn the_limit_that_was_used_up_most_often() {
        let before = counters(&[("/a/b", 4.0, 10, 10), ("/a", 0.5, 10, 0)]);
        let now = counters(&[("/a/b", 4.0, 20, 10), ("/a", 0.5, 20, 9)]);
        let found = before.tightest(&now).expect("a limit");
        assert_eq!((found.cores, found.periods, found.throttled_periods), (0.5, 10, 9));
        let expected = "the CPU limit of its cgroup (0.5 cores) was used up in 90% of the periods";
        assert_eq!(limit_in_words(&found), expected);
        assert_eq!(before.tightest(&before).map(|limit| limit.cores), Some(0.5), "the smallest");
        assert_eq!(counters(&[]).tightest(&now), None);
    }

    #[test]
    fn shares_of_a_run() {
        let disk = Disk { name: "vda".into(), busy_ns: 900, ..Disk::default() };
        let pressure = Some(Pressure { memory_ns: 50, ..Pressure::default() });
        let surroundings = Surroundings { disks: vec![disk], pressure, ..Surroundings::default() };
        let run = Run { wall_ns: 1000, surroundings: Some(surroundings), ..Run::default() };
        assert_eq!(busy_disk(&run).map(|(_, share)| share), Some(0.9));
        assert_eq!(short_of_memory(&run), None);
        assert!(held_back_by(&run).is_none());
    }
}
