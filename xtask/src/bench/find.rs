//! `pelton find` beside the least that a walk costs, bfs, fd and GNU find: a name that is not there, in a tree of many
//! directories and in one of many files; how soon a near match comes; system calls; memory of each way.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::contest::{Contender, Samples, contest};
use super::results::{Claim, Results, Unit, table};
use super::{Bench, stats};
use crate::Outcome;
use crate::inputs::Rng;
use crate::steps::{step, timed};
use crate::workspace::{cargo, on_path, target_dir};

/// Directories below each other at most.
const DEEPEST: usize = 12;

/// All of it. Trees are made in memory, where every contender finds them as fast as can be.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let runs = bench.runs(5);
    let floor = floor()?;
    let place = Path::new("/dev/shm").join(format!("pelton-find-bench-{}", std::process::id()));
    let result = measure(bench, &floor, &place, runs);
    let _ = fs::remove_dir_all(&place);
    result
}

fn measure(bench: &Bench, floor: &Path, place: &Path, runs: usize) -> Outcome<Results> {
    let many = tree(&place.join("directories"), 35_000, 31_000)?;
    let large = tree(&place.join("files"), 60_000, 940_000)?;
    let (mut body, mut claims, mut data) = (String::new(), Vec::new(), Vec::new());
    for (name, tree) in [("35,000 directories, 66,000 entries", &many), ("1,000,000 entries", &large)] {
        let samples = contest(&absent(bench, floor, tree), &bench.data, runs, 1)?;
        claims.extend(claims_of(name, &samples));
        body.push_str(&format!("## {name}\n\n{}\n", table(&samples, Unit::Milliseconds)));
        data.push(json!({"tree": name, "samples": samples.iter().map(Samples::json).collect::<Vec<_>>()}));
    }
    let first = contest(&first(bench, &many), &bench.data, runs * 3, 1)?;
    body.push_str(&format!("## The first match\n\n{}\n", table(&first, Unit::Milliseconds)));
    if first.len() > 1 {
        let ratio = stats::median_ratio(&first[0].real, &first[1].real);
        claims.push(Claim::at_most("first match: wall time, of bfs's", ratio, 2.0, ""));
    }
    let calls = system_calls(bench, &many)?;
    claims.push(Claim::at_most("system calls per directory, start included", calls, 4.01, ""));
    let ways = ways(bench, &many)?;
    claims.extend(memory_of(&ways));
    body.push_str(&format!("## Ways, two threads\n\n{}", ways_table(&ways)));
    data.push(
        json!({"first": first.iter().map(Samples::json).collect::<Vec<_>>(), "ways": ways, "calls": calls}),
    );
    Ok(Results {
        name: "find",
        about: format!(
            "A name that is not there, in trees in memory, {runs} rounds, order alternating. `floor` opens, lists and closes \
             each directory and does nothing else. Peers that are not installed are left out."
        ),
        body,
        data: data.into(),
        claims,
    })
}

/// The example of that name.
fn floor() -> Outcome<PathBuf> {
    let args = ["build", "--quiet", "--release", "-p", "pelton-find", "--example", "floor"];
    step("build the floor (release)", &mut cargo(args))?;
    Ok(target_dir()?.join("release/examples/floor"))
}

/// A random tree: each directory in any other that is not too deep, files anywhere. Seeded.
pub(crate) fn tree(root: &Path, directories: usize, files: usize) -> Outcome<PathBuf> {
    timed(&format!("make a tree of {} entries", directories + files), || {
        let mut rng = Rng::new(7);
        let mut all = vec![(root.to_path_buf(), 0)];
        fs::create_dir_all(root)?;
        while all.len() <= directories {
            let (above, depth) = rng.pick(&all);
            if *depth < DEEPEST {
                let made = (above.join(format!("dir{}", all.len())), depth + 1);
                fs::create_dir(&made.0)?;
                all.push(made);
            }
        }
        for number in 0..files {
            File::create(rng.pick(&all).0.join(format!("file{number}.c")))?;
        }
        Ok(root.to_path_buf())
    })
}

fn words(program: &Path, words: &[&str]) -> Vec<OsString> {
    std::iter::once(program.into()).chain(words.iter().map(OsString::from)).collect()
}

/// The floor first, GNU find last.
fn absent(bench: &Bench, floor: &Path, tree: &Path) -> Vec<Contender> {
    let tree = tree.to_string_lossy();
    let find =
        |rest: &[&str]| words(&bench.pelton, &[&["find"], rest, &[&*tree, "-name", "absent"]].concat());
    let mut all = vec![
        Contender::new("floor", words(floor, &[&tree])),
        Contender::new("pelton find --jobs 1", find(&["--jobs", "1"])),
        Contender::new("pelton find --jobs 2", find(&["--jobs", "2"])),
        Contender::new("pelton find --jobs 2 --unordered", find(&["--jobs", "2", "--unordered"])),
        Contender::new("find", words(Path::new("find"), &[&tree, "-name", "absent"])),
    ];
    if on_path("bfs") {
        all.push(Contender::new("bfs", words(Path::new("bfs"), &[&tree, "-name", "absent"])));
    }
    if on_path("fdfind") {
        for jobs in ["1", "2"] {
            let fd = ["-uu", "-j", jobs, "^absent$", &tree];
            all.push(Contender::new(&format!("fdfind -j {jobs}"), words(Path::new("fdfind"), &fd)));
        }
    }
    all
}

fn claims_of(name: &str, samples: &[Samples]) -> Vec<Claim> {
    let (floor, one, two) = (&samples[0], &samples[1], &samples[2]);
    let mut claims = vec![
        Claim::at_most(
            &format!("{name}: CPU of one thread, of the floor's"),
            stats::median_ratio(&one.cpu, &floor.cpu),
            1.1,
            "",
        ),
        Claim::at_most(
            &format!("{name}: wall time of two threads, of one's (1/1.7)"),
            stats::median_ratio(&two.real, &one.real),
            0.588,
            "",
        ),
    ];
    for peer in samples[4..].iter().filter(|peer| !peer.name.ends_with('2')) {
        let ratio = stats::median_ratio(&one.cpu, &peer.cpu);
        claims.push(Claim::at_most(
            &format!("{name}: CPU of one thread, of {}'s", peer.name),
            ratio,
            1.0,
            "",
        ));
    }
    claims
}

/// The last directory made is near the start only by chance; the one made first is not.
fn first(bench: &Bench, tree: &Path) -> Vec<Contender> {
    let tree = tree.to_string_lossy();
    let mut all = vec![Contender::new(
        "pelton find --first",
        words(&bench.pelton, &["find", "--first", &tree, "-name", "dir1"]),
    )];
    if on_path("bfs") {
        all.push(Contender::new(
            "bfs -quit",
            words(Path::new("bfs"), &[&tree, "-name", "dir1", "-print", "-quit"]),
        ));
    }
    all.push(Contender::new(
        "find -quit",
        words(Path::new("find"), &[&tree, "-name", "dir1", "-print", "-quit"]),
    ));
    all
}

/// Of one thread, by strace.
fn system_calls(bench: &Bench, tree: &Path) -> Outcome<f64> {
    let counts = bench.data.join("find-calls");
    let status = Command::new("strace")
        .args(["-f", "-c", "-U", "calls,name", "-o"])
        .arg(&counts)
        .arg(&bench.pelton)
        .args(["find", "--jobs", "1"])
        .arg(tree)
        .args(["-name", "absent"])
        .status()?;
    if !status.success() {
        return Err("strace failed".into());
    }
    let text = fs::read_to_string(&counts)?;
    fs::remove_file(&counts)?;
    let total =
        text.lines().find_map(|line| line.trim().strip_suffix("total")).ok_or("strace counts nothing")?;
    Ok(total.trim().parse::<f64>()? / 35_001.0)
}

/// The statistics of each way. A shell starts it: peak memory is inherited from whoever starts a program, and this
/// process is not small.
fn ways(bench: &Bench, tree: &Path) -> Outcome<Vec<Value>> {
    let mut all = Vec::new();
    for way in ["sequential", "per-directory", "semaphore", "atomic", "stealing"] {
        let out = Command::new("bash")
            .args(["-c", "\"$0\" \"$@\"; exit $?"])
            .arg(&bench.pelton)
            .args(["find", "--json", "--unordered", "--jobs", "2", "--walk", way])
            .arg(tree)
            .args(["-name", "absent"])
            .output()?;
        let mut stats: Value = serde_json::from_slice(&out.stderr)?;
        if let Some(workers) = stats["workers"].as_array_mut() {
            // Tens of thousands of events are nothing to keep.
            workers.iter_mut().for_each(|worker| worker["events"] = Value::Null);
        }
        all.push(stats);
    }
    Ok(all)
}

/// What is bounded keeps no more than a task for each directory does.
fn memory_of(ways: &[Value]) -> Vec<Claim> {
    let peak = |name: &str| {
        let way = ways.iter().find(|way| way["walk"] == name);
        way.and_then(|way| way["peak_rss_bytes"].as_f64()).unwrap_or(f64::NAN)
    };
    let claim = |way: &&str| {
        let what = format!("peak memory of {way}, of per-directory's");
        Claim::at_most(&what, peak(way) / peak("per-directory"), 1.0, "")
    };
    ["semaphore", "atomic", "stealing"].iter().map(claim).collect()
}

fn ways_table(ways: &[Value]) -> String {
    let mut out = "| way | real | user+sys | peak memory | tasks made | evenness |\n| --- | ---: | ---: | ---: | ---: | ---: |\n".to_owned();
    for way in ways {
        let figure = |name: &str| way[name].as_f64().unwrap_or(f64::NAN);
        out.push_str(&format!(
            "| {} | {:.1} ms | {:.1} ms | {:.1} MB | {} | {:.2} |\n",
            way["walk"].as_str().unwrap_or_default(),
            figure("wall_ns") / 1e6,
            (figure("user_ns") + figure("sys_ns")) / 1e6,
            figure("peak_rss_bytes") / 1e6,
            figure("tasks_made"),
            figure("evenness"),
        ));
    }
    out
}
