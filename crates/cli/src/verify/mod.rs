//! `pelton verify`: compares the kernels with the tools of this machine.

mod progress;
mod report;
mod worker;

use crate::ending::Ending;
use crate::failure::Failure;
use crate::output;
use crate::terminal::{Look, When};
use clap::Args;
use pelton_commands::detect::{CacheFile, CacheFolder, Certificates, Detector, SystemProbe};
use pelton_commands::{Family, Implementation, Locale, TOOLS, Tool, lookup};
use pelton_run::Environment;
use pelton_sys::clock;
use pelton_sys::signals::Requests;
use pelton_verify::can_verify;
use progress::Progress;
use report::Verdict;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use worker::Job;

/// Compare pelton's kernels with the tools of this machine: known corner cases first, then random command lines over
/// random data, in C, C.UTF-8 and your own locale. What agrees runs natively from then on.
///
/// pelton knows the versions of a few distributions. Another version is left to the real command until it has been
/// compared here. Calls that differ stay with the real command, and each difference is printed as a report to send. The
/// result is a certificate in the cache folder of your user. It holds until the program's file changes, or pelton does.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton verify                    every tool that has a kernel and can be compared
  pelton verify sort cut           these
  pelton verify --seconds 600 awk  longer: rarer differences are found
  pelton verify --list             what was verified here, and which calls differ
  pelton verify --forget sort      as if it had never been verified
  pelton verify --json > verified.json

Columns: compared, the runs of the kernel whose output, messages and status were compared with the
tool's; declined, the share of command lines that the kernel leaves to the real command; different,
the kinds of calls that differ.

Exit status: 0 if nothing differs; 1 if something does; 3 if a tool could not be compared, or not
often enough; 2 if the arguments make no sense; or death by the signal that interrupted it.")]
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

    /// The seed of the random cases, to repeat a run [default: another one each time]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// For programs: the results as JSON
    #[arg(long)]
    pub json: bool,

    /// Show what was verified before, and compare nothing
    #[arg(long, conflicts_with_all = ["seconds", "jobs", "locales", "seed", "forget", "worker"])]
    pub list: bool,

    /// Remove the certificates of these tools, or all
    #[arg(long, conflicts_with_all = ["seconds", "jobs", "locales", "seed", "json", "worker"])]
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
    let certificates = CacheFolder::of_user(|name| std::env::var_os(name).map(PathBuf::from))
        .ok_or_else(|| {
            Failure::new(
                "there is no place for certificates: neither XDG_CACHE_HOME nor HOME is an absolute path",
            )
        })?
        .certificates();
    let installed = installed(&args.tools)?;
    if args.list {
        let all = Certificates::decode(&certificates.load().unwrap_or_default());
        let found = report::listed(&all, &installed, args.tools.is_empty());
        output::print(&report::list(&found, args.json, Look::of_stdout(color)), "the certificates")?;
        return Ok(Ending::Status(0));
    }
    if args.forget {
        return forget(&certificates, &installed, args.tools.is_empty());
    }
    let locales = if args.locales.is_empty() { own_locales() } else { checked(&args.locales)? };
    // A certificate that cannot be kept would be found out after a minute.
    let text = Certificates::decode(&certificates.load().unwrap_or_default()).encode();
    certificates
        .write(&text)
        .map_err(|error| Failure::io("cannot keep certificates in the cache folder", &error))?;
    compare(args, color, &installed, &locales, &certificates)
}

fn forget(file: &CacheFile, installed: &[Installed], all: bool) -> Result<Ending, Failure> {
    let mut certificates = Certificates::decode(&file.load().unwrap_or_default());
    let before = certificates.iter().count();
    if all {
        certificates = Certificates::default();
    }
    for one in installed {
        certificates.remove(&one.path);
    }
    let removed = before - certificates.iter().count();
    file.write(&certificates.encode())
        .map_err(|error| Failure::io("cannot write the file of certificates", &error))?;
    let words = if removed == 1 { "1 certificate".to_owned() } else { format!("{removed} certificates") };
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
    let requests = Requests::watch().map_err(|error| Failure::io("cannot watch for signals", &error))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let count = args.jobs.map_or(cores, |jobs| jobs as usize).min(installed.len()).max(1);
    let each = f64::from(args.seconds) * count as f64 / installed.len().max(1) as f64;
    let seed = args.seed.unwrap_or_else(clock::unix_ms);
    let jobs: VecDeque<Job<'_>> = installed
        .iter()
        .map(|one| Job { installed: one, seconds: each.max(SECONDS_MIN), seed, locales })
        .collect();
    let bar =
        Progress::new(Duration::from_secs_f64(each.max(SECONDS_MIN) * jobs.len().div_ceil(count) as f64));
    let verdicts = run_all(jobs, count, &requests, &bar);
    bar.end();
    keep(file, &verdicts)?;
    if let Some(signal) = requests.taken().last() {
        return Ok(Ending::Signal(*signal));
    }
    let text = if args.json {
        report::json(&verdicts, seed)
    } else {
        report::text(&verdicts, seed, Look::of_stdout(color))
    };
    output::print(&text, "the results")?;
    let status = match () {
        () if verdicts.iter().any(|verdict| !verdict.differences.is_empty()) => DIFFERS,
        () if verdicts.iter().any(|verdict| !verdict.is_proven()) => UNPROVEN,
        () => 0,
    };
    Ok(Ending::Status(status))
}

/// Compares each job in a process of its own, `count` at a time. Returns the verdicts in the order of the jobs.
fn run_all(jobs: VecDeque<Job<'_>>, count: usize, requests: &Requests, bar: &Progress) -> Vec<Verdict> {
    let queue = Mutex::new(jobs.into_iter().enumerate().collect::<VecDeque<_>>());
    let done = Mutex::new(Vec::new());
    let lock = |verdicts: &Mutex<Vec<(usize, Verdict)>>, one| {
        verdicts.lock().unwrap_or_else(PoisonError::into_inner).push(one);
    };
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((number, job)) = next.filter(|_| !requests.has_any()) else { break };
                    let verdict = worker::verdict(&job, requests, bar);
                    lock(&done, (number, verdict));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, verdict)| verdict).collect()
}

/// Writes the certificates. A tool that pelton serves anyway needs one only if it differs.
fn keep(file: &CacheFile, verdicts: &[Verdict]) -> Result<(), Failure> {
    // Another run may have written meanwhile.
    let mut all = Certificates::decode(&file.load().unwrap_or_default());
    for verdict in verdicts.iter().filter(|verdict| verdict.is_proven()) {
        all.remove(&verdict.path);
        if let Some(certificate) = verdict.certificate.clone().filter(|_| !verdict.is_needless()) {
            all.insert(certificate);
        }
    }
    file.write(&all.encode()).map_err(|error| Failure::io("cannot write the file of certificates", &error))
}

/// Returns the installed tools of these names, or all that can be compared.
fn installed(names: &[String]) -> Result<Vec<Installed>, Failure> {
    let mut detector = Detector::new(&SystemProbe, None);
    if names.is_empty() {
        let tools = TOOLS.iter().copied().filter(|tool| is_comparable(tool));
        let found: Vec<Installed> = tools.filter_map(|tool| on_path(tool, &mut detector)).collect();
        return if found.is_empty() {
            Err(Failure::new("no tool that can be compared is on the PATH"))
        } else {
            Ok(found)
        };
    }
    names.iter().map(|name| named(name, &mut detector)).collect()
}

fn named(name: &str, detector: &mut Detector<'_>) -> Result<Installed, Failure> {
    let all = || {
        let names: Vec<&str> =
            TOOLS.iter().filter(|tool| is_comparable(tool)).map(|tool| tool.name).collect();
        format!("those that can be compared: {}", names.join(", "))
    };
    let Some(tool) = lookup(name.as_bytes()) else {
        return Err(Failure::new(format!("pelton knows no tool called `{name}`")).with_help(all()));
    };
    if !is_comparable(tool) {
        return Err(Failure::new(format!("`{name}` cannot be compared: there are no random calls of it"))
            .with_help(all()));
    }
    on_path(tool, detector).ok_or_else(|| Failure::new(format!("`{name}` is not on the PATH")))
}

/// Builtins change with the shell, and pelton's own commands with pelton.
fn is_comparable(tool: &Tool) -> bool {
    can_verify(tool) && !matches!(tool.family, Family::Bash | Family::Pelton)
}

fn on_path(tool: &'static Tool, detector: &mut Detector<'_>) -> Option<Installed> {
    let path = pelton_run::find_program(tool.name.as_bytes(), &Environment::inherit())?;
    let path = Path::new(OsStr::from_bytes(&path)).to_owned();
    let claimed = detector.identify(&path);
    Some(Installed { tool, path, claimed })
}

/// Returns the locales that the environment names, besides C and C.UTF-8.
fn own_locales() -> Vec<String> {
    let names =
        ["LC_ALL", "LC_CTYPE", "LC_COLLATE", "LANG"].iter().filter_map(|name| std::env::var(name).ok());
    let mut names: Vec<String> = names.filter(|name| is_other_locale(name)).collect();
    names.sort();
    names.dedup();
    names
}

fn checked(names: &[String]) -> Result<Vec<String>, Failure> {
    let missing = names.iter().find(|name| Locale::named(name).is_none());
    match missing {
        Some(name) => Err(Failure::new(format!("the locale `{name}` is not installed"))
            .with_help("`locale -a` lists those that are")),
        None => Ok(names.iter().filter(|name| is_other_locale(name)).cloned().collect()),
    }
}

fn is_other_locale(name: &str) -> bool {
    Locale::named(name).is_some_and(|locale| locale != Locale::C && locale != Locale::C_UTF8)
}
