//! `pelton run --on TARGET`: the same pipeline on several workers; `pelton plan` and `pelton worker`, for engines that start
//! workers themselves.

mod stats;
mod target;

pub use target::Target;

use crate::ending::Ending;
use crate::failure::Failure;
use crate::output;
use crate::shared_options::SourceArgs;
use crate::size::parse_size;
use crate::source::Source;
use crate::terminal;
use clap::Args;
use pelton_commands::Special;
use pelton_distribute::{
    Check, Division, Event, InputFile, Job, JobError, Outcome, PartStatus, Progress, Tool, Work,
    check_machine, finish, parts, run_fold, run_part, run_parts,
};
use pelton_report::units;
use pelton_run::{Environment, Plan, PortableStage, Request};
use pelton_sys::limits;
use pelton_sys::signals::{self, KILL, PIPE, Requests, TERM};
use pelton_sys::spawn::{dies_with, terminates_with};
use pelton_sys::wait::Ended;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(20);
/// Less input than this is not divided, unless the size of a part is given.
const WORTH_BYTES: u64 = 64 << 20;
/// Parts are not made smaller than this by themselves: a worker costs about 10 ms.
const PART_BYTES_MIN: u64 = 16 << 20;
/// Nor larger.
const PART_BYTES_MAX: u64 = 256 << 20;
/// More files are not given to one command that merges them.
const PARTS_MAX: u64 = 1000;

/// How a pipeline runs on several workers.
#[derive(Args, Default)]
pub struct OnArgs {
    /// Run it on several workers, each on parts of the input: local:N, for N processes on this machine; dask://HOST:PORT,
    /// dasks://HOST:PORT or dask-file:FILE, for a cluster of Dask. The same bytes and the same status; what cannot be
    /// divided runs here as without it, and says why (docs/workers.md)
    #[arg(long, value_name = "TARGET", conflicts_with_all = ["faithful", "strict", "check", "progress"])]
    pub on: Option<Target>,

    /// Keep the outputs of the parts in DIR, and go on from those that are there: after an interrupt, say
    /// [default: a new directory in $TMPDIR, removed at the end]
    #[arg(long, value_name = "DIR", requires = "on")]
    pub work_dir: Option<PathBuf>,

    /// Let a cluster that is not on this machine be told of the work without encryption (dask://)
    #[arg(long, requires = "on")]
    pub insecure: bool,

    /// Cut the input into parts of about SIZE [default: that of the plan in --work-dir; without one, a quarter of a worker's
    /// share, 16M to 256M; input below 64M is not cut]
    #[arg(long, value_name = "SIZE", requires = "on", value_parser = parse_size)]
    pub part_size: Option<u64>,
}

/// Write the plan of a pipeline for workers that something else starts, and print its file.
///
/// Then `pelton worker --plan FILE --part I` runs part I, from 0 on, anywhere that sees the same files and the same
/// directory; and `pelton run --on local:1 --work-dir DIR TEXT` merges what they made.
#[derive(Args)]
#[command(after_help = "\
Example:
  pelton plan --work-dir w 'grep ERROR big.log | sort | uniq -c'
  seq 0 11 | xargs -P 4 -I I pelton worker --plan w/plan.json --part I
  pelton run --on local:1 --work-dir w 'grep ERROR big.log | sort | uniq -c'")]
pub struct PlanArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    /// The directory for the plan and the outputs of the parts; it is made
    #[arg(long, value_name = "DIR")]
    pub work_dir: PathBuf,

    /// Cut the input into parts of about SIZE
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "64M")]
    pub part_size: u64,
}

/// Run one part of a plan, and commit its output beside the plan.
#[derive(Args)]
#[command(after_help = "\
Example:
  pelton worker --plan w/plan.json --part 3
  pelton worker --plan w/plan.json --check   whether this machine may work on it")]
pub struct WorkerArgs {
    /// The plan, as `pelton plan` wrote it
    #[arg(long, value_name = "FILE", required_unless_present_any = ["stages", "fold", "add_folds"])]
    pub plan: Option<PathBuf>,

    /// The part, from 0 on
    #[arg(long, value_name = "I", required_unless_present_any = ["check", "stages", "fold", "add_folds"])]
    pub part: Option<usize>,

    /// Only compare this machine with that of the plan: pelton, the tools, the input. Status 1 if something differs
    #[arg(long, conflicts_with = "part")]
    pub check: bool,

    /// Run the stages of a part, in a process group that ends with the process that started this one
    #[arg(long, value_name = "TEXT", hide = true, requires = "shell")]
    pub stages: Option<String>,

    /// Take the sums of a command over standard input
    #[arg(long, value_name = "TEXT", hide = true, requires = "shell")]
    pub fold: Option<String>,

    /// Add the sums that `--fold` has taken of this command, and print what it prints
    #[arg(long, value_name = "TEXT", hide = true, requires = "shell")]
    pub add_folds: Option<String>,

    /// The shell whose text they are
    #[arg(long, hide = true)]
    pub shell: Option<String>,

    /// End with the process that started this one
    #[arg(long, hide = true)]
    pub tied: bool,

    /// The name of this worker, for --stats
    #[arg(long, value_name = "NAME", hide = true)]
    pub name: Option<String>,
}

/// Runs a text on workers; `None` if it cannot be divided, and says why.
pub fn run(
    target: &Target,
    args: &OnArgs,
    stats: bool,
    source: &Source,
    environment: &Environment,
) -> Result<Option<Ending>, Failure> {
    let Source::Text(request, plan) = source else {
        return Err(Failure::new("--on divides shell text, and a command given as words is none")
            .with_help("the pipeline in one word: pelton run --on local:4 'grep ERROR big.log | sort'"));
    };
    target.check(args)?;
    // Another number of workers goes on from the same parts.
    let planned = || Job::part_bytes_in(args.work_dir.as_ref()?);
    let part_size = args.part_size.or_else(planned);
    let job =
        divide(request, plan, environment).and_then(|work| job(request, work, target.share(), part_size));
    match job {
        // Nobody goes on from a temporary directory.
        Ok(job) => on_workers(
            &Job { durable: args.work_dir.is_some(), ..job },
            target,
            args.work_dir.as_deref(),
            stats,
        ),
        Err(reason) => Ok(alone(&reason)),
    }
}

/// Says why a text runs on this machine alone.
fn alone(reason: &str) -> Option<Ending> {
    terminal::say(&format!("pelton: runs here, undivided, because of {reason}\n"));
    None
}

fn on_workers(
    job: &Job,
    target: &Target,
    work_dir: Option<&Path>,
    stats: bool,
) -> Result<Option<Ending>, Failure> {
    let work = match WorkDirectory::of(work_dir) {
        Ok(work) => work,
        Err(failure) if work_dir.is_some() => return Err(failure),
        Err(_) => return Ok(alone("$TMPDIR, in which no directory for parts can be made")),
    };
    let plan = match job.write(&work.path) {
        Ok(plan) => plan,
        Err(error) if work_dir.is_some() => return Err(unusable(error)),
        Err(error) => return Ok(alone(&format!("$TMPDIR: {}", error.0))),
    };
    let pelton = own_program()?;
    let requests = Requests::watch().map_err(|error| Failure::io("cannot watch signals", &error))?;
    let mut launcher = target.launcher(&pelton, &plan)?;
    let start = Instant::now();
    let mut shown = Shown { on: terminal::stderr_is_terminal(), start, before: None };
    let mut tell = |event: Event, progress: Progress| {
        // An interrupt ends the workers as well.
        if let (Event::Failed { part, how }, false) = (event, requests.has_any()) {
            shown.clear();
            terminal::say(&format!("pelton: part {part} failed and is tried again: {how}\n"));
        }
        shown.show(progress);
    };
    let outcome = run_parts(job, &work.path, launcher.as_mut(), &|| requests.has_any(), &mut tell);
    shown.clear();
    match outcome {
        Outcome::Done(results) => {
            let seconds = start.elapsed().as_secs_f64();
            let ended = watched(requests, &work, |started| {
                finish(job, &work.path, &results, &pelton, &mut io::stdout().lock(), started)
            });
            let ended =
                ended.map_err(|error| Failure::io("cannot merge the outputs of the parts", &error))?;
            if stats {
                terminal::say(&stats::table(job, &results, seconds));
            }
            Ok(Some(ended.into()))
        }
        Outcome::Unsure(reason) => Ok(alone(&reason)),
        Outcome::Failed(how) => {
            let help = match work_dir {
                Some(dir) => {
                    format!("the same command again: it goes on from the parts in {}", dir.display())
                }
                None => "it without --on: on this machine alone. Nothing was printed".to_owned(),
            };
            Err(Failure::new(format!("cannot finish on workers: {how}")).with_help(help))
        }
        Outcome::Stopped => Ok(Some(Ending::Signal(requests.taken().first().copied().unwrap_or(TERM)))),
    }
}

/// A line on a terminal that tells how far the parts are.
struct Shown {
    on: bool,
    start: Instant,
    /// Bytes of parts that were done at the beginning.
    before: Option<u64>,
}

impl Shown {
    fn show(&mut self, progress: Progress) {
        if !self.on {
            return;
        }
        let Progress { done, all, running, bytes_done, bytes_all } = progress;
        let before = *self.before.get_or_insert(bytes_done);
        let seconds = self.start.elapsed().as_secs_f64();
        let rate = (bytes_done - before) as f64 / seconds.max(1e-3);
        let mut text = format!("pelton: {done} of {all} parts, {running} workers busy");
        if rate > 0.0 {
            let left = Duration::from_secs_f64(((bytes_all - bytes_done) as f64 / rate).min(1e9));
            let (rate, left) = (units::bytes(rate as u64), units::short_time(left.as_nanos() as u64));
            // Writing to a string cannot fail.
            let _ = write!(text, ", {rate}/s, about {left} left");
        }
        terminal::redraw(&text);
    }

    fn clear(&self) {
        if self.on {
            terminal::clear_line();
        }
    }
}

/// Merges while signals are watched: one ends the process that merges, and this one.
fn watched<T>(
    requests: Requests,
    work: &WorkDirectory,
    merge: impl FnOnce(&mut dyn FnMut(u32)) -> io::Result<T>,
) -> io::Result<T> {
    let temporary = work.temporary.then(|| work.path.clone());
    let merging = end_with_signal(requests, |process| signals::send(process, TERM), temporary);
    let merged = merge(&mut |process| merging.store(process));
    merging.wait_if_begun();
    merged
}

/// What a signal that asks this process to end ends before it.
struct EndedWithSignal {
    /// The number of a process; 0 for none.
    process: Arc<AtomicU32>,
    has_begun: Arc<AtomicBool>,
}

impl EndedWithSignal {
    fn store(&self, process: u32) {
        self.process.store(process, Ordering::Relaxed);
    }

    /// Waits for the end of this process if a signal has begun it: what failed since then is no error to tell of.
    fn wait_if_begun(&self) {
        while self.has_begun.load(Ordering::SeqCst) {
            std::thread::sleep(TICK);
        }
    }
}

/// From now on, a signal that asks this process to end also ends the process whose number is stored in what this returns,
/// and removes this directory.
fn end_with_signal(requests: Requests, end: fn(u32), directory: Option<PathBuf>) -> EndedWithSignal {
    let ended = EndedWithSignal { process: Arc::default(), has_begun: Arc::default() };
    let (process, has_begun) = (Arc::clone(&ended.process), Arc::clone(&ended.has_begun));
    std::thread::spawn(move || {
        while !requests.has_any() {
            std::thread::sleep(TICK);
        }
        let signal = requests.taken().first().copied().unwrap_or(TERM);
        has_begun.store(true, Ordering::SeqCst);
        match process.load(Ordering::Relaxed) {
            0 => {}
            process => end(process),
        }
        if let Some(path) = directory {
            // Files that cannot be removed are harmless.
            let _ = std::fs::remove_dir_all(path);
        }
        signals::die_by(signal);
    });
    ended
}

/// The directory of a job's files.
struct WorkDirectory {
    path: PathBuf,
    temporary: bool,
}

impl WorkDirectory {
    fn of(given: Option<&Path>) -> Result<Self, Failure> {
        let path = match given {
            Some(given) => given.to_owned(),
            None => std::env::temp_dir().join(format!("pelton-parts-{}", std::process::id())),
        };
        let cannot = |error: io::Error| Failure::io(format!("cannot make `{}`", path.display()), &error);
        match given {
            Some(_) => std::fs::create_dir_all(&path),
            None => std::fs::create_dir(&path),
        }
        .map_err(cannot)?;
        let path = path.canonicalize().map_err(cannot)?;
        let work = WorkDirectory { path, temporary: given.is_none() };
        // Stages get the names of parts as words of a text.
        if work.path.to_str().is_none() {
            return Err(Failure::new(format!("`{}` is not UTF-8", work.path.display()))
                .with_help("another --work-dir, or another $TMPDIR"));
        }
        Ok(work)
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        if self.temporary {
            // Files that cannot be removed are harmless.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

fn unusable(error: JobError) -> Failure {
    Failure::new(error.0).with_help("another --work-dir, or an empty one")
}

fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::io("cannot find pelton's own program", &error))
}

/// Divides a text, or says why it cannot be divided, to follow 'because of'.
fn divide(request: &Request, plan: &Plan, environment: &Environment) -> Result<Work, String> {
    let stages = pelton_run::portable_stages(plan, request, environment)?;
    let work = Work::of(&stages)?;
    check_output(&stages, &work)?;
    if limits::has_file_limit_below(pelton_run::SMALL_LIMIT_BYTES) {
        return Err("a limit on the size of files".into());
    }
    Ok(work)
}

/// Makes the job of a divided text, or says why its input is not cut.
fn job(request: &Request, work: Work, workers: usize, part_size: Option<u64>) -> Result<Job, String> {
    let text = request.text.to_str().ok_or("bytes in the text that are not UTF-8")?;
    let directory = std::env::current_dir().map_err(|error| format!("the current directory: {error}"))?;
    let own = |path: &&PathBuf| path.starts_with("/dev") || path.starts_with("/proc");
    if let Some(path) = work.files.iter().find(own) {
        return Err(format!("{}, which each process has of its own", path.display()));
    }
    let described = |path: &PathBuf| {
        InputFile::of(path).map_err(|error| format!("the input {}: {error}", path.display()))
    };
    let inputs = work.files.iter().map(described).collect::<Result<Vec<_>, _>>()?;
    let bytes: u64 = inputs.iter().map(|input| input.bytes).sum();
    let part_bytes = part_bytes(bytes, workers, part_size)?;
    let parts = parts(&work.files, part_bytes, &work.cuts)
        .map_err(|error| format!("an input that cannot be read: {error}"))?;
    if parts.len() < 2 {
        return Err("its input, which is one part".into());
    }
    let tool = |path: &PathBuf| Tool::of(path).map_err(|error| format!("{}: {error}", path.display()));
    Ok(Job {
        format: Job::format(),
        pelton: env!("CARGO_PKG_VERSION").to_owned(),
        text: text.to_owned(),
        shell: request.shell.name.display().to_string(),
        directory,
        variables: Job::variables_here(),
        inputs,
        durable: true,
        part_bytes,
        parts,
        tools: work.programs.iter().map(tool).collect::<Result<_, _>>()?,
        division: work.division,
    })
}

/// Returns the size of a part, or says why an input is too small to be cut.
fn part_bytes(bytes: u64, workers: usize, part_size: Option<u64>) -> Result<u64, String> {
    let size = match part_size {
        Some(0) => return Err("--part-size 0".into()),
        Some(size) => size,
        None if bytes < WORTH_BYTES => return Err(format!("its input, which is small: {bytes} bytes")),
        None => (bytes / (4 * workers as u64)).clamp(PART_BYTES_MIN, PART_BYTES_MAX),
    };
    Ok(size.max(bytes / PARTS_MAX + 1))
}

/// Declines outputs that the real stages would treat in their own way: a file that is read too, a device, none at all.
fn check_output(stages: &[PortableStage], work: &Work) -> Result<(), String> {
    let named = stages.iter().filter_map(|stage| stage.written.as_ref());
    let written = named.map(|name| PathBuf::from(OsStr::from_bytes(name)));
    let out = Path::new("/dev/fd/1");
    for path in written.chain([out.to_owned()]) {
        let found = match std::fs::metadata(&path) {
            Ok(found) => found,
            Err(_) if path == out => return Err("its standard output, which is closed".into()),
            // It is made, or the shell says why not.
            Err(_) => continue,
        };
        let is_same = |input: &PathBuf| {
            std::fs::metadata(input)
                .is_ok_and(|input| (input.dev(), input.ino()) == (found.dev(), found.ino()))
        };
        if work.files.iter().any(is_same) {
            return Err(format!("{}, which is its input and its output", path.display()));
        }
        let is_null = std::fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == found.rdev());
        let is_terminal = path == out && io::stdout().is_terminal();
        if found.file_type().is_char_device() && !is_null && !is_terminal {
            return Err("its output, which is a device".into());
        }
    }
    if work.colours && io::stdout().is_terminal() {
        return Err("the colours of its output on a terminal".into());
    }
    Ok(())
}

/// Tells how a text would be divided.
pub fn explained(
    target: &Target,
    part_size: Option<u64>,
    request: &Request,
    plan: &Plan,
    environment: &Environment,
) -> Result<String, Failure> {
    let divided = divide(request, plan, environment).and_then(|work| {
        let why_end = work.why_end.clone();
        Ok((job(request, work, target.share(), part_size)?, why_end))
    });
    let (job, why_end) = match divided {
        Ok(divided) => divided,
        Err(reason) => return Ok(format!("it runs here, undivided, because of {reason}\n")),
    };
    let sizes = job.part_sizes();
    let (least, most) = (sizes.iter().min().unwrap_or(&0), sizes.iter().max().unwrap_or(&0));
    let of = match job.inputs.as_slice() {
        [one] => one.path.display().to_string(),
        several => format!("{} files", several.len()),
    };
    let count = sizes.len();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "Parts      {count} of {of}, {least} to {most} bytes each, for {target}");
    let _ = writeln!(text, "On each    {}", on_each(&job.division));
    let _ = writeln!(text, "Merged     {}", job.division.merge.describe());
    let end = job.division.end.as_deref().unwrap_or("nothing more");
    let _ = writeln!(text, "Then here  {end}");
    if let Some(reason) = why_end {
        let _ = writeln!(text, "           because of {reason}");
    }
    let _ = writeln!(text, "Undivided  {}", undivided(&job.division));
    Ok(text)
}

/// Returns what runs on each part, as a text.
fn on_each(division: &Division) -> String {
    let stages = Some(&division.stages).filter(|text| !text.is_empty());
    let texts = [division.decoder.as_ref(), stages, division.fold()];
    texts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" | ")
}

/// Says when the whole text runs here after all.
fn undivided(division: &Division) -> String {
    let check = match division.check {
        Check::Bytes => "",
        Check::NoNul => ", or holds a NUL",
        Check::Utf8 => ", or holds a NUL or bytes that are no UTF-8",
    };
    let status = match division.status {
        PartStatus::Success => "another status than 0",
        PartStatus::Found => "a status above 1",
    };
    format!("if a part prints a message, ends with {status}{check}: nothing is printed before that is known")
}

/// Writes a plan.
pub fn plan(args: &PlanArgs) -> Result<Ending, Failure> {
    let environment = Environment::inherit();
    let Source::Text(request, plan) = Source::resolve(&args.source, &environment)? else {
        return Err(
            Failure::new("a command given as words has no plan").with_help("the pipeline in one word")
        );
    };
    let job = divide(&request, &plan, &environment)
        .and_then(|work| job(&request, work, 1, Some(args.part_size)))
        .map_err(|reason| Failure::new(format!("it cannot be divided, because of {reason}")))?;
    std::fs::create_dir_all(&args.work_dir)
        .map_err(|error| Failure::io(format!("cannot make `{}`", args.work_dir.display()), &error))?;
    let path = job.write(&args.work_dir).map_err(unusable)?;
    output::print(&format!("{}\n{} parts\n", path.display(), job.parts.len()), "the plan's file")?;
    Ok(Ending::Status(0))
}

/// Works on one part.
pub fn worker(args: &WorkerArgs) -> Result<Ending, Failure> {
    let parent = std::os::unix::process::parent_id();
    // A request to end would wait for as long as this process is stopped. The end of this one ends its stages.
    if args.tied && !dies_with(parent) {
        return Ok(Ending::Status(1));
    }
    if let (Some(stages), Some(shell)) = (&args.stages, &args.shell) {
        return in_group(stages, shell, parent);
    }
    for (text, case) in [(&args.fold, Special::Part), (&args.add_folds, Special::PartSums)] {
        if let (Some(text), Some(shell)) = (text, &args.shell) {
            return folded(text, shell, case);
        }
    }
    let Some(plan) = &args.plan else { return Ok(Ending::Status(2)) };
    let job = Job::read(plan).map_err(|error| Failure::new(error.0))?;
    let Some(part) = args.part else {
        let found = check_machine(&job);
        let text: String = found.iter().map(|line| format!("{line}\n")).collect();
        output::print(&text, "what differs")?;
        return Ok(Ending::Status(i32::from(!found.is_empty())));
    };
    let work = plan.parent().filter(|work| !work.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let work =
        work.canonicalize().map_err(|error| Failure::io("cannot find the plan's directory", &error))?;
    let requests = Requests::watch().map_err(|error| Failure::io("cannot watch signals", &error))?;
    let stages = end_with_signal(requests, |leader| signals::send_to_group(leader, KILL), None);
    let started = &mut |leader| stages.store(leader);
    let ran = run_part(&job, &work, part, args.name.as_deref(), &own_program()?, started);
    stages.wait_if_begun();
    ran.map_err(Failure::new)?;
    Ok(Ending::Status(0))
}

/// Runs the kernel of a command whose parts are folded, from standard input to standard output.
fn folded(text: &str, shell: &str, case: Special<'_>) -> Result<Ending, Failure> {
    let environment = Environment::inherit();
    let source = SourceArgs { shell: Some(shell.into()), words: vec![text.into()], ..SourceArgs::default() };
    let Source::Text(request, plan) = Source::resolve(&source, &environment)? else {
        return Ok(Ending::Status(2));
    };
    let stages = pelton_run::portable_stages(&plan, &request, &environment).map_err(Failure::new)?;
    let [stage] = stages.as_slice() else { return Err(Failure::new("a fold is of one command")) };
    let (mut from, mut to) = (io::stdin().lock(), io::stdout().lock());
    match run_fold(stage, case, &mut from, &mut to, &mut io::stderr()) {
        Ok(status) => Ok(Ending::Status(status)),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Ending::Signal(PIPE)),
        Err(error) => Err(Failure::new(error.to_string())),
    }
}

/// Runs the stages of a part as the leader of a process group, which ends with `parent`.
fn in_group(stages: &str, shell: &str, parent: u32) -> Result<Ending, Failure> {
    let requests = Requests::watch().map_err(|error| Failure::io("cannot watch signals", &error))?;
    // 0 would mean that nothing is to be ended.
    end_with_signal(requests, |_| signals::kill_own_group(), None).store(1);
    if !terminates_with(parent) {
        return Ok(Ending::Status(1));
    }
    let mut run = Command::new(own_program()?);
    run.args(["run", "--die-with-stages", "--jobs", "1", "--shell", shell, "--", stages]);
    let status = run.status().map_err(|error| Failure::io("cannot start the stages", &error))?;
    Ok(Ended::from(status).into())
}
