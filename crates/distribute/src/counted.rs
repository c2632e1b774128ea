//! Adds the counts of equal lines (`sort | uniq -c` on each part), in the order that the real sort gives them.
//!
//! The sort merges the lines without their counts, so its order is never guessed. In what it prints, equal lines stand
//! beside each other, and each part holds a line once: the next line of a part is the one that was printed, or the part has
//! none of it.

use crate::finish::{merging, running};
use crate::job::Job;
use pelton_sys::processes::end_with_descendants;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

/// A merge that was started.
pub struct Merged {
    sort: Child,
    lines: BufReader<ChildStdout>,
    parts: Vec<Counts>,
    /// The files of lines without counts.
    files: Vec<PathBuf>,
}

impl Merged {
    /// Starts the command that merges the lines of these files.
    ///
    /// # Errors
    /// If a file cannot be read, or is no list of counted lines; or if the command cannot be started.
    pub fn start(
        job: &Job,
        work: &Path,
        files: &[PathBuf],
        command: &str,
        pelton: &Path,
    ) -> io::Result<Self> {
        let mut without = Vec::new();
        for (number, file) in files.iter().enumerate() {
            let lines = work.join(format!("lines-{number:06}"));
            write_lines(file, &lines)?;
            without.push(lines);
        }
        let mut sort = running(job, pelton, &merging(command, &without));
        let mut sort = sort.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let lines = sort.stdout.take().ok_or_else(|| io::Error::other("no output of the merge"))?;
        let parts = files.iter().map(|file| Counts::open(file)).collect::<io::Result<_>>()?;
        Ok(Merged { sort, lines: BufReader::with_capacity(1 << 20, lines), parts, files: without })
    }

    /// Writes each line once, with its count.
    ///
    /// # Errors
    /// If something cannot be read or written, or the merge fails.
    pub fn write(&mut self, to: &mut dyn Write) -> io::Result<()> {
        let mut to = BufWriter::with_capacity(1 << 18, to);
        let (mut line, mut last) = (Vec::new(), None::<Vec<u8>>);
        loop {
            line.clear();
            if self.lines.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if last.as_ref() == Some(&line) {
                continue;
            }
            let mut count = 0;
            for part in &mut self.parts {
                count += part.take(&line)?;
            }
            write!(to, "{count:7} ")?;
            to.write_all(&line)?;
            last.get_or_insert_default().clone_from(&line);
        }
        to.flush()?;
        match self.sort.wait()?.success() && self.parts.iter().all(|part| part.line.is_none()) {
            true => Ok(()),
            false => Err(io::Error::other("the lines of the parts could not be merged")),
        }
    }
}

impl Drop for Merged {
    fn drop(&mut self) {
        // It has ended, unless nobody wants more of it.
        if let Ok(None) = self.sort.try_wait() {
            end_with_descendants(self.sort.id());
            let _ = self.sort.wait();
        }
        for file in &self.files {
            // Files that cannot be removed are harmless.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// The counted lines of one part.
struct Counts {
    input: BufReader<File>,
    /// The next line, with its count.
    line: Option<(u128, Vec<u8>)>,
}

impl Counts {
    fn open(file: &Path) -> io::Result<Self> {
        let mut counts = Counts { input: BufReader::new(File::open(file)?), line: None };
        counts.line = next(&mut counts.input)?;
        Ok(counts)
    }

    /// Returns the count of a line, and goes on behind it; 0 if it is not the next one.
    fn take(&mut self, line: &[u8]) -> io::Result<u128> {
        match &self.line {
            Some((count, next)) if next == line => {
                let count = *count;
                self.line = self::next(&mut self.input)?;
                Ok(count)
            }
            _ => Ok(0),
        }
    }
}

/// Reads a counted line, as `uniq -c` prints it.
fn next(input: &mut impl BufRead) -> io::Result<Option<(u128, Vec<u8>)>> {
    let mut text = Vec::new();
    if input.read_until(b'\n', &mut text)? == 0 {
        return Ok(None);
    }
    let digits = text.iter().position(|byte| *byte != b' ').unwrap_or(0);
    let behind = text[digits..].iter().position(|byte| *byte == b' ').map(|space| digits + space);
    let count = behind.and_then(|behind| str::from_utf8(&text[digits..behind]).ok()?.parse().ok());
    match (count, behind) {
        (Some(count), Some(behind)) => Ok(Some((count, text.split_off(behind + 1)))),
        _ => Err(io::Error::other("a part did not count its lines")),
    }
}

/// Writes the lines of a file without their counts.
fn write_lines(from: &Path, to: &Path) -> io::Result<()> {
    let mut input = BufReader::new(File::open(from)?);
    let mut output = BufWriter::new(File::create(to)?);
    while let Some((_, line)) = next(&mut input)? {
        output.write_all(&line)?;
    }
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_lines_are_read_with_their_spaces() {
        let mut input: &[u8] = b"      1  two  spaces \n1234567 x\n      2 \n12345678 y\n";
        let mut found = Vec::new();
        while let Some((count, line)) = next(&mut input).expect("counted lines") {
            found.push((count, String::from_utf8(line).expect("text")));
        }
        let wanted = [(1, " two  spaces \n"), (1_234_567, "x\n"), (2, "\n"), (12_345_678, "y\n")];
        assert_eq!(found, wanted.map(|(count, line)| (count, line.to_owned())));
        assert!(next(&mut &b"no count\n"[..]).is_err());
    }
}
