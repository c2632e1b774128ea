//! The real grep and sed, which are the specification, and what pelton says in their place.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pelton_commands::Charset;
use pelton_commands::regex::{GaveUp, Regex};

/// A tool's answer: its output, and whether it had anything to complain about.
pub struct Answer {
    pub output: Vec<u8>,
    pub complained: bool,
    /// It did not end by itself.
    pub endless: bool,
}

pub fn run(tool: &str, args: &[&[u8]], charset: Charset, input: &[u8]) -> Answer {
    use std::os::unix::ffi::OsStrExt;
    let locale = if charset == Charset::Utf8 { "C.UTF-8" } else { "C" };
    let mut child = Command::new(tool)
        .args(args.iter().map(|arg| std::ffi::OsStr::from_bytes(arg)))
        .env_clear()
        .env("LC_ALL", locale)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    // A tool that refuses its expression may be gone before it has read anything.
    let mut stdin = child.stdin.take().expect("a pipe");
    if input.len() > 1 << 15 {
        let input = input.to_vec();
        std::thread::spawn(move || stdin.write_all(&input));
    } else {
        let _ = stdin.write_all(input);
        drop(stdin);
        end_endless(&mut child);
    }
    let output = child.wait_with_output().expect("the tool ends");
    let endless = output.status.code().is_none();
    let failed = output.status.code().is_none_or(|code| code > 1 || tool == "sed" && code != 0);
    Answer { output: output.stdout, complained: failed || !output.stderr.is_empty(), endless }
}

/// Some expressions send the real tools into an endless loop. Their output fits into the pipe meanwhile.
fn end_endless(child: &mut Child) {
    let started = Instant::now();
    while child.try_wait().expect("the tool can be waited for").is_none() {
        if started.elapsed() > Duration::from_secs(5) {
            child.kill().expect("the tool can be ended");
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Is this the version that the kernels equal?
pub fn is_installed(tool: &str, version: &str) -> bool {
    let output = Command::new(tool).arg("--version").output();
    output.is_ok_and(|output| output.stdout.split(|&b| b == b'\n').next() == Some(version.as_bytes()))
}

/// What `grep -n` prints.
pub fn grep_lines(regex: &mut Regex, block: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    for (index, line) in lines(block).enumerate() {
        if regex.is_match(block, line.clone()) {
            output.extend(format!("{}:", index + 1).into_bytes());
            output.extend(&block[line]);
            output.push(b'\n');
        }
    }
    output
}

/// What `grep` prints, by the search over many lines at once.
pub fn grep_block(regex: &mut Regex, block: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    let mut at = 0;
    while let Some(line) = regex.next_line(block, at) {
        at = line.end + 1;
        output.extend(&block[line]);
        output.push(b'\n');
    }
    output
}

/// What `grep -onb` prints.
pub fn grep_only(regex: &mut Regex, block: &[u8]) -> Result<Vec<u8>, GaveUp> {
    let mut output = Vec::new();
    for (index, line) in lines(block).enumerate() {
        let mut at = line.start;
        while at < line.end
            && let Some((start, end)) = regex.find(block, at..line.end)?
        {
            if end > start {
                output.extend(format!("{}:{start}:", index + 1).into_bytes());
                output.extend(&block[start..end]);
                output.push(b'\n');
            }
            at = end.max(start + 1);
        }
    }
    Ok(output)
}

/// The lines of a block, without their newlines.
pub fn lines(block: &[u8]) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let line = at..at + block[at..].iter().position(|&b| b == b'\n')?;
        at = line.end + 1;
        Some(line)
    })
}

/// Which matches `s` replaces, and by what.
#[derive(Clone, Copy)]
pub struct Replace {
    pub nth: usize,
    pub global: bool,
    /// `<&>`, or the groups in brackets.
    pub groups: bool,
}

/// What `s` makes of a pattern space.
pub fn substitute(
    regex: &mut Regex,
    text: &[u8],
    utf8: bool,
    replace: Replace,
) -> Result<(bool, Vec<u8>), GaveUp> {
    let mut output = Vec::new();
    let (mut at, mut count, mut done) = (0, 0, false);
    let mut previous_end = None;
    while at <= text.len()
        && let Some((start, end)) = regex.find(text, at..text.len())?
    {
        output.extend(&text[at..start]);
        let again = start == end && previous_end == Some(start);
        if !again {
            count += 1;
            if count < replace.nth {
                output.extend(&text[start..end]);
            } else {
                replacement(regex, text, (start, end), replace.groups, &mut output)?;
                done = true;
            }
        }
        previous_end = Some(end);
        at = end;
        if start == end {
            let step = character_len(&text[end..], utf8);
            output.extend(&text[end..end + step]);
            at = if end == text.len() { text.len() + 1 } else { end + step };
        }
        if done && !replace.global {
            break;
        }
    }
    output.extend(text.get(at..).unwrap_or_default());
    Ok((done, output))
}

fn replacement(
    regex: &mut Regex,
    text: &[u8],
    found: (usize, usize),
    groups: bool,
    output: &mut Vec<u8>,
) -> Result<(), GaveUp> {
    if !groups {
        output.push(b'<');
        output.extend(&text[found.0..found.1]);
        output.push(b'>');
        return Ok(());
    }
    for span in &regex.groups_of(text, found)?[1..] {
        output.push(b'[');
        output.extend(span.map_or(&[][..], |(start, end)| &text[start..end]));
        output.push(b']');
    }
    Ok(())
}

fn character_len(text: &[u8], utf8: bool) -> usize {
    match text.first() {
        None => 0,
        Some(_) if !utf8 => 1,
        Some(first) => match first {
            0xF0.. => 4,
            0xE0.. => 3,
            0xC0.. => 2,
            _ => 1,
        }
        .min(text.len()),
    }
}
