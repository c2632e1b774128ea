//! The command line.

use crate::failure::Failure;
use clap::{Args, Parser, Subcommand, ValueEnum};
use pelton_report::Format;
use pelton_run::Jobs;
use std::ffi::OsString;
use std::path::PathBuf;

/// See where a shell pipeline spends its time, and why; run it exactly as the shell would.
#[derive(Parser)]
#[command(name = "pelton", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,

    /// When to use colours; NO_COLOR turns them off too
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: When,
}

const EXAMPLES: &str = "\
Examples:
  pelton time 'sort access.log | uniq -c | sort -rn | head'   which stage is slow, and why
  pelton time --runs 10 'tr a-z A-Z < big.txt | wc'           medians and spread of ten runs
  pelton run 'grep -c error *.log'                            the same output as from the shell

`pelton help VERB` tells more.";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal that shows them
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

#[derive(Subcommand)]
pub enum Verb {
    Run(RunArgs),
    Time(TimeArgs),
    Explain(ExplainArgs),
}

/// Run a pipeline exactly as the shell would: same output, same exit status, same files, often faster.
///
/// Neighbouring commands that pelton knows run natively in one pass; every other one runs as it is, and what pelton
/// does not model runs in the shell itself. Standard input, the terminal and signals are passed on as by a shell.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton run 'sort data.csv | uniq -c'     one argument: shell text
  pelton run sort -u data.csv              several: a command and its arguments, without a shell
  pelton run -f script.sh one two          a script, with $1 and $2
  echo 'sort | uniq' | pelton run -        the text from standard input
  pelton run --stats 'sort f | uniq -c'    and then what each stage of it cost, as `pelton time` shows it
  pelton run --strict 'sort f | uniq -c'   only if all of it runs natively; else say what does not, and why
  pelton run --check 'sort f | uniq -c'    and then whether the shell prints the same, byte for byte

Exit status: the text's own; 2 if pelton refuses it (a syntax error, --strict, --check of what must
not run twice) or cannot write the report; 3 if --check finds a difference; 126 or 127 as from a
shell.")]
pub struct RunArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    /// Run every command as it is: nothing natively, nothing rewritten
    #[arg(long, conflicts_with_all = ["without", "only"])]
    pub faithful: bool,

    /// Then show what each stage cost, as `pelton time` does: kernels by their share of their process
    #[arg(long)]
    pub stats: bool,

    /// Run nothing unless every stage runs natively: show those that would not, with the reasons
    #[arg(long, conflicts_with = "faithful")]
    pub strict: bool,

    /// Then let the shell run it too, and compare: output, messages, exit status. For texts that only read and print.
    /// Standard input and output are kept in temporary files, as large as they are
    #[arg(long, conflicts_with = "stats")]
    pub check: bool,

    /// With --check: run it twice even if it may do more than print
    #[arg(long, requires = "check")]
    pub run_twice: bool,

    #[command(flatten)]
    pub switches: SwitchArgs,

    #[command(flatten)]
    pub cores: CoreArgs,

    /// How many bytes kernels are given at once; for tests
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub block_bytes: Option<u32>,

    #[command(flatten, next_help_heading = "How --stats shows its figures")]
    pub report: ReportArgs,
}

/// What native passes may use of the machine.
#[derive(Args)]
pub struct CoreArgs {
    /// Threads of a native pass: a number, or `auto`: one to begin with, more while cores are idle, fewer when others
    /// want them [default: $PELTON_JOBS, or auto]
    #[arg(long, short, value_name = "N", value_parser = parse_jobs)]
    pub jobs: Option<Jobs>,

    /// Native passes give way to others: this much, from 0 to 19, as nice(1)
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10",
          value_parser = clap::value_parser!(i32).range(0..=19))]
    pub nice: Option<i32>,
}

impl CoreArgs {
    /// Sets it for everything that is started from now on.
    ///
    /// # Errors
    /// If `PELTON_JOBS` says something else than a number or `auto`.
    pub fn apply(&self) -> Result<(), Failure> {
        let named = std::env::var(JOBS_VARIABLE).ok().filter(|text| !text.is_empty());
        let jobs = match (self.jobs, named) {
            (Some(jobs), _) => jobs,
            (None, None) => Jobs::Auto,
            (None, Some(text)) => parse_jobs(&text).map_err(|reason| {
                Failure::new(format!("{JOBS_VARIABLE} is `{text}`: {reason}"))
                    .with_help(format!("{JOBS_VARIABLE}=2, {JOBS_VARIABLE}=auto, or --jobs 2"))
            })?,
        };
        pelton_run::set_jobs(jobs);
        pelton_run::set_niceness(self.nice.unwrap_or(0));
        Ok(())
    }
}

const JOBS_VARIABLE: &str = "PELTON_JOBS";

fn parse_jobs(text: &str) -> Result<Jobs, String> {
    if text == "auto" {
        return Ok(Jobs::Auto);
    }
    let jobs = text.parse().ok().filter(|jobs| (1..=1024).contains(jobs));
    jobs.map(Jobs::Fixed).ok_or_else(|| "a number from 1 to 1024, or `auto`, is wanted".to_owned())
}

/// Which rewrites are on.
#[derive(Args)]
pub struct SwitchArgs {
    /// Switch a rule or a command's kernel off; may be repeated (`pelton explain --rules` lists them)
    #[arg(long, value_name = "NAME")]
    pub without: Vec<String>,

    /// Switch all others off; may be repeated
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
}

impl SwitchArgs {
    /// Whether any was given.
    pub fn any(&self) -> bool {
        !self.without.is_empty() || !self.only.is_empty()
    }
}

/// Show what `run` would do with a pipeline, and why: what runs natively in one pass, what stays a process, which
/// rewrites fired or were declined. Nothing is run, unless --measure asks for it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton explain 'cut -d, -f2 data.csv | sort | uniq -c | sort -rn | head'
  pelton explain --without sort-uniq 'sort f | uniq -c'      the plan with a rule switched off
  pelton explain --dot 'sort f | uniq -c' | dot -Tsvg > plan.svg
  pelton explain --json 'tr a-z A-Z | wc -l'                 for programs: docs/explain.md
  pelton explain --measure 'awk NF access.log | wc -l'       which awk is fastest here
  pelton explain --rules                                     what can be switched off

An estimate is of CPU time, for the files that are read or for 100 MB, from costs measured on one
machine. Exit status: 0; 2 if pelton refuses the text.")]
pub struct ExplainArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    #[command(flatten)]
    pub switches: SwitchArgs,

    /// For programs: the plan as JSON, described in docs/explain.md
    #[arg(long)]
    pub json: bool,

    /// The plan as a picture, in the language of Graphviz' dot
    #[arg(long, conflicts_with = "json")]
    pub dot: bool,

    /// Run awk programs that can do nothing but print on the first megabyte of their input, with each awk that is
    /// installed, and tell which is fastest
    #[arg(long)]
    pub measure: bool,

    /// List the rules and kernels that can be switched off by name
    #[arg(long, exclusive = true)]
    pub rules: bool,
}

/// Run a pipeline unchanged and show what each stage cost, what it waited for, and which one is the bottleneck.
///
/// The table goes to standard error after the pipeline has ended; its output is not touched. Figures come from the
/// kernel's accounting at each exit, not from sampling. real is the time gained or lost, user+sys the price paid.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton time 'cat access.log | grep 404 | sort | uniq -c'
  pelton time --all make                             one command, every figure
  pelton time --runs 10 --warmup 1 'sort -u words'   medians and spread
  pelton time -o report.json --format json 'a | b'   the record, for programs
  pelton time -p 'a | b'                             as POSIX `time -p`

Columns: real, user and sys time; CPU is (user+sys)/real; peak mem the largest resident set; in and
out the bytes read and written by system calls, the program loader's included. A figure the kernel
would not give is shown as unknown, not as 0.

Exit status: the pipeline's own, or its death by a signal; 2 if pelton refuses the text or cannot
write the report; 126 or 127 as from a shell.")]
pub struct TimeArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    #[command(flatten)]
    pub report: ReportArgs,

    /// Run N times and show medians and spread; what the pipeline prints is read and dropped
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,

    /// Run N times first without measuring
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub warmup: u32,

    /// With --runs: let the pipeline's output through, from every run
    #[arg(long)]
    pub show_output: bool,

    /// Print the JSON schema of the record, and run nothing
    #[arg(long, exclusive = true)]
    pub schema: bool,
}

/// How figures are shown, and where.
#[derive(Args)]
pub struct ReportArgs {
    /// How to show the figures: table (the default), json, csv, markdown, posix, shell-style
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub format: Option<Format>,

    /// As POSIX `time -p`: short for --format posix
    #[arg(short = 'p', long, conflicts_with_all = ["format", "shell_style"])]
    pub posix: bool,

    /// A line per stage as the shell's `time` words it: short for --format shell-style
    #[arg(long, conflicts_with = "format")]
    pub shell_style: bool,

    /// Show every figure
    #[arg(short, long)]
    pub all: bool,

    /// Write the report to FILE instead of standard error; FILE appears whole or not at all
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl ReportArgs {
    /// The format that all options together ask for.
    pub fn format(&self) -> Format {
        match (self.posix, self.shell_style) {
            (true, _) => Format::Posix,
            (_, true) => Format::ShellStyle,
            _ => self.format.unwrap_or_default(),
        }
    }

    /// The first of these options that was given.
    pub fn given(&self) -> Option<&'static str> {
        let options = [
            (self.format.is_some(), "--format"),
            (self.posix, "--posix"),
            (self.shell_style, "--shell-style"),
            (self.all, "--all"),
            (self.output.is_some(), "--output"),
        ];
        options.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }
}

fn parse_format(name: &str) -> Result<Format, String> {
    name.parse().map_err(|error: pelton_report::UnknownFormat| error.to_string())
}

/// What to run.
#[derive(Args)]
pub struct SourceArgs {
    /// The shell whose text it is, by name or path [default: bash, or what the script's `#!` line names]
    #[arg(long, value_name = "SHELL")]
    pub shell: Option<OsString>,

    /// Read the text from FILE, a script; what follows are its arguments
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Shell text in one argument; `-` for text from standard input; or a command and its arguments as several.
    /// Options of pelton stand before it
    #[arg(value_name = "PIPELINE", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}
