//! -exec: a command for each file, or for as many as fit.

use crate::message;
use crate::query::{CommandLine, NameStyle};
use crate::subject::Evaluation;
use crate::walk::Sink;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

/// The most characters of an argument list, each argument with its NUL: as xargs, unless the system takes less.
const CHARACTERS: usize = 128 * 1024;

/// The commands of a query, and what they have gathered.
pub(crate) struct Commands<'q> {
    lines: &'q [CommandLine],
    gathered: Vec<Gathered>,
    manner: NameStyle,
    sink: &'q dyn Sink,
    /// One that takes many files did not end with 0.
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

    /// Runs the command of this number, or gathers the path for it; whether that is a success.
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

    /// Runs what has been gathered.
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

    /// Leaves a command to the sink. Who does not want it gives the paths back.
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

/// `{}` stands for the path, wherever it is.
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
