//! `cargo xtask roots`: the cases, and the popular pipelines, inside the roots of other Debian releases.
//!
//! The tests compare kernels with the tools of a root by calling those from here. In a root, everything is that
//! release's: shell, tools, C library, locales. pelton and the tests are linked statically, so they run there.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use lexopt::prelude::*;
use pelton_bench::stats::median;
use workbench::cargo_workspace::{
    release_binary_for, root as checkout, static_options_for, target_dir, test_executable,
};
use workbench::inputs::{ACCESS_LOG, PROSE, PURCHASES, Recipe};
use workbench::machine::Machine;
use workbench::steps::timed;
use workbench::{Failure, Outcome};

use crate::oracles;

/// The options.
#[derive(Debug, Default)]
pub struct Options {
    /// The roots; those of this machine if empty.
    names: Vec<String>,
    /// Only these topics of cases.
    topics: Vec<String>,
    /// Comparisons for each tool and locale.
    comparisons: u64,
    /// Megabytes of each input of the pipelines; 0 for none.
    size: u64,
    /// Where to write the table.
    results: Option<PathBuf>,
}

impl Options {
    /// Parses the arguments.
    ///
    /// # Errors
    /// An option or a root that does not exist.
    pub fn parse(mut args: lexopt::Parser) -> Outcome<Self> {
        let mut options = Options { size: 50, comparisons: 1000, ..Options::default() };
        while let Some(arg) = args.next()? {
            match arg {
                Long("topic") => options.topics.push(args.value()?.string()?),
                Long("comparisons") => options.comparisons = args.value()?.parse()?,
                Long("size") => options.size = args.value()?.parse()?,
                Long("results") => options.results = Some(PathBuf::from(args.value()?)),
                Value(name) => options.names.push(name.string()?),
                other => return Err(other.unexpected().into()),
            }
        }
        options.names.iter().try_for_each(|name| oracles::machine(name).map(drop))?;
        if options.names.is_empty() {
            options.names = oracles::roots_of_this_machine();
        }
        Ok(options)
    }
}

/// A pipeline of the README or the book, and its input.
struct Pipeline {
    name: &'static str,
    text: &'static str,
    input: Recipe,
}

const PIPELINES: [Pipeline; 6] = [
    Pipeline {
        name: "log",
        text: "cat INPUT | grep ' 404 ' | awk '{print $7}' | sort | uniq -c | sort -rn | head -n 3",
        input: ACCESS_LOG,
    },
    Pipeline {
        name: "log-cut",
        text: "cut -d' ' -f7 INPUT | sort | uniq -c | sort -rn | head -n 3",
        input: ACCESS_LOG,
    },
    Pipeline {
        name: "words",
        text: "tr -cs A-Za-z '\\n' < INPUT | tr A-Z a-z | sort | uniq -c | sort -rn | head",
        input: PROSE,
    },
    Pipeline {
        name: "lines",
        text: "grep -v '^ *$' INPUT | sed 's/[0-9]//g' | tr A-Z a-z | sort -u | wc -l",
        input: PROSE,
    },
    Pipeline {
        name: "csv-count",
        text: "cut -d, -f2 INPUT | sort | uniq -c | sort -rn | head",
        input: PURCHASES,
    },
    Pipeline {
        name: "csv-sort",
        text: "tail -n +2 INPUT | sort -t, -k4,4n -k2,2 | cut -d, -f2,4 | head -n 100",
        input: PURCHASES,
    },
];

/// How often each is run.
const RUNS: usize = 5;

/// Runs the cases and the pipelines in each root.
///
/// # Errors
/// A case that fails, bytes that differ, or what is missing on this machine.
pub fn run(options: &Options) -> Outcome {
    let allowed = Command::new("unshare").args(["--mount", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        return Err(
            "`unshare --mount true` fails: the roots are entered in a mount name space, which needs root"
                .into(),
        );
    }
    oracles::make_missing(&options.names)?;
    let mut failures = Vec::new();
    let mut table: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for name in &options.names {
        let root = Root::enter(name)?;
        let result = timed(&format!("the cases in {name}"), || root.cases(&options.topics));
        failures.extend(result.err().map(|failure| failure.to_string()));
        if options.topics.is_empty() {
            let result = timed(&format!("the kernels in {name}, in its locales"), || {
                root.kernels(options.comparisons)
            });
            failures.extend(result.err().map(|failure| failure.to_string()));
        }
        for pipeline in PIPELINES.iter().filter(|_| options.size > 0 && options.topics.is_empty()) {
            let cell = match root.pipeline(pipeline, options.size) {
                Ok(cell) => cell,
                Err(failure) => {
                    failures.push(format!("{} in {name}: {failure}", pipeline.name));
                    "differs".to_owned()
                }
            };
            table.entry(pipeline.name).or_default().push(cell);
        }
    }
    if !table.is_empty() {
        let text = table_of(options, &table);
        print!("{text}");
        if let Some(folder) = &options.results {
            fs::write(folder.join("roots.md"), text)?;
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

fn table_of(options: &Options, cells: &BTreeMap<&str, Vec<String>>) -> String {
    let mut text = format!(
        "# Gain by distribution\n\nuser+sys of bash, divided by that of `pelton run`, and the same for real time; medians of \
         {RUNS} runs in turns, {} MB of input, in C. `cargo xtask roots` runs them in the roots of `cargo xtask \
         oracles`, with the tools of each.\n\n| pipeline | {} |\n|{}\n",
        options.size,
        options.names.join(" | "),
        " --- |".repeat(options.names.len() + 1)
    );
    for (name, cells) in cells {
        text += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    text += "\n";
    for pipeline in &PIPELINES {
        text += &format!("- {}: `{}`\n", pipeline.name, pipeline.text);
    }
    text
}

/// Returns a test binary of this crate, linked statically.
fn test_binary(package: &str, test: &str, machine: Machine) -> Outcome<PathBuf> {
    let linking = static_options_for(machine)?;
    let options: Vec<&str> = ["--locked"].into_iter().chain(linking.iter().map(String::as_str)).collect();
    timed(&format!("build the test {test}"), || Ok(test_executable(package, test, &options)?.0))
}

/// A root with pelton and the cases in it, until it is dropped.
struct Root {
    folder: PathBuf,
}

/// The guest folder of a root.
const GUEST: &str = "pelton-guest";

/// Mounts what programs expect, in a name space of its own, and runs a command in the root.
const ENTER: &str = "root=$1; shift
mount --rbind /proc \"$root/proc\" && mount --rbind /dev \"$root/dev\" && mount -t tmpfs tmpfs \"$root/tmp\" || exit
exec chroot \"$root\" /usr/bin/env -i HOME=/tmp USER=root LC_ALL=C PATH=/usr/local/bin:/usr/bin:/bin \"$@\"";

impl Root {
    fn enter(name: &str) -> Outcome<Self> {
        let machine = oracles::machine(name)?;
        let programs = [
            ("pelton", release_binary_for(machine)?),
            ("cases", test_binary("pelton", "cases", machine)?),
            ("kernels", test_binary("pelton-verify", "differential", machine)?),
        ];
        let root = Root { folder: oracles::folder()?.join(name) };
        root.leave()?;
        let guest = root.folder.join(GUEST);
        fs::create_dir(&guest).map_err(|error| format!("{}: {error}", guest.display()))?;
        for (name, path) in programs {
            fs::copy(path, guest.join(name))?;
        }
        fs::create_dir(guest.join("topics"))?;
        for file in fs::read_dir(checkout().join("cases"))? {
            let file = file?;
            fs::copy(file.path(), guest.join("topics").join(file.file_name()))?;
        }
        Ok(root)
    }

    fn leave(&self) -> Outcome {
        match fs::remove_dir_all(self.folder.join(GUEST)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Returns a call of a command inside.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", ENTER, "sh"]).arg(&self.folder).args(words);
        command
    }

    fn cases(&self, topics: &[String]) -> Outcome {
        let settings = [format!("PELTON_BIN=/{GUEST}/pelton"), format!("PELTON_CASES=/{GUEST}/topics")];
        self.test(&settings, "cases", topics)
    }

    /// Compares the kernels with the root's tools, by the tables of its own C library.
    fn kernels(&self, comparisons: u64) -> Outcome {
        self.test(
            &[format!("PELTON_FUZZ_CASES={comparisons}")],
            "kernels",
            &["generated_cases_agree_in".to_owned()],
        )
    }

    /// Runs a test of the guest folder with these settings and arguments.
    fn test(&self, settings: &[String], name: &str, args: &[String]) -> Outcome {
        let program = format!("/{GUEST}/{name}");
        let words: Vec<&str> = settings.iter().map(String::as_str).chain([program.as_str()]).collect();
        let output = self.command(&words).arg("--nocapture").args(args).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        for line in text.lines().filter(|line| line.starts_with("test result") || line.starts_with("native"))
        {
            println!("    {line}");
        }
        let ran =
            text.lines().any(|line| line.starts_with("test result: ok.") && !line.contains(" 0 passed"));
        if output.status.success() && ran { Ok(()) } else { Err(told(&output)) }
    }

    /// Runs a pipeline by the shell and by pelton in turns. Returns its gain in CPU and real time.
    fn pipeline(&self, pipeline: &Pipeline, megabytes: u64) -> Outcome<String> {
        let made = target_dir()?.join("bench").join(format!("{}-{megabytes}", pipeline.input.name));
        pipeline.input.make(&made, megabytes)?;
        let inside = self.folder.join(GUEST).join("input");
        let _ = fs::remove_file(&inside);
        fs::hard_link(&made, &inside).or_else(|_| fs::copy(&made, &inside).map(drop))?;
        let text = pipeline.text.replace("INPUT", &format!("/{GUEST}/input"));
        let script = format!(
            "TIMEFORMAT='%R %U %S'; for i in $(seq {RUNS}); do time bash -c \"$1\" > /tmp/a; echo $? >> /tmp/a; time \
             /{GUEST}/pelton run \"$1\" > /tmp/b; echo $? >> /tmp/b; cmp /tmp/a /tmp/b || exit; done"
        );
        let output = self.command(&["bash", "-c", &script, "bash", &text]).output()?;
        if !output.status.success() {
            return Err(told(&output));
        }
        let figures = String::from_utf8(output.stderr)?;
        let times: Vec<(f64, f64)> = figures.lines().filter_map(time).collect();
        let median = |offset: usize, pick: fn(&(f64, f64)) -> f64| {
            median(&times.iter().skip(offset).step_by(2).map(pick).collect::<Vec<_>>())
        };
        let gain = |pick| median(0, pick) / median(1, pick);
        Ok(format!("{:.1}× ({:.1}×)", gain(|one| one.1), gain(|one| one.0)))
    }
}

/// Reads real time and user+sys of a line.
fn time(line: &str) -> Option<(f64, f64)> {
    let numbers: Vec<f64> = line.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let [real, user, sys] = numbers[..] else { return None };
    Some((real, user + sys))
}

fn told(output: &Output) -> Failure {
    let all = [output.stdout.as_slice(), &output.stderr].concat();
    let text = String::from_utf8_lossy(&all);
    let failed =
        text.lines().skip_while(|line| !line.starts_with("failures:")).collect::<Vec<_>>().join("\n");
    if failed.is_empty() { text.into_owned().into() } else { failed.into() }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = self.leave();
    }
}
