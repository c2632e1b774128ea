//! Opening what a segment reads and checking what it writes, before anything is started.

use super::reader::Source;
use super::{Native, NativeNode};
use crate::stage::StagePlan;
use pelton_commands::Input;
use pelton_stream::{InputKind, Joined};
use pelton_sys::spawn::{Exec, Redirection};
use pelton_sys::startup;
use std::fs::File;
use std::io::Seek;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Opens what the segment reads and checks what it writes. `None` if anything is not as plain as kernels need it: the
/// stages then run as processes, and say themselves what is wrong.
pub fn segment(
    range: Range<usize>,
    nodes: &[pelton_plan::Node],
    stages: &[StagePlan],
    execs: &[Option<Exec>],
    redirections: &mut [Vec<Redirection>],
) -> Option<Native> {
    if (0..3).any(|fd| !startup::was_open(fd)) || startup::sigpipe_was_ignored() {
        return None;
    }
    let first = nodes.first()?;
    let inputs = first.work.inputs();
    let join = first.work.join_kernel().map(|kernel| (range.start, Joined::new(kernel, inputs.len())));
    let mut made = Vec::with_capacity(nodes.len());
    for node in nodes.iter().skip(usize::from(join.is_some())) {
        let resume = node.resume.iter().map(|resume| {
            let exec = execs[resume.stage].as_ref()?;
            let args = resume.args.iter().map(|arg| crate::c_string(arg)).collect::<Option<Vec<_>>>()?;
            let argv = exec.argv.iter().take(1).cloned().chain(args).collect();
            Some((resume.stage, Exec { argv, ..exec.clone() }))
        });
        made.push(NativeNode {
            stages: node.stages.clone(),
            kernel: Some(node.work.kernel().ok()?),
            resume: resume.collect::<Option<_>>()?,
        });
    }
    let own: Vec<Redirection> = range.clone().flat_map(|i| std::mem::take(&mut redirections[i])).collect();
    let stdin = own.iter().find_map(|r| match r {
        Redirection::Open { fd: 0, path, .. } => Some(path),
        _ => None,
    });
    let sources = open_sources(inputs, stdin, range.start > 0)?;
    check_output(&own, &sources, range.end == stages.len())?;
    Some(Native {
        last_name: stages[range.end - 1].name.clone(),
        stages: range,
        redirections: own,
        join,
        nodes: made,
        sources,
    })
}

/// At most this many files are opened before a segment starts.
const FILES: usize = 64;

fn open_sources(inputs: &[Input], stdin: Option<&std::ffi::CString>, from_pipe: bool) -> Option<Vec<Source>> {
    if inputs.len() > FILES {
        return None;
    }
    let open = |input: &Input| match input {
        Input::File(name) => {
            let file = open_regular(name)?;
            let kind = InputKind::Regular { bytes: file.metadata().ok()?.len() };
            Some(Source { name: Some(name.clone()), file: Some(file), kind })
        }
        Input::Stdin => Some(Source { name: None, file: None, kind: stdin_kind(stdin, from_pipe)? }),
    };
    inputs.iter().map(open).collect()
}

fn stdin_kind(stdin: Option<&std::ffi::CString>, from_pipe: bool) -> Option<InputKind> {
    let metadata = match stdin {
        Some(path) => open_regular(path.as_bytes())?.metadata().ok()?,
        None if from_pipe => return Some(InputKind::Other),
        None => {
            let mut file = File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
            let metadata = file.metadata().ok()?;
            // Somebody read from it before: tac goes back to the beginning all the same, others do not.
            if metadata.is_file() && file.stream_position().ok()? != 0 {
                return None;
            }
            metadata
        }
    };
    match metadata.file_type() {
        kind if kind.is_file() => Some(InputKind::Regular { bytes: metadata.len() }),
        kind if kind.is_fifo() || kind.is_char_device() || kind.is_socket() => Some(InputKind::Other),
        _ => None,
    }
}

/// A regular file, open for reading. Looked at before it is opened, since opening a FIFO may block.
fn open_regular(name: &[u8]) -> Option<File> {
    let path = Path::new(std::ffi::OsStr::from_bytes(name));
    std::fs::metadata(path).ok()?.is_file().then(|| File::open(path).ok())?
}

/// The file that is written must be a plain one that can be written, and none of those that are read: GNU cat and
/// others notice that.
fn check_output(redirections: &[Redirection], sources: &[Source], last: bool) -> Option<()> {
    let mut outputs = Vec::new();
    for redirection in redirections {
        let Redirection::Open { fd: 1, path, .. } = redirection else { continue };
        let path = Path::new(std::ffi::OsStr::from_bytes(path.as_bytes()));
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => outputs.push(metadata),
            Ok(metadata) if metadata.file_type().is_char_device() => {}
            Ok(_) => return None,
            Err(_) => {
                let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
                parent.is_dir().then_some(())?;
            }
        }
    }
    if outputs.is_empty() && last {
        outputs.push(File::from(std::io::stdout().as_fd().try_clone_to_owned().ok()?).metadata().ok()?);
    }
    let same = |file: &File| {
        let Ok(input) = file.metadata() else { return true };
        outputs.iter().any(|o| o.is_file() && o.dev() == input.dev() && o.ino() == input.ino())
    };
    (!sources.iter().filter_map(|source| source.file.as_ref()).any(same)).then_some(())
}
