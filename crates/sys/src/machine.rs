//! Properties of this machine.

/// Returns how many cores this process may keep busy, at least 1: its affinity mask, limited by the quotas of
/// its control groups.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}

/// Returns how many cores this process may run on (its affinity mask): at least [`cores`], and cheaper, with
/// one call.
pub fn allowed_cores() -> u32 {
    rustix::thread::sched_getaffinity(None).map_or(u32::MAX, |set| set.count())
}

/// Returns `(host name, "Linux 6.1.0", "x86_64")`.
pub fn names() -> (String, String, String) {
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    let kernel = format!("{} {}", text(uname.sysname()), text(uname.release()));
    (text(uname.nodename()), kernel, text(uname.machine()))
}

/// Returns the processor's model, if /proc/cpuinfo names one.
pub fn cpu_model() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

/// Open flags for a path that may not be a regular file: a FIFO without a writer, a serial line without a
/// modem, a terminal.
pub const NEVER_WAITS: i32 = libc::O_NONBLOCK | libc::O_NOCTTY;

/// Whether this process may execute the file at `path`, by its effective user and group.
pub fn may_execute(path: &std::path::Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

/// Whether this process may write to `path`.
pub fn may_write(path: &std::path::Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// Whether this process may read `path`.
pub fn may_read(path: &std::path::Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    accessat(CWD, path, Access::READ_OK, AtFlags::EACCESS).is_ok()
}

/// Returns how much memory can still be allocated, in bytes: the least of what the machine has available,
/// what the process's control groups leave, and its resource limits. `None` if the kernel does not say.
pub fn available_memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse_available(&text));
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().filter_map(group_directory).flat_map(group_rests);
    let own = [libc::RLIMIT_AS, libc::RLIMIT_DATA].into_iter().filter_map(crate::limits::soft_bytes);
    info.into_iter().chain(limits).chain(own).min()
}

fn parse_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Memory accounting files of a control group version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupFiles {
    limit: &'static str,
    usage: &'static str,
    /// Reclaimable memory in `memory.stat`: file pages.
    given_up: [&'static str; 2],
}

/// Larger limits mean no limit. In bytes.
const NO_LIMIT: u64 = 1 << 60;

const VERSION_1: GroupFiles = GroupFiles {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    given_up: ["total_active_file ", "total_inactive_file "],
};
const VERSION_2: GroupFiles =
    GroupFiles { limit: "memory.max", usage: "memory.current", given_up: ["active_file ", "inactive_file "] };

/// Returns the directory of a control group and its files: `0::/path` in version 2, `4:memory:/path` in
/// version 1.
fn group_directory(line: &str) -> Option<(std::path::PathBuf, GroupFiles)> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let (root, files) = match (number, controllers) {
        ("0", "") => ("/sys/fs/cgroup", VERSION_2),
        (_, names) if names.split(',').any(|name| name == "memory") => ("/sys/fs/cgroup/memory", VERSION_1),
        _ => return None,
    };
    Some((std::path::Path::new(root).join(path.trim_start_matches('/')), files))
}

/// Returns what a group and its ancestors may still allocate.
fn group_rests((directory, files): (std::path::PathBuf, GroupFiles)) -> impl Iterator<Item = u64> {
    let directories: Vec<_> = directory
        .ancestors()
        .take_while(|path| path.starts_with("/sys/fs/cgroup"))
        .map(std::path::Path::to_owned)
        .collect();
    directories.into_iter().filter_map(move |path| group_rest(&path, files))
}

/// Returns `None` if there is no limit.
fn group_rest(directory: &std::path::Path, files: GroupFiles) -> Option<u64> {
    let text = |file| std::fs::read_to_string(directory.join(file)).ok();
    let number = |file| text(file)?.trim().parse::<u64>().ok();
    // Without a limit it is `max`, or more than any machine has.
    let limit = number(files.limit).filter(|limit| *limit < NO_LIMIT)?;
    let stat = text("memory.stat").unwrap_or_default();
    let bytes =
        |line: &str| files.given_up.iter().find_map(|name| line.strip_prefix(name)?.parse::<u64>().ok());
    let given_up: u64 = stat.lines().filter_map(bytes).sum();
    let used = number(files.usage).unwrap_or(0).saturating_sub(given_up);
    Some(limit.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_of_memory() {
        assert_eq!(parse_available("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(parse_available("MemTotal: 9 kB\n"), None);
        let directory = |line| group_directory(line).map(|(path, files)| path.join(files.limit));
        let path = std::path::PathBuf::from;
        assert_eq!(directory("0::/user/a"), Some(path("/sys/fs/cgroup/user/a/memory.max")));
        let first = path("/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
        assert_eq!(directory("4:cpu,memory:/a"), Some(first));
        assert_eq!(directory("5:cpu:/a"), None);
        #[cfg(target_os = "linux")]
        assert!(available_memory().is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn what_a_control_group_leaves() {
        let directory = std::env::temp_dir().join(format!("pelton-group-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let write = |file, text: &str| std::fs::write(directory.join(file), text).expect("written");
        assert_eq!(group_rest(&directory, VERSION_2), None);
        write("memory.max", "1000\n");
        assert_eq!(group_rest(&directory, VERSION_2), Some(1000));
        write("memory.current", "800\n");
        write("memory.stat", "anon 500\nactive_file 100\ninactive_file 50\nshmem 7\n");
        assert_eq!(group_rest(&directory, VERSION_2), Some(350));
        write("memory.current", "8000\n");
        assert_eq!(group_rest(&directory, VERSION_2), Some(0));
        write("memory.max", "9223372036854771712\n");
        assert_eq!(group_rest(&directory, VERSION_2), None);
        write("memory.max", "max\n");
        assert_eq!(group_rest(&directory, VERSION_2), None);
        std::fs::remove_dir_all(&directory).expect("removed");
    }
}
