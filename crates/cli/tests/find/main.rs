//! `pelton find`: GNU find is the oracle.

mod behaviour;
mod random;
mod tree;

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The output and status of a program.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    status: Option<i32>,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Said { stdout: output.stdout, stderr: output.stderr, status: output.status.code() }
    }
}

impl Said {
    /// Sorts the lines, whose order depends on the threads.
    fn sorted(mut self) -> Self {
        self.stdout = sorted(&self.stdout);
        self.stderr = sorted(&self.stderr);
        self
    }
}

fn sorted(text: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| matches!(byte, b'\n' | 0)).collect();
    lines.sort_unstable();
    lines.concat()
}

/// Runs a program in `dir`, as nobody if we are root, since permissions do not bind root.
fn run(program: &Path, words: &[Vec<u8>], dir: &Path, locale: &str) -> Said {
    use std::os::unix::ffi::OsStrExt;
    let words = words.iter().map(|word| std::ffi::OsStr::from_bytes(word));
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.args(words).current_dir(dir).env("LC_ALL", locale).env_remove("LANGUAGE").stdin(Stdio::null());
    command.output().expect("it runs").into()
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

fn words(line: &str) -> Vec<Vec<u8>> {
    line.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

/// GNU find.
fn real(words: &[Vec<u8>], dir: &Path, locale: &str) -> Said {
    run(Path::new("find"), words, dir, locale)
}

/// `pelton find`, with options of its own.
fn ours(options: &[&str], words: &[Vec<u8>], dir: &Path, locale: &str) -> Said {
    let binary = std::env::var_os("PELTON_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_pelton").into());
    let mut all: Vec<Vec<u8>> = vec![b"find".to_vec()];
    all.extend(options.iter().map(|option| option.as_bytes().to_vec()));
    all.extend_from_slice(words);
    run(Path::new(&binary), &all, dir, locale)
}
