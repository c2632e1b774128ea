//! The CPU limits of this process: those of its cgroup and of all around it. See cgroups(7).

use std::path::{Path, PathBuf};

/// A limit and what was used of it since the cgroup exists.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuLimit {
    /// The cgroup's directory.
    pub path: PathBuf,
    /// CPU time per wall time.
    pub cores: f64,
    /// Periods in which there was something to do.
    pub periods: u64,
    /// Of these, periods in which the limit was used up.
    pub throttled_periods: u64,
    /// For how long its CPUs stood still then, summed over CPUs.
    pub throttled_ns: u64,
}

/// Returns the limits of this process, the innermost cgroup first. Empty if there are none, or none that is readable.
pub fn cpu_limits() -> Vec<CpuLimit> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (groups, mounts) = (read("/proc/self/cgroup"), read("/proc/self/mountinfo"));
    folders(&groups, &mounts).iter().filter_map(|folder| limit(folder)).collect()
}

/// Returns the directories of the cgroups that may limit CPU time.
fn folders(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for mount in mounts.lines().filter_map(Mount::parse) {
        let own = groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (hierarchy, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            let is_it = if mount.is_unified {
                hierarchy == "0" && controllers.is_empty()
            } else {
                controllers.split(',').any(|one| one == "cpu")
            };
            is_it.then_some(path)
        });
        // In a container, the mount shows a part of the tree only.
        let Some(below) = own.and_then(|path| Path::new(path).strip_prefix(mount.root).ok()) else {
            continue;
        };
        let mut folder: PathBuf = mount.point.components().chain(below.components()).collect();
        while folder.starts_with(mount.point) {
            found.push(folder.clone());
            if !folder.pop() {
                break;
            }
        }
    }
    found
}

/// A mounted tree of cgroups.
struct Mount<'m> {
    root: &'m str,
    point: &'m Path,
    is_unified: bool,
}

impl<'m> Mount<'m> {
    /// Parses a line of /proc/PID/mountinfo; `None` if it is no tree of cgroups that may limit CPU time.
    fn parse(line: &'m str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut fields = place.split(' ').skip(3);
        let (root, point) = (fields.next()?, Path::new(fields.next()?));
        let mut kind = kind.split(' ');
        match kind.next()? {
            "cgroup2" => Some(Mount { root, point, is_unified: true }),
            "cgroup" => {
                let options = kind.next_back()?;
                options.split(',').any(|one| one == "cpu").then_some(Mount { root, point, is_unified: false })
            }
            _ => None,
        }
    }
}

fn limit(folder: &Path) -> Option<CpuLimit> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<f64>().ok();
    let cores = match read("cpu.max") {
        Some(limit) => cores(&limit)?,
        None => number("cpu.cfs_quota_us").filter(|quota| *quota > 0.0)? / number("cpu.cfs_period_us")?,
    };
    let counts = read("cpu.stat")?;
    let count = |name: &str| field(&counts, name);
    Some(CpuLimit {
        path: folder.to_owned(),
        cores,
        periods: count("nr_periods")?,
        throttled_periods: count("nr_throttled")?,
        throttled_ns: count("throttled_usec").map(|us| us * 1000).or_else(|| count("throttled_time"))?,
    })
}

/// Parses `cpu.max`: time and period, or `max`.
fn cores(limit: &str) -> Option<f64> {
    let (time, period) = limit.trim().split_once(' ')?;
    Some(time.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFIED: &str = "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const SEPARATE: &str = "30 20 0:26 /docker/ab /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n\
                            31 20 0:27 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";

    fn shown(groups: &str, mounts: &str) -> Vec<String> {
        folders(groups, mounts).iter().map(|folder| folder.display().to_string()).collect()
    }

    #[test]
    fn own_cgroup_and_all_around_it() {
        let around = ["/sys/fs/cgroup/user.slice/a.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"];
        assert_eq!(shown("0::/user.slice/a.scope\n", UNIFIED), around);
        // A container sees its own part, named as outside or from the root.
        assert_eq!(shown("0::/\n", UNIFIED), ["/sys/fs/cgroup"]);
        let groups = "4:memory:/docker/ab\n3:cpu,cpuacct:/docker/ab/job\n0::/\n";
        assert_eq!(shown(groups, SEPARATE), ["/sys/fs/cgroup/cpu,cpuacct/job", "/sys/fs/cgroup/cpu,cpuacct"]);
        assert!(shown("0::/x\n", SEPARATE).is_empty());
    }

    #[test]
    fn limits_and_counts() {
        assert_eq!((cores("50000 100000\n"), cores("max 100000\n")), (Some(0.5), None));
        let counts = "usage_usec 1\nnr_periods 11\nnr_throttled 10\nthrottled_usec 496354\n";
        assert_eq!((field(counts, "nr_periods"), field(counts, "throttled_usec")), (Some(11), Some(496_354)));
        assert_eq!(field(counts, "nr"), None);
    }
}
