//! One part on a worker: its bytes through the stages into a file, committed once.

use crate::cut::Piece;
use crate::job::{InputFile, Job, PartResult, Tool};
use crate::work::{Check, PartStatus};
use memchr::memchr;
use pelton_sys::wait::Ended;
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Bytes that are read and written at once.
const BLOCK_BYTES: usize = 1 << 20;
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
/// of its own, whose leader `started` is told.
///
/// # Errors
/// If the part cannot be worked on here: in words.
pub fn run_part(
    job: &Job,
    work: &Path,
    part: usize,
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
    let worker = format!("{}-{}", host(), std::process::id());
    let output = format!("part-{part:06}.{worker}.out");
    let path = work.join(&output);
    let result = File::create(&path)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
        .and_then(|file| run_into(file, job, pieces, pelton, started));
    let committed = result.and_then(|ran| {
        let bytes = std::fs::metadata(&path).map_err(|error| error.to_string())?.len();
        let result = PartResult {
            job: job.identity(),
            output,
            bytes,
            status: ran.status,
            ended_early: ran.ended_early,
            unsure: ran.unsure,
            worker,
            seconds: ran.seconds,
        };
        result
            .commit(work, part)
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
    ended_early: bool,
    unsure: Option<String>,
    seconds: f64,
}

fn run_into(
    output: File,
    job: &Job,
    pieces: &[Piece],
    pelton: &Path,
    started: &mut dyn FnMut(u32),
) -> Result<Ran, String> {
    let start = Instant::now();
    let cannot = |what: &str, error: &io::Error| format!("cannot {what}: {error}");
    let durable = output.try_clone().map_err(|error| cannot("write", &error))?;
    let mut command = Command::new(pelton);
    // It ends with this process, however that ends, and takes its process group along.
    command.args(["worker", "--shell", &job.shell, "--stages", &job.division.stages]);
    command
        .current_dir(&job.directory)
        .stdin(Stdio::piped())
        .stdout(output)
        .stderr(Stdio::piped())
        .process_group(0);
    for (name, value) in &job.variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut child = command.spawn().map_err(|error| cannot("start the stages", &error))?;
    started(child.id());
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    let listener = std::thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = stderr.by_ref().take(SAID_BYTES_MAX).read_to_end(&mut said);
            // A full pipe would stop it.
            let _ = io::copy(&mut stderr, &mut io::sink());
        }
        said
    });
    let fed = stdin.map_or(Ok(Fed::All), |stdin| feed(job, pieces, stdin));
    let status = child.wait().map_err(|error| cannot("wait for the stages", &error))?;
    let said = listener.join().unwrap_or_default();
    let fed = fed.map_err(|error| cannot("read the part", &error))?;
    durable.sync_all().map_err(|error| cannot("write", &error))?;
    let status = Ended::from(status).status();
    Ok(Ran {
        status,
        ended_early: fed == Fed::EndedEarly,
        unsure: unsure(job, &said, status, fed),
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Returns why the part may not do what the whole would.
fn unsure(job: &Job, said: &[u8], status: i32, fed: Fed) -> Option<String> {
    if !said.is_empty() {
        let first = said.split(|byte| *byte == b'\n').next().unwrap_or_default();
        return Some(format!("a part said: {}", String::from_utf8_lossy(first)));
    }
    let is_expected = match job.division.status {
        PartStatus::Success => status == 0,
        PartStatus::Found => status <= 1,
    };
    match fed {
        _ if !is_expected => Some(format!("a part ended with status {status}")),
        Fed::NotText => Some("the input holds bytes that are no text".to_owned()),
        Fed::EndedEarly if !job.division.may_suffice => Some("a part ended before its input".to_owned()),
        Fed::All | Fed::EndedEarly => None,
    }
}

/// How feeding the stages ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fed {
    All,
    EndedEarly,
    NotText,
}

fn feed(job: &Job, pieces: &[Piece], mut to: impl Write) -> io::Result<Fed> {
    let mut block = vec![0; BLOCK_BYTES];
    for piece in pieces {
        let file = File::open(job.directory.join(&job.inputs[piece.file].path))?;
        let mut at = piece.from;
        // The start of a character whose end was not read yet.
        let mut open = 0;
        while at < piece.to {
            let most = (piece.to - at).min((BLOCK_BYTES - open) as u64) as usize;
            let read = file.read_at(&mut block[open..open + most], at)?;
            if read == 0 {
                return Err(io::Error::other("the file has become shorter"));
            }
            at += read as u64;
            let filled = open + read;
            let Some(behind) = judged(job.division.check, &block[..filled], at == piece.to) else {
                return Ok(Fed::NotText);
            };
            match to.write_all(&block[open..filled]) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Fed::EndedEarly),
                written => written?,
            }
            block.copy_within(behind..filled, 0);
            open = filled - behind;
        }
    }
    Ok(Fed::All)
}

/// Returns how much of a block was judged; the rest is the start of a character. `None` if it is no text.
fn judged(check: Check, block: &[u8], is_last: bool) -> Option<usize> {
    if check >= Check::NoNul && memchr(0, block).is_some() {
        return None;
    }
    if check < Check::Utf8 {
        return Some(block.len());
    }
    match str::from_utf8(block) {
        Ok(_) => Some(block.len()),
        Err(error) if error.error_len().is_none() && !is_last => Some(error.valid_up_to()),
        Err(_) => None,
    }
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    let name: String = name.trim().chars().filter(plain).take(60).collect();
    if name.is_empty() { "host".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_judged_in_pieces_as_in_one() {
        assert_eq!(judged(Check::Bytes, b"a\0\xff", true), Some(3));
        assert_eq!(judged(Check::NoNul, b"a\xff", true), Some(2));
        assert_eq!(judged(Check::NoNul, b"a\0", false), None);
        assert_eq!(judged(Check::Utf8, "aé".as_bytes(), true), Some(3));
        assert_eq!(judged(Check::Utf8, b"a\xc3", false), Some(1));
        assert_eq!(judged(Check::Utf8, b"a\xc3", true), None);
        assert_eq!(judged(Check::Utf8, b"a\xc3b", false), None);
    }
}
