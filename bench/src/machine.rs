//! Describes where and with what a figure was measured: without this a figure is worthless.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use workbench::cargo_workspace::{on_path, root};

/// Programs whose version a result should name.
const PROGRAMS: [&str; 9] = ["bash", "dash", "sort", "grep", "sed", "gawk", "mawk", "original-awk", "gzip"];

/// Returns processor, cores, memory, kernel, date and versions.
pub fn describe(pelton: &Path) -> Value {
    json!({
        "date": date(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs())),
        "cpu": proc_field("/proc/cpuinfo", "model name"),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "memory": proc_field("/proc/meminfo", "MemTotal"),
        "kernel": fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        "load": fs::read_to_string("/proc/loadavg").unwrap_or_default().trim(),
        "pelton": version(&pelton.to_string_lossy()),
        "commit": commit(),
        "versions": PROGRAMS.iter().filter(|name| on_path(name)).map(|name| ((*name).into(), version(name).into())).collect::<Map<_, _>>(),
    })
}

fn proc_field(file: &str, key: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    line.split_once(':').map_or_else(String::new, |(_, value)| value.trim().into())
}

/// Returns the first line of a program's version text. mawk and the like have only `-W version`; dash has
/// none.
fn version(program: &str) -> String {
    let flag: &[&str] = match program {
        "mawk" => &["-W", "version"],
        "dash" => return package_version("dash"),
        _ => &["--version"],
    };
    first_line(Command::new(program).args(flag).stdin(std::process::Stdio::null()))
}

fn package_version(package: &str) -> String {
    first_line(Command::new("dpkg-query").args(["-W", "-f", "${Package} ${Version}", package]))
}

fn commit() -> String {
    first_line(Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(root()))
}

fn first_line(command: &mut Command) -> String {
    let Ok(out) = command.output() else { return "unknown".into() };
    let text = if out.stdout.is_empty() { out.stderr } else { out.stdout };
    String::from_utf8_lossy(&text).lines().next().unwrap_or("unknown").trim().into()
}

/// Returns year, month and day of a Unix time, by the usual day count in eras of 400 years.
fn date(unix_seconds: u64) -> String {
    let days = unix_seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_have_names() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_767_225_599), "2025-12-31");
    }
}
