//! What machine this is.

/// Cores this process may run on (its affinity mask), at least 1.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}

/// `(host name, "Linux 6.1.0", "x86_64")`.
pub fn names() -> (String, String, String) {
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    let kernel = format!("{} {}", text(uname.sysname()), text(uname.release()));
    (text(uname.nodename()), kernel, text(uname.machine()))
}

/// The processor's model, if /proc/cpuinfo names one.
pub fn cpu_model() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

/// Whether this process may execute the file at `path`, by its effective user and group.
pub fn may_execute(path: &std::path::Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

/// Whether this process may write to what is at `path`.
pub fn may_write(path: &std::path::Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}
