//! Random trees, copied by GNU cp and by this crate with the same options, must end up the same.

use pelton_copy::{Backup, Copier, Naming, Options, Overwrite, Preserve, Sparse, Talk, Way};
use pelton_testkit::Random;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

struct Quiet {
    answer: bool,
    said: Vec<String>,
}

impl Talk for Quiet {
    fn may_overwrite(&mut self, _path: &Path) -> bool {
        self.answer
    }
    fn made(&mut self, _from: &Path, _to: &Path, _how: Option<&str>) {}
    fn kept(&mut self, _path: &Path, _aside: &Path) {}
    fn copied(&mut self, _bytes: u64) {}
    fn failed(&mut self, doing: &str, path: &Path, reason: Option<&io::Error>) {
        self.said.push(format!("{doing} {}: {reason:?}", path.display()));
    }
}

fn age(path: &Path, days: u64) {
    let time = SystemTime::now() - Duration::from_secs(days * 86_400);
    let times = FileTimes::new().set_accessed(time).set_modified(time);
    File::open(path).and_then(|file| file.set_times(times)).expect("times");
}

fn plain(path: &Path, random: &mut Random) {
    let file = File::create(path).expect("made");
    let size = *random.of(&[0, 1, 3000, 70_000, 200_000]);
    if random.below(3) == 0 && size > 0 {
        file.set_len(2_000_000).expect("sized");
        file.write_all_at(&vec![b'd'; 9000], 1_048_576).expect("written");
    } else {
        let mask = random.next() as u8;
        let bytes: Vec<u8> = (0..size).map(|at| (at % 253) as u8 ^ mask).collect();
        file.write_all_at(&bytes, 0).expect("written");
        if random.below(4) == 0 {
            file.write_all_at(&vec![0; 40_000], size as u64).expect("written");
        }
    }
    let mut mode = *random.of(&[0o644, 0o600, 0o755, 0o664, 0o4755, 0o444]);
    if is_in_target(path) {
        mode &= 0o777;
    }
    file.set_permissions(PermissionsExt::from_mode(mode)).expect("mode");
    age(path, 1 + random.below(5) as u64 * 7);
}

/// cp -p sets the mode of an existing target through an access control list, which leaves the old set-user-ID
/// bit on the new contents, and the sticky bit of a directory. This crate does not, so targets have no such
/// bits.
fn is_in_target(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "target")
}

/// Fills a directory. Equal seeds give equal trees.
fn fill(dir: &Path, random: &mut Random, depth: u32) {
    let mut plains: Vec<PathBuf> = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        let path = dir.join(name);
        match random.below(if depth == 0 { 7 } else { 9 }) {
            0 => {}
            1..=3 => {
                plain(&path, random);
                plains.push(path);
            }
            4 => symlink(random.of(&["a", "b", "nowhere", ".", "../a"]), &path).expect("link"),
            5 if !plains.is_empty() => fs::hard_link(random.of(&plains), &path).expect("hard link"),
            5 | 6 => plain(&path, random),
            _ => {
                fs::create_dir(&path).expect("made");
                fill(&path, random, depth - 1);
                let mut mode = *random.of(&[0o755, 0o700, 0o775, 0o1777, 0o2755, 0o555]);
                if is_in_target(&path) {
                    mode &= 0o777;
                }
                fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("mode");
                age(&path, 2 + random.below(9) as u64);
            }
        }
    }
}

/// Returns for each path its kind, mode, age, contents, holes and hard links.
fn snapshot(root: &Path) -> BTreeMap<PathBuf, String> {
    let (mut found, mut first_names) = (BTreeMap::new(), HashMap::new());
    let mut stack = vec![root.to_path_buf()];
    while let Some(path) = stack.pop() {
        let meta = fs::symlink_metadata(&path).expect("there");
        let name = path.strip_prefix(root).expect("inside").to_path_buf();
        let kind = meta.file_type();
        let old = meta.mtime()
            < SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("now").as_secs() as i64
                - 80_000;
        let time = if old && !kind.is_symlink() { (meta.mtime() + 43_200) / 86_400 } else { 0 };
        let what = if kind.is_symlink() {
            format!("link to {}", fs::read_link(&path).expect("read").display())
        } else if kind.is_file() {
            let bytes = fs::read(&path).expect("read");
            let sum =
                bytes.iter().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
            format!("file {} {sum:x} {:?}", bytes.len(), extents(&path))
        } else if kind.is_dir() {
            stack.extend(fs::read_dir(&path).expect("read").map(|entry| entry.expect("entry").path()));
            "directory".to_owned()
        } else {
            "special".to_owned()
        };
        let mode = if kind.is_symlink() { 0 } else { meta.mode() };
        first_names.entry((meta.dev(), meta.ino())).or_insert_with(Vec::new).push(name.clone());
        found.insert(name, format!("{what} {mode:o} {time}"));
    }
    for mut names in first_names.into_values().filter(|names| names.len() > 1) {
        names.sort();
        for name in &names {
            if let Some(text) = found.get_mut(name) {
                text.push_str(&format!(" = {}", names[0].display()));
            }
        }
    }
    found
}

fn extents(path: &Path) -> Vec<(u64, u64)> {
    let file = File::open(path).expect("opened");
    let (mut at, mut all) = (0, Vec::new());
    while let Ok(Some((start, end))) = pelton_sys::copying::next_data(&file, at) {
        all.push((start, end));
        at = end;
    }
    all
}

/// Returns random options, as words for cp and as [`Options`].
fn options(random: &mut Random) -> (Vec<&'static str>, Options) {
    let (mut words, mut options) = (Vec::new(), Options { follow: true, ..Options::default() });
    let all = Preserve { mode: true, owner: true, times: true, links: true, attributes: true };
    match random.below(6) {
        0 => {}
        1 | 2 => {
            words.push("-r");
            (options.recursive, options.follow) = (true, false);
        }
        3 => {
            words.push("-a");
            (options.recursive, options.follow, options.preserve) = (true, false, all);
        }
        4 => {
            words.extend(["-r", "-p"]);
            (options.recursive, options.follow) = (true, false);
            options.preserve = Preserve { links: false, attributes: false, ..all };
        }
        _ => {
            words.push("-P");
            options.follow = false;
        }
    }
    let mut also = |word, chance: usize, set: &mut dyn FnMut(&mut Options)| {
        if random.below(chance) == 0 {
            words.push(word);
            set(&mut options);
        }
    };
    also("-u", 5, &mut |options| options.update = true);
    also("-n", 6, &mut |options| options.overwrite = Overwrite::Never);
    also("-i", 6, &mut |options| options.overwrite = Overwrite::Ask);
    let backup = |naming| Some(Backup { naming, suffix: "~".into() });
    also("--backup=numbered", 8, &mut |options| options.backup = backup(Naming::Numbered));
    also("--backup=simple", 8, &mut |options| options.backup = backup(Naming::Simple));
    also("-b", 8, &mut |options| options.backup = options.backup.take().or(backup(Naming::Existing)));
    also("-f", 4, &mut |options| options.force = true);
    also("--sparse=always", 6, &mut |options| options.sparse = Sparse::Always);
    also("--sparse=never", 6, &mut |options| options.sparse = Sparse::Never);
    if options.overwrite == Overwrite::Never {
        // cp rejects the combination.
        words.retain(|word| !word.contains('b'));
        options.backup = None;
    }
    (words, options)
}

fn check(seed: u64) {
    let worlds = tempfile::tempdir().expect("a directory");
    let mut random = Random::new(seed);
    for _ in 0..5 {
        random.below(2);
    }
    let (mut words, mut options) = options(&mut random);
    let tree_seed = random.next();
    let targets = ["target", "source/x", "target/new", "source"];
    let (sources, target) = match random.below(5) {
        0 => (vec!["source/a", "source/b"], "target"),
        1 => (vec!["source/a"], *random.of(&["target/a", "target/b", "source/b", "source/a"])),
        2 => (vec!["source", "target/a"], "target"),
        _ => (vec!["source"], *random.of(&targets)),
    };
    let answer = random.below(2) == 0;
    let mut ends = Vec::new();
    for who in ["cp", "here"] {
        let root = worlds.path().join(who);
        let mut same = Random::new(tree_seed);
        for name in ["source", "target"] {
            fs::create_dir_all(root.join(name)).expect("made");
            fill(&root.join(name), &mut same, 2);
        }
        if options.recursive {
            // Elsewhere, opening the FIFO would block forever.
            let fifo = root.join("source/fifo");
            assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
        }
        let from: Vec<PathBuf> = sources.iter().map(|name| root.join(name)).collect();
        let to = root.join(target);
        if to.is_dir() {
            // cp 9.1 then puts simple backups in the current directory, not next to the copy; 9.2 no longer
            // does.
            if words.contains(&"--backup=simple") {
                words.retain(|word| !word.contains('b'));
                words.push("-b");
                options.backup = Some(Backup { naming: Naming::Existing, suffix: "~".into() });
            }
        }
        let good = if who == "cp" {
            // Opening a FIFO without a writer blocks forever, where it is not copied as a FIFO.
            let answers = Command::new(if answer { "yes" } else { "true" }).stdout(Stdio::piped()).spawn();
            let mut answers = answers.expect("started");
            let input = answers.stdout.take().expect("piped");
            let mut command = Command::new("timeout");
            command.args(["20", "cp"]).args(&words).args(&from).arg(&to).stdin(input);
            let out = command.env("LC_ALL", "C").output().expect("cp runs");
            // The command holds the other end of the pipe.
            drop(command);
            answers.wait().expect("ended");
            (out.status.code() == Some(0), String::from_utf8_lossy(&out.stderr).into_owned())
        } else {
            let mut talk = Quiet { answer, said: Vec::new() };
            let mut copier = Copier::new(&options, &mut talk);
            let good = match to.is_dir() {
                true => copier.into_directory(&from, &to),
                false if from.len() == 1 => copier.onto(&from[0], &to),
                false => false,
            };
            (good, talk.said.join("\n"))
        };
        ends.push((good, snapshot(&root)));
    }
    let ((cp, theirs), (here, ours)) = (&ends[0], &ends[1]);
    let about =
        format!("seed {seed}: cp {words:?} {sources:?} {target} (answer {answer})\n{}\n{}", cp.1, here.1);
    if cp.1.contains("into itself") {
        // Both stop there: what was copied before depends on the inode order, which differs between trees.
        assert_eq!(cp.0, here.0, "{about}");
        return;
    }
    for (path, what) in theirs {
        assert_eq!(ours.get(path), Some(what), "{} {about}", path.display());
    }
    assert_eq!(theirs.len(), ours.len(), "{about} {ours:?}");
    assert_eq!(cp.0, here.0, "{about}");
}

#[test]
fn random_trees_end_the_same() {
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(25);
    let first: u64 = std::env::var("FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    for seed in first..first + seeds {
        check(seed);
    }
}

#[test]
fn every_way_gives_the_same_file_and_keeps_its_holes() {
    let dir = tempfile::tempdir().expect("a directory");
    let source = dir.path().join("source");
    let file = File::create(&source).expect("made");
    file.set_len(4_000_000).expect("sized");
    file.write_all_at(&[7; 100_000], 1_048_576).expect("written");
    for way in Way::ALL {
        let options = Options { follow: true, via: Some(way), ..Options::default() };
        let mut talk = Quiet { answer: true, said: Vec::new() };
        let target = dir.path().join(way.name());
        let good = Copier::new(&options, &mut talk).onto(&source, &target);
        if !good && matches!(way, Way::Reflink | Way::IoUring) {
            continue;
        }
        assert!(good, "{way:?}: {:?}", talk.said);
        assert!(fs::read(&source).expect("read") == fs::read(&target).expect("read"), "{way:?}");
        assert_eq!(extents(&source), extents(&target), "{way:?}");
    }
}

#[test]
fn files_that_the_kernel_makes_up_are_copied_whole() {
    let dir = tempfile::tempdir().expect("a directory");
    for via in [None, Some(Way::CopyFileRange), Some(Way::Mapped), Some(Way::ReadWrite)] {
        let options = Options { follow: true, via, ..Options::default() };
        let mut talk = Quiet { answer: true, said: Vec::new() };
        let target = dir.path().join("version");
        let good = Copier::new(&options, &mut talk).onto(Path::new("/proc/version"), &target);
        assert!(good, "{via:?}: {:?}", talk.said);
        assert_eq!(fs::read(&target).expect("read"), fs::read("/proc/version").expect("read"), "{via:?}");
    }
}

#[test]
fn a_whole_file_or_none() {
    let dir = tempfile::tempdir().expect("a directory");
    let (source, target) = (dir.path().join("source"), dir.path().join("target"));
    fs::write(&source, "new").expect("written");
    fs::write(&target, "old").expect("written");
    fs::set_permissions(&target, PermissionsExt::from_mode(0o640)).expect("mode");
    symlink("target", dir.path().join("link")).expect("link");
    let options = Options { follow: true, atomic: true, ..Options::default() };
    let mut talk = Quiet { answer: true, said: Vec::new() };
    let reader = File::open(&target).expect("opened");
    assert!(Copier::new(&options, &mut talk).onto(&source, &dir.path().join("link")), "{:?}", talk.said);
    assert_eq!(fs::read(&target).expect("read"), b"new");
    assert_eq!(fs::metadata(&target).expect("there").mode() & 0o777, 0o640);
    assert_eq!(io::read_to_string(reader).expect("read"), "old", "who has the old one open keeps it");
    // A directory cannot be read as a file: the failed copy leaves nothing behind.
    let names = fs::read_dir(dir.path()).expect("read").count();
    let failing = Options { via: Some(Way::Reflink), ..options.clone() };
    let other = Path::new("/proc/version");
    assert!(!Copier::new(&failing, &mut talk).onto(other, &dir.path().join("never")));
    assert_eq!(fs::read_dir(dir.path()).expect("read").count(), names);
}
