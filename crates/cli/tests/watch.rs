//! `pelton watch`, `time --live`, `--html` and `--trace`.

use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn pelton(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.args(args).env("LC_ALL", "C").stdin(Stdio::null()).output().unwrap()
}

/// A shell that runs until it is killed, with its child processes.
struct Running(Child);

impl Running {
    fn start(script: &str) -> Self {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new("bash");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        Running(command.spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Kills its whole process group.
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.0.id())]).status();
        let _ = self.0.wait();
    }
}

#[test]
fn a_running_pipeline_is_found_from_its_shell() {
    let running = Running::start("yes 'a line' | gzip -c | wc -c; echo after");
    for _ in 0..20 {
        let out = pelton(&["watch", "--json", "--for", "1.5", "--interval", "0.5", &running.pid()]);
        assert!(out.status.success(), "{out:?}");
        let last = String::from_utf8(out.stdout).unwrap().lines().last().unwrap_or("{}").to_owned();
        let last: Value = serde_json::from_str(&last).unwrap();
        let pipeline = &last["pipelines"][0];
        let names: Vec<_> =
            pipeline["stages"].as_array().into_iter().flatten().map(|stage| &stage["name"]).collect();
        let found = names == ["yes", "gzip", "wc"];
        // Other programs on this machine affect shares, so one good picture of many is enough.
        let yes = &pipeline["stages"][0];
        if found
            && pipeline["verdict"]["bottleneck"]["stage"] == 1
            && yes["write_rate"].as_u64() > Some(0)
            && yes["pipe"]["full_share"].as_f64() > Some(0.1)
        {
            return;
        }
    }
    panic!("gzip never was the bottleneck behind a full pipe");
}

#[test]
fn it_ends_with_what_it_watches() {
    let running = Running::start("sleep 1.2");
    let out = pelton(&["watch", "--interval", "0.3", &running.pid()]);
    assert!(out.status.success(), "{out:?}");
    assert!(String::from_utf8_lossy(&out.stdout).contains("sleep"), "{out:?}");
}

#[test]
fn what_is_not_there_is_said() {
    let out = pelton(&["watch", "no-such-program-anywhere"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("there is no process called"), "{out:?}");
}

#[test]
fn beside_a_run_it_says_lines_and_changes_nothing() {
    let out = pelton(&["time", "--live", "seq 3 | (sleep 1.7; cat) | sort -r; exit 3"]);
    assert_eq!((out.status.code(), out.stdout.as_slice()), (Some(3), &b"3\n2\n1\n"[..]));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.lines().any(|line| line.contains(" | ") && line.contains("sort 0%")), "{said}");
}

#[test]
fn sort_lets_nothing_arrive_before_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("record.json").display().to_string();
    let arrivals = |stage: &str| -> (Vec<u64>, Vec<u64>) {
        let text = format!("for i in 3 2 1; do echo $i; sleep 0.2; done | {stage}");
        let out = pelton(&["time", "--arrivals", "--format", "json", "-o", &record, &text]);
        assert_eq!(out.status.code(), Some(4), "{out:?}");
        let record: Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
        let times = |end: &str| {
            let batches = record["arrivals"][end].as_array().unwrap();
            let times = |batch: &Value| {
                vec![batch["at_ns"].as_u64().unwrap(); batch["lines"].as_u64().unwrap() as usize]
            };
            batches.iter().flat_map(times).collect()
        };
        (times("generated"), times("arrived"))
    };
    let (generated, arrived) = arrivals("(sort; exit 4)");
    assert_eq!((generated.len(), arrived.len()), (3, 3));
    assert!(arrived[0] >= generated[2], "{generated:?} {arrived:?}");
    let (generated, arrived) = arrivals("(cat; exit 4)");
    assert!(arrived[0] < generated[2], "{generated:?} {arrived:?}");
    let out = pelton(&["time", "--arrivals", "seq 3"]);
    assert_eq!(out.status.code(), Some(2));
}

fn text(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap()
}

#[test]
fn pages_and_traces_have_every_stage() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (html, trace, record) = (path("run.html"), path("run.trace"), path("run.json"));
    let text_of_run = "seq 400000 | sort -n | tail -n 1 | sed 's/<b>&/x/'";
    let args = ["time", "--html", &html, "--trace", &trace, "--format", "json", "-o", &record, text_of_run];
    let out = pelton(&args);
    assert_eq!((out.status.code(), out.stdout.as_slice()), (Some(0), &b"400000\n"[..]));
    let page = text(dir.path(), "run.html");
    assert!(page.contains("sort -n") && page.contains("s/&lt;b&gt;&amp;/x/"), "escaped");
    let data = page.split_once("type=\"application/json\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["pipelines"][0]["stages"].as_array().map(Vec::len), Some(4));
    let slices = data["pipelines"][0]["stages"][1]["slices"].as_array().unwrap();
    let trace: Value = serde_json::from_str(&text(dir.path(), "run.trace")).unwrap();
    let of_sort = trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == "X" && e["tid"] == 2);
    assert!(of_sort.count() > 0);
    let record: Value = serde_json::from_str(&text(dir.path(), "run.json")).unwrap();
    assert_eq!(record["pipelines"][0]["stages"][1]["timeline"].as_array().map(Vec::len), Some(slices.len()));
}
