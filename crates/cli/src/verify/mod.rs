//! `pelton verify`: compares the kernels with the tools of this machine.

mod progress;
mod report;
mod worker;

use crate::ending::Ending;
use crate::failure::Failure;
use crate::misunderstood::is_shell_text;
use crate::output;
use crate::terminal::{Look, When};
use clap::Args;
use pelton_commands::detect::{CacheFile, CacheFolder, Certificate, Certificates, Detector, SystemProbe};
use pelton_commands::{Implementation, Locale, TOOLS, Tool, lookup};
use pelton_parallel::lock;
use pelton_run::Environment;
use pelton_run::script::quoted;
use pelton_sys::clock;
use pelton_sys::signals::Requests;
use progress::Progress;
use report::Verdict;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use worker::{Job, Workers};

/// Compare pelton's kernels with the tools of this machine: known corner cases first, then random command lines over
/// random data, in C, C.UTF-8 and your own locale. What agrees runs natively from then on.
///
/// pelton knows the versions of a few distributions. Another version is left to the real command until it has been
/// compared here. Calls that differ stay with the real command, and each difference is printed as a report to send. The
/// result is a certificate in the cache folder of your user. It holds until the program's file changes, or pelton does.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton verify                every tool that has a kernel and can be compared
  pelton verify sort cut       these
  pelton verify --seconds 600 awk
                               longer: rarer differences are found
  pelton verify --list         what was verified here, and which calls differ
  pelton verify --forget sort  as if it had never been verified
  pelton verify --json > verified.json

Columns: compared, the runs of the kernel whose output, messages and status were
compared with the tool's, several for each command line; declined, the share of
command lines that the kernel leaves to the real command; different, the kinds
of calls that differ.

Exit status: 0 if nothing differs; 1 if something does; 3 if a tool could not be
compared, or not often enough; 2 if the arguments make no sense; or death by the
signal that interrupted it.")]
pub struct VerifyArgs {
    /// Names of tools, as found on the PATH [default: all that can be compared]
    #[arg(value_name = "TOOL")]
    pub tools: Vec<String>,

    /// How long to compare, all tools together
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub seconds: u32,

    /// How many tools to compare at a time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: Option<u32>,

    /// A locale to compare in as well; may be repeated [default: that of the environment]
    #[arg(long = "locale", value_name = "NAME")]
    pub locales: Vec<String>,

    /// The seed that the random cases begin from [default: another one each time]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// For programs: the results as JSON
    #[arg(long)]
    pub json: bool,

    /// Show what was verified before, and compare nothing
    #[arg(long, conflicts_with_all = ["seconds", "jobs", "locales", "seed", "forget"])]
    pub list: bool,

    /// Remove the certificates of these tools, or all
    #[arg(long, conflicts_with_all = ["seconds", "jobs", "locales", "seed", "json"])]
    pub forget: bool,

    /// Be the process that compares one tool
    #[arg(long, hide = true)]
    pub worker: bool,
}

/// A tool that will be compared.
struct Installed {
    tool: &'static Tool,
    path: PathBuf,
    claimed: Implementation,
}

/// The exit status if something differs.
const DIFFERS: i32 = 1;
/// The exit status if a tool could not be compared.
const UNPROVEN: i32 = 3;
/// The least time for each tool, in seconds.
const SECONDS_MIN: f64 = 0.5;

/// Compares tools, or lists or removes certificates.
pub fn verify(args: &VerifyArgs, color: When) -> Result<Ending, Failure> {
    if args.worker {
        return worker::work();
    }
    let file = CacheFolder::of_user(|name| std::env::var_os(name).map(PathBuf::from))
        .ok_or_else(|| {
            Failure::new(
                "there is no place for certificates: neither XDG_CACHE_HOME nor HOME is an absolute path",
            )
        })?
        .certificates();
    let names = names(&args.tools)?;
    let certificates = kept(&file)?;
    if args.list {
        let found = certificates.iter().filter(|one| is_of(one, &names)).cloned().collect::<Vec<_>>();
        output::print(&report::list(&found, args.json, Look::of_stdout(color)), "the certificates")?;
        return Ok(Ending::Status(0));
    }
    if args.forget {
        return forget(&file, &certificates, &names);
    }
    let installed = installed(&names)?;
    let locales = if args.locales.is_empty() { own_locales() } else { checked(&args.locales)? };
    // A certificate that cannot be kept would be found out after a minute.
    keep(&file, &certificates)?;
    compare(args, color, &installed, &locales, &file)
}

/// Reads the certificates. A folder that others may write is an error here: nothing in it would count.
fn kept(file: &CacheFile) -> Result<Certificates, Failure> {
    match file.read() {
        Ok(text) => Ok(Certificates::decode(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Certificates::default()),
        Err(error) => {
            let place = file.path();
            let folder = place.parent().unwrap_or(&place).display();
            let failure =
                Failure::io(format!("cannot trust the certificates in {}", place.display()), &error);
            Err(failure.with_help(format!(
                "the folder and the file must be yours, and nobody else may write them: chmod go-w {folder}"
            )))
        }
    }
}

fn keep(file: &CacheFile, certificates: &Certificates) -> Result<(), Failure> {
    file.write(&certificates.encode())
        .map_err(|error| Failure::io(format!("cannot write {}", file.path().display()), &error))
}

/// Whether a certificate is for one of these tools.
fn is_of(certificate: &Certificate, names: &[&'static str]) -> bool {
    let name = certificate.path.file_name().and_then(OsStr::to_str);
    names.is_empty() || name.is_some_and(|name| names.contains(&name))
}

fn forget(file: &CacheFile, certificates: &Certificates, names: &[&'static str]) -> Result<Ending, Failure> {
    let mut left = certificates.clone();
    let removed: Vec<PathBuf> =
        certificates.iter().filter(|one| is_of(one, names)).map(|one| one.path.clone()).collect();
    for path in &removed {
        left.remove(path);
    }
    keep(file, &left)?;
    let words = if removed.len() == 1 {
        "1 certificate".to_owned()
    } else {
        format!("{} certificates", removed.len())
    };
    output::print(&format!("removed {words}\n"), "what was removed")?;
    Ok(Ending::Status(0))
}

fn compare(
    args: &VerifyArgs,
    color: When,
    installed: &[Installed],
    locales: &[String],
    file: &CacheFile,
) -> Result<Ending, Failure> {
    pelton_verify::remove_leftovers();
    let requests = Requests::watch().map_err(|error| Failure::io("cannot watch for signals", &error))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let count = args.jobs.map_or(cores, |jobs| jobs as usize).min(installed.len()).max(1);
    let each = (f64::from(args.seconds) * count as f64 / installed.len().max(1) as f64).max(SECONDS_MIN);
    let seed = args.seed.unwrap_or_else(clock::unix_ms);
    let before = kept(file)?;
    let job = |one| Job { installed: one, seconds: each, seed, locales, before: &before };
    let jobs: Vec<Job<'_>> = installed.iter().map(job).collect();
    let progress = Progress::new(Duration::from_secs_f64(each * jobs.len().div_ceil(count) as f64));
    let verdicts = run_all(jobs, count, &requests, &progress);
    progress.end();
    // Another run may have written meanwhile.
    let mut certificates = kept(file)?;
    verdicts.iter().for_each(|verdict| verdict.enter(&mut certificates));
    keep(file, &certificates)?;
    if let Some(signal) = requests.taken().last() {
        return Ok(Ending::Signal(*signal));
    }
    let text = match args.json {
        true => report::json(&verdicts, seed),
        false => report::table_and_reports(&verdicts, seed, Look::of_stdout(color)),
    };
    output::print(&text, "the results")?;
    let status = match () {
        () if verdicts.iter().any(Verdict::differs) => DIFFERS,
        () if !verdicts.iter().all(Verdict::is_proven) => UNPROVEN,
        () => 0,
    };
    Ok(Ending::Status(status))
}

/// Compares each job in a process of its own, `count` at a time. Returns the verdicts in the order of the jobs.
fn run_all(jobs: Vec<Job<'_>>, count: usize, requests: &Requests, progress: &Progress) -> Vec<Verdict> {
    let queue = Mutex::new(jobs.into_iter().enumerate().collect::<VecDeque<_>>());
    let done = Mutex::new(Vec::new());
    let workers = Workers::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let next = lock(&queue).pop_front();
                        let Some((number, job)) = next.filter(|_| !requests.has_any()) else { break };
                        let verdict = worker::verdict(&job, &workers, progress);
                        lock(&done).push((number, verdict));
                    }
                })
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            if requests.has_any() {
                workers.end();
            }
            std::thread::sleep(POLL);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, verdict)| verdict).collect()
}

/// How often signals are looked for.
const POLL: Duration = Duration::from_millis(50);

/// Returns the names of these tools, each once.
fn names(given: &[String]) -> Result<Vec<&'static str>, Failure> {
    let mut names = Vec::new();
    for name in given {
        let Some(tool) = lookup(name.as_bytes()) else {
            let failure = Failure::new(format!("pelton knows no tool called `{name}`"));
            let help = match is_shell_text(name) {
                true => format!("pelton run --check {}", quoted(name)),
                false => comparable(),
            };
            return Err(failure.with_help(help));
        };
        if !tool.verifiable {
            let message =
                format!("`{name}` cannot be compared: random calls do not reach all that its kernel does");
            return Err(Failure::new(message).with_help(comparable()));
        }
        if !names.contains(&tool.name) {
            names.push(tool.name);
        }
    }
    Ok(names)
}

fn comparable() -> String {
    let names: Vec<&str> = TOOLS.iter().filter(|tool| tool.verifiable).map(|tool| tool.name).collect();
    format!("those that can be compared: {}", names.join(", "))
}

/// Returns the installed tools of these names; of no names, all that can be compared.
fn installed(names: &[&'static str]) -> Result<Vec<Installed>, Failure> {
    let mut detector = Detector::new(&SystemProbe, None);
    let tools: Vec<&'static Tool> = match names {
        [] => TOOLS.iter().copied().filter(|tool| tool.verifiable).collect(),
        names => names.iter().filter_map(|name| lookup(name.as_bytes())).collect(),
    };
    let mut found: Vec<Installed> = tools.iter().filter_map(|tool| on_path(tool, &mut detector)).collect();
    // What starts another program may change while its file stays, which only who names it may accept.
    if names.is_empty() {
        found.retain(|one| !one.claimed.starts_another());
    }
    let missing = names.iter().find(|name| !found.iter().any(|one| one.tool.name == **name));
    match missing {
        Some(name) => Err(Failure::new(format!("`{name}` is not on the PATH"))),
        None if found.is_empty() => Err(Failure::new("no tool that can be compared is on the PATH")),
        None => Ok(found),
    }
}

fn on_path(tool: &'static Tool, detector: &mut Detector<'_>) -> Option<Installed> {
    let path = pelton_run::find_program(tool.name.as_bytes(), &Environment::inherit())?;
    let path = std::path::absolute(Path::new(OsStr::from_bytes(&path))).ok()?;
    let claimed = detector.identify(&path);
    Some(Installed { tool, path, claimed })
}

/// Returns the locales that the environment names. Those that are C, or not installed, are left out later.
fn own_locales() -> Vec<String> {
    let names = ["LC_ALL", "LC_CTYPE", "LC_COLLATE", "LANG"];
    names.iter().filter_map(|name| std::env::var(name).ok()).collect()
}

fn checked(names: &[String]) -> Result<Vec<String>, Failure> {
    match names.iter().find(|name| Locale::named(name).is_none()) {
        Some(name) => Err(Failure::new(format!("the locale `{name}` is not installed"))
            .with_help("`locale -a` lists those that are")),
        None => Ok(names.to_vec()),
    }
}
