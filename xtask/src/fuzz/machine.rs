//! The machines: which test each is, and how much it does in one turn.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use crate::Outcome;
use crate::steps::timed;
use crate::workspace::cargo;

/// A test that can do more than `cargo test` lets it.
pub struct Machine {
    /// As in `--only`.
    pub name: &'static str,
    package: &'static str,
    /// The test's target.
    test: &'static str,
    /// Which functions of it: parts of their names.
    pub functions: &'static [&'static str],
    /// `PELTON_FUZZ_CASES` of a turn, which then takes some ten seconds.
    pub cases: u64,
}

/// All of them.
pub const ALL: &[Machine] = &[
    Machine {
        name: "kernels",
        package: "pelton-commands",
        test: "differential",
        functions: &["generated_cases_agree", "as_one_agree_with_both"],
        cases: 2000,
    },
    Machine {
        name: "pipelines",
        package: "pelton",
        test: "random_pipelines",
        functions: &["random_pipelines_agree"],
        cases: 1000,
    },
    Machine {
        name: "regex",
        package: "pelton-commands",
        test: "regex_oracle",
        functions: &["random_expressions_match"],
        cases: 1000,
    },
    Machine {
        name: "parsers",
        package: "pelton",
        test: "parsers",
        functions: &["parsers_hold"],
        cases: 50_000,
    },
    Machine {
        name: "json",
        package: "pelton-json",
        test: "oracle",
        functions: &["serde_json_agrees"],
        cases: 300_000,
    },
    Machine {
        name: "csv",
        package: "pelton-csv",
        test: "oracle",
        functions: &["the_csv_crate_prints"],
        cases: 300_000,
    },
];

/// A machine and its program.
pub struct Built {
    /// Which it is.
    pub machine: &'static Machine,
    /// The test's executable.
    pub program: PathBuf,
    /// The directory that cargo would run it in.
    pub dir: PathBuf,
}

/// Builds them with the profile `fuzz`.
pub fn build(machines: &[&'static Machine]) -> Outcome<Vec<Built>> {
    let build = |machine: &&'static Machine| {
        timed(&format!("build {} (profile fuzz)", machine.test), || {
            let (program, dir) = executable(machine)?;
            Ok(Built { machine, program, dir })
        })
    };
    machines.iter().map(build).collect()
}

/// Where cargo put the test's executable, as it says itself.
fn executable(machine: &Machine) -> Outcome<(PathBuf, PathBuf)> {
    let mut command = cargo(["test", "--quiet", "--no-run", "--profile", "fuzz", "--message-format", "json"]);
    let mut child =
        command.args(["-p", machine.package, "--test", machine.test]).stdout(Stdio::piped()).spawn()?;
    let out = child.stdout.take().ok_or("no pipe from cargo")?;
    let mut found = None;
    for line in BufReader::new(out).lines() {
        let message: Value = serde_json::from_str(&line?)?;
        if message["target"]["name"] == machine.test && message["profile"]["test"] == true {
            let path = |value: &Value| value.as_str().map(PathBuf::from);
            let dir = path(&message["manifest_path"]).and_then(|path| path.parent().map(PathBuf::from));
            found = path(&message["executable"]).zip(dir).or(found);
        }
    }
    if !child.wait()?.success() {
        return Err(format!("{} cannot be built", machine.test).into());
    }
    found.ok_or_else(|| format!("cargo names no executable of {}", machine.test).into())
}
