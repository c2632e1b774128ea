//! `cargo xtask order`: records which functions a short call runs, so that the linker puts them side by side.
//!
//! A third of a call over very little data was page faults, most of them in the program itself: the code that
//! ran was in 77 places of 9 MB. The kernel maps 64 KB around a fault, so functions that are close together
//! share a fault. The order is a script (`crates/cli/startup.ld`) that the linker gets when `cargo xtask
//! build` links. Removed and new functions only cost a fault, so it needs an update only now and then. Hashes
//! in names are wildcards: they change with every compiler. Chromium's orderfile and Android's startup
//! profiles also order by a trace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use workbench::cargo_workspace::{release_binary_mapped, root, target_dir};
use workbench::steps::timed;
use workbench::{Failure, Outcome};

/// The file to write; the package's build script gives it to the linker.
const ORDER: &str = "crates/cli/startup.ld";
/// A script of `CALLS`.
const SCRIPT: &str = "set -eu\nfor x in f; do\n  cut -d, -f2 \"$x\" | sort | uniq -c > o\ndone\nif [ -f o ]; then n=$(wc -l < o); fi\n";
/// Calls whose functions should be close together, over files of two lines.
const CALLS: [&[&str]; 9] = [
    &["pipe", ":::", "cut", "-d,", "-f2", "f", ":::", "sort", ":::", "uniq", "-c"],
    &["pipe", ":::", "cat", "f", ":::", "grep", "a", ":::", "head", "-n", "1"],
    &["pipe", ":::", "sed", "s/a/b/", "f", ":::", "tr", "a-z", "A-Z", ":::", "wc", "-l"],
    &["pipe", ":::", "mawk", "-F,", "{s+=$2} END {print s}", "f", ":::", "cat"],
    &["pipe", ":::", "grep", "-v", "b", "f", ":::", "sort", "-t,", "-k2,2n", ":::", "tail", "-n", "1"],
    &["pipe", ":::", "cut", "-d,", "-f2", "f", ":::", "rev", ":::", "sort"],
    &["run", "cut -d, -f2 f | sort | uniq -c"],
    &["run", "-f", "dash.sh"],
    &["run", "-f", "bash.sh"],
];
/// Functions made for many types share a name except for the hash. A name is left out if the program has this
/// many times more of them than were run.
const TOO_COMMON: usize = 4;

/// A piece of code in the linker's map.
struct Section {
    start: u64,
    size: u64,
    /// Its name in a linker script, with wildcards for the hashes.
    pattern: String,
}

/// Builds, traces, and writes the order.
pub fn run() -> Outcome {
    let map = target_dir()?.join("startup.map");
    let pelton = release_binary_mapped(&map)?;
    let sections = sections(&fs::read_to_string(&map)?);
    let dir = target_dir()?.join("order");
    fs::create_dir_all(&dir)?;
    fs::write(dir.join("f"), "alpha,1,x\nbeta,2,y\n")?;
    for shell in ["dash", "bash"] {
        fs::write(dir.join(shell).with_extension("sh"), format!("#!/bin/{shell}\n{SCRIPT}"))?;
    }
    let mut calls = vec![0usize; sections.len()];
    for call in CALLS {
        let ran = timed(&format!("step through pelton {}", call.join(" ")), || {
            traced(&pelton, call, &dir, &sections)
        })?;
        ran.into_iter().for_each(|index| calls[index] += 1);
    }
    fs::write(root().join(ORDER), script(&sections, &calls))?;
    Ok(())
}

/// Returns the pieces of code in a linker's map (lld's form: address, address, size, alignment, file and
/// section), by address.
fn sections(map: &str) -> Vec<Section> {
    let section = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let start = u64::from_str_radix(words.next()?, 16).ok()?;
        let size = u64::from_str_radix(words.nth(1)?, 16).ok()?;
        let (file, section) = words.nth(1)?.strip_suffix(')')?.split_once(":(")?;
        let pattern = pattern(file, section)?;
        (size > 0).then_some(Section { start, size, pattern })
    };
    map.lines().filter_map(section).collect()
}

/// Returns `*(.text.NAME)` for a Rust function, `*libc.a:malloc.o(.text)` for a library member, else `None`.
fn pattern(file: &str, section: &str) -> Option<String> {
    if !section.starts_with(".text") {
        return None;
    }
    if section.contains("._ZN") || section.contains("._R") {
        return Some(format!("*({})", without_hashes(section)));
    }
    let (archive, member) = file.strip_suffix(')')?.rsplit_once('(')?;
    Some(format!("*{}:{member}({section})", Path::new(archive).file_name()?.to_str()?))
}

/// Replaces what differs between compilers in a mangled name by `?` and `*`: `17h` and 16 digits (the legacy
/// scheme), `Cs` and letters up to `_` (the newer scheme), and the number after `.llvm.`.
fn without_hashes(name: &str) -> String {
    let mut left = name;
    let mut open = String::new();
    while let Some(next) = left.chars().next() {
        let hash = left.strip_prefix("17h").filter(|rest| rest.get(16..17) == Some("E"));
        let krate = left.strip_prefix("Cs").and_then(|rest| rest.split_once('_'));
        let krate = krate.filter(|(hash, rest)| {
            hash.bytes().all(|b| b.is_ascii_alphanumeric()) && rest.starts_with(|c: char| c.is_ascii_digit())
        });
        if let Some(rest) = hash {
            open += "17h????????????????";
            left = &rest[16..];
        } else if let Some((_, rest)) = krate {
            open += "Cs*_";
            left = rest;
        } else if let Some(rest) = left.strip_prefix(".llvm.") {
            open += ".llvm.*";
            left = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        } else {
            open.push(next);
            left = &left[next.len_utf8()..];
        }
    }
    open
}

/// Returns the sections that one call runs, by index. A shell waits until it is traced, then becomes pelton.
fn traced(pelton: &Path, call: &[&str], dir: &Path, sections: &[Section]) -> Outcome<BTreeSet<usize>> {
    let mut child = Command::new("sh")
        .args(["-c", "read -r go; exec \"$@\" </dev/null", "sh"])
        .arg(pelton)
        .args(call)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let pid = Pid::from_raw(child.id() as i32);
    ptrace::attach(pid)?;
    waitpid(pid, None)?;
    child.stdin.take().ok_or("no pipe to the shell")?.write_all(b"go\n")?;
    let mut ran = BTreeSet::new();
    let mut signal = None;
    loop {
        ptrace::step(pid, signal)?;
        signal = match waitpid(pid, None)? {
            WaitStatus::Stopped(_, Signal::SIGTRAP | Signal::SIGSTOP) => None,
            WaitStatus::Stopped(_, other) => Some(other),
            WaitStatus::Exited(_, 0) => return Ok(ran),
            other => return Err(Failure::from(format!("pelton ended with {other:?}"))),
        };
        let at = instruction(pid)?;
        let index = sections.partition_point(|section| section.start <= at).checked_sub(1);
        ran.extend(index.filter(|&index| at < sections[index].start + sections[index].size));
    }
}

/// Writes the script: sections that most calls run come first.
fn script(sections: &[Section], calls: &[usize]) -> String {
    let mut names: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (section, &calls) in sections.iter().zip(calls) {
        let (there, ran) = names.entry(&section.pattern).or_default();
        *there += 1;
        *ran += usize::from(calls > 0);
    }
    let mut order: Vec<usize> = (0..sections.len()).filter(|&index| calls[index] > 0).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(calls[index]), sections[index].start));
    let mut seen = BTreeSet::new();
    let mut text =
        String::from("/* Written by `cargo xtask order`: what short calls run, side by side. */\n");
    text += "SECTIONS {\n  .text.startup_first : {\n";
    for pattern in order.iter().map(|&index| sections[index].pattern.as_str()) {
        let (there, ran) = names[pattern];
        if there <= ran * TOO_COMMON && seen.insert(pattern) {
            text += &format!("    {pattern}\n");
        }
    }
    text + "  }\n}\nINSERT BEFORE .text;\n"
}

/// Returns the address of the instruction at which a stopped process is.
fn instruction(pid: Pid) -> nix::Result<u64> {
    let registers = ptrace::getregs(pid)?;
    #[cfg(target_arch = "x86_64")]
    return Ok(registers.rip);
    #[cfg(target_arch = "aarch64")]
    return Ok(registers.pc);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_stays_open() {
        let open = |name| without_hashes(name);
        assert_eq!(open(".text._ZN3a1b4plan17h0123456789abcdefE"), ".text._ZN3a1b4plan17h????????????????E");
        assert_eq!(open(".text._RNvNtCsgEmfK2I1SDS_4core3fmt5write"), ".text._RNvNtCs*_4core3fmt5write");
        assert_eq!(open(".text.unlikely._RNvCs1_3std1f.llvm.123"), ".text.unlikely._RNvCs*_3std1f.llvm.*");
        assert_eq!(open(".text._ZN17hello17hE"), ".text._ZN17hello17hE");
    }

    #[test]
    fn a_map_is_read() {
        let map = "\
          VMA LMA Size Align Out In Symbol
       383dc0 383dc0 10 64 .text
       383dc0 383dc0 10 16         a.o:(.text._ZN1a1b17h0123456789abcdefE)
       383dc0 383dc0 10  1                 a::b
       383dd0 383dd0  8 16         /usr/lib/libc.a(malloc.o):(.text)
       383dd8 383dd8  0  1         /usr/lib/crt1.o:(.text)
";
        let found = sections(map);
        let found: Vec<_> = found.iter().map(|one| (one.start, one.size, one.pattern.as_str())).collect();
        let function = "*(.text._ZN1a1b17h????????????????E)";
        assert_eq!(found, [(0x38_3dc0, 16, function), (0x38_3dd0, 8, "*libc.a:malloc.o(.text)")]);
    }

    #[test]
    fn what_all_calls_run_stands_first_and_common_names_are_left_out() {
        let section = |start, pattern: &str| Section { start, size: 1, pattern: pattern.into() };
        let mut sections =
            vec![section(0, "*(one)"), section(1, "*(all)"), section(2, "*(none)"), section(3, "*(drop)")];
        sections.extend((4..10).map(|start| section(start, "*(drop)")));
        let script = script(&sections, &[1, 7, 0, 7, 0, 0, 0, 0, 0, 0]);
        let listed: Vec<&str> = script.lines().map(str::trim).filter(|line| line.starts_with("*(")).collect();
        assert_eq!(listed, ["*(all)", "*(one)"]);
    }
}
