//! One part on a worker: its bytes through the stages into a file, committed once.

use crate::feed::{End, Given, feed, is_text};
use crate::job::{InputFile, Job, PartResult, Tool};
use crate::work::PartStatus;
use pelton_run::script::quoted;
use pelton_sys::signals::FROM_OUTSIDE;
use pelton_sys::wait::Ended;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Instant;

/// Bytes kept of what a part says.
const SAID_BYTES_MAX: u64 = 4096;

/// Returns why this machine must not work on a job: what differs from the driver's. Empty if nothing does.
pub fn check_machine(job: &Job) -> Vec<String> {
    let mut found: Vec<String> = job.other_pelton().into_iter().collect();
    for tool in &job.tools {
        let shown = tool.path.display();
        match Tool::of(&tool.path) {
            Ok(here) if here == *tool => {}
            Ok(_) => found.push(format!("{shown} is another file here")),
            Err(error) => found.push(format!("{shown}: {error}")),
        }
    }
    for input in &job.inputs {
        found.extend(check_input(&job.directory, input).err());
    }
    found
}

fn check_input(directory: &Path, input: &InputFile) -> Result<(), String> {
    let path = directory.join(&input.path);
    let here = InputFile::of(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    match here.bytes == input.bytes && here.modified_ns == input.modified_ns {
        true => Ok(()),
        false => {
            Err(format!("{} has changed since the plan was made, or is another file here", path.display()))
        }
    }
}

/// Runs one part, and commits its result in the work directory. `pelton`: the program that runs the stages, in a process group
/// of its own, whose leader `started` is told. `name`: the worker's, for `--stats`.
///
/// # Errors
/// If the part cannot be worked on here: in words.
pub fn run_part(
    job: &Job,
    work: &Path,
    part: usize,
    name: Option<&str>,
    pelton: &Path,
    started: &mut dyn FnMut(u32),
) -> Result<PartResult, String> {
    let pieces = job.parts.get(part).ok_or_else(|| format!("there is no part {part}"))?;
    if let Some(other) = job.other_pelton() {
        return Err(other);
    }
    for piece in pieces {
        check_input(&job.directory, &job.inputs[piece.file])?;
    }
    let process = format!("{}-{}", host(), std::process::id());
    let worker = name.map_or_else(|| process.clone(), str::to_owned);
    let output = format!("part-{part:06}.{process}.out");
    let path = work.join(&output);
    let result = File::create(&path)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
        .and_then(|file| run_into(file, job, part, pelton, started));
    let committed = result.and_then(|ran| {
        let bytes = std::fs::metadata(&path).map_err(|error| error.to_string())?.len();
        let is_text = !job.division.output_is_text || is_text(&path).map_err(|error| error.to_string())?;
        let no_text = (!is_text).then(|| "lines that are no text, whose order is not known".to_owned());
        let result = PartResult {
            job: job.identity(),
            output,
            bytes,
            status: ran.status,
            ended_early: ran.given.end == End::Early,
            read: ran.given.bytes,
            lines: ran.given.lines,
            unsure: ran.unsure.or(no_text),
            worker,
            seconds: ran.seconds,
        };
        result
            .commit(work, part, job.durable)
            .map_err(|error| format!("cannot write the result of part {part}: {error}"))?;
        Ok(result)
    });
    if committed.is_err() {
        // The output is incomplete. If it cannot be removed, it is never read.
        let _ = std::fs::remove_file(&path);
    }
    committed
}

struct Ran {
    status: i32,
    given: Given,
    unsure: Option<String>,
    seconds: f64,
}

fn run_into(
    output: File,
    job: &Job,
    part: usize,
    pelton: &Path,
    started: &mut dyn FnMut(u32),
) -> Result<Ran, String> {
    let start = Instant::now();
    let cannot = |what: &str, error: &io::Error| format!("cannot {what}: {error}");
    let written = output.try_clone().map_err(|error| cannot("write", &error))?;
    let division = &job.division;
    let stages = division.first.as_ref().filter(|_| part == 0).unwrap_or(&division.stages);
    let folding = division.fold().map(|command| fold(job, pelton, "--fold", command));
    let texts = [Some(stages.clone()).filter(|text| !text.is_empty()), folding];
    let text = texts.into_iter().flatten().collect::<Vec<_>>().join(" | ");
    let mut child = in_group(job, pelton, &text, Stdio::piped(), output.into())
        .map_err(|error| cannot("start the stages", &error))?;
    started(child.id());
    let listener = listen(child.stderr.take());
    let given = child.stdin.take().map_or(Ok(Given::default()), |stdin| feed(job, part, pelton, stdin));
    let status = child.wait().map_err(|error| cannot("wait for the stages", &error))?;
    let said = listener.join().unwrap_or_default();
    let given = given.map_err(|error| cannot("read the part", &error))?;
    let ended = Ended::from(status);
    if let Some(signal) = ended.signal().filter(|signal| FROM_OUTSIDE.contains(signal)) {
        return Err(format!("signal {signal}, which ended a stage"));
    }
    if job.durable {
        written.sync_all().map_err(|error| cannot("write", &error))?;
    }
    let status = ended.status();
    let unsure = given.unsure(job, part).or_else(|| unsure(job, &said, status));
    Ok(Ran { status, given, unsure, seconds: start.elapsed().as_secs_f64() })
}

/// Returns the text by which pelton takes the sums of a command over a part (`--fold`), or adds them (`--add-folds`).
pub(crate) fn fold(job: &Job, pelton: &Path, verb: &str, command: &str) -> String {
    let pelton = quoted(&pelton.to_string_lossy());
    format!("{pelton} worker --shell {} {verb} {}", quoted(&job.shell), quoted(command))
}

/// Starts a text in a process group of its own, which ends with this process, however that ends.
pub(crate) fn in_group(job: &Job, pelton: &Path, text: &str, from: Stdio, to: Stdio) -> io::Result<Child> {
    let mut command = Command::new(pelton);
    command.args(["worker", "--shell", &job.shell, "--stages", text]);
    command.current_dir(&job.directory).stdin(from).stdout(to).stderr(Stdio::piped()).process_group(0);
    for (name, value) in &job.variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.spawn()
}

/// Collects the beginning of what a process says.
pub(crate) fn listen(stderr: Option<ChildStderr>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = stderr.by_ref().take(SAID_BYTES_MAX).read_to_end(&mut said);
            // A full pipe would stop it.
            let _ = io::copy(&mut stderr, &mut io::sink());
        }
        said
    })
}

/// Returns why the part may not do what the whole would, by what its stages said and how they ended.
fn unsure(job: &Job, said: &[u8], status: i32) -> Option<String> {
    if let Some(said) = first_line(said) {
        return Some(format!("a part said: {said}"));
    }
    let is_expected = match job.division.status {
        PartStatus::Success => status == 0,
        PartStatus::Found => status <= 1,
    };
    (!is_expected).then(|| format!("a part ended with status {status}"))
}

/// Returns the first line of what a process said, if it said anything.
pub(crate) fn first_line(said: &[u8]) -> Option<String> {
    let first = said.split(|byte| *byte == b'\n').find(|line| !line.is_empty());
    (!said.is_empty()).then(|| String::from_utf8_lossy(first.unwrap_or_default()).into_owned())
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    let name: String = name.trim().chars().filter(plain).take(60).collect();
    if name.is_empty() { "host".to_owned() } else { name }
}
