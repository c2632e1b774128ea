//! -exec: a command for each file, or for as many files as fit.

use crate::message::{self, NameStyle};
use crate::query::CommandLine;
use crate::sink::Sink;
use crate::subject::Evaluation;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

/// Maximum bytes of an argument list, including a NUL per argument: as xargs, unless the system's limit is
/// lower.
const CHARACTERS: usize = 128 * 1024;

/// The commands of a query, and their gathered arguments.
pub(crate) struct Commands<'q> {
    lines: &'q [CommandLine],
    gathered: Vec<Gathered>,
    manner: NameStyle,
    sink: &'q dyn Sink,
    /// Whether a command for many files failed.
    pub failed: bool,
}

#[derive(Default)]
struct Gathered {
    paths: Vec<Vec<u8>>,
    characters: usize,
}

impl<'q> Commands<'q> {
    pub fn new(lines: &'q [CommandLine], manner: NameStyle, sink: &'q dyn Sink) -> Self {
        let gathered = lines.iter().map(|_| Gathered::default()).collect();
        Commands { lines, gathered, manner, sink, failed: false }
    }

    /// Runs this command, or gathers the path for it. Returns whether it succeeded.
    pub fn run(&mut self, number: usize, path: &[u8], said: &mut Evaluation) -> bool {
        let line = &self.lines[number];
        if !line.gathers {
            if self.leave(vec![path.to_vec()], said).is_ok() {
                return true;
            }
            let words: Vec<Vec<u8>> = line.words.iter().map(|word| replaced(word, path)).collect();
            return self.start(&words, said).is_some_and(|status| status.success());
        }
        let fixed: usize = line.words.iter().map(|word| word.len() + 1).sum();
        if fixed + self.gathered[number].characters + path.len() + 1 > CHARACTERS {
            self.flush(number, said);
        }
        let gathered = &mut self.gathered[number];
        gathered.characters += path.len() + 1;
        gathered.paths.push(path.to_vec());
        true
    }

    /// Runs the gathered commands.
    pub fn finish(&mut self, said: &mut Evaluation) {
        (0..self.lines.len()).for_each(|number| self.flush(number, said));
    }

    fn flush(&mut self, number: usize, said: &mut Evaluation) {
        let gathered = std::mem::take(&mut self.gathered[number]);
        if gathered.paths.is_empty() {
            return;
        }
        let Err(paths) = self.leave(gathered.paths, said) else { return };
        let words: Vec<Vec<u8>> = self.lines[number].words.iter().cloned().chain(paths).collect();
        let good = self.start(&words, said).is_some_and(|status| status.success());
        self.failed |= !good;
    }

    /// Offers a command to the sink. A sink that does not take it returns the paths.
    fn leave(&self, paths: Vec<Vec<u8>>, said: &mut Evaluation) -> Result<(), Vec<Vec<u8>>> {
        said.tell(self.sink);
        self.sink.command(paths)
    }

    fn start(&self, words: &[Vec<u8>], said: &mut Evaluation) -> Option<ExitStatus> {
        said.tell(self.sink);
        let mut command = Command::new(OsStr::from_bytes(&words[0]));
        let command = command.args(words[1..].iter().map(|word| OsStr::from_bytes(word)));
        match command.status() {
            Ok(status) => {
                if let Some(signal) = status.signal() {
                    message::killed(&words[0], signal, self.manner, &mut said.errors);
                }
                Some(status)
            }
            Err(error) => {
                message::failed(&words[0], &error, self.manner, &mut said.errors);
                None
            }
        }
    }
}

/// Replaces each `{}` with the path.
fn replaced(word: &[u8], path: &[u8]) -> Vec<u8> {
    let mut done = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.windows(2).position(|two| two == b"{}") {
        done.extend(&rest[..at]);
        done.extend(path);
        rest = &rest[at + 2..];
    }
    done.extend(rest);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_the_path_anywhere() {
        assert_eq!(replaced(b"x{}y{}", b"a/b"), b"xa/bya/b");
        assert_eq!(replaced(b"{", b"a"), b"{");
    }
}
