//! The files of a release, made from the debug binary: installed, tried, removed, and refused where they are damaged.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use workbench::cargo_workspace::{root, tested_binary};
use workbench::machine::Machine;
use xtask::dist::Effort;

fn install(shell: &[&str], args: &[&str], home: &Path) -> Output {
    let script = root().join("install.sh");
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).arg(script).args(args).env("HOME", home).env("TMPDIR", home);
    command.output().expect("a shell")
}

/// All files below a directory.
fn files(dir: &Path) -> Vec<String> {
    let out = Command::new("find").args([".", "-type", "f"]).current_dir(dir).output().expect("find");
    let mut files: Vec<String> = String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect();
    files.sort();
    files
}

#[test]
fn a_release_is_installed_and_removed_without_a_trace() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = dir.path().join("release");
    // Without what debuggers want, it is a fifth as large.
    let binary = dir.path().join("pelton");
    let stripped =
        Command::new("strip").arg("-o").arg(&binary).arg(tested_binary().expect("a binary")).status();
    assert!(stripped.expect("strip").success());
    let binaries = [(Machine::here().expect("a known machine"), binary.clone())];
    let made = xtask::dist::make(&binaries, &binary, &out, Effort::Least).expect("a release");
    let again = dir.path().join("again");
    xtask::dist::make(&binaries, &binary, &again, Effort::Least).expect("a release");
    let sums = |dir: &Path| fs::read_to_string(dir.join("SHA256SUMS")).expect("checksums");
    assert_eq!(sums(&out), sums(&again), "made twice, the same");
    assert_eq!(made.len(), 5);

    let package =
        made.iter().find(|file| file.extension().is_some_and(|end| end == "deb")).expect("a package");
    let listed = Command::new("dpkg-deb").arg("--contents").arg(package).output().expect("dpkg-deb");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for path in
        ["./usr/bin/pelton", "./usr/share/man/man1/pelton-time.1.gz", "./usr/share/doc/pelton/copyright"]
    {
        assert!(
            listed.lines().any(|line| line.ends_with(path) && line.contains("root/root")),
            "{path}:\n{listed}"
        );
    }

    let from = ["--from", out.to_str().expect("a path")];
    for shell in [&["dash"][..], &["bash", "--posix"]] {
        let home = tempfile::tempdir_in(dir.path()).expect("a home");
        let done = install(shell, &from, home.path());
        let said =
            String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && said.contains("installed pelton"), "{said}");
        let pelton = home.path().join(".local/bin/pelton");
        let ran = Command::new(&pelton)
            .args(["run", "seq 3 | tac"])
            .env("HOME", home.path())
            .output()
            .expect("it runs");
        assert_eq!(ran.stdout, b"3\n2\n1\n");
        assert!(home.path().join(".local/share/man/man1/pelton-time.1").exists());
        // Over itself.
        assert!(install(shell, &from, home.path()).status.success());
        let _ = fs::remove_dir_all(home.path().join(".cache"));
        assert!(install(shell, &["--uninstall"], home.path()).status.success());
        assert_eq!(files(home.path()), Vec::<String>::new());
        assert!(!home.path().join(".local/share").exists(), "empty directories are removed");
        let none = install(shell, &["--uninstall"], home.path());
        assert!(
            String::from_utf8_lossy(&none.stderr).contains("is not installed in") && !none.status.success()
        );
    }

    let archive = made.iter().find(|file| file.to_string_lossy().ends_with(".tar.gz")).expect("an archive");
    let mut bytes = fs::read(archive).expect("an archive");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(archive, bytes).expect("written");
    let home = tempfile::tempdir_in(dir.path()).expect("a home");
    let refused = install(&["dash"], &from, home.path());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the checksum of"), "{refused:?}");
    assert!(!refused.status.success() && files(home.path()).is_empty());
}

#[test]
fn what_cannot_be_installed_is_said() {
    let home = tempfile::tempdir().expect("a home");
    for (args, says) in [
        (&["--from", "/nonexistent"][..], "there is no SHA256SUMS in /nonexistent"),
        (&["--what"], "there is no option --what"),
        (&["--prefix"], "--prefix needs a value"),
    ] {
        let refused = install(&["dash"], args, home.path());
        assert!(String::from_utf8_lossy(&refused.stderr).contains(says), "{args:?}: {refused:?}");
        assert!(!refused.status.success() && files(home.path()).is_empty());
    }
}
