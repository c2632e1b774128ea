//! Joins outputs whose lines begin with their numbers (`grep -n`, `cat -n`).

use crate::job::PartResult;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write};
use std::path::PathBuf;

/// Writes the lines of all files, each with its number in the whole, in a field of this width.
pub fn write(files: &[PathBuf], results: &[PartResult], width: usize, to: &mut dyn Write) -> io::Result<()> {
    let mut to = BufWriter::with_capacity(1 << 18, to);
    let mut before = 0;
    for (file, result) in files.iter().zip(results) {
        let mut input = BufReader::with_capacity(1 << 18, File::open(file)?);
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line)? > 0 {
            let (number, rest) = split(&line)
                .ok_or_else(|| io::Error::other(format!("{} has a line without a number", file.display())))?;
            write!(to, "{:width$}", before + number)?;
            to.write_all(rest)?;
            line.clear();
        }
        before += result.lines;
    }
    to.flush()
}

/// Splits a line behind its number.
fn split(line: &[u8]) -> Option<(u64, &[u8])> {
    let line = line.trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = str::from_utf8(&line[..digits]).ok()?.parse().ok()?;
    Some((number, &line[digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_behind_its_number() {
        assert_eq!(split(b"12:34 a\n"), Some((12, &b":34 a\n"[..])));
        assert_eq!(split(b"     7\t\n"), Some((7, &b"\t\n"[..])));
        assert_eq!(split(b"a\n"), None);
    }
}
