//! `pelton copy` in each of its ways beside cp: many small files, a larger file and a huge one, in memory and
//! on disk, all in the page cache.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::contest::{Contender, Samples, run_once};
use super::results::{self, Claim, Results, Unit, part, table};
use super::{Bench, stats};
use workbench::Outcome;
use workbench::steps::timed;

/// All ways except the character loop, which takes ten times as long and is measured over small files only.
const WAYS: [&str; 8] =
    ["read-write", "mapped-bytes", "mapped", "copy_file_range", "sendfile", "splice", "io_uring", "reflink"];
const MB: usize = 1 << 20;
/// The default's allowed time, as a multiple of the fastest.
const BEHIND: f64 = 1.05;

/// Decides between the default and the fastest in this many times as many rounds.
const DUEL: usize = 3;

/// A way that takes this many times as long as the fastest in the first round is not run again.
const HOPELESS: f64 = 2.0;

/// The files to copy.
struct Load {
    /// For `--only`.
    key: &'static str,
    name: &'static str,
    files: usize,
    bytes: usize,
    runs: usize,
}

/// Measures three loads in two places.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let huge = bench.size_mb(2000) as usize * MB;
    let loads = [
        Load { key: "small", name: "10,000 files of 4 KB", files: 10_000, bytes: 4096, runs: 3 },
        Load { key: "100m", name: "100 MB", files: 1, bytes: 100 * MB, runs: 5 },
        Load { key: "2g", name: "the huge file", files: 1, bytes: huge, runs: 2 },
    ];
    let mut results = Results {
        name: "copy",
        about: format!(
            "Copies in a directory of memory (/dev/shm) and on the disk; the huge file has {:.1} GB. What is copied is in the \
             page cache, and the copy is removed before the next. Ways that a file system does not have are left out; what \
             takes {HOPELESS} times as long as the fastest in the first round runs only once. Each part can be measured alone \
             (`--only small`, `100m`, `2g`, `2g-disk`): it takes the place of what is here of it.",
            huge as f64 / 1e9
        ),
        body: String::new(),
        data: json!({}),
        claims: Vec::new(),
    };
    let name = format!("pelton-copy-bench-{}", std::process::id());
    let places = [("memory", Path::new("/dev/shm").join(&name)), ("disk", bench.data.join(&name))];
    let earlier = results::earlier(bench, "copy");
    let mut measured = false;
    for load in &loads {
        for (place, dir) in &places {
            let title = format!("{}, {place}", load.name);
            let asked = |only: &String| *only == load.key || *only == format!("{}-{place}", load.key);
            let part = if bench.only.as_ref().is_none_or(asked) {
                measured = true;
                let outcome = measure(bench, &title, dir, load);
                let _ = fs::remove_dir_all(dir);
                outcome?
            } else {
                earlier[&title].clone()
            };
            results.add(&title, part);
        }
    }
    if !measured {
        return Err("the parts are small, 100m and 2g, and each with -memory or -disk".into());
    }
    Ok(results)
}

/// Measures a part: returns its table, claims and samples.
fn measure(bench: &Bench, title: &str, dir: &Path, load: &Load) -> Outcome<Value> {
    fs::create_dir_all(dir)?;
    timed(&format!("make {title}"), || make(dir, load))?;
    let contenders = contenders(bench, dir, load)?;
    let samples = rounds(&contenders, dir, bench.runs(load.runs))?;
    let (_, ways) = samples.split_first().ok_or("nothing was measured")?;
    let median = |samples: &Samples| stats::median(&samples.real);
    let fastest = (1..=ways.len()).min_by(|a, b| median(&samples[*a]).total_cmp(&median(&samples[*b])));
    let fastest = fastest.ok_or("no way works here")?;
    // The fastest of many equal ways is just lucky. So the two run again, alone and in turns.
    let two = [&contenders[0], &contenders[fastest]].map(Contender::again);
    let duel = contest(&two, dir, bench.runs(load.runs) * DUEL, 0)?;
    clear(&dir.join("out"))?;
    let mut text = format!("## {title}\n\n{}\n", table(&samples, Unit::Milliseconds));
    if load.files == 1 {
        text += &format!("```text\n{}```\n\n", side_by_side(bench, dir, load)?);
    }
    clear(&dir.join("from"))?;
    let name = &samples[fastest].name;
    let claim = |what: &str, of: fn(&Samples) -> &Vec<f64>| {
        let ratio = stats::median_ratio(of(&duel[0]), of(&duel[1]));
        let what = format!("{title}: {what} of the default, of the fastest ({name})");
        Claim::at_most(&what, ratio, BEHIND, "")
    };
    let claims = [claim("wall time", |samples| &samples.real), claim("user+sys", |samples| &samples.cpu)];
    let mut part = part(&text, &claims);
    part["samples"] = samples.iter().map(Samples::json).collect();
    part["duel"] = duel.iter().map(Samples::json).collect();
    Ok(part)
}

/// Runs all ways once, then those that are not much slower than the fastest.
fn rounds(contenders: &[Contender], dir: &Path, runs: usize) -> Outcome<Vec<Samples>> {
    let mut samples = contest(contenders, dir, 1, 0)?;
    let fastest = stats::min(&samples.iter().flat_map(|one| one.real.iter().copied()).collect::<Vec<_>>());
    // The default stays: all others are compared with it.
    let near = |at: &usize| *at == 0 || samples[*at].real[0] < HOPELESS * fastest;
    let near: Vec<usize> = (0..samples.len()).filter(near).collect();
    if runs > 1 {
        let again: Vec<Contender> = near.iter().map(|at| contenders[*at].again()).collect();
        for (at, more) in near.into_iter().zip(contest(&again, dir, runs - 1, 0)?) {
            samples[at].push(&more);
        }
    }
    Ok(samples)
}

/// Returns what `--report` says of the file, without the path.
fn side_by_side(bench: &Bench, dir: &Path, load: &Load) -> Outcome<String> {
    let runs = if load.bytes > 1000 * MB { "1" } else { "3" };
    let mut command = Command::new(&bench.pelton);
    let output = command.args(["copy", "--report", "--runs", runs, "from", "."]).current_dir(dir).output()?;
    if !output.status.success() {
        return Err(format!("pelton copy --report: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Makes a file, or a directory of files. They hold no zeros: some ways check for them.
fn make(dir: &Path, load: &Load) -> Outcome {
    let from = dir.join("from");
    let block: Vec<u8> = (0..MB).map(|at| (at % 251 + 1) as u8).collect();
    let write = |path: &Path| -> Outcome {
        let mut file = File::create(path)?;
        let mut left = load.bytes;
        while left > 0 {
            file.write_all(&block[..left.min(MB)])?;
            left = left.saturating_sub(MB);
        }
        Ok(())
    };
    if load.files == 1 {
        return write(&from);
    }
    fs::create_dir_all(&from)?;
    (0..load.files).try_for_each(|number| write(&from.join(format!("file{number}"))))?;
    Ok(())
}

/// Returns the contenders, the default first.
fn contenders(bench: &Bench, dir: &Path, load: &Load) -> Outcome<Vec<Contender>> {
    let words = |program: &Path, words: &[&str]| -> Vec<OsString> {
        let recursive = if load.files > 1 { ["-r"].as_slice() } else { &[] };
        let words = words.iter().chain(recursive).chain(&["from", "out"]);
        std::iter::once(program.into()).chain(words.map(OsString::from)).collect()
    };
    let mut all = vec![Contender::new("pelton copy", words(&bench.pelton, &["copy"]))];
    let characters = if load.bytes < MB { ["characters"].as_slice() } else { &[] };
    for way in WAYS.iter().chain(characters) {
        if !works_in(dir, way, bench)? {
            continue;
        }
        all.push(Contender::new(&format!("--via {way}"), words(&bench.pelton, &["copy", "--via", way])));
    }
    all.push(Contender::new("cp", words(Path::new("cp"), &[])));
    Ok(all)
}

/// Whether this file system supports this way: most cannot share blocks.
fn works_in(dir: &Path, way: &str, bench: &Bench) -> Outcome<bool> {
    fs::write(dir.join("tiny"), "tiny")?;
    let words = ["copy", "--via", way, "tiny", "out"].map(OsString::from);
    let argv = std::iter::once(bench.pelton.clone().into_os_string()).chain(words);
    let works = run_once(&Contender::new(way, argv), dir).is_ok();
    clear(&dir.join("out"))?;
    Ok(works)
}

fn clear(path: &Path) -> Outcome {
    match path.symlink_metadata() {
        Ok(there) if there.is_dir() => Ok(fs::remove_dir_all(path)?),
        Ok(_) => Ok(fs::remove_file(path)?),
        Err(_) => Ok(()),
    }
}

/// Runs [`super::contest::contest`], with a free place for the copy each time.
fn contest(contenders: &[Contender], dir: &Path, runs: usize, warmup: usize) -> Outcome<Vec<Samples>> {
    super::contest::contest_with(contenders, dir, runs, warmup, || clear(&dir.join("out")))
}
