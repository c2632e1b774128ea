//! Runs a program whose standard streams pelton holds.

use super::input::Input;
use pelton_sys::pipe::{self, Pipe};
use pelton_sys::spawn::{self, Action, Child, Exec, Redirection};
use pelton_sys::wait::{self, Ended};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

/// Takes bytes; returns whether it needs more.
pub type Taker<'a> = &'a mut dyn FnMut(&[u8]) -> io::Result<bool>;

/// Runs the program to its end: its output goes to `out`, its messages go to `err`.
pub fn run<'a>(exec: Exec, input: &mut Input, out: Taker<'a>, err: Taker<'a>) -> io::Result<Ended> {
    let mut feed = input.again()?;
    let (to_out, to_err) = (pipe::pipe()?, pipe::pipe()?);
    let (stdin, mut to_stdin) = match feed {
        Some(_) => {
            let Pipe { read, write, .. } = pipe::pipe()?;
            pipe::never_wait(write.as_fd())?;
            (Some(read), Some(write))
        }
        None => (None, None),
    };
    let child = Child {
        action: Action::Exec(exec),
        fallback: None,
        stdin: stdin.as_ref().map(|fd| fd.as_fd()),
        stdout: Some(to_out.write.as_fd()),
        redirections: vec![Redirection::Given { fd: 2, source: to_err.write.try_clone()? }],
        not_mine: to_stdin.as_ref().map(|fd| fd.as_fd()),
    };
    let pid = spawn::spawn(&child)?;
    drop(child);
    drop((stdin, to_out.write, to_err.write));
    let mut streams = [(Some(File::from(to_out.read)), out), (Some(File::from(to_err.read)), err)];
    while streams.iter().any(|(file, _)| file.is_some()) {
        let (ready, stdin_ready) = wait_for_any(&streams, feed.as_ref(), to_stdin.as_ref())?;
        for ((file, taker), _) in streams.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
            pass_on(file, taker)?;
        }
        let (Some(feed), Some(fd)) = (&mut feed, &to_stdin) else { continue };
        if stdin_ready {
            if feed.wants().is_some() {
                feed.take_in()?;
            }
            if !feed.give(fd)? {
                to_stdin = None;
            }
        }
    }
    drop(to_stdin);
    Ok(wait::reap(pid)?.0)
}

/// Waits until a stream is readable, or standard input can make progress; returns which.
fn wait_for_any(
    streams: &[(Option<File>, Taker<'_>)],
    feed: Option<&super::input::Feed<'_>>,
    to_stdin: Option<&OwnedFd>,
) -> io::Result<(Vec<bool>, bool)> {
    let open: Vec<_> =
        streams.iter().filter_map(|(file, _)| file.as_ref()).map(|file| file.as_fd()).collect();
    let (mut reads, mut writes) = (open.clone(), vec![]);
    if let (Some(feed), Some(fd)) = (feed, to_stdin) {
        match feed.wants() {
            Some(source) => reads.push(source),
            None => writes.push(fd.as_fd()),
        }
    }
    let (read, written) = pipe::wait_ready(&reads, &writes)?;
    let mut ready = read.iter().copied();
    let streams = streams.iter().map(|(file, _)| file.is_some() && ready.next().unwrap_or(false)).collect();
    let stdin = ready.next().unwrap_or(false) || written.contains(&true);
    Ok((streams, stdin))
}

/// Reads once. Closes a stream that has ended, or that its receiver needs no more.
fn pass_on(file: &mut Option<File>, taker: &mut Taker<'_>) -> io::Result<()> {
    let Some(open) = file else { return Ok(()) };
    let mut buffer = vec![0; 128 * 1024];
    let n = match open.read(&mut buffer) {
        Ok(n) => n,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
        Err(error) => return Err(error),
    };
    if n == 0 || !taker(&buffer[..n])? {
        *file = None;
    }
    Ok(())
}
