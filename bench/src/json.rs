//! `pelton json` beside the two-stage parser in awk, and beside gron, fastgron, jq and rsonpath (`rq`) if
//! installed.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::contest::{Contender, Samples, contest, peak_bytes};
use super::results::{Claim, Results, Unit, table};
use super::{Bench, stats};
use workbench::Outcome;
use workbench::cargo_workspace::{on_path, root};
use workbench::inputs::{JSON_MENU, PEOPLE};

/// The number of menus in the array of the first part.
const MENUS: usize = 118_000;
/// How often the document of the memory test, 2 GB, repeats the array of people.
const TIMES: u64 = 10;

/// Measures flattening, selecting, and memory.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let megabytes = bench.size_mb(200);
    let menus = JSON_MENU.array(&bench.data, 30, MENUS)?;
    let people = PEOPLE.array(&bench.data, megabytes, usize::MAX)?;
    let mut results = Results {
        name: "json",
        about: format!(
            "An array of {MENUS} menus (json.org's example; {:.1} MB) and one of people ({:.1} MB); outputs go to /dev/null. \
             Peers that are not installed are left out. rsonpath (`rq`) looks for what is asked and does not check the rest: a text \
             that is no JSON is none of its concern, while pelton refuses it.",
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

/// Returns the two stages as shell text.
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

/// Returns the contenders: pelton, then the installed peers.
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
    runs: usize,
    results: &mut Results,
) -> Outcome<Vec<Samples>> {
    let samples = contest(contenders, &bench.data, bench.runs(runs), 1)?;
    results.body += &format!("{title}\n\n{}\n", table(&samples, Unit::Seconds));
    results.data[title] = samples.iter().map(Samples::json).collect::<Vec<Value>>().into();
    Ok(samples)
}

/// Claims that pelton's user+sys is at most `share` of this peer's, if the peer ran.
fn ahead(samples: &[Samples], peer: &str, share: f64, results: &mut Results) {
    if let Some(other) = samples.iter().find(|one| one.name == peer) {
        let ratio = stats::median_ratio(&samples[0].cpu, &other.cpu);
        let what = format!("user+sys of `{}`, of `{peer}`'s", samples[0].name);
        results.claims.push(Claim::at_most(&what, ratio, share, ""));
    }
}

/// Two rounds suffice: peers need seconds, and differ by factors.
fn menu(bench: &Bench, file: &Path, results: &mut Results) -> Outcome {
    let name = file.display();
    let peers = [
        ("mawk | mawk", two_stages("mawk", file)),
        ("fastgron", format!("fastgron {name}")),
        ("gron", format!("gron {name}")),
        ("pelton json --gron", format!("{} json --gron {name}", bench.pelton.display())),
    ];
    let samples = part(bench, "Flattening the menus", &contenders(bench, &[], file, &peers), 2, results)?;
    for (peer, share) in [("mawk | mawk", 0.02), ("fastgron", 0.5), ("gron", 0.01)] {
        ahead(&samples, peer, share, results);
    }
    Ok(())
}

fn flatten(bench: &Bench, file: &Path, results: &mut Results) -> Outcome {
    let peers = [("fastgron", format!("fastgron {}", file.display()))];
    let title = "Flattening the people";
    let samples = part(bench, title, &contenders(bench, &[], file, &peers), 3, results)?;
    ahead(&samples, "fastgron", 0.5, results);
    Ok(())
}

fn select(bench: &Bench, file: &Path, results: &mut Results) -> Outcome {
    let name = file.display();
    let peers = [
        ("rq", format!("rq '$[*].email' {name}")),
        ("rq ..", format!("rq '$..email' {name}")),
        ("fastgron -p", format!("fastgron -p .#.email {name}")),
        ("pelton json from a pipe", format!("cat {name} | {} json .[].email", bench.pelton.display())),
        ("cat", format!("cat {name} | cat")),
    ];
    let chosen = contenders(bench, &[".[].email"], file, &peers);
    let samples = part(bench, "Selecting one key (with the CPU of cat, from a pipe)", &chosen, 5, results)?;
    ahead(&samples, "rq", 1.0, results);
    piped(&samples, results);
    let peers = [("jq", format!("jq -c .[].email {name}"))];
    let samples = part(bench, "And by jq", &contenders(bench, &[".[].email"], file, &peers), 1, results)?;
    ahead(&samples, "jq", 1.0, results);
    let peers = [("rq", format!("rq '$.nothing' {name}")), ("rq ..", format!("rq '$..nothing' {name}"))];
    let skipped = contenders(bench, &[".nothing"], file, &peers);
    let title = "Nothing selected: everything is checked and skipped";
    let samples = part(bench, title, &skipped, 5, results)?;
    let speed = size(file)? / 1e3 / stats::median(&samples[0].cpu);
    let text = format!("{speed:.2} GB/s of CPU where values are skipped (at least 1)");
    results.claims.push(Claim { text, held: speed >= 1.0 });
    Ok(())
}

/// Compares runs from a pipe, minus the cost of the program that fills it.
fn piped(samples: &[Samples], results: &mut Results) {
    let named = |name: &str| samples.iter().find(|one| one.name == name);
    if let (Some(piped), Some(cat), Some(other)) =
        (named("pelton json from a pipe"), named("cat"), named("rq"))
    {
        let own: Vec<f64> = piped.cpu.iter().zip(&cat.cpu).map(|(both, one)| both - one / 2.0).collect();
        let what = "user+sys of `pelton json .[].email` from a pipe (without cat's), of `rq`'s on a file";
        results.claims.push(Claim::at_most(what, stats::median_ratio(&own, &other.cpu), 1.0, ""));
    }
}

/// Measures the largest resident set for a piped document that repeats the array of people.
fn memory(bench: &Bench, file: &Path, results: &mut Results) -> Outcome {
    let document = format!(
        "{{ printf '['; for i in $(seq {TIMES}); do [ $i = 1 ] || printf ,; cat {}; done; printf ']'; }}",
        file.display()
    );
    let text = format!("{document} | {} json > /dev/null", bench.pelton.display());
    let argv = ["bash", "-c", text.as_str()];
    let peak = peak_bytes(bench, &Contender::new("pelton json", argv), &bench.data)? as f64 / 1e6;
    let what = format!("peak memory, flattening one document of {:.1} GB", size(file)? * TIMES as f64 / 1e3);
    results.claims.push(Claim::at_most(&what, peak, 16.0, "MB"));
    Ok(())
}
