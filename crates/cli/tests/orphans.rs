//! The end of `pelton run` alone, not of its group: workers end with it, as a command that replaced the shell
//! would, and leave nothing; real commands still get their whole input.

use pelton_testkit::{has_file_in, wait_until};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

const TERM: i32 = 15;
const KILL: i32 = 9;
fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Whether a process exists and is no zombie.
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn start(dir: &Path, text: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command
        .args(["run", "--memory", "64K", text])
        .current_dir(dir)
        .env("LC_ALL", "C")
        .env("TMPDIR", dir.join("tmp"));
    command.env("XDG_CACHE_HOME", dir.join("cache")).stdin(Stdio::piped()).stdout(Stdio::null());
    std::fs::create_dir_all(dir.join("tmp")).expect("a directory");
    command.spawn().expect("pelton starts")
}

fn lines() -> Vec<u8> {
    (0..100_000).flat_map(|n| format!("{:07}\n", n * 7919 % 100_003).into_bytes()).collect()
}

/// Gives pelton unfinished input, of which it spills some; then sends `signal`. Returns its children, and its
/// input.
fn ended_by(signal: i32, dir: &Path, text: &str) -> (Vec<u32>, ChildStdin) {
    let mut pelton = start(dir, text);
    let mut stdin = pelton.stdin.take().expect("piped");
    stdin.write_all(&lines()).expect("it reads");
    let tmp = dir.join("tmp").canonicalize().expect("a directory");
    wait_until("lines are stored", || children(pelton.id()).iter().any(|pid| has_file_in(*pid, &tmp)));
    let workers = children(pelton.id());
    pelton_sys::signals::send(pelton.id(), signal);
    assert_eq!(pelton.wait().expect("it ends").signal(), Some(signal), "{text}");
    (workers, stdin)
}

#[test]
fn workers_end_with_their_parent() {
    for signal in [TERM, KILL] {
        for text in
            ["sort", "tr a b | sort | uniq -c", "env cat | sort", "set -o pipefail; sort -n | sort -s -k1,1"]
        {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let (workers, stdin) = ended_by(signal, dir.path(), text);
            // The worker ends at once; a real command before it, with its input.
            let last = *workers.last().expect("a worker");
            wait_until("the worker has ended", || !runs(last));
            drop(stdin);
            wait_until("all have ended", || !workers.iter().any(|pid| runs(*pid)));
            let left = std::fs::read_dir(dir.path().join("tmp")).expect("readable").count();
            assert_eq!(left, 0, "{text}");
        }
    }
}

#[test]
fn what_a_real_command_reads_is_not_cut_off() {
    for signal in [TERM, KILL] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (workers, stdin) = ended_by(signal, dir.path(), "sort | env cat > got");
        assert!(workers.iter().all(|pid| runs(*pid)), "a worker in front of a real command has ended");
        drop(stdin);
        wait_until("all have ended", || !workers.iter().any(|pid| runs(*pid)));
        let mut sorted: Vec<_> = lines().chunks(8).map(<[u8]>::to_vec).collect();
        sorted.sort();
        assert!(std::fs::read(dir.path().join("got")).expect("written") == sorted.concat());
    }
}
