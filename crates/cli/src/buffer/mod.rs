//! `pelton buffer`: a stage that holds what its reader has not yet read.

mod watch;

use crate::args::BufferArgs;
use crate::ending::Ending;
use crate::failure::{Failure, plain};
use crate::output::OutputTarget;
use crate::terminal;
use pelton_buffer::{Child, Ends, Error, Finish, Limits, Setting, Store, pump};
use pelton_record::{Buffered, RECORD_VERSION};
use pelton_run::Environment;
use pelton_sys::signals::{self, Requests};
use pelton_sys::spawn::{self, Action, Exec, Redirection};
use pelton_sys::wait::Ended;
use pelton_sys::{flow, machine, pipe, scratch, startup, stdio};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use watch::Line;

/// The largest default memory limit.
const MEMORY_DEFAULT_MAX: u64 = 1 << 30;
/// The default if the available memory is unknown.
const MEMORY_DEFAULT: u64 = 64 << 20;

/// Runs `pelton buffer`.
pub fn buffer(args: &BufferArgs) -> Result<Ending, Failure> {
    let limits = limits(args)?;
    let place = args.json.then(|| OutputTarget::prepare(args.output.as_deref())).transpose()?;
    let descriptor = |number| if startup::was_open(number) { Ok(()) } else { Err(closed(number)) };
    descriptor(1)?;
    signals::ignore_file_size_signal();
    let (ends, child) = if args.command.is_empty() {
        descriptor(0)?;
        (vec![own_ends().map_err(|error| Failure::io(SET_UP, &error))?], None)
    } else {
        let (ends, pid) = start(args)?;
        (ends, Some(Child { pid, detach: args.detach }))
    };
    let requests = Requests::watch().map_err(|error| Failure::io(SET_UP, &error))?;
    let mut line = Line::new(args.progress, args.interval, &limits);
    let setting = Setting { store: Store::new(&limits), child, requests: &requests, watch: &mut line };
    let finish = pump(ends, setting).map_err(failure)?;
    drop(requests);
    line.end();
    if !finish.detached
        && let Some(place) = place
    {
        place.write(&statistics(&limits, &finish))?;
    }
    ending(finish)
}

const SET_UP: &str = "cannot set up the buffer";

fn closed(number: usize) -> Failure {
    let name = ["standard input", "standard output"][number];
    Failure::new(format!("{name} is closed")).with_status(1)
}

fn failure(error: Error) -> Failure {
    Failure::io(&error, error.reason()).with_status(1)
}

fn limits(args: &BufferArgs) -> Result<Limits, Failure> {
    let directory: PathBuf =
        std::env::var_os("TMPDIR").filter(|dir| !dir.is_empty()).map_or_else(|| "/tmp".into(), PathBuf::from);
    let memory_bytes = args.memory.unwrap_or_else(|| {
        machine::available_memory().map_or(MEMORY_DEFAULT, |bytes| (bytes / 4).min(MEMORY_DEFAULT_MAX))
    });
    let disk_bytes =
        args.disk.unwrap_or_else(|| scratch::free_bytes(&directory).map_or(0, |bytes| bytes / 2));
    if memory_bytes == 0 && disk_bytes < 4096 {
        return Err(Failure::new("a buffer needs some memory, or at least 4096 bytes of disk")
            .with_help("--memory 64M, or --disk 1G"));
    }
    Ok(Limits { memory_bytes, disk_bytes, directory })
}

/// Moves standard input and output to new descriptors, so that closing those really closes them.
fn own_ends() -> io::Result<Ends> {
    let null = flow::null()?;
    let input = flow::duplicate(io::stdin().as_fd())?;
    stdio::set_stdin(null.as_fd())?;
    Ok(Ends { name: "stdin", input, output: own_stdout(&null)? })
}

fn own_stdout(null: &OwnedFd) -> io::Result<OwnedFd> {
    stdio::set_stdout(null.as_fd())
}

/// Starts the command with its output on pipes.
fn start(args: &BufferArgs) -> Result<(Vec<Ends>, u32), Failure> {
    let exec = pelton_run::command(&args.command, &Environment::inherit())
        .map_err(|error| crate::source::no_such_command(&args.command, &error))?;
    wire(exec).map_err(|error| Failure::io(format!("cannot start `{}`", args.command[0].display()), &error))
}

fn wire(exec: Exec) -> io::Result<(Vec<Ends>, u32)> {
    let out = pipe::pipe()?;
    let (stdout, stderr) = (io::stdout(), io::stderr());
    // If both outputs lead to the same file, one pipe keeps their order.
    let one_place = flow::are_the_same(stdout.as_fd(), stderr.as_fd());
    let has_stderr = startup::was_open(2);
    let err = (!one_place && has_stderr).then(pipe::pipe).transpose()?;
    let mut redirections = Vec::new();
    if let Some(err) = &err {
        redirections.push(Redirection::Given { fd: 2, source: err.write.try_clone()? });
    } else if has_stderr {
        redirections.push(Redirection::Duplicate { fd: 2, from: 1 });
    }
    let child = spawn::Child {
        action: Action::Exec(exec),
        fallback: None,
        stdin: None,
        stdout: Some(out.write.as_fd()),
        redirections,
        not_mine: None,
    };
    let pid = spawn::spawn(&child)?;
    drop(child);
    let null = flow::null()?;
    stdio::set_stdin(null.as_fd())?;
    let mut ends = vec![Ends { name: "stdout", input: out.read, output: own_stdout(&null)? }];
    if let Some(err) = err {
        ends.push(Ends { name: "stderr", input: err.read, output: flow::duplicate(stderr.as_fd())? });
    }
    Ok((ends, pid))
}

fn statistics(limits: &Limits, finish: &Finish) -> String {
    let buffered = Buffered {
        record_version: RECORD_VERSION,
        pelton_version: env!("CARGO_PKG_VERSION").to_owned(),
        wall_ns: finish.wall_ns,
        memory_limit_bytes: limits.memory_bytes,
        disk_limit_bytes: limits.disk_bytes,
        memory_peak_bytes: finish.memory_peak_bytes,
        disk_peak_bytes: finish.disk_peak_bytes,
        disk_full: finish.disk_full,
        streams: finish.streams.clone(),
    };
    // Numbers and names only: it cannot fail.
    serde_json::to_string(&buffered).map(|text| text + "\n").unwrap_or_default()
}

/// Returns the command's ending, or the buffer's.
fn ending(finish: Finish) -> Result<Ending, Failure> {
    let reader_left = finish.streams.iter().any(|stream| stream.reader_left);
    let mut errors = finish.errors;
    let last = errors.pop();
    for error in &errors {
        terminal::say(&format!("pelton: {error}: {}\n", plain(error.reason())));
    }
    match (finish.child, finish.request, last) {
        (Some(Ended::Exited(0)), _, Some(error)) | (None, _, Some(error)) => Err(failure(error)),
        (Some(ended), _, last) => {
            if let Some(error) = last {
                terminal::say(&format!("pelton: {error}: {}\n", plain(error.reason())));
            }
            Ok(ended.into())
        }
        (None, _, None) if reader_left && startup::sigpipe_was_ignored() => {
            Err(Failure::new("cannot write to standard output: Broken pipe").with_status(1))
        }
        (None, _, None) if reader_left => Ok(Ending::Signal(signals::PIPE)),
        (None, Some(signal), None) => Ok(Ending::Signal(signal)),
        (None, None, None) => Ok(Ending::Status(0)),
    }
}
