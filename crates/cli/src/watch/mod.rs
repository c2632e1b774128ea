//! `pelton watch`: running pipelines, live.

mod screen;
mod time_live;

pub use time_live::beside;

use crate::doctor::processes;
use crate::ending::Ending;
use crate::failure::Failure;
use crate::terminal::Look;
use crate::terminal::When;
use clap::Args;
use pelton_observe::Live;
use pelton_observe::doctor::Scope;
use pelton_record::live::Snapshot;
use pelton_report::live;
use pelton_sys::clock;
use pelton_sys::signals;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Watch pipelines that already run: what each stage does and waits for, its rates, how full its pipes are, and who sets the
/// pace. Nothing is restarted, stopped or traced.
///
/// On a terminal a screen that is redrawn in place (press ? for its keys), elsewhere a line for each pipeline now and then.
/// Processes are sampled every 20 ms.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton watch 4711  this process, its pipeline, and what it started
  pelton watch make  all processes of this name
  pelton watch       all pipelines of your own
  pelton watch --for 10 --json 4711 | jq .pipelines[0].verdict.headline

Exit status: 0, also when all that was watched has ended; 2 if there is nothing
to watch.")]
pub struct WatchArgs {
    /// A process id, or the name of a program; several may be given [default: all pipelines of your own]
    #[arg(value_name = "PID|NAME", conflicts_with = "all")]
    pub targets: Vec<String>,

    /// All pipelines that may be looked into, other users' as well
    #[arg(long)]
    pub all: bool,

    /// Seconds between two pictures, or lines [default: 0.5 on a terminal, else 1]
    #[arg(short, long, value_name = "SECONDS", value_parser = crate::shared_options::parse_interval)]
    pub interval: Option<u64>,

    /// End after so many seconds
    #[arg(long = "for", value_name = "SECONDS", value_parser = crate::shared_options::parse_interval)]
    pub for_ns: Option<u64>,

    /// Lines instead of a screen, on a terminal too
    #[arg(long)]
    pub lines: bool,

    /// For programs: a JSON object for each picture, one a line
    #[arg(long, conflicts_with = "lines")]
    pub json: bool,
}

/// The sampling interval.
const SAMPLE: Duration = Duration::from_millis(20);

/// Watches until the pipelines end or the user quits.
pub fn watch(args: &WatchArgs, color: When) -> Result<Ending, Failure> {
    let scope = scope(args)?;
    signals::default_sigpipe();
    let mut live = Live::attach(scope.clone());
    if live.is_over() && matches!(scope, Scope::These(_)) {
        return Err(Failure::new("cannot watch the process: it has ended, or you may not inspect it"));
    }
    let on_screen = std::io::stdout().is_terminal() && !args.lines && !args.json;
    let every_ns = args.interval.unwrap_or(if on_screen { 500_000_000 } else { 1_000_000_000 });
    let end_ns = args.for_ns.map(|for_ns| clock::now_ns() + for_ns);
    let forever = !matches!(scope, Scope::These(_));
    if on_screen {
        return screen::run(&mut live, every_ns, end_ns, forever, color);
    }
    let mut shown_ns = clock::now_ns();
    loop {
        std::thread::sleep(SAMPLE);
        live.sample();
        let now_ns = clock::now_ns();
        let over = (live.is_over() && !forever) || end_ns.is_some_and(|end_ns| now_ns >= end_ns);
        if over || now_ns - shown_ns >= every_ns {
            shown_ns = now_ns;
            print(&shown(&live.snapshot(), args.json, color))?;
        }
        if over {
            return Ok(Ending::Status(0));
        }
    }
}

/// Renders a snapshot as lines.
pub fn shown(now: &Snapshot, json: bool, color: When) -> String {
    if json {
        return pelton_report::compact(now);
    }
    live::lines(now, &Look::of_stdout(color).style(false))
}

fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::io("cannot print what is seen", &error))
}

fn scope(args: &WatchArgs) -> Result<Scope, Failure> {
    if args.targets.is_empty() {
        return Ok(if args.all { Scope::All } else { Scope::Own });
    }
    let mut pids = Vec::new();
    for target in &args.targets {
        pids.extend(processes(target, "pelton watch without a name: all pipelines of your own")?);
    }
    Ok(Scope::These(pids))
}
