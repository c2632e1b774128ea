//! Questions to the user's shell: whether it accepts a text, and what it prints.

use crate::environ::Environment;
use crate::shell::Shell;
use pelton_sys::spawn::{self, Action, Child, Exec, OpenMode, Redirection};
use pelton_sys::{pipe, wait};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

/// Runs the shell to check its syntax only. Whether it accepts the text; `name` is its `$0`.
pub(crate) fn accepts(shell: &Shell, text: &OsStr, name: &OsStr, environment: &Environment) -> bool {
    let env = environment.as_inherited();
    let Some(exec) = shell.call(&["-n"], text.as_bytes(), name, &[], &env) else { return false };
    let child = Child {
        action: Action::Exec(exec),
        fallback: None,
        stdin: None,
        stdout: None,
        redirections: vec![null(0), null(1), null(2)],
        not_mine: None,
    };
    let Ok(pid) = spawn::spawn(&child) else { return false };
    wait::reap(pid).is_ok_and(|(ended, _)| ended.status() == 0)
}

/// Returns a program's standard output. For queries to the shell: standard error is dropped.
pub(crate) fn output_of(exec: Exec) -> io::Result<String> {
    let pipe = pipe::pipe()?;
    let child = Child {
        action: Action::Exec(exec),
        fallback: None,
        stdin: None,
        stdout: Some(pipe.write.as_fd()),
        redirections: vec![null(0), null(2)],
        not_mine: Some(pipe.read.as_fd()),
    };
    let pid = spawn::spawn(&child)?;
    drop(child);
    drop(pipe.write);
    let mut text = String::new();
    let read = std::fs::File::from(pipe.read).read_to_string(&mut text);
    wait::reap(pid)?;
    read.map(|_| text)
}

/// Redirects a descriptor to `/dev/null`.
fn null(fd: usize) -> Redirection {
    Redirection::Open { fd, path: c"/dev/null".into(), flags: spawn::open_flags(OpenMode::ReadWrite) }
}
