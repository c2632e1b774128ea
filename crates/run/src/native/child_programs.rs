//! The program that a stage starts for what its kernel does not support: what `find -exec` runs for a
//! directory, or the command itself.

use crate::c_string::c_string;
use pelton_stream::{Programs, Started};
use pelton_sys::pipe::{self, Pipe};
use pelton_sys::spawn::{self, Action, Child, Exec, Redirection};
use pelton_sys::wait::{self, Ended};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::sync::OnceLock;

/// A program that runs with the standard input and standard error of the worker.
#[derive(Debug)]
pub struct Starts {
    exec: Exec,
    /// Whether the stage is the last one and the program writes to the worker's standard output; otherwise
    /// the worker reads its output.
    is_last: bool,
    /// The offset where the standard input began, for programs that read it again; an earlier program may
    /// have read on.
    began: OnceLock<u64>,
}

impl Starts {
    /// `exec`: without arguments.
    pub fn new(exec: Exec, is_last: bool) -> Self {
        Starts { exec, is_last, began: OnceLock::new() }
    }
}

impl Programs for Starts {
    fn start(&self, words: Vec<Vec<u8>>) -> io::Result<Box<dyn Started>> {
        let pipe = (!self.is_last).then(pipe::pipe).transpose()?;
        Ok(Box::new(self.start_into(pipe, None, &words)?))
    }

    fn start_again(&self, words: Vec<Vec<u8>>, back: Option<u64>) -> io::Result<Box<dyn Started>> {
        if let Some(back) = back {
            let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
            // If the offset is at the beginning, the worker has opened the file a second time and read that.
            let began = *self.began.get_or_init(|| stdin.stream_position().unwrap_or(0).saturating_sub(back));
            stdin.seek(SeekFrom::Start(began))?;
        }
        Ok(Box::new(self.start_into(Some(pipe::pipe()?), Some(pipe::pipe()?), &words)?))
    }
}

impl Starts {
    fn start_into(
        &self,
        stdout: Option<Pipe>,
        stderr: Option<Pipe>,
        words: &[Vec<u8>],
    ) -> io::Result<Process> {
        let words = words.iter().map(|word| c_string(word)).collect::<Option<Vec<_>>>();
        let words = words.ok_or(io::ErrorKind::InvalidInput)?;
        let argv = self.exec.argv.iter().cloned().chain(words).collect();
        let (says, messages) = match stderr {
            Some(Pipe { read, write, .. }) => (Some(read), Some(Redirection::Given { fd: 2, source: write })),
            None => (None, None),
        };
        let child = Child {
            action: Action::Exec(Exec { argv, ..self.exec.clone() }),
            fallback: None,
            stdin: None,
            stdout: stdout.as_ref().map(|pipe| pipe.write.as_fd()),
            redirections: messages.into_iter().collect(),
            not_mine: None,
        };
        let pid = spawn::spawn(&child)?;
        let prints = stdout.map(|pipe| File::from(pipe.read));
        Ok(Process { pid, prints, says: says.map(File::from) })
    }
}

struct Process {
    pid: u32,
    prints: Option<File>,
    says: Option<File>,
}

impl Read for Process {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        self.prints.as_mut().map_or(Ok(0), |prints| prints.read(block))
    }
}

impl Started for Process {
    fn said(&mut self) -> Vec<u8> {
        let mut said = Vec::new();
        // On a read error, the rest is lost.
        let _ = self.says.as_mut().map(|says| says.read_to_end(&mut said));
        said
    }

    fn end(self: Box<Self>) -> io::Result<Ended> {
        let Process { pid, prints, says } = *self;
        drop((prints, says));
        wait::reap(pid).map(|(ended, _)| ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(is_last: bool) -> Starts {
        let argv = vec![c"sh".to_owned(), c"-c".to_owned()];
        Starts::new(Exec { path: c"/bin/sh".to_owned(), argv, envp: Vec::new() }, is_last)
    }

    #[test]
    fn what_it_prints_is_read_and_its_end_is_told() {
        let run = |script: &str| {
            let mut started = shell(false).start(vec![script.into()]).unwrap();
            let mut printed = String::new();
            started.read_to_string(&mut printed).unwrap();
            (printed, started.end().unwrap())
        };
        assert_eq!(run("echo a; exit 3"), ("a\n".to_owned(), Ended::Exited(3)));
        assert_eq!(run("kill -9 $$"), (String::new(), Ended::Signalled(9, false)));
    }

    #[test]
    fn the_last_stage_prints_by_itself() {
        let mut started = shell(true).start(vec![b"exit 1".to_vec()]).unwrap();
        assert_eq!(started.read(&mut [0]).unwrap(), 0);
        assert_eq!(started.end().unwrap(), Ended::Exited(1));
    }
}
