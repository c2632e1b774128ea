//! Options that several subcommands share.

use crate::failure::Failure;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use pelton_report::Format;
use pelton_run::Jobs;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

/// What native passes may use of the machine.
#[derive(Args, Default)]
pub struct CoreArgs {
    /// Threads of a native pass, and processes of a command that may be several: a number, or `auto`: one to begin with,
    /// more while cores are idle, fewer when others want them [default: $PELTON_JOBS, or auto]
    #[arg(long, short, value_name = "N", value_parser = parse_jobs)]
    pub jobs: Option<Jobs>,

    /// Lower the priority of native work by N, from 0 to 19, as nice(1)
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10",
          value_parser = clap::value_parser!(i32).range(0..=19))]
    pub nice: Option<i32>,
}

/// What native passes may use of the machine, memory included.
#[derive(Args, Default)]
pub struct PassArgs {
    #[command(flatten)]
    pub cores: CoreArgs,

    /// Memory of all sorts and groupings together, as 500M or 2G: beyond it, they use temporary files in
    /// $TMPDIR, or in the directory that sort is told by -T [default: half of what is available]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub memory: Option<usize>,

    /// Of a call in a script: which other calls share that memory
    #[arg(long, value_name = "N", hide = true)]
    pub memory_key: Option<u64>,

    /// Where the calls of a script write down which of their stages run natively; for benchmarks
    #[arg(long, value_name = "FILE", hide = true)]
    pub log_calls: Option<String>,
}

impl PassArgs {
    /// Returns the key of processes sharing the memory; random by default.
    pub fn memory_key(&self) -> u64 {
        self.memory_key.unwrap_or_else(|| RandomState::new().hash_one(0_u8))
    }

    /// Applies the limits to everything started later.
    ///
    /// # Errors
    /// As [`CoreArgs::apply`].
    pub fn apply(&self) -> Result<(), Failure> {
        if let Some(bytes) = self.memory {
            pelton_run::set_memory(bytes, self.memory_key());
        }
        self.cores.apply()
    }
}

impl CoreArgs {
    /// Applies the settings to everything started later.
    ///
    /// # Errors
    /// If `PELTON_JOBS` is neither a number nor `auto`.
    pub fn apply(&self) -> Result<(), Failure> {
        pelton_run::set_jobs(self.jobs()?);
        pelton_run::set_niceness(self.nice.unwrap_or(0));
        Ok(())
    }

    /// Sets the niceness, if given. Returns the thread count: all cores by default.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn threads(&self) -> Result<usize, Failure> {
        if let Some(niceness) = self.nice {
            pelton_sys::cpu_waits::be_nice(niceness);
        }
        Ok(match self.jobs()? {
            Jobs::Fixed(threads) => threads,
            Jobs::Auto => std::thread::available_parallelism().map_or(1, usize::from),
        })
    }

    fn jobs(&self) -> Result<Jobs, Failure> {
        let named = std::env::var(JOBS_VARIABLE).ok().filter(|text| !text.is_empty());
        Ok(match (self.jobs, named) {
            (Some(jobs), _) => jobs,
            (None, None) => Jobs::Auto,
            (None, Some(text)) => parse_jobs(&text).map_err(|reason| {
                Failure::new(format!("{JOBS_VARIABLE} is `{text}`: {reason}"))
                    .with_help(format!("{JOBS_VARIABLE}=2, {JOBS_VARIABLE}=auto, or --jobs 2"))
            })?,
        })
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

/// Parses a size: bytes, or powers of 1024 with a unit.
fn parse_memory(text: &str) -> Result<usize, String> {
    let upper = text.to_ascii_uppercase();
    let number = upper.trim_end_matches(['B', 'K', 'M', 'G', 'T']);
    let power = match &upper[number.len()..] {
        "" | "B" => 0,
        "K" | "KB" => 1,
        "M" | "MB" => 2,
        "G" | "GB" => 3,
        "T" | "TB" => 4,
        _ => u32::MAX,
    };
    let bytes = number.parse::<usize>().ok().filter(|number| *number > 0);
    let unit = 1024usize.checked_pow(power);
    bytes
        .zip(unit)
        .and_then(|(number, unit)| number.checked_mul(unit))
        .ok_or_else(|| "a size is wanted, as 64K, 500M or 2G".to_owned())
}

/// Which rewrites are on.
#[derive(Args, Default)]
pub struct SwitchArgs {
    /// Switch a rule or a command's kernel off; may be repeated (`pelton explain --rules` lists them)
    #[arg(long, value_name = "NAME")]
    pub without: Vec<String>,

    /// Switch all others off; may be repeated
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,

    /// CMD, a name and perhaps its first arguments, does to each line of its standard input the same whatever stands around
    /// it: several of it may share the lines. May be repeated; $XDG_CONFIG_HOME/pelton/stateless.toml names more
    /// (commands = ["CMD"])
    #[arg(long, value_name = "CMD")]
    pub stateless: Vec<String>,
}

impl SwitchArgs {
    /// Whether `without` or `only` is set.
    pub fn any(&self) -> bool {
        !self.without.is_empty() || !self.only.is_empty()
    }
}

/// How figures are shown, and where.
#[derive(Args, Default)]
pub struct ReportArgs {
    /// How to show the figures [default: table]
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    pub format: Option<Format>,

    /// The record, for programs: short for --format json
    #[arg(long, conflicts_with_all = ["format", "posix", "shell_style"])]
    pub json: bool,

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
    /// Returns the format that the options select.
    pub fn format(&self) -> Format {
        match () {
            () if self.json => Format::Json,
            () if self.posix => Format::Posix,
            () if self.shell_style => Format::ShellStyle,
            () => self.format.unwrap_or_default(),
        }
    }

    /// Returns the first of these that was given.
    pub fn given(&self) -> Option<&'static str> {
        let options = [
            (self.format.is_some(), "--format"),
            (self.json, "--json"),
            (self.posix, "--posix"),
            (self.shell_style, "--shell-style"),
            (self.all, "--all"),
            (self.output.is_some(), "--output"),
        ];
        options.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }
}

/// Parses a format, and lists all for help and messages.
fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::names()).try_map(|name| name.parse::<Format>())
}

/// What to run.
#[derive(Args, Default)]
pub struct SourceArgs {
    /// The shell whose text it is, by name or path [default: bash, or what the script's `#!` line names]
    #[arg(long, value_name = "SHELL", value_hint = ValueHint::CommandName)]
    pub shell: Option<OsString>,

    /// Read the text from FILE, a script; what follows are its arguments, options included
    #[arg(short, long, value_name = "FILE", num_args = 1.., allow_hyphen_values = true)]
    pub file: Option<Vec<OsString>>,

    /// Shell text in one argument; `-` for text from standard input; or a command and its arguments as several.
    /// Options of pelton stand before it
    #[arg(value_name = "PIPELINE", trailing_var_arg = true, allow_hyphen_values = true,
          value_hint = ValueHint::CommandWithArguments)]
    pub words: Vec<OsString>,

    /// Options of the shell.
    #[arg(skip)]
    pub shell_options: Vec<OsString>,

    /// `$0`, `$1` and so on of a text.
    #[arg(skip)]
    pub parameters: Vec<OsString>,
}

impl SourceArgs {
    /// Returns the script and its arguments, if given.
    pub fn script(&self) -> Option<(&Path, &[OsString])> {
        let (file, arguments) = self.file.as_deref()?.split_first()?;
        Some((Path::new(file), arguments))
    }
}

/// Parses seconds as nanoseconds.
pub fn parse_interval(text: &str) -> Result<u64, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds| (0.01..=86_400.0).contains(seconds));
    seconds
        .map(|seconds| (seconds * 1e9) as u64)
        .ok_or_else(|| "seconds from 0.01 to 86400 are wanted".to_owned())
}
