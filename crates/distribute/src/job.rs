//! A job as data: what the driver writes once as `plan.json`, and what each worker reads; and the result of a part.

use crate::cut::Piece;
use crate::work::Division;
use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The name of the file of a job in its work directory.
const PLAN: &str = "plan.json";

/// The version of the format.
const FORMAT: u32 = 3;

/// Variables that change what tools print.
const VARIABLES: [&str; 17] = [
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "TZ",
    "POSIXLY_CORRECT",
    "GREP_COLORS",
    "GREP_OPTIONS",
    "AWKPATH",
    "GAWK_READ_TIMEOUT",
    "MAWK_LONG_OPTIONS",
    "WHINY_USERS",
    "_POSIX2_VERSION",
];

/// A pipeline over the parts of its input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The version of this format.
    pub format: u32,
    /// The version of pelton.
    pub pelton: String,
    /// The text as the user gave it.
    pub text: String,
    /// The shell that runs it.
    pub shell: String,
    /// The directory of relative names.
    pub directory: PathBuf,
    /// The variables that change what tools print, as set for the driver; `null`: not set.
    pub variables: Vec<(String, Option<String>)>,
    /// The input files.
    pub inputs: Vec<InputFile>,
    /// Whether results must outlive a crash of the machine: a later run may go on from them.
    pub durable: bool,
    /// About how many bytes of the input a part has.
    pub part_bytes: u64,
    /// The parts, in order.
    pub parts: Vec<Vec<Piece>>,
    /// What runs where.
    #[serde(flatten)]
    pub division: Division,
    /// The programs of the stages on the parts.
    pub tools: Vec<Tool>,
}

/// An input file as the driver saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Its name.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was modified last, in ns since 1970.
    pub modified_ns: u64,
}

impl InputFile {
    /// Describes a file as it is now.
    ///
    /// # Errors
    /// If it cannot be read, or is no regular file.
    pub fn of(path: &Path) -> io::Result<Self> {
        let found = std::fs::metadata(path)?;
        if !found.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let modified = found.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(InputFile {
            path: path.to_owned(),
            bytes: found.len(),
            modified_ns: u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX),
        })
    }
}

/// A program of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Where the driver found it.
    pub path: PathBuf,
    /// A hash of its content.
    pub hash: String,
}

impl Tool {
    /// Describes a program as it is now.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Tool { path: path.to_owned(), hash: hash(&std::fs::read(path)?) })
    }
}

/// Returns a hash of bytes: equal for equal ones with the same pelton.
fn hash(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    format!("{:016x}", hasher.finish())
}

/// Why a job file cannot be used.
#[derive(Debug)]
pub struct JobError(pub String);

impl Job {
    /// Returns the variables of this process that change what tools print.
    pub fn variables_here() -> Vec<(String, Option<String>)> {
        VARIABLES.iter().map(|name| ((*name).to_owned(), std::env::var(name).ok())).collect()
    }

    /// Returns the number of the format.
    pub fn format() -> u32 {
        FORMAT
    }

    /// Reads a job.
    ///
    /// # Errors
    /// If it cannot be read, or is of another version.
    pub fn read(path: &Path) -> Result<Self, JobError> {
        let shown = path.display();
        let text = std::fs::read(path).map_err(|error| JobError(format!("cannot read {shown}: {error}")))?;
        let job: Job = serde_json::from_slice(&text).map_err(|error| {
            JobError(format!("{shown} is no plan of pelton, from line {} on", error.line()))
        })?;
        if job.format != FORMAT {
            return Err(JobError(format!(
                "{shown} has format {}, and this pelton reads {FORMAT}",
                job.format
            )));
        }
        Ok(job)
    }

    /// Returns the bytes of input of each part.
    pub fn part_sizes(&self) -> Vec<u64> {
        self.parts.iter().map(|part| part.iter().map(Piece::bytes).sum()).collect()
    }

    /// Returns about how many bytes each part has of the job in this work directory, if there is one.
    pub fn part_bytes_in(work: &Path) -> Option<u64> {
        Some(Job::read(&work.join(PLAN)).ok()?.part_bytes)
    }

    /// Returns what the job is known by: the same for the same text, tools and inputs.
    pub fn identity(&self) -> String {
        hash(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// Writes it into the work directory, unless the same one is there already. Returns its file.
    ///
    /// # Errors
    /// If it cannot be written, or another job is there.
    pub fn write(&self, work: &Path) -> Result<PathBuf, JobError> {
        let path = work.join(PLAN);
        if path.exists() {
            let before = Job::read(&path)?;
            return match before.identity() == self.identity() {
                true => Ok(path),
                false => Err(JobError(format!(
                    "{} holds the parts of another text, or its input, tools or environment have changed",
                    work.display()
                ))),
            };
        }
        let cannot = |error: io::Error| JobError(format!("cannot write {}: {error}", path.display()));
        let text = serde_json::to_vec_pretty(self).map_err(|error| cannot(error.into()))?;
        let new = work.join(format!("plan.json.{}", std::process::id()));
        write(&new, &text, self.durable).and_then(|()| std::fs::rename(&new, &path)).map_err(cannot)?;
        Ok(path)
    }

    /// Returns why this pelton must not work on it, if it is another one than made it.
    pub fn other_pelton(&self) -> Option<String> {
        let here = env!("CARGO_PKG_VERSION");
        (self.pelton != here).then(|| format!("pelton is {} there and {here} here", self.pelton))
    }
}

/// What a worker writes when a part is done: its existence commits the part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartResult {
    /// The identity of the job.
    pub job: String,
    /// The name of the file with its output, beside it.
    pub output: String,
    /// The size of that file.
    pub bytes: u64,
    /// The exit status of the last stage.
    pub status: i32,
    /// Whether it ended before its input.
    pub ended_early: bool,
    /// Bytes that its stages were given.
    pub read: u64,
    /// Newlines in them.
    pub lines: u64,
    /// Why the whole text should run on one machine, if so.
    pub unsure: Option<String>,
    /// Where it ran: the worker's name, or host and process.
    pub worker: String,
    /// How long it took.
    pub seconds: f64,
}

impl PartResult {
    /// Returns the file that holds the result of a part.
    pub fn path(work: &Path, part: usize) -> PathBuf {
        work.join(format!("part-{part:06}.json"))
    }

    /// Reads that of a part that is done, if it is of the job with this identity.
    pub fn read(work: &Path, part: usize, identity: &str) -> Option<Self> {
        let text = std::fs::read(PartResult::path(work, part)).ok()?;
        let result: PartResult = serde_json::from_slice(&text).ok()?;
        let output = std::fs::metadata(work.join(&result.output)).ok()?;
        (result.job == identity && output.len() == result.bytes).then_some(result)
    }

    /// Commits it, unless another attempt did before: then its output goes. `durable`: it outlives a crash of the machine.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn commit(&self, work: &Path, part: usize, durable: bool) -> io::Result<()> {
        let new = work.join(format!("{}.json", self.output));
        let written = write(&new, &serde_json::to_vec(self)?, durable);
        let path = PartResult::path(work, part);
        let linked = written.and_then(|()| std::fs::hard_link(&new, &path));
        let committed = match linked {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                match PartResult::read(work, part, &self.job) {
                    Some(_) => std::fs::remove_file(work.join(&self.output)),
                    // That one is of no use: its output was lost.
                    None => std::fs::rename(&new, &path),
                }
            }
            other => other,
        };
        // A file that cannot be removed is never read.
        let _ = std::fs::remove_file(&new);
        committed
    }
}

fn write(path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    use std::io::Write as _;
    let mut file = std::fs::File::create(path)?;
    file.write_all(bytes)?;
    if durable { file.sync_all() } else { Ok(()) }
}
