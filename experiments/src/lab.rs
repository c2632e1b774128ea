//! The environment of an experiment: a directory in memory, inputs, the pelton under test, and calls of
//! programs.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value as Json;

use pelton_bench::contest::{Contender, Samples, contest};
use pelton_bench::shell_and_run::Place;
use workbench::cargo_workspace::{root, target_dir};
use workbench::inputs::{self, Recipe};
use workbench::running::Running;
use workbench::{Failure, Outcome};

/// The usual locale, sorted by bytes. Bytes that are not UTF-8 are not characters.
const LOCALE: &str = "C.UTF-8";

/// The context of every experiment.
pub struct Lab {
    /// The pelton under test.
    pub pelton: PathBuf,
    /// Whether to use small inputs and one round.
    pub quick: bool,
    /// The working directory of all programs, removed at the end.
    pub dir: PathBuf,
    /// The directory that keeps inputs and compiled programs between runs.
    pub kept: PathBuf,
    _place: Place,
}

/// The output of a command, and how it ended.
pub struct Captured {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
    /// The exit status.
    pub status: ExitStatus,
}

impl Captured {
    /// Returns standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

impl Lab {
    /// Makes an empty directory, and the rest.
    pub fn open(pelton: PathBuf, quick: bool) -> Outcome<Self> {
        let kept = target_dir()?.join(format!("experiments-v{}", inputs::VERSION));
        fs::create_dir_all(&kept)?;
        let place = Place::named("pelton-experiments")?;
        Ok(Lab { pelton, quick, dir: place.dir.clone(), kept, _place: place })
    }

    /// Returns `full`, or `quick` in the quick form.
    pub fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Makes an input of this many megabytes (one in the quick form), named after its recipe.
    pub fn input(&self, recipe: &Recipe, megabytes: u64) -> Outcome<&'static str> {
        let file = recipe.file(&self.kept, self.size(megabytes, 1))?;
        symlink(file, self.dir.join(recipe.name))?;
        Ok(recipe.name)
    }

    /// Writes a small file into the directory.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> Outcome {
        Ok(fs::write(self.dir.join(name), contents)?)
    }

    /// Copies a program from experiments/ (or bench/) into the directory, so that commands are short and
    /// contain no path of this machine.
    pub fn program(&self, path: &str) -> Outcome<String> {
        let from = root().join(path);
        let name = from.file_name().ok_or("a program has a name")?.to_string_lossy().into_owned();
        fs::copy(&from, self.dir.join(&name)).map_err(|error| format!("{}: {error}", from.display()))?;
        Ok(name)
    }

    /// Returns a contender that runs a text under bash.
    pub fn shell(&self, name: &str, text: &str) -> Contender {
        self.program_of(name, ["bash", "-c", text])
    }

    /// Returns a contender for any program and its arguments.
    pub fn program_of<S: Into<OsString>>(&self, name: &str, argv: impl IntoIterator<Item = S>) -> Contender {
        Contender::new(name, argv).in_locale(LOCALE).with_path(search_path())
    }

    /// Returns a contender that calls pelton.
    pub fn pelton<S: AsRef<OsStr>>(&self, name: &str, words: impl IntoIterator<Item = S>) -> Contender {
        let words = words.into_iter().map(|word| word.as_ref().to_owned());
        self.program_of(name, std::iter::once(self.pelton.clone().into_os_string()).chain(words))
    }

    /// Runs all contenders in turns, five times after an uncounted round; once in the quick form.
    pub fn contest(&self, contenders: &[Contender]) -> Outcome<Vec<Samples>> {
        self.contest_of(contenders, 5)
    }

    /// Does the same with another number of rounds.
    pub fn contest_of(&self, contenders: &[Contender], rounds: usize) -> Outcome<Vec<Samples>> {
        contest(contenders, &self.dir, self.size(rounds, 1), self.size(1, 0))
    }

    /// Returns a call of pelton as `Command`.
    pub fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        self.prepared(Command::new(&self.pelton), words)
    }

    /// Returns a call of another program as `Command`.
    pub fn other<S: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        words: impl IntoIterator<Item = S>,
    ) -> Command {
        self.prepared(Command::new(program), words)
    }

    fn prepared<S: AsRef<OsStr>>(&self, mut command: Command, words: impl IntoIterator<Item = S>) -> Command {
        command
            .args(words)
            .current_dir(&self.dir)
            .env("LC_ALL", LOCALE)
            .env("PATH", search_path())
            .env("COLUMNS", "120");
        // Set by cargo; removed as in contests.
        command.env_remove("LD_LIBRARY_PATH");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs pelton to its end.
    pub fn capture<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Outcome<Captured> {
        capture(&mut self.command(words))
    }

    /// Runs a text under bash to its end.
    pub fn bash(&self, text: &str) -> Outcome<Captured> {
        capture(&mut self.other("bash", ["-c", text]))
    }

    /// Whether pelton, with these words, prints the same and has the same status as a text under bash.
    pub fn same<S: AsRef<OsStr>>(&self, text: &str, words: impl IntoIterator<Item = S>) -> Outcome<bool> {
        let (shell, ours) = (self.bash(text)?, self.capture(words)?);
        Ok(shell.stdout == ours.stdout && shell.status.code() == ours.status.code())
    }

    /// Returns the record of `pelton time` with these options before the text.
    pub fn record(&self, options: &[&str], words: &[&str]) -> Outcome<Json> {
        self.record_of("time", options, words)
    }

    /// Returns the record of another verb that writes one.
    pub fn record_of(&self, verb: &str, options: &[&str], words: &[&str]) -> Outcome<Json> {
        let path = self.dir.join("record.json");
        let words =
            [&[verb], options, &["--format", "json", "--output", "record.json", "--"], words].concat();
        let out = self.command(words).stdout(Stdio::null()).output()?;
        let text = fs::read(&path).map_err(|error| -> Failure {
            format!("pelton {verb} left no record ({error}): {}", String::from_utf8_lossy(&out.stderr)).into()
        })?;
        fs::remove_file(&path)?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Returns the JSON that pelton prints on standard output.
    pub fn json<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Outcome<Json> {
        let out = self.capture(words)?;
        Ok(serde_json::from_slice(&out.stdout).map_err(|error| format!("{error}: {}", out.stderr))?)
    }

    /// Starts a background command, which is killed when the return value is dropped.
    pub fn start(&self, command: &mut Command) -> Outcome<Running> {
        Ok(Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()))?)
    }

    /// Returns the path of a file in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

/// Puts the system's own programs first: a wrapper that picks a language version would add its own process to
/// each figure.
fn search_path() -> OsString {
    let ours = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/bin", "/bin"].map(PathBuf::from);
    let all = system.into_iter().chain(std::env::split_paths(&ours));
    std::env::join_paths(all).unwrap_or(ours)
}

/// Runs a command to its end.
pub fn capture(command: &mut Command) -> Outcome<Captured> {
    let out = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
    Ok(Captured { stdout: out.stdout, stderr, status: out.status })
}

/// Returns the number at a JSON pointer, or NaN: an unknown figure must not look like a known one.
pub fn number(json: &Json, pointer: &str) -> f64 {
    json.pointer(pointer).and_then(Json::as_f64).unwrap_or(f64::NAN)
}

/// Returns the text at a JSON pointer, or an empty text.
pub fn text<'a>(json: &'a Json, pointer: &str) -> &'a str {
    json.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

/// Returns the elements at a JSON pointer.
pub fn list<'a>(json: &'a Json, pointer: &str) -> &'a [Json] {
    json.pointer(pointer).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}
