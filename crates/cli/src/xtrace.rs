//! What `set -x` shows of the commands of a call, which the shell itself does not see.

use crate::pipe;
use pelton_sys::machine;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Prints each stage to standard error as dash does: its words, as they are. A stage whose file cannot be opened is not
/// shown. What cannot be written is lost.
pub fn print_as_dash(stages: &[&[OsString]], read: Option<&OsStr>, written: Option<&OsStr>) {
    let last = stages.len() - 1;
    for (at, stage) in stages.iter().enumerate() {
        let reads = read.filter(|_| at == 0).is_none_or(|file| machine::may_read(Path::new(file)));
        let writes = written.filter(|_| at == last).is_none_or(|file| may_open_to_write(Path::new(file)));
        if !reads || !writes {
            continue;
        }
        let words: Vec<&[u8]> = stage.iter().map(|word| word.as_bytes()).collect();
        let _ = io::stderr().write_all(&[b"+ ", words.join(&b' ').as_slice(), b"\n"].concat());
    }
}

/// Prints each stage to standard error, behind `depth` times `+`: its assignments in a line each, and its command.
///
/// # Errors
/// If bash cannot be asked how it shows a word. What cannot be written is lost, as in the shell.
pub fn print_as_bash(stages: &[&[OsString]], depth: u8, bash: &Path) -> io::Result<()> {
    let plus = "+".repeat(depth.into());
    for stage in stages {
        let mut lines = Vec::new();
        let (assignments, words) = stage.split_at(pipe::assignments(stage));
        for assignment in assignments {
            let bytes = assignment.as_bytes();
            let at = bytes.iter().position(|byte| *byte == b'=').map_or(bytes.len(), |at| at + 1);
            let value = if at == bytes.len() { Vec::new() } else { shown(&bytes[at..], bash)? };
            lines.extend([plus.as_bytes(), b" ", &bytes[..at], &value, b"\n"].concat());
        }
        lines.extend(plus.as_bytes());
        for word in words {
            lines.push(b' ');
            lines.extend(shown(word.as_bytes(), bash)?);
        }
        lines.push(b'\n');
        let _ = io::stderr().write_all(&lines);
    }
    Ok(())
}

/// Whether `>` could open the file, which it makes if there is none.
fn may_open_to_write(file: &Path) -> bool {
    match file.metadata() {
        Ok(metadata) => !metadata.is_dir() && machine::may_write(file),
        Err(error) if error.kind() != io::ErrorKind::NotFound => false,
        Err(_) => {
            let folder =
                file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            file.file_name().is_some()
                && !file.as_os_str().as_bytes().ends_with(b"/")
                && machine::may_write(folder)
        }
    }
}

/// Returns a word as bash quotes it.
fn shown(word: &[u8], bash: &Path) -> io::Result<Vec<u8>> {
    match word {
        b"" => Ok(b"''".to_vec()),
        b"'" => Ok(b"\\'".to_vec()),
        _ if is_special(word) => {
            let mut quoted = Vec::new();
            pipe::quote(&mut quoted, OsStr::from_bytes(word), false);
            Ok(quoted)
        }
        _ if word.iter().all(|byte| matches!(byte, 0x20..=0x7e)) => Ok(word.to_vec()),
        _ => shown_by_bash(word, bash),
    }
}

/// Whether the word holds what a shell would take for more than itself.
fn is_special(word: &[u8]) -> bool {
    word.iter().enumerate().any(|(at, byte)| match byte {
        b' ' | b'\t' | b'\n' | b'\'' | b'"' | b'\\' | b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>'
        | b'!' | b'{' | b'}' | b'*' | b'[' | b']' | b'?' | b'^' | b'$' | b'`' => true,
        b'~' => at == 0 || matches!(word[at - 1], b'=' | b':'),
        b'#' => at == 0,
        _ => false,
    })
}

/// Asks bash for a word with bytes beyond printable ASCII: what of them is printable depends on the locale.
fn shown_by_bash(word: &[u8], bash: &Path) -> io::Result<Vec<u8>> {
    let traced = Command::new(bash)
        .args(["--norc", "-c", "set -x; : \"$1\"", "bash"])
        .arg(OsStr::from_bytes(word))
        .env_remove("BASH_ENV")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()?;
    let line = traced.stderr.strip_prefix(b"+ : ").and_then(|line| line.strip_suffix(b"\n"));
    line.map(<[u8]>::to_vec).ok_or_else(|| io::Error::other("bash shows no trace"))
}
