//! The files that a stage reads and writes, looked at while its pipeline is planned: what is not as plain as kernels
//! need it is the real command's, which says itself what is wrong.

use super::reader::Source;
use pelton_commands::{Accept, Command, Copies, Declined, Input};
use pelton_stream::InputKind;
use pelton_sys::spawn::Redirection;
use pelton_sys::{machine, startup};
use std::fs::{File, Metadata};
use std::io::{IsTerminal, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;

/// What one stage reads and writes.
pub struct Files {
    /// Its inputs, files opened.
    pub sources: Vec<Source>,
    /// Less is stored of an input than its size says.
    pub may_have_holes: bool,
    /// Files in which its arguments go on, which were read already.
    pub scripts: Vec<Vec<u8>>,
    /// The C library does not read all of its inputs by [`READ_BYTES`].
    pub odd_reads: bool,
    read: Vec<FileIdentity>,
    written: Vec<FileIdentity>,
}

/// A regular file, whatever it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileIdentity {
    /// It is there: device and inode.
    Existing(u64, u64),
    /// It will be made: device and inode of the directory, and its name there.
    New(u64, u64, Vec<u8>),
}

/// At most this many files of a stage are opened before it starts.
const FILES: usize = 64;

/// How much of a file the C library reads at a time, if the file system wants no other size.
const READ_BYTES: u64 = 4096;

/// Where a stage stands in its pipeline.
#[derive(Clone, Copy)]
pub struct Position {
    /// Its standard input is that of the whole run.
    pub first: bool,
    /// Its standard output is that of the whole run.
    pub last: bool,
}

impl Files {
    /// What its inputs hold, if all of them are files.
    pub fn bytes(&self) -> Option<u64> {
        let bytes = |source: &Source| match source.kind {
            InputKind::Regular { bytes } => Some(bytes),
            InputKind::Other => None,
        };
        let sum: u64 = self.sources.iter().map(bytes).sum::<Option<u64>>()?;
        (sum > 0).then_some(sum)
    }
}

/// Opens what a stage reads and looks at what it writes.
pub fn of_stage(command: &dyn Command, own: &[Redirection], position: Position) -> Accept<Files> {
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
        scripts: command.scripts().to_vec(),
        odd_reads: false,
        read: Vec::new(),
        written: Vec::new(),
    };
    for input in command.inputs() {
        let (source, metadata) = open(input, opened(0), position)?;
        files.sources.push(source);
        files.odd_reads |= metadata.as_ref().is_some_and(|metadata| metadata.blksize() != READ_BYTES);
        files.may_have_holes |= metadata.as_ref().is_some_and(may_have_holes);
        files.read.extend(metadata.as_ref().map(FileIdentity::of));
    }
    for name in command.scripts() {
        files.read.push(FileIdentity::of(&open_regular(name)?.1));
    }
    match opened(1) {
        Some(path) => files.written.extend(output(path)?),
        None if position.last => files.written.extend(inherited_output()),
        None => {}
    }
    if let Some(copies) = command.copies() {
        for path in &copies.paths {
            files.written.push(copy(path)?);
        }
    }
    Ok(files)
}

/// The real commands notice a closed standard descriptor or an ignored SIGPIPE, each in its own way.
pub(crate) fn standard_streams() -> Accept<()> {
    if (0..3).any(|fd| !startup::was_open(fd)) {
        return Declined::because("a standard stream is closed");
    }
    if startup::sigpipe_was_ignored() {
        return Declined::because("SIGPIPE is ignored");
    }
    Ok(())
}

/// The input, and what the system says of it if it is a regular file.
fn open(input: &Input, redirected: Option<&[u8]>, position: Position) -> Accept<(Source, Option<Metadata>)> {
    match (input, redirected) {
        (Input::File(name), _) => {
            let (file, metadata) = open_regular(name)?;
            let kind = InputKind::Regular { bytes: metadata.len() };
            Ok((Source { name: Some(name.clone()), file: Some(file), kind, before: None }, Some(metadata)))
        }
        (Input::Stdin, Some(path)) => {
            // Open already, so that it may be read from its end.
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
        // Somebody read from it before: tac goes back to the beginning all the same, others do not.
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

/// What stands in a file in which arguments go on (`grep -f`). It is read before anything of the pipeline runs.
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

/// A large file of which less is stored than its size says.
pub(super) fn may_have_holes(file: &Metadata) -> bool {
    const SMALL_BYTES: u64 = 96 << 10;
    const UNIT_BYTES: u64 = 512;
    file.len() > SMALL_BYTES && file.blocks() * UNIT_BYTES < file.len()
}

/// A regular file, open for reading. Looked at before it is opened, since opening a FIFO may block.
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

/// Declines a name that may be another file to a worker than to the command.
fn same_to_each_process(name: &[u8]) -> Accept<()> {
    if leads_to_descriptor(path(name)) {
        return Declined::because(format!("{} is another file to each process", name.escape_ascii()));
    }
    Ok(())
}

/// Whether a name leads through a link under /proc, as `/dev/stdin` and `/dev/fd/3` do: to what a descriptor of the
/// process that opens it refers to.
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

/// Whether the size of a file is not that of what is read from it: files under /proc, some of which tell of the process
/// that reads, claim 0 bytes, those under /sys a page (and no blocks: who has some is not asked for his end, which may lie on a
/// slow disk).
///
/// # Errors
/// Some files of the system open, and then give nothing but errors.
fn is_made_as_read(file: &File, metadata: &Metadata) -> std::io::Result<bool> {
    let begins = file.read_at(&mut [0], 0)? > 0;
    if metadata.len() == 0 || metadata.blocks() > 0 {
        return Ok(begins != (metadata.len() > 0));
    }
    Ok(file.read_at(&mut [0], metadata.len() - 1)? == 0)
}

/// The file that standard output goes to; `None` if it is a device.
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

/// The file that standard output of the whole run is, if it is one.
pub(super) fn inherited_output() -> Option<FileIdentity> {
    let file = File::from(std::io::stdout().as_fd().try_clone_to_owned().ok()?);
    file.metadata().ok().filter(Metadata::is_file).map(|metadata| FileIdentity::of(&metadata))
}

/// What the stage prints may go where its standard error goes.
pub fn shares_output_with_errors(own: &[Redirection], position: Position) -> bool {
    let identity = |file: &Metadata| (file.dev(), file.ino());
    let output = output_file(own, position).as_ref().map(identity);
    output.is_some() && output == inherited_file(std::io::stderr().as_fd()).as_ref().map(identity)
}

/// Whether its standard output may refuse what is written: a device that is neither a terminal nor `/dev/null`, or a file
/// where there is a limit on the size of files.
pub fn may_be_refused(own: &[Redirection], position: Position) -> bool {
    const HARMLESS: [&str; 3] = ["/dev/null", "/dev/tty", "/dev/zero"];
    let Some(output) = output_file(own, position) else { return false };
    if !output.file_type().is_char_device() {
        return output.is_file() && pelton_sys::limits::file_bytes().is_some();
    }
    let same = |name: &&str| std::fs::metadata(name).is_ok_and(|file| file.rdev() == output.rdev());
    let own_terminal =
        || inherited_file(std::io::stdout().as_fd()).is_some_and(|file| file.rdev() == output.rdev());
    let harmless = HARMLESS.iter().any(same) || std::io::stdout().is_terminal() && own_terminal();
    !harmless
}

/// Whether standard output of the whole run is a pipe: a shell that calls pelton for some stages has the others behind it.
pub(super) fn inherits_a_pipe() -> bool {
    inherited_file(std::io::stdout().as_fd()).is_some_and(|file| file.file_type().is_fifo())
}

/// Whether standard input of the whole run is a connection, which may break off.
pub fn inherits_a_socket() -> bool {
    inherited_file(std::io::stdin().as_fd()).is_some_and(|file| file.file_type().is_socket())
}

/// What its standard output is, unless it is a pipe to the next stage.
fn output_file(own: &[Redirection], position: Position) -> Option<Metadata> {
    let opened = own.iter().rev().find_map(|redirection| match redirection {
        Redirection::Open { fd: 1, path, .. } => Some(path.as_bytes()),
        _ => None,
    });
    match opened {
        Some(name) => std::fs::metadata(path(name)).ok(),
        None if position.last => inherited_file(std::io::stdout().as_fd()),
        None => None,
    }
}

fn inherited_file(fd: std::os::fd::BorrowedFd<'_>) -> Option<Metadata> {
    File::from(fd.try_clone_to_owned().ok()?).metadata().ok()
}

/// A file that gets a copy.
fn copy(name: &[u8]) -> Accept<FileIdentity> {
    same_to_each_process(name)?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_+,./:@%".contains(byte);
    if !name.iter().all(plain) {
        // The real tee would have to quote it if anything goes wrong.
        return Declined::because(format!("a name that is not plain: {}", name.escape_ascii()));
    }
    match std::fs::metadata(path(name)) {
        Ok(metadata) if metadata.is_file() && machine::may_write(path(name)) => {
            Ok(FileIdentity::of(&metadata))
        }
        Ok(_) => Declined::because(format!("{} is no plain file to write", name.escape_ascii())),
        Err(_) => FileIdentity::to_be_made(name),
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
            // A link that leads nowhere is made where it leads.
            (Some(made_in), Some(file))
                if machine::may_write(folder) && std::fs::symlink_metadata(path).is_err() =>
            {
                Ok(FileIdentity::New(made_in.dev(), made_in.ino(), file.as_bytes().to_vec()))
            }
            _ => Declined::because(format!("{} cannot be made", name.escape_ascii())),
        }
    }
}

/// Which stages write a file that is read or written elsewhere in the pipeline, or read such a file: what they find
/// there depends on who is first. Files of one stage each, `None` if it is a process.
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
