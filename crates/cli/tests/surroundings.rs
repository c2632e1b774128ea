//! A CPU limit of the cgroup that holds a pipeline back is named as the cause.
//!
//! Needs root and a tree of cgroups that it may change; skipped otherwise.

use pelton_testkit::skips;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A cgroup of half a core, removed at the end.
struct Limited(PathBuf);

impl Limited {
    fn make() -> Option<Self> {
        let name = format!("pelton-test-{}", std::process::id());
        let trees = [
            ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "50000"),
            ("/sys/fs/cgroup", "cpu.max", "50000 100000"),
        ];
        trees.iter().find_map(|(tree, file, limit)| {
            let folder = Path::new(tree).join(&name);
            std::fs::create_dir(&folder).ok()?;
            let made = Limited(folder);
            // Without the controller, the file does not exist.
            let is_limited = made.0.join(file).exists() && std::fs::write(made.0.join(file), limit).is_ok();
            is_limited.then_some(made)
        })
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        // Empty once its only process has ended.
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_cpu_limit_is_named() {
    let Some(limited) = Limited::make() else {
        skips::skip("a cgroup with a CPU limit");
        return;
    };
    let busy = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
    let enter = format!(
        "echo $$ > {}/cgroup.procs; exec \"$0\" time --json -o /dev/stdout \"$1\"",
        limited.0.display()
    );
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &enter, env!("CARGO_BIN_EXE_pelton"), &format!("sh -c '{busy}' | cat")])
        .stdin(Stdio::null());
    let output = shell.output().unwrap();
    let run: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let limit = &run["surroundings"]["cpu_limit"];
    assert_eq!(limit["cores"], 0.5, "{limit}");
    assert!(limit["throttled_periods"].as_u64() > Some(0), "{limit}");
    // On a machine that is busy with other things, these may take more than the limit does.
    let said = run["verdict"]["headline"].as_str().unwrap().to_owned()
        + run["verdict"]["advice"].as_str().unwrap_or("");
    let share = limit["throttled_periods"].as_f64().unwrap() / limit["periods"].as_f64().unwrap();
    assert!(share < 0.2 || said.contains("CPU limit"), "{share}: {said}");
}
