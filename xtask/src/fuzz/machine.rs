//! The fuzzing machines: which test each one is, and how much it does in one turn.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use workbench::Outcome;
use workbench::steps::timed;
use workbench::workspace::cargo;

/// A test that can do more than it does under `cargo test`.
pub struct Machine {
    /// The name for `--only`.
    pub name: &'static str,
    package: &'static str,
    /// The test's target.
    test: &'static str,
    /// The functions to run, as parts of their names.
    pub functions: &'static [&'static str],
    /// `PELTON_FUZZ_CASES` for one turn, which then takes about ten seconds.
    pub cases: u64,
    /// Limits a test of several commands to these commands.
    pub commands: Option<&'static str>,
}

impl Machine {
    /// Whether the other machines already cover this one: it then runs only when named.
    fn is_part(&self) -> bool {
        self.commands.is_some()
    }

    /// Whether it can compare with the tools of another system.
    pub fn takes_oracles(&self) -> bool {
        self.test == "differential"
    }
}

/// Returns the machines of a campaign without `--only`, with the installed tools or those of other systems.
pub fn usual(others: bool) -> Vec<&'static Machine> {
    let usual = |machine: &&Machine| !machine.is_part() && (!others || machine.takes_oracles());
    ALL.iter().filter(usual).collect()
}

/// All machines.
pub const ALL: &[Machine] = &[
    Machine {
        name: "awk",
        package: "pelton-commands",
        test: "differential",
        functions: &["generated_cases_agree"],
        cases: 8000,
        commands: Some("mawk,gawk,original-awk"),
    },
    Machine {
        name: "sed",
        package: "pelton-commands",
        test: "differential",
        functions: &["generated_cases_agree"],
        cases: 8000,
        commands: Some("sed"),
    },
    Machine {
        name: "kernels",
        package: "pelton-commands",
        test: "differential",
        functions: &["generated_cases_agree", "as_one_agree_with_both"],
        cases: 2000,
        commands: None,
    },
    Machine {
        name: "pipelines",
        package: "pelton",
        test: "random_pipelines",
        functions: &["random_pipelines_agree"],
        cases: 1000,
        commands: None,
    },
    Machine {
        name: "regex",
        package: "pelton-commands",
        test: "regex_oracle",
        functions: &["random_expressions_match"],
        cases: 1000,
        commands: None,
    },
    Machine {
        name: "parsers",
        package: "pelton",
        test: "parsers",
        functions: &["parsers_hold"],
        cases: 50_000,
        commands: None,
    },
    Machine {
        name: "json",
        package: "pelton-json",
        test: "oracle",
        functions: &["serde_json_agrees"],
        cases: 300_000,
        commands: None,
    },
    Machine {
        name: "csv",
        package: "pelton-csv",
        test: "oracle",
        functions: &["the_csv_crate_prints"],
        cases: 20_000,
        commands: None,
    },
];

/// A machine and its program.
pub struct Built {
    /// The machine.
    pub machine: &'static Machine,
    /// The test's executable.
    pub program: PathBuf,
    /// The working directory that cargo would use.
    pub dir: PathBuf,
}

/// Builds the machines with the profile `fuzz`. Returns copies: a campaign is long, and cargo may rebuild
/// meanwhile.
pub fn build(machines: &[&'static Machine], copies: &Path) -> Outcome<Vec<Built>> {
    fs::create_dir_all(copies)?;
    let build = |machine: &&'static Machine| {
        timed(&format!("build {} (profile fuzz)", machine.test), || {
            let (built, dir) = executable(machine)?;
            let program = copies.join(format!("{}-{}", machine.name, std::process::id()));
            fs::copy(built, &program)?;
            Ok(Built { machine, program, dir })
        })
    };
    machines.iter().map(build).collect()
}

impl Drop for Built {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.program);
    }
}

/// Returns where cargo put the test's executable, as cargo reports it.
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
