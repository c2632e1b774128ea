//! The program that a stage starts for what its kernel does not judge: what `find -exec` runs for a directory, say, or the
//! command itself.

use pelton_stream::{Programs, Says, Started};
use pelton_sys::pipe;
use pelton_sys::spawn::{self, Action, Child, Exec, OpenMode, Redirection};
use pelton_sys::wait::{self, Ended};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;

/// One program, with the standard input and the messages of the worker.
#[derive(Debug)]
pub struct Starts {
    exec: Exec,
    /// The stage is the last one, and the program prints where the worker does; else the worker reads what it prints.
    is_last: bool,
}

impl Starts {
    /// `exec`: without words.
    pub fn new(exec: Exec, is_last: bool) -> Self {
        Starts { exec, is_last }
    }
}

impl Programs for Starts {
    fn start(&self, words: Vec<Vec<u8>>) -> io::Result<Box<dyn Started>> {
        let pipe = (!self.is_last).then(pipe::pipe).transpose()?;
        Ok(Box::new(self.start_into(pipe, &words, Says::AsStage)?))
    }

    fn start_again(
        &self,
        words: Vec<Vec<u8>>,
        back: Option<u64>,
        says: Says,
    ) -> io::Result<Box<dyn Started>> {
        let place = back.map(Place::going_back).transpose()?;
        Ok(Box::new(Process { place, ..self.start_into(Some(pipe::pipe()?), &words, says)? }))
    }
}

impl Starts {
    fn start_into(&self, pipe: Option<pipe::Pipe>, words: &[Vec<u8>], says: Says) -> io::Result<Process> {
        let words = words.iter().map(|word| crate::c_string(word)).collect::<Option<Vec<_>>>();
        let words = words.ok_or(io::ErrorKind::InvalidInput)?;
        let argv = self.exec.argv.iter().cloned().chain(words).collect();
        let flags = spawn::open_flags(OpenMode::Write);
        let silence = Redirection::Open { fd: 2, path: c"/dev/null".to_owned(), flags };
        let child = Child {
            action: Action::Exec(Exec { argv, ..self.exec.clone() }),
            fallback: None,
            stdin: None,
            stdout: pipe.as_ref().map(|pipe| pipe.write.as_fd()),
            redirections: if says == Says::Nothing { vec![silence] } else { Vec::new() },
            not_mine: None,
        };
        let pid = spawn::spawn(&child)?;
        Ok(Process { pid, prints: pipe.map(|pipe| File::from(pipe.read)), place: None })
    }
}

/// Where the worker's standard input stood.
struct Place {
    stdin: File,
    at: u64,
}

impl Place {
    fn going_back(bytes: u64) -> io::Result<Place> {
        let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let at = stdin.stream_position()?;
        // Where it stands at its beginning, the worker has it open a second time, and has read that.
        if at > 0 {
            stdin.seek(SeekFrom::Start(at.checked_sub(bytes).ok_or(io::ErrorKind::InvalidInput)?))?;
        }
        Ok(Place { stdin, at })
    }
}

struct Process {
    pid: u32,
    prints: Option<File>,
    /// To be restored.
    place: Option<Place>,
}

impl Read for Process {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        self.prints.as_mut().map_or(Ok(0), |prints| prints.read(block))
    }
}

impl Started for Process {
    fn end(self: Box<Self>) -> io::Result<Ended> {
        let Process { pid, prints, place } = *self;
        drop(prints);
        let ended = wait::reap(pid).map(|(ended, _)| ended);
        if let Some(Place { mut stdin, at }) = place {
            stdin.seek(SeekFrom::Start(at))?;
        }
        ended
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
