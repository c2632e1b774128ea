//! Random trees: links that loop, odd names, unreadable directories.

use pelton_testkit::{Random, make_fifo, wait_until};
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const NAMES: &[&[u8]] = &[
    b"a",
    b"b",
    b"ab",
    b"A.c",
    b"a.c",
    b"b.h",
    b".hidden",
    b"with space",
    b"new\nline",
    b"tab\t",
    b"\xff\xfe",
    b"caf\xc3\xa9",
    b"CAF\xc3\x89",
    b"quo'te",
    b"back\\slash",
    b"star*",
    b"[x]",
    b"-name",
    b"long-name-that-is-longer-than-others.txt",
    b"x",
    b"\xe2\x80\x99",
    b"(",
    b"!",
];

const TARGETS: &[&[u8]] = &[b"a", b"b", b"nowhere", b".", b"..", b"../a", b"self", b"A.c", b"ab/a", b"x"];

/// A directory, in memory if possible, open to everybody.
pub fn place() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }
        .expect("a directory");
    fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).expect("mode");
    dir
}

/// Fills `dir`.
pub fn fill(dir: &Path, random: &mut Random) {
    let mut closed = Vec::new();
    directory(dir, random, 4, &mut closed);
    symlink("self", dir.join("self")).expect("link");
    // Last: nothing can be created in them later.
    for (path, mode) in closed {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("mode");
    }
}

fn directory(dir: &Path, random: &mut Random, depth: usize, closed: &mut Vec<(PathBuf, u32)>) {
    let mut plain: Vec<PathBuf> = Vec::new();
    for name in NAMES {
        if random.below(3) != 0 {
            continue;
        }
        let path = dir.join(OsStr::from_bytes(name));
        match random.below(if depth == 0 { 8 } else { 12 }) {
            0 => symlink(OsStr::from_bytes(random.of::<&[u8]>(TARGETS)), &path).expect("link"),
            1 => make_fifo(&path).expect("FIFO"),
            2 if !plain.is_empty() => fs::hard_link(random.of(&plain), &path).expect("link"),
            2..8 => {
                file(&path, random);
                plain.push(path);
            }
            _ => {
                fs::create_dir(&path).expect("made");
                directory(&path, random, depth - 1, closed);
                if random.below(5) == 0 {
                    closed.push((path, *random.of(&[0o000, 0o311, 0o711, 0o1755, 0o500])));
                }
            }
        }
    }
}

/// Waits until a file that is made now is later than all there are.
pub fn await_later_time(dir: &Path) {
    let made = || {
        let path = dir.join("clock");
        fs::write(&path, "x").and_then(|()| path.metadata()?.modified()).expect("the time of a file")
    };
    let before = made();
    wait_until("the clock of the file system goes on", || made() > before);
}

fn file(path: &Path, random: &mut Random) {
    let file = File::create(path).expect("made");
    file.set_len(*random.of(&[0, 0, 1, 511, 512, 513, 1024, 1025, 5000, 2_000_000])).expect("sized");
    let mode = *random.of(&[0o644, 0o600, 0o755, 0o4755, 0o2711, 0o444, 0o1666]);
    file.set_permissions(Permissions::from_mode(mode)).expect("mode");
    // Half a unit away from every limit, in minutes and in days.
    let minutes = 30 + 60 * random.of(&[0u64, 1, 2, 5, 59, 60 * 12, 60 * 36, 60 * 60, 60 * 24 * 7 + 60 * 3]);
    let time = SystemTime::now() - Duration::from_secs(minutes);
    file.set_times(FileTimes::new().set_accessed(time).set_modified(time)).expect("times");
}
