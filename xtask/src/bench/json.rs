//! `pelton json` beside the two-stage parser in awk, and beside gron, fastgron, jq and rsonpath where they are installed.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::contest::{Contender, Samples, contest};
use super::results::{Claim, Results, Unit, table};
use super::{Bench, stats};
use crate::Outcome;
use crate::inputs::{JSON_MENU, PEOPLE};
use crate::workspace::{on_path, root};

/// How many copies of the menu the array of the first part holds: 24 MB.
const MENUS: usize = 100_000;

/// Flattening, selecting, and memory.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let megabytes = bench.size_mb(200);
    let menus = JSON_MENU.array(&bench.data, 30, MENUS)?;
    let people = PEOPLE.array(&bench.data, megabytes, usize::MAX)?;
    let mut results = Results {
        name: "json",
        about: format!(
            "An array of {MENUS} menus (json.org's example; {:.1} MB) and one of people ({:.1} MB); outputs go to /dev/null. \
             Peers that are not installed are left out.",
            size(&menus)?,
            size(&people)?
        ),
        body: String::new(),
        data: json!({}),
        claims: Vec::new(),
    };
    same_as_awk(bench, &menus)?;
    menu(bench, &menus, &mut results)?;
    flatten(bench, &people, &mut results)?;
    select(bench, &people, &mut results)?;
    memory(bench, &people, &mut results)?;
    Ok(results)
}

fn size(path: &Path) -> Outcome<f64> {
    Ok(path.metadata()?.len() as f64 / 1e6)
}

/// A shell's words for the two stages.
fn two_stages(awk: &str, file: &Path) -> String {
    let scripts = root().join("bench/awk");
    format!("{awk} -f {0}/tokenize.awk {1} | {awk} -f {0}/parse.awk", scripts.display(), file.display())
}

fn same_as_awk(bench: &Bench, file: &Path) -> Outcome {
    let script = format!("cmp <({}) <(\"$0\" json {})", two_stages("awk", file), file.display());
    let status = Command::new("bash").args(["-c", &script]).arg(&bench.pelton).env("LC_ALL", "C").status()?;
    if status.success() {
        Ok(())
    } else {
        Err("pelton json and the two stages in awk print different lines".into())
    }
}

/// pelton first, then those peers that are there.
fn contenders(bench: &Bench, options: &[&str], file: &Path, peers: &[(&str, String)]) -> Vec<Contender> {
    let mut argv = vec![bench.pelton.clone().into_os_string(), "json".into()];
    argv.extend(options.iter().map(Into::into));
    argv.push(file.into());
    let there = |command: &str| command.split(' ').next().is_some_and(on_path);
    let shell = |(name, text): &(&str, String)| Contender::new(name, ["bash", "-c", text.as_str()]);
    let name = ["pelton json"].iter().chain(options).copied().collect::<Vec<_>>().join(" ");
    std::iter::once(Contender::new(&name, argv))
        .chain(peers.iter().filter(|(_, command)| there(command)).map(shell))
        .collect()
}

fn part(
    bench: &Bench,
    title: &str,
    contenders: &[Contender],
    results: &mut Results,
) -> Outcome<Vec<Samples>> {
    let samples = contest(contenders, &bench.data, bench.runs(5), 1)?;
    results.body += &format!("{title}\n\n{}\n", table(&samples, Unit::Seconds));
    results.data[title] = samples.iter().map(Samples::json).collect::<Vec<Value>>().into();
    Ok(samples)
}

/// pelton's user+sys must be at most `share` of that of the peer of this name, if it ran.
fn ahead(samples: &[Samples], peer: &str, share: f64, results: &mut Results) {
    if let Some(other) = samples.iter().find(|one| one.name == peer) {
        let ratio = stats::median_ratio(&samples[0].cpu, &other.cpu);
        let what = format!("user+sys of `{}`, of `{peer}`'s", samples[0].name);
        results.claims.push(Claim::at_most(&what, ratio, share, ""));
    }
}

fn menu(bench: &Bench, file: &Path, results: &mut Results) -> Outcome {
    let name = file.display();
    let peers = [
        ("mawk | mawk", two_stages("mawk", file)),
        ("gawk | gawk", two_stages("gawk", file)),
        ("fastgron", format!("fastgron {name}")),
        ("gron", format!("gron {name}")),
    ];
    let samples = part(bench, "Flattening the menus", &contenders(bench, &[], file, &peers), results)?;
    for (peer, share) in [("mawk | mawk", 0.02), ("fastgron", 0.5), ("gron", 0.01)] {
        ahead(&samples, peer, share, results);
    }
    let peers = [("fastgron", format!("fastgron {name}")), ("gron", format!("gron {name}"))];
    part(bench, "The same as gron's lines", &contenders(bench, &["--gron"], file, &peers), results)?;
    Ok(())
}

fn flatten(bench: &Bench, file: &Path, results: &mut Results) -> Outcome {
    let peers = [("fastgron", format!("fastgron {}", file.display()))];
    let samples = part(bench, "Flattening the people", &contenders(bench, &[], file, &peers), results)?;
    ahead(&samples, "fastgron", 0.5, results);
    Ok(())
}

fn select(bench: &Bench, file: &Path, results: &mut Results) -> Outcome {
    let name = file.display();
    let peers = [
        ("rsonpath", format!("rsonpath '$[*].email' {name}")),
        ("fastgron", format!("fastgron -p .[].email {name}")),
        ("jq", format!("jq -c .[].email {name}")),
    ];
    let samples =
        part(bench, "Selecting one key", &contenders(bench, &[".[].email"], file, &peers), results)?;
    ahead(&samples, "rsonpath", 1.0, results);
    let piped =
        ("pelton json from a pipe", format!("cat {name} | {} json .[].email", bench.pelton.display()));
    let mut both = contenders(bench, &[".[].email"], file, &[("cat", format!("cat {name} | cat"))]);
    both.push(Contender::new(piped.0, ["bash", "-c", piped.1.as_str()]));
    part(bench, "From a pipe (with the CPU of cat)", &both, results)?;
    let skipped = contenders(bench, &[".nothing"], file, &[]);
    let samples = part(bench, "Nothing selected: everything is checked and skipped", &skipped, results)?;
    let speed = size(file)? / 1e3 / stats::median(&samples[0].cpu);
    let text = format!("{speed:.2} GB/s of CPU where values are skipped (at least 1)");
    results.claims.push(Claim { text, held: speed >= 1.0 });
    Ok(())
}

/// The largest resident set over the array of people, one document.
fn memory(bench: &Bench, file: &Path, results: &mut Results) -> Outcome {
    let text = format!("{} json {} > /dev/null", bench.pelton.display(), file.display());
    let report = bench.data.join("memory.json");
    let mut command = Command::new(&bench.pelton);
    let status =
        command.args(["time", "--format", "json", "-o"]).arg(&report).args(["--", &text]).status()?;
    if !status.success() {
        return Err(format!("`{text}` failed ({status})").into());
    }
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&report)?)?;
    let peak = peak_of(&record).ok_or("the record has no peak memory")? / 1e6;
    let what = format!("peak memory, flattening {:.0} MB", size(file)?);
    results.claims.push(Claim::at_most(&what, peak, 16.0, "MB"));
    Ok(())
}

/// The first figure of that name, wherever it stands.
fn peak_of(value: &Value) -> Option<f64> {
    match value {
        Value::Object(members) => members
            .iter()
            .find_map(|(name, value)| if name == "peak_rss_bytes" { value.as_f64() } else { None })
            .or_else(|| members.values().find_map(peak_of)),
        Value::Array(elements) => elements.iter().find_map(peak_of),
        _ => None,
    }
}
