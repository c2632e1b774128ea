//! Files that a program prints into: `print > $1 ".txt"`, `print >> "log"`, `close(name)`.
//!
//! The real awks keep a file open until it is closed, or until they end. gawk does with as few descriptors as it gets; mawk
//! ends with an error once it has none left. Here few files are open at a time, whichever awk it is: a file gets what was
//! printed in large pieces, and is opened again for that if need be.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use pelton_sys::{errors, limits};

use crate::{Accept, Declined, FileNames};

use super::code::{Get, ToFile};
use super::machine::{Flow, Machine, Ran, Stop};
use super::rules;
use super::tree::{Expr, Program, Redirect, Statement};
use super::visit::every_statement;

/// A file's output is written once there is this much of it.
const PIECE_BYTES: usize = 64 * 1024;
/// All output is written once there is this much of it in all files.
const HELD_BYTES: usize = 4 * 1024 * 1024;
/// The most files that are open at a time.
const OPEN_FILES: usize = 100;
/// The name that both awks know as the standard output.
const STDOUT: &[u8] = b"/dev/stdout";

/// Returns the redirections of a program into files.
fn redirects(program: &Program) -> Vec<&Redirect> {
    let mut found = Vec::new();
    every_statement(program, &mut |statement| {
        if let Statement::Print(_, Some(to)) | Statement::Printf(_, Some(to)) = statement
            && to.how != "|"
            && !to.is_standard_error()
            && !to.is_standard_output()
        {
            found.push(to);
        }
    });
    found
}

/// Returns the names of the files that a program writes, as far as they are known, and `None` if it writes none. Declines
/// names that mean something else than a file.
pub(super) fn of_program(program: &Program) -> Accept<Option<FileNames>> {
    let redirects = redirects(program);
    let mut statements = 0;
    every_statement(program, &mut |statement| statements += usize::from(statement.is_print()));
    let mut names = FileNames { only: statements == redirects.len(), ..FileNames::default() };
    for redirect in &redirects {
        let mut parts = Vec::new();
        flatten(&redirect.to, &mut parts);
        if let [Expr::Name(name)] = parts.as_slice()
            && name == "FILENAME"
        {
            return Declined::because("it prints into the file that it reads");
        }
        if rules::is_gawk() && matches!(redirect.to.bare(), Expr::Element(..)) {
            return Declined::because("an element as the name of a file, which gawk may take for an array");
        }
        let known = |part: Option<&&Expr>| match part {
            Some(Expr::Text(text)) => text.clone(),
            _ => Vec::new(),
        };
        let (start, end) = (known(parts.first()), known(parts.last()));
        if start.contains(&0) || end.contains(&0) {
            return Declined::because("a NUL in the name of a file");
        }
        if let [Expr::Text(name)] = parts.as_slice() {
            if is_special(name) || name.is_empty() {
                return Declined::because(format!(
                    "a side effect: print {} {}",
                    redirect.how,
                    name.escape_ascii()
                ));
            }
            names.known.push(name.clone());
        } else if start.starts_with(b"/dev/") || start.starts_with(b"/inet") {
            return Declined::because("a name below /dev that is made while the program runs");
        } else {
            names.ends.push(end);
        }
    }
    names.known.sort_unstable();
    names.known.dedup();
    Ok((!redirects.is_empty()).then_some(names))
}

/// Returns the parts of a concatenation.
fn flatten<'a>(expr: &'a Expr, parts: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Concat(left, right) => {
            flatten(left, parts);
            flatten(right, parts);
        }
        Expr::Group(inner) if inner.len() == 1 => flatten(&inner[0], parts),
        part => parts.push(part),
    }
}

/// Whether an awk takes this name for something else than a file, or the system does so for each process.
fn is_special(name: &[u8]) -> bool {
    let is_descriptor = name.starts_with(b"/dev/fd/")
        || name.starts_with(b"/dev/std")
        || name.starts_with(b"/dev/.")
        || name.starts_with(b"/proc/");
    is_descriptor || name.starts_with(b"/inet") || name == b"-" && rules::is_gawk()
}

/// Returns as much of a name as the awk sees: mawk's ends at a NUL.
fn own_name(name: &[u8]) -> &[u8] {
    match memchr::memchr(0, name) {
        Some(end) if !rules::is_gawk() => &name[..end],
        _ => name,
    }
}

/// What went wrong with a file.
#[derive(Debug)]
pub(super) enum Failure {
    /// It cannot be opened.
    Open(io::Error),
    /// Its name is empty.
    NoName,
    /// The file of this name cannot be written.
    Write(Vec<u8>, io::Error),
    /// It is read, or printed to by another name, by the same pass.
    InUse,
    /// Its name is one that only the real awk understands.
    Special,
}

/// A file that was opened and not yet closed, as the program sees it.
#[derive(Debug)]
struct Output {
    name: Vec<u8>,
    /// Its descriptor, while there is one.
    file: Option<File>,
    held: Vec<u8>,
    /// When it was last written, in writes.
    written: u64,
    /// Device and inode.
    identity: (u64, u64),
    /// Whether its descriptor may be closed, and the file opened again.
    opens_again: bool,
}

/// The files that a program has opened.
#[derive(Debug, Default)]
pub(super) struct OutputFiles {
    outputs: Vec<Output>,
    by_name: HashMap<Vec<u8>, usize>,
    /// The file that was printed into last.
    last: usize,
    /// The bytes that all files hold.
    held: usize,
    /// The number of descriptors.
    open: usize,
    writes: u64,
    /// How many files mawk could open, once that was asked.
    room: Option<usize>,
    /// Device and inode of the plain files among the outputs.
    identities: HashSet<(u64, u64)>,
    /// Device and inode of files that may not be written.
    in_use: Vec<(u64, u64)>,
    /// Output of a statement, before it is known where to.
    pub(super) printed: Vec<u8>,
}

impl Clone for OutputFiles {
    /// Opens nothing: only machines that share records are cloned while they run, and these write no files.
    fn clone(&self) -> Self {
        let mut files = OutputFiles::default();
        files.set_in_use(&self.in_use);
        files
    }
}

/// Where a statement prints.
#[derive(Debug, PartialEq)]
pub(super) enum Target {
    StandardOutput,
    /// The index of a file.
    File(usize),
}

impl OutputFiles {
    /// Sets the files that may not be written, by device and inode.
    pub(super) fn set_in_use(&mut self, files: &[(u64, u64)]) {
        self.in_use = files.to_vec();
    }

    /// Returns where a statement prints, and opens the file if it is new. `inputs` is the number of files that the real awk
    /// reads at that time.
    pub(super) fn target(&mut self, name: &[u8], append: bool, inputs: usize) -> Result<Target, Failure> {
        if self.outputs.get(self.last).is_some_and(|output| output.name == name) {
            return Ok(Target::File(self.last));
        }
        let name = own_name(name);
        if let Some(known) = self.by_name.get(name) {
            self.last = *known;
            return Ok(Target::File(self.last));
        }
        match name {
            STDOUT => return Ok(Target::StandardOutput),
            b"-" if rules::is_gawk() => return Ok(Target::StandardOutput),
            b"" if rules::is_gawk() => return Err(Failure::NoName),
            name if is_special(name) || name.contains(&0) => return Err(Failure::Special),
            _ => {}
        }
        if !rules::is_gawk() && !self.has_room(inputs) {
            return Err(Failure::Open(errors::out_of_descriptors()));
        }
        let output = self.open(name, append)?;
        self.last = self.outputs.len();
        self.by_name.insert(name.to_vec(), self.last);
        self.outputs.push(output);
        Ok(Target::File(self.last))
    }

    /// Whether mawk, which keeps all files open, would have a descriptor for another one.
    fn has_room(&mut self, inputs: usize) -> bool {
        /// With fewer files than this, only a small limit is looked at.
        const FEW: usize = 32;
        if self.outputs.len() < FEW && limits::descriptors().is_none_or(|limit| limit > 2 * FEW as u64) {
            return true;
        }
        let count = || limits::descriptors_of_a_child().map_or(usize::MAX, |count| count as usize);
        self.outputs.len() + inputs < *self.room.get_or_insert_with(count)
    }

    /// Opens a file for the first time since the program closed it, if ever.
    fn open(&mut self, name: &[u8], append: bool) -> Result<Output, Failure> {
        let file = self.descriptor(name, append)?;
        let metadata = file.metadata().map_err(Failure::Open)?;
        let identity = (metadata.dev(), metadata.ino());
        // The real awk would have two descriptors, and write through both whenever a buffer is full.
        if self.in_use.contains(&identity) || metadata.is_file() && !self.identities.insert(identity) {
            self.open -= 1;
            return Err(Failure::InUse);
        }
        if metadata.is_file() && !append {
            file.set_len(0).map_err(Failure::Open)?;
        }
        let opens_again = metadata.is_file() && metadata.mode() & 0o200 != 0;
        let (name, held) = (name.to_vec(), Vec::new());
        Ok(Output { name, file: Some(file), held, written: self.writes, identity, opens_again })
    }

    /// Opens a file without truncating it. Closes others to make room.
    fn descriptor(&mut self, path: &[u8], append: bool) -> Result<File, Failure> {
        while self.open >= OPEN_FILES && self.give_up_one()? {}
        let mut options = File::options();
        options.create(true).append(append).write(!append).truncate(false);
        loop {
            match options.open(Path::new(std::ffi::OsStr::from_bytes(path))) {
                Err(error) if errors::is_out_of_descriptors(&error) && self.give_up_one()? => {}
                Err(error) => return Err(Failure::Open(error)),
                Ok(file) => {
                    self.open += 1;
                    return Ok(file);
                }
            }
        }
    }

    /// Closes the descriptor that was not used for the longest time. Whether there was one.
    fn give_up_one(&mut self) -> Result<bool, Failure> {
        let open = (0..self.outputs.len()).filter(|index| {
            let output = &self.outputs[*index];
            output.file.is_some() && output.opens_again
        });
        let Some(oldest) = open.min_by_key(|index| self.outputs[*index].written) else { return Ok(false) };
        self.write(oldest)?;
        self.outputs[oldest].file = None;
        self.open -= 1;
        Ok(true)
    }

    /// Prints `printed` into a file.
    pub(super) fn print(&mut self, index: usize) -> Result<(), Failure> {
        let output = &mut self.outputs[index];
        output.held.extend_from_slice(&self.printed);
        self.held += self.printed.len();
        if output.held.len() >= PIECE_BYTES {
            return self.write(index);
        }
        if self.held >= HELD_BYTES {
            return self.write_all();
        }
        Ok(())
    }

    /// Writes what a file holds.
    fn write(&mut self, index: usize) -> Result<(), Failure> {
        let held = std::mem::take(&mut self.outputs[index].held);
        self.held -= held.len();
        self.writes += 1;
        self.outputs[index].written = self.writes;
        if held.is_empty() {
            return Ok(());
        }
        if self.outputs[index].file.is_none() {
            let name = self.outputs[index].name.clone();
            let file = self.descriptor(&name, true).map_err(|failure| match failure {
                Failure::Open(error) => Failure::Write(name, error),
                failure => failure,
            })?;
            self.outputs[index].file = Some(file);
        }
        let Some(file) = &mut self.outputs[index].file else { return Ok(()) };
        if let Err(error) = file.write_all(&held) {
            return Err(Failure::Write(self.outputs[index].name.clone(), error));
        }
        // Small pieces for many files need no room of their own.
        if held.capacity() >= PIECE_BYTES {
            self.outputs[index].held = held;
            self.outputs[index].held.clear();
        }
        Ok(())
    }

    /// Writes what all files hold.
    fn write_all(&mut self) -> Result<(), Failure> {
        (0..self.outputs.len()).try_for_each(|index| self.write(index))
    }

    /// Closes a file, if it is open.
    pub(super) fn close(&mut self, name: &[u8]) -> Result<(), Failure> {
        let Some(index) = self.by_name.remove(own_name(name)) else { return Ok(()) };
        let written = self.write(index);
        let closed = self.outputs.swap_remove(index);
        self.open -= usize::from(closed.file.is_some());
        self.identities.remove(&closed.identity);
        if let Some(moved) = self.outputs.get(index) {
            self.by_name.insert(moved.name.clone(), index);
        }
        self.last = 0;
        written
    }

    /// Closes all files, as the end of the program does.
    pub(super) fn close_all(&mut self) -> Result<(), Failure> {
        let written = self.write_all();
        self.outputs.clear();
        self.by_name.clear();
        self.identities.clear();
        (self.open, self.held, self.last) = (0, 0, 0);
        written
    }
}

impl Machine {
    /// Runs a statement that prints into a file.
    pub(super) fn print_into_file(&mut self, to: &ToFile) -> Ran<Flow> {
        let Some(mut files) = self.files.take() else { return Ok(Flow::Go) };
        files.printed.clear();
        std::mem::swap(&mut self.out, &mut files.printed);
        let flow = self.run(std::slice::from_ref(&to.print));
        std::mem::swap(&mut self.out, &mut files.printed);
        let inputs = self.inputs;
        let target =
            flow.and_then(|_| self.with_text(&to.name, |name| files.target(name, to.append, inputs)));
        let printed = target.map(|target| match target? {
            Target::StandardOutput => {
                self.out.extend_from_slice(&files.printed);
                Ok(())
            }
            Target::File(index) => files.print(index),
        });
        self.files = Some(files);
        let Err(failure) = printed? else { return Ok(Flow::Go) };
        let name = self.text(&to.name)?;
        let place = self.place_in_gawk(to.line);
        Err(self.file_failed(&failure, &name, if to.append { ">>" } else { ">" }, &place))
    }

    /// Closes the file of this name, if the program has it open.
    pub(super) fn close_file(&mut self, name: &Get) -> Ran<()> {
        let Some(mut files) = self.files.take() else { return self.value(name).map(|_| ()) };
        let closed = self.with_text(name, |name| files.close(name));
        self.files = Some(files);
        closed?.map_err(|failure| self.not_closed(&failure))
    }

    /// Closes all files, at the end.
    pub(super) fn close_files(&mut self) -> Ran<()> {
        let Some(files) = &mut self.files else { return Ok(()) };
        files.close_all().map_err(|failure| self.not_closed(&failure))
    }

    fn not_closed(&mut self, failure: &Failure) -> Stop {
        let Failure::Write(name, error) = failure else { return self.file_failed(failure, b"", ">", b"") };
        self.said = match rules::is_gawk() {
            true => {
                let place = self.record_in_gawk();
                let reason = errors::words(error);
                [place.as_bytes(), b"fatal: flush to \"", name, b"\" failed: ", reason.as_bytes(), b"\n"]
                    .concat()
            }
            false => close_failed_in_mawk(name, error),
        };
        Stop::Fatal
    }

    /// Says what the real awk says of a file that it cannot open or write; `place` is where gawk says that it is.
    fn file_failed(&mut self, failure: &Failure, name: &[u8], how: &str, place: &[u8]) -> Stop {
        let name = own_name(name);
        let in_gawk = |what: &[&[u8]]| [place, b"fatal: ", &what.concat(), b"\n"].concat();
        self.said = match failure {
            Failure::Open(error) if rules::is_gawk() => {
                in_gawk(&[b"cannot redirect to `", name, b"': ", errors::words(error).as_bytes()])
            }
            Failure::Open(error) => {
                let reason = errors::words(error);
                [b"cannot open \"", name, b"\" for output (", reason.as_bytes(), b")\n"].concat()
            }
            Failure::NoName => {
                in_gawk(&[b"expression for `", how.as_bytes(), b"' redirection has null string value"])
            }
            Failure::Write(name, error) if rules::is_gawk() => {
                in_gawk(&[b"print to \"", name, b"\" failed: ", errors::words(error).as_bytes()])
            }
            Failure::Write(name, error) => {
                let (reason, close) = (errors::words(error), close_failed_in_mawk(name, error));
                [b"write failure (", reason.as_bytes(), b")\n", self.code.name.as_bytes(), b": ", &close]
                    .concat()
            }
            Failure::InUse => {
                let why =
                    b": the same pipeline reads it, or prints to it by another name; run it without pelton\n";
                [b"pelton cannot print into ", name, why].concat()
            }
            Failure::Special => {
                let why = b": that is no file to awk; run it without pelton\n";
                [b"pelton cannot print into ", name, why].concat()
            }
        };
        Stop::Fatal
    }
}

/// Returns mawk's message for a file that cannot be closed.
fn close_failed_in_mawk(name: &[u8], error: &io::Error) -> Vec<u8> {
    [b"close failed on file ", name, b" (", errors::words(error).as_bytes(), b")\n"].concat()
}

impl Drop for OutputFiles {
    /// Writes the held output if a read error ended the run before the program did.
    fn drop(&mut self) {
        let _ = self.write_all();
    }
}
