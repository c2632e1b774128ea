//! The command line.

use crate::copy::CopyArgs;
use crate::find::FindArgs;
use crate::history::{self, BudgetArg};
use crate::json::JsonArgs;
use crate::shared_options::{PassArgs, ReportArgs, SourceArgs, SwitchArgs, parse_interval};
use crate::size::parse_size;
use crate::terminal::When;
use crate::what_if::How;
use clap::{Args, Parser, Subcommand, ValueHint};
use pelton_run::Profiled;
use std::ffi::OsString;
use std::path::PathBuf;

/// See where a shell pipeline spends its time, and why; run it exactly as the shell would.
#[derive(Parser)]
#[command(name = "pelton", version, help_template = HELP, after_help = EXAMPLES, max_term_width = 80)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,

    #[command(flatten)]
    pub color: Color,
}

/// The option that all verbs have.
#[derive(Args)]
pub struct Color {
    /// When to use colours; NO_COLOR turns them off too
    #[arg(long = "color", global = true, value_name = "WHEN", default_value = "auto")]
    pub when: When,
}

/// What pelton says when it is called without arguments.
pub const FIRST_STEPS: &str = "\
pelton shows where a shell pipeline spends its time, and runs it faster.

  pelton time 'sort access.log | uniq -c'   which stage is slow, and why
  pelton run 'sort access.log | uniq -c'    the same output, often faster
  pelton doctor                             why a running pipeline is stuck

`pelton --help` names all commands.
";

/// The help: clap cannot group commands.
const HELP: &str = "\
{about}

{usage-heading} {usage}

See:
  time         Run a pipeline unchanged: what each stage cost and waited for
  explain      What `run` would do with a pipeline, and why; nothing is run
  watch        What pipelines that already run do now, and who sets the pace
  last         What the last long line of this shell cost, typed plainly
  doctor       Why a running process is stuck, and which other it waits for
  guard        Run a command; when nothing moves in it, say why
  compare      Whether a change helped: two texts run in turns

Run:
  run          Run a pipeline as the shell would: same output, often faster
  sh           As a shell, with run: `#!` lines, make, CI
  pipe         Run a pipeline given as words, which nothing expands again
  verify       Compare pelton with the tools that are installed here
  report       Write down a difference, for the developers

Parts of pipelines:
  json         JSON to lines for grep, sort and awk, or selected values
  csv          Columns and records of CSV, by name and condition
  find         Search trees as GNU find does, with all cores
  copy         Copy files as cp does, in the fastest way
  buffer       Hold what a slow reader has not taken, so that its writer goes on

Shell and manual:
  init         Completions and keys for the interactive shell
  completions  Completions alone
  man          The manual, or a page of it: `pelton man time`
  help         This help, or that of a command: `pelton help time`

Options:
{options}{after-help}
";

const EXAMPLES: &str = "\
Examples:
  pelton time 'sort access.log | uniq -c | sort -rn | head'
  pelton time --runs 10 'tr a-z A-Z < big.txt | wc'  medians of ten runs
  pelton run 'grep -c error *.log'                   the same output
  producer | pelton buffer | slow-reader             the producer need not wait
  pelton watch 4711                                  what it does now
  pelton doctor 4711                                 why it is stuck
  pelton guard --kill make test                      a report and an end if it hangs
  pelton compare 'sort f | uniq' 'sort -u f'         whether a change helped
  pelton find src -name '*.rs' -size +10k            find, with all cores";

#[derive(Subcommand)]
pub enum Verb {
    Run(RunArgs),
    Time(TimeArgs),
    Explain(ExplainArgs),
    Json(JsonArgs),
    Csv(crate::csv::CsvArgs),
    Buffer(BufferArgs),
    Watch(crate::watch::WatchArgs),
    Doctor(crate::doctor::DoctorArgs),
    Guard(crate::guard::GuardArgs),
    Last(crate::last::LastArgs),
    #[command(hide = true)]
    Stamp(crate::arrivals::StampArgs),
    Compare(CompareArgs),
    Pipe(PipeArgs),
    Sh(ShArgs),
    Copy(CopyArgs),
    Find(FindArgs),
    Verify(crate::verify::VerifyArgs),
    Report(crate::report::ReportVerbArgs),
    Man(crate::manual::ManArgs),
    Completions(crate::manual::CompletionsArgs),
    Init(crate::init::InitArgs),
    #[command(hide = true)]
    Line(crate::init::LineArgs),
    #[command(hide = true)]
    Plan(crate::workers::PlanArgs),
    #[command(hide = true)]
    Worker(crate::workers::WorkerArgs),
}

/// Run a pipeline exactly as the shell would: same output, same exit status, same files, often faster.
///
/// Neighbouring commands that pelton knows run natively in one pass; every other one runs as it is, and what pelton
/// does not model runs in the shell itself. Standard input, the terminal and signals are passed on as by a shell.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton run 'sort data.csv | uniq -c'    one argument: shell text
  pelton run sort -u data.csv             several: a command and its arguments,
                                          without a shell
  pelton run -f script.sh one two         a script, with $1 and $2
  echo 'sort | uniq' | pelton run -       the text from standard input
  pelton run --stats 'sort f | uniq -c'   and then what each stage of it cost,
                                          as `pelton time` shows it
  pelton run --progress 'sort f > g'      how far it is, meanwhile
  pelton run --strict 'sort f | uniq -c'  only if all of it runs natively; else
                                          say what does not, and why
  pelton run --check 'sort f | uniq -c'   and then whether the shell prints the
                                          same, byte for byte

Exit status: the text's own; 2 if pelton refuses it (a syntax error, --strict,
--check of what must not run twice) or cannot write the report; 3 if --check
finds a difference; 126 or 127 as from a shell.")]
pub struct RunArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    /// Run every command as it is: nothing natively, nothing rewritten
    #[arg(long, conflicts_with_all = ["without", "only"])]
    pub faithful: bool,

    /// Then show what each stage cost, as `pelton time` does: kernels by their share of their process
    #[arg(long)]
    pub stats: bool,

    /// Show how far it is while it runs, on standard error: bytes read of all where that is known, rate, time left, and how
    /// many threads and processes work; one line redrawn on a terminal, else a line every few seconds
    #[arg(long, conflicts_with_all = ["stats", "check"])]
    pub progress: bool,

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
    pub passes: PassArgs,

    #[command(flatten, next_help_heading = "Several workers")]
    pub on: crate::workers::OnArgs,

    /// How many bytes kernels are given at once; for tests
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub block_bytes: Option<u32>,

    /// End by the signal that ended a stage, SIGPIPE aside; for the parts of --on
    #[arg(long, hide = true)]
    pub die_with_stages: bool,

    /// How many bytes each of several processes of a command is given; for tests
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub part_bytes: Option<u32>,

    #[command(flatten, next_help_heading = "How --stats shows its figures")]
    pub report: ReportArgs,
}

/// Show what `run` would do with a pipeline, and why: what runs natively in one pass, what stays a process, which
/// rewrites fired or were declined. Nothing is run, unless --measure asks for it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton explain 'cut -d, -f2 data.csv | sort | uniq -c | sort -rn | head'
  pelton explain --without sort-uniq 'sort f | uniq -c'
                                              the plan with a rule switched off
  pelton explain --dot 'sort f | uniq -c' | dot -Tsvg > plan.svg
  pelton explain --json 'tr a-z A-Z | wc -l'  for programs: docs/explain.md
  pelton explain --measure 'awk NF access.log | wc -l'
                                              which awk is fastest here
  pelton explain --rules                      what can be switched off

An estimate is of CPU time, for the files that are read or for 100 MB, from
costs measured on one machine.

Exit status: 0; 2 if pelton refuses the text.")]
pub struct ExplainArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    #[command(flatten)]
    pub switches: SwitchArgs,

    /// Show how `pelton run --on` would divide it: the parts of its input, what runs on each, how their outputs are merged
    #[arg(long, value_name = "TARGET", conflicts_with_all = ["json", "dot", "measure"])]
    pub on: Option<crate::workers::Target>,

    /// With --on: parts of about SIZE
    #[arg(long, value_name = "SIZE", requires = "on", value_parser = crate::size::parse_size)]
    pub part_size: Option<u64>,

    /// For programs: the plan as JSON, described in docs/explain.md
    #[arg(long)]
    pub json: bool,

    /// The plan as a picture, in the language of Graphviz' dot
    #[arg(long, conflicts_with = "json")]
    pub dot: bool,

    /// Run programs of awk and sed that can do nothing but print on the first megabyte of their input, with each awk
    /// or sed that is installed, and tell which is fastest
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
  pelton time ./nightly.sh                      the pipelines in a script, stage
                                                by stage and by line
  pelton time -f nightly.sh one two             the same of a file that cannot
                                                be executed
  pelton time --all make                        one command, every figure, and
                                                every program it starts
  pelton time --runs 10 --warmup 1 'sort -u words'
                                                medians and spread
  pelton time -o report.json --json 'a | b'     the record, for programs
  pelton time --threads python3 work.py         do its threads share the cores,
                                                or take turns?
  pelton time --syscalls 'head -c 1M big | wc'  which system calls, how often,
                                                how long
  pelton time --exact 'a | b | c'               what each stage waits for,
                                                traced instead of sampled
  pelton time --html run.html 'a | b | c'       a page: what each stage did when
  pelton time --arrivals 'producer | sort | head'
                                                does anything come before all is
                                                generated?
  pelton time --what-if 'a | b | c'             what would a faster stage gain?
  pelton time --inside 2 'a | work.py | b'      which lines of work.py cost most
  pelton time --live 'a | b' > out              the same figures while it runs
  pelton time -p 'a | b'                        as POSIX `time -p`
  pelton time --history nightly --budget real=+20% 'a | b'
                                                keep its figures; fail if it is
                                                slower than before
  pelton time --history nightly                 the runs so far

Columns: real, user and sys time; CPU is (user+sys)/real; peak mem the largest
resident set; in and out the bytes read and written by system calls, the program
loader's included. A figure the kernel would not give is shown as unknown, not
as 0.

Exit status: the pipeline's own, or its death by a signal; 2 if pelton refuses
the text or cannot write the report; 3 if it succeeded over a --budget; 126 or
127 as from a shell.")]
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

    /// Of a single command, do not follow what it starts. By default its forks, execs and exits are followed (by ptrace, with no
    /// stop between), and pipelines and commands found among them are shown
    #[arg(long, conflicts_with_all = ["threads", "syscalls", "exact", "runs", "warmup"])]
    pub outside: bool,

    /// Show what goes on while it runs, as `pelton watch` does: on the terminal of standard error if standard output goes
    /// elsewhere, else a line for each pipeline every second
    #[arg(long, conflicts_with_all = ["runs", "warmup", "threads", "syscalls", "exact"])]
    pub live: bool,

    /// Write what each stage did when to FILE, one page for a browser: timeline, pipes, rates, table; no network needed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["runs", "warmup", "threads", "syscalls", "exact"])]
    pub html: Option<PathBuf>,

    /// Write the same to FILE as a trace for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["runs", "warmup", "threads", "syscalls", "exact"])]
    pub trace: Option<PathBuf>,

    /// Show when each line came out of the first stage, and when out of the last: whether a stage between (sort) gathers all of
    /// its input. Two stages of pelton's own note that. In the formats table and json
    #[arg(long, conflicts_with_all = ["runs", "warmup", "threads", "syscalls", "exact"])]
    pub arrivals: bool,

    /// Keep what each stage does in the course of time in the record (--json)
    #[arg(long, conflicts_with_all = ["runs", "warmup", "threads", "syscalls", "exact"])]
    pub timeline: bool,

    /// Show each stage's threads as well, those of what it started included, and whether they take turns. In the formats table
    /// and json
    #[arg(long, conflicts_with_all = ["runs", "warmup"])]
    pub threads: bool,

    /// Count each stage's system calls: how often, errors, time, bytes. By ptrace, which slows them down: how much is measured
    /// and told, so take a sample of the input. Set-uid programs then lack their privilege. In the formats table and json
    #[arg(long, conflicts_with_all = ["runs", "warmup", "threads"])]
    pub syscalls: bool,

    /// Know what each stage waits for exactly, not by samples: each of its system calls is seen to begin and to end, by ptrace. That
    /// slows them down: how much is measured and told, and the time is shown as held by the tracing. Set-uid programs then
    /// lack their privilege
    #[arg(long, conflicts_with_all = ["runs", "warmup", "threads", "syscalls"])]
    pub exact: bool,

    /// Predict what the whole would take if one stage were free, twice as fast, split over the cores or given a larger pipe, and
    /// under `pelton run` where that is sure: a model of the pipeline, made from its record. `measure` also runs it again, once
    /// for each stage, with all other stages slowed down, which shows what a faster stage would gain
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "model",
          conflicts_with_all = ["runs", "warmup", "threads", "syscalls", "exact", "arrivals"])]
    pub what_if: Option<How>,

    /// Show where the CPU time of stage N goes, or of each stage (`all`): the lines of Python, Ruby and Perl programs, the lines or
    /// functions of compiled ones. Threads that run are stopped about 200 times a second, for some 0.1 ms, to read their stacks.
    /// With --html, a flame graph. In the formats table and json
    #[arg(long, value_name = "N", value_parser = parse_profiled,
          conflicts_with_all = ["runs", "warmup", "threads", "syscalls", "exact", "arrivals", "outside"])]
    pub inside: Option<Profiled>,

    /// Keep the figures of this run under NAME, say how they compare with the earlier ones, and draw their course. Without a
    /// pipeline, list the runs of NAME. They are in $XDG_STATE_HOME/pelton/history
    #[arg(long, value_name = "NAME", value_parser = history::parse_name,
          conflicts_with_all = ["syscalls", "exact", "inside"])]
    pub history: Option<String>,

    /// Fail, with status 3, if the pipeline succeeds but uses more: real=2s, cpu=30s (user+sys), mem=500M; with --history also
    /// real=+20%, more than the median of the earlier runs. May be repeated, or several separated by commas
    #[arg(long, value_name = "LIMIT", value_delimiter = ',', value_parser = history::parse_budget,
          conflicts_with_all = ["syscalls", "exact", "inside"])]
    pub budget: Vec<BudgetArg>,

    /// Print the JSON schema of the record, and run nothing
    #[arg(long, exclusive = true)]
    pub schema: bool,
}

/// Reads the number of a stage, from 1, or `all`.
fn parse_profiled(text: &str) -> Result<Profiled, String> {
    match text.parse::<usize>() {
        _ if text == "all" => Ok(Profiled::All),
        Ok(number @ 1..) => Ok(Profiled::Stage(number - 1)),
        _ => Err("the number of a stage, from 1, or all".to_owned()),
    }
}

/// Run a pipeline given as words: the calling shell has expanded them, and nothing is expanded again.
///
/// The first word stands between the stages, and must be no argument of theirs. `pelton run` and `pelton sh` write such
/// calls into scripts, so that the shell keeps expansion and control, and pelton runs the pipelines.
#[derive(Args, Default)]
#[command(after_help = "\
Examples:
  pelton pipe ::: grep -- \"$pattern\" \"$file\" ::: sort ::: uniq -c
  pelton pipe --read=\"$file\" ::: LC_ALL=C sort -u ::: wc -l

Exit status: the pipeline's own; 2 if pelton refuses it; 126 or 127 as from a
shell.")]
pub struct PipeArgs {
    /// The shell whose pipeline it is: what pelton does not run itself goes to it [default: bash]
    #[arg(long, value_name = "SHELL", value_hint = ValueHint::CommandName)]
    pub shell: Option<OsString>,

    /// The name that messages of the shell begin with: a script's `$0`
    #[arg(long, value_name = "NAME")]
    pub name: Option<OsString>,

    /// The line that they name, or one for each stage
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub line: Vec<u32>,

    /// Options that are on in the calling shell: its `$SHELLOPTS`. Of these, pipefail counts
    #[arg(long, value_name = "OPTIONS")]
    pub shell_options: Option<OsString>,

    /// The one-letter options that are on in the calling shell: its `$-`. Of these, x counts
    #[arg(long, value_name = "LETTERS", allow_hyphen_values = true)]
    pub flags: Option<OsString>,

    /// If x is on, print each command as the shell does; bash does so behind this many `+`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8))]
    pub trace: Option<u8>,

    /// Nothing else reads the standard input: stages may read more of it than they need
    #[arg(long)]
    pub own_input: bool,

    /// Drop the messages of these stages, as `2>/dev/null` does
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub silent: Vec<usize>,

    /// Standard input of the first stage
    #[arg(long, value_name = "FILE")]
    pub read: Option<OsString>,

    /// Standard output of the last stage, as with `>`
    #[arg(long, value_name = "FILE")]
    pub write: Option<OsString>,

    /// The same, as with `>>`
    #[arg(long, value_name = "FILE", conflicts_with = "write")]
    pub append: Option<OsString>,

    /// The same, as with `>|`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["write", "append"])]
    pub clobber: Option<OsString>,

    /// Run every command as it is: nothing natively, nothing rewritten
    #[arg(long, conflicts_with_all = ["without", "only"])]
    pub faithful: bool,

    #[command(flatten)]
    pub switches: SwitchArgs,

    #[command(flatten)]
    pub passes: PassArgs,

    /// A separator, then the words of each stage with the separator between stages
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub words: Vec<OsString>,
}

/// Run a script, or a text behind -c, as the shell does; for `#!` lines, Makefiles and CI.
///
/// Everything behind the options of pelton is as for the shell: its own options, and then a script or `-c` and a text, with
/// arguments.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton sh script.sh one two
  pelton sh -eo pipefail -c 'sort f | uniq -c' name one
  #!/usr/bin/env -S pelton sh  the first line of a script; it is bash's, unless
                               --shell says otherwise
  SHELL := pelton              the recipes of a Makefile; options of the shell
                               stay before `-c`
  .SHELLFLAGS := sh --shell sh -c
                               (without `--shell sh` if they are bash's)

Exit status: the script's own; 2 if pelton refuses it; 126 or 127 as from a
shell.")]
pub struct ShArgs {
    /// The shell whose script it is [default: bash]
    #[arg(long, value_name = "SHELL", value_hint = ValueHint::CommandName)]
    pub shell: Option<OsString>,

    /// The shell's options; then the script, or -c and a text; then arguments
    #[arg(value_name = "SCRIPT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

/// Say whether a change helped: two texts run in turns, their times and their output compared.
///
/// A change helped if real fell, or if user+sys fell at the same real; more user+sys at the same real is a loss. Each
/// run of AFTER is set against the run of BEFORE next to it, and what chance alone could do is no difference.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton compare 'sort f | uniq' 'sort -u f'
  pelton compare 'sort f | uniq -c'    plainly, and by pelton run
  pelton compare -f script.sh one two  a script, with $1 and $2
  pelton compare --runs 30 --threshold 5 'gzip -9 < f' 'gzip -6 < f'
  pelton compare --json 'a f' 'b f' > both.json
                                       `results` is as hyperfine writes it
  pelton compare --input-scale 'sort' 'sort -u' < f
                                       how user+sys grow with the input
  pelton time --runs 10 --json -o base.json 'sort f'
                                       a record to compare with
  pelton compare --baseline base.json  on a later day: status 1 if it is slower
  pelton compare --html p.html 'a' 'b' a page: both timelines, one above the
                                       other
  pelton compare --html p.html a.json b.json
                                       two records that `pelton time --timeline
                                       --json` wrote; nothing is run

Both texts are run several times: what they do has to do no harm when done
again. What they print and how they end is compared of one run of each, and so
are the files that they write in this folder and below, but hidden ones.
Standard input is given to every run if it is a file.

Exit status: 0 if it helped or there is no difference; 1 if it is worse; 3 if
the output is not the same; 2 if pelton could not compare; 130 if interrupted.")]
pub struct CompareArgs {
    /// Shell text as it is now, or `-` for text from standard input; if AFTER is one too, a record of `pelton time --json`. With
    /// --baseline it may be left out: the record's text
    #[arg(required_unless_present_any = ["baseline", "file"])]
    pub before: Option<OsString>,

    /// Shell text as it could be [default: BEFORE by `pelton run`; with --input-scale or --baseline, none]
    pub after: Option<OsString>,

    /// Instead of texts, a script by its shell, and by `pelton run`; what follows are its arguments, options included
    #[arg(short, long, value_name = "FILE", num_args = 1.., allow_hyphen_values = true, value_hint = ValueHint::FilePath,
          conflicts_with_all = ["before", "after", "baseline", "input_scale"])]
    pub file: Option<Vec<OsString>>,

    /// Instead of BEFORE, a record that `pelton time --runs N --json` wrote earlier: its runs are compared with as many of
    /// one text. Their outputs are not compared
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input_scale", "after"], value_hint = ValueHint::FilePath)]
    pub baseline: Option<PathBuf>,

    /// Write both to FILE, one page for a browser: what each stage did when, BEFORE above AFTER with the same time axis. Texts
    /// are run once more for it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input_scale", "baseline"], value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// How many times to run each [default: 10, or as many as 20 s allow, but at least 5]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: Option<u32>,

    /// A change of less than so many per cent is none [default: 1; with --baseline 10]
    #[arg(long, value_name = "PERCENT")]
    pub threshold: Option<f64>,

    /// Do not compare what they print and write
    #[arg(long, conflicts_with = "input_scale")]
    pub any_output: bool,

    /// Instead, run each on growing parts of standard input, a file, and fit how user+sys grow
    #[arg(long, conflicts_with = "threshold")]
    pub input_scale: bool,

    /// The shell whose texts they are, by name or path [default: bash, or what the script's `#!` line names]
    #[arg(long, value_name = "SHELL", value_hint = ValueHint::CommandName)]
    pub shell: Option<OsString>,

    /// For programs: everything, as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Let a writer go on at its own pace however slow its reader is: hold what the reader has not taken, in memory first, then
/// on disk, and deliver it all the while.
///
/// Copies standard input to standard output. While the reader keeps up, bytes pass from pipe to pipe without being
/// copied. Memory and disk are given back as they become empty. With a command, holds what that prints, standard output
/// and standard error each in order, so that it never waits for whoever reads them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tar -c src | pelton buffer --progress | ssh host 'cat > src.tar'
  producer | pelton buffer --memory 64M --disk 10G | slow-reader
  pelton buffer -- make 2>&1 | less
                    make never waits for the reader of its output
  pelton buffer --detach -- cmd
                    for a parent that waits for cmd's end before it reads: cmd
                    ends at once, and what it printed arrives all the same
  producer | pelton buffer --json -o stats.json | slow-reader

Where memory and disk are used up, the writer waits for the reader, as it would
without a buffer. A disk without room is reported once, and tried again every
0.25 s. On SIGTERM, SIGHUP or SIGINT nothing more is taken, what was taken is
delivered, and then the signal ends pelton; a second SIGINT ends it at once. A
command is sent SIGTERM and SIGHUP, and its output delivered to the end.

Exit status: 0; 1 if something could not be read or written; as by SIGPIPE if
the reader leaves; with a command, its own, or its death by a signal; 126 or 127
if it cannot be run; 2 if the arguments make no sense.")]
pub struct BufferArgs {
    /// Hold at most SIZE in memory: 4096, 64M, 1G, 0 for none [default: a quarter of what is available, at most 1G]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,

    /// Hold at most SIZE more in a file without a name in $TMPDIR [default: half of what is free there]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub disk: Option<u64>,

    /// Show on standard error how much goes through, how much is held, and who waits: on a terminal one line, redrawn;
    /// else a line at a time
    #[arg(long)]
    pub progress: bool,

    /// With --progress: so many seconds apart [default: 1; on a terminal 0.5]
    #[arg(long, value_name = "SECONDS", requires = "progress", value_parser = parse_interval)]
    pub interval: Option<u64>,

    /// At the end, print statistics as JSON on standard error
    #[arg(long)]
    pub json: bool,

    /// With --json: write them to FILE instead; FILE appears whole or not at all
    #[arg(short, long, value_name = "FILE", requires = "json")]
    pub output: Option<PathBuf>,

    /// With a command: end when it ends, and leave what its reader has not taken to a process in the background
    #[arg(long, requires = "command")]
    pub detach: bool,

    /// A command and its arguments, whose output is held
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_help_names_each_command_once_in_80_columns() {
        let listed: Vec<&str> = HELP
            .lines()
            .filter_map(|line| line.strip_prefix("  "))
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        let root = Cli::command();
        let mut named: Vec<&str> =
            root.get_subcommands().filter(|verb| !verb.is_hide_set()).map(|verb| verb.get_name()).collect();
        named.push("help");
        named.sort_unstable();
        let mut found = listed.clone();
        found.sort_unstable();
        assert_eq!(found, named);
        let long = |text: &str| text.lines().find(|line| line.chars().count() > 80).map(str::to_owned);
        assert_eq!(long(&Cli::command().render_long_help().to_string()), None);
        assert_eq!(long(FIRST_STEPS), None);
        // What is longer would be wrapped once more, in the middle of a line.
        for verb in root.get_subcommands() {
            let below = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert_eq!(long(&below), None, "{}", verb.get_name());
        }
    }
}
