//! The files that a stage reads and writes, checked while its pipeline is planned. The real command runs if
//! one does not meet the kernels' requirements, and reports the error.

use super::source::Source;
use pelton_commands::{Accept, Accepted, Copies, Declined, Input};
use pelton_stream::InputKind;
use pelton_sys::spawn::Redirection;
use pelton_sys::{machine, startup};
use std::fs::{File, Metadata};
use std::io::{IsTerminal, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;

/// The files of one stage.
pub struct Files {
    /// Its inputs, opened.
    pub sources: Vec<Source>,
    /// Whether less is stored of an input than its size.
    pub may_have_holes: bool,
    /// Files that continue its arguments, already read.
    pub scripts: Vec<Vec<u8>>,
    /// Whether the C library reads one of its inputs in another unit than [`READ_BYTES`].
    pub odd_reads: bool,
    /// Whether its kernel opens files to write.
    pub kernel_writes: bool,
    read: Vec<FileIdentity>,
    written: Vec<FileIdentity>,
}

/// The identity of a regular file, independent of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileIdentity {
    /// An existing file: device and inode.
    Existing(u64, u64),
    /// A file to be created: device and inode of the directory, and the name there.
    New(u64, u64, Vec<u8>),
}

/// The most files of a stage that are opened before it starts.
const FILES: usize = 64;

/// The C library's read size, unless the file system asks for another.
const READ_BYTES: u64 = 4096;

/// A file size limit (`ulimit -f`) below this is likely to be met.
pub const SMALL_LIMIT_BYTES: u64 = 1 << 30;

/// A stage's position in its pipeline.
#[derive(Clone, Copy)]
pub struct Position {
    /// Its standard input is that of the whole run.
    pub first: bool,
    /// Its standard output is that of the whole run.
    pub last: bool,
}

impl Files {
    /// Returns the size of its inputs in bytes, if all of them are files.
    pub fn bytes(&self) -> Option<u64> {
        let bytes = |source: &Source| match source.kind {
            InputKind::Regular { bytes } => Some(bytes),
            InputKind::FullPipe | InputKind::Other => None,
        };
        let sum: u64 = self.sources.iter().map(bytes).sum::<Option<u64>>()?;
        (sum > 0).then_some(sum)
    }

    /// Whether one of its inputs is no regular file.
    pub(super) fn reads_a_stream(&self) -> bool {
        self.sources.iter().any(|source| !source.is_regular())
    }
}

/// Opens a stage's inputs and checks its outputs.
pub fn of_stage(accepted: &Accepted, own: &[Redirection], position: Position) -> Accept<Files> {
    let Accepted { command, facts } = accepted;
    standard_streams()?;
    let opened = |wanted: usize| {
        own.iter().rev().find_map(|redirection| match redirection {
            Redirection::Open { fd, path, .. } if *fd == wanted => Some(path.as_bytes()),
            _ => None,
        })
    };
    if command.inputs().len() > FILES {
        return Declined::because(format!("more than {FILES} files"));
    }
    let mut files = Files {
        sources: Vec::new(),
        may_have_holes: false,
        scripts: facts.scripts.clone(),
        odd_reads: false,
        read: Vec::new(),
        written: Vec::new(),
        kernel_writes: false,
    };
    for input in command.inputs() {
        let (source, metadata) = open(input, opened(0), position)?;
        files.sources.push(source);
        files.odd_reads |= metadata.as_ref().is_some_and(|metadata| metadata.blksize() != READ_BYTES);
        files.may_have_holes |= metadata.as_ref().is_some_and(may_have_holes);
        files.read.extend(metadata.as_ref().map(FileIdentity::of));
    }
    for name in &facts.scripts {
        files.read.push(FileIdentity::of(&open_regular(name)?.1));
    }
    match opened(1) {
        Some(path) => files.written.extend(output(path)?),
        None if position.last => files.written.extend(inherited_output()),
        None => {}
    }
    for path in facts.output.known_files() {
        files.written.extend(copy(path)?);
    }
    if let Some(names) = &facts.output.files {
        files.kernel_writes = true;
        let inputs = || {
            command.inputs().iter().filter_map(|input| match input {
                Input::File(name) => Some(name.as_slice()),
                Input::Stdin => opened(0),
            })
        };
        let may_be = |end: &Vec<u8>| !end.is_empty() && inputs().any(|name| name.ends_with(end));
        if names.ends.iter().any(may_be) {
            return Declined::because("it may print into the file that it reads");
        }
    }
    Ok(files)
}

/// Declines if a standard descriptor is closed: the real commands react to that, each in its own way.
pub(crate) fn standard_streams() -> Accept<()> {
    if (0..3).any(|fd| !startup::was_open(fd)) {
        return Declined::because("a standard stream is closed");
    }
    Ok(())
}

/// Opens an input. Also returns its metadata if it is a regular file.
fn open(input: &Input, redirected: Option<&[u8]>, position: Position) -> Accept<(Source, Option<Metadata>)> {
    match (input, redirected) {
        (Input::File(name), _) => {
            let (file, metadata) = open_regular(name)?;
            let kind = InputKind::Regular { bytes: metadata.len() };
            Ok((Source { name: Some(name.clone()), file: Some(file), kind, before: None }, Some(metadata)))
        }
        (Input::Stdin, Some(path)) => {
            // Opened now, so that it may be read from its end.
            let (file, metadata) = open_regular(path)?;
            let kind = InputKind::Regular { bytes: metadata.len() };
            Ok((Source { name: None, file: Some(file), kind, before: None }, Some(metadata)))
        }
        (Input::Stdin, None) if !position.first => {
            Ok((Source { name: None, file: None, kind: InputKind::Other, before: None }, None))
        }
        (Input::Stdin, None) => inherited_input(),
    }
}

fn inherited_input() -> Accept<(Source, Option<Metadata>)> {
    let unknown = |_| Declined::new("its standard input cannot be looked at");
    let mut file = File::from(std::io::stdin().as_fd().try_clone_to_owned().map_err(unknown)?);
    let metadata = file.metadata().map_err(unknown)?;
    let kind = match metadata.file_type() {
        kind if kind.is_file() => InputKind::Regular { bytes: metadata.len() },
        kind if kind.is_fifo() || kind.is_char_device() || kind.is_socket() => InputKind::Other,
        _ => return Declined::because("its standard input is neither a file nor a stream"),
    };
    let regular = Some(metadata).filter(Metadata::is_file);
    if regular.is_some() {
        // It was read before: tac seeks to the beginning all the same, others do not.
        if file.stream_position().map_err(unknown)? != 0 {
            return Declined::because("its standard input was read before");
        }
    }
    if let Some(metadata) = &regular
        && is_made_as_read(&file, metadata).map_err(unknown)?
    {
        return Declined::because("its standard input is made as it is read");
    }
    Ok((Source { name: None, file: None, kind, before: None }, regular))
}

/// Reads a file that continues arguments (`grep -f`), before anything of the pipeline runs.
pub fn script(name: &[u8]) -> Accept<Vec<u8>> {
    const BYTES_MAX: u64 = 1 << 20;
    let shown = name.escape_ascii();
    if name == b"-" {
        return Declined::because("arguments that go on in the standard input");
    }
    let is_link = std::fs::symlink_metadata(path(name)).is_ok_and(|metadata| metadata.is_symlink());
    if is_link {
        return Declined::because(format!("{shown} is a link"));
    }
    let (mut file, metadata) = open_regular(name)?;
    if metadata.len() > BYTES_MAX {
        return Declined::because(format!("{shown} is very large"));
    }
    let mut text = Vec::new();
    match file.read_to_end(&mut text) {
        Ok(_) => Ok(text),
        Err(_) => Declined::because(format!("{shown} cannot be read")),
    }
}

/// Whether two names may be those of one file. What does not exist yet, or is another file, is not it.
pub(super) fn may_be_the_same(one: &[u8], other: &[u8]) -> bool {
    let found = |name| std::fs::metadata(path(name)).as_ref().map(FileIdentity::of).ok();
    one == other || found(one).is_some_and(|identity| found(other) == Some(identity))
}

/// Whether it is a large file of which less is stored than its size.
pub(super) fn may_have_holes(file: &Metadata) -> bool {
    const SMALL_BYTES: u64 = 96 << 10;
    const UNIT_BYTES: u64 = 512;
    file.len() > SMALL_BYTES && file.blocks() * UNIT_BYTES < file.len()
}

/// Opens a regular file. Checks it before opening, since opening a FIFO may block.
fn open_regular(name: &[u8]) -> Accept<(File, Metadata)> {
    same_to_each_process(name)?;
    let path = path(name);
    let unreadable = |_| Declined::new(format!("{} cannot be read", name.escape_ascii()));
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Declined::because(format!("{} is no regular file", name.escape_ascii()));
    }
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if is_made_as_read(&file, &metadata).map_err(unreadable)? {
        return Declined::because(format!("{} is made as it is read", name.escape_ascii()));
    }
    Ok((file, metadata))
}

/// Declines a name that may mean another file in a worker than in the command.
fn same_to_each_process(name: &[u8]) -> Accept<()> {
    if leads_to_descriptor(path(name)) {
        return Declined::because(format!("{} is another file to each process", name.escape_ascii()));
    }
    Ok(())
}

/// Whether a name leads through a link under /proc, as `/dev/stdin` and `/dev/fd/3` do: to a descriptor of
/// the process that opens it.
fn leads_to_descriptor(path: &Path) -> bool {
    const LINKS_MAX: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = std::fs::read_link(&path) else { return false };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let device = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.dev()).ok();
        if device(parent) == device(Path::new("/proc")) {
            return true;
        }
        path = parent.join(target);
    }
    true
}

/// Whether a file's size differs from its readable content: files under /proc, some of which depend on the
/// reading process, claim 0 bytes, those under /sys a page. (Files under /sys have no blocks: a file with
/// blocks is not read at its end, which may be on a slow disk.)
///
/// # Errors
/// If it cannot be read: some files of the system open, and then give only errors.
fn is_made_as_read(file: &File, metadata: &Metadata) -> std::io::Result<bool> {
    let begins = file.read_at(&mut [0], 0)? > 0;
    if metadata.len() == 0 || metadata.blocks() > 0 {
        return Ok(begins != (metadata.len() > 0));
    }
    Ok(file.read_at(&mut [0], metadata.len() - 1)? == 0)
}

/// Returns the file that standard output goes to; `None` if it is a device.
fn output(name: &[u8]) -> Accept<Option<FileIdentity>> {
    same_to_each_process(name)?;
    match std::fs::metadata(path(name)) {
        Ok(_) if !machine::may_write(path(name)) => {
            Declined::because(format!("{} cannot be written", name.escape_ascii()))
        }
        Ok(metadata) if metadata.is_file() => Ok(Some(FileIdentity::of(&metadata))),
        Ok(metadata) if metadata.file_type().is_char_device() => Ok(None),
        Ok(_) => Declined::because(format!("{} is no plain file", name.escape_ascii())),
        Err(_) => FileIdentity::to_be_made(name).map(Some),
    }
}

/// Returns the standard output of the whole run, if it is a file.
pub(super) fn inherited_output() -> Option<FileIdentity> {
    let file = File::from(std::io::stdout().as_fd().try_clone_to_owned().ok()?);
    file.metadata().ok().filter(Metadata::is_file).map(|metadata| FileIdentity::of(&metadata))
}

/// Whether the stage's output may go to the same file as its standard error.
pub fn shares_output_with_errors(own: &[Redirection], position: Position) -> bool {
    let identity = |file: &Metadata| (file.dev(), file.ino());
    let output = output_file(own, position).as_ref().map(identity);
    output.is_some() && output == inherited_file(std::io::stderr().as_fd()).as_ref().map(identity)
}

/// Whether writes to its standard output may fail: a device that is neither a terminal nor `/dev/null`, or a
/// file under a file size limit below `limit_bytes`.
pub fn may_be_refused(own: &[Redirection], position: Position, limit_bytes: u64) -> bool {
    const HARMLESS: [&str; 3] = ["/dev/null", "/dev/tty", "/dev/zero"];
    let is_limited = || pelton_sys::limits::has_file_limit_below(limit_bytes);
    // What does not exist yet becomes a file.
    let Some(output) = output_file(own, position) else {
        return opened_output(own).is_some() && is_limited();
    };
    if !output.file_type().is_char_device() {
        return output.is_file() && is_limited();
    }
    let same = |name: &&str| std::fs::metadata(name).is_ok_and(|file| file.rdev() == output.rdev());
    let own_terminal =
        || inherited_file(std::io::stdout().as_fd()).is_some_and(|file| file.rdev() == output.rdev());
    let harmless = HARMLESS.iter().any(same) || std::io::stdout().is_terminal() && own_terminal();
    !harmless
}

/// Whether the standard output of the whole run is a pipe: a shell that calls pelton for some stages may run
/// later ones after it.
pub(super) fn inherits_a_pipe() -> bool {
    inherited_file(std::io::stdout().as_fd()).is_some_and(|file| file.file_type().is_fifo())
}

/// Whether the standard input of the whole run is a terminal.
pub(super) fn inherits_a_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// Whether the standard input of the whole run is a socket, which may be reset.
pub fn inherits_a_socket() -> bool {
    inherited_file(std::io::stdin().as_fd()).is_some_and(|file| file.file_type().is_socket())
}

/// Whether it prints into a pipe or socket that it inherits: its reader, which pelton does not see, may leave early.
pub fn prints_to_a_stranger(own: &[Redirection], position: Position) -> bool {
    let output = output_file(own, position).map(|file| file.file_type());
    output.is_some_and(|kind| kind.is_fifo() || kind.is_socket())
}

/// Returns the metadata of its standard output, unless that is a pipe to the next stage.
fn output_file(own: &[Redirection], position: Position) -> Option<Metadata> {
    match opened_output(own) {
        Some(name) => std::fs::metadata(path(name)).ok(),
        None if position.last => inherited_file(std::io::stdout().as_fd()),
        None => None,
    }
}

/// Returns the name of the file that a redirection makes its standard output.
fn opened_output(own: &[Redirection]) -> Option<&[u8]> {
    own.iter().rev().find_map(|redirection| match redirection {
        Redirection::Open { fd: 1, path, .. } => Some(path.as_bytes()),
        _ => None,
    })
}

fn inherited_file(fd: std::os::fd::BorrowedFd<'_>) -> Option<Metadata> {
    File::from(fd.try_clone_to_owned().ok()?).metadata().ok()
}

/// Checks a file that gets a copy. `None` if it keeps nothing.
fn copy(name: &[u8]) -> Accept<Option<FileIdentity>> {
    if name == b"/dev/null" {
        return Ok(None);
    }
    same_to_each_process(name)?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_+,./:@%".contains(byte);
    if !name.iter().all(plain) {
        // The real tee would have to quote it in error messages.
        return Declined::because(format!("a name that is not plain: {}", name.escape_ascii()));
    }
    match std::fs::metadata(path(name)) {
        Ok(metadata) if metadata.is_file() && machine::may_write(path(name)) => {
            Ok(Some(FileIdentity::of(&metadata)))
        }
        Ok(_) => Declined::because(format!("{} is no plain file to write", name.escape_ascii())),
        Err(_) => FileIdentity::to_be_made(name).map(Some),
    }
}

impl Files {
    /// Returns device and inode of the files that it reads.
    pub(super) fn identities_read(&self) -> impl Iterator<Item = (u64, u64)> {
        let existing = |file: &FileIdentity| match file {
            FileIdentity::Existing(device, inode) => Some((*device, *inode)),
            FileIdentity::New(..) => None,
        };
        self.read.iter().filter_map(existing)
    }
}

impl FileIdentity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        FileIdentity::Existing(metadata.dev(), metadata.ino())
    }

    fn to_be_made(name: &[u8]) -> Accept<Self> {
        let path = path(name);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let metadata = std::fs::metadata(folder).ok().filter(Metadata::is_dir);
        match (metadata, path.file_name()) {
            // A dangling link is created at its target.
            (Some(made_in), Some(file))
                if machine::may_write(folder) && std::fs::symlink_metadata(path).is_err() =>
            {
                Ok(FileIdentity::New(made_in.dev(), made_in.ino(), file.as_bytes().to_vec()))
            }
            _ => Declined::because(format!("{} cannot be made", name.escape_ascii())),
        }
    }
}

/// Returns the stages that write a file that is read or written elsewhere in the pipeline, or read such a
/// file: the content depends on timing. Takes the files of each stage, `None` for a process.
pub fn entangled(stages: &[Option<&Files>]) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, files) in stages.iter().enumerate() {
        for (i, place) in files.iter().flat_map(|files| &files.written).enumerate() {
            for (other, files) in stages.iter().enumerate() {
                let Some(files) = files else { continue };
                let mut written = files.written.iter().enumerate();
                let again = written.any(|(j, p)| p == place && (other, j) != (at, i));
                if again || files.read.contains(place) {
                    found.extend([at, other]);
                }
            }
        }
    }
    found
}

/// Opens a copy as tee does.
pub fn open_copy(name: &[u8], copies: &Copies) -> std::io::Result<File> {
    let mut options = File::options();
    options.create(true).append(copies.append).write(!copies.append).truncate(!copies.append);
    options.open(path(name))
}

pub(super) fn path(name: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(name))
}
