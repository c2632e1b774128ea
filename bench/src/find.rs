//! `pelton find` beside the minimum that a walk costs, bfs, fd and GNU find: a missing name, in a tree of
//! many directories and in a tree of many files; time to a near match; system calls; memory of each way;
//! leftovers of stopped searches.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use super::contest::{Contender, Samples, contest};
use super::results::{self, Claim, Results, Unit, table};
use super::{Bench, stats};
use workbench::Outcome;
use workbench::cargo_workspace::{on_path, root};
use workbench::inputs::Rng;
use workbench::steps::{step, timed};

/// The greatest depth of directories.
const DEEPEST: usize = 12;
/// The number of searches to stop.
const STOPS: usize = 10_000;

/// A part: its name for `--only`, its title, and its measurement over its tree.
struct FindBenchmark {
    key: &'static str,
    title: &'static str,
    /// Directories and files.
    tree: (usize, usize),
    measure: fn(&Bench, &FindBenchmark, &Path) -> Outcome<Value>,
}

const MANY: (usize, usize) = (35_000, 31_000);

const PARTS: [FindBenchmark; 5] = [
    FindBenchmark {
        key: "directories",
        title: "35,000 directories, 66,000 entries",
        tree: MANY,
        measure: absent,
    },
    FindBenchmark { key: "files", title: "1,000,000 entries", tree: (60_000, 940_000), measure: absent },
    FindBenchmark { key: "first", title: "The first match", tree: MANY, measure: first },
    FindBenchmark { key: "ways", title: "Ways, two threads", tree: MANY, measure: ways },
    FindBenchmark { key: "stops", title: "Stops", tree: (600, 1400), measure: stops },
];

/// Runs all parts. Trees are made in memory, where every contender reads them fastest.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let mut results = Results {
        name: "find",
        about: "Trees in memory, rounds in alternating order. `floor` (bench/find/floor.c) opens, lists and closes each directory and \
                does nothing else. Peers that are not installed are left out. Each part can be measured alone (`--only directories`, \
                `files`, `first`, `ways`, `stops`): it takes the place of what is here of it."
            .to_owned(),
        body: String::new(),
        data: json!({}),
        claims: Vec::new(),
    };
    let asked = |part: &FindBenchmark| bench.only.as_ref().is_none_or(|only| only == part.key);
    if !PARTS.iter().any(asked) {
        return Err("the parts are directories, files, first, ways and stops".into());
    }
    let earlier = results::earlier(bench, "find");
    let place = Path::new("/dev/shm").join(format!("pelton-find-bench-{}", std::process::id()));
    for part in &PARTS {
        let measured = match asked(part) {
            true => over(bench, part, &place.join(part.key)),
            false => Ok(earlier[part.title].clone()),
        };
        let _ = fs::remove_dir_all(&place);
        results.add(part.title, measured?);
    }
    Ok(results)
}

fn over(bench: &Bench, part: &FindBenchmark, place: &Path) -> Outcome<Value> {
    let (directories, files) = part.tree;
    let tree = tree(place, directories, files)?;
    let mut measured = (part.measure)(bench, part, &tree)?;
    let text = measured["text"].as_str().unwrap_or_default().to_owned();
    measured["text"] = format!("## {}\n\n{text}\n", part.title).into();
    Ok(measured)
}

/// Compiles the C program of the minimum walk.
fn floor(bench: &Bench) -> Outcome<PathBuf> {
    let program = bench.data.join("floor");
    let mut compile = Command::new("cc");
    compile.arg("-O2").arg("-o").arg(&program).arg(root().join("bench/find/floor.c"));
    step("build the floor", &mut compile)?;
    Ok(program)
}

/// Makes a random tree from a seed: each directory in any other that is not too deep, files anywhere.
pub fn tree(root: &Path, directories: usize, files: usize) -> Outcome<PathBuf> {
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

/// Searches for a missing name.
fn absent(bench: &Bench, part: &FindBenchmark, tree: &Path) -> Outcome<Value> {
    let samples = contest(&contenders(bench, &floor(bench)?, tree), &bench.data, bench.runs(7), 1)?;
    Ok(kept(&table(&samples, Unit::Milliseconds), &claims_of(part.title, &samples), &samples))
}

fn kept(text: &str, claims: &[Claim], samples: &[Samples]) -> Value {
    let mut part = results::part(text, claims);
    part["samples"] = samples.iter().map(Samples::json).collect();
    part
}

/// Returns the contenders: the floor, then ours, then peers.
fn contenders(bench: &Bench, floor: &Path, tree: &Path) -> Vec<Contender> {
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

/// Searches for the first directory made: unlike the last one made, it is near the start.
fn first(bench: &Bench, _: &FindBenchmark, tree: &Path) -> Outcome<Value> {
    let tree = tree.to_string_lossy();
    let ours = ["find", "--first", &tree, "-name", "dir1"];
    let mut all = vec![Contender::new("pelton find --first", words(&bench.pelton, &ours))];
    for peer in ["bfs", "find"] {
        if on_path(peer) {
            let theirs = words(Path::new(peer), &[&tree, "-name", "dir1", "-print", "-quit"]);
            all.push(Contender::new(&format!("{peer} -quit"), theirs));
        }
    }
    let samples = contest(&all, &bench.data, bench.runs(45), 3)?;
    let bfs = samples.iter().find(|one| one.name.starts_with("bfs"));
    let claim = |bfs: &Samples| {
        let ratio = stats::median_ratio(&samples[0].real, &bfs.real);
        Claim::at_most("first match: wall time, of bfs's", ratio, 2.0, "")
    };
    let claims: Vec<Claim> = bfs.into_iter().map(claim).collect();
    Ok(kept(&table(&samples, Unit::Milliseconds), &claims, &samples))
}

/// Counts the system calls of one thread, by strace.
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
    Ok(total.trim().parse()?)
}

/// Measures the statistics of each way, and the system calls of one thread.
fn ways(bench: &Bench, part: &FindBenchmark, tree: &Path) -> Outcome<Value> {
    let calls = system_calls(bench, tree)? / (part.tree.0 + 1) as f64;
    let mut claims = vec![Claim::at_most("system calls per directory, start included", calls, 4.0, "")];
    let ways = statistics(bench, tree)?;
    claims.extend(memory_of(&ways));
    let mut kept = results::part(&ways_table(&ways), &claims);
    kept["ways"] = ways.into();
    kept["calls"] = calls.into();
    Ok(kept)
}

/// Uses a shell to start pelton: a program inherits its starter's peak memory, and this process is not small.
fn statistics(bench: &Bench, tree: &Path) -> Outcome<Vec<Value>> {
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
            // Drops the tens of thousands of events.
            workers.iter_mut().for_each(|worker| worker["events"] = Value::Null);
        }
        all.push(stats);
    }
    Ok(all)
}

/// Claims that bounded ways use no more memory than a task for each directory does.
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

/// Stops searches at a random place, in random ways: each prints one name and nothing else, and leaves no
/// process behind.
fn stops(bench: &Bench, part: &FindBenchmark, tree: &Path) -> Outcome<Value> {
    let mut rng = Rng::new(11);
    let mut wrong = 0;
    let began = Instant::now();
    for _ in 0..STOPS {
        let name = format!("dir{}", 1 + rng.below(part.tree.0 as u64));
        let way = rng.pick(&["per-directory", "semaphore", "atomic", "stealing"]);
        let order = rng.pick(&["--ordered", "--unordered", "--first"]);
        let mut command = Command::new(&bench.pelton);
        command
            .args(["find", "--walk", way, order, "--jobs", "4"])
            .arg(tree)
            .args(["-name", &name, "-print"]);
        if *order != "--first" {
            command.arg("-quit");
        }
        let said = command.output()?;
        let one = said.stdout.iter().filter(|byte| **byte == b'\n').count() == 1;
        wrong += usize::from(!one || !said.status.success() || !said.stderr.is_empty());
    }
    let (took, left) = (began.elapsed().as_secs_f64(), running(&bench.pelton)?);
    let text = format!(
        "{STOPS} searches with four threads, each ended by its first match: {wrong} said anything else than one name or did not \
         end well; {left} of their processes were there afterwards. {:.1} ms each, start included.\n",
        took / STOPS as f64 * 1e3
    );
    let claims = [
        Claim::at_most("stops that went wrong", wrong as f64, 0.0, ""),
        Claim::at_most("processes left by stops", left as f64, 0.0, ""),
    ];
    Ok(results::part(&text, &claims))
}

/// Returns the number of processes that run this program.
fn running(program: &Path) -> Outcome<usize> {
    let processes = fs::read_dir("/proc")?.flatten();
    Ok(processes.filter(|one| fs::read_link(one.path().join("exe")).is_ok_and(|exe| exe == program)).count())
}
