//! The fuzzing targets: which test each one is, and how much it does in one turn.

use std::fs;
use std::path::{Path, PathBuf};

use workbench::Outcome;
use workbench::cargo_workspace::test_executable;
use workbench::steps::timed;

/// A test that can do more than it does under `cargo test`.
pub struct Target {
    /// The name for `--only`.
    pub name: &'static str,
    package: &'static str,
    /// The name of the test's program.
    test: &'static str,
    /// The functions to run, as parts of their names.
    pub functions: &'static [&'static str],
    /// `PELTON_FUZZ_CASES` for one turn: about a minute, well below the limit of ten even on a busy machine.
    pub cases: u64,
    /// Limits a test of several commands to these commands.
    pub commands: Option<&'static str>,
}

impl Target {
    /// Whether the other targets already cover this one: it then runs only when named.
    fn is_part(&self) -> bool {
        self.commands.is_some()
    }

    /// Whether it can compare with the tools of another system.
    pub fn takes_oracles(&self) -> bool {
        self.test == "differential"
    }
}

/// Returns the targets of a campaign without `--only`, with the installed tools or those of other systems.
pub fn usual(others: bool) -> Vec<&'static Target> {
    let usual = |target: &&Target| !target.is_part() && (!others || target.takes_oracles());
    ALL.iter().filter(usual).collect()
}

/// All targets.
pub const ALL: &[Target] = &[
    Target {
        name: "awk",
        package: "pelton-verify",
        test: "differential",
        functions: &["generated_cases_agree"],
        cases: 1000,
        commands: Some("mawk,gawk,original-awk"),
    },
    Target {
        name: "sed",
        package: "pelton-verify",
        test: "differential",
        functions: &["generated_cases_agree"],
        cases: 1000,
        commands: Some("sed"),
    },
    Target {
        name: "kernels",
        package: "pelton-verify",
        test: "differential",
        functions: &["generated_cases_agree", "as_one_agree_with_both"],
        cases: 200,
        commands: None,
    },
    Target {
        name: "pipelines",
        package: "pelton",
        test: "random_pipelines",
        functions: &["random_pipelines_agree"],
        cases: 1000,
        commands: None,
    },
    Target {
        name: "workers",
        package: "pelton",
        test: "random_pipelines",
        functions: &["on_several_workers_agree"],
        cases: 300,
        commands: None,
    },
    Target {
        name: "regex",
        package: "pelton-commands",
        test: "regex_oracle",
        functions: &["random_expressions_match"],
        cases: 1000,
        commands: None,
    },
    Target {
        name: "parsers",
        package: "pelton",
        test: "fuzz_targets",
        functions: &["parsers_hold"],
        cases: 50_000,
        commands: None,
    },
    Target {
        name: "json",
        package: "pelton-json",
        test: "oracle",
        functions: &["serde_json_agrees"],
        cases: 300_000,
        commands: None,
    },
    Target {
        name: "csv",
        package: "pelton-csv",
        test: "oracle",
        functions: &["the_csv_crate_prints"],
        cases: 20_000,
        commands: None,
    },
];

/// A target and its program.
pub struct Built {
    /// The target.
    pub target: &'static Target,
    /// The test's executable.
    pub program: PathBuf,
    /// The working directory that cargo would use.
    pub dir: PathBuf,
}

/// Builds the targets with the profile `fuzz`. Returns copies: a campaign is long, and cargo may rebuild
/// meanwhile.
pub fn build(targets: &[&'static Target], copies: &Path) -> Outcome<Vec<Built>> {
    fs::create_dir_all(copies)?;
    let build = |target: &&'static Target| {
        timed(&format!("build {} (profile fuzz)", target.test), || {
            let (built, dir) = test_executable(target.package, target.test, &["--profile", "fuzz"])?;
            let program = copies.join(format!("{}-{}", target.name, std::process::id()));
            fs::copy(built, &program)?;
            Ok(Built { target, program, dir })
        })
    };
    targets.iter().map(build).collect()
}

impl Drop for Built {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.program);
    }
}
