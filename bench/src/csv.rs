//! `pelton csv` beside qsv and xsv, where they are installed.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write, copy};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::contest::{Contender, Samples, contest};
use super::results::{Claim, Results, Unit, table};
use super::{Bench, stats};
use workbench::Outcome;
use workbench::cargo_workspace::on_path;
use workbench::inputs::CSV;

const HEADER: &[u8] = b"id,day,customer,city,good,price,state\n";
/// Each query: for pelton, and for the others.
const CASES: [(&str, &str, &str); 3] = [
    ("two columns", "-s good,id", "select good,id"),
    ("all columns", "", "select 1-7"),
    ("records by an expression", "-w city~York", "search -s city York"),
];

/// Measures columns and records of orders with some quoted fields.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let megabytes = bench.size_mb(200);
    let file = table_of(bench, megabytes)?;
    let mut results = Results {
        name: "csv",
        about: format!(
            "{megabytes} MB of orders with a header, some fields quoted; outputs go to /dev/null. One thread."
        ),
        body: String::new(),
        data: json!({}),
        claims: Vec::new(),
    };
    for (name, ours, theirs) in CASES {
        let pelton = format!("{} csv -j1 {ours} {}", bench.pelton.display(), file.display());
        let mut contenders = vec![Contender::new("pelton csv", ["bash", "-c", &pelton])];
        for peer in ["qsv", "xsv"].into_iter().filter(|peer| on_path(peer)) {
            let text = format!("{peer} {theirs} {}", file.display());
            same(&pelton, &text)?;
            contenders.push(Contender::new(peer, ["bash", "-c", &text]));
        }
        let samples = contest(&contenders, &bench.data, bench.runs(3), 1)?;
        results.body += &format!("{name}: `pelton csv {ours}`\n\n{}\n", table(&samples, Unit::Seconds));
        results.data[name] = samples.iter().map(Samples::json).collect::<Vec<_>>().into();
        for other in &samples[1..] {
            let ratio = stats::median_ratio(&samples[0].cpu, &other.cpu);
            results.claims.push(Claim::at_most(
                &format!("{name}: user+sys, of {}'s", other.name),
                ratio,
                1.0,
                "",
            ));
        }
    }
    Ok(results)
}

fn table_of(bench: &Bench, megabytes: u64) -> Outcome<PathBuf> {
    let path = bench.data.join(format!("orders-{megabytes}mb.csv"));
    if !path.exists() {
        let partial = path.with_extension("partial");
        let mut to = BufWriter::new(File::create(&partial)?);
        to.write_all(HEADER)?;
        copy(&mut BufReader::new(File::open(CSV.file(&bench.data, megabytes)?)?), &mut to)?;
        to.flush()?;
        std::fs::rename(partial, Path::new(&path))?;
    }
    Ok(path)
}

fn same(ours: &str, theirs: &str) -> Outcome {
    let status = Command::new("bash").args(["-c", &format!("cmp <({ours}) <({theirs})")]).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{ours}` and `{theirs}` print different records").into())
    }
}
