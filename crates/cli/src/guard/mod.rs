//! `pelton guard`: runs a command, and reports when nothing moves in it any more.

mod record;
mod session;

use crate::args::Cli;
use crate::duration::parse_duration;
use crate::ending::Ending;
use crate::failure::Failure;
use crate::misunderstood;
use crate::output::{self, OutputTarget};
use crate::source;
use crate::terminal::When;
use clap::{Args, CommandFactory, ValueEnum, ValueHint};
use pelton_run::Environment;
use pelton_sys::spawn::{self, Action, Child};
use pelton_sys::{signals, stand_in, wait};
use session::Session;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Run a command and, when nothing moves in it any more, say which process waits for which, at which line of
/// Python, Ruby, Perl and compiled programs, and what to do.
///
/// Anything can be guarded. Its input, output, signals and exit status are those that it has without guard. The report goes to
/// standard error; guard then goes on waiting, unless --kill is given, and reports again when the picture has changed.
///
/// Nothing moves if, in all processes of the command, none starts or ends, no more than 16 bytes a second are read or
/// written, and less than 1% of a core is used. So the timers of an idle runtime do not count. A command that only repeats small
/// commands (`until curl …; do sleep 1; done`) is reported after three times as long.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton guard make test                 report when nothing moves for 30 s
  pelton guard --stall 60s --kill -- make test
                                         and end it then, with status 124
  pelton guard --kill=dead -- pytest     end it only if it can never go on
  pelton guard --timeout 20m -- ./ci.sh  after 20 minutes: report, and end it
  pelton guard --kill --signal QUIT -- java -jar a.jar
                                         let Java, Go or Python print its
                                         threads first
  pelton guard --json hang.json --html hang.html -- make test
  pelton guard --record last.jsonl -- ./nightly.sh
                                         keep the last minutes, whatever happens
  pelton guard --show last.jsonl         look at them

What is reported is what `pelton doctor` says, with its words: dead, slow, idle
or unknown. A server that waits for requests or a long sleep is idle: nothing
moves, and nothing is wrong.

Exit status: the command's own, or its death by the same signal; 124 if guard
ended it (--kill, --timeout); 2 if guard cannot start (bad options, a file that
cannot be written); 126 or 127 as from env(1).")]
pub struct GuardArgs {
    /// Report when nothing has moved for so long
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    pub stall: u64,

    /// After the report, end the command and all processes that it started: `dead` only if it can never go on
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "any")]
    pub kill: Option<KillWhen>,

    /// When it has run for so long, report what it does, and end it
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub timeout: Option<u64>,

    /// The signal that asks the processes to end [default: TERM]
    #[arg(long, value_name = "SIGNAL", value_parser = parse_signal)]
    pub signal: Option<i32>,

    /// How long they have to end, before SIGKILL
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration)]
    pub kill_after: u64,

    /// Write the reports to FILE instead of standard error
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// For programs: write all reports and how the command ended to FILE as JSON, described by --schema
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,

    /// Write the same to FILE as a page for a browser
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// Keep the last ten minutes in FILE, at most 4 MB, as JSON Lines: what moved, the processes, the reports
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,

    /// Print such a record, and run nothing
    #[arg(long, value_name = "FILE", exclusive = true, value_hint = ValueHint::FilePath)]
    pub show: Option<PathBuf>,

    /// Print the JSON schema of --json, and run nothing
    #[arg(long, exclusive = true)]
    pub schema: bool,

    /// The command and its arguments; options of guard stand before it
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true,
          value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// When guard ends the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KillWhen {
    /// Whenever nothing moves
    Any,
    /// Only if it can never go on
    Dead,
}

fn parse_signal(name: &str) -> Result<i32, String> {
    signals::number(name).ok_or_else(|| "a signal is wanted, such as TERM, QUIT or KILL".to_owned())
}

/// Runs a command under guard.
pub fn guard(args: &GuardArgs, color: When) -> Result<Ending, Failure> {
    if args.schema {
        output::print(&format!("{:#}\n", pelton_report::guard::schema()), "the schema")?;
        return Ok(Ending::Status(0));
    }
    if let Some(file) = &args.show {
        record::show(file, color)?;
        return Ok(Ending::Status(0));
    }
    if args.command.is_empty() {
        return Err(Failure::new("guard: there is no command to run").with_help("pelton guard -- make test"));
    }
    if source::is_stray_option(&args.command[0], &args.command) {
        return Err(misunderstood::unknown_option(&args.command[0], &Cli::command()));
    }
    for file in [&args.output, &args.json, &args.html].into_iter().flatten() {
        OutputTarget::prepare(Some(file))?;
    }
    let record = args.record.as_deref().map(record::Record::create).transpose()?;
    let pid = start(&args.command)?;
    let stand_in = stand_in::StandIn::for_command(pid);
    let _ = stand_in::release_inherited_descriptors();
    Session::new(args, color, pid, record).run(stand_in.as_ref())
}

fn start(words: &[OsString]) -> Result<u32, Failure> {
    let environment = Environment::inherit();
    let exec =
        pelton_run::command(words, &environment).map_err(|error| source::no_such_command(words, &error))?;
    signals::behave_as_a_shell();
    // Without it, orphans of the command are not watched: not worth failing for.
    let _ = wait::become_subreaper();
    stand_in::prepare();
    let child = Child {
        action: Action::Exec(exec),
        fallback: None,
        stdin: None,
        stdout: None,
        redirections: Vec::new(),
        not_mine: None,
    };
    spawn::spawn(&child).map_err(|error| Failure::io("guard: cannot start the command", &error))
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    OutputTarget::prepare(Some(file)).and_then(|target| target.write(text))
}

/// Says that something could not be written: the command goes on.
fn complain(failure: &Failure) {
    crate::terminal::say(&failure.render(crate::terminal::Look::of_stderr(When::Auto)));
}
