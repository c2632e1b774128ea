//! Cases that random queries miss: early ends, pelton's options, deep and wide trees, terminals.

use super::{Said, ours, real, run, tree, words};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Nests directories: `wide` in each, `deep` levels, a file in each of the last.
fn nest(dir: &Path, wide: usize, deep: usize) {
    for number in 0..wide {
        let inner = dir.join(format!("d{number}"));
        fs::create_dir(&inner).expect("made");
        if deep > 1 {
            nest(&inner, wide, deep - 1);
        } else {
            fs::write(inner.join(format!("f{number}")), "x").expect("written");
        }
    }
}

fn alike(line: &str, dir: &Path) -> Said {
    let (expected, found) = (real(&words(line), dir, "C.UTF-8"), ours(&[], &words(line), dir, "C.UTF-8"));
    assert_eq!(expected, found, "find {line}");
    found
}

#[test]
fn what_is_not_modelled_is_said_by_the_real_one() {
    let dir = tree::place();
    fs::write(dir.path().join("f"), "x").expect("written");
    for line in [
        "-foo",
        "-name",
        ". ( -name x",
        "-type q",
        "-size 1x",
        "f -ls -quit -bogus",
        "-maxdepth -1",
        "f -printf %Tc -false",
        "-newer nosuch",
        "-regextype bogus -regex x",
        "-exec echo",
        "f -printf %TY\\n",
        "-perm /000",
        "-user nosuchuser",
        "f -type f -ok false",
        "f -name f -newermt 2001-01-01",
    ] {
        alike(line, dir.path());
    }
    let said = ours(&["--verbose"], &words("f -newermt 2001-01-01"), dir.path(), "C");
    assert_eq!(said.stdout, b"f\n");
    assert!(String::from_utf8_lossy(&said.stderr).contains("the installed find runs"), "{said:?}");
}

/// Case: GNU find lets -prune be true for what cannot be looked at, but only behind a -depth.
#[test]
fn prune_needs_the_status_of_an_entry_unless_depth_precedes_it() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tree::place();
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).expect("made");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o600)).expect("mode");
    symlink("closed/file", dir.path().join("link")).expect("link");
    let counts = ["-L . -depth -prune", "-L . -prune -depth", "-L . -depth -name nosuch -o -prune"]
        .map(|line| alike(line, dir.path()).stdout.split(|byte| *byte == b'\n').count() - 1);
    assert_eq!(counts, [3, 2, 3]);
}

#[test]
fn options_of_ours_stand_first() {
    let dir = tree::place();
    let said = ours(&[], &words(". --stats"), dir.path(), "C");
    assert_eq!(said.status, Some(2), "{said:?}");
    assert!(String::from_utf8_lossy(&said.stderr).contains("stand before find's own: --stats"), "{said:?}");
    let said = ours(&["--first"], &words("-newermt 2001-01-01"), dir.path(), "C");
    assert_eq!(said.status, Some(2), "the real one knows no --first: {said:?}");
}

#[test]
fn the_first_match_ends_it_once_in_every_way() {
    let dir = tree::place();
    nest(dir.path(), 4, 4);
    for way in ["sequential", "per-directory", "semaphore", "atomic", "stealing"] {
        for _ in 0..10 {
            let options = ["--first", "--walk", way, "--jobs", "4", "--alone", "0"];
            let said = ours(&options, &words(". -name f*"), dir.path(), "C");
            let lines = said.stdout.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!((lines, said.status), (1, Some(0)), "{way}: {said:?}");
            let quit = ours(&options[1..], &words(". -name f* -print -quit"), dir.path(), "C");
            assert_eq!(quit, real(&words(". -name f* -print -quit"), dir.path(), "C"), "{way}, in order");
        }
    }
    let near = ours(&["--first"], &words(". -name d3"), dir.path(), "C");
    assert_eq!(near.stdout, b"./d3\n", "the nearest comes first");
}

#[test]
fn the_first_error_ends_it_if_asked() {
    let dir = tree::place();
    nest(dir.path(), 3, 2);
    for order in ["--ordered", "--unordered"] {
        let said = ours(
            &["--stop-on-error", order, "--jobs", "2", "--alone", "0"],
            &words("nosuch ."),
            dir.path(),
            "C",
        );
        assert_eq!((said.status, said.stdout.len()), (Some(1), 0), "{order}: {said:?}");
    }
}

/// GNU find sorts more than 10,000 entries by inode number; on some file systems only if it follows links.
#[test]
fn many_entries_come_in_the_order_of_the_real_one() {
    let (in_memory, on_disk) = (tree::place(), tempfile::tempdir().expect("a directory"));
    for dir in [in_memory.path(), on_disk.path()] {
        for number in 0..10_001 {
            fs::write(dir.join(number.to_string()), "").expect("written");
        }
        for line in [".", "-L .", "-H ."] {
            alike(line, dir);
        }
    }
}

#[test]
fn statistics_count_what_was_done() {
    let dir = tree::place();
    nest(dir.path(), 5, 3);
    for way in ["sequential", "per-directory", "semaphore", "atomic", "stealing"] {
        let options = ["--json", "--walk", way, "--jobs", "2", "--alone", "0"];
        let said = ours(&options, &words(". -name nosuch"), dir.path(), "C");
        let stats: serde_json::Value = serde_json::from_slice(&said.stderr).expect("JSON");
        assert_eq!((&stats["directories"], &stats["entries"]), (&156.into(), &280.into()), "{way}: {stats}");
        assert_eq!(stats["statuses"], 1, "only the starting point's: {stats}");
        let workers = stats["workers"].as_array().expect("workers");
        assert_eq!(workers.len(), if way == "sequential" { 1 } else { 2 }, "{way}");
        let made = if way == "per-directory" { 156 } else { stats["tasks_made"].as_u64().expect("a number") };
        assert_eq!(stats["tasks_made"], made, "{way}");
        let tasks: u64 = workers.iter().filter_map(|worker| worker["tasks"].as_u64()).sum();
        assert_eq!(tasks, made + 1, "{way}: every task is done, and the first was nobody's");
    }
    let said = ours(&["--stats"], &words("."), dir.path(), "C");
    let text = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(text.starts_with("156 directories, 280 entries, 1 asked for their status\n"), "{text}");
    assert!(text.contains("makes tasks"), "{text}");
}

#[test]
fn a_chain_of_directories_deeper_than_any_path() {
    let dir = tree::place();
    // A path of one call must not be longer than 4096 bytes.
    let script = "umask 0; p=$(printf 'deep/%.0s' $(seq 400)); for i in 1 2 3; do mkdir -p $p; cd -P $p; done; touch end";
    assert!(
        Command::new("bash")
            .args(["-c", script])
            .current_dir(dir.path())
            .status()
            .expect("it runs")
            .success()
    );
    // Few descriptors: directories are closed on the way down, and reopened on the way up.
    let limited = |program: &str, options: &str, rest: &str| {
        let line = format!("ulimit -n 40; exec {program} {options} {rest}");
        run(Path::new("bash"), &[b"-c".to_vec(), line.into_bytes()], dir.path(), "C")
    };
    let pelton = format!("{} find", env!("CARGO_BIN_EXE_pelton"));
    for rest in [". -name end", ". -depth -name e*", ". -size -1 -name end"] {
        assert_eq!(limited("find", "", rest), limited(&pelton, "", rest), "{rest}");
    }
    let said = ours(&[], &words(". -delete"), dir.path(), "C");
    assert_eq!((said.status, fs::read_dir(dir.path()).expect("read").count()), (Some(0), 0), "{said:?}");
}

#[test]
fn few_descriptors_suffice_for_wide_trees() {
    let dir = tree::place();
    nest(dir.path(), 6, 4);
    let line = format!(
        "ulimit -n 30; for w in sequential per-directory semaphore atomic stealing; do \
         '{}' find --walk $w --jobs 2 --alone 0 . -type f -size 1c | cmp - <(find . -type f -size 1c) || exit 7; done",
        env!("CARGO_BIN_EXE_pelton")
    );
    let said = run(Path::new("bash"), &[b"-c".to_vec(), line.into_bytes()], dir.path(), "C");
    assert_eq!((said.status, &said.stderr[..]), (Some(0), &b""[..]), "{said:?}");
}

#[test]
fn many_entries_in_one_directory_keep_their_order() {
    // On a disk, where GNU find sorts entries by inode number, and in memory, where it does not.
    for dir in [tree::place(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory")] {
        let script = "mkdir many; cd many; seq 12000 | xargs touch; mkdir d1 d2; touch d1/f d2/f; chmod a+rx .. ../many";
        assert!(
            Command::new("sh")
                .args(["-c", script])
                .current_dir(dir.path())
                .status()
                .expect("it runs")
                .success()
        );
        let expected = Command::new("find").arg("many").current_dir(dir.path()).output().expect("it runs");
        let pelton = env!("CARGO_BIN_EXE_pelton");
        for jobs in ["1", "2"] {
            let found = Command::new(pelton)
                .args(["find", "--jobs", jobs, "--alone", "0", "many"])
                .current_dir(dir.path())
                .output()
                .expect("it runs");
            assert_eq!(Said::from(found).stdout, expected.stdout, "{}", dir.path().display());
        }
    }
}

#[test]
fn delete_leaves_what_the_real_one_leaves() {
    for line in [
        "a -name f* -delete",
        "a -delete",
        "a -mindepth 2 -delete",
        "a -type d -delete",
        "a -empty -delete -print",
    ] {
        let left = |delete: &dyn Fn(&Path) -> Said| {
            let dir = tree::place();
            fs::create_dir(dir.path().join("a")).expect("made");
            nest(&dir.path().join("a"), 3, 2);
            open_to_all(dir.path());
            let said = delete(dir.path());
            (said, real(&words("."), dir.path(), "C").sorted().stdout)
        };
        let expected = left(&|dir| real(&words(line), dir, "C.UTF-8"));
        let found = left(&|dir| ours(&[], &words(line), dir, "C.UTF-8"));
        assert_eq!((expected.1, expected.0.sorted()), (found.1, found.0.sorted()), "{line}");
    }
}

fn open_to_all(dir: &Path) {
    let status = Command::new("chmod").args(["-R", "a+rwX"]).arg(dir).status();
    assert!(status.expect("it runs").success());
}

#[test]
fn commands_get_as_many_files_as_fit() {
    let dir = tree::place();
    let script = "mkdir many; cd many; seq 100000000000000 100000000012000 | xargs touch; chmod -R a+rX ..";
    assert!(
        Command::new("sh").args(["-c", script]).current_dir(dir.path()).status().expect("it runs").success()
    );
    let mut line = words("many -type f -exec sh -c");
    line.extend([b"echo $# $1".to_vec(), b"sh".to_vec(), b"{}".to_vec(), b"+".to_vec()]);
    assert_eq!(real(&line, dir.path(), "C"), ours(&[], &line, dir.path(), "C"));
}

#[test]
fn output_that_nobody_can_take() {
    let dir = tree::place();
    nest(dir.path(), 6, 4);
    let to_full = |program: &str| {
        let line = format!("{program} . > /dev/full");
        run(Path::new("bash"), &[b"-c".to_vec(), line.into_bytes()], dir.path(), "C")
    };
    let pelton = env!("CARGO_BIN_EXE_pelton");
    assert_eq!(to_full("find"), to_full(&format!("{pelton} find")));
    assert_eq!(to_full("find"), to_full(&format!("{pelton} find --walk per-directory --jobs 2 --alone 0")));
    let line = format!("{pelton} find --jobs 2 --alone 0 . | head -n 1 > /dev/null; echo ${{PIPESTATUS[0]}}");
    let said = run(Path::new("bash"), &[b"-c".to_vec(), line.into_bytes()], dir.path(), "C");
    assert!(matches!(&said.stdout[..], b"141\n" | b"0\n") && said.stderr.is_empty(), "{said:?}");
}

/// However a search ends, it ends, and leaves no threads.
fn stop(times: usize) {
    let dir = tree::place();
    nest(dir.path(), 5, 4);
    let ways = ["per-directory", "semaphore", "atomic", "stealing", "stealing"];
    for turn in 0..times {
        let way = ways[turn % ways.len()];
        let order = ["--ordered", "--unordered"][turn / ways.len() % 2];
        let name = format!(". -path *d{}/d{}/d{}* -print -quit", turn % 5, turn / 5 % 5, turn / 25 % 5);
        let options = ["--walk", way, order, "--jobs", "4", "--alone", "0"];
        let said = ours(&options, &words(&name), dir.path(), "C");
        let lines = said.stdout.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(
            (lines, said.status, said.stderr.len()),
            (1, Some(0), 0),
            "{way} {order} {name}: {said:?}"
        );
    }
}

#[test]
fn hundreds_of_stops_leave_nothing_running() {
    stop(300);
}

#[test]
#[ignore = "minutes"]
fn ten_thousand_stops_leave_nothing_running() {
    stop(10_000);
}

/// Its entries can be listed, but not accessed.
#[test]
fn a_directory_that_can_be_read_but_not_searched() {
    let dir = tree::place();
    let locked = dir.path().join("r");
    fs::create_dir_all(locked.join("x")).expect("made");
    fs::write(locked.join("f"), "x").expect("written");
    set_mode(&locked, 0o444);
    for line in [
        ".",
        "r",
        ". -type d",
        ". ! -type d",
        ". -type f",
        ". -type f -o -type d",
        ". ! -type f ! -type d",
        ". -type b,c,d",
        ". -mount -type d",
        ". -depth",
        ". -depth -type d",
        ". -size 0",
        ". -empty",
        ". -links 1",
        ". -perm /444",
        ". -inum +0",
        ". -maxdepth 1 -type d",
        ". -path */",
        ". -name f -prune -o -print",
        ". -name x -prune -o -type f -print",
        ". -name f ! -prune -print",
    ] {
        alike(line, dir.path());
    }
    set_mode(&locked, 0o755);
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mode");
}
