//! `pelton doctor`: why running processes are stuck.

use crate::ending::Ending;
use crate::failure::Failure;
use crate::output;
use crate::terminal::Look;
use crate::terminal::When;
use clap::Args;
use pelton_observe::doctor::{self, Scope};
use pelton_record::Diagnosis;
use pelton_record::diagnosis::Health;
use pelton_report::diagnosis;

/// Why a running process is stuck: who waits for whom, on which descriptor, and whether that can ever end.
///
/// Looks twice, at least 50 ms apart, and changes nothing. The verdict is one of
///   dead     it cannot go on: a circle of waits, a FIFO that nobody opens, an end of file that is held back
///   slow     it moves, at the pace of the process named
///   idle     it waits for time, a person, the network or a signal, or for one that does, such as a
///            server in the background that still holds its pipe
///   unknown  it may not be looked into, or waits in a way that cannot be followed
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  pelton doctor       all of your own processes: what is dead, what is slow,
                      which pipelines stand still
  pelton doctor 4711  this process, its children, and those at its pipes
  pelton doctor make  those of this name
  pelton doctor --dot 4711 | dot -Tsvg > waits.svg
  pelton doctor --json 4711 | jq .health

Exit status: 0 if nothing is dead; 1 if something is; 3 if the gravest that can
be said is unknown; 2 if pelton cannot look (no such process, bad options).
One's own processes can be examined without privileges; where the system
restricts that (kernel.yama.ptrace_scope), less can be told, and pelton says so."
)]
pub struct DoctorArgs {
    /// A process id, or the name of a program; several may be given [default: all of your own]
    #[arg(value_name = "PID|NAME", conflicts_with = "all")]
    pub targets: Vec<String>,

    /// All processes that may be looked into, other users' as well
    #[arg(long)]
    pub all: bool,

    /// Watch the process's threads for two seconds as well: who runs, and whether they take turns
    #[arg(long, conflicts_with = "all", conflicts_with = "dot")]
    pub threads: bool,

    /// For programs: the diagnosis as JSON, described by --schema
    #[arg(long)]
    pub json: bool,

    /// The waits as a picture, in the language of Graphviz' dot
    #[arg(long, conflicts_with = "json")]
    pub dot: bool,

    /// Print the JSON schema of the diagnosis, and look at nothing
    #[arg(long, exclusive = true)]
    pub schema: bool,
}

/// The exit status if something is dead.
const DEAD: i32 = 1;
/// The exit status if nothing is dead but something is unknown.
const UNKNOWN: i32 = 3;

/// Examines processes, prints the diagnosis.
pub fn doctor(args: &DoctorArgs, color: When) -> Result<Ending, Failure> {
    if args.schema {
        output::print(&format!("{:#}\n", diagnosis::schema()), "the schema")?;
        return Ok(Ending::Status(0));
    }
    let scope = scope(args)?;
    let mut found = doctor::examine(&scope);
    if args.threads {
        found.threads = Some(doctor::threads(one_process(&scope)?));
    }
    output::print(&shown(args, color, &found), "the diagnosis")?;
    Ok(Ending::Status(match found.health {
        Health::Dead => DEAD,
        Health::Unknown => UNKNOWN,
        Health::Slow | Health::Idle => 0,
    }))
}

fn shown(args: &DoctorArgs, color: When, found: &Diagnosis) -> String {
    match () {
        () if args.json => diagnosis::json(found),
        () if args.dot => diagnosis::dot(found),
        () => diagnosis::prose(found, &Look::of_stdout(color).style(false)),
    }
}

fn scope(args: &DoctorArgs) -> Result<Scope, Failure> {
    if args.targets.is_empty() {
        return Ok(if args.all { Scope::All } else { Scope::Own });
    }
    let mut pids = Vec::new();
    for target in &args.targets {
        pids.extend(processes(target, "pelton doctor without a PID: all of your own")?);
    }
    Ok(Scope::These(pids))
}

/// Returns the only process: `--threads` watches just one.
fn one_process(scope: &Scope) -> Result<u32, Failure> {
    match scope {
        Scope::These(pids) if pids.len() == 1 => Ok(pids[0]),
        _ => Err(Failure::new("--threads watches one process, with what it started")
            .with_help("pelton doctor --threads PID")),
    }
}

/// Finds the processes that an argument names: one by its id, or all of that name. `help` is the hint for
/// errors.
pub fn processes(target: &str, help: &str) -> Result<Vec<u32>, Failure> {
    let missing = |what: &str| Failure::new(format!("{what} `{target}`")).with_help(help);
    match target.parse() {
        Ok(pid) if doctor::exists(pid) => Ok(vec![pid]),
        Ok(_) => Err(missing("there is no process")),
        Err(_) => match doctor::find(target) {
            found if found.is_empty() => Err(missing("there is no process called")),
            found => Ok(found),
        },
    }
}
